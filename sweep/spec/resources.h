/* Resource sets: what the runs of a sweep ask of a cluster. A [grid] or [search] block may have slurm.* lines of its
 * own, which win over [slurm] and the site's; each distinct result is a set, and each set is submitted as arrays of its
 * own (sweep/cluster/launch.h). Resources are no part of a run's id. */
#ifndef SWEEP_RESOURCES_H
#define SWEEP_RESOURCES_H
#include "sweep/spec/grid.h"
#include "sweep/spec/manifest.h"

typedef struct SweepResources {
  SlurmSettings *sets;    /* [count], all different */
  char (*labels)[256];    /* [count]: the blocks of a set, "n2048, n8192"; "" where one set holds for all */
  size_t count;
  size_t *of_part;        /* [grid->part_count]: the set of a part's runs */
} SweepResources;

/* Makes the sets of a grid: at least one. CORE_USAGE: settings of a block do not go together. Caller calls
 * sweep_resources_free. */
int sweep_resources_make(const SweepGrid *grid, SweepResources *resources);
void sweep_resources_free(SweepResources *resources);

/* Returns the set of a run of the grid. */
size_t sweep_resources_of_run(const SweepResources *resources, const SweepGrid *grid, size_t run);

/* Makes the sets of the sweep and finds those of runs of its manifest (indices[count]). A run that the file does not
 * have any more gets the sweep's own. Caller calls sweep_resources_free and free(*run_sets). */
int sweep_resources_of_indices(const SweepSpec *spec, const SweepManifest *manifest, const int64_t *indices,
                               size_t count, SweepResources *resources, size_t **run_sets);

/* Whether the experiment names any slurm.* setting, in [slurm] or a block. */
bool sweep_spec_has_resources(const SweepSpec *spec);

#endif
