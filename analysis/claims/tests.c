/* The tests of claims by name (tests.h). */
#include "analysis/claims/tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/contrast.h"
#include "analysis/claims/switches.h"
#include "core/memory.h"

#define NEEDS_LEVERS "three levers, each of which moves x while all else is equal"
#define PLATEAU "late gain relative to all that the setting gained, claimed < 0.05"
static const AnalysisTestInfo tests[ANALYSIS_TESTS] = {
  [ANALYSIS_TEST_RISES] =
    {"P(a larger setting has a larger value)", "> 0.5", "two settings to compare", NULL, ANALYSIS_OF_KEYS, false},
  [ANALYSIS_TEST_FALLS] =
    {"P(a larger setting has a larger value)", "< 0.5", "two settings to compare", NULL, ANALYSIS_OF_KEYS, false},
  [ANALYSIS_TEST_EQUAL] =
    {"largest difference between settings", "none", "two settings to compare", NULL, ANALYSIS_OF_KEYS, true},
  [ANALYSIS_TEST_NOT_WORSE] =
    {"highest setting - lowest setting", "no loss", "two settings to compare", NULL, ANALYSIS_OF_KEYS, true},
  [ANALYSIS_TEST_LOW_END] =
    {"best of the others - lowest setting", "> 0", "three settings to compare", NULL, ANALYSIS_OF_KEYS, false},
  [ANALYSIS_TEST_HIGH_END] =
    {"best of the others - highest setting", "> 0", "three settings to compare", NULL, ANALYSIS_OF_KEYS, false},
  [ANALYSIS_TEST_LOW_PLATEAU] =
    {"best of the others - lowest setting", "> 0", "three settings to compare",
     PLATEAU, ANALYSIS_OF_KEYS, true},
  [ANALYSIS_TEST_HIGH_PLATEAU] =
    {"best of the others - highest setting", "> 0", "three settings to compare",
     PLATEAU, ANALYSIS_OF_KEYS, true},
  [ANALYSIS_TEST_ROBUST] =
    {"loss at the lowest setting: smallest scale - largest scale", "> 0", "two settings at two scales",
     NULL, ANALYSIS_OF_SECOND, false},
  [ANALYSIS_TEST_ROBUST_HIGH] =
    {"loss at the highest setting: smallest scale - largest scale", "> 0", "two settings at two scales",
     NULL, ANALYSIS_OF_SECOND, false},
  [ANALYSIS_TEST_SAME_BEST] =
    {"loss by the best setting of the other end", "none", "three settings at two scales", NULL, ANALYSIS_OF_SECOND,
     true},
  [ANALYSIS_TEST_GAIN_GROWS] =
    {"gain at the largest scale - gain at the smallest", "> 0", "two settings at two scales", NULL, ANALYSIS_OF_SECOND,
     false},
  [ANALYSIS_TEST_GAIN_SHRINKS] =
    {"gain at the largest scale - gain at the smallest", "< 0", "two settings at two scales", NULL, ANALYSIS_OF_SECOND,
     false},
  [ANALYSIS_TEST_GAIN_EQUAL] =
    {"largest difference between gains", "none", "two settings at two scales", NULL, ANALYSIS_OF_SECOND, true},
  [ANALYSIS_TEST_BEST_AT_LOW] =
    {"best elsewhere - best at the lowest scale", "> 0", "settings at two scales", NULL, ANALYSIS_OF_SECOND, false},
  [ANALYSIS_TEST_BEST_AT_HIGH] =
    {"best elsewhere - best at the highest scale", "> 0", "settings at two scales", NULL, ANALYSIS_OF_SECOND, false},
  [ANALYSIS_TEST_BEST_EQUAL] =
    {"largest difference between best values", "none", "two settings at two scales", NULL, ANALYSIS_OF_SECOND, true},
  [ANALYSIS_TEST_MIDDLE] =
    {"middle third - better outer third along a lever,", "> 0", NEEDS_LEVERS,
     NULL, ANALYSIS_OF_POINTS, false},
  [ANALYSIS_TEST_UP] =
    {"mean over levers of the slope of ranks", "> 0", NEEDS_LEVERS, NULL, ANALYSIS_OF_POINTS, false},
  [ANALYSIS_TEST_DOWN] =
    {"mean over levers of the slope of ranks", "< 0", NEEDS_LEVERS, NULL, ANALYSIS_OF_POINTS, false},
  [ANALYSIS_TEST_GROWS] =
    {"mean over levers of the slope of ranks, at the full budget - at a tenth,", "> 0", NEEDS_LEVERS, NULL,
     ANALYSIS_OF_POINTS, false},
  [ANALYSIS_TEST_ONE_CURVE] =
    {"largest distance from the others' curve", "none", "two levers, six configurations each", NULL, ANALYSIS_OF_POINTS,
     true},
  [ANALYSIS_TEST_AT_LEAST_95] = {"mean", "> 0.95", "one configuration", NULL, ANALYSIS_OF_MEAN, false},
  [ANALYSIS_TEST_POSITIVE] = {"mean", "> 0", "one configuration", NULL, ANALYSIS_OF_MEAN, false},
  [ANALYSIS_TEST_NEGATIVE] = {"mean", "< 0", "one configuration", NULL, ANALYSIS_OF_MEAN, false},
  [ANALYSIS_TEST_SWITCH_UP] =
    {"runs that switched - their unswitched parents", "> 0",
     "three parents of runs that switched the setting (init.from)",
     "lead over the parent a tenth of the budget after the switch, claimed > 0", ANALYSIS_OF_SWITCH, false},
  [ANALYSIS_TEST_SWITCH_DOWN] =
    {"runs that switched - their unswitched parents, down to runs with the setting from the start,", "< 0",
     "three parents of runs that switched the setting (init.from), and runs with that setting from the start",
     "change since the switch, claimed < 0", ANALYSIS_OF_SWITCH, true},
  [ANALYSIS_TEST_SWITCH_SAME] =
    {"runs that switched - runs with the setting from the start", "none",
     "runs with the setting from the start and runs that switched to it", NULL, ANALYSIS_OF_SWITCH, true},
};
#undef PLATEAU
#undef NEEDS_LEVERS

