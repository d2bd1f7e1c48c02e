/* Scores of runs over tasks and the aggregates recommended by Agarwal et al. 2021 (the definitions of rliable's
 * metrics.py). Pure functions over arrays, independent of databases and plots. If a score is NaN, every result is
 * NaN. */
#ifndef ANALYSIS_SCORES_H
#define ANALYSIS_SCORES_H
#include <stddef.h>
#include <stdint.h>

/* Scores grouped by task: task t has score[first[t]] .. score[first[t + 1] - 1], one per run. Tasks may have different
 * numbers of runs, at least one each (rliable's matrix is the case of equal numbers). Owns nothing. */
typedef struct AnalysisScores {
  const double *score;   /* [first[tasks]] */
  const size_t *first;   /* [tasks + 1], first[0] = 0 */
  size_t tasks;
} AnalysisScores;

typedef enum AnalysisAggregate {
  ANALYSIS_AGGREGATE_MEAN,            /* mean over tasks of the mean over runs */
  ANALYSIS_AGGREGATE_MEDIAN,          /* median over tasks of the mean over runs (not of all scores) */
  ANALYSIS_AGGREGATE_IQM,             /* all scores sorted, floor(n / 4) dropped at each end, mean of the rest */
  ANALYSIS_AGGREGATE_OPTIMALITY_GAP,  /* 1 - mean over all scores of min(score, 1) */
  ANALYSIS_AGGREGATES
} AnalysisAggregate;

const char *analysis_aggregate_name(AnalysisAggregate aggregate); /* "mean", "median", "iqm", "optimality gap" */

/* Computes an aggregate; NaN without tasks, with an empty task, or with a NaN score. */
double analysis_aggregate(const AnalysisScores *scores, AnalysisAggregate aggregate);

/* Computes P(X > Y): mean over tasks of (#{x > y} + #{x = y} / 2) / (n_x n_y). NaN unless x.tasks = y.tasks. */
double analysis_probability_of_improvement(const AnalysisScores *x, const AnalysisScores *y);

/* Computes the performance profile at tau: the share of all runs whose score is above it (strictly). */
double analysis_profile_runs(const AnalysisScores *scores, double tau);

/* ---- resampled scores -------------------------------------------------------------------------------------------- */

/* Scores prepared for fast aggregates of bootstrap replicates: they are sorted once, and a replicate is a vector of
 * counts. */
typedef struct AnalysisRanked {
  const AnalysisScores *scores;
  double *sorted;        /* [n] ascending */
  uint32_t *index;       /* [n] index of sorted[i] in scores->score */
  double *clipped;       /* [n] min(score, 1), in the order of the scores */
  size_t n;
} AnalysisRanked;

AnalysisRanked analysis_ranked_create(const AnalysisScores *scores); /* the scores must outlive it */
void analysis_ranked_free(AnalysisRanked *ranked);

/* Computes the aggregate of a replicate that draws scores->score[i] count[i] times. Ignores tasks without draws; NaN
 * without any draw. mean: scratch buffer of scores->tasks doubles. */
double analysis_ranked_aggregate(const AnalysisRanked *ranked, AnalysisAggregate aggregate, const uint32_t *count,
                                 double *mean);

#endif
