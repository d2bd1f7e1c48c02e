/* Planned runs, simulated results, and the rates at which true claims are supported (power.h). */
#include "analysis/claims/power.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/claims.h"
#include "analysis/claims/contrast.h"
#include "analysis/claims/tests.h"
#include "core/config/config.h"
#include "core/memory.h"
#include "core/random.h"

enum { POWER_SEED = 17 };
static const double LEVEL = 0.025, SHARE_CENTER = 0.6, SHARE_SD = 0.04, RATIO_SD = 0.1;
static const double LEVER_SD = 1, RANK_SD = 0.29; /* amounts over levers; ranks from 0 to 1 */

/* ---- planned runs ------------------------------------------------------------------------------------------------ */

static bool has_run(const AnalysisPlanned *planned, const char *id) {
  for (size_t r = 0; r < planned->count; r++)
    if (strcmp(planned->runs[r].id, id) == 0) return true;
  return false;
}

void analysis_planned_add(AnalysisPlanned *planned, const CoreConfig *config, const char *id) {
  if (has_run(planned, id)) return;

  if (planned->count == planned->capacity) {
    planned->capacity = planned->capacity ? 2 * planned->capacity : 256;
    planned->runs = core_memory_resize(planned->runs, planned->capacity * sizeof *planned->runs);
  }

  AnalysisRun *run = &planned->runs[planned->count++];
  CoreConfig resolved, *effective = core_memory_allocate(sizeof *effective);
  CoreOrigin origin;
  *run = (AnalysisRun){.config = {effective, config->train.seed}, .status = STORE_FINISHED};
  snprintf(run->id, sizeof run->id, "%s", id);
  core_config_cell_id(config, run->cell);

  run->scaled = core_config_is_scaled(config) && core_config_resolve(config, &resolved) == CORE_OK;
  *effective = run->scaled ? resolved : *config;
  effective->scale = config->scale; /* scheme and factor tell runs apart */

  CoreConfig as_run = *effective;
  snprintf(as_run.scale.scheme, sizeof as_run.scale.scheme, "none");
  run->transitions_per_iteration = core_config_transitions_per_iteration(&as_run);

  if (config->init.from[0] && core_origin_parse(config->init.from, &origin) == CORE_OK && origin.is_run)
    memcpy(run->parent, origin.run, sizeof run->parent);
  core_error_clear();
}

void analysis_planned_name_parents(AnalysisPlanned *planned) {
  for (size_t r = 0; r < planned->count; r++) {
    const char *at = strchr(planned->runs[r].config.shared->init.from, '@');
    if (!planned->runs[r].parent[0]) continue;
    for (size_t p = 0; p < planned->count; p++) {
      if (strcmp(planned->runs[p].id, planned->runs[r].parent) != 0) continue;
      char text[64];
      snprintf(text, sizeof text, "com %g %s", planned->runs[p].config.shared->ppo.com, at ? at : "");
      memcpy(((CoreConfig *)planned->runs[r].config.shared)->init.from, text, sizeof text);
      break;
    }
  }
}

void analysis_planned_free(AnalysisPlanned *planned) {
  for (size_t r = 0; r < planned->count; r++) free((void *)planned->runs[r].config.shared);
  free(planned->runs);
  *planned = (AnalysisPlanned){0};
}

/* ---- spread ------------------------------------------------------------------------------------------------------ */

static bool is_bounded(AnalysisMeasure measure) {
  const AnalysisRange range = analysis_measure_range(measure, NULL, NULL, 0);
  return isfinite(range.high);
}

AnalysisSpread analysis_spread_assumed(const AnalysisClaim *claim) {
  if (!is_bounded(claim->measure)) return (AnalysisSpread){0, RATIO_SD, 0};
  const AnalysisRange range = analysis_measure_range(claim->measure, NULL, NULL, 0);
  return (AnalysisSpread){range.low < 0 ? 0 : SHARE_CENTER * range.high, SHARE_SD * range.high, 0};
}

