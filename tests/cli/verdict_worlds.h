/* Simulated runs for cli_verdict_rates.c: configurations of a claim of our own, and scores with a known truth under
 * conditions that tests may assume away: unequal spreads and numbers, correlated seeds, failures, skew near a bound.
 * The claims are tested by analysis_claim_test, as `analyze claims` does. */
#ifndef TESTS_CLI_VERDICT_WORLDS_H
#define TESTS_CLI_VERDICT_WORLDS_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/claims.h"
#include "core/memory.h"
#include "core/random.h"

static const double SD = 0.04, MARGIN = 0.05, FAR = 0.4, UNTRAINED = 0.05;

/* ---- conditions -------------------------------------------------------------------------------------------------- */

/* Cells to which something happens. */
typedef enum Which { NOWHERE, EVERYWHERE, FIRST, LAST, ALL_BUT_FIRST } Which;

/* Numbers and distributions of the seeds of a stratum's cells. Spreads are in units of SD. */
typedef struct Condition {
  const char *name;
  int seeds, first_seeds, last_seeds; /* seeds of a cell; of the first one and of the last one */
  double first_sd, last_sd;
  Which fails;             /* cells in which a share of the seeds ends as an untrained policy */
  double rate;
  double correlation;      /* between runs of one seed */
  int strata;
  Which skewed;            /* cells with exponential distances from a bound of the score; the others spread by 0.01 */
  bool low;                /* the bound is 0, not 1 */
  int levels;              /* scores are multiples of 1 / levels, so that many are equal; 0: of nothing */
} Condition;

#define ALIKE(name, n) {name, n, n, n, 1, 1, .strata = 1}
#define SPREAD(name, n, first, last, tasks) {name, n, n, n, first, last, .strata = tasks}
#define NUMBERS(name, n, first, last, first_sd, last_sd) {name, n, first, last, first_sd, last_sd, .strata = 1}
#define FAILS(name, n, which, share, tasks) {name, n, n, n, 1, 1, .strata = tasks, .fails = which, .rate = share}
#define SKEWED(name, n, which, at_0) {name, n, n, n, 1, 1, .strata = 1, .skewed = which, .low = at_0}
#define AT_3_5_10(of, ...) of(3, __VA_ARGS__), of(5, __VA_ARGS__), of(10, __VA_ARGS__)
#define FAILS_AT(n, name, which, share) FAILS(name, n, which, share, 1)
#define SKEWED_AT(n, name, which, at_0) SKEWED(name, n, which, at_0)
#define SPREAD_AT(n, name, first, last) SPREAD(name, n, first, last, 1)
static const Condition conditions[] = {
  AT_3_5_10(SPREAD_AT, "alike", 1, 1),
  AT_3_5_10(SPREAD_AT, "first spreads", 3, 1),
  AT_3_5_10(SPREAD_AT, "last spreads", 1, 3),
  NUMBERS("few first spread", 10, 3, 10, 3, 1),
  NUMBERS("few last spread", 10, 10, 3, 1, 3),
  NUMBERS("many first spread", 3, 10, 3, 3, 1),
  NUMBERS("many last spread", 3, 3, 10, 1, 3),
  NUMBERS("few first calm", 10, 3, 10, 1.0 / 3, 1),
  NUMBERS("few last calm", 10, 10, 3, 1, 1.0 / 3),
  {"seeds correlate", 3, 3, 3, 1, 1, .strata = 1, .correlation = 0.5},
  {"seeds correlate", 10, 10, 10, 1, 1, .strata = 1, .correlation = 0.5},
  {"seeds correlate much", 5, 5, 5, 1, 1, .strata = 1, .correlation = 0.8},
  SPREAD("first calm", 3, 0.25, 1, 1),
  SPREAD("first calm", 5, 0.25, 1, 1),
  {"ties", 3, 3, 3, 1, 1, .strata = 1, .levels = 24},
  {"ties", 10, 10, 10, 1, 1, .strata = 1, .levels = 24},
  SPREAD("tasks", 3, 1, 1, 2),
  SPREAD("tasks", 5, 1, 1, 4),
  SPREAD("tasks", 3, 1, 1, 8),
  SPREAD("first spreads", 5, 3, 1, 4),
  SPREAD("last spreads", 5, 1, 3, 4),
  AT_3_5_10(FAILS_AT, "a fifth of all", EVERYWHERE, 0.2),
  AT_3_5_10(FAILS_AT, "a fifth of the first", FIRST, 0.2),
  AT_3_5_10(FAILS_AT, "a fifth of the last", LAST, 0.2),
  AT_3_5_10(FAILS_AT, "a fifth of all but the first", ALL_BUT_FIRST, 0.2),
  FAILS("a fifth of the first", 16, FIRST, 0.2, 1),
  FAILS("a fifth of all but the first", 16, ALL_BUT_FIRST, 0.2, 1),
  FAILS("a fifth of the first", 19, FIRST, 0.2, 1),
  FAILS("a fifth of all but the first", 19, ALL_BUT_FIRST, 0.2, 1),
  FAILS("a fifth of the first", 30, FIRST, 0.2, 1),
  FAILS("a fifth of the first", 5, FIRST, 0.2, 2),
  FAILS("a fifth of all but the first", 5, ALL_BUT_FIRST, 0.2, 4),
  AT_3_5_10(FAILS_AT, "a tenth of the first", FIRST, 0.1),
  AT_3_5_10(FAILS_AT, "a tenth of the last", LAST, 0.1),
  AT_3_5_10(SKEWED_AT, "first near 1", FIRST, false),
  AT_3_5_10(SKEWED_AT, "all but the first near 1", ALL_BUT_FIRST, false),
  AT_3_5_10(SKEWED_AT, "first near 0", FIRST, true),
  AT_3_5_10(SKEWED_AT, "all but the first near 0", ALL_BUT_FIRST, true),
  SKEWED("all near 1", 5, EVERYWHERE, false),
  SKEWED("all near 1", 10, EVERYWHERE, false),
  SKEWED("all near 0", 5, EVERYWHERE, true),
  SKEWED("first near 1", 20, FIRST, false),
  SKEWED("first near 0", 20, FIRST, true),
};
enum { CONDITIONS = sizeof conditions / sizeof *conditions };

