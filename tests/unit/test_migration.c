/* results.db of an older schema: a file that version 1 made (schema_v1.sql) is brought forward, loses nothing and takes
 * new rows. */
#include <sqlite3.h>

#include "store/database/query.h"
#include "store/database/schema.h"
#include "store_workspace.h"

#define RUN "d3b3d64313395237"

/* The database as it was made then; its run folder is not there any more. */
static void make_version_1(void) {
  sqlite3 *handle;
  char *sql = read_text("tests/unit/schema_v1.sql", NULL), *message = NULL;
  assert_int_equal(sqlite3_open(database_path, &handle), SQLITE_OK);
  if (sqlite3_exec(handle, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("schema_v1.sql: %s", message);
  sqlite3_close(handle);
  free(sql);
}

static void test_brought_forward(void **state) {
  (void)state;
  StoreDatabase *database;
  make_version_1();
  assert_int_equal(query_int("PRAGMA user_version"), 1);
  assert_ok(store_database_open(database_path, false, &database));
  store_database_close(&database);
  assert_int_equal(query_int("PRAGMA user_version"), STORE_SCHEMA_VERSION);
  assert_query("SELECT min(version), count(*) FROM schema_version", "1|2\n");
  assert_int_equal(query_int("SELECT max(version) FROM schema_version"), STORE_SCHEMA_VERSION);
  assert_query("SELECT iteration, transitions, kl, wall_seconds, feature_rank_actor, kl_k2 FROM iteration"
               " WHERE run_id = '" RUN "' ORDER BY iteration",
               "1|64.0|3.74680855e-05|0.0885516|NULL|NULL\n2|128.0|1.82069111e-05|0.089440037|NULL|NULL\n"
               "3|192.0|1.43256494e-05|0.090604038|NULL|NULL\n");
  assert_query("SELECT count(*), status FROM run_summary", "1|finished\n");
  assert_query("SELECT n, transitions FROM iteration_bin", "3|192.0\n");
  assert_query("SELECT round(ddr) FROM run_ddr", "2742832.0\n");
  assert_int_equal(query_int("SELECT count(*) FROM evaluation"), 2);
}

/* Version 6 had no layers: shown as it is there are none, and whoever writes makes the table. */
static void test_layers_come(void **state) {
  (void)state;
  StoreDatabase *database = open_database();
  sqlite3 *handle;
  StoreQuery *query;
  int64_t older;
  bool row;
  store_database_close(&database);
  assert_int_equal(sqlite3_open(database_path, &handle), SQLITE_OK);
  const char *const older_schema =
    "DROP VIEW layer_metric; DROP TABLE layer; DROP VIEW run_summary;"
    "ALTER TABLE run DROP COLUMN code; ALTER TABLE run DROP COLUMN code_files;"
    "ALTER TABLE attempt DROP COLUMN code; ALTER TABLE attempt DROP COLUMN code_files; PRAGMA user_version = 6";
  assert_int_equal(sqlite3_exec(handle, older_schema, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(handle);
  assert_ok(store_database_open_to_show(database_path, &database, &older));
  assert_int_equal(older, 6);
  assert_ok(store_query_open(database, "SELECT count(dormant), count(layer) FROM layer", &query));
  assert_ok(store_query_step(query, &row));
  assert_true(row && store_query_int(query, 0) == 0);
  store_query_close(&query);
  store_database_close(&database);
  assert_int_equal(query_int("PRAGMA user_version"), 6);
  assert_ok(store_database_open(database_path, false, &database));
  store_database_close(&database);
  assert_int_equal(query_int("PRAGMA user_version"), STORE_SCHEMA_VERSION);
  assert_query("SELECT count(*) FROM layer_metric", "0\n");
}

/* Opening again changes nothing: in particular no second line in schema_version. */
static void test_once(void **state) {
  (void)state;
  StoreDatabase *database;
  make_version_1();
  for (int i = 0; i < 3; i++) {
    assert_ok(store_database_open(database_path, false, &database));
    store_database_close(&database);
  }
  assert_int_equal(query_int("SELECT count(*) FROM schema_version"), 2);
}

/* Rows go in by position, so old and new columns must be those of a database made today. */
static void test_takes_new_rows(void **state) {
  (void)state;
  char id[CORE_RUN_ID];
  StoreRunlog *log;
  StoreIteration row = make_row(1, 0);
  make_version_1();
  make_run(5, id);
  row.kl_k2 = 7.5;
  row.feature_rank_actor = 12;
  row.seconds_metrics = 0.125;
  assert_ok(store_runlog_open(root, id, 1, STORE_LOG_STATS, &log));
  store_runlog_iteration(log, &row);
  assert_ok(store_runlog_close(&log));
  import_all();
  assert_query("SELECT transitions, kl, kl_k2, feature_rank_actor, seconds_metrics FROM iteration WHERE kl_k2 > 0",
               "1000.0|0.25|7.5|12.0|0.125\n");
}

/* `analyze` opens what it may not change. */
static void test_read_only_stays_old(void **state) {
  (void)state;
  make_version_1();
  StoreDatabase *database;
  StoreQuery *query;
  bool row;
  assert_query("SELECT max(kl) FROM iteration", "3.74680855e-05\n");
  assert_ok(store_database_open(database_path, true, &database)); /* what it lacks is there all the same */
  assert_ok(store_query_open(database, "SELECT sum(n) FROM iteration_bin", &query));
  assert_ok(store_query_step(query, &row));
  assert_true(row && store_query_int(query, 0) == 3);
  store_query_close(&query);
  /* columns of today that it lacks are empty */
  assert_ok(store_query_open(database, "SELECT count(*), count(kl), count(coverage_50) FROM iteration_row", &query));
  assert_ok(store_query_step(query, &row));
  assert_true(row && store_query_int(query, 0) == 3 && store_query_int(query, 1) == 3 &&
              store_query_int(query, 2) == 0);
  store_query_close(&query);
  store_database_close(&database);
  assert_int_equal(query_int("PRAGMA user_version"), 1);
}

/* To show results is no reason to change the file: an older program may still write it. */
static void test_shown_as_it_is(void **state) {
  (void)state;
  StoreDatabase *database;
  int64_t older;
  make_version_1();
  assert_ok(store_database_open_to_show(database_path, &database, &older));
  assert_int_equal(older, 1);
  store_database_close(&database);
  assert_int_equal(query_int("PRAGMA user_version"), 1);
  assert_ok(store_database_open(database_path, false, &database));
  store_database_close(&database);
  assert_ok(store_database_open_to_show(database_path, &database, &older));
  assert_int_equal(older, 0);
  store_database_close(&database);
}

/* The file as it was stays beside it, whole and of its version; one that is there already is not written over. */
static void test_keeps_a_copy(void **state) {
  (void)state;
  StoreDatabase *database;
  char copy[CORE_PATH_MAX];
  make_version_1();
  assert_ok(store_database_open(database_path, false, &database));
  store_database_close(&database);
  assert_ok(core_files_path(copy, "%s.v1", database_path));
  assert_true(core_files_exists(copy));
  assert_int_equal(rename(copy, database_path), 0);
  assert_int_equal(query_int("PRAGMA user_version"), 1);
  assert_int_equal(query_int("SELECT count(*) FROM iteration"), 3);
  write_text(copy, "older");
  assert_ok(store_database_open(database_path, false, &database));
  store_database_close(&database);
  char *text = read_text(copy, NULL);
  assert_string_equal(text, "older");
  free(text);
}

static void test_newer_is_refused(void **state) {
  (void)state;
  sqlite3 *handle;
  StoreDatabase *database = open_database();
  store_database_close(&database);
  assert_int_equal(sqlite3_open(database_path, &handle), SQLITE_OK);
  assert_int_equal(sqlite3_exec(handle, "PRAGMA user_version = 9999", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(handle);
  assert_int_equal(store_database_open(database_path, false, &database), CORE_USAGE);
  assert_says("newer version");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    WORKSPACE_TEST(test_brought_forward),
    WORKSPACE_TEST(test_layers_come),
    WORKSPACE_TEST(test_once),
    WORKSPACE_TEST(test_takes_new_rows),
    WORKSPACE_TEST(test_read_only_stays_old),
    WORKSPACE_TEST(test_newer_is_refused),
    WORKSPACE_TEST(test_keeps_a_copy),
    WORKSPACE_TEST(test_shown_as_it_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
