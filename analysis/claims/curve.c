/* Levers, the curve fitted to all configurations except a lever's, and the distances from it (contrast.h). */
#include "analysis/claims/contrast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

enum { TERMS = 4, OTHERS_MIN = TERMS + 2, HALF_MIN = 1 };

/* ---- levers ------------------------------------------------------------------------------------------------------ */

static uint64_t setting_hash(const AnalysisTable *table, const AnalysisCells *cells, size_t c, size_t row) {
  return analysis_table_hash(table, cells->run[cells->first[c]], row);
}

/* Returns the most frequent hash of a setting among the cells first .. end - 1. */
static uint64_t most_common_hash(const AnalysisTable *table, const AnalysisCells *cells, size_t first, size_t end,
                                 size_t row) {
  size_t largest = 0;
  uint64_t most_common = 0;
  for (size_t c = first; c < end; c++) {
    const uint64_t hash = setting_hash(table, cells, c, row);
    size_t count = 0;
    for (size_t other = first; other < end; other++) count += setting_hash(table, cells, other, row) == hash;
    if (count <= largest) continue;
    largest = count;
    most_common = hash;
  }
  return most_common;
}

void analysis_curve_levers(const AnalysisTable *table, const AnalysisCells *cells, size_t stratum, uint64_t *lever) {
  const size_t first = cells->stratum[stratum], end = cells->stratum[stratum + 1];
  const CoreConfigRow *seed = core_config_find("train.seed");
  size_t rows;
  const size_t seed_row = (size_t)(seed - core_config_rows(&rows));
  for (size_t c = first; c < end; c++) lever[c] = 0;
  for (size_t row = 0; row < table->rows; row++) {
    if (row == seed_row) continue;
    const uint64_t usual = most_common_hash(table, cells, first, end, row);
    for (size_t c = first; c < end; c++)
      if (setting_hash(table, cells, c, row) != usual)
        lever[c] = (lever[c] ^ table->name[row]) * UINT64_C(1099511628211);
  }
}

/* ---- curve ------------------------------------------------------------------------------------------------------- */

/* Solves a[TERMS][TERMS] x = b by Gaussian elimination with pivoting, overwriting b with x; false: a is singular. */
static bool solve(double a[TERMS][TERMS], double b[TERMS]) {
  for (int i = 0; i < TERMS; i++) {
    int pivot = i;
    for (int r = i + 1; r < TERMS; r++)
      if (fabs(a[r][i]) > fabs(a[pivot][i])) pivot = r;
    if (fabs(a[pivot][i]) < 1e-9) return false;

    for (int k = 0; k < TERMS; k++) {
      const double swap = a[i][k];
      a[i][k] = a[pivot][k];
      a[pivot][k] = swap;
    }
    const double swap = b[i];
    b[i] = b[pivot];
    b[pivot] = swap;

    for (int r = 0; r < TERMS; r++) {
      const double factor = r == i ? 0 : a[r][i] / a[i][i];
      for (int k = 0; k < TERMS; k++) a[r][k] -= factor * a[i][k];
      b[r] -= factor * b[i];
    }
  }

  for (int i = 0; i < TERMS; i++) b[i] /= a[i][i];
  return true;
}

static void compute_terms(double u, double term[TERMS]) {
  term[0] = 1;
  for (int k = 1; k < TERMS; k++) term[k] = term[k - 1] * u;
}

/* Subtracts `share` times the cubic fitted to the cells of other levers, evaluated at `target`, from weight[cells].
 * Returns false if there is no unique fit. */
static bool subtract_curve(const double *u, const uint64_t *lever, size_t first, size_t end, uint64_t excluded,
                           double target, double share, double *weight) {
  double a[TERMS][TERMS] = {{0}}, b[TERMS], term[TERMS];

  for (size_t c = first; c < end; c++) {
    if (lever[c] == excluded || isnan(u[c])) continue;
    compute_terms(u[c], term);
    for (int i = 0; i < TERMS; i++)
      for (int k = 0; k < TERMS; k++) a[i][k] += term[i] * term[k];
  }

  compute_terms(target, b);
  if (!solve(a, b)) return false;

  for (size_t c = first; c < end; c++) {
    if (lever[c] == excluded || isnan(u[c])) continue;
    compute_terms(u[c], term);
    for (int k = 0; k < TERMS; k++) weight[c] -= share * b[k] * term[k];
  }
  return true;
}

/* ---- distances --------------------------------------------------------------------------------------------------- */

