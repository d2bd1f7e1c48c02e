/* Counts the 95 % intervals of `analyze` that miss the truth, on each side, for simulated seeds.
 * Usage: cli_interval_rates WORLDS [INTERVAL...]; one line per interval and condition:
 *   interval,condition,seeds,tasks,worlds,below,above
 * below, above: intervals below the truth, and above it. An interval with 95 % coverage misses it in 5 %.
 * WORLDS applies to bootstraps; others have ten times as many. tests/long/test_statistics.sh checks the lines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/contrast.h"
#include "analysis/statistics/interval.h"
#include "analysis/statistics/stratified.h"
#include "core/memory.h"
#include "core/random.h"

enum { TASKS_MAX = 8, SEEDS_MAX = 10, MANY = 20000, REPLICATES = 1000 };

/* ---- scores ------------------------------------------------------------------------------------------------------ */

typedef enum Shape { NORMAL, SKEWED, FAILING, LOGNORMAL } Shape;

/* The runs of one side. */
typedef struct Condition {
  const char *name;
  Shape shape;
  int seeds, first_seeds;   /* runs of a task; of the first one, and in comparisons of the first side */
  int tasks;
  double first_sd;          /* spread of the first task, or side, in units of the others' */
  double correlation;       /* between runs of one seed, on all tasks and sides */
} Condition;

static const Condition conditions[] = {
  {"normal", NORMAL, 3, 3, 1, 1, 0},         {"normal", NORMAL, 5, 5, 1, 1, 0},
  {"normal", NORMAL, 10, 10, 1, 1, 0},       {"near 1", SKEWED, 3, 3, 1, 1, 0},
  {"near 1", SKEWED, 5, 5, 1, 1, 0},         {"near 1", SKEWED, 10, 10, 1, 1, 0},
  {"tasks", NORMAL, 3, 3, 2, 1, 0},          {"tasks", NORMAL, 3, 3, 4, 1, 0},
  {"tasks", NORMAL, 3, 3, 8, 1, 0},          {"tasks of one run", NORMAL, 1, 3, 4, 1, 0},
  {"tasks of one run", NORMAL, 1, 3, 8, 1, 0}, {"spreads", NORMAL, 3, 3, 1, 4, 0},
  {"spreads", NORMAL, 5, 5, 1, 4, 0},        {"spreads", NORMAL, 10, 10, 1, 4, 0},
  {"spreads", NORMAL, 5, 5, 4, 4, 0},        {"few spread", NORMAL, 10, 3, 1, 4, 0},
  {"few spread", NORMAL, 10, 3, 4, 4, 0},    {"few calm", NORMAL, 10, 3, 1, 0.25, 0},
  {"few calm", NORMAL, 10, 3, 4, 0.25, 0},   {"seeds correlate", NORMAL, 5, 5, 4, 1, 0.3},
  {"some fail", FAILING, 3, 3, 1, 1, 0},     {"some fail", FAILING, 5, 5, 1, 1, 0},
  {"some fail", FAILING, 10, 10, 1, 1, 0},
};
enum { CONDITIONS = sizeof conditions / sizeof *conditions };

static double normal(uint32_t world, uint32_t run, uint32_t what) {
  const CoreRandom4 words = core_random_4(44, CORE_RANDOM_TEST, world, run, what);
  double first, second;
  core_random_normal_pair(words.v[0], words.v[1], &first, &second);
  return first;
}

/* Returns the score of standard normal z. Of FAILING ones a tenth ends at 0.2, the others at 0.9 and above. */
static double score_of(Shape shape, double z, double sd) {
  switch (shape) {
    case NORMAL: return 0.6 + 0.04 * sd * z;
    case SKEWED: return fmax(0, 1 - 0.05 * exp(0.6 * sd * z));
    case FAILING: return z < -1.2815515655446004 ? 0.2 : 0.95 + 0.02 * z;
    case LOGNORMAL: return exp(sd * z);
  }
  return NAN;
}

typedef struct Side { double score[TASKS_MAX * SEEDS_MAX]; size_t first[TASKS_MAX + 1]; AnalysisScores scores; } Side;

static void draw_side(const Condition *c, Shape shape, int seeds, int first_seeds, double first_sd, uint32_t world,
                      uint32_t which, Side *side) {
  size_t count = 0;
  for (int t = 0; t < c->tasks; t++) {
    side->first[t] = count;
    for (int seed = 0; seed < (t == 0 ? first_seeds : seeds); seed++, count++) {
      const double own = sqrt(1 - c->correlation) * normal(world, (uint32_t)count, which);
      const double z = own + sqrt(c->correlation) * normal(world, 1000 + (uint32_t)seed, 9);
      side->score[count] = score_of(shape, z, t == 0 ? first_sd : 1);
    }
  }
  side->first[c->tasks] = count;
  side->scores = (AnalysisScores){side->score, side->first, (size_t)c->tasks};
}

/* ---- truths ------------------------------------------------------------------------------------------------------ */

