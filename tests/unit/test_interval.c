/* Intervals of averages of runs: closed forms, bounds, few runs, and how often they hold the truth. */
#include "test.h"

#include "analysis/statistics/interval.h"

#include "core/random.h"
#include "oracle/student.h"

static void assert_close(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-9 * (1 + fabs(expected)))) fail_msg("%.15g, expected %.15g", value, expected);
}

static const double rates[] = {0.62, 0.71, 0.58, 0.8, 0.66};

/* Without bounds and on one task it is Student's and Welch's. */
static void test_unbounded(void **state) {
  (void)state;
  for (size_t n = 3; n <= 5; n++) {
    const AnalysisInterval student = oracle_student(rates, n, 0.95);
    const AnalysisInterval ours = analysis_mean_interval(rates, n, ANALYSIS_RANGE_FREE, 0.95);
    assert_close(ours.center, student.center);
    assert_close(ours.low, student.low);
    assert_close(ours.high, student.high);
  }
  const double other[] = {0.3, 0.5, 0.35, 0.31};
  const size_t first_x[] = {0, 5}, first_y[] = {0, 4};
  const AnalysisScores x = {rates, first_x, 1}, y = {other, first_y, 1};
  const AnalysisInterval welch = oracle_welch(rates, 5, other, 4, 0.95);
  const AnalysisInterval difference =
    analysis_difference_interval(&x, &y, ANALYSIS_AGGREGATE_MEAN, ANALYSIS_RANGE_FREE, 0.95);
  assert_close(difference.center, welch.center);
  assert_close(difference.low, welch.low);
  assert_close(difference.high, welch.high);
}

/* Both ends solve (mu - mean)^2 = t^2 se^2 mu (1 - mu) / (mean (1 - mean)). */
static void test_share(void **state) {
  (void)state;
  const double mean = analysis_mean(rates, 5), se = analysis_sd(rates, 5) / sqrt(5);
  const double t = analysis_student_quantile(0.975, 4);
  const AnalysisInterval share = analysis_mean_interval(rates, 5, ANALYSIS_RANGE_SHARE, 0.95);
  const double ends[] = {share.low, share.high};
  for (int i = 0; i < 2; i++)
    assert_close((ends[i] - mean) * (ends[i] - mean), t * t * se * se * ends[i] * (1 - ends[i]) / (mean * (1 - mean)));
  assert_true(share.low < mean && mean < share.high);
  double percent[5]; /* no matter the unit */
  for (int i = 0; i < 5; i++) percent[i] = 100 * rates[i];
  const AnalysisInterval hundredths = analysis_mean_interval(percent, 5, (AnalysisRange){0, 100, false}, 0.95);
  assert_close(hundredths.low, 100 * share.low);
  assert_close(hundredths.high, 100 * share.high);
}

/* One bound: (mu - mean)^2 = t^2 se^2 mu / mean; far from it Student's. */
static void test_positive(void **state) {
  (void)state;
  const double x[] = {1, 2, 6};
  const double mean = 3, se = analysis_sd(x, 3) / sqrt(3), t = analysis_student_quantile(0.975, 2);
  const AnalysisInterval above = analysis_mean_interval(x, 3, ANALYSIS_RANGE_POSITIVE, 0.95);
  assert_true(above.low > 0);
  assert_close((above.low - mean) * (above.low - mean), t * t * se * se * above.low / mean);
  assert_close((above.high - mean) * (above.high - mean), t * t * se * se * above.high / mean);
  const double mirrored[] = {-1, -2, -6};
  const AnalysisInterval below = analysis_mean_interval(mirrored, 3, (AnalysisRange){-INFINITY, 0, false}, 0.95);
  assert_close(below.low, -above.high);
  assert_close(below.high, -above.low);
  const double far[] = {40000, 40010, 40020};
  const AnalysisInterval student = oracle_student(far, 3, 0.95);
  const AnalysisInterval bounded = analysis_mean_interval(far, 3, ANALYSIS_RANGE_POSITIVE, 0.95);
  assert_true(fabs(bounded.low - student.low) < 0.1 && fabs(bounded.high - student.high) < 0.1);
}

