/* lib/sweep/sweep_rows.so as another program meets it: loaded into a connection of plain SQLite it gives the rows that
 * the file's own view gives, it refuses what it can not read, and whatever a file holds, it ends with rows or an error.
 */
#include <sqlite3.h>

#include "store/database/schema.h"
#include "store_workspace.h"

static char id[CORE_RUN_ID];

/* Two runs, of 700 and 3 iterations, some of them not measured. */
static void make_database(void) {
  char other[CORE_RUN_ID];
  make_run(1, id);
  make_run(2, other);
  write_rows(id, 1, 1, 700, 0.125);
  write_rows(other, 1, 5, 7, 0);
  assert_int_equal(import_all().rows, 703);
}

static sqlite3 *open_plainly(const char *path) {
  sqlite3 *handle;
  assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
  assert_int_equal(sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL), SQLITE_OK);
  return handle;
}

/* SQLite's code; *message (may be NULL): to free, NULL for SQLITE_OK. */
static int load(sqlite3 *handle, char **message) {
  const char *build = getenv("SWEEP_BUILD");
  char path[CORE_PATH_MAX];
  snprintf(path, sizeof path, "%s/lib/sweep/sweep_rows.so", build ? build : "build");
  return sqlite3_load_extension(handle, path, NULL, message);
}

static sqlite3 *open_loaded(void) {
  sqlite3 *handle = open_plainly(database_path);
  char *message = NULL;
  if (load(handle, &message) != SQLITE_OK) fail_msg("%s", message);
  return handle;
}

