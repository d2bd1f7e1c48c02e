/* Opens results.db (checks its owner, version and file system), runs transactions, and records sweeps and runs.
 * ingest.c imports the rows of run logs; query.c reads. */
#include "store/database/database.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/command/options.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "core/version.h"
#include "store/database/connection_internal.h"
#include "store/database/database_internal.h"
#include "store/database/schema.h"
#include "store/runlog/runlog_internal.h"
#include "store/workspace/paths.h"

/* ---- SQL -------------------------------------------------------------------------------------------------------- */

int store_database_execute(StoreDatabase *database, const char *sql) {
  if (sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK) return CORE_OK;
  return store_database_error(database, database->read_only ? "read" : "write");
}

int store_database_prepare(StoreDatabase *database, const char *sql, sqlite3_stmt **statement) {
  if (*statement) return CORE_OK;
  if (sqlite3_prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL) == SQLITE_OK)
    return CORE_OK;
  return store_database_error(database, "read");
}

int store_database_run(StoreDatabase *database, sqlite3_stmt *statement) {
  int code = sqlite3_step(statement) == SQLITE_DONE ? CORE_OK : store_database_error(database, "write");
  sqlite3_reset(statement);
  return code;
}

int store_database_int(StoreDatabase *database, const char *sql, int64_t *value) {
  sqlite3_stmt *statement = NULL;
  *value = 0;
  TRY(store_database_prepare(database, sql, &statement));
  int step = sqlite3_step(statement);
  int code = CORE_OK;
  if (step == SQLITE_ROW) *value = sqlite3_column_int64(statement, 0);
  else if (step != SQLITE_DONE) code = store_database_error(database, "read");
  sqlite3_finalize(statement);
  return code;
}

/* ---- application and version ------------------------------------------------------------------------------------- */

typedef struct Identity { int64_t application, version, objects; } Identity;

/* Reads who made the file, and refuses a schema of ours whose tables a query cannot read safely. */
static int read_identity(StoreDatabase *database, Identity *identity) {
  *identity = (Identity){0};
  TRY(store_database_int(database, "PRAGMA application_id", &identity->application));
  TRY(store_database_int(database, "PRAGMA user_version", &identity->version));
  if (identity->application == 0 && identity->version == 0)
    TRY(store_database_int(database, "SELECT count(*) FROM main.sqlite_master", &identity->objects));
  if (identity->application != STORE_SCHEMA_APPLICATION && (identity->version != 0 || identity->objects != 0))
    return CORE_OK; /* another program's */

  const int code = store_connection_accept(database->handle, database->path);
  return code == CORE_FAIL ? store_database_error(database, "read") : code;
}

/* Checks that the file is ours and of a readable version; *version = 0 for an empty file. */
static int check_identity(StoreDatabase *database, int64_t *version) {
  Identity identity;

  /* In one transaction, because another process may be creating the schema right now. */
  bool own_transaction = sqlite3_get_autocommit(database->handle);
  if (own_transaction) TRY(store_database_execute(database, "BEGIN"));
  int code = read_identity(database, &identity);
  if (own_transaction) store_database_rollback(database);
  if (code != CORE_OK) return code;

  *version = identity.version;
  if (identity.application == 0 && identity.version == 0 && identity.objects == 0) return CORE_OK;

  if (identity.application != STORE_SCHEMA_APPLICATION)
    return core_error(CORE_USAGE, "%s is another program's database: name a results.db created by sweep, or another "
                      "workspace", database->path);
  if (identity.version > STORE_SCHEMA_VERSION)
    return core_error(CORE_USAGE, "%s was written by a newer version (schema %lld, this program reads %d); install "
                      "that version, or rebuild it with: sweep collect --rebuild", database->path,
                      (long long)identity.version, STORE_SCHEMA_VERSION);
  if (identity.version < STORE_SCHEMA_VERSION && !database->allows_any_version)
    return core_error(CORE_USAGE, "%s was written by an older version (schema %lld, this program reads %d); rebuild it "
                      "from the run logs with: sweep collect --rebuild", database->path, (long long)identity.version,
                      STORE_SCHEMA_VERSION);
  return CORE_OK;
}

/* ---- schema ----------------------------------------------------------------------------------------------------- */

/* Tables whose columns come from runlog.h, with the number of key columns that precede them. */
typedef struct LogTable { const char *name; int keys; StoreLogKind kind; } LogTable;
static const LogTable log_tables[] = {
  {"iteration", 2, STORE_LOG_STATS}, {"evaluation", 3, STORE_LOG_EVAL}, {"layer", 3, STORE_LOG_LAYERS},
  {"metric", 3, STORE_LOG_METRICS}};
