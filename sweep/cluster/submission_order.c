/* Which runs come first, and what an array waits for (submission.h). */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "sweep/cluster/ancestry.h"
#include "sweep/cluster/submission.h"
#include "sweep/spec/id_set.h"

enum { PARENT_TASKS_MAX = 16 /* waited for one by one; more of them by their whole arrays */ };

int sweep_submission_config(const SweepSubmission *s, const SweepPendingRun *wanted, CoreConfig *config) {
  if (wanted->source) return sweep_batch_config(wanted->source, wanted->line, config);
  sweep_grid_config(s->grid, wanted->run, config);
  return CORE_OK;
}

/* ---- parents ----------------------------------------------------------------------------------------------------- */

/* Spares most sweeps a look at each run's configuration. */
static bool may_have_parents(const SweepGrid *grid) {
  bool may = *grid->spec->base.init.from != '\0';
  for (size_t p = 0; p < grid->part_count; p++)
    for (size_t a = 0; a < grid->parts[p].axis_count; a++)
      for (size_t i = 0; i < grid->parts[p].axes[a].list_count; i++)
        may |= strcmp(grid->parts[p].axes[a].lists[i].row->name, "init.from") == 0;
  return may;
}

/* Leaves out whoever begins from a run that nobody is at, and who begins from one that is left out. */
static void drop_orphans(SweepSubmission *s, bool *orphan) {
  size_t *moved = core_memory_allocate((s->count + 1) * sizeof *moved), kept = 0;
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < s->count; i++) {
      const size_t parent = s->wanted[i].parent;
      if (orphan[i] || parent >= s->count || !orphan[parent]) continue;
      orphan[i] = again = true;
    }
  }
  for (size_t i = 0; i < s->count; i++) {
    moved[i] = kept;
    if (orphan[i]) s->done->orphans++;
    else s->wanted[kept++] = s->wanted[i];
  }
  s->count = kept;
  for (size_t i = 0; i < kept; i++)
    if (s->wanted[i].parent < SWEEP_PARENT_EXTERNAL) s->wanted[i].parent = moved[s->wanted[i].parent];
  free(moved);
}

int sweep_submission_find_parents(SweepSubmission *s) {
  SweepIdSet listed = {0}, ids = {0};
  for (size_t i = 0; i < s->count; i++) s->wanted[i].parent = SWEEP_NO_PARENT;
  if (s->grid && !may_have_parents(s->grid)) return CORE_OK;
  for (size_t i = 0; i < s->count; i++) sweep_id_set_add(&listed, s->wanted[i].id, NULL);
  sweep_id_set_add_all(&ids, (const char(*)[CORE_RUN_ID])s->manifest->ids, s->manifest->count);
  SweepAncestry *ancestry =
      sweep_ancestry_create(s->launch->root, s->launch->name, s->launch->cluster, &ids, &s->job_map);
  bool *orphan = core_memory_zero_allocate(s->count + 1, sizeof *orphan);
  int code = CORE_OK;
  for (size_t i = 0; i < s->count && code == CORE_OK; i++) {
    CoreConfig config;
    SweepParentState where;
    size_t place;
    char id[CORE_RUN_ID];
    SweepPendingRun *wanted = &s->wanted[i];
    TRY_GOTO(code, out, sweep_submission_config(s, wanted, &config));
    code = sweep_ancestry_find(ancestry, config.init.from, &listed, &where, &place, &wanted->task, id);
    if (where == SWEEP_PARENT_LISTED) wanted->parent = place;
    if (where == SWEEP_PARENT_QUEUED) wanted->parent = SWEEP_PARENT_EXTERNAL;
    if (where != SWEEP_PARENT_MISSING) continue;
    orphan[i] = true;
    memcpy(s->done->orphan, id, sizeof id);
  }
  drop_orphans(s, orphan);
out:
  free(orphan);
  sweep_ancestry_destroy(&ancestry);
  sweep_id_set_free(&listed);
  sweep_id_set_free(&ids);
  return code;
}

static size_t count_sets(const SweepSubmission *s) {
  return s->launch->resources ? s->launch->resources->count : 1;
}

static bool has_one_set(const SweepSubmission *s) {
  for (size_t i = 1; i < s->count; i++)
    if (s->wanted[i].set != s->wanted[0].set) return false;
  return true;
}

/* The runs of one generation as a batch for each set that they have, behind the `at` runs that are sorted already. */
static void sort_generation(SweepSubmission *s, const SweepGenerations *order, size_t generation,
                            SweepPendingRun *sorted,
                            size_t *moved) {
  const SweepGeneration *whole = &order->generations[generation];
  size_t at = whole->first;
  for (size_t set = 0; set < count_sets(s); set++) {
    SweepGenerationBatch batch = {.order = *whole, .set = set};
    batch.order.first = at;
    for (size_t i = 0; i < whole->count; i++) {
      const size_t run = order->run[whole->first + i];
      if (s->wanted[run].set != set) continue;
      moved[run] = at;
      sorted[at] = s->wanted[run];
      sorted[at].generation = s->generation_count, sorted[at].place = at - batch.order.first;
      at++;
    }
    batch.order.count = at - batch.order.first;
    if (batch.order.count == 0) continue;
    if (s->launch->settings->max_running > 0 && s->generation_count > 0) batch.order.waits = true;
    s->generations[s->generation_count++] = batch;
  }
}

