/* Plan of a submission: runs, their states and the remaining cost, without writing anything. plan.c makes it,
 * plan_print.c prints it. */
#ifndef SWEEP_PLAN_H
#define SWEEP_PLAN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "store/workspace/run.h"
#include "sweep/plan/check.h"
#include "sweep/plan/code.h"
#include "sweep/plan/cost_model.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/resources.h"
#include "sweep/spec/spec.h"
#include "sweep/spec/sweep.h"
#include "sweep/spec/where.h"
#include "sweep/supervise/run_memory.h"

typedef struct SweepPlan {
  const SweepSpec *spec;             /* borrowed */
  SweepGrid grid;
  SweepManifest manifest;            /* as submit would write it */
  SweepManifestChange change;
  uint8_t *status;                   /* [runs]: StoreStatus */
  size_t count[STORE_STATUSES];  /* runs by status */
  size_t to_run;                     /* neither finished, diverged nor stopped by the rule */
  size_t resumable;                  /* part of to_run that would resume from a checkpoint */
  double transitions, transitions_left;
  double search_steps, evaluation_steps; /* environment steps without training (cost_model.h) of the remaining part */
  SweepCost cost;          /* cost of the remaining part, summed over runs */
  double seconds_left;     /* its time; NaN: a program of unknown speed */
  double gpu_seconds;      /* sum weighted by the GPUs of each run on GPUs ([slurm] and blocks) */
  double cpu_seconds;      /* sum weighted by the processors of each run */
  double speed;            /* --speed in transitions per second; 0: measured speeds, else the model's, are used */
  size_t speed_runs;       /* number of measured runs behind the estimate */
  size_t modeled;         /* runs to do whose speed is the model's alone */
  bool speed_exact;        /* whether measured runs have all settings of the planned ones that change the speed */
  char speed_problem[512];             /* why results.db cannot be read; "": no problem */
  bool is_checked;                     /* whether `checked` is set */
  SweepCheckSummary checked;
  SweepRunMemory memory;    /* maximum over runs that have started */
  CoreText untrusted;       /* code that is not trusted, so that runs were not checked; "": none */
  SweepCodeChanges codes;   /* present code, and runs made by other code */
  SweepResources resources; /* resources that the runs request of a cluster */
} SweepPlan;

/* Selection of runs, and their speed. */
typedef struct SweepPlanOptions {
  CoreOptionList where; /* selects runs (where.h) */
  double speed;         /* transitions per second; 0: measured speeds, else the model's */
} SweepPlanOptions;

/* Expands the spec and reads the workspace. Caller calls sweep_plan_free; spec must outlive the plan. CORE_USAGE: speed
 * is invalid. */
int sweep_plan_make(const char *root, const SweepSpec *spec, const SweepPlanOptions *options, SweepPlan *plan);
void sweep_plan_free(SweepPlan *plan);
/* Counts the runs of a resource set that are neither finished, diverged nor stopped by the rule. */
size_t sweep_plan_to_run(const SweepPlan *plan, size_t set);
/* Checks the value of --speed. CORE_USAGE: it is invalid. */
int sweep_plan_check_speed(double speed);

/* Returns the transitions that a run trains on: its budget less those of a parent whose counters it continues
 * (init.from with a stated iteration and init.restore = all). */
double sweep_plan_transitions(const CoreConfig *config);
/* Returns how many of them a run in this state has not done yet. */
double sweep_plan_remaining(const CoreConfig *config, const StoreState *state);

/* Prints tables of axes and totals to stdout; with_runs: also one line per run. */
void sweep_plan_print(const char *root, const SweepPlan *plan, bool with_runs);
void sweep_plan_print_json(const char *root, const SweepPlan *plan, bool with_runs);

/* Prints the cost of several experiments to stdout: one row per file with the runs that earlier files lack, and the
 * sum, in which shared runs count once. speed: transitions per second; 0: measured ones, separately for processors and
 * GPUs. CORE_USAGE: a file cannot be read; the message names it. */
int sweep_plan_files(const SweepCommon *common, const char *const *operands, size_t count, double speed, bool json);

/* ---- program_print.c: a program in a plan ------------------------------------------------------------------------ */

/* Prints the first run's command as it will be executed, code that is not hashed, and hints at text that only a shell
 * would interpret; nothing if the experiment has no [program]. */
void sweep_program_print(const char *root, const SweepPlan *plan);
/* Returns them as {"command": "...", "directory": "...", "not_hashed": [...], "hints": [...]}; NULL: no [program]. */
json_t *sweep_program_json(const char *root, const SweepPlan *plan);
/* Appends a line per part of `command` that looks like the syntax of a shell, which does not interpret it. */
void sweep_program_find_shell(const char *command, CoreText *hints);

/* ---- power.c ----------------------------------------------------------------------------------------------------- */

/* Simulates, for each claim of the papers whose data the sweep is, how often its test supports the claim where it is
 * true (analysis/claims/power.h), and finds the number of seeds for a power of 0.8. Seeds vary as those of the
 * workspace's runs do, or as assumed. Prints a table or JSON. CORE_USAGE: no claim uses the sweep. */
int sweep_power_print(const char *root, const SweepSpec *spec, bool json);

#endif
