/* Loading and validation of models (mujoco_model.h). */
#include "trainer/envs/mujoco/mujoco_model.h"

#if CORE_HAS_MUJOCO
#include <omp.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/files.h"
#include "core/memory.h"
#include "core/process.h"
#include "trainer/envs/mujoco/mujoco_goal.h"

double mujoco_sum(const double *x, int n) {
  double r[8], sum;
  int i = 0;
  if (n >= 8) {
    for (int k = 0; k < 8; k++) r[k] = x[k];
    for (i = 8; i + 8 <= n; i += 8)
      for (int k = 0; k < 8; k++) r[k] += x[i + k];
    sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  } else {
    sum = 0;
  }
  for (; i < n; i++) sum += x[i];
  return sum;
}

/* Returns how to install the right model. */
static const char *remedy(const MujocoTask *task) {
  return task->release ? "`make` or `make install` installs this trainer's model"
                       : "`make mujoco` downloads Gymnasium's models";
}

static int check_sizes(const MujocoTask *task, const mjModel *m, const char *path) {
  if (m->nq == task->nq && m->nv == task->nv && m->nu == task->nu && m->nbody == task->bodies) return CORE_OK;
  return core_error(CORE_USAGE, "%.300s is not a model of %s: it has %d positions, %d velocities, %d actuators and %d "
                    "bodies, expected %d, %d, %d and %d; %s", path, task->name, (int)m->nq, (int)m->nv, (int)m->nu,
                    (int)m->nbody, task->nq, task->nv, task->nu, task->bodies, remedy(task));
}

static int find_named(MujocoModel *model, const char *path) {
  for (int i = 0; i < MUJOCO_NAMES && model->task->named[i]; i++) {
    model->named[i] = mujoco.mj_name2id(model->model, mjOBJ_BODY, model->task->named[i]);
    if (model->named[i] < 0)
      return core_error(CORE_USAGE, "%.300s has no body \"%s\", which %s requires; %s", path, model->task->named[i],
                        model->task->name, remedy(model->task));
  }
  return CORE_OK;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Finds one of this project's models: in share/sweep/models of an installation, or in trainer/envs/models of the source
 * tree, searched upwards from the program's directory. */
static int find_bundled_model(const char *name, char path[CORE_PATH_MAX]) {
  static const char *const directories[] = {"share/sweep/models", "trainer/envs/models"};
  char directory[CORE_PATH_MAX];
  TRY(core_program_path(directory));
  for (char *slash; (slash = strrchr(directory, '/')) != NULL;) {
    *slash = '\0';
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
      TRY(core_files_path(path, "%s/%s/%s", directory, directories[i], name));
      if (core_files_exists(path)) return CORE_OK;
    }
  }
  return core_error(CORE_USAGE, "cannot find the model %s: neither share/sweep/models/%s nor trainer/envs/models/%s "
                    "exists above the trainer's directory; `make install` installs it", name, name, name);
}

/* Reads a file and updates the hash. The caller frees *text. */
static int read_file(const char *path, crypto_generichash_state *hash, char **text, size_t *length) {
  enum { MODEL_MAX = 1 << 24 };
  TRY(core_files_read(path, MODEL_MAX, text, length));
  crypto_generichash_update(hash, (const unsigned char *)*text, *length);
  return CORE_OK;
}

/* Updates the hash by the included file of a bundled model; MuJoCo itself finds the file. */
static int hash_part(const MujocoTask *task, const char *path, crypto_generichash_state *hash) {
  char part[CORE_PATH_MAX], *text = NULL;
  size_t length = 0;
  if (task->include == NULL) return CORE_OK;
  TRY(core_files_path(part, "%.*s%s", (int)(strrchr(path, '/') + 1 - path), path, task->include));
  if (!core_files_exists(part))
    return core_error(CORE_USAGE, "%.300s is missing, which %s includes; %s", part, task->model, remedy(task));
  TRY(read_file(part, hash, &text, &length));
  free(text);
  return CORE_OK;
}

/* Loads a bundled model that includes one of MuJoCo's models, as if both were in the same directory. */
static int load_with_include(MujocoModel *model, const char *text, size_t length, crypto_generichash_state *hash,
                       char *reason, int size) {
  char directory[CORE_PATH_MAX], path[CORE_PATH_MAX], *included = NULL;
  size_t included_length = 0;
  mjVFS files;
  TRY(mujoco_library_model(model->task->mujoco_include, directory, sizeof directory));
  TRY(read_file(directory, hash, &included, &included_length));
  free(included);
  *strrchr(directory, '/') = '\0';
  TRY(core_files_path(path, "%s/%s", directory, model->task->model));
  mujoco.mj_defaultVFS(&files);
  if (mujoco.mj_addBufferVFS(&files, path, text, (int)length) == 0)
    model->model = mujoco.mj_loadXML(path, &files, reason, size);
  mujoco.mj_deleteVFS(&files);
  return CORE_OK;
}

