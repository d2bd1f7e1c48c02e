/* Splitting observations into changing and constant features, and joining them (compact.h). */
#include "trainer/rollout/compact.h"

#include <stdlib.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_compact.h"

enum { THREADS = 256, BLOCKS_MAX = 1 << 20 };

static int refuse(const char *key, const char *value, const char *instead) {
  return core_error(CORE_USAGE,
                    "train.observation_storage = state: %s = %s; set %s, or train.observation_storage to float32 "
                    "or float16",
                    key, value, instead);
}

static CompactLevels levels_of(const CoreConfig *config) {
  if (core_config_has_curriculum(config)) return COMPACT_OF_ROLLOUT;
  return strncmp(config->env.reset, "new", 3) == 0 ? COMPACT_OF_EPISODE : COMPACT_STAY;
}

static int count_flags(const Env *env, const uint8_t *changes) {
  int count = 0;
  for (int i = 0; i < env->observation_length; i++) count += changes[i] == SIM_FEATURE_TOUCHES;
  return count;
}

/* Fills changes[observation_length] (SimFeatureChange) and returns the number of features that vary. */
static int find_changing(const Env *env, CompactLevels levels, uint8_t *changes) {
  const int count = env->compact->variable_features(env, levels != COMPACT_STAY, changes);
  return count - count_flags(env, changes);
}

int compact_check(const CoreConfig *config, const Env *env) {
  const size_t length = (size_t)env->observation_length;
  if (strcmp(config->env.normalize_observations, "none") != 0)
    return refuse("env.normalize_observations", config->env.normalize_observations,
                  "env.normalize_observations to none");
  if (strcmp(config->algo.name, "sapg") == 0) return refuse("algo.name", config->algo.name, "another algo.name");
  if (strcmp(config->env.observations, "padded") == 0)
    return refuse("env.observations", config->env.observations, "env.observations to flat or entity");
  if (env->compact == NULL)
    return env_unsupported(env, "train.observation_storage", "state", "constants of levels",
                     "train.observation_storage to float32 or float16");
  uint8_t *changes = core_memory_zero_allocate(length, sizeof *changes);
  const int count = find_changing(env, levels_of(config), changes);
  free(changes);
  return count > 0 ? CORE_OK : refuse("env.task", config->env.task, "levels on which something moves");
}

static size_t slots_of(CompactLevels levels, const Env *env, int steps, int worlds) {
  const size_t n = (size_t)worlds, episodes = ((size_t)steps + COMPACT_STEPS_A_SLOT - 1) / COMPACT_STEPS_A_SLOT;
  size_t slots = (size_t)env->level_count;
  if (levels != COMPACT_STAY) slots = levels == COMPACT_OF_ROLLOUT ? n : n * (1 + episodes);
  return slots < INT32_MAX ? slots : INT32_MAX;
}

void compact_register(Compact *compact, const CoreConfig *config, const Env *env, int steps, int worlds,
                      CoreArena *arena) {
  const size_t blocks = ((size_t)steps + 1) * (size_t)worlds, length = (size_t)env->observation_length;
  const CompactLevels levels = levels_of(config);

  uint8_t *changes = core_memory_zero_allocate(length, sizeof *changes);
  *compact = (Compact){.device = core_arena_device(arena), .levels = levels, .worlds = worlds,
                       .features = env->observation_length, .slots = slots_of(levels, env, steps, worlds)};
  compact->changing = find_changing(env, levels, changes);
  compact->flags = count_flags(env, changes);
  compact->words = (compact->flags + COMPACT_BITS - 1) / COMPACT_BITS;
  free(changes);

  const size_t changing = (size_t)compact->changing, constants = length - changing;
  CORE_ARENA_DEVICE(arena, compact->column, changing + (size_t)compact->flags, "changing columns [changing]");
  CORE_ARENA_DEVICE(arena, compact->fixed, constants, "constant columns [constants]");
  CORE_ARENA_DEVICE(arena, compact->position, length, "positions of columns [features]");
  CORE_ARENA_DEVICE(arena, compact->flag, length, "flags of columns [features]");
  CORE_ARENA_DEVICE(arena, compact->table, compact->slots * constants,
                    levels == COMPACT_STAY ? "constants of levels [levels][constants]"
                                           : "rollout constants of episodes [slots][constants]");

  CORE_ARENA_DEVICE(arena, compact->values, blocks * changing,
                    "rollout observations, what changes [steps + 1][worlds][changing]");
  if (compact->words > 0)
    CORE_ARENA_DEVICE(arena, compact->bits, blocks * (size_t)compact->words,
                      "rollout observations, touching shapes [steps + 1][worlds][words]");
  if (levels == COMPACT_OF_EPISODE || (levels == COMPACT_STAY && compact->slots > COMPACT_SHORT_SLOTS))
    CORE_ARENA_DEVICE(arena, compact->level, blocks, "rollout levels [steps + 1][worlds]");
  else if (levels == COMPACT_STAY)
    CORE_ARENA_DEVICE(arena, compact->short_level, blocks, "rollout levels [steps + 1][worlds]");

  if (levels == COMPACT_STAY) return;
  CORE_ARENA_DEVICE(arena, compact->present, (size_t)worlds, "present slots of constants [worlds]");
  CORE_ARENA_DEVICE(arena, compact->used_slots, 1, "slots of constants taken");
}

static OpsCompactCopy copy_of(const Compact *compact, const SimConstants *from) {
  return (OpsCompactCopy){from->rows, from->length, from->features, compact->fixed,
                          (size_t)(compact->features - compact->changing), compact->table};
}

