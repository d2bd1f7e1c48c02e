/* Opening results.db (whose is it, which version, where does it lie), transactions, and what `sweep` records. Rows of
 * run logs come in through ingest.c; reading is query.c. */
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

/* ---- whose file is it ------------------------------------------------------------------------------------------- */

typedef struct Identity { int64_t application, version, objects; } Identity;

static int read_identity(StoreDatabase *database, Identity *identity) {
  TRY(store_database_int(database, "PRAGMA application_id", &identity->application));
  TRY(store_database_int(database, "PRAGMA user_version", &identity->version));
  return store_database_int(database, "SELECT count(*) FROM sqlite_schema", &identity->objects);
}

/* *version = 0 for a file that holds nothing yet. */
static int identify(StoreDatabase *database, int64_t *version) {
  Identity identity;
  /* One transaction: another process may be making the schema at this moment. */
  bool own_transaction = sqlite3_get_autocommit(database->handle);
  if (own_transaction) TRY(store_database_execute(database, "BEGIN"));
  int code = read_identity(database, &identity);
  if (own_transaction) store_database_rollback(database);
  if (code != CORE_OK) return code;
  *version = identity.version;
  if (identity.application == 0 && identity.version == 0 && identity.objects == 0) return CORE_OK;
  if (identity.application != STORE_SCHEMA_APPLICATION)
    return core_error(CORE_USAGE, "%s is another program's database: name a results.db that sweep has made, or another "
                      "workspace", database->path);
  if (identity.version > STORE_SCHEMA_VERSION)
    return core_error(CORE_USAGE, "%s was written by a newer version (its schema is %lld, this program knows %d); "
                      "install that version, or make it anew with: sweep rebuild", database->path,
                      (long long)identity.version, STORE_SCHEMA_VERSION);
  return identity.version < STORE_SCHEMA_VERSION && !database->any_version
           ? core_error(CORE_USAGE, "%s was written by an older version (its schema is %lld, this program's %d); make "
                        "it anew from the run logs with: sweep rebuild", database->path, (long long)identity.version,
                        STORE_SCHEMA_VERSION)
           : CORE_OK;
}

/* ---- schema ----------------------------------------------------------------------------------------------------- */

/* The tables whose columns come from runlog.h, and how many keys stand before them. */
typedef struct LogTable { const char *name; int keys; StoreLogKind kind; } LogTable;
static const LogTable log_tables[] = {
  {"iteration", 2, STORE_LOG_STATS}, {"evaluation", 3, STORE_LOG_EVAL}, {"layer", 3, STORE_LOG_LAYERS},
  {"metric", 3, STORE_LOG_METRICS}};
enum { LOG_TABLES = sizeof log_tables / sizeof *log_tables };

/* The file's columns must be those of the list, in that order. One that an earlier commit made lacks some at the end:
 * *present is smaller than the list. */
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
    else code = core_error(CORE_USAGE, "%s was written by another version (column '%s' of %s is unexpected); make it "
                           "anew with: sweep rebuild", database->path, name ? name : "", table->name);
  }
  if (code == CORE_OK && step != SQLITE_DONE) code = store_database_error(database, "read");
  sqlite3_finalize(info);
  return code;
}

static int lacks_columns(StoreDatabase *database, bool *lacking) {
  size_t present, count;
  *lacking = false;
  for (int table = 0; table < LOG_TABLES && !*lacking; table++) {
    TRY(compare_columns(database, &log_tables[table], &present));
    store_runlog_columns(log_tables[table].kind, &count);
    *lacking = present < count;
  }
  return CORE_OK;
}

