/* Many worlds of a game (procgen_env.h). A world's episodes follow each other without an end; a reset puts it back to
 * the state that it began in. */
#include "trainer/envs/procgen/procgen_env.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/random.h"
#include "core/text.h"
#include "trainer/envs/procgen/procgen_game.h"

enum { LIMIT = 8192, VERSION = 1, SETS_MAX = 8 }; /* steps: games end episodes by themselves, most after 1000 */

typedef struct World {
  ProcgenGame *game;
  int32_t steps;          /* of the episode that runs */
  int32_t begun_bytes;
  uint8_t *begun;         /* the state that it began in */
} World;

typedef struct ProcgenEnv {
  char game[CORE_CONFIG_TEXT];
  ProcgenOptions options; /* but for rand_seed */
  bool shows_pixels;
  World *world;
} ProcgenEnv;

/* A world in a saved state. */
typedef struct Record {
  int32_t version, steps, bytes;
  uint8_t state[PROCGEN_STATE_MAX];
} Record;

static ProcgenEnv *batch_of(const Env *env) { return env->state; }

static const EnvPixels pixels = {PROCGEN_SIDE, PROCGEN_SIDE, 3, 1, true};

/* Bytes as they are, or as numbers between 0 and 1. */
static void show(const Env *env, int w, float *observations) {
  const ProcgenView view = procgen_view(batch_of(env)->world[w].game, 0);
  if (env->pixels) {
    memcpy(observations + (size_t)w * (size_t)env->observation_length, view.pixels, PROCGEN_PIXELS);
    return;
  }
  float *to = observations + (size_t)w * PROCGEN_PIXELS;
  for (int i = 0; i < PROCGEN_PIXELS; i++) to[i] = (float)view.pixels[i] * (1.0f / 255);
}

static void reset(Env *env, float *observations) {
#pragma omp parallel for schedule(dynamic) if (env->worlds > 1)
  for (int w = 0; w < env->worlds; w++) {
    World *world = &batch_of(env)->world[w];
    procgen_load(world->game, 0, world->begun, world->begun_bytes);
    procgen_look(world->game);
    world->steps = 0;
    show(env, w, observations);
  }
}

static void step_world(Env *env, int w, int32_t action, const EnvStep *out) {
  World *world = &batch_of(env)->world[w];
  procgen_step(world->game, &action);
  const ProcgenView view = procgen_view(world->game, 0);
  out->rewards[w] = view.reward;
  out->dones[w] = view.first;
  out->solved[w] = view.first && view.complete;
  out->episode_steps[w] = ++world->steps;
  if (out->levels) out->levels[w] = 0;
  if (view.first) world->steps = 0;
  show(env, w, out->observations);
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
    const World *world = &batch_of(env)->world[w];
    memset(&record[w], 0, sizeof record[w]);
    record[w].version = VERSION;
    record[w].steps = world->steps;
    record[w].bytes = procgen_save(world->game, 0, record[w].state);
  }
}

