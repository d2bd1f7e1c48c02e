/* Error rates and power of `analyze claims`: simulates databases in the form of each claim's own experiments, without
 * any effect and with one of one and of two standard deviations of a seed.
 * Usage: cli_claims_null EXPERIMENTS WORLDS [CLAIM...]; one line per claim, number of seeds and effect:
 *   claim test seeds effect worlds supported contradicted
 * cli_claims_null EXPERIMENTS together: each claim from its own experiments alone, and from those of all.
 * Effect 0 is the limit of the claim's null hypothesis (the margin, for claims of equality); "none" is no effect for
 * those claims, which should then be supported. tests/long/test_claims_null.sh checks the lines. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/claims.h"
#include "analysis/claims/curve.h"
#include "core/config/origin.h"
#include "core/memory.h"
#include "core/random.h"
#include "sweep/spec/grid.h"

static const double SD = 0.04, CENTER = 0.6; /* solve rates over seeds, as in real runs */

typedef struct World {
  AnalysisRun *runs;
  AnalysisRunMetrics *measured;
  size_t count, capacity;
} World;

static void add_run(World *world, const CoreConfig *config, const char *id) {
  if (world->count == world->capacity) {
    world->capacity = world->capacity ? 2 * world->capacity : 256;
    world->runs = core_memory_resize(world->runs, world->capacity * sizeof *world->runs);
    world->measured = core_memory_resize(world->measured, world->capacity * sizeof *world->measured);
  }
  AnalysisRun *run = &world->runs[world->count++];
  CoreConfig resolved, *effective = core_memory_allocate(sizeof *effective);
  CoreOrigin origin;
  *run = (AnalysisRun){.config = {effective, config->train.seed}, .status = STORE_FINISHED};
  memcpy(run->id, id, sizeof run->id);
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

/* All seeds of a configuration name their parent alike, as a database does (analysis/runs/parents.h). */
static void name_parents(World *world) {
  for (size_t r = 0; r < world->count; r++) {
    const char *at = strchr(world->runs[r].config.shared->init.from, '@');
    if (!world->runs[r].parent[0]) continue;
    for (size_t p = 0; p < world->count; p++) {
      if (strcmp(world->runs[p].id, world->runs[r].parent) != 0) continue;
      char text[64];
      snprintf(text, sizeof text, "com %g %s", world->runs[p].config.shared->ppo.com, at ? at : "");
      memcpy(((CoreConfig *)world->runs[r].config.shared)->init.from, text, sizeof text);
      break;
    }
  }
}

static bool known(const World *world, const char *id) {
  for (size_t r = 0; r < world->count; r++)
    if (strcmp(world->runs[r].id, id) == 0) return true;
  return false;
}

/* Adds the runs of the sweep of that name. */
static void add_sweep(World *world, const char *experiments, const char *name, int seeds) {
  char pattern[512], set[32];
  const char *const sets[] = {set};
  snprintf(set, sizeof set, "sweep.seeds=%d", seeds);
  for (int depth = 0; depth < 2; depth++) {
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, depth ? "%s/*/*.ini" : "%s/*.ini", experiments);
    if (glob(pattern, 0, NULL, &found) != 0) continue;
    for (size_t i = 0; i < found.gl_pathc; i++) {
      SweepSpec spec;
      SweepGrid grid;
      if (sweep_spec_read(found.gl_pathv[i], NULL, sets, 1, &spec) != CORE_OK) continue;
      if (strcmp(spec.name, name) == 0 && sweep_grid_expand(&spec, &grid) == CORE_OK) {
        for (size_t r = 0; r < grid.runs; r++) {
          CoreConfig config;
          sweep_grid_config(&grid, r, &config);
          if (!known(world, grid.ids[r])) add_run(world, &config, grid.ids[r]);
        }
        sweep_grid_free(&grid);
      }
      sweep_spec_free(&spec);
    }
    globfree(&found);
  }
  core_error_clear();
}

/* The runs of all sweeps that the claim names. */
static void add_data(World *world, const char *experiments, const AnalysisClaim *claim, int seeds) {
  char name[128];
  for (const char *word = claim->data; *word; word += strspn(word, " ")) {
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, " "), word);
    add_sweep(world, experiments, name, seeds);
    word += strlen(name);
  }
}

static double normal(uint32_t world, uint32_t run, uint32_t what) {
  const CoreRandom4 words = core_random_4(17, CORE_RANDOM_TEST, world, run, what);
  double first, second;
  core_random_normal_pair(words.v[0], words.v[1], &first, &second);
  return first;
}

