/* Claims that query results.db directly: scores at equal training time, and on levels that were not trained on. */
#include "test.h"

#include "store_workspace.h"

#include "analysis/claims/claims.h"

enum { ITERATIONS = 4, SEEDS = 16 };

/* A finished run of `fig15_sfl_minibatches` whose iterations take `seconds` each, with these scores on its training
 * levels and a tenth of them on random_m. */
static void add_run(StoreDatabase *database, int64_t minibatches, int64_t seed, double seconds, const double *score,
                    int64_t index) {
  CoreConfig config = core_config_default();
  char id[CORE_RUN_ID];
  StoreRunlog *stats = NULL, *eval = NULL;

  config.ppo.num_minibatches = minibatches;
  config.train.seed = seed;
  config.metrics.noise_every = 1;
  snprintf(config.eval.levels, sizeof config.eval.levels, "random_m");

  assert_ok(store_run_prepare(root, &config, id));
  assert_ok(store_runlog_open(root, id, 1, STORE_LOG_STATS, &stats));
  assert_ok(store_runlog_open(root, id, 1, STORE_LOG_EVAL, &eval));

  for (int i = 1; i <= ITERATIONS; i++) {
    StoreIteration row = store_iteration_unmeasured(i);
    row.transitions = 100 * i;
    row.wall_seconds = seconds * i;
    row.dormant_actor = 0.5;
    row.inactive_actor = 0.25;
    row.grad_variance_actor = 10 * i;
    row.grad_square_actor = i - 3; /* the last quarter: 0 and 1 */
    store_runlog_iteration(stats, &row);

    StoreEvaluation point = {.iteration = i, .level_set = "train", .transitions = 100 * i, .episodes = 10,
                             .solve_rate = score[i - 1] + 0.001 * (double)seed, .solve_rate_se = NAN, .goals = i};
    store_runlog_evaluation(eval, &point);
    snprintf(point.level_set, sizeof point.level_set, "random_m");
    point.solve_rate = score[i - 1] / 10;
    store_runlog_evaluation(eval, &point);
  }

  assert_ok(store_runlog_close(&stats));
  assert_ok(store_runlog_close(&eval));

  const StoreState state = {.status = STORE_FINISHED, .attempt = 1, .host = "test", .pid = 1, .iteration = ITERATIONS,
                            .iterations = ITERATIONS, .device = "cpu", .commit = "abc1234", .solve_rate = NAN};
  assert_ok(store_run_state_write(root, id, &state));
  assert_ok(store_database_put_run(database, "fig15_sfl_minibatches", index, &config, id));
}

static const double small[ITERATIONS] = {0.2, 0.4, 0.6, 0.8}, large[ITERATIONS] = {0.3, 0.6, 0.9, 0.95};

/* 16 minibatches, twice as fast as 128, which end higher. */
static void make_database(void) {
  StoreDatabase *database = NULL;
  assert_ok(store_database_open(database_path, false, &database));
  assert_ok(store_database_begin(database));
  assert_ok(store_database_put_sweep(database, "fig15_sfl_minibatches", "[sweep]\nname = fig15_sfl_minibatches\n"));
  for (int seed = 0; seed < SEEDS; seed++) {
    add_run(database, 16, seed, 10, small, 2 * seed);
    add_run(database, 128, seed, 20, large, 2 * seed + 1);
  }
  assert_ok(store_database_commit(database));
  store_database_close(&database);
}

/* After 40 s the few minibatches have reached 0.8 and the many 0.6, although these end at 0.95. */
static void test_score_at_time(void **state) {
  (void)state;
  StoreDatabase *database = NULL;
  AnalysisSelection selection;
  AnalysisClaimResult *list;
  size_t count;
  const char *const ids[] = {"sfl_minibatches_clock", "sfl_minibatches_same"};
  const AnalysisClaimsOptions asked = {.ids = ids, .id_count = 2};
  make_database();
  assert_ok(analysis_database_open(database_path, &database));
  assert_ok(analysis_select_runs(database, NULL, NULL, 0, &selection));
  assert_ok(analysis_claims_evaluate(database, &selection, &asked, &list, &count));
  assert_int_equal(count, 2);
  for (size_t i = 0; i < count; i++) {
    const bool clock = list[i].claim->measure == ANALYSIS_MEASURE_score_at_time;
    if (list[i].verdict != (clock ? ANALYSIS_SUPPORTED : ANALYSIS_CONTRADICTED))
      fail_msg("%s is %s: %g, %s", list[i].claim->id, analysis_verdict_name(list[i].verdict), list[i].interval.center,
               list[i].reason);
    assert_int_equal(list[i].runs, 2 * SEEDS);
    assert_int_equal(list[i].missing, 0);
    assert_true(!clock || list[i].interval.center == 0); /* no run of 128 is above one of 16 */
  }
  analysis_claims_free(&list, count);
  analysis_selection_free(&selection);
  store_database_close(&database);
}

static void test_best_other(void **state) {
  (void)state;
  StoreDatabase *database = NULL;
  AnalysisSelection selection;
  AnalysisRunMetrics *measured;
  AnalysisMeasure measure;

  make_database();
  assert_ok(analysis_database_open(database_path, &database));
  assert_ok(analysis_select_runs(database, NULL, NULL, 0, &selection));
  assert_ok(analysis_measures_read(database, &selection, NULL, 0, &measured));

  for (size_t r = 0; r < selection.count; r++) {
    const double *score = selection.runs[r].config.shared->ppo.num_minibatches == 16 ? small : large;
    assert_true(fabs(measured[r].value[ANALYSIS_MEASURE_best_other] - score[ITERATIONS - 1] / 10) < 1e-9);
    assert_true(measured[r].value[ANALYSIS_MEASURE_best] > 0.7);
    assert_true(measured[r].value[ANALYSIS_MEASURE_dormant] == 0.5);
    assert_true(measured[r].value[ANALYSIS_MEASURE_inactive] == 0.25);
    assert_true(measured[r].value[ANALYSIS_MEASURE_noise_scale] == 30 + 40);
    assert_true(measured[r].value[ANALYSIS_MEASURE_goals] == ITERATIONS); /* the last evaluation has them */
    assert_true(isnan(measured[r].value[ANALYSIS_MEASURE_score_at_time]));
  }

  free(measured);
  assert_int_equal(analysis_measure_find("best_other", &measure), CORE_OK);
  assert_int_equal(analysis_measure_find("score_at_time", &measure), CORE_USAGE);
  assert_message("only claims have it");
  analysis_selection_free(&selection);
  store_database_close(&database);
}

int main(void) {
  const struct CMUnitTest tests[] = {WORKSPACE_TEST(test_score_at_time), WORKSPACE_TEST(test_best_other)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
