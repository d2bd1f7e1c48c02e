/* store/ingest: every row is imported once, for any changes of logs, states and directories between two imports. */
#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "store_workspace.h"

static char id[CORE_RUN_ID], log_path[CORE_PATH_MAX];

static int setup_run(void **state) {
  if (workspace_setup(state) != 0) return -1;
  make_run(0, id);
  return store_path_run(root, id, "stats.1.tsv", log_path);
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static void test_values_arrive(void **state) {
  (void)state;
  char expected[512];

  write_rows(id, 1, 1, 4, 0);
  write_evaluation(id, 1, 0, "train", 0.125);
  write_evaluation(id, 1, 4, "train", 0.5);
  write_evaluation(id, 1, 2, "train", 0.75);
  write_evaluation(id, 1, 4, "easy", 0.875); /* other levels: not in the run's summary */
  write_state(id, STORE_FINISHED, 1, 4);

  StoreImport result = import_all();
  assert_int_equal(result.rows, 8);
  assert_int_equal(result.runs, 1);
  assert_int_equal(result.damaged_lines, 0);
  assert_string_equal(result.first_damage, "");

  assert_query("SELECT iteration, transitions, kl, ddr, solve_rate, entropy, clip_fraction FROM iteration",
               "1|1000.0|0.25|4000.0|0.5|1.125|NULL\n2|2000.0|0.25|4000.0|0.5|2.25|NULL\n"
               "3|3000.0|0.25|4000.0|0.5|3.375|NULL\n4|4000.0|0.25|4000.0|0.5|4.5|NULL\n");
  snprintf(expected, sizeof expected, "%s|finished|1|4|abc1234\n", id);
  assert_query("SELECT id, status, attempt, iteration, git_commit FROM run", expected);
  assert_query("SELECT attempt, status, host FROM attempt", "1|finished|elsewhere\n");

  /* The best evaluation and where it was; DDR = 4 * 1000 transitions / (4 * 0.25 nat). */
  assert_query("SELECT level_set, solve_rate, iteration, transitions, ddr FROM best_solve_rate ORDER BY level_set",
               "easy|0.875|4|4000.0|4000.0\ntrain|0.75|2|2000.0|4000.0\n");
  assert_query("SELECT best_solve_rate, last_solve_rate, ddr, iteration FROM run_summary", "0.75|0.5|4000.0|4\n");
  snprintf(expected, sizeof expected,
           "SELECT count(*) FROM run JOIN iteration ON iteration.run_id = run.id WHERE id = '%s'", id);
  assert_int_equal(query_int(expected), 4);
  snprintf(expected, sizeof expected, "runs/%.2s/%s/eval.1.tsv|0\nruns/%.2s/%s/stats.1.tsv|0\n", id, id, id, id);
  assert_query("SELECT file, damage FROM run_log ORDER BY file", expected);
}

static void test_nothing_new(void **state) {
  (void)state;
  write_rows(id, 1, 1, 4, 0);
  write_state(id, STORE_FINISHED, 1, 4);
  import_all();
  for (int i = 0; i < 2; i++) {
    StoreImport again = import_all();
    assert_int_equal(again.rows, 0);
    assert_int_equal(again.runs, 0);
  }
  assert_int_equal(query_int("SELECT count(*) FROM iteration"), 4);
}

static void test_growing_log(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) {
    write_rows(id, 1, 10 * i + 1, 10 * i + 10, 0);
    assert_int_equal(import_all().rows, 10);
  }
  assert_query("SELECT count(*), sum(iteration), max(transitions) FROM iteration", "200|20100|200000.0\n");
}

/* A line that is not yet complete is neither a row nor damage; then it is one. */
static void test_torn_line_is_left(void **state) {
  (void)state;
  size_t size;
  write_rows(id, 1, 1, 5, 0);
  char *text = read_text(log_path, &size);
  assert_int_equal(truncate(log_path, (off_t)size - 20), 0);
  for (int i = 0; i < 2; i++) {
    StoreImport result = import_all();
    assert_int_equal(result.rows, i == 0 ? 4 : 0);
    assert_int_equal(result.damaged_lines, 0);
  }
  write_text(log_path, text);
  StoreImport result = import_all();
  assert_int_equal(result.rows, 1);
  assert_int_equal(result.damaged_lines, 0);
  free(text);
}

