/* Worlds of a task (mujoco_env.h). A world is a record: its episode and step, the reference of the next reward, and
 * MuJoCo's state, which is loaded into a thread's mjData for each step. */
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
  int32_t steps;             /* steps of the current episode so far */
  double reference[MUJOCO_REFERENCE]; /* mujoco_reward_reference */
  double state[];            /* [model->state] mjSTATE_INTEGRATION */
} World;

typedef struct MujocoEnv {
  MujocoModel *model;
  uint64_t seed;
  uint32_t first_world;
  size_t stride;             /* size of a World */
  uint8_t *worlds;
  int64_t nonfinite;         /* number of steps with non-finite values */
  MujocoRender *render;      /* created by the first rendering; NULL before */
} MujocoEnv;

/* Header of a saved state, to check that the records match. */
typedef struct StateHeader {
  char task[48];
  int32_t mujoco, stride;
  uint8_t model[MUJOCO_HASH];
} StateHeader;

static MujocoEnv *get_batch(const Env *env) { return env->state; }
static World *get_world(const MujocoEnv *batch, int w) { return (World *)(batch->worlds + (size_t)w * batch->stride); }

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

/* Computes an observation in float32. */
static void write_observation(const MujocoModel *model, const mjData *data, float *observation) {
  double exact[MUJOCO_OBSERVATIONS_MAX];
  mujoco_observe(model, data, exact);
  for (int i = 0; i < model->task->observations; i++) observation[i] = (float)exact[i];
}

/* Stores the state of mjData in the world's record. */
static void store_world(const MujocoModel *model, const mjData *data, World *world) {
  mujoco_reward_reference(model, data, world->reference);
  mujoco.mj_getState(model->model, data, world->state, mjSTATE_INTEGRATION);
}

/* Returns the random stream of the world's current episode and step: each step has BLOCKS blocks of four numbers. */
static CoreRandomStream step_stream(const MujocoEnv *batch, int w) {
  enum { BLOCKS = 1024 };
  const World *world = get_world(batch, w);
  CoreRandomStream stream =
    core_random_stream(batch->seed, CORE_RANDOM_RESET, batch->first_world + (uint32_t)w, world->episode);
  stream.block = (uint32_t)world->steps * BLOCKS;
  return stream;
}

static void start_episode(const MujocoEnv *batch, mjData *data, int w, float *observation) {
  World *world = get_world(batch, w);
  world->steps = 0;
  CoreRandomStream stream = step_stream(batch, w);
  if (world->episode == 0) memset(data->userdata, 0, (size_t)batch->model->model->nuserdata * sizeof *data->userdata);
  mujoco_reset(batch->model, data, &(MujocoRandom){uniform, normal, &stream});
  write_observation(batch->model, data, observation);
  store_world(batch->model, data, world);
}

/* Returns EnvStep.solved. */
static uint8_t count_reached(const MujocoModel *model, const mjData *data) {
  const int reached = mujoco_reached(model, data);
  return reached > UINT8_MAX ? UINT8_MAX : (uint8_t)reached;
}

/* Steps one world. Returns true if MuJoCo met a non-finite value; the episode then ends without a reward. */
static bool step_world(const MujocoEnv *batch, mjData *data, int w, const float *action, const EnvStep *out) {
  const MujocoTask *task = batch->model->task;
  World *world = get_world(batch, w);
  float *observation = out->observations + (size_t)w * (size_t)task->observations;
  bool ended = true;

  mujoco_load(batch->model, data, world->state);
  const bool is_invalid = !mujoco_step(batch->model, data, action);
  if (is_invalid) mujoco_load(batch->model, data, world->state); /* MuJoCo reset everything, including userdata */
  world->steps++;
  out->rewards[w] = is_invalid ? 0 : (float)mujoco_reward(batch->model, data, action, world->reference, &ended);
  const bool done = ended || world->steps == task->limit;
  out->dones[w] = done;
  out->solved[w] = done ? count_reached(batch->model, data) : 0;
  out->episode_steps[w] = world->steps;
  if (out->levels) out->levels[w] = 0;
  if (out->truncated) out->truncated[w] = done && !ended;

  if (!done) {
    CoreRandomStream stream = step_stream(batch, w);
    mujoco_advance(batch->model, data, &(MujocoRandom){uniform, normal, &stream});
    write_observation(batch->model, data, observation);
    store_world(batch->model, data, world);
    return false;
  }

  /* An episode ended: keep its last observation, then start the next. */
  if (out->final_observations)
    write_observation(batch->model, data, out->final_observations + (size_t)w * (size_t)task->observations);
  world->episode++;
  start_episode(batch, data, w, observation);
  return is_invalid;
}