int analysis_spread_measure(const AnalysisTable *table, const AnalysisClaim *claim, AnalysisSpread *spread) {
  enum { DEGREES_MIN = 3 };
  AnalysisCells cells;
  AnalysisClaimResult f = {.claim = claim};
  double squares = 0, degrees = 0, sum = 0;
  *spread = analysis_spread_assumed(claim);

  TRY(analysis_claim_arrange(NULL, claim, table, &cells));
  if (cells.count > 0) analysis_cells_scale(table, &cells, &f);

  for (size_t c = 0; c < cells.cells; c++) {
    const double mean = analysis_cells_mean(&cells, cells.score, c);
    for (size_t i = cells.first[c]; i < cells.first[c + 1]; i++)
      squares += (cells.score[i] - mean) * (cells.score[i] - mean);
    degrees += (double)(cells.first[c + 1] - cells.first[c] - 1);
    sum += mean;
  }

  if (degrees >= DEGREES_MIN && isfinite(squares) && squares > 0) {
    *spread = (AnalysisSpread){is_bounded(claim->measure) ? sum / (double)cells.cells : 0, sqrt(squares / degrees),
                               cells.count};
  }
  analysis_cells_free(&cells);
  return CORE_OK;
}

bool analysis_power_is_of_margin(AnalysisTest test) {
  return analysis_test_info(test)->margin && !analysis_test_is_plateau(test) && test != ANALYSIS_TEST_SWITCH_DOWN;
}

bool analysis_power_is_over_levers(AnalysisTest test) {
  const AnalysisTestInfo *info = analysis_test_info(test);
  return info->kind == ANALYSIS_OF_POINTS && !info->margin;
}

double analysis_power_effect(const AnalysisClaim *claim, bool *is_ratio) {
  *is_ratio = !is_bounded(claim->measure);
  if (analysis_power_is_of_margin(claim->test)) return 0;
  return *is_ratio ? 2 * log(1.25) : 0.1 * analysis_measure_range(claim->measure, NULL, NULL, 0).high;
}

/* ---- simulated results ------------------------------------------------------------------------------------------- */

static double normal(uint32_t world, uint32_t run, uint32_t of) {
  const CoreRandom4 words = core_random_4(POWER_SEED, CORE_RANDOM_BOOTSTRAP, world, run, of);
  double first, second;
  core_random_normal_pair(words.v[0], words.v[1], &first, &second);
  return first;
}

/* Returns a run's deviation in standard deviations. Runs with a common parent are correlated, as in real data. */
static double noise(const AnalysisPlanned *planned, uint32_t world, size_t r) {
  const double own = normal(world, (uint32_t)r, 0);
  const char *parent = planned->runs[r].parent;
  return parent[0] ? sqrt(0.8) * normal(world, core_text_hash(parent), 4) + sqrt(0.2) * own : own;
}

/* Returns a number of the run's configuration, the same for all seeds. */
static uint32_t hash_cell(const AnalysisRun *run) {
  CoreConfig config = *run->config.shared;
  char cell[CORE_RUN_ID];
  config.train.seed = 0;
  core_config_cell_id(&config, cell);
  return core_text_hash(cell);
}

/* Returns the mean at the limit of the claim's null hypothesis. */
static double center_of(const AnalysisClaim *claim, double center) {
  if (claim->test == ANALYSIS_TEST_AT_LEAST_95) return 0.95;
  return claim->test == ANALYSIS_TEST_POSITIVE || claim->test == ANALYSIS_TEST_NEGATIVE ? 0 : center;
}

/* ---- levers ------------------------------------------------------------------------------------------------------ */

/* Settings of a grid that move x, each for itself. */
enum { LEVERS_MAX = 16 };
typedef struct Levers { const CoreConfigRow *row[LEVERS_MAX]; size_t count; } Levers;

/* Finds the claim's free settings that differ among the planned runs. */
static Levers find_levers(const AnalysisPlanned *planned, const AnalysisClaim *claim) {
  Levers levers = {.count = 0};
  char *copy = core_text_duplicate(claim->free_settings), *save = NULL;
  CoreText first = {0}, other = {0};

  for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
    const CoreConfigRow *row = core_config_find(name);
    bool differs = false;
    for (size_t r = 1; row && r < planned->count && !differs; r++)
      differs = strcmp(analysis_key_own_value(&planned->runs[0].config, row, &first),
                       analysis_key_own_value(&planned->runs[r].config, row, &other)) != 0;
    if (differs && levers.count < LEVERS_MAX) levers.row[levers.count++] = row;
  }

  core_text_free(&first);
  core_text_free(&other);
  free(copy);
  return levers;
}

/* Sums over a run's levers: their moves of log x, and the changes of the score that these bring. A lever's change per
 * move is an amount of its own, whose standard deviation over levers equals its mean, one. amount: that of the lever
 * that moved x most. */
typedef struct LeverSums { double x, score, amount; } LeverSums;

