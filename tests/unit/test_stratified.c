/* analysis/scores and analysis/stratified: hand-made cases, draws that are uniform and repeat, intervals that do not
 * depend on threads, runs that end early. tests/golden/golden_stats.c compares with rliable. */
#include "test.h"

#include <omp.h>

#include "analysis/statistics/stratified.h"
#include "core/random.h"

static void assert_agrees(double value, double expected) {
  if (isnan(expected) ? !isnan(value) : !(fabs(value - expected) <= 1e-12))
    fail_msg("%.17g, expected %.17g", value, expected);
}

static void assert_same(AnalysisInterval a, AnalysisInterval b) {
  assert_memory_equal(&a.center, &b.center, sizeof(double));
  assert_memory_equal(&a.low, &b.low, sizeof(double));
  assert_memory_equal(&a.high, &b.high, sizeof(double));
}

/* The aggregates of scores.h by hand; the last task has more runs than the first. */
static void test_aggregates(void **state) {
  const double eight[] = {8, 1, 7, 2, 6, 3, 5, 4}, ragged[] = {0.2, 0.4, 1.5, 0.5, 1.0};
  const size_t one[] = {0, 8}, two[] = {0, 2, 5};
  assert_agrees(analysis_aggregate(&(AnalysisScores){eight, one, 1}, ANALYSIS_AGGREGATE_IQM), 4.5);
  AnalysisScores scores = {ragged, two, 2}; /* task means 0.3 and 1 */
  assert_agrees(analysis_aggregate(&scores, ANALYSIS_AGGREGATE_MEAN), 0.65);
  assert_agrees(analysis_aggregate(&scores, ANALYSIS_AGGREGATE_MEDIAN), 0.65);
  assert_agrees(analysis_aggregate(&scores, ANALYSIS_AGGREGATE_IQM), (0.4 + 0.5 + 1.0) / 3);
  assert_agrees(analysis_aggregate(&scores, ANALYSIS_AGGREGATE_OPTIMALITY_GAP), 1 - (0.2 + 0.4 + 1 + 0.5 + 1) / 5);
  assert_agrees(analysis_profile_runs(&scores, 0.5), 2.0 / 5); /* strictly above */
  assert_agrees(analysis_probability_of_improvement(&scores, &scores), 0.5);
  const double better[] = {0.4, 0.4, 2}, worse[] = {0.1, 0.4, 1};
  const size_t split[] = {0, 2, 3};
  AnalysisScores x = {better, split, 2}, y = {worse, split, 2};
  assert_agrees(analysis_probability_of_improvement(&x, &y), (0.75 + 1) / 2);
  assert_agrees(analysis_probability_of_improvement(&y, &x), 0.125);
}

static AnalysisInterval interval_of(const AnalysisScores *scores, AnalysisAggregate aggregate, size_t replicates,
                                    double level, uint64_t seed) {
  AnalysisInterval interval;
  analysis_stratified_aggregates(NULL, scores, &aggregate, 1, replicates, level, seed, &interval);
  return interval;
}

static void test_bad_input(void **state) {
  const double with_nan[] = {0.2, NAN, 0.4};
  const size_t one[] = {0, 3}, empty[] = {0, 0, 3};
  AnalysisScores scores = {with_nan, one, 1}, hole = {with_nan, empty, 2}, none = {with_nan, one, 0};
  for (int k = 0; k < ANALYSIS_AGGREGATES; k++) {
    AnalysisInterval interval = interval_of(&scores, (AnalysisAggregate)k, 100, 0.95, 1);
    assert_true(isnan(interval.center) && isnan(interval.low) && isnan(interval.high));
    assert_true(isnan(analysis_aggregate(&hole, (AnalysisAggregate)k)));
    assert_true(isnan(analysis_aggregate(&none, (AnalysisAggregate)k)));
  }
  assert_true(isnan(analysis_probability_of_improvement(&scores, &scores)));
  const double infinite[] = {0.2, INFINITY, 0.4, 0.3};
  const size_t four[] = {0, 4};
  AnalysisScores wild = {infinite, four, 1}; /* the extremes are dropped regardless of their values */
  assert_agrees(analysis_aggregate(&wild, ANALYSIS_AGGREGATE_IQM), 0.35);
  assert_true(isinf(analysis_aggregate(&wild, ANALYSIS_AGGREGATE_MEAN)));
}

