/* The best of several candidates: choice, correction for it, intervals and shift. */
#include "test.h"

#include "analysis/statistics/winner.h"

static const AnalysisResampling resampling = {2000, 0.95, 4};

enum { RUNS = 3, BUDGETS = 2 };

/* Two candidates of one task: the second is far better at the second budget, and always far worse at the first. */
static void test_clear(void **state) {
  const size_t first[] = {0, RUNS, 2 * RUNS}, of[] = {0, 1};
  const double score[][BUDGETS] = {{0.50, 0.1}, {0.52, 0.1}, {0.54, 0.1}, {0.1, 0.7}, {0.1, 0.8}, {0.1, 0.9}};
  const double value[][BUDGETS] = {{1, 1}, {1, 1}, {1, 1}, {5, 5}, {5, 6}, {5, 7}};
  const AnalysisCandidates candidates = {2, BUDGETS, 2, first, of, &score[0][0], &value[0][0]};
  AnalysisWinner winner[BUDGETS];
  AnalysisInterval shift;
  analysis_winners(&candidates, &resampling, winner, &shift);
  assert_int_equal(winner[0].candidate, 0);
  assert_int_equal(winner[1].candidate, 1);
  assert_near(winner[0].share, 1, 0);
  assert_near(winner[0].value.low, 1, 0);
  assert_near(winner[0].value.high, 1, 0);
  assert_near(winner[0].score.center, 0.52, 2e-3); /* a single choice is not overrated */
  /* Three runs: the percentiles are the lowest and the highest run, widened. */
  assert_near(winner[0].score.low, 0.52 - 0.02 * analysis_replicates_widening(first, 1, 0.95), 1e-9);
  assert_near(winner[0].score.high, 0.52 + 0.02 * analysis_replicates_widening(first, 1, 0.95), 1e-9);
  assert_near(winner[1].value.center, 6, 1e-12);
  assert_near(shift.center, 5, 1e-12);
  assert_near(shift.high, 5 + analysis_replicates_widening(first, 1, 0.95), 1e-9);
}

/* Equal candidates: none is certain, and the best is corrected downward. */
static void test_equal(void **state) {
  const size_t first[] = {0, 3, 6, 9}, of[] = {0, 1, 2};
  const double score[] = {0.4, 0.5, 0.63, 0.41, 0.5, 0.6, 0.42, 0.5, 0.58}, value[] = {1, 1, 1, 2, 2, 2, 3, 3, 3};
  const AnalysisCandidates candidates = {3, 1, 3, first, of, score, value};
  AnalysisWinner winner;
  AnalysisInterval shift;
  analysis_winners(&candidates, &resampling, &winner, &shift);
  assert_int_equal(winner.candidate, 0);
  assert_true(winner.share > 0.2 && winner.share < 0.6);
  assert_near(winner.value.low, 1, 0);
  assert_near(winner.value.high, 3, 0);
  assert_true(winner.score.center < 0.51 - 0.03 && winner.score.high > 0.51 + 0.1);
  assert_near(shift.low, 0, 0); /* one budget */
}

/* Tasks weigh equally, whatever their numbers of runs; a candidate with two runs has no interval. */
static void test_tasks(void **state) {
  const size_t first[] = {0, 1, 4, 6}, of[] = {0, 0, 1};
  const double score[] = {0.9, 0.1, 0.1, 0.1, 0.45, 0.45}, value[] = {2, 4, 4, 4, 9, 9};
  const AnalysisCandidates candidates = {2, 1, 3, first, of, score, value};
  AnalysisWinner winner;
  AnalysisInterval shift;
  analysis_winners(&candidates, &resampling, &winner, &shift);
  assert_int_equal(winner.candidate, 0);
  assert_near(winner.value.center, 3, 1e-12);
  assert_int_equal(winner.value.n, 4);
  assert_true(isnan(winner.value.low) && isnan(winner.share) && isnan(shift.low));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_clear), cmocka_unit_test(test_equal),
                                     cmocka_unit_test(test_tasks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
