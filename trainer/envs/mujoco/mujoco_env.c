/* Many worlds of one task (mujoco_env.h). A world is a record: its episode and step, what the next reward is measured
 * from, and MuJoCo's state, which is put into a thread's mjData for each step. */
#include "trainer/envs/mujoco/mujoco_env.h"

#include "trainer/envs/mujoco/mujoco_render.h"
#include "trainer/envs/mujoco/mujoco_rules.h"

#if CORE_HAS_MUJOCO
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "core/text.h"

typedef struct World {
  uint32_t episode;
  int32_t steps;             /* of the episode */
  double mark[MUJOCO_MARKS];
  double state[];            /* [model->state] mjSTATE_INTEGRATION */
} World;

typedef struct MujocoEnv {
  MujocoModel *model;
  uint64_t seed;
  uint32_t first_world;
  size_t stride;             /* bytes of a World */
  uint8_t *worlds;
  int64_t faults;            /* worlds that met numbers that are not finite */
  MujocoRender *render;      /* made at the first picture; NULL before */
} MujocoEnv;

/* The head of a saved state: what the records mean something to. */
typedef struct Head {
  char task[48];
  int32_t mujoco, stride;
  uint8_t model[MUJOCO_HASH];
} Head;

static MujocoEnv *batch_of(const Env *env) { return env->state; }
static World *world_of(const MujocoEnv *batch, int w) { return (World *)(batch->worlds + (size_t)w * batch->stride); }

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

static double uniform(void *stream) {
  const uint64_t high = core_random_next(stream) >> 5, low = core_random_next(stream) >> 6;
  return (double)(high << 26 | low) * 0x1p-53;
}

static double normal(void *stream) {
  double x, y;
  const uint32_t first = core_random_next(stream);
  core_random_normal_pair(first, core_random_next(stream), &x, &y);
  return x;
}

/* ---- one world --------------------------------------------------------------------------------------------------- */

static void show(const MujocoModel *model, const mjData *data, float *observation) {
  double exact[MUJOCO_OBSERVATIONS_MAX];
  mujoco_observe(model, data, exact);
  for (int i = 0; i < model->task->observations; i++) observation[i] = (float)exact[i];
}

static void keep(const MujocoModel *model, const mjData *data, World *world) {
  mujoco_mark(model, data, world->mark);
  mujoco.mj_getState(model->model, data, world->state, mjSTATE_INTEGRATION);
}

/* Draws belong to the world, its episode and the step: each step has BLOCKS blocks of four for itself. */
static CoreRandomStream stream_of(const MujocoEnv *batch, int w) {
  enum { BLOCKS = 1024 };
  const World *world = world_of(batch, w);
  CoreRandomStream stream =
    core_random_stream(batch->seed, CORE_RANDOM_RESET, batch->first_world + (uint32_t)w, world->episode);
  stream.block = (uint32_t)world->steps * BLOCKS;
  return stream;
}

static void begin_episode(const MujocoEnv *batch, mjData *data, int w, float *observation) {
  World *world = world_of(batch, w);
  world->steps = 0;
  CoreRandomStream stream = stream_of(batch, w);
  if (world->episode == 0) memset(data->userdata, 0, (size_t)batch->model->model->nuserdata * sizeof *data->userdata);
  mujoco_reset(batch->model, data, &(MujocoRandom){uniform, normal, &stream});
  show(batch->model, data, observation);
  keep(batch->model, data, world);
}

static uint8_t solved_of(const MujocoModel *model, const mjData *data) {
  const int reached = mujoco_reached(model, data);
  return reached > UINT8_MAX ? UINT8_MAX : (uint8_t)reached;
}