void sweep_submission_arrange(SweepSubmission *s) {
  size_t *parent = core_memory_allocate((s->count + 1) * sizeof *parent);
  SweepGenerations order;
  for (size_t i = 0; i < s->count; i++) parent[i] = s->wanted[i].parent;
  sweep_generations_make(parent, s->count, s->launch->settings->max_running == 0 && has_one_set(s), &order);
  s->generations = core_memory_zero_allocate(order.generation_count * count_sets(s) + 1, sizeof *s->generations);
  SweepPendingRun *sorted = core_memory_allocate((s->count + 1) * sizeof *sorted);
  size_t *moved = core_memory_allocate((s->count + 1) * sizeof *moved);
  for (size_t w = 0; w < order.generation_count; w++) sort_generation(s, &order, w, sorted, moved);
  for (size_t i = 0; i < s->count; i++)
    if (sorted[i].parent < SWEEP_PARENT_EXTERNAL) sorted[i].parent = moved[sorted[i].parent];
  free(s->wanted);
  s->wanted = sorted;
  sweep_generations_free(&order);
  free(parent);
  free(moved);
}

/* ---- what an array waits for ------------------------------------------------------------------------------------- */

static void wait_for_arrays(const SweepGenerationBatch *generation, SweepWait *wait) {
  for (int64_t array = 0; array < generation->split.arrays; array++)
    sweep_wait_add(wait, (SlurmId){generation->jobs[array], -1}, generation->split.number, array);
}

/* All earlier generations, and the jobs of this sweep that have not ended. */
static void wait_for_all(const SweepSubmission *s, const SweepGenerationBatch *generation, SweepWait *wait) {
  for (const SweepGenerationBatch *earlier = s->generations; earlier < generation; earlier++)
    wait_for_arrays(earlier, wait);
  for (size_t i = 0; i < s->job_map.journal.count; i++) {
    const SweepArray *array = &s->job_map.journal.arrays[i];
    bool alive = false;
    for (int64_t t = 0; t < array->tasks && !alive; t++)
      alive = s->job_map.rows[i][t] && !slurm_state_is_over(s->job_map.rows[i][t]->state);
    if (alive && array->job) sweep_wait_add(wait, (SlurmId){array->job, -1}, 0, 0);
  }
}

/* The tasks that carry the parents of this generation's runs; their whole arrays where these are many. */
static void wait_for_parents(const SweepSubmission *s, const SweepGenerationBatch *generation, SweepWait *wait) {
  const size_t before = wait->count;
  bool by_task = true;
  for (size_t i = 0; i < generation->order.count; i++) {
    const SweepPendingRun *child = &s->wanted[generation->order.first + i];
    if (child->parent == SWEEP_NO_PARENT) continue;
    SlurmId id = child->task;
    int64_t number = 0, array = 0;
    if (child->parent != SWEEP_PARENT_EXTERNAL) {
      const SweepPendingRun *parent = &s->wanted[child->parent];
      const SweepGenerationBatch *there = &s->generations[parent->generation];
      const int64_t task = (int64_t)parent->place / sweep_submission_settings(s, there->set)->runs_per_task;
      number = there->split.number, array = task / there->split.array_tasks;
      id = (SlurmId){there->jobs[array], task % there->split.array_tasks};
    }
    if (!by_task) id.task = -1;
    sweep_wait_add(wait, id, number, array);
    if (!by_task || wait->count - before <= PARENT_TASKS_MAX) continue;
    by_task = false; /* once more, from the beginning */
    wait->count = before;
    i = SIZE_MAX;
  }
}

void sweep_submission_find_waits(const SweepSubmission *s, const SweepGenerationBatch *generation, int64_t array,
                                 SweepWait *wait) {
  const int64_t most = s->launch->settings->max_running;
  for (size_t i = 0; i < s->after.count; i++) sweep_wait_add(wait, s->after.after[i], 0, 0);
  if (generation->order.parent != SWEEP_NO_PARENT) {
    const SweepGenerationBatch *parent = &s->generations[generation->order.parent];
    wait->after_each = parent->jobs[array];
    if (wait->after_each == 0)
      core_text_appendf(&wait->unknown, " aftercorr: array %lld of batch %lld;", (long long)array,
                        (long long)parent->split.number);
  }
  if (generation->order.waits && most > 0) wait_for_all(s, generation, wait);
  if (generation->order.waits) wait_for_parents(s, generation, wait);
  if (most > 0 && array >= most)
    sweep_wait_add(wait, (SlurmId){generation->jobs[array - most], -1}, generation->split.number, array - most);
}
