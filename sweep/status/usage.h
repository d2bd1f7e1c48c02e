/* Resource usage of a sweep: time in the queue, time spent, time wasted. For `sweep status --cost`.
 *
 * Spent: wall-clock seconds of the program over all starts, from runs/<id>/job for runs on Slurm, else from
 * runs/<id>/attempts.tsv and the state. Wasted: all time of a failed run, and work that a later attempt did again: of
 * the time of an attempt, the fraction of its records whose steps a later one has logged, too. A trainer's checkpoint
 * contains its training time, and what exceeds that is wasted as well. Useful is the rest. */
#ifndef SWEEP_USAGE_H
#define SWEEP_USAGE_H
#include <stdbool.h>

#include "core/text.h"
#include "slurm/settings.h"
#include "store/workspace/run.h"
#include "sweep/supervise/run_memory.h"

typedef struct SweepRunUsage {
  char id[CORE_RUN_ID];
  StoreStatus status;
  int64_t starts; /* number of starts; 0: never started */
  double wait_s;  /* time in the queue before the first start; NaN: unknown */
  double spent_s, useful_s;
  double cpus, gpus; /* allocation; NaN: unknown (run by the local executor) */
  SweepRunMemory memory;
  bool out_of_memory;
  bool hit_time_limit;        /* it reached a time limit and was resumed */
  double transitions, budget; /* done, and planned (0: unknown) */
} SweepRunUsage;

typedef struct SweepUsage {
  SweepRunUsage *run;           /* [count], by manifest index */
  size_t count;
  bool is_slurm; /* at least one run ran on Slurm; `settings` are those of the newest batch */
  SlurmSettings settings;
  double wait_median_s, wait_max_s; /* NaN: unknown */
  double spent_s, useful_s, wasted_s;
  double failed_s; /* part of wasted_s of failed runs; the rest is repeated work */
  double cpu_hours, cpu_hours_wasted, gpu_hours, gpu_hours_wasted; /* over runs with a known allocation */
  size_t stopped_by_rule;                                          /* number of runs */
  double transitions_saved;                                        /* transitions that these runs did not need */
  double finished_max_s; /* time of the longest finished run over all of its starts */
  SweepRunMemory most;   /* maximum over runs */
} SweepUsage;

/* Reads manifest, states and records. Caller frees. */
int sweep_usage_read(const char *root, const char *name, SweepUsage *usage);
void sweep_usage_free(SweepUsage *usage);

/* Reads what the last job of run `id` of the sweep has asked of Slurm. *is_known false: it did not run on Slurm, or the
 * batch no longer exists. */
int sweep_usage_read_settings(const char *root, const char *name, const char *id, SlurmSettings *settings,
                              bool *is_known);

/* Returns the useful fraction of the time spent; NaN if none was spent. */
double sweep_usage_efficiency(double useful_s, double spent_s);

/* Checks that limit_mb (0: not checked) is above the limits that the runs `indices` have exceeded. CORE_USAGE: it is
 * not. Stores the exceeded limit of each run, so that another attempt does not hide it. */
int sweep_usage_check_memory(const char *root, const char *name, const int64_t *indices, size_t count,
                             int64_t limit_mb);

/* Appends a line per suggested time limit or memory. Lower limits are suggested only when all runs have ended and all
 * of their processes were measured. */
void sweep_usage_advise(const SweepUsage *usage, const char *name, CoreText *lines);

/* ---- cost.c ------------------------------------------------------------------------------------------------------ */

/* Cost of a sweep, for `sweep status --cost`: time in the queue, hours spent and wasted, memory, recommended limits. */

typedef struct SweepCostOptions {
  bool json, csv; /* as JSON, or as CSV with one line per run */
  bool runs;      /* one line per run in the text */
} SweepCostOptions;

/* Prints the cost of a sweep to stdout. Reads files only, and does not query Slurm. */
int sweep_cost_print(const SweepCostOptions *options, const char *root, const char *name);

#endif
