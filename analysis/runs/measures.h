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
  bool ended;                       /* finished or diverged: its last value is its final one */
  bool censored;                    /* not ended: its sweep's [stop] rule has stopped it, before the budget asked for */
} AnalysisMeasured;

/* Where the values of these runs lie: of scores [0, 1] only when all that have one have solve rates. */
AnalysisRange analysis_measure_range(AnalysisMeasure measure, const AnalysisMeasured *measured, size_t count);

/* measured[selection->count], free() it. level_set NULL: "train" where a run has it, else its first one. budget:
 * transitions, whatever lies beyond is not looked at; 0 = all. A run counts as ended when it reached the budget. */
int analysis_measures_read(StoreDatabase *database, const AnalysisSelection *selection, const char *level_set,
                           double budget, AnalysisMeasured **measured);

#endif
