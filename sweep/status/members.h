/* The runs of a submitted sweep with their settings: its manifest joined with its own file (sweeps/<name>/sweep.ini).
 * For status: which runs the file no longer has, and in which settings the runs differ. */
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
  size_t *places;         /* [progress->runs]: run of the grid, or SIZE_MAX */
  bool *absent;           /* [progress->runs]: not in the file */
  bool *differs;          /* [rows of core/config]: not the same in all runs; NULL until it was asked for */
} SweepMembers;

/* CORE_FAIL, CORE_USAGE: the file cannot be read (any more), so nothing is known. sweep_members_free after it. */
int sweep_members_read(const char *root, const SweepProgress *progress, SweepMembers *members);
void sweep_members_free(SweepMembers *members);

/* {"ppo.com": 8, "train.seed": 3} of run `index`: the settings in which the sweep's runs differ. Of a run that the file
 * no longer has from its folder; null when it has none. */
json_t *sweep_members_settings(SweepMembers *members, size_t index);
/* Reads the configuration of run `index`; false when it is not known. */
bool sweep_members_config(const SweepMembers *members, size_t index, CoreConfig *config);
/* Sets differs[row of core/config] of the settings in which the sweep's runs differ. */
void sweep_members_add_differences(SweepMembers *members, bool *differs);
/* Takes over which these are from an earlier reading of the sweep, where neither its file nor its runs have changed
 * since: finding them looks at every run. */
void sweep_members_reuse_differences(SweepMembers *members, const SweepMembers *before);

#endif
