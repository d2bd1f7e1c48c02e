/* Selection, checks and the order of deletions (removal.h). Prints nothing. */
#include "sweep/control/removal.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "slurm/cluster.h"
#include "store/care/delete.h"
#include "store/workspace/annotations.h"
#include "store/workspace/run.h"
#include "sweep/cluster/job_map.h"
#include "sweep/cluster/journal.h"
#include "sweep/local/queue.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/sweep.h"
#include "sweep/status/cluster_status.h"

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

static _Thread_local double walked_bytes;

static int add_size(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  if (S_ISREG(status->st_mode) && status->st_nlink == 1) walked_bytes += (double)status->st_blocks * 512;
  return 0;
}

double sweep_removal_bytes(const char *path) {
  walked_bytes = 0;
  (void)nftw(path, add_size, 32, FTW_PHYS); /* unreadable entries count as zero */
  return walked_bytes;
}

/* ---- selection -------------------------------------------------------------------------------------------------- */

/* Adds the runs of the sweep's frozen file, i.e. of its last submission. */
static int add_submitted(const char *root, const char *name, SweepIdSet *submitted) {
  SweepCommon common = {0};
  SweepSpec spec;
  SweepGrid grid;
  snprintf(common.root, sizeof common.root, "%s", root);
  TRY(sweep_common_spec(&common, name, &spec));
  int code = sweep_grid_expand(&spec, &grid);
  if (code == CORE_OK) {
    sweep_id_set_add_all(submitted, (const char(*)[CORE_RUN_ID])grid.ids, grid.runs);
    sweep_grid_free(&grid);
  }
  sweep_spec_free(&spec);
  return code;
}

static int compare_runs(const void *a, const void *b) {
  const SweepRemovedRun *x = a, *y = b;
  return strcmp(x->id, y->id);
}

/* Lists the selected runs in the order of their directories. */
static void list_by_directory(SweepRemoval *removal) {
  removal->by_directory = core_memory_zero_allocate(removal->count + 1, sizeof *removal->by_directory);
  for (size_t i = 0; i < removal->count; i++) memcpy(removal->by_directory[i].id, removal->ids[i], CORE_RUN_ID);
  qsort(removal->by_directory, removal->count, sizeof *removal->by_directory, compare_runs);
}

typedef struct Visit { const char *root; const SweepRemoval *removal; } Visit;

static int measure_run(void *context, size_t index) {
  const Visit *visit = context;
  SweepRemovedRun *run = &visit->removal->by_directory[index];
  char path[CORE_PATH_MAX];
  TRY(store_path_run(visit->root, run->id, NULL, path));
  run->bytes = sweep_removal_bytes(path);
  return CORE_OK;
}

int sweep_removal_measure(const char *root, SweepRemoval *removal) {
  char path[CORE_PATH_MAX];
  TRY(core_parallel_visit(removal->count, measure_run, &(Visit){root, removal}));
  removal->bytes = 0;
  for (size_t i = 0; i < removal->count; i++) removal->bytes += removal->by_directory[i].bytes;
  if (!removal->is_whole_sweep) return CORE_OK;
  TRY(store_path_sweep(root, removal->name, NULL, path));
  removal->bytes += sweep_removal_bytes(path);
  return CORE_OK;
}

/* Takes the sizes from an earlier selection, which is reduced to this one. */
static void copy_sizes(const SweepRemoval *before, SweepRemoval *removal) {
  removal->bytes = before->bytes;
  for (size_t i = 0, k = 0; i < before->count; i++) {
    const SweepRemovedRun *run = &before->by_directory[i];
    while (k < removal->count && compare_runs(&removal->by_directory[k], run) < 0) k++;
    const bool is_kept = k < removal->count && compare_runs(&removal->by_directory[k], run) == 0;
    if (is_kept) removal->by_directory[k].bytes = run->bytes;
    else removal->bytes -= run->bytes;
  }
}

