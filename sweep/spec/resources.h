/* Resource sets: resources that the runs of a sweep request of a cluster. slurm.* lines of a [grid] or [search] block
 * override [slurm] and the site; each distinct result is a set, which is submitted as separate arrays
 * (sweep/cluster/launch.h). Resources are not part of a run's id. */
#ifndef SWEEP_RESOURCES_H
#define SWEEP_RESOURCES_H
#include "sweep/spec/grid.h"
#include "sweep/spec/manifest.h"

typedef struct SweepResources {
  SlurmSettings *sets; /* [count] distinct */
  char (*labels)[256]; /* [count] blocks of a set, "n2048, n8192"; "" if there is one set */
  size_t count;
  size_t *of_part; /* [grid->part_count] set of a part's runs */
} SweepResources;

/* Makes the sets of a grid, at least one. CORE_USAGE: settings of a block conflict. Caller calls
 * sweep_resources_free. */
int sweep_resources_make(const SweepGrid *grid, SweepResources *resources);
void sweep_resources_free(SweepResources *resources);

/* Returns the set of a run of the grid. */
size_t sweep_resources_of_run(const SweepResources *resources, const SweepGrid *grid, size_t run);

/* Makes the sets of the sweep and finds those of runs of its manifest (indices[count]). Runs that are no longer in the
 * file get the sweep's settings. Caller calls sweep_resources_free and free(*run_sets). */
int sweep_resources_of_indices(const SweepSpec *spec, const SweepManifest *manifest, const int64_t *indices,
                               size_t count, SweepResources *resources, size_t **run_sets);

/* Whether the experiment names any slurm.* setting, in [slurm] or a block. */
bool sweep_spec_has_resources(const SweepSpec *spec);

#endif
