/* results.db: all sweeps, runs, attempts, iterations and evaluations. Only this directory and store/care/ include
 * sqlite3.h. */
#ifndef STORE_DATABASE_H
#define STORE_DATABASE_H
#include <stdbool.h>
#include <stdint.h>

#include "core/config/config.h"

typedef struct StoreDatabase StoreDatabase; /* used by one thread at a time */

/* Opens a database, or creates it unless read_only. Uses WAL on a local disk and a rollback journal on a network file
 * system. Refuses another program's file (application_id), a newer or older version, a damaged or locked file, and
 * without read_only a write-protected one; the message says what to do. */
int store_database_open(const char *path, bool read_only, StoreDatabase **database);
void store_database_close(StoreDatabase **database);
/* Closes a database. Returns CORE_FAIL if the commits could not be written into the file itself. */
int store_database_finish(StoreDatabase **database);

/* Ends all queries of this process, also in other threads, within milliseconds: they and later ones fail. For the end
 * of a program; safe in a signal handler. A pending SIGTERM or SIGINT that is blocked has the same effect. */
void store_database_stop_queries(void);
/* Lets queries of this connection end with an error from a time of core_clock_s on; 0: never. */
void store_database_end_queries_at(StoreDatabase *database, double time_s);

/* Lets the connection keep up to `mebibytes` of the file in memory. Tables are sorted by run, and queries over settings
 * visit runs in another order: of 100 000 runs, a table of results reads each page 28 times with 16 MiB, 5 times
 * with 64. */
int store_database_set_cache(StoreDatabase *database, int mebibytes);

/* Whether the path now names another file (sweep collect --rebuild exchanges it) or none. Writes would be lost: close
 * database and open it again. */
bool store_database_is_replaced(const StoreDatabase *database);

/* Begin and commit an exclusive write (BEGIN IMMEDIATE, busy timeout, retried with backoff). */
int store_database_begin(StoreDatabase *database);
int store_database_commit(StoreDatabase *database);
void store_database_rollback(StoreDatabase *database);
/* Commits and reopens a long transaction so that other writers can proceed. Only for work that is safe to restart from
 * the beginning. */
int store_database_yield(StoreDatabase *database);

/* Record a sweep and its members; idempotent. index: position in the manifest. config NULL: unknown, a recorded one is
 * kept. Call between begin and commit. */
int store_database_put_sweep(StoreDatabase *database, const char *name, const char *ini_text);
int store_database_put_run(StoreDatabase *database, const char *sweep, int64_t index, const CoreConfig *config,
                           const char *id);

/* Imports new states and run logs of all run directories, each row exactly once: rows are keyed by run and iteration,
 * and file offsets are committed with them. One importer at a time, by a lock that survives a crashed owner; if another
 * importer holds it, waits when `wait`, else returns CORE_OK with rows = -1. sweep NULL: all runs of the workspace,
 * also those that no put_run has recorded. Skips what cannot be read (lines, a state, a config.ini) and reports it in
 * first_damage; an error means that the database could not be read or written. */
typedef struct StoreImport {
  int64_t rows;            /* iterations and evaluations read */
  int64_t runs;            /* runs with new rows or a new state */
  int64_t damaged_lines;
  int64_t lost_bytes;      /* bytes missing from logs that became shorter; their rows are kept */
  char first_lost[512];    /* first such log and the remedy; "" if none */
  char first_damage[512];  /* "runs/<id>/stats.1.tsv:17: damaged line, skipped"; "" if none */
} StoreImport;
int store_import(StoreDatabase *database, const char *root, const char *sweep, bool wait, StoreImport *result);
/* Rebuilds results.db from runs/ and sweeps/ alone, and keeps the old file, damaged or not, as results.db.old. Waits
 * for a running importer. On an error the old file stays in place. */
int store_rebuild(const char *root, StoreImport *result);
/* Takes the lock that a rebuild holds; release it with core_files_unlock. Open the database after taking it, so that
 * writes do not go into a file that a rebuild is about to replace. Waits like core_files_lock. */
int store_rebuild_lock(const char *root, int *fd);

/* Writes a consistent copy of the last committed state to `path`, atomically and also while others write. */
int store_backup(StoreDatabase *database, const char *path);

/* Whether the database is a union of others (store_merge_begin), into which nothing is imported. */
bool store_is_merged(StoreDatabase *database);

#endif