/* Selects runs of the manifest. among: only of these; NULL: of all. */
static int select_runs(const char *root, bool stale, const SweepIdSet *among, SweepRemoval *removal) {
  SweepIdSet shared = {0}, submitted = {0};
  SweepManifest *manifest = &removal->manifest;
  int code = sweep_manifest_add_ids(root, removal->name, &shared);
  if (code == CORE_OK && stale) code = add_submitted(root, removal->name, &submitted);
  removal->is_removed = core_memory_zero_allocate(manifest->count + 1, sizeof *removal->is_removed);
  removal->ids = core_memory_allocate((manifest->count + 1) * sizeof *removal->ids);

  for (size_t i = 0; i < manifest->count && code == CORE_OK; i++) {
    const char *id = manifest->ids[i];
    if (stale && sweep_id_set_find(&submitted, id, NULL)) continue;
    if (among && !sweep_id_set_find(among, id, NULL)) continue;
    removal->is_removed[i] = true; /* from this sweep; its directory only if no other sweep has it */
    if (sweep_id_set_find(&shared, id, NULL)) removal->shared++;
    else memcpy(removal->ids[removal->count++], id, CORE_RUN_ID);
  }

  list_by_directory(removal);
  sweep_id_set_free(&shared);
  sweep_id_set_free(&submitted);
  return code;
}

static int select_sweep(const char *root, const char *name, bool stale, const SweepIdSet *among,
                        SweepRemoval *removal) {
  *removal = (SweepRemoval){.is_whole_sweep = !stale};
  TRY(core_text_copy(removal->name, sizeof removal->name, name, "sweep"));
  TRY(sweep_manifest_read(root, name, &removal->manifest));
  const int code = select_runs(root, stale, among, removal);
  if (code != CORE_OK) sweep_removal_free(removal);
  return code;
}

int sweep_removal_plan_sweep(const char *root, const char *name, bool stale, SweepRemoval *removal) {
  return select_sweep(root, name, stale, NULL, removal);
}

/* Finds the sweep that has the run; "": none. CORE_USAGE: several have it. */
static int find_owner(const char *root, const char *id, char owner[SWEEP_NAME]) {
  char **names;
  size_t count;
  CoreText owners = {0};
  int code = CORE_OK, found = 0;
  owner[0] = '\0';
  TRY(sweep_common_list(root, &names, &count));

  for (size_t i = 0; i < count; i++) {
    SweepManifest manifest = {0};
    if (code == CORE_OK) code = sweep_common_pass_over(root, names[i], sweep_manifest_read(root, names[i], &manifest));
    bool has = false;
    for (size_t k = 0; k < manifest.count && !has; k++) has = strcmp(manifest.ids[k], id) == 0;
    if (has) core_text_appendf(&owners, "%s%s", found++ ? ", " : "", names[i]);
    if (has) snprintf(owner, SWEEP_NAME, "%s", names[i]);
    sweep_manifest_free(&manifest);
    free(names[i]);
  }

  free(names);
  if (code == CORE_OK && found > 1)
    code = core_error(CORE_USAGE, "run %s belongs to %d sweeps (%s); it is removed with the last of these sweeps", id,
                      found, core_text_string(&owners));
  core_text_free(&owners);
  return code;
}

int sweep_removal_plan_run(const char *root, const char *id, SweepRemoval *removal) {
  *removal = (SweepRemoval){.is_whole_sweep = false};
  TRY(find_owner(root, id, removal->name));
  removal->ids = core_memory_allocate(sizeof *removal->ids);
  memcpy(removal->ids[removal->count++], id, CORE_RUN_ID);
  list_by_directory(removal);
  return CORE_OK;
}

void sweep_removal_free(SweepRemoval *removal) {
  sweep_manifest_free(&removal->manifest);
  free(removal->is_removed);
  free(removal->ids);
  free(removal->by_directory);
  *removal = (SweepRemoval){.is_whole_sweep = false};
}

/* ---- checks ----------------------------------------------------------------------------------------------------- */

static int check_run(void *context, size_t index) {
  const Visit *visit = context;
  const SweepRemoval *removal = visit->removal;
  const char *id = removal->by_directory[index].id;
  StoreState state;
  if (store_run_state_read(visit->root, id, true, &state) != CORE_OK) core_error_clear(); /* damaged: may be removed */
  if (state.status != STORE_RUNNING) return CORE_OK;
  return core_error(CORE_USAGE, "run %s is running on %s; stop it first: sweep stop %s", id, state.host,
                    removal->name[0] ? removal->name : id);
}

static int check_here(const char *root, const SweepRemoval *removal) {
  SweepQueueRequest request;
  bool queued = false;
  if (removal->name[0]) TRY(sweep_queue_read(root, removal->name, &request, &queued));
  if (queued && sweep_queue_executor_pid(root, request.owner))
    return core_error(CORE_USAGE, "%s is running or queued on this machine; stop it first: sweep stop %s",
                      removal->name, removal->name);
  return core_parallel_visit(removal->count, check_run, &(Visit){root, removal});
}

