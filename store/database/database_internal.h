/* The open database as the files of store/ see it. */
#ifndef STORE_DATABASE_INTERNAL_H
#define STORE_DATABASE_INTERNAL_H
#include <sqlite3.h>
#include <sys/types.h>

#include "core/files.h"
#include "store/database/database.h"

struct StoreDatabase {
  sqlite3 *handle;
  char path[CORE_PATH_MAX];
  bool read_only, any_version;
  dev_t device;                       /* of the file that had the name when it was opened */
  ino_t inode;
  sqlite3_stmt *put_run, *put_member; /* prepared at their first use */
  CoreConfigJson json;                /* of the run that was put last */
};

enum { STORE_BUSY_MS = 5000, STORE_BREATH_MS = 30 };

/* Says what SQLite's last error of this connection means and what to do; `doing`: "import into", "open". Returns
 * CORE_FAIL. */
int store_database_error(StoreDatabase *database, const char *doing);

/* Which file is about to be opened, for store_database_is_replaced: one that comes in between counts as another. */
void store_database_note_file(StoreDatabase *database);

/* Opens for reading, also a file of an older version: whose table `attempt` a rebuild keeps. */
int store_database_open_any(const char *path, StoreDatabase **database);

/* Closes; SQLite's code. */
int store_database_end(StoreDatabase **database);
/* Closes a database that nobody else has open, and makes sure that all of it is in its one file, on the disk. */
int store_database_seal(StoreDatabase **database);
/* CORE_FAIL, with what lies beside it: not all that was committed is in the file. */
int store_file_is_whole(const char *path);
/* SQLite's quick check; also false for what is no database, or cannot be opened. */
bool store_file_is_sound(const char *path);

/* SQL of ours without results. */
int store_database_execute(StoreDatabase *database, const char *sql);
int store_database_prepare(StoreDatabase *database, const char *sql, sqlite3_stmt **statement);
/* Runs a statement that gives no rows, and resets it. */
int store_database_run(StoreDatabase *database, sqlite3_stmt *statement);
/* The first column of the first row, 0 when there is none. */
int store_database_int(StoreDatabase *database, const char *sql, int64_t *value);

/* put_run without a sweep. config NULL: not known (an earlier one is kept). */
int store_database_put_config(StoreDatabase *database, const CoreConfig *config, const char *id);

/* The import without its lock, for store_rebuild, which holds it already. */
int store_import_unlocked(StoreDatabase *database, const char *root, const char *sweep, StoreImport *result);
int store_import_lock(const char *root, bool wait, int *fd, bool *held_elsewhere);

#endif