const AnalysisTestInfo *analysis_test_info(AnalysisTest test) { return &tests[test]; }

bool analysis_test_is_plateau(AnalysisTest test) {
  return test == ANALYSIS_TEST_LOW_PLATEAU || test == ANALYSIS_TEST_HIGH_PLATEAU;
}

bool analysis_test_is_of_ranks(AnalysisTest test) {
  return test == ANALYSIS_TEST_RISES || test == ANALYSIS_TEST_FALLS || test == ANALYSIS_TEST_UP ||
         test == ANALYSIS_TEST_DOWN || test == ANALYSIS_TEST_GROWS;
}

const char *analysis_test_statistic(AnalysisTest test, const char **direction) {
  *direction = tests[test].direction;
  return tests[test].statistic;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static AnalysisTestResult opposite(AnalysisTestResult result) {
  const double p = result.p_for;
  result.p_for = result.p_against;
  result.p_against = p;
  return result;
}

static AnalysisTestResult test_mean(const AnalysisTable *table, const AnalysisCells *cells, double null, int sign) {
  size_t *unit = analysis_cells_units(table, cells);
  const AnalysisTestResult result = analysis_test_mean(cells, unit, null, sign);
  free(unit);
  return result;
}

/* Tests whether the mean of values in [0, 1] is above 0.95. Without a spread between runs, for which Student's t has no
 * error, Markov's inequality bounds the probability that a value is as far off; seeds are independent. */
static AnalysisTestResult test_at_least_95(const AnalysisTable *table, const AnalysisCells *cells) {
  const double null = 0.95;
  AnalysisTestResult result = test_mean(table, cells, null, 1);
  size_t seeds = cells->count;

  for (size_t i = 1; i < cells->count; i++)
    if (cells->score[i] != cells->score[0]) return result;
  for (size_t c = 0; c < cells->cells; c++) {
    const size_t runs = cells->first[c + 1] - cells->first[c];
    if (runs < seeds) seeds = runs;
  }

  const double value = seeds > 0 ? cells->score[0] : NAN;
  if (value > null) result.p_for = pow(null / value, (double)seeds);
  if (value < null) result.p_against = pow((1 - null) / (1 - value), (double)seeds);
  return result;
}

AnalysisTestResult analysis_test_run(AnalysisTest test, const AnalysisTable *table, const AnalysisCells *cells,
                                     double margin, size_t *seeds) {
  switch (test) {
    case ANALYSIS_TEST_RISES: return analysis_test_rises(cells);
    case ANALYSIS_TEST_FALLS: return opposite(analysis_test_rises(cells));
    case ANALYSIS_TEST_EQUAL: return analysis_test_equal(cells, margin);
    case ANALYSIS_TEST_NOT_WORSE: return analysis_test_not_worse(cells, margin);
    case ANALYSIS_TEST_LOW_END: return analysis_test_end(cells, false);
    case ANALYSIS_TEST_HIGH_END: return analysis_test_end(cells, true);
    case ANALYSIS_TEST_LOW_PLATEAU: return analysis_test_plateau(cells, false, margin);
    case ANALYSIS_TEST_HIGH_PLATEAU: return analysis_test_plateau(cells, true, margin);
    case ANALYSIS_TEST_ROBUST: return analysis_test_robust(cells, false);
    case ANALYSIS_TEST_ROBUST_HIGH: return analysis_test_robust(cells, true);
    case ANALYSIS_TEST_SAME_BEST: return analysis_test_same_best(cells, margin);
    case ANALYSIS_TEST_GAIN_GROWS: return analysis_test_gain(cells, 1);
    case ANALYSIS_TEST_GAIN_SHRINKS: return analysis_test_gain(cells, -1);
    case ANALYSIS_TEST_GAIN_EQUAL: return analysis_test_gain_equal(cells, margin);
    case ANALYSIS_TEST_BEST_AT_LOW: return analysis_test_best_at(cells, false);
    case ANALYSIS_TEST_BEST_AT_HIGH: return analysis_test_best_at(cells, true);
    case ANALYSIS_TEST_BEST_EQUAL: return analysis_test_best_equal(cells, margin);
    case ANALYSIS_TEST_MIDDLE: return analysis_test_middle(table, cells);
    case ANALYSIS_TEST_UP: return analysis_test_relation(table, cells);
    case ANALYSIS_TEST_DOWN: return opposite(analysis_test_relation(table, cells));
    case ANALYSIS_TEST_ONE_CURVE: return analysis_test_one_curve(table, cells, margin);
    case ANALYSIS_TEST_AT_LEAST_95: return test_at_least_95(table, cells);
    case ANALYSIS_TEST_POSITIVE: return test_mean(table, cells, 0, 1);
    case ANALYSIS_TEST_NEGATIVE: return test_mean(table, cells, 0, -1);
    case ANALYSIS_TEST_SWITCH_UP: return analysis_test_switch_up(table, cells, seeds);
    case ANALYSIS_TEST_SWITCH_DOWN: return analysis_test_switch_down(table, cells, margin, seeds);
    case ANALYSIS_TEST_SWITCH_SAME: return analysis_test_switch_same(table, cells, 1, margin, seeds);
    case ANALYSIS_TEST_GROWS: {
      double *early = core_memory_allocate((cells->count + 1) * sizeof *early);
      for (size_t i = 0; i < cells->count; i++)
        early[i] = table->metrics[cells->run[i]].value[ANALYSIS_MEASURE_early];
      const AnalysisTestResult result = analysis_test_relation_grows(table, cells, early);
      free(early);
      return result;
    }
    case ANALYSIS_TESTS: break;
  }
  return ANALYSIS_NOT_TESTED;
}

#define CLAIM_LIMIT(id, words)
static const char *const test_limits[ANALYSIS_TESTS] = {
#define TEST_LIMIT(test, words) [ANALYSIS_TEST_##test] = words,
#include "analysis/claims/limits.def"
#undef TEST_LIMIT
};
#undef CLAIM_LIMIT

#define TEST_LIMIT(test, words)
static const struct { const char *id, *words; } claim_limits[] = {
#define CLAIM_LIMIT(id, words) {#id, words},
#include "analysis/claims/limits.def"
#undef CLAIM_LIMIT
};
#undef TEST_LIMIT

const char *analysis_test_limit(AnalysisTest test) {
  while (!test_limits[test]) test--; /* RISES, the first, has one */
  return test_limits[test];
}

const char *analysis_claim_limit(const AnalysisClaim *claim) {
  for (size_t i = 0; i < sizeof claim_limits / sizeof *claim_limits; i++)
    if (strcmp(claim_limits[i].id, claim->id) == 0) return claim_limits[i].words;
  return NULL;
}
