/* Weights of cells, and what Student's t says of the sums (contrast.h). A choice that is made from the same data is
 * paid for: by Bonferroni, or by taking the competitor that is hardest to beat. choices.c has the tests of bests. */
#include "analysis/claims/contrast_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

static double cell_mean(const AnalysisCells *cells, size_t c) { return analysis_cells_mean(cells, cells->score, c); }

AnalysisContrast analysis_contrast(const AnalysisCells *cells, const double *weight) {
  double variance = 0, fourth = 0;
  size_t least = SIZE_MAX, most = 0;
  AnalysisContrast contrast = {0, 0, 1};
  for (size_t c = 0; c < cells->cells; c++) {
    const size_t n = cells->first[c + 1] - cells->first[c];
    if (weight[c] == 0) continue;
    const double sd = analysis_sd(cells->score + cells->first[c], n);
    const double part = weight[c] * weight[c] * sd * sd / (double)n;
    contrast.estimate += weight[c] * cell_mean(cells, c);
    variance += part;
    fourth += part * part / (double)(n - 1);
    least = n < least ? n : least;
    most = n > most ? n : most;
  }
  contrast.error = sqrt(variance);
  if (variance > 0) contrast.degrees = variance * variance / fourth;
  if (least < most) contrast.degrees = fmin(contrast.degrees, (double)(least - 1));
  return contrast;
}

double analysis_contrast_above(AnalysisContrast contrast, double bound) {
  const double distance = contrast.estimate - bound, d = contrast.degrees;
  if (isnan(distance) || isnan(contrast.error)) return NAN;
  if (contrast.error == 0) return 1;
  const double t = distance / contrast.error, tail = analysis_incomplete_beta(d / 2, 0.5, d / (d + t * t)) / 2;
  return t >= 0 ? tail : 1 - tail;
}

double analysis_contrast_below(AnalysisContrast contrast, double bound) {
  contrast.estimate = -contrast.estimate;
  return analysis_contrast_above(contrast, -bound);
}

AnalysisInterval analysis_contrast_interval(AnalysisContrast contrast, size_t n) {
  const double half = contrast.error > 0 ? contrast.error * analysis_student_quantile(0.975, contrast.degrees) : 0;
  return (AnalysisInterval){contrast.estimate, contrast.estimate - half, contrast.estimate + half, n};
}

AnalysisTested analysis_contrasts_within(const AnalysisCells *cells, const double *weights, size_t count,
                                         double margin) {
  AnalysisTested tested = ANALYSIS_NOT_TESTED;
  double outside = 1;
  if (count == 0) return tested;
  tested.p_for = 0;
  for (size_t i = 0; i < count; i++) {
    const AnalysisContrast contrast = analysis_contrast(cells, weights + i * cells->cells);
    const double above = analysis_contrast_above(contrast, -margin), below = analysis_contrast_below(contrast, margin);
    const double p = fmax(above, below);
    tested.p_for = fmax(tested.p_for, p);
    outside = fmin(outside, analysis_contrast_below(contrast, -margin));
    outside = fmin(outside, analysis_contrast_above(contrast, margin));
    if (i == 0 || fabs(contrast.estimate) > fabs(tested.interval.center))
      tested.interval = analysis_contrast_interval(contrast, cells->count);
  }
  tested.p_against = fmin(1, outside * (double)count);
  return tested;
}

/* ---- all keys alike --------------------------------------------------------------------------------------------- */

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

size_t analysis_weigh_pair(const AnalysisCells *cells, double key_a, double second_a, double key_b, double second_b,
                           double sign, double *weight) {
  size_t used = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (size_t s = 0; s < cells->strata; s++) {
      const size_t a = analysis_cell_find(cells, s, key_a, second_a), b = analysis_cell_find(cells, s, key_b, second_b);
      if (a == SIZE_MAX || b == SIZE_MAX) continue;
      if (pass == 0) used++;
      else weight[a] += sign / (double)used, weight[b] -= sign / (double)used;
    }
    if (used == 0) return 0;
  }
  return used;
}

AnalysisTested analysis_test_equal(const AnalysisCells *cells, double margin) {
  size_t keys, count = 0, strata = 0;
  double *key = analysis_distinct(cells->key, cells->cells, &keys);
  double *weights = core_memory_zero_allocate(keys * keys * cells->cells + 1, sizeof *weights);
  for (size_t i = 0; i < keys; i++) {
    for (size_t j = i + 1; j < keys; j++) {
      const size_t used = analysis_weigh_pair(cells, key[j], NAN, key[i], NAN, 1, weights + count * cells->cells);
      if (used > strata) strata = used;
      count += used > 0;
    }
  }
  AnalysisTested tested = analysis_contrasts_within(cells, weights, count, margin);
  tested.strata = strata;
  free(weights);
  free(key);
  return tested;
}

