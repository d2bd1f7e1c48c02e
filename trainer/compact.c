/* Keeping what changes, and putting the rest in again (compact.h). */
#include "trainer/compact.h"

#include <stdlib.h>

#include "trainer/ops/kernels.h"
#include "trainer/ops/kernels_compact.h"

enum { THREADS = 256, BLOCKS_MAX = 1 << 20 };

static int refuse(const char *key, const char *value, const char *instead) {
  return core_error(CORE_USAGE, "train.observation_storage = state: %s = %s; set %s, or train.observation_storage to float32 "
                    "or float16", key, value, instead);
}

int compact_check(const CoreConfig *config, const Env *env) {
  const size_t length = (size_t)env->observation_length;
  if (strcmp(config->env.normalize_observations, "none") != 0)
    return refuse("env.normalize_observations", config->env.normalize_observations, "env.normalize_observations to none");
  if (strcmp(config->algo.name, "sapg") == 0) return refuse("algo.name", config->algo.name, "another algo.name");
  if (strcmp(config->env.observations, "flat") != 0)
    return refuse("env.observations", config->env.observations, "env.observations to flat");
  if (strncmp(config->env.reset, "new", 3) == 0)
    return refuse("env.reset", config->env.reset, "env.reset to level_set or same");
  if (core_config_has_curriculum(config))
    return refuse("env.curriculum", config->env.curriculum, "env.curriculum to none");
  uint8_t *changes = core_memory_zero_allocate(length, sizeof *changes);
  const int count = env->changing ? env->changing(env, changes) : 0;
  free(changes);
  return count > 0 ? CORE_OK : refuse("env.task", config->env.task, "levels on which something moves");
}

void compact_register(Compact *compact, const Env *env, int steps, int worlds, CoreArena *arena) {
  const size_t blocks = ((size_t)steps + 1) * (size_t)worlds, length = (size_t)env->observation_length;
  uint8_t *changes = core_memory_zero_allocate(length, sizeof *changes);
  *compact = (Compact){.device = core_arena_device(arena), .worlds = worlds, .features = env->observation_length,
                       .changing = env->changing(env, changes), .levels = env->levels};
  free(changes);
  CORE_ARENA_DEVICE(arena, compact->column, (size_t)compact->changing, "changing columns [changing]");
  CORE_ARENA_DEVICE(arena, compact->place, length, "places of columns [features]");
  CORE_ARENA_DEVICE(arena, compact->constants, (size_t)env->levels * length, "constants of levels [levels][features]");
  CORE_ARENA_DEVICE(arena, compact->values, blocks * (size_t)compact->changing,
                    "rollout observations, what changes [steps + 1][worlds][changing]");
  CORE_ARENA_DEVICE(arena, compact->level, blocks, "rollout levels [steps + 1][worlds]");
}

/* Once: the levels stay as long as the run. */
static void fill_tables(Compact *compact, const Env *env) {
  const size_t length = (size_t)compact->features, constants = (size_t)compact->levels * length;
  uint8_t *changes = core_memory_zero_allocate(length, sizeof *changes);
  int32_t *column = core_memory_zero_allocate((size_t)compact->changing, sizeof *column);
  int32_t *place = core_memory_zero_allocate(length, sizeof *place);
  float *rows = core_memory_allocate(constants * sizeof *rows);
  CORE_CHECK(env->changing(env, changes) == compact->changing && env->levels == compact->levels);
  for (int i = 0, k = 0; i < compact->features; i++) {
    place[i] = changes[i] ? k : -1;
    if (changes[i]) column[k++] = i;
  }
  env->constants(env, rows);
  core_device_to_device(compact->device, compact->column, column, (size_t)compact->changing * sizeof *column);
  core_device_to_device(compact->device, compact->place, place, length * sizeof *place);
  core_device_to_device(compact->device, compact->constants, rows, constants * sizeof *rows);
  free(changes), free(column), free(place), free(rows);
  compact->ready = true;
}

void compact_store(Compact *compact, const Env *env, int t, const float *observations) {
  if (!compact->ready) fill_tables(compact, env);
  const size_t rows = (size_t)compact->worlds, first = (size_t)t * rows, changing = (size_t)compact->changing;
  OpsCompactStore store = {.observations = observations, .column = compact->column, .rows = rows,
                           .features = (size_t)compact->features, .changing = changing,
                           .values = compact->values + first * changing, .level = compact->level + first};
  store.level_number = env->level_numbers(env, &store.stride);
  if (compact->device) {
    compact->device->launch(compact->device, &ops_compact_store_launch,
                            core_device_blocks(rows * changing, THREADS, BLOCKS_MAX), THREADS, 0, &store);
    return;
  }
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < rows * changing; i++) ops_compact_keep(&store, i);
}

void compact_gather(const Compact *compact, const uint32_t *index, int rows, float *observations) {
  const size_t numbers = (size_t)rows * (size_t)compact->features;
  const OpsCompactGather gather = {compact->values, compact->level, compact->constants, compact->place, index, (size_t)rows,
                                   (size_t)compact->features, (size_t)compact->changing, observations};
  if (compact->device) {
    compact->device->launch(compact->device, &ops_compact_gather_launch,
                            core_device_blocks(numbers, THREADS, BLOCKS_MAX), THREADS, 0, &gather);
    return;
  }
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < numbers; i++) ops_compact_restore(&gather, i);
}
