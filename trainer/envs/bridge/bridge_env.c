/* Worlds in worker processes (bridge_env.h). */
#include "trainer/envs/bridge/bridge_env.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/random.h"
#include "core/text.h"
#include "core/unicode.h"
#include "store/code/code.h"
#include "trainer/envs/bridge/bridge.h"
#include "trainer/envs/bridge/bridge_process.h"

enum { EVALUATION_LIMIT = 10000 }; /* maximum steps of an evaluation episode if the environment has no time limit */
enum { SPIN_NS = 50000 };         /* longer than waking a core takes */
static const double CHECK_S = 20; /* time limit of Gymnasium's checker */

static const char GYM[] = "gym/", ENVPOOL[] = "envpool/";
static const char *const prefixes[] = {GYM, "atari/", ENVPOOL};
static const char TIMEOUT_HINT[] = "; env.timeout sets the limit";

typedef struct BridgeEnv {
  char task[CORE_CONFIG_TEXT], python[CORE_CONFIG_TEXT], message[1024];
  char options[2 * CORE_CONFIG_TEXT]; /* options of the workers */
  EnvPixels pixels;
  double timeout_s;
  int max_workers;       /* env.workers */
  int workers;           /* max_workers, but at most one per world */
  BridgeWorker *worker;  /* [workers] */
  int *first;            /* [workers + 1] first world of each worker, and the number of worlds */
  int32_t *steps;        /* [worlds] length of the current episode so far */
  char *action_space, *spaces; /* see env.h; NULL: none */
  uint64_t seed;
  EnvSeeds seeds;        /* seeds of the next resets */
  uint32_t resumed;      /* number of times the run was resumed: the seed number of training */
  int code;              /* CORE_OK, or the error of the first worker that failed */
} BridgeEnv;

static BridgeEnv *get_batch(const Env *env) { return env->state; }

bool bridge_env_has(const char *task) {
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (strncmp(task, prefixes[i], strlen(prefixes[i])) == 0) return true;
  return false;
}

/* ---- resets and steps -------------------------------------------------------------------------------------------- */

/* Range of workers. */
typedef struct WorkerRange { int first, end; } WorkerRange;

static WorkerRange all_workers(const BridgeEnv *batch) { return (WorkerRange){0, batch->workers}; }

/* Returns the workers of worlds first .. first + count - 1; both ends must satisfy can_split. */
static WorkerRange find_workers(const BridgeEnv *batch, int first, int count) {
  WorkerRange range = {0, batch->workers};
  while (batch->first[range.first] < first) range.first++;
  while (batch->first[range.end] > first + count) range.end--;
  return range;
}

/* Waits for the replies of the workers. On a failure, stores the first error, ends all workers and returns false. */
static bool await_workers(BridgeEnv *batch, WorkerRange range) {
  for (int i = range.first; i < range.end; i++) {
    if (batch->code != CORE_OK) break;
    batch->code = bridge_worker_await(&batch->worker[i]);
  }
  if (batch->code == CORE_OK) return true;
  core_text_copy(batch->message, sizeof batch->message, core_error_message(), "message");
  for (int i = 0; i < batch->workers; i++) bridge_worker_end(&batch->worker[i]);
  return false;
}

/* Copies worker i's rows of an array into the array of all worlds. */
static void gather_rows(const Env *env, int i, uint64_t offset, size_t row_bytes, void *rows) {
  const BridgeEnv *batch = get_batch(env);
  const size_t first = (size_t)batch->first[i], count = (size_t)batch->first[i + 1] - first;
  memcpy((char *)rows + first * row_bytes, bridge_worker_array(&batch->worker[i], offset), count * row_bytes);
}

static size_t observation_bytes(const Env *env) { return (size_t)env->observation_length * sizeof(float); }

/* Generates the seed of world w by Philox: 31 bits, which every environment accepts. EnvPool seeds its i-th environment
 * with the pool's seed plus i, so there only the base seed is random, and small enough for the sum. */
