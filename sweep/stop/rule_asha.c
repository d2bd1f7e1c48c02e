/* ASHA (Li et al. 2020, "A System for Massively Parallel Hyperparameter Tuning", algorithm 2) over the settings of a
 * sweep. A setting is what they call a configuration: all its seeds together; its value at a rung is their mean there.
 *
 * Rung k is at min * eta^k transitions. A run that has come to the rung of its setting's level is stopped there. Of the
 * settings in a rung the best floor(n / eta) are promotable, and those that were not promoted yet go on to the next
 * rung. What was promoted once stays so, though better ones come later: that is the paper's asynchrony. A sweep's
 * settings are finite, where the paper draws new ones for ever. So from a rung that no further setting can come to, one
 * goes on even if they are fewer than eta; else a small sweep would end without a finished run.
 *
 * Rungs are filled from the first one up: what an earlier promotion brings into a rung is ranked there in the same
 * pass. So the decisions are a function of the trials and their levels, not of their order.
 *
 * The log may be of other rules, or of other rungs. What another rule has stopped stays stopped: it counts as ended
 * where it is, and no promotion is for it. Rungs that there are no more have been passed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "sweep/stop/rules.h"

typedef struct Setting {
  size_t task, number;   /* number: its place in the file, which settles equal values */
  int level, before;     /* rungs promoted from, now and before this pass */
  bool is_broken;        /* one of its runs failed, or ended without a value: it is never promoted */
  bool rests, goes;      /* some runs are stopped by another rule; some have no end yet and are not */
  double value;          /* at the rung looked at */
} Setting;

typedef struct Asha {
  const SweepStop *rule;
  const SweepTrial *trials;
  size_t count;
  Setting *settings;     /* [setting_count] */
  size_t setting_count;
  const Setting **member; /* of the rung looked at, best first; [setting_count] */
  double *values;        /* [rung * setting_count + setting] of the task looked at; NaN: not there */
  struct Cut { size_t members, promotable; double threshold; } *cuts; /* [task][rung]: what STOP's reason says */
  int rungs;             /* room of each task in cuts */
  SweepDecisions *decisions;
} Asha;

static int count_rungs(const SweepStop *rule, double budget) {
  int rungs = 0;
  while (isfinite(sweep_stop_rung(rule, budget, rungs))) rungs++;
  return rungs;
}

static double budget_of(const Asha *asha, size_t task) {
  double least = INFINITY;
  for (size_t i = 0; i < asha->count; i++)
    if (asha->trials[i].task == task) least = fmin(least, asha->trials[i].budget);
  return least;
}

/* By median or stagnation, before the sweep had this rule. */
static bool is_stopped_by_another(const SweepTrial *trial) {
  return trial->is_stopped && !trial->is_over && trial->stopped_rung < 0;
}

static void gather(Asha *asha, size_t *tasks) {
  *tasks = 0;
  for (size_t i = 0; i < asha->count; i++) {
    if (asha->trials[i].setting >= asha->setting_count) asha->setting_count = asha->trials[i].setting + 1;
    if (asha->trials[i].task >= *tasks) *tasks = asha->trials[i].task + 1;
  }
  asha->settings = core_memory_zero_allocate(asha->setting_count + 1, sizeof *asha->settings);
  asha->member = core_memory_allocate((asha->setting_count + 1) * sizeof *asha->member);
  for (size_t i = 0; i < asha->count; i++) {
    const SweepTrial *trial = &asha->trials[i];
    Setting *setting = &asha->settings[trial->setting];
    setting->number = trial->setting;
    setting->task = trial->task;
    const bool rests = is_stopped_by_another(trial);
    setting->is_broken |= trial->is_broken || ((trial->is_over || rests) && trial->count == 0);
    setting->rests |= rests, setting->goes |= !rests && !trial->is_over;
    if (trial->level > setting->level) setting->level = setting->before = trial->level;
  }
  for (size_t s = 0; s < asha->setting_count; s++) /* nobody would go on with its promotion */
    asha->settings[s].is_broken |= asha->settings[s].rests && !asha->settings[s].goes;
}

