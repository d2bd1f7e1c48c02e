/* Tests of claims about runs that went on from another run's checkpoint with another setting. Children of one parent
 * are alike, so a parent is what is counted: each has the mean over its children. */
#ifndef ANALYSIS_SWITCHES_H
#define ANALYSIS_SWITCHES_H
#include "analysis/claims/contrast.h"

/* Did runs whose key was raised (sign 1) or lowered (-1) end above or below the run that they began from? *parents: how
 * many were compared; fewer than ANALYSIS_SEEDS_MIN are not tested. */
AnalysisTested analysis_test_switch(const AnalysisTable *table, const AnalysisCells *cells, int sign, size_t *parents);
/* Do runs whose key was raised end where runs end that had the key from the start, up to `margin`? Parents' children
 * against those runs (Welch, by Satterthwaite's degrees of freedom). *parents: as above. */
AnalysisTested analysis_test_switch_same(const AnalysisTable *table, const AnalysisCells *cells, double margin,
                                         size_t *parents);

#endif
