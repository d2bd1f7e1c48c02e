/* Linear contrasts of cell means and their t tests (contrast.h). Selection from the same data is corrected for: by
 * Bonferroni, or by testing against the strongest competitor. choices.c has the tests that select a best setting. */
#include "analysis/claims/contrast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/allowance.h"
#include "core/memory.h"

static double cell_mean(const AnalysisCells *cells, size_t c) { return analysis_cells_mean(cells, cells->score, c); }

AnalysisContrast analysis_contrast(const AnalysisCells *cells, const double *weight) {
  double variance = 0, fourth = 0;
  size_t smallest = SIZE_MAX, largest = 0;
  AnalysisContrast contrast = {0, 0, 1, 0, 0};

  for (size_t c = 0; c < cells->cells; c++) {
    const size_t n = cells->first[c + 1] - cells->first[c];
    if (weight[c] == 0) continue;
    const double sd = analysis_sd(cells->score + cells->first[c], n);
    const double cell_variance = weight[c] * weight[c] * sd * sd / (double)n;
    contrast.estimate += weight[c] * cell_mean(cells, c);
    variance += cell_variance;
    fourth += cell_variance * cell_variance / (double)(n - 1);

    smallest = n < smallest ? n : smallest;
    largest = n > largest ? n : largest;
  }

  contrast.error = sqrt(variance);
  if (variance > 0) contrast.degrees = variance * variance / fourth;
  if (smallest < largest) contrast.degrees = fmin(contrast.degrees, (double)(smallest - 1));
  analysis_contrast_allow(cells, weight, &contrast);
  return contrast;
}

double analysis_contrast_above(AnalysisContrast contrast, double bound) {
  const double distance = contrast.estimate - contrast.over - bound, d = contrast.degrees;
  if (isnan(distance) || isnan(contrast.error)) return NAN;
  if (contrast.error == 0) return 1;
  const double t = distance / contrast.error, tail = analysis_incomplete_beta(d / 2, 0.5, d / (d + t * t)) / 2;
  return t >= 0 ? tail : 1 - tail;
}

double analysis_contrast_below(AnalysisContrast contrast, double bound) {
  const double over = contrast.over;
  contrast.estimate = -contrast.estimate;
  contrast.over = contrast.under;
  contrast.under = over;
  return analysis_contrast_above(contrast, -bound);
}

AnalysisInterval analysis_contrast_interval(AnalysisContrast contrast, size_t n) {
  const double half = contrast.error > 0 ? contrast.error * analysis_student_quantile(0.975, contrast.degrees) : 0;
  return (AnalysisInterval){contrast.estimate, contrast.estimate - half, contrast.estimate + half, n};
}

AnalysisTestResult analysis_contrasts_within(const AnalysisCells *cells, const double *weights, size_t count,
                                         double margin) {
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  double outside = 1;

  if (count == 0) return result;
  result.p_for = 0;
  for (size_t i = 0; i < count; i++) {
    const AnalysisContrast contrast = analysis_contrast(cells, weights + i * cells->cells);
    const double above = analysis_contrast_above(contrast, -margin), below = analysis_contrast_below(contrast, margin);
    const double p = fmax(above, below);
    result.p_for = fmax(result.p_for, p);
    outside = fmin(outside, analysis_contrast_below(contrast, -margin));
    outside = fmin(outside, analysis_contrast_above(contrast, margin));

    if (i == 0 || fabs(contrast.estimate) > fabs(result.interval.center))
      result.interval = analysis_contrast_interval(contrast, cells->count);
  }

  result.p_against = fmin(1, outside * (double)count);
  return result;
}

/* ---- equality --------------------------------------------------------------------------------------------------- */

double *analysis_distinct(const double *value, size_t count, size_t *found) {
  double *list = core_memory_allocate((count + 1) * sizeof *list);
  if (count > 0) memcpy(list, value, count * sizeof *list);
  qsort(list, count, sizeof *list, analysis_compare_values);
  *found = 0;
  for (size_t i = 0; i < count; i++)
    if (*found == 0 || list[i] != list[*found - 1]) list[(*found)++] = list[i];
  return list;
}

