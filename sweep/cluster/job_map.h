/* Maps each run of a sweep to its Slurm task and that task's state, by joining the journal, the batches and one listing
 * of the queue. Used to submit, to show the status and to control runs. */
#ifndef SWEEP_JOB_MAP_H
#define SWEEP_JOB_MAP_H
#include "slurm/cluster.h"
#include "sweep/cluster/batch.h"
#include "sweep/cluster/journal.h"
#include "sweep/spec/manifest.h"

/* A run's latest task that Slurm accepted or may have accepted. */
typedef struct SweepJobMapEntry {
  const SweepArray *array;   /* NULL: never submitted to Slurm */
  int64_t task;              /* index in the array */
  size_t batch, line;        /* index in SweepJobMap.batches, and the run's line there */
} SweepJobMapEntry;

typedef struct SweepJobMap {
  SweepJournal journal;
  SweepBatch *batches;       /* [batch_count], batch number i + 1 at index i; batches without an entry are empty */
  size_t batch_count;
  SweepJobMapEntry *entries; /* [count], by manifest index */
  size_t count;
  const SlurmTask ***tasks;  /* [journal.count][array.tasks], from sweep_job_map_join; NULL: unknown to Slurm */
} SweepJobMap;

/* Reads the journal and the batches of the manifest's sweep. A sweep that was never submitted to Slurm has an empty
 * journal. The caller frees. */
int sweep_job_map_read(const char *root, const SweepManifest *manifest, SweepJobMap *job_map);
void sweep_job_map_free(SweepJobMap *job_map);

/* Looks up each task in Slurm's listing of the workspace's directory, which is borrowed and must outlive the job map.
 * Unconfirmed arrays that it contains become accepted and get their job id. */
void sweep_job_map_join(const char *name, SweepJobMap *job_map, const SlurmTasks *tasks);

/* Returns Slurm's row for the run's task; NULL: Slurm does not know it (any more), or the map is not joined. */
const SlurmTask *sweep_job_map_task(const SweepJobMap *job_map, const SweepJobMapEntry *entry);

/* Returns the job id and index of the run's task; job 0 without one. */
SlurmId sweep_job_map_task_id(const SweepJobMapEntry *entry);

#endif