/* For writing: new columns come to the tables. For reading: temporary views in their places have them, empty. */
static int add_columns(StoreDatabase *database, const LogTable *table) {
  size_t count, present;
  const StoreLogColumn *columns = store_runlog_columns(table->kind, &count);
  CoreText sql = {0};
  int code = compare_columns(database, table, &present);
  if (database->read_only) core_text_appendf(&sql, "CREATE TEMP VIEW %s AS SELECT *", table->name);
  for (size_t at = present; at < count; at++) {
    if (database->read_only) core_text_appendf(&sql, ", NULL AS %s", columns[at].name);
    else core_text_appendf(&sql, "ALTER TABLE %s ADD COLUMN %s REAL;", table->name, columns[at].name);
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

/* Makes the schema of a new file, and what one of an earlier commit lacks of it. */
static int complete_schema(StoreDatabase *database) {
  int64_t version;
  TRY(store_database_begin(database));
  int code = identify(database, &version); /* again: another process may have done it meanwhile */
  if (code == CORE_OK && version == 0) code = create_schema(database);
  for (int table = 0; table < LOG_TABLES && code == CORE_OK; table++) code = add_columns(database, &log_tables[table]);
  if (code == CORE_OK) code = store_database_commit(database);
  if (code != CORE_OK) store_database_rollback(database);
  return code;
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

/* WAL lets readers and the importer work at the same time, but needs memory shared between all users of the file,
 * which a network filesystem does not give. */
static int choose_journal(StoreDatabase *database) {
  static bool warned;
  bool network = store_is_network_filesystem(database->path);
  if (network && !warned)
    core_warn("%s lies on a network filesystem: only one program at a time can use it", database->path);
  warned = warned || network;
  const char *sql = network ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL";
  /* The change of mode takes an exclusive lock, for which SQLite does not wait by itself. */
  double deadline = core_clock_s() + STORE_BUSY_MS / 1000.0;
  int code;
  while ((code = sqlite3_exec(database->handle, sql, NULL, NULL, NULL)) != SQLITE_OK) {
    if ((code & 0xff) != SQLITE_BUSY || core_clock_s() > deadline) return store_database_error(database, "open");
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
  return store_database_execute(database, network ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
}

/* SQLite opens by name, and would wait for a pipe. */
static int check_files(const char *name) {
  static const char *const beside[] = {"", "-wal", "-shm", "-journal"};
  char path[CORE_PATH_MAX];
  for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
    TRY(core_files_path(path, "%s%s", name, beside[i]));
    TRY(core_files_check_reading(path));
  }
  return CORE_OK;
}

static int connect_file(StoreDatabase *database, const char *name, int flags) {
  TRY(check_files(name));
  if (sqlite3_open_v2(name, &database->handle, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
    return store_database_error(database, "open");
  sqlite3_busy_timeout(database->handle, STORE_BUSY_MS);
  sqlite3_extended_result_codes(database->handle, 1);
  sqlite3_db_config(database->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL); /* the file may be damaged or hostile */
  return store_database_execute(database, "PRAGMA temp_store = MEMORY");
}

/* For reading a database in WAL mode from a folder that cannot be written, SQLite must be promised that nobody else
 * writes. True only when no WAL is left over; then what stands in the file is all. */
static int connect_immutable(StoreDatabase *database) {
  char wal[CORE_PATH_MAX];
  struct stat status;
  CoreText uri = {0};
  TRY(core_files_path(wal, "%s-wal", database->path));
  if (stat(wal, &status) == 0 && status.st_size > 0)
    return core_error(CORE_FAIL, "cannot read all of %s: what was written last lies in %s, and to take it in needs the "
                      "right to write in that folder; ask its owner for `sweep collect`, or copy both files to a "
                      "folder of yours", database->path, wal);
  core_text_append(&uri, "file:");
  for (const char *c = database->path; *c; c++)
    core_text_appendf(&uri, *c == '%' || *c == '?' || *c == '#' ? "%%%02x" : "%c", (unsigned char)*c);
  core_text_append(&uri, "?immutable=1");
  sqlite3_close(database->handle);
  int code = connect_file(database, uri.data, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  core_text_free(&uri);
  return code;
}

static int open_for_reading(StoreDatabase *database) {
  int64_t version;
  store_database_note_file(database);
  TRY(connect_file(database, database->path, SQLITE_OPEN_READONLY));
  int step = sqlite3_exec(database->handle, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL);
  if ((step & 0xff) == SQLITE_CANTOPEN || (step & 0xff) == SQLITE_READONLY) TRY(connect_immutable(database));
  TRY(identify(database, &version));
  if (version == 0)
    return core_error(CORE_USAGE, "%s holds no results yet; import them with: sweep status", database->path);
  for (int table = 0; table < LOG_TABLES && !database->any_version; table++)
    TRY(add_columns(database, &log_tables[table]));
  return CORE_OK;
}

/* The database itself may be a link that we, or its folder's owner, made to another disk; a stranger's could lead to
 * any file of ours. */
static int check_link(const StoreDatabase *database) {
  char folder[CORE_PATH_MAX];
  struct stat link, around;
  if (lstat(database->path, &link) < 0 || !S_ISLNK(link.st_mode) || link.st_uid == geteuid() || link.st_uid == 0)
    return CORE_OK;
  TRY(core_files_path(folder, "%.*s", (int)(strrchr(database->path, '/') - database->path + 1), database->path));
  if (stat(folder, &around) == 0 && around.st_uid == link.st_uid) return CORE_OK;
  return core_error(CORE_FAIL, "%s is a symbolic link that somebody else made (user %ld), and is not written; remove "
                    "it, and run this again", database->path, (long)link.st_uid);
}

/* SQLite would make a file that only its owner may write; as with all else here the umask is to decide, so that a group
 * can share a workspace. Its companions (-wal, -shm) take over the file's permissions. Whatever fails here, SQLite has
 * the words for. */
static void make_file(const char *path) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd >= 0) close(fd);
}

static int open_for_writing(StoreDatabase *database) {
  int64_t version;
  bool incomplete = true;
  TRY(check_link(database));
  make_file(database->path);
  store_database_note_file(database);
  TRY(connect_file(database, database->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  TRY(identify(database, &version));
  if (sqlite3_db_readonly(database->handle, "main") == 1)
    return core_error(CORE_FAIL,
                      "%s can only be read; its owner lets the group write with chmod g+w (and umask 002 before the "
                      "first sweep), or copy the workspace",
                      database->path);
  char pragmas[160];
  snprintf(pragmas, sizeof pragmas, "PRAGMA page_size = %d; PRAGMA cache_size = -16384;"
           "PRAGMA wal_autocheckpoint = 256", STORE_SCHEMA_PAGE_BYTES);
  TRY(store_database_execute(database, pragmas));
  TRY(choose_journal(database));
  if (version > 0) TRY(lacks_columns(database, &incomplete));
  return incomplete ? complete_schema(database) : CORE_OK;
}

static int open_file(const char *path, bool read_only, bool any_version, StoreDatabase **result) {
  struct stat status;
  *result = NULL;
  bool exists = stat(path, &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return core_error(CORE_USAGE, "%s is a folder; name a results.db", path);
  if (exists && !S_ISREG(status.st_mode)) return core_error(CORE_USAGE, "%s is no plain file; name a results.db", path);
  if (!exists && read_only) return core_error_errno(CORE_USAGE, "cannot open %s", path);
  StoreDatabase *database = core_memory_zero_allocate(1, sizeof *database);
  database->read_only = read_only;
  database->any_version = any_version;
  /* "./" keeps SQLite from giving names like ":memory:" a meaning of their own. */
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

int store_database_open_any(const char *path, StoreDatabase **database) {
  return open_file(path, true, true, database);
}

int store_database_end(StoreDatabase **database) {
  if (!*database) return SQLITE_OK;
  sqlite3_finalize((*database)->put_run);
  sqlite3_finalize((*database)->put_member);
  core_config_json_free(&(*database)->json);
  const int status = sqlite3_close((*database)->handle);
  free(*database);
  *database = NULL;
  return status;
}

void store_database_close(StoreDatabase **database) { store_database_end(database); }

/* ---- transactions ----------------------------------------------------------------------------------------------- */

/* SQLite waits by itself for most locks, but refuses some at once (another connection is recovering the WAL). */
static int execute_patiently(StoreDatabase *database, const char *sql) {
  double deadline = core_clock_s() + STORE_BUSY_MS / 1000.0;
  for (long wait_ns = 1000000;; wait_ns = wait_ns < 200000000 ? 2 * wait_ns : wait_ns) {
    int code = sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
    if (code == SQLITE_OK) return CORE_OK;
    if ((code & 0xff) != SQLITE_BUSY || core_clock_s() >= deadline) return store_database_error(database, "write");
    nanosleep(&(struct timespec){.tv_nsec = wait_ns}, NULL);
  }
}

int store_database_begin(StoreDatabase *database) { return execute_patiently(database, "BEGIN IMMEDIATE"); }

int store_database_commit(StoreDatabase *database) { return execute_patiently(database, "COMMIT"); }

int store_database_breathe(StoreDatabase *database) {
  TRY(store_database_commit(database));
  nanosleep(&(struct timespec){.tv_nsec = STORE_BREATH_MS * 1000000L}, NULL); /* who waits asks only now and then */
  return store_database_begin(database);
}

void store_database_rollback(StoreDatabase *database) {
  if (!sqlite3_get_autocommit(database->handle)) sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- sweeps and runs -------------------------------------------------------------------------------------------- */

int store_database_put_config(StoreDatabase *database, const CoreConfig *config, const char *id) {
  if (!store_is_run_id(id)) return core_error(CORE_USAGE, "'%.40s' is no run id", id);
  TRY(store_database_prepare(database,
                             "INSERT INTO run(id, seed, config, iterations, transitions_total)"
                             " VALUES(?1, ?2, ?3, ?4, ?5)"
                             " ON CONFLICT(id) DO UPDATE SET config = excluded.config, seed = excluded.seed"
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

bool store_is_merged(StoreDatabase *database) {
  int64_t tables = 0;
  return store_database_int(database, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'merged'",
                            &tables) == CORE_OK && tables > 0;
}
