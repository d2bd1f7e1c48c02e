/* A database of some sweeps alone, to be given away: `sweep bundle`. */
#ifndef STORE_EXTRACT_H
#define STORE_EXTRACT_H
#include "store/database/database.h"

/* Writes to `path`, a new file, what `source` has of these sweeps and their runs. It is marked as a union is
 * (store_merge_begin), so nothing is imported into it. The same rows give the same bytes. CORE_USAGE: `source` has no
 * such sweep; CORE_FAIL: it cannot be written; `path` is then removed. */
int store_extract(StoreDatabase *source, const char *const *sweeps, size_t count, const char *path);

#endif
