/* What one run amounts to: a few numbers of its evaluations and iterations, for tables, comparisons, claims and
 * advice. */
#ifndef ANALYSIS_MEASURES_H
#define ANALYSIS_MEASURES_H
#include "analysis/runs/select.h"
#include "analysis/statistics/interval.h"

/* core/config/measures.def has the list, and what its words mean. */
typedef enum AnalysisMeasure {
#define X(name, words, range) ANALYSIS_MEASURE_##name,
#include "core/config/measures.def"
#undef X
  ANALYSIS_MEASURES
} AnalysisMeasure;

const char *analysis_measure_name(AnalysisMeasure measure);
const char *analysis_measure_words(AnalysisMeasure measure);
/* CORE_USAGE with the nearest name. */
int analysis_measure_find(const char *name, AnalysisMeasure *measure);

typedef struct AnalysisMeasured {
  double value[ANALYSIS_MEASURES];  /* NaN: not measured */
  double transitions;               /* as far as its log goes */
  size_t evaluations;               /* after training began */
  bool rated;                       /* its scores are solve rates */
  bool normalized;                  /* its normalised score comes of constants, and may lie outside of 0 to 1 */
  bool ended;                       /* reached the budget, or broke down before it: its last value is its final one */
  bool broken;                      /* diverged or failed before the budget: has an untrained policy's scores */
  bool censored;                    /* not ended: its sweep's [stop] rule has stopped it, before the budget asked for */
  int64_t iteration;                /* the last one that counts; 0: none */
  int64_t merged;                   /* iterations of a row (log.rows) */
} AnalysisMeasured;

/* Whether the measure is of scores (solve rates or returns). */
bool analysis_measure_is_score(AnalysisMeasure measure);
/* Returns where the values of measured[run[count]] lie (run NULL: of measured[count]): of scores [0, 1] only when all
 * that have one have solve rates. Pass the runs that are compared, and no others of the database. */
AnalysisRange analysis_measure_range(AnalysisMeasure measure, const AnalysisMeasured *measured, const size_t *run,
                                     size_t count);

/* measured[selection->count], free() it. level_set NULL: "train" where a run has it, else its first one. budget:
 * transitions, whatever lies beyond is not looked at; 0 = all. A run counts as ended when it reached the budget.
 *
 * A run that diverged or failed before the budget is the worst outcome, not a missing one (worst-rank scores, Lachin
 * 1999, Controlled Clinical Trials 20:408; a composite estimand, ICH E9(R1) A.3.2): its final and best scores are that
 * of its untrained policy, and its gain and fall lead there. A solve rate without an evaluation of the untrained policy
 * is 0, a return NaN: the comparison puts its lowest value there (analysis_measures_fill_broken). */
int analysis_measures_read(StoreDatabase *database, const AnalysisSelection *selection, const char *level_set,
                           double budget, AnalysisMeasured **measured);

#endif
