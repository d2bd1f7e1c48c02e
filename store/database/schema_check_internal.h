/* The schema of a database that others may have made. */
#ifndef STORE_SCHEMA_CHECK_INTERNAL_H
#define STORE_SCHEMA_CHECK_INTERNAL_H
#include <sqlite3.h>

/* Gives a connection narrow limits of size and CPU time: SQLite reads tables together with the schema. */
void store_schema_limit(sqlite3 *handle);

/* Checks that the schema consists of plain tables and indexes, views and triggers. CORE_USAGE: the message names
 * the object; CORE_FAIL: an error of SQLite, whose message is not set. */
int store_schema_check(sqlite3 *handle, const char *path);

#endif
