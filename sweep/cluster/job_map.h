/* Which Slurm task carries which run of a sweep, and what Slurm says of that task. Joins the journal, the batches and
 * one answer of squeue; used by whoever submits, shows or controls. */
#ifndef SWEEP_JOB_MAP_H
#define SWEEP_JOB_MAP_H
#include "slurm/cluster.h"
#include "sweep/cluster/batch.h"
#include "sweep/cluster/journal.h"
#include "sweep/spec/manifest.h"

/* The run's latest place that Slurm took or may have taken. */
typedef struct SweepJobMapEntry {
  const SweepArray *array;   /* NULL: it was never handed to Slurm */
  int64_t task;              /* index in the array */
  size_t batch, line;        /* in job_map->batches, and in its list */
} SweepJobMapEntry;

typedef struct SweepJobMap {
  SweepJournal journal;
  SweepBatch *batches;       /* [batch_count], number i + 1 at i; those that hold no present place are empty */
  size_t batch_count;
  SweepJobMapEntry *entries; /* [count], by manifest index */
  size_t count;
  const SlurmTask **
    *rows; /* [journal.count][tasks]: NULL where Slurm does not know the task; see sweep_job_map_join */
} SweepJobMap;

/* Reads journal and batches of the manifest's sweep. One that never went to Slurm gives an empty
 * journal. Caller frees. */
int sweep_job_map_read(const char *root, const SweepManifest *manifest, SweepJobMap *job_map);
void sweep_job_map_free(SweepJobMap *job_map);

/* Looks each task up in what Slurm listed (borrowed: must outlive the job_map). Arrays that were asked for without an
 * answer are recognised by their comment, and get their job. */
void sweep_job_map_join(const char *name, SweepJobMap *job_map, const SlurmTasks *tasks);

/* What Slurm says of this run's task; NULL: nothing (any more), or not joined. */
const SlurmTask *sweep_job_map_task(const SweepJobMap *job_map, const SweepJobMapEntry *entry);

/* "123_4"'s parts. */
SlurmId sweep_job_map_task_id(const SweepJobMapEntry *entry);

#endif
