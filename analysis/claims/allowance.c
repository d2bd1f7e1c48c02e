/* Failed runs, and allowances for those that few runs do not show and for skew near a bound (allowance.h). */
#include "analysis/claims/allowance.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/tests.h"
#include "core/memory.h"

static const double FAILURE_RATE = 0.2, UNSEEN = 0.035, FLOOR_SHARE = 0.1, SKEW = 7, NEAR = 0.2;

double analysis_unseen_rate(double runs, double failed, double level) {
  const double rate = failed / runs;
  if (!(rate < FAILURE_RATE)) return 0;
  /* P(at most `failed` of `runs` | a fifth fails), the binomial distribution function as an incomplete beta function */
  const double unseen = analysis_incomplete_beta(runs - failed, failed + 1, 1 - FAILURE_RATE);
  return unseen <= level ? 0 : FAILURE_RATE - rate;
}

/* ---- failed runs ------------------------------------------------------------------------------------------------- */

/* Whether the measure is a change of a score, of which a failed run loses all that the others gained. */
static bool is_change(AnalysisMeasure measure) { return analysis_measure_range(measure, NULL, NULL, 0).low < 0; }

/* Scores of a stratum: the unit of shares, and the score of an untrained policy: the lowest possible one, or NaN, and
 * then the lowest observed one for runs whose own start is not the start of training. */
typedef struct Scale { double unit, untrained, worst; } Scale;

/* Returns what a run has above an untrained policy, in units of the measure. */
static double measure_gain(const AnalysisTable *table, size_t run, AnalysisMeasure measure, double score, Scale scale) {
  const AnalysisRunMetrics *m = &table->metrics[run];
  const double gained = m->value[ANALYSIS_MEASURE_total_gain], start = m->value[ANALYSIS_MEASURE_final] - gained;
  if (is_change(measure)) return isnan(gained) ? fabs(score) : gained;
  if (!isnan(scale.untrained)) return score - scale.untrained;
  return score - (isnan(start) || table->selection->runs[run].parent[0] ? scale.worst : start);
}

/* Returns the values before they were scaled: of measures by ratio the exponential; by share, in units of the task. */
static double unscaled(const AnalysisClaimResult *f, double score) {
  return f->comparison == ANALYSIS_BY_RATIO ? exp(score) : score;
}

static Scale find_scale(const AnalysisTable *table, const AnalysisCells *cells, const AnalysisClaimResult *f,
                        size_t s) {
  const size_t first = cells->first[cells->stratum[s]], end = cells->first[cells->stratum[s + 1]];
  const AnalysisRange range =
    analysis_measure_range(f->claim->measure, table->metrics, cells->run + first, end - first);
  Scale scale = {1, range.low >= 0 ? range.low : NAN, INFINITY};
  for (size_t i = first; i < end; i++) {
    const double raw = table->metrics[cells->run[i]].value[f->claim->measure];
    scale.worst = fmin(scale.worst, unscaled(f, cells->score[i]));
    if (f->comparison == ANALYSIS_BY_SHARE && isfinite(raw / cells->score[i]) && raw != 0)
      scale.unit = raw / cells->score[i];
  }
  if (f->comparison == ANALYSIS_BY_SHARE) scale.worst *= scale.unit;
  return scale;
}

/* Counts the failed runs of a cell, and computes the mean loss of one on the scale of the scores. */
static size_t count_failed(const AnalysisTable *table, const AnalysisCells *cells, const AnalysisClaimResult *f,
                           size_t c, Scale scale, double *loss) {
  const size_t first = cells->first[c], end = cells->first[c + 1];
  double *gain = core_memory_allocate((end - first + 1) * sizeof *gain), best = -INFINITY, sum = 0;
  size_t failed = 0;

  for (size_t i = first; i < end; i++) {
    const double score = unscaled(f, cells->score[i]) * (f->comparison == ANALYSIS_BY_SHARE ? scale.unit : 1);
    gain[i - first] = measure_gain(table, cells->run[i], f->claim->measure, score, scale);
    if (!table->metrics[cells->run[i]].broken) best = fmax(best, gain[i - first]);
  }

  for (size_t i = first; i < end; i++) {
    const double run_gain = gain[i - first], value = unscaled(f, cells->score[i]);
    const bool ends_low = !is_change(f->claim->measure) && best > 0 && run_gain < best / 2;
    if (table->metrics[cells->run[i]].broken || ends_low) failed++;
    else if (f->comparison == ANALYSIS_BY_RATIO) sum += log(value / fmax(value - run_gain, FLOOR_SHARE * value));
    else sum += fmax(run_gain, 0) / scale.unit;
  }

  free(gain);
  *loss = end - first > failed ? sum / (double)(end - first - failed) : 0;
  return failed;
}