static int check_queue(const char *root, const SweepRemoval *removal, const SweepManifest *manifest,
                       SweepJobMap *job_map) {
  SlurmCluster *cluster;
  SlurmTasks tasks = {0};
  SweepIdSet removed = {0};
  const char *name = removal->name;

  TRY(slurm_cluster_open("auto", &cluster, NULL));
  int code = slurm_list(cluster, &(SlurmSelection){&name, 1, root}, &tasks);
  if (code == CORE_OK) sweep_job_map_join(name, job_map, &tasks);
  sweep_id_set_add_all(&removed, (const char(*)[CORE_RUN_ID])removal->ids, removal->count);
  for (size_t i = 0; i < manifest->count && i < job_map->count && code == CORE_OK; i++) {
    const SlurmTask *task = sweep_job_map_task(job_map, &job_map->entries[i]);
    if (!task || slurm_state_is_over(task->state)) continue;
    if (!removal->is_whole_sweep && !sweep_id_set_find(&removed, manifest->ids[i], NULL)) continue;
    code = core_error(CORE_USAGE, "%s: run %s is in Slurm's queue; stop it first: sweep stop %s", name,
                      manifest->ids[i], name);
  }

  sweep_id_set_free(&removed);
  slurm_tasks_free(&tasks);
  slurm_cluster_close(&cluster);
  return code;
}

static int check_slurm(const char *root, const SweepRemoval *removal) {
  SweepManifest manifest;
  SweepJobMap job_map;
  if (!removal->name[0] || !sweep_journal_exists(root, removal->name)) return CORE_OK;
  TRY(sweep_manifest_read(root, removal->name, &manifest));
  int code = sweep_job_map_read(root, &manifest, &job_map);
  if (code == CORE_OK) {
    code = check_queue(root, removal, &manifest, &job_map);
    sweep_job_map_free(&job_map);
  }
  sweep_manifest_free(&manifest);
  return code;
}

int sweep_removal_check(const char *root, const SweepRemoval *removal) {
  TRY(check_here(root, removal));
  const int code = check_slurm(root, removal);
  if (code != CORE_FAIL) return code;
  return core_error_context(code, "%s was submitted to Slurm, and its queue cannot be read", removal->name);
}

/* ---- removing --------------------------------------------------------------------------------------------------- */

