/* Asymptotes and crossing budgets of learning curves, with intervals from a bootstrap of whole runs, stratified by task
 * (stratified.h, statistics.h). Pure functions over arrays; they use all of OpenMP's threads and give the same bits
 * with any number. */
#ifndef ANALYSIS_ASYMPTOTE_H
#define ANALYSIS_ASYMPTOTE_H
#include "analysis/statistics/growth.h"
#include "analysis/statistics/statistics.h"

/* Maximum number of curves of a task. More runs are averaged in this many groups, whose means are resampled. */
enum { ANALYSIS_ASYMPTOTE_CURVES_MAX = 64 };

/* Curves of the runs of one setting, all at the same points. */
typedef struct AnalysisRunCurves {
  size_t n, tasks;
  const double *x;         /* [n] as for analysis_growth_basis_create */
  const double *y;         /* [first[tasks]][n], by task */
  const size_t *first;     /* [tasks + 1] as in AnalysisScores */
} AnalysisRunCurves;

typedef struct AnalysisAsymptote {
  AnalysisGrowth fit;        /* fit of the mean curve: tasks weigh equally */
  double explained;          /* R^2 of the fit */
  bool is_identified;
  AnalysisInterval asymptote;  /* n: number of curves; NaN bounds if it is not identified, or with fewer than three */
  AnalysisInterval done;     /* share of the rise that is done at the last point */
  AnalysisInterval last;     /* fitted value at the last point */
} AnalysisAsymptote;

/* Fits the mean curve and that of each replicate, each with its own family. The asymptote is identified if at least
 * half of the rise is done at the last point according to the lower bound of `done`: a straight line or a logarithm
 * fits otherwise, and the asymptote may be anywhere beyond. replicate: [replicates] asymptotes,
 * infinite where the family has none. range: bounds of y; asymptotes beyond are moved to them. n >=
 * ANALYSIS_GROWTH_POINTS_MIN. */
void analysis_asymptote_fit(const AnalysisRunCurves *curves, const double range[2],
                            const AnalysisResampling *resampling, AnalysisAsymptote *result, double *replicate);

/* Computes where the mean curve reaches target (replicate r: targets[r]; NULL: target), by isotonic regression
 * (Barlow et al. 1972) and linear interpolation: never beyond the last point. falls: the curve falls to the target.
 * center, high: infinite if the target is not reached. The interval is of the logarithm. */
AnalysisInterval analysis_asymptote_crossing(const AnalysisRunCurves *curves, bool falls, double target,
                                             const double *targets, const AnalysisResampling *resampling);

/* Averages each task's curves [first[tasks]][n] in groups if there are more than ANALYSIS_ASYMPTOTE_CURVES_MAX, in
 * place; updates first. */
void analysis_asymptote_pool(double *y, size_t n, size_t *first, size_t tasks);

#endif