/* Each run of each task is drawn equally often, as many runs as there are, and tasks independently of each other:
 * chi-squared of the counts and of pairs over two tasks, at five standard deviations. */
static void test_draws(void **state) {
  enum { REPLICATES = 40000, RUNS = 5, MOST = 300 };
  const size_t first[] = {0, RUNS, 2 * RUNS, 2 * RUNS + 1, 2 * RUNS + 1 + MOST};
  uint32_t count[2 * RUNS + 1 + MOST];
  double total[2 * RUNS + 1 + MOST] = {0}, together = 0;

  for (uint32_t r = 0; r < REPLICATES; r++) {
    analysis_stratified_draw(first, 4, 7, r, 0, count);
    for (size_t t = 0; t < 4; t++) {
      size_t drawn = 0;
      for (size_t i = first[t]; i < first[t + 1]; i++) {
        drawn += count[i];
        total[i] += count[i];
      }
      assert_int_equal(drawn, first[t + 1] - first[t]);
    }
    together += (count[0] - 1.0) * (count[RUNS] - 1.0);
  }

  for (size_t t = 0; t < 4; t++) {
    double n = (double)(first[t + 1] - first[t]), squares = 0;
    for (size_t i = first[t]; i < first[t + 1]; i++) squares += (total[i] - REPLICATES) * (total[i] - REPLICATES);
    double chi = squares / REPLICATES, sd = sqrt(2 * (n - 1));
    assert_true(fabs(chi - (n - 1)) <= 5 * sd + 1e-9);
  }

  double variance = 1 - 1.0 / RUNS; /* variance of a count */
  assert_true(fabs(together / REPLICATES) < 5 * variance / sqrt(REPLICATES));

  uint32_t other[2 * RUNS + 1 + MOST];
  analysis_stratified_draw(first, 4, 7, 3, 0, count);
  analysis_stratified_draw(first, 4, 7, 3, 1, other);
  assert_memory_not_equal(count, other, sizeof count); /* the two sides of a comparison */
}

/* Two runs: the mean is the lower one, between or the upper one with probability 1/4, 1/2, 1/4. */
static void test_known_distribution(void **state) {
  const double x[] = {0, 1};
  const size_t first[] = {0, 2};
  AnalysisScores scores = {x, first, 1};
  AnalysisInterval half = interval_of(&scores, ANALYSIS_AGGREGATE_MEAN, 20000, 0.46, 1);
  assert_agrees(half.center, 0.5);
  assert_agrees(half.low, 0.5);   /* 0.27 > 1/4 */
  assert_agrees(half.high, 0.5);
  AnalysisInterval wide = interval_of(&scores, ANALYSIS_AGGREGATE_MEAN, 20000, 0.54, 1);
  assert_agrees(wide.low, 0);     /* 0.23 < 1/4 */
  assert_agrees(wide.high, 1);
}

enum { TASKS = 10, SEEDS = 5, N = TASKS * SEEDS };
typedef struct Set { double x[N], y[N]; size_t first[TASKS + 1]; } Set;

static void fill(Set *set) {
  for (uint32_t i = 0; i < N; i++) {
    set->x[i] = core_random_unit(core_random_4(3, CORE_RANDOM_TEST, i, 0, 0).v[0]);
    set->y[i] = core_random_unit(core_random_4(3, CORE_RANDOM_TEST, i, 1, 0).v[0]) + 0.1;
  }
  for (size_t t = 0; t <= TASKS; t++) set->first[t] = t * SEEDS;
}

