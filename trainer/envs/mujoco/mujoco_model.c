/* Reading and checking a model (mujoco_model.h). */
#include "trainer/envs/mujoco/mujoco_model.h"

#if CORE_HAS_MUJOCO
#include <omp.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/files.h"
#include "core/memory.h"

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

static int check_sizes(const MujocoTask *task, const mjModel *m, const char *path) {
  if (m->nq == task->nq && m->nv == task->nv && m->nu == task->nu && m->nbody == task->bodies) return CORE_OK;
  return core_error(CORE_USAGE, "%.300s is no model of %s: it has %d positions, %d velocities, %d actuators and %d "
                    "bodies, not %d, %d, %d and %d; `make mujoco` fetches Gymnasium's", path, task->name, (int)m->nq,
                    (int)m->nv, (int)m->nu, (int)m->nbody, task->nq, task->nv, task->nu, task->bodies);
}

static int find_named(MujocoModel *model, const char *path) {
  for (int i = 0; i < MUJOCO_NAMES && model->task->named[i]; i++) {
    model->named[i] = mujoco.mj_name2id(model->model, mjOBJ_BODY, model->task->named[i]);
    if (model->named[i] < 0)
      return core_error(CORE_USAGE, "%.300s has no body \"%s\", which %s looks at; `make mujoco` fetches Gymnasium's "
                        "models", path, model->task->named[i], model->task->name);
  }
  return CORE_OK;
}

static int hash_file(const char *path, uint8_t hash[MUJOCO_HASH]) {
  enum { MODEL_MAX = 1 << 24 };
  char *text = NULL;
  size_t length = 0;
  TRY(core_files_read(path, MODEL_MAX, &text, &length));
  crypto_generichash(hash, MUJOCO_HASH, (const unsigned char *)text, length, NULL, 0);
  free(text);
  return CORE_OK;
}

static int read_model(MujocoModel *model) {
  char path[CORE_PATH_MAX], reason[512] = "";
  TRY(mujoco_library_model(model->task->model, path, sizeof path));
  TRY(hash_file(path, model->hash));
  model->model = mujoco.mj_loadXML(path, NULL, reason, sizeof reason);
  if (model->model == NULL)
    return core_error(CORE_USAGE, "%.300s: %.400s; `make mujoco` fetches Gymnasium's models", path,
                      reason[0] ? reason : "MuJoCo can not read it");
  TRY(check_sizes(model->task, model->model, path));
  TRY(find_named(model, path));
  model->dt = model->model->opt.timestep * model->task->frame_skip;
  model->mass = mujoco_sum(model->model->body_mass, (int)model->model->nbody);
  model->state = (int)mujoco.mj_stateSize(model->model, mjSTATE_INTEGRATION);
  return CORE_OK;
}

int mujoco_model_create(const MujocoTask *task, MujocoModel **made) {
  TRY(mujoco_library_open());
  MujocoModel *model = core_memory_zero_allocate(1, sizeof *model);
  model->task = task;
  model->users = 1;
  const int code = read_model(model);
  if (code != CORE_OK) {
    mujoco_model_release(model);
    return core_error_context(code, "env.task = " MUJOCO_PREFIX "%s", task->name);
  }
  mujoco_model_threads(model, 1);
  *made = model;
  return CORE_OK;
}

int mujoco_model_threads(MujocoModel *model, int worlds) {
  const int most = omp_get_max_threads(), threads = worlds < most ? worlds : most;
  if (threads <= model->threads) return threads;
  model->data = core_memory_resize(model->data, (size_t)threads * sizeof *model->data);
  for (; model->threads < threads; model->threads++) {
    model->data[model->threads] = mujoco.mj_makeData(model->model);
    CORE_CHECK(model->data[model->threads] != NULL); /* no memory: as core_memory_allocate */
  }
  return threads;
}

MujocoModel *mujoco_model_share(MujocoModel *model) {
  model->users++;
  return model;
}

void mujoco_model_release(MujocoModel *model) {
  if (--model->users > 0) return;
  for (int i = 0; i < model->threads; i++) mujoco.mj_deleteData(model->data[i]);
  if (model->model) mujoco.mj_deleteModel(model->model);
  free(model->data);
  free(model);
}

/* Of an arena a step touches a small part only; 200 kB were measured with Humanoid. */
size_t mujoco_model_bytes(const MujocoModel *model) { return (size_t)model->threads * 200000; }
#endif
