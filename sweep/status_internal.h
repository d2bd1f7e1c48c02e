/* One sweep as `sweep status` shows it, for status.c (people, CSV) and status_json.c. */
#ifndef SWEEP_STATUS_INTERNAL_H
#define SWEEP_STATUS_INTERNAL_H
#include "core/json.h"
#include "sweep/members.h"
#include "sweep/progress.h"
#include "sweep/standing.h"
#include "sweep/trouble.h"

typedef struct SweepShown {
  const char *root;
  SweepProgress progress;
  bool is_slurm;              /* `standing` counts */
  SweepStanding standing;
  SweepMembers members;       /* unless they can not be known: zeroes */
  SweepTroubles troubles;
} SweepShown;

const char *sweep_shown_status(const SweepShown *shown, size_t index);   /* "out of memory" */
const char *sweep_shown_reason(const SweepShown *shown, size_t index);   /* one line; "" */
bool sweep_shown_is_trouble(const SweepShown *shown, size_t index);

json_t *sweep_shown_json(SweepShown *shown);

#endif