static void launch(const Compact *compact, const CoreKernel *kernel, size_t n, const void *arguments) {
  compact->device->launch(compact->device, kernel, core_device_blocks(n, THREADS, BLOCKS_MAX), THREADS, 0, arguments);
}

/* Fills the table once, for levels that stay for the whole run. */
static void copy_levels(const Compact *compact, const Env *env) {
  const SimConstants from = env->compact->constants(env);
  const OpsCompactLevels levels = {copy_of(compact, &from), compact->slots};
  if (compact->device) {
    launch(compact, &ops_compact_levels_launch, levels.levels, &levels);
    return;
  }
  for (size_t i = 0; i < levels.levels; i++) ops_compact_copy_row(&levels.copy, i, i);
}

/* Fills once the tables of where each feature is stored. */
static void fill_tables(Compact *compact, const Env *env) {
  const size_t length = (size_t)compact->features, changing = (size_t)compact->changing;
  const size_t flags = (size_t)compact->flags;
  uint8_t *changes = core_memory_zero_allocate(length, sizeof *changes);
  int32_t *column = core_memory_zero_allocate(length + flags, sizeof *column); /* varying, flags, then constants */
  int32_t *position = core_memory_zero_allocate(2 * length, sizeof *position), *flag = position + length;

  CORE_CHECK(find_changing(env, compact->levels, changes) == compact->changing);
  for (int i = 0, k = 0, c = 0, f = 0; i < compact->features; i++) {
    const bool varies = changes[i] == SIM_FEATURE_VARIES, touches = changes[i] == SIM_FEATURE_TOUCHES;
    position[i] = varies ? k : -1 - c;
    flag[i] = touches ? f : -1;
    if (touches) column[changing + (size_t)f++] = i;
    column[varies ? (size_t)k++ : changing + flags + (size_t)c++] = i;
  }

  core_device_to_device(compact->device, compact->column, column, (changing + flags) * sizeof *column);
  core_device_to_device(compact->device, compact->fixed, column + changing + flags,
                        (length - changing) * sizeof *column);
  core_device_to_device(compact->device, compact->position, position, length * sizeof *position);
  core_device_to_device(compact->device, compact->flag, flag, length * sizeof *flag);

  free(changes);
  free(column);
  free(position);
  if (compact->levels == COMPACT_STAY) copy_levels(compact, env);
  compact->ready = true;
}

/* Assigns slots for their level's constants to worlds whose episode has just begun. */
static void begin_episodes(const Compact *compact, const SimConstants *from, int first, int count,
                           const uint8_t *done) {
  const OpsCompactBegin begin = {
    copy_of(compact, from), from->level,    from->stride,  from->number,  done,
    compact->present,       compact->used_slots, (size_t)first, (size_t)count, (size_t)compact->worlds,
    compact->slots};
  if (compact->device) {
    launch(compact, &ops_compact_begin_launch, begin.count, &begin);
    return;
  }
  for (size_t i = 0; i < begin.count; i++)
    ops_compact_place(&begin, begin.first + i); /* serially, since each takes the next slot */
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < begin.count; i++) ops_compact_copy(&begin, begin.first + i);
}

void compact_store(Compact *compact, const Env *env, int t, int first, int count, const float *observations,
                   const uint8_t *done) {
  if (!compact->ready) fill_tables(compact, env);
  const size_t features = (size_t)compact->features, changing = (size_t)compact->changing, at = (size_t)first;
  const size_t words = (size_t)compact->words;
  const size_t row = (size_t)t * (size_t)compact->worlds + at;
  const SimConstants from = env->compact->constants(env);

  compact->env = env;
  if (compact->levels == COMPACT_OF_EPISODE || (compact->levels == COMPACT_OF_ROLLOUT && done == NULL))
    begin_episodes(compact, &from, first, count, done);

  OpsCompactStore store = {.observations = observations + at * features, .level = from.level, .stride = from.stride,
                           .column = compact->column, .rows = (size_t)count, .features = features,
                           .each = core_divisor(changing + words), .changing = changing,
                           .flags = (size_t)compact->flags, .values = compact->values + row * changing,
                           .bits = compact->bits ? compact->bits + row * words : NULL,
                           .levels = compact->level ? compact->level + row : NULL,
                           .short_levels = compact->short_level ? compact->short_level + row : NULL};
  if (compact->present) {
    store.level = compact->present;
    store.stride = sizeof *compact->present;
  }
  store.level = (const int32_t *)(const void *)((const char *)store.level + at * store.stride);

  if (compact->device) {
    launch(compact, &ops_compact_store_launch, store.rows * (changing + words), &store);
    return;
  }
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < store.rows * (changing + words); i++) ops_compact_keep(&store, i);
}

void compact_gather(const Compact *compact, const uint32_t *index, int rows, float *observations) {
  const size_t numbers = (size_t)rows * (size_t)compact->features;
  const OpsCompactGather gather = {
    .values = compact->values, .bits = compact->bits, .levels = compact->level, .short_levels = compact->short_level,
    .worlds = core_divisor((size_t)compact->worlds), .table = compact->table,
    .position = compact->position, .flag = compact->flag, .index = index, .rows = (size_t)rows,
    .features = core_divisor((size_t)compact->features), .changing = (size_t)compact->changing,
    .words = (size_t)compact->words, .observations = observations};

  if (compact->levels == COMPACT_OF_EPISODE)
    compact->env->compact->regenerate_constants(compact->env, index, compact->level, (size_t)rows,
                                                (size_t)compact->worlds, observations);

  if (compact->device) {
    launch(compact, &ops_compact_gather_launch, numbers, &gather);
    return;
  }
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < numbers; i++) ops_compact_restore(&gather, i);
}