static void test_logarithmic(void **state) {
  (void)state;
  const double x[] = {1, 10, 100}, logs[] = {0, log(10), log(100)}, bad[] = {1, 0, 3};
  const AnalysisInterval of_logs = oracle_student(logs, 3, 0.95);
  const AnalysisInterval ours = analysis_mean_interval(x, 3, ANALYSIS_RANGE_LOG, 0.95);
  assert_close(ours.center, 10);
  assert_close(ours.low, exp(of_logs.low));
  assert_close(ours.high, exp(of_logs.high));
  assert_true(isnan(analysis_mean_interval(bad, 3, ANALYSIS_RANGE_LOG, 0.95).center));
}

/* Two runs: a mean and no interval, for any range and aggregate. */
static void test_few(void **state) {
  (void)state;
  const AnalysisRange ranges[] = {ANALYSIS_RANGE_FREE, ANALYSIS_RANGE_SHARE, ANALYSIS_RANGE_LOG};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    const AnalysisInterval two = analysis_mean_interval(rates, 2, ranges[i], 0.95);
    assert_true(two.n == 2 && two.center > 0 && isnan(two.low) && isnan(two.high));
  }
  const size_t first[] = {0, 2}, single[] = {0, 1, 2, 3}, six[] = {0, 2, 4};
  const AnalysisScores pair = {rates, first, 1}, tasks = {rates, single, 3}, twice = {rates, six, 2};
  for (int k = 0; k < ANALYSIS_AGGREGATES; k++) {
    assert_true(isnan(analysis_interval(&pair, (AnalysisAggregate)k, ANALYSIS_RANGE_SHARE, 0.95).low));
    assert_true(isnan(analysis_interval(&tasks, (AnalysisAggregate)k, ANALYSIS_RANGE_SHARE, 0.95).low));
    assert_false(isnan(analysis_interval(&twice, (AnalysisAggregate)k, ANALYSIS_RANGE_SHARE, 0.95).low));
  }
  assert_true(isnan(analysis_mean_interval(NULL, 0, ANALYSIS_RANGE_SHARE, 0.95).center));
}

/* At a bound, and where a value lies outside of it. */
static void test_edges(void **state) {
  (void)state;
  const double solved[] = {1, 1, 1}, half[] = {0, 1, 1}, returns[] = {-3, 0.5, 900};
  const AnalysisInterval all = analysis_mean_interval(solved, 3, ANALYSIS_RANGE_SHARE, 0.95);
  assert_true(all.low == 1 && all.high == 1);
  const AnalysisInterval wide = analysis_mean_interval(half, 3, ANALYSIS_RANGE_SHARE, 0.95);
  assert_true(wide.low >= 0 && wide.low < 0.2 && wide.high > 0.9 && wide.high <= 1);
  const AnalysisInterval free = analysis_mean_interval(returns, 3, ANALYSIS_RANGE_SHARE, 0.95);
  assert_close(free.low, oracle_student(returns, 3, 0.95).low);
}

/* Over tasks what counts is the spread within each: levels that are hard or easy widen nothing. Of three runs the IQM
 * is the mean, and so is its interval. */
