/* Counts the wrong verdicts of the statistics of `analyze claims`: claims at the limit of being false, and of being
 * true, for simulated seeds.
 * Usage: cli_verdict_rates WORLDS [TEST...]; one line per test, truth and condition:
 *   test,truth,condition,seeds,strata,worlds,supported,contradicted
 * Both counts are errors: at these truths a test of level 2.5 % is wrong in at most that fraction of worlds per side.
 * WORLDS applies to permutations; others have ten times as many. tests/long/test_statistics.sh checks the lines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/claims.h"
#include "analysis/claims/permute.h"
#include "analysis/claims/switches.h"
#include "core/memory.h"
#include "core/random.h"

static const double SD = 0.04, MARGIN = 0.05, LEVEL = 0.025, FAR = 0.4, AT_95 = 0.15;
enum { SEEDS_MAX = 10 };

/* ---- conditions -------------------------------------------------------------------------------------------------- */

/* Cells whose seeds may fail. AT_CEILING: the others have one score, and what a truth has lower by the margin is
 * lower because a tenth of its seeds ends 0.5 below. */
typedef enum Failures { NONE, OF_ALL, OF_FIRST, OF_LAST, AT_CEILING } Failures;

/* Numbers and spreads of the seeds of a stratum's cells. Spreads are in units of SD. */
typedef struct Condition {
  const char *name;
  int seeds, first_seeds, last_seeds; /* seeds of a cell; of the first one and of the last one */
  double first_sd, last_sd;
  Failures failures;                  /* a tenth of the seeds ends 0.6 below the others, which are nearly alike */
  double correlation;                 /* between runs of one seed */
  int strata;
} Condition;

static const Condition conditions[] = {
  {"alike", 3, 3, 3, 1, 1, NONE, 0, 1},
  {"alike", 5, 5, 5, 1, 1, NONE, 0, 1},
  {"alike", 10, 10, 10, 1, 1, NONE, 0, 1},
  {"first spreads", 3, 3, 3, 3, 1, NONE, 0, 1},
  {"first spreads", 5, 5, 5, 3, 1, NONE, 0, 1},
  {"first spreads", 10, 10, 10, 3, 1, NONE, 0, 1},
  {"last spreads", 3, 3, 3, 1, 3, NONE, 0, 1},
  {"last spreads", 5, 5, 5, 1, 3, NONE, 0, 1},
  {"last spreads", 10, 10, 10, 1, 3, NONE, 0, 1},
  {"few first spread", 10, 3, 10, 3, 1, NONE, 0, 1},
  {"few last spread", 10, 10, 3, 1, 3, NONE, 0, 1},
  {"many first spread", 3, 10, 3, 3, 1, NONE, 0, 1},
  {"many last spread", 3, 3, 10, 1, 3, NONE, 0, 1},
  {"few first calm", 10, 3, 10, 1.0 / 3, 1, NONE, 0, 1},
  {"few last calm", 10, 10, 3, 1, 1.0 / 3, NONE, 0, 1},
  {"seeds correlate", 3, 3, 3, 1, 1, NONE, 0.5, 1},
  {"seeds correlate", 5, 5, 5, 1, 1, NONE, 0.5, 1},
  {"seeds correlate", 10, 10, 10, 1, 1, NONE, 0.5, 1},
  {"strata", 3, 3, 3, 1, 1, NONE, 0, 2},
  {"strata", 3, 3, 3, 1, 1, NONE, 0, 4},
  {"strata", 3, 3, 3, 1, 1, NONE, 0, 8},
  {"first spreads", 5, 5, 5, 3, 1, NONE, 0, 4},
  {"last spreads", 5, 5, 5, 1, 3, NONE, 0, 4},
  {"failures", 3, 3, 3, 1, 1, OF_ALL, 0, 1},
  {"failures", 5, 5, 5, 1, 1, OF_ALL, 0, 1},
  {"failures", 10, 10, 10, 1, 1, OF_ALL, 0, 1},
  {"first fails", 3, 3, 3, 1, 1, OF_FIRST, 0, 1},
  {"first fails", 5, 5, 5, 1, 1, OF_FIRST, 0, 1},
  {"first fails", 10, 10, 10, 1, 1, OF_FIRST, 0, 1},
  {"last fails", 3, 3, 3, 1, 1, OF_LAST, 0, 1},
  {"last fails", 5, 5, 5, 1, 1, OF_LAST, 0, 1},
  {"last fails", 10, 10, 10, 1, 1, OF_LAST, 0, 1},
  {"ceiling", 3, 3, 3, 1, 1, AT_CEILING, 0, 1},
  {"ceiling", 5, 5, 5, 1, 1, AT_CEILING, 0, 1},
  {"ceiling", 10, 10, 10, 1, 1, AT_CEILING, 0, 1},
};
enum { CONDITIONS = sizeof conditions / sizeof *conditions };

