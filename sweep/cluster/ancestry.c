/* Reads run states, this sweep's job map and, if necessary, the job maps of the other sweeps of the workspace
 * (ancestry.h). */
#include "sweep/cluster/ancestry.h"

#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/files.h"
#include "core/memory.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/cluster/journal.h"
#include "sweep/spec/sweep.h"

/* Another sweep of the workspace with a submission to Slurm. */
typedef struct OtherSweep {
  SweepIdSet ids;
  SweepJobMap job_map;
} OtherSweep;

struct SweepAncestry {
  const char *root, *name;
  SlurmCluster *cluster;
  const SweepIdSet *ids;
  const SweepJobMap *job_map;
  bool has_read_others;
  OtherSweep *others;        /* [other_count] */
  size_t other_count;
  SlurmTasks queue;          /* Slurm's tasks of the other sweeps */
};

SweepAncestry *sweep_ancestry_create(const char *root, const char *name, SlurmCluster *cluster, const SweepIdSet *ids,
                                     const SweepJobMap *job_map) {
  SweepAncestry *ancestry = core_memory_zero_allocate(1, sizeof *ancestry);
  *ancestry = (SweepAncestry){.root = root, .name = name, .cluster = cluster, .ids = ids, .job_map = job_map};
  return ancestry;
}

void sweep_ancestry_destroy(SweepAncestry **ancestry) {
  if (!*ancestry) return;
  for (size_t i = 0; i < (*ancestry)->other_count; i++) {
    sweep_id_set_free(&(*ancestry)->others[i].ids);
    sweep_job_map_free(&(*ancestry)->others[i].job_map);
  }
  free((*ancestry)->others);
  slurm_tasks_free(&(*ancestry)->queue);
  free(*ancestry);
  *ancestry = NULL;
}

static int read_other(SweepAncestry *ancestry, const char *name) {
  OtherSweep *other = &ancestry->others[ancestry->other_count];
  SweepManifest manifest;
  *other = (OtherSweep){0};
  const int read = sweep_manifest_read(ancestry->root, name, &manifest);
  if (read != CORE_OK) {
    ancestry->other_count++; /* it has no runs then */
    return sweep_common_pass_over(ancestry->root, name, read);
  }
  const int code = sweep_job_map_read(ancestry->root, &manifest, &other->job_map);
  sweep_id_set_add_all(&other->ids, (const char(*)[CORE_RUN_ID])manifest.ids, manifest.count);
  sweep_manifest_free(&manifest);
  ancestry->other_count++;
  return code;
}

/* Lists the names of the other sweeps that have a journal. The caller frees each name and the array. */
static int list_others(const SweepAncestry *ancestry, char ***names, size_t *count) {
  size_t total;
  *count = 0;
  TRY(sweep_common_list(ancestry->root, names, &total));
  for (size_t i = 0; i < total; i++) {
    char *name = (*names)[i];
    if (strcmp(name, ancestry->name) == 0 || !sweep_journal_exists(ancestry->root, name)) free(name);
    else (*names)[(*count)++] = name;
  }
  return CORE_OK;
}

/* Reads the job maps of all other sweeps and joins them to Slurm's queue, in one query. */
static int read_others(SweepAncestry *ancestry) {
  char **names;
  size_t count;
  ancestry->has_read_others = true;
  if (!ancestry->cluster) return CORE_OK;

  TRY(list_others(ancestry, &names, &count));
  ancestry->others = core_memory_zero_allocate(count + 1, sizeof *ancestry->others);
  int code = CORE_OK;
  for (size_t i = 0; i < count && code == CORE_OK; i++) code = read_other(ancestry, names[i]);
  if (code == CORE_OK && count > 0)
    code = slurm_list(ancestry->cluster, &(SlurmSelection){(const char *const *)names, count, ancestry->root},
                      &ancestry->queue);
  for (size_t i = 0; i < count && code == CORE_OK; i++)
    sweep_job_map_join(names[i], &ancestry->others[i].job_map, &ancestry->queue);

  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  return code;
}

/* Whether an unfinished Slurm task runs `id`. *task: that task. */
static bool is_queued(const SweepIdSet *ids, const SweepJobMap *job_map, const char *id, SlurmId *task) {
  size_t index;
  if (!sweep_id_set_find(ids, id, &index) || index >= job_map->count) return false;
  const SweepJobMapEntry *entry = &job_map->entries[index];
  const SlurmTask *row = sweep_job_map_task(job_map, entry);
  if (!row || slurm_state_is_over(row->state)) return false;
  *task = sweep_job_map_task_id(entry);
  return true;
}

static bool is_queued_elsewhere(const SweepAncestry *ancestry, const char *id, SlurmId *task) {
  for (size_t i = 0; i < ancestry->other_count; i++)
    if (is_queued(&ancestry->others[i].ids, &ancestry->others[i].job_map, id, task)) return true;
  return false;
}

/* Whether the trainer would find the checkpoint: any of a finished run, otherwise the requested iteration's. */
static int has_checkpoint(const char *root, const CoreOrigin *origin, bool *exists) {
  StoreState state;
  char directory[CORE_PATH_MAX], path[CORE_PATH_MAX];
  TRY(store_run_state_read(root, origin->run, true, &state));
  *exists = state.status == STORE_FINISHED;
  if (*exists || origin->iteration < 0) return CORE_OK;
  TRY(store_path_run(root, origin->run, "ckpt", directory));
  TRY(core_files_path(path, "%s/iteration-%012lld.ckpt", directory,
                      (long long)origin->iteration)); /* as in trainer/checkpoint/checkpoint.c */
  *exists = core_files_exists(path);
  return CORE_OK;
}

int sweep_ancestry_find(SweepAncestry *ancestry, const char *from, const SweepIdSet *listed,
                        SweepParentLocation *parent) {
  CoreOrigin origin;
  bool exists;
  *parent = (SweepParentLocation){.state = SWEEP_PARENT_READY};
  if (!*from || core_origin_parse(from, &origin) != CORE_OK || !origin.is_run)
    return CORE_OK; /* the trainer reports an invalid setting */

  memcpy(parent->id, origin.run, CORE_RUN_ID);
  if (sweep_id_set_find(listed, parent->id, &parent->list_index)) {
    parent->state = SWEEP_PARENT_LISTED;
    return CORE_OK;
  }
  if (is_queued(ancestry->ids, ancestry->job_map, parent->id, &parent->task)) {
    parent->state = SWEEP_PARENT_QUEUED;
    return CORE_OK;
  }

  TRY(has_checkpoint(ancestry->root, &origin, &exists));
  if (exists) return CORE_OK;
  if (!ancestry->has_read_others) TRY(read_others(ancestry));
  parent->state =
    is_queued_elsewhere(ancestry, parent->id, &parent->task) ? SWEEP_PARENT_QUEUED : SWEEP_PARENT_MISSING;
  return CORE_OK;
}