static void test_tasks(void **state) {
  (void)state;
  const double score[] = {0.1, 0.12, 0.14, 0.9, 0.92, 0.94};
  const size_t two[] = {0, 3, 6}, one[] = {0, 6}, three[] = {0, 3};
  const AnalysisScores tasks = {score, two, 2}, pooled = {score, one, 1}, few = {rates, three, 1};
  const AnalysisInterval strata = analysis_interval(&tasks, ANALYSIS_AGGREGATE_MEAN, ANALYSIS_RANGE_FREE, 0.95);
  const double se = 0.02 * sqrt(2. / 3) / 2, t = analysis_student_quantile(0.975, 4);
  assert_close(strata.low, 0.52 - t * se);
  assert_true(analysis_interval(&pooled, ANALYSIS_AGGREGATE_MEAN, ANALYSIS_RANGE_FREE, 0.95).low < strata.low - 0.1);
  const AnalysisInterval iqm = analysis_interval(&few, ANALYSIS_AGGREGATE_IQM, ANALYSIS_RANGE_SHARE, 0.95);
  const AnalysisInterval mean = analysis_interval(&few, ANALYSIS_AGGREGATE_MEAN, ANALYSIS_RANGE_SHARE, 0.95);
  assert_close(iqm.low, mean.low);
  assert_close(iqm.high, mean.high);
  const AnalysisInterval gap = analysis_interval(&few, ANALYSIS_AGGREGATE_OPTIMALITY_GAP, ANALYSIS_RANGE_SHARE, 0.95);
  assert_close(gap.low, 1 - mean.high);
  assert_close(gap.high, 1 - mean.low);
  const double above[] = {0.4, 0.6, 7}, clipped[] = {0.4, 0.6, 1}; /* scores above 1 count as 1 */
  const AnalysisScores beyond = {above, three, 1};
  const AnalysisInterval left =
    analysis_interval(&beyond, ANALYSIS_AGGREGATE_OPTIMALITY_GAP, ANALYSIS_RANGE_FREE, 0.95);
  const AnalysisInterval kept = analysis_mean_interval(clipped, 3, (AnalysisRange){-INFINITY, 1, false}, 0.95);
  assert_close(left.low, 1 - kept.high);
  assert_close(left.high, 1 - kept.low);
  const AnalysisInterval median = analysis_interval(&tasks, ANALYSIS_AGGREGATE_MEDIAN, ANALYSIS_RANGE_FREE, 0.95);
  assert_close(median.low, strata.low);
}

/* A task of one run has the pooled variance of the others, which are counted once (worked out by hand: a_1 = 7/27, V =
 * 49/27, 2 degrees). */
static void test_single_runs(void **state) {
  const double score[] = {1, 2, 6, 3, 5};
  const size_t first[] = {0, 3, 4, 5};
  const AnalysisScores tasks = {score, first, 3};
  const AnalysisInterval i = analysis_interval(&tasks, ANALYSIS_AGGREGATE_MEAN, ANALYSIS_RANGE_FREE, 0.95);
  assert_close(i.center, 11.0 / 3);
  assert_close(i.low, 11.0 / 3 - analysis_student_quantile(0.975, 2) * sqrt(49.0 / 27));
  assert_true(fabs(i.low + 2.130) < 1e-3 && fabs(i.high - 9.463) < 1e-3);
}

/* Newcombe's interval solves a quadratic-like equation whose root is checked; of a clear win it still has a width. */
static void test_improvement(void **state) {
  const double low[] = {0.1, 0.2, 0.3}, high[] = {0.5, 0.6, 0.7};
  const size_t first[] = {0, 3};
  const AnalysisScores x = {low, first, 1}, y = {high, first, 1};
  const AnalysisInterval won = analysis_improvement_interval(&y, &x, 0.95);
  assert_close(won.center, 1);
  assert_close(won.high, 1);
  const double p = won.low, t = analysis_student_quantile(0.975, 4);
  const double variance = p * (1 - p) * (1 + 2 * (1 - p) / (2 - p) + 2 * p / (1 + p)) / 9;
  assert_close((1 - p) * (1 - p), t * t * variance);
  const AnalysisInterval lost = analysis_improvement_interval(&x, &y, 0.95);
  assert_close(lost.high, 1 - won.low);
}

/* A normal random number of replicate r and run i. */
static double draw(uint32_t r, uint32_t i) {
  double a, b;
  const CoreRandom4 words = core_random_4(5, CORE_RANDOM_TEST, r, i, 0);
  core_random_normal_pair(words.v[0], words.v[1], &a, &b);
  return a;
}

