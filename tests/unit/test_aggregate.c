/* Rows that cover several iterations (store/runlog/aggregate.h), against sums by hand. */
#include "test.h"

#include "store/database/bulk_internal.h"
#include "store/runlog/aggregate.h"
#include "store_workspace.h"

static void test_every(void **state) {
  (void)state;
  assert_int_equal(store_aggregate_every(10000, 10000), 1); /* as long as that every row stays */
  assert_int_equal(store_aggregate_every(10001, 10000), 2);
  assert_int_equal(store_aggregate_every(20000, 10000), 2);
  assert_int_equal(store_aggregate_every(97656, 10000), 16);
  assert_int_equal(store_aggregate_every(INT64_MAX, 10000), STORE_AGGREGATE_MAX);
  assert_int_equal(store_aggregate_every(1000000, 0), 1);
  assert_int_equal(store_aggregate_every(5, 1), 8);
}

static StoreIteration make(int64_t i) {
  StoreIteration row = store_iteration_unmeasured(i);
  row.transitions = 64.0 * (double)i;
  row.kl = 0.01 * (double)i;
  row.ddr = 64 / row.kl;
  row.episodes = i == 2 ? 0 : (double)i;
  row.episode_return = i == 2 ? NAN : 10.0 * (double)i;
  row.grad_norm_actor_max = i == 2 ? 9 : 1;
  row.seconds_update = 0.5;
  row.steps_per_second = i == 1 ? 100 : 300;
  row.wall_seconds = (double)i;
  if (i == 1) row.feature_rank_actor = 7;
  row.grad_variance_actor = i == 2 ? NAN : 30;
  row.grad_square_actor = i == 1 ? 5 : i == 2 ? NAN : -1;
  store_iteration_set_noise_scale(&row);
  return row;
}

static void assert_rounded(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-12 * fabs(expected))) fail_msg("%.17g is not %.17g", value, expected);
}

static void test_rules(void **state) {
  (void)state;
  StoreAggregate aggregate = {.every = 3};
  StoreIteration row;

  for (int64_t i = 1; i <= 3; i++) {
    const StoreIteration next = make(i);
    assert_int_equal(store_aggregate_add(&aggregate, &next, false, &row), i == 3);
  }

  assert_int_equal(row.iteration, 3);
  assert_true(row.merged_iterations == 3);
  assert_rounded(row.transitions, 192);
  assert_rounded(row.kl, 0.02);
  assert_rounded(row.ddr, 192 / 0.06);                           /* transitions over the sum of KL */
  assert_rounded(row.episodes, 4);
  assert_rounded(row.episode_return, (1 * 10 + 3 * 30) / 4.0);   /* mean over episodes */
  assert_rounded(row.grad_norm_actor_max, 9);
  assert_rounded(row.seconds_update, 1.5);
  assert_rounded(row.steps_per_second, 3 / (1 / 100.0 + 2 / 300.0));
  assert_rounded(row.wall_seconds, 3);
  assert_rounded(row.feature_rank_actor, 7);                     /* measured once */
  assert_rounded(row.noise_scale_actor, 60 / 4.0);               /* sum over sum: one of the ratios has no value */
  assert_true(isnan(row.entropy) && isnan(row.noise_scale_critic));

  const StoreIteration last = make(4);
  assert_true(store_aggregate_add(&aggregate, &last, true, &row)); /* the run's last: nothing of before is in it */
  assert_int_equal(row.iteration, 4);
  assert_true(row.merged_iterations == 1 && row.kl == last.kl && row.seconds_update == 0.5);
}

/* A row of one iteration is that iteration, bit for bit: also its NULL in merged_iterations. */
static void test_short_runs_stay(void **state) {
  (void)state;
  StoreAggregate aggregate = {.every = 1};
  for (int64_t i = 1; i <= 5; i++) {
    StoreIteration row, next = make(i);
    assert_true(store_aggregate_add(&aggregate, &next, false, &row));
    assert_memory_equal(&row, &next, sizeof row);
    assert_true(isnan(row.merged_iterations));
  }
}

