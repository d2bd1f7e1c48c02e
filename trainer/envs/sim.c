/* The simulator (sim/batch/batch.h) as an environment: Kinetix levels, action spaces and observations.
 * It translates names only; physics, rewards and randomness are the simulator's. */
#include "trainer/envs/sim.h"

#include "core/device/device.h"
#include "core/memory.h"
#include "sim/batch/filter.h"
#include "sim/batch/level_stream.h"
#include "sim/device/batch_device.h"
#include "sim/device/level_device.h"
#include "sim/levels/generate.h"
#include "sim/levels/level_set.h"
#include "sim/task/observe.h"
#include "trainer/envs/levels.h"

enum { DRAWN_AT_ONCE = 64 * SIM_STREAM_GROUP };

typedef struct SimEnv {
  SimBatch *batch;
  SimBatchOptions options; /* siblings differ in worlds and seed only; its features are the batch's */
  SimLevelSet levels;      /* kept for siblings */
  SimEntityLayout entities; /* of entity observations */
  SimLevelStream *stream;  /* NULL: a batch whose levels stay, or are drawn on a device */
  SimLevel *drawn;         /* [DRAWN_AT_ONCE] on their way from the stream to the batch */
} SimEnv;

static SimEnv *sim_of(const Env *env) { return env->state; }

static void sim_env_reset(Env *env, float *observations) { sim_batch_reset(sim_of(env)->batch, observations); }

static void sim_env_reset_to(Env *env, const int32_t *level, float *observations) {
  sim_batch_reset_to(sim_of(env)->batch, level, observations);
}

static SimStepOut step_out(const EnvStep *out) {
  return (SimStepOut){.observations = out->observations,
                      .reward = out->rewards,
                      .done = out->dones,
                      .solved = out->solved,
                      .level = out->levels,
                      .episode_steps = out->episode_steps};
}

static void sim_env_step_part(Env *env, int first, int count, const void *actions, const EnvStep *out) {
  const SimStepOut step = step_out(out);
  sim_batch_step_part(sim_of(env)->batch, first, count, actions, &step);
}

static void sim_env_rest(Env *env) { sim_batch_synchronise(sim_of(env)->batch); }

static void sim_env_step(Env *env, const void *actions, const EnvStep *out) {
  const SimStepOut step = step_out(out);
  sim_batch_step(sim_of(env)->batch, actions, &step);
  for (int w = 0; out->levels && !sim_of(env)->options.backend.device && w < env->worlds; w++)
    if (out->levels[w] < 0) out->levels[w] = 0;
}

static size_t sim_env_state_bytes(const Env *env) { return sim_batch_state_bytes(sim_of(env)->batch); }
static void sim_env_save(const Env *env, void *state) { sim_batch_save(sim_of(env)->batch, state); }
static int sim_env_load(Env *env, const void *state, size_t bytes) {
  return sim_batch_load(sim_of(env)->batch, state, bytes);
}

static size_t sim_env_beside_bytes(const Env *env, const CoreDevice *device, int64_t worlds) {
  return sim_device_contact_bytes(sim_of(env)->batch, device, (size_t)worlds);
}

static size_t sim_env_bytes(const Env *env) {
  const SimEnv *sim = sim_of(env);
  size_t drawing = sim->stream ? sim_level_stream_bytes(sim->stream) + DRAWN_AT_ONCE * sizeof *sim->drawn : 0;
  return sim_batch_bytes(sim->batch) + (size_t)sim->levels.count * sizeof *sim->levels.level + drawing;
}

static size_t sim_env_filter_bytes(const Env *env, const CoreDevice *device) {
  return sim_level_device_slot_bytes(sim_of(env)->options.new_size, device);
}

static int64_t sim_env_nonfinite(const Env *env) { return sim_batch_nonfinite(sim_of(env)->batch); }

static void sim_env_destroy(Env *env) {
  SimEnv *sim = sim_of(env);
  sim_batch_destroy(&sim->batch);
  sim_level_set_free(&sim->levels);
  sim_level_stream_destroy(&sim->stream);
  free(sim->drawn);
  free(sim);
  free(env);
}

static int sim_env_changing(const Env *env, bool drawn, uint8_t *changes) {
  return sim_batch_changing_features(sim_of(env)->batch, drawn, changes);
}
static EnvConstants sim_env_constants(const Env *env) {
  const SimConstants c = sim_batch_constants(sim_of(env)->batch);
  return (EnvConstants){c.rows, c.length, c.features, c.level, c.stride, c.number};
}
static void sim_env_show_again(const Env *env, const uint32_t *index, const int32_t *level, size_t rows, size_t worlds,
                               float *observations) {
  sim_batch_show_again(sim_of(env)->batch, index, level, rows, worlds, observations);
}

