/* The simulator's levels as EnvLevels and EnvGenerator. */
#include "core/memory.h"
#include "sim/device/batch_device.h"
#include "sim/levels/generate.h"
#include "sim/levels/level_set.h"
#include "trainer/envs/sim_internal.h"

/* ---- sets -------------------------------------------------------------------------------------------------------- */

static void reset_to(Env *env, const int32_t *level, float *observations) {
  sim_batch_reset_to(env_sim_state(env)->batch, level, observations);
}

static int create_set(const Env *env, const CoreConfig *config, int set, const EnvBatch *batch, Env **created,
                      char name[ENV_SET_NAME]) {
  SimLevelSet levels;
  SimBatchOptions options = env_sim_batch_options(env, batch);
  TRY(env_sim_evaluation_set(config, set, env_sim_state(env)->levels.size, &levels, name));
  options.reset = SIM_RESET_SAME;
  return env_sim_create_batch(&options, &levels, created);
}

const EnvLevels env_sim_levels_table = {.reset_to = reset_to, .create_set = create_set};

/* ---- generator --------------------------------------------------------------------------------------------------- */

/* Copies the first `count` generated levels into the batch's set. Generated levels are always valid. */
static void store_levels(SimEnv *sim, int slot, int count) {
  SimLevelSet set = {sim->generated, count, sim->options.new_size};
  CORE_CHECK(sim_level_set_expand(&set, sim->levels.size) == CORE_OK);
  CORE_CHECK(sim_batch_replace_some(sim->batch, slot, &set) == CORE_OK);
}

static void generate_levels(Env *env, uint64_t key, int64_t first, int count, int slot, uint32_t *numbers) {
  SimEnv *sim = env_sim_state(env);
  if (sim->options.backend.device) {
    sim_level_device_draw(sim->batch, key, first, count, slot, numbers);
    return;
  }
  for (int begin = 0; begin < count; begin += ENV_SIM_GENERATED_MAX) {
    int n = count - begin < ENV_SIM_GENERATED_MAX ? count - begin : ENV_SIM_GENERATED_MAX;
    sim_level_stream_draw(sim->stream, key, first + begin, n, sim->generated, numbers + begin);
    store_levels(sim, slot + begin, n);
  }
}

static void regenerate_levels(Env *env, uint64_t key, const uint32_t *numbers, int count, int slot) {
  SimEnv *sim = env_sim_state(env);
  if (sim->options.backend.device) {
    sim_level_device_restore(sim->batch, key, numbers, count, slot);
    return;
  }
  for (int begin = 0; begin < count; begin += ENV_SIM_GENERATED_MAX) {
    int n = count - begin < ENV_SIM_GENERATED_MAX ? count - begin : ENV_SIM_GENERATED_MAX;
#pragma omp parallel for schedule(dynamic, 16)
    for (int i = 0; i < n; i++)
      CORE_CHECK(sim_generate_level(sim->options.new_size, key, numbers[begin + i], &sim->generated[i]) == CORE_OK);
    store_levels(sim, slot + begin, n);
  }
}

/* On a device, slots are empty until levels are generated, and the set's first level determines the observation's
 * layout. On the host they are initialized with copies of the set's levels, which are never played. */
static int create_slots(const Env *env, const EnvBatch *batch, int slots, Env **created) {
  const SimEnv *sim = env_sim_state(env);
  const bool on_host = batch->device == NULL;
  const int initial = on_host ? slots : 1;
  SimBatchOptions options = env_sim_batch_options(env, batch);
  SimLevelStream *stream = NULL;
  SimLevelSet levels = {.count = initial, .size = sim->levels.size};
  options.reset = SIM_RESET_SAME;
  options.drawn_slots = on_host ? 0 : slots;
  if (on_host) TRY(sim_level_stream_create(options.new_size, &stream));

  levels.level = core_memory_allocate((size_t)initial * sizeof *levels.level);
  for (int i = 0; i < initial; i++) levels.level[i] = sim->levels.level[i % sim->levels.count];
  int code = env_sim_create_batch(&options, &levels, created);
  if (code != CORE_OK) {
    sim_level_stream_destroy(&stream);
    return code;
  }

  SimEnv *created_sim = env_sim_state(*created);
  (*created)->level_count = slots;
  created_sim->stream = stream;
  if (stream) created_sim->generated = core_memory_zero_allocate(ENV_SIM_GENERATED_MAX, sizeof *created_sim->generated);
  created_sim->levels.level = core_memory_resize(created_sim->levels.level, sizeof *created_sim->levels.level);
  created_sim->levels.count = 1;
  return CORE_OK;
}

const EnvGenerator env_sim_generator_table = {
  .create_slots = create_slots, .generate = generate_levels, .regenerate = regenerate_levels};
