/* Functional ANOVA over a complete grid (Hooker 2007; Hutter, Hoos & Leyton-Brown 2014, without their forest): the
 * share of the variance of the cells' expected scores that each setting explains by itself, and two settings in
 * addition. Runs of a cell differ by noise, whose expected part of every variance is subtracted, so that a setting
 * without influence explains 0 on average. Pure functions over arrays. */
#ifndef ANALYSIS_ANOVA_H
#define ANALYSIS_ANOVA_H
#include "analysis/statistics/statistics.h"

/* Runs of a complete grid. Cells are numbered with the last setting running fastest. Owns nothing. */
typedef struct AnalysisGrid {
  size_t dimensions, cells;
  const size_t *levels;      /* [dimensions], each at least 2; their product is `cells` */
  const size_t *first;       /* [cells + 1] runs of cell c: score[first[c]] .. score[first[c + 1] - 1], at least one */
  const double *score;
} AnalysisGrid;

/* Computes main[dimensions] and pair[dimensions * dimensions] (NULL: none), as shares between 0 and 1; bounds from a
 * bootstrap of the runs of each cell, NaN unless every cell has three. *noise: share of the variance of single runs
 * that is noise; NaN with one run in a cell, whose noise then counts as an effect. NaN if the cells do not differ more
 * than by noise. */
void analysis_anova(const AnalysisGrid *grid, const AnalysisResampling *resampling, AnalysisInterval *main,
                    AnalysisInterval *pair, double *noise);

#endif