static int sim_env_sibling(const Env *env, int worlds, uint32_t first_world, uint64_t seed, Env **sibling);
static int sim_env_with_places(const Env *env, int worlds, int places, uint64_t seed, Env **made);

/* Puts the first `count` of the levels drawn into the set. They are the generator's, so nothing is wrong with them. */
static void put_drawn(SimEnv *sim, int place, int count) {
  SimLevelSet set = {sim->drawn, count, sim->options.new_size};
  CORE_CHECK(sim_level_set_expand(&set, sim->levels.size) == CORE_OK);
  CORE_CHECK(sim_batch_replace_some(sim->batch, place, &set) == CORE_OK);
}

static void sim_env_draw_levels(Env *env, uint64_t key, int64_t first, int count, int place, uint32_t *numbers) {
  SimEnv *sim = sim_of(env);
  if (sim->options.backend.device) {
    sim_level_device_draw(sim->batch, key, first, count, place, numbers);
    return;
  }
  for (int begin = 0; begin < count; begin += DRAWN_AT_ONCE) {
    int piece = count - begin < DRAWN_AT_ONCE ? count - begin : DRAWN_AT_ONCE;
    sim_level_stream_draw(sim->stream, key, first + begin, piece, sim->drawn, numbers + begin);
    put_drawn(sim, place + begin, piece);
  }
}

static void sim_env_recall_levels(Env *env, uint64_t key, const uint32_t *numbers, int count, int place) {
  SimEnv *sim = sim_of(env);
  if (sim->options.backend.device) {
    sim_level_device_recall(sim->batch, key, numbers, count, place);
    return;
  }
  for (int begin = 0; begin < count; begin += DRAWN_AT_ONCE) {
    int piece = count - begin < DRAWN_AT_ONCE ? count - begin : DRAWN_AT_ONCE;
#pragma omp parallel for schedule(dynamic, 16)
    for (int i = 0; i < piece; i++)
      CORE_CHECK(sim_generate_level(sim->options.new_size, key, numbers[begin + i], &sim->drawn[i]) == CORE_OK);
    put_drawn(sim, place + begin, piece);
  }
}

static void describe_actions(SimActionSpace space, Env *env) {
  if (space == SIM_CONTINUOUS) {
    env->action_values = SIM_ACTIONS;
    return;
  }
  env->head.factors = space == SIM_DISCRETE ? 1 : SIM_ACTIONS;
  for (int i = 0; i < env->head.factors; i++) { /* a motor stands, turns or turns back; a thruster is off or on */
    env->head.size[i] = space == SIM_DISCRETE ? SIM_DISCRETE_CLASSES : i < SIM_MOTOR_BINDINGS ? 3 : 2;
    env->head.logits += env->head.size[i];
  }
}

/* Takes the levels, also when it fails. */
static int sim_env_make(const SimBatchOptions *options, SimLevelSet *levels, Env **env) {
  SimBatch *batch = NULL;
  int code = sim_batch_create(options, levels, &batch);
  if (code != CORE_OK) {
    sim_level_set_free(levels);
    return code;
  }
  SimEnv *sim = core_memory_zero_allocate(1, sizeof *sim);
  *sim = (SimEnv){.batch = batch, .options = *options, .levels = *levels};
  Env *made = core_memory_zero_allocate(1, sizeof *made);
  *made = (Env){
    .name = "kinetix",
    .worlds = options->worlds,
    .observation_length = sim_batch_observation_length(batch),
    .levels = levels->count,
    .max_steps = options->max_steps,
    .world_bytes = sim_batch_world_bytes(batch),
    .reset = sim_env_reset, .reset_to = sim_env_reset_to, .step = sim_env_step,
    .state_bytes = sim_env_state_bytes, .save = sim_env_save, .load = sim_env_load,
    .bytes = sim_env_bytes, .beside_bytes = sim_env_beside_bytes, .filter_bytes = sim_env_filter_bytes,
    .nonfinite = sim_env_nonfinite, .sibling = sim_env_sibling, .destroy = sim_env_destroy,
    .with_places = sim_env_with_places, .draw_levels = sim_env_draw_levels, .recall_levels = sim_env_recall_levels,
    .changing = sim_env_changing, .constants = sim_env_constants, .show_again = sim_env_show_again, .state = sim,
  };
  if (options->backend.device) made->step_part = sim_env_step_part;
  if (options->backend.device) made->rest = sim_env_rest;
  made->features = sim_batch_observation_features(batch, &made->whole_length);
  if (options->observation == SIM_OBSERVATION_ENTITY) {
    sim->entities = sim_entity_layout(levels->size);
    made->entities = &sim->entities;
  }
  if (options->observation == SIM_OBSERVATION_FLAT) {
    sim->options.features = made->features;
    sim->options.feature_count = made->observation_length;
  }
  describe_actions(options->actions, made);
  *env = made;
  return CORE_OK;
}

