/* The runs of one sweep as the executor sees them: which wait, which run as which process, what an end means. */
#ifndef SWEEP_JOB_H
#define SWEEP_JOB_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "store/database/database.h"
#include "sweep/local/queue.h"

typedef struct JobSet JobSet;

/* Loads the sweep's frozen file and manifest, and takes as waiting what has not ended for good: not the finished, nor
 * the diverged (they would diverge again), unless request->force and they ended before it was asked; nor what the
 * sweep's [stop] rule has stopped. Borrows root. */
int job_set_create(const char *root, const char *name, const SweepQueueRequest *request, JobSet **set);
/* Loads again after another submit: keeps what runs, adds what is new or failed since. */
int job_set_reload(JobSet *set, const SweepQueueRequest *request);
/* Loads again after another wave of a search: adds what is new. Failed runs stay as they are, and nothing is forced. */
int job_set_continue(JobSet *set, const SweepQueueRequest *request);
void job_set_destroy(JobSet **set);

const char *job_set_name(const JobSet *set);
size_t job_set_waiting(const JobSet *set);
bool job_set_has_ready(
  const JobSet *set); /* one of them may start now: not all wait for the run that they begin from */
bool job_set_has_open_search(const JobSet *set); /* it has a search whose trials are not all known yet */
size_t job_set_running(const JobSet *set);
size_t job_set_external(const JobSet *set); /* somebody else trains them; the set is not done before they end */
size_t job_set_finished(const JobSet *set); /* in this session */
size_t job_set_failed(const JobSet *set);
size_t job_set_stopped(const JobSet *set);  /* by the sweep's [stop] rule, in this session */
bool job_set_has_new_failures(JobSet *set);      /* have runs failed since this was last asked? */
int job_set_max_running(const JobSet *set);      /* runs at a time */
int job_set_threads(const JobSet *set);     /* threads a run */

/* Starts the next waiting run. false: it could not be started (it counts as failed, with its reason in its state), or
 * somebody else trains it or has done it since. all: the executor's sets, which may share runs. */
bool job_set_start_next(JobSet *set, JobSet *const *all, size_t count);
/* Looks at the runs that somebody else trains: those that have ended are waited for no longer. */
void job_set_poll_external(JobSet *set, JobSet *const *all, size_t count);
/* A child has ended. true when it was this set's. Killed ones are tried again twice; a run stopped on
 * request is not. largest_kb: ru_maxrss. */
bool job_set_reap(JobSet *set, pid_t process, int status, int64_t largest_kb);
/* Samples the memory of what runs (run_memory.h). */
void job_set_sample_memory(JobSet *set);
/* Has its rule decide from what was imported last, stops what it stops (SIGTERM) and takes up what it promotes. Without
 * a rule: nothing. false: another process decides just now. */
bool job_set_apply_rule(JobSet *set, StoreDatabase *database);
double job_set_rule_interval_s(const JobSet *set); /* INFINITY without a rule */

/* Nothing more is started; running ones get SIGTERM (checkpoint and end). Idempotent. */
void job_set_stop(JobSet *set);

#endif
