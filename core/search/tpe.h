/* Tree-structured Parzen estimator (Bergstra, Bardenet, Bengio & Kégl 2011, section 4) with Optuna 5's defaults:
 * https://optuna.readthedocs.io/en/stable/reference/samplers/generated/optuna.samplers.TPESampler.html  The best
 * ceil(0.1 n) of n trials, at most 25, form a density l, all others g. Both are mixtures of truncated normals (on the
 * logarithm or on cells of integers) and smoothed choices, with one kernel per trial and a wide prior in the middle. Of
 * 24 draws from l, the one with the largest l / g is proposed. Settings without conditions are drawn jointly (one
 * kernel holds one trial's values), each conditional setting separately from the trials in which it was active. Trials
 * that have not ended count as bad, so that proposals of one wave spread out (constant liar).
 *
 * With two goals, the best are the first fronts of non-dominated trials, and of the front of which only some fit, those
 * that add most to the dominated area (Ozaki, Tanigaki, Watanabe & Onishi 2020, without their weights). Proposals are
 * then drawn around the Pareto front, as PufferLib's Protein does for score and cost. */
#ifndef CORE_TPE_H
#define CORE_TPE_H
#include "core/search/search.h"

enum { CORE_TPE_CANDIDATES = 24 };

/* Trial with its losses. */
typedef struct CoreTpeTrial {
  const double *coordinate;  /* [search->count], NaN: inactive axis */
  double loss[CORE_SEARCH_GOALS_MAX]; /* smaller is better; NaN: none, counts as the worst; 0 beyond the goals */
  bool has_ended;
} CoreTpeTrial;

/* Mixture density over some axes. */
typedef struct CoreParzen {
  const CoreSearch *search;
  const size_t *axis;        /* [axes]; borrowed */
  size_t axes, kernels;      /* the last kernel is the wide prior */
  double *weight;            /* [kernels], summing to 1 */
  double *mu, *sigma;        /* [axes][kernels]; for a choice mu is its index, -1 for the prior */
} CoreParzen;

/* Fits the density to those of the trials list[0 .. count-1], in order of their indices, in which all of these axes are
 * active. The caller calls core_parzen_free. */
void core_parzen_make(const CoreSearch *search, const size_t *axis, size_t axes, const CoreTpeTrial *const *list,
                      size_t count, CoreParzen *parzen);
void core_parzen_free(CoreParzen *parzen);
/* Returns the log density at coordinate[search->count]; for integers and choices the log probability. */
double core_parzen_log(const CoreParzen *parzen, const double *coordinate);

/* Whether losses a[goals] are nowhere larger than b[goals], and somewhere smaller. */
bool core_search_dominates(const double *a, const double *b, size_t goals);
/* Sets below[i] for the trials that form l and returns their number. */
size_t core_tpe_split(const CoreTpeTrial *trials, size_t count, size_t goals, bool *below);

/* Proposes trial `number` into coordinate[search->count]. Deterministic for given trials and seed. */
void core_tpe_propose(const CoreSearch *search, const CoreTpeTrial *trials, size_t count, uint64_t seed,
                      int64_t number, double *coordinate);

#endif
