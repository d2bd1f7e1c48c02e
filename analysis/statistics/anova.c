/* Variances of marginal means over a grid, without the part of the noise (anova.h). */
#include "analysis/statistics/anova.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/interval.h"
#include "analysis/statistics/stratified.h"
#include "core/memory.h"

/* ---- effects ----------------------------------------------------------------------------------------------------- */

/* Returns the level of a setting in a cell. */
static size_t level_of(const AnalysisGrid *grid, size_t cell, size_t dimension) {
  for (size_t d = grid->dimensions - 1; d > dimension; d--) cell /= grid->levels[d];
  return cell % grid->levels[dimension];
}

/* Computes the variance of the means over all settings except a and b (equal: except a). marginal: scratch [cells]. */
static double marginal_variance(const AnalysisGrid *grid, const double *mean, size_t a, size_t b, double *marginal) {
  const size_t width = a == b ? 1 : grid->levels[b], count = grid->levels[a] * width;
  double center = 0, variance = 0;
  memset(marginal, 0, count * sizeof *marginal);
  for (size_t c = 0; c < grid->cells; c++) {
    const size_t slot = level_of(grid, c, a) * width + (a == b ? 0 : level_of(grid, c, b));
    marginal[slot] += mean[c] * (double)count / (double)grid->cells;
  }
  for (size_t i = 0; i < count; i++) center += marginal[i] / (double)count;
  for (size_t i = 0; i < count; i++) variance += (marginal[i] - center) * (marginal[i] - center) / (double)count;
  return variance;
}

static double variance_of(const double *x, size_t n) {
  const double center = analysis_mean(x, n);
  double variance = 0;
  for (size_t i = 0; i < n; i++) variance += (x[i] - center) * (x[i] - center) / (double)n;
  return variance;
}

/* Computes share[dimensions * dimensions], main effects on the diagonal, of cell means whose noise has the variance
 * `noise` on average. An effect with d degrees of freedom contains d / cells of it. NaN: noise explains all. */
static void find_shares(const AnalysisGrid *grid, const double *mean, double noise, bool has_pairs, double *scratch,
                        double *share) {
  const size_t n = grid->dimensions;
  const double cell_noise = noise / (double)grid->cells;
  const double total = variance_of(mean, grid->cells) - cell_noise * (double)(grid->cells - 1);
  for (size_t a = 0; a < n; a++) share[a * n + a] = marginal_variance(grid, mean, a, a, scratch);
  const size_t rows = has_pairs ? n : 0;
  for (size_t a = 0; a < rows; a++)
    for (size_t b = a + 1; b < n; b++) {
      const double freedom = (double)(grid->levels[a] - 1) * (double)(grid->levels[b] - 1);
      const double both = marginal_variance(grid, mean, a, b, scratch);
      share[a * n + b] = fmax(0, both - share[a * n + a] - share[b * n + b] - freedom * cell_noise);
    }
  for (size_t a = 0; a < n; a++)
    share[a * n + a] = fmax(0, share[a * n + a] - (double)(grid->levels[a] - 1) * cell_noise);
  for (size_t a = 0; a < n; a++)
    for (size_t b = a; b < n && (has_pairs || b == a); b++)
      share[a * n + b] = total > 0 ? fmin(1, share[a * n + b] / total) : NAN;
}

/* ---- noise ------------------------------------------------------------------------------------------------------- */

/* Statistics of the cells. */
typedef struct Cells {
  double *mean;              /* [cells] */
  double widening;           /* factor of resampled distances, for the degrees of freedom of all cells together */
  double noise;              /* mean variance of a cell's mean */
  double resampled;          /* mean variance of its widened replicates about it */
  double within;             /* mean variance of a run within its cell; NaN if no cell has two runs */
  bool has_runs;             /* whether every cell has enough for an interval */
} Cells;

