/* Counts the 95 % intervals of `analyze asymptote` and `analyze best` that miss the truth, for simulated runs.
 * Usage: cli_curve_rates WORLDS [asymptote|best]; `best` has ten times as many worlds. One line per statistic and
 * condition:
 *   statistic,condition,seeds,worlds,given,below,above
 * given: worlds with an interval, where the statistic may be refused; of `found`, worlds whose interval excludes 0.
 * below, above: intervals below the truth, and above it. tests/long/test_curve_rates.sh checks the lines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/asymptote.h"
#include "analysis/statistics/winner.h"
#include "core/memory.h"
#include "core/random.h"

enum { SEEDS_MAX = 10, POINTS = 30, REPLICATES = 200 };
static const AnalysisResampling resampling = {REPLICATES, 0.95, 9};

static double normal(uint32_t world, uint32_t run, uint32_t what) {
  const CoreRandom4 words = core_random_4(45, CORE_RANDOM_TEST, world, run, what);
  double first, second;
  core_random_normal_pair(words.v[0], words.v[1], &first, &second);
  return first;
}

/* ---- asymptotes -------------------------------------------------------------------------------------------------- */

/* Simulated learning: a run's score at x, a share of the budget. */
typedef enum Learning { EXPONENTIAL, SIGMOID, POWER, TANH, GOMPERTZ, TWO_PHASES, LINE, LOGARITHM, WALK } Learning;

typedef struct Condition {
  const char *name;
  Learning learning;
  double half;             /* share of the budget at which half of the rise is done */
  double noise;            /* standard deviation of an evaluation */
} Condition;

static const Condition conditions[] = {
  {"exponential, 99 % done", EXPONENTIAL, 0.15, 0.01}, {"exponential, 94 % done", EXPONENTIAL, 0.25, 0.01},
  {"exponential, 75 % done", EXPONENTIAL, 0.5, 0.01},  {"exponential, 50 % done", EXPONENTIAL, 1, 0.01},
  {"exponential, noisy", EXPONENTIAL, 0.2, 0.05},      {"sigmoid", SIGMOID, 0.4, 0.01},
  {"power law", POWER, 0.1, 0.01},                     {"tanh", TANH, 0.3, 0.01},
  {"Gompertz", GOMPERTZ, 0.3, 0.01},                   {"two phases", TWO_PHASES, 0.05, 0.01},
  {"line", LINE, 0, 0.01},                             {"line, noisy", LINE, 0, 0.05},
  {"logarithm", LOGARITHM, 0.1, 0.01},                 {"random walk", WALK, 0, 0},
};
enum { CONDITIONS = sizeof conditions / sizeof *conditions };

static bool is_bounded(Learning learning) { return learning < LINE; }

static double share_done(Learning learning, double x, double half) {
  const double u = x / half;
  switch (learning) {
    case EXPONENTIAL: return 1 - exp2(-u);
    case SIGMOID: return u * u * u / (1 + u * u * u);
    case POWER: return 1 - 1 / (1 + u);
    case TANH: return tanh(0.5493 * u);
    case GOMPERTZ: return (exp(-3 * exp(-1.466 * u)) - exp(-3)) / (1 - exp(-3));
    case TWO_PHASES: return 0.7 * (1 - exp2(-u)) + 0.3 * (1 - exp2(-u / 5));
    case LINE: return x;
    case LOGARITHM: return 0.3 * log1p(u);
    case WALK: break;
  }
  return NAN;
}

/* Draws the curve of one seed, which differs in asymptote (0.6, standard deviation 0.04) and in speed. */
static void draw_curve(const Condition *c, const double *x, uint32_t world, uint32_t seed, double *y) {
  const double asymptote = 0.6 + 0.04 * normal(world, seed, 1), half = c->half * exp(0.2 * normal(world, seed, 2));
  double walk = 0;
  for (uint32_t i = 0; i < POINTS; i++) {
    const double noise = normal(world, seed, 10 + i);
    walk += 0.1 * noise;
    const double learnt = 0.05 + (asymptote - 0.05) * share_done(c->learning, x[i], half);
    y[i] = c->learning == WALK ? walk : learnt + c->noise * noise;
  }
}

static void print_asymptote(const Condition *c, size_t seeds, uint32_t worlds) {
  const double range[2] = {-INFINITY, INFINITY}, truth = c->learning == WALK ? 0 : 0.6;
  size_t first[2] = {0, seeds}, given = 0, below = 0, above = 0;
  double x[POINTS], y[SEEDS_MAX * POINTS], replicate[REPLICATES];
  for (size_t i = 0; i < POINTS; i++) x[i] = (double)i / (POINTS - 1);

  for (uint32_t world = 0; world < worlds; world++) {
    AnalysisAsymptote result;
    for (uint32_t seed = 0; seed < seeds; seed++) draw_curve(c, x, world, seed, y + seed * POINTS);
    const AnalysisRunCurves curves = {POINTS, 1, x, y, first};
    analysis_asymptote_fit(&curves, range, &resampling, &result, replicate);
    if (!result.is_identified) continue;
    given++;
    below += result.asymptote.high < truth;
    above += result.asymptote.low > truth;
  }

  if (!is_bounded(c->learning) && c->learning != WALK) below = given; /* infinite asymptotes are above any interval */
  printf("asymptote,\"%s\",%zu,%u,%zu,%zu,%zu\n", c->name, seeds, worlds, given, below, above);
}

