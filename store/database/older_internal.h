/* Files of older versions, read as they are. */
#ifndef STORE_OLDER_INTERNAL_H
#define STORE_OLDER_INTERNAL_H
#include "store/database/database_internal.h"

/* For a file of the version that is only read: tables and the view `iteration` that lack columns of today appear with
 * them, empty (as temporary views). */
int store_older_imitate(StoreDatabase *database, int64_t version);

#endif
