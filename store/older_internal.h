/* Files of older versions, read as they are. */
#ifndef STORE_OLDER_INTERNAL_H
#define STORE_OLDER_INTERNAL_H
#include "store/database_internal.h"

/* For a file that is only read: tables that lack columns of today appear with them, empty (temporary views over them). Of
 * `iteration_row` only where it is a table of the file. */
int store_older_imitate(StoreDatabase *database);

#endif
