/* Journal x batches x squeue. Reads files and walks lists; never calls Slurm. */
#include "sweep/placement.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

/* The runs of one array get their place; later arrays win over earlier ones. */
static void place_array(SweepPlacement *placement, const SweepArray *array, size_t batch_at) {
  const SweepBatch *batch = &placement->batches[batch_at];
  const int64_t packed = batch->settings.runs_per_task;
  for (int64_t task = 0; task < array->tasks; task++) {
    for (int64_t k = 0; k < packed; k++) {
      const size_t line = (size_t)((array->first_task + task) * packed + k);
      if (line >= batch->count) break;
      const int64_t index = batch->runs[line].index;
      if (index >= 0 && (size_t)index < placement->count)
        placement->places[index] = (SweepPlace){.array = array, .task = task, .batch = batch_at, .line = line};
    }
  }
}

int sweep_placement_read(const char *root, const SweepManifest *manifest, SweepPlacement *placement) {
  *placement = (SweepPlacement){.count = manifest->count};
  TRY(sweep_journal_read(root, manifest->name, &placement->journal));
  const SweepJournal *journal = &placement->journal;
  placement->places = core_memory_zero_allocate(manifest->count + 1, sizeof *placement->places);
  placement->batch_count = (size_t)journal->batches;
  placement->batches = core_memory_zero_allocate(placement->batch_count + 1, sizeof *placement->batches);
  placement->rows = core_memory_zero_allocate(journal->count + 1, sizeof *placement->rows);
  int code = CORE_OK;
  for (size_t i = 0; i < journal->count && code == CORE_OK; i++) {
    const SweepArray *array = &journal->arrays[i];
    const size_t at = (size_t)array->batch - 1;
    placement->rows[i] = core_memory_zero_allocate((size_t)array->tasks, sizeof **placement->rows);
    if (array->state == SWEEP_ARRAY_REFUSED || array->state == SWEEP_ARRAY_GONE) continue;
    if (!placement->batches[at].count)
      code = sweep_batch_read(root, manifest->name, array->batch, &placement->batches[at]);
    if (code == CORE_OK && strcmp(placement->batches[at].hash, array->hash) != 0)
      code = core_error(CORE_FAIL, "%s: batch %lld was changed after it was submitted", manifest->name,
                        (long long)array->batch);
    if (code == CORE_OK) place_array(placement, array, at);
  }
  if (code != CORE_OK) sweep_placement_free(placement);
  return code;
}

void sweep_placement_free(SweepPlacement *placement) {
  for (size_t i = 0; placement->rows && i < placement->journal.count; i++) free(placement->rows[i]);
  for (size_t i = 0; placement->batches && i < placement->batch_count; i++) sweep_batch_free(&placement->batches[i]);
  free(placement->rows);
  free(placement->batches);
  free(placement->places);
  sweep_journal_free(&placement->journal);
  *placement = (SweepPlacement){0};
}

/* The array that this row of squeue belongs to. A job id alone would do until ids are used again:
 * the comment decides. */
static SweepArray *array_of(const char *name, SweepJournal *journal, const SlurmTask *row) {
  char comment[SLURM_NAME];
  for (size_t i = journal->count; i-- > 0;) {
    SweepArray *array = &journal->arrays[i];
    if (array->state == SWEEP_ARRAY_REFUSED || (array->job && array->job != row->job)) continue;
    if (*row->comment &&
        strcmp(sweep_journal_comment(name, array->batch, array->hash, array->array, comment), row->comment) != 0)
      continue;
    if (!*row->comment && array->job != row->job) continue; /* the accounting database may not keep comments */
    return array;
  }
  return NULL;
}

void sweep_placement_join(const char *name, SweepPlacement *placement, const SlurmTasks *tasks) {
  for (size_t r = 0; r < tasks->count; r++) {
    const SlurmTask *row = &tasks->rows[r];
    SweepArray *array = array_of(name, &placement->journal, row);
    if (!array || array->state == SWEEP_ARRAY_GONE) continue;
    if (array->state == SWEEP_ARRAY_ASKED) {
      array->state = SWEEP_ARRAY_TAKEN;
      array->job = row->job;
    }
    const SlurmTask **rows = placement->rows[array - placement->journal.arrays];
    for (int64_t t = row->first; t >= 0 && t <= row->last && t < array->tasks; t += row->step) rows[t] = row;
  }
}

const SlurmTask *sweep_placement_row(const SweepPlacement *placement, const SweepPlace *place) {
  return place->array ? placement->rows[place->array - placement->journal.arrays][place->task] : NULL;
}

SlurmId sweep_placement_id(const SweepPlace *place) {
  return (SlurmId){.job = place->array ? place->array->job : 0, .task = place->task};
}
