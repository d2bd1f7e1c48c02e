/* Worlds of worker processes (bridge_env.h). */
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
#include "trainer/envs/bridge/bridge_process.h"
#include "trainer/envs/bridge/bridge_spaces.h"

enum { EVALUATION_LIMIT = 10000 }; /* steps of an evaluation's attempt where the environment states no limit */
enum { LOOK_NS = 50000 };         /* a core wakes in less than that */
static const double CHECK_S = 20; /* that Gymnasium's checker may take */

static const char GYM[] = "gym/", ENVPOOL[] = "envpool/";
static const char *const prefixes[] = {GYM, "atari/", ENVPOOL};
static const char TIMEOUT_HINT[] = "; env.timeout sets how long it may take";

typedef struct BridgeEnv {
  char task[CORE_CONFIG_TEXT], python[CORE_CONFIG_TEXT], message[1024];
  char options[2 * CORE_CONFIG_TEXT]; /* for the workers */
  EnvPixels pixels;
  double timeout_s;
  int most_workers;      /* env.workers; */
  int workers;           /* as many or, of fewer worlds, one a world */
  BridgeWorker *worker;  /* [workers] */
  int *first;            /* [workers + 1] worlds that each begins with */
  int32_t *steps;        /* [worlds] of the episode that runs */
  char *action_space, *spaces; /* env.h; NULL: none */
  uint64_t seed;
  EnvSeeds seeds;        /* of the next resets */
  uint32_t resumed;      /* how often the run was: training's number among its seeds */
  int code;              /* CORE_OK, or what became of the first worker that failed */
} BridgeEnv;

static BridgeEnv *batch_of(const Env *env) { return env->state; }

