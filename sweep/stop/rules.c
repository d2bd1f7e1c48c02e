/* Implements the rules median and stagnation; rule_asha.c implements asha. */
#include "sweep/stop/rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

static const double default_grace = 0.1; /* fraction of the budget if stop.grace is 0 */

/* ---- runs -------------------------------------------------------------------------------------------------------- */

double sweep_rule_sign(const SweepStop *rule) { return strcmp(rule->goal, "min") == 0 ? -1 : 1; }

bool sweep_stop_run_has_reached(const SweepStopRun *run, double transitions) {
  return run->count > 0 && run->points[run->count - 1].transitions >= transitions;
}

/* Counts points at or before t. */
static size_t count_points_until(const SweepStopRun *run, double transitions) {
  size_t low = 0, high = run->count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (run->points[middle].transitions <= transitions) low = middle + 1;
    else high = middle;
  }
  return low;
}

double sweep_stop_run_value_at(const SweepStopRun *run, double transitions) {
  if (!sweep_stop_run_has_reached(run, transitions)) return NAN;
  const size_t after = count_points_until(run, transitions);
  if (after == 0) return run->points[0].value;
  const SweepPoint *a = &run->points[after - 1];
  if (after == run->count || a->transitions == transitions) return a->value;
  const SweepPoint *b = a + 1;
  return a->value + (b->value - a->value) * (transitions - a->transitions) / (b->transitions - a->transitions);
}

static bool is_candidate(const SweepStopRun *run) {
  return run->count > 0 && !run->is_over && !run->is_stopped && !run->is_exempt;
}

static double grace_period(const SweepStop *rule, const SweepStopRun *run) {
  return rule->grace > 0 ? (double)rule->grace : default_grace * run->budget;
}

static double best_between(const SweepStopRun *run, size_t from, size_t to) {
  double best = -INFINITY;
  for (size_t i = from; i < to; i++) best = fmax(best, run->points[i].value);
  return best;
}

/* Returns the index of the first point after training began. */
static size_t first_trained(const SweepStopRun *run) {
  return run->count > 0 && run->points[0].transitions <= 0 ? 1 : 0;
}

/* ---- decisions --------------------------------------------------------------------------------------------------- */

SweepDecision *sweep_decisions_add(SweepDecisions *decisions, size_t run, SweepStopVerb verb) {
  if ((decisions->count & (decisions->count + 1)) == 0) /* 0, 1, 3, 7, ...: capacity is reached */
    decisions->items =
      core_memory_resize(decisions->items, (2 * decisions->count + 2) * sizeof *decisions->items);
  SweepDecision *added = &decisions->items[decisions->count++];
  *added = (SweepDecision){.run = run, .verb = verb, .rung = -1, .transitions = NAN, .value = NAN, .threshold = NAN};
  return added;
}

void sweep_decisions_free(SweepDecisions *decisions) {
  free(decisions->items);
  *decisions = (SweepDecisions){0};
}

/* ---- median ------------------------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Returns sums[run][n]: the sum of values of the first n points, except points before training. */
static double **cumulative_sums(const SweepStopRun *runs, size_t count) {
  double **sums = core_memory_allocate((count + 1) * sizeof *sums);
  for (size_t i = 0; i < count; i++) {
    sums[i] = core_memory_zero_allocate(runs[i].count + 1, sizeof **sums);
    for (size_t p = 0; p < runs[i].count; p++)
      sums[i][p + 1] = sums[i][p] + (p >= first_trained(&runs[i]) ? runs[i].points[p].value : 0);
  }
  return sums;
}

/* Computes the sorted running averages until t of the other runs of the task that have reached t. Returns their
 * number. */
