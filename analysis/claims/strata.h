/* Agreement of a claim's tasks: the test of each stratum, and whether the verdict holds without any one of them. */
#ifndef ANALYSIS_STRATA_H
#define ANALYSIS_STRATA_H
#include "analysis/claims/claims.h"
#include "analysis/claims/contrast.h"

/* Tests all strata together and each alone, and sets f->interval, strata, p_for, p_against, tasks and disagree.
 *
 * A side of the claim is shown if the strata together show it, and still do without the stratum that shows it most: the
 * partial conjunction of Benjamini and Heller (2008, Biometrics 64:1215) for two strata, so that none decides alone.
 * p_for and p_against are the larger of both probabilities. If some strata significantly show one side and some the
 * other (Bonferroni over strata), they disagree, and there is no verdict.
 *
 * Strata of switches that differ only in the checkpoint (init.*) are one task. */
void analysis_strata_test(const AnalysisTable *table, const AnalysisCells *cells, AnalysisClaimResult *f);

#endif