/* The interval equals analysis_percentile over the replicates of analysis_stratified_draw. */
static void test_percentiles(void **state) {
  enum { REPLICATES = 999 };
  Set set;
  fill(&set);
  AnalysisScores scores = {set.x, set.first, TASKS};
  AnalysisRanked ranked = analysis_ranked_create(&scores);
  for (int k = 0; k < ANALYSIS_AGGREGATES; k++) {
    double value[REPLICATES], mean[TASKS];
    uint32_t count[N];
    for (uint32_t r = 0; r < REPLICATES; r++) {
      analysis_stratified_draw(set.first, TASKS, 11, r, 0, count);
      value[r] = analysis_ranked_aggregate(&ranked, (AnalysisAggregate)k, count, mean);
    }
    AnalysisInterval interval = interval_of(&scores, (AnalysisAggregate)k, REPLICATES, 0.9, 11);
    assert_agrees(interval.low, analysis_percentile(value, REPLICATES, 0.05));
    assert_agrees(interval.high, analysis_percentile(value, REPLICATES, 0.95));
    assert_true(interval.low < interval.center && interval.center < interval.high);
  }
  analysis_ranked_free(&ranked);
}

/* Few runs: intervals come from a table of the distinct draws, shared by what has the same shape, with the bits of the
 * replicates one by one. */
static void test_few_ways(void **state) {
  enum { REPLICATES = 3000 };
  static const double score[8] = {0.3, 0.1, 0.7, 0.7, 0.45, 0.9, 0.2, 1.6};
  static const size_t shapes[3][4] = {{0, 5}, {0, 3, 5, 8}, {0, 5}};
  static const size_t tasks[3] = {1, 3, 1};
  const double tau = 0.5;
  AnalysisDraws draws = {0};
  (void)state;

  for (int k = 0; k < 3; k++) {
    AnalysisScores scores = {score + k, shapes[k], tasks[k]};
    if (k == 1) scores.score = score;
    AnalysisRanked ranked = analysis_ranked_create(&scores);
    double value[REPLICATES], above[REPLICATES], mean[3];
    uint32_t count[8], all = 0;

    for (int a = 0; a < ANALYSIS_AGGREGATES; a++) {
      AnalysisAggregate aggregate = (AnalysisAggregate)a;
      AnalysisInterval interval;
      for (uint32_t r = 0; r < REPLICATES; r++) {
        analysis_stratified_draw(scores.first, scores.tasks, 4, r, 0, count);
        value[r] = analysis_ranked_aggregate(&ranked, aggregate, count, mean);
        above[r] = 0;
        for (size_t i = 0; i < ranked.n; i++) above[r] += scores.score[i] > tau ? count[i] / (double)ranked.n : 0;
      }

      analysis_stratified_aggregates(&draws, &scores, &aggregate, 1, REPLICATES, 0.95, 4, &interval);
      assert_true(draws.distinct > 0 && draws.distinct * 4 <= REPLICATES);
      assert_true(interval.low == analysis_percentile(value, REPLICATES, (1 - 0.95) / 2));
      assert_true(interval.high == analysis_percentile(value, REPLICATES, (1 + 0.95) / 2));

      analysis_stratified_profile(&draws, &scores, &tau, 1, REPLICATES, 0.95, 4, &interval);
      assert_agrees(interval.low, analysis_percentile(above, REPLICATES, 0.025));
    }

    for (size_t d = 0; d < draws.distinct; d++) all += draws.weight[d];
    assert_int_equal(all, REPLICATES);
    analysis_ranked_free(&ranked);
  }
  analysis_draws_free(&draws);
}

