/* The runs that other runs begin from (init.from = run:<id>): where they are, as far as a submission must know. */
#ifndef SWEEP_ANCESTRY_H
#define SWEEP_ANCESTRY_H
#include "slurm/cluster.h"
#include "sweep/cluster/job_map.h"
#include "sweep/spec/id_set.h"

typedef struct SweepAncestry SweepAncestry;

typedef enum SweepParentState {
  SWEEP_PARENT_READY,    /* no parent, or its checkpoint is there */
  SWEEP_PARENT_LISTED,   /* among the runs that are being submitted */
  SWEEP_PARENT_QUEUED,   /* a task of Slurm, of this sweep or of another one of the workspace, carries it */
  SWEEP_PARENT_MISSING,  /* not done, and nobody is at it: the child would fail */
} SweepParentState;

/* `own`: this sweep's job_map, joined with Slurm's queue, of the runs `ids` by manifest index. cluster NULL: nothing
 * is in a queue. All borrowed. Other sweeps are looked at, and Slurm asked for them, only when a parent is theirs. */
SweepAncestry *sweep_ancestry_create(const char *root, const char *name, SlurmCluster *cluster, const SweepIdSet *ids,
                                     const SweepJobMap *own);
void sweep_ancestry_destroy(SweepAncestry **ancestry);

/* Where the run is that `from` (the setting init.from) names. `listed`: the runs of this submission; *place is its
 * place there (LISTED), *task what carries it (QUEUED), `parent` its id ("" for none). CORE_FAIL: files or Slurm can
 * not be read. */
int sweep_ancestry_find(SweepAncestry *ancestry, const char *from, const SweepIdSet *listed, SweepParentState *where,
                        size_t *place, SlurmId *task, char parent[CORE_RUN_ID]);

#endif