static int64_t world_seed(const BridgeEnv *batch, int w) {
  static const uint32_t NO_WORLD = UINT32_MAX;
  const EnvSeeds *seeds = &batch->seeds;
  const uint32_t purpose = seeds->purpose ? seeds->purpose : CORE_RANDOM_WORLD;
  const uint32_t number = seeds->purpose ? seeds->number : batch->resumed, world = seeds->first_world + (uint32_t)w;
  if (strncmp(batch->task, ENVPOOL, strlen(ENVPOOL)) == 0)
    return (int64_t)(core_random_4(batch->seed, purpose, NO_WORLD, number, 0).v[0] >> 2) + world;
  return core_random_4(batch->seed, purpose, world, number, 0).v[0] >> 1;
}

static void reset(Env *env, float *observations) {
  BridgeEnv *batch = get_batch(env);
  const bool evaluates = batch->seeds.purpose == CORE_RANDOM_WORLD_EVALUATE;
  const BridgeCommand command = evaluates ? BRIDGE_RESET_EVALUATION : BRIDGE_RESET;
  memset(batch->steps, 0, (size_t)env->worlds * sizeof *batch->steps);

  /* All workers reset their worlds at the same time. */
  for (int i = 0; i < batch->workers; i++) {
    if (batch->code != CORE_OK) break;
    int64_t *seeds = bridge_worker_array(&batch->worker[i], batch->worker[i].shared->arrays.seeds);
    for (int w = batch->first[i]; w < batch->first[i + 1]; w++) *seeds++ = world_seed(batch, w);
    bridge_worker_request(&batch->worker[i], command);
  }
  if (batch->code == CORE_OK) await_workers(batch, all_workers(batch));

  if (batch->code != CORE_OK) {
    memset(observations, 0, (size_t)env->worlds * observation_bytes(env));
    return;
  }
  for (int i = 0; i < batch->workers; i++)
    gather_rows(env, i, batch->worker[i].shared->arrays.observations, observation_bytes(env), observations);
}

static void seed(Env *env, const EnvSeeds *seeds) { get_batch(env)->seeds = *seeds; }
static const EnvForeign foreign = {.seed = seed};

static size_t action_bytes(const Env *env) {
  return env->action_values ? (size_t)env->action_values * sizeof(float) : (size_t)env->head.factors;
}

/* Sets a step's outputs to 0 after a worker has failed; the run ends after this rollout. */
static void clear_outputs(const Env *env, int first_world, int count, const EnvStep *out) {
  const size_t first = (size_t)first_world, n = (size_t)count, row = observation_bytes(env);
  memset((char *)out->observations + first * row, 0, n * row);
  memset(out->rewards + first, 0, n * sizeof *out->rewards);
  memset(out->dones + first, 0, n);
  if (out->truncated) memset(out->truncated + first, 0, n);
  if (out->ends) memset(out->ends + first, 0, n);
}

/* Sets the flags and lengths of episodes that ended in worker i's worlds. */
static void gather_ends(const Env *env, int i, const EnvStep *out) {
  const BridgeEnv *batch = get_batch(env);
  const BridgeWorker *worker = &batch->worker[i];
  const BridgeArrays *arrays = &worker->shared->arrays;
  const uint8_t *terminated = bridge_worker_array(worker, arrays->terminated);
  const uint8_t *truncated = bridge_worker_array(worker, arrays->truncated);
  const uint8_t *ends = bridge_worker_array(worker, arrays->ends);
  for (int w = batch->first[i], k = 0; w < batch->first[i + 1]; w++, k++) {
    out->episode_steps[w] = ++batch->steps[w];
    out->dones[w] = terminated[k] || truncated[k];
    if (out->truncated) out->truncated[w] = truncated[k] && !terminated[k];
    if (out->ends) out->ends[w] = ends[k];
    if (ends[k]) batch->steps[w] = 0;
  }
}

static void gather_final_observations(const Env *env, int i, const EnvStep *out) {
  const BridgeEnv *batch = get_batch(env);
  const BridgeWorker *worker = &batch->worker[i];
  const size_t bytes = observation_bytes(env);
  const char *final = bridge_worker_array(worker, worker->shared->arrays.finals);
  for (int w = batch->first[i]; w < batch->first[i + 1]; w++, final += bytes)
    if (out->dones[w]) memcpy((char *)out->final_observations + (size_t)w * bytes, final, bytes);
}

