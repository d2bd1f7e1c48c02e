/* results.db with another schema: it is rejected with a one-line remedy, and replaced by sweep collect --rebuild. */
#include "test.h"

#include <sqlite3.h>

#include "store/care/maintain.h"
#include "store/database/schema.h"
#include "store_workspace.h"

/* A database as version 1 made it (schema_v1.sql). */
static void make_version_1(void) {
  sqlite3 *handle;
  char *sql = read_text("tests/unit/schema_v1.sql", NULL), *message = NULL;
  assert_int_equal(sqlite3_open(database_path, &handle), SQLITE_OK);
  if (sqlite3_exec(handle, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("schema_v1.sql: %s", message);
  sqlite3_close(handle);
  free(sql);
}

static void assert_refused(const char *part) {
  StoreDatabase *database;
  for (int read_only = 0; read_only < 2; read_only++) {
    assert_int_equal(store_database_open(database_path, read_only, &database), CORE_USAGE);
    assert_null(database);
    assert_message(part);
    assert_null(strchr(core_error_message(), '\n'));
  }
}

static void test_older_is_refused(void **state) {
  (void)state;
  make_version_1();
  assert_refused("older version");
  assert_refused("sweep collect --rebuild");
}

/* Attempts that only the old file knows are kept: their records came later. */
static void test_rebuilt(void **state) {
  (void)state;
  char id[CORE_RUN_ID], sql[256];
  StoreImport result;
  make_version_1();
  make_run(5, id);
  write_rows(id, 1, 1, 5, 0);
  sqlite3 *handle;
  assert_int_equal(sqlite3_open(database_path, &handle), SQLITE_OK);
  snprintf(sql, sizeof sql, "INSERT INTO attempt(run_id, attempt, status, host) VALUES('%s', 1, 'stopped', 'node7')",
           id);
  assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(handle);
  assert_ok(store_rebuild(root, &result));
  assert_int_equal(query_int("PRAGMA user_version"), STORE_SCHEMA_VERSION);
  assert_query("SELECT count(*), sum(iteration) FROM iteration", "5|15\n");
  assert_query("SELECT status, host, code FROM attempt", "stopped|node7|NULL\n");
  char old[CORE_PATH_MAX];
  assert_ok(core_files_path(old, "%s.old", database_path));
  assert_true(core_files_exists(old));
}

static void test_newer_is_refused(void **state) {
  (void)state;
  sqlite3 *handle;
  StoreDatabase *database = open_database();
  store_database_close(&database);
  assert_int_equal(sqlite3_open(database_path, &handle), SQLITE_OK);
  assert_int_equal(sqlite3_exec(handle, "PRAGMA user_version = 9999", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(handle);
  assert_refused("newer version");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    WORKSPACE_TEST(test_older_is_refused),
    WORKSPACE_TEST(test_rebuilt),
    WORKSPACE_TEST(test_newer_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
