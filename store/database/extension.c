/* lib/sweep/sweep_rows.so: the rows of iterations at full speed for other programs, as a loadable extension of SQLite
 * (docs/results.md has how Python, R and the shell load it). It gives the connection that loads it what our own have:
 * the virtual table `iteration_row` (rows.c), and a temporary view `iteration` over it in the place of the file's.
 *
 * Nothing is written, no setting of the connection changes, and it needs no library but C's. */
#include "store/database/rows_internal.h"
#include "store/database/schema.h"

#ifdef STORE_AS_EXTENSION
SQLITE_EXTENSION_INIT1
#endif

enum { SQLITE_LEAST = 3034000 }; /* the first with sqlite3_txn_state */

/* SQLite finds it by the name of the file. */
__attribute__((visibility("default"))) int sqlite3_sweeprows_init(sqlite3 *handle, char **message,
                                                                  const sqlite3_api_routines *api);

static int fail(sqlite3 *handle, int code, char **message) {
  *message = sqlite3_mprintf("sweep_rows: %s", sqlite3_errmsg(handle));
  return code;
}

static int read_pragma(sqlite3 *handle, const char *sql, int64_t *value) {
  sqlite3_stmt *statement = NULL;
  int code = sqlite3_prepare_v2(handle, sql, -1, &statement, NULL);
  *value = 0;
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  if (code == SQLITE_ROW) *value = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

int sqlite3_sweeprows_init(sqlite3 *handle, char **message, const sqlite3_api_routines *api) {
  int64_t application, version;
#ifdef STORE_AS_EXTENSION
  SQLITE_EXTENSION_INIT2(api);
#endif
  if (sqlite3_libversion_number() < SQLITE_LEAST) {
    *message = sqlite3_mprintf("sweep_rows: SQLite 3.34 or later is needed, this is %s", sqlite3_libversion());
    return SQLITE_ERROR;
  }
  int code = read_pragma(handle, "PRAGMA main.application_id", &application);
  if (code == SQLITE_OK) code = read_pragma(handle, "PRAGMA main.user_version", &version);
  if (code != SQLITE_OK) return fail(handle, code, message);
  if (application != STORE_SCHEMA_APPLICATION) {
    *message = sqlite3_mprintf("sweep_rows: the database of this connection is no results.db of sweep; open one, then "
                               "load this");
    return SQLITE_ERROR;
  }
  if (version > STORE_SCHEMA_VERSION) {
    *message = sqlite3_mprintf("sweep_rows: results.db was written by a newer version (its schema is %lld, this knows "
                               "%d); load that version's", (long long)version, STORE_SCHEMA_VERSION);
    return SQLITE_ERROR;
  }
  if (version < STORE_SCHEMA_CHUNKS) return SQLITE_OK; /* its rows are a table as it is */
  code = store_rows_create_module(handle);
  if (code == SQLITE_OK) code = sqlite3_exec(handle, store_schema_fast_view, NULL, NULL, NULL);
  return code == SQLITE_OK ? code : fail(handle, code, message);
}
