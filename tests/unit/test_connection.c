/* store/database/connection: files that a stranger puts next to results.db, and views and triggers in it. */
#include "test.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "core/terminal.h"
#include "store/database/connection_internal.h"
#include "store/database/database_internal.h"
#include "store_workspace.h"

/* SQL on the file behind the store's back. */
static void execute(const char *sql) {
  sqlite3 *handle;
  char *message = NULL;
  assert_int_equal(sqlite3_open(database_path, &handle), SQLITE_OK);
  if (sqlite3_exec(handle, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
  sqlite3_close(handle);
}

static void assert_refused(int code, const char *part) {
  StoreDatabase *database;
  assert_int_equal(store_database_open(database_path, false, &database), code);
  assert_null(database);
  assert_message(part);
}

static void put_be32(unsigned char *bytes, uint32_t value) {
  for (int i = 0; i < 4; i++) bytes[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* Writes a hot journal that names a super-journal, as any user could next to a database. */
static void write_journal(const char *name) {
  static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  unsigned char journal[512 + 4 + 4096 + 16] = {0}, *end = journal + 516;
  uint32_t sum = 0;
  char path[CORE_PATH_MAX];
  struct stat status;
  const size_t length = strlen(name);
  assert_int_equal(stat(database_path, &status), 0);
  memcpy(journal, magic, sizeof magic);
  put_be32(journal + 16, (uint32_t)status.st_size / 8192);
  put_be32(journal + 20, 512);
  put_be32(journal + 24, 8192);
  put_be32(journal + 512, 0x40000000 / 8192 + 1);
  for (const char *c = name; *c; c++) sum += (uint32_t)*c, *end++ = (unsigned char)*c;
  put_be32(end, (uint32_t)length);
  put_be32(end + 4, sum);
  memcpy(end + 8, magic, sizeof magic);
  assert_ok(core_files_path(path, "%s-journal", database_path));
  assert_ok(core_files_write_atomic(path, journal, (size_t)(end + 16 - journal)));
}

/* Even where the check by name has been passed, because another process exchanged the file afterwards. */
static void test_journal_deletes_no_other_file(void **state) {
  (void)state;
  char target[CORE_PATH_MAX], journal[CORE_PATH_MAX];
  sqlite3 *handle;
  StoreDatabase *database = open_database();
  store_database_close(&database);
  execute("PRAGMA journal_mode = DELETE");
  assert_ok(core_files_path(target, "%s.thesis", database_path));
  assert_ok(core_files_path(journal, "%s-journal", database_path));
  assert_ok(core_files_write_atomic(target, "thesis", 6));
  write_journal(target);
  assert_refused(CORE_FAIL, "was not written by sweep");
  store_connection_open(database_path, SQLITE_OPEN_READWRITE, false, &handle);
  assert_int_not_equal(sqlite3_exec(handle, "SELECT count(*) FROM run", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(handle);
  assert_true(core_files_exists(target));
  write_journal(target);
  assert_int_equal(sqlite3_open(database_path, &handle), SQLITE_OK);
  sqlite3_exec(handle, "SELECT count(*) FROM run", NULL, NULL, NULL);
  sqlite3_close(handle);
  assert_false(core_files_exists(target)); /* SQLite itself: the journal was a hot one */
  assert_false(core_files_exists(journal));
}

/* SQLite would wait for a pipe. */
static void test_pipes_beside_the_database(void **state) {
  (void)state;
  static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
  char path[CORE_PATH_MAX];
  sqlite3 *handle;
  StoreDatabase *database = open_database();
  store_database_close(&database);
  for (int i = 0; i < 3; i++) {
    execute(i == 2 ? "PRAGMA journal_mode = DELETE" : "PRAGMA journal_mode = WAL");
    assert_ok(core_files_path(path, "%s%s", database_path, suffixes[i]));
    unlink(path);
    assert_int_equal(mkfifo(path, 0666), 0);
    assert_refused(CORE_FAIL, "not a regular file");
    alarm(20); /* ends the test if SQLite waits */
    store_connection_open(database_path, SQLITE_OPEN_READONLY, false, &handle);
    sqlite3_exec(handle, "SELECT count(*) FROM run", NULL, NULL, NULL);
    sqlite3_close(handle);
    alarm(0);
    unlink(path);
  }
}

static void test_foreign_schema_does_not_run(void **state) {
  (void)state;
  int64_t count;
  execute("SELECT 1"); /* creates an empty file */
  StoreDatabase *database = open_database();
  store_database_close(&database);
  execute("DROP VIEW run_ddr; CREATE VIEW run_ddr AS SELECT 'x' AS run_id, 1 AS ddr;"
          "CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END");
  database = open_database();
  assert_ok(store_database_put_run(database, "a", 0, NULL, "0123456789abcdef"));
  assert_ok(store_database_int(database, "SELECT count(*) FROM run_ddr WHERE run_id = '0123456789abcdef'", &count));
  assert_int_equal(count, 1);
  store_database_close(&database);
  execute("DROP TABLE run_import; CREATE VIRTUAL TABLE run_import USING rtree(run, a, b)");
  assert_refused(CORE_USAGE, "'run_import' is not a table or index that sweep creates");
}

/* Tables and indexes whose reading or writing evaluates an expression of the file, each in a file of its own. */
static void test_expressions_of_the_file(void **state) {
  (void)state;
  static const char *const refused[] = {
    "CREATE TABLE t(a, b AS (instr(a, 'b')))",
    "CREATE TABLE t(a, b TEXT GENERATED ALWAYS AS (a || a) STORED)",
    "CREATE TABLE t(a, b aS(a))",
    "CREATE TABLE t(a, b TEXT/**/AS--\n(a LIKE b))",
    "CREATE TABLE t(a, b TEXT \xef\xbb\xbf" "AS (a LIKE a))",
    "CREATE TABLE t(a, [AS] TEXT AS (a))",
    "CREATE TABLE t(a, \"x\"\"y\" TEXT CHECK (a > 1))",
    "CREATE TABLE t(a, CONSTRAINT c CHECK (a LIKE a))",
    "CREATE TABLE t(a DEFAULT (hex(zeroblob(9))))",
    "CREATE TABLE t(a TEXT COLLATE nocase)",
    "CREATE TABLE t(a REFERENCES run(id))",
    "CREATE INDEX i ON run(lower(id))",
    "CREATE INDEX i ON run(id LIKE host)",
    "CREATE INDEX i ON run(id, host || id)",
    "CREATE INDEX i ON run((id))",
    "CREATE INDEX i ON run(id) WHERE id > 'a'",
    "CREATE UNIQUE INDEX i ON run(id) /* ) */ WHERE id LIKE host",
    "CREATE VIRTUAL TABLE t USING rtree(id, a, b)",
    "CREATE TABLE t(a); PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql ="
    " 'CREATE TABLE t(a, b AS (a LIKE a))' WHERE name = 't'",
  };
  static const char *const accepted[] = {
    "CREATE TABLE notes(a INTEGER PRIMARY KEY AUTOINCREMENT, b VARCHAR(20) NOT NULL DEFAULT 'x (CHECK)',"
    " c DECIMAL(10, 5) DEFAULT -1.5, \"as\" TEXT UNIQUE, UNIQUE(b, c)) -- AS (x)",
    "CREATE TABLE notes(a INT, b TEXT, PRIMARY KEY(a DESC, b)) WITHOUT ROWID, STRICT",
    "CREATE UNIQUE INDEX i ON run(\"id\" DESC, host)",
    "CREATE VIEW v AS SELECT lower(id) FROM run; ANALYZE",
  };

  for (size_t i = 0; i < sizeof refused / sizeof *refused + sizeof accepted / sizeof *accepted; i++) {
    const bool is_refused = i < sizeof refused / sizeof *refused;
    const char *sql = is_refused ? refused[i] : accepted[i - sizeof refused / sizeof *refused];
    StoreDatabase *database = open_database();
    store_database_close(&database);
    execute(sql);
    if (is_refused) {
      assert_refused(CORE_USAGE, "is not a table or index that sweep creates");
      assert_false(store_file_passes_quick_check(database_path));
    } else {
      store_database_close(&(StoreDatabase *){open_database()});
      assert_true(store_file_passes_quick_check(database_path));
    }
    assert_int_equal(unlink(database_path), 0);
  }
}

/* SQLite reads its own statistics together with the schema. */
static void test_statistics_take_no_time(void **state) {
  (void)state;
  StoreDatabase *database = open_database();
  store_database_close(&database);
  execute("CREATE INDEX i ON attempt(host); INSERT INTO attempt(run_id, attempt) VALUES('a', 1), ('b', 1); ANALYZE;"
          "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE sqlite_stat1(tbl, idx, stat AS ("
          "instr(printf(''%.*c'', 20000000, ''a''), printf(''%.*c'', 10000000, ''a'') || ''b'')))'"
          " WHERE name = 'sqlite_stat1'");
  alarm(60); /* ends the test if SQLite evaluates it */
  assert_refused(CORE_USAGE, "was changed by another program");
  alarm(0);
}

static void test_stop_ends_queries(void **state) {
  (void)state;
  int64_t count;
  sigset_t term;
  StoreDatabase *database = open_database();
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, NULL);
  raise(SIGTERM);
  assert_int_equal(store_database_int(database, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
                                      " SELECT max(x) FROM c", &count), CORE_FAIL);
  assert_message("stopped by a signal");
  siginfo_t info;
  assert_int_equal(sigwaitinfo(&term, &info), SIGTERM);
  sigprocmask(SIG_UNBLOCK, &term, NULL);
  assert_ok(store_database_int(database, "SELECT count(*) FROM run", &count));
  store_database_close(&database);
}

static void test_queries_end_in_time(void **state) {
  (void)state;
  int64_t count;
  StoreDatabase *database = open_database();
  const double start_s = core_clock_s();
  store_database_end_queries_at(database, start_s + 0.2);
  assert_int_equal(store_database_int(database, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
                                      " SELECT max(x) FROM c", &count), CORE_FAIL);
  assert_true(core_clock_s() >= start_s + 0.2);
  assert_message("it took too long");
  store_database_end_queries_at(database, 0);
  assert_ok(store_database_int(database, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 200000)"
                               " SELECT max(x) FROM c", &count));
  assert_int_equal(count, 200000);
  store_database_close(&database);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    WORKSPACE_TEST(test_journal_deletes_no_other_file), WORKSPACE_TEST(test_pipes_beside_the_database),
    WORKSPACE_TEST(test_foreign_schema_does_not_run), WORKSPACE_TEST(test_expressions_of_the_file),
    WORKSPACE_TEST(test_statistics_take_no_time), WORKSPACE_TEST(test_stop_ends_queries),
    WORKSPACE_TEST(test_queries_end_in_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