/* Returns a metric without any effect: near 0 for differences and changes, else around `center`. x measures
 * differ between configurations, by what hash says. */
static double center_of(const AnalysisClaim *claim) {
  switch (claim->test) {
    case ANALYSIS_TEST_AT_LEAST_95: return 0.95;
    case ANALYSIS_TEST_POSITIVE:
    case ANALYSIS_TEST_NEGATIVE: return 0;
    default: return CENTER;
  }
}

static uint32_t hash_of(const char *text) {
  uint32_t hash = 2166136261u;
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 16777619u;
  return hash;
}

/* Returns a run's deviation in standard deviations. Runs with a common parent are correlated, as in real data. */
static double noise(const World *world, uint32_t number, size_t r) {
  const double own = normal(number, (uint32_t)r, 0);
  const char *parent = world->runs[r].parent;
  return parent[0] ? sqrt(0.8) * normal(number, hash_of(parent), 4) + sqrt(0.2) * own : own;
}

static void fill(World *world, const AnalysisClaim *claim, uint32_t number) {
  AnalysisMeasure x = ANALYSIS_MEASURES;
  if (analysis_measure_find(claim->key, &x) != CORE_OK) x = ANALYSIS_MEASURES;
  core_error_clear();
  for (size_t r = 0; r < world->count; r++) {
    AnalysisRunMetrics *m = &world->measured[r];
    *m = (AnalysisRunMetrics){.ended = true, .rated = true};
    for (size_t k = 0; k < ANALYSIS_MEASURES; k++) m->value[k] = NAN;
    m->value[claim->measure] = center_of(claim) + SD * noise(world, number, r);
    m->value[ANALYSIS_MEASURE_early] = CENTER + SD * normal(number, (uint32_t)r, 1);
    /* The second condition of plateaus and of switches is met: their first one is at its edge. */
    m->value[ANALYSIS_MEASURE_late_gain] = SD / 4 * normal(number, (uint32_t)r, 5);
    m->value[ANALYSIS_MEASURE_early_gain] = CENTER + SD * normal(number, (uint32_t)r, 6);
    if (x < ANALYSIS_MEASURES) {
      CoreConfig config = *world->runs[r].config.shared;
      config.train.seed = 0;
      char cell[CORE_RUN_ID];
      core_config_cell_id(&config, cell);
      m->value[x] = exp(2 * normal(number, hash_of(cell), 2) + 0.1 * normal(number, (uint32_t)r, 3));
    }
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

/* By how much the measure of cell c changes when the claim holds with an effect of one; what: 1 the early measure. */
static double change_of(const AnalysisClaim *claim, const AnalysisCells *cells, size_t s, size_t c, int what) {
  const size_t begin = cells->stratum[s], end = cells->stratum[s + 1];
  const double low = cells->second[begin], high = cells->second[end - 1], at = cells->second[c];
  size_t first = c, last = c;
  while (first > begin && cells->second[first - 1] == at) first--;
  while (last + 1 < end && cells->second[last + 1] == at) last++;
  const double x = end - begin > 1 ? (double)rank_of_x(cells, s, c) / (double)(end - begin - 1) : 0.5;
  if (what == 1) return claim->test == ANALYSIS_TEST_GROWS ? 0.5 - x : 0;
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
    case ANALYSIS_TEST_MIDDLE: return x < 1.0 / 3 || x > 2.0 / 3 ? -1 : 0;
    case ANALYSIS_TEST_UP:
    case ANALYSIS_TEST_GROWS: return x - 0.5;
    case ANALYSIS_TEST_DOWN: return 0.5 - x;
    case ANALYSIS_TEST_ONE_CURVE: return at;
    case ANALYSIS_TEST_AT_LEAST_95:
    case ANALYSIS_TEST_POSITIVE: return 1;
    case ANALYSIS_TEST_NEGATIVE: return -1;
    default: return 0;
  }
}

static bool is_of_margin(AnalysisTest test) {
  return test == ANALYSIS_TEST_EQUAL || test == ANALYSIS_TEST_SAME_BEST || test == ANALYSIS_TEST_GAIN_EQUAL ||
         test == ANALYSIS_TEST_SWITCH_SAME || test == ANALYSIS_TEST_NOT_WORSE || test == ANALYSIS_TEST_BEST_EQUAL ||
         test == ANALYSIS_TEST_ONE_CURVE;
}

/* Sets the second key to 1 for the configurations of one lever, to 0 for all others. */
static void mark_lever(const AnalysisTable *table, AnalysisCells *cells, size_t s) {
  uint64_t *lever = core_memory_allocate((cells->cells + 1) * sizeof *lever), one = 0;
  analysis_curve_levers(table, cells, s, lever);
  for (size_t c = cells->stratum[s]; c < cells->stratum[s + 1] && one == 0; c++) one = lever[c];
  for (size_t c = cells->stratum[s]; c < cells->stratum[s + 1]; c++) cells->second[c] = lever[c] == one;
  free(lever);
}

/* Adds `size` times the claim's effect, as large as its margin for claims that things are alike. */
static void add_effect(World *world, const AnalysisSelection *selection, const AnalysisClaim *claim, double size) {
  AnalysisMeasure x;
  const bool measured_x = claim->test >= ANALYSIS_TEST_MIDDLE && claim->test <= ANALYSIS_TEST_ONE_CURVE;
  if (size == 0) return;
  if (measured_x && analysis_measure_find(claim->key, &x) != CORE_OK) return;
  AnalysisTable table = analysis_table_create(selection, world->measured, NULL);
  AnalysisCells cells;
  const AnalysisArrangement arrangement = {"", claim->where, measured_x ? "" : claim->key, claim->second,
                                           claim->free_settings, claim->measure, measured_x ? (int)x : -1};
  if (analysis_cells_create(&table, &arrangement, &cells) == CORE_OK) {
    for (size_t s = 0; s < cells.strata; s++) {
      if (claim->test == ANALYSIS_TEST_ONE_CURVE) mark_lever(&table, &cells, s);
      for (size_t c = cells.stratum[s]; c < cells.stratum[s + 1]; c++) {
        const double change = size * change_of(claim, &cells, s, c, 0);
        const double early = size * change_of(claim, &cells, s, c, 1);
        for (size_t i = cells.first[c]; i < cells.first[c + 1]; i++) {
          AnalysisRunMetrics *m = &world->measured[cells.run[i]];
          const AnalysisRange range = analysis_measure_range(claim->measure, world->measured, NULL, world->count);
          if (is_of_margin(claim->test) && !isfinite(range.high)) m->value[claim->measure] *= pow(1.25, change / 0.05);
          else m->value[claim->measure] += change * (isfinite(range.high) ? range.high : 1);
          if (claim->measure != ANALYSIS_MEASURE_early) m->value[ANALYSIS_MEASURE_early] += early;
        }
      }
    }
    analysis_cells_free(&cells);
  }
  analysis_table_free(&table);
}

static void add_switch(World *world, const AnalysisClaim *claim, double size) {
  for (size_t r = 0; r < world->count; r++) {
    if (!world->runs[r].parent[0]) continue;
    const double sign = claim->test == ANALYSIS_TEST_SWITCH_UP ? 1 : -1;
    world->measured[r].value[claim->measure] += sign * size;
  }
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static void simulate(World *world, const AnalysisClaim *claim, int seeds, const char *effect, double size,
                     uint32_t worlds) {
  const AnalysisSelection selection = {.runs = world->runs, .count = world->count};
  const AnalysisClaimsOptions asked = {.ids = (const char *const[]){claim->id}, .id_count = 1};
  long verdicts[3] = {0};
#pragma omp parallel for schedule(dynamic) reduction(+ : verdicts)
  for (uint32_t w = 0; w < worlds; w++) {
    World own = {world->runs, core_memory_allocate((world->count + 1) * sizeof *own.measured), world->count, 0};
    AnalysisClaimResult *finding = NULL;
    size_t count;
    fill(&own, claim, w);
    if (claim->test >= ANALYSIS_TEST_SWITCH_UP) add_switch(&own, claim, size);
    else add_effect(&own, &selection, claim, size);
    if (analysis_claims_test(NULL, &selection, own.measured, NULL, &asked, &finding, &count) == CORE_OK && count == 1)
      verdicts[finding[0].verdict]++;
    analysis_claims_free(&finding, count);
    free(own.measured);
  }
  printf("%s %s %d %s %u %ld %ld\n", claim->id, claim->test_name, seeds, effect, worlds,
         verdicts[ANALYSIS_SUPPORTED], verdicts[ANALYSIS_CONTRADICTED]);
  fflush(stdout);
}

static void simulate_claim(const char *experiments, const AnalysisClaim *claim, uint32_t worlds) {
  static const int seeds[] = {3, 5, 10};
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
    World world = {0};
    add_data(&world, experiments, claim, seeds[i]);
    name_parents(&world);
    if (is_of_margin(claim->test)) {
      simulate(&world, claim, seeds[i], "0", 0.05, worlds);
      simulate(&world, claim, seeds[i], "none", 0, worlds / 4 + 1);
    } else {
      simulate(&world, claim, seeds[i], "0", 0, worlds);
      simulate(&world, claim, seeds[i], "1", SD, worlds / 4 + 1);
      simulate(&world, claim, seeds[i], "2", 2 * SD, worlds / 4 + 1);
    }
    free(world.runs);
    free(world.measured);
  }
}

/* ---- alone and together ------------------------------------------------------------------------------------------ */

/* Every measure of a run, from its id alone. */
static void measure_by_id(World *world) {
  for (size_t r = 0; r < world->count; r++) {
    world->measured[r] = (AnalysisRunMetrics){.ended = true, .rated = true};
    for (uint32_t k = 0; k < ANALYSIS_MEASURES; k++)
      world->measured[r].value[k] = CENTER + SD * normal(1, hash_of(world->runs[r].id), k);
  }
}

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

/* Each claim from a database of its own experiments, and from one with those of all: the claims that differ. */
static int compare_together(const char *experiments, const AnalysisClaim *claims, size_t count) {
  World all = {0};
  int differ = 0;
  for (size_t i = 0; i < count; i++) add_data(&all, experiments, &claims[i], 3);
  measure_by_id(&all);
  name_parents(&all);
  for (size_t i = 0; i < count; i++) {
    World own = {0};
    add_data(&own, experiments, &claims[i], 3);
    measure_by_id(&own);
    name_parents(&own);
    /* Rename the sweeps of this claim: every run of its data is a member of each word of `data`. */
    AnalysisMembership mine = {core_memory_zero_allocate(8, sizeof(char *)), 0, all.count, NULL};
    char name[128];
    for (const char *word = claims[i].data; *word; word += strspn(word, " ")) {
      snprintf(name, sizeof name, "%.*s", (int)strcspn(word, " "), word);
      mine.sweep[mine.sweeps++] = core_text_duplicate(name);
      word += strlen(name);
    }
    mine.member = core_memory_zero_allocate(all.count * mine.sweeps + 1, sizeof(bool));
    for (size_t r = 0; r < all.count; r++)
      for (size_t s = 0; s < mine.sweeps; s++) mine.member[r * mine.sweeps + s] = known(&own, all.runs[r].id);
    const AnalysisClaimsOptions asked = {.ids = (const char *const[]){claims[i].id}, .id_count = 1};
    const AnalysisSelection alone = {.runs = own.runs, .count = own.count};
    const AnalysisSelection with = {.runs = all.runs, .count = all.count};
    AnalysisClaimResult *a = NULL, *b = NULL;
    size_t n;
    if (analysis_claims_test(NULL, &alone, own.measured, NULL, &asked, &a, &n) != CORE_OK ||
        analysis_claims_test(NULL, &with, all.measured, &mine, &asked, &b, &n) != CORE_OK) return 1;
    const bool alike = a->verdict == b->verdict && same(a->interval.center, b->interval.center) && a->runs == b->runs &&
                       same(a->p_for, b->p_for) && same(a->p_against, b->p_against) && a->mixed == b->mixed;
    printf("%s %s: %zu runs, %zu comparisons, %zu mixed; alone %g (p %g), together %g (p %g)\n",
           alike ? "same" : "DIFFERS", claims[i].id, a->runs, a->strata, a->mixed, a->interval.center, a->p_for,
           b->interval.center, b->p_for);
    differ += !alike;
    analysis_claims_free(&a, 1);
    analysis_claims_free(&b, 1);
    analysis_membership_free(&mine);
    free(own.runs);
    free(own.measured);
  }
  free(all.runs);
  free(all.measured);
  return differ > 0;
}

int main(int argc, char **argv) {
  size_t count;
  const AnalysisClaim *claims = analysis_claims_list(&count);
  if (argc < 3) {
    fprintf(stderr, "usage: %s EXPERIMENTS WORLDS|together [CLAIM...]\n", argv[0]);
    return 2;
  }
  if (strcmp(argv[2], "together") == 0) return compare_together(argv[1], claims, count);
  for (size_t i = 0; i < count; i++) {
    bool asked = argc == 3;
    for (int a = 3; a < argc; a++) asked |= strcmp(argv[a], claims[i].id) == 0;
    if (asked) simulate_claim(argv[1], &claims[i], (uint32_t)atoi(argv[2]));
  }
  return 0;
}
