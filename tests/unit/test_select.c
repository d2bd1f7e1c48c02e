/* analysis/select and group on databases that the store built from run directories and logs, as in use: imports,
 * selection of runs, names and order of configurations, and messages about missing data. */
#include "test.h"

#include <sqlite3.h>

#include "analysis/runs/curve.h"
#include "analysis/runs/budget.h"
#include "analysis/runs/group.h"
#include "analysis/runs/select.h"
#include "analysis_workspace.h"
#include "core/config/config_internal.h"

enum { SEEDS = 2, ITERATIONS = 12 };

typedef struct Fixture { char root[CORE_PATH_MAX], path[CORE_PATH_MAX]; } Fixture;

static int make_workspace(void **state) {
  Fixture *fixture = calloc(1, sizeof *fixture);
  const char *temporary = getenv("TMPDIR");
  core_files_path(fixture->root, "%s/test-select-XXXXXX", temporary ? temporary : "/tmp");
  if (!mkdtemp(fixture->root)) return -1;
  core_files_path(fixture->path, "%s/results.db", fixture->root);
  Workspace workspace = {fixture->root, ITERATIONS, 4, SEEDS};
  *state = fixture;
  int code = workspace_register(&workspace);
  if (code == CORE_OK) code = workspace_write(&workspace);
  if (code != CORE_OK) print_message("%s\n", core_error_message());
  return code;
}

static int remove_workspace(void **state) {
  Fixture *fixture = *state;
  core_files_remove_tree(fixture->root);
  free(fixture);
  return 0;
}

static StoreDatabase *open_database(void **state) {
  StoreDatabase *database = NULL;
  assert_ok(analysis_database_open(((Fixture *)*state)->path, &database));
  return database;
}

static int select_where(StoreDatabase *database, const char *sweep, const char *const *where, size_t count,
                        AnalysisSelection *selection) {
  return analysis_select_runs(database, sweep, where, count, selection);
}

static void test_all_runs_in_order(void **state) {
  StoreDatabase *database = open_database(state);
  AnalysisSelection selection;
  assert_ok(select_where(database, NULL, NULL, 0, &selection));
  assert_int_equal(selection.count, 12 * SEEDS);
  assert_string_equal(selection.filter, "all runs");
  size_t diverged = 0;
  for (size_t r = 0; r < selection.count; r++) {
    char id[CORE_RUN_ID];
    const CoreConfig whole = analysis_config_whole(&selection.runs[r].config);
    core_config_id(&whole, id); /* the configuration came back whole: it has the same id */
    assert_string_equal(id, selection.runs[r].id);
    assert_string_equal(selection.runs[r].commit, "abc1234");
    diverged += selection.runs[r].status == STORE_DIVERGED;
    assert_int_equal(selection.runs[r].config.seed, r / 12); /* by seed, then by id */
    assert_true(r % 12 == 0 || strcmp(selection.runs[r - 1].id, id) < 0);
  }
  assert_int_equal(diverged, 1);
  analysis_selection_free(&selection);
  store_database_close(&database);
}

/* The seeds of a configuration share its settings, and still differ in the key train.seed. */
static void test_shared_settings(void **state) {
  StoreDatabase *database = open_database(state);
  AnalysisSelection selection;
  AnalysisGrouping grouping;
  const char *seed[] = {"train.seed=1"};
  assert_ok(select_where(database, NULL, NULL, 0, &selection));
  for (size_t a = 0; a < selection.count; a++)
    for (size_t b = 0; b < a; b++)
      assert_int_equal(selection.runs[a].config.shared == selection.runs[b].config.shared,
                       strcmp(selection.runs[a].cell, selection.runs[b].cell) == 0);
  assert_ok(analysis_group_runs(&selection, "train.seed", &grouping));
  assert_int_equal(grouping.count, SEEDS);
  assert_string_equal(grouping.groups[1].label, "seed 1");
  analysis_grouping_free(&grouping);
  analysis_selection_free(&selection);
  assert_ok(select_where(database, NULL, seed, 1, &selection));
  assert_int_equal(selection.count, 12);
  analysis_selection_free(&selection);
  store_database_close(&database);
}

