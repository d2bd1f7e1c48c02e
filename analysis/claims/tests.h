/* Table of the tests of claims (claims.h): what each one states, needs and compares, and the function that runs it. */
#ifndef ANALYSIS_TESTS_H
#define ANALYSIS_TESTS_H
#include "analysis/claims/claims.h"
#include "analysis/claims/contrast.h"

/* Objects of comparison: keys; keys at several second keys; points, one per configuration, by a measured x; the mean of
 * all cells; runs that switched a setting. */
typedef enum AnalysisTestKind {
  ANALYSIS_OF_KEYS,
  ANALYSIS_OF_SECOND,
  ANALYSIS_OF_POINTS,
  ANALYSIS_OF_MEAN,
  ANALYSIS_OF_SWITCH,
} AnalysisTestKind;

typedef struct AnalysisTestInfo {
  const char *statistic, *direction;  /* description, and what is claimed of it */
  const char *needs;                  /* required data */
  const char *condition;              /* second condition, with what is claimed of it; NULL: none */
  AnalysisTestKind kind;
  bool margin;                        /* whether it has a margin */
} AnalysisTestInfo;

const AnalysisTestInfo *analysis_test_info(AnalysisTest test);
/* Whether its statistic is one of ranks, which has no scale. */
bool analysis_test_is_of_ranks(AnalysisTest test);
/* Whether it also tests that the end of the key is on a plateau. */
bool analysis_test_is_plateau(AnalysisTest test);
/* Runs the test. *seeds is set by tests of switches: number of parents. */
AnalysisTestResult analysis_test_run(AnalysisTest test, const AnalysisTable *table, const AnalysisCells *cells,
                                     double margin, size_t *seeds);

#endif
