/* [stop] in an experiment file, and its rules on a results.db with known rows: sweep/stop. */
#include "test.h"

#include <sys/wait.h>

#include "core/files.h"
#include "store/database/database.h"
#include "store/runlog/runlog.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/spec.h"
#include "sweep/stop/decide.h"
#include "sweep/stop/runs.h"

/* ---- on a database ----------------------------------------------------------------------------------------------- */

static const char sweep_text[] =
  "[sweep]\nname = s\nseeds = 2\n[train]\ntotal_steps = 8000\n[env]\nmorphologies = car\nnum = 8\n"
  "[ppo]\nnum_steps = 16\nnum_minibatches = 2\n[grid lr]\nppo.learning_rate = 1e-4, 1e-3\n"
  "[stop]\nrule = asha\nmin = 1000\neta = 2\n";

typedef struct Fixture { char root[CORE_PATH_MAX]; SweepSpec spec; SweepGrid grid; } Fixture;

/* An evaluation on the training levels and, which do not count, on others. */
static void write_run(const Fixture *fixture, size_t run, StoreStatus status, double at, double value) {
  CoreConfig config;
  char id[CORE_RUN_ID];
  StoreRunlog *eval = NULL;
  sweep_grid_config(&fixture->grid, run, &config);
  assert_ok(store_run_prepare(fixture->root, &config, id));
  assert_ok(store_runlog_open(fixture->root, id, 1, STORE_LOG_EVAL, &eval));
  StoreEvaluation row = store_evaluation_unmeasured(0, "train");
  row.transitions = 0, row.solve_rate = 0;
  store_runlog_evaluation(eval, &row);
  row.iteration = (int64_t)(at / 128), row.transitions = at, row.solve_rate = value;
  store_runlog_evaluation(eval, &row);
  snprintf(row.level_set, sizeof row.level_set, "easy");
  row.solve_rate = 1 - value;
  store_runlog_evaluation(eval, &row);
  assert_ok(store_runlog_close(&eval));
  const StoreState state = {.status = status, .attempt = 1, .host = "elsewhere", .pid = 1, .heartbeat_unix_s = 1e9,
                            .transitions = (int64_t)at, .transitions_total = 8064, .solve_rate = NAN,
                            .steps_per_second = NAN, .episode_return = NAN};
  assert_ok(store_run_state_write(fixture->root, id, &state));
}

static int setup(void **state) {
  Fixture *fixture = calloc(1, sizeof *fixture);
  const char *temporary = getenv("TMPDIR");
  SweepManifest manifest;
  SweepManifestChange change;
  core_files_path(fixture->root, "%s/test-stop-XXXXXX", temporary ? temporary : "/tmp");
  if (!mkdtemp(fixture->root)) return -1;
  assert_ok(sweep_spec_parse("f.ini", sweep_text, NULL, NULL, 0, &fixture->spec));
  assert_ok(sweep_grid_expand(&fixture->spec, &fixture->grid));
  assert_ok(sweep_manifest_record(fixture->root, &fixture->grid, &manifest, &change));
  char path[CORE_PATH_MAX];
  StoreDatabase *database;
  assert_ok(store_path_database(fixture->root, path));
  assert_ok(store_database_open(path, false, &database));
  assert_ok(store_database_begin(database));
  assert_ok(store_database_put_sweep(database, "s", sweep_text));
  for (size_t i = 0; i < fixture->grid.runs; i++) {
    CoreConfig config;
    sweep_grid_config(&fixture->grid, i, &config);
    assert_ok(store_database_put_run(database, "s", (int64_t)i, &config, fixture->grid.ids[i]));
  }
  assert_ok(store_database_commit(database));
  store_database_close(&database);
  sweep_manifest_free(&manifest);
  *state = fixture;
  return 0;
}

static int teardown(void **state) {
  Fixture *fixture = *state;
  core_files_remove_tree(fixture->root);
  sweep_grid_free(&fixture->grid);
  sweep_spec_free(&fixture->spec);
  free(fixture);
  return 0;
}

static StoreState state_of(const Fixture *fixture, size_t run) {
  StoreState state;
  assert_ok(store_run_state_read(fixture->root, fixture->grid.ids[run], true, &state));
  return state;
}