enum { LOG_TABLES = sizeof log_tables / sizeof *log_tables };

/* Checks that the file has the columns of runlog.h in that order, and counts them in *present. A file written by an
 * earlier commit may lack the last ones. */
static int compare_columns(StoreDatabase *database, const LogTable *table, size_t *present) {
  size_t count;
  const StoreLogColumn *columns = store_runlog_columns(table->kind, &count);
  sqlite3_stmt *info = NULL;
  int code = CORE_OK, step;
  *present = 0;

  TRY(store_database_prepare(database, "SELECT name FROM pragma_table_info(?1, 'main') WHERE cid >= ?2 ORDER BY cid",
                             &info));
  sqlite3_bind_text(info, 1, table->name, -1, SQLITE_STATIC);
  sqlite3_bind_int(info, 2, table->keys);

  while ((step = sqlite3_step(info)) == SQLITE_ROW && code == CORE_OK) {
    const char *name = (const char *)sqlite3_column_text(info, 0);
    if (*present < count && name && strcmp(name, columns[*present].name) == 0) ++*present;
    else code = core_error(CORE_USAGE, "%s was written by another version (column '%s' of %s is unexpected); rebuild "
                           "it with: sweep collect --rebuild", database->path, name ? name : "", table->name);
  }

  if (code == CORE_OK && step != SQLITE_DONE) code = store_database_error(database, "read");
  sqlite3_finalize(info);
  return code;
}

static int find_missing_columns(StoreDatabase *database, bool *any_missing) {
  size_t present, count;
  *any_missing = false;
  for (int table = 0; table < LOG_TABLES && !*any_missing; table++) {
    TRY(compare_columns(database, &log_tables[table], &present));
    store_runlog_columns(log_tables[table].kind, &count);
    *any_missing = present < count;
  }
  return CORE_OK;
}

/* Adds missing columns: to the table when writing, or in a temporary view that hides it when reading. */
static int add_columns(StoreDatabase *database, const LogTable *table) {
  size_t count, present;
  const StoreLogColumn *columns = store_runlog_columns(table->kind, &count);
  CoreText sql = {0};
  int code = compare_columns(database, table, &present);
  if (database->read_only) core_text_appendf(&sql, "CREATE TEMP VIEW %s AS SELECT *", table->name);
  for (size_t i = present; i < count; i++) {
    if (database->read_only) core_text_appendf(&sql, ", NULL AS %s", columns[i].name);
    else core_text_appendf(&sql, "ALTER TABLE %s ADD COLUMN %s REAL;", table->name, columns[i].name);
  }
  if (database->read_only) core_text_appendf(&sql, " FROM main.%s", table->name);
  if (code == CORE_OK && present < count) code = store_database_execute(database, core_text_string(&sql));
  core_text_free(&sql);
  return code;
}

static int create_schema(StoreDatabase *database) {
  char *program = sqlite3_mprintf("%s %s", core_version(), core_commit());
  char *sql = sqlite3_mprintf(
    "%s%sPRAGMA application_id = %d; PRAGMA user_version = %d; INSERT INTO schema_version VALUES(%d, %Q, %.3f)",
    store_schema_tables, store_schema_views, STORE_SCHEMA_APPLICATION, STORE_SCHEMA_VERSION, STORE_SCHEMA_VERSION,
    program ? program : "", core_clock_unix_s());
  int code = sql ? store_database_execute(database, sql) : core_error(CORE_FAIL, "out of memory");
  sqlite3_free(program);
  sqlite3_free(sql);
  return code;
}