static double quantile[MANY]; /* quantiles of the normal distribution at the middles of MANY equal parts */

static void make_quantiles(void) {
  for (int i = 0; i < MANY; i++) {
    const double p = (i + 0.5) / MANY;
    double low = -6, high = 6;
    for (int step = 0; step < 50; step++) {
      const double middle = (low + high) / 2;
      if (erfc(-middle / sqrt(2)) / 2 < p) low = middle;
      else high = middle;
    }
    quantile[i] = low;
  }
}

/* Returns the aggregate of very many runs of each task; quantiles stand for random numbers. */
static double truth_of(const Condition *c, Shape shape, double first_sd, bool sides, AnalysisAggregate aggregate) {
  double *score = core_memory_allocate((size_t)(TASKS_MAX * MANY) * sizeof *score);
  size_t first[TASKS_MAX + 1], count = 0;
  for (int t = 0; t < c->tasks; t++) {
    const int seeds = t == 0 && !sides ? c->first_seeds : c->seeds; /* tasks count by their runs in some aggregates */
    first[t] = count;
    for (int i = 0; i < MANY; i += SEEDS_MAX / seeds)
      score[count++] = score_of(shape, quantile[i], t == 0 ? first_sd : 1);
  }
  first[c->tasks] = count;
  const AnalysisScores scores = {score, first, (size_t)c->tasks};
  const double truth = analysis_aggregate(&scores, aggregate);
  free(score);
  return truth;
}

/* ---- intervals --------------------------------------------------------------------------------------------------- */

typedef enum Kind { OF_ONE, OF_TWO, OF_WINS, OF_BOOTSTRAP, OF_CONTRAST } Kind;

typedef struct Interval {
  const char *name;
  Kind kind;
  AnalysisAggregate aggregate;
  AnalysisRange range;
  int shape;              /* instead of the condition's; -1: the condition's */
} Interval;

static const Interval intervals[] = {
  {"mean", OF_ONE, ANALYSIS_AGGREGATE_MEAN, {0, 1, false}, -1},
  {"mean without bounds", OF_ONE, ANALYSIS_AGGREGATE_MEAN, {-INFINITY, INFINITY, false}, -1},
  {"geometric mean", OF_ONE, ANALYSIS_AGGREGATE_MEAN, {0, INFINITY, true}, LOGNORMAL},
  {"median of tasks", OF_ONE, ANALYSIS_AGGREGATE_MEDIAN, {0, 1, false}, -1},
  {"IQM", OF_ONE, ANALYSIS_AGGREGATE_IQM, {0, 1, false}, -1},
  {"optimality gap", OF_ONE, ANALYSIS_AGGREGATE_OPTIMALITY_GAP, {0, 1, false}, -1},
  {"difference of means", OF_TWO, ANALYSIS_AGGREGATE_MEAN, {0, 1, false}, -1},
  {"difference of IQM", OF_TWO, ANALYSIS_AGGREGATE_IQM, {0, 1, false}, -1},
  {"ratio", OF_TWO, ANALYSIS_AGGREGATE_MEAN, {0, INFINITY, true}, LOGNORMAL},
  {"P(A > B)", OF_WINS, ANALYSIS_AGGREGATE_MEAN, {0, 1, false}, NORMAL},
  {"contrast of a claim", OF_CONTRAST, ANALYSIS_AGGREGATE_MEAN, {0, 1, false}, -1},
  {"bootstrap of the mean", OF_BOOTSTRAP, ANALYSIS_AGGREGATE_MEAN, {0, 1, false}, -1},
};
enum { INTERVALS = sizeof intervals / sizeof *intervals };

/* By how much the first side of a comparison is better. */
static const double BETTER = 0.08;

static AnalysisInterval contrast(const Condition *c, const Side *x, const Side *y) {
  double score[2 * TASKS_MAX * SEEDS_MAX], key[2 * TASKS_MAX];
  size_t first[2 * TASKS_MAX + 1], stratum[TASKS_MAX + 1], count = 0, used = 0;
  for (size_t t = 0; t < (size_t)c->tasks; t++) {
    stratum[t] = used;
    for (int side = 0; side < 2; side++) {
      const Side *of = side ? x : y;
      key[used] = side;
      first[used++] = count;
      for (size_t i = of->first[t]; i < of->first[t + 1]; i++) score[count++] = of->score[i];
    }
  }
  first[used] = count;
  stratum[c->tasks] = used;
  const AnalysisCells cells = {.score = score, .key = key, .first = first, .stratum = stratum, .count = count,
                               .cells = used, .strata = (size_t)c->tasks};
  return analysis_test_not_worse(&cells, 0).interval;
}

