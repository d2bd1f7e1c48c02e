/* Tests about the best setting (contrast.h), which is estimated from the data that test it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/allowance.h"
#include "analysis/claims/contrast.h"
#include "core/memory.h"

/* Distinct keys and second keys of a claim, with a buffer of weights. */
typedef struct Choices {
  const AnalysisCells *cells;
  double *key, *second;  /* [keys], [seconds] */
  double *weight;        /* [cells] scratch */
  size_t keys, seconds;
} Choices;

static Choices choices_create(const AnalysisCells *cells) {
  Choices c = {.cells = cells, .weight = core_memory_allocate((cells->cells + 1) * sizeof *c.weight)};
  c.key = analysis_distinct(cells->key, cells->cells, &c.keys);
  c.second = analysis_distinct(cells->second, cells->cells, &c.seconds);
  return c;
}

static void choices_free(Choices *c) {
  free(c->key);
  free(c->second);
  free(c->weight);
}

/* Setting of a claim: indices of its key and second key. */
typedef struct Setting { size_t key, second; } Setting;

/* Computes the contrast a - b, averaged over the strata that have both; returns their number. */
static size_t setting_contrast(const Choices *c, Setting a, Setting b, AnalysisContrast *contrast) {
  memset(c->weight, 0, (c->cells->cells + 1) * sizeof *c->weight);
  const size_t used = analysis_add_pair_weights(c->cells, c->key[a.key], c->second[a.second], c->key[b.key],
                                          c->second[b.second], 1, c->weight);
  if (used > 0) *contrast = analysis_contrast(c->cells, c->weight);
  return used;
}

/* Computes the contrast (a - b at the lowest second key) - (a - b at the highest), averaged over strata; with sign 1
 * their sum. */
static size_t ends_contrast(const Choices *c, size_t a, size_t b, double sign, AnalysisContrast *contrast) {
  const double low = c->second[0], high = c->second[c->seconds - 1];
  memset(c->weight, 0, (c->cells->cells + 1) * sizeof *c->weight);
  const size_t used = analysis_add_pair_weights(c->cells, c->key[a], low, c->key[b], low, 1, c->weight);
  const size_t other = analysis_add_pair_weights(c->cells, c->key[a], high, c->key[b], high, sign, c->weight);
  if (used == 0 || other == 0) return 0;
  *contrast = analysis_contrast(c->cells, c->weight);
  return used < other ? used : other;
}

/* Combines the tests that a setting is not the best and that it meets the claim: either suffices. */
static double either(double p_not_best, double p_claim, bool has_rivals) {
  return has_rivals ? fmin(1, 2 * fmin(p_not_best, p_claim)) : p_claim;
}

/* ---- ends of the key --------------------------------------------------------------------------------------------- */

enum { END_CELLS_MIN = 3 };

static size_t count_cells(const AnalysisCells *cells, size_t s) { return cells->stratum[s + 1] - cells->stratum[s]; }

/* Whether all compared strata have the same keys. */
static bool has_same_keys(const AnalysisCells *cells) {
  size_t first = SIZE_MAX;
  for (size_t s = 0; s < cells->strata; s++) {
    const size_t n = count_cells(cells, s);
    if (n < END_CELLS_MIN) continue;
    if (first == SIZE_MAX) first = s;
    if (n != count_cells(cells, first)) return false;
    for (size_t i = 0; i < n; i++)
      if (cells->key[cells->stratum[s] + i] != cells->key[cells->stratum[first] + i]) return false;
  }
  return true;
}

/* Finds the cell with the highest mean among begin .. end - 1, except `excluded`. */
static size_t find_best(const AnalysisCells *cells, size_t begin, size_t end, size_t excluded) {
  size_t best = SIZE_MAX;
  for (size_t c = begin; c < end; c++) {
    if (c == excluded) continue;
    if (best == SIZE_MAX ||
        analysis_cells_mean(cells, cells->score, c) > analysis_cells_mean(cells, cells->score, best))
      best = c;
  }
  return best;
}

/* Computes the contrast of another cell - the end cell, averaged over strata: the cell with this index in each stratum,
 * or the best one of each if index is SIZE_MAX. *choices: number of possible selections. Returns the number of
 * strata. */