size_t analysis_cell_find(const AnalysisCells *cells, size_t stratum, double key, double second) {
  for (size_t c = cells->stratum[stratum]; c < cells->stratum[stratum + 1]; c++)
    if (cells->key[c] == key && (isnan(second) || cells->second[c] == second)) return c;
  return SIZE_MAX;
}

size_t analysis_add_pair_weights(const AnalysisCells *cells, double key_a, double second_a, double key_b,
                                 double second_b, double sign, double *weight) {
  size_t used = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (size_t s = 0; s < cells->strata; s++) {
      const size_t a = analysis_cell_find(cells, s, key_a, second_a), b = analysis_cell_find(cells, s, key_b, second_b);
      if (a == SIZE_MAX || b == SIZE_MAX) continue;
      if (pass == 0) used++;
      if (pass == 0) continue;
      weight[a] += sign / (double)used;
      weight[b] -= sign / (double)used;
    }
    if (used == 0) return 0;
  }
  return used;
}

AnalysisTestResult analysis_test_equal(const AnalysisCells *cells, double margin) {
  size_t keys, count = 0, strata = 0;
  double *key = analysis_distinct(cells->key, cells->cells, &keys);
  double *weights = core_memory_zero_allocate(keys * keys * cells->cells + 1, sizeof *weights);

  for (size_t i = 0; i < keys; i++) {
    for (size_t j = i + 1; j < keys; j++) {
      const size_t used = analysis_add_pair_weights(cells, key[j], NAN, key[i], NAN, 1, weights + count * cells->cells);
      if (used > strata) strata = used;
      count += used > 0;
    }
  }

  AnalysisTestResult result = analysis_contrasts_within(cells, weights, count, margin);
  result.strata = strata;

  free(weights);
  free(key);
  return result;
}

AnalysisTestResult analysis_test_not_worse(const AnalysisCells *cells, double margin) {
  size_t keys;
  double *key = analysis_distinct(cells->key, cells->cells, &keys);
  double *weight = core_memory_zero_allocate(cells->cells + 1, sizeof *weight);
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  if (keys > 1) result.strata = analysis_add_pair_weights(cells, key[keys - 1], NAN, key[0], NAN, 1, weight);
  if (result.strata > 0) {
    const AnalysisContrast contrast = analysis_contrast(cells, weight);
    result.interval = analysis_contrast_interval(contrast, cells->count);
    result.p_for = analysis_contrast_above(contrast, -margin);
    result.p_against = analysis_contrast_below(contrast, -margin);
  }
  free(weight);
  free(key);
  return result;
}

/* ---- equality of bests ------------------------------------------------------------------------------------------- */

/* Distinct keys and second keys of a claim. */
typedef struct Axes { double *key, *second; size_t keys, seconds; } Axes;

/* Compares the best of key i, over the second key, with the best of key j. p_for: that the best of i does not exceed it
 * by the margin; p_against: that it does. Since the best second key is unknown, every second key of i must stay below
 * some one of j (Bonferroni for their number); for the opposite, one of i must exceed all of j. strata 0: nothing to
 * compare. weight: scratch [cells]. */
static AnalysisTestResult compare_bests(const AnalysisCells *cells, const Axes *axes, size_t i, size_t j, double margin,
                                    double *weight) {
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  double largest = -INFINITY;
  size_t count_i = 0, count_j = 0;
  result.p_for = 0;
  result.p_against = 1;

  for (size_t e = 0; e < axes->seconds; e++) {
    double below = 1, above = 0, nearest = INFINITY;
    AnalysisContrast closest = {0};
    size_t others = 0;

    for (size_t f = 0; f < axes->seconds; f++) {
      memset(weight, 0, (cells->cells + 1) * sizeof *weight);
      const size_t used =
        analysis_add_pair_weights(cells, axes->key[i], axes->second[e], axes->key[j], axes->second[f], 1, weight);
      if (used == 0) continue;

      const AnalysisContrast contrast = analysis_contrast(cells, weight);
      below = fmin(below, analysis_contrast_below(contrast, margin));
      above = fmax(above, analysis_contrast_above(contrast, margin));
      if (contrast.estimate < nearest) {
        nearest = contrast.estimate;
        closest = contrast;
      }

      if (used > result.strata) result.strata = used;
      others++;
    }

    if (others == 0) continue;
    count_i++;
    if (others > count_j) count_j = others;
    result.p_for = fmax(result.p_for, below);
    result.p_against = fmin(result.p_against, above);

    if (nearest <= largest) continue;
    largest = nearest;
    result.interval = analysis_contrast_interval(closest, cells->count);
  }

  result.p_for = fmin(1, result.p_for * (double)count_j);
  result.p_against = fmin(1, result.p_against * (double)count_i);
  return result;
}

