/* A Slurm cluster as the sweep program sees it: one table of functions, two ways behind it (command.c: sbatch, squeue,
 * scontrol, sacct, sinfo; rest.c: slurmrestd). Everything goes in as typed values and comes out as typed rows; nothing
 * here knows what a sweep or a run is.
 *
 *   SlurmCluster *cluster;
 *   TRY(slurm_cluster_open("auto", &cluster));
 *   if (slurm_submit(cluster, &job, &id) != CORE_OK && slurm_fault(cluster) == SLURM_TIMED_OUT) ... it may exist all
 * the same slurm_cluster_close(&cluster);
 *
 * All functions return CORE_OK, or CORE_FAIL / CORE_USAGE with core_error's message; slurm_fault then says of what kind
 * the last failure was. Calls block for at most SLURM_CALL_S seconds. A handle belongs to one thread. */
#ifndef SLURM_CLUSTER_H
#define SLURM_CLUSTER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "slurm/settings.h"

enum { SLURM_NAME = 128, SLURM_CALL_S = 60 };

/* Why the last call failed, for who decides what to do next. */
typedef enum SlurmFault {
  SLURM_FINE,
  SLURM_ABSENT,       /* no Slurm on this machine: no commands, or no configuration */
  SLURM_UNREACHABLE,  /* slurmctld (munge, slurmrestd) does not answer: nothing was done */
  SLURM_TIMED_OUT,    /* no answer in time: what was asked for may have been done or may still be done */
  SLURM_REFUSED,      /* Slurm said no, and why: a limit, an unknown partition, no permission */
  SLURM_NOT_THERE,    /* it knows no such job (any more) */
  SLURM_GARBLED,      /* the answer was not understood: as with SLURM_TIMED_OUT, it may have been done */
} SlurmFault;

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

/* A job, or one task of an array; task -1: all of it. */
typedef struct SlurmId { int64_t job, task; } SlurmId;

/* One job array. All strings are borrowed. `comment` identifies it later: [A-Za-z0-9=:._-] and blanks only. */
typedef struct SlurmJob {
  const char *name, *comment;
  const char *script;              /* the whole batch script, as script.h makes it of the rest */
  const char *folder;              /* working directory, absolute */
  const char *output;              /* file for the script's own words, with %A, %a and %% for %; NULL: nowhere */
  int64_t tasks;                   /* indices 0 .. tasks-1 */
  int64_t running_max;             /* %throttle; 0: none */
  const SlurmId *after;            /* jobs and tasks that must have ended, however (afterany) */
  size_t after_count;
  int64_t after_each; /* a job; 0: none. Task t waits for that job's task t to succeed (aftercorr); Slurm cancels it
                       * when that task fails */
  const char *remark;              /* a comment for the script, one line; NULL: none */
  bool held;
  const SlurmSettings *settings;   /* resources, signal, requeue */
} SlurmJob;

/* What --test-only says: when and where a job would start; nothing is submitted. */
typedef struct SlurmForecast {
  int64_t start_unix_s;
  int64_t cpus;
  char nodes[SLURM_NAME], partition[SLURM_NAME];
} SlurmForecast;

/* ---- what the cluster is like ------------------------------------------------------------------------------------ */

typedef struct SlurmLimits {
  char version[32], cluster[SLURM_NAME];
  int64_t array_tasks_max;   /* tasks that one array may have: MaxArraySize, or max_array_tasks where that is lower */
  int64_t jobs_max;          /* jobs that slurmctld keeps at all: MaxJobCount */
  int64_t message_timeout_s; /* after which a command gives up */
  int64_t min_job_age_s;     /* after which finished jobs are forgotten */
  bool accounting;           /* is there a database for sacct? */
  char mpi_default[SLURM_NAME], preempt_mode[SLURM_NAME];
} SlurmLimits;

/* What an account (and a quality of service) lets this user do, by the accounting database's limits. Without a limit:
 * submit_room -1, and INFINITY for minutes. */