static AnalysisInterval interval_of(const Interval *of, const Condition *c, uint32_t world) {
  Side x, y;
  AnalysisInterval interval;
  const Shape shape = of->shape < 0 ? c->shape : (Shape)of->shape;
  const bool sides = of->kind == OF_TWO || of->kind == OF_WINS || of->kind == OF_CONTRAST;
  const bool one_task = sides && c->tasks == 1;
  draw_side(c, shape, c->seeds, one_task || !sides ? c->first_seeds : c->seeds, c->first_sd, world, 0, &x);
  if (!sides && of->kind == OF_BOOTSTRAP) {
    analysis_stratified_aggregates(NULL, &x.scores, &of->aggregate, 1, REPLICATES, 0.95, world, &interval);
    return interval;
  }
  if (!sides) return analysis_interval(&x.scores, of->aggregate, of->range, 0.95);
  draw_side(c, shape, c->seeds, c->seeds, 1, world, 1, &y);
  for (size_t i = 0; i < x.first[c->tasks] && shape == NORMAL; i++) x.score[i] += BETTER;
  if (of->kind == OF_WINS) return analysis_improvement_interval(&x.scores, &y.scores, 0.95);
  if (of->kind == OF_CONTRAST) return contrast(c, &x, &y);
  return analysis_difference_interval(&x.scores, &y.scores, of->aggregate, of->range, 0.95);
}

static double truth(const Interval *of, const Condition *c) {
  const Shape shape = of->shape < 0 ? c->shape : (Shape)of->shape;
  if (of->kind == OF_WINS) {
    double sum = 0;
    for (int t = 0; t < c->tasks; t++) {
      const double sd = t == 0 ? c->first_sd : 1;
      sum += 0.5 * erfc(-BETTER / (0.04 * sqrt(sd * sd + 1)) / sqrt(2));
    }
    return sum / c->tasks;
  }
  if (shape == LOGNORMAL) return 1;
  if (of->kind == OF_ONE || of->kind == OF_BOOTSTRAP) return truth_of(c, shape, c->first_sd, false, of->aggregate);
  return truth_of(c, shape, c->first_sd, true, of->aggregate) - truth_of(c, shape, 1, true, of->aggregate) +
         (shape == NORMAL ? BETTER : 0);
}

static void simulate(const Interval *of, const Condition *c, uint32_t worlds) {
  long below = 0, above = 0, made = 0;
  if (of->kind == OF_CONTRAST && c->seeds < ANALYSIS_SEEDS_MIN) return;
  if (of->shape >= 0 && c->shape != NORMAL) return;
  const double expected = truth(of, c);
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : below, above, made)
  for (uint32_t world = 0; world < worlds; world++) {
    const AnalysisInterval interval = interval_of(of, c, world);
    made += !isnan(interval.low);
    below += interval.high < expected - 1e-12;
    above += interval.low > expected + 1e-12;
  }
  if (made > 0) printf("%s,%s,%d,%d,%ld,%ld,%ld\n", of->name, c->name, c->seeds, c->tasks, made, below, above);
}

/* ---- rank correlations ------------------------------------------------------------------------------------------- */

/* Configurations of DDR and score correlate by r within each task. */
static void simulate_rho(int configurations, int tasks, double r, uint32_t worlds) {
  long below = 0, above = 0;
  const double expected = 6 / acos(-1) * asin(r / 2);
  for (uint32_t world = 0; world < worlds; world++) {
    double x[128], y[128];
    size_t cluster[128], stratum[128], n = 0;
    for (int t = 0; t < tasks; t++) {
      for (int i = 0; i < configurations; i++, n++) {
        x[n] = normal(world, (uint32_t)n, 2);
        y[n] = r * x[n] + sqrt(1 - r * r) * normal(world, (uint32_t)n, 3);
        cluster[n] = n;
        stratum[n] = (size_t)t;
      }
    }
    const AnalysisInterval interval = analysis_spearman_interval(x, y, cluster, n, n, stratum, REPLICATES, 0.95, world);
    below += interval.high < expected;
    above += interval.low > expected;
  }
  printf("rank correlation,r = %g,%d,%d,%u,%ld,%ld\n", r, configurations, tasks, worlds, below, above);
}

int main(int argc, char **argv) {
  const uint32_t worlds = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
  if (worlds == 0) {
    fprintf(stderr, "usage: cli_interval_rates WORLDS [INTERVAL...]\n");
    return 2;
  }
  make_quantiles();
  printf("interval,condition,seeds,tasks,worlds,below,above\n");
  for (int i = 0; i < INTERVALS; i++) {
    bool asked = argc == 2;
    for (int a = 2; a < argc; a++) asked = asked || strcmp(argv[a], intervals[i].name) == 0;
    for (int c = 0; c < CONDITIONS && asked; c++)
      simulate(&intervals[i], &conditions[c], intervals[i].kind == OF_BOOTSTRAP ? worlds : 10 * worlds);
  }
  for (int r = 0; r < 2 && argc == 2; r++) {
    simulate_rho(8, 1, 0.7 * r, worlds);
    simulate_rho(16, 1, 0.7 * r, worlds);
    simulate_rho(48, 1, 0.7 * r, worlds);
    simulate_rho(8, 4, 0.7 * r, worlds);
  }
  return 0;
}
