/* Many worlds of somebody's library (library_env.h). */
#include "trainer/envs/library/library_env.h"

#include <dlfcn.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/exit_guard.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/text.h"
#include "store/code/code.h"
#include "trainer/envs/library/environment.h"

static const size_t STATE_BYTES_MAX = (size_t)1 << 30; /* of a world */

#define FUNCTIONS(F) F(version) F(spaces) F(make) F(destroy) F(reset) F(step)

/* The library's functions, without "sweep_environment_". It stays open as long as the process. */
typedef struct Library {
#define F(name) __typeof__(&sweep_environment_##name) name;
  FUNCTIONS(F)
  F(save)
  F(load)
#undef F
} Library;

typedef struct LibraryEnv {
  char task[CORE_CONFIG_TEXT], name[CORE_CONFIG_TEXT];
  Library call;
  SweepSpaces spaces;
  uint64_t seed;
  EnvSeeds seeds;         /* of the next resets */
  void **world;           /* [worlds] */
  uint32_t *episode;      /* [worlds] */
  int32_t *steps;         /* [worlds] of the episode that runs */
  int64_t faults;
  bool resumed;           /* worlds that cannot be saved: the next reset is not the run's first */
} LibraryEnv;

/* A world in a saved state, with the library's state_bytes behind it. */
typedef struct Record {
  uint32_t episode;
  int32_t steps;
} Record;

static LibraryEnv *batch_of(const Env *env) { return env->state; }
static size_t record_bytes(const LibraryEnv *batch) { return (sizeof(Record) + batch->spaces.state_bytes + 7) / 8 * 8; }

/* ---- worlds ------------------------------------------------------------------------------------------------------ */

static CoreRandom4 draw_seed(const LibraryEnv *batch, int w) {
  const EnvSeeds *seeds = &batch->seeds;
  const uint32_t world = seeds->first_world + (uint32_t)w, episode = batch->episode[w];
  if (seeds->purpose == 0) return core_random_4(batch->seed, CORE_RANDOM_RESET, world, episode, 0);
  return core_random_4(batch->seed, seeds->purpose, world, seeds->number, episode);
}

static void begin_episode(const LibraryEnv *batch, int w, float *observation) {
  const CoreRandom4 words = draw_seed(batch, w);
  batch->steps[w] = 0;
  core_exit_name(batch->task);
  batch->call.reset(batch->world[w], (uint64_t)words.v[0] << 32 | words.v[1], observation);
  core_exit_name(NULL);
}

static void seed(Env *env, const EnvSeeds *seeds) { batch_of(env)->seeds = *seeds; }
static const EnvForeign foreign = {.seed = seed};

static void reset(Env *env, float *observations) {
  LibraryEnv *batch = batch_of(env);
#pragma omp parallel for schedule(static) if (env->worlds > 1)
  for (int w = 0; w < env->worlds; w++) {
    batch->episode[w] = batch->resumed ? batch->episode[w] + 1 : 0;
    begin_episode(batch, w, observations + (size_t)w * (size_t)env->observation_length);
  }
  batch->resumed = false;
}

