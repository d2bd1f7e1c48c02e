/* Fits of learning curves against SciPy's (make_growth_golden.py), and their asymptotes and crossing budgets. */
#include "test.h"

#include "analysis/statistics/asymptote.h"
#include "analysis/statistics/statistics.h"
#include "tests/unit/growth_golden.h"

static const AnalysisResampling resampling = {400, 0.95, 3};

/* Each fit has SciPy's sum of squares, and its curve. */
static void test_scipy(void **state) {
  AnalysisGrowthBasis *basis = analysis_growth_basis_create(golden_x, GOLDEN_POINTS);
  for (size_t c = 0; c < GOLDEN_CURVES; c++)
    for (int f = 0; f < GOLDEN_FAMILIES; f++) {
      const double *golden = golden_fit[c][f], scale = fabs(golden[1]);
      const AnalysisGrowth fit = analysis_growth_fit_family(basis, golden_y[c], (AnalysisGrowthFamily)f);
      if (!(fit.squares <= golden[0] * (1 + 1e-6)))
        fail_msg("curve %zu, %s: sum of squares %.9g, SciPy's is %.9g", c, analysis_growth_name(fit.family),
                 fit.squares, golden[0]);
      assert_true(fit.squares >= golden[0] * (1 - 1e-4)); /* SciPy stops early on flat valleys */
      assert_near(analysis_growth_value(&fit, 1.5e6), golden[2], 1e-3 * scale);
    }
  const AnalysisGrowth exponential = analysis_growth_fit_family(basis, golden_y[0], ANALYSIS_GROWTH_EXPONENTIAL);
  assert_near(exponential.a, golden_fit[0][0][1], 1e-5);
  analysis_growth_basis_destroy(&basis);
}

/* AICc takes the family that made the curve, or a nearly equal one, and the formula is Hurvich & Tsai's. */
static void test_families(void **state) {
  AnalysisGrowthBasis *basis = analysis_growth_basis_create(golden_x, GOLDEN_POINTS);
  for (size_t c = 0; c < GOLDEN_CURVES; c++) {
    const AnalysisGrowth best = analysis_growth_fit(basis, golden_y[c]);
    for (int f = 0; f < GOLDEN_FAMILIES; f++) {
      static const double parameters[] = {4, 5, 5, 5, 4, 3}; /* with the variance of the noise */
      const double k = parameters[f], n = GOLDEN_POINTS;
      assert_true(best.aicc <= n * log(golden_fit[c][f][0] / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1) + 1e-3);
    }
  }
  assert_int_equal(analysis_growth_fit(basis, golden_y[0]).family, ANALYSIS_GROWTH_EXPONENTIAL);
  assert_int_equal(analysis_growth_fit(basis, golden_y[1]).family, ANALYSIS_GROWTH_HILL);
  analysis_growth_basis_destroy(&basis);
}

/* A line and a logarithm have no asymptote; half of an exponential's rise is done at its half. */
static void test_asymptotes(void **state) {
  double y[GOLDEN_POINTS];
  AnalysisGrowthBasis *basis = analysis_growth_basis_create(golden_x, GOLDEN_POINTS);
  for (size_t i = 0; i < GOLDEN_POINTS; i++) y[i] = 0.1 + 1e-7 * golden_x[i] + 1e-4 * (double)(i * 7 % 5);
  AnalysisGrowth fit = analysis_growth_fit(basis, y);
  assert_true(isinf(analysis_growth_asymptote(&fit)) && analysis_growth_asymptote(&fit) > 0);
  assert_true(analysis_growth_done(&fit, 3e6) == 0);
  for (size_t i = 0; i < GOLDEN_POINTS; i++) y[i] = 5 - 2 * exp2(-golden_x[i] / 1e6);
  fit = analysis_growth_fit(basis, y);
  assert_near(analysis_growth_asymptote(&fit), 5, 1e-6);
  assert_near(analysis_growth_done(&fit, 1e6), 0.5, 1e-6);
  analysis_growth_basis_destroy(&basis);
}

enum { RUNS = 4, POINTS = 30 };

