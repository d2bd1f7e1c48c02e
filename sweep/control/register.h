/* What sweep submit writes into results.db before anything starts. */
#ifndef SWEEP_REGISTER_H
#define SWEEP_REGISTER_H
#include "sweep/spec/grid.h"
#include "sweep/spec/manifest.h"

/* Every run of the file into results.db, so that even a run that never started is known there, and the sweep's text:
 * the file's, or where it has a search the resolved one (sweep.ini), which `analyze search` reads. Waits for a
 * rebuild at work, unless all of it is there already. */
int sweep_register_runs(const char *root, const SweepSpec *spec, const SweepGrid *grid, const SweepManifest *manifest);

#endif
