/* Supervision of runs: the one way to start, watch and end a run, for the executor (sweep/local/job.c) and for Slurm
 * tasks (sweep/cluster/task.c). A run is a process: its trainer, or `sweep supervise`, which starts, watches and ends
 * the processes of a user's program by the same functions (process.h) and reports by the trainer's exit codes. */
#ifndef SWEEP_SUPERVISOR_H
#define SWEEP_SUPERVISOR_H
#include "sweep/supervise/end.h"
#include "sweep/supervise/trainer.h"

typedef struct SweepSupervisor {
  const char *root;
  int64_t cgroup_job;           /* Slurm job whose control group measures its only run; 0: none */
  int signals;                  /* descriptor of sweep_signals_open */
  SweepChild **children;        /* [count] running */
  size_t count;
  double sample_end_s, sample_duration_s; /* last memory sample; monotonic */
} SweepSupervisor;

/* Blocks `signals`, which sweep_supervisor_wait then delivers. They must contain SIGCHLD. Borrows root. */
int sweep_supervisor_open(const char *root, const int *signals, size_t signal_count, SweepSupervisor *supervisor);
void sweep_supervisor_close(SweepSupervisor *supervisor);

/* Starts a run. The child belongs to the supervisor until sweep_supervisor_reap returns it. */
int sweep_supervisor_start(SweepSupervisor *supervisor, const SweepTrainer *trainer, SweepChild **child);

/* Asks a run to save a checkpoint and end: by SIGTERM, or below srun by SIGUSR2, which srun forwards to its ranks
 * without acting on it. cause: RULE or STOPPED; that of the last request counts. */
void sweep_supervisor_stop(SweepChild *child, SweepCause cause);

/* Waits for a signal. Returns it; 0: none came in time, or SIGCHLD. */
int sweep_supervisor_wait(SweepSupervisor *supervisor, int timeout_ms);

/* Samples the memory of all runs at once (run_memory.h), at most every second and for 2% of the time. */
void sweep_supervisor_sample_memory(SweepSupervisor *supervisor);

/* Collects the processes that have ended, until one is a run: completes its measurement, and kills what a program's
 * killed supervisor has left. Returns it with its end, and the caller frees it; NULL: none. */
SweepChild *sweep_supervisor_reap(SweepSupervisor *supervisor, SweepEnd *end);

#endif
