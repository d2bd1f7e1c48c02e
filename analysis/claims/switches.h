/* Tests of claims about runs that went on from another run's checkpoint with another setting. Children of one parent
 * are alike, so a parent is what is counted: each has the mean over its children. */
#ifndef ANALYSIS_SWITCHES_H
#define ANALYSIS_SWITCHES_H
#include "analysis/claims/contrast.h"

/* Returns what makes runs of several cells alike, [cells->count]: the checkpoint that a run began from, else its seed;
 * free it. */
size_t *analysis_cells_units(const AnalysisTable *table, const AnalysisCells *cells);
/* Makes one run, with their mean, of the runs of a cell that began from one checkpoint: they share its luck. */
void analysis_cells_merge_children(const AnalysisTable *table, AnalysisCells *cells);

/* Tests whether runs whose key was raised end above the run that they began from, and gain at once: cells->x is each
 * run's gain in the first tenth of the budget after its start. *parents: how many were compared; fewer than
 * ANALYSIS_SEEDS_MIN are not tested. */
AnalysisTested analysis_test_switch_up(const AnalysisTable *table, const AnalysisCells *cells, size_t *parents);
/* Tests whether runs whose key was raised (sign 1) or lowered (-1) end where runs end that had the key from the start,
 * up to `margin`: parents' children against those runs (Welch, by Satterthwaite's degrees of freedom). *parents: as
 * above. */
AnalysisTested analysis_test_switch_same(const AnalysisTable *table, const AnalysisCells *cells, int sign,
                                         double margin, size_t *parents);
/* Tests whether runs whose key was lowered end below the run that they began from, and as those with the key from the
 * start. */
AnalysisTested analysis_test_switch_down(const AnalysisTable *table, const AnalysisCells *cells, double margin,
                                         size_t *parents);

#endif