/* Returns the numbers of a run: a normal one, and a uniform one. */
static double normal(uint32_t world, uint32_t run, uint32_t what) {
  const CoreRandom4 words = core_random_4(43, CORE_RANDOM_TEST, world, run, what);
  double first, second;
  core_random_normal_pair(words.v[0], words.v[1], &first, &second);
  return first;
}

static double uniform(uint32_t world, uint32_t run, uint32_t what) {
  return core_random_unit(core_random_4(43, CORE_RANDOM_TEST, world, run, what).v[0]);
}

static bool is_one_of(Which which, bool first, bool last) {
  return which == EVERYWHERE || (which == FIRST && first) || (which == LAST && last) ||
         (which == ALL_BUT_FIRST && !first);
}

/* Returns the mean score of a cell that differs by 0. */
static double base_of(const Condition *c) { return c->skewed ? (c->low ? 0.05 : 0.95) : c->fails ? 0.57 : 0.5; }

/* Returns a score whose expectation is base_of + mean. */
static double draw_any(const Condition *c, double mean, uint32_t world, uint32_t run, uint32_t seed, bool first,
                       bool last) {
  const double sd = SD * (first ? c->first_sd : last ? c->last_sd : 1), level = base_of(c) + mean;
  const double own = sqrt(1 - c->correlation) * normal(world, run, 0);
  const double z = own + sqrt(c->correlation) * normal(world, 100000 + seed, 0);
  if (c->skewed) {
    const double distance = c->low ? level : 1 - level, e = -log(uniform(world, run, 8) + 1e-12);
    if (!is_one_of(c->skewed, first, last) || distance > 0.2 || distance <= 0) return level + SD / 4 * z;
    return c->low ? distance * e : 1 - distance * e;
  }
  if (!is_one_of(c->fails, first, last) || level - UNTRAINED < 0.3) return level + sd * z;
  const double lost = (level - UNTRAINED) / (1 - c->rate); /* loss of a failed run; the mean is `level` */
  return uniform(world, run, 7) < c->rate ? UNTRAINED : UNTRAINED + lost + sd * z;
}

static double draw(const Condition *c, double mean, uint32_t world, uint32_t run, uint32_t seed, bool first,
                   bool last) {
  const double score = draw_any(c, mean, world, run, seed, first, last);
  return c->levels > 0 ? round(score * c->levels) / c->levels : score;
}

/* ---- worlds ------------------------------------------------------------------------------------------------------ */

/* Place of a run in the claim. */
typedef struct Place { int key, second, stratum, seed; bool first, last; uint32_t cell; } Place;

/* Runs of a case, without their scores: the same for all worlds. */
typedef struct World {
  AnalysisRun *runs;
  Place *place;
  CoreConfig *configs;     /* [cells] */
  size_t count, cells;
  AnalysisSelection selection;
  AnalysisTable table;     /* without metrics */
} World;

enum { CELLS_MAX = 160, SEEDS_MAX = 64 };

static World world_begin(void) {
  return (World){.runs = core_memory_zero_allocate(CELLS_MAX * SEEDS_MAX, sizeof(AnalysisRun)),
                 .place = core_memory_zero_allocate(CELLS_MAX * SEEDS_MAX, sizeof(Place)),
                 .configs = core_memory_zero_allocate(CELLS_MAX, sizeof(CoreConfig))};
}