bool bridge_env_has(const char *task) {
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (strncmp(task, prefixes[i], strlen(prefixes[i])) == 0) return true;
  return false;
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

/* Workers of neighbouring worlds. */
typedef struct Crew { int first, end; } Crew;

static Crew all_workers(const BridgeEnv *batch) { return (Crew){0, batch->workers}; }

/* Those that have worlds first .. first + count - 1, where `cuts` allows both ends. */
static Crew crew_of(const BridgeEnv *batch, int first, int count) {
  Crew crew = {0, batch->workers};
  while (batch->first[crew.first] < first) crew.first++;
  while (batch->first[crew.end] > first + count) crew.end--;
  return crew;
}

/* The crew answers, or the first failure is kept and all workers are ended. */
static bool await_crew(BridgeEnv *batch, Crew crew) {
  for (int i = crew.first; i < crew.end && batch->code == CORE_OK; i++)
    batch->code = bridge_worker_await(&batch->worker[i]);
  if (batch->code == CORE_OK) return true;
  core_text_copy(batch->message, sizeof batch->message, core_error_message(), "message");
  for (int i = 0; i < batch->workers; i++) bridge_worker_end(&batch->worker[i]);
  return false;
}

/* Rows of a worker's array behind those of the workers before it. */
static void fetch(const Env *env, int i, uint64_t offset, size_t row_bytes, void *all) {
  const BridgeEnv *batch = batch_of(env);
  const size_t first = (size_t)batch->first[i], count = (size_t)batch->first[i + 1] - first;
  memcpy((char *)all + first * row_bytes, bridge_worker_array(&batch->worker[i], offset), count * row_bytes);
}

static size_t observation_bytes(const Env *env) { return (size_t)env->observation_length * sizeof(float); }

/* Draws the seed of world w by Philox: 31 bits, which every environment takes. EnvPool seeds its i-th environment with
 * the pool's seed plus i; so only the first world's is drawn there, with room for those after it. */
static int64_t draw_seed(const BridgeEnv *batch, int w) {
  static const uint32_t NO_WORLD = UINT32_MAX;
  const EnvSeeds *seeds = &batch->seeds;
  const uint32_t purpose = seeds->purpose ? seeds->purpose : CORE_RANDOM_WORLD;
  const uint32_t number = seeds->purpose ? seeds->number : batch->resumed, world = seeds->first_world + (uint32_t)w;
  if (strncmp(batch->task, ENVPOOL, strlen(ENVPOOL)) == 0)
    return (int64_t)(core_random_4(batch->seed, purpose, NO_WORLD, number, 0).v[0] >> 2) + world;
  return core_random_4(batch->seed, purpose, world, number, 0).v[0] >> 1;
}

static void reset(Env *env, float *observations) {
  BridgeEnv *batch = batch_of(env);
  memset(batch->steps, 0, (size_t)env->worlds * sizeof *batch->steps);
  for (int i = 0; i < batch->workers && batch->code == CORE_OK; i++) {
    int64_t *seeds = bridge_worker_array(&batch->worker[i], batch->worker[i].shared->arrays.seeds);
    for (int w = batch->first[i]; w < batch->first[i + 1]; w++) *seeds++ = draw_seed(batch, w);
    bridge_worker_ask(&batch->worker[i], BRIDGE_RESET);
  }
  if (batch->code == CORE_OK) await_crew(batch, all_workers(batch));
  if (batch->code != CORE_OK) {
    memset(observations, 0, (size_t)env->worlds * observation_bytes(env));
    return;
  }
  for (int i = 0; i < batch->workers; i++)
    fetch(env, i, batch->worker[i].shared->arrays.observations, observation_bytes(env), observations);
}

static void seed(Env *env, const EnvSeeds *seeds) { batch_of(env)->seeds = *seeds; }
static const EnvForeign foreign = {.seed = seed};

static size_t action_bytes(const Env *env) {
  return env->action_values ? (size_t)env->action_values * sizeof(float) : (size_t)env->head.factors;
}

/* What a step gives once a worker is gone: the run ends after this rollout. */
static void give_nothing(const Env *env, int first_world, int count, const EnvStep *out) {
  const size_t first = (size_t)first_world, n = (size_t)count, row = observation_bytes(env);
  memset((char *)out->observations + first * row, 0, n * row);
  memset(out->rewards + first, 0, n * sizeof *out->rewards);
  memset(out->dones + first, 0, n);
  if (out->truncated) memset(out->truncated + first, 0, n);
  if (out->ends) memset(out->ends + first, 0, n);
}

/* Who ended, and after how many steps, of worker i's worlds. */
static void count_steps(const Env *env, int i, const EnvStep *out) {
  const BridgeEnv *batch = batch_of(env);
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

static void fetch_finals(const Env *env, int i, const EnvStep *out) {
  const BridgeEnv *batch = batch_of(env);
  const BridgeWorker *worker = &batch->worker[i];
  const size_t bytes = observation_bytes(env);
  const char *final = bridge_worker_array(worker, worker->shared->arrays.finals);
  for (int w = batch->first[i]; w < batch->first[i + 1]; w++, final += bytes)
    if (out->dones[w]) memcpy((char *)out->final_observations + (size_t)w * bytes, final, bytes);
}

static void ask(Env *env, int first_world, int worlds, const void *actions) {
  BridgeEnv *batch = batch_of(env);
  const Crew crew = crew_of(batch, first_world, worlds);
  const size_t row = action_bytes(env);
  for (int i = crew.first; i < crew.end && batch->code == CORE_OK; i++) {
    BridgeWorker *worker = &batch->worker[i];
    const size_t first = (size_t)batch->first[i], count = (size_t)batch->first[i + 1] - first;
    void *given = bridge_worker_array(worker, worker->shared->arrays.actions);
    memcpy(given, (const char *)actions + first * row, count * row);
    bridge_worker_ask(worker, BRIDGE_STEP);
  }
}

static void take(Env *env, int first_world, int worlds, const EnvStep *out) {
  BridgeEnv *batch = batch_of(env);
  const Crew crew = crew_of(batch, first_world, worlds);
  const size_t first = (size_t)first_world, n = (size_t)worlds;
  memset(out->solved + first, 0, n);
  memset(out->episode_steps + first, 0, n * sizeof *out->episode_steps);
  if (out->levels) memset(out->levels + first, 0, n * sizeof *out->levels);
  if (batch->code != CORE_OK || !await_crew(batch, crew)) {
    give_nothing(env, first_world, worlds, out);
    return;
  }
  for (int i = crew.first; i < crew.end; i++) {
    const BridgeWorker *worker = &batch->worker[i];
    const BridgeArrays *arrays = &worker->shared->arrays;
    fetch(env, i, arrays->observations, observation_bytes(env), out->observations);
    fetch(env, i, arrays->rewards, sizeof *out->rewards, out->rewards);
    count_steps(env, i, out);
    if (out->final_observations) fetch_finals(env, i, out);
  }
}

static void step_part(Env *env, int first, int count, const void *actions, const EnvStep *out) {
  ask(env, first, count, actions);
  take(env, first, count, out);
}

static void step(Env *env, const void *actions, const EnvStep *out) { step_part(env, 0, env->worlds, actions, out); }

/* Between two workers. */
static bool cuts(const Env *env, int world) {
  const BridgeEnv *batch = batch_of(env);
  for (int i = 0; i <= batch->workers; i++)
    if (batch->first[i] == world) return true;
  return false;
}

static const EnvParts parts = {.step = step_part, .cuts = cuts, .ask = ask, .take = take};

static int check(const Env *env) {
  const BridgeEnv *batch = batch_of(env);
  return batch->code == CORE_OK ? CORE_OK : core_error(batch->code, "%s", batch->message);
}

static const EnvOutside outside = {.check = check};

/* ---- saved states: how often the run was resumed; environments of Gymnasium have no way to be saved -------------- */

static size_t state_bytes(const Env *env) {
  (void)env;
  return sizeof(uint32_t);
}

static void save(const Env *env, void *state) { memcpy(state, &batch_of(env)->resumed, sizeof(uint32_t)); }

static int load(Env *env, const void *state, size_t bytes) {
  if (bytes != sizeof(uint32_t)) return core_error(CORE_USAGE, "the saved worlds are of another environment");
  memcpy(&batch_of(env)->resumed, state, bytes);
  batch_of(env)->resumed++; /* not the episodes again that were played already */
  return CORE_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static size_t bytes(const Env *env) {
  size_t sum = 0;
  for (int i = 0; i < batch_of(env)->workers; i++)
    if (batch_of(env)->worker[i].shared) sum += batch_of(env)->worker[i].shared->arrays.bytes;
  return sum;
}

static void destroy(Env *env) {
  BridgeEnv *batch = batch_of(env);
  for (int i = 0; i < batch->workers; i++) bridge_worker_end(&batch->worker[i]);
  free(batch->worker);
  free(batch->first);
  free(batch->steps);
  free(batch->action_space);
  free(batch->spaces);
  free(batch);
  free(env);
}

static int sibling(const Env *env, const EnvBatch *wanted, Env **made);

static void describe(const BridgeSpaces *spaces, const char *action_space, Env *env) {
  CoreText json = {0};
  const BridgePicture *picture = &spaces->picture;
  EnvPixels *pixels = &batch_of(env)->pixels;
  *pixels = (EnvPixels){picture->height, picture->width, picture->channels, picture->frames,
                        picture->channels_last != 0};
  env->pixels = picture->height > 0 ? pixels : NULL;
  env->has_lives = spaces->lives != 0;
  env->observation_length = env->whole_length = spaces->observations;
  env->has_no_limit = spaces->limit <= 0 || spaces->limit > ENV_STEPS_MAX;
  env->max_steps = env->has_no_limit ? EVALUATION_LIMIT : spaces->limit;
  env->action_values = spaces->values;
  if (*action_space) batch_of(env)->action_space = core_text_duplicate(action_space);
  env->action_space = batch_of(env)->action_space;
  bridge_spaces_append(spaces, action_space, &json);
  env->spaces = batch_of(env)->spaces = json.data;
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
  if (spaces->observations < 1) return core_error(CORE_USAGE, "%.100s shows no numbers", batch->task);
  if (spaces->observations > ENV_OBSERVATIONS_MAX)
    return core_error(CORE_USAGE, "%.100s: observations of %d numbers; at most %d are possible", batch->task,
                      spaces->observations, ENV_OBSERVATIONS_MAX);
  if (spaces->factors > OPS_FACTORS_MAX || spaces->values > OPS_FACTORS_MAX || logits > OPS_LOGITS_MAX)
    return core_error(CORE_USAGE, "%.100s takes %d actions with %d classes together; at most %d actions and %d classes "
                      "are possible", batch->task, spaces->factors + spaces->values, logits, OPS_FACTORS_MAX,
                      OPS_LOGITS_MAX);
  return CORE_OK;
}

static int start_workers(BridgeEnv *batch, int worlds) {
  const bool looks = omp_get_num_procs() > batch->workers; /* a processor for each side */
  for (int i = 0; i <= batch->workers; i++) batch->first[i] = (int)((int64_t)worlds * i / batch->workers);
  for (int i = 0; i < batch->workers; i++) {
    const BridgeOrder order = {.task = batch->task, .options = batch->options, .python = batch->python,
                               .timeout_s = batch->timeout_s, .timeout_hint = TIMEOUT_HINT,
                               .look_ns = looks ? LOOK_NS : 0, .worlds = batch->first[i + 1] - batch->first[i]};
    TRY(bridge_worker_start(&order, &batch->worker[i]));
  }
  return check_spaces(batch, &batch->worker[0].shared->spaces);
}

static Env *make_env(BridgeEnv *batch, int worlds) {
  Env *env = core_memory_zero_allocate(1, sizeof *env);
  *env = (Env){
    .name = "gym", .worlds = worlds, .level_count = 1, .truncates = true, .world_bytes = 0,
    .reset = reset, .step = step, .state_bytes = state_bytes, .save = save, .load = load, .bytes = bytes,
    .sibling = sibling, .destroy = destroy, .parts = &parts, .outside = &outside, .foreign = &foreign, .state = batch,
  };
  return env;
}

/* `like` has the texts and numbers of the settings. */
static int make(const BridgeEnv *like, const EnvBatch *wanted, Env **made) {
  BridgeEnv *batch = core_memory_zero_allocate(1, sizeof *batch);
  *batch = *like;
  batch->action_space = batch->spaces = NULL;
  batch->code = CORE_OK;
  batch->resumed = 0;
  batch->seed = wanted->seed;
  batch->seeds = (EnvSeeds){.first_world = wanted->first_world};
  batch->workers = like->most_workers < wanted->worlds ? like->most_workers : wanted->worlds;
  batch->worker = core_memory_zero_allocate((size_t)batch->workers, sizeof *batch->worker);
  batch->first = core_memory_zero_allocate((size_t)batch->workers + 1, sizeof *batch->first);
  batch->steps = core_memory_zero_allocate((size_t)wanted->worlds, sizeof *batch->steps);
  for (int i = 0; i < batch->workers; i++) batch->worker[i].file = -1;
  Env *env = make_env(batch, wanted->worlds);
  const int code = start_workers(batch, wanted->worlds);
  if (code != CORE_OK) {
    destroy(env);
    return code;
  }
  describe(&batch->worker[0].shared->spaces, batch->worker[0].shared->action_space, env);
  *made = env;
  return CORE_OK;
}

int bridge_env_recall(const CoreConfig *config, const char *spaces_json, Env **made) {
  BridgeSpaces spaces;
  CoreText action_space = {0};
  BridgeEnv *batch = core_memory_zero_allocate(1, sizeof *batch);
  core_text_copy(batch->task, sizeof batch->task, config->env.task, "env.task");
  int code = bridge_spaces_parse(spaces_json, &spaces, &action_space);
  if (code == CORE_OK) code = check_spaces(batch, &spaces);
  if (code == CORE_OK) {
    *made = make_env(batch, 1);
    describe(&spaces, core_text_string(&action_space), *made);
  } else {
    free(batch);
  }
  core_text_free(&action_space);
  return code;
}

static int sibling(const Env *env, const EnvBatch *wanted, Env **made) {
  TRY(env_check_on_host(env, wanted));
  return make(batch_of(env), wanted, made);
}

/* What workers are told of the settings. env.max_steps is a limit where it is not the default (config.def). */
static void write_options(const CoreConfig *config, BridgeEnv *settings) {
  const char *encoder = env_wants_pixels(config) ? config->net.encoder : "none";
  const int64_t limit = config->env.max_steps, no_limit = core_config_default().env.max_steps;
  snprintf(settings->options, sizeof settings->options,
           "encoder=%s frame_skip=%d sticky=%.9g noop_max=%d fire_reset=%d episodic_life=%d full_actions=%d "
           "max_steps=%d", encoder,
           (int)config->atari.frame_skip, config->atari.sticky, (int)config->atari.noop_max, config->atari.fire_reset,
           config->atari.episodic_life, config->atari.full_actions, limit == no_limit ? 0 : (int)limit);
}

/* Tells the workers that are started from now on which modules are not installed, where they lie and the hashes of
 * their files: as a file without a name, which they inherit. */
static int tell_modules(const CoreConfig *config) {
  static int file = -1;
  const StoreCode *code;
  char path[32];
  TRY(store_code_find(config, &code));
  if (file < 0) file = memfd_create("sweep-modules", 0);
  const size_t size = strlen(code->modules);
  if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, code->modules, size, 0) != (ssize_t)size)
    return core_error_errno(CORE_FAIL, "memory to share with a worker");
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  setenv("SWEEP_MODULES", path, 1);
  return CORE_OK;
}

int bridge_env_create(const CoreConfig *config, const EnvBatch *batch, Env **env) {
  BridgeEnv settings = {.timeout_s = config->env.timeout, .most_workers = (int)config->env.workers};
  if (config->train.rollout_halves == 2) settings.most_workers += settings.most_workers % 2; /* a half each */
  core_text_copy(settings.task, sizeof settings.task, config->env.task, "env.task");
  core_text_copy(settings.python, sizeof settings.python, config->env.python, "env.python");
  write_options(config, &settings);
  TRY(tell_modules(config));
  const int code = make(&settings, batch, env);
  return code == CORE_OK ? CORE_OK : core_error_context(code, "env.task");
}

/* ---- remarks ----------------------------------------------------------------------------------------------------- */

static void remark_folders(CoreText *lines) {
  CoreText folders = {0};
  bridge_relative_folders(&folders);
  if (folders.length > 0)
    core_text_appendf(lines, "PYTHONPATH: %.300s: workers search what is no whole path for the task's module only; "
                      "give whole paths\n", core_text_string(&folders));
  core_text_free(&folders);
}

/* Words what Gymnasium's checker answered: lines of "warns: ..." and "fails: ...", or the reason why it did not. */
static void remark_check(const char *task, int code, char *answer, CoreText *lines) {
  static const char fails[] = "fails: ";
  core_unicode_mask(answer);
  if (code != CORE_OK) {
    const size_t before = strncmp(answer, task, strlen(task)) == 0 ? strlen(task) + strlen(": ") : 0;
    core_text_appendf(lines, "%.100s: Gymnasium's check_env has no result: %.600s\n", task, answer + before);
    return;
  }
  for (char *line = answer, *rest; line && *line; line = rest) {
    rest = strchr(line, '\n');
    if (rest) *rest++ = '\0';
    if (strncmp(line, fails, strlen(fails)) == 0)
      core_text_appendf(lines, "%.100s does not pass Gymnasium's check_env: %.600s\n", task, line + strlen(fails));
    else core_text_appendf(lines, "%.100s: Gymnasium's check_env %.600s\n", task, line);
  }
}

/* Whether this process has not asked about this environment yet. */
static bool is_new(const char *task, const char *python) {
  static CoreText asked;
  CoreText key = {0};
  core_text_appendf(&key, "\n%s\t%s\n", task, python);
  const bool is_known = strstr(core_text_string(&asked), core_text_string(&key)) != NULL;
  if (!is_known) core_text_append(&asked, core_text_string(&key));
  core_text_free(&key);
  return !is_known;
}

void bridge_env_remarks(const CoreConfig *config, CoreText *lines) {
  const char *task = config->env.task;
  const BridgeOrder order = {.task = task, .options = "check=1", .python = config->env.python, .timeout_hint = "",
                             .timeout_s = config->env.timeout < CHECK_S ? config->env.timeout : CHECK_S, .worlds = 1};
  CoreText answer = {0};
  if (!is_new(task, config->env.python)) return;
  remark_folders(lines);
  int code = strncmp(task, GYM, strlen(GYM)) == 0 ? tell_modules(config) : CORE_REQUEUE;
  if (code == CORE_OK) code = bridge_worker_ask_once(&order, &answer);
  if (code != CORE_REQUEUE && answer.length > 0) remark_check(task, code, answer.data, lines);
  core_error_clear();
  core_text_free(&answer);
}
