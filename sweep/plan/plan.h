/* What submitting an experiment would mean, worked out without writing anything. plan.c makes it, plan_print.c shows
 * it. */
#ifndef SWEEP_PLAN_H
#define SWEEP_PLAN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/workspace/run.h"
#include "sweep/local/run_memory.h"
#include "sweep/plan/check.h"
#include "sweep/plan/code.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/resources.h"
#include "sweep/spec/spec.h"
#include "sweep/spec/sweep.h"
#include "sweep/spec/where.h"

enum { SWEEP_STATUS_COUNT = STORE_LOST + 1 };

typedef struct SweepPlan {
  const SweepSpec *spec;             /* borrowed */
  SweepGrid grid;
  SweepManifest manifest;            /* as submit would write it */
  SweepManifestChange change;
  uint8_t *status;                   /* [runs]: StoreStatus */
  size_t count[SWEEP_STATUS_COUNT];  /* runs by status */
  size_t to_run;                     /* neither finished, diverged nor stopped by the rule */
  size_t partly;                     /* of these, begun: they go on from their checkpoints */
  double transitions, transitions_left;
  double search_steps, evaluation_steps; /* environment steps without training that go with what is left (acting.h) */
  double seconds_left;               /* the runs one after another; NaN when no speed is known */
  double gpu_transitions, gpu_seconds; /* the same times the GPUs of each run ([slurm] and blocks) */
  double cpu_transitions, cpu_seconds; /* and times its processors */
  double speed;                      /* given, transitions a second; 0: as measured */
  size_t speed_runs;                 /* measured runs that the estimate rests on */
  bool speed_exact;                  /* all of the same task, network and epochs as what is planned */
  char speed_problem[512];           /* why results.db could not be asked; "" when it could */
  bool is_checked;                   /* `checked` was filled in */
  SweepChecked checked;
  SweepRunMemory memory;             /* of the runs that were started */
  CoreText untrusted;                /* what may not run and was not checked for that; "": nothing */
  SweepCodes codes;                  /* the runs' code, and runs that were made by other code */
  SweepResources resources;          /* what the runs ask of a cluster */
} SweepPlan;

/* Expands the spec and looks at the workspace. where: conditions on the runs that are planned (where.h). Caller calls
 * sweep_plan_free; spec must outlive the plan. */
int sweep_plan_make(const char *root, const SweepSpec *spec, const CoreOptionList *where, SweepPlan *plan);
void sweep_plan_free(SweepPlan *plan);
/* Counts the runs of a resource set that are neither finished, diverged nor stopped by the rule. */
size_t sweep_plan_to_run(const SweepPlan *plan, size_t set);
/* What is left, at `speed` transitions a second instead of what was measured; 0: nothing changes. CORE_USAGE: no such
 * speed. */
int sweep_plan_price(SweepPlan *plan, double speed);
/* CORE_USAGE: --speed cannot be this. */
int sweep_plan_check_speed(double speed);

/* The transitions that a run trains on: the whole budget, less what it takes over from a checkpoint (init.from with
 * init.restore = all counts on from there; a parent without a stated iteration counts for nothing). */
double sweep_plan_transitions(const CoreConfig *config);
/* Of these, what a run in this state has not done yet. */
double sweep_plan_left(const CoreConfig *config, const StoreState *state);

/* To stdout: tables of axes and totals; with_runs: also a line a run. */
void sweep_plan_print(const SweepPlan *plan, bool with_runs);
void sweep_plan_print_json(const SweepPlan *plan, bool with_runs);

/* Prices several experiments together, to stdout: a row a file with what it adds to those before it, and the sum, in
 * which a run that several files share counts once. speed: transitions a second to price with; 0 = as measured, apart
 * for processors and GPUs. CORE_USAGE names the file that cannot be read. */
int sweep_plan_several(const SweepCommon *common, const char *const *operands, size_t count, double speed, bool json);

#endif