static void test_where(void **state) {
  StoreDatabase *database = open_database(state);
  AnalysisSelection selection;
  const char *either[] = {"ppo.com=8", "com=3.2e1"};
  assert_ok(select_where(database, "two_grids", either, 2, &selection));
  assert_int_equal(selection.count, 2 * SEEDS);
  assert_string_equal(selection.filter, "sweep two_grids; ppo.com=8 or 32");
  analysis_selection_free(&selection);
  const char *both[] = {"algo.name=ppo", "seed=1", "eps=0.1"}; /* keys may be short, as in labels */
  assert_ok(select_where(database, NULL, both, 3, &selection));
  assert_int_equal(selection.count, 1);
  analysis_selection_free(&selection);
  const char *unused[] = {"ppo.com=64"}; /* the default, which PPO's runs carry and do not use */
  assert_int_equal(select_where(database, NULL, unused, 1, &selection), CORE_FAIL);
  assert_message("2048");
  store_database_close(&database);
}

/* Two sweeps: all runs, and one of them again. */
static void test_several_sweeps(void **state) {
  sqlite3 *writer = NULL;
  assert_int_equal(sqlite3_open(((Fixture *)*state)->path, &writer), SQLITE_OK);
  assert_int_equal(sqlite3_exec(writer,
    "CREATE TEMP TABLE one AS SELECT * FROM sweep; UPDATE one SET name = 'two'; INSERT INTO sweep SELECT * FROM one;"
    "CREATE TEMP TABLE member AS SELECT * FROM sweep_run LIMIT 1; UPDATE member SET sweep = 'two';"
    "INSERT INTO sweep_run SELECT * FROM member", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(writer);
  StoreDatabase *database = open_database(state);
  AnalysisSelection selection;
  assert_ok(select_where(database, "two", NULL, 0, &selection)); /* not those of two_grids */
  assert_int_equal(selection.count, 1);
  analysis_selection_free(&selection);
  assert_ok(select_where(database, "two,two_grids", NULL, 0, &selection));
  assert_int_equal(selection.count, 12 * SEEDS);
  assert_string_equal(selection.filter, "sweep two,two_grids");
  analysis_selection_free(&selection);
  static const char *const wrong[][2] = {
    {"two,two_grid", "no sweep two_grid here; did you mean two_grids?"}, {"two,", "no sweep  here"},
    {"", "no sweep  here"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(select_where(database, wrong[i][0], NULL, 0, &selection), CORE_USAGE);
    assert_message(wrong[i][1]);
  }
  store_database_close(&database);
}

/* PPO does not read ppo.com: three runs of one seed that differ in it are one, the one that has finished. */
static void test_copies(void **state) {
  const Fixture *fixture = *state;
  const Workspace workspace = {fixture->root, ITERATIONS, 4, SEEDS};
  static const double com[] = {8, 128};
  static const StoreStatus status[] = {STORE_STOPPED, STORE_FINISHED};
  char finished[CORE_RUN_ID];

  for (int i = 0; i < 2; i++) {
    CoreConfig config = workspace_config(&workspace, WORKSPACE_EWMA, 7); /* ppo, epsilon 0.025, another seed */
    config.ppo.com = com[i];
    assert_ok(workspace_write_run(&workspace, &config, i == 0 ? ITERATIONS / 2 : ITERATIONS, status[i]));
    core_config_id(&config, finished);
  }

  StoreDatabase *database = open_database(state);
  AnalysisSelection selection;
  AnalysisGrouping grouping;
  const char *where[] = {"algo.name=ppo", "eps=0.025"};

  assert_ok(select_where(database, NULL, where, 2, &selection));
  assert_int_equal(selection.count, SEEDS + 1);
  assert_int_equal(selection.copies, 1);
  assert_string_equal(selection.runs[SEEDS].id, finished);

  assert_ok(analysis_group_runs(&selection, NULL, &grouping));
  assert_int_equal(grouping.count, 1);
  analysis_grouping_free(&grouping);
  analysis_selection_free(&selection);

  const char *mode[] = {"algo.name=ppo", "eps=mode"}; /* not 0.2, that of all runs */
  assert_ok(select_where(database, NULL, mode, 2, &selection));
  assert_string_equal(selection.filter, "all runs; algo.name=ppo; ppo.epsilon=0.025");
  analysis_selection_free(&selection);
  store_database_close(&database);
}

/* max and min are of the runs that the other conditions leave, in the order given. */
static void test_where_extremes(void **state) {
  static const struct { const char *where[3]; size_t count, runs; const char *filter; } cases[] = {
    {{"epsilon=max"}, 1, SEEDS, "all runs; ppo.epsilon=0.8"},
    {{"algo.name=ppo_ewma", "epsilon=max"}, 2, 6 * SEEDS, "all runs; algo.name=ppo_ewma; ppo.epsilon=0.2"},
    {{"epsilon=min", "algo.name=ppo"}, 2, SEEDS, "all runs; ppo.epsilon=0.025; algo.name=ppo"},
    {{"epsilon=0.4", "epsilon=0.1", "seed=max"}, 3, 2, "all runs; ppo.epsilon=0.4 or 0.1; train.seed=1"},
    {{"epsilon=max", "epsilon=min"}, 2, 2 * SEEDS, "all runs; ppo.epsilon=0.8 or 0.025"},
    {{"com=max", "epsilon=max"}, 2, SEEDS, "all runs; ppo.com=2048; ppo.epsilon=0.2"},
    {{"epsilon=mode"}, 1, 7 * SEEDS, "all runs; ppo.epsilon=0.2"},
  };
  StoreDatabase *database = open_database(state);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    AnalysisSelection selection;
    assert_ok(select_where(database, NULL, cases[i].where, cases[i].count, &selection));
    assert_int_equal(selection.count, cases[i].runs);
    assert_string_equal(selection.filter, cases[i].filter);
    analysis_selection_free(&selection);
  }
  AnalysisSelection selection;
  const char *none[] = {"epsilon=0.3", "com=max"}; /* nothing to be the largest of */
  assert_int_equal(select_where(database, NULL, none, 2, &selection), CORE_FAIL);
  assert_message("0.025");
  store_database_close(&database);
}

static void test_where_refusals(void **state) {
  StoreDatabase *database = open_database(state);
  AnalysisSelection selection;
  const char *where[1] = {"ppo.epsilom=0.2"};
  assert_int_equal(select_where(database, NULL, where, 1, &selection), CORE_USAGE);
  assert_message("ppo.epsilon");
  where[0] = "ppo.epsilon=big";
  assert_int_equal(select_where(database, NULL, where, 1, &selection), CORE_USAGE);
  assert_message("ppo.epsilon");
  where[0] = "ppo.epsilon";
  assert_int_equal(select_where(database, NULL, where, 1, &selection), CORE_USAGE);
  assert_message("key=value");
  where[0] = "ppo.epsilon=0.3";
  assert_int_equal(select_where(database, NULL, where, 1, &selection), CORE_FAIL);
  assert_message("0.025"); /* the values there are */
  assert_int_equal(select_where(database, "two_grid", NULL, 0, &selection), CORE_USAGE);
  assert_message("two_grids");
  assert_int_equal(select_where(database, "'; DROP TABLE run; --", NULL, 0, &selection), CORE_USAGE);
  assert_ok(select_where(database, NULL, NULL, 0, &selection));
  assert_int_equal(selection.count, 12 * SEEDS);
  analysis_selection_free(&selection);
  store_database_close(&database);
}

static void test_groups(void **state) {
  static const char *const expected[] = {"eps 0.025", "eps 0.05", "eps 0.1", "eps 0.2", "eps 0.4", "eps 0.8",
                                         "com 2", "com 8", "com 32", "com 128", "com 512", "com 2048"};
  StoreDatabase *database = open_database(state);
  AnalysisSelection selection;
  AnalysisGrouping grouping;
  assert_ok(select_where(database, NULL, NULL, 0, &selection));
  assert_ok(analysis_group_runs(&selection, NULL, &grouping));
  assert_int_equal(grouping.count, 12);
  assert_int_equal(grouping.family_count, 2);
  assert_string_equal(grouping.families[0].name, "PPO");
  assert_string_equal(grouping.families[1].name, "PPO-EWMA");
  for (size_t g = 0; g < 12; g++) { /* numbers sort as numbers: 32 before 128 */
    assert_string_equal(grouping.groups[g].label, expected[g]);
    assert_int_equal(grouping.groups[g].run_count, SEEDS);
    assert_int_equal(grouping.groups[g].family, g / 6);
  }
  for (size_t r = 0; r < selection.count; r++) {
    const CoreConfig *own = selection.runs[r].config.shared;
    const CoreConfig *common = grouping.groups[grouping.group_of[r]].config->shared;
    assert_string_equal(own->algo.name, common->algo.name);
    assert_true(own->ppo.com == common->ppo.com);
  }
  analysis_grouping_free(&grouping);
  analysis_selection_free(&selection);
  store_database_close(&database);
}

static void test_asked_groups(void **state) {
  StoreDatabase *database = open_database(state);
  AnalysisSelection selection;
  AnalysisGrouping grouping;
  assert_ok(select_where(database, NULL, NULL, 0, &selection));
  assert_ok(analysis_group_runs(&selection, "seed", &grouping));
  assert_int_equal(grouping.count, SEEDS);
  assert_int_equal(grouping.family_count, 1);
  assert_string_equal(grouping.groups[1].label, "seed 1");
  analysis_grouping_free(&grouping);
  assert_ok(analysis_group_runs(&selection, "ppo.com", &grouping)); /* PPO has no COM: a separate group, first */
  assert_int_equal(grouping.count, 7);
  assert_string_equal(grouping.groups[0].label, "PPO");
  assert_string_equal(grouping.groups[6].label, "com 2048");
  analysis_grouping_free(&grouping);
  assert_int_equal(analysis_group_runs(&selection, "ppo.con", &grouping), CORE_USAGE);
  assert_message("ppo.com");
  assert_int_equal(analysis_group_runs(&selection, ",", &grouping), CORE_USAGE);
  assert_int_equal(analysis_group_runs(&selection, "", &grouping), CORE_USAGE);
  analysis_selection_free(&selection);
  store_database_close(&database);
}

/* Runs of two sweeps: eps by lr on one task, and two COM with a budget each on another one. */
static AnalysisSelection two_sweeps(AnalysisRun *runs, char **names) {
  static const double rates[] = {1e-4, 0.00070710678118654757, 1e-2};
  static CoreConfig configs[16];
  size_t n = 0;
  for (size_t i = 0; i < 12; i++) {
    CoreConfig *config = &configs[n];
    AnalysisRun *run = &runs[n++];
    *config = core_config_default();
    config->ppo.epsilon = 0.1 * (double)(1 + i / 3);
    config->ppo.learning_rate = rates[i % 3];
    run->config.shared = config;
    run->sweep = 1;
  }
  for (size_t i = 0; i < 4; i++) {
    CoreConfig *config = &configs[n];
    AnalysisRun *run = &runs[n++];
    *config = core_config_default();
    snprintf(config->algo.name, sizeof config->algo.name, "ppo_ewma");
    snprintf(config->env.morphologies, sizeof config->env.morphologies, "car");
    config->ppo.com = i < 2 ? 8 : 64;
    config->train.total_steps = i < 2 ? 1000 : 2000;
    run->config.seed = (int64_t)(i % 2);
    config->net.width = 32;
    run->config.shared = config;
    run->sweep = 2;
  }
  return (AnalysisSelection){.runs = runs, .count = n, .sweep = names, .sweeps = 2};
}

/* Labels name the settings that differ within a sweep, once, and families are the sweeps. */
static void test_labels_within_sweeps(void **state) {
  (void)state;
  AnalysisRun runs[16] = {0};
  char *names[] = {"grid", "coms"};
  AnalysisGrouping grouping;
  AnalysisSelection selection = two_sweeps(runs, names);
  assert_ok(analysis_group_runs(&selection, NULL, &grouping));
  assert_true(grouping.by_sweep);
  assert_int_equal(grouping.family_count, 2);
  assert_int_equal(grouping.count, 14);
  assert_string_equal(grouping.families[0].name, "grid");
  assert_string_equal(grouping.groups[1].within, "eps 0.1, lr 0.00070711");
  assert_string_equal(grouping.groups[1].label, "grid, eps 0.1, lr 0.00070711");
  assert_string_equal(grouping.families[1].name, "coms");
  assert_true(strcmp(grouping.groups[12].within, "com 8") == 0 ||
              strcmp(grouping.groups[12].within, "budget 1000") == 0); /* they move together */
  analysis_grouping_free(&grouping);
  for (size_t r = 0; r < selection.count; r++) runs[r].sweep = 1; /* all of one: nothing names it */
  selection.sweeps = 1;
  assert_ok(analysis_group_runs(&selection, NULL, &grouping));
  assert_false(grouping.by_sweep);
  assert_string_equal(grouping.families[0].name, "PPO");
  analysis_grouping_free(&grouping);
}

/* Lines per value of one setting, averaged over the other; ranges if there are more values than requested. */
static void test_groups_are_merged(void **state) {
  (void)state;
  AnalysisRun runs[16] = {0};
  char *names[] = {"grid", "coms"};
  AnalysisGrouping grouping;
  AnalysisSelection selection = two_sweeps(runs, names);
  const CoreConfigRow *eps = core_config_find("ppo.epsilon"), *rate = core_config_find("ppo.learning_rate");

  assert_ok(analysis_group_runs(&selection, NULL, &grouping));
  analysis_grouping_merge(&selection, &grouping, 0, &rate, 1, 8);
  assert_int_equal(grouping.count, 5);
  assert_int_equal(grouping.families[0].group_count, 3);
  assert_int_equal(grouping.groups[0].run_count, 4);
  assert_string_equal(grouping.groups[2].within, "lr 0.01");
  assert_string_equal(grouping.groups[2].label, "grid, lr 0.01");
  assert_int_equal(grouping.families[0].averaged_count, 1);
  assert_ptr_equal(grouping.families[0].averaged[0], eps);

  for (size_t r = 0; r < selection.count; r++)
    assert_int_equal(grouping.groups[grouping.group_of[r]].family, r < 12 ? 0 : 1);
  for (size_t r = 0; r < 12; r++) {
    const CoreConfig *common = grouping.groups[grouping.group_of[r]].config->shared;
    assert_true(common->ppo.learning_rate == runs[r].config.shared->ppo.learning_rate);
  }

  analysis_grouping_free(&grouping);
  assert_ok(analysis_group_runs(&selection, NULL, &grouping));
  analysis_grouping_merge(&selection, &grouping, 0, &eps, 1, 2);
  assert_int_equal(grouping.families[0].group_count, 2);
  assert_string_equal(grouping.groups[0].within, "eps 0.1 to 0.2");
  assert_int_equal(grouping.groups[1].run_count, 6);
  analysis_grouping_free(&grouping);
}

/* Two runs of two algorithms that differ in the same key need the algorithm in their labels. */
static void test_labels_are_unique(void **state) {
  (void)state;
  AnalysisRun runs[4];
  CoreConfig configs[4];
  memset(runs, 0, sizeof runs);
  for (int r = 0; r < 4; r++) {
    configs[r] = core_config_default();
    snprintf(configs[r].algo.name, sizeof configs[r].algo.name, "%s", r < 2 ? "ppo" : "ppo_ewma");
    configs[r].ppo.epochs = r % 2 ? 16 : 2;
    runs[r].config.shared = &configs[r];
  }
  AnalysisSelection selection = {.runs = runs, .count = 4};
  AnalysisGrouping grouping;
  assert_ok(analysis_group_runs(&selection, NULL, &grouping));
  assert_int_equal(grouping.count, 4);
  assert_string_equal(grouping.groups[0].label, "PPO, epochs 2");
  assert_string_equal(grouping.groups[3].label, "PPO-EWMA, epochs 16");
  analysis_grouping_free(&grouping);
  selection.count = 1;
  assert_ok(analysis_group_runs(&selection, NULL, &grouping));
  assert_int_equal(grouping.count, 1);
  assert_string_equal(grouping.groups[0].label, "PPO");
  analysis_grouping_free(&grouping);
}

static void test_refused_files(void **state) {
  Fixture *fixture = *state;
  char path[CORE_PATH_MAX];
  StoreDatabase *database = NULL;
  core_files_path(path, "%s/nothing.db", fixture->root);
  assert_int_equal(analysis_database_open(path, &database), CORE_USAGE);
  assert_message("no such file");
  assert_false(core_files_exists(path)); /* and none was made */
  core_files_path(path, "%s/foreign.db", fixture->root);
  assert_ok(core_files_write_atomic(path, "this is a letter, not a database, and long enough to be one", 59));
  assert_true(analysis_database_open(path, &database) != CORE_OK);
  assert_message("foreign.db");
  assert_null(database);
}

static void test_empty_database(void **state) {
  (void)state;
  char root[] = "/tmp/test-select-empty-XXXXXX", path[CORE_PATH_MAX];
  assert_non_null(mkdtemp(root));
  core_files_path(path, "%s/results.db", root);
  StoreDatabase *database = NULL;
  AnalysisSelection selection;
  assert_ok(store_database_open(path, false, &database));
  store_database_close(&database);
  assert_ok(analysis_database_open(path, &database)); /* no runs/ next to it: read-only */
  assert_int_equal(select_where(database, NULL, NULL, 0, &selection), CORE_FAIL);
  assert_message("no runs");
  store_database_close(&database);
  core_files_remove_tree(root);
}

/* ---- curves: the pure part of `analyze curves` ------------------------------------------------------------------- */

static void test_curve_average(void **state) {
  (void)state;
  AnalysisCurve curves[2] = {{0}, {0}};
  for (int i = 0; i <= 4; i++) analysis_curve_add(&curves[0], i, 10 * i);
  for (int i = 0; i <= 2; i += 2) analysis_curve_add(&curves[1], i, 20 * i); /* ends early, at half the resolution */
  analysis_curve_add(&curves[1], 2, 999);                                    /* not after the last: ignored */
  size_t n = 0, runs[5];
  double mean[5], low[5], high[5], *grid = analysis_curve_grid(curves, 2, 100, false, &n);
  assert_int_equal(n, 5);
  const AnalysisCurveOptions manner = {.aggregate = ANALYSIS_AGGREGATE_MEAN, .range = ANALYSIS_RANGE_FREE};
  analysis_curve_average(curves, 2, &manner, grid, n, mean, low, high, runs);
  assert_true(mean[1] == 15 && runs[1] == 2); /* (10 + interpolated 20) / 2 */
  assert_true(isnan(low[1]) && isnan(high[1])); /* two runs make no interval */
  assert_true(mean[3] == 30 && runs[3] == 1 && isnan(low[3])); /* no extrapolation: the shorter one has ended */
  free(grid);
  grid = analysis_curve_grid(curves, 2, 3, false, &n);
  assert_true(n == 3 && grid[0] == 0 && grid[1] == 2 && grid[2] == 4);
  free(grid);
  analysis_curve_free(&curves[0]);
  analysis_curve_free(&curves[1]);
}

static void test_curve_geometric(void **state) {
  (void)state;
  AnalysisCurve curves[4] = {{0}};
  analysis_curve_add(&curves[0], 0, 1);
  analysis_curve_add(&curves[1], 0, 100);
  analysis_curve_add(&curves[2], 0, 10);
  analysis_curve_add(&curves[3], 0, 0); /* has no logarithm */
  const double grid[] = {0};
  double mean, low, high;
  size_t runs;
  const AnalysisCurveOptions manner = {.aggregate = ANALYSIS_AGGREGATE_MEAN, .range = ANALYSIS_RANGE_LOG};
  analysis_curve_average(curves, 4, &manner, grid, 1, &mean, &low, &high, &runs);
  assert_true(runs == 3 && fabs(mean - 10) < 1e-9 && low > 0 && fabs(low * high - 100) < 1e-6);
  for (int i = 0; i < 4; i++) analysis_curve_free(&curves[i]);
}

/* If no duplicate has ended, the one with more iterations stays, regardless of their ids. */
static void test_copies_unfinished(void **state) {
  const Fixture *fixture = *state;
  const Workspace workspace = {fixture->root, ITERATIONS, 4, SEEDS};
  CoreConfig config[2];
  char id[2][CORE_RUN_ID];
  for (int i = 0; i < 2; i++) {
    config[i] = workspace_config(&workspace, WORKSPACE_EWMA, 9);
    config[i].ppo.com = i == 0 ? 8 : 128; /* not read by PPO */
    core_config_id(&config[i], id[i]);
  }
  const int further = strcmp(id[0], id[1]) > 0 ? 0 : 1;
  for (int i = 0; i < 2; i++) {
    const int64_t iterations = i == further ? ITERATIONS / 2 : ITERATIONS / 4;
    assert_ok(workspace_write_run(&workspace, &config[i], iterations, i == further ? STORE_STOPPED : STORE_RUNNING));
  }
  StoreDatabase *database = open_database(state);
  AnalysisSelection selection;
  const char *where[] = {"algo.name=ppo", "eps=0.025", "seed=9"};
  assert_ok(select_where(database, NULL, where, 3, &selection));
  assert_int_equal(selection.count, 1);
  assert_string_equal(selection.runs[0].id, id[further]);
  analysis_selection_free(&selection);
  store_database_close(&database);
}

/* Rows of a run of 100 000 iterations cover 16 each: those up to a budget of 1000 end at 992. */
static void test_budget_is_reached(void **state) {
  (void)state;
  const CoreConfig config = core_config_default();
  AnalysisRun run = {.config.shared = &config, .transitions_per_iteration = 64, .iterations = 100000,
                     .iteration = 5000};
  assert_true(analysis_run_reaches(&run, 64.0 * 1000, 64.0 * 1000));
  assert_true(analysis_run_reaches(&run, 64.0 * 992, 64.0 * 1000));
  assert_false(analysis_run_reaches(&run, 64.0 * 900, 64.0 * 1000)); /* its rows are lost */
  run.iteration = 999;
  assert_false(analysis_run_reaches(&run, 64.0 * 992, 64.0 * 1000)); /* it has not come so far */
  assert_false(analysis_run_reaches(&run, NAN, 64.0 * 1000));
  assert_true(analysis_run_limit(&run, 64.0 * 1000 - 1) == 64.0 * 1000); /* whole iterations */
}

/* A program's records come at any step. */
static void test_budget_of_a_program(void **state) {
  CoreConfig config = {.train.total_steps = 40000};
  AnalysisRun run = {.config.shared = &config, .status = STORE_FINISHED};
  config.program = (const CoreScript *)&run; /* only that there is one matters here */
  (void)state;

  /* Its last batch passes the end of its budget, or does not fill it. */
  run.transitions_per_iteration = 1024;
  run.transitions = 40960;
  assert_true(isinf(analysis_run_limit(&run, 40000)));
  assert_true(analysis_run_limit(&run, 13333) == 13333);
  assert_true(analysis_run_reaches(&run, 40960, 40000));
  assert_true(analysis_run_reaches(&run, 13312, 13333));
  run.transitions = 39936;
  assert_true(analysis_run_reaches(&run, 39936, 40000));
  assert_false(analysis_run_reaches(&run, 39936, 80000));
  assert_false(analysis_run_reaches(&run, NAN, 40000));

  /* Before it ends, a record at or after the budget tells, or the next one, which is due only after it. */
  run.status = STORE_RUNNING;
  run.transitions = 10240;
  assert_true(analysis_run_reaches(&run, 9216, 10000));
  assert_true(analysis_run_reaches(&run, 10240, 11000));
  assert_false(analysis_run_reaches(&run, 10240, 11264));
  run.status = STORE_DIVERGED;
  assert_true(analysis_run_reaches(&run, 9216, 10000));
  assert_false(analysis_run_reaches(&run, 10240, 11000));

  /* Without a known end, its budget is what it has done. */
  run.status = STORE_FINISHED;
  config.train.total_steps = 0;
  assert_true(analysis_run_total(&run) == 10240);
  assert_true(isinf(analysis_run_limit(&run, 10240)));
  assert_true(analysis_run_reaches(&run, 10240, 10240));
  assert_true(analysis_run_reaches(&run, 10240, 11000));
  assert_false(analysis_run_reaches(&run, 10240, 20480));
}

/* A program's setting stands for the trainer's of the same meaning where a key is asked for, but is no setting of its
 * own in lists of all of them. */
static void test_equivalent_settings(void **state) {
  const CoreConfig defaults = core_config_default();
  const AnalysisConfig config = {&defaults, 0};
  CoreText text = {0};
  (void)state;
  const CoreConfigRow *lr = core_config_add_program_row("lr", CORE_CONFIG_REAL, NULL, "0.1", false);
  const CoreConfigRow *count = core_config_add_program_row("minibatch_size", CORE_CONFIG_INT, NULL, "1", false);
  assert_string_equal(analysis_key_value(&config, lr, &text), "0.0003");
  assert_true(analysis_key_number(&config, lr) == 0.0003);
  assert_string_equal(analysis_key_own_value(&config, lr, &text), "");
  assert_string_equal(analysis_key_value(&config, count, &text), ""); /* related, but in another unit */
  core_text_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_all_runs_in_order), cmocka_unit_test(test_where),
    cmocka_unit_test(test_where_extremes), cmocka_unit_test(test_where_refusals),    cmocka_unit_test(test_groups),
    cmocka_unit_test(test_asked_groups),      cmocka_unit_test(test_labels_within_sweeps),
    cmocka_unit_test(test_shared_settings),
    cmocka_unit_test(test_budget_is_reached), cmocka_unit_test(test_budget_of_a_program),
    cmocka_unit_test(test_groups_are_merged), cmocka_unit_test(test_labels_are_unique),
    cmocka_unit_test(test_refused_files),     cmocka_unit_test(test_empty_database),
    cmocka_unit_test(test_curve_average),     cmocka_unit_test(test_curve_geometric),
    cmocka_unit_test(test_several_sweeps),    cmocka_unit_test(test_equivalent_settings),
    cmocka_unit_test(test_copies), /* last: they add runs */
    cmocka_unit_test(test_copies_unfinished),
  };
  return cmocka_run_group_tests(tests, make_workspace, remove_workspace);
}
