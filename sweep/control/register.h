/* Registers a sweep and its runs in results.db before anything starts. */
#ifndef SWEEP_REGISTER_H
#define SWEEP_REGISTER_H
#include "sweep/spec/grid.h"
#include "sweep/spec/manifest.h"

/* Writes every run of the file to results.db, so that even a run that never started is known there, and the sweep's
 * text: the file's, or with a search the resolved one (sweep.ini), which `analyze search` reads. Waits for a rebuild in
 * progress, unless everything is registered already. */
int sweep_register_runs(const char *root, const SweepSpec *spec, const SweepGrid *grid, const SweepManifest *manifest);

#endif
