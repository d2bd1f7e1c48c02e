/* What the tests of contrast.c and choices.c share: cells by their keys, and weights of pairs of them. */
#ifndef ANALYSIS_CONTRAST_INTERNAL_H
#define ANALYSIS_CONTRAST_INTERNAL_H
#include "analysis/claims/contrast.h"

/* Returns the values of an array, each once, ascending: [*found]; free them. */
double *analysis_distinct(const double *value, size_t count, size_t *found);
/* Finds the cell of a stratum with this key and second key (NaN: any); SIZE_MAX: there is none. */
size_t analysis_cell_find(const AnalysisCells *cells, size_t stratum, double key, double second);
/* Adds to weight[cells]: sign x (cell a - cell b), averaged over the strata that have both; returns their number. */
size_t analysis_weigh_pair(const AnalysisCells *cells, double key_a, double second_a, double key_b, double second_b,
                           double sign, double *weight);
/* Tests that the largest of `count` differences, weights[count][cells], is within the margin: each must be, by two
 * tests of one side; and one that surely is not contradicts, with Bonferroni for their number. */
AnalysisTested analysis_contrasts_within(const AnalysisCells *cells, const double *weights, size_t count,
                                         double margin);

#endif
