/* Which Slurm task carries which run of a sweep, and what Slurm says of that task. Joins the journal, the batches and
 * one answer of squeue; used by whoever submits, shows or controls. */
#ifndef SWEEP_PLACEMENT_H
#define SWEEP_PLACEMENT_H
#include "slurm/cluster.h"
#include "sweep/batch.h"
#include "sweep/journal.h"
#include "sweep/manifest.h"

/* The run's latest place that Slurm took or may have taken. */
typedef struct SweepPlace {
  const SweepArray *array;   /* NULL: it was never handed to Slurm */
  int64_t task;              /* index in the array */
  size_t batch, line;        /* in placement->batches, and in its list */
} SweepPlace;

typedef struct SweepPlacement {
  SweepJournal journal;
  SweepBatch *batches;       /* [batch_count], number i + 1 at i; those that hold no present place are empty */
  size_t batch_count;
  SweepPlace *places;        /* [count], by manifest index */
  size_t count;
  const SlurmTask **
    *rows; /* [journal.count][tasks]: NULL where Slurm does not know the task; see sweep_placement_join */
} SweepPlacement;

/* Reads journal and batches of the manifest's sweep. One that never went to Slurm gives an empty
 * journal. Caller frees. */
int sweep_placement_read(const char *root, const SweepManifest *manifest, SweepPlacement *placement);
void sweep_placement_free(SweepPlacement *placement);

/* Looks each task up in what Slurm listed (borrowed: must outlive the placement). Arrays that were asked for without an
 * answer are recognised by their comment, and get their job. */
void sweep_placement_join(const char *name, SweepPlacement *placement, const SlurmTasks *tasks);

/* What Slurm says of this run's task; NULL: nothing (any more), or not joined. */
const SlurmTask *sweep_placement_row(const SweepPlacement *placement, const SweepPlace *place);

/* "123_4"'s parts. */
SlurmId sweep_placement_id(const SweepPlace *place);

#endif