static int load(MujocoModel *model, const char *path) {
  char reason[512] = "", *text = NULL;
  size_t length = 0;
  int code = CORE_OK;
  crypto_generichash_state hash;
  crypto_generichash_init(&hash, NULL, 0, MUJOCO_HASH);
  TRY(hash_part(model->task, path, &hash));
  TRY(read_file(path, &hash, &text, &length));
  if (model->task->mujoco_include) code = load_with_include(model, text, length, &hash, reason, sizeof reason);
  else model->model = mujoco.mj_loadXML(path, NULL, reason, sizeof reason);
  free(text);
  crypto_generichash_final(&hash, model->hash, MUJOCO_HASH);
  if (code != CORE_OK || model->model != NULL) return code;
  return core_error(CORE_USAGE, "%.300s: %.400s; %s", path, reason[0] ? reason : "MuJoCo cannot read it",
                    remedy(model->task));
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int check_release(const MujocoTask *task, const mjModel *m, const char *path) {
  const int id = mujoco.mj_name2id(m, mjOBJ_NUMERIC, "release");
  const double release = id < 0 ? 0 : m->numeric_data[m->numeric_adr[id]];
  if (task->release == 0 || release == task->release) return CORE_OK;
  return core_error(CORE_USAGE, "%.300s is release %g of the model, but this trainer requires release %d; %s",
                    path, release, task->release, remedy(task));
}

/* Disables gravity except for the object, as Isaac Gym's disable_gravity does for hands. */
static void disable_gravity(mjModel *m, int object) {
  for (int b = 1; b < m->nbody; b++) m->body_gravcomp[b] = b == object ? 0 : 1;
  m->ngravcomp = m->nbody - 2;
#if mjVERSION_HEADER >= 4000000
  m->flg_gravcomp = true;
#endif
}

static int read_model(MujocoModel *model) {
  const MujocoTask *task = model->task;
  char path[CORE_PATH_MAX];
  TRY(task->release ? find_bundled_model(task->model, path) : mujoco_library_model(task->model, path, sizeof path));
  TRY(load(model, path));
  TRY(check_release(task, model->model, path));
  TRY(check_sizes(task, model->model, path));
  TRY(find_named(model, path));
  if (task->reorient) disable_gravity(model->model, model->named[0]);
  model->dt = model->model->opt.timestep * task->frame_skip;
  model->mass = mujoco_sum(model->model->body_mass, (int)model->model->nbody);
  model->state = (int)mujoco.mj_stateSize(model->model, mjSTATE_INTEGRATION);
  model->goals = mujoco_goal_rules(task);
  return model->goals ? model->goals->check(model, path) : CORE_OK;
}

int mujoco_model_create(const MujocoTask *task, MujocoModel **created) {
  TRY(mujoco_library_open());
  MujocoModel *model = core_memory_zero_allocate(1, sizeof *model);
  model->task = task;
  model->users = 1;
  if (task->reorient) model->reorient = *task->reorient;
  const int code = read_model(model);
  if (code != CORE_OK) {
    mujoco_model_release(model);
    return core_error_context(code, "env.task = " MUJOCO_PREFIX "%s", task->name);
  }
  mujoco_model_threads(model, 1);
  *created = model;
  return CORE_OK;
}

int mujoco_model_threads(MujocoModel *model, int worlds) {
  const int max_threads = omp_get_max_threads(), threads = worlds < max_threads ? worlds : max_threads;
  if (threads <= model->threads) return threads;
  model->data = core_memory_resize(model->data, (size_t)threads * sizeof *model->data);
  for (; model->threads < threads; model->threads++) {
    model->data[model->threads] = mujoco.mj_makeData(model->model);
    CORE_CHECK(model->data[model->threads] != NULL); /* aborts if out of memory, as core_memory_allocate */
    if (model->goals == NULL || model->goals->prepare == NULL) continue;
    model->copies = core_memory_resize(model->copies, (size_t)threads * sizeof *model->copies);
    model->copies[model->threads] = mujoco.mj_copyModel(NULL, model->model);
    CORE_CHECK(model->copies[model->threads] != NULL);
  }
  return threads;
}

mjModel *mujoco_model_of(const MujocoModel *model, const mjData *data) {
  if (model->copies == NULL) return model->model;
  for (int i = 0; i < model->threads; i++)
    if (model->data[i] == data) return model->copies[i];
  core_error_abort(__FILE__, __LINE__, "the mjData is one of the model's");
}

MujocoModel *mujoco_model_share(MujocoModel *model) {
  model->users++;
  return model;
}

void mujoco_model_release(MujocoModel *model) {
  if (--model->users > 0) return;
  for (int i = 0; i < model->threads; i++) {
    mujoco.mj_deleteData(model->data[i]);
    if (model->copies) mujoco.mj_deleteModel(model->copies[i]);
  }
  if (model->model) mujoco.mj_deleteModel(model->model);
  free(model->data);
  free(model->copies);
  free(model);
}

/* Estimates memory: a step touches only a small part of mjData's arena; measured: 200 KB with Humanoid. */
size_t mujoco_model_bytes(const MujocoModel *model) { return (size_t)model->threads * 200000; }
#endif