AnalysisTested analysis_test_not_worse(const AnalysisCells *cells, double margin) {
  size_t keys;
  double *key = analysis_distinct(cells->key, cells->cells, &keys);
  double *weight = core_memory_zero_allocate(cells->cells + 1, sizeof *weight);
  AnalysisTested tested = ANALYSIS_NOT_TESTED;
  if (keys > 1) tested.strata = analysis_weigh_pair(cells, key[keys - 1], NAN, key[0], NAN, 1, weight);
  if (tested.strata > 0) {
    const AnalysisContrast contrast = analysis_contrast(cells, weight);
    tested.interval = analysis_contrast_interval(contrast, cells->count);
    tested.p_for = analysis_contrast_above(contrast, -margin);
    tested.p_against = analysis_contrast_below(contrast, -margin);
  }
  free(weight);
  free(key);
  return tested;
}

/* ---- the best over the second key, by the key -------------------------------------------------------------------- */

/* The keys of a claim, and its second keys. */
typedef struct Axes { double *key, *second; size_t keys, seconds; } Axes;

/* The best of key i against the best of key j. p_for: that the best of i is not greater by the margin, p_against: that
 * it is. Which second key is best is not known: of i each must stay below, and of j one that it stays below of suffices
 * (so Bonferroni for their number); the other way round one of i must be above all of j. strata 0: nothing to compare.
 * weight[cells]: work. */
static AnalysisTested compare_bests(const AnalysisCells *cells, const Axes *axes, size_t i, size_t j, double margin,
                                    double *weight) {
  AnalysisTested tested = ANALYSIS_NOT_TESTED;
  double greatest = -INFINITY;
  size_t of_i = 0, of_j = 0;
  tested.p_for = 0;
  tested.p_against = 1;
  for (size_t e = 0; e < axes->seconds; e++) {
    double below = 1, above = 0, nearest = INFINITY;
    AnalysisContrast closest = {0};
    size_t others = 0;
    for (size_t f = 0; f < axes->seconds; f++) {
      memset(weight, 0, (cells->cells + 1) * sizeof *weight);
      const size_t used =
        analysis_weigh_pair(cells, axes->key[i], axes->second[e], axes->key[j], axes->second[f], 1, weight);
      if (used == 0) continue;
      const AnalysisContrast contrast = analysis_contrast(cells, weight);
      below = fmin(below, analysis_contrast_below(contrast, margin));
      above = fmax(above, analysis_contrast_above(contrast, margin));
      if (contrast.estimate < nearest) nearest = contrast.estimate, closest = contrast;
      if (used > tested.strata) tested.strata = used;
      others++;
    }
    if (others == 0) continue;
    of_i++;
    if (others > of_j) of_j = others;
    tested.p_for = fmax(tested.p_for, below);
    tested.p_against = fmin(tested.p_against, above);
    if (nearest > greatest) greatest = nearest, tested.interval = analysis_contrast_interval(closest, cells->count);
  }
  tested.p_for = fmin(1, tested.p_for * (double)of_j);
  tested.p_against = fmin(1, tested.p_against * (double)of_i);
  return tested;
}

AnalysisTested analysis_test_best_equal(const AnalysisCells *cells, double margin) {
  AnalysisTested tested = ANALYSIS_NOT_TESTED;
  Axes axes = {0};
  size_t pairs = 0;
  axes.key = analysis_distinct(cells->key, cells->cells, &axes.keys);
  axes.second = analysis_distinct(cells->second, cells->cells, &axes.seconds);
  double *weight = core_memory_allocate((cells->cells + 1) * sizeof *weight);
  for (size_t i = 0; i < axes.keys && axes.seconds > 1; i++) {
    for (size_t j = 0; j < axes.keys; j++) {
      if (i == j) continue;
      const AnalysisTested one = compare_bests(cells, &axes, i, j, margin, weight);
      if (one.strata == 0) continue;
      if (pairs == 0 || one.interval.center > tested.interval.center) tested.interval = one.interval;
      tested.p_for = pairs == 0 ? one.p_for : fmax(tested.p_for, one.p_for);
      tested.p_against = pairs == 0 ? one.p_against : fmin(tested.p_against, one.p_against);
      if (one.strata > tested.strata) tested.strata = one.strata;
      pairs++;
    }
  }
  if (pairs > 0) tested.p_against = fmin(1, tested.p_against * (double)pairs);
  free(weight);
  free(axes.key);
  free(axes.second);
  return tested;
}

/* ---- gains over the key, by the second key ----------------------------------------------------------------------- */

/* The gain from the lowest to the highest key at second key a, less that at b. */
static size_t weigh_gains(const AnalysisCells *cells, double low, double high, double a, double b, double *weight) {
  const size_t first = analysis_weigh_pair(cells, high, a, low, a, 1, weight);
  const size_t other = analysis_weigh_pair(cells, high, b, low, b, -1, weight);
  return first < other ? first : other;
}

