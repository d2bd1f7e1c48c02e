/* Parzen estimators over a search's axes, and proposals from them. Trials come from sweep/search. */
#include "core/search/tpe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"

static const double PRIOR_WEIGHT = 1, LOG_SQRT_2_PI = 0.91893853320467274178;

/* ---- normal distribution ----------------------------------------------------------------------------------------- */

static double below(double z) { return 0.5 * erfc(-z * 0.70710678118654752440); }

/* Returns log(Phi(b) - Phi(a)), a < b, without cancellation in either tail. */
static double log_mass(double a, double b) {
  if (a > 0) return log_mass(-b, -a);
  return b <= 0 ? log(below(b) - below(a)) : log1p(-below(a) - below(-b));
}

/* Finds z between a and b with Phi(z) = p by bisection (about 60 calls of erfc; a proposal takes a few hundred). */
static double quantile_between(double p, double a, double b) {
  enum { STEPS = 64 };
  for (int i = 0; i < STEPS; i++) {
    const double middle = 0.5 * (a + b);
    if (below(middle) < p) a = middle;
    else b = middle;
  }
  return 0.5 * (a + b);
}

/* ---- densities --------------------------------------------------------------------------------------------------- */

typedef struct Place { double at; size_t kernel; } Place;

static int by_place(const void *left, const void *right) {
  const Place *a = left, *b = right;
  if (a->at != b->at) return a->at < b->at ? -1 : 1;
  return (a->kernel > b->kernel) - (a->kernel < b->kernel);
}

/* Sets each kernel's width to the distance of the farther of its two neighbors (the only one at the ends), and to at
 * least 1/(n + 2) of the range for n trials, or 1/100 for many. */
static void set_widths(const CoreSearchAxis *axis, size_t n, const double *mu, double *sigma) {
  double low, high;
  Place *places = core_memory_allocate((n + 1) * sizeof *places);

  core_search_bounds(axis, &low, &high);
  for (size_t i = 0; i < n; i++) places[i] = (Place){mu[i], i};
  qsort(places, n, sizeof *places, by_place);

  const double narrowest = (high - low) / fmin(100, (double)n + 2);
  for (size_t i = 0; i < n; i++) {
    const double left = places[i].at - (i > 0 ? places[i - 1].at : low);
    const double right = (i + 1 < n ? places[i + 1].at : high) - places[i].at;
    double width = fmax(left, right);
    if (n >= 2 && i == 0) width = right;
    if (n >= 2 && i + 1 == n) width = left;
    sigma[places[i].kernel] = fmin(fmax(width, narrowest), high - low);
  }
  free(places);
}

/* Sets equal weights for the prior and up to 25 trials; with more, weights of older trials rise linearly from 1/n. */
static void set_weights(CoreParzen *parzen, size_t n) {
  enum { FLAT = 25 };
  double sum = PRIOR_WEIGHT;
  for (size_t i = 0; i < n; i++) {
    const size_t ramp = n > FLAT ? n - FLAT : 0;
    const double step = ramp > 1 ? (1 - 1 / (double)n) / ((double)ramp - 1) : 0;
    parzen->weight[i] = i < ramp ? 1 / (double)n + step * (double)i : 1;
    sum += parzen->weight[i];
  }
  parzen->weight[n] = PRIOR_WEIGHT;
  for (size_t i = 0; i <= n; i++) parzen->weight[i] /= sum;
}

static bool has_axes(const CoreTpeTrial *trial, const size_t *axis, size_t axes) {
  for (size_t a = 0; a < axes; a++)
    if (isnan(trial->coordinate[axis[a]])) return false;
  return true;
}

void core_parzen_make(const CoreSearch *search, const size_t *axis, size_t axes, const CoreTpeTrial *const *list,
                      size_t count, CoreParzen *parzen) {
  size_t n = 0;
  const CoreTpeTrial **with = core_memory_allocate((count + 1) * sizeof *with);

  for (size_t i = 0; i < count; i++)
    if (has_axes(list[i], axis, axes)) with[n++] = list[i];
  *parzen = (CoreParzen){.search = search, .axis = axis, .axes = axes, .kernels = n + 1};
  parzen->weight = core_memory_allocate(parzen->kernels * sizeof *parzen->weight);
  parzen->mu = core_memory_allocate(axes * parzen->kernels * sizeof *parzen->mu);
  parzen->sigma = core_memory_zero_allocate(axes * parzen->kernels, sizeof *parzen->sigma);

  set_weights(parzen, n);
  for (size_t a = 0; a < axes; a++) {
    const CoreSearchAxis *of = &search->axes[axis[a]];
    double *mu = parzen->mu + a * parzen->kernels, *sigma = parzen->sigma + a * parzen->kernels, low, high;
    for (size_t i = 0; i < n; i++) mu[i] = with[i]->coordinate[axis[a]];
    mu[n] = -1;
    if (of->choices) continue;
    core_search_bounds(of, &low, &high);
    set_widths(of, n, mu, sigma);
    mu[n] = 0.5 * (low + high), sigma[n] = high - low;
  }
  free(with);
}