/* Returns the numbers of a run: a normal one, and whether it fails. */
static double normal(uint32_t world, uint32_t run, uint32_t what) {
  const CoreRandom4 words = core_random_4(43, CORE_RANDOM_TEST, world, run, what);
  double first, second;
  core_random_normal_pair(words.v[0], words.v[1], &first, &second);
  return first;
}

static bool fails(uint32_t world, uint32_t run) {
  return core_random_unit(core_random_4(43, CORE_RANDOM_TEST, world, run, 7).v[0]) < 0.1f;
}

/* Returns a run's deviation from its cell's mean, whose expectation is 0. end: -1 of the first cell, 1 of the last. */
static double deviation(const Condition *c, uint32_t world, uint32_t run, uint32_t seed, int end) {
  const double sd = SD * (end < 0 ? c->first_sd : end > 0 ? c->last_sd : 1);
  const double own = sqrt(1 - c->correlation) * normal(world, run, 0);
  const double z = own + sqrt(c->correlation) * normal(world, 100000 + seed, 0);
  const bool may_fail = c->failures == OF_ALL || (c->failures == OF_FIRST && end < 0) ||
                        (c->failures == OF_LAST && end > 0);
  if (c->failures == NONE) return sd * z;
  if (c->failures == AT_CEILING) return 0;
  if (!may_fail) return 0.25 * sd * z;
  return 0.25 * sd * z + (fails(world, run) ? -0.54 : 0.06);
}

/* ---- worlds ------------------------------------------------------------------------------------------------------ */

typedef struct World {
  AnalysisCells cells;
  size_t *unit;           /* [count] seed of each run */
  uint32_t number;
  const Condition *condition;
} World;

/* The mean of a cell: its place among `keys` keys and `seconds` second keys. */
typedef double (*MeanOf)(int key, int keys, int second, int seconds);

/* A test at a truth at which neither of its verdicts is right more often than its level says. */
typedef struct Case {
  const char *test, *truth;
  int keys, seconds;
  MeanOf mean;
  double late_gain;       /* mean of x of the ends, where the test looks at it */
  AnalysisTestResult (*ask)(const World *world);
  bool permutes;
} Case;

static int seeds_of(const Condition *c, int cell, int cells) {
  return cell == 0 ? c->first_seeds : cell == cells - 1 ? c->last_seeds : c->seeds;
}

/* Returns a score that is 0.8 + mean on the average. */
static double at_ceiling(double mean, bool failed) {
  const bool lower = mean == -MARGIN || mean == AT_95;
  return 0.8 + mean + (lower ? MARGIN : 0) - (lower && failed ? 10 * MARGIN : 0);
}

static World world_create(const Case *of, const Condition *condition, uint32_t number) {
  const int each = of->keys * of->seconds, all = each * condition->strata;
  const size_t room = (size_t)all * SEEDS_MAX + 1;
  World world = {.number = number, .condition = condition};
  AnalysisCells *cells = &world.cells;
  *cells = (AnalysisCells){.score = core_memory_allocate(4 * room * sizeof(double)),
                           .first = core_memory_zero_allocate(3 * room, sizeof(size_t))};
  cells->x = cells->score + room;
  cells->key = cells->x + room;
  cells->second = core_memory_allocate(room * sizeof(double));
  cells->stratum = cells->first + room;
  world.unit = cells->stratum + room;
  for (int s = 0; s < condition->strata; s++) {
    cells->stratum[cells->strata++] = cells->cells;
    for (int i = 0; i < each; i++) {
      const int second = i / of->keys, key = i % of->keys, end = i == 0 ? -1 : i == each - 1 ? 1 : 0;
      const double mean = of->mean(key, of->keys, second, of->seconds);
      const double place = normal(number, (uint32_t)cells->cells, 3);
      cells->key[cells->cells] = key;
      cells->second[cells->cells] = second;
      cells->first[cells->cells++] = cells->count;
      for (int seed = 0; seed < seeds_of(condition, i, each); seed++) {
        const uint32_t run = (uint32_t)cells->count;
        world.unit[run] = (size_t)seed;
        cells->x[run] = of->late_gain == 0 ? place : of->late_gain + SD / 2 * normal(number, run, 1);
        cells->score[cells->count++] = condition->failures == AT_CEILING
                                         ? at_ceiling(mean, fails(number, run))
                                         : 0.8 + mean + deviation(condition, number, run, (uint32_t)seed, end);
      }
    }
  }
  cells->first[cells->cells] = cells->count;
  cells->stratum[cells->strata] = cells->cells;
  return world;
}