/* True: MuJoCo met a number that is not finite; the episode ends without a reward. */
static bool step_world(const MujocoEnv *batch, mjData *data, int w, const float *action, const EnvStep *out) {
  const MujocoTask *task = batch->model->task;
  World *world = world_of(batch, w);
  float *observation = out->observations + (size_t)w * (size_t)task->observations;
  bool ended = true;
  mujoco_take(batch->model, data, world->state);
  const bool fault = !mujoco_step(batch->model, data, action);
  if (fault) mujoco_take(batch->model, data, world->state); /* MuJoCo has reset all, goals and curriculum too */
  world->steps++;
  out->rewards[w] = fault ? 0 : (float)mujoco_reward(batch->model, data, action, world->mark, &ended);
  const bool done = ended || world->steps == task->limit;
  out->dones[w] = done;
  out->solved[w] = done ? solved_of(batch->model, data) : 0;
  out->episode_steps[w] = world->steps;
  if (out->levels) out->levels[w] = 0;
  if (out->truncated) out->truncated[w] = done && !ended;
  if (!done) {
    CoreRandomStream stream = stream_of(batch, w);
    mujoco_advance(batch->model, data, &(MujocoRandom){uniform, normal, &stream});
    show(batch->model, data, observation);
    keep(batch->model, data, world);
    return false;
  }
  if (out->final_observations)
    show(batch->model, data, out->final_observations + (size_t)w * (size_t)task->observations);
  world->episode++;
  begin_episode(batch, data, w, observation);
  return fault;
}

/* ---- all worlds -------------------------------------------------------------------------------------------------- */

/* Worlds that a thread takes at a time: few enough that threads end together, within a 64th of their time. */
static int chunk_of(int worlds, int threads) {
  const int chunk = worlds / (threads * 64);
  return chunk < 1 ? 1 : chunk;
}

static void reset(Env *env, float *observations) {
  MujocoEnv *batch = batch_of(env);
  const int worlds = env->worlds, threads = mujoco_model_threads(batch->model, worlds);
  const size_t seen = (size_t)env->observation_length;
#pragma omp parallel for schedule(dynamic, chunk_of(worlds, threads)) num_threads(threads) if (threads > 1)
  for (int w = 0; w < worlds; w++) {
    world_of(batch, w)->episode = 0;
    begin_episode(batch, batch->model->data[omp_get_thread_num()], w, observations + (size_t)w * seen);
  }
}

static void step_part(Env *env, int first, int count, const void *actions, const EnvStep *out) {
  MujocoEnv *batch = batch_of(env);
  const int threads = mujoco_model_threads(batch->model, count);
  const size_t values = (size_t)env->action_values;
  int64_t faults = 0;
#pragma omp parallel for schedule(dynamic, chunk_of(count, threads)) num_threads(threads) if (threads > 1) \
  reduction(+ : faults)
  for (int w = first; w < first + count; w++)
    faults += step_world(batch, batch->model->data[omp_get_thread_num()], w,
                         (const float *)actions + (size_t)w * values, out);
  batch->faults += faults;
}

static void step(Env *env, const void *actions, const EnvStep *out) { step_part(env, 0, env->worlds, actions, out); }

static const EnvParts parts = {.step = step_part};

static int64_t nonfinite(const Env *env) { return batch_of(env)->faults; }
static const EnvPhysics physics = {.nonfinite = nonfinite};

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

static double step_seconds(const Env *env) { return batch_of(env)->model->dt; }

/* Positions of bodies are older than qpos after a step, hence mj_forward; the world's record stays as it is. */
static int draw(Env *env, int w, int width, int height, uint8_t *rgb) {
  MujocoEnv *batch = batch_of(env);
  mjData *data = batch->model->data[0];
  mjModel *model = mujoco_model_of(batch->model, data);
  if (batch->render == NULL) TRY(mujoco_render_create(model, &batch->render));
  mujoco_take(batch->model, data, world_of(batch, w)->state);
  mujoco.mj_forward(model, data);
  mujoco_render_draw(batch->render, data, width, height, rgb);
  return CORE_OK;
}

static const EnvPicture picture = {.draw = draw, .step_seconds = step_seconds};

/* ---- saved states ------------------------------------------------------------------------------------------------ */

static Head head_of(const MujocoEnv *batch) {
  Head head = {.mujoco = mujoco.mj_version(), .stride = (int32_t)batch->stride};
  core_text_copy(head.task, sizeof head.task, batch->model->task->name, "task");
  memcpy(head.model, batch->model->hash, sizeof head.model);
  return head;
}

static size_t records_bytes(const Env *env) { return (size_t)env->worlds * batch_of(env)->stride; }
static size_t state_bytes(const Env *env) { return sizeof(Head) + records_bytes(env); }

static void save(const Env *env, void *state) {
  const Head head = head_of(batch_of(env));
  memcpy(state, &head, sizeof head);
  memcpy((uint8_t *)state + sizeof head, batch_of(env)->worlds, records_bytes(env));
}

