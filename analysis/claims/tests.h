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

/* Returns the limit of a test, which completes "It cannot tell". Tests of a kind have the same address. */
const char *analysis_test_limit(AnalysisTest test);
/* Returns a limit of one claim in addition to its test's; NULL: none. */
const char *analysis_claim_limit(const AnalysisClaim *claim);

/* ---- strata.c: agreement of tasks -------------------------------------------------------------------------------- */

/* Agreement of a claim's strata: the test of each, and whether the verdict holds without any one of them, or any task.
 *
 * Tests all strata together and each alone, and sets f->interval, strata, p_for, p_against, tasks and disagree.
 *
 * A side of the claim is shown if the strata together show it, still do without the stratum that shows it most, and
 * without all strata of the task that shows it most: the partial conjunction of Benjamini and Heller (2008, Biometrics
 * 64:1215), so that neither one stratum nor one task decides alone. p_for and p_against are the largest of these
 * probabilities. If some strata, or some tasks, significantly show one side and some the other (Bonferroni over them),
 * they disagree, and there is no verdict.
 *
 * A task is what core_config_is_same_task says; strata of one task differ in how it is learnt. Strata of switches that
 * differ only in the checkpoint (init.*) are one. */
void analysis_strata_test(const AnalysisTable *table, const AnalysisCells *cells, AnalysisClaimResult *f);

#endif
