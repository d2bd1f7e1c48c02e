/* Levers of a grid, their blocks and slopes, and the t tests over levers (contrast.h). */
#include "analysis/claims/contrast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

enum { WORDS = 8, ROWS_MAX = 64 * WORDS, LEVERS_MAX = 64 };

/* Set of settings, by the index of their row. */
typedef struct Settings { uint64_t word[WORDS]; } Settings;

/* Levers of all strata, with the sums of their slopes. */
typedef struct Levers {
  Settings set[LEVERS_MAX];
  double sum[LEVERS_MAX], strata[LEVERS_MAX]; /* sum over the strata in which it has one, and their number */
  size_t count;
  double *weight;                             /* [LEVERS_MAX][cells] weights of the cells' means */
  size_t cells;
} Levers;

/* Points of a stratum: x NaN: left out. */
typedef struct Points { size_t first, count; double *x, *y; } Points;

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static bool is_subset(const Settings *a, const Settings *b) {
  for (int w = 0; w < WORDS; w++)
    if (a->word[w] & ~b->word[w]) return false;
  return true;
}

/* Returns the settings in which cells a and b differ, except the seed. */
static Settings find_difference(const AnalysisTable *table, const AnalysisCells *cells, size_t a, size_t b) {
  size_t rows;
  const CoreConfigRow *row = core_config_rows(&rows);
  const size_t seed = (size_t)(core_config_find("train.seed") - row);
  const size_t left = cells->run[cells->first[a]], right = cells->run[cells->first[b]];
  Settings set = {{0}};
  for (size_t i = 0; i < table->rows && i < ROWS_MAX; i++)
    if (i != seed && row[i].identity && analysis_table_hash(table, left, i) != analysis_table_hash(table, right, i))
      set.word[i / 64] |= UINT64_C(1) << i % 64;
  return set;
}

/* Keeps a set unless the list has a subset of it, and drops those that contain it. */
static void add_smallest(Settings *list, size_t *count, const Settings *set) {
  size_t kept = 0;
  for (size_t i = 0; i < *count; i++)
    if (is_subset(&list[i], set)) return;
  for (size_t i = 0; i < *count; i++)
    if (!is_subset(set, &list[i])) list[kept++] = list[i];
  *count = kept;
  if (*count < LEVERS_MAX) list[(*count)++] = *set;
}

/* ---- slopes ------------------------------------------------------------------------------------------------------ */

/* Computes weight[count] of the slope of y over x, the sum of weight x y, within the blocks of a lever: classes of
 * points that differ in it only. false: x is the same in each block. difference: [count][count]. */
static bool set_slope_weights(const Points *p, const Settings *lever, const Settings *difference, double *weight) {
  double squares = 0;
  bool *done = core_memory_zero_allocate(p->count + 1, sizeof *done);

  for (size_t i = 0; i < p->count; i++) weight[i] = 0;
  for (size_t i = 0; i < p->count; i++) {
    double n = 0, mean = 0;
    if (done[i] || !isfinite(p->x[i])) continue; /* a point that is left out begins no block */

    for (int pass = 0; pass < 2; pass++) {
      for (size_t k = i; k < p->count; k++) {
        if (!isfinite(p->x[k]) || !is_subset(&difference[i * p->count + k], lever)) continue;
        if (pass == 0) {
          mean = (n * mean + p->x[k]) / (n + 1);
          n++;
        } else if (n > 1) {
          weight[k] = p->x[k] - mean;
          squares += weight[k] * weight[k];
          done[k] = k > i;
        }
      }
    }
  }

  free(done);
  for (size_t i = 0; i < p->count; i++) weight[i] /= squares;
  return squares > 1e-9;
}

/* Adds a slope. slope: [count] weights of the stratum's points. */
static void add_slope(Levers *levers, const Settings *lever, const Points *p, const double *slope) {
  size_t i = 0;
  while (i < levers->count && memcmp(&levers->set[i], lever, sizeof *lever) != 0) i++;
  if (i == LEVERS_MAX) return;
  if (i == levers->count) levers->set[levers->count++] = *lever;
  for (size_t k = 0; k < p->count; k++) {
    levers->sum[i] += slope[k] == 0 ? 0 : slope[k] * p->y[k];
    levers->weight[i * levers->cells + p->first + k] = slope[k];
  }
  levers->strata[i]++;
}

