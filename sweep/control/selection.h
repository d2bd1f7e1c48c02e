/* A sweep and the runs of it that a command names: NAME [RUN]... */
#ifndef SWEEP_SELECTION_H
#define SWEEP_SELECTION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/sweep.h"

typedef struct SweepSelection {
  SweepCommon common;
  char name[SWEEP_NAME];
  SweepManifest manifest;
  bool *is_selected;        /* [manifest.count] */
  bool is_whole_sweep;      /* no run was named, so all are selected */
  bool was_submitted;       /* to Slurm, at least once */
} SweepSelection;

/* Reads the sweep operands[0] and selects the runs operands[1 .. count-1], or all without any. `common` has the parsed
 * options. CORE_USAGE: unknown or ambiguous name. The caller calls sweep_selection_free, also after an error. */
int sweep_selection_make(const char **operands, size_t count, SweepSelection *selection);
void sweep_selection_free(SweepSelection *selection);

/* Returns the ids of the runs with these manifest indices as a JSON array. */
json_t *sweep_selection_list_ids(const SweepSelection *selection, const int64_t *indices, size_t count);

#endif
