/* Tree-structured Parzen estimator (Bergstra, Bardenet, Bengio & Kégl 2011, section 4), as Optuna 5 has it by default:
 * https://optuna.readthedocs.io/en/stable/reference/samplers/generated/optuna.samplers.TPESampler.html
 *
 * The best ceil(0.1 n) of n trials, at most 25, make a density l, all others g; both are mixtures of truncated normals
 * (of the logarithm, of whole numbers' cells) and of smoothed choices, one kernel a trial and a wide one in the middle.
 * Of 24 draws from l the one with the largest l / g is proposed. Settings without conditions are drawn together (one
 * kernel is one trial's values); each with a condition by itself, from the trials that had it. Trials that have not
 * ended count as bad, so that one wave's proposals stand apart (a constant liar). */
#ifndef CORE_TPE_H
#define CORE_TPE_H
#include "core/search/search.h"

enum { CORE_TPE_CANDIDATES = 24 };

/* A trial as TPE sees it. */
typedef struct CoreTpeTrial {
  const double *coordinate;  /* [search->count], NaN: did not take part */
  double loss;               /* smaller is better; NaN: it has none, and counts as worse than all that have one */
  bool has_ended;
} CoreTpeTrial;

/* A density over some axes. */
typedef struct CoreParzen {
  const CoreSearch *search;
  const size_t *axis;        /* [axes]; borrowed */
  size_t axes, kernels;      /* the last kernel is the wide one, the prior */
  double *weight;            /* [kernels], their sum is 1 */
  double *mu, *sigma;        /* [axes][kernels]; of a choice mu is its number, -1 for the prior */
} CoreParzen;

/* Of the trials list[0 .. count-1], in the order of their numbers, that have all of these axes. Caller calls
 * core_parzen_free. */
void core_parzen_make(const CoreSearch *search, const size_t *axis, size_t axes, const CoreTpeTrial *const *list,
                      size_t count, CoreParzen *parzen);
void core_parzen_free(CoreParzen *parzen);
/* Logarithm of the density at coordinate[search->count]; of whole numbers and choices of the probability. */
double core_parzen_log(const CoreParzen *parzen, const double *coordinate);

/* Which trials make l: below[i], and how many. */
size_t core_tpe_split(const CoreTpeTrial *trials, size_t count, bool *below);

/* Proposes trial `number` into coordinate[search->count]. The same trials and seed give the same proposal. */
void core_tpe_propose(const CoreSearch *search, const CoreTpeTrial *trials, size_t count, uint64_t seed,
                      int64_t number, double *coordinate);

#endif
