/* ASHA (Li et al. 2020, "A System for Massively Parallel Hyperparameter Tuning", algorithm 2) over the settings of a
 * sweep. A setting is what they call a configuration: all of its seeds together. Its value at a rung is their mean.
 *
 * Rung k is at min * eta^k transitions. A run that reaches the rung of its setting's level is stopped there. Of the
 * settings in a rung the best floor(n / eta) are promotable; those not promoted yet continue to the next rung. A
 * promotion is final, even if better settings arrive later: that is the paper's asynchrony. The paper samples new
 * settings without end, a sweep has finitely many. So in a rung that no further setting can reach, one is promoted even
 * if there are fewer than eta; otherwise a small sweep would end without a finished run.
 *
 * Rungs are filled from the first one up, and settings that a promotion brings into a rung are ranked there in the same
 * pass. So decisions depend on the runs and their levels, not on their order.
 *
 * The log may be of other rules or other rungs. Runs stopped by another rule stay stopped: they count as ended, and are
 * not promoted. Rungs that no longer exist count as passed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "sweep/stop/rules.h"

typedef struct Setting {
  size_t task;
  size_t index;            /* order in the file, which breaks ties */
  int level, old_level;    /* rungs that it was promoted from, now and before this pass */
  bool is_broken;          /* never promoted: a run failed or ended without a value, or none can resume */
  bool has_stopped_run;    /* another rule has stopped one of its runs */
  bool has_unfinished_run; /* one of its runs has not ended, and no other rule has stopped it */
  double value;            /* at the present rung; NaN: not there yet; -INFINITY: broken */
} Setting;

/* Result of ranking a rung, for the reasons of decisions. */
typedef struct Cut {
  size_t members, promotable;
  double threshold; /* value of the last promotable setting; NaN: none */
} Cut;

typedef struct Asha {
  const SweepStop *rule;
  const SweepStopRun *runs;
  size_t count;
  Setting *settings; /* [setting_count] */
  size_t setting_count;
  const Setting **member; /* [setting_count] settings in the present rung, best first */
  double *values;         /* [max_rungs * setting_count] of the present task, by rung; NaN: not there yet */
  Cut *cuts;              /* [tasks * max_rungs] by task */
  int max_rungs;          /* maximum over tasks */
  SweepDecisions *decisions;
} Asha;

static Cut *find_cut(const Asha *asha, size_t task, int rung) {
  return &asha->cuts[task * (size_t)asha->max_rungs + (size_t)rung];
}

static int count_rungs(const SweepStop *rule, double budget) {
  int rungs = 0;
  while (isfinite(sweep_stop_rung(rule, budget, rungs))) rungs++;
  return rungs;
}

/* Returns the smallest budget of the task's runs. */
static double task_budget(const Asha *asha, size_t task) {
  double budget = INFINITY;
  for (size_t i = 0; i < asha->count; i++)
    if (asha->runs[i].task == task) budget = fmin(budget, asha->runs[i].budget);
  return budget;
}

