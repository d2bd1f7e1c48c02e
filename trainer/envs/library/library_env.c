/* Worlds implemented by a user's shared library (library_env.h). */
#include "trainer/envs/library/library_env.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/exit_guard.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/text.h"
#include "store/code/code.h"
#include "trainer/envs/library/environment.h"

static const size_t STATE_BYTES_MAX = (size_t)1 << 30; /* per world */

#define FUNCTIONS(F) F(version) F(spaces) F(make) F(destroy) F(reset) F(step)

/* Functions of the library, without the prefix "sweep_environment_". The library is never closed. */
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
  EnvSeeds seeds;         /* seeds of the next resets */
  void **world;           /* [worlds] */
  uint32_t *episode;      /* [worlds] index of the current episode */
  int32_t *steps;         /* [worlds] length of the current episode so far */
  int64_t nonfinite;      /* number of steps with non-finite results */
  bool resumed;           /* whether unsaved worlds were resumed, so that the next reset starts new episodes */
} LibraryEnv;

/* Header of a saved world, followed by the library's state_bytes. */
typedef struct Record {
  uint32_t episode;
  int32_t steps;
} Record;

static LibraryEnv *get_batch(const Env *env) { return env->state; }
static size_t record_bytes(const LibraryEnv *batch) { return (sizeof(Record) + batch->spaces.state_bytes + 7) / 8 * 8; }

/* ---- worlds ------------------------------------------------------------------------------------------------------ */

/* Generates the seed of world w's next episode. */
static CoreRandom4 episode_seed(const LibraryEnv *batch, int w) {
  const EnvSeeds *seeds = &batch->seeds;
  const uint32_t world = seeds->first_world + (uint32_t)w, episode = batch->episode[w];
  if (seeds->purpose == 0) return core_random_4(batch->seed, CORE_RANDOM_RESET, world, episode, 0);
  return core_random_4(batch->seed, seeds->purpose, world, seeds->number, episode);
}

static void start_episode(const LibraryEnv *batch, int w, float *observation) {
  const CoreRandom4 random = episode_seed(batch, w);
  batch->steps[w] = 0;
  CORE_EXIT_GUARDED(batch->task,
                    batch->call.reset(batch->world[w], (uint64_t)random.v[0] << 32 | random.v[1], observation));
}

static void seed(Env *env, const EnvSeeds *seeds) { get_batch(env)->seeds = *seeds; }
static const EnvForeign foreign = {.seed = seed};

static void reset(Env *env, float *observations) {
  LibraryEnv *batch = get_batch(env);
#pragma omp parallel for schedule(static) if (env->worlds > 1)
  for (int w = 0; w < env->worlds; w++) {
    batch->episode[w] = batch->resumed ? batch->episode[w] + 1 : 0;
    start_episode(batch, w, observations + (size_t)w * (size_t)env->observation_length);
  }
  batch->resumed = false;
}