/* Adds `seeds` runs of a configuration. parents: index of the first run of the parents' cell; SIZE_MAX: none. */
static void add_cell(World *w, const CoreConfig *config, Place place, int seeds, size_t parents) {
  CoreConfig *own = &w->configs[w->cells];
  *own = *config;
  own->train.seed = 0;
  place.cell = (uint32_t)w->cells++;
  for (int seed = 0; seed < seeds; seed++) {
    AnalysisRun *run = &w->runs[w->count];
    *run = (AnalysisRun){.config = {own, seed}, .status = STORE_FINISHED, .iterations = 100};
    core_config_cell_id(own, run->cell);
    snprintf(run->id, sizeof run->id, "%015zx", w->count + 1);
    if (parents != SIZE_MAX) memcpy(run->parent, w->runs[parents + (size_t)seed].id, sizeof run->parent);
    run->transitions_per_iteration = core_config_transitions_per_iteration(own);
    place.seed = seed;
    w->place[w->count++] = place;
  }
}

static void world_end(World *w) {
  w->selection = (AnalysisSelection){.runs = w->runs, .count = w->count};
  w->table = analysis_table_create(&w->selection, NULL, NULL);
}

static void world_free(World *w) {
  analysis_table_free(&w->table);
  free(w->runs);
  free(w->place);
  free(w->configs);
}

static int seeds_of(const Condition *c, bool first, bool last) {
  return first ? c->first_seeds : last ? c->last_seeds : c->seeds;
}

/* Runs for tests of keys: learning rates, at several discounts, on tasks that differ in lambda. */
static World grid_create(const Condition *c, int keys, int seconds) {
  World w = world_begin();
  for (int s = 0; s < c->strata; s++) {
    for (int i = 0; i < keys * seconds; i++) {
      CoreConfig config = core_config_default();
      const Place place = {i % keys, i / keys, s, 0, i == 0, i == keys * seconds - 1 && i > 0, 0};
      config.ppo.learning_rate = 1e-4 * (place.key + 1);
      config.ppo.gamma = 0.9 + 0.01 * place.second;
      config.ppo.gae_lambda = 0.9 + 0.01 * s;
      add_cell(&w, &config, place, seeds_of(c, place.first, place.last), SIZE_MAX);
    }
  }
  world_end(&w);
  return w;
}

enum { LEVERS = 4 };

/* Runs for tests of points: a full grid of four levers (key: bits of the levers), or with `star` a reference and six
 * values of each of three levers (key: 6 x lever + value, or -1). */
static World points_create(const Condition *c, bool star) {
  World w = world_begin();
  for (int s = 0; s < c->strata; s++) {
    for (int i = star ? -1 : 0; i < (star ? 18 : 1 << LEVERS); i++) {
      CoreConfig config = core_config_default();
      const int lever = star && i >= 0 ? i / 6 : -1, value = star ? i % 6 + 1 : 0;
      config.ppo.gae_lambda = 0.9 + 0.01 * s;
      config.ppo.epsilon = lever == 0 ? 0.2 + 0.02 * value : !star && (i & 1) ? 0.3 : 0.2;
      config.ppo.learning_rate = 1e-4 * (lever == 1 ? 1 + value : !star && (i & 2) ? 2 : 1);
      config.ppo.epochs = lever == 2 ? 1 + value : !star && (i & 4) ? 4 : 1;
      config.ppo.gamma = !star && (i & 8) ? 0.99 : 0.95;
      add_cell(&w, &config, (Place){i, 0, s, 0, i <= 0, false, 0}, c->seeds, SIZE_MAX);
    }
  }
  world_end(&w);
  return w;
}

/* Runs that switched: parents (key 0), two children of each (key 1), runs with the children's setting from the start
 * (key 2). sign: of the change of the setting. */
static World switches_create(const Condition *c, int sign) {
  World w = world_begin();
  CoreConfig parent = core_config_default(), child, fresh;
  parent.ppo.learning_rate = 1e-3;
  fresh = parent;
  fresh.ppo.learning_rate *= sign > 0 ? 2 : 0.5;
  child = fresh;
  snprintf(child.init.from, sizeof child.init.from, "parents@50");
  add_cell(&w, &parent, (Place){0, 0, 0, 0, true, false, 0}, c->first_seeds, SIZE_MAX);
  for (int k = 0; k < 2; k++) {
    child.train.total_steps = parent.train.total_steps - k; /* two checkpoints, which the task ignores */
    snprintf(child.init.from, sizeof child.init.from, "parents@%d", 50 + k);
    add_cell(&w, &child, (Place){1, k, 0, 0, false, false, 0}, c->first_seeds, 0);
  }
  add_cell(&w, &fresh, (Place){2, 0, 0, 0, false, true, 0}, c->last_seeds, SIZE_MAX);
  world_end(&w);
  return w;
}
#endif
