/* Record of changed code that the user has accepted for a sweep (--keep) although it has runs by other code:
 * sweeps/<name>/kept, with lines of line_log.h. */
#ifndef SWEEP_KEPT_H
#define SWEEP_KEPT_H
#include "core/text.h"

/* Appends the hashes of accepted code to `hashes`, separated by commas. */
int sweep_kept_read(const char *root, const char *name, CoreText *hashes);
/* Adds code. files: StoreCode.summary. */
int sweep_kept_add(const char *root, const char *name, const char *hash, const char *files);

#endif
