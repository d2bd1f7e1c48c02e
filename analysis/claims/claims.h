/* The claims of the papers (claims.def) and what the runs of a database say to each. */
#ifndef ANALYSIS_CLAIMS_H
#define ANALYSIS_CLAIMS_H
#include "analysis/runs/measures.h"
#include "analysis/statistics/statistics.h"

/* A "cell" is a configuration: its runs are seeds. A "stratum" is a set of cells in which everything is equal except
 * the key (and what stands beside it). All intervals are 95 % percentile bootstraps: of the seeds within each cell
 * (expanded for few seeds, Hesterberg 2015), or (MIDDLE, UP, DOWN, GROWS, AT_LEAST, DEGRADES)
 * of whole configurations. */
typedef enum AnalysisTest {
  ANALYSIS_TEST_RISES, /* P(a run of a larger key has a larger measure), over all pairs of cells of a stratum; > 1/2 */
  ANALYSIS_TEST_FALLS, /* ... < 1/2 */
  ANALYSIS_TEST_EQUAL, /* ... within 1/4 and 3/4 */
  ANALYSIS_TEST_LOW_END, /* mean of the best other cell - mean of the lowest key's; > 0 (Bonferroni for the choice) */
  ANALYSIS_TEST_HIGH_END, /* ... - mean of the highest key's */
  ANALYSIS_TEST_ROBUST, /* what the lowest key loses to the best, at the smallest second key - at the largest; > 0 */
  ANALYSIS_TEST_ROBUST_HIGH, /* what the highest key loses */
  ANALYSIS_TEST_SAME_BEST, /* decades between the best keys at the smallest and largest second key; < 1/2 */
  ANALYSIS_TEST_MIDDLE, /* mean of the middle third by x - greater of the outer thirds' means; > 0 */
  ANALYSIS_TEST_UP, /* Spearman's rho of x and the measure; > 0 */
  ANALYSIS_TEST_DOWN, /* ... < 0 */
  ANALYSIS_TEST_GROWS, /* rho of x with the best score - rho with the best of the first tenth; > 0 */
  ANALYSIS_TEST_AT_LEAST_95, /* mean; > 0.95 */
  ANALYSIS_TEST_DEGRADES, /* mean; > 0 */
  ANALYSIS_TEST_SWITCH_UP, /* mean of (run - the run that it began from), where it raised the key; > 0 */
  ANALYSIS_TEST_SWITCH_DOWN, /* ..., where it lowered the key; < 0 */
} AnalysisTest;

typedef struct AnalysisClaim {
  const char *id, *paper, *figure, *sentence, *data, *where, *beside;
  AnalysisTest test;
  const char *test_name, *key, *second;
  AnalysisMeasure measure;
} AnalysisClaim;

typedef enum AnalysisVerdict { ANALYSIS_UNDECIDED, ANALYSIS_SUPPORTED, ANALYSIS_CONTRADICTED } AnalysisVerdict;

typedef struct AnalysisFindingOfClaim {
  const AnalysisClaim *claim;
  AnalysisVerdict verdict;
  AnalysisInterval interval;   /* of the statistic */
  const char *statistic;       /* "P(larger key, larger final score)" */
  const char *direction;       /* "> 0.5" */
  char reason[160];            /* why it is undecided, "" otherwise */
  size_t cells, strata, runs;  /* that were counted */
  size_t seeds;                /* of the cell with the fewest */
  size_t unfinished, missing;  /* runs of the claim that have not ended, or have no such measure */
  size_t more_seeds;           /* a cell, for a verdict when the effect is as seen; 0 = not known or not needed */
} AnalysisFindingOfClaim;

const char *analysis_verdict_name(AnalysisVerdict verdict);

/* finding[*count], in the order of claims.def; free() it. The selection must be all runs that may count. The same
 * database gives the same findings, whatever the number of threads. */
int analysis_claims_evaluate(StoreDatabase *database, const AnalysisSelection *selection,
                             AnalysisFindingOfClaim **finding, size_t *count);

/* The same from measures that are there already: measured[selection->count]. */
int analysis_claims_judge(const AnalysisSelection *selection, const AnalysisMeasured *measured,
                          AnalysisFindingOfClaim **finding, size_t *count);

#endif