/* Simulates runs of two tasks: the second has one run more, and twice the rise. */
static AnalysisRunCurves make_curves(double x[POINTS], double y[][POINTS], size_t first[3], double half) {
  first[0] = 0;
  first[1] = RUNS - 1;
  first[2] = 2 * RUNS - 1;
  for (size_t r = 0; r < first[2]; r++)
    for (size_t i = 0; i < POINTS; i++) {
      x[i] = 1e5 * (double)i;
      const double spread = 0.02 * (double)(r % RUNS) - 0.02;
      y[r][i] = (r < first[1] ? 0.4 + spread : 0.8 + spread) * (1 - exp2(-x[i] / half));
    }
  return (AnalysisRunCurves){POINTS, 2, x, &y[0][0], first};
}

static void test_bootstrap(void **state) {
  const double range[2] = {0, 1};
  double x[POINTS], y[2 * RUNS][POINTS], replicate[400];
  size_t first[3];
  AnalysisAsymptote result;
  AnalysisRunCurves curves = make_curves(x, y, first, 4e5);
  analysis_asymptote_fit(&curves, range, &resampling, &result, replicate);
  assert_true(result.is_identified);
  assert_near(result.asymptote.center, 0.605, 1e-4); /* mean of 0.4 and 0.81: tasks weigh equally */
  assert_true(result.asymptote.low < 0.603 && result.asymptote.low > 0.55);
  assert_true(result.asymptote.high > 0.607 && result.asymptote.high < 0.66);
  assert_near(result.done.center, 1 - exp2(-29.0 / 4), 1e-3);

  /* Half of the rise is done after one half. */
  const AnalysisInterval crossing = analysis_asymptote_crossing(&curves, false, 0.3025, NULL, &resampling);
  assert_near(crossing.center, 4e5, 2e3);
  assert_true(crossing.low < 4e5 && crossing.low > 3e5 && crossing.high > 4e5 && crossing.high < 5e5);
  const AnalysisInterval never = analysis_asymptote_crossing(&curves, false, 0.7, NULL, &resampling);
  assert_true(isinf(never.center) && isinf(never.high));

  /* Only a third of the rise is done. */
  curves = make_curves(x, y, first, 5e6);
  analysis_asymptote_fit(&curves, range, &resampling, &result, replicate);
  assert_false(result.is_identified);
  assert_true(isnan(result.asymptote.center) && isnan(result.asymptote.low));
  assert_near(result.last.center, 0.605 * (1 - exp2(-2.9 / 5)), 1e-3);
}

/* The means of groups of runs: 130 runs become 64 curves with the same mean. */
static void test_pool(void **state) {
  enum { MANY = 130 };
  double y[MANY + 2][2], sum = 0;
  size_t first[3] = {0, MANY, MANY + 2};
  for (size_t r = 0; r < MANY + 2; r++) y[r][0] = y[r][1] = (double)r;
  analysis_asymptote_pool(&y[0][0], 2, first, 2);
  assert_int_equal(first[1], ANALYSIS_ASYMPTOTE_CURVES_MAX);
  assert_int_equal(first[2], ANALYSIS_ASYMPTOTE_CURVES_MAX + 2);
  assert_near(y[first[1]][1], MANY, 0);
  for (size_t c = 0; c < first[1]; c++) sum += y[c][0];
  assert_near(sum / (double)first[1], (MANY - 1) / 2.0, 0.5);
}

/* Student's t with 2 degrees: 4.3027, of the normal 1.95996, and sqrt(3 / 2). */
static void test_widening(void **state) {
  const size_t three[] = {0, 3}, tasks[] = {0, 3, 6}, one[] = {0, 1};
  const double value[] = {1, 2, 3, 4, INFINITY};
  assert_near(analysis_replicates_widening(three, 1, 0.95), 4.302653 / 1.959964 * sqrt(1.5), 1e-5);
  assert_near(analysis_replicates_widening(tasks, 2, 0.95), 2.776445 / 1.959964 * sqrt(1.5), 1e-5);
  assert_true(isnan(analysis_replicates_widening(one, 1, 0.95)));
  const AnalysisInterval interval = analysis_replicates_interval(3, value, 5, 0.95, 2);
  assert_near(interval.low, -1, 0);
  assert_true(isinf(interval.high));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_scipy), cmocka_unit_test(test_families),  cmocka_unit_test(test_asymptotes),
    cmocka_unit_test(test_bootstrap), cmocka_unit_test(test_pool), cmocka_unit_test(test_widening),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