enum { SAMPLES = 4000 };

/* Solve rates near 1 that scatter as ours do: 1 - 0.05 exp(0.6 z), mean 1 - 0.05 exp(0.18). The share of intervals that
 * hold the truth; *cut: of Student's, cut at the bounds. */
static double coverage(size_t n, AnalysisAggregate aggregate, double truth, double *cut) {
  size_t held = 0, held_cut = 0;
  for (uint32_t r = 0; r < SAMPLES; r++) {
    double x[16];
    for (size_t i = 0; i < n; i++) x[i] = fmax(0, 1 - 0.05 * exp(0.6 * draw(r, (uint32_t)i)));
    const size_t first[] = {0, n};
    const AnalysisScores scores = {x, first, 1};
    const AnalysisInterval ours = analysis_interval(&scores, aggregate, ANALYSIS_RANGE_SHARE, 0.95);
    const AnalysisInterval student = oracle_student(x, n, 0.95);
    assert_true(ours.low >= 0 && ours.high <= 1 && ours.low <= ours.center && ours.center <= ours.high);
    held += ours.low <= truth && truth <= ours.high;
    held_cut += student.low <= truth && truth <= fmin(student.high, 1);
  }
  *cut = (double)held_cut / SAMPLES;
  return (double)held / SAMPLES;
}

static void test_coverage(void **state) {
  (void)state;
  const double mean = 1 - 0.05 * exp(0.18);
  double cut;
  for (size_t n = 3; n <= 10; n += n == 3 ? 2 : 5) {
    const double held = coverage(n, ANALYSIS_AGGREGATE_MEAN, mean, &cut);
    if (!(held >= 0.925 && held <= 0.975)) fail_msg("%zu runs: %.3f of the intervals hold the mean", n, held);
    if (!(held > cut)) fail_msg("%zu runs: %.3f, but %.3f of Student's", n, held, cut);
  }
  /* The interquartile mean of z in -0.674..0.674, by integration. */
  double sum = 0, weight = 0;
  for (double z = -0.67449; z < 0.67449; z += 1e-4) {
    weight += exp(-z * z / 2);
    sum += exp(-z * z / 2) * (1 - 0.05 * exp(0.6 * z));
  }
  for (size_t n = 4; n <= 10; n += n == 4 ? 1 : 5) {
    const double held = coverage(n, ANALYSIS_AGGREGATE_IQM, sum / weight, &cut);
    if (!(held >= 0.91 && held <= 0.98)) fail_msg("%zu runs: %.3f of the intervals hold the IQM", n, held);
  }
}

/* The IQM over four tasks of three runs each. */
static void test_coverage_of_tasks(void **state) {
  const size_t first[] = {0, 3, 6, 9, 12};
  size_t held = 0;
  for (uint32_t r = 0; r < SAMPLES; r++) {
    double x[12];
    for (uint32_t i = 0; i < 12; i++) x[i] = draw(r, i);
    const AnalysisScores scores = {x, first, 4};
    const AnalysisInterval ours = analysis_interval(&scores, ANALYSIS_AGGREGATE_IQM, ANALYSIS_RANGE_FREE, 0.95);
    held += ours.low <= 0 && 0 <= ours.high;
  }
  const double share = (double)held / SAMPLES;
  if (!(share >= 0.94 && share <= 0.975)) fail_msg("%.3f of the intervals hold the IQM", share);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_unbounded),  cmocka_unit_test(test_share), cmocka_unit_test(test_positive),
    cmocka_unit_test(test_logarithmic), cmocka_unit_test(test_few), cmocka_unit_test(test_edges),
    cmocka_unit_test(test_tasks), cmocka_unit_test(test_single_runs),
    cmocka_unit_test(test_improvement), cmocka_unit_test(test_coverage), cmocka_unit_test(test_coverage_of_tasks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