typedef struct SlurmAllowance {
  char account[SLURM_NAME];           /* the one that was asked about, or the user's default; "" when there is none */
  int64_t submit_max, submit_room;    /* jobs in the queue (array tasks count each): at most, and how many more now */
  double cpu_minutes, gpu_minutes;    /* left of GrpTRESMins; INFINITY: no limit */
  double task_cpu_minutes;            /* a task may use (MaxTRESMinsPerJob) */
  double task_minutes;                /* a task may last (MaxWall) */
} SlurmAllowance;

typedef struct SlurmPartition {
  char name[SLURM_NAME];
  bool up, is_default;
  int64_t time_max_s;        /* 0: none */
  int64_t nodes, nodes_up;   /* up: idle, mixed or allocated */
  int64_t cpus_max, memory_max_mb, gpus_max; /* of its largest node */
} SlurmPartition;

/* ---- what is in the queue ---------------------------------------------------------------------------------------- */

typedef enum SlurmState {
  SLURM_PENDING, SLURM_CONFIGURING, SLURM_RUNNING, SLURM_COMPLETING, SLURM_SUSPENDED, SLURM_REQUEUED,
  SLURM_COMPLETED, SLURM_CANCELLED, SLURM_FAILED, SLURM_TIMEOUT, SLURM_NODE_FAIL, SLURM_PREEMPTED, SLURM_BOOT_FAIL,
  SLURM_DEADLINE, SLURM_OUT_OF_MEMORY, SLURM_UNKNOWN_STATE,
} SlurmState;
enum { SLURM_STATES = SLURM_UNKNOWN_STATE + 1 };

const char *slurm_state_name(SlurmState state);      /* Slurm's word: "OUT_OF_MEMORY" */
SlurmState slurm_state_from_name(
  const char *name); /* also "CANCELLED by 1000", "RUNNING+..."; else SLURM_UNKNOWN_STATE */
bool slurm_state_is_over(SlurmState state);          /* it will not run (again) by itself */

/* Array tasks `first` to `last` in steps of `step`, which are alike; -1 to -1 for a job that is no array. Waiting tasks
 * come many in one row. */
typedef struct SlurmTask {
  int64_t job; /* the array's id (or the job's): with a task's index "123_4", the name that stays the same */
  int64_t first, last, step;
  SlurmState state;
  char reason[64];           /* Slurm's word for why it waits or ended: "Resources"; "None" when it gives none */
  int64_t limit_s;            /* 0: none or unknown */
  int64_t start_unix_s;       /* real or expected; 0: unknown */
  int64_t restarts;          /* times it was requeued; -1: unknown */
  int exit_code, exit_signal; /* -1: unknown */
  char user[64], partition[64], nodes[SLURM_NAME];
  char cancelled_by[64];     /* accounting only: a user's name or number; "" */
  char comment[SLURM_NAME];
} SlurmTask;

typedef struct SlurmTasks {
  SlurmTask *rows;
  size_t count, capacity;
} SlurmTasks; /* zero-initialise; slurm_tasks_free */
void slurm_tasks_free(SlurmTasks *tasks);

/* ---- the table --------------------------------------------------------------------------------------------------- */

typedef struct SlurmCluster SlurmCluster;

/* One way to talk to Slurm; `way` is its own memory. Each sets *fault when it fails. A NULL entry: it can not do that,
 * and the caller gets CORE_FAIL / SLURM_REFUSED. Meanings as in the public functions below. */
