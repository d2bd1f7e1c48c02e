/* What goes, in which order (removal.h). Knows nothing of terminals. */
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

static int add_size(const char *path, const struct stat *status, int kind, struct FTW *place) {
  if (S_ISREG(status->st_mode) && status->st_nlink == 1) walked_bytes += (double)status->st_blocks * 512;
  return 0;
}

/* Bytes on the disk that removing the folder frees. */
double sweep_removal_bytes(const char *path) {
  walked_bytes = 0;
  (void)nftw(path, add_size, 32, FTW_PHYS); /* what cannot be read counts for nothing */
  return walked_bytes;
}

/* ---- what goes -------------------------------------------------------------------------------------------------- */

/* The runs of the sweep's frozen file: what was submitted last. */
static int find_present(const char *root, const char *name, SweepIdSet *present) {
  const SweepCommon unused = {0};
  SweepCommon common = unused;
  SweepSpec spec;
  SweepGrid grid;
  snprintf(common.root, sizeof common.root, "%s", root);
  TRY(sweep_common_spec(&common, name, &spec));
  int code = sweep_grid_expand(&spec, &grid);
  if (code == CORE_OK) {
    sweep_id_set_add_all(present, (const char(*)[CORE_RUN_ID])grid.ids, grid.runs);
    sweep_grid_free(&grid);
  }
  sweep_spec_free(&spec);
  return code;
}

static int add_run(const char *root, const char *id, SweepRemoval *removal) {
  char path[CORE_PATH_MAX];
  TRY(store_path_run(root, id, NULL, path));
  memcpy(removal->ids[removal->count++], id, CORE_RUN_ID);
  removal->bytes += sweep_removal_bytes(path);
  return CORE_OK;
}

/* `among`: only of these; NULL: of all. */
static int choose_runs(const char *root, bool stale, const SweepIdSet *among, SweepRemoval *removal) {
  SweepIdSet shared = {0}, present = {0};
  SweepManifest *manifest = &removal->manifest;
  int code = sweep_manifest_add_ids(root, removal->name, &shared);
  if (code == CORE_OK && stale) code = find_present(root, removal->name, &present);
  removal->goes = core_memory_zero_allocate(manifest->count + 1, sizeof *removal->goes);
  removal->ids = core_memory_allocate((manifest->count + 1) * sizeof *removal->ids);
  for (size_t i = 0; i < manifest->count && code == CORE_OK; i++) {
    const char *id = manifest->ids[i];
    if (stale && sweep_id_set_find(&present, id, NULL)) continue;
    if (among && !sweep_id_set_find(among, id, NULL)) continue;
    removal->goes[i] = true; /* from this sweep; the run itself only where nobody else has it */
    if (sweep_id_set_find(&shared, id, NULL)) removal->shared++;
    else code = add_run(root, id, removal);
  }
  sweep_id_set_free(&shared);
  sweep_id_set_free(&present);
  return code;
}

static int choose(const char *root, const char *name, bool stale, const SweepIdSet *among, SweepRemoval *removal) {
  char path[CORE_PATH_MAX];
  *removal = (SweepRemoval){.whole = !stale};
  TRY(core_text_copy(removal->name, sizeof removal->name, name, "sweep"));
  TRY(sweep_manifest_read(root, name, &removal->manifest));
  int code = choose_runs(root, stale, among, removal);
  if (code == CORE_OK && !stale) {
    code = store_path_sweep(root, name, NULL, path);
    if (code == CORE_OK) removal->bytes += sweep_removal_bytes(path);
  }
  if (code != CORE_OK) sweep_removal_free(removal);
  return code;
}

int sweep_removal_plan_sweep(const char *root, const char *name, bool stale, SweepRemoval *removal) {
  return choose(root, name, stale, NULL, removal);
}

/* The sweep that has the run; CORE_USAGE when there are several. */
static int find_owner(const char *root, const char *id, char owner[SWEEP_NAME]) {
  char **names;
  size_t count;
  CoreText owners = {0};
  int code = CORE_OK, found = 0;
  owner[0] = '\0';
  TRY(sweep_common_list(root, &names, &count));
  for (size_t i = 0; i < count; i++) {
    SweepManifest manifest = {0};
    if (code == CORE_OK) code = sweep_manifest_read(root, names[i], &manifest);
    bool has = false;
    for (size_t k = 0; k < manifest.count && !has; k++) has = strcmp(manifest.ids[k], id) == 0;
    if (has) core_text_appendf(&owners, "%s%s", found++ ? ", " : "", names[i]);
    if (has) snprintf(owner, SWEEP_NAME, "%s", names[i]);
    sweep_manifest_free(&manifest);
    free(names[i]);
  }
  free(names);
  if (code == CORE_OK && found > 1)
    code = core_error(CORE_USAGE, "run %s belongs to %d sweeps (%s); remove those sweeps, and it goes with the last",
                      id, found, core_text_string(&owners));
  core_text_free(&owners);
  return code;
}