static size_t end_contrast(const Choices *c, bool high, size_t index, AnalysisContrast *contrast, double *choices) {
  size_t used = 0;
  *choices = 1;
  memset(c->weight, 0, (c->cells->cells + 1) * sizeof *c->weight);

  for (size_t s = 0; s < c->cells->strata; s++) {
    const size_t n = count_cells(c->cells, s), begin = c->cells->stratum[s], end = high ? begin + n - 1 : begin;
    if (n < END_CELLS_MIN) continue;
    if (index != SIZE_MAX && begin + index == end) return 0;

    c->weight[index == SIZE_MAX ? find_best(c->cells, begin, begin + n, end) : begin + index]++;
    c->weight[end]--;
    *choices = index == SIZE_MAX ? *choices * (double)(n - 1) : (double)(n - 1);
    used++;
  }

  for (size_t i = 0; i < c->cells->cells; i++) c->weight[i] /= (double)(used > 0 ? used : 1);
  *contrast = analysis_contrast(c->cells, c->weight);
  return used;
}

/* Returns the cells with the allowances of analysis_allow_sides, which the caller frees; *allowance NULL: none. */
static AnalysisCells allow_sides(const AnalysisCells *cells, bool high, AnalysisAllowance **allowance) {
  AnalysisCells sides = *cells;
  bool *is_end = core_memory_zero_allocate(cells->cells + 1, sizeof *is_end);
  for (size_t s = 0; s < cells->strata; s++) is_end[high ? cells->stratum[s + 1] - 1 : cells->stratum[s]] = true;
  *allowance = analysis_allow_sides(cells, is_end);
  sides.allowance = *allowance;
  free(is_end);
  return sides;
}

/* Tests whether another key beats the one at the end, with Bonferroni for the number of candidates: one for all strata,
 * or one in each if these have different keys. That other key may owe its lead to failures that its runs do not show,
 * which is allowed for; or else two keys beat the end, with the allowance for failures of the whole side. */
AnalysisTestResult analysis_test_end(const AnalysisCells *cells, bool high) {
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  AnalysisAllowance *allowance;
  const AnalysisCells sides = allow_sides(cells, high, &allowance);
  Choices c = choices_create(cells);
  const bool same = has_same_keys(cells);
  double best = -INFINITY, beaten = 1, unbeaten = 0, first = 1, second = 1, choices;

  for (size_t index = 0; index < (same ? c.keys : 1); index++) {
    AnalysisContrast contrast;
    const size_t used = end_contrast(&c, high, same ? index : SIZE_MAX, &contrast, &choices);
    if (used == 0) continue;

    result.strata = used;
    beaten = fmin(beaten, fmin(1, choices * analysis_contrast_above(contrast, 0)));
    unbeaten = fmax(unbeaten, analysis_contrast_below(contrast, 0));
    if (contrast.estimate > best) {
      best = contrast.estimate;
      result.interval = analysis_contrast_interval(contrast, cells->count);
    }

    if (!allowance || !same) continue;
    const double p = fmin(1, choices * analysis_contrast_above(analysis_contrast(&sides, c.weight), 0));
    second = fmin(second, fmax(first, p));
    first = fmin(first, p);
  }

  if (result.strata > 0) {
    result.p_for = fmin(beaten, second);
    result.p_against = unbeaten;
  }

  free(allowance);
  choices_free(&c);
  return result;
}

/* Computes the mean of x at the end cells over strata. */
static AnalysisContrast end_gain(const Choices *c, bool high) {
  AnalysisCells cells = *c->cells;
  size_t used = 0;
  cells.score = cells.x;
  cells.allowance = NULL; /* it is that of scores */
  memset(c->weight, 0, (cells.cells + 1) * sizeof *c->weight);
  for (size_t s = 0; s < cells.strata; s++) {
    const size_t n = count_cells(&cells, s), begin = cells.stratum[s];
    if (n < END_CELLS_MIN) continue;
    c->weight[high ? begin + n - 1 : begin]++;
    used++;
  }
  for (size_t i = 0; i < cells.cells; i++) c->weight[i] /= (double)(used > 0 ? used : 1);
  return analysis_contrast(&cells, c->weight);
}

AnalysisTestResult analysis_test_plateau(const AnalysisCells *cells, bool high, double margin) {
  AnalysisTestResult result = analysis_test_end(cells, high);
  if (result.strata == 0) return result;
  Choices c = choices_create(cells);
  const AnalysisContrast gain = end_gain(&c, high);
  result.condition = analysis_contrast_interval(gain, cells->count);
  result.p_for = fmax(result.p_for, analysis_contrast_below(gain, margin));
  result.p_against = fmin(1, 2 * fmin(result.p_against, analysis_contrast_above(gain, margin)));
  choices_free(&c);
  return result;
}

