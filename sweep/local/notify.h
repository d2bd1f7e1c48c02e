/* Notifies the user that a sweep has ended or a run has failed, by a webhook, a program or mail: [notify] of the site
 * file (slurm/site.h), which belongs to the user and is not part of a workspace. The process that ends the last run
 * sends the notification: the last task on a cluster, a child of the executor on one machine. Runs never wait for it,
 * and each channel is given up after SWEEP_NOTIFY_S seconds. */
#ifndef SWEEP_NOTIFY_H
#define SWEEP_NOTIFY_H
#include <stddef.h>

#include "slurm/site.h"

enum { SWEEP_NOTIFY_S = 10 };

typedef struct SweepNotification {
  const char *sweep;        /* its name */
  const char *event;        /* "end", "failure", "test" */
  size_t runs, finished, failed, diverged;
  const char *message;      /* reason of a failure; "": none */
} SweepNotification;

/* Records that `ended` more runs of the sweep have ended. failure: reason of a failed one; NULL: none failed. Notifies
 * of the first failure at once, and of the end when all runs have ended. Without a channel nothing is done and no file
 * is touched. An error of a channel is a warning. */
void sweep_notify_runs_ended(const char *root, const char *name, size_t ended, const char *failure);

/* Notifies once that a run of the sweep has failed while others continue, with that run's reason. */
void sweep_notify_run_failed(const char *root, const char *name);

/* Resets the notifications of a sweep whose runs are submitted, so that they can be sent again. not_pending: number of
 * its runs that are not part of this submission: done, in another sweep, or no longer in its file. */
void sweep_notify_reset(const char *root, const char *name, size_t not_pending);

/* Sends a notification through all channels. A user's program gets the message on its standard input, and SWEEP_EVENT,
 * SWEEP_NAME, SWEEP_RUNS, SWEEP_FINISHED, SWEEP_FAILED and SWEEP_DIVERGED in its environment. CORE_FAIL: a channel
 * failed; the message names the channels, and only the host of a webhook. */
int sweep_notify_send(const SlurmSite *site, const SweepNotification *notification);
/* Appends the channels, without secrets: "https://hooks.slack.com, slack; mail to me@example.org". */
void sweep_notify_append_channels(const SlurmSite *site, CoreText *text);

#endif
