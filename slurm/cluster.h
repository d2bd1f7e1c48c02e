/* Interface to a Slurm cluster: one table of functions with two backends (command.c: sbatch, squeue, scontrol, sacct,
 * sinfo; rest.c: slurmrestd). Arguments are typed values and results are typed rows; nothing here knows sweeps or runs.
 *
 *   SlurmCluster *cluster;
 *   TRY(slurm_cluster_open("auto", &cluster));
 *   if (slurm_submit(cluster, &job, &id) != CORE_OK && slurm_fault(cluster) == SLURM_TIMED_OUT)
 *     ...                              // the job may exist nevertheless
 *   slurm_cluster_close(&cluster);
 *
 * All functions return CORE_OK, or CORE_FAIL / CORE_USAGE with core_error's message; slurm_fault then returns the kind
 * of the failure. Calls block for at most SLURM_CALL_S seconds. A handle may be used by one thread only. */
#ifndef SLURM_CLUSTER_H
#define SLURM_CLUSTER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/text.h"
#include "slurm/settings.h"

enum { SLURM_NAME = 128, SLURM_CALL_S = 60 };

/* Kind of the last call's failure. */
typedef enum SlurmFault {
  SLURM_FINE,
  SLURM_ABSENT,       /* no Slurm on this machine: no commands, or no configuration */
  SLURM_UNREACHABLE,  /* slurmctld, munge or slurmrestd does not answer: nothing was done */
  SLURM_TIMED_OUT,    /* no answer in time: the request may have been executed, or may be later */
  SLURM_REFUSED,      /* Slurm refused with a reason: a limit, an unknown partition, no permission */
  SLURM_NOT_THERE,    /* no such job, or it has been purged */
  SLURM_GARBLED,      /* unparsable answer: as with SLURM_TIMED_OUT, the request may have been executed */
} SlurmFault;

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* A job, or one task of an array; task -1: the whole job. */
typedef struct SlurmId { int64_t job, task; } SlurmId;

/* A job array to submit. Strings are borrowed. `comment` identifies the job later: [A-Za-z0-9=:._-] and blanks only. */
typedef struct SlurmJob {
  const char *name, *comment;
  const char *script;              /* batch script, from slurm_script_print */
  const char *directory;              /* working directory, absolute */
  const char *output;              /* file for the script's output, with %A, %a, and %% for %; NULL: /dev/null */
  int64_t tasks;                   /* indices 0 .. tasks-1 */
  int64_t running_max;             /* %throttle; 0: none */
  const SlurmId *after;            /* jobs and tasks that must have ended, in any state (afterany) */
  size_t after_count;
  int64_t after_each; /* job whose task t must succeed before task t of this one starts (aftercorr); Slurm cancels a
                       * task whose predecessor fails; 0: none */
  const char *remark;              /* comment line for the script; NULL: none */
  bool held;
  const SlurmSettings *settings;   /* resources, signal, requeue */
} SlurmJob;

/* Result of sbatch --test-only: when and where a job would start. */
typedef struct SlurmForecast {
  int64_t start_unix_s;
  int64_t cpus;
  char nodes[SLURM_NAME], partition[SLURM_NAME];
} SlurmForecast;

/* ---- the cluster ------------------------------------------------------------------------------------------------- */

typedef struct SlurmLimits {
  char version[32], cluster[SLURM_NAME];
  int64_t array_tasks_max;   /* maximum tasks of one array: the lower of MaxArraySize and max_array_tasks */
  int64_t jobs_max;          /* maximum jobs in slurmctld: MaxJobCount */
  int64_t message_timeout_s; /* MessageTimeout: timeout of Slurm's commands */
  int64_t min_job_age_s;     /* MinJobAge: age at which finished jobs are purged */
  bool accounting;           /* whether sacct has a database */
  char mpi_default[SLURM_NAME], preempt_mode[SLURM_NAME];
} SlurmLimits;

/* Remaining limits of this user in an account (and QOS), from the accounting database. Without a limit, submit_room is
 * -1 and minutes are INFINITY. */
typedef struct SlurmAllowance {
  char account[SLURM_NAME];           /* requested account, or the user's default; "": none */
  int64_t submit_max, submit_room;    /* queued array tasks and jobs: maximum, and how many more fit now */
  double cpu_minutes, gpu_minutes;    /* left of GrpTRESMins */
  double task_cpu_minutes;            /* limit per task (MaxTRESMinsPerJob) */
  double task_minutes;                /* wall time limit per task (MaxWall) */
} SlurmAllowance;

typedef struct SlurmPartition {
  char name[SLURM_NAME];
  bool up;                   /* it starts jobs */
  bool is_open;              /* it accepts jobs: up, or down */
  bool is_default;
  int64_t time_max_s;        /* 0: none */
  int64_t nodes, nodes_up;   /* up: neither down nor drained */
  int64_t cpus_max, memory_max_mb, gpus_max; /* maxima over its nodes */
} SlurmPartition;

