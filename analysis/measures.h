/* What one run amounts to: a few numbers of its evaluations and iterations, for comparisons, claims and advice. */
#ifndef ANALYSIS_MEASURES_H
#define ANALYSIS_MEASURES_H
#include "analysis/select.h"

/* X(name, words). "Late": mean over the last quarter of the run's iterations. Score: the solve rate of evaluations, or
 * their return where an environment has no solve rate, or -distance (noisy_sgd). */
#define ANALYSIS_MEASURE_LIST(X) \
  X(final, "final score") \
  X(best, "best score") \
  X(gain, "score gained in the second half") \
  X(fall, "best minus final score") \
  X(early, "best score in the first tenth") \
  X(ddr, "DDR") \
  X(kl, "mean KL") \
  X(kl_slope, "slope of log KL within iterations") \
  X(kl_monotone, "share of minibatches that approach the last policy") \
  X(speed, "transitions per second") \
  X(grad_norm, "late gradient norm") \
  X(update_norm, "late update norm") \
  X(feature_rank, "late feature rank") \
  X(dormant, "late share of dormant units") \
  X(weight_norm, "late weight norm") \
  X(kurtosis, "late gradient kurtosis") \
  X(policy_variance, "late policy variance") \
  X(ess, "late effective sample size") \
  X(coverage, "state coverage at equal numbers of states")

typedef enum AnalysisMeasure {
#define X(name, words) ANALYSIS_MEASURE_##name,
  ANALYSIS_MEASURE_LIST(X)
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
  bool ended;                       /* finished or diverged: its last value is its final one */
} AnalysisMeasured;

/* measured[selection->count], free() it. level_set NULL: "train" where a run has it, else its first one. budget:
 * transitions, whatever lies beyond is not looked at; 0 = all. A run counts as ended when it reached the budget. */
int analysis_measures_read(StoreDatabase *database, const AnalysisSelection *selection, const char *level_set,
                           double budget, AnalysisMeasured **measured);

#endif
