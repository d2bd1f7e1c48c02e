/* The tests of claims (claims.h): choices, intervals and verdicts. */
#include "analysis/claims/claims.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/cells.h"
#include "analysis/claims/claim_statistics.h"
#include "analysis/statistics/stratified.h"
#include "core/memory.h"

enum {
  REPLICATES = 5000,       /* of seeds within cells */
  REPLICATES_CONFIGURATIONS = 2000,
  BOOTSTRAP_SEED = 10,
  SEEDS_MIN = 3,           /* fewer runs a cell give no verdict: a bootstrap of two has three distinct means */
  CONFIGURATIONS_MIN = 6,  /* for statistics over configurations */
  MORE_SEEDS_MAX = 1000,
};

static const AnalysisClaim claims[] = {
#define CLAIM(id, paper, figure, sentence, data, where, beside, test, key, second, measure) \
  {#id, paper, figure, sentence, data, where, beside, ANALYSIS_TEST_##test, #test, key, second, \
   ANALYSIS_MEASURE_##measure},
#include "analysis/claims/claims.def"
#undef CLAIM
};
enum { CLAIMS = sizeof claims / sizeof *claims };

const char *analysis_verdict_name(AnalysisVerdict verdict) {
  static const char *const names[] = {"undecided", "supported", "contradicted"};
  return names[verdict];
}

/* ---- intervals --------------------------------------------------------------------------------------------------- */

/* Percentiles of a bootstrap of few seeds are too narrow: by the root of n / (n - 1), and by the normal's quantile
 * where Student's belongs. Hesterberg's expanded percentile interval (2015, The American Statistician 69:4) takes
 * percentiles further out: those where a normal has its mass beyond sqrt(n / (n - 1)) t. n: seeds of the smallest cell;
 * degrees: of the cells that the statistic rests on. */
static double expanded_level(double level, size_t n, size_t degrees) {
  double t = analysis_student_quantile((1 + level) / 2, (double)degrees) * sqrt((double)n / (double)(n - 1));
  return 1 - erfc(t / sqrt(2));
}

static AnalysisInterval interval_of_cells(const AnalysisCells *cells, AnalysisCellStatistic statistic,
                                          const size_t *choice, double level) {
  uint32_t *once = core_memory_allocate((cells->count + 1) * sizeof *once);
  for (size_t i = 0; i < cells->count; i++) once[i] = 1;
  AnalysisInterval interval = {statistic(cells, once, choice), NAN, NAN, cells->count};
  double *value = core_memory_allocate(REPLICATES * sizeof *value);
  free(once);
#pragma omp parallel
  {
    uint32_t *count = core_memory_allocate((cells->count + 1) * sizeof *count);
#pragma omp for schedule(static)
    for (size_t r = 0; r < REPLICATES; r++) {
      analysis_stratified_draw(cells->first, cells->cells, BOOTSTRAP_SEED, (uint32_t)r, 0, count);
      value[r] = statistic(cells, count, choice);
    }
    free(count);
  }
  interval.low = analysis_percentile(value, REPLICATES, (1 - level) / 2);
  interval.high = analysis_percentile(value, REPLICATES, (1 + level) / 2);
  free(value);
  return interval;
}

/* statistic NULL: Spearman's rho, which has a faster way of its own. */
static AnalysisInterval interval_of_configurations(const AnalysisCells *cells, AnalysisStatistic statistic,
                                                   const double *early) {
  AnalysisPoints points = {cells->x, cells->score, early};
  size_t *cluster = core_memory_allocate((cells->count + 1) * sizeof *cluster);
  for (size_t c = 0; c < cells->cells; c++) {
    for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++) cluster[i] = c;
  }
  AnalysisInterval interval =
    statistic ? analysis_bootstrap(statistic, &points, cluster, cells->count, cells->cells, REPLICATES_CONFIGURATIONS,
                                   0.95, BOOTSTRAP_SEED)
              : analysis_spearman_interval(cells->x, cells->score, cluster, cells->count, cells->cells,
                                           REPLICATES_CONFIGURATIONS, 0.95, BOOTSTRAP_SEED);
  free(cluster);
  return interval;
}

