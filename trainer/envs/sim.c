/* The simulator (sim/batch/batch.h) as an environment: steps, saved states, compact observations, devices and
 * rendering. An adapter without logic of its own. sim_levels.c has its levels, sim_config.c interprets settings. */
#include "trainer/envs/sim.h"

#include "core/memory.h"
#include "sim/device/batch_device.h"
#include "sim/draw/draw_image.h"
#include "sim/levels/level_set.h"
#include "sim/task/observe.h"
#include "trainer/envs/sim_internal.h"

static const double STEP_S = 1.0 / 30;

static SimBatch *get_batch(const Env *env) { return env_sim_state(env)->batch; }

/* ---- the core ---------------------------------------------------------------------------------------------------- */

static void reset(Env *env, float *observations) { sim_batch_reset(get_batch(env), observations); }

static SimStepOut make_step_out(const EnvStep *out) {
  return (SimStepOut){.observations = out->observations,
                      .reward = out->rewards,
                      .done = out->dones,
                      .solved = out->solved,
                      .level = out->levels,
                      .episode_steps = out->episode_steps};
}

static void step(Env *env, const void *actions, const EnvStep *out) {
  const SimStepOut sim_out = make_step_out(out);
  sim_batch_step(get_batch(env), actions, &sim_out);
  if (out->levels == NULL || env_sim_state(env)->options.backend.device) return;
  for (int w = 0; w < env->worlds; w++)
    if (out->levels[w] < 0) out->levels[w] = 0;
}

static size_t state_bytes(const Env *env) { return sim_batch_state_bytes(get_batch(env)); }
static void save(const Env *env, void *state) { sim_batch_save(get_batch(env), state); }
static int load(Env *env, const void *state, size_t bytes) { return sim_batch_load(get_batch(env), state, bytes); }

static size_t bytes(const Env *env) {
  const SimEnv *sim = env_sim_state(env);
  const size_t stream =
    sim->stream ? sim_level_stream_bytes(sim->stream) + ENV_SIM_GENERATED_MAX * sizeof *sim->generated : 0;
  return sim_batch_bytes(sim->batch) + (size_t)sim->levels.count * sizeof *sim->levels.level + stream;
}

static void destroy(Env *env) {
  SimEnv *sim = env_sim_state(env);
  sim_batch_destroy(&sim->batch);
  sim_level_set_free(&sim->levels);
  sim_level_stream_destroy(&sim->stream);
  free(sim->generated);
  free(sim);
  free(env);
}

SimBatchOptions env_sim_batch_options(const Env *env, const EnvBatch *batch) {
  SimBatchOptions options = env_sim_state(env)->options;
  options.worlds = batch->worlds;
  options.first_world = batch->first_world;
  options.seed = batch->seed;
  options.backend = sim_device_backend(batch->device);
  return options;
}

static int clone_env(const Env *env, const EnvBatch *batch, Env **created) {
  const SimEnv *sim = env_sim_state(env);
  const SimBatchOptions options = env_sim_batch_options(env, batch);
  SimLevelSet levels = sim->levels;
  const size_t size = (size_t)levels.count * sizeof *levels.level;
  levels.level = core_memory_allocate(size);
  memcpy(levels.level, sim->levels.level, size);
  return env_sim_create_batch(&options, &levels, created);
}

/* ---- compact observations ---------------------------------------------------------------------------------------- */

static int variable_features(const Env *env, bool generated, uint8_t *changes) {
  return sim_batch_changing_features(get_batch(env), generated, changes);
}

static SimConstants constants(const Env *env) { return sim_batch_constants(get_batch(env)); }

static void regenerate_constants(const Env *env, const uint32_t *index, const int32_t *level, size_t rows,
                                 size_t worlds, float *observations) {
  sim_batch_regenerate_constants(get_batch(env), index, level, rows, worlds, observations);
}

static const EnvCompact compact = {
    .variable_features = variable_features, .constants = constants, .regenerate_constants = regenerate_constants};

/* ---- devices, parts, physics, rendering -------------------------------------------------------------------------- */

static size_t scratch_bytes(const Env *env, CoreDevice *device, int64_t worlds) {
  const SimBatch *batch = get_batch(env);
  return sim_device_contact_bytes(batch, device, (size_t)worlds) + sim_level_device_drawn_bytes(batch, (size_t)worlds);
}

static size_t filter_bytes(const Env *env, CoreDevice *device) {
  return sim_level_device_slot_bytes(env_sim_state(env)->options.new_size, device);
}

