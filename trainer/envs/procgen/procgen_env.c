/* Worlds of a Procgen game (procgen_env.h). Procgen starts the next episode of a world by itself; a reset restores the
 * world's initial state. */
#include "trainer/envs/procgen/procgen_env.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "core/text.h"
#include "trainer/envs/procgen/procgen_game.h"

enum {
  LIMIT = 8192, /* max_steps; games end episodes earlier, most after 1000 steps */
  VERSION = 1, SETS_MAX = 8
};

typedef struct World {
  ProcgenGame *game;
  int32_t steps;          /* length of the current episode so far */
  int32_t initial_bytes;
  uint8_t *initial_state; /* [initial_bytes] */
} World;

typedef struct ProcgenEnv {
  char game[CORE_CONFIG_TEXT];
  ProcgenOptions options; /* except rand_seed */
  bool has_pixels;        /* whether observations are bytes; else floats */
  World *world;
} ProcgenEnv;

/* Saved state of a world. */
typedef struct Record {
  int32_t version, steps, bytes;
  uint8_t state[PROCGEN_STATE_MAX];
} Record;

static ProcgenEnv *get_batch(const Env *env) { return env->state; }

static const EnvPixels pixels = {PROCGEN_SIDE, PROCGEN_SIDE, 3, 1, true};

/* Writes world w's observation: bytes, or values in [0, 1]. */
static void write_observation(const Env *env, int w, float *observations) {
  const ProcgenView view = procgen_view(get_batch(env)->world[w].game, 0);
  if (env->pixels) {
    memcpy(observations + (size_t)w * (size_t)env->observation_length, view.pixels, PROCGEN_PIXELS);
    return;
  }
  float *row = observations + (size_t)w * PROCGEN_PIXELS;
  for (int i = 0; i < PROCGEN_PIXELS; i++) row[i] = (float)view.pixels[i] * (1.0f / 255);
}

static void reset(Env *env, float *observations) {
#pragma omp parallel for schedule(dynamic) if (env->worlds > 1)
  for (int w = 0; w < env->worlds; w++) {
    World *world = &get_batch(env)->world[w];
    procgen_load(world->game, 0, world->initial_state, world->initial_bytes);
    procgen_observe(world->game);
    world->steps = 0;
    write_observation(env, w, observations);
  }
}

static void step_world(Env *env, int w, int32_t action, const EnvStep *out) {
  World *world = &get_batch(env)->world[w];
  procgen_step(world->game, &action);
  const ProcgenView view = procgen_view(world->game, 0);
  out->rewards[w] = view.reward;
  out->dones[w] = view.first;
  out->solved[w] = view.first && view.complete;
  out->episode_steps[w] = ++world->steps;
  if (out->levels) out->levels[w] = 0;
  if (view.first) world->steps = 0;
  write_observation(env, w, out->observations);
}

static void step_part(Env *env, int first, int count, const void *actions, const EnvStep *out) {
#pragma omp parallel for schedule(dynamic) if (count > 1)
  for (int w = first; w < first + count; w++) step_world(env, w, ((const uint8_t *)actions)[w], out);
}

static void step(Env *env, const void *actions, const EnvStep *out) { step_part(env, 0, env->worlds, actions, out); }

static const EnvParts parts = {.step = step_part};

/* ---- saved states ------------------------------------------------------------------------------------------------ */

static size_t state_bytes(const Env *env) { return (size_t)env->worlds * sizeof(Record); }

static void save(const Env *env, void *state) {
  Record *record = state;
  for (int w = 0; w < env->worlds; w++) {
    const World *world = &get_batch(env)->world[w];
    memset(&record[w], 0, sizeof record[w]);
    record[w].version = VERSION;
    record[w].steps = world->steps;
    record[w].bytes = procgen_save(world->game, 0, record[w].state);
  }
}

