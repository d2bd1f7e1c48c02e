/* The open database, for the files of store/database/ and store/care/. */
#ifndef STORE_DATABASE_INTERNAL_H
#define STORE_DATABASE_INTERNAL_H
#include <sqlite3.h>
#include <sys/types.h>

#include "core/files.h"
#include "store/database/database.h"

struct StoreDatabase {
  sqlite3 *handle;
  char path[CORE_PATH_MAX];
  bool read_only, allows_any_version;
  dev_t device;                       /* with inode: identity of the file at `path` when it was opened */
  ino_t inode;
  double queries_end_s;               /* time of core_clock_s; 0: none */
  sqlite3_stmt *put_run, *put_member; /* prepared on first use */
  CoreConfigJson json;                /* configuration of the last recorded run */
};

enum { STORE_BUSY_MS = 5000, STORE_YIELD_MS = 30 };

/* Reports the connection's last SQLite error and its remedy; action: "import into", "open". Returns CORE_FAIL. */
int store_database_error(StoreDatabase *database, const char *action);

/* Opens a file of any version up to this one for reading: a rebuild keeps the attempts of an older one. */
int store_database_open_any_version(const char *path, StoreDatabase **database);

/* Turns off WAL and syncing, which makes an import 1.3x as fast, but a crash of the machine can damage the file. Only
 * for a new file that replaces another one after store_database_finalize, which syncs it. */
int store_database_disable_sync(StoreDatabase *database);

/* Closes a database and returns SQLite's code. */
int store_database_close_status(StoreDatabase **database);
/* Closes a database without other users, and makes sure that the single file on disk is complete. */
int store_database_finalize(StoreDatabase **database);
/* Checks that no side file holds commits. CORE_FAIL names the side file. */
int store_file_check_complete(const char *path);
/* Whether SQLite's quick check passes; false also if the file is not a database, cannot be opened, or has a schema that
 * is not of sweep. */
bool store_file_passes_quick_check(const char *path);

/* Executes constant SQL that returns no rows. */
int store_database_execute(StoreDatabase *database, const char *sql);
/* Prepares a constant statement, unless *statement is set already. */
int store_database_prepare(StoreDatabase *database, const char *sql, sqlite3_stmt **statement);
/* Runs a statement that returns no rows, and resets it. */
int store_database_run(StoreDatabase *database, sqlite3_stmt *statement);
/* Reads the first column of the first row; 0 without rows. */
int store_database_int(StoreDatabase *database, const char *sql, int64_t *value);

/* Records a run without a sweep. config NULL: unknown, a recorded one is kept. */
int store_database_put_config(StoreDatabase *database, const CoreConfig *config, const char *id);

/* Imports without taking the lock, for callers that hold it. */
int store_import_unlocked(StoreDatabase *database, const char *root, const char *sweep, StoreImport *result);
/* Takes the importer's lock. *is_held: whether it failed because another importer holds it. */
int store_import_lock(const char *root, bool wait, int *fd, bool *is_held);

#endif
