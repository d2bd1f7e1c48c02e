/* Extract of a database: the rows of some sweeps, to publish with `sweep bundle`. */
#ifndef STORE_EXTRACT_H
#define STORE_EXTRACT_H
#include "store/database/database.h"

/* Writes the rows of `source` that belong to these sweeps and their runs to `path`, a new file. Like a union
 * (store_merge_begin), nothing can be imported into it. Equal rows give equal bytes. CORE_USAGE: `source` lacks one of
 * the sweeps; CORE_FAIL: it cannot be written. On an error `path` is removed. */
int store_extract(StoreDatabase *source, const char *const *sweeps, size_t count, const char *path);

#endif