static int sim_env_sibling(const Env *env, int worlds, uint32_t first_world, uint64_t seed, Env **sibling) {
  const SimEnv *sim = sim_of(env);
  SimBatchOptions options = sim->options;
  options.worlds = worlds;
  options.backend = sim_device_backend(env->device);
  options.first_world = first_world;
  options.seed = seed;
  SimLevelSet levels = sim->levels;
  size_t bytes = (size_t)levels.count * sizeof *levels.level;
  levels.level = core_memory_allocate(bytes);
  memcpy(levels.level, sim->levels.level, bytes);
  return sim_env_make(&options, &levels, sibling);
}

/* On a device places hold nothing until levels are drawn, and the set's first level says what observations show. On the
 * host they are made with the set's levels, over and over: nobody plays them. Siblings could only have those. */
static int sim_env_with_places(const Env *env, int worlds, int places, uint64_t seed, Env **made) {
  const SimEnv *sim = sim_of(env);
  const int held = env->device ? 1 : places;
  SimBatchOptions options = sim->options;
  SimLevelStream *stream = NULL;
  SimLevelSet levels = {.count = held, .size = sim->levels.size};
  options.worlds = worlds;
  options.seed = seed;
  options.reset = SIM_RESET_SAME;
  options.backend = sim_device_backend(env->device);
  options.drawn_slots = env->device ? places : 0;
  if (!env->device) TRY(sim_level_stream_create(options.new_size, &stream));
  levels.level = core_memory_allocate((size_t)held * sizeof *levels.level);
  for (int i = 0; i < held; i++) levels.level[i] = sim->levels.level[i % sim->levels.count];
  int code = sim_env_make(&options, &levels, made);
  if (code != CORE_OK) {
    sim_level_stream_destroy(&stream);
    return code;
  }
  SimEnv *with = sim_of(*made);
  (*made)->levels = places;
  with->stream = stream;
  if (stream) with->drawn = core_memory_zero_allocate(DRAWN_AT_ONCE, sizeof *with->drawn);
  with->levels.level = core_memory_resize(with->levels.level, sizeof *with->levels.level);
  with->levels.count = 1;
  return CORE_OK;
}

