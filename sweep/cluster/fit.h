/* Whether a task fits a partition of the cluster, checked before anything is submitted. */
#ifndef SWEEP_FIT_H
#define SWEEP_FIT_H
#include "slurm/cluster.h"

/* Checks that a task with these settings fits one of its partitions. CORE_USAGE: its limits exclude it, or Slurm
 * accepts no jobs there at present; the message names settings and limits. A partition that fits but starts no jobs at
 * present is a warning, since they wait in the queue. */
int sweep_fit_check(SlurmCluster *cluster, const SlurmSettings *settings);

#endif
