/* Check, repair and merge of results.db: each fault is created on purpose, found, and repaired if possible. */
#include "test.h"

#include <sqlite3.h>

#include "store/care/maintain.h"
#include "store_workspace.h"

enum { ROWS = 20 };

typedef struct Findings { char text[8192]; } Findings;

static void collect(void *context, const StoreFinding *finding) {
  Findings *findings = context;
  size_t used = strlen(findings->text);
  snprintf(findings->text + used, sizeof findings->text - used, "%d %s: %s%s\n", (int)finding->severity,
           finding->subject, finding->text,
           finding->remedy == STORE_REMEDY_DELETED ? " [deleted]"
           : finding->remedy == STORE_REMEDY_AGAIN ? " [again]"
                                                   : "");
}

static StoreCheck check_now(bool with_logs, bool repair, Findings *findings) {
  StoreDatabase *database;
  StoreCheck check;
  findings->text[0] = '\0';
  assert_ok(store_database_open(database_path, !repair, &database));
  assert_ok(store_check(database, with_logs ? root : NULL, repair, collect, findings, &check));
  store_database_close(&database);
  return check;
}

static void spoil_file(const char *path, const char *sql) {
  sqlite3 *handle;
  char *message = NULL;
  assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
  if (sqlite3_exec(handle, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
  sqlite3_close(handle);
}

static void spoil(const char *sql) { spoil_file(database_path, sql); }

static void assert_found(const Findings *findings, const char *part) {
  if (!strstr(findings->text, part)) fail_msg("no '%s' in:\n%s", part, findings->text);
}

/* A finished run of ROWS iterations with two evaluations and a number by name. */
static void make_whole_run(int seed, char id[CORE_RUN_ID]) {
  StoreRunlog *stats, *eval, *metrics;
  make_run(seed, id);
  assert_ok(store_runlog_open(root, id, 1, STORE_LOG_STATS, &stats));
  for (int i = 1; i <= ROWS; i++) {
    StoreIteration row = make_row(i, 0);
    store_runlog_iteration(stats, &row);
  }
  assert_ok(store_runlog_close(&stats));
  assert_ok(store_runlog_open(root, id, 1, STORE_LOG_EVAL, &eval));
  for (int i = 0; i <= ROWS; i += ROWS) {
    StoreEvaluation point = store_evaluation_unmeasured(i, "train");
    point.transitions = 1000.0 * i;
    point.solve_rate = 0.5;
    store_runlog_evaluation(eval, &point);
  }
  assert_ok(store_runlog_close(&eval));
  assert_ok(store_runlog_open(root, id, 1, STORE_LOG_METRICS, &metrics));
  store_runlog_metric(metrics, &(StoreMetric){.iteration = 1, .name = "charts/x", .step = 64, .value = seed});
  assert_ok(store_runlog_close(&metrics));
  StoreState state = {.status = STORE_FINISHED, .attempt = 1, .iteration = ROWS, .iterations = ROWS,
                      .heartbeat_unix_s = 1e9 + seed};
  assert_ok(store_run_state_write(root, id, &state));
}

static void test_sound(void **state) {
  char id[CORE_RUN_ID];
  Findings findings;
  make_whole_run(1, id);
  make_whole_run(2, id);
  import_all();
  StoreCheck check = check_now(true, false, &findings);
  assert_int_equal(check.findings[STORE_DAMAGE] + check.findings[STORE_WARNING], 0);
  assert_int_equal(check.runs, 2);
  assert_int_equal(check.iterations, 2 * ROWS);
  assert_int_equal(check.evaluations, 4);
  assert_int_equal(check.logs, 6);
}

static void test_orphans(void **state) {
  char id[CORE_RUN_ID];
  Findings findings;
  make_whole_run(1, id);
  import_all();
  spoil("INSERT INTO iteration(run_id, iteration, kl) VALUES('0123456789abcdef', 1, 0.1), ('0123456789abcdef', 2, 0.1);"
        "INSERT INTO metric(run_id, name, iteration) VALUES('0123456789abcdef', 'charts/x', 1);"
        "INSERT INTO evaluation(run_id, iteration, level_set) VALUES('0123456789abcdef', 1, 'train');"
        "INSERT INTO sweep_run VALUES('no_sweep', 0, '0123456789abcdef'); INSERT INTO run_import VALUES(77, 1, 1);"
        "INSERT INTO attempt(run_id, attempt) VALUES('0123456789abcdef', 1)");
  StoreCheck check = check_now(true, false, &findings);
  assert_found(&findings, "2 iteration: 2 rows of runs that are not in `run`\n");
  assert_found(&findings, "2 metric: 1 rows of runs");
  assert_found(&findings, "2 evaluation: 1 rows of runs");
  assert_found(&findings, "2 sweep_run: 1 members");
  assert_found(&findings, "2 run_import: 1 rows");
  assert_found(&findings, "2 attempt: 1 rows");
  assert_found(&findings, "iteration_bin: the sums");
  assert_int_equal(check.repairable, 7);
  assert_int_equal(check.repaired, 0);
  check = check_now(true, true, &findings);
  assert_int_equal(check.repaired, 6); /* with the orphans gone, the sums are right */
  check = check_now(true, false, &findings);
  assert_int_equal(check.findings[STORE_DAMAGE], 0);
  assert_int_equal(check.iterations, ROWS);
}

/* A run that continues another's from iteration 5 has no rows up to it; later gaps are reported. */
static void test_continued(void **state) {
  char id[CORE_RUN_ID];
  Findings findings;
  make_whole_run(1, id);
  import_all();
  spoil("DELETE FROM iteration WHERE iteration <= 5");
  spoil("UPDATE run SET config = json_set(config, '$.init.from', 'run:0123456789abcdef@5')");
  check_now(false, false, &findings);
  if (strstr(findings.text, "iterations are missing")) fail_msg("a run that goes on: %s", findings.text);
  spoil("UPDATE run SET config = json_set(config, '$.init.from', 'run:0123456789abcdef@3')");
  check_now(false, false, &findings);
  assert_found(&findings, "2 of its 17 iterations are missing, the first: 4\n");
}

/* Rows that are missing are found by number, and come back from the logs. */
static void test_gap(void **state) {
  char id[CORE_RUN_ID];
  Findings findings;
  make_whole_run(1, id);
  import_all();
  spoil("DELETE FROM iteration WHERE iteration IN (7, 8, 20)");
  StoreCheck check = check_now(true, false, &findings);
  assert_found(&findings, "2 of its 19 iterations are missing, the first: 7\n");
  assert_found(&findings, "its state records 20 iterations, but its rows end at 19");
  check = check_now(false, true, &findings); /* without the logs nothing may be thrown away */
  assert_int_equal(check.repaired, 1); /* only the sums */
  assert_int_equal(query_int("SELECT count(*) FROM iteration"), ROWS - 3);
  check = check_now(true, true, &findings);
  assert_found(&findings, "[again]");
  import_all();
  assert_int_equal(query_int("SELECT count(*) FROM iteration"), ROWS);
  check = check_now(true, false, &findings);
  assert_int_equal(check.findings[STORE_WARNING], 0);
  spoil("DELETE FROM iteration WHERE iteration = 1");
  check_now(true, false, &findings);
  assert_found(&findings, "the first: 1\n");
}

/* The sums follow the rows: through imports in several pieces, repairs and merges; when they do not, it is found. */
static void test_bins(void **state) {
  char id[CORE_RUN_ID];
  Findings findings;
  StoreRunlog *stats;
  static const char by_hand[] =
    "SELECT count(*) FROM (SELECT run_id, iteration >> 6 AS bin, count(*) AS n, sum(kl) AS kl FROM iteration"
    " GROUP BY 1, 2) AS mine LEFT JOIN iteration_bin AS theirs USING(run_id, bin) WHERE theirs.n IS NOT mine.n"
    " OR abs(theirs.kl_sum - mine.kl) > 1e-9";
  make_run(3, id);
  for (int part = 0; part < 5; part++) {
    assert_ok(store_runlog_open(root, id, 1, STORE_LOG_STATS, &stats));
    for (int i = part * 50 + 1; i <= part * 50 + 50; i++) {
      StoreIteration row = make_row(i, 0);
      store_runlog_iteration(stats, &row);
    }
    assert_ok(store_runlog_close(&stats));
    import_all();
    assert_int_equal(query_int("SELECT sum(n) FROM iteration_bin"), part * 50 + 50);
    assert_int_equal(query_int(by_hand), 0);
  }
  assert_int_equal(query_int("SELECT count(*) FROM iteration_bin"), 4);
  spoil("DELETE FROM iteration_bin WHERE n = 64");
  check_now(true, false, &findings);
  assert_found(&findings, "2 iteration_bin: the sums differ from those of the rows");
  check_now(true, true, &findings);
  assert_int_equal(query_int(by_hand), 0);
}

static void test_logs(void **state) {
  char id[CORE_RUN_ID], path[CORE_PATH_MAX];
  Findings findings;
  size_t size;
  make_whole_run(1, id);
  import_all();
  assert_ok(store_path_run(root, id, "stats.1.tsv", path));
  char *text = read_text(path, &size);
  text[size - 3] ^= 1;
  write_text(path, text);
  check_now(true, false, &findings);
  assert_found(&findings, "stats.1.tsv is not the file that was imported (checksum)");
  text[size / 2] = '\0';
  write_text(path, text);
  check_now(true, false, &findings);
  assert_found(&findings, "bytes shorter than what was imported");
  free(text);
  assert_int_equal(unlink(path), 0);
  StoreCheck check = check_now(true, true, &findings);
  assert_found(&findings, "stats.1.tsv is missing");
  assert_int_equal(check.repaired, 0); /* the rows are all that is left */
  assert_int_equal(query_int("SELECT count(*) FROM iteration"), ROWS);
}

static void test_values(void **state) {
  char id[CORE_RUN_ID];
  Findings findings;
  make_whole_run(1, id);
  import_all();
  spoil("UPDATE iteration SET kl = 9e999 WHERE iteration < 4");
  spoil("UPDATE evaluation SET solve_rate = 1.5 WHERE iteration = 0; UPDATE run SET config = 'ini' || config, status = "
        "'diverged'");
  check_now(true, false, &findings);
  assert_found(&findings, "KL is infinite in 3 iterations");
  assert_found(&findings, "1 solve rates outside 0..1");
  assert_found(&findings, "1 with settings that are not JSON");
  assert_found(&findings, "1 failed, diverged or lost");
}

/* A program may log percent: its numbers are no damage. */
static void test_values_of_a_program(void **state) {
  char id[CORE_RUN_ID];
  Findings findings;
  make_whole_run(1, id);
  import_all();
  spoil("UPDATE evaluation SET solve_rate = 63; UPDATE run SET config = '{\"program\": {}}'");
  const StoreCheck check = check_now(false, false, &findings);
  assert_int_equal(check.findings[STORE_DAMAGE], 0);
  assert_found(&findings,
               "1 evaluation: 2 values of a program's solve_rate are above 1, as of percent; log value / 100");
}

/* An overwritten page is reported, and nothing is repaired on top of it. */
static void test_damaged_file(void **state) {
  char id[CORE_RUN_ID];
  Findings findings;

  for (int seed = 1; seed <= 12; seed++) make_whole_run(seed, id);
  import_all();
  spoil("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");

  FILE *file = fopen(database_path, "r+");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  long pages = ftell(file) / 8192;
  fseek(file, (pages - 1) * 8192 + 4, SEEK_SET);
  for (int i = 0; i < 4000; i++) fputc(0x5a, file);
  fclose(file);

  StoreDatabase *database = NULL;
  StoreCheck check = {0};
  findings.text[0] = '\0';
  int code = store_database_open(database_path, true, &database);
  if (code == CORE_OK) code = store_check(database, NULL, false, collect, &findings, &check);
  store_database_close(&database);

  if (code == CORE_OK) {
    assert_true(check.findings[STORE_DAMAGE] > 0);
    assert_found(&findings, "sweep collect --rebuild");
  } else {
    assert_message("sweep collect --rebuild");
  }
}

/* ---- merge ------------------------------------------------------------------------------------------------------ */

/* Dumps the contents of all tables, in an order independent of keys. */
static void dump(const char *path, char *text, size_t size) {
  sqlite3 *handle;
  sqlite3_stmt *statement;
  assert_int_equal(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
  static const char sql[] =
    "SELECT 'i ' || run_id || ' ' || iteration || ' ' || kl || ' ' || transitions FROM iteration UNION ALL"
    " SELECT 'm ' || run_id || ' ' || name || ' ' || value FROM metric UNION ALL"
    " SELECT 'e ' || run_id || ' ' || iteration || ' ' || solve_rate FROM evaluation UNION ALL"
    " SELECT 'r ' || id || ' ' || status || ' ' || iteration FROM run UNION ALL"
    " SELECT 's ' || sweep || ' ' || idx || ' ' || run_id FROM sweep_run UNION ALL"
    " SELECT 'n ' || name || ' ' || ini FROM sweep UNION ALL SELECT 'a ' || run_id || attempt FROM attempt ORDER BY 1";
  assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &statement, NULL), SQLITE_OK);
  *text = '\0';
  for (size_t used = 0; sqlite3_step(statement) == SQLITE_ROW; used = strlen(text))
    snprintf(text + used, size - used, "%s\n", sqlite3_column_text(statement, 0));
  sqlite3_finalize(statement);
  sqlite3_close(handle);
}

static StoreMerge merge_into(const char *target_path, const char *source_path) {
  StoreDatabase *target, *source;
  StoreMerge merge;
  assert_ok(store_database_open(source_path, true, &source));
  assert_ok(store_database_open(target_path, false, &target));
  assert_ok(store_merge(target, source, &merge));
  store_database_close(&target);
  store_database_close(&source);
  return merge;
}

/* Two clusters: run 1 is on both and got further on the second; 2 and 3 are on one each; a sweep's name stands for two
 * experiment files. */
static void make_clusters(char first[CORE_PATH_MAX], char second[CORE_PATH_MAX]) {
  char id[CORE_RUN_ID];
  StoreDatabase *database;
  assert_ok(core_files_path(first, "%s/first.db", root));
  assert_ok(core_files_path(second, "%s/second.db", root));
  for (int cluster = 0; cluster < 2; cluster++) {
    make_whole_run(1, id);
    make_whole_run(2 + cluster, id);
    import_all();
    assert_ok(store_database_open(database_path, false, &database));
    assert_ok(store_database_begin(database));
    assert_ok(store_database_put_sweep(database, "study", cluster ? "[sweep]\nname = study\n# two\n" : "[sweep]\n"));
    assert_ok(store_database_put_run(database, "study", 0, NULL, id));
    assert_ok(store_database_commit(database));
    assert_ok(store_backup(database, cluster ? second : first));
    store_database_close(&database);
    if (cluster == 0) {
      char runs[CORE_PATH_MAX];
      assert_ok(core_files_path(runs, "%s/runs", root));
      assert_ok(core_files_remove_tree(runs));
      assert_int_equal(unlink(database_path), 0);
    }
  }
}

static void test_merge(void **state) {
  char first[CORE_PATH_MAX], second[CORE_PATH_MAX], ab[CORE_PATH_MAX], ba[CORE_PATH_MAX];
  static char once[65536], twice[65536], other_way[65536];

  make_clusters(first, second);
  spoil_file(first, "UPDATE run SET iteration = 10, status = 'stopped' WHERE seed = 1;" /* it stopped half way */
             "DELETE FROM iteration WHERE run_id = (SELECT id FROM run WHERE seed = 1) AND iteration > 10");
  assert_ok(core_files_path(ab, "%s/ab.db", root));
  assert_ok(core_files_path(ba, "%s/ba.db", root));

  StoreMerge merge = merge_into(ab, first);
  assert_int_equal(merge.runs_added, 2);
  assert_int_equal(merge.iterations, ROWS + 10);

  merge = merge_into(ab, second);
  assert_int_equal(merge.runs_added, 1);
  assert_int_equal(merge.runs_replaced, 1);
  assert_int_equal(merge.renamed_sweeps, 1);

  dump(ab, once, sizeof once);
  merge = merge_into(ab, second);
  assert_int_equal(merge.runs_added + merge.runs_replaced + merge.sweeps, 0);
  merge = merge_into(ab, first);
  assert_int_equal(merge.runs_added + merge.runs_replaced + merge.sweeps, 0);
  dump(ab, twice, sizeof twice);
  assert_string_equal(once, twice);

  merge_into(ba, second);
  merge_into(ba, first);
  dump(ba, other_way, sizeof other_way);

  char *line = strstr(once, "n study"); /* only the sweeps' names depend on the order */
  assert_non_null(line);
  assert_int_equal(strncmp(once, other_way, (size_t)(line - once)), 0);
}

/* More attempts are not further: here the run ended in its first, there it was stopped again and again. */
static void test_merge_further(void **state) {
  (void)state;
  char first[CORE_PATH_MAX], second[CORE_PATH_MAX], all[CORE_PATH_MAX];
  make_clusters(first, second);
  spoil_file(second, "UPDATE run SET iteration = 10, attempt = 5, status = 'stopped' WHERE seed = 1");
  for (int order = 0; order < 2; order++) {
    assert_ok(core_files_path(all, "%s/all%d.db", root, order));
    merge_into(all, order ? second : first);
    merge_into(all, order ? first : second);
    sqlite3 *handle;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(all, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(handle, "SELECT iteration, attempt FROM run WHERE seed = 1", -1, &statement,
                                        NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), ROWS);
    assert_int_equal(sqlite3_column_int(statement, 1), 1);
    sqlite3_finalize(statement);
    sqlite3_close(handle);
  }
}

/* One experiment at two places, whose runs at one index differ: all stay members, and merging again adds none. */
static void test_merge_members(void **state) {
  (void)state;
  char first[CORE_PATH_MAX], second[CORE_PATH_MAX], all[CORE_PATH_MAX];
  static char once[65536], twice[65536];
  make_clusters(first, second);
  spoil_file(first, "UPDATE sweep_run SET run_id = (SELECT id FROM run WHERE seed = 2)");
  spoil_file(second, "UPDATE sweep SET ini = (SELECT '[sweep]' || char(10));"
             "UPDATE sweep_run SET run_id = (SELECT id FROM run WHERE seed = 3)");
  assert_ok(core_files_path(all, "%s/all.db", root));
  merge_into(all, first);
  merge_into(all, second);
  dump(all, once, sizeof once);
  const char *member = strstr(once, "s study 0 ");
  assert_true(member && strstr(member, "s study 1 "));
  merge_into(all, second);
  merge_into(all, first);
  dump(all, twice, sizeof twice);
  assert_string_equal(once, twice);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    WORKSPACE_TEST(test_sound),        WORKSPACE_TEST(test_orphans),       WORKSPACE_TEST(test_gap),
    WORKSPACE_TEST(test_bins),         WORKSPACE_TEST(test_logs),          WORKSPACE_TEST(test_values),
    WORKSPACE_TEST(test_values_of_a_program),
    WORKSPACE_TEST(test_damaged_file), WORKSPACE_TEST(test_merge),         WORKSPACE_TEST(test_merge_further),
    WORKSPACE_TEST(test_merge_members), WORKSPACE_TEST(test_continued),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
