/* Jobs of the executor: the runs of one sweep, when they start, and what follows from their ends. */
#ifndef SWEEP_JOB_H
#define SWEEP_JOB_H
#include <stdbool.h>
#include <stddef.h>

#include "store/database/database.h"
#include "sweep/local/queue.h"
#include "sweep/supervise/supervisor.h"

typedef struct JobSet JobSet;

/* Loads the sweep's frozen file and manifest. Its unfinished runs wait, except diverged ones, which would diverge
 * again, and those that its [stop] rule has stopped. With request->force, runs that were done at the time of the
 * request wait, too. Borrows the
 * supervisor, which runs the jobs. CORE_USAGE: the request's conditions cannot be read. */
int job_set_create(SweepSupervisor *supervisor, const char *name, const SweepQueueRequest *request, JobSet **set);
/* Reloads after another submission: keeps running jobs, adds new runs and retries failed ones. */
int job_set_reload(JobSet *set, const SweepQueueRequest *request);
/* Reloads after another wave of a search: adds new runs. Failed runs stay failed, and nothing is forced. */
int job_set_continue(JobSet *set, const SweepQueueRequest *request);
/* Applies changes of the queued request that are not another submission: held and stopped runs. */
void job_set_update(JobSet *set, const SweepQueueRequest *request);
void job_set_destroy(JobSet **set);

const char *job_set_name(const JobSet *set);
typedef struct JobCounts {
  size_t waiting, running;
  size_t external;                  /* trained by another process; the set is not done before they end */
  size_t finished, failed, stopped; /* ended in this session; stopped: by rule */
} JobCounts;
/* Counts the jobs. A set that stops has none that wait or are external. */
JobCounts job_set_count(const JobSet *set);
/* Whether a waiting job can start now, i.e. is not held and does not wait for its parent. */
bool job_set_has_ready(const JobSet *set);
/* Whether it has a search with trials that are not proposed yet. */
bool job_set_has_open_search(const JobSet *set);
/* Whether runs have failed since the last call. */
bool job_set_has_new_failures(JobSet *set);
int job_set_max_running(const JobSet *set); /* maximum runs at a time */
int job_set_threads(const JobSet *set);     /* threads per run */

/* Starts the next ready job, unless it cannot be started (it has failed, and its state has the reason), or another
 * process trains it or has finished it. sets: the executor's sets, which may share runs. */
void job_set_start_next(JobSet *set, JobSet *const *sets, size_t count);
/* Checks which external jobs have ended. */
void job_set_poll_external(JobSet *set, JobSet *const *sets, size_t count);
/* Handles the end of a child; false: it is not of this set. A killed run is restarted up to twice, unless it was asked
 * to stop. */
bool job_set_end(JobSet *set, const SweepChild *child, const SweepEnd *end);
/* Lets the [stop] rule decide from the imported results, stops (SIGTERM) and resumes runs accordingly. Without a rule
 * nothing is done. False: another process is deciding. */
bool job_set_apply_rule(JobSet *set, StoreDatabase *database);
/* Returns the seconds between decisions; INFINITY without a rule. */
double job_set_rule_interval_s(const JobSet *set);

/* Stops the set: starts no more jobs, and sends SIGTERM (save and end) to running ones. Idempotent. */
void job_set_stop(JobSet *set);

#endif