/* ---- all worlds -------------------------------------------------------------------------------------------------- */

/* Returns the chunk size of dynamic scheduling, small enough that threads finish within 1/64 of their time. */
static int chunk_size(int worlds, int threads) {
  const int chunk = worlds / (threads * 64);
  return chunk < 1 ? 1 : chunk;
}

static void reset(Env *env, float *observations) {
  MujocoEnv *batch = get_batch(env);
  const int worlds = env->worlds, threads = mujoco_model_threads(batch->model, worlds);
  const size_t row = (size_t)env->observation_length;
#pragma omp parallel for schedule(dynamic, chunk_size(worlds, threads)) num_threads(threads) if (threads > 1)
  for (int w = 0; w < worlds; w++) {
    get_world(batch, w)->episode = 0;
    start_episode(batch, batch->model->data[omp_get_thread_num()], w, observations + (size_t)w * row);
  }
}

static void step_part(Env *env, int first, int count, const void *actions, const EnvStep *out) {
  MujocoEnv *batch = get_batch(env);
  const int threads = mujoco_model_threads(batch->model, count);
  const size_t values = (size_t)env->action_values;
  int64_t invalid_steps = 0;
#pragma omp parallel for schedule(dynamic, chunk_size(count, threads)) num_threads(threads) if (threads > 1) \
  reduction(+ : invalid_steps)
  for (int w = first; w < first + count; w++)
    invalid_steps += step_world(batch, batch->model->data[omp_get_thread_num()], w,
                         (const float *)actions + (size_t)w * values, out);
  batch->nonfinite += invalid_steps;
}

static void step(Env *env, const void *actions, const EnvStep *out) { step_part(env, 0, env->worlds, actions, out); }

static const EnvParts parts = {.step = step_part};

static int64_t nonfinite(const Env *env) { return get_batch(env)->nonfinite; }
static const EnvPhysics physics = {.nonfinite = nonfinite};

/* ---- rendering --------------------------------------------------------------------------------------------------- */

static double step_seconds(const Env *env) { return get_batch(env)->model->dt; }

/* Renders a world. mj_forward is needed because positions of bodies lag behind qpos after a step. */
static int draw(Env *env, int w, int width, int height, uint8_t *rgb) {
  MujocoEnv *batch = get_batch(env);
  mjData *data = batch->model->data[0];
  mjModel *model = mujoco_model_of(batch->model, data);
  if (batch->render == NULL) TRY(mujoco_render_create(model, &batch->render));
  mujoco_load(batch->model, data, get_world(batch, w)->state);
  mujoco.mj_forward(model, data);
  mujoco_render_draw(batch->render, data, width, height, rgb);
  return CORE_OK;
}

static const EnvPicture picture = {.draw = draw, .step_seconds = step_seconds};

/* ---- saved states ------------------------------------------------------------------------------------------------ */

static StateHeader make_header(const MujocoEnv *batch) {
  StateHeader header = {.mujoco = mujoco.mj_version(), .stride = (int32_t)batch->stride};
  core_text_copy(header.task, sizeof header.task, batch->model->task->name, "task");
  memcpy(header.model, batch->model->hash, sizeof header.model);
  return header;
}

static size_t records_bytes(const Env *env) { return (size_t)env->worlds * get_batch(env)->stride; }
static size_t state_bytes(const Env *env) { return sizeof(StateHeader) + records_bytes(env); }

static void save(const Env *env, void *state) {
  const StateHeader header = make_header(get_batch(env));
  memcpy(state, &header, sizeof header);
  memcpy((uint8_t *)state + sizeof header, get_batch(env)->worlds, records_bytes(env));
}