int sweep_removal_plan_run(const char *root, const char *id, SweepRemoval *removal) {
  *removal = (SweepRemoval){.whole = false};
  TRY(find_owner(root, id, removal->name));
  removal->ids = core_memory_allocate(sizeof *removal->ids);
  int code = add_run(root, id, removal);
  if (code != CORE_OK) sweep_removal_free(removal);
  return code;
}

void sweep_removal_free(SweepRemoval *removal) {
  sweep_manifest_free(&removal->manifest);
  free(removal->goes);
  free(removal->ids);
  *removal = (SweepRemoval){.whole = false};
}

/* ---- may it be -------------------------------------------------------------------------------------------------- */

static int check_here(const char *root, const SweepRemoval *removal) {
  SweepQueueRequest request;
  bool queued = false;
  if (removal->name[0]) TRY(sweep_queue_read(root, removal->name, &request, &queued));
  if (queued && sweep_queue_executor_pid(root))
    return core_error(CORE_USAGE, "%s is being worked on here; end it first: sweep stop %s", removal->name,
                      removal->name);
  for (size_t i = 0; i < removal->count; i++) {
    StoreState state;
    if (store_run_state_read(root, removal->ids[i], true, &state) != CORE_OK) core_error_clear(); /* damaged: may go */
    if (state.status == STORE_RUNNING)
      return core_error(CORE_USAGE, "run %s is running on %s; end it first: sweep stop %s", removal->ids[i], state.host,
                        removal->name[0] ? removal->name : removal->ids[i]);
  }
  return CORE_OK;
}

static int look_at_queue(const char *root, const SweepRemoval *removal, const SweepManifest *manifest,
                         SweepJobMap *job_map) {
  SlurmCluster *cluster;
  SlurmTasks tasks = {0};
  SweepIdSet going = {0};
  const char *name = removal->name;
  TRY(slurm_cluster_open("auto", &cluster, NULL));
  int code = slurm_list(cluster, &name, 1, &tasks);
  if (code == CORE_OK) sweep_job_map_join(name, job_map, &tasks);
  sweep_id_set_add_all(&going, (const char(*)[CORE_RUN_ID])removal->ids, removal->count);
  for (size_t i = 0; i < manifest->count && i < job_map->count && code == CORE_OK; i++) {
    const SlurmTask *row = sweep_job_map_task(job_map, &job_map->entries[i]);
    if (!row || slurm_state_is_over(row->state)) continue;
    if (!removal->whole && !sweep_id_set_find(&going, manifest->ids[i], NULL)) continue;
    code = core_error(CORE_USAGE, "%s: run %s is in Slurm's queue; take it out first: sweep cancel %s", name,
                      manifest->ids[i], name);
  }
  sweep_id_set_free(&going);
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
    code = look_at_queue(root, removal, &manifest, &job_map);
    sweep_job_map_free(&job_map);
  }
  sweep_manifest_free(&manifest);
  return code;
}

int sweep_removal_check(const char *root, const SweepRemoval *removal) {
  TRY(check_here(root, removal));
  const int code = check_slurm(root, removal);
  return code == CORE_FAIL
           ? core_error_context(code, "%s was submitted to Slurm, and nobody can say what of it is in the queue",
                                removal->name)
           : code;
}

/* ---- removing --------------------------------------------------------------------------------------------------- */

