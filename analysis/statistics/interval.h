/* The one way to 95 % intervals of averages of runs (docs/results.md "Intervals"): what tables, bars, curves, settings,
 * heat maps, reports, comparisons and their JSON and CSV show. Pure functions over arrays.
 *
 * An average's standard error comes from the spread of the runs within each task, with Student's t for few runs
 * (Satterthwaite's degrees of freedom over several tasks). Where values have bounds (a solve rate lies in [0, 1]), the
 * interval is Wilson's (1927): the values mu with |estimate - mu| <= t se(mu), the standard error falling to 0 towards
 * the bounds. It never leaves them, and becomes estimate -+ t se far from them. Simulated with 3, 5 and 10 runs of
 * solve rates like ours it covers the true mean in 92 to 96 % of cases; -+ t se cut at the bounds in 88 to 95 %, the
 * percentile bootstrap in 68 to 91 %. Where a few of the runs fail altogether, no interval of three runs knows of
 * it. */
#ifndef ANALYSIS_INTERVAL_H
#define ANALYSIS_INTERVAL_H
#include <math.h>
#include <stdbool.h>

#include "analysis/statistics/scores.h"
#include "analysis/statistics/statistics.h"

/* Where the values of a quantity lie. Logarithmic: it is averaged as logarithms (a geometric mean), and its bounds do
 * not matter. */
typedef struct AnalysisRange { double low, high; bool logarithmic; } AnalysisRange;

#define ANALYSIS_RANGE_FREE ((AnalysisRange){-INFINITY, INFINITY, false})
#define ANALYSIS_RANGE_SHARE ((AnalysisRange){0, 1, false})
#define ANALYSIS_RANGE_POSITIVE ((AnalysisRange){0, INFINITY, false})
#define ANALYSIS_RANGE_LOG ((AnalysisRange){0, INFINITY, true})

/* Fewer runs of a task make no interval: Student's t of one degree of freedom is 12.7, and says nothing. Over several
 * tasks: fewer than ANALYSIS_SEEDS_LEAST - 1 runs more than there are tasks. */
enum { ANALYSIS_SEEDS_LEAST = 3 };
/* Are there so many? Of one run a task a stratified bootstrap, too, would be an interval without width. */
bool analysis_interval_has_runs(const AnalysisScores *scores);

/* What the interval is, for the files of figures and for captions. */
extern const char analysis_interval_words[];

/* The mean of n values of one task. center: NaN for n = 0, or a value that is not positive where the range is
 * logarithmic; low, high: NaN with fewer than three. Values outside of the range: as if it had no bounds. */
AnalysisInterval analysis_interval_of_mean(const double *x, size_t n, AnalysisRange range, double level);

/* An aggregate over the runs of several tasks. IQM: from the scores winsorised where it cuts (Tukey & McLaughlin
 * 1963). Median over tasks: from the task or two in the middle. */
AnalysisInterval analysis_interval(const AnalysisScores *scores, AnalysisAggregate aggregate, AnalysisRange range,
                                   double level);

/* aggregate(x) - aggregate(y); of a logarithmic range aggregate(x) / aggregate(y). Welch's on one task. NaN ends where
 * a side has no interval of its own. range: of the scores. */
AnalysisInterval analysis_interval_of_difference(const AnalysisScores *x, const AnalysisScores *y,
                                                 AnalysisAggregate aggregate, AnalysisRange range, double level);

/* P(a run of x has a greater score than one of y), ties half, mean over tasks. Newcombe's (2006, Statistics in Medicine
 * 25:559, method 5) score interval, whose variance is that at the probability asked about, so it does not vanish where
 * every run of one side wins; with Student's t for few runs. Simulated with 3, 5 and 10 runs of normal scores it holds
 * the truth in 95 to 99 % of cases (docs/results.md). */
AnalysisInterval analysis_interval_of_improvement(const AnalysisScores *x, const AnalysisScores *y, double level);

#endif
