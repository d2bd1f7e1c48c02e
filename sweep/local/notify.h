/* Tells people that a sweep has ended, or that a run of it needs a hand, by a webhook, a program of theirs or mail:
 * [notify] of the site file (slurm/site.h), which is the user's own and stays out of workspaces. Nobody needs to be
 * logged in: whoever carried the last run out tells, that is the last task on a cluster, and a process beside the
 * executor on one machine. Runs never wait for it, and each way is given up after SWEEP_NOTIFY_S seconds. */
#ifndef SWEEP_NOTIFY_H
#define SWEEP_NOTIFY_H
#include <stddef.h>

#include "slurm/site.h"

enum { SWEEP_NOTIFY_S = 10 };

typedef struct SweepNotification {
  const char *sweep;        /* its name */
  const char *event;        /* "end", "failure", "test" */
  size_t runs, finished, failed, diverged;
  const char *message;      /* the reason of a failure; "" */
} SweepNotification;

/* `ended` more runs of the sweep have ended for good. `failure`: what a failed one of them said; NULL: none failed.
 * The first failure is told at once, the end when all runs have ended. Where nobody is to be told nothing happens and
 * no file is touched. When somebody cannot be told, the log has a warning. */
void sweep_notify_runs_ended(const char *root, const char *name, size_t ended, const char *failure);

/* A run of the sweep has failed while others go on: told once, with that run's reason. */
void sweep_notify_run_failed(const char *root, const char *name);

/* Runs are submitted, for the first time or again. What was told before is forgotten, so that it can be told again.
 * `over`: how many of the sweep's runs nobody is to do now: done before, by another sweep, or no longer in its file. */
void sweep_notify_reset(const char *root, const char *name, size_t over);

/* Sends one message now, by all ways. A program of the user's has the message as its input, and SWEEP_EVENT,
 * SWEEP_NAME, SWEEP_RUNS, SWEEP_FINISHED, SWEEP_FAILED and SWEEP_DIVERGED in its environment. CORE_FAIL says which ways
 * failed; it names a webhook's host alone, never its address. */
int sweep_notify_send(const SlurmSite *site, const SweepNotification *news);
/* Appends who is told, without secrets: "https://hooks.slack.com, slack; mail to me@example.org". */
void sweep_notify_append_channels(const SlurmSite *site, CoreText *text);

#endif