/* Adds the slopes of a stratum's levers. */
static void add_levers(const AnalysisTable *table, const AnalysisCells *cells, const Points *p, Levers *levers) {
  Settings smallest[LEVERS_MAX];
  size_t count = 0;
  Settings *difference = core_memory_zero_allocate(p->count * p->count + 1, sizeof *difference);

  for (size_t i = 0; i < p->count; i++) {
    for (size_t k = i + 1; k < p->count; k++) {
      Settings *set = &difference[i * p->count + k];
      *set = difference[k * p->count + i] = find_difference(table, cells, p->first + i, p->first + k);
      add_smallest(smallest, &count, set);
    }
  }

  double *weight = core_memory_allocate((p->count + 1) * sizeof *weight);
  for (size_t l = 0; l < count; l++)
    if (set_slope_weights(p, &smallest[l], difference, weight)) add_slope(levers, &smallest[l], p, weight);

  free(weight);
  free(difference);
}

/* Returns by how much what slopes share makes the variance of their mean exceed that of independent ones. Slopes along
 * several levers have configurations in common, whose deviations move all of them alike unless x moves oppositely. */
static double shared_variance(const Levers *levers) {
  const double n = (double)levers->count;
  double own = 0, shared = 0;
  for (size_t i = 0; i < levers->count; i++) {
    for (size_t k = 0; k < levers->count; k++) {
      double product = 0;
      for (size_t c = 0; c < levers->cells; c++)
        product += levers->weight[i * levers->cells + c] * levers->weight[k * levers->cells + c];
      *(i == k ? &own : &shared) += product / levers->strata[i] / levers->strata[k];
    }
  }
  own /= n;
  shared /= n * (n - 1);
  return shared > 0 ? (own + (n - 1) * shared) / (own - shared) : 1;
}

/* Tests the mean of the levers' slopes by Student's t. inflation: of the variance of that mean. */
static AnalysisTestResult test_levers(const Levers *levers, const AnalysisCells *cells, double inflation) {
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  double slope[LEVERS_MAX];
  if (levers->count < ANALYSIS_LEVERS_MIN) return result;
  for (size_t l = 0; l < levers->count; l++) slope[l] = levers->sum[l] / levers->strata[l];
  const double n = (double)levers->count;
  const AnalysisContrast mean = {.estimate = analysis_mean(slope, levers->count),
                                 .error = analysis_sd(slope, levers->count) * sqrt(inflation / n),
                                 .degrees = n - 1};
  result.interval = analysis_contrast_interval(mean, cells->count);
  result.p_for = analysis_contrast_above(mean, 0);
  result.p_against = analysis_contrast_below(mean, 0);
  for (size_t l = 0; l < levers->count; l++) result.strata = (size_t)fmax((double)result.strata, levers->strata[l]);
  return result;
}