/* ---- ends of the second key -------------------------------------------------------------------------------------- */

/* Returns the probability for the test that some key other than `end` is better than k over both ends together.
 * *rivals: number of such keys. */
static double p_not_best(const Choices *c, size_t k, size_t end, size_t *rivals) {
  double p = 1;
  *rivals = 0;
  for (size_t j = 0; j < c->keys; j++) {
    AnalysisContrast contrast;
    if (j == k || j == end || ends_contrast(c, j, k, 1, &contrast) == 0) continue;
    p = fmin(p, analysis_contrast_above(contrast, 0));
    ++*rivals;
  }
  return fmin(1, p * (double)*rivals);
}

/* Returns the mean of key k over both ends and all strata that have both; NaN: none. */
static double mean_of_ends(const Choices *c, size_t k) {
  double sum = 0;
  size_t used = 0;
  for (size_t s = 0; s < c->cells->strata; s++) {
    const size_t low = analysis_cell_find(c->cells, s, c->key[k], c->second[0]);
    const size_t high = analysis_cell_find(c->cells, s, c->key[k], c->second[c->seconds - 1]);
    if (low == SIZE_MAX || high == SIZE_MAX) continue;
    sum += analysis_cells_mean(c->cells, c->cells->score, low) + analysis_cells_mean(c->cells, c->cells->score, high);
    used++;
  }
  return used > 0 ? sum / (double)used : NAN;
}

/* Tests whether the key at the end loses more to the best other key at the lowest second key than at the highest. */
AnalysisTestResult analysis_test_robust(const AnalysisCells *cells, bool high) {
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  Choices c = choices_create(cells);
  const size_t end = high && c.keys > 0 ? c.keys - 1 : 0;
  double best = -INFINITY, p_for = 0, p_against = 0;

  const size_t keys = c.seconds > 1 ? c.keys : 0;
  for (size_t k = 0; k < keys; k++) {
    AnalysisContrast contrast;
    const size_t used = k == end ? 0 : ends_contrast(&c, k, end, -1, &contrast);
    size_t rivals;
    if (used == 0) continue;

    const double not_best = p_not_best(&c, k, end, &rivals);
    p_for = fmax(p_for, either(not_best, analysis_contrast_above(contrast, 0), rivals > 0));
    p_against = fmax(p_against, either(not_best, analysis_contrast_below(contrast, 0), rivals > 0));

    const double mean = mean_of_ends(&c, k);
    if (mean > best) {
      best = mean;
      result.interval = analysis_contrast_interval(contrast, cells->count);
    }
    if (used > result.strata) result.strata = used;
  }

  if (result.strata > 0) {
    result.p_for = p_for;
    result.p_against = p_against;
  }

  choices_free(&c);
  return result;
}

/* Probabilities for a key: that it is not the best at one end of the second key; and at the other end, that it loses
 * less than the margin to every key, and that it loses more to some key. */
typedef struct EndTest { double not_best, small_loss, large_loss, mean; size_t rivals, strata; } EndTest;

static EndTest test_key(const Choices *c, size_t k, size_t end, size_t other_end, double margin) {
  EndTest test = {.not_best = 1, .large_loss = 1};
  for (size_t j = 0; j < c->keys; j++) {
    if (j == k) continue;
    AnalysisContrast contrast;
    if (setting_contrast(c, (Setting){j, end}, (Setting){k, end}, &contrast) > 0) {
      test.not_best = fmin(test.not_best, analysis_contrast_above(contrast, 0));
      test.mean -= contrast.estimate;
      test.rivals++;
    }

    const size_t used = setting_contrast(c, (Setting){j, other_end}, (Setting){k, other_end}, &contrast);
    if (used == 0) continue;
    test.small_loss = fmax(test.small_loss, analysis_contrast_below(contrast, margin));
    test.large_loss = fmin(test.large_loss, analysis_contrast_above(contrast, margin));
    if (used > test.strata) test.strata = used;
  }

  test.not_best = fmin(1, test.not_best * (double)test.rivals);
  test.large_loss = fmin(1, test.large_loss * (double)test.rivals);
  return test;
}

/* Returns the interval of the largest loss of key k to another key at a second key; negative if none beats it. */
static AnalysisInterval largest_loss(const Choices *c, size_t k, size_t second) {
  AnalysisContrast largest = {.estimate = -INFINITY, .degrees = 1}, contrast;
  for (size_t j = 0; j < c->keys; j++) {
    if (j == k || setting_contrast(c, (Setting){j, second}, (Setting){k, second}, &contrast) == 0) continue;
    if (contrast.estimate > largest.estimate) largest = contrast;
  }
  return analysis_contrast_interval(largest, c->cells->count);
}

