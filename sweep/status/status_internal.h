/* One sweep as `sweep status` shows it, for status.c (people, CSV) and status_json.c. */
#ifndef SWEEP_STATUS_INTERNAL_H
#define SWEEP_STATUS_INTERNAL_H
#include "core/json.h"
#include "sweep/status/cluster_status.h"
#include "sweep/status/failures.h"
#include "sweep/status/members.h"
#include "sweep/status/progress.h"

typedef struct SweepShown {
  const char *root;
  SweepProgress progress;
  bool is_slurm;              /* `cluster` counts */
  SweepClusterStatus cluster;
  SweepMembers members;       /* unless they can not be known: zeroes */
  SweepFailures troubles;
} SweepShown;

const char *sweep_shown_status(const SweepShown *shown, size_t index);   /* "out of memory" */
const char *sweep_shown_reason(const SweepShown *shown, size_t index);   /* one line; "" */

json_t *sweep_shown_json(SweepShown *shown);

#endif