/* ---- choices of cells -------------------------------------------------------------------------------------------- */

static double plain_mean(const AnalysisCells *cells, size_t c) {
  return analysis_mean(cells->score + cells->first[c], cells->first[c + 1] - cells->first[c]);
}

/* The best cell of [begin, end) other than the end cell; false with fewer than `least` cells. */
static bool choose_end(const AnalysisCells *cells, size_t begin, size_t end, bool high, size_t least,
                       size_t choice[2]) {
  choice[0] = choice[1] = SIZE_MAX;
  if (end - begin < least) return false;
  choice[1] = high ? end - 1 : begin;
  for (size_t c = begin; c < end; c++) {
    if (c != choice[1] && (choice[0] == SIZE_MAX || plain_mean(cells, c) > plain_mean(cells, choice[0]))) choice[0] = c;
  }
  return true;
}

/* Where the cells of the smallest second key end, and those of the largest begin; false when it does not vary. */
static bool second_ends(const AnalysisCells *cells, size_t s, size_t *small_end, size_t *large_begin) {
  size_t begin = cells->stratum[s], end = cells->stratum[s + 1];
  *small_end = begin;
  *large_begin = end;
  while (*small_end < end && cells->second[*small_end] == cells->second[begin]) ++*small_end;
  while (*large_begin > begin && cells->second[*large_begin - 1] == cells->second[end - 1]) --*large_begin;
  return *small_end < end && *large_begin > begin;
}

/* One (or, of ROBUST and SAME_BEST, two) pairs of numbers a stratum; returns the strata that have them. *most: the
 * largest number of cells that a best one was chosen from. */