static void world_free(World *world) {
  free(world->cells.score);
  free(world->cells.second);
  free(world->cells.first);
}

/* ---- truths ------------------------------------------------------------------------------------------------------ */

static double alike(int key, int keys, int second, int seconds) { return 0; }
static double first_lower(int key, int keys, int second, int seconds) { return key == 0 ? -MARGIN : 0; }
static double last_lower(int key, int keys, int second, int seconds) { return key == keys - 1 ? -MARGIN : 0; }
static double ends_apart(int key, int keys, int second, int seconds) { return -MARGIN * key / (keys - 1); }
static double first_far(int key, int keys, int second, int seconds) { return key == 0 ? -FAR : 0; }
static double last_far(int key, int keys, int second, int seconds) { return key == keys - 1 ? -FAR : 0; }
static double at_95(int key, int keys, int second, int seconds) { return AT_95; }
static double at_0(int key, int keys, int second, int seconds) { return -0.8; }
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

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static AnalysisTestResult rises(const World *w) { return analysis_test_rises(&w->cells); }
static AnalysisTestResult equal(const World *w) { return analysis_test_equal(&w->cells, MARGIN); }
static AnalysisTestResult not_worse(const World *w) { return analysis_test_not_worse(&w->cells, MARGIN); }
static AnalysisTestResult low_end(const World *w) { return analysis_test_end(&w->cells, false); }
static AnalysisTestResult high_end(const World *w) { return analysis_test_end(&w->cells, true); }
static AnalysisTestResult low_plateau(const World *w) { return analysis_test_plateau(&w->cells, false, MARGIN); }
static AnalysisTestResult high_plateau(const World *w) { return analysis_test_plateau(&w->cells, true, MARGIN); }
static AnalysisTestResult robust(const World *w) { return analysis_test_robust(&w->cells, false); }
static AnalysisTestResult robust_high(const World *w) { return analysis_test_robust(&w->cells, true); }
static AnalysisTestResult same_best(const World *w) { return analysis_test_same_best(&w->cells, MARGIN); }
static AnalysisTestResult grows(const World *w) { return analysis_test_gain(&w->cells, 1); }
static AnalysisTestResult shrinks(const World *w) { return analysis_test_gain(&w->cells, -1); }
static AnalysisTestResult gain_equal(const World *w) { return analysis_test_gain_equal(&w->cells, MARGIN); }
static AnalysisTestResult best_at_low(const World *w) { return analysis_test_best_at(&w->cells, false); }
static AnalysisTestResult best_at_high(const World *w) { return analysis_test_best_at(&w->cells, true); }
static AnalysisTestResult best_equal(const World *w) { return analysis_test_best_equal(&w->cells, MARGIN); }
static AnalysisTestResult at_least(const World *w) { return analysis_test_mean(&w->cells, w->unit, 0.95, 1); }
static AnalysisTestResult positive(const World *w) { return analysis_test_mean(&w->cells, w->unit, 0, 1); }
static AnalysisTestResult negative(const World *w) { return analysis_test_mean(&w->cells, w->unit, 0, -1); }
/* ---- switches ---------------------------------------------------------------------------------------------------- */

/* Parents, two children of each, and runs that had the children's setting from the start. */
typedef struct Switched {
  AnalysisRun *runs;
  AnalysisTable table;
  AnalysisSelection selection;
  AnalysisCells cells;
} Switched;

static void put_run(Switched *s, const char *kind, int number, int parent, double score, double gain) {
  const size_t r = s->cells.count++;
  snprintf(s->runs[r].id, sizeof s->runs[r].id, "%s%d", kind, number);
  if (parent >= 0) snprintf(s->runs[r].parent, sizeof s->runs[r].parent, "p%d", parent);
  s->cells.run[r] = s->cells.same_as[r] = r;
  s->cells.score[r] = score;
  s->cells.x[r] = gain;
}

static void begin_cell(Switched *s, double key) {
  s->cells.key[s->cells.cells] = key;
  s->cells.first[s->cells.cells++] = s->cells.count;
}

/* sign: the children's key is higher (1) or lower (-1); change: of their mean against the parents'; excess: over the
 * runs from the start; gain: at once. The first cell is that of parents, the last of runs from the start. */
