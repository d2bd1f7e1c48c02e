/* The simulator's levels as an environment's: sets of them, and the generator that curricula draw from. */
#include "core/memory.h"
#include "sim/device/level_device.h"
#include "sim/levels/generate.h"
#include "sim/levels/level_set.h"
#include "trainer/envs/sim_internal.h"

/* ---- sets -------------------------------------------------------------------------------------------------------- */

static void reset_to(Env *env, const int32_t *level, float *observations) {
  sim_batch_reset_to(env_sim_of(env)->batch, level, observations);
}

static int create_set(const Env *env, const CoreConfig *config, int set, const EnvBatch *batch, Env **made,
                      char name[ENV_SET_NAME]) {
  SimLevelSet levels;
  SimBatchOptions options = env_sim_batch_options(env, batch);
  TRY(env_sim_evaluation_set(config, set, env_sim_of(env)->levels.size, &levels, name));
  options.reset = SIM_RESET_SAME;
  return env_sim_make(&options, &levels, made);
}

const EnvLevels env_sim_levels_table = {.reset_to = reset_to, .create_set = create_set};

/* ---- the generator ----------------------------------------------------------------------------------------------- */

/* Puts the first `count` of the levels drawn into the set. They are the generator's, so nothing is wrong with them. */
static void put_drawn(SimEnv *sim, int slot, int count) {
  SimLevelSet set = {sim->drawn, count, sim->options.new_size};
  CORE_CHECK(sim_level_set_expand(&set, sim->levels.size) == CORE_OK);
  CORE_CHECK(sim_batch_replace_some(sim->batch, slot, &set) == CORE_OK);
}

static void draw(Env *env, uint64_t key, int64_t first, int count, int slot, uint32_t *numbers) {
  SimEnv *sim = env_sim_of(env);
  if (sim->options.backend.device) {
    sim_level_device_draw(sim->batch, key, first, count, slot, numbers);
    return;
  }
  for (int begin = 0; begin < count; begin += ENV_SIM_DRAWN) {
    int piece = count - begin < ENV_SIM_DRAWN ? count - begin : ENV_SIM_DRAWN;
    sim_level_stream_draw(sim->stream, key, first + begin, piece, sim->drawn, numbers + begin);
    put_drawn(sim, slot + begin, piece);
  }
}

static void recall(Env *env, uint64_t key, const uint32_t *numbers, int count, int slot) {
  SimEnv *sim = env_sim_of(env);
  if (sim->options.backend.device) {
    sim_level_device_restore(sim->batch, key, numbers, count, slot);
    return;
  }
  for (int begin = 0; begin < count; begin += ENV_SIM_DRAWN) {
    int piece = count - begin < ENV_SIM_DRAWN ? count - begin : ENV_SIM_DRAWN;
#pragma omp parallel for schedule(dynamic, 16)
    for (int i = 0; i < piece; i++)
      CORE_CHECK(sim_generate_level(sim->options.new_size, key, numbers[begin + i], &sim->drawn[i]) == CORE_OK);
    put_drawn(sim, slot + begin, piece);
  }
}

/* On a device slots hold nothing until levels are drawn, and the set's first level says what observations show. On the
 * host they are made with the set's levels, over and over: nobody plays them. Siblings could only have those. */
static int create_slots(const Env *env, const EnvBatch *batch, int slots, Env **made) {
  const SimEnv *sim = env_sim_of(env);
  const bool on_host = batch->device == NULL;
  const int held = on_host ? slots : 1;
  SimBatchOptions options = env_sim_batch_options(env, batch);
  SimLevelStream *stream = NULL;
  SimLevelSet levels = {.count = held, .size = sim->levels.size};
  options.reset = SIM_RESET_SAME;
  options.drawn_slots = on_host ? 0 : slots;
  if (on_host) TRY(sim_level_stream_create(options.new_size, &stream));
  levels.level = core_memory_allocate((size_t)held * sizeof *levels.level);
  for (int i = 0; i < held; i++) levels.level[i] = sim->levels.level[i % sim->levels.count];
  int code = env_sim_make(&options, &levels, made);
  if (code != CORE_OK) {
    sim_level_stream_destroy(&stream);
    return code;
  }
  SimEnv *with = env_sim_of(*made);
  (*made)->level_count = slots;
  with->stream = stream;
  if (stream) with->drawn = core_memory_zero_allocate(ENV_SIM_DRAWN, sizeof *with->drawn);
  with->levels.level = core_memory_resize(with->levels.level, sizeof *with->levels.level);
  with->levels.count = 1;
  return CORE_OK;
}

const EnvGenerator env_sim_generator_table = {.create_slots = create_slots, .draw = draw, .recall = recall};