static size_t choose(const AnalysisCells *cells, AnalysisTest test, size_t *choice, size_t *most) {
  size_t used = 0;
  bool high = test == ANALYSIS_TEST_HIGH_END || test == ANALYSIS_TEST_ROBUST_HIGH;
  bool two = test == ANALYSIS_TEST_ROBUST || test == ANALYSIS_TEST_ROBUST_HIGH || test == ANALYSIS_TEST_SAME_BEST;
  *most = 2;
  for (size_t s = 0; s < cells->strata; s++) {
    size_t begin = cells->stratum[s], end = cells->stratum[s + 1], small_end, large_begin;
    size_t *c = choice + (two ? 4 : 2) * s;
    bool good = false;
    if (end - begin > *most) *most = end - begin;
    if (!two) {
      good = choose_end(cells, begin, end, high, 3, c);
    } else if (second_ends(cells, s, &small_end, &large_begin)) {
      if (test == ANALYSIS_TEST_SAME_BEST) {
        good = small_end - begin >= 3 && end - large_begin >= 3;
        c[0] = begin; c[1] = small_end; c[2] = large_begin; c[3] = end;
      } else {
        bool first = choose_end(cells, begin, small_end, high, 2, c);
        good = choose_end(cells, large_begin, end, high, 2, c + 2) && first;
      }
    }
    if (!good) c[0] = SIZE_MAX;
    used += good;
  }
  return used;
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

typedef struct Meaning {
  const char *statistic, *direction;
  double null;
  int sign;              /* +1: the claim is "above null", -1: below; 0: inside null -+ 1/4 */
} Meaning;

static const Meaning meanings[] = {
  [ANALYSIS_TEST_RISES] = {"P(a larger setting has a larger value)", "> 0.5", 0.5, 1},
  [ANALYSIS_TEST_FALLS] = {"P(a larger setting has a larger value)", "< 0.5", 0.5, -1},
  [ANALYSIS_TEST_EQUAL] = {"P(a larger setting has a larger value)", "in 0.25..0.75", 0.5, 0},
  [ANALYSIS_TEST_LOW_END] = {"best of the others - value at the lowest setting", "> 0", 0, 1},
  [ANALYSIS_TEST_HIGH_END] = {"best of the others - value at the highest setting", "> 0", 0, 1},
  [ANALYSIS_TEST_ROBUST] = {"loss at the lowest setting: smallest scale - largest scale", "> 0", 0, 1},
  [ANALYSIS_TEST_ROBUST_HIGH] = {"loss at the highest setting: smallest scale - largest scale", "> 0", 0, 1},
  [ANALYSIS_TEST_SAME_BEST] = {"decades between the best settings at both ends", "< 0.5", 0.5, -1},
  [ANALYSIS_TEST_MIDDLE] = {"mean of the middle third - greater mean of the outer thirds", "> 0", 0, 1},
  [ANALYSIS_TEST_UP] = {"Spearman's rho", "> 0", 0, 1},
  [ANALYSIS_TEST_DOWN] = {"Spearman's rho", "< 0", 0, -1},
  [ANALYSIS_TEST_GROWS] = {"rho at the whole budget - rho at a tenth", "> 0", 0, 1},
  [ANALYSIS_TEST_AT_LEAST_95] = {"mean", "> 0.95", 0.95, 1},
  [ANALYSIS_TEST_DEGRADES] = {"mean", "> 0", 0, 1},
  [ANALYSIS_TEST_SWITCH_UP] = {"mean change against the run begun from", "> 0", 0, 1},
  [ANALYSIS_TEST_SWITCH_DOWN] = {"mean change against the run begun from", "< 0", 0, -1},
};

static void judge(AnalysisFindingOfClaim *f) {
  const Meaning *meaning = &meanings[f->claim->test];
  double low = f->interval.low - meaning->null, high = f->interval.high - meaning->null;
  double effect = f->interval.center - meaning->null;
  if (isnan(low) || isnan(high)) {
    snprintf(f->reason, sizeof f->reason, "the statistic is not defined for these runs");
    return;
  }
  if (meaning->sign == 0) {
    if (low >= -0.25 && high <= 0.25) f->verdict = ANALYSIS_SUPPORTED;
    else if (low > 0.25 || high < -0.25) f->verdict = ANALYSIS_CONTRADICTED;
    effect = 0.25 - fabs(effect);
  } else if (meaning->sign > 0 ? low > 0 : high < 0) {
    f->verdict = ANALYSIS_SUPPORTED;
  } else if (meaning->sign > 0 ? high < 0 : low > 0) {
    f->verdict = ANALYSIS_CONTRADICTED;
  }
  if (f->verdict != ANALYSIS_UNDECIDED) return;
  /* The interval's half width falls with the root of the seeds. */
  double half = (f->interval.high - f->interval.low) / 2, times = half / fabs(effect);
  double seeds = ceil((double)f->seeds * times * times);
  snprintf(f->reason, sizeof f->reason, "the interval holds both answers");
  if (isfinite(seeds) && seeds <= MORE_SEEDS_MAX) f->more_seeds = (size_t)fmax(seeds, (double)f->seeds + 1);
}

static void lacks(AnalysisFindingOfClaim *f, const char *what) { snprintf(f->reason, sizeof f->reason, "%s", what); }

/* The smallest number of runs of a cell. */
static size_t fewest_seeds(const AnalysisCells *cells) {
  size_t fewest = SIZE_MAX;
  for (size_t c = 0; c < cells->cells; c++) {
    size_t n = cells->first[c + 1] - cells->first[c];
    if (n < fewest) fewest = n;
  }
  return cells->cells ? fewest : 0;
}

/* Drops cells with fewer than SEEDS_MIN runs and strata with fewer than `least` cells. */
static void drop_thin(AnalysisCells *cells, size_t least) {
  size_t out = 0, cell_out = 0, stratum_out = 0;
  for (size_t s = 0; s < cells->strata; s++) {
    size_t thick = 0, begin = cells->stratum[s], end = cells->stratum[s + 1];
    for (size_t c = begin; c < end; c++) thick += cells->first[c + 1] - cells->first[c] >= SEEDS_MIN;
    if (thick < least) continue;
    cells->stratum[stratum_out++] = cell_out;
    for (size_t c = begin; c < end; c++) {
      size_t from = cells->first[c], n = cells->first[c + 1] - from;
      if (n < SEEDS_MIN) continue;
      memmove(cells->score + out, cells->score + from, n * sizeof *cells->score);
      memmove(cells->x + out, cells->x + from, n * sizeof *cells->x);
      memmove(cells->run + out, cells->run + from, n * sizeof *cells->run);
      cells->key[cell_out] = cells->key[c];
      cells->second[cell_out] = cells->second[c];
      cells->first[cell_out++] = out;
      out += n;
    }
  }
  cells->first[cell_out] = cells->count = out;
  cells->stratum[stratum_out] = cells->cells = cell_out;
  cells->strata = stratum_out;
}

static void test_cells(const AnalysisClaim *claim, AnalysisCells *cells, AnalysisFindingOfClaim *f) {
  AnalysisTest test = claim->test;
  bool pairs = test <= ANALYSIS_TEST_EQUAL;
  size_t most, before = cells->cells;
  drop_thin(cells, pairs ? 2 : 3);
  f->seeds = fewest_seeds(cells);
  if (cells->cells == 0) {
    lacks(f, before == 0 ? "no runs" : "needs 3 seeds each of several values of the setting, all else equal");
    return;
  }
  size_t *choice = core_memory_allocate((4 * cells->strata + 1) * sizeof *choice);
  AnalysisCellStatistic statistic = pairs ? analysis_claim_rising
                                    : test <= ANALYSIS_TEST_HIGH_END ? analysis_claim_end_gap
                                    : test == ANALYSIS_TEST_SAME_BEST ? analysis_claim_best_shift
                                                                      : analysis_claim_end_gap_shrinks;
  size_t used = pairs ? cells->strata : choose(cells, test, choice, &most);
  if (used == 0) {
    lacks(f, "needs several values of both settings, all else equal");
  } else {
    bool chosen = test == ANALYSIS_TEST_LOW_END || test == ANALYSIS_TEST_HIGH_END;
    double level =
      chosen ? 1 - 0.05 / (double)(most - 1) : 0.95; /* Bonferroni: the best was chosen from the same data */
    size_t degrees = chosen ? 2 * used * (f->seeds - 1) : cells->count - cells->cells;
    level = expanded_level(level, f->seeds, degrees);
    f->strata = used;
    f->interval = interval_of_cells(cells, statistic, choice, level);
    judge(f);
  }
  free(choice);
}

static void test_configurations(const AnalysisClaim *claim, const AnalysisTable *table, AnalysisCells *cells,
                                AnalysisFindingOfClaim *f) {
  AnalysisStatistic statistic = claim->test == ANALYSIS_TEST_MIDDLE  ? analysis_claim_middle
                                : claim->test == ANALYSIS_TEST_GROWS ? analysis_claim_rho_growth
                                : claim->test <= ANALYSIS_TEST_DOWN  ? NULL : analysis_claim_mean;
  size_t least = statistic == analysis_claim_mean ? 1 : CONFIGURATIONS_MIN;
  f->seeds = fewest_seeds(cells);
  f->strata = cells->strata;
  if (cells->cells < least || cells->count < CONFIGURATIONS_MIN) {
    lacks(f, cells->count == 0 ? "no runs" : "needs 6 configurations (for a mean: 6 runs)");
    return;
  }
  double *early = core_memory_allocate((cells->count + 1) * sizeof *early);
  for (size_t i = 0; i < cells->count; i++) {
    early[i] = table->measured[cells->run[i]].value[ANALYSIS_MEASURE_early];
    if (isnan(early[i])) early[i] = cells->score[i]; /* no evaluation so early: no news from it */
  }
  if (cells->cells == 1) {
    const AnalysisRange range = analysis_measure_range(claim->measure, table->measured, table->selection->count);
    f->interval = analysis_interval_of_mean(cells->score, cells->count,
                                            range.logarithmic ? ANALYSIS_RANGE_FREE : range, 0.95);
  }
  else f->interval = interval_of_configurations(cells, statistic, early);
  judge(f);
  free(early);
}

/* Runs that began from another run of the selection, as the difference of the two. */
static void test_switches(const AnalysisClaim *claim, const AnalysisTable *table, const AnalysisCells *cells,
                          AnalysisFindingOfClaim *f) {
  double *change = core_memory_allocate((cells->count + 1) * sizeof *change);
  size_t n = 0, cell = 0;
  for (size_t i = 0; i < cells->count; i++) {
    const CoreConfig *config = &table->selection->runs[cells->run[i]].config;
    while (cells->first[cell + 1] <= i) cell++;
    if (strncmp(config->init.from, "run:", 4) != 0) continue;
    for (size_t p = 0; p < cells->count; p++) {
      const AnalysisRun *parent = &table->selection->runs[cells->run[p]];
      if (strncmp(config->init.from + 4, parent->id, CORE_RUN_ID - 1) != 0) continue;
      bool raised = config->ppo.com > parent->config.ppo.com, lowered = config->ppo.com < parent->config.ppo.com;
      if (claim->test == ANALYSIS_TEST_SWITCH_UP ? raised : lowered) change[n++] = cells->score[i] - cells->score[p];
    }
  }
  f->seeds = n;
  f->runs = n;
  f->strata = n > 0;
  if (n < SEEDS_MIN) {
    lacks(f, "needs 3 runs that began from a run with another setting (init.from)");
  } else {
    f->interval = analysis_interval_of_mean(change, n, ANALYSIS_RANGE_FREE, 0.95);
    judge(f);
  }
  free(change);
}

static int evaluate(const AnalysisClaim *claim, const AnalysisTable *table, AnalysisFindingOfClaim *f) {
  AnalysisTest test = claim->test;
  bool measured_x = test == ANALYSIS_TEST_MIDDLE || test == ANALYSIS_TEST_UP || test == ANALYSIS_TEST_DOWN ||
                    test == ANALYSIS_TEST_GROWS;
  AnalysisMeasure x = ANALYSIS_MEASURE_ddr;
  AnalysisCells cells;
  *f = (AnalysisFindingOfClaim){.claim = claim, .interval = {NAN, NAN, NAN, 0}, .statistic = meanings[test].statistic,
                                .direction = meanings[test].direction};
  if (measured_x) TRY(analysis_measure_find(claim->key, &x));
  AnalysisArrangement arrangement = {claim->where, measured_x ? "" : claim->key, claim->second, claim->beside,
                                     claim->measure, measured_x ? (int)x : -1};
  int code = analysis_cells_create(table, &arrangement, &cells);
  if (code != CORE_OK) return core_error_context(code, "claims.def: %s", claim->id);
  f->runs = cells.count;
  f->unfinished = cells.unfinished;
  f->missing = cells.missing;
  if (test >= ANALYSIS_TEST_SWITCH_UP) test_switches(claim, table, &cells, f);
  else if (test >= ANALYSIS_TEST_MIDDLE) test_configurations(claim, table, &cells, f);
  else test_cells(claim, &cells, f);
  f->cells = cells.cells;
  if (test < ANALYSIS_TEST_MIDDLE) f->runs = cells.count;
  analysis_cells_free(&cells);
  return CORE_OK;
}

int analysis_claims_judge(const AnalysisSelection *selection, const AnalysisMeasured *measured,
                          AnalysisFindingOfClaim **finding, size_t *count) {
  int code = CORE_OK;
  AnalysisTable table = analysis_table_create(selection, measured);
  *finding = core_memory_zero_allocate(CLAIMS, sizeof **finding);
  *count = CLAIMS;
  for (size_t i = 0; i < CLAIMS && code == CORE_OK; i++) code = evaluate(&claims[i], &table, &(*finding)[i]);
  analysis_table_free(&table);
  return code;
}

int analysis_claims_evaluate(StoreDatabase *database, const AnalysisSelection *selection,
                             AnalysisFindingOfClaim **finding, size_t *count) {
  AnalysisMeasured *measured = NULL;
  *finding = NULL;
  *count = 0;
  int code = analysis_measures_read(database, selection, NULL, 0, &measured);
  if (code == CORE_OK) code = analysis_claims_judge(selection, measured, finding, count);
  free(measured);
  return code;
}