/* Infinite and missing values spoil no other column. */
static void test_infinite(void **state) {
  (void)state;
  StoreAggregate aggregate = {.every = 2};
  StoreIteration row, one = make(1), two = make(2);
  two.kl = INFINITY;
  two.ddr = 0;
  two.grad_norm_actor_max = -INFINITY;
  store_aggregate_add(&aggregate, &one, false, &row);
  assert_true(store_aggregate_add(&aggregate, &two, false, &row));
  assert_true(isinf(row.kl) && row.ddr == 0 && row.grad_norm_actor_max == 1 && row.transitions == 128);
}

/* Bins whose sums differ from those of their rows by more than rounding. */
static const char differing_bins[] =
  "SELECT count(*) FROM iteration_bin AS bin LEFT JOIN"
  " (SELECT run_id, iteration >> 6 AS at, sum(coalesce(merged_iterations, 1)) AS n, max(transitions) AS transitions,"
  "    sum(coalesce(merged_iterations, 1) * kl) AS kl_sum,"
  "    sum(coalesce(merged_iterations, 1) * transitions / iteration) AS kl_transitions"
  "  FROM iteration GROUP BY 1, 2) AS rows ON rows.run_id = bin.run_id AND rows.at = bin.bin"
  " WHERE bin.n IS NOT rows.n OR bin.transitions IS NOT rows.transitions"
  "    OR coalesce(abs(bin.kl_sum - rows.kl_sum) > 1e-12 * rows.kl_sum, 1)"
  "    OR coalesce(abs(bin.kl_transitions - rows.kl_transitions) > 1e-12 * rows.kl_transitions, 1)";

static void rebuild_bins(void) {
  StoreDatabase *database = open_database();
  assert_ok(store_database_begin(database));
  assert_ok(store_bins_rebuild(database));
  assert_ok(store_database_commit(database));
  store_database_close(&database);
}

/* Imported rows sum to run_ddr and the bins, for any number of iterations per row. */
static void test_sums_in_the_database(void **state) {
  enum { ROWS = 700 };
  (void)state;
  char ids[2][CORE_RUN_ID];

  for (int run = 0; run < 2; run++) {
    StoreAggregate aggregate = {.every = run ? 7 : 1};
    StoreRunlog *log;
    make_run(run, ids[run]);
    assert_ok(store_runlog_open(root, ids[run], 1, STORE_LOG_STATS, &log));
    for (int64_t i = 1; i <= ROWS; i++) {
      StoreIteration row, next = make(i);
      next.kl = 0.01 + 0.001 * (double)(i * i % 17);
      next.ddr = 64 / next.kl;
      if (store_aggregate_add(&aggregate, &next, i == ROWS, &row)) store_runlog_iteration(log, &row);
    }
    assert_ok(store_runlog_close(&log));
  }

  import_all();
  assert_int_equal(query_int("SELECT count(*) FROM iteration"), ROWS + ROWS / 7);
  assert_query("SELECT sum(n) FROM iteration_bin GROUP BY run_id", "700\n700\n");
  assert_int_equal(query_int(differing_bins), 0);

  rebuild_bins();
  assert_query("SELECT sum(n) FROM iteration_bin GROUP BY run_id", "700\n700\n");
  assert_int_equal(query_int(differing_bins), 0);

  assert_int_equal(query_int("SELECT max(ddr) - min(ddr) < 1e-6 * min(ddr) FROM run_ddr"), 1);
  assert_int_equal(query_int("SELECT count(*) FROM iteration WHERE merged_iterations = 7 AND iteration % 7 = 0"), 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every),         cmocka_unit_test(test_rules), cmocka_unit_test(test_short_runs_stay),
    cmocka_unit_test(test_infinite),      WORKSPACE_TEST(test_sums_in_the_database),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