typedef struct SlurmApi {
  const char *name; /* "cli", "rest" */
  int (*open)(void **way, SlurmFault *fault);
  void (*close)(void *way);
  int (*limits)(void *way, SlurmLimits *limits, SlurmFault *fault);
  int (*partitions)(void *way, SlurmPartition **partitions, size_t *count, SlurmFault *fault);
  int (*allowance)(void *way, const char *account, const char *qos, SlurmAllowance *allowance, SlurmFault *fault);
  int (*submit)(void *way, const SlurmJob *job, int64_t *id, SlurmFault *fault);
  int (*test)(void *way, const SlurmJob *job, SlurmForecast *forecast, SlurmFault *fault);
  int (*list)(void *way, const char *const *names, size_t count, SlurmTasks *tasks, SlurmFault *fault);
  int (*history)(void *way, const int64_t *jobs, size_t count, int64_t since_unix_s, SlurmTasks *tasks,
                 SlurmFault *fault);
  int (*cancel)(void *way, const SlurmId *ids, size_t count, SlurmFault *fault);
  int (*hold)(void *way, const SlurmId *ids, size_t count, bool hold, SlurmFault *fault);
  int (*requeue)(void *way, SlurmId id, SlurmFault *fault);
} SlurmApi;

extern const SlurmApi slurm_api_commands; /* command.c */
extern const SlurmApi slurm_api_rest;     /* rest.c */

/* `api`: "cli", "rest", or "auto": the commands where they are, else slurmrestd. SLURM_ABSENT where there is neither.
 * Caller closes. A failed open leaves *cluster NULL; *fault (may be NULL) says of what kind it was. */
int slurm_cluster_open(const char *api, SlurmCluster **cluster, SlurmFault *fault);
void slurm_cluster_close(SlurmCluster **cluster);
const char *slurm_cluster_api(const SlurmCluster *cluster); /* "cli" or "rest" */
SlurmFault slurm_fault(const SlurmCluster *cluster);        /* of the last call; SLURM_FINE after a success */

/* Asked once a handle, then remembered. */
int slurm_limits(SlurmCluster *cluster, const SlurmLimits **limits);
/* account "": the user's default; qos "": none. Where nothing can be asked (no accounting, slurmrestd), nothing is
 * limited: Slurm refuses what goes too far. */
int slurm_allowance(SlurmCluster *cluster, const char *account, const char *qos, SlurmAllowance *allowance);
/* free(*partitions). */
int slurm_partitions(SlurmCluster *cluster, SlurmPartition **partitions, size_t *count);

/* Submits the array in one call. On SLURM_TIMED_OUT or SLURM_GARBLED it may exist: look for its comment with
 * slurm_list. */
int slurm_submit(SlurmCluster *cluster, const SlurmJob *job, int64_t *id);
int slurm_test(SlurmCluster *cluster, const SlurmJob *job, SlurmForecast *forecast);

/* Appends all tasks of jobs with one of these names, of all users, those that ended and are not yet forgotten too. One
 * call to Slurm for any number of them. count 0: all of this user's. */
int slurm_list(SlurmCluster *cluster, const char *const *names, size_t count, SlurmTasks *tasks);

/* Appends what the accounting database knows of these jobs' tasks, also long after their end: one call. SLURM_REFUSED
 * where there is none. since: nothing that was submitted earlier (job ids are used again after years). */
int slurm_history(SlurmCluster *cluster, const int64_t *jobs, size_t count, int64_t since_unix_s, SlurmTasks *tasks);

/* Each addresses any number of jobs and tasks in few calls. Jobs that are gone already are no error. */
int slurm_cancel(SlurmCluster *cluster, const SlurmId *ids, size_t count);
int slurm_hold(SlurmCluster *cluster, const SlurmId *ids, size_t count, bool hold); /* false: release */
int slurm_requeue(SlurmCluster *cluster, SlurmId id); /* of a running task: it is killed first */

/* "123_4", "123". buffer >= 48 bytes. */
const char *slurm_id_format(SlurmId id, char *buffer);

/* An array expression to rows like *pattern: "7", "0-3,8", "0-10:2", "[5-9%2]". false: it is none. */
bool slurm_tasks_add(SlurmTasks *tasks, const SlurmTask *pattern, const char *expression);

#endif