AnalysisTestResult analysis_test_best_equal(const AnalysisCells *cells, double margin) {
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  Axes axes = {0};
  size_t pairs = 0;
  axes.key = analysis_distinct(cells->key, cells->cells, &axes.keys);
  axes.second = analysis_distinct(cells->second, cells->cells, &axes.seconds);
  double *weight = core_memory_allocate((cells->cells + 1) * sizeof *weight);

  const size_t keys = axes.seconds > 1 ? axes.keys : 0;
  for (size_t i = 0; i < keys; i++) {
    for (size_t j = 0; j < axes.keys; j++) {
      if (i == j) continue;
      const AnalysisTestResult one = compare_bests(cells, &axes, i, j, margin, weight);
      if (one.strata == 0) continue;

      if (pairs == 0 || one.interval.center > result.interval.center) result.interval = one.interval;
      result.p_for = pairs == 0 ? one.p_for : fmax(result.p_for, one.p_for);
      result.p_against = pairs == 0 ? one.p_against : fmin(result.p_against, one.p_against);
      if (one.strata > result.strata) result.strata = one.strata;
      pairs++;
    }
  }

  if (pairs > 0) result.p_against = fmin(1, result.p_against * (double)pairs);
  free(weight);
  free(axes.key);
  free(axes.second);
  return result;
}

/* ---- gains ------------------------------------------------------------------------------------------------------- */

/* Adds the weights of the gain from the lowest to the highest key at second key a minus the gain at b. Returns the
 * number of strata. */
static size_t add_gain_weights(const AnalysisCells *cells, double low, double high, double a, double b,
                               double *weight) {
  const size_t first = analysis_add_pair_weights(cells, high, a, low, a, 1, weight);
  const size_t other = analysis_add_pair_weights(cells, high, b, low, b, -1, weight);
  return first < other ? first : other;
}

AnalysisTestResult analysis_test_gain(const AnalysisCells *cells, int sign) {
  size_t keys, seconds;
  double *key = analysis_distinct(cells->key, cells->cells, &keys);
  double *second = analysis_distinct(cells->second, cells->cells, &seconds);
  double *weight = core_memory_zero_allocate(cells->cells + 1, sizeof *weight);
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;

  if (keys > 1 && seconds > 1)
    result.strata = add_gain_weights(cells, key[0], key[keys - 1], second[seconds - 1], second[0], weight);

  if (result.strata > 0) {
    const AnalysisContrast contrast = analysis_contrast(cells, weight);
    result.interval = analysis_contrast_interval(contrast, cells->count);
    result.p_for = sign > 0 ? analysis_contrast_above(contrast, 0) : analysis_contrast_below(contrast, 0);
    result.p_against = sign > 0 ? analysis_contrast_below(contrast, 0) : analysis_contrast_above(contrast, 0);
  }

  free(weight);
  free(key);
  free(second);
  return result;
}