static void test_damaged_line(void **state) {
  (void)state;
  size_t size;
  char expected[128];
  write_rows(id, 1, 1, 5, 0);
  char *text = read_text(log_path, &size), *line = text;
  for (int i = 0; i < 4; i++) line = strchr(line, '\n') + 1; /* line 5: iteration 3 */
  line[6] ^= 1;
  write_text(log_path, text);
  free(text);
  StoreImport result = import_all();
  assert_int_equal(result.rows, 4);
  assert_int_equal(result.damaged_lines, 1);
  snprintf(expected, sizeof expected, "runs/%.2s/%s/stats.1.tsv:5: damaged line, skipped", id, id);
  assert_string_equal(result.first_damage, expected);
  assert_query("SELECT group_concat(iteration, ' ') FROM iteration", "1 2 4 5\n");
  assert_query("SELECT damage, first_damage FROM run_log", "1|5\n");
  result = import_all(); /* reported once */
  assert_int_equal(result.damaged_lines, 0);
  write_rows(id, 1, 6, 7, 0);
  assert_int_equal(import_all().rows, 2);
  assert_query("SELECT damage, first_damage FROM run_log", "1|5\n");
}

/* ---- attempts --------------------------------------------------------------------------------------------------- */

static void test_later_attempts_win(void **state) {
  (void)state;
  write_rows(id, 1, 1, 10, 0);
  write_state(id, STORE_RUNNING, 1, 10);
  import_all();
  write_rows(id, 2, 8, 12, 0.5); /* went on from a checkpoint after iteration 7 */
  write_state(id, STORE_FINISHED, 2, 12);
  assert_int_equal(import_all().rows, 5);
  const char *expected = "7|0.25\n5|0.75\n";
  assert_query("SELECT count(*), kl FROM iteration GROUP BY kl", expected);
  assert_query("SELECT attempt, status FROM attempt", "1|lost\n2|finished\n");
  unlink(database_path); /* same in a single import */
  assert_int_equal(import_all().rows, 15);
  assert_query("SELECT count(*), kl FROM iteration GROUP BY kl", expected);
  assert_query("SELECT attempt, status FROM attempt", "1|lost\n2|finished\n");
  write_rows(id, 10, 12, 13, 1); /* 10 comes after 2 */
  import_all();
  assert_query("SELECT count(*), kl FROM iteration GROUP BY kl", "7|0.25\n4|0.75\n2|1.25\n");
}

/* ---- logs that are replaced ------------------------------------------------------------------------------------- */

static void check_replaced(int64_t first_count, int64_t second_count) {
  write_rows(id, 1, 1, first_count, 0);
  write_rows(id, 2, first_count, first_count, 0.5);
  write_evaluation(id, 1, 1, "public", 0.5);
  import_all();
  unlink(log_path);
  write_rows(id, 1, 1, second_count, 0.25);
  StoreImport result = import_all();
  assert_int_equal(result.rows, second_count + 2);
  char expected[64];
  int64_t rows = second_count >= first_count ? second_count : second_count + 1;
  snprintf(expected, sizeof expected, "%lld|1\n", (long long)rows);
  assert_query("SELECT count(*), sum(kl = 0.75) FROM iteration", expected); /* the later attempt still wins */
  assert_int_equal(query_int("SELECT sum(kl = 0.25) FROM iteration"), 0);
  assert_int_equal(query_int("SELECT count(*) FROM evaluation"), 1);
  assert_int_equal(import_all().rows, 0);
}

static void test_log_that_shrank(void **state) {
  (void)state;
  check_replaced(20, 5);
}