/* The name that a folder has while it is removed. */
static int name_aside(const char *path, char aside[CORE_PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  CORE_CHECK(slash != NULL);
  return core_files_path(aside, "%.*s/.removed-%s", (int)(slash - path), path, slash + 1);
}

bool sweep_removal_is_unfinished(const char *path) {
  char aside[CORE_PATH_MAX];
  struct stat status;
  return name_aside(path, aside) == CORE_OK && lstat(aside, &status) == 0;
}

/* Out of everybody's sight with one rename, then emptied; also what a removal that was killed has left. Links are
 * removed, never followed. */
int sweep_removal_delete_dir(const char *path) {
  char aside[CORE_PATH_MAX];
  TRY(name_aside(path, aside));
  TRY(core_files_remove_tree(aside));
  if (rename(path, aside) != 0)
    return errno == ENOENT ? CORE_OK : core_error_errno(CORE_FAIL, "%s cannot be removed", path);
  return core_files_remove_tree(aside);
}

static bool is_folder(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Under the run's lease, so that no trainer begins in it meanwhile. */
static int remove_run(const char *root, const char *id) {
  char path[CORE_PATH_MAX];
  StoreLease *lease = NULL;
  TRY(store_path_run(root, id, NULL, path));
  if (is_folder(path)) TRY(store_run_acquire(root, id, &lease));
  int code = sweep_removal_delete_dir(path);
  if (code == CORE_OK) code = store_annotations_remove(root, STORE_SUBJECT_RUN, id);
  store_run_release(&lease);
  return code;
}

/* The manifest without the runs that went. A sweep that Slurm had keeps its places: the journal of its jobs counts by
 * them. */
static int compact(const char *root, const SweepRemoval *removal, StoreDeletion *forget, SweepManifest *rest) {
  *rest = (SweepManifest){0};
  if (removal->whole || removal->manifest.count == 0 || sweep_journal_exists(root, removal->name)) return CORE_OK;
  memcpy(rest->name, removal->name, sizeof rest->name);
  rest->ids = core_memory_allocate((removal->manifest.count + 1) * sizeof *rest->ids);
  for (size_t i = 0; i < removal->manifest.count; i++)
    if (!removal->goes[i]) memcpy(rest->ids[rest->count++], removal->manifest.ids[i], CORE_RUN_ID);
  forget->sweep = removal->name;
  forget->members = (const char(*)[CORE_RUN_ID])rest->ids;
  forget->member_count = rest->count;
  return sweep_manifest_write(root, rest);
}

static int remove_all(const char *root, const SweepRemoval *removal) {
  char path[CORE_PATH_MAX];
  SweepManifest rest = {0};
  StoreDeletion forget = {.runs = (const char(*)[CORE_RUN_ID])removal->ids, .run_count = removal->count};
  int code = CORE_OK;
  for (size_t i = 0; i < removal->count; i++) TRY(remove_run(root, removal->ids[i]));
  if (removal->whole) forget.sweep = removal->name;
  code = compact(root, removal, &forget, &rest);
  if (code == CORE_OK) code = store_delete(root, &forget);
  sweep_manifest_free(&rest);
  TRY(code);
  if (!removal->whole) return CORE_OK;
  TRY(store_annotations_remove(root, STORE_SUBJECT_SWEEP, removal->name));
  TRY(store_path_sweep(root, removal->name, NULL, path));
  return sweep_removal_delete_dir(path);
}

/* Of what was chosen, what may go as the sweep stands now: somebody may have submitted while a person was asked. */
static int choose_again(const char *root, SweepRemoval *removal) {
  SweepRemoval now;
  SweepIdSet chosen = {0};
  for (size_t i = 0; i < removal->manifest.count; i++)
    if (removal->goes[i]) sweep_id_set_add(&chosen, removal->manifest.ids[i], NULL);
  int code = choose(root, removal->name, !removal->whole, &chosen, &now);
  sweep_id_set_free(&chosen);
  TRY(code);
  const size_t more = now.manifest.count - now.count - now.shared;
  if (removal->whole && more > 0) {
    sweep_removal_free(&now);
    return core_error(CORE_FAIL, "%s has %zu runs that it did not have before; nothing of it was removed: look again, "
                      "with sweep rm %s", removal->name, more, removal->name);
  }
  sweep_removal_free(removal);
  *removal = now;
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
  if (is_folder(path) || !sweep_removal_is_unfinished(path)) return CORE_OK;
  *finished = true;
  return sweep_removal_delete_dir(path);
}

/* A sweep's under its locks, so that no submit writes the manifest or hands anything to Slurm meanwhile. */
int sweep_removal_execute(const char *root, SweepRemoval *removal) {
  char path[CORE_PATH_MAX], owner[SWEEP_NAME];
  int lock, submissions;
  if (!removal->goes) {
    TRY(find_owner(root, removal->ids[0], owner));
    return remove_all(root, removal);
  }
  TRY(store_path_sweep(root, removal->name, "manifest.lock", path));
  TRY(core_files_lock(path, true, &lock));
  int code = sweep_removal_lock(root, removal, &submissions);
  if (code == CORE_OK) code = choose_again(root, removal);
  if (code == CORE_OK) code = remove_all(root, removal);
  core_files_unlock(&submissions);
  core_files_unlock(&lock);
  return code;
}
