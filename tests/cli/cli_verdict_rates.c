/* Counts the wrong verdicts of `analyze claims`: claims at the limit of being false, and of being true, for simulated
 * seeds (verdict_worlds.h), each tested as the program does it: scale, allowances, tasks and levers included.
 * Usage: cli_verdict_rates WORLDS [TEST|CONDITION...], all tests, or conditions, if none is named; one line per test,
 * truth and condition:
 *   test,truth,condition,seeds,tasks,worlds,supported,contradicted,failures_differ
 * Both verdicts are errors: at these truths a test of level 2.5 % is wrong in at most that fraction of worlds per side.
 * tests/cli/test_verdict_rates.sh and tests/long/test_statistics.sh check the lines. */
#include "tests/cli/verdict_worlds.h"

/* ---- truths ------------------------------------------------------------------------------------------------------ */

/* The mean of a cell: its place among `keys` keys and `seconds` second keys. */
typedef double (*MeanOf)(int key, int keys, int second, int seconds);

static double alike(int key, int keys, int second, int seconds) { return 0; }
static double first_lower(int key, int keys, int second, int seconds) { return key == 0 ? -MARGIN : 0; }
static double last_lower(int key, int keys, int second, int seconds) { return key == keys - 1 ? -MARGIN : 0; }
static double ends_apart(int key, int keys, int second, int seconds) { return -MARGIN * key / (keys - 1); }
static double first_far(int key, int keys, int second, int seconds) { return key == 0 ? -FAR : 0; }
static double last_far(int key, int keys, int second, int seconds) { return key == keys - 1 ? -FAR : 0; }
/* The ends and one other key are alike, the rest is far below. */
static double one_rival(int key, int keys, int second, int seconds) { return key <= 1 || key == keys - 1 ? 0 : -FAR; }
/* One key is far above, at each second key alike. */
static double one_best(int key, int keys, int second, int seconds) { return key == 1 ? FAR : 0; }
/* The gain by the key is the margin larger at the last second key. */
static double gain_grows(int key, int keys, int second, int seconds) {
  return second == seconds - 1 && key == keys - 1 ? MARGIN : 0;
}
/* One setting of each second key is good, the others are far below. */
static double one_of_each(int key, int keys, int second, int seconds) { return key == second ? 0 : -FAR; }
/* The first key is lower by the margin, at the second key that is its best. */
static double first_behind(int key, int keys, int second, int seconds) {
  return one_of_each(key, keys, second, seconds) - (key == 0 ? MARGIN : 0);
}
/* The best key of either end loses just the margin at the other. */
static double best_moves(int key, int keys, int second, int seconds) {
  if (key > 0 && key < keys - 1) return -FAR;
  return (key == 0) == (second == 0) ? 0 : -MARGIN;
}
/* The same, but by little: the rivals at the end where a key is the best are 0.02 behind. */
static double best_moves_barely(int key, int keys, int second, int seconds) {
  if (key == 0) return second == 0 ? 0.02 : -MARGIN;
  if (key == keys - 1) return second == 0 ? 0.02 - MARGIN : 0;
  return second == 0 ? 0 : -0.02;
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

typedef enum Shape { GRID, LEVER_GRID, RANDOM_GRID, STAR, SWITCH } Shape;

/* A test at a truth at which neither of its verdicts is right more often than its level says. */
typedef struct Case {
  AnalysisTest test;
  const char *name, *truth;
  Shape shape;
  int keys, seconds;
  MeanOf mean;
  double late, change, excess, lead; /* late gain over total gain; of children: change against their parents, excess
                                        over runs from the start, lead soon after the switch */
} Case;

#define GRID_CASE(test, truth, keys, seconds, mean) \
  {ANALYSIS_TEST_##test, #test, truth, GRID, keys, seconds, mean, 0, 0, 0, 0}
#define PLATEAU_CASE(test, truth, mean, late) \
  {ANALYSIS_TEST_##test, #test, truth, GRID, 4, 1, mean, late, 0, 0, 0}
#define SWITCH_CASE(test, truth, change, excess, lead) \
  {ANALYSIS_TEST_##test, #test, truth, SWITCH, 1, 1, alike, 0, change, excess, lead}
#define POINTS_CASE(test, truth, shape) {ANALYSIS_TEST_##test, #test, truth, shape, 1, 1, alike, 0, 0, 0, 0}
static const Case cases[] = {
  GRID_CASE(RISES, "no setting differs", 3, 1, alike),
  GRID_CASE(EQUAL, "one apart by the margin", 3, 1, first_lower),
  GRID_CASE(EQUAL, "ends apart by the margin", 3, 1, ends_apart),
  GRID_CASE(NOT_WORSE, "last loses the margin", 2, 1, last_lower),
  GRID_CASE(LOW_END, "alike", 4, 1, alike),
  GRID_CASE(LOW_END, "one rival", 4, 1, one_rival),
  GRID_CASE(HIGH_END, "alike", 4, 1, alike),
  PLATEAU_CASE(LOW_PLATEAU, "no loss", one_rival, -0.5),
  PLATEAU_CASE(LOW_PLATEAU, "a twentieth gained late", first_far, 0.05),
  PLATEAU_CASE(HIGH_PLATEAU, "a twentieth gained late", last_far, 0.05),
  GRID_CASE(ROBUST, "alike", 3, 2, alike),
  GRID_CASE(ROBUST, "one best", 3, 2, one_best),
  GRID_CASE(ROBUST_HIGH, "alike", 3, 2, alike),
  GRID_CASE(SAME_BEST, "best loses the margin", 3, 2, best_moves),
  GRID_CASE(SAME_BEST, "best by little", 3, 2, best_moves_barely),
  GRID_CASE(GAIN_GROWS, "alike", 2, 2, alike),
  GRID_CASE(GAIN_EQUAL, "one apart by the margin", 2, 3, gain_grows),
  GRID_CASE(BEST_AT_LOW, "alike", 3, 2, alike),
  GRID_CASE(BEST_AT_LOW, "one of each", 3, 2, one_of_each),
  GRID_CASE(BEST_AT_HIGH, "alike", 3, 2, alike),
  GRID_CASE(BEST_EQUAL, "first behind", 2, 3, first_lower),
  GRID_CASE(BEST_EQUAL, "one of each", 3, 3, first_behind),
  GRID_CASE(AT_LEAST_95, "0.95", 4, 1, alike),
  GRID_CASE(POSITIVE, "0", 4, 1, alike),
  POINTS_CASE(MIDDLE, "levers matter and x does not", LEVER_GRID),
  POINTS_CASE(UP, "levers matter and x does not", LEVER_GRID),
  POINTS_CASE(GROWS, "levers matter and x does not", LEVER_GRID),
  POINTS_CASE(MIDDLE, "x is random", RANDOM_GRID),
  POINTS_CASE(UP, "x is random", RANDOM_GRID),
  POINTS_CASE(GROWS, "x is random", RANDOM_GRID),
  POINTS_CASE(ONE_CURVE, "a lever the margin off a parabola", STAR),
  SWITCH_CASE(SWITCH_UP, "no change", 0, 0, FAR),
  SWITCH_CASE(SWITCH_UP, "not at once", FAR, 0, 0),
  SWITCH_CASE(SWITCH_DOWN, "no change", 0, 0, 0),
  SWITCH_CASE(SWITCH_DOWN, "not down to it", -FAR, MARGIN, 0),
  SWITCH_CASE(SWITCH_SAME, "the margin apart", 0.2, -MARGIN, 0),
};
enum { CASES = sizeof cases / sizeof *cases };

static bool is_mean(const Case *of) {
  return of->test == ANALYSIS_TEST_AT_LEAST_95 || of->test == ANALYSIS_TEST_POSITIVE;
}

static bool is_of_points(const Case *of) {
  return of->shape == LEVER_GRID || of->shape == RANDOM_GRID || of->shape == STAR;
}

/* The claim of a case, in the form of claims.def. */
static AnalysisClaim claim_of(const Case *of) {
  AnalysisClaim claim = {.id = "simulated", .paper = "", .figure = "", .sentence = "", .data = "", .where = "",
                         .free_settings = "", .test = of->test, .test_name = of->name, .key = "ppo.learning_rate",
                         .second = of->seconds > 1 ? "ppo.gamma" : "", .measure = ANALYSIS_MEASURE_final};
  if (is_of_points(of)) {
    claim.key = "ddr";
    claim.free_settings = "ppo.epsilon,ppo.learning_rate,ppo.epochs,ppo.gamma";
  }
  if (of->shape == SWITCH) claim.free_settings = "train.total_steps";
  if (is_mean(of)) claim.key = "";
  if (of->test == ANALYSIS_TEST_AT_LEAST_95) claim.measure = ANALYSIS_MEASURE_limit_reached;
  if (of->test == ANALYSIS_TEST_POSITIVE) claim.measure = ANALYSIS_MEASURE_rise_second;
  return claim;
}

static World world_create(const Case *of, const Condition *c) {
  if (of->shape == GRID) return grid_create(c, of->keys, of->seconds);
  if (of->shape == SWITCH) return switches_create(c, of->test == ANALYSIS_TEST_SWITCH_DOWN ? -1 : 1);
  return points_create(c, of->shape == STAR);
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

/* Sets DDR and scores of points. Each lever of the grid moves DDR by a fixed factor, and the score by an amount that is
 * drawn for each world and unrelated to it. In a random grid, DDR is drawn for each configuration and nothing moves the
 * score. */
static void fill_point(const Case *of, const Place *p, uint32_t world, double noise, AnalysisRunMetrics *m) {
  static const double moves[LEVERS] = {1, -0.6, -0.8, 0.5};
  double x = 0, y = 0, early = 0;
  for (int l = 0; l < LEVERS && of->shape == LEVER_GRID; l++) {
    const double at = p->key >> l & 1 ? 1 : 0;
    x += moves[l] * at;
    y += SD * at * normal(world, (uint32_t)l, 20 + (uint32_t)p->stratum);
    early += SD * at * normal(world, (uint32_t)l, 40 + (uint32_t)p->stratum);
  }
  if (of->shape == RANDOM_GRID) x = 2 * normal(world, p->cell, 70);
  if (of->shape == STAR && p->key >= 0) {
    x = (p->key / 6 == 1 ? -0.8 : 0.7) * (p->key % 6 - 2.5);
    y = -0.03 * x * x + (p->key / 6 == 0 ? MARGIN : 0);
  }
  m->value[ANALYSIS_MEASURE_ddr] = exp(x + 0.05 * noise);
  m->value[ANALYSIS_MEASURE_final] += y;
  m->value[ANALYSIS_MEASURE_early] = 0.3 + early + SD * normal(world, p->cell * SEEDS_MAX + (uint32_t)p->seed, 60);
}

/* Sets scores of runs that switched; parents' and children's are correlated. */
static void fill_switch(const Case *of, const Condition *c, const Place *p, uint32_t world, uint32_t run,
                        AnalysisRunMetrics *m) {
  const uint32_t seed = (uint32_t)p->seed;
  const double parent = draw(c, 0, world, seed, seed, true, false);
  const double child = draw(c, of->change, world, seed, seed, true, false) + SD * normal(world, 500 + seed, 0) +
                       SD / 4 * normal(world, run, 5);
  m->value[ANALYSIS_MEASURE_final] =
    p->key == 0 ? parent : p->key == 1 ? child : draw(c, of->change - of->excess, world, run, seed, false, true);
  const double gain = of->lead + SD * normal(world, 500 + seed, 1);
  m->value[ANALYSIS_MEASURE_early_gain] = m->value[ANALYSIS_MEASURE_total_gain] = gain;
}

static void fill(const Case *of, const Condition *c, const World *w, uint32_t world,
                 AnalysisRunMetrics *measured) {
  const AnalysisMeasure measure = claim_of(of).measure;
  for (size_t r = 0; r < w->count; r++) {
    AnalysisRunMetrics *m = &measured[r];
    const Place *p = &w->place[r];
    const uint32_t run = (uint32_t)r;
    *m = (AnalysisRunMetrics){.ended = true, .rated = true};
    for (size_t k = 0; k < ANALYSIS_MEASURES; k++) m->value[k] = NAN;
    const double shift = of->test == ANALYSIS_TEST_AT_LEAST_95 ? 0.95 - base_of(c) : 0;
    const double mean = shift + (of->shape == GRID ? of->mean(p->key, of->keys, p->second, of->seconds) : 0);
    const double score = draw(c, mean, world, run, (uint32_t)p->seed, p->first, p->last);
    m->value[ANALYSIS_MEASURE_final] = score;
    m->value[ANALYSIS_MEASURE_total_gain] = score - UNTRAINED;
    m->value[measure] = of->test == ANALYSIS_TEST_POSITIVE ? score - base_of(c) : score;
    /* the late gain of a run that has failed is none */
    m->value[ANALYSIS_MEASURE_late_gain] =
      of->late * (score - UNTRAINED) + (of->late == 0 ? 0 : SD / 8 * normal(world, run, 1));
    if (of->shape == SWITCH) fill_switch(of, c, p, world, run, m);
    else if (of->shape != GRID) fill_point(of, p, world, normal(world, run, 3), m);
  }
}

/* ---- simulation -------------------------------------------------------------------------------------------------- */

/* Numbers of worlds by outcome. */
typedef struct Counts { long supported, contradicted, differ; } Counts;

static Counts simulate(const Case *of, const Condition *c, uint32_t worlds) {
  World w = world_create(of, c);
  w.table.selection = &w.selection;
  const AnalysisClaim claim = claim_of(of);
  const AnalysisClaimsOptions options = {.looks = 1};

  long supported = 0, contradicted = 0, differ = 0;
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : supported, contradicted, differ)
  for (uint32_t number = 0; number < worlds; number++) {
    AnalysisTable table = w.table;
    AnalysisRunMetrics *measured = core_memory_allocate((w.count + 1) * sizeof *measured);
    AnalysisClaimResult found = {0};
    fill(of, c, &w, number, measured);
    table.metrics = measured;
    if (analysis_claim_test(NULL, &options, &claim, &table, &found) != CORE_OK) abort();
    supported += found.verdict == ANALYSIS_SUPPORTED;
    contradicted += found.verdict == ANALYSIS_CONTRADICTED;
    differ += found.failures_differ;
    free(found.tasks);
    free(measured);
  }

  world_free(&w);
  return (Counts){supported, contradicted, differ};
}

/* Whether a condition says something of the test at this truth: with equal means, a setting whose runs fail, or are
 * skewed, wins less often than in half of the pairs, which is what RISES tests; levers and switches have no first and
 * last cell that a condition could be about, except parents and runs from the start. */
static bool is_meant(const Case *of, const Condition *c) {
  const bool one_side = (c->fails && c->fails != EVERYWHERE) || (c->skewed && c->skewed != EVERYWHERE);
  if (of->test == ANALYSIS_TEST_RISES && one_side) return false;
  if (of->late != 0 && c->low) return false; /* a score of 0.05 is that of an untrained policy, which gained nothing */
  if (is_of_points(of)) return !one_side && !c->skewed && c->first_seeds == c->seeds && c->last_seeds == c->seeds;
  if (of->shape == SWITCH) return c->strata == 1 && !c->skewed;
  if (of->test == ANALYSIS_TEST_AT_LEAST_95) return !c->fails && !c->low; /* with a fifth at 0, no mean is 0.95 */
  return true;
}

static bool is_condition(const char *name) {
  for (int i = 0; i < CONDITIONS; i++)
    if (strcmp(conditions[i].name, name) == 0) return true;
  return false;
}

/* Whether `name` is among the arguments of its kind, conditions or tests, or none of that kind is there. */
static bool is_asked(const char *name, char **arguments, int count) {
  const bool wants_condition = is_condition(name);
  bool any = false, found = false;
  for (int a = 0; a < count; a++) {
    any = any || is_condition(arguments[a]) == wants_condition;
    found = found || strcmp(arguments[a], name) == 0;
  }
  return found || !any;
}

static void print_rates(const Case *of, uint32_t worlds, char **arguments, int count) {
  for (int i = 0; i < CONDITIONS; i++) {
    const Condition *c = &conditions[i];
    if (!is_meant(of, c) || !is_asked(c->name, arguments, count)) continue;
    const Counts found = simulate(of, c, worlds);
    printf("%s,%s,%s,%d,%d,%u,%ld,%ld,%ld\n", of->name, of->truth, c->name, c->seeds, c->strata, worlds,
           found.supported, found.contradicted, found.differ);
    fflush(stdout);
  }
}

int main(int argc, char **argv) {
  const uint32_t worlds = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
  if (worlds == 0) {
    fprintf(stderr, "usage: cli_verdict_rates WORLDS [TEST|CONDITION...]\n");
    return 2;
  }
  printf("test,truth,condition,seeds,tasks,worlds,supported,contradicted,failures_differ\n");
  for (int i = 0; i < CASES; i++)
    if (is_asked(cases[i].name, argv + 2, argc - 2)) print_rates(&cases[i], worlds, argv + 2, argc - 2);
  return 0;
}
