/* Runs of a submitted sweep with their settings: its manifest joined with its file, sweeps/<name>/sweep.ini. For
 * status: which runs are no longer in the file, and in which settings the runs differ. */
#ifndef SWEEP_MEMBERS_H
#define SWEEP_MEMBERS_H
#include "core/json.h"
#include "sweep/spec/grid.h"
#include "sweep/status/progress.h"

typedef struct SweepMembers {
  const char *root;
  const SweepProgress *progress; /* borrowed: the ids */
  SweepSpec spec;
  SweepGrid grid;
  size_t *grid_run; /* [progress->runs] index in the grid; SIZE_MAX: not in the file */
  bool *absent;     /* [progress->runs] whether the run is not in the file */
  bool *differs;    /* [rows of core/config] whether runs differ in the setting; NULL until needed */
} SweepMembers;

/* Reads the sweep's file and expands its grid. CORE_FAIL, CORE_USAGE: the file cannot be read. Caller frees. */
int sweep_members_read(const char *root, const SweepProgress *progress, SweepMembers *members);
void sweep_members_free(SweepMembers *members);

/* Returns {"ppo.com": 8, "train.seed": 3}: the settings of run `index` in which the sweep's runs differ. For a run that
 * is not in the file they are read from its directory; null if it has none. */
json_t *sweep_members_settings(SweepMembers *members, size_t index);
/* Gets the configuration of run `index`. false: it is unknown. */
bool sweep_members_config(const SweepMembers *members, size_t index, CoreConfig *config);
/* Finds `differs`, unless it is known: the functions above then only read. */
void sweep_members_find_differences(SweepMembers *members);
/* Sets differs[row of core/config] for the settings in which the sweep's runs differ. */
void sweep_members_add_differences(SweepMembers *members, bool *differs);
/* Copies the result from an earlier reading of the sweep, if neither its file nor its runs have changed since. Finding
 * it again takes every run's configuration. */
void sweep_members_reuse_differences(SweepMembers *members, const SweepMembers *previous);

#endif