/* ---- the queue --------------------------------------------------------------------------------------------------- */

typedef enum SlurmState {
  SLURM_PENDING, SLURM_CONFIGURING, SLURM_RUNNING, SLURM_COMPLETING, SLURM_SUSPENDED, SLURM_REQUEUED,
  SLURM_COMPLETED, SLURM_CANCELLED, SLURM_FAILED, SLURM_TIMEOUT, SLURM_NODE_FAIL, SLURM_PREEMPTED, SLURM_BOOT_FAIL,
  SLURM_DEADLINE, SLURM_OUT_OF_MEMORY, SLURM_UNKNOWN_STATE,
} SlurmState;
enum { SLURM_STATES = SLURM_UNKNOWN_STATE + 1 };

const char *slurm_state_name(SlurmState state);      /* Slurm's name: "OUT_OF_MEMORY" */
/* Parses a state, also "CANCELLED by 1000" and "RUNNING+..."; SLURM_UNKNOWN_STATE for any other text. */
SlurmState slurm_state_from_name(const char *name);
bool slurm_state_is_over(SlurmState state);          /* whether it will not run again by itself */

/* Array tasks `first` to `last` in steps of `step` that share one state; -1 to -1 for a job that is not an array. One
 * row may hold many pending tasks. */
typedef struct SlurmTask {
  int64_t job; /* id of the array or job; with a task's index ("123_4") a name that does not change */
  int64_t first, last, step;
  SlurmState state;
  char reason[64];           /* Slurm's reason for waiting or ending: "Resources"; "None" without one */
  int64_t limit_s;            /* 0: none or unknown */
  int64_t submit_unix_s;      /* submission, or the last requeue; 0: unknown */
  int64_t start_unix_s;       /* actual or expected start; 0: unknown */
  int64_t restarts;          /* number of requeues; -1: unknown */
  int exit_code, exit_signal; /* -1: unknown */
  char user[64], partition[64], nodes[SLURM_NAME];
  char cancelled_by[64];     /* user name or id, from accounting only; "": not cancelled or unknown */
  char name[SLURM_NAME], comment[SLURM_NAME]; /* both can be changed; "" in the accounting database */
  bool is_in_directory;      /* its working directory is that of the query */
} SlurmTask;

typedef struct SlurmTasks {
  SlurmTask *rows;
  size_t count, capacity;
} SlurmTasks; /* zero-initialize; free with slurm_tasks_free */
void slurm_tasks_free(SlurmTasks *tasks);

/* Jobs to list: with one of these names, or submitted with this working directory (NULL: none), of all users. With
 * neither, all jobs of this user. */
typedef struct SlurmSelection {
  const char *const *names;  /* [count] */
  size_t count;
  const char *directory;
} SlurmSelection;
bool slurm_selection_has(const SlurmSelection *selection, const char *name, const char *directory);
bool slurm_selection_is_mine(const SlurmSelection *selection);

/* ---- the table --------------------------------------------------------------------------------------------------- */

typedef struct SlurmCluster SlurmCluster;

/* Backend; `backend` is its state. Each function sets *fault on failure. A NULL entry is unsupported: the caller gets
 * CORE_FAIL / SLURM_REFUSED. For semantics see the public functions below. */
typedef struct SlurmApi {
  const char *name; /* "cli", "rest" */
  int (*open)(void **backend, SlurmFault *fault);
  void (*close)(void *backend);
  int (*limits)(void *backend, SlurmLimits *limits, SlurmFault *fault);
  int (*partitions)(void *backend, SlurmPartition **partitions, size_t *count, SlurmFault *fault);
  int (*allowance)(void *backend, const char *account, const char *qos, SlurmAllowance *allowance, SlurmFault *fault);
  int (*submit)(void *backend, const SlurmJob *job, int64_t *id, SlurmFault *fault);
  int (*test)(void *backend, const SlurmJob *job, SlurmForecast *forecast, SlurmFault *fault);
  int (*list)(void *backend, const SlurmSelection *selection, SlurmTasks *tasks, SlurmFault *fault);
  int (*history)(void *backend, const int64_t *jobs, size_t count, const char *directory, int64_t since_unix_s,
                 SlurmTasks *tasks, SlurmFault *fault);
  int (*cancel)(void *backend, const SlurmId *ids, size_t count, SlurmFault *fault);
  int (*hold)(void *backend, const SlurmId *ids, size_t count, bool hold, SlurmFault *fault);
  int (*requeue)(void *backend, SlurmId id, SlurmFault *fault);
} SlurmApi;

extern const SlurmApi slurm_api_commands; /* command.c */
extern const SlurmApi slurm_api_rest;     /* rest.c */

/* Opens a cluster by `api`: "cli", "rest", or "auto" (the commands if they exist, otherwise slurmrestd). Fault
 * SLURM_ABSENT: neither exists. The caller closes it. On failure *cluster is NULL and *fault (may be NULL) the kind. */
