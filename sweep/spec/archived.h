/* Marker of an archived sweep, sweeps/<name>/archived: the day on which `sweep rm --checkpoints` was called. The
 * file is removed when runs of the sweep are started again. */
#ifndef SWEEP_ARCHIVED_H
#define SWEEP_ARCHIVED_H
#include <stdbool.h>

enum { SWEEP_ARCHIVED_DAY = 16 };

/* Gets the day, "2026-11-23". false, and "": the sweep is not archived. */
bool sweep_archived(const char *root, const char *name, char day[SWEEP_ARCHIVED_DAY]);
int sweep_archived_begin(const char *root, const char *name);
/* Removes the marker and warns of missing checkpoints. Call before runs of the sweep are started. */
void sweep_archived_end(const char *root, const char *name);

#endif