/* ---- allowances -------------------------------------------------------------------------------------------------- */

size_t analysis_unseen_runs(const AnalysisClaim *claim) {
  const bool is_switch = analysis_test_info(claim->test)->kind == ANALYSIS_OF_SWITCH;
  return is_switch ? ANALYSIS_UNSEEN_SWITCHED : ANALYSIS_UNSEEN_RUNS;
}

/* Whether two cells have one setting, on different tasks. Cells of switches stand alone: the runs of one setting differ
 * in when they have had it, and those of several checkpoints have the same parents. So do those of a mean over
 * configurations, which have no key that tells which of them are alike. */
static bool is_same_setting(const AnalysisCells *cells, AnalysisTestKind kind, size_t a, size_t b) {
  if (kind == ANALYSIS_OF_SWITCH || kind == ANALYSIS_OF_MEAN) return a == b;
  return cells->key[a] == cells->key[b] && cells->second[a] == cells->second[b];
}

/* Returns the allowance for skew of a cell whose mean is this far from a bound of the measure's range. */
static double skew_allowance(double distance, double range, double sd, double runs) {
  if (!(distance < NEAR * range) || !(sd > 0)) return 0;
  return SKEW * sd * fmin(1, 2 * sd / fmax(distance, 1e-9)) / (runs - 1);
}

static void allow_skew(const AnalysisCells *cells, size_t c, AnalysisRange range, AnalysisAllowance *allowance) {
  const size_t n = cells->first[c + 1] - cells->first[c];
  const double mean = analysis_cells_mean(cells, cells->score, c);
  const double sd = analysis_sd(cells->score + cells->first[c], n);
  if (!isfinite(range.high - range.low)) return;
  allowance->near_high = skew_allowance(range.high - mean, range.high - range.low, sd, (double)n);
  allowance->near_low = skew_allowance(mean - range.low, range.high - range.low, sd, (double)n);
}

void analysis_cells_allow(const AnalysisTable *table, AnalysisCells *cells, const AnalysisClaimResult *f) {
  const AnalysisRange range = analysis_measure_range(f->claim->measure, table->metrics, cells->run, cells->count);
  const AnalysisTestKind kind = analysis_test_info(f->claim->test)->kind;
  const bool is_mean = kind == ANALYSIS_OF_MEAN && isfinite(range.high);
  const bool is_score = analysis_measure_is_score(f->claim->measure) || is_mean;

  AnalysisAllowance *list = core_memory_zero_allocate(cells->cells + 1, sizeof *list);
  double *loss = core_memory_zero_allocate(cells->cells + 1, sizeof *loss);
  size_t *failed = core_memory_zero_allocate(cells->cells + 1, sizeof *failed);

  for (size_t s = 0; s < cells->strata; s++) {
    const Scale scale = find_scale(table, cells, f, s);
    for (size_t c = cells->stratum[s]; c < cells->stratum[s + 1]; c++) {
      if (is_score) failed[c] = count_failed(table, cells, f, c, scale, &loss[c]);
      if (f->comparison == ANALYSIS_BY_DIFFERENCE) allow_skew(cells, c, range, &list[c]);
    }
  }

  size_t all_failed = 0, settings = 0;
  for (size_t c = 0; c < cells->cells; c++) {
    list[c].setting = c;
    for (size_t o = 0; o < cells->cells; o++) {
      if (!is_same_setting(cells, kind, c, o)) continue;
      if (o < list[c].setting) list[c].setting = o;
      list[c].runs += cells->first[o + 1] - cells->first[o];
      list[c].failed += failed[o];
    }
    all_failed += failed[c];
    settings += list[c].setting == c;
  }

  const size_t groups = kind == ANALYSIS_OF_SWITCH ? 2 : 1;
  const double level = UNSEEN / (double)(all_failed > 0 ? settings : groups);
  for (size_t c = 0; c < cells->cells; c++) {
    list[c].loss = loss[c];
    list[c].failures = analysis_unseen_rate((double)list[c].runs, (double)list[c].failed, level) * loss[c];
  }

  free(loss);
  free(failed);
  free(cells->allowance);
  cells->allowance = list;
}

AnalysisAllowance *analysis_allow_sides(const AnalysisCells *cells, const bool *is_end) {
  size_t runs = 0, failed = 0;
  if (!cells->allowance) return NULL;

  for (size_t c = 0; c < cells->cells; c++) {
    if (is_end[c]) continue;
    runs += cells->first[c + 1] - cells->first[c];
    failed += cells->allowance[c].failed;
  }
  if (failed > 0 || analysis_unseen_rate((double)runs, 0, UNSEEN) > 0) return NULL;

  AnalysisAllowance *list = core_memory_allocate((cells->cells + 1) * sizeof *list);
  memcpy(list, cells->allowance, cells->cells * sizeof *list);
  for (size_t c = 0; c < cells->cells; c++)
    if (!is_end[c]) list[c].failures = 0;
  return list;
}

