/* Reads what Slurm already has, orders the runs and finds the dependencies of the arrays (submission.h). */
#include "sweep/cluster/submission.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "sweep/cluster/ancestry.h"
#include "sweep/spec/id_set.h"

enum {
  NAMES_MAX = 64,        /* sweeps in one query of the queue */
  POLL_MS = 500,         /* while an unconfirmed array may still reach the queue */
  PARENT_TASKS_MAX = 16  /* dependencies on single tasks; with more parents, on their whole arrays */
};

/* ---- the queue --------------------------------------------------------------------------------------------------- */

/* Lists the names of the sweep and of the sweeps in slurm.after; the latter point into `copy`. */
static size_t list_names(const SweepLaunch *launch, char copy[SLURM_TEXT], const char *names[NAMES_MAX]) {
  size_t count = 0;
  char *rest = copy;
  names[count++] = launch->name;
  snprintf(copy, SLURM_TEXT, "%s", launch->settings->after);
  for (char *name; *launch->settings->after && count < NAMES_MAX && (name = strsep(&rest, ","));)
    names[count++] = name;
  return count;
}

int sweep_submission_read_queue(SweepSubmission *s) {
  char copy[SLURM_TEXT];
  const char *names[NAMES_MAX];
  const size_t count = list_names(s->launch, copy, names);
  slurm_tasks_free(&s->queue);
  TRY(slurm_list(s->launch->cluster, &(SlurmSelection){names, count, s->launch->root}, &s->queue));
  sweep_job_map_join(s->launch->name, &s->job_map, &s->queue);
  return CORE_OK;
}

/* Whether the job map has an unfinished task of this array of its journal. */
static bool has_living_task(const SweepJobMap *job_map, size_t array) {
  const int64_t count = job_map->journal.arrays[array].tasks;
  for (int64_t t = 0; t < count; t++) {
    const SlurmTask *task = job_map->tasks[array][t];
    if (task && !slurm_state_is_over(task->state)) return true;
  }
  return false;
}

/* Counts the unconfirmed arrays. *latest_unix_s: time of the latest request. */
static size_t count_unconfirmed(const SweepJournal *journal, double *latest_unix_s) {
  size_t count = 0;
  for (size_t i = 0; i < journal->count; i++) {
    if (journal->arrays[i].state != SWEEP_ARRAY_REQUESTED) continue;
    if (journal->arrays[i].requested_unix_s > *latest_unix_s) *latest_unix_s = journal->arrays[i].requested_unix_s;
    count++;
  }
  return count;
}

/* Reads the queue until no array is unconfirmed, or until the remaining ones can no longer appear. slurmctld may
 * process a request for a while after its client has timed out, so an array counts as lost only after twice that
 * time. The request's age is ignored where clocks differ. */
static int wait_for_unconfirmed(SweepSubmission *s) {
  const double timeout_s = 2.0 * (double)s->limits->message_timeout_s, start_s = core_clock_s();
  double latest_unix_s = 0;
  TRY(sweep_submission_read_queue(s));
  while (count_unconfirmed(&s->job_map.journal, &latest_unix_s) > 0) {
    const double age_s = core_clock_unix_s() - latest_unix_s, waited_s = core_clock_s() - start_s;
    const bool is_late = age_s > timeout_s || age_s < 0 || waited_s > timeout_s;
    if (is_late && waited_s > 1) break;
    usleep(POLL_MS * 1000);
    TRY(sweep_submission_read_queue(s));
  }
  return CORE_OK;
}

/* Journals the fate of an array that was unconfirmed before the queue was read. If a task of a lost array starts
 * nevertheless, it finds this line and exits (task.c). */
static int record_fate(const SweepSubmission *s, SweepArray *array) {
  const SweepLaunch *launch = s->launch;
  if (array->state != SWEEP_ARRAY_ACCEPTED) {
    array->state = SWEEP_ARRAY_LOST;
    return sweep_journal_append(launch->root, launch->name, "gone\t%lld\t%lld", (long long)array->batch,
                                (long long)array->array);
  }
  fprintf(sweep_submission_out(s), "  job %lld: Slurm had accepted it although an earlier submission got no answer\n",
          (long long)array->job);
  return sweep_journal_append(launch->root, launch->name, "took\t%lld\t%lld\t%lld", (long long)array->batch,
                              (long long)array->array, (long long)array->job);
}

