/* Tests the claims of claims.def (claims.h): selects the test and the cells, and derives the verdict from the
 * probabilities. claims_print.c prints the results. */
#include "analysis/claims/claims.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/allowance.h"
#include "analysis/claims/cells.h"
#include "analysis/claims/contrast.h"
#include "analysis/claims/switches.h"
#include "analysis/claims/tests.h"
#include "analysis/runs/codes.h"
#include "analysis/runs/measures.h"
#include "core/memory.h"
#include "core/text.h"
#include "store/workspace/paths.h"

enum { SEEDS_MIN = ANALYSIS_SEEDS_MIN, MORE_SEEDS_MAX = 1000 };

/* One-sided level by number of looks, any of which may decide (Pocock 1977, table 1, halved). */
static const double look_levels[ANALYSIS_LOOKS_MAX] = {0.025, 0.0147, 0.01105, 0.0091, 0.0079};

static const AnalysisClaim claims[] = {
#define ROW(can, id, paper, figure, sentence, data, where, free_settings, test, key, second, measure) \
  {#id, paper, figure, sentence, data, where, free_settings, ANALYSIS_TEST_##test, #test, key, second, \
   ANALYSIS_MEASURE_##measure, can},
#define CLAIM(...) ROW(false, __VA_ARGS__)
#define CLAIM_CAN(...) ROW(true, __VA_ARGS__)
#include "analysis/claims/claims.def"
#undef CLAIM_CAN
#undef CLAIM
#undef ROW
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

static bool is_of_points(AnalysisTest test) { return analysis_test_info(test)->kind == ANALYSIS_OF_POINTS; }

/* ---- cells of one claim ------------------------------------------------------------------------------------------ */

/* Sets the reason of a claim that cannot be tested. */
static void set_missing(AnalysisClaimResult *f, const char *needed) {
  if (f->cells == 0 && f->unfinished + f->missing + f->mixed == 0)
    snprintf(f->reason, sizeof f->reason, "no runs of this claim");
  else if (f->cells == 0) snprintf(f->reason, sizeof f->reason, "no runs that ended with this measure");
  else snprintf(f->reason, sizeof f->reason, "needs %s", needed);
}

/* Removes runs without a score, cells with fewer than runs_min runs, and strata without cells. What is kept moves down
 * in place: a target index never exceeds the index that is read. */
static void drop_small_cells(AnalysisCells *cells, size_t runs_min) {
  size_t kept = 0, strata = 0, run = 0;

  for (size_t s = 0; s < cells->strata; s++) {
    const size_t begin = cells->stratum[s], end = cells->stratum[s + 1], stratum_first = kept;
    for (size_t c = begin; c < end; c++) {
      const size_t first = cells->first[c], last = cells->first[c + 1];
      size_t n = 0;
      for (size_t i = first; i < last; i++) n += !isnan(cells->score[i]);
      if (n < runs_min) continue;

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

    if (kept > stratum_first) cells->stratum[strata++] = stratum_first;
  }

  cells->stratum[strata] = kept;
  cells->first[kept] = run;
  cells->strata = strata;
  cells->cells = kept;
  cells->count = run;
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

/* Returns the minimum number of seeds with which a permutation test can decide; 0: the present number suffices, or it
 * is not a permutation test. */
static size_t find_seeds_min(const AnalysisCells *cells, AnalysisTest test, size_t seeds, double level) {
  if (test != ANALYSIS_TEST_RISES && test != ANALYSIS_TEST_FALLS) return 0;
  if (analysis_permute_p_min(cells, seeds) <= level) return 0;
  for (size_t n = seeds + 1; n < 50; n++)
    if (analysis_permute_p_min(cells, n) <= level) return n;
  return 0;
}

/* Whether something other than the probabilities prevents a verdict. */
static bool has_obstacle(const AnalysisClaimResult *f) { return f->censored > 0 || f->codes > 0 || f->disagree; }

/* Writes the range of a key in the cells: "ppo.com 2 to 512", or all names of its list. */
static void append_range(const char *key, const double *value, size_t count, char *text, size_t capacity) {
  double low = INFINITY, high = -INFINITY;
  const double sign = key[0] == '-' ? -1 : 1;
  const size_t used = strlen(text);
  const char *name = key + (sign < 0), *names = strchr(name, ':');
  for (size_t c = 0; c < count; c++) {
    low = fmin(low, sign * value[c]);
    high = fmax(high, sign * value[c]);
  }
  const char *separator = used ? ", " : "";
  if (names)
    snprintf(text + used, capacity - used, "%s%.*s %s", separator, (int)(names - name), name, names + 1);
  else
    snprintf(text + used, capacity - used, "%s%s %g to %g", separator, name, low, high);
}

/* Sets the range of settings that were tested; none for claims without a key. */
static void set_range(const AnalysisCells *cells, AnalysisClaimResult *f) {
  const AnalysisClaim *claim = f->claim;
  if (cells->cells == 0 || is_of_points(claim->test) || !claim->key[0]) return;
  append_range(claim->key, cells->key, cells->cells, f->range, sizeof f->range);
  if (claim->second[0]) append_range(claim->second, cells->second, cells->cells, f->range, sizeof f->range);
}

/* Sets the verdict. Runs stopped by a rule are missing because of their values, so that the rest allows no verdict. */
static void decide(AnalysisClaimResult *f, double p_for, double p_against) {
  f->verdict = ANALYSIS_UNDECIDED;
  f->is_not_seen = false;
  if (has_obstacle(f)) return;

  if (p_for <= f->level) f->verdict = ANALYSIS_SUPPORTED;
  else if (p_against <= f->level && !f->claim->can) f->verdict = ANALYSIS_CONTRADICTED;
  else f->is_not_seen = p_against <= f->level;
}

/* Estimates the number of seeds per cell that would give a verdict at this level with probability 0.5 if the effect is
 * as observed: a z score grows with the square root of the number. 0: unknown. */
static size_t estimate_seeds(size_t seeds, double p, double level) {
  if (!(p < 0.5)) return 0;
  const double z = analysis_student_quantile(1 - p, 1e6), z_needed = analysis_student_quantile(1 - level, 1e6);
  const double needed = ceil((double)seeds * (z_needed / z) * (z_needed / z));
  return isfinite(needed) && needed <= MORE_SEEDS_MAX ? (size_t)fmax(needed, (double)seeds + 1) : 0;
}

/* Whether a claim would be decided if its runs showed every failure that they may have, and no skew. */
static bool is_decided_by_seen(const AnalysisTable *table, const AnalysisCells *cells, const AnalysisClaimResult *f) {
  if (analysis_test_is_of_ranks(f->claim->test)) return false; /* ranks have no allowance */
  AnalysisCells seen = *cells;
  AnalysisClaimResult found = *f;
  seen.allowance = NULL;
  found.tasks = NULL;
  found.task_count = 0;
  analysis_strata_test(table, &seen, &found);
  free(found.tasks);
  return !found.disagree && (found.p_for <= f->level || found.p_against <= f->level);
}

/* Sets the reason of an undecided claim, and the number of seeds that would decide it. */
static void explain(const AnalysisTable *table, const AnalysisCells *cells, AnalysisClaimResult *f) {
  const size_t seeds_min = find_seeds_min(cells, f->claim->test, f->seeds, f->level);

  if (f->censored > 0) {
    snprintf(f->reason, sizeof f->reason, "%zu runs were stopped by a rule; --budget %.6g compares what all reached",
             f->censored, cells->censored_at);
    return;
  }

  if (f->codes > 0) {
    snprintf(f->reason, sizeof f->reason, "%zu configurations have runs by different code; --where code=HASH selects "
             "one", f->codes);
    return;
  }
  if (f->disagree) {
    snprintf(f->reason, sizeof f->reason, "tasks disagree");
    return;
  }
  if (f->is_not_seen) {
    snprintf(f->reason, sizeof f->reason, "not seen in the tested range");
    return;
  }
  if (seeds_min > 0) {
    snprintf(f->reason, sizeof f->reason, "undecidable with %zu seeds: needs at least %zu", f->seeds, seeds_min);
    f->more_seeds = seeds_min;
    return;
  }
  if (is_decided_by_seen(table, cells, f)) {
    f->unseen = true;
    f->failures_differ = analysis_failures_differ(cells, f->claim, f->reason, sizeof f->reason);
    const size_t unseen_runs = analysis_unseen_runs(f->claim);
    if (!f->failures_differ && f->seeds < unseen_runs) f->more_seeds = unseen_runs;
    return;
  }

  const bool is_alone = f->p_together_for <= f->level || f->p_together_against <= f->level;
  snprintf(f->reason, sizeof f->reason, is_alone ? "tasks disagree: one alone decides" : "the data fit both answers");
  if (!is_of_points(f->claim->test)) f->more_seeds = estimate_seeds(f->seeds, fmin(f->p_for, f->p_against), f->level);
}

/* Returns the number of times that the claim is tested with growing numbers of seeds. */
static int count_looks(const AnalysisClaimsOptions *options, const AnalysisClaim *claim) {
  char name[128], path[CORE_PATH_MAX];
  if (options->looks > 0) return (int)options->looks;
  for (const char *word = claim->data; options->root && *word; word += strspn(word, " ")) {
    const size_t length = strcspn(word, " ");
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    word += length;
    if (store_path_sweep(options->root, name, "extended", path) == CORE_OK && core_files_exists(path)) return 2;
  }
  return 1;
}

/* Selects the x measure of a claim; -1: none. */
static int select_x_measure(const AnalysisClaim *claim, int *x_measure) {
  AnalysisMeasure x;
  *x_measure = -1;
  if (analysis_test_is_plateau(claim->test)) *x_measure = ANALYSIS_MEASURE_late_gain;
  else if (claim->test == ANALYSIS_TEST_SWITCH_UP) *x_measure = ANALYSIS_MEASURE_early_gain;
  else if (claim->test == ANALYSIS_TEST_SWITCH_DOWN) *x_measure = ANALYSIS_MEASURE_total_gain;
  if (!is_of_points(claim->test)) return CORE_OK;
  TRY(analysis_measure_find(claim->key, &x));
  *x_measure = (int)x;
  return CORE_OK;
}

int analysis_claim_arrange(StoreDatabase *database, const AnalysisClaim *claim, const AnalysisTable *table,
                           AnalysisCells *cells) {
  const bool is_timed = database && claim->measure == ANALYSIS_MEASURE_score_at_time;
  AnalysisArrangement arrangement = {.data = claim->data, .where = claim->where,
                                     .key = is_of_points(claim->test) ? "" : claim->key, .second = claim->second,
                                     .free_settings = claim->free_settings,
                                     .measure = is_timed ? ANALYSIS_MEASURE_final : claim->measure};
  TRY(select_x_measure(claim, &arrangement.x_measure));
  TRY(analysis_cells_create(table, &arrangement, cells));
  if (is_timed) return analysis_clock_scores(database, table->selection, cells);
  if (database && claim->test == ANALYSIS_TEST_SWITCH_UP)
    TRY(analysis_switch_leads(database, table->selection, cells));
  if (!database || claim->measure != ANALYSIS_MEASURE_coverage) return CORE_OK;
  /* Measured at the number of states that all runs of this claim have, whatever else the database contains. */
  TRY(analysis_coverage_read(database, table->selection, table->metrics, cells->run, cells->count, cells->score));
  for (size_t i = 0; i < cells->count; i++) cells->missing += isnan(cells->score[i]);
  return CORE_OK;
}

/* Whether dropping a cell with too few seeds would make another one the end or the best. */
static bool needs_all_cells(AnalysisTest test) {
  return test == ANALYSIS_TEST_LOW_END || test == ANALYSIS_TEST_HIGH_END || analysis_test_is_plateau(test) ||
         analysis_test_info(test)->kind == ANALYSIS_OF_SECOND;
}

/* Returns the number of cells with runs by different code. */
static size_t count_codes(const AnalysisSelection *selection, const AnalysisCells *cells) {
  size_t count = 0;
  for (size_t c = 0; c < cells->cells; c++)
    count += !analysis_codes_all_agree(selection, cells->run + cells->first[c], cells->first[c + 1] - cells->first[c]);
  return count;
}

/* Notes the pair that significantly violates an order which holds on average, since the statistic does not show it. */
static void note_violation(const AnalysisCells *cells, AnalysisClaimResult *f) {
  const int sign = f->claim->test == ANALYSIS_TEST_RISES ? 1 : f->claim->test == ANALYSIS_TEST_FALLS ? -1 : 0;
  double pair[3];
  if (sign == 0 || f->verdict != ANALYSIS_SUPPORTED || strchr(f->claim->key, ':')) return;
  const double p = analysis_order_violation(cells, sign, pair);
  if (p <= f->level)
    snprintf(f->note, sizeof f->note, "but not everywhere: %s from %g to %g %s %s%.3g (p = %.2g)", f->claim->key,
             pair[0], pair[1], sign > 0 ? "loses" : "gains", f->comparison == ANALYSIS_BY_RATIO ? "a factor of " : "",
             analysis_comparison_shown(f->comparison, pair[2]), p);
}

static bool all_are_finite(const AnalysisCells *cells) {
  for (size_t i = 0; i < cells->count; i++)
    if (!isfinite(cells->score[i])) return false;
  return true;
}

/* Runs the test and sets verdict and reason. cells_before: number of cells before small ones were dropped. */
static void judge(const AnalysisTable *table, AnalysisCells *cells, size_t cells_before, AnalysisClaimResult *f) {
  const AnalysisTestInfo *info = analysis_test_info(f->claim->test);
  analysis_strata_test(table, cells, f);

  if (f->p_for == 1 && f->p_against == 1 && !analysis_cells_have_spread(cells)) {
    f->p_for = f->p_against = NAN;
    snprintf(f->reason, sizeof f->reason, "no spread: all seeds of each setting have the same value, which does not "
             "predict further seeds");
  } else if (!isnan(f->p_for)) {
    decide(f, f->p_for, f->p_against);
    if (f->verdict == ANALYSIS_UNDECIDED) explain(table, cells, f);
    note_violation(cells, f);
  } else if (!all_are_finite(cells)) {
    snprintf(f->reason, sizeof f->reason, "a run has no finite value on the scale of the measure, and the test "
             "compares means");
  } else if (cells_before > cells->cells) {
    f->cells = cells_before;
    set_missing(f, "3 seeds per configuration");
  } else {
    set_missing(f, info->needs);
  }
}

static void copy_counts(const AnalysisCells *cells, AnalysisClaimResult *f) {
  f->unfinished = cells->unfinished;
  f->censored = cells->censored;
  f->diverged = cells->diverged;
  f->failed = cells->failed;
  f->missing = cells->missing;
  f->mixed = cells->mixed;
  f->runs = cells->count;
}

int analysis_claim_test(StoreDatabase *database, const AnalysisClaimsOptions *options, const AnalysisClaim *claim,
                        const AnalysisTable *table, AnalysisClaimResult *f) {
  const AnalysisTestInfo *info = analysis_test_info(claim->test);
  const int looks = count_looks(options, claim);
  AnalysisCells cells;

  *f = (AnalysisClaimResult){.claim = claim, .interval = {NAN, NAN, NAN, 0}, .condition = {NAN, NAN, NAN, 0},
                             .statistic = info->statistic, .direction = info->direction, .p_for = NAN,
                             .p_against = NAN, .margin = NAN, .looks = looks, .level = look_levels[looks - 1]};

  const int code = analysis_claim_arrange(database, claim, table, &cells);
  if (code != CORE_OK) {
    analysis_cells_free(&cells);
    return core_error_context(code, "claims.def: %s", claim->id);
  }

  copy_counts(&cells, f);
  f->codes = count_codes(table->selection, &cells);
  const size_t cells_before = cells.cells;
  analysis_cells_scale(table, &cells, f);
  if (info->kind != ANALYSIS_OF_SWITCH) analysis_cells_merge_children(table, &cells);

  /* A point may have a single seed, and a switch counts parents. */
  const bool is_point = info->kind == ANALYSIS_OF_POINTS && !info->margin;
  drop_small_cells(&cells, is_point || info->kind == ANALYSIS_OF_SWITCH ? 1 : SEEDS_MIN);
  if (cells.cells < cells_before && needs_all_cells(claim->test)) drop_small_cells(&cells, SIZE_MAX);

  f->cells = cells.cells;
  f->seeds = analysis_cells_seeds_min(&cells);
  analysis_cells_allow(table, &cells, f);
  set_range(&cells, f);

  judge(table, &cells, cells_before, f);
  analysis_cells_free(&cells);
  return CORE_OK;
}

/* ---- all claims -------------------------------------------------------------------------------------------------- */

bool analysis_claim_has_runs(const AnalysisClaimResult *f) {
  return f->runs + f->unfinished + f->missing + f->mixed > 0;
}

/* Adds 1 to *count if a claim that is not to be tested has runs, whatever their values. */
static int count_if_it_has_runs(const AnalysisClaim *claim, const AnalysisTable *table, size_t *count) {
  AnalysisClaimResult result = {.claim = claim};
  AnalysisCells cells;
  const int code = analysis_claim_arrange(NULL, claim, table, &cells);
  copy_counts(&cells, &result);
  *count += analysis_claim_has_runs(&result);
  analysis_cells_free(&cells);
  return code;
}

static double two_sided(const AnalysisClaimResult *f) { return fmin(1, 2 * fmin(f->p_for, f->p_against)); }

static int compare_probabilities(const void *left, const void *right) {
  const AnalysisClaimResult *a = *(AnalysisClaimResult *const *)left;
  const AnalysisClaimResult *b = *(AnalysisClaimResult *const *)right;
  const double p = two_sided(a), q = two_sided(b);
  return p != q ? (p > q) - (p < q) : strcmp(a->claim->id, b->claim->id);
}

size_t analysis_claims_correct(AnalysisClaimResult *results, size_t count) {
  AnalysisClaimResult **order = core_memory_allocate((count + 1) * sizeof *order);
  size_t tested = 0;
  double corrected = 0;

  for (size_t i = 0; i < count; i++)
    if (!isnan(results[i].p_for)) order[tested++] = &results[i];
  qsort(order, tested, sizeof *order, compare_probabilities);

  for (size_t k = 0; k < tested; k++) {
    AnalysisClaimResult *f = order[k];
    corrected = fmax(corrected, fmin(1, two_sided(f) * (double)(tested - k)));

    const bool is_for = f->p_for <= f->p_against, was_open = f->verdict == ANALYSIS_UNDECIDED && !f->is_not_seen;
    const double uncorrected = fmin(f->p_for, f->p_against);
    f->p_for = is_for ? corrected / 2 : fmax(f->p_for, corrected / 2);
    f->p_against = is_for ? fmax(f->p_against, corrected / 2) : corrected / 2;
    decide(f, f->p_for, f->p_against);

    if (f->verdict != ANALYSIS_UNDECIDED || f->is_not_seen || has_obstacle(f) || f->unseen) continue;
    if (!was_open) snprintf(f->reason, sizeof f->reason, "not significant among %zu claims", tested);
    if (!is_of_points(f->claim->test))
      f->more_seeds = estimate_seeds(f->seeds, uncorrected, f->level / (double)(tested - k));
  }

  free(order);
  return tested;
}

bool analysis_claim_is_selected(const AnalysisClaimsOptions *options, const AnalysisClaim *claim) {
  for (size_t i = 0; i < options->id_count; i++)
    if (strcmp(options->ids[i], claim->id) == 0) return true;
  return options->id_count == 0;
}

int analysis_claims_check_ids(const AnalysisClaimsOptions *options) {
  const char *names[CLAIMS];
  for (size_t c = 0; c < CLAIMS; c++) names[c] = claims[c].id;
  for (size_t i = 0; i < options->id_count; i++) {
    bool known = false;
    for (size_t c = 0; c < CLAIMS; c++) known |= strcmp(options->ids[i], names[c]) == 0;
    if (known) continue;
    const char *near = core_text_nearest(options->ids[i], names, CLAIMS);
    return core_error(CORE_USAGE, "no claim %s%s%s", options->ids[i],
                      near ? "; did you mean " : "; analyze claims --list prints them", near ? near : "");
  }
  return CORE_OK;
}

/* Whether a claim uses the data of this sweep. */
static bool is_claim_data(const char *sweep) {
  for (size_t i = 0; i < CLAIMS; i++)
    if (analysis_data_includes(claims[i].data, sweep)) return true;
  return false;
}

bool analysis_claims_use_all_runs(const char *sweep) { return sweep != NULL && !is_claim_data(sweep); }

void analysis_claims_free(AnalysisClaimResult **results, size_t count) {
  for (size_t i = 0; i < count && *results; i++) free((*results)[i].tasks);
  free(*results);
  *results = NULL;
}

int analysis_claims_test(StoreDatabase *database, const AnalysisSelection *selection,
                         const AnalysisRunMetrics *metrics, const AnalysisMembership *membership,
                         const AnalysisClaimsOptions *options, AnalysisClaimResult **results, size_t *count) {
  int code = analysis_claims_check_ids(options);
  AnalysisTable table = analysis_table_create(selection, metrics, options->all_runs ? NULL : membership);
  *results = core_memory_zero_allocate(CLAIMS, sizeof **results);
  *count = 0;
  for (size_t i = 0; i < CLAIMS; i++) {
    if (code != CORE_OK) break;
    if (analysis_claim_is_selected(options, &claims[i]))
      code = analysis_claim_test(database, options, &claims[i], &table, &(*results)[(*count)++]);
    else if (options->others) code = count_if_it_has_runs(&claims[i], &table, options->others);
  }
  if (code == CORE_OK && options->correct) analysis_claims_correct(*results, *count);
  analysis_table_free(&table);
  return code;
}

/* Whether a run may count for a claim. */
static bool has_claim_data(const AnalysisMembership *membership, const AnalysisClaimsOptions *options) {
  bool has_data = options->all_runs;
  for (size_t i = 0; i < CLAIMS; i++) has_data |= !*claims[i].data;
  for (size_t s = 0; s < membership->sweeps; s++) has_data |= is_claim_data(membership->sweep[s]);
  return has_data;
}

int analysis_claims_evaluate(StoreDatabase *database, const AnalysisSelection *selection,
                             const AnalysisClaimsOptions *options, AnalysisClaimResult **results, size_t *count) {
  AnalysisRunMetrics *metrics = NULL;
  AnalysisMembership membership = {0};
  *results = NULL;
  *count = 0;
  int code = analysis_membership_read(database, selection, &membership);
  if (code == CORE_OK && has_claim_data(&membership, options))
    code = analysis_measures_read(database, selection, NULL, options->budget, &metrics);
  else if (code == CORE_OK) metrics = core_memory_zero_allocate(selection->count + 1, sizeof *metrics);
  if (code == CORE_OK) code = analysis_claims_test(database, selection, metrics, &membership, options, results, count);
  analysis_membership_free(&membership);
  free(metrics);
  return code;
}