static SimSize own_size(const CoreConfig *config, SimSize size) {
  static const struct { const char *name; const SimSize *size; } sizes[] = {
    {"s", &SIM_SIZE_S}, {"m", &SIM_SIZE_M}, {"l", &SIM_SIZE_L}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (strcmp(config->env.size, sizes[i].name) == 0) return *sizes[i].size;
  return size;
}

static int read_levels(const CoreConfig *config, SimLevelSet *levels) {
  const char *task = config->env.task;
  int64_t count = config->env.level_count;
  if (strcmp(task, "loco512") == 0)
    return sim_morphology_set(config->env.morphologies, config->env.difficulty, (int)count, levels);
  if (strcmp(task, "random_s") == 0) return sim_generate_set(SIM_SIZE_S, (int)count, levels);
  if (strcmp(task, "random_m") == 0) return sim_generate_set(SIM_SIZE_M, (int)count, levels);
  if (strcmp(task, "random_l") == 0) return sim_generate_set(SIM_SIZE_L, (int)count, levels);
  const int code = sim_level_set_read(config->env.levels, config->env.level_folder, levels);
  if (code != CORE_OK) return core_error_context(code, "env.levels");
  if (levels->count > count) levels->count = (int)count;
  return CORE_OK;
}

int env_sim_levels(const CoreConfig *config, SimLevelSet *levels, SimSize *drawn) {
  TRY(read_levels(config, levels));
  if (drawn) *drawn = levels->size;
  int code = sim_level_set_expand(levels, own_size(config, levels->size));
  if (code != CORE_OK) {
    sim_level_set_free(levels);
    return core_error_context(code, "env.size = %s", config->env.size);
  }
  return CORE_OK;
}

/* The place of a setting's value among its choices. */
static int choice(const char *value, const char *const *choices) {
  int i = 0;
  for (; choices[i]; i++)
    if (strcmp(value, choices[i]) == 0) return i;
  CORE_CHECK(!"a choice of core/config/config.def that the simulator does not know");
  return i;
}

SimBatchOptions env_sim_options(const CoreConfig *config) {
  static const char *const spaces[] = {"multi_discrete", "discrete", "continuous", NULL};
  static const char *const observations[] = {"flat", "padded", "entity", NULL};
  static const char *const resets[] = {"level_set", "same", "new", "new_filtered", NULL};
  SimBatchOptions options = sim_batch_options_default();
  options.frame_skip = (int)config->env.frame_skip;
  options.max_steps = (int)config->env.max_steps;
  options.dense_reward = (float)config->env.dense_reward;
  options.pad_writes_zero = config->env.pad_writes_zero;
  options.actions = (SimActionSpace)choice(config->env.actions, spaces);
  options.observation = (SimObservationKind)choice(config->env.observations, observations);
  options.reset = (SimReset)choice(config->env.reset, resets);
  return options;
}

/* Only random levels can be drawn without end. */
static int check_reset(const CoreConfig *config) {
  if (strncmp(config->env.reset, "new", 3) != 0 || strncmp(config->env.task, "random_", 7) == 0) return CORE_OK;
  return core_error(CORE_USAGE, "env.reset = %s needs a random level generator, which env.task = %s has none of; use "
                    "random_s, random_m or random_l, or env.reset = level_set", config->env.reset, config->env.task);
}

/* One of eval.levels' sets, with as many slots as the levels trained on. */
static int read_evaluation_set(const CoreConfig *config, int set, SimSize size, SimLevelSet *levels,
                               char name[ENV_SET_NAME]) {
  int code = levels_read_part(config->eval.levels, set, config->env.level_folder, levels, name);
  if (code == CORE_OK && sim_level_set_expand(levels, size) != CORE_OK)
    code = core_error_context(CORE_USAGE, "larger than the levels trained on, which env.size can expand");
  if (code == CORE_OK) return CORE_OK;
  sim_level_set_free(levels);
  return core_error_context(code, "eval.levels");
}

/* Features that are always 0 are left out, but all batches that one policy plays in show it the same. */
static int choose_features(const CoreConfig *config, const SimLevelSet *trained, SimBatchOptions *options,
                           int32_t *features) {
  uint8_t used[SIM_OBSERVE_MAX] = {0};
  char name[ENV_SET_NAME];
  int sets;
  TRY(env_evaluation_sets(config, &sets));
  const bool any = options->reset >= SIM_RESET_NEW || core_config_has_curriculum(config); /* levels nobody knows yet */
  memset(used, any, (size_t)sim_observe_length(trained->size));
  sim_batch_mark_features(trained, used);
  for (int i = 0; i < sets; i++) {
    SimLevelSet levels;
    TRY(read_evaluation_set(config, i, trained->size, &levels, name));
    sim_batch_mark_features(&levels, used);
    sim_level_set_free(&levels);
  }
  for (int k = 0; k < SIM_OBSERVE_MAX; k++)
    if (used[k]) features[options->feature_count++] = k;
  options->features = features;
  return CORE_OK;
}

int env_sim_create(const CoreConfig *config, int worlds, uint64_t seed, Env **env) {
  SimLevelSet levels = {0};
  int32_t features[SIM_OBSERVE_MAX];
  TRY(check_reset(config));
  SimBatchOptions options = env_sim_options(config);
  TRY(env_sim_levels(config, &levels, &options.new_size));
  options.worlds = worlds;
  options.seed = seed;
  const bool flat = options.observation == SIM_OBSERVATION_FLAT; /* places in the others have a meaning */
  int code = flat ? choose_features(config, &levels, &options, features) : CORE_OK;
  if (code != CORE_OK) {
    sim_level_set_free(&levels);
    return code;
  }
  return sim_env_make(&options, &levels, env);
}

int env_sim_create_evaluation(const CoreConfig *config, const Env *trained, int set, int worlds, uint64_t seed,
                              Env **env, char name[ENV_SET_NAME]) {
  const SimEnv *sim = sim_of(trained);
  SimLevelSet levels;
  SimBatchOptions options = sim->options;
  TRY(read_evaluation_set(config, set, sim->levels.size, &levels, name));
  options.worlds = worlds;
  options.seed = seed;
  options.reset = SIM_RESET_SAME;
  return sim_env_make(&options, &levels, env);
}
