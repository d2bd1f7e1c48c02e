/* Files of a sweep in sweeps/<name>/: manifest.tsv (index -> run id) and sweep.ini (the submitted experiment). Written
 * atomically before any run starts. The run of an index never changes. A later file with more runs appends to the
 * manifest. Runs that a later file does not contain keep their index and are only reported.
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

/* Difference between a manifest and the previous one. */
typedef struct SweepManifestChange {
  size_t kept;    /* runs of the file that are in the previous manifest */
  size_t added;   /* new runs, at the end */
  size_t absent;  /* runs of the manifest that are not in the file */
} SweepManifestChange;

/* Reads a manifest. CORE_USAGE: no such sweep (the message names the nearest); CORE_FAIL: damaged, with the line. */
int sweep_manifest_read(const char *root, const char *name, SweepManifest *manifest);
/* Merges a grid into the manifest without writing it. */
int sweep_manifest_merge(const char *root, const SweepGrid *grid, SweepManifest *manifest,
                         SweepManifestChange *change);
/* Merges and writes sweep.ini and manifest.tsv, under a lock so that two submitters cannot lose each other's lines.
 * A frozen spec leaves sweep.ini as it is. The run directories are not touched: see store_run_prepare. */
int sweep_manifest_record(const char *root, const SweepGrid *grid, SweepManifest *manifest,
                          SweepManifestChange *change);
/* Writes the manifest. Only for sweep rm, which holds manifest.lock. */
int sweep_manifest_write(const char *root, const SweepManifest *manifest);
void sweep_manifest_free(SweepManifest *manifest);

/* Adds the runs of all sweeps of the workspace except `except` (may be NULL) to `ids`. */
int sweep_manifest_add_ids(const char *root, const char *except, SweepIdSet *ids);

#endif