AnalysisTestResult analysis_test_gain_equal(const AnalysisCells *cells, double margin) {
  size_t keys, seconds, count = 0, strata = 0;
  double *key = analysis_distinct(cells->key, cells->cells, &keys);
  double *second = analysis_distinct(cells->second, cells->cells, &seconds);
  double *weights = core_memory_zero_allocate(seconds * seconds * cells->cells + 1, sizeof *weights);

  const size_t compared = keys > 1 ? seconds : 0;
  for (size_t i = 0; i < compared; i++) {
    for (size_t j = i + 1; j < seconds; j++) {
      double *weight = weights + count * cells->cells;
      const size_t used = add_gain_weights(cells, key[0], key[keys - 1], second[j], second[i], weight);
      if (used > strata) strata = used;
      if (used > 0) count++;
      else memset(weight, 0, cells->cells * sizeof *weight);
    }
  }

  AnalysisTestResult result = analysis_contrasts_within(cells, weights, count, margin);
  result.strata = strata;

  free(weights);
  free(key);
  free(second);
  return result;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

double analysis_order_violation(const AnalysisCells *cells, int sign, double pair[3]) {
  size_t keys, pairs = 0;
  double *key = analysis_distinct(cells->key, cells->cells, &keys), p_min = 1;
  double *weight = core_memory_allocate((cells->cells + 1) * sizeof *weight);

  for (size_t i = 0; i < keys; i++) {
    for (size_t j = i + 1; j < keys; j++) {
      memset(weight, 0, (cells->cells + 1) * sizeof *weight);
      if (analysis_add_pair_weights(cells, key[j], NAN, key[i], NAN, sign, weight) == 0) continue;

      AnalysisContrast contrast = analysis_contrast(cells, weight);
      contrast.over = contrast.under = 0; /* a caution needs less than a verdict */
      const double p = analysis_contrast_below(contrast, 0);
      pairs++;

      if (!(p < p_min)) continue;
      p_min = p;
      pair[0] = key[i];
      pair[1] = key[j];
      pair[2] = -contrast.estimate;
    }
  }

  free(weight);
  free(key);
  return fmin(1, p_min * (double)(pairs > 0 ? pairs : 1));
}

/* ---- means ------------------------------------------------------------------------------------------------------- */

/* Sums the squares of the units' contributions to a mean over cells. *shared: whether a unit has runs in several
 * cells. */
static double sum_unit_squares(const AnalysisCells *cells, const size_t *unit, bool *shared) {
  double *deviation = core_memory_zero_allocate(cells->count + 1, sizeof *deviation), sum = 0;
  size_t *cell = core_memory_allocate((cells->count + 1) * sizeof *cell); /* [count] cell of a unit's first run */

  *shared = false;
  for (size_t c = 0; c < cells->cells; c++) {
    const size_t first = cells->first[c], end = cells->first[c + 1];
    const double n = (double)(end - first), mean = cell_mean(cells, c);

    for (size_t i = first; i < end; i++) {
      size_t first_run = 0;
      while (unit[first_run] != unit[i]) first_run++;
      if (first_run == i) cell[i] = c;
      *shared = *shared || cell[first_run] != c;
      deviation[first_run] += (cells->score[i] - mean) / sqrt(n * (n - 1)) / (double)cells->cells;
    }
  }

  for (size_t i = 0; i < cells->count; i++) sum += deviation[i] * deviation[i];
  free(deviation);
  free(cell);
  return sum;
}

AnalysisTestResult analysis_test_mean(const AnalysisCells *cells, const size_t *unit, double null, int sign) {
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  if (cells->cells == 0) return result;

  double *weight = core_memory_allocate(cells->cells * sizeof *weight), smallest = INFINITY;
  bool shared = false;

  for (size_t c = 0; c < cells->cells; c++) {
    weight[c] = 1 / (double)cells->cells;
    smallest = fmin(smallest, (double)(cells->first[c + 1] - cells->first[c]));
  }

  AnalysisContrast contrast = analysis_contrast(cells, weight);
  const double error = contrast.error > 0 ? sqrt(sum_unit_squares(cells, unit, &shared)) : 0;
  if (shared) contrast.degrees = smallest - 1;
  contrast.error = shared ? error : contrast.error;

  result.interval = analysis_contrast_interval(contrast, cells->count);
  result.p_for = sign > 0 ? analysis_contrast_above(contrast, null) : analysis_contrast_below(contrast, null);
  result.p_against = sign > 0 ? analysis_contrast_below(contrast, null) : analysis_contrast_above(contrast, null);
  result.strata = cells->strata;

  free(weight);
  return result;
}