static int64_t number(sqlite3 *handle, const char *sql) {
  sqlite3_stmt *statement;
  int code = sqlite3_prepare_v2(handle, sql, -1, &statement, NULL);
  if (code != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
  if (sqlite3_step(statement) != SQLITE_ROW) fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
  int64_t value = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return value;
}

static void run_sql(const char *sql) {
  sqlite3 *handle;
  char *message = NULL;
  assert_int_equal(sqlite3_open(database_path, &handle), SQLITE_OK);
  if (sqlite3_exec(handle, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
  sqlite3_close(handle);
}

static void test_rows(void **state) {
  (void)state;
  make_database();
  sqlite3 *handle = open_loaded();
  assert_int_equal(number(handle, "SELECT count(*) FROM iteration"), 703);
  assert_int_equal(number(handle, "SELECT count(*) FROM iteration_row"), 703);
  assert_int_equal(number(handle, "SELECT count(*) FROM (SELECT * FROM iteration EXCEPT SELECT * FROM main.iteration)"),
                   0);
  assert_int_equal(number(handle, "SELECT count(*) FROM (SELECT * FROM main.iteration EXCEPT SELECT * FROM iteration)"),
                   0);
  assert_int_equal(load(handle, NULL), SQLITE_OK); /* again does no harm */
  write_rows(id, 2, 701, 710, 0);
  assert_int_equal(import_all().rows, 10);
  assert_int_equal(number(handle, "SELECT count(*) FROM iteration WHERE kl = 0.25"), 13);
  assert_int_equal(number(handle, "SELECT count(*) FROM temp.sqlite_schema"), 1);
  assert_int_equal(sqlite3_close(handle), SQLITE_OK); /* nothing is left open */
}

static void assert_unloadable(const char *path, const char *says) {
  sqlite3 *handle = open_plainly(path);
  char *message = NULL;
  assert_int_equal(load(handle, &message), SQLITE_ERROR);
  if (!message || !strstr(message, says)) fail_msg("'%s' does not say '%s'", message ? message : "", says);
  sqlite3_free(message);
  assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

static void test_refuses(void **state) {
  (void)state;
  make_database();
  assert_unloadable(":memory:", "no results.db of sweep");
  run_sql("PRAGMA user_version = 99");
  assert_unloadable(database_path, "its schema is 99");
  run_sql("PRAGMA user_version = 8; ALTER TABLE iteration_chunk RENAME TO away");
  sqlite3 *handle = open_loaded();
  assert_int_equal(sqlite3_exec(handle, "SELECT count(kl) FROM iteration", NULL, NULL, NULL), SQLITE_ERROR);
  assert_non_null(strstr(sqlite3_errmsg(handle), "no such table: main.iteration_chunk"));
  sqlite3_close(handle);
}

/* An older file lacks the last columns: they are empty; and before chunks its rows are a table. */
static void test_older(void **state) {
  (void)state;
  make_database();
  run_sql("DROP VIEW iteration; ALTER TABLE iteration_chunk DROP COLUMN goals; PRAGMA user_version = 6");
  sqlite3 *handle = open_loaded();
  assert_int_equal(number(handle, "SELECT count(*) + count(goals) FROM iteration WHERE kl IS NOT NULL"), 703);
  sqlite3_close(handle);
  assert_query("SELECT count(*) + count(goals) FROM iteration", "703\n");
  run_sql("PRAGMA user_version = 5");
  handle = open_loaded();
  assert_int_equal(number(handle, "SELECT count(*) FROM temp.sqlite_schema"), 0);
  sqlite3_close(handle);
}

/* ---- whatever a file holds --------------------------------------------------------------------------------------- */

/* Reads rows in the ways that move differently through them. Errors are good; crashes and endless reading are not. */
static int read_all(sqlite3 *handle) {
  static const char *const reads[] = {
    "SELECT * FROM iteration", "SELECT kl, ddr FROM iteration_row ORDER BY row DESC",
    "SELECT kl FROM iteration WHERE iteration > 300", "SELECT max(row), min(row) FROM iteration_row",
    "SELECT sum(a.kl * b.ddr) FROM iteration AS a JOIN iteration_row AS b ON b.row = (1 << 32 | a.iteration)",
    "SELECT kl FROM iteration_row WHERE row BETWEEN -9223372036854775808 AND 9223372036854775807"};
  int errors = 0;
  for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(handle, reads[i], -1, &statement, NULL);
    for (int rows = 0; code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW; code = SQLITE_OK)
      if (++rows > 5000) fail_msg("%s does not end", reads[i]);
    errors += code != SQLITE_DONE;
    sqlite3_finalize(statement);
  }
  return errors;
}

static int read_hostile(void) {
  sqlite3 *handle = open_plainly(database_path);
  int errors = load(handle, NULL) == SQLITE_OK ? read_all(handle) : 1;
  assert_int_equal(sqlite3_close(handle), SQLITE_OK);
  return errors;
}

static void test_damaged_values(void **state) {
  (void)state;
  static const char *const values[] = {
    "randomblob(40)", "randomblob(2000)", "substr(%s, 1, 6)", "substr(%s, 1, 21)", "zeroblob(22)", "x''", "''",
    "'[1,2'", "'[null,9e999]'", "'x'", "-1", "1e308", "9223372036854775807", "NULL", "CAST(%s AS TEXT)",
    "CAST(x'01010100000199999999999999999999999999999999' || %s AS BLOB)",
    "CAST(x'221202025599' || randomblob(900) AS BLOB)", "CAST(substr(%s, 1, 5) || x'01' || randomblob(300) AS BLOB)"};
  static const char *const columns[] = {"iteration", "kl", "ddr", "transitions"};
  int errors = 0;
  make_database();
  run_sql("CREATE TABLE keep AS SELECT * FROM iteration_chunk");
  for (size_t v = 0; v < sizeof values / sizeof *values; v++)
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
      char value[160], sql[400];
      snprintf(value, sizeof value, values[v], columns[c]);
      snprintf(sql, sizeof sql, "DELETE FROM iteration_chunk; INSERT INTO iteration_chunk SELECT * FROM keep;"
               "UPDATE iteration_chunk SET %s = %s", columns[c], value);
      run_sql(sql);
      errors += read_hostile();
    }
  assert_in_range(errors, 50, 400);
}

/* Keys beyond all bounds, and other things in the place of our tables. */
static void test_hostile_schema(void **state) {
  (void)state;
  static const char *const texts[] = {
    "UPDATE iteration_chunk SET chunk = -chunk", "UPDATE iteration_chunk SET chunk = 9223372036854775807 - chunk",
    "UPDATE OR IGNORE run SET key = 9223372036854775807", "UPDATE OR IGNORE run SET key = -9223372036854775807",
    "CREATE VIEW iteration_chunk AS SELECT row AS chunk, 1 AS n, kl AS iteration, * FROM iteration_row",
    "CREATE VIEW iteration_chunk AS SELECT * FROM iteration",
    "CREATE VIEW iteration_chunk AS SELECT chunk >> 1 AS chunk, n, iteration FROM keep UNION ALL SELECT 1, 2, 3",
    "CREATE VIEW run AS SELECT row AS key, kl AS id FROM iteration_row",
    "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES('table',"
    "'iteration_chunk', 'iteration_chunk', 0, 'CREATE VIRTUAL TABLE iteration_chunk USING iteration_row')",
    "CREATE TABLE iteration_chunk(chunk, n, iteration, kl)", "CREATE TABLE run(key, id)"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char sql[600];
    const char *made = strstr(texts[i], " iteration_chunk") && !strstr(texts[i], "UPDATE") ? "iteration_chunk" : "run";
    const char *away = strstr(texts[i], "UPDATE") ? "" : "ALTER TABLE %s RENAME TO keep;";
    unlink(database_path);
    make_database();
    run_sql("DROP VIEW iteration; DROP VIEW run_ddr; DROP VIEW run_summary; DROP VIEW best_solve_rate");
    snprintf(sql, sizeof sql, away, made);
    if (*sql) run_sql(sql);
    run_sql(texts[i]);
    read_hostile();
    assert_ok(core_files_remove_tree(root));
    assert_ok(core_files_make_directories(root));
  }
}

/* The table turns into a view of these rows while a connection has them open. */
static void test_turned_into_itself(void **state) {
  (void)state;
  make_database();
  sqlite3 *handle = open_loaded();
  assert_int_equal(read_all(handle), 0);
  run_sql("DROP VIEW iteration; ALTER TABLE iteration_chunk RENAME TO keep; CREATE VIEW iteration_chunk AS"
          " SELECT row AS chunk, 1 AS n, kl AS iteration, * FROM iteration_row");
  assert_int_equal(read_all(handle), 6);
  assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

/* Memory that ends at any place is an error of the statement. */
static void test_no_memory(void **state) {
  (void)state;
  int errors = 0;
  make_database();
  for (int64_t room = 0; room < 2000000; room += 40000) {
    sqlite3 *handle = open_loaded();
    sqlite3_hard_heap_limit64(sqlite3_memory_used() + room + 1);
    errors += read_all(handle);
    sqlite3_hard_heap_limit64(0);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
  }
  assert_in_range(errors, 10, 299);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    WORKSPACE_TEST(test_rows),           WORKSPACE_TEST(test_refuses),        WORKSPACE_TEST(test_older),
    WORKSPACE_TEST(test_damaged_values), WORKSPACE_TEST(test_hostile_schema), WORKSPACE_TEST(test_no_memory),
    WORKSPACE_TEST(test_turned_into_itself)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