/* Creates the schema of a new file, and adds the columns that a file of an earlier commit lacks. */
static int complete_schema(StoreDatabase *database) {
  int64_t version;
  TRY(store_database_begin(database));
  int code = check_identity(database, &version); /* again: another process may have created it in the meantime */
  if (code == CORE_OK && version == 0) code = create_schema(database);
  for (int table = 0; table < LOG_TABLES && code == CORE_OK; table++) code = add_columns(database, &log_tables[table]);
  if (code == CORE_OK) code = store_database_commit(database);
  if (code != CORE_OK) store_database_rollback(database);
  return code;
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

/* Records which file is about to be opened, for store_database_is_replaced. SQLite reports a missing one. */
static void record_file_identity(StoreDatabase *database) {
  struct stat status;
  if (stat(database->path, &status) < 0) return;
  database->device = status.st_dev;
  database->inode = status.st_ino;
}

bool store_database_is_replaced(const StoreDatabase *database) {
  struct stat status;
  return stat(database->path, &status) < 0 || status.st_dev != database->device || status.st_ino != database->inode;
}

/* Selects the journal mode. WAL lets readers and the importer work at the same time, but needs memory shared by all
 * users of the file, which a network file system does not provide. */
static int set_journal_mode(StoreDatabase *database) {
  static bool warned;
  bool network = store_is_network_filesystem(database->path);
  if (network && !warned)
    core_warn("%s is on a network file system: only one program at a time can use it", database->path);
  warned = warned || network;
  const char *sql = network ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL";
  /* Changing the mode takes an exclusive lock, for which SQLite does not wait by itself. */
  double deadline = core_clock_s() + STORE_BUSY_MS / 1000.0;
  int code;
  while ((code = sqlite3_exec(database->handle, sql, NULL, NULL, NULL)) != SQLITE_OK) {
    if ((code & 0xff) != SQLITE_BUSY || core_clock_s() > deadline) return store_database_error(database, "open");
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
  return store_database_execute(database, network ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
}

/* Creates this program's views as temporary ones. They hide those of the file, which may be of another version or a
 * stranger's, and never run (store_connection_open). */
static int create_temporary_views(StoreDatabase *database) {
  static const char create[] = "CREATE VIEW ";
  CoreText sql = {0};
  const char *view = store_schema_views;
  for (const char *next; (next = strstr(view, create)) != NULL; view = next + strlen(create))
    core_text_appendf(&sql, "%.*sCREATE TEMP VIEW ", (int)(next - view), view);
  core_text_append(&sql, view);
  const int code = store_database_execute(database, core_text_string(&sql));
  core_text_free(&sql);
  return code;
}

static int connect_file(StoreDatabase *database, int flags, bool is_immutable) {
  TRY(store_connection_check(database->path));
  if (store_connection_open(database->path, flags, is_immutable, &database->handle) != SQLITE_OK)
    return store_database_error(database, "open");
  return CORE_OK;
}

static bool has_bytes(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && status.st_size > 0;
}

/* Reopens a WAL database in a directory without write permission. SQLite must then be told that the file is immutable,
 * which is only correct if no side file has a part of it. */
static int connect_immutable(StoreDatabase *database) {
  char wal[CORE_PATH_MAX], journal[CORE_PATH_MAX];
  TRY(core_files_path(wal, "%s-wal", database->path));
  if (has_bytes(wal))
    return core_error(CORE_FAIL, "cannot read all of %s: the newest rows are in %s, and merging them needs write "
                      "permission in that directory; ask its owner to run `sweep collect`, or copy both files to a "
                      "directory of yours", database->path, wal);
  TRY(core_files_path(journal, "%s-journal", database->path));
  if (has_bytes(journal))
    return core_error(CORE_FAIL, "%s is in the middle of a write that was interrupted; %s undoes it, which needs write "
                      "permission: run `sweep collect`, or for a copy of both files `analyze check --repair`",
                      database->path, journal);
  sqlite3_close(database->handle);
  return connect_file(database, SQLITE_OPEN_READONLY, true);
}

static int open_for_reading(StoreDatabase *database) {
  int64_t version;
  record_file_identity(database);
  TRY(connect_file(database, SQLITE_OPEN_READONLY, false));
  int status = sqlite3_exec(database->handle, "SELECT 1 FROM main.sqlite_master", NULL, NULL, NULL);
  if ((status & 0xff) == SQLITE_CANTOPEN || (status & 0xff) == SQLITE_READONLY) TRY(connect_immutable(database));
  TRY(check_identity(database, &version));
  if (version == 0)
    return core_error(CORE_USAGE, "%s contains no results yet; import them with: sweep status", database->path);
  TRY(create_temporary_views(database));
  for (int table = 0; table < LOG_TABLES && !database->allows_any_version; table++)
    TRY(add_columns(database, &log_tables[table]));
  return CORE_OK;
}

/* Refuses a symbolic link of an untrusted owner, which could lead to any file of this user. A link made by this user,
 * root or the directory's owner is fine: the database may be on another disk. */
static int check_link(const StoreDatabase *database) {
  char directory[CORE_PATH_MAX];
  struct stat link, parent;
  if (lstat(database->path, &link) < 0 || !S_ISLNK(link.st_mode) || link.st_uid == geteuid() || link.st_uid == 0)
    return CORE_OK;
  TRY(core_files_path(directory, "%.*s", (int)(strrchr(database->path, '/') - database->path + 1), database->path));
  if (stat(directory, &parent) == 0 && parent.st_uid == link.st_uid) return CORE_OK;
  return core_error(CORE_FAIL, "%s is a symbolic link owned by another user (%ld), and is not written; remove it and "
                    "run this again", database->path, (long)link.st_uid);
}

/* Creates the file with the permissions of the umask, so that a group can share a workspace: SQLite would make it
 * writable by its owner only. The side files (-wal, -shm) inherit its permissions. SQLite reports failures. */
static void create_file(const char *path) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd >= 0) close(fd);
}

static int open_for_writing(StoreDatabase *database) {
  int64_t version;
  bool incomplete = true;

  TRY(check_link(database));
  create_file(database->path);
  record_file_identity(database);
  TRY(connect_file(database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, false));
  TRY(check_identity(database, &version));

  if (sqlite3_db_readonly(database->handle, "main") == 1)
    return core_error(CORE_FAIL,
                      "%s is read-only; its owner can let the group write with chmod g+w (and umask 002 before the "
                      "first sweep), or copy the workspace",
                      database->path);

  char pragmas[160];
  snprintf(pragmas, sizeof pragmas, "PRAGMA page_size = %d; PRAGMA cache_size = -16384;"
           "PRAGMA wal_autocheckpoint = 256", STORE_SCHEMA_PAGE_BYTES);
  TRY(store_database_execute(database, pragmas));
  TRY(set_journal_mode(database));

  if (version > 0) TRY(find_missing_columns(database, &incomplete));
  if (incomplete) TRY(complete_schema(database));
  return create_temporary_views(database);
}

static int open_file(const char *path, bool read_only, bool allows_any_version, StoreDatabase **result) {
  struct stat status;
  *result = NULL;

  bool exists = stat(path, &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return core_error(CORE_USAGE, "%s is a directory; name a results.db", path);
  if (exists && !S_ISREG(status.st_mode))
    return core_error(CORE_USAGE, "%s is not a regular file; name a results.db", path);
  if (!exists && read_only) return core_error_errno(CORE_USAGE, "cannot open %s", path);

  StoreDatabase *database = core_memory_zero_allocate(1, sizeof *database);
  database->read_only = read_only;
  database->allows_any_version = allows_any_version;
  /* "./" keeps SQLite from interpreting names like ":memory:". */
  int code = core_files_path(database->path, "%s%s", *path == '/' ? "" : "./", path);
  if (code == CORE_OK) code = read_only ? open_for_reading(database) : open_for_writing(database);
  if (code != CORE_OK) {
    store_database_close(&database);
    return code;
  }

  *result = database;
  return CORE_OK;
}

int store_database_open(const char *path, bool read_only, StoreDatabase **database) {
  return open_file(path, read_only, false, database);
}

int store_database_open_any_version(const char *path, StoreDatabase **database) {
  return open_file(path, true, true, database);
}

int store_database_set_cache(StoreDatabase *database, int mebibytes) {
  char pragma[64];
  snprintf(pragma, sizeof pragma, "PRAGMA cache_size = -%d", mebibytes * 1024);
  return store_database_execute(database, pragma);
}

int store_database_disable_sync(StoreDatabase *database) {
  return store_database_execute(database, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF");
}

int store_database_close_status(StoreDatabase **database) {
  if (!*database) return SQLITE_OK;
  sqlite3_finalize((*database)->put_run);
  sqlite3_finalize((*database)->put_member);
  core_config_json_free(&(*database)->json);
  const int status = sqlite3_close((*database)->handle);
  free(*database);
  *database = NULL;
  return status;
}

void store_database_close(StoreDatabase **database) { store_database_close_status(database); }

/* ---- transactions ----------------------------------------------------------------------------------------------- */

/* Executes a statement, retrying with backoff: SQLite waits for most locks by itself, but fails at once on some
 * (another connection is recovering the WAL). */
static int execute_with_retry(StoreDatabase *database, const char *sql) {
  double deadline = core_clock_s() + STORE_BUSY_MS / 1000.0;
  for (long wait_ns = 1000000;; wait_ns = wait_ns < 200000000 ? 2 * wait_ns : wait_ns) {
    int code = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
    if (code == SQLITE_OK) return CORE_OK;
    if ((code & 0xff) != SQLITE_BUSY || core_clock_s() >= deadline) return store_database_error(database, "write");
    nanosleep(&(struct timespec){.tv_nsec = wait_ns}, NULL);
  }
}

int store_database_begin(StoreDatabase *database) { return execute_with_retry(database, "BEGIN IMMEDIATE"); }

int store_database_commit(StoreDatabase *database) { return execute_with_retry(database, "COMMIT"); }

int store_database_yield(StoreDatabase *database) {
  TRY(store_database_commit(database));
  nanosleep(&(struct timespec){.tv_nsec = STORE_YIELD_MS * 1000000L}, NULL); /* waiting writers poll with pauses */
  return store_database_begin(database);
}

void store_database_rollback(StoreDatabase *database) {
  if (!sqlite3_get_autocommit(database->handle)) sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- sweeps and runs -------------------------------------------------------------------------------------------- */

/* A run that has started keeps the plan that it recorded (core_script_plan). */
int store_database_put_config(StoreDatabase *database, const CoreConfig *config, const char *id) {
  if (!store_is_run_id(id)) return core_error(CORE_USAGE, "'%.40s' is not a run id", id);

  TRY(store_database_prepare(database,
                             "INSERT INTO run(id, seed, config, iterations, transitions_total)"
                             " VALUES(?1, ?2, ?3, ?4, ?5)"
                             " ON CONFLICT(id) DO UPDATE SET config = CASE"
                             " WHEN attempt > 0 AND json_extract(config, '$.program.plan') IS NOT NULL"
                             " THEN json_set(excluded.config, '$.program.plan', json_extract(config, '$.program.plan'))"
                             " WHEN attempt > 0 AND json_extract(config, '$.train.plan') IS NOT NULL"
                             " THEN json_set(excluded.config, '$.train.plan', json_extract(config, '$.train.plan'))"
                             " ELSE excluded.config END, seed = excluded.seed"
                             " WHERE excluded.config IS NOT NULL AND config IS NOT excluded.config",
                             &database->put_run));

  sqlite3_stmt *put = database->put_run;
  sqlite3_clear_bindings(put);
  sqlite3_bind_text(put, 1, id, -1, SQLITE_STATIC);

  if (config) {
    int64_t iterations = core_config_iterations(config);
    sqlite3_bind_int64(put, 2, config->train.seed);
    sqlite3_bind_text(put, 3, core_config_json(&database->json, config), -1, SQLITE_STATIC);
    sqlite3_bind_int64(put, 4, iterations);
    sqlite3_bind_int64(put, 5, iterations * core_config_transitions_per_iteration(config));
  }
  return store_database_run(database, put);
}

int store_database_put_run(StoreDatabase *database, const char *sweep, int64_t index, const CoreConfig *config,
                           const char *id) {
  TRY(store_database_put_config(database, config, id));
  TRY(store_database_prepare(database, "INSERT OR REPLACE INTO sweep_run(sweep, idx, run_id) VALUES(?1, ?2, ?3)",
                             &database->put_member));
  sqlite3_bind_text(database->put_member, 1, sweep, -1, SQLITE_STATIC);
  sqlite3_bind_int64(database->put_member, 2, index);
  sqlite3_bind_text(database->put_member, 3, id, -1, SQLITE_STATIC);
  return store_database_run(database, database->put_member);
}

int store_database_put_sweep(StoreDatabase *database, const char *name, const char *ini_text) {
  sqlite3_stmt *statement = NULL;

  TRY(core_text_check_name(name, "the sweep's name"));
  TRY(store_database_prepare(database,
                             "INSERT INTO sweep(name, ini, created) VALUES(?1, ?2, ?3)"
                             " ON CONFLICT(name) DO UPDATE SET ini = excluded.ini WHERE ini IS NOT excluded.ini",
                             &statement));

  sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
  CoreText text = {0}; /* files accepted by older versions may be in another encoding */
  core_text_append_utf8(&text, ini_text);
  sqlite3_bind_text(statement, 2, core_text_string(&text), -1, SQLITE_STATIC);
  sqlite3_bind_double(statement, 3, core_clock_unix_s());

  int code = store_database_run(database, statement);
  core_text_free(&text);
  sqlite3_finalize(statement);
  return code;
}

bool store_is_merged(StoreDatabase *database) {
  int64_t tables = 0;
  return store_database_int(database, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'merged'",
                            &tables) == CORE_OK && tables > 0;
}