static void step_async(Env *env, int first_world, int worlds, const void *actions) {
  BridgeEnv *batch = get_batch(env);
  const WorkerRange range = find_workers(batch, first_world, worlds);
  const size_t row = action_bytes(env);
  for (int i = range.first; i < range.end; i++) {
    if (batch->code != CORE_OK) break;
    BridgeWorker *worker = &batch->worker[i];
    const size_t first = (size_t)batch->first[i], count = (size_t)batch->first[i + 1] - first;
    void *worker_actions = bridge_worker_array(worker, worker->shared->arrays.actions);
    memcpy(worker_actions, (const char *)actions + first * row, count * row);
    bridge_worker_request(worker, BRIDGE_STEP);
  }
}

static void step_wait(Env *env, int first_world, int worlds, const EnvStep *out) {
  BridgeEnv *batch = get_batch(env);
  const WorkerRange range = find_workers(batch, first_world, worlds);
  const size_t first = (size_t)first_world, n = (size_t)worlds;

  memset(out->solved + first, 0, n);
  memset(out->episode_steps + first, 0, n * sizeof *out->episode_steps);
  if (out->levels) memset(out->levels + first, 0, n * sizeof *out->levels);
  if (batch->code != CORE_OK || !await_workers(batch, range)) {
    clear_outputs(env, first_world, worlds, out);
    return;
  }

  for (int i = range.first; i < range.end; i++) {
    const BridgeWorker *worker = &batch->worker[i];
    const BridgeArrays *arrays = &worker->shared->arrays;
    gather_rows(env, i, arrays->observations, observation_bytes(env), out->observations);
    gather_rows(env, i, arrays->rewards, sizeof *out->rewards, out->rewards);
    gather_ends(env, i, out);
    if (out->final_observations) gather_final_observations(env, i, out);
  }
}

static void step_part(Env *env, int first, int count, const void *actions, const EnvStep *out) {
  step_async(env, first, count, actions);
  step_wait(env, first, count, out);
}

static void step(Env *env, const void *actions, const EnvStep *out) { step_part(env, 0, env->worlds, actions, out); }

/* Whether `world` is the first of a worker, or the end. */
static bool can_split(const Env *env, int world) {
  const BridgeEnv *batch = get_batch(env);
  for (int i = 0; i <= batch->workers; i++)
    if (batch->first[i] == world) return true;
  return false;
}

static const EnvParts parts = {
  .step = step_part, .can_split = can_split, .step_async = step_async, .step_wait = step_wait};

static int check(const Env *env) {
  const BridgeEnv *batch = get_batch(env);
  return batch->code == CORE_OK ? CORE_OK : core_error(batch->code, "%s", batch->message);
}

static const EnvRemote remote = {.check = check};

/* Adds the sums of worker i's worlds. Its memory is checked: foreign code can write to it. */
static void add_info(const BridgeEnv *batch, int i, const uint8_t *worlds, EnvInfoTable *table) {
  const BridgeWorker *worker = &batch->worker[i];
  const BridgeInfo *info = &worker->shared->info;
  const double *sum = bridge_worker_array(worker, worker->shared->arrays.info_sums);
  const double *count = bridge_worker_array(worker, worker->shared->arrays.info_counts);
  char name[ENV_INFO_NAME];
  for (int w = batch->first[i]; w < batch->first[i + 1]; w++, sum += ENV_INFO_NAMES, count += ENV_INFO_NAMES) {
    if (worlds != NULL && !worlds[w]) continue;
    for (int n = 0; n < ENV_INFO_NAMES; n++) {
      if (!(count[n] > 0) || !isfinite(sum[n]) || !isfinite(count[n])) continue;
      snprintf(name, sizeof name, "%.*s", ENV_INFO_NAME - 1, info->name[n]);
      env_info_add(table, name, sum[n], count[n]);
    }
  }
  snprintf(name, sizeof name, "%.*s", ENV_INFO_NAME - 1, info->ignored);
  if (*name) env_info_ignore(table, name);
}

