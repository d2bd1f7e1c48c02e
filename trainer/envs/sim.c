/* The simulator (sim/batch/batch.h) as an environment: steps, saved states, observations and devices. It translates
 * names only; physics, rewards and randomness are the simulator's. sim_levels.c has its levels, sim_config.c says what
 * settings mean for it. */
#include "trainer/envs/sim.h"

#include "core/memory.h"
#include "sim/device/batch_device.h"
#include "sim/device/level_device.h"
#include "sim/levels/level_set.h"
#include "sim/task/observe.h"
#include "trainer/envs/sim_internal.h"

static SimBatch *batch_of(const Env *env) { return env_sim_of(env)->batch; }

/* ---- the core ---------------------------------------------------------------------------------------------------- */

static void reset(Env *env, float *observations) { sim_batch_reset(batch_of(env), observations); }

static SimStepOut step_out(const EnvStep *out) {
  return (SimStepOut){.observations = out->observations,
                      .reward = out->rewards,
                      .done = out->dones,
                      .solved = out->solved,
                      .level = out->levels,
                      .episode_steps = out->episode_steps};
}

static void step(Env *env, const void *actions, const EnvStep *out) {
  const SimStepOut given = step_out(out);
  sim_batch_step(batch_of(env), actions, &given);
  for (int w = 0; out->levels && !env_sim_of(env)->options.backend.device && w < env->worlds; w++)
    if (out->levels[w] < 0) out->levels[w] = 0;
}

static size_t state_bytes(const Env *env) { return sim_batch_state_bytes(batch_of(env)); }
static void save(const Env *env, void *state) { sim_batch_save(batch_of(env), state); }
static int load(Env *env, const void *state, size_t bytes) { return sim_batch_load(batch_of(env), state, bytes); }

static size_t bytes(const Env *env) {
  const SimEnv *sim = env_sim_of(env);
  const size_t drawing = sim->stream ? sim_level_stream_bytes(sim->stream) + ENV_SIM_DRAWN * sizeof *sim->drawn : 0;
  return sim_batch_bytes(sim->batch) + (size_t)sim->levels.count * sizeof *sim->levels.level + drawing;
}

static void destroy(Env *env) {
  SimEnv *sim = env_sim_of(env);
  sim_batch_destroy(&sim->batch);
  sim_level_set_free(&sim->levels);
  sim_level_stream_destroy(&sim->stream);
  free(sim->drawn);
  free(sim);
  free(env);
}

SimBatchOptions env_sim_batch_options(const Env *env, const EnvBatch *batch) {
  SimBatchOptions options = env_sim_of(env)->options;
  options.worlds = batch->worlds;
  options.first_world = batch->first_world;
  options.seed = batch->seed;
  options.backend = sim_device_backend(batch->device);
  return options;
}

static int sibling(const Env *env, const EnvBatch *batch, Env **made) {
  const SimEnv *sim = env_sim_of(env);
  const SimBatchOptions options = env_sim_batch_options(env, batch);
  SimLevelSet levels = sim->levels;
  const size_t size = (size_t)levels.count * sizeof *levels.level;
  levels.level = core_memory_allocate(size);
  memcpy(levels.level, sim->levels.level, size);
  return env_sim_make(&options, &levels, made);
}

/* ---- observations that are kept ---------------------------------------------------------------------------------- */

static int changing(const Env *env, bool drawn, uint8_t *changes) {
  return sim_batch_changing_features(batch_of(env), drawn, changes);
}

static EnvConstants constants(const Env *env) {
  const SimConstants c = sim_batch_constants(batch_of(env));
  return (EnvConstants){c.rows, c.length, c.features, c.level, c.stride, c.number};
}

static void show_again(const Env *env, const uint32_t *index, const int32_t *level, size_t rows, size_t worlds,
                       float *observations) {
  sim_batch_show_again(batch_of(env), index, level, rows, worlds, observations);
}

static const EnvCompact compact = {.changing = changing, .constants = constants, .show_again = show_again};

/* ---- devices, parts, physics ------------------------------------------------------------------------------------- */

static size_t scratch_bytes(const Env *env, const CoreDevice *device, int64_t worlds) {
  return sim_device_contact_bytes(batch_of(env), device, (size_t)worlds);
}

static size_t filter_bytes(const Env *env, const CoreDevice *device) {
  return sim_level_device_slot_bytes(env_sim_of(env)->options.new_size, device);
}

static size_t stack_bytes(const Env *env, CoreDevice *device) {
  (void)env;
  return sim_level_device_stack_bytes(device);
}

static const EnvDevice device = {
  .scratch_bytes = scratch_bytes, .filter_bytes = filter_bytes, .stack_bytes = stack_bytes};

static void step_part(Env *env, int first, int count, const void *actions, const EnvStep *out) {
  const SimStepOut given = step_out(out);
  sim_batch_step_part(batch_of(env), first, count, actions, &given);
}

static void synchronize(Env *env) { sim_batch_synchronize(batch_of(env)); }

static const EnvParts parts = {.step = step_part, .synchronize = synchronize};

static int64_t nonfinite(const Env *env) { return sim_batch_nonfinite(batch_of(env)); }

static const EnvPhysics physics = {.nonfinite = nonfinite};

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static void describe_actions(SimActionSpace space, Env *env) {
  if (space == SIM_CONTINUOUS) {
    env->action_values = SIM_ACTIONS;
    env->action_low = -1;
    env->action_high = 1;
    return;
  }
  env->head.factors = space == SIM_DISCRETE ? 1 : SIM_ACTIONS;
  for (int i = 0; i < env->head.factors; i++) { /* a motor stands, turns or turns back; a thruster is off or on */
    env->head.size[i] = space == SIM_DISCRETE ? SIM_DISCRETE_CLASSES : i < SIM_MOTOR_BINDINGS ? 3 : 2;
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
    env->compact = &compact;
  }
}

int env_sim_make(const SimBatchOptions *options, SimLevelSet *levels, Env **env) {
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
    .name = "kinetix", .worlds = options->worlds, .level_count = levels->count, .max_steps = options->max_steps,
    .world_bytes = sim_batch_world_bytes(batch), .solves = true,
    .reset = reset, .step = step, .state_bytes = state_bytes, .save = save, .load = load, .bytes = bytes,
    .sibling = sibling, .destroy = destroy,
    .levels = &env_sim_levels_table, .generator = &env_sim_generator_table, .device = &device, .physics = &physics,
    .picture = &env_sim_picture_table,
    .parts = options->backend.device ? &parts : NULL, .state = sim,
  };
  describe_observations(options, sim, made);
  describe_actions(options->actions, made);
  *env = made;
  return CORE_OK;
}