static int load(Env *env, const void *state, size_t bytes) {
  const StateHeader expected = make_header(get_batch(env));
  StateHeader header;
  if (bytes < sizeof header) return core_error(CORE_USAGE, "the saved state is truncated");
  memcpy(&header, state, sizeof header);
  header.task[sizeof header.task - 1] = '\0';

  if (strcmp(header.task, expected.task) != 0)
    return core_error(CORE_USAGE, "the saved state is of mujoco/%s, but this run is of mujoco/%s",
                                  header.task, expected.task);
  if (header.mujoco != expected.mujoco)
    return core_error(CORE_USAGE, "the saved state is of MuJoCo %d.%d.%d, but this is %s; set MUJOCO_HOME to that "
                      "version, or start a new run", header.mujoco / 1000000, header.mujoco / 1000 % 1000,
                      header.mujoco % 1000, mujoco_library_version());
  if (memcmp(header.model, expected.model, sizeof header.model) != 0)
    return core_error(CORE_USAGE, "the saved state is of another version of %s; restore that file, or start a new run",
                                  get_batch(env)->model->task->model);
  if (header.stride != expected.stride || bytes != state_bytes(env))
    return core_error(CORE_USAGE, "the saved state has %zu bytes, expected %zu", bytes, state_bytes(env));

  memcpy(get_batch(env)->worlds, (const uint8_t *)state + sizeof header, records_bytes(env));
  return CORE_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static size_t bytes(const Env *env) { return records_bytes(env) + mujoco_model_bytes(get_batch(env)->model); }

static void destroy(Env *env) {
  MujocoEnv *batch = get_batch(env);
  mujoco_render_destroy(&batch->render);
  mujoco_model_release(batch->model);
  free(batch->worlds);
  free(batch);
  free(env);
}

static int clone_env(const Env *env, const EnvBatch *batch, Env **created);

/* Creates worlds. Takes ownership of the model. */
static Env *create(MujocoModel *model, const EnvBatch *options) {
  MujocoEnv *batch = core_memory_zero_allocate(1, sizeof *batch);
  Env *env = core_memory_zero_allocate(1, sizeof *env);
  const size_t stride = sizeof(World) + (size_t)model->state * sizeof(double);
  *batch = (MujocoEnv){.model = model, .seed = options->seed, .first_world = options->first_world, .stride = stride,
                       .worlds = core_memory_zero_allocate((size_t)options->worlds, stride)};
  *env = (Env){
    .name = "mujoco", .worlds = options->worlds, .observation_length = model->task->observations, .level_count = 1,
    .whole_length = model->task->observations, .max_steps = model->task->limit, .action_values = model->task->nu,
    .action_low = -model->task->bound, .action_high = model->task->bound, .truncates = true,
    .solves = model->goals != NULL, .counts_goals = model->goals != NULL, .world_bytes = stride,
    .reset = reset, .step = step, .state_bytes = state_bytes, .save = save, .load = load, .bytes = bytes,
    .clone = clone_env, .destroy = destroy, .parts = &parts, .physics = &physics, .picture = &picture, .state = batch,
  };
  return env;
}

static int clone_env(const Env *env, const EnvBatch *batch, Env **created) {
  TRY(env_check_on_host(env, batch));
  *created = create(mujoco_model_share(get_batch(env)->model), batch);
  return CORE_OK;
}

int mujoco_env_create(const char *name, const MujocoSettings *settings, const EnvBatch *batch, Env **env) {
  const MujocoTask *task = mujoco_task_find(name);
  MujocoModel *model;
  if (task == NULL) return mujoco_task_unknown(name);
  TRY(mujoco_model_create(task, &model));
  if (settings) model->reorient.tolerance = settings->success_tolerance;
  *env = create(model, batch);
  return CORE_OK;
}

#else
int mujoco_env_create(const char *name, const MujocoSettings *settings, const EnvBatch *batch, Env **env) {
  (void)settings;
  (void)batch;
  (void)env;
  if (mujoco_task_find(name) == NULL) return mujoco_task_unknown(name);
  return core_error_context(mujoco_library_open(), "env.task = " MUJOCO_PREFIX "%s", name);
}
#endif