static void read_info(Env *env, const uint8_t *worlds, EnvInfoTable *table) {
  BridgeEnv *batch = get_batch(env);
  for (int i = 0; i < batch->workers; i++) {
    if (batch->code != CORE_OK) break;
    bridge_worker_request(&batch->worker[i], BRIDGE_INFO);
  }
  if (batch->code != CORE_OK || !await_workers(batch, all_workers(batch))) return;
  for (int i = 0; i < batch->workers; i++) add_info(batch, i, worlds, table);
}

static const EnvInfo info = {.read = read_info};

/* ---- saved states: the number of resumes only, since Gymnasium's environments cannot be saved -------------------- */

static size_t state_bytes(const Env *env) {
  (void)env;
  return sizeof(uint32_t);
}

static void save(const Env *env, void *state) { memcpy(state, &get_batch(env)->resumed, sizeof(uint32_t)); }

static int load(Env *env, const void *state, size_t bytes) {
  if (bytes != sizeof(uint32_t)) return core_error(CORE_USAGE, "the saved state belongs to another environment");
  memcpy(&get_batch(env)->resumed, state, bytes);
  get_batch(env)->resumed++; /* new seeds, not the episodes that were already played */
  return CORE_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static size_t bytes(const Env *env) {
  size_t sum = 0;
  for (int i = 0; i < get_batch(env)->workers; i++)
    if (get_batch(env)->worker[i].shared) sum += get_batch(env)->worker[i].shared->arrays.bytes;
  return sum;
}

static void destroy(Env *env) {
  BridgeEnv *batch = get_batch(env);
  for (int i = 0; i < batch->workers; i++) bridge_worker_end(&batch->worker[i]);
  free(batch->worker);
  free(batch->first);
  free(batch->steps);
  free(batch->action_space);
  free(batch->spaces);
  free(batch);
  free(env);
}

static int clone_env(const Env *env, const EnvBatch *options, Env **created);

static void describe(const BridgeSpaces *spaces, const char *action_space, Env *env) {
  CoreText json = {0};
  const BridgePicture *picture = &spaces->picture;
  EnvPixels *pixels = &get_batch(env)->pixels;

  *pixels = (EnvPixels){picture->height, picture->width, picture->channels, picture->frames,
                        picture->channels_last != 0};
  env->pixels = picture->height > 0 ? pixels : NULL;

  env->has_lives = spaces->lives != 0;
  env->observation_length = env->whole_length = spaces->observations;
  env->has_no_limit = spaces->limit <= 0 || spaces->limit > ENV_STEPS_MAX;
  env->max_steps = env->has_no_limit ? EVALUATION_LIMIT : spaces->limit;

  env->action_values = spaces->values;
  if (*action_space) get_batch(env)->action_space = core_text_duplicate(action_space);
  env->action_space = get_batch(env)->action_space;
  bridge_spaces_append(spaces, action_space, &json);
  env->spaces = get_batch(env)->spaces = json.data;
  env->action_low = spaces->low;
  env->action_high = spaces->high;
  env->head.factors = spaces->factors;
  for (int i = 0; i < spaces->factors; i++) {
    env->head.size[i] = spaces->classes[i];
    env->head.logits += spaces->classes[i];
  }
}

static int check_spaces(const BridgeEnv *batch, const BridgeSpaces *spaces) {
  int logits = 0;
  for (int i = 0; i < spaces->factors; i++) logits += spaces->classes[i];
  if (spaces->observations < 1) return core_error(CORE_USAGE, "%.100s has empty observations", batch->task);
  if (spaces->observations > ENV_OBSERVATIONS_MAX)
    return core_error(CORE_USAGE, "%.100s: observations have %d values; the maximum is %d", batch->task,
                      spaces->observations, ENV_OBSERVATIONS_MAX);
  if (spaces->factors > OPS_FACTORS_MAX || spaces->values > OPS_FACTORS_MAX || logits > OPS_LOGITS_MAX)
    return core_error(CORE_USAGE, "%.100s has %d actions with %d classes in total; the maximum is %d actions and %d "
                      "classes", batch->task, spaces->factors + spaces->values, logits, OPS_FACTORS_MAX,
                      OPS_LOGITS_MAX);
  return CORE_OK;
}

static int start_workers(BridgeEnv *batch, int worlds) {
  const bool can_spin = omp_get_num_procs() > batch->workers; /* a processor for each side */
  for (int i = 0; i <= batch->workers; i++) batch->first[i] = (int)((int64_t)worlds * i / batch->workers);
  for (int i = 0; i < batch->workers; i++) {
    const BridgeWorkerOptions opts = {.task = batch->task, .options = batch->options, .python = batch->python,
                               .timeout_s = batch->timeout_s, .timeout_hint = TIMEOUT_HINT,
                               .spin_ns = can_spin ? SPIN_NS : 0, .worlds = batch->first[i + 1] - batch->first[i]};
    TRY(bridge_worker_start(&opts, &batch->worker[i]));
  }
  return check_spaces(batch, &batch->worker[0].shared->spaces);
}

static Env *create_env(BridgeEnv *batch, int worlds) {
  Env *env = core_memory_zero_allocate(1, sizeof *env);
  *env = (Env){
    .name = "gym", .worlds = worlds, .level_count = 1, .truncates = true, .world_bytes = 0,
    .reset = reset, .step = step, .state_bytes = state_bytes, .save = save, .load = load, .bytes = bytes,
    .clone = clone_env, .destroy = destroy, .parts = &parts, .remote = &remote, .foreign = &foreign, .state = batch,
    .info = strncmp(batch->task, GYM, strlen(GYM)) == 0 ? &info : NULL,
  };
  return env;
}

/* Creates an environment with the settings of `settings`. */
static int create(const BridgeEnv *settings, const EnvBatch *options, Env **created) {
  BridgeEnv *batch = core_memory_zero_allocate(1, sizeof *batch);
  *batch = *settings;
  batch->action_space = batch->spaces = NULL;
  batch->code = CORE_OK;
  batch->resumed = 0;
  batch->seed = options->seed;

  batch->seeds = (EnvSeeds){.first_world = options->first_world};
  batch->workers = settings->max_workers < options->worlds ? settings->max_workers : options->worlds;
  batch->worker = core_memory_zero_allocate((size_t)batch->workers, sizeof *batch->worker);
  batch->first = core_memory_zero_allocate((size_t)batch->workers + 1, sizeof *batch->first);
  batch->steps = core_memory_zero_allocate((size_t)options->worlds, sizeof *batch->steps);
  for (int i = 0; i < batch->workers; i++) batch->worker[i].file = -1;

  Env *env = create_env(batch, options->worlds);
  const int code = start_workers(batch, options->worlds);
  if (code != CORE_OK) {
    destroy(env);
    return code;
  }

  describe(&batch->worker[0].shared->spaces, batch->worker[0].shared->action_space, env);
  *created = env;
  return CORE_OK;
}

int bridge_env_create_from_spaces(const CoreConfig *config, const char *spaces_json, Env **created) {
  BridgeSpaces spaces;
  CoreText action_space = {0};
  BridgeEnv *batch = core_memory_zero_allocate(1, sizeof *batch);
  core_text_copy(batch->task, sizeof batch->task, config->env.task, "env.task");
  int code = bridge_spaces_parse(spaces_json, &spaces, &action_space);
  if (code == CORE_OK) code = check_spaces(batch, &spaces);
  if (code == CORE_OK) {
    *created = create_env(batch, 1);
    describe(&spaces, core_text_string(&action_space), *created);
  } else {
    free(batch);
  }
  core_text_free(&action_space);
  return code;
}

static int clone_env(const Env *env, const EnvBatch *options, Env **created) {
  TRY(env_check_on_host(env, options));
  return create(get_batch(env), options, created);
}

/* Formats the workers' options. env.max_steps is a limit only if it differs from the default (config.def). */
static void format_options(const CoreConfig *config, BridgeEnv *settings) {
  const char *encoder = env_wants_pixels(config) ? config->net.encoder : "none";
  const int64_t limit = config->env.max_steps, no_limit = core_config_default().env.max_steps;
  snprintf(settings->options, sizeof settings->options,
           "encoder=%s frame_skip=%d sticky=%.9g noop_max=%d fire_reset=%d episodic_life=%d full_actions=%d "
           "max_steps=%d", encoder,
           (int)config->atari.frame_skip, config->atari.sticky, (int)config->atari.noop_max, config->atari.fire_reset,
           config->atari.episodic_life, config->atari.full_actions, limit == no_limit ? 0 : (int)limit);
}

/* Passes the list of modules that are not installed, with their locations and file hashes, to workers started from now
 * on, as a memfd that they inherit. */
static int pass_modules(const CoreConfig *config) {
  static int file = -1;
  const StoreCode *code;
  char path[32];
  TRY(store_code_find(config, &code));
  if (file < 0) file = memfd_create("sweep-modules", 0);
  const size_t size = strlen(code->modules);
  if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, code->modules, size, 0) != (ssize_t)size)
    return core_error_errno(CORE_FAIL, "cannot allocate memory shared with a worker");
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  setenv("SWEEP_MODULES", path, 1);
  return CORE_OK;
}