static LeverSums sum_levers(const Levers *levers, const AnalysisConfig *config, uint32_t world) {
  LeverSums sums = {0, 0, 0};
  double most = 0;
  CoreText text = {0}, value = {0};

  for (size_t l = 0; l < levers->count; l++) {
    const CoreConfigRow *row = levers->row[l];
    core_text_clear(&text);
    core_text_appendf(&text, "%s=%s", row->name, analysis_key_own_value(config, row, &value));
    const double moved = normal(world, core_text_hash(core_text_string(&text)), 2) / sqrt((double)levers->count);
    const double amount = 1 + LEVER_SD * normal(world, core_text_hash(row->name), 8);
    sums.x += moved;
    sums.score += amount * moved;
    if (fabs(moved) < most) continue;
    most = fabs(moved);
    sums.amount = amount;
  }

  core_text_free(&text);
  core_text_free(&value);
  return sums;
}

/* ---- results without an effect ----------------------------------------------------------------------------------- */

void analysis_power_fill(const AnalysisPlanned *planned, const AnalysisClaim *claim, AnalysisSpread spread,
                         uint32_t world, AnalysisRunMetrics *measured) {
  const bool bounded = is_bounded(claim->measure);
  AnalysisMeasure x = ANALYSIS_MEASURES;
  if (analysis_measure_find(claim->key, &x) != CORE_OK) x = ANALYSIS_MEASURES;
  core_error_clear();
  const bool over_levers = analysis_power_is_over_levers(claim->test);
  const Levers levers = over_levers ? find_levers(planned, claim) : (Levers){.count = 0};

  for (size_t r = 0; r < planned->count; r++) {
    const uint32_t run = (uint32_t)r;
    AnalysisRunMetrics *m = &measured[r];
    *m = (AnalysisRunMetrics){.ended = true, .rated = true};
    for (size_t k = 0; k < ANALYSIS_MEASURES; k++) m->value[k] = NAN;

    const double value = center_of(claim, spread.center) + spread.sd * noise(planned, world, r);
    m->value[claim->measure] = bounded ? value : exp(value);
    m->value[ANALYSIS_MEASURE_early] = SHARE_CENTER + SHARE_SD * normal(world, run, 1);

    /* The second condition of plateaus and of switches is met: their first one is at its edge. */
    m->value[ANALYSIS_MEASURE_late_gain] = SHARE_SD / 4 * normal(world, run, 5);
    m->value[ANALYSIS_MEASURE_early_gain] = SHARE_CENTER + SHARE_SD * normal(world, run, 6);
    m->value[ANALYSIS_MEASURE_total_gain] =
      (claim->test == ANALYSIS_TEST_SWITCH_DOWN ? -1 : 1) * (SHARE_CENTER + SHARE_SD * normal(world, run, 7));
    if (claim->measure == ANALYSIS_MEASURE_late_gain || claim->measure == ANALYSIS_MEASURE_early)
      m->value[claim->measure] = value;

    if (x == ANALYSIS_MEASURES) continue;
    const double move = over_levers ? sum_levers(&levers, &planned->runs[r].config, world).x
                                    : normal(world, hash_cell(&planned->runs[r]), 2);
    m->value[x] = exp(2 * move + 0.1 * normal(world, run, 3));
  }
}

/* ---- effects ----------------------------------------------------------------------------------------------------- */

static double share_of_key(const AnalysisCells *cells, size_t s, size_t c) {
  const size_t n = cells->stratum[s + 1] - cells->stratum[s];
  return n > 1 ? (double)(c - cells->stratum[s]) / (double)(n - 1) : 0;
}

static size_t rank_of_x(const AnalysisCells *cells, size_t s, size_t c) {
  size_t rank = 0;
  for (size_t o = cells->stratum[s]; o < cells->stratum[s + 1]; o++)
    rank += cells->x[cells->first[o]] < cells->x[cells->first[c]];
  return rank;
}

static double lowest_key(const AnalysisCells *cells) {
  double lowest = INFINITY;
  for (size_t c = 0; c < cells->cells; c++) lowest = fmin(lowest, cells->key[c]);
  return lowest;
}

