/* Parents: in the list, in the queue, done, or nowhere. Reads states and, when it must, the other sweeps of the
 * workspace. */
#include "sweep/cluster/ancestry.h"

#include <stdlib.h>
#include <string.h>

#include "core/config/origin.h"
#include "core/files.h"
#include "core/memory.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/cluster/journal.h"
#include "sweep/spec/sweep.h"

/* Another sweep of the workspace that went to Slurm. */
typedef struct Other {
  SweepIdSet ids;
  SweepJobMap job_map;
} Other;

struct SweepAncestry {
  const char *root, *name;
  SlurmCluster *cluster;
  const SweepIdSet *ids;
  const SweepJobMap *own;
  bool looked;               /* at the others */
  Other *others;
  size_t other_count;
  SlurmTasks queue;          /* what Slurm has of them */
};

SweepAncestry *sweep_ancestry_create(const char *root, const char *name, SlurmCluster *cluster, const SweepIdSet *ids,
                                     const SweepJobMap *own) {
  SweepAncestry *ancestry = core_memory_zero_allocate(1, sizeof *ancestry);
  *ancestry = (SweepAncestry){.root = root, .name = name, .cluster = cluster, .ids = ids, .own = own};
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
  Other *other = &ancestry->others[ancestry->other_count];
  SweepManifest manifest;
  *other = (Other){0};
  TRY(sweep_manifest_read(ancestry->root, name, &manifest));
  const int code = sweep_job_map_read(ancestry->root, &manifest, &other->job_map);
  sweep_id_set_add_all(&other->ids, (const char(*)[CORE_RUN_ID])manifest.ids, manifest.count);
  sweep_manifest_free(&manifest);
  ancestry->other_count++;
  return code;
}

static int look_at_others(SweepAncestry *ancestry) {
  char **names;
  size_t count, asked = 0;
  ancestry->looked = true;
  if (!ancestry->cluster) return CORE_OK;
  TRY(sweep_common_list(ancestry->root, &names, &count));
  ancestry->others = core_memory_zero_allocate(count + 1, sizeof *ancestry->others);
  int code = CORE_OK;
  for (size_t i = 0; i < count && code == CORE_OK; i++) {
    if (strcmp(names[i], ancestry->name) == 0 || !sweep_journal_exists(ancestry->root, names[i])) {
      free(names[i]);
      names[i] = NULL;
      continue;
    }
    char *name = names[i];
    names[i] = NULL;
    names[asked++] = name;
    code = read_other(ancestry, name);
  }
  if (code == CORE_OK && asked > 0)
    code = slurm_list(ancestry->cluster, (const char *const *)names, asked, &ancestry->queue);
  for (size_t i = 0; i < asked && code == CORE_OK; i++)
    sweep_job_map_join(names[i], &ancestry->others[i].job_map, &ancestry->queue);
  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  return code;
}

static bool is_carried(const SweepIdSet *ids, const SweepJobMap *job_map, const char *id, SlurmId *task) {
  size_t index;
  if (!sweep_id_set_find(ids, id, &index) || index >= job_map->count) return false;
  const SweepJobMapEntry *place = &job_map->entries[index];
  const SlurmTask *row = sweep_job_map_task(job_map, place);
  if (!row || slurm_state_is_over(row->state)) return false;
  *task = sweep_job_map_task_id(place);
  return true;
}

/* What the trainer would find: any checkpoint of a finished run, or the one that is asked for. */
static int is_ready(const char *root, const CoreOrigin *origin, bool *ready) {
  StoreState state;
  char folder[CORE_PATH_MAX], path[CORE_PATH_MAX];
  TRY(store_run_state_read(root, origin->run, true, &state));
  *ready = state.status == STORE_FINISHED;
  if (*ready || origin->iteration < 0) return CORE_OK;
  TRY(store_path_run(root, origin->run, "ckpt", folder));
  TRY(core_files_path(path, "%s/iteration-%012lld.ckpt", folder,
                      (long long)origin->iteration)); /* trainer/checkpoint/checkpoint.c */
  *ready = core_files_exists(path);
  return CORE_OK;
}

int sweep_ancestry_find(SweepAncestry *ancestry, const char *from, const SweepIdSet *listed, SweepParentState *where,
                        size_t *place, SlurmId *task, char parent[CORE_RUN_ID]) {
  CoreOrigin origin;
  bool ready;
  *where = SWEEP_PARENT_READY, parent[0] = '\0';
  if (!*from || core_origin_parse(from, &origin) != CORE_OK || !origin.is_run)
    return CORE_OK; /* the trainer says what is wrong */
  memcpy(parent, origin.run, CORE_RUN_ID);
  *where = SWEEP_PARENT_LISTED;
  if (sweep_id_set_find(listed, parent, place)) return CORE_OK;
  *where = SWEEP_PARENT_QUEUED;
  if (is_carried(ancestry->ids, ancestry->own, parent, task)) return CORE_OK;
  TRY(is_ready(ancestry->root, &origin, &ready));
  *where = SWEEP_PARENT_READY;
  if (ready) return CORE_OK;
  if (!ancestry->looked) TRY(look_at_others(ancestry));
  *where = SWEEP_PARENT_QUEUED;
  for (size_t i = 0; i < ancestry->other_count; i++)
    if (is_carried(&ancestry->others[i].ids, &ancestry->others[i].job_map, parent, task)) return CORE_OK;
  *where = SWEEP_PARENT_MISSING;
  return CORE_OK;
}