int slurm_cluster_open(const char *api, SlurmCluster **cluster, SlurmFault *fault);
void slurm_cluster_close(SlurmCluster **cluster);
const char *slurm_cluster_api(const SlurmCluster *cluster); /* "cli" or "rest" */
SlurmFault slurm_fault(const SlurmCluster *cluster);        /* last call's; SLURM_FINE after success */

/* Returns the cluster's limits, queried once per handle. */
int slurm_limits(SlurmCluster *cluster, const SlurmLimits **limits);
/* Queries the limits of an account ("": the user's default) and QOS ("": none). Without accounting, and through
 * slurmrestd, nothing is limited here; Slurm itself refuses what exceeds a limit. */
int slurm_allowance(SlurmCluster *cluster, const char *account, const char *qos, SlurmAllowance *allowance);
/* Lists the partitions; free(*partitions). */
int slurm_partitions(SlurmCluster *cluster, SlurmPartition **partitions, size_t *count);

/* Submits the array in one call. After SLURM_TIMED_OUT or SLURM_GARBLED it may exist: search for its comment with
 * slurm_list. */
int slurm_submit(SlurmCluster *cluster, const SlurmJob *job, int64_t *id);
int slurm_test(SlurmCluster *cluster, const SlurmJob *job, SlurmForecast *forecast);

/* Appends all tasks of the selected jobs, including ended jobs that are not yet purged. Makes one call to Slurm. */
int slurm_list(SlurmCluster *cluster, const SlurmSelection *selection, SlurmTasks *tasks);

/* Appends these jobs' tasks from the accounting database, also long after their end, in one call. Fault SLURM_REFUSED:
 * there is none. Ignores jobs submitted before `since_unix_s`, since job ids are reused after years. directory: for
 * is_in_directory. */
int slurm_history(SlurmCluster *cluster, const int64_t *jobs, size_t count, const char *directory,
                  int64_t since_unix_s, SlurmTasks *tasks);

/* Cancel, hold or release any number of jobs and tasks in few calls. Jobs that have ended are not an error. */
int slurm_cancel(SlurmCluster *cluster, const SlurmId *ids, size_t count);
int slurm_hold(SlurmCluster *cluster, const SlurmId *ids, size_t count, bool hold); /* false: release */
int slurm_requeue(SlurmCluster *cluster, SlurmId id); /* kills a running task first */

/* Formats "123_4" or "123" into `buffer` of at least 48 bytes and returns it. */
const char *slurm_id_format(SlurmId id, char *buffer);

/* Appends rows like *pattern for an array expression: "7", "0-3,8", "0-10:2", "[5-9%2]". Returns false if it is
 * invalid. */
bool slurm_tasks_add(SlurmTasks *tasks, const SlurmTask *pattern, const char *expression);

/* ---- script.c: batch scripts ------------------------------------------------------------------------------------- */

/* Batch script of an array: #SBATCH lines and one command, from typed values only. Tasks differ only in their index. */

/* Appends the script. `command` is a program and its arguments, which are quoted here. It replaces the batch shell
 * (exec) so that it receives the signals that Slurm sends before the time limit and at preemption. Modules are loaded
 * before, and slurm.setup runs. */
void slurm_script_print(const SlurmJob *job, const char *const *command, CoreText *script);

/* Calls `emit` for each option of the job except its name, comment, array and dependencies: "--time", "02:00:00". value
 * NULL: an option without a value. */
void slurm_options_each(const SlurmSettings *settings,
                        void (*emit)(void *context, const char *option, const char *value), void *context);

/* Appends the job's dependencies, "afterany:12:13_4,aftercorr:15"; nothing if it has none. */
void slurm_options_dependency(const SlurmJob *job, CoreText *text);

/* ---- reason.c: reasons of pending jobs --------------------------------------------------------------------------- */

/* Returns an explanation such as "waits for free nodes"; the reason itself if it is unknown; that of the first of
 * several ("JobArrayTaskLimit,JobHeldUser"). */
const char *slurm_reason_text(const char *reason);
/* Returns a remedy; "": only waiting helps. */
const char *slurm_reason_advice(const char *reason);
/* Whether the job waits until it is released. */
bool slurm_reason_is_held(const char *reason);
/* Whether the job will never start unless something is changed. */
bool slurm_reason_is_stuck(const char *reason);

/* ---- process.c: programs that describe this machine -------------------------------------------------------------- */

/* Runs a program from PATH, without a shell, for at most timeout_s seconds and appends its stdout and stderr.
 * CORE_FAIL: it could not be started, timed out, or ended with a nonzero exit code. */
int slurm_probe(const char *const *arguments, int timeout_s, CoreText *output);

/* Sets *known to whether `srun --mpi=list` lists this kind, and *kinds to the listed ones, comma-separated. CORE_FAIL:
 * srun failed. */
int slurm_probe_mpi(const char *kind, bool *known, CoreText *kinds);

#endif
