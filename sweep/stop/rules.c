/* The median rule and stagnation (rules.h); asha is rule_asha.c. */
#include "sweep/stop/rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

static const double grace_share = 0.1; /* of the budget, where stop.grace is 0 */

/* ---- trials ------------------------------------------------------------------------------------------------------ */

double sweep_rule_sign(const SweepStop *rule) { return strcmp(rule->goal, "min") == 0 ? -1 : 1; }

bool sweep_trial_reached(const SweepTrial *trial, double transitions) {
  return trial->count > 0 && trial->points[trial->count - 1].transitions >= transitions;
}

/* How many points lie at or before t. */
static size_t points_until(const SweepTrial *trial, double transitions) {
  size_t low = 0, high = trial->count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (trial->points[middle].transitions <= transitions) low = middle + 1;
    else high = middle;
  }
  return low;
}

double sweep_trial_value_at(const SweepTrial *trial, double transitions) {
  if (!sweep_trial_reached(trial, transitions)) return NAN;
  const size_t after = points_until(trial, transitions);
  if (after == 0) return trial->points[0].value;
  const SweepPoint *a = &trial->points[after - 1];
  if (after == trial->count || a->transitions == transitions) return a->value;
  const SweepPoint *b = a + 1;
  return a->value + (b->value - a->value) * (transitions - a->transitions) / (b->transitions - a->transitions);
}

static bool is_candidate(const SweepTrial *trial) {
  return trial->count > 0 && !trial->is_over && !trial->is_stopped && !trial->is_exempt;
}

static double grace_of(const SweepStop *rule, const SweepTrial *trial) {
  return rule->grace > 0 ? (double)rule->grace : grace_share * trial->budget;
}

static double best_between(const SweepTrial *trial, size_t from, size_t to) {
  double best = -INFINITY;
  for (size_t i = from; i < to; i++) best = fmax(best, trial->points[i].value);
  return best;
}

/* What an untrained policy does is no report of training. */
static size_t first_trained(const SweepTrial *trial) {
  return trial->count > 0 && trial->points[0].transitions <= 0 ? 1 : 0;
}

/* ---- decisions --------------------------------------------------------------------------------------------------- */

SweepDecision *sweep_decisions_add(SweepDecisions *decisions, size_t trial, SweepStopVerb verb) {
  if ((decisions->count & (decisions->count + 1)) == 0) /* at 0, 1, 3, 7, ...: room for as many again */
    decisions->items =
      core_memory_resize(decisions->items, (2 * decisions->count + 2) * sizeof *decisions->items);
  SweepDecision *added = &decisions->items[decisions->count++];
  *added = (SweepDecision){.trial = trial, .verb = verb, .rung = -1, .transitions = NAN, .value = NAN,
                           .threshold = NAN};
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

/* sums[i]: of the values of the first i points after training began. */
static double **sum_up(const SweepTrial *trials, size_t count) {
  double **sums = core_memory_allocate((count + 1) * sizeof *sums);
  for (size_t i = 0; i < count; i++) {
    sums[i] = core_memory_zero_allocate(trials[i].count + 1, sizeof **sums);
    for (size_t p = 0; p < trials[i].count; p++)
      sums[i][p + 1] = sums[i][p] + (p >= first_trained(&trials[i]) ? trials[i].points[p].value : 0);
  }
  return sums;
}

/* The averages by t of the other runs of the task that have come to t, sorted; how many there are. */
static size_t averages_of_others(const SweepTrial *trials, size_t count, size_t except, double transitions,
                                 double *const *sums, double *averages) {
  size_t others = 0;
  for (size_t i = 0; i < count; i++) {
    const SweepTrial *other = &trials[i];
    if (i == except || other->task != trials[except].task || !sweep_trial_reached(other, transitions)) continue;
    const size_t until = points_until(other, transitions), first = first_trained(other);
    if (until > first) averages[others++] = sums[i][until] / (double)(until - first);
  }
  qsort(averages, others, sizeof *averages, by_value);
  return others;
}

void sweep_rule_median(const SweepStop *rule, const SweepTrial *trials, size_t count, SweepDecisions *decisions) {
  const double sign = sweep_rule_sign(rule);
  double **sums = sum_up(trials, count), *averages = core_memory_allocate((count + 1) * sizeof *averages);
  for (size_t i = 0; i < count; i++) {
    const SweepTrial *trial = &trials[i];
    if (!is_candidate(trial)) continue;
    const double at = trial->points[trial->count - 1].transitions;
    if (at < grace_of(rule, trial) || first_trained(trial) == trial->count) continue;
    const size_t others = averages_of_others(trials, count, i, at, sums, averages);
    if (others < (size_t)rule->min_runs) continue;
    const double median = (averages[(others - 1) / 2] + averages[others / 2]) / 2;
    const double best = best_between(trial, first_trained(trial), trial->count);
    if (!(best < median)) continue;
    char transitions[32];
    SweepDecision *decision = sweep_decisions_add(decisions, i, SWEEP_STOPS);
    decision->transitions = at, decision->value = sign * best, decision->threshold = sign * median;
    snprintf(decision->why, sizeof decision->why,
             "its best value until %s transitions, %.4g, is %s %.4g, the median of %zu runs' averages",
             core_text_count(at, transitions), sign * best, sign > 0 ? "below" : "above", sign * median, others);
  }
  for (size_t i = 0; i < count; i++) free(sums[i]);
  free(sums);
  free(averages);
}

/* ---- stagnation -------------------------------------------------------------------------------------------------- */

void sweep_rule_stagnation(const SweepStop *rule, const SweepTrial *trials, size_t count, SweepDecisions *decisions) {
  const double sign = sweep_rule_sign(rule);
  for (size_t i = 0; i < count; i++) {
    const SweepTrial *trial = &trials[i];
    if (!is_candidate(trial)) continue;
    const double at = trial->points[trial->count - 1].transitions, window = rule->patience * trial->budget;
    const size_t before = points_until(trial, at - window);
    if (at < grace_of(rule, trial) || before == 0) continue;
    const double earlier = best_between(trial, 0, before), recent = best_between(trial, before, trial->count);
    if (!(recent <= earlier + rule->min_rise)) continue;
    if (isfinite(rule->ddr_below) && !(trial->ddr < rule->ddr_below)) continue;
    char number[32], until[32], ddr[64] = "";
    SweepDecision *decision = sweep_decisions_add(decisions, i, SWEEP_STOPS);
    decision->transitions = at, decision->value = sign * recent, decision->threshold = sign * earlier;
    if (isfinite(rule->ddr_below)) snprintf(ddr, sizeof ddr, ", at a DDR of %s", core_text_count(trial->ddr, number));
    snprintf(decision->why, sizeof decision->why,
             "not risen in its last %.3g %% of the budget: %.4g until %s transitions, %.4g before%s",
             100 * rule->patience, sign * recent, core_text_count(at, until), sign * earlier, ddr);
  }
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

void sweep_rule_apply(const SweepStop *rule, const SweepTrial *trials, size_t count, SweepDecisions *decisions) {
  switch (rule->rule) {
    case SWEEP_STOP_median: sweep_rule_median(rule, trials, count, decisions); break;
    case SWEEP_STOP_asha: sweep_rule_asha(rule, trials, count, decisions); break;
    case SWEEP_STOP_stagnation: sweep_rule_stagnation(rule, trials, count, decisions); break;
    default: break;
  }
}