static size_t stack_bytes(const Env *env, CoreDevice *device) {
  (void)env;
  return sim_level_device_stack_bytes(device);
}

static const EnvDevice device = {
  .scratch_bytes = scratch_bytes, .filter_bytes = filter_bytes, .stack_bytes = stack_bytes};

static void step_part(Env *env, int first, int count, const void *actions, const EnvStep *out) {
  const SimStepOut sim_out = make_step_out(out);
  sim_batch_step_part(get_batch(env), first, count, actions, &sim_out);
}

static void synchronize(Env *env) { sim_batch_synchronize(get_batch(env)); }

static const EnvParts parts = {.step = step_part, .synchronize = synchronize};

static int64_t nonfinite(const Env *env) { return sim_batch_nonfinite(get_batch(env)); }

static const EnvPhysics physics = {.nonfinite = nonfinite};

/* Renders a square image; width == height. A sheet has a margin, which is part of the image. */
static int draw(Env *env, int world, int width, int height, uint8_t *rgb) {
  SimLevel level;
  SimDrawCell cell = {.label = ""};
  SimDrawSheet sheet = {1, 1, width, false, 1, &cell};
  const SimEnv *sim = env_sim_state(env);
  if (sim->options.backend.device && sim->options.drawn_slots > 0)
    return core_error(CORE_USAGE, "levels that were generated on a GPU cannot be rendered");
  sheet.pixels -= sim_draw_sheet_width(&sheet) - width;
  CORE_CHECK(sim_draw_sheet_width(&sheet) == width && sim_draw_sheet_height(&sheet) == height);
  sim_batch_get_world(sim->batch, world, &level);
  sim_draw_world(&level, NULL, &cell.drawing);
  return sim_draw_rgb(&sheet, rgb);
}

static double step_seconds(const Env *env) {
  (void)env;
  return STEP_S;
}

static const EnvPicture picture = {.draw = draw, .step_seconds = step_seconds};

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static void describe_actions(SimActionSpace space, Env *env) {
  if (space == SIM_CONTINUOUS) {
    env->action_values = SIM_ACTIONS;
    env->action_low = -1;
    env->action_high = 1;
    return;
  }
  env->head.factors = space == SIM_DISCRETE ? 1 : SIM_ACTIONS;
  for (int i = 0; i < env->head.factors; i++) { /* motor: off, forward, backward; thruster: off, on */
    const int classes = i < SIM_MOTOR_BINDINGS ? 3 : 2;
    env->head.size[i] = space == SIM_DISCRETE ? SIM_DISCRETE_CLASSES : classes;
    env->head.logits += env->head.size[i];
  }
}

static void describe_observations(const SimBatchOptions *options, SimEnv *sim, Env *env) {
  env->observation_length = sim_batch_observation_length(sim->batch);
  env->features = sim_batch_observation_features(sim->batch, &env->whole_length);
  if (options->observation == SIM_OBSERVATION_ENTITY) {
    sim->entities = sim_entity_layout(sim->levels.size);
    env->entities = &sim->entities;
  }
  if (options->observation == SIM_OBSERVATION_FLAT) {
    sim->options.features = env->features;
    sim->options.feature_count = env->observation_length;
  }
  if (options->observation != SIM_OBSERVATION_PADDED) env->compact = &compact;
}

int env_sim_create_batch(const SimBatchOptions *options, SimLevelSet *levels, Env **env) {
  SimBatch *batch = NULL;
  int code = sim_batch_create(options, levels, &batch);
  if (code != CORE_OK) {
    sim_level_set_free(levels);
    return code;
  }

  SimEnv *sim = core_memory_zero_allocate(1, sizeof *sim);
  *sim = (SimEnv){.batch = batch, .options = *options, .levels = *levels};
  Env *created = core_memory_zero_allocate(1, sizeof *created);
  *created = (Env){
    .name = "kinetix", .worlds = options->worlds, .level_count = levels->count, .max_steps = options->max_steps,
    .world_bytes = sim_batch_world_bytes(batch), .solves = true,
    .reset = reset, .step = step, .state_bytes = state_bytes, .save = save, .load = load, .bytes = bytes,
    .clone = clone_env, .destroy = destroy,
    .levels = &env_sim_levels_table, .generator = &env_sim_generator_table, .device = &device, .physics = &physics,
    .picture = &picture,
    .parts = options->backend.device ? &parts : NULL, .state = sim,
  };

  describe_observations(options, sim, created);
  describe_actions(options->actions, created);
  *env = created;
  return CORE_OK;
}