static bool is_finite(const float *x, int n) {
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

/* True: the world gave a number that is not finite; its episode ends without a reward, and with zeros. */
static bool step_world(const Env *env, int w, const void *action, const EnvStep *out) {
  const LibraryEnv *batch = batch_of(env);
  const size_t length = (size_t)env->observation_length;
  float *observation = out->observations + (size_t)w * length;
  SweepResult result = {0};
  core_exit_name(batch->task);
  batch->call.step(batch->world[w], action, &result, observation);
  core_exit_name(NULL);
  const bool fault = !isfinite(result.reward) || !is_finite(observation, env->observation_length);
  const bool done = fault || result.terminated || result.truncated;
  out->rewards[w] = fault ? 0 : result.reward;
  out->dones[w] = done;
  out->solved[w] = done && result.solved;
  out->episode_steps[w] = ++batch->steps[w];
  if (out->levels) out->levels[w] = 0;
  if (out->truncated) out->truncated[w] = done && !fault && !result.terminated;
  if (!done) return false;
  if (fault) memset(observation, 0, length * sizeof *observation);
  if (out->final_observations)
    memcpy(out->final_observations + (size_t)w * length, observation, length * sizeof(float));
  batch->episode[w]++;
  begin_episode(batch, w, observation);
  return fault;
}

static void step_part(Env *env, int first, int count, const void *actions, const EnvStep *out) {
  LibraryEnv *batch = batch_of(env);
  const size_t row = env->action_values ? (size_t)env->action_values * sizeof(float) : (size_t)env->head.factors;
  int64_t faults = 0;
#pragma omp parallel for schedule(static) reduction(+ : faults) if (count > 1)
  for (int w = first; w < first + count; w++)
    faults += step_world(env, w, (const char *)actions + (size_t)w * row, out);
  batch->faults += faults;
}

static void step(Env *env, const void *actions, const EnvStep *out) { step_part(env, 0, env->worlds, actions, out); }

static const EnvParts parts = {.step = step_part};

static int64_t nonfinite(const Env *env) { return batch_of(env)->faults; }
static const EnvPhysics physics = {.nonfinite = nonfinite};

/* Worlds that cannot be saved begin anew. */
static int check(const Env *env) {
  (void)env;
  return CORE_OK;
}
static const EnvOutside unsaved = {.check = check};

/* ---- saved states ------------------------------------------------------------------------------------------------ */

static size_t state_bytes(const Env *env) { return (size_t)env->worlds * record_bytes(batch_of(env)); }

static void save(const Env *env, void *state) {
  const LibraryEnv *batch = batch_of(env);
  memset(state, 0, state_bytes(env));
  core_exit_name(batch->task);
  for (int w = 0; w < env->worlds; w++) {
    char *record = (char *)state + (size_t)w * record_bytes(batch);
    memcpy(record, &(Record){batch->episode[w], batch->steps[w]}, sizeof(Record));
    if (batch->spaces.state_bytes) batch->call.save(batch->world[w], record + sizeof(Record));
  }
  core_exit_name(NULL);
}

static int load(Env *env, const void *state, size_t bytes) {
  LibraryEnv *batch = batch_of(env);
  if (bytes != state_bytes(env))
    return core_error(CORE_USAGE, "the saved worlds of %.200s are %zu bytes long, not %zu: of another version of it?",
                      batch->task, bytes, state_bytes(env));
  core_exit_name(batch->task);
  for (int w = 0; w < env->worlds; w++) {
    const char *record = (const char *)state + (size_t)w * record_bytes(batch);
    Record known;
    memcpy(&known, record, sizeof known);
    batch->episode[w] = known.episode;
    batch->steps[w] = known.steps;
    if (batch->spaces.state_bytes) batch->call.load(batch->world[w], record + sizeof known);
  }
  core_exit_name(NULL);
  batch->resumed = batch->spaces.state_bytes == 0;
  return CORE_OK;
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

static int use_library(LibraryEnv *batch, const char *path) {
  Library *call = &batch->call;
  void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (file == NULL) return core_error(CORE_USAGE, "%.200s: %.300s", batch->task, dlerror());
#define F(function) *(void **)&call->function = dlsym(file, "sweep_environment_" #function);
  FUNCTIONS(F)
  F(save)
  F(load)
#undef F
#define F(function) \
  if (call->function == NULL) return core_error(CORE_USAGE, "%.200s has no sweep_environment_" #function, batch->task);
  FUNCTIONS(F)
#undef F
  if (call->version() != SWEEP_ENVIRONMENT_VERSION)
    return core_error(CORE_USAGE, "%.200s is of version %d of environment.h, not %d; compile it again", batch->task,
                      call->version(), SWEEP_ENVIRONMENT_VERSION);
  if (call->spaces(batch->name, &batch->spaces) != 0)
    return core_error(CORE_USAGE, "%.200s: the library has no environment %.60s", batch->task, batch->name);
  return CORE_OK;
}

/* Opens the library; its constructors and queries run under its name. */
static int open_library(LibraryEnv *batch, const char *path) {
  core_exit_name(batch->task);
  const int code = use_library(batch, path);
  core_exit_name(NULL);
  return code;
}

/* Sums and products of these sizes, with numbers of worlds and steps, are far from overflowing their types. */
static int check_sizes(const LibraryEnv *batch) {
  const SweepSpaces *spaces = &batch->spaces;
  if (spaces->observations < 1) return core_error(CORE_USAGE, "%.200s shows no numbers", batch->task);
  if (spaces->observations > ENV_OBSERVATIONS_MAX)
    return core_error(CORE_USAGE, "%.200s: observations of %d numbers; at most %d are possible", batch->task,
                      spaces->observations, ENV_OBSERVATIONS_MAX);
  if (spaces->limit < 1 || spaces->limit > ENV_STEPS_MAX)
    return core_error(CORE_USAGE, "%.200s: an episode of at most %d steps; the limit must be 1 to %d", batch->task,
                      spaces->limit, ENV_STEPS_MAX);
  if (spaces->state_bytes > STATE_BYTES_MAX)
    return core_error(CORE_USAGE, "%.200s: a saved world of %zu bytes; at most %zu are possible", batch->task,
                      spaces->state_bytes, STATE_BYTES_MAX);
  return CORE_OK;
}

static int check_spaces(const LibraryEnv *batch) {
  const SweepSpaces *spaces = &batch->spaces;
  int logits = 0;
  TRY(check_sizes(batch));
  if ((spaces->factors > 0) == (spaces->values > 0) || spaces->factors < 0 || spaces->values < 0 ||
      spaces->factors > OPS_FACTORS_MAX || spaces->values > OPS_FACTORS_MAX)
    return core_error(CORE_USAGE, "%.200s: %d factors and %d values; an action is 1 to %d of either", batch->task,
                      spaces->factors, spaces->values, OPS_FACTORS_MAX);
  for (int i = 0; i < spaces->factors; i++) {
    if (spaces->classes[i] < 1 || spaces->classes[i] > 255)
      return core_error(CORE_USAGE, "%.200s: factor %d has %d classes; 1 to 255 can be had", batch->task, i,
                        spaces->classes[i]);
    logits += spaces->classes[i];
  }
  if (logits > OPS_LOGITS_MAX)
    return core_error(CORE_USAGE, "%.200s: %d classes together; at most %d can be had", batch->task, logits,
                      OPS_LOGITS_MAX);
  if (spaces->values > 0 && !(spaces->low < spaces->high))
    return core_error(CORE_USAGE, "%.200s: bounds %g .. %g of its actions", batch->task, (double)spaces->low,
                      (double)spaces->high);
  if (spaces->state_bytes > 0 && (batch->call.save == NULL || batch->call.load == NULL))
    return core_error(CORE_USAGE, "%.200s has state_bytes, but not sweep_environment_save and _load", batch->task);
  return CORE_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static size_t bytes(const Env *env) { return state_bytes(env); }

static void destroy(Env *env) {
  LibraryEnv *batch = batch_of(env);
  core_exit_name(batch->task);
  for (int w = 0; w < env->worlds; w++)
    if (batch->world[w]) batch->call.destroy(batch->world[w]);
  core_exit_name(NULL);
  free(batch->world);
  free(batch->episode);
  free(batch->steps);
  free(batch);
  free(env);
}

static int sibling(const Env *env, const EnvBatch *wanted, Env **made);

static Env *make_env(LibraryEnv *batch, int worlds) {
  const SweepSpaces *spaces = &batch->spaces;
  Env *env = core_memory_zero_allocate(1, sizeof *env);
  *env = (Env){
    .name = "library", .worlds = worlds, .observation_length = spaces->observations,
    .whole_length = spaces->observations, .level_count = 1, .max_steps = spaces->limit,
    .action_values = spaces->values, .action_low = spaces->low, .action_high = spaces->high, .truncates = true,
    .solves = spaces->solves != 0, .world_bytes = record_bytes(batch), .reset = reset, .step = step,
    .state_bytes = state_bytes, .save = save, .load = load, .bytes = bytes, .sibling = sibling, .destroy = destroy,
    .parts = &parts, .physics = &physics, .outside = spaces->state_bytes ? NULL : &unsaved,
    .foreign = &foreign, .state = batch,
  };
  env->head.factors = spaces->factors;
  for (int i = 0; i < spaces->factors; i++) env->head.logits += env->head.size[i] = spaces->classes[i];
  return env;
}

/* `like` has the open library. */
static int make(const LibraryEnv *like, const EnvBatch *wanted, Env **made) {
  const size_t n = (size_t)wanted->worlds;
  LibraryEnv *batch = core_memory_zero_allocate(1, sizeof *batch);
  *batch = *like;
  batch->seed = wanted->seed;
  batch->seeds = (EnvSeeds){.first_world = wanted->first_world};
  batch->faults = 0;
  batch->world = core_memory_zero_allocate(n, sizeof *batch->world);
  batch->episode = core_memory_zero_allocate(n, sizeof *batch->episode);
  batch->steps = core_memory_zero_allocate(n, sizeof *batch->steps);
  Env *env = make_env(batch, wanted->worlds);
  for (size_t w = 0; w < n; w++) {
    core_exit_name(batch->task);
    batch->world[w] = batch->call.make(batch->name);
    core_exit_name(NULL);
    if (batch->world[w]) continue;
    destroy(env);
    return core_error(CORE_FAIL, "%.200s made no world %zu", like->task, w);
  }
  *made = env;
  return CORE_OK;
}

static int sibling(const Env *env, const EnvBatch *wanted, Env **made) {
  TRY(env_check_on_host(env, wanted));
  return make(batch_of(env), wanted, made);
}

int library_env_create(const CoreConfig *config, const EnvBatch *wanted, Env **env) {
  LibraryEnv batch = {0};
  char path[CORE_PATH_MAX];
  TRY(core_text_copy(batch.task, sizeof batch.task, config->env.task, "env.task"));
  TRY(store_code_library(config, path));
  TRY(core_text_copy(batch.name, sizeof batch.name, strrchr(batch.task, '/') + 1, "env.task"));
  TRY(open_library(&batch, path));
  TRY(check_spaces(&batch));
  return make(&batch, wanted, env);
}