/* Returns the change of the measure of cell c if the claim holds with an effect of one. */
static double change_of(const AnalysisClaim *claim, const AnalysisCells *cells, size_t s, size_t c) {
  const size_t begin = cells->stratum[s], end = cells->stratum[s + 1];
  const double low = cells->second[begin], high = cells->second[end - 1], at = cells->second[c];
  size_t first = c, last = c;
  while (first > begin && cells->second[first - 1] == at) first--;
  while (last + 1 < end && cells->second[last + 1] == at) last++;

  switch (claim->test) {
    case ANALYSIS_TEST_RISES: return share_of_key(cells, s, c);
    case ANALYSIS_TEST_FALLS: return -share_of_key(cells, s, c);
    case ANALYSIS_TEST_EQUAL: return c == begin ? -1 : 0;
    case ANALYSIS_TEST_NOT_WORSE: return c == end - 1 ? -1 : 0;
    case ANALYSIS_TEST_BEST_EQUAL: return cells->key[c] == lowest_key(cells) ? -1 : 0;
    case ANALYSIS_TEST_LOW_END:
    case ANALYSIS_TEST_LOW_PLATEAU: return c == begin ? -1 : 0;
    case ANALYSIS_TEST_HIGH_PLATEAU:
    case ANALYSIS_TEST_HIGH_END: return c == end - 1 ? -1 : 0;
    case ANALYSIS_TEST_ROBUST: return at == low && c == first ? -1 : 0;
    case ANALYSIS_TEST_ROBUST_HIGH: return at == low && c == last ? -1 : 0;
    case ANALYSIS_TEST_SAME_BEST: return at == low && c != first ? -1 : at == high && c != last ? -1 : 0;
    case ANALYSIS_TEST_GAIN_GROWS:
    case ANALYSIS_TEST_GAIN_EQUAL: return at == high && c == last ? 1 : 0;
    case ANALYSIS_TEST_GAIN_SHRINKS: return at == high && c == last ? -1 : 0;
    case ANALYSIS_TEST_BEST_AT_LOW: return at == low ? -1 : 0;
    case ANALYSIS_TEST_BEST_AT_HIGH: return at == high ? -1 : 0;
    case ANALYSIS_TEST_ONE_CURVE: return at;
    case ANALYSIS_TEST_AT_LEAST_95:
    case ANALYSIS_TEST_POSITIVE: return 1;
    case ANALYSIS_TEST_NEGATIVE: return -1;
    default: return 0;
  }
}

/* Does the same for tests over levers; sums: of the cell's configuration. */
static double lever_change_of(const AnalysisClaim *claim, const AnalysisCells *cells, size_t s, size_t c,
                              LeverSums sums) {
  const size_t count = cells->stratum[s + 1] - cells->stratum[s];
  const double x = count > 1 ? (double)rank_of_x(cells, s, c) / (double)(count - 1) : 0.5;
  if (claim->test == ANALYSIS_TEST_MIDDLE) return x < 1.0 / 3 || x > 2.0 / 3 ? -sums.amount : 0;
  return (claim->test == ANALYSIS_TEST_DOWN ? -1 : 1) * RANK_SD * sums.score;
}

/* Sets the second key to 1 for the configurations of one lever, to 0 for all others. */
static void mark_lever(const AnalysisTable *table, AnalysisCells *cells, size_t s) {
  uint64_t *lever = core_memory_allocate((cells->cells + 1) * sizeof *lever), one = 0;
  analysis_curve_levers(table, cells, s, lever);
  for (size_t c = cells->stratum[s]; c < cells->stratum[s + 1] && one == 0; c++) one = lever[c];
  for (size_t c = cells->stratum[s]; c < cells->stratum[s + 1]; c++) cells->second[c] = lever[c] == one;
  free(lever);
}

/* Adds the effect to runs that switched. Those that switched down fall to the runs with the lowest key, which are as
 * low from the start. Soon after the switch, and since it, they have changed by as much. */
static void add_switch(const AnalysisTable *table, const AnalysisCells *cells, const AnalysisClaim *claim,
                       AnalysisSpread spread, double effect, uint32_t world, AnalysisRunMetrics *measured) {
  const double sign = claim->test == ANALYSIS_TEST_SWITCH_UP ? 1 : -1, lowest = lowest_key(cells);
  for (size_t c = 0; c < cells->cells; c++) {
    for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++) {
      const size_t run = cells->run[i];
      const bool has_switched = table->selection->runs[run].parent[0];
      const bool is_low = claim->test == ANALYSIS_TEST_SWITCH_DOWN && cells->key[c] == lowest;
      double *value = measured[run].value;
      if (has_switched || is_low) value[claim->measure] += sign * effect;
      if (!has_switched) continue;
      value[ANALYSIS_MEASURE_early_gain] = sign * effect + spread.sd * normal(world, (uint32_t)run, 6);
      value[ANALYSIS_MEASURE_total_gain] = sign * effect + spread.sd * normal(world, (uint32_t)run, 7);
    }
  }
}

/* Changes a run's measure, and the early score by the opposite if the relation grows. */
static void change_run(const AnalysisClaim *claim, double change, AnalysisRunMetrics *m) {
  if (is_bounded(claim->measure)) m->value[claim->measure] += change;
  else m->value[claim->measure] *= exp(change);
  if (claim->test == ANALYSIS_TEST_GROWS) m->value[ANALYSIS_MEASURE_early] -= change;
}

