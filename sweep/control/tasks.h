/* The Slurm tasks of selected runs: `sweep stop` cancels them, `sweep hold` keeps them from starting. */
#ifndef SWEEP_TASKS_H
#define SWEEP_TASKS_H
#include "slurm/cluster.h"
#include "sweep/cluster/job_map.h"
#include "sweep/control/selection.h"

typedef struct SweepTasks {
  const SweepSelection *selection; /* borrowed */
  SlurmCluster *cluster;
  SweepJobMap job_map;
  SlurmTasks listing;
  SlurmId *ids;              /* [count] tasks, sorted, each once */
  size_t count;
  bool is_running;           /* whether one of them has started */
  bool *has_task;            /* [manifest.count] whether a run is in one of them, also one that shares a selected
                              * run's task */
  int lock;                  /* the journal's */
} SweepTasks;

/* Locks the sweep's journal, and finds the tasks of the selected runs that are in Slurm's queue; only_waiting: only
 * those that have not started. A sweep that was never submitted to Slurm has none. CORE_FAIL: Slurm does not answer, or
 * another process is submitting the sweep. Caller calls sweep_tasks_close, also after an error. */
int sweep_tasks_open(const SweepSelection *selection, bool only_waiting, SweepTasks *tasks);
void sweep_tasks_close(SweepTasks *tasks);

/* Cancels the tasks: running ones save a checkpoint and end. Records it in the journal. */
int sweep_tasks_cancel(const SweepTasks *tasks);
/* Holds the tasks; hold = false: releases them. */
int sweep_tasks_hold(const SweepTasks *tasks, bool hold);
/* Queries Slurm again. *has_ended: none of the tasks is in its queue any more. */
int sweep_tasks_check_end(const SweepTasks *tasks, bool *has_ended);

#endif