AnalysisTested analysis_test_gain(const AnalysisCells *cells, int sign) {
  size_t keys, seconds;
  double *key = analysis_distinct(cells->key, cells->cells, &keys);
  double *second = analysis_distinct(cells->second, cells->cells, &seconds);
  double *weight = core_memory_zero_allocate(cells->cells + 1, sizeof *weight);
  AnalysisTested tested = ANALYSIS_NOT_TESTED;
  if (keys > 1 && seconds > 1)
    tested.strata = weigh_gains(cells, key[0], key[keys - 1], second[seconds - 1], second[0], weight);
  if (tested.strata > 0) {
    const AnalysisContrast contrast = analysis_contrast(cells, weight);
    tested.interval = analysis_contrast_interval(contrast, cells->count);
    tested.p_for = sign > 0 ? analysis_contrast_above(contrast, 0) : analysis_contrast_below(contrast, 0);
    tested.p_against = sign > 0 ? analysis_contrast_below(contrast, 0) : analysis_contrast_above(contrast, 0);
  }
  free(weight);
  free(key);
  free(second);
  return tested;
}

AnalysisTested analysis_test_gain_equal(const AnalysisCells *cells, double margin) {
  size_t keys, seconds, count = 0, strata = 0;
  double *key = analysis_distinct(cells->key, cells->cells, &keys);
  double *second = analysis_distinct(cells->second, cells->cells, &seconds);
  double *weights = core_memory_zero_allocate(seconds * seconds * cells->cells + 1, sizeof *weights);
  for (size_t i = 0; i < seconds && keys > 1; i++) {
    for (size_t j = i + 1; j < seconds; j++) {
      double *weight = weights + count * cells->cells;
      const size_t used = weigh_gains(cells, key[0], key[keys - 1], second[j], second[i], weight);
      if (used > strata) strata = used;
      if (used > 0) count++;
      else memset(weight, 0, cells->cells * sizeof *weight);
    }
  }
  AnalysisTested tested = analysis_contrasts_within(cells, weights, count, margin);
  tested.strata = strata;
  free(weights);
  free(key);
  free(second);
  return tested;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

double analysis_order_broken(const AnalysisCells *cells, int sign, double pair[3]) {
  size_t keys, pairs = 0;
  double *key = analysis_distinct(cells->key, cells->cells, &keys), least = 1;
  double *weight = core_memory_allocate((cells->cells + 1) * sizeof *weight);
  for (size_t i = 0; i < keys; i++) {
    for (size_t j = i + 1; j < keys; j++) {
      memset(weight, 0, (cells->cells + 1) * sizeof *weight);
      if (analysis_weigh_pair(cells, key[j], NAN, key[i], NAN, sign, weight) == 0) continue;
      const AnalysisContrast contrast = analysis_contrast(cells, weight);
      const double p = analysis_contrast_below(contrast, 0);
      pairs++;
      if (!(p < least)) continue;
      least = p;
      pair[0] = key[i];
      pair[1] = key[j];
      pair[2] = -contrast.estimate;
    }
  }
  free(weight);
  free(key);
  return fmin(1, least * (double)(pairs > 0 ? pairs : 1));
}

/* ---- one mean ---------------------------------------------------------------------------------------------------- */

/* Sum of squares of the units' contributions to a mean over cells; *shared: some unit has runs in several cells. */
static double spread_of_units(const AnalysisCells *cells, const size_t *unit, bool *shared) {
  double *part = core_memory_zero_allocate(cells->count + 1, sizeof *part), sum = 0;
  size_t *cell = core_memory_allocate((cells->count + 1) * sizeof *cell); /* of the unit's first run */
  *shared = false;
  for (size_t c = 0; c < cells->cells; c++) {
    const size_t first = cells->first[c], end = cells->first[c + 1];
    const double n = (double)(end - first), mean = cell_mean(cells, c);
    for (size_t i = first; i < end; i++) {
      size_t of = 0;
      while (unit[of] != unit[i]) of++;
      if (of == i) cell[i] = c;
      *shared = *shared || cell[of] != c;
      part[of] += (cells->score[i] - mean) / sqrt(n * (n - 1)) / (double)cells->cells;
    }
  }
  for (size_t i = 0; i < cells->count; i++) sum += part[i] * part[i];
  free(part);
  free(cell);
  return sum;
}

AnalysisTested analysis_test_mean(const AnalysisCells *cells, const size_t *unit, double null, int sign) {
  AnalysisTested tested = ANALYSIS_NOT_TESTED;
  if (cells->cells == 0) return tested;
  double *weight = core_memory_allocate(cells->cells * sizeof *weight), least = INFINITY;
  bool shared = false;
  for (size_t c = 0; c < cells->cells; c++) {
    weight[c] = 1 / (double)cells->cells;
    least = fmin(least, (double)(cells->first[c + 1] - cells->first[c]));
  }
  AnalysisContrast contrast = analysis_contrast(cells, weight);
  const double error = contrast.error > 0 ? sqrt(spread_of_units(cells, unit, &shared)) : 0;
  if (shared) contrast.degrees = least - 1;
  contrast.error = shared ? error : contrast.error;
  tested.interval = analysis_contrast_interval(contrast, cells->count);
  tested.p_for = sign > 0 ? analysis_contrast_above(contrast, null) : analysis_contrast_below(contrast, null);
  tested.p_against = sign > 0 ? analysis_contrast_below(contrast, null) : analysis_contrast_above(contrast, null);
  tested.strata = cells->strata;
  free(weight);
  return tested;
}
