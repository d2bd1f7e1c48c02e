/* store/rebuild: results.db from the workspace's files, for any previous state of the database. */
#include "test.h"

#include "store_workspace.h"

static char id[CORE_RUN_ID];

static int setup_run(void **state) {
  if (workspace_setup(state) != 0) return -1;
  make_run(0, id);
  return 0;
}

static const char every_row[] = "SELECT * FROM iteration ORDER BY run_id, iteration";

static void write_sweep(const char *manifest) {
  char path[CORE_PATH_MAX];
  assert_ok(store_path_sweep(root, "fig", NULL, path));
  assert_ok(core_files_make_directories(path));
  assert_ok(store_path_sweep(root, "fig", "sweep.ini", path));
  write_text(path, "[sweep]\nname = fig\n");
  assert_ok(store_path_sweep(root, "fig", "manifest.tsv", path));
  write_text(path, manifest);
}

static void test_rebuild(void **state) {
  (void)state;
  char manifest[256], expected[256], old[CORE_PATH_MAX + 8];
  StoreImport result;

  snprintf(manifest, sizeof manifest,
           "# manifest 1 fig\nindex\trun\n0\t%s\n1\t00000000000000aa\n2\t../../etc\nx\n", id);
  write_sweep(manifest);
  write_rows(id, 1, 1, 50, 0);
  write_rows(id, 2, 40, 60, 0.5);
  write_evaluation(id, 1, 20, "public", 0.5);
  write_state(id, STORE_FINISHED, 2, 60);
  import_all();
  char *before = query_text(every_row);

  /* A file that is damaged, as is its WAL: it is set aside, not played into the new one. */
  write_text(database_path, "this is no database, this is no database, this is no database, this is no database");
  snprintf(old, sizeof old, "%s-wal", database_path);
  write_text(old, "nor is this a wal");
  assert_ok(store_rebuild(root, &result));
  assert_int_equal(result.rows, 50 + 21 + 1);
  assert_int_equal(result.damaged_lines, 2);
  assert_string_equal(result.first_damage, "sweeps/fig/manifest.tsv:5: damaged line, skipped");
  assert_query(every_row, before);
  free(before);

  snprintf(expected, sizeof expected, "fig|0|%s\nfig|1|00000000000000aa\n", id);
  assert_query("SELECT sweep, idx, run_id FROM sweep_run ORDER BY idx", expected);
  assert_query("SELECT ini FROM sweep", "[sweep]\nname = fig\n\n");
  snprintf(expected, sizeof expected, "00000000000000aa|NULL|pending\n%s|0|finished\n", id);
  assert_query("SELECT id, json_extract(config, '$.train.seed'), status FROM run ORDER BY id", expected);

  snprintf(old, sizeof old, "%s.old", database_path);
  char *text = read_text(old, NULL);
  assert_memory_equal(text, "this is no database", 19);
  free(text);

  assert_ok(store_rebuild(root, &result)); /* and again, over a good one */
  assert_int_equal(result.rows, 72);
  assert_int_equal(import_all().rows, 0);
}

/* A stopped attempt, a lost one, a failed one and a finished one: the same tables, with the old database or without. */
static void test_rebuild_keeps_attempts(void **state) {
  static const char all[] =
    "SELECT run_id, attempt, status, host, pid, device, git_commit, started, heartbeat, finished, message, code,"
    " code_files FROM attempt";
  StoreImport result;
  StoreState now = {.host = "node1", .device = "cpu", .commit = "abc", .code = "12+34", .code_files = "a.py 34"};
  char path[CORE_PATH_MAX];
  const StoreStatus ends[] = {STORE_STOPPED, STORE_RUNNING, STORE_FAILED, STORE_FINISHED};
  (void)state;

  for (int i = 0; i < 4; i++) {
    now.attempt = i + 1, now.pid = 100 + i, now.started_unix_s = 1000.125 * (i + 1), now.heartbeat_unix_s = 5000.5 + i;
    now.status = STORE_RUNNING;
    assert_ok(store_run_state_write(root, id, &now));
    write_rows(id, i + 1, 10 * i + 1, 10 * i + 10, 0);
    if (i % 2) import_all(); /* some attempts are never met by an import */
    now.status = ends[i];
    now.finished_unix_s = ends[i] == STORE_RUNNING ? 0 : 6000.25 + i;
    snprintf(now.message, sizeof now.message, "%s", ends[i] == STORE_FAILED ? "killed by signal 6\t(Aborted)" : "");
    assert_ok(store_run_state_write(root, id, &now));
  }

  import_all();
  char *before = query_text(all);
  assert_non_null(strstr(before, "|2|lost|node1|101|"));
  assert_non_null(strstr(before, "|3|failed|node1|102|cpu|abc|3000.375|5002.5|6002.25|killed by signal 6 (Aborted)|"
                                  "12+34|a.py 34\n"));

  for (int i = 0; i < 3; i++) {
    if (i == 1) unlink(database_path);
    assert_ok(store_path_run(root, id, "attempts.tsv", path));
    if (i == 2) unlink(path); /* written by an older version: the data of results.db is kept */
    assert_ok(store_rebuild(root, &result));
    assert_query(all, before);
    assert_int_equal(import_all().rows, 0);
    assert_query(all, before);
  }

  free(before);
}

/* An earlier valid copy is not replaced by a file that the disk has damaged since. */
static void test_rebuild_keeps_the_good_copy(void **state) {
  char path[CORE_PATH_MAX + 16];
  size_t size;
  StoreImport result;
  (void)state;
  write_rows(id, 1, 1, 50, 0);
  import_all();
  assert_ok(store_rebuild(root, &result));
  write_text(database_path, "this is no database, this is no database, this is no database, this is no database");
  assert_ok(store_rebuild(root, &result));
  assert_int_equal(result.rows, 50);
  snprintf(path, sizeof path, "%s.old", database_path);
  char *text = read_text(path, &size);
  assert_memory_equal(text, "SQLite format 3", 15);
  free(text);
  snprintf(path, sizeof path, "%s.damaged", database_path);
  text = read_text(path, &size);
  assert_memory_equal(text, "this is no database", 19);
  free(text);
}

static void test_rebuild_of_nothing(void **state) {
  (void)state;
  StoreImport result;
  assert_ok(store_rebuild(root, &result));
  assert_int_equal(result.rows, 0);
  assert_int_equal(query_int("SELECT count(*) FROM sweep"), 0);
}

#define RUN_TEST(test) cmocka_unit_test_setup_teardown(test, setup_run, workspace_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
    RUN_TEST(test_rebuild),
    RUN_TEST(test_rebuild_keeps_the_good_copy),
    RUN_TEST(test_rebuild_keeps_attempts),
    RUN_TEST(test_rebuild_of_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