/* Runs 0 and 2 are the seeds of 1e-4, 1 and 3 those of 1e-3. */
static void test_database(void **state) {
  const Fixture *fixture = *state;
  SweepStopOutcome outcome;

  write_run(fixture, 0, STORE_STOPPED, 1024, 0.2);
  write_run(fixture, 2, STORE_STOPPED, 1024, 0.4);
  write_run(fixture, 1, STORE_STOPPED, 1024, 0.9);

  assert_ok(sweep_stop_poll(fixture->root, "s", true, &outcome));
  assert_int_equal(outcome.stopped, 3); /* one seed of 1e-3 is missing: all wait */
  assert_int_equal(outcome.promoted, 0);
  for (size_t i = 0; i < 3; i++) assert_int_equal(state_of(fixture, i).status, STORE_STOPPED_BY_RULE);
  assert_non_null(strstr(state_of(fixture, 1).message, "asha: waits at rung 0 (1 k transitions)"));

  assert_ok(sweep_stop_poll(fixture->root, "s", true, &outcome));
  assert_int_equal(outcome.stopped + outcome.promoted, 0); /* nothing new */
  assert_ok(sweep_stop_poll(fixture->root, "s", false, &outcome));
  assert_true(outcome.is_busy); /* not so soon again */

  write_run(fixture, 3, STORE_STOPPED, 1024, 0.1);
  assert_ok(sweep_stop_poll(fixture->root, "s", true, &outcome));
  assert_int_equal(outcome.promoted, 2); /* 0.5 against 0.3 */
  assert_int_equal(outcome.stopped, 0);
  assert_int_equal(state_of(fixture, 1).status, STORE_STOPPED);
  assert_int_equal(state_of(fixture, 0).status, STORE_STOPPED_BY_RULE);

  SweepStopLog log;
  assert_ok(sweep_stop_log_read(fixture->root, "s", &log));
  assert_int_equal(log.count, 5);
  assert_false(sweep_stop_log_is_stopped(&log, fixture->grid.ids[1]));
  assert_true(sweep_stop_log_is_stopped(&log, fixture->grid.ids[2]));
  assert_int_equal(sweep_stop_log_find(&log, fixture->grid.ids[3])->level, 1);
  assert_float_equal(log.entries[0].transitions, 1000, 0);
  assert_float_equal(log.entries[0].value, 0.3 * 1000 / 1024, 1e-9); /* between the evaluations */

  sweep_stop_log_free(&log);
}

/* A metric without a column is read from the table metric. */
static void test_named_metric(void **state) {
  Fixture *fixture = *state;
  char path[CORE_PATH_MAX];
  const char *id = fixture->grid.ids[1];
  StoreRunlog *metrics = NULL;
  StoreDatabase *database;
  StoreImport import;
  SweepStopRuns runs;
  const SweepStopLog log = {0};

  write_run(fixture, 1, STORE_STOPPED, 1024, 0.9);
  assert_ok(store_runlog_open(fixture->root, id, 1, STORE_LOG_METRICS, &metrics));
  for (int i = 1; i <= 3; i++) {
    StoreMetric row = {.iteration = i, .name = "x/own", .step = 100 * i, .value = i == 2 ? NAN : -i};
    store_runlog_metric(metrics, &row);
  }

  assert_ok(store_runlog_close(&metrics));
  assert_ok(store_path_database(fixture->root, path));
  assert_ok(store_database_open(path, false, &database));
  assert_ok(store_import(database, fixture->root, NULL, true, &import));

  assert_ok(sweep_stop_set(&fixture->spec.stop, "stop.measure", "metric.x/own"));
  assert_ok(sweep_stop_set(&fixture->spec.stop, "stop.goal", "min"));
  assert_ok(sweep_stop_runs_read(database, &fixture->grid, &log, &runs));

  assert_int_equal(runs.items[1].count, 2);
  assert_true(runs.items[1].points[1].transitions == 300 && runs.items[1].points[1].value == 3);
  assert_int_equal(runs.items[0].count, 0);

  sweep_stop_runs_free(&runs);
  store_database_close(&database);
}

/* A person's word is above the rule's. */
static void test_retry(void **state) {
  const Fixture *fixture = *state;
  SweepStopOutcome outcome;
  size_t taken;
  assert_ok(sweep_stop_retry(fixture->root, "s", (const char(*)[CORE_RUN_ID])fixture->grid.ids, 2, &taken));
  assert_int_equal(taken, 1); /* run 1 was no longer stopped */
  assert_int_equal(state_of(fixture, 0).status, STORE_STOPPED);
  assert_ok(sweep_stop_poll(fixture->root, "s", true, &outcome));
  assert_int_equal(outcome.stopped, 0);
  assert_int_equal(state_of(fixture, 0).status, STORE_STOPPED);
}