static int load(Env *env, const void *state, size_t bytes) {
  const Head ours = head_of(batch_of(env));
  Head head;
  if (bytes < sizeof head) return core_error(CORE_USAGE, "the saved worlds are cut off");
  memcpy(&head, state, sizeof head);
  head.task[sizeof head.task - 1] = '\0';
  if (strcmp(head.task, ours.task) != 0)
    return core_error(CORE_USAGE, "the saved worlds are of mujoco/%s, this run is mujoco/%s", head.task, ours.task);
  if (head.mujoco != ours.mujoco)
    return core_error(CORE_USAGE, "the saved worlds are MuJoCo %d.%d.%d's, and this is %s; set MUJOCO_HOME to that "
                      "version, or begin a new run", head.mujoco / 1000000, head.mujoco / 1000 % 1000,
                      head.mujoco % 1000, mujoco_library_version());
  if (memcmp(head.model, ours.model, sizeof head.model) != 0)
    return core_error(CORE_USAGE, "the saved worlds are of another %s than the one in MUJOCO_HOME's models; put that "
                      "file back, or begin a new run", batch_of(env)->model->task->model);
  if (head.stride != ours.stride || bytes != state_bytes(env))
    return core_error(CORE_USAGE, "the saved worlds are %zu bytes long, not %zu", bytes, state_bytes(env));
  memcpy(batch_of(env)->worlds, (const uint8_t *)state + sizeof head, records_bytes(env));
  return CORE_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static size_t bytes(const Env *env) { return records_bytes(env) + mujoco_model_bytes(batch_of(env)->model); }

static void destroy(Env *env) {
  MujocoEnv *batch = batch_of(env);
  mujoco_render_destroy(&batch->render);
  mujoco_model_release(batch->model);
  free(batch->worlds);
  free(batch);
  free(env);
}

static int sibling(const Env *env, const EnvBatch *batch, Env **made);

/* Takes the model. */
static Env *make(MujocoModel *model, const EnvBatch *wanted) {
  MujocoEnv *batch = core_memory_zero_allocate(1, sizeof *batch);
  Env *env = core_memory_zero_allocate(1, sizeof *env);
  const size_t stride = sizeof(World) + (size_t)model->state * sizeof(double);
  *batch = (MujocoEnv){.model = model, .seed = wanted->seed, .first_world = wanted->first_world, .stride = stride,
                       .worlds = core_memory_zero_allocate((size_t)wanted->worlds, stride)};
  *env = (Env){
    .name = "mujoco", .worlds = wanted->worlds, .observation_length = model->task->observations, .level_count = 1,
    .whole_length = model->task->observations, .max_steps = model->task->limit, .action_values = model->task->nu,
    .action_low = -model->task->bound, .action_high = model->task->bound, .truncates = true,
    .solves = model->goals != NULL, .counts_goals = model->goals != NULL, .world_bytes = stride,
    .reset = reset, .step = step, .state_bytes = state_bytes, .save = save, .load = load, .bytes = bytes,
    .sibling = sibling, .destroy = destroy, .parts = &parts, .physics = &physics, .picture = &picture, .state = batch,
  };
  return env;
}

static int sibling(const Env *env, const EnvBatch *batch, Env **made) {
  TRY(env_check_on_host(env, batch));
  *made = make(mujoco_model_share(batch_of(env)->model), batch);
  return CORE_OK;
}

int mujoco_env_create(const char *name, const MujocoSettings *settings, const EnvBatch *batch, Env **env) {
  const MujocoTask *task = mujoco_task_find(name);
  MujocoModel *model;
  if (task == NULL) return mujoco_task_unknown(name);
  TRY(mujoco_model_create(task, &model));
  if (settings) model->reorient.tolerance = settings->success_tolerance;
  *env = make(model, batch);
  return CORE_OK;
}

#else
int mujoco_env_create(const char *name, const MujocoSettings *settings, const EnvBatch *batch, Env **env) {
  (void)settings, (void)batch, (void)env;
  if (mujoco_task_find(name) == NULL) return mujoco_task_unknown(name);
  return core_error_context(mujoco_library_open(), "env.task = " MUJOCO_PREFIX "%s", name);
}
#endif
