/* Joins states and results.db (progress.c), Slurm (cluster_status.c), the sweep's file (members.c) and failures
 * (failures.c). */
#include "sweep/status/view.h"

#include <stdlib.h>

#include "core/log.h"
#include "core/memory.h"
#include "store/workspace/paths.h"
#include "store/workspace/run_name.h"
#include "sweep/cluster/journal.h"
#include "sweep/spec/sweep.h"

/* ---- results.db -------------------------------------------------------------------------------------------------- */

StoreDatabase *sweep_view_import(const char *root, bool is_repeated) {
  char path[CORE_PATH_MAX];
  StoreDatabase *database = NULL;
  StoreImport result = {0};
  int code = store_path_database(root, path);
  if (code == CORE_OK) code = store_database_open(path, false, &database);
  if (code == CORE_OK) code = store_import(database, root, NULL, false, &result);
  if (code != CORE_OK && !is_repeated) core_warn("results.db was not brought up to date: %s", core_error_message());
  if (code == CORE_OK && result.damaged_lines > 0 && !is_repeated)
    core_warn("%lld damaged run-log lines were skipped, the first: %s", (long long)result.damaged_lines,
              result.first_damage);
  if (code != CORE_OK || result.rows < 0) store_database_close(&database);
  return database;
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

const char *sweep_view_status(const SweepView *view, size_t index) {
  const SweepRunState *run = &view->progress.run[index];
  if (run->is_held) return sweep_condition_name(SWEEP_HELD);
  return view->is_slurm ? sweep_condition_name(view->cluster.run[index].condition)
                        : store_status_name(run->state.status);
}

const char *sweep_view_reason(const SweepView *view, size_t index) {
  const bool is_known = view->is_slurm && !view->progress.run[index].is_absent && view->cluster.run[index].text[0];
  return is_known ? view->cluster.run[index].text : sweep_progress_reason(&view->progress, index);
}

bool sweep_view_needs_attention(const SweepView *view, size_t index) {
  return view->is_slurm ? sweep_cluster_status_needs_attention(&view->progress, &view->cluster, index)
                        : sweep_progress_needs_attention(&view->progress, index);
}

bool sweep_view_is_active(const SweepView *view) {
  if (!view->is_slurm) return sweep_progress_is_active(&view->progress);
  const size_t *count = view->cluster.count;
  return count[SWEEP_QUEUED] + count[SWEEP_STARTING] + count[SWEEP_RUNNING] + count[SWEEP_SUSPENDED] > 0;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* Whether runs were submitted with --force: then finished runs may be in the queue again. */
static bool is_forced(const char *root, const char *name) {
  SweepJournal journal;
  int64_t batch = 0;
  bool is_forced_batch = false;
  if (sweep_journal_read(root, name, &journal) != CORE_OK) return true; /* reported when the status is made */
  for (size_t i = 0; i < journal.count && !is_forced_batch; i++) {
    if (journal.arrays[i].batch != batch) is_forced_batch = sweep_batch_is_forced(root, name, journal.arrays[i].batch);
    batch = journal.arrays[i].batch;
  }
  sweep_journal_free(&journal);
  return is_forced_batch;
}

/* Whether Slurm may have runs of the sweep. Runs stopped by rule may have been retried. */
static bool is_unfinished(const char *root, const SweepProgress *progress) {
  return progress->count[STORE_FINISHED] + progress->count[STORE_DIVERGED] < progress->runs ||
         is_forced(root, progress->name);
}

/* Joins the sweeps that were submitted to Slurm with its queue. */
static int join_slurm(const SweepViewOptions *asked, SweepView *view, size_t count) {
  const char **names = core_memory_allocate((count + 1) * sizeof *names);
  size_t unfinished = 0;
  char problem[512] = "";
  SlurmTasks tasks = {0};
  for (size_t i = 0; i < count; i++) {
    view[i].is_slurm = sweep_journal_exists(asked->root, view[i].progress.name);
    if (view[i].is_slurm && is_unfinished(asked->root, &view[i].progress)) names[unfinished++] = view[i].progress.name;
  }

  const bool has_queue =
      unfinished == 0 || sweep_cluster_status_query(&(SlurmSelection){names, unfinished, asked->root},
                                                    asked->queue_age_s, &tasks) == CORE_OK;
  if (!has_queue) snprintf(problem, sizeof problem, "%s", core_error_message());

  int code = CORE_OK;
  for (size_t i = 0; i < count && code == CORE_OK; i++)
    if (view[i].is_slurm)
      code = sweep_cluster_status_classify(asked->root, &view[i].progress, has_queue ? &tasks : NULL, problem,
                                           &view[i].cluster);

  slurm_tasks_free(&tasks);
  free(names);
  return code;
}

/* Reads the sweep's file: which runs it no longer contains and, for scripts, their settings. */
static void read_members(const SweepViewOptions *asked, SweepView *view) {
  SweepProgress *progress = &view->progress;
  if (!asked->settings && progress->count[STORE_FINISHED] == progress->runs) return;
  if (sweep_members_read(asked->root, progress, &view->members) == CORE_OK) {
    if (view->is_slurm) sweep_cluster_status_mark_absent(view->members.absent, progress, &view->cluster);
    else sweep_progress_mark_absent(progress, view->members.absent);
    return;
  }
  if (!asked->is_repeated && !store_sweep_is_imported(asked->root, progress->name))
    core_warn("%s; cannot tell which runs of %s are still in its file", core_error_message(), progress->name);
  core_error_clear();
}

static void read_progress(const SweepViewOptions *asked, StoreDatabase *database, char **names, size_t *count,
                          SweepView *view, char *problem) {
  size_t read = 0;
  *problem = '\0';
  for (size_t i = 0; i < *count; i++) {
    view[read].root = asked->root;
    int code = sweep_progress_read(asked->root, names[i], database, &view[read].progress);
    if (code == CORE_OK) read++;
    else if (*count > 1 && !asked->is_repeated) code = sweep_common_pass_over(asked->root, names[i], code);
    if (code != CORE_OK && !*problem) snprintf(problem, SWEEP_VIEW_PROBLEM, "%s", core_error_message());
  }
  *count = read;
}

int sweep_view_read(const SweepViewOptions *asked, StoreDatabase *database, char **names, size_t *count,
                    SweepView *view, char problem[SWEEP_VIEW_PROBLEM]) {
  SweepAnnotationFiles annotations;
  read_progress(asked, database, names, count, view, problem);
  TRY(join_slurm(asked, view, *count));
  sweep_annotation_files_read(asked->root, asked->is_repeated, &annotations);

  for (size_t i = 0; i < *count; i++) {
    read_members(asked, &view[i]);
    sweep_search_waits_find(asked->root, &view[i].progress, &view[i].members, &view[i].searches);
    sweep_annotations_select(asked->root, view[i].progress.name, &annotations, &view[i].annotations);
    if (view[i].is_slurm) {
      sweep_cluster_status_set_expected(&view[i].cluster, &view[i].progress);
      sweep_cluster_status_add_failures(&view[i].progress, &view[i].cluster, &view[i].failures);
    } else {
      sweep_failures_add_progress(&view[i].progress, &view[i].failures);
    }
  }

  sweep_annotation_files_free(&annotations);
  return CORE_OK;
}

void sweep_view_free(SweepView *view, size_t count) {
  for (size_t i = 0; i < count; i++) {
    sweep_annotations_free(&view[i].annotations);
    sweep_failures_free(&view[i].failures);
    sweep_search_waits_free(&view[i].searches);
    sweep_members_free(&view[i].members);
    sweep_cluster_status_free(&view[i].cluster);
    sweep_progress_free(&view[i].progress);
  }
}