static size_t average_others(const SweepStopRun *runs, size_t count, size_t except, double transitions,
                             double *const *sums, double *averages) {
  size_t others = 0;
  for (size_t i = 0; i < count; i++) {
    const SweepStopRun *other = &runs[i];
    if (i == except || other->task != runs[except].task || !sweep_stop_run_has_reached(other, transitions)) continue;
    const size_t until = count_points_until(other, transitions), first = first_trained(other);
    if (until > first) averages[others++] = sums[i][until] / (double)(until - first);
  }
  qsort(averages, others, sizeof *averages, by_value);
  return others;
}

void sweep_rule_median(const SweepStop *rule, const SweepStopRun *runs, size_t count, SweepDecisions *decisions) {
  const double sign = sweep_rule_sign(rule);
  double **sums = cumulative_sums(runs, count), *averages = core_memory_allocate((count + 1) * sizeof *averages);

  for (size_t i = 0; i < count; i++) {
    const SweepStopRun *run = &runs[i];
    if (!is_candidate(run)) continue;
    const double last = run->points[run->count - 1].transitions;
    if (last < grace_period(rule, run) || first_trained(run) == run->count) continue;

    const size_t others = average_others(runs, count, i, last, sums, averages);
    if (others < (size_t)rule->min_runs) continue;
    const double median = (averages[(others - 1) / 2] + averages[others / 2]) / 2;
    const double best = best_between(run, first_trained(run), run->count);
    if (!(best < median)) continue;

    char transitions[32];
    SweepDecision *decision = sweep_decisions_add(decisions, i, SWEEP_STOPS);
    decision->transitions = last;
    decision->value = sign * best;
    decision->threshold = sign * median;
    snprintf(decision->why, sizeof decision->why,
             "its best value until %s transitions, %.4g, is %s %.4g, the median of %zu runs' averages",
             core_text_count(last, transitions), sign * best, sign > 0 ? "below" : "above", sign * median, others);
  }

  for (size_t i = 0; i < count; i++) free(sums[i]);
  free(sums);
  free(averages);
}

/* ---- stagnation -------------------------------------------------------------------------------------------------- */

void sweep_rule_stagnation(const SweepStop *rule, const SweepStopRun *runs, size_t count, SweepDecisions *decisions) {
  const double sign = sweep_rule_sign(rule);
  for (size_t i = 0; i < count; i++) {
    const SweepStopRun *run = &runs[i];
    if (!is_candidate(run)) continue;

    const double last = run->points[run->count - 1].transitions, window = rule->patience * run->budget;
    const size_t older = count_points_until(run, last - window);
    if (last < grace_period(rule, run) || older == 0) continue;
    const double earlier = best_between(run, 0, older), recent = best_between(run, older, run->count);
    if (!(recent <= earlier + rule->min_rise)) continue;
    if (isfinite(rule->ddr_below) && !(run->ddr < rule->ddr_below)) continue;

    char ddr_count[32], until[32], ddr[64] = "";
    SweepDecision *decision = sweep_decisions_add(decisions, i, SWEEP_STOPS);
    decision->transitions = last;
    decision->value = sign * recent;
    decision->threshold = sign * earlier;
    if (isfinite(rule->ddr_below)) snprintf(ddr, sizeof ddr, ", at a DDR of %s", core_text_count(run->ddr, ddr_count));
    snprintf(decision->why, sizeof decision->why,
             "not risen in its last %.3g %% of the budget: %.4g until %s transitions, %.4g before%s",
             100 * rule->patience, sign * recent, core_text_count(last, until), sign * earlier, ddr);
  }
}

/* ---- dispatch ---------------------------------------------------------------------------------------------------- */

void sweep_rule_apply(const SweepStop *rule, const SweepStopRun *runs, size_t count, SweepDecisions *decisions) {
  switch (rule->rule) {
    case SWEEP_STOP_median: sweep_rule_median(rule, runs, count, decisions); break;
    case SWEEP_STOP_asha: sweep_rule_asha(rule, runs, count, decisions); break;
    case SWEEP_STOP_stagnation: sweep_rule_stagnation(rule, runs, count, decisions); break;
    default: break;
  }
}
