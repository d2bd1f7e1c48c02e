/* Counts the 95 % intervals of `analyze asymptote` and `analyze best` that miss the truth, for simulated runs.
 * Usage: cli_curve_rates WORLDS [STATISTIC...]; one line per statistic and condition:
 *   statistic,condition,seeds,worlds,given,below,above
 * given: worlds with an interval, where the statistic may be refused; below, above: intervals below the truth,
 * and above it. tests/long/test_curve_rates.sh checks the lines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/asymptote.h"
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

int main(int argc, char **argv) {
  const uint32_t worlds = argc > 1 ? (uint32_t)atoi(argv[1]) : 100;
  printf("statistic,condition,seeds,worlds,given,below,above\n");
  print_asymptotes(worlds);
  return 0;
}
