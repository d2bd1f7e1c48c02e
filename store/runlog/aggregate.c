/* Aggregation rule of each column (aggregate.h). Metrics measured at intervals are averaged over the iterations that
 * have them. */
#include "store/runlog/aggregate.h"

#include <math.h>
#include <string.h>

#include "core/error.h"
#include "store/runlog/runlog_internal.h"

typedef enum Rule {
  MEAN,
  LAST,       /* totals over the run, and states */
  SUM,
  MAXIMUM,
  HARMONIC,   /* rates: transitions over a sum */
  BY_EPISODE, /* means over finished episodes, weighted by their number */
} Rule;

#define COLUMN(name) ((offsetof(StoreIteration, name) - offsetof(StoreIteration, transitions)) / sizeof(double))

static const unsigned char rules[STORE_AGGREGATE_COLUMNS] = {
  [COLUMN(transitions)] = LAST,
  [COLUMN(wall_seconds)] = LAST,
  [COLUMN(weight_norm_actor)] = LAST,
  [COLUMN(weight_norm_critic)] = LAST,
  [COLUMN(distance)] = LAST,
  [COLUMN(coverage_50)] = LAST,
  [COLUMN(coverage_100)] = LAST,
  [COLUMN(coverage_entropy_50)] = LAST,
  [COLUMN(coverage_entropy_100)] = LAST,
  [COLUMN(coverage_states)] = LAST,
  [COLUMN(episodes)] = SUM,
  [COLUMN(seconds_rollout)] = SUM,
  [COLUMN(seconds_update)] = SUM,
  [COLUMN(seconds_other)] = SUM,
  [COLUMN(seconds_environment)] = SUM,
  [COLUMN(seconds_metrics)] = SUM,
  [COLUMN(seconds_levels)] = SUM,
  [COLUMN(merged_iterations)] = SUM,
  [COLUMN(updates)] = SUM,
  [COLUMN(grad_norm_actor_max)] = MAXIMUM,
  [COLUMN(grad_norm_critic_max)] = MAXIMUM,
  [COLUMN(ddr)] = HARMONIC,
  [COLUMN(steps_per_second)] = HARMONIC,
  [COLUMN(solve_rate)] = BY_EPISODE,
  [COLUMN(episode_return)] = BY_EPISODE,
  [COLUMN(episode_length)] = BY_EPISODE,
  [COLUMN(goals)] = BY_EPISODE,
};
_Static_assert((int)STORE_ITERATION_COUNT <= (int)STORE_AGGREGATE_COLUMNS, "all columns fit into a checkpoint");

int64_t store_aggregate_every(int64_t iterations, int64_t rows) {
  int64_t every = 1;
  while (rows > 0 && every < STORE_AGGREGATE_MAX && (iterations - 1) / every + 1 > rows) every *= 2;
  return every;
}

static void add_value(Rule rule, double value, double episodes, double *sum, double *weight) {
  const double share = rule == BY_EPISODE && !isnan(episodes) ? episodes : 1;
  if (isnan(value)) return;
  if (rule == LAST || (rule == MAXIMUM && (*weight == 0 || value > *sum))) *sum = value;
  else if (rule == HARMONIC) *sum += 1 / value;
  else if (rule != MAXIMUM) *sum += share * value;
  *weight += share;
}

static double result(Rule rule, double sum, double weight) {
  if (weight == 0) return NAN;
  if (rule == HARMONIC) return weight / sum;
  return rule == MEAN || rule == BY_EPISODE ? sum / weight : sum;
}

bool store_aggregate_add(StoreAggregate *aggregate, const StoreIteration *next, bool is_last, StoreIteration *row) {
  StoreIteration one = *next;
  if (aggregate->every <= 1) {
    *row = one;
    return true;
  }

  one.merged_iterations = 1;
  const double *values = store_iteration_values(&one);
  for (int c = 0; c < STORE_ITERATION_COUNT; c++)
    add_value((Rule)rules[c], values[c], one.episodes, &aggregate->sum[c], &aggregate->weight[c]);

  if (++aggregate->count < aggregate->every && !is_last) return false;
  *row = store_iteration_unmeasured(one.iteration);
  double *results = &row->transitions;
  for (int c = 0; c < STORE_ITERATION_COUNT; c++)
    results[c] = result((Rule)rules[c], aggregate->sum[c], aggregate->weight[c]);
  store_iteration_set_noise_scale(row); /* a ratio of means, not a mean of ratios */

  *aggregate = (StoreAggregate){.every = aggregate->every};
  return true;
}
