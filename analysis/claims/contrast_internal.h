/* Helpers shared by the tests of contrast.c, choices.c and curve.c: cells by their keys, and weights of pairs. */
#ifndef ANALYSIS_CONTRAST_INTERNAL_H
#define ANALYSIS_CONTRAST_INTERNAL_H
#include "analysis/claims/contrast.h"

/* Returns the distinct values of an array, ascending: [*found]; free() them. */
double *analysis_distinct(const double *value, size_t count, size_t *found);
/* Finds the cell of a stratum with this key and second key (NaN: any); SIZE_MAX: none. */
size_t analysis_cell_find(const AnalysisCells *cells, size_t stratum, double key, double second);
/* Adds sign x (cell a - cell b) to weight[cells], averaged over the strata that have both; returns their number. */
size_t analysis_add_pair_weights(const AnalysisCells *cells, double key_a, double second_a, double key_b,
                                 double second_b, double sign, double *weight);
/* Tests whether all of `count` differences, weights[count][cells], are within the margin, each by two one-sided tests.
 * A single difference that is significantly outside contradicts, with Bonferroni for their number. */
AnalysisTestResult analysis_contrasts_within(const AnalysisCells *cells, const double *weights, size_t count,
                                         double margin);

#endif
