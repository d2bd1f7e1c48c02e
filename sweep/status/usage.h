/* What a sweep has cost and what came of it: waiting, running, what was done twice. For `sweep report`.
 *
 * Spent: wall-clock seconds of the program over all its starts, from runs/<id>/job where Slurm carried the run, else
 * from the state of its last attempt. Useful: the part that led to what the run has. A checkpoint carries its training
 * time along, so work that was lost with a node and done again counts once. All that a failed run spent is wasted. */
#ifndef SWEEP_USAGE_H
#define SWEEP_USAGE_H
#include <stdbool.h>

#include "core/text.h"
#include "store/workspace/run.h"
#include "slurm/settings.h"
#include "sweep/local/run_memory.h"

typedef struct SweepRunUsage {
  char id[CORE_RUN_ID];
  StoreStatus status;
  int64_t starts;               /* 0: never */
  double wait_s;                /* in the queue before the first start; NaN when not known */
  double spent_s, useful_s;
  double cpus, gpus;            /* that it held; NaN when not known (this machine's executor) */
  SweepRunMemory memory;
  bool out_of_memory, cut;      /* cut: it reached a time limit and went on */
  double transitions, budget;   /* done; planned (0: not known) */
} SweepRunUsage;

typedef struct SweepUsage {
  SweepRunUsage *run;           /* [count], by manifest index */
  size_t count;
  bool is_slurm;                /* Slurm carried at least one; `settings` are those of the newest batch */
  SlurmSettings settings;
  double wait_median_s, wait_max_s; /* NaN when not known */
  double spent_s, useful_s, wasted_s;
  double failed_s;              /* wasted by failed runs; the rest was spent on work done again */
  double cpu_hours, cpu_hours_wasted, gpu_hours, gpu_hours_wasted; /* of the runs whose share is known */
  size_t stopped_by_rule;       /* runs */
  double transitions_saved;     /* that they did not do */
  double finished_max_s;        /* the longest finished run, all its starts together */
  SweepRunMemory most;          /* over runs */
} SweepUsage;

/* Reads manifest, states and records. Caller frees. */
int sweep_usage_read(const char *root, const char *name, SweepUsage *usage);
void sweep_usage_free(SweepUsage *usage);

/* Useful of spent, 0..1; NaN when nothing was spent. */
double sweep_usage_efficiency(double useful_s, double spent_s);

/* Is `limit_mb` (0: not looked at) more than what each of the runs `indices` has exceeded? CORE_USAGE: no. record: the
 * runs keep what they have exceeded, so that another attempt does not hide it. */
int sweep_usage_check_memory(const char *root, const char *name, const int64_t *indices, size_t count,
                             int64_t limit_mb, bool record);

/* A line each: what to set instead of the present time limit and memory. A lower limit is advised only when all runs
 * have ended and all of their processes were measured. Nothing to say: none. */
void sweep_usage_advise(const SweepUsage *usage, const char *name, CoreText *lines);

#endif