/* Configurations of one lever within the range of the others, sorted by x. */
typedef struct Lever { uint64_t lever; size_t *cell, count, others; } Lever;

static Lever select_cells(const double *u, const uint64_t *lever, size_t first, size_t end, uint64_t wanted) {
  Lever found = {.lever = wanted, .cell = core_memory_allocate((end - first + 1) * sizeof *found.cell)};
  double low = INFINITY, high = -INFINITY;

  for (size_t c = first; c < end; c++) {
    if (lever[c] == wanted || isnan(u[c])) continue;
    low = fmin(low, u[c]);
    high = fmax(high, u[c]);
    found.others++;
  }

  for (size_t c = first; c < end; c++) {
    if (lever[c] != wanted || !(u[c] >= low && u[c] <= high)) continue;
    size_t index = found.count++;
    for (; index > 0 && u[found.cell[index - 1]] > u[c]; index--) found.cell[index] = found.cell[index - 1];
    found.cell[index] = c;
  }
  return found;
}

/* Sets weight[cells] to the mean distance of the lever's configurations from .. to - 1 from the others' curve. */
static bool set_distance_weights(const double *u, const uint64_t *lever, size_t first, size_t end,
                                 const Lever *selected, size_t from, size_t to, double *weight) {
  const double share = 1 / (double)(to - from);
  for (size_t i = from; i < to; i++) {
    const size_t cell = selected->cell[i];
    weight[cell] += share;
    if (!subtract_curve(u, lever, first, end, selected->lever, u[cell], share, weight)) return false;
  }
  return true;
}

/* Computes the mean x of each cell, standardized over the stratum for numerical stability; NaN without x. */
static void standardize(const AnalysisCells *cells, size_t first, size_t end, double *u) {
  double mean = 0, square = 0, n = 0;
  for (size_t c = first; c < end; c++) {
    u[c] = analysis_cells_mean(cells, cells->x, c);
    if (!isfinite(u[c])) u[c] = NAN;
    if (isnan(u[c])) continue;
    mean += u[c];
    square += u[c] * u[c];
    n++;
  }
  mean /= n;
  const double sd = sqrt(fmax(square / n - mean * mean, 1e-12));
  for (size_t c = first; c < end; c++) u[c] = (u[c] - mean) / sd;
}

static bool is_first_of(const uint64_t *lever, size_t first, size_t c) {
  for (size_t other = first; other < c; other++)
    if (lever[other] == lever[c]) return false;
  return true;
}

/* Adds the contrasts of a stratum's levers to weights; returns their number. */
static size_t add_stratum(const AnalysisTable *table, const AnalysisCells *cells, size_t s, double *u,
                          uint64_t *lever, double *weights) {
  const size_t first = cells->stratum[s], end = cells->stratum[s + 1];
  size_t count = 0;

  analysis_curve_levers(table, cells, s, lever);
  standardize(cells, first, end, u);

  for (size_t c = first; c < end; c++) {
    if (lever[c] == 0 || !is_first_of(lever, first, c)) continue;
    const Lever selected = select_cells(u, lever, first, end, lever[c]);
    const size_t half = selected.count / 2, from[] = {0, half}, to[] = {half, selected.count};

    const int halves = selected.others >= OTHERS_MIN ? 2 : 0;
    for (int h = 0; h < halves; h++) {
      double *weight = weights + count * cells->cells;
      if (to[h] - from[h] < HALF_MIN) continue;
      if (set_distance_weights(u, lever, first, end, &selected, from[h], to[h], weight)) count++;
      else memset(weight, 0, cells->cells * sizeof *weight);
    }

    free(selected.cell);
  }
  return count;
}

AnalysisTestResult analysis_test_one_curve(const AnalysisTable *table, const AnalysisCells *cells, double margin) {
  const size_t n = cells->cells;
  double *u = core_memory_allocate((n + 1) * sizeof *u);
  uint64_t *lever = core_memory_allocate((n + 1) * sizeof *lever);
  double *weights = core_memory_zero_allocate((2 * n + 1) * (n + 1), sizeof *weights);
  size_t count = 0, strata = 0;

  for (size_t s = 0; s < cells->strata; s++) {
    const size_t added = add_stratum(table, cells, s, u, lever, weights + count * n);
    count += added;
    strata += added > 2;
  }

  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  if (strata > 0) result = analysis_contrasts_within(cells, weights, count, margin);
  result.strata = strata;

  free(u);
  free(lever);
  free(weights);
  return result;
}