static void print_asymptotes(uint32_t worlds) {
  static const size_t seeds[] = {3, 5, 10};
  for (size_t c = 0; c < CONDITIONS; c++)
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) print_asymptote(&conditions[c], seeds[i], worlds);
}

/* ---- the best of several candidates ------------------------------------------------------------------------------ */

enum { CANDIDATES = 6, BUDGETS = 3 };

/* Candidates at the values 0 to 5; their mean scores fall with the square of the distance from an optimum. */
typedef struct Contest {
  const char *name;
  double optimum[BUDGETS];   /* at each budget */
  double curvature;          /* fall of the score at distance 1 */
} Contest;

static const Contest contests[] = {
  {"same optimum, clear", {2, 2, 2}, 0.05},   {"same optimum, close", {2, 2, 2}, 0.01},
  {"same optimum, equal scores", {2, 2, 2}, 0}, {"shift, clear", {1, 2.2, 4}, 0.05},
  {"shift, close", {1, 2.2, 4}, 0.02},
};

static double true_score(const Contest *c, size_t candidate, size_t budget) {
  const double distance = (double)candidate - c->optimum[budget];
  return 0.3 + 0.1 * (double)budget - c->curvature * distance * distance;
}

/* Draws the scores of all runs; those of one run correlate over budgets. */
static void draw_contest(const Contest *c, size_t seeds, uint32_t world, double *score, double *value) {
  for (size_t i = 0; i < CANDIDATES * seeds; i++)
    for (size_t b = 0; b < BUDGETS; b++) {
      const double own = normal(world, (uint32_t)i, 60 + (uint32_t)b), shared = normal(world, (uint32_t)i, 70);
      score[i * BUDGETS + b] = true_score(c, i / seeds, b) + 0.04 * (0.8 * shared + 0.6 * own);
      value[i * BUDGETS + b] = (double)(i / seeds);
    }
}

typedef struct Count { size_t below, above; } Count;

static void count_miss(Count *count, AnalysisInterval interval, double truth) {
  count->below += interval.high < truth;
  count->above += interval.low > truth;
}

static void print_contest(const Contest *c, size_t seeds, uint32_t worlds) {
  double score[CANDIDATES * SEEDS_MAX * BUDGETS], value[CANDIDATES * SEEDS_MAX * BUDGETS];
  size_t first[CANDIDATES + 1], of[CANDIDATES], found = 0;
  Count values = {0}, scores = {0}, shifts = {0};
  for (size_t i = 0; i <= CANDIDATES; i++) first[i] = i * seeds;
  for (size_t i = 0; i < CANDIDATES; i++) of[i] = i;

  const AnalysisCandidates candidates = {CANDIDATES, BUDGETS, CANDIDATES, first, of, score, value};
  for (uint32_t world = 0; world < worlds; world++) {
    AnalysisWinner winner[BUDGETS];
    AnalysisInterval shift;
    draw_contest(c, seeds, world, score, value);
    analysis_winners(&candidates, &resampling, winner, &shift);
    count_miss(&values, winner[0].value, c->optimum[0]);
    count_miss(&scores, winner[0].score, true_score(c, (size_t)c->optimum[0], 0));
    count_miss(&shifts, shift, c->optimum[BUDGETS - 1] - c->optimum[0]);
    found += shift.low > 0 || shift.high < 0;
  }

  printf("value,\"%s\",%zu,%u,%u,%zu,%zu\n", c->name, seeds, worlds, worlds, values.below, values.above);
  printf("score,\"%s\",%zu,%u,%u,%zu,%zu\n", c->name, seeds, worlds, worlds, scores.below, scores.above);
  printf("shift,\"%s\",%zu,%u,%u,%zu,%zu\n", c->name, seeds, worlds, worlds, shifts.below, shifts.above);
  printf("found,\"%s\",%zu,%u,%zu,0,0\n", c->name, seeds, worlds, found);
}

static void print_contests(uint32_t worlds) {
  static const size_t seeds[] = {3, 5, 10};
  for (size_t c = 0; c < sizeof contests / sizeof *contests; c++)
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) print_contest(&contests[c], seeds[i], worlds);
}

int main(int argc, char **argv) {
  const uint32_t worlds = argc > 1 ? (uint32_t)atoi(argv[1]) : 100;
  printf("statistic,condition,seeds,worlds,given,below,above\n");
  if (argc < 3 || strcmp(argv[2], "asymptote") == 0) print_asymptotes(worlds);
  if (argc < 3 || strcmp(argv[2], "best") == 0) print_contests(10 * worlds);
  return 0;
}
