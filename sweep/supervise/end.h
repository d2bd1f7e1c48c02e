/* The end of a run's process: one cause from its wait status, its state and the requests to stop it. */
#ifndef SWEEP_END_H
#define SWEEP_END_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "store/workspace/run.h"
#include "sweep/supervise/run_memory.h"

/* Reason why an attempt of a run, or the Slurm task that it belongs to, ended before the run was done. Reasons for
 * which a task stops its runs override those above them. Record files contain the names (record.c). */
typedef enum SweepCause {
  SWEEP_CAUSE_NONE,           /* it is running or done, or its own state has the reason */
  SWEEP_CAUSE_TIME_LIMIT,     /* stopped before the task's time limit, and requeued */
  SWEEP_CAUSE_NOT_REQUEUED,   /* the same, but requeueing failed: sweep submit resumes it */
  SWEEP_CAUSE_STOPPED,        /* by a signal: a user's cancel, requeue or stop, or possibly preemption */
  SWEEP_CAUSE_KILLED,
  SWEEP_CAUSE_OUT_OF_MEMORY,
  SWEEP_CAUSE_NO_PROGRESS,    /* slurm.max_restarts consecutive starts got no further */
  SWEEP_CAUSE_NOT_STARTED,    /* no program, directory or configuration */
  SWEEP_CAUSE_PREEMPTED,      /* Slurm reported it; otherwise preemption is SWEEP_CAUSE_STOPPED */
  SWEEP_CAUSE_RULE,           /* stopped by the sweep's [stop] rule */
  SWEEP_CAUSE_CANCELLED,      /* scancel, or a user's requeue, as Slurm reported it of a task; never in a record */
} SweepCause;

/* A supervised run, from its start until the caller has handled its end (supervisor.h). */
typedef struct SweepChild {
  char id[CORE_RUN_ID];
  pid_t process;
  double started_s;           /* monotonic: calendar time may be adjusted */
  bool is_program;            /* a program's supervisor, which has told the program's CPU time apart */
  bool is_below_srun;         /* several ranks */
  SweepCause requested;       /* reason of the last request to stop: RULE or STOPPED; NONE: there was none */
  SweepMemoryProbe memory;
} SweepChild;

typedef struct SweepEnd {
  bool is_done;               /* exited with 0 after its run had ended */
  SweepCause cause;           /* NONE (done, or failed by itself), STOPPED, RULE, KILLED or NOT_STARTED */
  int signal;                 /* that killed it; 0: none */
  bool can_restart;           /* killed, but not at a limit of the user (ulimit), which a restart would inherit */
  bool has_other_owner;       /* failed since another process writes the run */
  char reason[160];           /* "exit code 2"; "": done, or stopped as requested */
} SweepEnd;

/* Judges a process by its wait status. usage: that of the process and its children. state: the run's after the end. */
SweepEnd sweep_end_judge(const SweepChild *child, int status, const struct rusage *usage, const StoreState *state);

/* Writes a failure to the run's state, unless it has its own end: it failed, diverged, is running, or finished in an
 * attempt after restarted_attempt, the last one before a restart from the beginning (no restart: -1 or 0). Appends the
 * last line of the run's log with_last_line. Errors are warnings. */
void sweep_end_record_failure(const char *root, const char *id, int64_t restarted_attempt, const char *reason,
                              bool with_last_line);

/* Copies the last line of a log that is not blank; "": none. */
void sweep_end_read_last_line(const char *path, char *line, size_t capacity);

#endif