/* Two processes decide at the same time: one waits and has nothing left to do; no line is duplicated. */
static void test_two_at_once(void **state) {
  const Fixture *fixture = *state;
  char path[CORE_PATH_MAX];
  assert_ok(store_path_sweep(fixture->root, "s", "stop.log", path));
  unlink(path);
  pid_t children[4];
  for (size_t i = 0; i < 4; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      SweepStopOutcome outcome;
      _exit(sweep_stop_poll(fixture->root, "s", true, &outcome) == CORE_OK ? 0 : 1);
    }
  }
  for (size_t i = 0; i < 4; i++) {
    int status;
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_int_equal(status, 0);
  }
  SweepStopLog log;
  assert_ok(sweep_stop_log_read(fixture->root, "s", &log));
  assert_int_equal(log.count, 4); /* two promoted, two stopped */
  sweep_stop_log_free(&log);
}

static void test_damaged_log(void **state) {
  const Fixture *fixture = *state;
  char path[CORE_PATH_MAX];
  SweepStopLog log;
  assert_ok(store_path_sweep(fixture->root, "s", "stop.log", path));
  FILE *file = fopen(path, "a");
  fputs("1.0\tada\tstop\t0123456789abcdef\tas", file); /* truncated: skipped; the next line is complete */
  fclose(file);
  size_t taken;
  assert_ok(sweep_stop_retry(fixture->root, "s", (const char(*)[CORE_RUN_ID])fixture->grid.ids, 4, &taken));
  assert_int_equal(taken, 2);
  file = fopen(path, "a");
  fputs("1.0\tada\tstop\t0123456789abcdef\tmagic\t-\t-\t-\t-\twhy\t;\n", file);
  fclose(file);
  assert_int_equal(sweep_stop_log_read(fixture->root, "s", &log), CORE_FAIL);
  assert_message("stop.log:8: damaged; restore the line, or delete it");
}

/* ---- the section ------------------------------------------------------------------------------------------------- */

#define HEAD "[sweep]\nname = s\n[train]\ntotal_steps = 1M\n"

static void assert_refused(const char *text, const char *set, const char *first, const char *second) {
  SweepSpec spec;
  SweepGrid grid;
  int code = sweep_spec_parse("f.ini", text, NULL, &set, set ? 1 : 0, &spec);
  if (code == CORE_OK) {
    code = sweep_grid_expand(&spec, &grid);
    if (code == CORE_OK) fail_msg("%s\nis taken", text);
    sweep_spec_free(&spec);
  }
  assert_int_equal(code, CORE_USAGE);
  assert_message(first);
  assert_message(second);
}

static void test_bad_input(void **state) {
  (void)state;
  assert_refused(HEAD "[stop]\nrule = medain\n", NULL,
                 "f.ini:6:8: stop.rule = medain is not one of: none, median, asha, stagnation", "did you mean median?");

  assert_refused(HEAD "[stop]\nrule = asha\nmin = 1000\neta = 1\n", NULL, "f.ini:8:7: stop.eta = 1",
                 "expected 2 to 1000");
  assert_refused(HEAD "[stop]\nrule = asha\nmin = 2M\n", NULL, "f.ini:7:7: stop.min = 2000000 is not below the budget "
                 "(train.total_steps = 1000000)", "lower it");
  assert_refused(HEAD "[stop]\nrule = asha\nmin = 1k\nmax = 2M\n", NULL, "f.ini:8:7: stop.max = 2000000", "lower it");
  assert_refused(HEAD "[stop]\nrule = asha\nmin = 1k\nmax = 500\n", NULL, "f.ini:8:7: stop.max = 500 leaves no rung",
                 "raise it");
  assert_refused(HEAD "[stop]\nrule = asha\n", NULL, "f.ini:6:8: stop.rule = asha needs", "add min = ...");

  assert_refused(HEAD "[stop]\nrule = median\ngrace = 1M\n", NULL, "f.ini:7:9: stop.grace = 1000000 is not below",
                 "no run would be stopped");
  assert_refused(HEAD "[stop]\nrule = median\neta = 3\n", NULL, "f.ini:7:1: stop.eta is a parameter of asha, but "
                 "stop.rule is median", "remove it, or change the rule");
  assert_refused(HEAD "[stop]\nrule = asha\nmin = 5\ngrace = 3\n", NULL, "f.ini:8:1: stop.grace is a parameter of "
                 "median and stagnation", "stop.rule is asha");
  assert_refused(HEAD "[stop]\ngrace = 3\n", NULL, "f.ini:6:1: stop.grace is set without a rule", "add rule =");

  assert_refused(HEAD "[stop]\nrule = median\nmeasure = solve_rat\n", NULL, "f.ini:7:11: stop.measure = solve_rat is "
                 "not a measure", "did you mean solve_rate?");
  assert_refused(HEAD "[stop]\nrule = median\nmeasure = distance_to_goal\n", NULL, "f.ini:7:11: stop.measure",
                 "a metric without a column is metric.NAME");
  assert_refused(HEAD "[eval]\ncount = 0\n[stop]\nrule = median\n", NULL, "f.ini:8:8: stop.measure = score",
                 "eval.count is 0, so no run has it; set eval.count, or use measure = iteration.solve_rate");

  assert_refused(HEAD "[stop]\nrule = median\ngoal = more\n", NULL, "f.ini:7:8: stop.goal = more is not one of",
                 "max, min");
  assert_refused(HEAD "[stop]\nrule = stagnation\npatience = 2\n", NULL, "f.ini:7:12: stop.patience = 2", "0.001 to 1");
  assert_refused(HEAD "[stop]\nrule = median\nmin_runs = few\n", NULL, "f.ini:7:12: stop.min_runs = few is not a",
                 "whole number");
  assert_refused(HEAD "[stop]\nrule = median\ngarce = 5\n", NULL, "f.ini:7:1", "did you mean stop.grace?");

  assert_refused(HEAD "[stop]\nrule = median\n", "stop.eta=4", "--set stop.eta=4", "is a parameter of asha");
  assert_refused(HEAD "[grid g]\ntrain.total_steps = 1M, 1k\n[stop]\nrule = asha\nmin = 5000\n", NULL, "f.ini:9:7",
                 "(train.total_steps = 1000)"); /* the smallest budget counts */
}