int bridge_env_create(const CoreConfig *config, const EnvBatch *batch, Env **env) {
  BridgeEnv settings = {.timeout_s = config->env.timeout, .max_workers = (int)config->env.workers};
  if (config->train.rollout_halves == 2)
    settings.max_workers += settings.max_workers % 2; /* an equal number for each half */
  core_text_copy(settings.task, sizeof settings.task, config->env.task, "env.task");
  core_text_copy(settings.python, sizeof settings.python, config->env.python, "env.python");
  format_options(config, &settings);
  TRY(pass_modules(config));
  const int code = create(&settings, batch, env);
  return code == CORE_OK ? CORE_OK : core_error_context(code, "env.task");
}

/* ---- warnings ---------------------------------------------------------------------------------------------------- */

static void append_path_warning(CoreText *lines) {
  CoreText paths = {0};
  bridge_append_relative_paths(&paths);
  if (paths.length > 0)
    core_text_appendf(lines, "PYTHONPATH: %.300s: workers search relative paths for the task's module only; use "
                      "absolute paths\n", core_text_string(&paths));
  core_text_free(&paths);
}

/* Appends the result of Gymnasium's checker: lines "warns: ..." and "fails: ...", or the reason why there is none. */
static void append_check_warnings(const char *task, int code, char *result, CoreText *lines) {
  static const char fails[] = "fails: ";
  core_unicode_mask(result);
  if (code != CORE_OK) {
    const size_t prefix = strncmp(result, task, strlen(task)) == 0 ? strlen(task) + strlen(": ") : 0;
    core_text_appendf(lines, "%.100s: Gymnasium's check_env returned no result: %.600s\n", task, result + prefix);
    return;
  }
  for (char *line = result, *tail; line && *line; line = tail) {
    tail = strchr(line, '\n');
    if (tail) *tail++ = '\0';
    if (strncmp(line, fails, strlen(fails)) == 0)
      core_text_appendf(lines, "%.100s does not pass Gymnasium's check_env: %.600s\n", task, line + strlen(fails));
    else core_text_appendf(lines, "%.100s: Gymnasium's check_env %.600s\n", task, line);
  }
}