/* Tests slopes, allowing for what they share. */
static AnalysisTestResult test_slopes(const Levers *levers, const AnalysisCells *cells) {
  const bool is_tested = levers->count >= ANALYSIS_LEVERS_MIN;
  return test_levers(levers, cells, is_tested ? shared_variance(levers) : 1);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static Levers levers_create(const AnalysisCells *cells) {
  Levers levers = {.cells = cells->cells};
  levers.weight = core_memory_zero_allocate(LEVERS_MAX * cells->cells + 1, sizeof *levers.weight);
  return levers;
}

static Points points_create(const AnalysisCells *cells, size_t s) {
  Points p = {.first = cells->stratum[s], .count = cells->stratum[s + 1] - cells->stratum[s]};
  p.x = core_memory_allocate(2 * (p.count + 1) * sizeof *p.x);
  p.y = p.x + p.count + 1;
  return p;
}

static void set_means(const AnalysisCells *cells, const Points *p, const double *value, double *mean) {
  for (size_t i = 0; i < p->count; i++) mean[i] = analysis_cells_mean(cells, value, p->first + i);
}

/* Writes the ranks within the stratum, from 0 to 1, of the cells' means of value[runs]. */
static void rank_means(const AnalysisCells *cells, const Points *p, const double *value, double *rank) {
  double *mean = core_memory_allocate((p->count + 1) * sizeof *mean);
  set_means(cells, p, value, mean);
  analysis_ranks(mean, p->count, rank);
  for (size_t i = 0; i < p->count; i++) rank[i] /= (double)p->count;
  free(mean);
}

AnalysisTestResult analysis_test_relation(const AnalysisTable *table, const AnalysisCells *cells) {
  Levers levers = levers_create(cells);
  for (size_t s = 0; s < cells->strata; s++) {
    Points p = points_create(cells, s);
    set_means(cells, &p, cells->x, p.x);
    rank_means(cells, &p, cells->score, p.y);
    add_levers(table, cells, &p, &levers);
    free(p.x);
  }
  const AnalysisTestResult result = test_slopes(&levers, cells);
  free(levers.weight);
  return result;
}

AnalysisTestResult analysis_test_relation_grows(const AnalysisTable *table, const AnalysisCells *cells,
                                             const double *early) {
  Levers levers = levers_create(cells);
  for (size_t s = 0; s < cells->strata; s++) {
    Points p = points_create(cells, s);
    double *before = core_memory_allocate((p.count + 1) * sizeof *before);
    set_means(cells, &p, cells->x, p.x);
    rank_means(cells, &p, cells->score, p.y);
    rank_means(cells, &p, early, before);
    for (size_t i = 0; i < p.count; i++) p.y[i] -= before[i];
    add_levers(table, cells, &p, &levers);
    free(before);
    free(p.x);
  }
  const AnalysisTestResult result = test_slopes(&levers, cells);
  free(levers.weight);
  return result;
}

/* Raises the probabilities to those of Student's t over seeds. Unlike slopes over x, comparisons of thirds share points
 * along several levers, so that the noise of a point moves all of them. Cells of one run have no spread and no test. */
static void check_seeds(const Levers *levers, const AnalysisCells *cells, AnalysisTestResult *result) {
  double *weight = core_memory_zero_allocate(cells->cells + 1, sizeof *weight);
  bool has_seeds = true;
  for (size_t c = 0; c < cells->cells; c++) {
    for (size_t l = 0; l < levers->count; l++)
      weight[c] += levers->weight[l * cells->cells + c] / levers->strata[l] / (double)levers->count;
    has_seeds = has_seeds && (weight[c] == 0 || cells->first[c + 1] - cells->first[c] > 1);
  }
  const AnalysisContrast contrast = has_seeds ? analysis_contrast(cells, weight) : (AnalysisContrast){.error = NAN};
  if (contrast.error > 0) {
    result->p_for = fmax(result->p_for, analysis_contrast_above(contrast, 0));
    result->p_against = fmax(result->p_against, analysis_contrast_below(contrast, 0));
  }
  free(weight);
}

/* Compares the middle third of each stratum by x (x = 1) with an outer one (x = 0); the third one is left out. */
static AnalysisTestResult compare_thirds(const AnalysisTable *table, const AnalysisCells *cells, bool high) {
  Levers levers = levers_create(cells);

  for (size_t s = 0; s < cells->strata; s++) {
    Points p = points_create(cells, s);
    rank_means(cells, &p, cells->x, p.x);
    for (size_t i = 0; i < p.count; i++) {
      const double rank = p.x[i] - 0.5 / (double)p.count;
      const bool middle = rank >= 1.0 / 3 && rank < 2.0 / 3, outer = high ? rank >= 2.0 / 3 : rank < 1.0 / 3;
      p.x[i] = middle ? 1 : outer ? 0 : NAN;
      p.y[i] = analysis_cells_mean(cells, cells->score, p.first + i);
    }

    add_levers(table, cells, &p, &levers);
    free(p.x);
  }

  AnalysisTestResult result = test_levers(&levers, cells, 1);
  if (!isnan(result.p_for)) check_seeds(&levers, cells, &result);
  free(levers.weight);
  return result;
}

AnalysisTestResult analysis_test_middle(const AnalysisTable *table, const AnalysisCells *cells) {
  const AnalysisTestResult low = compare_thirds(table, cells, false), high = compare_thirds(table, cells, true);
  if (isnan(low.p_for) || isnan(high.p_for)) return ANALYSIS_NOT_TESTED;
  AnalysisTestResult result = low.interval.center <= high.interval.center ? low : high;
  result.p_for = fmax(low.p_for, high.p_for);
  result.p_against = fmin(1, 2 * fmin(low.p_against, high.p_against));
  return result;
}