static void test_section(void **state) {
  (void)state;
  SweepSpec spec, again;
  CoreText text = {0};
  const char *set = "stop.eta=3";
  static const char file[] = HEAD "[stop]\nrule = asha\nmin = 1k\n[profile p]\nstop.min = 2k\n";
  assert_ok(sweep_spec_parse("f.ini", file, "p", &set, 1, &spec));
  assert_int_equal(spec.stop.rule, SWEEP_STOP_asha);
  assert_int_equal(spec.stop.min, 2000);
  assert_int_equal(spec.stop.eta, 3);
  sweep_freeze_print(&spec, &text); /* the recorded specification reads back unchanged */
  assert_ok(sweep_spec_parse("sweep.ini", core_text_string(&text), NULL, NULL, 0, &again));
  assert_int_equal(again.stop.rule, SWEEP_STOP_asha);
  assert_int_equal(again.stop.min, 2000);
  assert_int_equal(again.stop.eta, 3);
  core_text_clear(&text);
  sweep_stop_describe(&spec.stop, 1e6, &text);
  assert_string_equal(core_text_string(&text), "asha: promotes one of 3 settings from each rung, at 2 k, 6 k, 18 k, "
                      "54 k, 162 k, 486 k transitions; by score");
  sweep_spec_free(&spec);
  sweep_spec_free(&again);
  core_text_free(&text);
  set = "stop.rule=none"; /* disabled, regardless of other settings */
  assert_ok(sweep_spec_parse("f.ini", file, NULL, &set, 1, &spec));
  assert_int_equal(spec.stop.rule, SWEEP_STOP_NONE);
  sweep_spec_free(&spec);
}

/* docs/experiments.md has a row for each setting. */
static void test_documented(void **state) {
  (void)state;
  char *page, row[80];
  size_t size, count;
  const char *const *names = sweep_stop_names(&count);
  assert_ok(core_files_read("docs/experiments.md", 0, &page, &size));
  for (size_t i = 0; i < count; i++) {
    snprintf(row, sizeof row, "\n| `%s` |", strchr(names[i], '.') + 1);
    if (!strstr(page, row)) fail_msg("docs/experiments.md has no row%s", row);
  }
  free(page);
}

int main(void) {
  const struct CMUnitTest section[] = {cmocka_unit_test(test_bad_input), cmocka_unit_test(test_section),
                                       cmocka_unit_test(test_documented)};
  const struct CMUnitTest workspace[] = {cmocka_unit_test(test_database), cmocka_unit_test(test_retry),
                                         cmocka_unit_test(test_two_at_once), cmocka_unit_test(test_damaged_log),
                                         cmocka_unit_test(test_named_metric)};
  const int failed = cmocka_run_group_tests_name("section", section, NULL, NULL);
  return failed + cmocka_run_group_tests_name("workspace", workspace, setup, teardown);
}