/* Every threshold has the interval of its own shares, with and without a table of draws. */
static void test_profile(void **state) {
  enum { RUNS = 20, TAUS = 6, DRAWN = 400 };
  const double tau[TAUS] = {-1, 0.1, 0.25, 0.25, 0.7, 2};
  double score[RUNS];
  (void)state;
  for (size_t j = 0; j < RUNS; j++) score[j] = (double)(j * 7 % RUNS) / RUNS;
  for (size_t runs = 3; runs <= RUNS; runs += RUNS - 3) { /* 3 runs have 10 draws, which a table holds */
    const size_t first[] = {0, runs / 3, runs};
    const AnalysisScores scores = {score, first, 2};
    AnalysisInterval profile[TAUS];
    analysis_stratified_profile(NULL, &scores, tau, TAUS, DRAWN, 0.9, 6, profile);
    for (size_t i = 0; i < TAUS; i++) {
      double share[DRAWN];
      for (uint32_t r = 0; r < DRAWN; r++) {
        uint32_t count[RUNS], above = 0;
        analysis_stratified_draw(first, 2, 6, r, 0, count);
        for (size_t j = 0; j < runs; j++) above += score[j] > tau[i] ? count[j] : 0;
        share[r] = (double)above / (double)runs;
      }
      assert_true(profile[i].low == analysis_percentile(share, DRAWN, (1 - 0.9) / 2));
      assert_true(profile[i].high == analysis_percentile(share, DRAWN, (1 + 0.9) / 2));
      assert_true(profile[i].center == analysis_profile_runs(&scores, tau[i]));
    }
  }
}

static void intervals(const Set *set, AnalysisInterval all[6]) {
  const AnalysisAggregate wanted[] = {ANALYSIS_AGGREGATE_MEAN, ANALYSIS_AGGREGATE_MEDIAN, ANALYSIS_AGGREGATE_IQM,
                                      ANALYSIS_AGGREGATE_OPTIMALITY_GAP};
  const double tau[] = {0.5};
  AnalysisScores x = {set->x, set->first, TASKS};
  analysis_stratified_aggregates(NULL, &x, wanted, 4, 500, 0.95, 5, all);
  analysis_stratified_profile(NULL, &x, tau, 1, 500, 0.95, 5, &all[4]);
  analysis_stratified_curve(set->x, 1, set->first, TASKS, ANALYSIS_AGGREGATE_IQM, 500, 0.95, 5, &all[5]);
}

static void test_threads(void **state) {
  Set set;
  AnalysisInterval one[6], several[6];
  fill(&set);
  int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  intervals(&set, one);
  for (int n = 2; n <= 5; n += 3) {
    omp_set_num_threads(n);
    intervals(&set, several);
    for (int i = 0; i < 6; i++) assert_same(one[i], several[i]);
  }
  omp_set_num_threads(threads);
  assert_same(one[2], one[5]); /* a curve of one point that all reach is the aggregate itself */
}

/* An interval without width where there is nothing to vary. */
static void test_single(void **state) {
  const double low[] = {0.1};
  const size_t single[] = {0, 1};
  AnalysisScores lone = {low, single, 1};
  AnalysisInterval alone = interval_of(&lone, ANALYSIS_AGGREGATE_IQM, 200, 0.95, 1);
  assert_agrees(alone.low, 0.1);
  assert_agrees(alone.high, 0.1);
}

/* Three points; one run ends after the first, all of task 1 after the second. */
static void test_curve_ends(void **state) {
  const size_t first[] = {0, 3, 5};
  const double score[3][5] = {{0.1, 0.2, 0.3, 1, 2}, {0.2, NAN, 0.4, 1, 2}, {0.3, NAN, 0.5, NAN, NAN}};
  AnalysisInterval at[3];
  analysis_stratified_curve(&score[0][0], 3, first, 2, ANALYSIS_AGGREGATE_MEAN, 400, 0.95, 1, at);
  assert_agrees(at[0].center, (0.2 + 1.5) / 2);
  assert_agrees(at[1].center, (0.3 + 1.5) / 2);
  assert_agrees(at[2].center, 0.4);
  assert_int_equal(at[0].n, 5);
  assert_int_equal(at[1].n, 4);
  assert_int_equal(at[2].n, 2);
  assert_true(at[2].low >= 0.3 && at[2].high <= 0.5 && at[2].low < at[2].high);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_aggregates),         cmocka_unit_test(test_bad_input),
    cmocka_unit_test(test_draws),
    cmocka_unit_test(test_known_distribution), cmocka_unit_test(test_percentiles),
    cmocka_unit_test(test_few_ways),           cmocka_unit_test(test_profile), cmocka_unit_test(test_threads),
    cmocka_unit_test(test_single),         cmocka_unit_test(test_curve_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