static int load(Env *env, const void *state, size_t bytes) {
  const Record *record = state;
  if (bytes != state_bytes(env)) return core_error(CORE_USAGE, "the saved state belongs to another environment");
  for (int w = 0; w < env->worlds; w++)
    if (record[w].version != VERSION || record[w].bytes < 1 || record[w].bytes > PROCGEN_STATE_MAX)
      return core_error(CORE_USAGE, "the saved state of world %d is not from Procgen", w);
  for (int w = 0; w < env->worlds; w++) {
    procgen_load(get_batch(env)->world[w].game, 0, record[w].state, record[w].bytes);
    procgen_observe(get_batch(env)->world[w].game);
    get_batch(env)->world[w].steps = record[w].steps;
  }
  return CORE_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

/* Estimates memory: images of all games are loaded once; worlds are small. */
static size_t bytes(const Env *env) { return (size_t)env->worlds * 100000 + 300000000; }

static void destroy(Env *env) {
  ProcgenEnv *batch = get_batch(env);
  for (int w = 0; w < env->worlds; w++) {
    procgen_destroy(batch->world[w].game);
    free(batch->world[w].initial_state);
  }
  free(batch->world);
  free(batch);
  free(env);
}

static int create_world(ProcgenEnv *batch, const EnvBatch *options, int w) {
  World *world = &batch->world[w];
  CoreRandomStream stream =
    core_random_stream(options->seed, CORE_RANDOM_RESET, options->first_world + (uint32_t)w, 0);
  ProcgenOptions game_options = batch->options;
  game_options.rand_seed = (int)(core_random_next(&stream) >> 1);
  TRY(procgen_create(&game_options, 1, &world->game));
  uint8_t *state = core_memory_allocate(PROCGEN_STATE_MAX);
  world->initial_bytes = procgen_save(world->game, 0, state);
  world->initial_state = core_memory_resize(state, (size_t)world->initial_bytes);
  return CORE_OK;
}

static int clone_env(const Env *env, const EnvBatch *options, Env **created);

/* Creates worlds with the settings of `settings`. */
static int create(const ProcgenEnv *settings, const EnvBatch *options, Env **created) {
  ProcgenEnv *batch = core_memory_zero_allocate(1, sizeof *batch);
  Env *env = core_memory_zero_allocate(1, sizeof *env);
  *batch = *settings;
  batch->options.game = batch->game;
  batch->world = core_memory_zero_allocate((size_t)options->worlds, sizeof *batch->world);
  const int length = settings->has_pixels ? env_pixels_length(&pixels) : PROCGEN_PIXELS;

  *env = (Env){
    .name = "procgen", .worlds = options->worlds, .observation_length = length, .whole_length = length,
    .pixels = settings->has_pixels ? &pixels : NULL,
    .level_count = 1, .max_steps = LIMIT, .head = {.factors = 1, .logits = PROCGEN_ACTIONS, .size = {PROCGEN_ACTIONS}},
    .solves = true, .world_bytes = sizeof(Record), .reset = reset, .step = step, .state_bytes = state_bytes,
    .save = save, .load = load, .bytes = bytes, .clone = clone_env, .destroy = destroy, .parts = &parts,
    .state = batch,
  };

  for (int w = 0; w < options->worlds; w++) {
    const int code = create_world(batch, options, w);
    if (code == CORE_OK) continue;
    destroy(env);
    return code;
  }
  *created = env;
  return CORE_OK;
}

static int clone_env(const Env *env, const EnvBatch *options, Env **created) {
  TRY(env_check_on_host(env, options));
  return create(get_batch(env), options, created);
}

/* ---- evaluation sets --------------------------------------------------------------------------------------------- */

/* Returns the list of sets that eval.levels selects. The default is all levels, as in the paper, or none if training
 * already uses all levels. */
static const char *evaluation_sets(const Env *env, const CoreConfig *config) {
  if (strcmp(config->eval.levels, "none") == 0) return "";
  if (*config->eval.levels) return config->eval.levels;
  return get_batch(env)->options.num_levels > 0 ? "all" : "";
}

/* Parses item `set` of a list joined by '+': "all" or FIRST-LAST. CORE_USAGE: invalid item. */
static int parse_set(const char *list, int set, ProcgenOptions *options, char name[ENV_SET_NAME]) {
  int first, last, parsed = 0;
  for (; set > 0; set--) list = strchr(list, '+') + 1;
  const size_t length = strcspn(list, "+");
  snprintf(name, ENV_SET_NAME, "%.*s", (int)(length < ENV_SET_NAME ? length : ENV_SET_NAME - 1), list);
  options->num_levels = options->start_level = 0;
  if (strcmp(name, "all") == 0) return CORE_OK;
  if (sscanf(name, "%9d-%9d%n", &first, &last, &parsed) != 2 || (size_t)parsed != length || first < 0 || last < first)
    return core_error(CORE_USAGE, "%s is not a set of Procgen levels; expected all or a range such as 1000-1499, "
                                  "joined by '+'",
                      name);
  options->start_level = first;
  options->num_levels = last - first + 1;
  return CORE_OK;
}

static int count_sets(const Env *env, const CoreConfig *config, int *count) {
  const char *list = evaluation_sets(env, config);
  ProcgenOptions options;
  char name[ENV_SET_NAME];
  *count = 0;
  for (const char *item = list; item && *item; item = strchr(item, '+') ? strchr(item, '+') + 1 : NULL) {
    if (*count == SETS_MAX) return core_error(CORE_USAGE, "too many evaluation sets; the maximum is %d", SETS_MAX);
    TRY(parse_set(list, (*count)++, &options, name));
  }
  return CORE_OK;
}

static int create_set(const Env *env, const CoreConfig *config, int set, const EnvBatch *batch, Env **created,
                      char name[ENV_SET_NAME]) {
  ProcgenEnv other = *get_batch(env);
  TRY(env_check_on_host(env, batch));
  TRY(parse_set(evaluation_sets(env, config), set, &other.options, name));
  return create(&other, batch, created);
}

static const EnvSets sets = {.count = count_sets, .create = create_set};

int procgen_env_create(const CoreConfig *config, const EnvBatch *batch, Env **env) {
  ProcgenEnv settings = {.options = {.num_levels = (int)config->procgen.num_levels,
                                     .start_level = (int)config->procgen.start_level},
                         .has_pixels = env_wants_pixels(config)};
  core_text_copy(settings.game, sizeof settings.game, config->env.task + strlen(PROCGEN_PREFIX), "env.task");
  TRY(procgen_mode(config->procgen.mode, &settings.options.distribution_mode));
  const int code = create(&settings, batch, env);
  if (code == CORE_OK) (*env)->sets = &sets;
  return code == CORE_OK ? CORE_OK : core_error_context(code, "env.task");
}
