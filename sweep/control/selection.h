/* Sweeps, and runs of them, that the operands of a command name: NAME [RUN]... */
#ifndef SWEEP_SELECTION_H
#define SWEEP_SELECTION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/sweep.h"

/* Text for the help of commands. */
#define SWEEP_SELECTION_HELP \
  "RUN is a run's id, its first 4 or more digits, SWEEP/INDEX, or the run's directory; after the NAME of a sweep, it " \
  "is a run of that sweep and may be an index."

typedef struct SweepSelection {
  const char *root;         /* borrowed */
  char name[SWEEP_NAME];    /* "": a run that no sweep has */
  SweepManifest manifest;
  bool *is_selected;        /* [manifest.count] */
  bool is_whole_sweep;      /* no run was named, so all are selected */
  bool was_submitted;       /* to Slurm, at least once */
} SweepSelection;

typedef struct SweepSelections {
  SweepSelection *items;
  size_t count;
  bool has_runs; /* whether an operand names a run */
} SweepSelections;

/* Selects all runs of a sweep. CORE_USAGE: no such sweep. Caller calls sweep_selection_free, also after an error. */
int sweep_selection_make(const char *root, const char *name, SweepSelection *selection);
/* Selects a run of the sweep, and no longer all of them. CORE_USAGE: it has no such run, or several. */
int sweep_selection_add_run(SweepSelection *selection, const char *text);
void sweep_selection_free(SweepSelection *selection);

/* Selects what the operands name. A run after the name of a sweep is selected in that sweep; any other in each sweep
 * that has it. CORE_USAGE: unknown or ambiguous name. Caller calls sweep_selections_free, also after an error. */
int sweep_selections_make(const SweepCommon *common, const char **operands, size_t count, SweepSelections *selections);
void sweep_selections_free(SweepSelections *selections);

/* Returns the number of selected runs. */
size_t sweep_selection_count(const SweepSelection *selection);
/* Appends the ids of the runs of flags[manifest.count] to a JSON array. Returns their number. */
size_t sweep_selection_list(const SweepSelection *selection, const bool *flags, json_t *ids);

#endif
