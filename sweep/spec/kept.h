/* sweeps/<name>/kept: with which changed code somebody has let a sweep go on (--keep), beside runs that other code has
 * made. Lines of line_log.h. */
#ifndef SWEEP_KEPT_H
#define SWEEP_KEPT_H
#include "core/text.h"

/* Appends the hashes of these codes to `hashes`, commas between. */
int sweep_kept_read(const char *root, const char *name, CoreText *hashes);
/* files: what the code consists of (StoreCode.summary). */
int sweep_kept_add(const char *root, const char *name, const char *hash, const char *files);

#endif
