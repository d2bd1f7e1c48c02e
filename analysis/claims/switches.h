/* Tests of claims about runs that start from another run's checkpoint with another setting. Children of one parent are
 * correlated, so the unit is the parent, with the mean over its children. */
#ifndef ANALYSIS_SWITCHES_H
#define ANALYSIS_SWITCHES_H
#include "analysis/claims/contrast.h"

/* Returns unit[cells->count], the source of correlation between runs of different cells: the parent, else the seed;
 * free() it. */
size_t *analysis_cells_units(const AnalysisTable *table, const AnalysisCells *cells);
/* Merges the runs of a cell that have the same parent into one with their mean, since they are correlated. */
void analysis_cells_merge_children(const AnalysisTable *table, AnalysisCells *cells);

/* Whether two runs are equal in all settings except `key`, the checkpoint, the seed, and the budget, which a run that
 * restores only weights counts from 0. */
bool analysis_switches_share_task(const AnalysisRun *a, const AnalysisRun *b, const char *key);

/* Tests whether runs with a raised key end above their parent, and soon are: cells->x is each run's lead over its
 * parent a tenth of the budget after the switch (cells.h). *parents: number of parents; fewer than
 * ANALYSIS_SEEDS_MIN are not tested. */
AnalysisTestResult analysis_test_switch_up(const AnalysisTable *table, const AnalysisCells *cells, size_t *parents);
/* Tests whether runs with a raised (sign 1) or lowered (-1) key end within `margin` of runs with that key from the
 * start, by Welch's t (Satterthwaite's degrees of freedom) of the parents' children and those runs. *parents: as
 * above. */
AnalysisTestResult analysis_test_switch_same(const AnalysisTable *table, const AnalysisCells *cells, int sign,
                                         double margin, size_t *parents);
/* Tests whether runs with a lowered key end below their parent and below their own score at the switch, and equal to
 * runs with that key from the start. cells->x: each run's final score minus that at the switch. */
AnalysisTestResult analysis_test_switch_down(const AnalysisTable *table, const AnalysisCells *cells, double margin,
                                         size_t *parents);

#endif