void core_parzen_free(CoreParzen *parzen) {
  free(parzen->weight);
  free(parzen->mu);
  free(parzen->sigma);
  *parzen = (CoreParzen){0};
}

/* Returns the probability of a choice under one kernel; the prior is uniform. */
static double choice_share(const CoreParzen *parzen, const CoreSearchAxis *of, double mu, size_t choice) {
  if (mu < 0) return 1 / (double)of->choice_count;
  const double prior = PRIOR_WEIGHT / (double)parzen->kernels;
  return (prior + ((size_t)mu == choice)) / (1 + prior * (double)of->choice_count);
}

static double log_kernel(const CoreParzen *parzen, size_t a, size_t kernel, double x) {
  const CoreSearchAxis *of = &parzen->search->axes[parzen->axis[a]];
  const double mu = parzen->mu[a * parzen->kernels + kernel], sigma = parzen->sigma[a * parzen->kernels + kernel];
  double low, high;
  if (of->choices) return log(choice_share(parzen, of, mu, (size_t)x));
  core_search_bounds(of, &low, &high);
  const double mass = log_mass((low - mu) / sigma, (high - mu) / sigma), z = (x - mu) / sigma;
  double left, right;
  if (!core_search_cell(of, x, &left, &right)) return -0.5 * z * z - LOG_SQRT_2_PI - log(sigma) - mass;
  return log_mass((left - mu) / sigma, (right - mu) / sigma) - mass;
}