static Switched switched_create(const World *w, int sign, double change, double excess, double gain) {
  const Condition *c = w->condition;
  const size_t room = 4 * SEEDS_MAX;
  Switched s = {.runs = core_memory_zero_allocate(room, sizeof *s.runs)};
  s.cells = (AnalysisCells){.run = core_memory_allocate(2 * room * sizeof(size_t)), .strata = 1,
                            .score = core_memory_allocate(2 * room * sizeof(double))};
  s.cells.same_as = s.cells.run + room;
  s.cells.x = s.cells.score + room;
  s.cells.key = core_memory_allocate(4 * sizeof(double));
  s.cells.first = core_memory_zero_allocate(6, sizeof(size_t));
  s.cells.stratum = s.cells.first + 4;
  double child[SEEDS_MAX];
  begin_cell(&s, 0);
  for (int p = 0; p < c->first_seeds; p++) {
    const double parent = 0.5 + deviation(c, w->number, (uint32_t)p, (uint32_t)p, -1);
    child[p] = parent + change + SD * normal(w->number, 500 + (uint32_t)p, 0);
    put_run(&s, "p", p, -1, parent, NAN);
  }
  begin_cell(&s, sign);
  for (int p = 0; p < c->first_seeds; p++)
    for (int k = 0; k < 2; k++)
      put_run(&s, "c", 2 * p + k, p, child[p] + SD / 4 * normal(w->number, 600 + (uint32_t)(2 * p + k), 0),
              gain + SD * normal(w->number, 500 + (uint32_t)p, 1));
  begin_cell(&s, sign);
  for (int i = 0; i < c->last_seeds; i++)
    put_run(&s, "f", i, -1, 0.5 + change - excess + deviation(c, w->number, 700 + (uint32_t)i, (uint32_t)i, 1), NAN);
  s.cells.first[s.cells.cells] = s.cells.count;
  s.cells.stratum[1] = s.cells.cells;
  return s;
}

static AnalysisTestResult ask_switched(const World *w, AnalysisTest test, double change, double excess, double gain) {
  Switched s = switched_create(w, test == ANALYSIS_TEST_SWITCH_DOWN ? -1 : 1, change, excess, gain);
  AnalysisTestResult tested = ANALYSIS_NOT_TESTED;
  static const CoreConfig same; /* the runs differ in nothing else */
  size_t parents;
  for (size_t r = 0; r < s.cells.count; r++) s.runs[r].config.shared = &same;
  s.selection = (AnalysisSelection){.runs = s.runs, .count = s.cells.count};
  s.table.selection = &s.selection;
  if (test == ANALYSIS_TEST_SWITCH_UP) tested = analysis_test_switch_up(&s.table, &s.cells, &parents);
  if (test == ANALYSIS_TEST_SWITCH_DOWN) tested = analysis_test_switch_down(&s.table, &s.cells, MARGIN, &parents);
  if (test == ANALYSIS_TEST_SWITCH_SAME) tested = analysis_test_switch_same(&s.table, &s.cells, 1, MARGIN, &parents);
  free(s.runs);
  free(s.cells.run);
  free(s.cells.score);
  free(s.cells.key);
  free(s.cells.first);
  return tested;
}

