/* SQLite connections to files that other users may have made or may change at any time. */
#ifndef STORE_CONNECTION_INTERNAL_H
#define STORE_CONNECTION_INTERNAL_H
#include <sqlite3.h>
#include <stdbool.h>

enum { STORE_SIDE_FILES = 3 };
extern const char *const store_side_files[STORE_SIDE_FILES]; /* "-wal", ...: suffixes of files next to a database */

/* Checks that SQLite may open the file and those next to it that it reads without being asked (-wal, -shm, -journal):
 * regular files, written by users who may write the database, and no journal that names another file, which SQLite
 * would delete. An absent file is valid. CORE_FAIL: the message names the file and the way out. */
int store_connection_check(const char *path);

/* Opens a file with the protection that SQLite recommends for foreign ones: none of its views and triggers runs, no
 * file next to it is followed or waited for, no journal deletes other files, values have a limit, and a stop ends every
 * query. Ours are temporary views (schema.h), which hide those of the file. is_immutable: nothing next to the file is
 * read. Returns SQLite's code; the caller closes *handle in any case. The connection has narrow limits of size and time
 * until store_connection_accept. */
int store_connection_open(const char *path, int flags, bool is_immutable, sqlite3 **handle);

/* Accepts the schema of the file if it has only tables and indexes that a query reads without evaluating what the file
 * says (schema_check.c), whatever its version; to be called before the first query of a table. CORE_USAGE: the schema
 * is not one of sweep; CORE_FAIL: SQLite cannot read it, and the message is not set. */
int store_connection_accept(sqlite3 *handle, const char *path);

/* ---- schema_check.c ---------------------------------------------------------------------------------------------- */

/* Gives a connection narrow limits of size and CPU time: SQLite reads tables together with the schema. */
void store_schema_limit(sqlite3 *handle);

/* Checks that the schema consists of plain tables and indexes, views and triggers. CORE_USAGE: the message names
 * the object; CORE_FAIL: an error of SQLite, whose message is not set. */
int store_schema_check(sqlite3 *handle, const char *path);

#endif
