/* Joins what status shows of a sweep: states and results.db (progress.c), Slurm (cluster_status.c), its own file
 * (members.c), and what went wrong (failures.c). */
#include "sweep/status/shown.h"

#include <stdlib.h>

#include "core/log.h"
#include "core/memory.h"
#include "store/workspace/paths.h"
#include "sweep/cluster/journal.h"

/* ---- results.db -------------------------------------------------------------------------------------------------- */

StoreDatabase *sweep_shown_import(const char *root, bool is_repeated) {
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

const char *sweep_shown_status(const SweepShown *shown, size_t index) {
  return shown->is_slurm ? sweep_kind_name(shown->cluster.run[index].kind)
                         : store_status_name(shown->progress.run[index].state.status);
}

const char *sweep_shown_reason(const SweepShown *shown, size_t index) {
  const bool is_known = shown->is_slurm && !shown->progress.run[index].is_dropped && shown->cluster.run[index].text[0];
  return is_known ? shown->cluster.run[index].text : sweep_progress_reason(&shown->progress, index);
}

bool sweep_shown_is_trouble(const SweepShown *shown, size_t index) {
  return shown->is_slurm ? sweep_cluster_status_is_trouble(&shown->progress, &shown->cluster, index)
                         : sweep_progress_is_trouble(&shown->progress, index);
}

bool sweep_shown_is_busy(const SweepShown *shown) {
  const SweepProgress *progress = &shown->progress;
  if (!shown->is_slurm) return (progress->queued && progress->executor) || progress->count[STORE_RUNNING] > 0;
  return shown->cluster.count[SWEEP_QUEUED] + shown->cluster.count[SWEEP_STARTING] +
           shown->cluster.count[SWEEP_RUNNING] >
         0;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* Runs that are done may be in the queue all the same, to be started over. */
static bool is_forced(const char *root, const char *name) {
  SweepJournal journal;
  int64_t batch = 0;
  bool forced = false;
  if (sweep_journal_read(root, name, &journal) != CORE_OK) return true; /* who makes the status says why */
  for (size_t i = 0; i < journal.count && !forced; i++) {
    if (journal.arrays[i].batch != batch) forced = sweep_batch_is_forced(root, name, journal.arrays[i].batch);
    batch = journal.arrays[i].batch;
  }
  sweep_journal_free(&journal);
  return forced;
}

/* Can Slurm have anything of it? What a rule has stopped may have been taken up again. */
static bool is_unfinished(const char *root, const SweepProgress *progress) {
  return progress->count[STORE_FINISHED] + progress->count[STORE_DIVERGED] < progress->runs ||
         is_forced(root, progress->name);
}

/* Joins with Slurm what is Slurm's. */
static int join(const SweepShownAsked *asked, SweepShown *shown, size_t count) {
  const char **names = core_memory_allocate((count + 1) * sizeof *names);
  size_t waiting = 0;
  char problem[512] = "";
  SlurmTasks tasks = {0};
  for (size_t i = 0; i < count; i++) {
    shown[i].is_slurm = sweep_journal_exists(asked->root, shown[i].progress.name);
    if (shown[i].is_slurm && is_unfinished(asked->root, &shown[i].progress))
      names[waiting++] = shown[i].progress.name;
  }
  const bool known = waiting == 0 || sweep_cluster_status_ask(names, waiting, asked->queue_age_s, &tasks) == CORE_OK;
  if (!known) snprintf(problem, sizeof problem, "%s", core_error_message());
  int code = CORE_OK;
  for (size_t i = 0; i < count && code == CORE_OK; i++)
    if (shown[i].is_slurm)
      code = sweep_cluster_status_make(asked->root, &shown[i].progress, known ? &tasks : NULL, problem,
                                       &shown[i].cluster);
  slurm_tasks_free(&tasks);
  free(names);
  return code;
}

/* What the sweep's own file says: which runs it no longer has, and, for scripts, their settings. */
static void read_members(const SweepShownAsked *asked, SweepShown *shown) {
  SweepProgress *progress = &shown->progress;
  if (!asked->settings && progress->count[STORE_FINISHED] == progress->runs) return;
  if (sweep_members_read(asked->root, progress, &shown->members) == CORE_OK) {
    if (shown->is_slurm) sweep_cluster_status_drop(shown->members.absent, progress, &shown->cluster);
    else sweep_progress_drop(progress, shown->members.absent);
    return;
  }
  if (!asked->is_repeated)
    core_warn("%s; so it is not known which runs %s still has", core_error_message(), progress->name);
  core_error_clear();
}

static void read_progress(const SweepShownAsked *asked, StoreDatabase *database, char **names, size_t *count,
                          SweepShown *shown, char *problem) {
  size_t kept = 0;
  *problem = '\0';
  for (size_t i = 0; i < *count; i++) {
    shown[kept].root = asked->root;
    if (sweep_progress_read(asked->root, names[i], database, &shown[kept].progress) == CORE_OK) kept++;
    else if (!*problem) snprintf(problem, SWEEP_SHOWN_PROBLEM, "%s", core_error_message());
  }
  *count = kept;
}

int sweep_shown_read(const SweepShownAsked *asked, StoreDatabase *database, char **names, size_t *count,
                     SweepShown *shown, char problem[SWEEP_SHOWN_PROBLEM]) {
  SweepSaidFiles said;
  read_progress(asked, database, names, count, shown, problem);
  TRY(join(asked, shown, *count));
  sweep_said_files(asked->root, asked->is_repeated, &said);
  for (size_t i = 0; i < *count; i++) {
    read_members(asked, &shown[i]);
    sweep_said_read(asked->root, shown[i].progress.name, &said, &shown[i].said);
    if (shown[i].is_slurm) {
      sweep_cluster_status_expect(&shown[i].cluster, &shown[i].progress);
      sweep_cluster_status_trouble(&shown[i].progress, &shown[i].cluster, &shown[i].troubles);
    } else {
      sweep_failures_of_progress(&shown[i].progress, &shown[i].troubles);
    }
  }
  sweep_said_files_free(&said);
  return CORE_OK;
}

void sweep_shown_free(SweepShown *shown, size_t count) {
  for (size_t i = 0; i < count; i++) {
    sweep_said_free(&shown[i].said);
    sweep_failures_free(&shown[i].troubles);
    sweep_members_free(&shown[i].members);
    sweep_cluster_status_free(&shown[i].cluster);
    sweep_progress_free(&shown[i].progress);
  }
}
