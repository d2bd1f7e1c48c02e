/* The rules of [stop] as pure functions of measured values: no files, no clock. The same runs give the same decisions
 * in any order (asha breaks ties by the order of the settings in the file). */
#ifndef SWEEP_STOP_RULES_H
#define SWEEP_STOP_RULES_H
#include "sweep/stop/stop_log.h"

typedef struct SweepPoint { double transitions, value; } SweepPoint;

/* A run as input of the rules. Values are signed so that larger is better. */
typedef struct SweepStopRun {
  char id[CORE_RUN_ID];
  size_t setting, task;    /* indices from 0: its configuration without the seed, and its task */
  double budget;           /* transitions */
  double ddr;              /* data-to-divergence ratio until now; NaN: unknown */
  const SweepPoint *points; /* [count] ascending */
  size_t count;
  bool is_over;            /* finished, failed or diverged */
  bool is_broken;          /* failed or diverged */
  bool is_stopped;         /* stopped by an earlier decision that still applies */
  bool is_exempt;          /* retried by the user: never stopped again */
  int level;               /* asha: number of rungs that it was promoted from */
  int stopped_rung;        /* rung at which asha stopped it; -1: not stopped, or by another rule */
} SweepStopRun;

typedef struct SweepDecision {
  size_t run;
  SweepStopVerb verb;      /* SWEEP_STOPS or SWEEP_PROMOTES */
  int rung;                /* -1: the rule has no rungs */
  double transitions, value, threshold; /* in the measure's own sign; NaN: none */
  char why[SWEEP_STOP_WHY];
} SweepDecision;

/* Zero-initialize. */
typedef struct SweepDecisions { SweepDecision *items; size_t count; } SweepDecisions;
SweepDecision *sweep_decisions_add(SweepDecisions *decisions, size_t run, SweepStopVerb verb);
void sweep_decisions_free(SweepDecisions *decisions);

/* Appends the decisions of the rule. A value that was not measured is never a reason to stop. */
void sweep_rule_apply(const SweepStop *rule, const SweepStopRun *runs, size_t count, SweepDecisions *decisions);

/* Applies the median rule of Golovin et al. 2017, sec. 3.2.2: stops a run at t if its best value until t is strictly
 * below the median of the running averages until t of the other runs of its task that have reached t. */
void sweep_rule_median(const SweepStop *rule, const SweepStopRun *runs, size_t count, SweepDecisions *decisions);
/* Stops a run if the best value of its last patience * budget transitions is not above the best before them. */
void sweep_rule_stagnation(const SweepStop *rule, const SweepStopRun *runs, size_t count, SweepDecisions *decisions);
/* Applies Li et al. 2020, algorithm 2, to settings with all their seeds (rule_asha.c). */
void sweep_rule_asha(const SweepStop *rule, const SweepStopRun *runs, size_t count, SweepDecisions *decisions);

/* Returns the factor of values: +1 if larger is better, else -1. */
double sweep_rule_sign(const SweepStop *rule);
/* Returns the value at t, interpolated linearly; before the first point its value. NaN: the run has not reached t. */
double sweep_stop_run_value_at(const SweepStopRun *run, double transitions);
/* Whether the run has a point at or after t. */
bool sweep_stop_run_has_reached(const SweepStopRun *run, double transitions);

#endif
