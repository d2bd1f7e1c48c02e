/* The claims' statistics (claim_statistics.h). */
#include "analysis/claims/claim_statistics.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"

/* ---- of cells ---------------------------------------------------------------------------------------------------- */

static double cell_mean(const AnalysisCells *cells, size_t cell, const uint32_t *count) {
  double sum = 0;
  uint32_t n = 0;
  for (size_t i = cells->first[cell]; i < cells->first[cell + 1]; i++) {
    sum += count[i] * cells->score[i];
    n += count[i];
  }
  return sum / n;
}

/* P(later cell's run > earlier cell's), ties half. */
static double cell_wins(const AnalysisCells *cells, size_t low, size_t high, const uint32_t *count) {
  double wins = 0;
  for (size_t i = cells->first[high]; i < cells->first[high + 1]; i++) {
    double row = 0;
    for (size_t j = cells->first[low]; j < cells->first[low + 1] && count[i]; j++) {
      double won = cells->score[i] > cells->score[j] ? 1 : cells->score[i] == cells->score[j] ? 0.5 : 0;
      row += count[j] * won;
    }
    wins += count[i] * row;
  }
  size_t pairs = (cells->first[high + 1] - cells->first[high]) * (cells->first[low + 1] - cells->first[low]);
  return wins / (double)pairs;
}

double analysis_claim_rising(const AnalysisCells *cells, const uint32_t *count, const size_t *choice) {
  double sum = 0;
  size_t used = 0;
  for (size_t s = 0; s < cells->strata; s++) {
    double stratum = 0;
    size_t pairs = 0;
    for (size_t i = cells->stratum[s]; i < cells->stratum[s + 1]; i++) {
      for (size_t j = i + 1; j < cells->stratum[s + 1]; j++, pairs++) stratum += cell_wins(cells, i, j, count);
    }
    if (pairs) sum += stratum / (double)pairs;
    used += pairs > 0;
  }
  return used ? sum / (double)used : NAN;
}

double analysis_claim_end_gap(const AnalysisCells *cells, const uint32_t *count, const size_t *choice) {
  double sum = 0;
  size_t used = 0;
  for (size_t s = 0; s < cells->strata; s++) {
    if (choice[2 * s] == SIZE_MAX) continue;
    sum += cell_mean(cells, choice[2 * s], count) - cell_mean(cells, choice[2 * s + 1], count);
    used++;
  }
  return used ? sum / (double)used : NAN;
}

double analysis_claim_end_gap_shrinks(const AnalysisCells *cells, const uint32_t *count, const size_t *choice) {
  double sum = 0;
  size_t used = 0;
  for (size_t s = 0; s < cells->strata; s++) {
    const size_t *c = choice + 4 * s;
    if (c[0] == SIZE_MAX) continue;
    sum += cell_mean(cells, c[0], count) - cell_mean(cells, c[1], count);
    sum -= cell_mean(cells, c[2], count) - cell_mean(cells, c[3], count);
    used++;
  }
  return used ? sum / (double)used : NAN;
}

double analysis_claim_best_shift(const AnalysisCells *cells, const uint32_t *count, const size_t *choice) {
  double sum = 0;
  size_t used = 0;
  for (size_t s = 0; s < cells->strata; s++) {
    const size_t *c = choice + 4 * s;
    double at[2] = {NAN, NAN};
    if (c[0] == SIZE_MAX) continue;
    for (int end = 0; end < 2; end++) {
      double best = -INFINITY;
      for (size_t i = c[2 * end]; i < c[2 * end + 1]; i++) {
        double mean = cell_mean(cells, i, count);
        if (mean > best) at[end] = log10(cells->key[i]);
        best = fmax(best, mean);
      }
    }
    sum += fabs(at[0] - at[1]);
    used++;
  }
  return used ? sum / (double)used : NAN;
}

/* ---- of configurations ------------------------------------------------------------------------------------------- */

static double rho_of(const double *x, const double *y, const size_t *index, size_t n) {
  double *drawn = core_memory_allocate((2 * n + 1) * sizeof *drawn);
  for (size_t i = 0; i < n; i++) {
    drawn[i] = x[index[i]];
    drawn[n + i] = y[index[i]];
  }
  double rho = analysis_spearman(drawn, drawn + n, n);
  free(drawn);
  return rho;
}

double analysis_claim_rho_growth(const void *context, const size_t *index, size_t n) {
  const AnalysisPoints *points = context;
  return rho_of(points->x, points->y, index, n) - rho_of(points->x, points->early, index, n);
}

double analysis_claim_mean(const void *context, const size_t *index, size_t n) {
  const AnalysisPoints *points = context;
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += points->y[index[i]];
  return sum / (double)n;
}

typedef struct Point { double x, y; } Point;

static int by_x(const void *left, const void *right) {
  const Point *a = left, *b = right;
  return a->x != b->x ? (a->x > b->x) - (a->x < b->x) : (a->y > b->y) - (a->y < b->y);
}

double analysis_claim_middle(const void *context, const size_t *index, size_t n) {
  const AnalysisPoints *points = context;
  Point *sorted = core_memory_allocate((n + 1) * sizeof *sorted);
  double third[3] = {0};
  for (size_t i = 0; i < n; i++) sorted[i] = (Point){points->x[index[i]], points->y[index[i]]};
  qsort(sorted, n, sizeof *sorted, by_x);
  for (size_t part = 0; part < 3; part++) {
    size_t begin = part * n / 3, end = (part + 1) * n / 3;
    for (size_t i = begin; i < end; i++) third[part] += sorted[i].y;
    third[part] /= (double)(end - begin);
  }
  free(sorted);
  return third[1] - fmax(third[0], third[2]);
}
