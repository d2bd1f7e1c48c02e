/* sweeps/<name>/archived: since when a sweep's checkpoints are gone (`sweep archive`). The file goes when something of
 * the sweep is started again. */
#ifndef SWEEP_ARCHIVED_H
#define SWEEP_ARCHIVED_H
#include <stdbool.h>

enum { SWEEP_ARCHIVED_DAY = 16 };

/* "2026-11-23"; false, and "": it is not archived. */
bool sweep_archived(const char *root, const char *name, char day[SWEEP_ARCHIVED_DAY]);
int sweep_archived_begin(const char *root, const char *name);
/* Before runs of the sweep are started: where it was archived, the log says what is missing, and it is no longer. */
void sweep_archived_end(const char *root, const char *name);

#endif