/* Adds the effect to the cells of a stratum. */
static void add_to_cells(const AnalysisPlanned *planned, const AnalysisTable *table, AnalysisCells *cells, size_t s,
                         const AnalysisClaim *claim, double effect, uint32_t world, AnalysisRunMetrics *measured) {
  const bool over_levers = analysis_power_is_over_levers(claim->test);
  const Levers levers = over_levers ? find_levers(planned, claim) : (Levers){.count = 0};
  if (claim->test == ANALYSIS_TEST_ONE_CURVE) mark_lever(table, cells, s);

  for (size_t c = cells->stratum[s]; c < cells->stratum[s + 1]; c++) {
    const AnalysisConfig *config = &planned->runs[cells->run[cells->first[c]]].config;
    const double change = over_levers ? lever_change_of(claim, cells, s, c, sum_levers(&levers, config, world))
                                      : change_of(claim, cells, s, c);
    for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++)
      change_run(claim, effect * change, &measured[cells->run[i]]);
  }
}

/* Lets late gains be those of each run's own score, and vary by a quarter of the seeds' spread, as slopes do. */
static void set_late_gains(const AnalysisCells *cells, const AnalysisClaim *claim, AnalysisSpread spread,
                           uint32_t world, AnalysisRunMetrics *measured) {
  for (size_t i = 0; i < cells->count; i++) {
    double *value = measured[cells->run[i]].value;
    value[ANALYSIS_MEASURE_late_gain] = spread.sd / 4 * normal(world, (uint32_t)cells->run[i], 5);
    value[ANALYSIS_MEASURE_total_gain] = value[claim->measure];
  }
}

void analysis_power_add_effect(const AnalysisPlanned *planned, const AnalysisClaim *claim, AnalysisSpread spread,
                               double effect, uint32_t world, AnalysisRunMetrics *measured) {
  const AnalysisSelection selection = {.runs = planned->runs, .count = planned->count};
  const bool is_switch = analysis_test_info(claim->test)->kind == ANALYSIS_OF_SWITCH;
  AnalysisCells cells;
  if (effect == 0) return;

  AnalysisTable table = analysis_table_create(&selection, measured, NULL);
  if (analysis_claim_arrange(NULL, claim, &table, &cells) == CORE_OK) {
    const size_t strata = is_switch ? 0 : cells.strata;
    if (is_switch) add_switch(&table, &cells, claim, spread, effect, world, measured);
    for (size_t s = 0; s < strata; s++) add_to_cells(planned, &table, &cells, s, claim, effect, world, measured);
    if (analysis_test_is_plateau(claim->test)) set_late_gains(&cells, claim, spread, world, measured);
  }
  analysis_cells_free(&cells);
  analysis_table_free(&table);
  core_error_clear();
}

int analysis_power_simulate(const AnalysisPlanned *planned, const AnalysisClaim *claim, AnalysisSpread spread,
                            double effect, size_t claims, uint32_t worlds, AnalysisPower *power) {
  const AnalysisSelection selection = {.runs = planned->runs, .count = planned->count};
  const AnalysisClaimsOptions options = {.looks = 1};
  const double together = LEVEL / fmax(1, (double)claims / 2);
  AnalysisTable table = analysis_table_create(&selection, NULL, NULL);

  long alone = 0, corrected = 0, tested = 0, failed = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : alone, corrected, tested, failed)
  for (uint32_t world = 0; world < worlds; world++) {
    AnalysisTable own = table;
    AnalysisRunMetrics *measured = core_memory_allocate((planned->count + 1) * sizeof *measured);
    AnalysisClaimResult f = {0};
    analysis_power_fill(planned, claim, spread, world, measured);
    analysis_power_add_effect(planned, claim, spread, effect, world, measured);
    own.metrics = measured;
    failed += analysis_claim_test(NULL, &options, claim, &own, &f) != CORE_OK;
    tested += !isnan(f.p_for);
    alone += f.verdict == ANALYSIS_SUPPORTED;
    corrected += f.verdict == ANALYSIS_SUPPORTED && f.p_for <= together;
    free(f.tasks);
    free(measured);
  }

  analysis_table_free(&table);
  if (failed > 0) return core_error(CORE_USAGE, "claims.def: %s cannot be simulated", claim->id);
  *power = (AnalysisPower){(double)alone / worlds, (double)corrected / worlds, tested > 0};
  return CORE_OK;
}