static Cells describe_cells(const AnalysisGrid *grid, double level) {
  Cells cells = {.has_runs = true, .widening = analysis_replicates_widening(grid->first, grid->cells, level)};
  size_t repeated = 0;

  cells.mean = core_memory_allocate(grid->cells * sizeof *cells.mean);
  for (size_t c = 0; c < grid->cells; c++) {
    const size_t runs = grid->first[c + 1] - grid->first[c];
    const double *score = grid->score + grid->first[c], n = (double)runs, sd = analysis_sd(score, runs);
    cells.mean[c] = analysis_mean(score, runs);
    cells.has_runs = cells.has_runs && runs >= ANALYSIS_INTERVAL_RUNS_MIN;

    if (runs < 2) continue;
    repeated++;
    cells.within += sd * sd;
    cells.noise += sd * sd / n;
    cells.resampled += cells.widening * cells.widening * sd * sd * (n - 1) / (n * n);
  }

  cells.noise /= repeated ? (double)repeated : 1;
  cells.resampled /= repeated ? (double)repeated : 1;
  cells.within = repeated == grid->cells ? cells.within / (double)repeated : NAN;
  if (repeated < grid->cells) cells.noise = 0;
  return cells;
}

/* Computes the shares of every replicate: value[dimensions * dimensions][replicates]. */
static void resample(const AnalysisGrid *grid, const Cells *cells, const AnalysisResampling *resampling, bool has_pairs,
                     double *value) {
  const size_t effects = grid->dimensions * grid->dimensions, n = resampling->replicates;

#pragma omp parallel
  {
    double *mean = core_memory_allocate((2 * grid->cells + effects) * sizeof *mean), *scratch = mean + grid->cells;
    double *share = scratch + grid->cells;
    uint32_t *drawn = core_memory_allocate((grid->first[grid->cells] + 1) * sizeof *drawn);
#pragma omp for schedule(static)
    for (size_t r = 0; r < n; r++) {
      analysis_stratified_draw(grid->first, grid->cells, resampling->seed, (uint32_t)r, 0, drawn);
      for (size_t c = 0; c < grid->cells; c++) {
        const double runs = (double)(grid->first[c + 1] - grid->first[c]);
        double sum = 0;
        for (size_t i = grid->first[c]; i < grid->first[c + 1]; i++) sum += drawn[i] * grid->score[i];
        mean[c] = cells->mean[c] + cells->widening * (sum / runs - cells->mean[c]);
      }

      find_shares(grid, mean, cells->noise + cells->resampled, has_pairs, scratch, share);
      for (size_t e = 0; e < effects; e++) value[e * n + r] = share[e];
    }
    free(mean);
    free(drawn);
  }
}

/* Computes an interval from replicates, of which those that noise explains count as 0. */
static AnalysisInterval interval_of(double center, double *value, const AnalysisResampling *resampling) {
  for (size_t r = 0; r < resampling->replicates; r++)
    if (isnan(value[r])) value[r] = 0;
  return analysis_replicates_interval(center, value, resampling->replicates, resampling->level, 1);
}

void analysis_anova(const AnalysisGrid *grid, const AnalysisResampling *resampling, AnalysisInterval *main,
                    AnalysisInterval *pair, double *noise) {
  const size_t n = grid->dimensions, effects = n * n, replicates = resampling->replicates;
  const Cells cells = describe_cells(grid, resampling->level);
  double *share = core_memory_zero_allocate(effects + grid->cells, sizeof *share), *scratch = share + effects;
  double *value = core_memory_zero_allocate(effects * replicates + 1, sizeof *value);

  find_shares(grid, cells.mean, cells.noise, pair != NULL, scratch, share);
  const double between = variance_of(cells.mean, grid->cells) -
                         cells.noise * (double)(grid->cells - 1) / (double)grid->cells;
  *noise = cells.within / (cells.within + fmax(0, between));

  if (cells.has_runs) resample(grid, &cells, resampling, pair != NULL, value);
  for (size_t a = 0; a < n; a++)
    for (size_t b = a; b < n; b++) {
      const size_t e = a * n + b;
      AnalysisInterval interval = {share[e], NAN, NAN, grid->first[grid->cells]};
      if (cells.has_runs && (pair || a == b)) interval = interval_of(share[e], value + e * replicates, resampling);
      interval.n = grid->first[grid->cells];
      if (a == b) main[a] = interval;
      if (pair) pair[e] = pair[b * n + a] = interval;
    }

  free(share);
  free(value);
  free(cells.mean);
}
