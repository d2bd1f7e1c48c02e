/* Scores of runs over tasks and the aggregates that Agarwal et al. 2021 ask for (rliable's definitions;
 * metrics.md 5.3). Plain functions over arrays: knows nothing of databases or plots. A NaN among the scores makes every
 * result NaN. */
#ifndef ANALYSIS_SCORES_H
#define ANALYSIS_SCORES_H
#include <stddef.h>
#include <stdint.h>

/* Scores by task: those of task t are score[first[t]] .. score[first[t + 1] - 1], one a run. Tasks may have different
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

/* NaN without tasks, with an empty task, or with a NaN. */
double analysis_aggregate(const AnalysisScores *scores, AnalysisAggregate aggregate);

/* P(X > Y): mean over tasks of (#{x > y} + #{x = y} / 2) / (n_x n_y). x.tasks must equal y.tasks (else NaN). */
double analysis_probability_of_improvement(const AnalysisScores *x, const AnalysisScores *y);

/* The performance profile at tau: the share of all runs whose score is above it (strictly). */
double analysis_profile_runs(const AnalysisScores *scores, double tau);

/* ---- the same scores drawn with repetitions ---------------------------------------------------------------------- */

/* What makes an aggregate of a resampled score set cheap: the scores are sorted once, and a replicate only says how
 * often each score was drawn. */
typedef struct AnalysisRanked {
  const AnalysisScores *scores;
  double *sorted;        /* [n] ascending */
  uint32_t *place;       /* [n] where sorted[i] stands in scores->score */
  double *clipped;       /* [n] min(score, 1), in the scores' order */
  size_t n;
} AnalysisRanked;

AnalysisRanked analysis_ranked_create(const AnalysisScores *scores); /* the scores must outlive it */
void analysis_ranked_free(AnalysisRanked *ranked);

/* The aggregate of the scores when scores->score[i] counts count[i] times; a task of which nothing was drawn is left
 * out, NaN when nothing was drawn at all. mean: room for scores->tasks doubles. */
double analysis_ranked_aggregate(const AnalysisRanked *ranked, AnalysisAggregate aggregate, const uint32_t *count,
                                 double *mean);

#endif