/* Returns the name of a directory while it is deleted. */
static int name_for_deletion(const char *path, char renamed[CORE_PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  CORE_CHECK(slash != NULL);
  return core_files_path(renamed, "%.*s/.removed-%s", (int)(slash - path), path, slash + 1);
}

bool sweep_removal_is_unfinished(const char *path) {
  char renamed[CORE_PATH_MAX];
  struct stat status;
  return name_for_deletion(path, renamed) == CORE_OK && lstat(renamed, &status) == 0;
}

int sweep_removal_delete_dir(const char *path) {
  char renamed[CORE_PATH_MAX];
  TRY(name_for_deletion(path, renamed));
  return core_files_remove_renamed(path, strrchr(renamed, '/') + 1);
}

static bool is_directory(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Holds the run's lease, so that no trainer starts in it meanwhile. */
static int remove_run(void *context, size_t index) {
  const Visit *visit = context;
  const char *root = visit->root, *id = visit->removal->by_directory[index].id;
  char path[CORE_PATH_MAX];
  StoreLease *lease = NULL;
  TRY(store_path_run(root, id, NULL, path));
  if (is_directory(path)) TRY(store_run_acquire(root, id, &lease));
  int code = sweep_removal_delete_dir(path);
  if (code == CORE_OK) code = store_annotations_remove(root, STORE_SUBJECT_RUN, id);
  store_run_release(&lease);
  return code;
}

/* Writes the manifest without the removed runs. A sweep that was submitted to Slurm keeps its indices, which its
 * batches refer to. */
static int compact_manifest(const char *root, const SweepRemoval *removal, StoreDeletion *deletion,
                            SweepManifest *rest) {
  *rest = (SweepManifest){0};
  if (removal->is_whole_sweep || removal->manifest.count == 0) return CORE_OK;
  if (sweep_journal_exists(root, removal->name)) return CORE_OK;
  memcpy(rest->name, removal->name, sizeof rest->name);
  rest->ids = core_memory_allocate((removal->manifest.count + 1) * sizeof *rest->ids);
  for (size_t i = 0; i < removal->manifest.count; i++)
    if (!removal->is_removed[i]) memcpy(rest->ids[rest->count++], removal->manifest.ids[i], CORE_RUN_ID);
  deletion->sweep = removal->name;
  deletion->members = (const char(*)[CORE_RUN_ID])rest->ids;
  deletion->member_count = rest->count;
  return sweep_manifest_write(root, rest);
}

static int remove_all(const char *root, const SweepRemoval *removal) {
  char path[CORE_PATH_MAX];
  SweepManifest rest = {0};
  StoreDeletion deletion = {.runs = (const char(*)[CORE_RUN_ID])removal->ids, .run_count = removal->count};
  int code = CORE_OK;
  TRY(core_parallel_visit(removal->count, remove_run, &(Visit){root, removal}));
  if (removal->is_whole_sweep) deletion.sweep = removal->name;
  code = compact_manifest(root, removal, &deletion, &rest);
  if (code == CORE_OK) code = store_delete(root, &deletion);
  sweep_manifest_free(&rest);
  TRY(code);
  if (!removal->is_whole_sweep) return CORE_OK;
  TRY(store_annotations_remove(root, STORE_SUBJECT_SWEEP, removal->name));
  TRY(store_path_sweep(root, removal->name, NULL, path));
  return sweep_removal_delete_dir(path);
}

/* Reduces the selection to what may still be removed: the sweep may have been submitted while the user was asked. */
static int select_again(const char *root, SweepRemoval *removal) {
  SweepRemoval current;
  SweepIdSet selected = {0};
  for (size_t i = 0; i < removal->manifest.count; i++)
    if (removal->is_removed[i]) sweep_id_set_add(&selected, removal->manifest.ids[i], NULL);
  const int code = select_sweep(root, removal->name, !removal->is_whole_sweep, &selected, &current);
  sweep_id_set_free(&selected);
  TRY(code);

  const size_t added = current.manifest.count - current.count - current.shared;
  if (removal->is_whole_sweep && added > 0) {
    sweep_removal_free(&current);
    return core_error(CORE_FAIL, "%s has %zu new runs; nothing was removed: run sweep rm %s again", removal->name,
                      added, removal->name);
  }

  copy_sizes(removal, &current);
  sweep_removal_free(removal);
  *removal = current;
  return CORE_OK;
}

int sweep_removal_lock(const char *root, const SweepRemoval *removal, int *lock) {
  char path[CORE_PATH_MAX];
  *lock = -1;
  TRY(store_path_sweep(root, removal->name, "submit.lock", path));
  if (core_files_exists(path)) TRY(sweep_journal_lock(root, removal->name, lock));
  const int code = sweep_removal_check(root, removal);
  if (code != CORE_OK) core_files_unlock(lock);
  return code;
}

int sweep_removal_resume(const char *root, const char *name, bool *finished) {
  char path[CORE_PATH_MAX];
  *finished = false;
  if (core_text_check_name(name, "sweep") != CORE_OK) {
    core_error_clear();
    return CORE_OK;
  }
  TRY(store_path_sweep(root, name, NULL, path));
  if (is_directory(path) || !sweep_removal_is_unfinished(path)) return CORE_OK;
  *finished = true;
  return sweep_removal_delete_dir(path);
}

/* Holds the sweep's locks, so that no submission writes its manifest or calls Slurm meanwhile. */
int sweep_removal_execute(const char *root, SweepRemoval *removal) {
  char path[CORE_PATH_MAX], owner[SWEEP_NAME];
  int manifest_lock, submission_lock;
  if (!removal->is_removed) {
    TRY(find_owner(root, removal->ids[0], owner));
    return remove_all(root, removal);
  }
  TRY(store_path_sweep(root, removal->name, "manifest.lock", path));
  TRY(core_files_lock(path, true, &manifest_lock));
  int code = sweep_removal_lock(root, removal, &submission_lock);
  if (code == CORE_OK) code = select_again(root, removal);
  if (code == CORE_OK) code = remove_all(root, removal);
  core_files_unlock(&submission_lock);
  core_files_unlock(&manifest_lock);
  return code;
}