static int load(Env *env, const void *state, size_t bytes) {
  const Record *record = state;
  if (bytes != state_bytes(env)) return core_error(CORE_USAGE, "the saved worlds are of another environment");
  for (int w = 0; w < env->worlds; w++)
    if (record[w].version != VERSION || record[w].bytes < 1 || record[w].bytes > PROCGEN_STATE_MAX)
      return core_error(CORE_USAGE, "saved world %d is none of Procgen's", w);
  for (int w = 0; w < env->worlds; w++) {
    procgen_load(batch_of(env)->world[w].game, 0, record[w].state, record[w].bytes);
    procgen_look(batch_of(env)->world[w].game);
    batch_of(env)->world[w].steps = record[w].steps;
  }
  return CORE_OK;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

/* Pictures of all games are held once; a world is small. */
static size_t bytes(const Env *env) { return (size_t)env->worlds * 100000 + 300000000; }

static void destroy(Env *env) {
  ProcgenEnv *batch = batch_of(env);
  for (int w = 0; w < env->worlds; w++) {
    procgen_destroy(batch->world[w].game);
    free(batch->world[w].begun);
  }
  free(batch->world);
  free(batch);
  free(env);
}

static int begin_world(ProcgenEnv *batch, const EnvBatch *wanted, int w) {
  World *world = &batch->world[w];
  CoreRandomStream stream =
    core_random_stream(wanted->seed, CORE_RANDOM_RESET, wanted->first_world + (uint32_t)w, 0);
  ProcgenOptions options = batch->options;
  options.rand_seed = (int)(core_random_next(&stream) >> 1);
  TRY(procgen_create(&options, 1, &world->game));
  uint8_t *state = core_memory_allocate(PROCGEN_STATE_MAX);
  world->begun_bytes = procgen_save(world->game, 0, state);
  world->begun = core_memory_resize(state, (size_t)world->begun_bytes);
  return CORE_OK;
}

static int sibling(const Env *env, const EnvBatch *wanted, Env **made);

static int make(const ProcgenEnv *like, const EnvBatch *wanted, Env **made) {
  ProcgenEnv *batch = core_memory_zero_allocate(1, sizeof *batch);
  Env *env = core_memory_zero_allocate(1, sizeof *env);
  *batch = *like;
  batch->options.game = batch->game;
  batch->world = core_memory_zero_allocate((size_t)wanted->worlds, sizeof *batch->world);
  const int length = like->shows_pixels ? env_pixels_length(&pixels) : PROCGEN_PIXELS;
  *env = (Env){
    .name = "procgen", .worlds = wanted->worlds, .observation_length = length, .whole_length = length,
    .pixels = like->shows_pixels ? &pixels : NULL,
    .level_count = 1, .max_steps = LIMIT, .head = {.factors = 1, .logits = PROCGEN_ACTIONS, .size = {PROCGEN_ACTIONS}},
    .solves = true, .world_bytes = sizeof(Record), .reset = reset, .step = step, .state_bytes = state_bytes,
    .save = save, .load = load, .bytes = bytes, .sibling = sibling, .destroy = destroy, .parts = &parts,
    .state = batch,
  };
  for (int w = 0; w < wanted->worlds; w++) {
    const int code = begin_world(batch, wanted, w);
    if (code == CORE_OK) continue;
    destroy(env);
    return code;
  }
  *made = env;
  return CORE_OK;
}

static int sibling(const Env *env, const EnvBatch *wanted, Env **made) {
  TRY(env_check_on_host(env, wanted));
  return make(batch_of(env), wanted, made);
}

/* ---- levels for evaluations -------------------------------------------------------------------------------------- */

/* What eval.levels means: nothing where all levels are trained on, else all of them, as the paper tests. */
static const char *sets_of(const Env *env, const CoreConfig *config) {
  if (strcmp(config->eval.levels, "none") == 0) return "";
  if (*config->eval.levels) return config->eval.levels;
  return batch_of(env)->options.num_levels > 0 ? "all" : "";
}

/* The set'th part of a list joined by '+': "all" or FIRST-LAST. CORE_USAGE: it is neither. */
static int parse_set(const char *list, int set, ProcgenOptions *options, char name[ENV_SET_NAME]) {
  int first, last, read = 0;
  for (; set > 0; set--) list = strchr(list, '+') + 1;
  const size_t length = strcspn(list, "+");
  snprintf(name, ENV_SET_NAME, "%.*s", (int)(length < ENV_SET_NAME ? length : ENV_SET_NAME - 1), list);
  options->num_levels = options->start_level = 0;
  if (strcmp(name, "all") == 0) return CORE_OK;
  if (sscanf(name, "%9d-%9d%n", &first, &last, &read) != 2 || (size_t)read != length || first < 0 || last < first)
    return core_error(CORE_USAGE, "%s names no levels of Procgen; all and 1000-1499 are such names, joined by '+'",
                      name);
  options->start_level = first;
  options->num_levels = last - first + 1;
  return CORE_OK;
}

static int count_sets(const Env *env, const CoreConfig *config, int *count) {
  const char *list = sets_of(env, config);
  ProcgenOptions options;
  char name[ENV_SET_NAME];
  *count = 0;
  for (const char *at = list; at && *at; at = strchr(at, '+') ? strchr(at, '+') + 1 : NULL) {
    if (*count == SETS_MAX) return core_error(CORE_USAGE, "at most %d sets can be evaluated on", SETS_MAX);
    TRY(parse_set(list, (*count)++, &options, name));
  }
  return CORE_OK;
}

static int create_set(const Env *env, const CoreConfig *config, int set, const EnvBatch *batch, Env **made,
                      char name[ENV_SET_NAME]) {
  ProcgenEnv other = *batch_of(env);
  TRY(env_check_on_host(env, batch));
  TRY(parse_set(sets_of(env, config), set, &other.options, name));
  return make(&other, batch, made);
}

static const EnvSets sets = {.count = count_sets, .create = create_set};

int procgen_env_create(const CoreConfig *config, const EnvBatch *batch, Env **env) {
  ProcgenEnv settings = {.options = {.num_levels = (int)config->procgen.num_levels,
                                     .start_level = (int)config->procgen.start_level},
                         .shows_pixels = env_wants_pixels(config)};
  core_text_copy(settings.game, sizeof settings.game, config->env.task + strlen(PROCGEN_PREFIX), "env.task");
  TRY(procgen_mode(config->procgen.mode, &settings.options.distribution_mode));
  const int code = make(&settings, batch, env);
  if (code == CORE_OK) (*env)->sets = &sets;
  return code == CORE_OK ? CORE_OK : core_error_context(code, "env.task");
}
