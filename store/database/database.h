/* results.db: every sweep, run, attempt, iteration and evaluation. The only user of sqlite3.h is this folder. */
#ifndef STORE_DATABASE_H
#define STORE_DATABASE_H
#include <stdbool.h>
#include <stdint.h>

#include "core/config/config.h"

typedef struct StoreDatabase StoreDatabase; /* used by one thread at a time */

/* Opens or creates. WAL on a local disk, rollback journal on a network filesystem. Refuses, with a message that says
 * what to do: another program's file (application_id), a newer or an older version, a damaged or locked file, a
 * read-only one unless read_only. */
int store_database_open(const char *path, bool read_only, StoreDatabase **database);
void store_database_close(StoreDatabase **database);
/* Closes, and says whether what was committed could be written into the file itself. */
int store_database_finish(StoreDatabase **database);

/* Has the name another file now (sweep rebuild puts one there), or none? What is written goes nowhere then: close, and
 * open again. */
bool store_database_is_replaced(const StoreDatabase *database);

/* Begin/commit of one exclusive write (BEGIN IMMEDIATE, busy timeout, retried with backoff). */
int store_database_begin(StoreDatabase *database);
int store_database_commit(StoreDatabase *database);
void store_database_rollback(StoreDatabase *database);
/* In the midst of much work, between begin and commit: commits what is done, lets others write, and begins again. For
 * work that can be repeated from its start. */
int store_database_breathe(StoreDatabase *database);

/* Records a sweep and its members; idempotent. index = place in the manifest. config NULL = not known (one that is
 * recorded already stays). Call between begin and commit. */
int store_database_put_sweep(StoreDatabase *database, const char *name, const char *ini_text);
int store_database_put_run(StoreDatabase *database, const char *sweep, int64_t index, const CoreConfig *config,
                           const char *id);

/* Imports what is new: every run folder's state and run logs (exactly once: rows keyed by run and iteration, file
 * offsets committed with them). One importer at a time (a lock that survives a crashed owner); when another one
 * holds it, waits when `wait`, else returns CORE_OK with rows = -1. sweep NULL = all runs of the workspace, also those
 * that no put_run has announced. What cannot be read (lines, a state, a config.ini) is passed over and told of in
 * first_damage; an error means that the database could not be read or written. */
typedef struct StoreImport {
  int64_t rows;            /* iterations and evaluations read */
  int64_t runs;            /* runs with new rows or a new state */
  int64_t damaged_lines;
  int64_t lost_bytes;      /* of logs that are shorter than they were; their rows are kept */
  char first_lost[512];    /* which, and what to do; "" when none is */
  char first_damage[512];  /* "runs/<id>/stats.1.tsv:17: damaged line, skipped"; "" when nothing was wrong */
} StoreImport;
int store_import(StoreDatabase *database, const char *root, const char *sweep, bool wait, StoreImport *result);
/* results.db anew from runs/ and sweeps/ alone; the old file, damaged or not, is kept as results.db.old. Waits for an
 * importer at work. On an error the old file stays in its place. */
int store_rebuild(const char *root, StoreImport *result);
/* The lock that a rebuild holds; core_files_unlock ends it. What is written under it cannot go into a file that a
 * rebuild is about to put aside: open the database after taking it. Waits like core_files_lock. */
int store_rebuild_lock(const char *root, int *fd);

/* A consistent copy of the database as it was last committed, also while others write: `path`, replaced atomically. */
int store_backup(StoreDatabase *database, const char *path);

/* Is it a union of others (store_merge_begin)? Nothing is imported into one. */
bool store_is_merged(StoreDatabase *database);

#endif