/* Whether this process has not checked this environment yet. Records it. */
static bool is_first_check(const char *task, const char *python) {
  static CoreText checked;
  CoreText key = {0};
  core_text_appendf(&key, "\n%s\t%s\n", task, python);
  const bool is_known = strstr(core_text_string(&checked), core_text_string(&key)) != NULL;
  if (!is_known) core_text_append(&checked, core_text_string(&key));
  core_text_free(&key);
  return !is_known;
}

void bridge_env_append_warnings(const CoreConfig *config, CoreText *lines) {
  const char *task = config->env.task;
  const BridgeWorkerOptions opts = {.task = task, .options = "check=1",
                                                             .python = config->env.python, .timeout_hint = "",
                             .timeout_s = config->env.timeout < CHECK_S ? config->env.timeout : CHECK_S, .worlds = 1};
  CoreText result = {0};
  if (!is_first_check(task, config->env.python)) return;
  append_path_warning(lines);
  int code = strncmp(task, GYM, strlen(GYM)) == 0 ? pass_modules(config) : CORE_REQUEUE;
  if (code == CORE_OK) code = bridge_worker_run_once(&opts, &result);
  if (code != CORE_REQUEUE && result.length > 0) append_check_warnings(task, code, result.data, lines);
  core_error_clear();
  core_text_free(&result);
}
