/* The rules of [stop] as functions of what the runs have measured: no files, no clock. The same trials give the same
 * decisions, in whatever order they stand (asha settles equal values by the order of the settings in the file). */
#ifndef SWEEP_STOP_RULES_H
#define SWEEP_STOP_RULES_H
#include "sweep/stop/stop_log.h"

typedef struct SweepPoint { double transitions, value; } SweepPoint;

/* A run as the rules see it. Values are turned so that more is better. */
typedef struct SweepTrial {
  char run[CORE_RUN_ID];
  size_t setting, task;    /* numbers from 0: its cell (all seeds of a setting); what it is trained on */
  double budget;           /* transitions */
  double ddr;              /* transitions per nat, so far; NaN: not known */
  const SweepPoint *points; /* [count] ascending, of this run */
  size_t count;
  bool is_over;            /* finished, failed or diverged: there is nothing to stop */
  bool is_broken;          /* failed or diverged */
  bool is_stopped;         /* by an earlier decision that holds */
  bool is_exempt;          /* a person took it up */
  int level;               /* asha: rungs that it was promoted from */
  int stopped_rung;        /* where asha has stopped it; -1: nowhere, or is_stopped is another rule's */
} SweepTrial;

typedef struct SweepDecision {
  size_t trial;
  SweepStopVerb verb;      /* SWEEP_STOPS or SWEEP_PROMOTES */
  int rung;                /* -1: the rule has none */
  double transitions, value, threshold; /* as measured; NaN: there is none */
  char why[SWEEP_STOP_WHY];
} SweepDecision;

/* Zero-initialise. */
typedef struct SweepDecisions { SweepDecision *items; size_t count; } SweepDecisions;
SweepDecision *sweep_decisions_add(SweepDecisions *decisions, size_t trial, SweepStopVerb verb);
void sweep_decisions_free(SweepDecisions *decisions);

/* Appends what is to be decided now. What was not measured is never a reason to stop. */
void sweep_rule_apply(const SweepStop *rule, const SweepTrial *trials, size_t count, SweepDecisions *decisions);

/* Each rule. Golovin et al. 2017, sec. 3.2.2: a run is stopped at t when its best value by t is strictly below the
 * median of the averages by t of the other runs of its task that have come to t. */
void sweep_rule_median(const SweepStop *rule, const SweepTrial *trials, size_t count, SweepDecisions *decisions);
/* Stopped when the best value of the last patience * budget transitions is not above the best before them. */
void sweep_rule_stagnation(const SweepStop *rule, const SweepTrial *trials, size_t count, SweepDecisions *decisions);
/* Li et al. 2020, algorithm 2, whose configurations are settings with all their seeds (rule_asha.c). */
void sweep_rule_asha(const SweepStop *rule, const SweepTrial *trials, size_t count, SweepDecisions *decisions);

/* +1 where more is better, -1: what values were multiplied by. */
double sweep_rule_sign(const SweepStop *rule);
/* The value at t, linearly between the points before and after (metrics.md 5.5); before the first point the first. NaN:
 * it has not come so far. */
double sweep_trial_value_at(const SweepTrial *trial, double transitions);
/* Has it a point at or beyond t? */
bool sweep_trial_reached(const SweepTrial *trial, double transitions);

#endif
