/* Small files of a sweep in sweeps/<name>/, each of which records one decision of the user. */
#ifndef SWEEP_SPEC_MARKERS_H
#define SWEEP_SPEC_MARKERS_H
#include <stdbool.h>

#include "core/text.h"

/* ---- archived ---------------------------------------------------------------------------------------------------- */

/* Marker of an archived sweep, sweeps/<name>/archived: the day on which `sweep rm --checkpoints` was called. The
 * file is removed when runs of the sweep are started again. */

enum { SWEEP_ARCHIVED_DAY = 16 };

/* Gets the day, "2026-11-23". false, and "": the sweep is not archived. */
bool sweep_archived(const char *root, const char *name, char day[SWEEP_ARCHIVED_DAY]);
int sweep_archived_begin(const char *root, const char *name);
/* Removes the marker and warns of missing checkpoints. Call before runs of the sweep are started. */
void sweep_archived_end(const char *root, const char *name);

/* ---- kept -------------------------------------------------------------------------------------------------------- */

/* Record of changed code that the user has accepted for a sweep (--keep) although it has runs by other code:
 * sweeps/<name>/kept, with lines of line_log.h. */

/* Appends the hashes of accepted code to `hashes`, separated by commas. */
int sweep_kept_read(const char *root, const char *name, CoreText *hashes);
/* Adds code. files: StoreCode.summary. */
int sweep_kept_add(const char *root, const char *name, const char *hash, const char *files);

#endif
