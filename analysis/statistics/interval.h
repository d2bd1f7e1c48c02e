/* 95 % confidence intervals of averages over runs (docs/results.md "Intervals"), used by all tables, figures, reports,
 * comparisons and their JSON and CSV. Pure functions over arrays.
 *
 * The standard error comes from the spread of the runs within each task, with Student's t for few runs (Satterthwaite's
 * degrees of freedom over several tasks). For bounded values (a solve rate is in [0, 1]) the interval is Wilson's
 * (1927): the values mu with |estimate - mu| <= t se(mu), where the standard error falls to 0 toward the bounds. It
 * never crosses them, and approaches estimate -+ t se far from them. In simulations with 3, 5 and 10 runs of realistic
 * solve rates it covers the true mean in 92 to 96 % of cases, -+ t se truncated at the bounds in 88 to 95 %, and the
 * percentile bootstrap in 68 to 91 %. If a small share of runs fails completely, no interval from three runs can
 * reflect that. */
#ifndef ANALYSIS_INTERVAL_H
#define ANALYSIS_INTERVAL_H
#include <math.h>
#include <stdbool.h>

#include "analysis/statistics/scores.h"
#include "analysis/statistics/statistics.h"

/* Range of a quantity's values. logarithmic: it is averaged as logarithms (a geometric mean), and its bounds are
 * ignored. */
typedef struct AnalysisRange { double low, high; bool logarithmic; } AnalysisRange;

#define ANALYSIS_RANGE_FREE ((AnalysisRange){-INFINITY, INFINITY, false})
#define ANALYSIS_RANGE_SHARE ((AnalysisRange){0, 1, false})
#define ANALYSIS_RANGE_POSITIVE ((AnalysisRange){0, INFINITY, false})
#define ANALYSIS_RANGE_LOG ((AnalysisRange){0, INFINITY, true})

/* Minimum number of runs of a task for an interval: with one degree of freedom Student's t is 12.7, which is useless.
 * Several tasks need ANALYSIS_INTERVAL_RUNS_MIN - 1 runs more than there are tasks. */
enum { ANALYSIS_INTERVAL_RUNS_MIN = 3 };
/* Whether there are enough runs. With one run per task a stratified bootstrap too would have zero width. */
bool analysis_interval_has_runs(const AnalysisScores *scores);

/* Description of the interval for captions and files of figures. */
extern const char analysis_interval_description[];

/* Computes the interval of the mean of n values of one task. center: NaN if n = 0, or if the range is logarithmic and a
 * value is not positive; low, high: NaN with fewer than three values. If a value is outside the range, the range is
 * ignored. */
AnalysisInterval analysis_mean_interval(const double *x, size_t n, AnalysisRange range, double level);

/* Computes the interval of an aggregate over the runs of several tasks. IQM: from scores winsorized at its cuts (Tukey
 * & McLaughlin 1963). Median over tasks: from the middle one or two tasks. */
AnalysisInterval analysis_interval(const AnalysisScores *scores, AnalysisAggregate aggregate, AnalysisRange range,
                                   double level);

/* Computes the interval of aggregate(x) - aggregate(y), or aggregate(x) / aggregate(y) if the range of the scores is
 * logarithmic. Equals Welch's on one task. low, high: NaN if x or y has no interval. */
AnalysisInterval analysis_difference_interval(const AnalysisScores *x, const AnalysisScores *y,
                                                 AnalysisAggregate aggregate, AnalysisRange range, double level);

/* Computes the interval of P(score of a run of x > score of a run of y), with ties counting 1/2, averaged over tasks.
 * Newcombe's score interval (2006, Statistics in Medicine 25:559, method 5) uses the variance at the hypothesized
 * probability, so that it does not vanish if every run of one side wins; with Student's t for few runs. In simulations
 * with 3, 5 and 10 runs of normal scores it covers the true value in 95 to 99 % of cases (docs/results.md). */
AnalysisInterval analysis_improvement_interval(const AnalysisScores *x, const AnalysisScores *y, double level);

#endif