int sweep_submission_reconcile(SweepSubmission *s) {
  const SweepJournal *journal = &s->job_map.journal;
  bool *is_unconfirmed = core_memory_zero_allocate(journal->count + 1, sizeof *is_unconfirmed);
  for (size_t i = 0; i < journal->count; i++) is_unconfirmed[i] = journal->arrays[i].state == SWEEP_ARRAY_REQUESTED;
  int code = wait_for_unconfirmed(s);
  for (size_t i = 0; i < journal->count && code == CORE_OK; i++)
    if (is_unconfirmed[i]) code = record_fate(s, &journal->arrays[i]);
  free(is_unconfirmed);
  return code;
}

/* Adds the unfinished jobs of another sweep to `after`. */
static int add_jobs_of(SweepSubmission *s, const char *name) {
  SweepManifest manifest;
  SweepJobMap job_map;
  TRY(sweep_manifest_read(s->launch->root, name, &manifest));
  const int code = sweep_job_map_read(s->launch->root, &manifest, &job_map);
  sweep_manifest_free(&manifest);
  TRY(code);
  sweep_job_map_join(name, &job_map, &s->queue);
  for (size_t i = 0; i < job_map.journal.count; i++) {
    const SweepArray *array = &job_map.journal.arrays[i];
    if (array->state == SWEEP_ARRAY_ACCEPTED && has_living_task(&job_map, i))
      sweep_wait_add(&s->after, (SlurmId){array->job, -1}, 0, 0);
  }
  sweep_job_map_free(&job_map);
  return CORE_OK;
}

int sweep_submission_find_after(SweepSubmission *s) {
  char copy[SLURM_TEXT];
  const char *names[NAMES_MAX];
  const size_t count = list_names(s->launch, copy, names);
  for (size_t i = 1; i < count; i++) {
    if (strcmp(names[i], s->launch->name) == 0)
      return core_error(CORE_USAGE, "slurm.after = %s: a sweep cannot wait for itself", names[i]);
    TRY(add_jobs_of(s, names[i]));
  }
  return CORE_OK;
}

int sweep_submission_config(const SweepSubmission *s, const SweepPendingRun *run, CoreConfig *config) {
  if (run->source) return sweep_batch_config(run->source, run->line, config);
  sweep_grid_config(s->grid, run->grid_index, config);
  return CORE_OK;
}

int sweep_submission_base(const SweepSubmission *s, const SweepPendingBatch *batch, CoreConfig *base) {
  CoreConfig config;
  *base = s->grid ? s->grid->spec->base : core_config_default();
  for (size_t i = 0; i < batch->generation.count && !s->grid && !base->program; i++) {
    TRY(sweep_submission_config(s, &s->runs[batch->generation.first + i], &config));
    if (config.program) *base = config;
  }
  base->train.seed = core_config_default().train.seed;
  return CORE_OK;
}

/* ---- parents ----------------------------------------------------------------------------------------------------- */

/* Whether init.from is set or varied anywhere in the grid. Saves most sweeps reading each run's configuration. */
static bool may_have_parents(const SweepGrid *grid) {
  bool may = *grid->spec->base.init.from != '\0';
  for (size_t p = 0; p < grid->part_count; p++)
    for (size_t a = 0; a < grid->parts[p].axis_count; a++)
      for (size_t i = 0; i < grid->parts[p].axes[a].list_count; i++)
        may |= strcmp(grid->parts[p].axes[a].lists[i].row->name, "init.from") == 0;
  return may;
}

/* Marks all descendants of orphans in the list. */
static void spread_orphans(const SweepSubmission *s, bool *is_orphan) {
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (size_t i = 0; i < s->count; i++) {
      const size_t parent = s->runs[i].parent;
      if (is_orphan[i] || parent >= s->count || !is_orphan[parent]) continue;
      is_orphan[i] = true;
      has_changed = true;
    }
  }
}