/* Levels of a task that are above its rungs, since the log is of more of them: all that there are have been passed. */
static void bound_levels(Asha *asha, size_t task, int rungs) {
  for (size_t s = 0; s < asha->setting_count; s++) {
    Setting *setting = &asha->settings[s];
    if (setting->task == task && setting->level > rungs) setting->level = setting->before = rungs;
  }
}

/* Has each run of a setting come to the rung at `at`, or ended before it? Its value there: the mean over them. */
static void measure(Asha *asha, int rung, double at, bool *arrived) {
  double *sum = core_memory_zero_allocate(asha->setting_count + 1, sizeof *sum);
  size_t *runs = core_memory_zero_allocate(asha->setting_count + 1, sizeof *runs);
  for (size_t s = 0; s < asha->setting_count; s++) arrived[s] = true;
  for (size_t i = 0; i < asha->count; i++) {
    const SweepTrial *trial = &asha->trials[i];
    const bool ended = (trial->is_over || is_stopped_by_another(trial)) && trial->count > 0;
    double value = sweep_trial_value_at(trial, at);
    if (isnan(value) && ended) value = trial->points[trial->count - 1].value;
    arrived[trial->setting] = arrived[trial->setting] && !isnan(value);
    sum[trial->setting] += value;
    runs[trial->setting]++;
  }
  for (size_t s = 0; s < asha->setting_count; s++) {
    Setting *setting = &asha->settings[s];
    setting->value = setting->is_broken ? -INFINITY : arrived[s] ? sum[s] / (double)runs[s] : NAN;
    asha->values[(size_t)rung * asha->setting_count + s] = setting->value;
    arrived[s] = arrived[s] || setting->is_broken;
  }
  free(sum);
  free(runs);
}

static int by_value(const void *a, const void *b) {
  const Setting *x = *(const Setting *const *)a, *y = *(const Setting *const *)b;
  if (x->value != y->value) return x->value > y->value ? -1 : 1;
  return (x->number > y->number) - (x->number < y->number);
}

/* One rung of a task. *closed: no further setting can come to the rung before; afterwards, to this one. */
static void promote(Asha *asha, size_t task, int rung, const bool *arrived, bool *closed) {
  size_t members = 0;
  for (size_t s = 0; s < asha->setting_count; s++) {
    const Setting *setting = &asha->settings[s];
    if (setting->task != task || setting->level < rung) continue;
    if (arrived[s]) asha->member[members++] = setting;
    else *closed = false;
  }
  qsort(asha->member, members, sizeof *asha->member, by_value);
  size_t promotable = members / (size_t)asha->rule->eta;
  if (promotable == 0 && members > 0 && *closed) promotable = 1;
  struct Cut *cut = &asha->cuts[task * (size_t)asha->rungs + (size_t)rung];
  *cut = (struct Cut){members, promotable, promotable ? asha->member[promotable - 1]->value : NAN};
  for (size_t m = 0; m < promotable; m++) {
    Setting *setting = &asha->settings[asha->member[m]->number];
    if (setting->level == rung && !setting->is_broken) setting->level = rung + 1;
  }
}

static void say_promotion(const Asha *asha, size_t trial, const Setting *setting, double budget) {
  char at[32];
  const int rung = setting->level - 1;
  const struct Cut *cut = &asha->cuts[setting->task * (size_t)asha->rungs + (size_t)rung];
  SweepDecision *decision = sweep_decisions_add(asha->decisions, trial, SWEEP_PROMOTES);
  decision->rung = rung, decision->transitions = sweep_stop_rung(asha->rule, budget, rung);
  decision->threshold = sweep_rule_sign(asha->rule) * cut->threshold;
  snprintf(decision->why, sizeof decision->why, "promoted from rung %d (%s transitions): among the best %zu of %zu",
           rung, core_text_count(decision->transitions, at), cut->promotable, cut->members);
}