/* A log that lost its end: imported rows stay, and the loss is reported; when it grows again, its rows are imported. */
static void test_log_that_lost_its_end(void **state) {
  (void)state;
  size_t size;
  const char *all = "20|210\n";

  for (int later = 0; later < 2; later++) {
    if (!later) write_rows(id, 1, 1, 20, 0);
    if (!later) write_evaluation(id, 1, 20, "public", 0.5);
    if (later) write_rows(id, 2, 15, 20, 1);
    import_all();
    char *text = read_text(log_path, &size);

    for (size_t keep = later ? 0 : size / 2; keep < size; keep += size / 3) {
      StoreImport result;
      write_text(log_path, text);
      assert_int_equal(truncate(log_path, (off_t)keep), 0);
      StoreDatabase *database = open_database();
      assert_ok(store_import(database, root, NULL, true, &result));
      store_database_close(&database);

      assert_int_equal(result.lost_bytes, (int64_t)(size - keep));
      assert_non_null(strstr(result.first_lost, "stats.1.tsv has lost its last"));
      assert_query("SELECT count(*), sum(iteration) FROM iteration", all);
      assert_int_equal(query_int("SELECT count(*) FROM evaluation"), 1);
    }

    write_text(log_path, text);
    import_all();
    assert_query("SELECT count(*), sum(iteration) FROM iteration", all);
    free(text);
  }

  assert_int_equal(truncate(log_path, 3000), 0);
  write_rows(id, 1, 21, 40, 0); /* behind a torn line */
  import_all();
  assert_query("SELECT count(*), sum(iteration) FROM iteration", "40|820\n");
  assert_int_equal(query_int("SELECT count(*) FROM iteration WHERE kl = 1.25"), 6); /* the later attempt's */
}

static void test_log_that_was_replaced_by_a_longer_one(void **state) {
  (void)state;
  check_replaced(5, 20);
}

static void test_directory_that_went_away(void **state) {
  (void)state;
  char directory[CORE_PATH_MAX];
  write_rows(id, 1, 1, 5, 0);
  import_all();
  assert_ok(store_path_run(root, id, NULL, directory));
  assert_ok(core_files_remove_tree(directory));
  assert_int_equal(import_all().rows, 0);
  assert_int_equal(query_int("SELECT count(*) FROM iteration"), 5); /* measured rows are kept */
}

/* ---- strange directories ----------------------------------------------------------------------------------------- */

static void test_strange_directories(void **state) {
  (void)state;
  static const char *const files[] = {"runs/notes.txt", "runs/01/0123456789abcdef/stats.0.tsv",
                                      "runs/01/0123456789abcdef/stats.1.tsv.bak",
                                      "runs/01/0123456789abcdef/stats.01.tsv",
                                      "runs/01/0123456789abcdef/config.ini"};
  char path[CORE_PATH_MAX];
  assert_ok(core_files_path(path, "%s/runs/NOT-AN-ID-NOT-AN", root));
  assert_ok(core_files_make_directories(path));
  assert_ok(core_files_path(path, "%s/runs/01/0123456789abcdef/stats.2.tsv", root)); /* a directory called like a log */
  assert_ok(core_files_make_directories(path));
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    assert_ok(core_files_path(path, "%s/%s", root, files[i]));
    write_text(path, "nonsense\x01\n");
  }
  write_rows(id, 1, 1, 3, 0);
  StoreImport result = import_all();
  assert_int_equal(result.rows, 3);
  assert_non_null(strstr(result.first_damage, "0123456789abcdef"));
  assert_int_equal(query_int("SELECT count(*) FROM run"), 2);
  assert_int_equal(query_int("SELECT count(*) FROM run WHERE config IS NULL"), 1);
  assert_int_equal(import_all().rows, 0);
}

static void test_damaged_state(void **state) {
  (void)state;
  char path[CORE_PATH_MAX];
  write_rows(id, 1, 1, 3, 0);
  assert_ok(store_path_run(root, id, "state", path));
  write_text(path, "status=\xff\n");
  StoreImport result = import_all();
  assert_int_equal(result.rows, 3);
  assert_non_null(strstr(result.first_damage, "damaged"));
  write_state(id, STORE_FAILED, 1, 3);
  import_all();
  assert_query("SELECT status FROM run", "failed\n");
}

static void test_empty_workspace(void **state) {
  (void)state;
  char path[CORE_PATH_MAX];
  assert_ok(core_files_path(path, "%s/runs", root));
  assert_ok(core_files_remove_tree(path));
  StoreImport result = import_all();
  assert_int_equal(result.rows, 0);
  assert_string_equal(result.first_damage, "");
}

/* ---- many runs, sweeps, importers ------------------------------------------------------------------------------- */