static bool is_finite(const float *x, int n) {
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

/* Steps one world. Returns true if a result is not finite; the episode then ends with zeros. */
static bool step_world(const Env *env, int w, const void *action, const EnvStep *out) {
  const LibraryEnv *batch = get_batch(env);
  const size_t length = (size_t)env->observation_length;
  float *observation = out->observations + (size_t)w * length;
  SweepResult result = {0};

  CORE_EXIT_GUARDED(batch->task, batch->call.step(batch->world[w], action, &result, observation));
  const bool is_invalid = !isfinite(result.reward) || !is_finite(observation, env->observation_length);
  const bool done = is_invalid || result.terminated || result.truncated;

  out->rewards[w] = is_invalid ? 0 : result.reward;
  out->dones[w] = done;
  out->solved[w] = done && result.solved;
  out->episode_steps[w] = ++batch->steps[w];
  if (out->levels) out->levels[w] = 0;
  if (out->truncated) out->truncated[w] = done && !is_invalid && !result.terminated;

  if (!done) return false;
  if (is_invalid) memset(observation, 0, length * sizeof *observation);
  if (out->final_observations)
    memcpy(out->final_observations + (size_t)w * length, observation, length * sizeof(float));
  batch->episode[w]++;
  start_episode(batch, w, observation);
  return is_invalid;
}

static void step_part(Env *env, int first, int count, const void *actions, const EnvStep *out) {
  LibraryEnv *batch = get_batch(env);
  const size_t row = env->action_values ? (size_t)env->action_values * sizeof(float) : (size_t)env->head.factors;
  int64_t invalid_steps = 0;
#pragma omp parallel for schedule(static) reduction(+ : invalid_steps) if (count > 1)
  for (int w = first; w < first + count; w++)
    invalid_steps += step_world(env, w, (const char *)actions + (size_t)w * row, out);
  batch->nonfinite += invalid_steps;
}

static void step(Env *env, const void *actions, const EnvStep *out) { step_part(env, 0, env->worlds, actions, out); }

static const EnvParts parts = {.step = step_part};

static int64_t nonfinite(const Env *env) { return get_batch(env)->nonfinite; }
static const EnvPhysics physics = {.nonfinite = nonfinite};

/* Env.remote of worlds that cannot be saved: their episodes restart when a run resumes. */
static int check(const Env *env) {
  (void)env;
  return CORE_OK;
}
static const EnvRemote unsaved = {.check = check};

/* ---- saved states ------------------------------------------------------------------------------------------------ */

static size_t state_bytes(const Env *env) { return (size_t)env->worlds * record_bytes(get_batch(env)); }

/* Functions of their own, since a cleanup handler may clobber local variables. */
static void save_world(const LibraryEnv *batch, int w, void *record) {
  CORE_EXIT_GUARDED(batch->task, batch->call.save(batch->world[w], record));
}
static void load_world(const LibraryEnv *batch, int w, const void *record) {
  CORE_EXIT_GUARDED(batch->task, batch->call.load(batch->world[w], record));
}
static void destroy_world(const LibraryEnv *batch, int w) {
  CORE_EXIT_GUARDED(batch->task, batch->call.destroy(batch->world[w]));
}

static void save(const Env *env, void *state) {
  const LibraryEnv *batch = get_batch(env);
  memset(state, 0, state_bytes(env));
  for (int w = 0; w < env->worlds; w++) {
    char *record = (char *)state + (size_t)w * record_bytes(batch);
    const Record header = {batch->episode[w], batch->steps[w]};
    memcpy(record, &header, sizeof header);
    if (batch->spaces.state_bytes) save_world(batch, w, record + sizeof header);
  }
}

static int load(Env *env, const void *state, size_t bytes) {
  LibraryEnv *batch = get_batch(env);
  if (bytes != state_bytes(env))
    return core_error(CORE_USAGE, "the saved state of %.200s has %zu bytes, expected %zu; was the library changed?",
                      batch->task, bytes, state_bytes(env));

  for (int w = 0; w < env->worlds; w++) {
    const char *record = (const char *)state + (size_t)w * record_bytes(batch);
    Record header;
    memcpy(&header, record, sizeof header);
    batch->episode[w] = header.episode;
    batch->steps[w] = header.steps;
    if (batch->spaces.state_bytes) load_world(batch, w, record + sizeof header);
  }

  batch->resumed = batch->spaces.state_bytes == 0;
  return CORE_OK;
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

static int load_library(LibraryEnv *batch, int copy) {
  Library *call = &batch->call;
  char opened[64];
  snprintf(opened, sizeof opened, "/proc/self/fd/%d", copy);

  void *file = dlopen(opened, RTLD_NOW | RTLD_LOCAL);
  if (file == NULL) {
    const char *reason = dlerror();
    const size_t length = strlen(opened);
    if (strncmp(reason, opened, length) == 0) reason += length + strspn(reason + length, ": ");
    return core_error(CORE_USAGE, "%.200s: %.300s", batch->task, reason);
  }

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
    return core_error(CORE_USAGE, "%.200s was compiled with version %d of environment.h, expected %d; recompile it",
                                  batch->task,
                      call->version(), SWEEP_ENVIRONMENT_VERSION);
  if (call->spaces(batch->name, &batch->spaces) != 0)
    return core_error(CORE_USAGE, "%.200s: the library has no environment %.60s", batch->task, batch->name);
  return CORE_OK;
}

/* Opens the library, from a copy of the bytes that were hashed: others may change the file meanwhile. If its code calls
 * exit(), the error names the library. */
static int open_library(LibraryEnv *batch, const CoreConfig *config) {
  const StoreCode *found;
  char path[CORE_PATH_MAX];
  int copy;
  TRY(store_code_library(config, path));
  if (!core_files_exists(path))
    return core_error(CORE_USAGE, "%.200s: %.300s: cannot open: %s", batch->task, path, strerror(errno));
  TRY(store_code_find(config, &found));
  TRY(store_code_open(found, path, &copy));
  int code = CORE_FAIL;
  CORE_EXIT_GUARDED(batch->task, code = load_library(batch, copy));
  close(copy);
  return code;
}

/* Checks sizes against limits far below those at which later computations would overflow. */
static int check_sizes(const LibraryEnv *batch) {
  const SweepSpaces *spaces = &batch->spaces;
  if (spaces->observations < 1) return core_error(CORE_USAGE, "%.200s has empty observations", batch->task);
  if (spaces->observations > ENV_OBSERVATIONS_MAX)
    return core_error(CORE_USAGE, "%.200s: observations have %d values; the maximum is %d", batch->task,
                      spaces->observations, ENV_OBSERVATIONS_MAX);
  if (spaces->limit < 1 || spaces->limit > ENV_STEPS_MAX)
    return core_error(CORE_USAGE, "%.200s: limit = %d; expected 1 to %d steps", batch->task,
                      spaces->limit, ENV_STEPS_MAX);
  if (spaces->state_bytes > STATE_BYTES_MAX)
    return core_error(CORE_USAGE, "%.200s: state_bytes = %zu; the maximum is %zu", batch->task,
                      spaces->state_bytes, STATE_BYTES_MAX);
  return CORE_OK;
}

static int check_spaces(const LibraryEnv *batch) {
  const SweepSpaces *spaces = &batch->spaces;
  int logits = 0;
  TRY(check_sizes(batch));

  if ((spaces->factors > 0) == (spaces->values > 0) || spaces->factors < 0 || spaces->values < 0 ||
      spaces->factors > OPS_FACTORS_MAX || spaces->values > OPS_FACTORS_MAX)
    return core_error(CORE_USAGE, "%.200s: %d factors and %d values; expected 1 to %d of one of them", batch->task,
                      spaces->factors, spaces->values, OPS_FACTORS_MAX);
  for (int i = 0; i < spaces->factors; i++) {
    if (spaces->classes[i] < 1 || spaces->classes[i] > 255)
      return core_error(CORE_USAGE, "%.200s: factor %d has %d classes; expected 1 to 255", batch->task, i,
                        spaces->classes[i]);
    logits += spaces->classes[i];
  }

  if (logits > OPS_LOGITS_MAX)
    return core_error(CORE_USAGE, "%.200s: %d classes in total; the maximum is %d", batch->task, logits,
                      OPS_LOGITS_MAX);

  if (spaces->values > 0 && !(spaces->low < spaces->high))
    return core_error(CORE_USAGE, "%.200s: invalid action bounds %g .. %g", batch->task, (double)spaces->low,
                      (double)spaces->high);
  if (spaces->state_bytes > 0 && (batch->call.save == NULL || batch->call.load == NULL))
    return core_error(CORE_USAGE, "%.200s has state_bytes > 0, but no sweep_environment_save and _load", batch->task);
  return CORE_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static size_t bytes(const Env *env) { return state_bytes(env); }

static void destroy(Env *env) {
  LibraryEnv *batch = get_batch(env);
  for (int w = 0; w < env->worlds; w++)
    if (batch->world[w]) destroy_world(batch, w);
  free(batch->world);
  free(batch->episode);
  free(batch->steps);
  free(batch);
  free(env);
}

static int clone_env(const Env *env, const EnvBatch *options, Env **created);

static Env *create_env(LibraryEnv *batch, int worlds) {
  const SweepSpaces *spaces = &batch->spaces;
  Env *env = core_memory_zero_allocate(1, sizeof *env);
  *env = (Env){
    .name = "library", .worlds = worlds, .observation_length = spaces->observations,
    .whole_length = spaces->observations, .level_count = 1, .max_steps = spaces->limit,
    .action_values = spaces->values, .action_low = spaces->low, .action_high = spaces->high, .truncates = true,
    .solves = spaces->solves != 0, .world_bytes = record_bytes(batch), .reset = reset, .step = step,
    .state_bytes = state_bytes, .save = save, .load = load, .bytes = bytes, .clone = clone_env, .destroy = destroy,
    .parts = &parts, .physics = &physics, .remote = spaces->state_bytes ? NULL : &unsaved,
    .foreign = &foreign, .state = batch,
  };

  env->head.factors = spaces->factors;
  for (int i = 0; i < spaces->factors; i++) {
    env->head.size[i] = spaces->classes[i];
    env->head.logits += spaces->classes[i];
  }
  return env;
}

/* Creates worlds of the library that `settings` has opened. */
static int create(const LibraryEnv *settings, const EnvBatch *options, Env **created) {
  const size_t n = (size_t)options->worlds;
  LibraryEnv *batch = core_memory_zero_allocate(1, sizeof *batch);
  *batch = *settings;
  batch->seed = options->seed;
  batch->seeds = (EnvSeeds){.first_world = options->first_world};
  batch->nonfinite = 0;

  batch->world = core_memory_zero_allocate(n, sizeof *batch->world);
  batch->episode = core_memory_zero_allocate(n, sizeof *batch->episode);
  batch->steps = core_memory_zero_allocate(n, sizeof *batch->steps);

  Env *env = create_env(batch, options->worlds);
  for (size_t w = 0; w < n; w++) {
    CORE_EXIT_GUARDED(batch->task, batch->world[w] = batch->call.make(batch->name));
    if (batch->world[w]) continue;
    destroy(env);
    return core_error(CORE_FAIL, "%.200s could not create world %zu", settings->task, w);
  }
  *created = env;
  return CORE_OK;
}

static int clone_env(const Env *env, const EnvBatch *options, Env **created) {
  TRY(env_check_on_host(env, options));
  return create(get_batch(env), options, created);
}

int library_env_create(const CoreConfig *config, const EnvBatch *options, Env **env) {
  LibraryEnv batch = {0};
  char path[CORE_PATH_MAX];
  TRY(core_text_copy(batch.task, sizeof batch.task, config->env.task, "env.task"));
  TRY(store_code_library(config, path)); /* checks the task */
  TRY(core_text_copy(batch.name, sizeof batch.name, strrchr(batch.task, '/') + 1, "env.task"));
  TRY(open_library(&batch, config));
  TRY(check_spaces(&batch));
  return create(&batch, options, env);
}