/* Sums the allowances for failures of a setting, of cells whose weights have this sign, and counts their runs. */
static double sum_setting(const AnalysisCells *cells, const double *weight, double sign, size_t setting,
                          size_t *runs) {
  double sum = 0;
  *runs = 0;
  for (size_t c = 0; c < cells->cells; c++) {
    if (!(sign * weight[c] > 0) || cells->allowance[c].setting != setting) continue;
    sum += sign * weight[c] * cells->allowance[c].failures;
    if (cells->allowance[c].failures > 0) *runs += cells->first[c + 1] - cells->first[c];
  }
  return sum;
}

/* Finds a cell of the setting with the largest allowance among those that are not yet counted; SIZE_MAX: none. */
static size_t find_setting(const AnalysisCells *cells, const double *weight, double sign, const bool *is_counted,
                           double *most, size_t *runs) {
  size_t found = SIZE_MAX, n;
  *most = 0;
  for (size_t c = 0; c < cells->cells; c++) {
    if (is_counted[c] || !(sign * weight[c] > 0) || cells->allowance[c].failures == 0) continue;
    const double sum = sum_setting(cells, weight, sign, cells->allowance[c].setting, &n);
    if (!(sum > *most)) continue;
    *most = sum;
    *runs = n;
    found = c;
  }
  return found;
}

/* Returns the allowance for failures of the settings whose weights have this sign. */
static double allow_failures(const AnalysisCells *cells, const double *weight, double sign) {
  bool *is_counted = core_memory_zero_allocate(cells->cells + 1, sizeof *is_counted);
  double allowed = 0, most;
  size_t runs = 0, n, found;

  while ((found = find_setting(cells, weight, sign, is_counted, &most, &n)) != SIZE_MAX) {
    const size_t setting = cells->allowance[found].setting;
    for (size_t c = 0; c < cells->cells; c++) is_counted[c] = is_counted[c] || cells->allowance[c].setting == setting;
    if (runs > 0 && runs + n >= ANALYSIS_UNSEEN_RUNS) continue;
    allowed += most;
    runs += n;
  }

  free(is_counted);
  return allowed;
}

void analysis_contrast_allow(const AnalysisCells *cells, const double *weight, AnalysisContrast *contrast) {
  if (!cells->allowance) return;
  contrast->over = allow_failures(cells, weight, 1);
  contrast->under = allow_failures(cells, weight, -1);
  for (size_t c = 0; c < cells->cells; c++) {
    const AnalysisAllowance *allowance = &cells->allowance[c];
    contrast->over += fmax(weight[c], 0) * allowance->near_high + fmax(-weight[c], 0) * allowance->near_low;
    contrast->under += fmax(weight[c], 0) * allowance->near_low + fmax(-weight[c], 0) * allowance->near_high;
  }
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Writes " with ppo.com = 32"; nothing if the key is a list of names. */
static void name_setting(const AnalysisCells *cells, const AnalysisClaim *claim, size_t c, char text[96]) {
  const double sign = claim->key[0] == '-' ? -1 : 1;
  text[0] = '\0';
  if (claim->key[0] && !strchr(claim->key, ':'))
    snprintf(text, 96, " with %s = %g", claim->key + (sign < 0), sign * cells->key[c]);
}

bool analysis_failures_differ(const AnalysisCells *cells, const AnalysisClaim *claim, char *text, size_t capacity) {
  size_t low = 0, high = 0;
  char low_name[96], high_name[96];
  const AnalysisAllowance *list = cells->allowance;

  for (size_t c = 1; c < cells->cells; c++) {
    if (list[c].failed * list[low].runs < list[low].failed * list[c].runs) low = c;
    if (list[c].failed * list[high].runs > list[high].failed * list[c].runs) high = c;
  }

  const bool differ = list[low].failed * list[high].runs != list[high].failed * list[low].runs;
  name_setting(cells, claim, low, low_name);
  name_setting(cells, claim, high, high_name);

  if (differ)
    snprintf(text, capacity, "failures differ: %zu of %zu runs%s, %zu of %zu%s", list[high].failed, list[high].runs,
             high_name, list[low].failed, list[low].runs, low_name);
  else
    snprintf(text, capacity, "%zu of %zu runs of a setting failed, but a fifth might, which could change the verdict; "
             "%zu runs would tell", list[low].failed, list[low].runs, analysis_unseen_runs(claim));
  return differ;
}
