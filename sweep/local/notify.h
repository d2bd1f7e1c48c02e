/* Tells a webhook that a sweep has ended, or that a run of it needs a hand: [notify] of the site file (slurm/site.h),
 * which is the user's own and stays out of workspaces. Nobody needs to be logged in: whoever carried the last run out
 * tells, that is the last task on a cluster, the executor on one machine. Runs never wait for it: theirs have ended
 * before, and it gives up after SWEEP_NOTIFY_S seconds. */
#ifndef SWEEP_NOTIFY_H
#define SWEEP_NOTIFY_H
#include <stddef.h>

#include "slurm/site.h"

enum { SWEEP_NOTIFY_S = 10 };

typedef struct SweepNews {
  const char *sweep;        /* its name */
  const char *event;        /* "end", "failure", "test" */
  size_t runs, finished, failed, diverged;
  const char *message;      /* the reason of a failure; "" */
} SweepNews;

/* `ended` more runs of the sweep have ended for good. `failure`: what a failed one of them said; NULL: none failed. The
 * webhook hears of the first failure at once, and of the end when all runs have ended. Without a webhook nothing
 * happens and no file is touched. When the webhook can not be told, the log has a warning. */
void sweep_notify_ended(const char *root, const char *name, size_t ended, const char *failure);

/* Runs are submitted, for the first time or again. What was told before is forgotten, so that it can be told again. */
void sweep_notify_begin(const char *root, const char *name);

/* Sends one message now. CORE_FAIL names the host alone, never the address. */
int sweep_notify_send(const SlurmSite *site, const SweepNews *news);

#endif