static void say_stop(const Asha *asha, size_t trial, const Setting *setting, double at) {
  char count[32], where[64];
  const double sign = sweep_rule_sign(asha->rule);
  const struct Cut *cut = &asha->cuts[setting->task * (size_t)asha->rungs + (size_t)setting->level];
  SweepDecision *decision = sweep_decisions_add(asha->decisions, trial, SWEEP_STOPS);
  const double mean = asha->values[(size_t)setting->level * asha->setting_count + setting->number];
  const bool has_arrived = isfinite(mean);
  const double value = has_arrived ? mean : sweep_trial_value_at(&asha->trials[trial], at);
  decision->rung = setting->level, decision->transitions = at, decision->value = sign * value;
  decision->threshold = sign * cut->threshold;
  snprintf(where, sizeof where, "rung %d (%s transitions)", setting->level, core_text_count(at, count));
  if (setting->is_broken)
    snprintf(decision->why, sizeof decision->why, "stays at %s: another seed of its setting failed", where);
  else if (!has_arrived)
    snprintf(decision->why, sizeof decision->why, "waits at %s for the other seeds of its setting", where);
  else if (cut->promotable == 0)
    snprintf(decision->why, sizeof decision->why,
             "waits at %s: %zu of the %lld settings of which one goes on are there", where, cut->members,
             (long long)asha->rule->eta);
  else
    snprintf(decision->why, sizeof decision->why,
             "at %s its setting's %.4g is not among the best %zu of %zu (from %.4g)", where, sign * value,
             cut->promotable, cut->members, sign * cut->threshold);
}

/* What follows for the runs of a task. */
static void conclude(const Asha *asha, size_t task, double budget, int rungs) {
  for (size_t i = 0; i < asha->count; i++) {
    const SweepTrial *trial = &asha->trials[i];
    const Setting *setting = &asha->settings[trial->setting];
    if (trial->task != task || trial->is_over || is_stopped_by_another(trial)) continue;
    const int rung = trial->stopped_rung < rungs ? trial->stopped_rung : rungs - 1; /* of those that there are */
    const bool goes_on = trial->is_stopped && setting->level > 0 && rung < setting->level;
    if (goes_on || (setting->level > setting->before)) say_promotion(asha, i, setting, budget);
    const double at = sweep_stop_rung(asha->rule, budget, setting->level);
    const bool rests = trial->is_stopped && !goes_on;
    if (isfinite(at) && !trial->is_exempt && !rests && sweep_trial_reached(trial, at)) say_stop(asha, i, setting, at);
  }
}

void sweep_rule_asha(const SweepStop *rule, const SweepTrial *trials, size_t count, SweepDecisions *decisions) {
  Asha asha = {.rule = rule, .trials = trials, .count = count, .decisions = decisions};
  size_t tasks;
  gather(&asha, &tasks);
  double greatest = 0;
  for (size_t i = 0; i < count; i++) greatest = fmax(greatest, trials[i].budget);
  asha.rungs = count_rungs(rule, greatest);
  asha.cuts = core_memory_zero_allocate(tasks * (size_t)asha.rungs + 1, sizeof *asha.cuts);
  asha.values = core_memory_zero_allocate((size_t)asha.rungs * asha.setting_count + 1, sizeof *asha.values);
  bool *arrived = core_memory_zero_allocate(asha.setting_count + 1, sizeof *arrived);
  for (size_t task = 0; task < tasks; task++) {
    const double budget = budget_of(&asha, task);
    const int rungs = count_rungs(rule, budget);
    bool closed = true;
    bound_levels(&asha, task, rungs);
    for (int rung = 0; rung < rungs; rung++) {
      measure(&asha, rung, sweep_stop_rung(rule, budget, rung), arrived);
      promote(&asha, task, rung, arrived, &closed);
    }
    conclude(&asha, task, budget, rungs);
  }
  free(arrived);
  free(asha.values);
  free(asha.cuts);
  free(asha.member);
  free(asha.settings);
}
