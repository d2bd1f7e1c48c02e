/* Measures of a run: scalars computed from its evaluations and iterations, for tables, comparisons, claims and
 * advice. */
#ifndef ANALYSIS_MEASURES_H
#define ANALYSIS_MEASURES_H
#include "analysis/runs/columns.h"
#include "analysis/runs/select.h"
#include "analysis/statistics/interval.h"

/* core/config/measures.def lists and describes the measures. Further ones are columns, by name (measure_columns.c). */
typedef enum AnalysisMeasure {
#define X(name, words, range) ANALYSIS_MEASURE_##name,
#include "core/config/measures.def"
#undef X
  ANALYSIS_MEASURES
} AnalysisMeasure;

enum { ANALYSIS_MEASURE_COLUMNS = 8, ANALYSIS_MEASURES_ALL = ANALYSIS_MEASURES + ANALYSIS_MEASURE_COLUMNS };

const char *analysis_measure_name(AnalysisMeasure measure);
const char *analysis_measure_label(AnalysisMeasure measure);
/* Finds a measure, or the column or metric of that name. CORE_USAGE: the message names the nearest. */
int analysis_measure_find(const char *name, AnalysisMeasure *measure);

typedef struct AnalysisRunMetrics {
  double value[ANALYSIS_MEASURES_ALL]; /* NaN: not measured */
  double transitions;               /* transitions covered by its log */
  size_t evaluations;               /* number of evaluations after training started */
  bool rated;                       /* whether its scores are solve rates */
  bool normalized;                  /* whether its normalized score has constants, and may be outside 0..1 */
  bool ended;                       /* reached the budget, or diverged or failed before: its last value is final */
  bool broken;                      /* diverged or failed before the budget: has the scores of an untrained policy */
  bool censored;                    /* not ended: stopped before the budget by its sweep's [stop] rule */
  int64_t iteration;                /* last iteration that counts; 0: none */
  int64_t merged;                   /* iterations per row (log.rows) */
} AnalysisRunMetrics;

/* Whether it is a measure of scores (solve rates or returns). */
bool analysis_measure_is_score(AnalysisMeasure measure);
/* Whether it is a score that tasks with and without a goal measure alike. */
bool analysis_measure_is_return(AnalysisMeasure measure);
/* Returns the range of the values of measured[run[count]] (run NULL: of measured[count]): for scores [0, 1] only if
 * all scored runs have solve rates. Pass only the runs that are compared. */
AnalysisRange analysis_measure_range(AnalysisMeasure measure, const AnalysisRunMetrics *measured, const size_t *run,
                                     size_t count);

/* Reads measured[selection->count]; free() it. level_set NULL: "train" if a run has it, else its first one. budget:
 * ignores data beyond this number of transitions; 0: all. A run counts as ended if it reached the budget.
 *
 * A run that diverged or failed before the budget is the worst outcome, not a missing one (worst-rank scores, Lachin
 * 1999, Controlled Clinical Trials 20:408; a composite estimand, ICH E9(R1) A.3.2): its final and best scores are
 * those of its untrained policy, and its gain and fall lead there. Without an evaluation of the untrained policy, a
 * solve rate is 0 and a return NaN, which comparisons replace by their lowest value. */
int analysis_measures_read(StoreDatabase *database, const AnalysisSelection *selection, const char *level_set,
                           double budget, AnalysisRunMetrics **measured);

/* ---- measure_coverage.c ------------------------------------------------------------------------------------------ */

/* State coverage as a measure of runs. The share of visited cells grows with the number of states, so
 * runs are compared at equal numbers. */

/* Reads value[count] of the runs run[count] of the selection: coverage_50 (a random projection;
 * trainer/rollout/coverage.h) at the smallest number of states that any of these runs with the same task and budget
 * (train.total_steps) had when it reached the budget. NaN: not measured, or not yet at that number. Runs that
 * diverged or failed early are ignored, because all others would be compared at their few states. */
int analysis_coverage_read(StoreDatabase *database, const AnalysisSelection *selection,
                           const AnalysisRunMetrics *measured, const size_t *run, size_t count, double *value);

/* ---- measure_columns.c ------------------------------------------------------------------------------------------- */

/* Measures that are columns of results.db or metrics by name: means over the last quarter of a run. */

/* Finds the measure of a column (analysis_column_find), or of "metric.NAME", which needs no registration. At most
 * ANALYSIS_MEASURE_COLUMNS exist at a time: a further one replaces the oldest. CORE_USAGE: there is no such column. */
int analysis_measure_columns_find(const char *name, AnalysisMeasure *measure);
/* Returns the column of a measure beyond those of measures.def. */
const AnalysisColumn *analysis_measure_columns_get(AnalysisMeasure measure);
const char *analysis_measure_columns_label(AnalysisMeasure measure);

/* Sets the values of all measures found so far. level_set as for analysis_measures_read. */
int analysis_measure_columns_read(StoreDatabase *database, const AnalysisSelection *selection, const char *level_set,
                                  AnalysisRunMetrics *measured);

#endif
