/* The rows of claims.def, judged (claims.h): which test, on which cells, and what its probabilities mean. Printing is
 * claims_print.c. */
#include "analysis/claims/claims.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/clock.h"
#include "analysis/claims/curve.h"
#include "analysis/claims/permute.h"
#include "analysis/claims/switches.h"
#include "analysis/runs/codes.h"
#include "analysis/runs/measure_coverage.h"
#include "core/memory.h"
#include "core/text.h"
#include "store/workspace/paths.h"

enum { SEEDS_MIN = ANALYSIS_SEEDS_MIN, MORE_SEEDS_MAX = 1000 };

/* The level of each side for 1, 2, ... looks of which any may decide (Pocock 1977, table 1, halved). */
static const double level_of_looks[ANALYSIS_LOOKS_MAX] = {0.025, 0.0147, 0.01105, 0.0091, 0.0079};

static const AnalysisClaim claims[] = {
#define CLAIM(id, paper, figure, sentence, data, where, beside, test, key, second, measure) \
  {#id, paper, figure, sentence, data, where, beside, ANALYSIS_TEST_##test, #test, key, second, \
   ANALYSIS_MEASURE_##measure},
#include "analysis/claims/claims.def"
#undef CLAIM
};
enum { CLAIMS = sizeof claims / sizeof *claims };

const AnalysisClaim *analysis_claims_list(size_t *count) {
  *count = CLAIMS;
  return claims;
}

const char *analysis_verdict_name(AnalysisVerdict verdict) {
  static const char *const names[] = {"undecided", "supported", "contradicted"};
  return names[verdict];
}

typedef enum Kind { OF_KEYS, OF_SECOND, OF_POINTS, OF_MEAN, OF_SWITCH } Kind;

typedef struct Meaning { const char *statistic, *direction, *needs; Kind kind; bool margin; } Meaning;

static const Meaning meanings[ANALYSIS_TESTS] = {
  [ANALYSIS_TEST_RISES] = {"P(a larger setting has a larger value)", "> 0.5", "two settings to compare", OF_KEYS,
                            false},
  [ANALYSIS_TEST_FALLS] = {"P(a larger setting has a larger value)", "< 0.5", "two settings to compare", OF_KEYS,
                            false},
  [ANALYSIS_TEST_EQUAL] = {"largest difference between settings", "none", "two settings to compare", OF_KEYS, true},
  [ANALYSIS_TEST_NOT_WORSE] = {"highest setting - lowest setting", "no loss", "two settings to compare", OF_KEYS, true},
  [ANALYSIS_TEST_LOW_END] = {"best of the others - lowest setting", "> 0", "three settings to compare", OF_KEYS, false},
  [ANALYSIS_TEST_HIGH_END] = {"best of the others - highest setting", "> 0", "three settings to compare", OF_KEYS,
                              false},
  [ANALYSIS_TEST_LOW_PLATEAU] = {"best of the others - lowest setting, whose late gain is below the margin,", "> 0",
                                 "three settings to compare", OF_KEYS, true},
  [ANALYSIS_TEST_HIGH_PLATEAU] = {"best of the others - highest setting, whose late gain is below the margin,", "> 0",
                                  "three settings to compare", OF_KEYS, true},
  [ANALYSIS_TEST_ROBUST] = {"loss at the lowest setting: smallest scale - largest scale", "> 0",
                            "two settings at two scales", OF_SECOND, false},
  [ANALYSIS_TEST_ROBUST_HIGH] = {"loss at the highest setting: smallest scale - largest scale", "> 0",
                                 "two settings at two scales", OF_SECOND, false},
  [ANALYSIS_TEST_SAME_BEST] = {"loss by the best setting of the other end", "none", "three settings at two scales",
                               OF_SECOND, true},
  [ANALYSIS_TEST_GAIN_GROWS] = {"gain at the largest scale - gain at the smallest", "> 0",
                                "two settings at two scales", OF_SECOND, false},
  [ANALYSIS_TEST_GAIN_SHRINKS] = {"gain at the largest scale - gain at the smallest", "< 0",
                                  "two settings at two scales", OF_SECOND, false},
  [ANALYSIS_TEST_GAIN_EQUAL] = {"largest difference between gains", "none", "two settings at two scales", OF_SECOND,
                                true},
  [ANALYSIS_TEST_BEST_AT_LOW] = {"best elsewhere - best at the lowest scale", "> 0", "settings at two scales",
                                 OF_SECOND, false},
  [ANALYSIS_TEST_BEST_AT_HIGH] = {"best elsewhere - best at the highest scale", "> 0", "settings at two scales",
                                  OF_SECOND, false},
  [ANALYSIS_TEST_BEST_EQUAL] = {"largest difference between best values", "none", "two settings at two scales",
                                OF_SECOND, true},
  [ANALYSIS_TEST_MIDDLE] = {"mean of the middle third - greater mean of the outer thirds", "> 0",
                            "six configurations to compare", OF_POINTS, false},
  [ANALYSIS_TEST_UP] = {"Spearman's rho", "> 0", "six configurations to compare", OF_POINTS, false},
  [ANALYSIS_TEST_DOWN] = {"Spearman's rho", "< 0", "six configurations to compare", OF_POINTS, false},
  [ANALYSIS_TEST_GROWS] = {"rho at the whole budget - rho at a tenth", "> 0", "six configurations to compare",
                           OF_POINTS, false},
  [ANALYSIS_TEST_ONE_CURVE] = {"largest distance from the others' curve", "none", "two levers, six configurations each",
                               OF_POINTS, true},
  [ANALYSIS_TEST_AT_LEAST_95] = {"mean", "> 0.95", "one configuration", OF_MEAN, false},
  [ANALYSIS_TEST_POSITIVE] = {"mean", "> 0", "one configuration", OF_MEAN, false},
  [ANALYSIS_TEST_NEGATIVE] = {"mean", "< 0", "one configuration", OF_MEAN, false},
  [ANALYSIS_TEST_SWITCH_UP] = {"mean change against the run begun from, with a gain at once,", "> 0",
                               "three parents of runs that began with another setting (init.from)", OF_SWITCH, false},
  [ANALYSIS_TEST_SWITCH_DOWN] = {"mean change against the run begun from, down to runs with the setting from the "
                                 "start,", "< 0",
                                 "three parents of runs that began with another setting (init.from), and runs with "
                                 "that setting from the start", OF_SWITCH, true},
  [ANALYSIS_TEST_SWITCH_SAME] = {"runs begun from others - runs with the setting from the start", "none",
                                 "runs with the setting from the start beside those that switched to it", OF_SWITCH,
                                 true},
};

const char *analysis_test_statistic(AnalysisTest test, const char **direction) {
  *direction = meanings[test].direction;
  return meanings[test].statistic;
}

static bool is_measured_x(AnalysisTest test) { return meanings[test].kind == OF_POINTS; }

static bool is_plateau(AnalysisTest test) {
  return test == ANALYSIS_TEST_LOW_PLATEAU || test == ANALYSIS_TEST_HIGH_PLATEAU;
}

/* ---- cells of one claim ------------------------------------------------------------------------------------------ */

static void lacks(AnalysisFindingOfClaim *f, const char *what) {
  if (f->cells == 0 && f->unfinished + f->missing + f->mixed == 0)
    snprintf(f->reason, sizeof f->reason, "no runs of this claim");
  else if (f->cells == 0) snprintf(f->reason, sizeof f->reason, "no runs that ended with the measure");
  else snprintf(f->reason, sizeof f->reason, "needs %s", what);
}

/* Takes out runs without a score, cells of too few runs, and then strata without cells. */
static void drop_thin_cells(AnalysisCells *cells, size_t least) {
  size_t kept = 0, strata = 0, run = 0;
  for (size_t s = 0; s < cells->strata; s++) {
    const size_t begin = cells->stratum[s], end = cells->stratum[s + 1], before = kept;
    for (size_t c = begin; c < end; c++) {
      const size_t first = cells->first[c], last = cells->first[c + 1];
      size_t n = 0;
      for (size_t i = first; i < last; i++) n += !isnan(cells->score[i]);
      if (n < least) continue;
      cells->key[kept] = cells->key[c];
      cells->second[kept] = cells->second[c];
      cells->first[kept++] = run;
      for (size_t i = first; i < last; i++) {
        if (isnan(cells->score[i])) continue;
        cells->run[run] = cells->run[i];
        cells->score[run] = cells->score[i];
        cells->x[run++] = cells->x[i];
      }
    }
    if (kept > before) cells->stratum[strata++] = before;
  }
  cells->stratum[strata] = kept;
  cells->first[kept] = run;
  cells->strata = strata;
  cells->cells = kept;
  cells->count = run;
}

static size_t fewest_seeds(const AnalysisCells *cells) {
  size_t least = SIZE_MAX;
  for (size_t c = 0; c < cells->cells; c++)
    if (cells->first[c + 1] - cells->first[c] < least) least = cells->first[c + 1] - cells->first[c];
  return cells->cells > 0 ? least : 0;
}

/* Measures without an upper bound are compared as ratios, where all are positive; but those of tests that look at
 * gains, too, as differences. */
static void take_margin(const AnalysisTable *table, AnalysisCells *cells, AnalysisFindingOfClaim *f) {
  const AnalysisRange range = analysis_measure_range(f->claim->measure, table->measured, cells->run, cells->count);
  double sum = 0;
  f->margin = isfinite(range.high) ? 0.05 * range.high : NAN;
  if (isfinite(range.high) || cells->count == 0) return;
  f->ratio = meanings[f->claim->test].kind != OF_SWITCH && !is_plateau(f->claim->test);
  for (size_t i = 0; i < cells->count; i++) {
    f->ratio = f->ratio && cells->score[i] > 0;
    sum += fabs(cells->score[i]);
  }
  f->margin = f->ratio ? log(1.25) : 0.2 * sum / (double)cells->count;
  for (size_t i = 0; i < cells->count && f->ratio; i++) cells->score[i] = log(cells->score[i]);
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

static AnalysisTested opposite(AnalysisTested tested) {
  const double p = tested.p_for;
  tested.p_for = tested.p_against;
  tested.p_against = p;
  return tested;
}

static AnalysisTested test_mean(const AnalysisTable *table, const AnalysisCells *cells, double null, int sign) {
  size_t *unit = analysis_cells_units(table, cells);
  const AnalysisTested tested = analysis_test_mean(cells, unit, null, sign);
  free(unit);
  return tested;
}

static AnalysisTested test(const AnalysisTable *table, AnalysisCells *cells, AnalysisFindingOfClaim *f) {
  switch (f->claim->test) {
    case ANALYSIS_TEST_RISES: return analysis_test_rises(cells);
    case ANALYSIS_TEST_FALLS: return opposite(analysis_test_rises(cells));
    case ANALYSIS_TEST_EQUAL: return analysis_test_equal(cells, f->margin);
    case ANALYSIS_TEST_NOT_WORSE: return analysis_test_not_worse(cells, f->margin);
    case ANALYSIS_TEST_LOW_END: return analysis_test_end(cells, false);
    case ANALYSIS_TEST_HIGH_END: return analysis_test_end(cells, true);
    case ANALYSIS_TEST_LOW_PLATEAU: return analysis_test_plateau(cells, false, f->margin);
    case ANALYSIS_TEST_HIGH_PLATEAU: return analysis_test_plateau(cells, true, f->margin);
    case ANALYSIS_TEST_ROBUST: return analysis_test_robust(cells, false);
    case ANALYSIS_TEST_ROBUST_HIGH: return analysis_test_robust(cells, true);
    case ANALYSIS_TEST_SAME_BEST: return analysis_test_same_best(cells, f->margin);
    case ANALYSIS_TEST_GAIN_GROWS: return analysis_test_gain(cells, 1);
    case ANALYSIS_TEST_GAIN_SHRINKS: return analysis_test_gain(cells, -1);
    case ANALYSIS_TEST_GAIN_EQUAL: return analysis_test_gain_equal(cells, f->margin);
    case ANALYSIS_TEST_BEST_AT_LOW: return analysis_test_best_at(cells, false);
    case ANALYSIS_TEST_BEST_AT_HIGH: return analysis_test_best_at(cells, true);
    case ANALYSIS_TEST_BEST_EQUAL: return analysis_test_best_equal(cells, f->margin);
    case ANALYSIS_TEST_MIDDLE: return analysis_test_middle(cells);
    case ANALYSIS_TEST_UP: return analysis_test_rho(cells);
    case ANALYSIS_TEST_DOWN: return opposite(analysis_test_rho(cells));
    case ANALYSIS_TEST_ONE_CURVE: return analysis_test_one_curve(table, cells, f->margin);
    case ANALYSIS_TEST_AT_LEAST_95: return test_mean(table, cells, 0.95, 1);
    case ANALYSIS_TEST_POSITIVE: return test_mean(table, cells, 0, 1);
    case ANALYSIS_TEST_NEGATIVE: return test_mean(table, cells, 0, -1);
    case ANALYSIS_TEST_SWITCH_UP: return analysis_test_switch_up(table, cells, &f->seeds);
    case ANALYSIS_TEST_SWITCH_DOWN: return analysis_test_switch_down(table, cells, f->margin, &f->seeds);
    case ANALYSIS_TEST_SWITCH_SAME: return analysis_test_switch_same(table, cells, 1, f->margin, &f->seeds);
    case ANALYSIS_TEST_GROWS: {
      double *early = core_memory_allocate((cells->count + 1) * sizeof *early);
      for (size_t i = 0; i < cells->count; i++)
        early[i] = table->measured[cells->run[i]].value[ANALYSIS_MEASURE_early];
      const AnalysisTested tested = analysis_test_grows(cells, early);
      free(early);
      return tested;
    }
    case ANALYSIS_TESTS: break;
  }
  return ANALYSIS_NOT_TESTED;
}

/* The fewest seeds with which a permutation could decide; 0: those that are there can, or it is no permutation. */
static size_t least_seeds(const AnalysisCells *cells, AnalysisTest test, size_t seeds, double level) {
  if (test != ANALYSIS_TEST_RISES && test != ANALYSIS_TEST_FALLS) return 0;
  if (analysis_permute_least(cells, seeds) <= level) return 0;
  for (size_t n = seeds + 1; n < 50; n++)
    if (analysis_permute_least(cells, n) <= level) return n;
  return 0;
}

/* Runs that a rule stopped are missing because of what they measured: what is left gives no verdict. */
static void decide(AnalysisFindingOfClaim *f, double p_for, double p_against) {
  f->verdict = ANALYSIS_UNDECIDED;
  if (f->censored > 0 || f->codes > 0) return;
  if (p_for <= f->level) f->verdict = ANALYSIS_SUPPORTED;
  else if (p_against <= f->level) f->verdict = ANALYSIS_CONTRADICTED;
}

/* Returns how many seeds of each cell would give a verdict at this level with probability 0.5, when the effect is as
 * seen: a normal's distance grows with the root of their number. 0: not known. */
static size_t seeds_needed(size_t seeds, double p, double level) {
  if (!(p < 0.5)) return 0;
  const double there = analysis_student_quantile(1 - p, 1e6), wanted = analysis_student_quantile(1 - level, 1e6);
  const double needed = ceil((double)seeds * (wanted / there) * (wanted / there));
  return isfinite(needed) && needed <= MORE_SEEDS_MAX ? (size_t)fmax(needed, (double)seeds + 1) : 0;
}

/* Says why a claim is undecided, and how many seeds would tell. */
static void explain(const AnalysisCells *cells, AnalysisFindingOfClaim *f) {
  const size_t least = least_seeds(cells, f->claim->test, f->seeds, f->level);
  if (f->censored > 0) {
    snprintf(f->reason, sizeof f->reason, "%zu runs were stopped by a rule; --budget %.6g compares what all reached",
             f->censored, cells->censored_at);
    return;
  }
  if (f->codes > 0) {
    snprintf(f->reason, sizeof f->reason, "%zu configurations have runs by different code; --where code=HASH takes "
             "those of one", f->codes);
    return;
  }
  if (least > 0) {
    snprintf(f->reason, sizeof f->reason, "undecidable with %zu seeds: at least %zu", f->seeds, least);
    f->more_seeds = least;
    return;
  }
  snprintf(f->reason, sizeof f->reason, "the data go with both answers");
  if (!is_measured_x(f->claim->test)) f->more_seeds = seeds_needed(f->seeds, fmin(f->p_for, f->p_against), f->level);
}

/* Returns how often the claim's data have been looked at with growing numbers of seeds. */
static int looks_at(const AnalysisClaimsAsked *asked, const AnalysisClaim *claim) {
  char name[128], path[CORE_PATH_MAX];
  if (asked->looks > 0) return (int)asked->looks;
  for (const char *word = claim->data; asked->root && *word; word += strspn(word, " ")) {
    const size_t length = strcspn(word, " ");
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    word += length;
    if (store_path_sweep(asked->root, name, "extended", path) == CORE_OK && core_files_exists(path)) return 2;
  }
  return 1;
}

static int arrange(StoreDatabase *database, const AnalysisClaim *claim, const AnalysisTable *table,
                   AnalysisCells *cells) {
  AnalysisMeasure x = ANALYSIS_MEASURE_ddr;
  const bool measured_x = is_measured_x(claim->test);
  const bool timed = database && claim->measure == ANALYSIS_MEASURE_score_at_time;
  const int beside = is_plateau(claim->test) ? ANALYSIS_MEASURE_late_gain
                     : claim->test == ANALYSIS_TEST_SWITCH_UP ? ANALYSIS_MEASURE_early_gain
                                                              : -1;
  if (measured_x) TRY(analysis_measure_find(claim->key, &x));
  const AnalysisArrangement arrangement = {claim->data, claim->where, measured_x ? "" : claim->key, claim->second,
                                           claim->beside, timed ? ANALYSIS_MEASURE_final : claim->measure,
                                           measured_x ? (int)x : beside};
  TRY(analysis_cells_create(table, &arrangement, cells));
  if (timed) return analysis_clock_scores(database, table->selection, cells);
  if (!database || claim->measure != ANALYSIS_MEASURE_coverage) return CORE_OK;
  /* At the number of states that this claim's runs have in common, whatever else the database holds. */
  TRY(analysis_coverage_read(database, table->selection, table->measured, cells->run, cells->count, cells->score));
  for (size_t i = 0; i < cells->count; i++) cells->missing += isnan(cells->score[i]);
  return CORE_OK;
}

/* Would another cell stand in for one that has too few seeds as the end, or as the best? */
static bool needs_all_cells(AnalysisTest test) {
  return test == ANALYSIS_TEST_LOW_END || test == ANALYSIS_TEST_HIGH_END || is_plateau(test) ||
         meanings[test].kind == OF_SECOND;
}

/* Returns the number of cells with runs by different code. */
static size_t count_codes(const AnalysisSelection *selection, const AnalysisCells *cells) {
  size_t count = 0;
  for (size_t c = 0; c < cells->cells; c++) {
    const AnalysisRun *one = NULL;
    bool differs = false;
    for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++) {
      const AnalysisRun *run = &selection->runs[cells->run[i]];
      if (!one || one->code == 0) one = run;
      differs |= !analysis_codes_agree(selection, one, run);
    }
    count += differs;
  }
  return count;
}

/* Whether the runs of some cell differ. */
static bool has_spread(const AnalysisCells *cells) {
  for (size_t c = 0; c < cells->cells; c++)
    for (size_t i = cells->first[c] + 1; i < cells->first[c + 1]; i++)
      if (cells->score[i] != cells->score[i - 1]) return true;
  return false;
}

/* Says of an order that is there on the average where it is broken: the statistic does not show that. */
static void note_order(const AnalysisCells *cells, AnalysisFindingOfClaim *f) {
  const int sign = f->claim->test == ANALYSIS_TEST_RISES ? 1 : f->claim->test == ANALYSIS_TEST_FALLS ? -1 : 0;
  double pair[3];
  if (sign == 0 || f->verdict != ANALYSIS_SUPPORTED || strchr(f->claim->key, ':')) return;
  const double p = analysis_order_broken(cells, sign, pair);
  if (p <= f->level)
    snprintf(f->note, sizeof f->note, "but not everywhere: %s from %g to %g %s %.3g (p = %.2g)", f->claim->key, pair[0],
             pair[1], sign > 0 ? "loses" : "gains", pair[2], p);
}

static int evaluate(StoreDatabase *database, const AnalysisClaimsAsked *asked, const AnalysisClaim *claim,
                    const AnalysisTable *table, AnalysisFindingOfClaim *f) {
  const Meaning *meaning = &meanings[claim->test];
  const int looks = looks_at(asked, claim);
  AnalysisCells cells;
  *f = (AnalysisFindingOfClaim){.claim = claim, .interval = {NAN, NAN, NAN, 0}, .statistic = meaning->statistic,
                                .direction = meaning->direction, .p_for = NAN, .p_against = NAN, .margin = NAN,
                                .looks = looks, .level = level_of_looks[looks - 1]};
  const int code = arrange(database, claim, table, &cells);
  if (code != CORE_OK) {
    analysis_cells_free(&cells);
    return core_error_context(code, "claims.def: %s", claim->id);
  }
  f->unfinished = cells.unfinished;
  f->censored = cells.censored;
  f->diverged = cells.diverged;
  f->failed = cells.failed;
  f->missing = cells.missing;
  f->mixed = cells.mixed;
  f->codes = count_codes(table->selection, &cells);
  const size_t all = cells.cells;
  f->runs = cells.count;
  if (meaning->kind != OF_SWITCH) analysis_cells_merge_children(table, &cells);
  /* A configuration is a point, however few its seeds; a switch counts parents. */
  const bool is_point = meaning->kind == OF_POINTS && !meaning->margin;
  drop_thin_cells(&cells, is_point || meaning->kind == OF_SWITCH ? 1 : SEEDS_MIN);
  if (cells.cells < all && needs_all_cells(claim->test)) drop_thin_cells(&cells, SIZE_MAX);
  f->cells = cells.cells;
  f->seeds = fewest_seeds(&cells);
  if (meaning->margin) take_margin(table, &cells, f);
  const AnalysisTested tested = test(table, &cells, f);
  f->interval = tested.interval;
  f->strata = tested.strata;
  f->p_for = tested.p_for;
  f->p_against = tested.p_against;
  if (f->p_for == 1 && f->p_against == 1 && !has_spread(&cells)) {
    f->p_for = f->p_against = NAN;
    snprintf(f->reason, sizeof f->reason, "no spread: all seeds of each setting have one value, which says nothing of "
             "further seeds");
  } else if (!isnan(f->p_for)) {
    decide(f, f->p_for, f->p_against);
    if (f->verdict == ANALYSIS_UNDECIDED) explain(&cells, f);
    note_order(&cells, f);
  } else if (all > cells.cells) {
    f->cells = all;
    lacks(f, "3 seeds a configuration");
  } else {
    lacks(f, meaning->needs);
  }
  analysis_cells_free(&cells);
  return CORE_OK;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static double two_sided(const AnalysisFindingOfClaim *f) { return fmin(1, 2 * fmin(f->p_for, f->p_against)); }

static int by_probability(const void *left, const void *right) {
  const AnalysisFindingOfClaim *a = *(AnalysisFindingOfClaim *const *)left;
  const AnalysisFindingOfClaim *b = *(AnalysisFindingOfClaim *const *)right;
  const double p = two_sided(a), q = two_sided(b);
  return p != q ? (p > q) - (p < q) : strcmp(a->claim->id, b->claim->id);
}

/* Holm's (1979) step-down: the k-th smallest of m probabilities times m - k + 1, never less than the one before. */
static void correct(AnalysisFindingOfClaim *finding, size_t count) {
  AnalysisFindingOfClaim **order = core_memory_allocate((count + 1) * sizeof *order);
  size_t tested = 0;
  double before = 0;
  for (size_t i = 0; i < count; i++)
    if (!isnan(finding[i].p_for)) order[tested++] = &finding[i];
  qsort(order, tested, sizeof *order, by_probability);
  for (size_t k = 0; k < tested; k++) {
    AnalysisFindingOfClaim *f = order[k];
    before = fmax(before, fmin(1, two_sided(f) * (double)(tested - k)));
    const bool is_for = f->p_for <= f->p_against, was_open = f->verdict == ANALYSIS_UNDECIDED;
    const double alone = fmin(f->p_for, f->p_against);
    if (is_for) f->p_for = before / 2, f->p_against = fmax(f->p_against, before / 2);
    else f->p_against = before / 2, f->p_for = fmax(f->p_for, before / 2);
    decide(f, f->p_for, f->p_against);
    if (f->verdict != ANALYSIS_UNDECIDED || f->censored > 0 || f->codes > 0) continue;
    if (!was_open) snprintf(f->reason, sizeof f->reason, "not sure enough among %zu claims", tested);
    if (!is_measured_x(f->claim->test))
      f->more_seeds = seeds_needed(f->seeds, alone, f->level / (double)(tested - k));
  }
  free(order);
}

static bool is_asked(const AnalysisClaimsAsked *asked, const AnalysisClaim *claim) {
  for (size_t i = 0; i < asked->id_count; i++)
    if (strcmp(asked->ids[i], claim->id) == 0) return true;
  return asked->id_count == 0;
}

static int check_ids(const AnalysisClaimsAsked *asked) {
  const char *names[CLAIMS];
  for (size_t c = 0; c < CLAIMS; c++) names[c] = claims[c].id;
  for (size_t i = 0; i < asked->id_count; i++) {
    bool known = false;
    for (size_t c = 0; c < CLAIMS; c++) known |= strcmp(asked->ids[i], names[c]) == 0;
    if (known) continue;
    const char *near = core_text_nearest(asked->ids[i], names, CLAIMS);
    return core_error(CORE_USAGE, "no claim %s%s%s", asked->ids[i],
                      near ? "; did you mean " : "; analyze claims lists them", near ? near : "");
  }
  return CORE_OK;
}

/* Is this sweep the data of some claim? */
static bool is_of_papers(const char *sweep) {
  for (size_t i = 0; i < CLAIMS; i++)
    if (analysis_data_names(claims[i].data, sweep)) return true;
  return false;
}

bool analysis_claims_take_all(const char *sweep) { return sweep != NULL && !is_of_papers(sweep); }

int analysis_claims_judge(StoreDatabase *database, const AnalysisSelection *selection,
                          const AnalysisMeasured *measured, const AnalysisMembership *membership,
                          const AnalysisClaimsAsked *asked, AnalysisFindingOfClaim **finding, size_t *count) {
  int code = check_ids(asked);
  AnalysisTable table = analysis_table_create(selection, measured, asked->all_runs ? NULL : membership);
  *finding = core_memory_zero_allocate(CLAIMS, sizeof **finding);
  *count = 0;
  for (size_t i = 0; i < CLAIMS && code == CORE_OK; i++)
    if (is_asked(asked, &claims[i])) code = evaluate(database, asked, &claims[i], &table, &(*finding)[(*count)++]);
  if (code == CORE_OK && asked->correct) correct(*finding, *count);
  analysis_table_free(&table);
  return code;
}

int analysis_claims_evaluate(StoreDatabase *database, const AnalysisSelection *selection,
                             const AnalysisClaimsAsked *asked, AnalysisFindingOfClaim **finding, size_t *count) {
  AnalysisMeasured *measured = NULL;
  AnalysisMembership membership = {0};
  *finding = NULL;
  *count = 0;
  int code = analysis_membership_read(database, selection, &membership);
  if (code == CORE_OK) code = analysis_measures_read(database, selection, NULL, asked->budget, &measured);
  if (code == CORE_OK) code = analysis_claims_judge(database, selection, measured, &membership, asked, finding, count);
  analysis_membership_free(&membership);
  free(measured);
  return code;
}