double core_parzen_log(const CoreParzen *parzen, const double *coordinate) {
  double *terms = core_memory_allocate(parzen->kernels * sizeof *terms), most = -INFINITY, sum = 0;
  for (size_t k = 0; k < parzen->kernels; k++) {
    terms[k] = log(parzen->weight[k]);
    for (size_t a = 0; a < parzen->axes; a++) terms[k] += log_kernel(parzen, a, k, coordinate[parzen->axis[a]]);
    most = fmax(most, terms[k]);
  }
  if (!isinf(most)) {
    for (size_t k = 0; k < parzen->kernels; k++) sum += exp(terms[k] - most);
  }
  free(terms);
  return isinf(most) ? most : most + log(sum);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static double next_unit(CoreRandomStream *stream) {
  return ((double)core_random_next(stream) + 0.5) / 4294967296.0;
}

static double draw_axis(const CoreParzen *parzen, size_t a, size_t kernel, double unit) {
  const CoreSearchAxis *of = &parzen->search->axes[parzen->axis[a]];
  const double mu = parzen->mu[a * parzen->kernels + kernel], sigma = parzen->sigma[a * parzen->kernels + kernel];
  double low, high;

  if (of->choices) {
    size_t choice = 0;
    for (double sum = 0; choice + 1 < of->choice_count; choice++) {
      sum += choice_share(parzen, of, mu, choice);
      if (unit < sum) break;
    }
    return (double)choice;
  }

  core_search_bounds(of, &low, &high);
  const double a_z = (low - mu) / sigma, b_z = (high - mu) / sigma; /* a_z <= 0 <= b_z, since mu is within the bounds */
  const double p = below(a_z) + unit * (below(b_z) - below(a_z));
  return mu + sigma * quantile_between(p, a_z, b_z);
}

/* Draws a point of the mixture, rounded to valid settings. */
static void draw(const CoreParzen *parzen, CoreRandomStream *stream, double *coordinate) {
  CoreText text = {0};
  size_t kernel = 0;
  const double unit = next_unit(stream);
  for (double sum = 0; kernel + 1 < parzen->kernels; kernel++) {
    sum += parzen->weight[kernel];
    if (unit < sum) break;
  }
  for (size_t a = 0; a < parzen->axes; a++) {
    const CoreSearchAxis *of = &parzen->search->axes[parzen->axis[a]];
    const double drawn = draw_axis(parzen, a, kernel, next_unit(stream));
    coordinate[parzen->axis[a]] = core_search_coordinate(of, core_search_value_at(of, drawn, &text));
  }
  core_text_free(&text);
}

/* ---- proposals --------------------------------------------------------------------------------------------------- */

/* Trial with a value of every goal. front: 0 for trials that no other dominates, 1 for those that only these dominate,
 * and so on. */
typedef struct Rank {
  double loss[CORE_SEARCH_GOALS_MAX];
  size_t trial, front;
} Rank;

static int by_loss(const void *left, const void *right) {
  const Rank *a = left, *b = right;
  for (size_t g = 0; g < CORE_SEARCH_GOALS_MAX; g++)
    if (a->loss[g] != b->loss[g]) return a->loss[g] < b->loss[g] ? -1 : 1;
  return (a->trial > b->trial) - (a->trial < b->trial);
}

static int by_front(const void *left, const void *right) {
  const Rank *a = left, *b = right;
  return a->front != b->front ? (a->front > b->front) - (a->front < b->front) : by_loss(left, right);
}

bool core_search_dominates(const double *a, const double *b, size_t goals) {
  bool is_better = false;
  for (size_t g = 0; g < goals; g++) {
    if (a[g] > b[g]) return false;
    is_better |= a[g] < b[g];
  }
  return is_better;
}

/* Numbers the fronts of ranks[count], which are sorted by loss, so that only earlier ones can dominate. */
static void number_fronts(Rank *ranks, size_t count) {
  for (size_t i = 0; i < count; i++) {
    ranks[i].front = 0;
    for (size_t k = 0; k < i; k++)
      if (ranks[k].front >= ranks[i].front &&
          core_search_dominates(ranks[k].loss, ranks[i].loss, CORE_SEARCH_GOALS_MAX))
        ranks[i].front = ranks[k].front + 1;
  }
}

/* Moves `wanted` of the trials of one front, sorted by their first loss, to its beginning, one by one that which adds
 * the largest area of dominated losses. Both losses are scaled to [0, 1] over the front, with the reference at 1.1
 * (greedy hypervolume subset selection; Guerreiro, Fonseca & Paquete 2016). */
static void select_spread(Rank *front, size_t count, size_t wanted) {
  static const double reference = 1.1;
  double low[CORE_SEARCH_GOALS_MAX], high[CORE_SEARCH_GOALS_MAX];
  for (size_t g = 0; g < CORE_SEARCH_GOALS_MAX; g++) {
    low[g] = high[g] = front[0].loss[g];
    for (size_t i = 1; i < count; i++) {
      low[g] = fmin(low[g], front[i].loss[g]);
      high[g] = fmax(high[g], front[i].loss[g]);
    }
  }

  for (size_t chosen = 0; chosen < wanted; chosen++) {
    size_t best = chosen;
    double most = -1;

    for (size_t i = chosen; i < count; i++) {
      /* The corner of the area that only this trial dominates: the nearest chosen trials on both sides. */
      double at[CORE_SEARCH_GOALS_MAX], corner[CORE_SEARCH_GOALS_MAX] = {reference, reference};
      for (size_t g = 0; g < CORE_SEARCH_GOALS_MAX; g++)
        at[g] = high[g] > low[g] ? (front[i].loss[g] - low[g]) / (high[g] - low[g]) : 0;
      for (size_t k = 0; k < chosen; k++)
        for (size_t g = 0; g < CORE_SEARCH_GOALS_MAX; g++) {
          const double other = high[g] > low[g] ? (front[k].loss[g] - low[g]) / (high[g] - low[g]) : 0;
          if (other >= at[g]) corner[g] = fmin(corner[g], other);
        }

      const double area = (corner[0] - at[0]) * (corner[1] - at[1]);
      if (!(area > most)) continue;
      most = area;
      best = i;
    }

    const Rank swapped = front[best];
    memmove(&front[chosen + 1], &front[chosen], (best - chosen) * sizeof *front);
    front[chosen] = swapped;
  }
}

static bool has_values(const CoreTpeTrial *trial) {
  for (size_t g = 0; g < CORE_SEARCH_GOALS_MAX; g++)
    if (isnan(trial->loss[g])) return false;
  return trial->has_ended;
}

/* Sorts the trials: by front, and those of the front of which only some are among the best `wanted` by what they
 * add. */
static void sort_ranks(Rank *ranks, size_t count, size_t goals, size_t wanted) {
  qsort(ranks, count, sizeof *ranks, by_loss);
  if (goals == 1) return;
  number_fronts(ranks, count);
  qsort(ranks, count, sizeof *ranks, by_front);

  for (size_t first = 0, end; first < wanted; first = end) {
    for (end = first; end < count && ranks[end].front == ranks[first].front;) end++;
    if (end > wanted) select_spread(ranks + first, end - first, wanted - first);
  }
}

size_t core_tpe_split(const CoreTpeTrial *trials, size_t count, size_t goals, bool *below_) {
  enum { BELOW_MAX = 25 };
  size_t ended = 0, ranked = 0, best;
  Rank *ranks = core_memory_allocate((count + 1) * sizeof *ranks);

  for (size_t i = 0; i < count; i++) {
    below_[i] = false;
    ended += trials[i].has_ended;
    if (!has_values(&trials[i])) continue;
    ranks[ranked] = (Rank){.trial = i};
    memcpy(ranks[ranked++].loss, trials[i].loss, sizeof trials[i].loss);
  }

  best = (ended + 9) / 10; /* ceil(0.1 n) */
  if (best > BELOW_MAX) best = BELOW_MAX;
  if (best > ranked) best = ranked;
  sort_ranks(ranks, ranked, goals, best);
  for (size_t i = 0; i < best; i++) below_[ranks[i].trial] = true;
  free(ranks);
  return best;
}

/* Draws these axes jointly into `coordinate` and leaves its other axes. */
static void propose_axes(const CoreSearch *search, const size_t *axis, size_t axes, const CoreTpeTrial *trials,
                         size_t count, const bool *is_below, CoreRandomStream stream, double *coordinate) {
  const CoreTpeTrial **sides = core_memory_allocate((count + 1) * sizeof *sides);
  double *candidate = core_memory_allocate(2 * search->count * sizeof *candidate), *best = candidate + search->count;
  CoreParzen good, bad;
  size_t below_count = 0, above_count = 0;

  /* Trials below the quantile first, then the others. */
  for (size_t i = 0; i < count; i++)
    if (is_below[i]) sides[below_count++] = &trials[i];
  for (size_t i = 0; i < count; i++)
    if (!is_below[i]) sides[below_count + above_count++] = &trials[i];
  core_parzen_make(search, axis, axes, sides, below_count, &good);
  core_parzen_make(search, axis, axes, sides + below_count, above_count, &bad);

  /* The candidate of the largest ratio good / bad wins. */
  double most = -INFINITY;
  for (int i = 0; i < CORE_TPE_CANDIDATES; i++) {
    draw(&good, &stream, candidate);
    const double gain = core_parzen_log(&good, candidate) - core_parzen_log(&bad, candidate);
    if (i > 0 && !(gain > most)) continue;
    most = gain;
    memcpy(best, candidate, search->count * sizeof *best);
  }

  for (size_t a = 0; a < axes; a++) coordinate[axis[a]] = best[axis[a]];
  core_parzen_free(&good);
  core_parzen_free(&bad);
  free(candidate);
  free(sides);
}

void core_tpe_propose(const CoreSearch *search, const CoreTpeTrial *trials, size_t count, uint64_t seed,
                      int64_t number, double *coordinate) {
  enum { TOGETHER = 2, ALONE = 3 }; /* second indices of the streams; draw.c uses 0 and 1 */
  bool *is_below = core_memory_allocate(count + 1);
  size_t together[CORE_SEARCH_AXES_MAX], axes = 0;

  core_tpe_split(trials, count, search->goal_count, is_below);
  for (size_t i = 0; i < search->count; i++) {
    coordinate[i] = NAN;
    if (search->axes[i].parent == CORE_SEARCH_NO_PARENT) together[axes++] = i;
  }

  propose_axes(search, together, axes, trials, count, is_below,
               core_random_stream(seed, CORE_RANDOM_TRIAL, (uint32_t)number, TOGETHER), coordinate);

  /* Settings with a condition are proposed alone, after the setting that they depend on. */
  for (size_t i = 0; i < search->count; i++) {
    const size_t axis = search->order[i];
    if (search->axes[axis].parent == CORE_SEARCH_NO_PARENT) continue;
    if (!core_search_is_active(search, axis, coordinate)) continue;
    propose_axes(search, &axis, 1, trials, count, is_below,
                 core_random_stream(seed, CORE_RANDOM_TRIAL, (uint32_t)number, ALONE + (uint32_t)axis), coordinate);
  }
  free(is_below);
}