/* Whether median or stagnation has stopped the run, before the sweep had this rule. */
static bool is_stopped_by_other_rule(const SweepStopRun *run) {
  return run->is_stopped && !run->is_over && run->stopped_rung < 0;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* Counts settings and tasks, which are numbered from 0. Returns the number of tasks. */
static size_t count_settings(Asha *asha) {
  size_t tasks = 0;
  for (size_t i = 0; i < asha->count; i++) {
    if (asha->runs[i].setting >= asha->setting_count) asha->setting_count = asha->runs[i].setting + 1;
    if (asha->runs[i].task >= tasks) tasks = asha->runs[i].task + 1;
  }
  return tasks;
}

static void add_run(Setting *setting, const SweepStopRun *run) {
  const bool is_stopped = is_stopped_by_other_rule(run);
  const bool has_ended = run->is_over || is_stopped;
  setting->index = run->setting;
  setting->task = run->task;
  if (run->is_broken || (has_ended && run->count == 0)) setting->is_broken = true;
  if (is_stopped) setting->has_stopped_run = true;
  if (!has_ended) setting->has_unfinished_run = true;
  if (run->level > setting->level) setting->level = run->level;
}

static void group_runs(Asha *asha) {
  asha->settings = core_memory_zero_allocate(asha->setting_count + 1, sizeof *asha->settings);
  for (size_t i = 0; i < asha->count; i++) add_run(&asha->settings[asha->runs[i].setting], &asha->runs[i]);
  for (size_t s = 0; s < asha->setting_count; s++) {
    Setting *setting = &asha->settings[s];
    setting->old_level = setting->level;
    if (setting->has_stopped_run && !setting->has_unfinished_run) setting->is_broken = true; /* no run can resume */
  }
}

/* Limits the levels of a task to its number of rungs, since the log may be of more rungs. */
static void limit_levels(Asha *asha, size_t task, int rungs) {
  for (size_t s = 0; s < asha->setting_count; s++) {
    Setting *setting = &asha->settings[s];
    if (setting->task == task && setting->level > rungs) setting->level = setting->old_level = rungs;
  }
}

/* ---- one rung ---------------------------------------------------------------------------------------------------- */

/* Sets the values of settings at a rung: the mean over their runs. arrived[setting]: whether each of its runs has
 * reached the rung, or ended before it. */
static void measure(Asha *asha, int rung, double transitions, bool *arrived) {
  double *sum = core_memory_zero_allocate(asha->setting_count + 1, sizeof *sum);
  size_t *run_count = core_memory_zero_allocate(asha->setting_count + 1, sizeof *run_count);
  for (size_t s = 0; s < asha->setting_count; s++) arrived[s] = true;

  for (size_t i = 0; i < asha->count; i++) {
    const SweepStopRun *run = &asha->runs[i];
    const bool has_ended = run->is_over || is_stopped_by_other_rule(run);
    double value = sweep_stop_run_value_at(run, transitions);
    if (isnan(value) && has_ended && run->count > 0) value = run->points[run->count - 1].value;
    if (isnan(value)) arrived[run->setting] = false;
    sum[run->setting] += value;
    run_count[run->setting]++;
  }

  for (size_t s = 0; s < asha->setting_count; s++) {
    Setting *setting = &asha->settings[s];
    if (setting->is_broken) setting->value = -INFINITY;
    else if (arrived[s]) setting->value = sum[s] / (double)run_count[s];
    else setting->value = NAN;
    asha->values[(size_t)rung * asha->setting_count + s] = setting->value;
    if (setting->is_broken) arrived[s] = true;
  }

  free(sum);
  free(run_count);
}

static int by_value(const void *a, const void *b) {
  const Setting *x = *(const Setting *const *)a, *y = *(const Setting *const *)b;
  if (x->value != y->value) return x->value > y->value ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

/* Promotes the best settings of a rung. is_closed: whether no further setting can reach the rung below. Returns whether
 * none can reach this one. */
static bool promote(Asha *asha, size_t task, int rung, const bool *arrived, bool is_closed) {
  size_t members = 0;
  for (size_t s = 0; s < asha->setting_count; s++) {
    const Setting *setting = &asha->settings[s];
    if (setting->task != task || setting->level < rung) continue;
    if (arrived[s]) asha->member[members++] = setting;
    else is_closed = false;
  }

  qsort(asha->member, members, sizeof *asha->member, by_value);
  size_t promotable = members / (size_t)asha->rule->eta;
  if (promotable == 0 && members > 0 && is_closed) promotable = 1;
  const double threshold = promotable > 0 ? asha->member[promotable - 1]->value : NAN;
  *find_cut(asha, task, rung) = (Cut){members, promotable, threshold};

  for (size_t m = 0; m < promotable; m++) {
    Setting *setting = &asha->settings[asha->member[m]->index];
    if (setting->level == rung && !setting->is_broken) setting->level = rung + 1;
  }
  return is_closed;
}

/* ---- decisions --------------------------------------------------------------------------------------------------- */

static void add_promotion(const Asha *asha, size_t run, const Setting *setting, double budget) {
  char transitions[32];
  const int rung = setting->level - 1;
  const Cut *cut = find_cut(asha, setting->task, rung);
  SweepDecision *decision = sweep_decisions_add(asha->decisions, run, SWEEP_PROMOTES);
  decision->rung = rung;
  decision->transitions = sweep_stop_rung(asha->rule, budget, rung);
  decision->threshold = sweep_rule_sign(asha->rule) * cut->threshold;
  snprintf(decision->why, sizeof decision->why, "promoted from rung %d (%s transitions): among the best %zu of %zu",
           rung, core_text_count(decision->transitions, transitions), cut->promotable, cut->members);
}

static void add_stop(const Asha *asha, size_t run, const Setting *setting, double transitions) {
  char count[32], where[64];
  const double sign = sweep_rule_sign(asha->rule);
  const Cut *cut = find_cut(asha, setting->task, setting->level);
  SweepDecision *decision = sweep_decisions_add(asha->decisions, run, SWEEP_STOPS);
  const double mean = asha->values[(size_t)setting->level * asha->setting_count + setting->index];
  const bool has_arrived = isfinite(mean);
  const double value = has_arrived ? mean : sweep_stop_run_value_at(&asha->runs[run], transitions);

  decision->rung = setting->level;
  decision->transitions = transitions;
  decision->value = sign * value;
  decision->threshold = sign * cut->threshold;

  snprintf(where, sizeof where, "rung %d (%s transitions)", setting->level, core_text_count(transitions, count));
  if (setting->is_broken)
    snprintf(decision->why, sizeof decision->why, "stays at %s: another seed of its setting failed", where);
  else if (!has_arrived)
    snprintf(decision->why, sizeof decision->why, "waits at %s for the other seeds of its setting", where);
  else if (cut->promotable == 0)
    snprintf(decision->why, sizeof decision->why,
             "waits at %s: %zu of the %lld settings of which one is promoted are there", where, cut->members,
             (long long)asha->rule->eta);
  else
    snprintf(decision->why, sizeof decision->why,
             "at %s its setting's %.4g is not among the best %zu of %zu (from %.4g)", where, sign * value,
             cut->promotable, cut->members, sign * cut->threshold);
}

/* Adds the decisions on the runs of a task. */
static void decide(const Asha *asha, size_t task, double budget, int rungs) {
  for (size_t i = 0; i < asha->count; i++) {
    const SweepStopRun *run = &asha->runs[i];
    const Setting *setting = &asha->settings[run->setting];
    if (run->task != task || run->is_over || is_stopped_by_other_rule(run)) continue;
    const int stopped_rung =
        run->stopped_rung < rungs ? run->stopped_rung : rungs - 1; /* the log may have more rungs */
    const bool is_resumed = run->is_stopped && setting->level > 0 && stopped_rung < setting->level;
    if (is_resumed || setting->level > setting->old_level) add_promotion(asha, i, setting, budget);
    if (run->is_exempt || (run->is_stopped && !is_resumed)) continue;
    const double transitions = sweep_stop_rung(asha->rule, budget, setting->level);
    if (isfinite(transitions) && sweep_stop_run_has_reached(run, transitions)) add_stop(asha, i, setting, transitions);
  }
}

static void decide_task(Asha *asha, size_t task, bool *arrived) {
  const double budget = task_budget(asha, task);
  const int rungs = count_rungs(asha->rule, budget);
  bool is_closed = true;
  limit_levels(asha, task, rungs);
  for (int rung = 0; rung < rungs; rung++) {
    measure(asha, rung, sweep_stop_rung(asha->rule, budget, rung), arrived);
    is_closed = promote(asha, task, rung, arrived, is_closed);
  }
  decide(asha, task, budget, rungs);
}

void sweep_rule_asha(const SweepStop *rule, const SweepStopRun *runs, size_t count, SweepDecisions *decisions) {
  Asha asha = {.rule = rule, .runs = runs, .count = count, .decisions = decisions};
  double budget_max = 0;
  for (size_t i = 0; i < count; i++) budget_max = fmax(budget_max, runs[i].budget);
  asha.max_rungs = count_rungs(rule, budget_max);
  const size_t tasks = count_settings(&asha);
  group_runs(&asha);

  asha.member = core_memory_allocate((asha.setting_count + 1) * sizeof *asha.member);
  asha.cuts = core_memory_zero_allocate(tasks * (size_t)asha.max_rungs + 1, sizeof *asha.cuts);
  asha.values = core_memory_zero_allocate((size_t)asha.max_rungs * asha.setting_count + 1, sizeof *asha.values);
  bool *arrived = core_memory_zero_allocate(asha.setting_count + 1, sizeof *arrived);

  for (size_t task = 0; task < tasks; task++) decide_task(&asha, task, arrived);
  free(arrived);
  free(asha.values);
  free(asha.cuts);
  free(asha.member);
  free(asha.settings);
}