static AnalysisTestResult switch_up(const World *w) { return ask_switched(w, ANALYSIS_TEST_SWITCH_UP, 0, 0, FAR); }
static AnalysisTestResult switch_up_later(const World *w) {
  return ask_switched(w, ANALYSIS_TEST_SWITCH_UP, FAR, 0, 0);
}
static AnalysisTestResult switch_down(const World *w) { return ask_switched(w, ANALYSIS_TEST_SWITCH_DOWN, 0, 0, 0); }
static AnalysisTestResult switch_down_short(const World *w) {
  return ask_switched(w, ANALYSIS_TEST_SWITCH_DOWN, -FAR, MARGIN, 0);
}
static AnalysisTestResult switch_same(const World *w) {
  return ask_switched(w, ANALYSIS_TEST_SWITCH_SAME, FAR, -MARGIN, 0);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static const Case cases[] = {
  {"RISES", "no setting differs", 3, 1, alike, 0, rises, true},
  {"EQUAL", "one apart by the margin", 3, 1, first_lower, 0, equal, false},
  {"EQUAL", "ends apart by the margin", 3, 1, ends_apart, 0, equal, false},
  {"NOT_WORSE", "last loses the margin", 2, 1, last_lower, 0, not_worse, false},
  {"LOW_END", "alike", 4, 1, alike, 0, low_end, false},
  {"LOW_END", "one rival", 4, 1, one_rival, 0, low_end, false},
  {"HIGH_END", "alike", 4, 1, alike, 0, high_end, false},
  {"HIGH_END", "one rival", 4, 1, one_rival, 0, high_end, false},
  {"LOW_PLATEAU", "no loss", 4, 1, one_rival, -0.5, low_plateau, false},
  {"LOW_PLATEAU", "no plateau", 4, 1, first_far, 0.05, low_plateau, false},
  {"HIGH_PLATEAU", "no loss", 4, 1, one_rival, -0.5, high_plateau, false},
  {"HIGH_PLATEAU", "no plateau", 4, 1, last_far, 0.05, high_plateau, false},
  {"ROBUST", "alike", 3, 2, alike, 0, robust, false},
  {"ROBUST", "one best", 3, 2, one_best, 0, robust, false},
  {"ROBUST_HIGH", "alike", 3, 2, alike, 0, robust_high, false},
  {"ROBUST_HIGH", "one best", 3, 2, one_best, 0, robust_high, false},
  {"SAME_BEST", "best loses the margin", 3, 2, best_moves, 0, same_best, false},
  {"SAME_BEST", "best by little", 3, 2, best_moves_barely, 0, same_best, false},
  {"GAIN_GROWS", "alike", 2, 2, alike, 0, grows, false},
  {"GAIN_SHRINKS", "alike", 2, 2, alike, 0, shrinks, false},
  {"GAIN_EQUAL", "one apart by the margin", 2, 3, gain_grows, 0, gain_equal, false},
  {"BEST_AT_LOW", "alike", 3, 2, alike, 0, best_at_low, false},
  {"BEST_AT_LOW", "one of each", 3, 2, one_of_each, 0, best_at_low, false},
  {"BEST_AT_HIGH", "alike", 3, 2, alike, 0, best_at_high, false},
  {"BEST_AT_HIGH", "one of each", 3, 2, one_of_each, 0, best_at_high, false},
  {"BEST_EQUAL", "first behind", 2, 3, first_lower, 0, best_equal, false},
  {"BEST_EQUAL", "one of each", 3, 3, first_behind, 0, best_equal, false},
  {"AT_LEAST_95", "0.95", 4, 1, at_95, 0, at_least, false},
  {"POSITIVE", "0", 4, 1, at_0, 0, positive, false},
  {"NEGATIVE", "0", 4, 1, at_0, 0, negative, false},
  {"SWITCH_UP", "no change", 1, 1, alike, 0, switch_up, false},
  {"SWITCH_UP", "not at once", 1, 1, alike, 0, switch_up_later, false},
  {"SWITCH_DOWN", "no change", 1, 1, alike, 0, switch_down, false},
  {"SWITCH_DOWN", "not down to it", 1, 1, alike, 0, switch_down_short, false},
  {"SWITCH_SAME", "the margin apart", 1, 1, alike, 0, switch_same, false},
};
enum { CASES = sizeof cases / sizeof *cases };

static void simulate(const Case *of, const Condition *condition, uint32_t worlds) {
  long supported = 0, contradicted = 0;
  const bool one_fails = condition->failures == OF_FIRST || condition->failures == OF_LAST;
  if (of->ask == rises && one_fails) return; /* with equal means, a cell whose runs fail wins less often */
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : supported, contradicted)
  for (uint32_t number = 0; number < worlds; number++) {
    World world = world_create(of, condition, number);
    const AnalysisTestResult tested = of->ask(&world);
    supported += tested.p_for <= LEVEL;
    contradicted += tested.p_for > LEVEL && tested.p_against <= LEVEL;
    world_free(&world);
  }
  printf("%s,%s,%s,%d,%d,%u,%ld,%ld\n", of->test, of->truth, condition->name, condition->seeds, condition->strata,
         worlds, supported, contradicted);
}

int main(int argc, char **argv) {
  const uint32_t worlds = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
  if (worlds == 0) {
    fprintf(stderr, "usage: cli_verdict_rates WORLDS [TEST...]\n");
    return 2;
  }
  printf("test,truth,condition,seeds,strata,worlds,supported,contradicted\n");
  for (int i = 0; i < CASES; i++) {
    bool asked = argc == 2;
    for (int a = 2; a < argc; a++) asked = asked || strcmp(argv[a], cases[i].test) == 0;
    for (int c = 0; c < CONDITIONS && asked; c++)
      simulate(&cases[i], &conditions[c], cases[i].permutes ? worlds : 10 * worlds);
  }
  return 0;
}