static void age_directory(const char *run, time_t when) {
  char path[CORE_PATH_MAX];
  struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
  assert_ok(store_path_run(root, run, NULL, path));
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A finished run is not read again until its directory changes: a new attempt changes it. */
static void test_finished_runs_are_passed_over(void **state) {
  (void)state;
  write_rows(id, 1, 1, 3, 0);
  write_state(id, STORE_FINISHED, 1, 3);
  age_directory(id, 1700000000);
  import_all();
  assert_int_equal(query_int("SELECT folder_time FROM run_import"), 1700000000000000000);
  write_rows(id, 2, 3, 9, 0.5);
  write_state(id, STORE_FINISHED, 2, 9);
  assert_int_equal(import_all().rows, 7);
  assert_int_equal(query_int("SELECT folder_time FROM run_import"), 0); /* too fresh to be trusted */
}

static void test_sweep_only(void **state) {
  (void)state;
  char other[CORE_RUN_ID];
  CoreConfig config = make_run(1, other);
  StoreImport result;
  write_rows(id, 1, 1, 3, 0);
  write_rows(other, 1, 1, 4, 0);
  StoreDatabase *database = open_database();
  assert_ok(store_database_begin(database));
  assert_ok(store_database_put_sweep(database, "s", ""));
  assert_ok(store_database_put_run(database, "s", 0, &config, other));
  assert_ok(store_database_commit(database));
  assert_ok(store_import(database, root, "s", true, &result));
  assert_int_equal(result.rows, 4);
  assert_ok(store_import(database, root, "unknown", true, &result));
  assert_int_equal(result.rows, 0);
  assert_ok(store_import(database, root, NULL, true, &result));
  assert_int_equal(result.rows, 3);
  store_database_close(&database);
}

/* A row a network and layer, and the view that makes a row of each value. */
static void test_layers(void **state) {
  (void)state;
  StoreRunlog *log;
  assert_ok(store_runlog_open(root, id, 1, STORE_LOG_LAYERS, &log));
  for (int i = 1; i <= 11; i += 10)
    for (int layer = 1; layer <= 3; layer++) {
      StoreLayer row = store_layer_unmeasured(i, layer == 3 ? "critic" : "actor", layer);
      row.transitions = 100.0 * i;
      row.weight_norm = layer + 0.25;
      if (layer < 3) row.dormant = 0.5 / i;
      store_runlog_layer(log, &row);
    }
  assert_ok(store_runlog_close(&log));
  assert_int_equal(import_all().rows, 6);
  assert_int_equal(import_all().rows, 0);
  assert_query("SELECT iteration, network, layer, typeof(layer), weight_norm, dormant FROM layer WHERE iteration = 1",
               "1|actor|1|integer|1.25|0.5\n1|actor|2|integer|2.25|0.5\n1|critic|3|integer|3.25|NULL\n");
  assert_query("SELECT network, layer, metric, value FROM layer_metric WHERE iteration = 11 AND metric <> 'transitions'"
               " ORDER BY 3, 1, 2", "actor|1|dormant|0.0454545455\nactor|2|dormant|0.0454545455\n"
               "actor|1|weight_norm|1.25\nactor|2|weight_norm|2.25\ncritic|3|weight_norm|3.25\n");
  assert_query("SELECT kind, damage FROM run_log", "layers|0\n");
}

static void write_metrics(int attempt, int first, int last, double value) {
  StoreRunlog *log;
  assert_ok(store_runlog_open(root, id, attempt, STORE_LOG_METRICS, &log));
  for (int i = first; i <= last; i++)
    for (int k = 0; k < 2; k++) {
      StoreMetric metric = {.iteration = i, .step = 64.0 * i, .value = k ? NAN : value + i};
      snprintf(metric.name, sizeof metric.name, k ? "losses/kl" : "charts/return");
      store_runlog_metric(log, &metric);
    }
  assert_ok(store_runlog_close(&log));
}

/* Metrics by name: each once; a later attempt's replace an earlier one's; all are imported again where a log of
 * iterations was replaced. */
static void test_metrics(void **state) {
  (void)state;
  char path[CORE_PATH_MAX];
  static const char returns[] = "SELECT group_concat(value, ' ') FROM (SELECT value FROM metric WHERE name ="
                                " 'charts/return' ORDER BY step)";
  write_metrics(1, 1, 4, 0.5);
  assert_int_equal(import_all().rows, 8);
  assert_int_equal(import_all().rows, 0);
  assert_query(returns, "1.5 2.5 3.5 4.5\n");
  assert_query("SELECT count(*), count(value), max(step) FROM metric WHERE name = 'losses/kl'", "4|0|256.0\n");
  write_metrics(2, 4, 5, 0.25);
  import_all();
  assert_query(returns, "1.5 2.5 3.5 4.25 5.25\n");
  assert_query("SELECT group_concat(kind || attempt) FROM run_log", "metrics1,metrics2\n");
  write_rows(id, 1, 1, 3, 0);
  import_all();
  assert_ok(store_path_run(root, id, "stats.1.tsv", path));
  assert_int_equal(unlink(path), 0);
  write_rows(id, 1, 1, 9, 1);
  assert_ok(store_path_run(root, id, "metrics.2.tsv", path));
  assert_int_equal(unlink(path), 0);
  import_all();
  assert_query(returns, "1.5 2.5 3.5 4.5\n");
}

static void test_long_logs_span_blocks(void **state) {
  (void)state;
  enum { ROWS = 40000 };
  StoreRunlog *log;
  char other[CORE_RUN_ID];
  make_run(1, other);
  for (int run = 0; run < 2; run++) {
    assert_ok(store_runlog_open(root, run ? other : id, 1, STORE_LOG_STATS, &log));
    for (int i = 1; i <= ROWS; i++) {
      StoreIteration row = make_row(i, run);
      store_runlog_iteration(log, &row);
    }
    assert_ok(store_runlog_close(&log));
  }
  assert_int_equal(import_all().rows, 2 * ROWS);
  assert_query("SELECT count(*), sum(iteration), min(iteration), max(iteration) FROM iteration GROUP BY kl",
               "40000|800020000|1|40000\n40000|800020000|1|40000\n");
  assert_query("PRAGMA integrity_check", "ok\n");
}

static void test_one_importer_at_a_time(void **state) {
  (void)state;
  char path[CORE_PATH_MAX];
  int ready[2], go[2];
  char byte;
  StoreImport result;

  write_rows(id, 1, 1, 3, 0);
  assert_ok(core_files_path(path, "%s/.import.lock", root));
  assert_int_equal(pipe(ready) + pipe(go), 0);

  pid_t child = fork();
  if (child == 0) { /* holds the lock until a signal and for a while after it; reports the release */
    int lock;
    if (core_files_lock(path, false, &lock) != CORE_OK || write(ready[1], "y", 1) != 1 || read(go[0], &byte, 1) != 1)
      _exit(1);
    usleep(100000);
    _exit(write(ready[1], "n", 1) != 1);
  }

  assert_int_equal(read(ready[0], &byte, 1), 1);
  StoreDatabase *database = open_database();
  assert_ok(store_import(database, root, NULL, false, &result));
  assert_int_equal(result.rows, -1);

  assert_int_equal(write(go[1], "g", 1), 1);
  assert_ok(store_import(database, root, NULL, true, &result)); /* waits for its end */
  assert_int_equal(result.rows, 3);
  assert_int_equal(fcntl(ready[0], F_SETFL, O_NONBLOCK), 0);
  assert_int_equal(read(ready[0], &byte, 1), 1); /* had let go by then */

  store_database_close(&database);
  waitpid(child, NULL, 0);
  for (int i = 0; i < 2; i++) close(ready[i]), close(go[i]);
}

#define RUN_TEST(test) cmocka_unit_test_setup_teardown(test, setup_run, workspace_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
    RUN_TEST(test_values_arrive),
    RUN_TEST(test_nothing_new),
    RUN_TEST(test_growing_log),
    RUN_TEST(test_torn_line_is_left),
    RUN_TEST(test_damaged_line),
    RUN_TEST(test_later_attempts_win),
    RUN_TEST(test_log_that_shrank),
    RUN_TEST(test_log_that_lost_its_end),
    RUN_TEST(test_log_that_was_replaced_by_a_longer_one),
    RUN_TEST(test_directory_that_went_away),
    RUN_TEST(test_strange_directories),
    RUN_TEST(test_damaged_state),
    RUN_TEST(test_empty_workspace),
    RUN_TEST(test_finished_runs_are_passed_over),
    RUN_TEST(test_sweep_only),
    RUN_TEST(test_long_logs_span_blocks),
    RUN_TEST(test_layers), RUN_TEST(test_metrics),
    RUN_TEST(test_one_importer_at_a_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