/* Tests whether the best key at either end of the second key loses less than the margin at the other end. */
AnalysisTestResult analysis_test_same_best(const AnalysisCells *cells, double margin) {
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  Choices c = choices_create(cells);
  const size_t ends[2] = {0, c.seconds > 0 ? c.seconds - 1 : 0};
  double p_for = 0, p_against = 1;

  const int sides = c.keys > 2 && c.seconds > 1 ? 2 : 0;
  for (int side = 0; side < sides; side++) {
    const size_t end = ends[side], other_end = ends[1 - side];
    size_t best = SIZE_MAX;
    double best_mean = -INFINITY, against = 0;

    for (size_t k = 0; k < c.keys; k++) {
      const EndTest test = test_key(&c, k, end, other_end, margin);
      if (test.strata == 0 || test.rivals == 0) continue;
      p_for = fmax(p_for, either(test.not_best, test.small_loss, true));
      against = fmax(against, either(test.not_best, test.large_loss, true));
      if (test.strata > result.strata) result.strata = test.strata;
      if (test.mean <= best_mean) continue;
      best_mean = test.mean;
      best = k;
    }

    if (best == SIZE_MAX) continue;
    const AnalysisInterval loss = largest_loss(&c, best, other_end);
    if (isnan(result.interval.center) || loss.center > result.interval.center) result.interval = loss;
    p_against = fmin(p_against, fmin(1, 2 * against));
  }

  if (result.strata > 0) {
    result.p_for = p_for;
    result.p_against = p_against;
  }

  choices_free(&c);
  return result;
}

/* Computes the contrast of another setting - the best one at a second key, averaged over the strata that have both.
 * *choices: number of possible selections of the best. */
static size_t contrast_with_best(const Choices *c, Setting other, double second, AnalysisContrast *contrast,
                                 double *choices) {
  const AnalysisCells *cells = c->cells;
  size_t used = 0;
  *choices = 1;
  memset(c->weight, 0, (cells->cells + 1) * sizeof *c->weight);

  for (size_t s = 0; s < cells->strata; s++) {
    const size_t e = analysis_cell_find(cells, s, c->key[other.key], c->second[other.second]);
    size_t begin = cells->stratum[s], end = cells->stratum[s + 1]; /* sorted by second key */
    while (begin < end && cells->second[begin] != second) begin++;
    while (end > begin && cells->second[end - 1] != second) end--;
    if (e == SIZE_MAX || begin == end) continue;

    c->weight[e]++;
    c->weight[find_best(cells, begin, end, SIZE_MAX)]--;
    *choices *= (double)(end - begin);
    used++;
  }

  for (size_t i = 0; i < cells->cells; i++) c->weight[i] /= (double)(used > 0 ? used : 1);
  if (used > 0) *contrast = analysis_contrast(cells, c->weight);
  return used;
}

/* Tests whether the best setting at one end of the second key is worse than the best one elsewhere. Bonferroni for the
 * number of settings elsewhere (one for all strata), and for the opposite for those at the end (one per stratum). */
AnalysisTestResult analysis_test_best_at(const AnalysisCells *cells, bool high) {
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  Choices c = choices_create(cells);
  const size_t end = high && c.seconds > 0 ? c.seconds - 1 : 0;
  double largest = -INFINITY, p_for = 1, p_against = 0, choices;
  size_t others = 0;
  const size_t settings = c.seconds > 1 ? c.keys * c.seconds : 0;
  for (size_t e = 0; e < settings; e++) {
    const Setting other = {e / c.seconds, e % c.seconds};
    AnalysisContrast contrast;
    const size_t used = other.second == end ? 0 : contrast_with_best(&c, other, c.second[end], &contrast, &choices);
    if (used == 0) continue;

    others++;
    p_for = fmin(p_for, analysis_contrast_above(contrast, 0));
    p_against = fmax(p_against, fmin(1, choices * analysis_contrast_below(contrast, 0)));

    if (contrast.estimate > largest) {
      largest = contrast.estimate;
      result.interval = analysis_contrast_interval(contrast, cells->count);
    }
    if (used > result.strata) result.strata = used;
  }

  if (result.strata > 0) {
    result.p_for = fmin(1, p_for * (double)others);
    result.p_against = p_against;
  }

  choices_free(&c);
  return result;
}