/* Removes the orphans and their descendants from the list. */
static void drop_orphans(SweepSubmission *s, bool *is_orphan) {
  size_t *new_index = core_memory_allocate((s->count + 1) * sizeof *new_index), remaining = 0;
  spread_orphans(s, is_orphan);
  for (size_t i = 0; i < s->count; i++) {
    new_index[i] = remaining;
    if (is_orphan[i]) s->result->orphans++;
    else s->runs[remaining++] = s->runs[i];
  }
  s->count = remaining;
  for (size_t i = 0; i < remaining; i++)
    if (s->runs[i].parent < SWEEP_PARENT_EXTERNAL) s->runs[i].parent = new_index[s->runs[i].parent];
  free(new_index);
}

int sweep_submission_find_parents(SweepSubmission *s) {
  SweepIdSet listed = {0}, ids = {0};
  for (size_t i = 0; i < s->count; i++) s->runs[i].parent = SWEEP_NO_PARENT;
  if (s->grid && !may_have_parents(s->grid)) return CORE_OK;

  for (size_t i = 0; i < s->count; i++) sweep_id_set_add(&listed, s->runs[i].id, NULL);
  sweep_id_set_add_all(&ids, (const char(*)[CORE_RUN_ID])s->manifest->ids, s->manifest->count);
  SweepAncestry *ancestry =
    sweep_ancestry_create(s->launch->root, s->launch->name, s->launch->cluster, &ids, &s->job_map);
  bool *is_orphan = core_memory_zero_allocate(s->count + 1, sizeof *is_orphan);
  int code = CORE_OK;

  for (size_t i = 0; i < s->count; i++) {
    CoreConfig config;
    SweepParentLocation parent;
    SweepPendingRun *run = &s->runs[i];
    TRY_GOTO(code, out, sweep_submission_config(s, run, &config));
    TRY_GOTO(code, out, sweep_ancestry_find(ancestry, config.init.from, &listed, &parent));

    switch (parent.state) {
      case SWEEP_PARENT_READY: break;
      case SWEEP_PARENT_LISTED: run->parent = parent.list_index; break;
      case SWEEP_PARENT_QUEUED:
        run->parent = SWEEP_PARENT_EXTERNAL;
        run->parent_task = parent.task;
        break;
      case SWEEP_PARENT_MISSING:
        is_orphan[i] = true;
        memcpy(s->result->orphan, parent.id, sizeof parent.id);
        break;
    }
  }

  drop_orphans(s, is_orphan);
out:
  free(is_orphan);
  sweep_ancestry_destroy(&ancestry);
  sweep_id_set_free(&listed);
  sweep_id_set_free(&ids);
  return code;
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

static size_t count_sets(const SweepSubmission *s) {
  return s->launch->resources ? s->launch->resources->count : 1;
}

static bool has_one_set(const SweepSubmission *s) {
  for (size_t i = 1; i < s->count; i++)
    if (s->runs[i].set != s->runs[0].set) return false;
  return true;
}

/* Appends a batch for each resource set of a generation. sorted: the runs in their final order; new_index[i]: the index
 * of run i there. */
static void add_batches(SweepSubmission *s, const SweepGenerations *order, const SweepGeneration *generation,
                        SweepPendingRun *sorted, size_t *new_index) {
  size_t next = generation->first;
  for (size_t set = 0; set < count_sets(s); set++) {
    SweepPendingBatch batch = {.generation = *generation, .set = set};
    batch.generation.first = next;

    for (size_t i = 0; i < generation->count; i++) {
      const size_t run = order->run[generation->first + i];
      if (s->runs[run].set != set) continue;
      new_index[run] = next;
      sorted[next] = s->runs[run];
      sorted[next].batch = s->batch_count;
      sorted[next].batch_line = next - batch.generation.first;
      next++;
    }

    batch.generation.count = next - batch.generation.first;
    if (batch.generation.count == 0) continue;
    if (s->launch->settings->max_running > 0 && s->batch_count > 0) batch.generation.waits = true;
    s->batches[s->batch_count++] = batch;
  }
}

void sweep_submission_arrange(SweepSubmission *s) {
  size_t *parent = core_memory_allocate((s->count + 1) * sizeof *parent);
  SweepGenerations order;
  for (size_t i = 0; i < s->count; i++) parent[i] = s->runs[i].parent;
  sweep_generations_make(parent, s->count, s->launch->settings->max_running == 0 && has_one_set(s), &order);

  s->batches = core_memory_zero_allocate(order.generation_count * count_sets(s) + 1, sizeof *s->batches);
  SweepPendingRun *sorted = core_memory_allocate((s->count + 1) * sizeof *sorted);
  size_t *new_index = core_memory_allocate((s->count + 1) * sizeof *new_index);
  for (size_t g = 0; g < order.generation_count; g++) add_batches(s, &order, &order.generations[g], sorted, new_index);
  for (size_t i = 0; i < s->count; i++)
    if (sorted[i].parent < SWEEP_PARENT_EXTERNAL) sorted[i].parent = new_index[sorted[i].parent];

  free(s->runs);
  s->runs = sorted;
  sweep_generations_free(&order);
  free(parent);
  free(new_index);
}

/* ---- dependencies ------------------------------------------------------------------------------------------------ */

/* Waits for all earlier batches and for the unfinished jobs of this sweep. */
static void wait_for_all(const SweepSubmission *s, const SweepPendingBatch *batch, SweepWait *wait) {
  for (const SweepPendingBatch *earlier = s->batches; earlier < batch; earlier++) {
    for (int64_t array = 0; array < earlier->split.arrays; array++)
      sweep_wait_add(wait, (SlurmId){earlier->jobs[array], -1}, earlier->split.batch, array);
  }
  for (size_t i = 0; i < s->job_map.journal.count; i++) {
    const int64_t job = s->job_map.journal.arrays[i].job;
    if (job && has_living_task(&s->job_map, i)) sweep_wait_add(wait, (SlurmId){job, -1}, 0, 0);
  }
}

/* Waits for the task of one run's parent; for its whole array unless by_task. */
static void wait_for_parent(const SweepSubmission *s, const SweepPendingRun *run, bool by_task, SweepWait *wait) {
  SlurmId id = run->parent_task;
  int64_t number = 0, array = 0;
  if (run->parent == SWEEP_NO_PARENT) return;
  if (run->parent != SWEEP_PARENT_EXTERNAL) {
    const SweepPendingRun *parent = &s->runs[run->parent];
    const SweepPendingBatch *batch = &s->batches[parent->batch];
    const int64_t task = (int64_t)parent->batch_line / batch->split.settings->runs_per_task;
    number = batch->split.batch;
    array = task / batch->split.array_tasks;
    id = (SlurmId){batch->jobs[array], task % batch->split.array_tasks};
  }
  if (!by_task) id.task = -1;
  sweep_wait_add(wait, id, number, array);
}

/* Waits for the parents of the batch's runs: for their tasks, or if these are many for their arrays. */
static void wait_for_parents(const SweepSubmission *s, const SweepPendingBatch *batch, SweepWait *wait) {
  const SweepPendingRun *runs = &s->runs[batch->generation.first];
  const size_t old_count = wait->count;
  for (size_t i = 0; i < batch->generation.count && wait->count - old_count <= PARENT_TASKS_MAX; i++)
    wait_for_parent(s, &runs[i], true, wait);
  if (wait->count - old_count <= PARENT_TASKS_MAX) return;
  wait->count = old_count;
  for (size_t i = 0; i < batch->generation.count; i++) wait_for_parent(s, &runs[i], false, wait);
}

void sweep_submission_find_waits(const SweepSubmission *s, const SweepPendingBatch *batch, int64_t array,
                                 SweepWait *wait) {
  const SweepGeneration *generation = &batch->generation;
  const int64_t max_running = s->launch->settings->max_running;
  for (size_t i = 0; i < s->after.count; i++) sweep_wait_add(wait, s->after.after[i], 0, 0);
  if (generation->parent != SWEEP_NO_PARENT) {
    const SweepPendingBatch *parent = &s->batches[generation->parent];
    wait->after_each = parent->jobs[array];
    if (wait->after_each == 0)
      core_text_appendf(&wait->unknown, " aftercorr: array %lld of batch %lld;", (long long)array,
                        (long long)parent->split.batch);
  }
  if (generation->waits && max_running > 0) wait_for_all(s, batch, wait);
  if (generation->waits) wait_for_parents(s, batch, wait);
  if (max_running > 0 && array >= max_running)
    sweep_wait_add(wait, (SlurmId){batch->jobs[array - max_running], -1}, batch->split.batch, array - max_running);
}
