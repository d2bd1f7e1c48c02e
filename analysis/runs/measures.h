/* What one run amounts to: a few numbers of its evaluations and iterations, for tables, comparisons, claims and
 * advice. */
#ifndef ANALYSIS_MEASURES_H
#define ANALYSIS_MEASURES_H
#include "analysis/runs/select.h"
#include "analysis/statistics/interval.h"

/* X(name, words, range): where its values lie (interval.h); of a score: where it is a solve rate. "Late": mean over the
 * last quarter of the run's iterations. Score: the solve rate of evaluations, or their return where an environment has
 * no solve rate, or -distance (noisy_sgd). Return: of evaluation episodes, whether or not they can be solved.
 * Normalised score: the final return between the constants of its game (normalized.h), or where there are none the
 * final solve rate. score_at_time is of claims only: it depends on the runs that are compared (claims/clock.h). */
#define ANALYSIS_MEASURE_LIST(X) \
  X(final, "final score", SHARE) \
  X(best, "best score", SHARE) \
  X(best_other, "best score on the first level set that it was not trained on", SHARE) \
  X(score_at_time, "score when the quickest of the compared runs had ended", SHARE) \
  X(gain, "score gained in the second half", CHANGE) \
  X(fall, "best minus final score", SHARE) \
  X(fall_excess, "best minus final score, beyond what noise makes of it", CHANGE) \
  X(rise_second, "score of the last quarter minus that of the second", CHANGE) \
  X(early, "best score in the first tenth", SHARE) \
  X(final_return, "final return", FREE) \
  X(best_return, "best return", FREE) \
  X(normalized_score, "normalised score", SHARE) \
  X(ddr, "DDR", LOG) \
  X(kl, "mean KL", LOG) \
  X(kl_slope, "slope of log KL within iterations", FREE) \
  X(kl_monotone, "share of minibatches that approach the last policy", SHARE) \
  X(kl_consecutive, "KL of consecutive minibatches' policies", LOG) \
  X(speed, "transitions per second", POSITIVE) \
  X(grad_norm, "late gradient norm", POSITIVE) \
  X(update_norm, "late update norm", POSITIVE) \
  X(feature_rank, "late feature rank", POSITIVE) \
  X(dormant, "late share of dormant units", SHARE) \
  X(weight_norm, "late weight norm", POSITIVE) \
  X(kurtosis, "late gradient kurtosis", FREE) \
  X(policy_variance, "late policy variance", POSITIVE) \
  X(ess, "late effective sample size", PERCENT) \
  X(coverage, "state coverage at equal numbers of states", SHARE)

typedef enum AnalysisMeasure {
#define X(name, words, range) ANALYSIS_MEASURE_##name,
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
