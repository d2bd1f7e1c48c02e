/* The best of several candidates at several budgets, with intervals from a bootstrap of whole runs. Each replicate
 * draws the runs of every candidate, stratified by task, and chooses its own best, so that the choice is part of the
 * interval.
 * A candidate's resampled mean keeps the direction of its distance from the mean, widened by Student's t for few runs
 * (statistics.h). Pure functions over arrays. */
#ifndef ANALYSIS_WINNER_H
#define ANALYSIS_WINNER_H
#include "analysis/statistics/statistics.h"

/* Runs of all candidates, sorted by candidate and task: those of one task are a stratum. Owns nothing. */
typedef struct AnalysisCandidates {
  size_t count, budgets, strata;
  const size_t *first;       /* [strata + 1] first run of each stratum */
  const size_t *of;          /* [strata] its candidate, ascending; each candidate has a stratum */
  const double *score;       /* [first[strata]][budgets] higher is better */
  const double *value;       /* [first[strata]][budgets] quantity of which the best candidate's mean is wanted */
} AnalysisCandidates;

typedef struct AnalysisWinner {
  size_t candidate;          /* the one with the highest mean score */
  double share;              /* share of replicates that choose it */
  AnalysisInterval value;    /* mean value of the best candidate */
  AnalysisInterval score;    /* its mean score, minus the mean by which replicates overrate the candidate they choose;
                                the upper bound is that of the winner alone */
} AnalysisWinner;

/* Finds the winner at each budget, and *shift, value at the last budget minus that at the first one of the same
 * replicate. Bounds are NaN if a candidate has fewer runs than an interval needs (interval.h). */
void analysis_winners(const AnalysisCandidates *candidates, const AnalysisResampling *resampling,
                      AnalysisWinner *winner, AnalysisInterval *shift);

#endif
