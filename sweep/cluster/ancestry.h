/* Finds the parents of runs (init.from = run:<id>) as far as a submission depends on them. */
#ifndef SWEEP_ANCESTRY_H
#define SWEEP_ANCESTRY_H
#include "slurm/cluster.h"
#include "sweep/cluster/job_map.h"
#include "sweep/spec/id_set.h"

typedef struct SweepAncestry SweepAncestry;

typedef enum SweepParentState {
  SWEEP_PARENT_READY,    /* no parent, or its checkpoint exists */
  SWEEP_PARENT_LISTED,   /* among the runs of this submission */
  SWEEP_PARENT_QUEUED,   /* an unfinished Slurm task of any sweep of the workspace runs it */
  SWEEP_PARENT_MISSING,  /* neither done nor in a queue: the child would fail */
} SweepParentState;

typedef struct SweepParentLocation {
  SweepParentState state;
  char id[CORE_RUN_ID];  /* "" without a parent */
  size_t list_index;     /* SWEEP_PARENT_LISTED: index in the list */
  SlurmId task;          /* SWEEP_PARENT_QUEUED: the task that runs it */
} SweepParentLocation;

/* Creates the search for parents. ids: the runs of this sweep by manifest index; job_map: its job map, joined with
 * Slurm's queue; cluster NULL: no queue. All are borrowed. Other sweeps, and Slurm's tasks of them, are read only if a
 * parent is not found here. */
SweepAncestry *sweep_ancestry_create(const char *root, const char *name, SlurmCluster *cluster, const SweepIdSet *ids,
                                     const SweepJobMap *job_map);
void sweep_ancestry_destroy(SweepAncestry **ancestry);

/* Locates the parent that `from` (the setting init.from) names. listed: the runs of this submission. CORE_FAIL: a file
 * or Slurm's queue cannot be read. */
int sweep_ancestry_find(SweepAncestry *ancestry, const char *from, const SweepIdSet *listed,
                        SweepParentLocation *parent);

#endif
