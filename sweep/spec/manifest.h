/* sweeps/<name>/: manifest.tsv (array index -> run id) and sweep.ini (what was submitted). Written before anything
 * starts, atomically. An index never changes its run. A later file with more runs appends. Runs that a later file does
 * not contain keep their place and are only reported.
 *
 *   # manifest 1 <name>
 *   index <tab> run
 *   0 <tab> 0123456789abcdef */
#ifndef SWEEP_MANIFEST_H
#define SWEEP_MANIFEST_H
#include <stdbool.h>
#include <stddef.h>

#include "core/config/config.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/spec.h"

typedef struct SweepManifest {
  char name[SWEEP_NAME];
  char (*ids)[CORE_RUN_ID]; /* [count], by index */
  size_t count;
} SweepManifest;

/* How a manifest follows from the one before. */
typedef struct SweepManifestChange {
  size_t kept;    /* runs of the file that were there already */
  size_t added;   /* new ones, at the end */
  size_t absent;  /* runs of the manifest that are not in the file */
} SweepManifestChange;

/* Reads one. CORE_USAGE: no such sweep (names the nearest); CORE_FAIL: damaged, with the line. */
int sweep_manifest_read(const char *root, const char *name, SweepManifest *manifest);
/* What recording this grid would give, without writing. */
int sweep_manifest_merge(const char *root, const SweepGrid *grid, SweepManifest *manifest,
                         SweepManifestChange *change);
/* Merges and writes sweep.ini and manifest.tsv, under a lock so that two submitters cannot lose each other's lines.
 * A frozen spec leaves sweep.ini as it is. The run folders are not touched: see store_run_prepare. */
int sweep_manifest_record(const char *root, const SweepGrid *grid, SweepManifest *manifest,
                          SweepManifestChange *change);
/* As it stands: sweep rm's, which holds manifest.lock. */
int sweep_manifest_write(const char *root, const SweepManifest *manifest);
void sweep_manifest_free(SweepManifest *manifest);

/* Adds the runs of all sweeps of the workspace, but of `except` (NULL: of each), to `ids`. */
int sweep_manifest_add_ids(const char *root, const char *except, SweepIdSet *ids);

#endif
