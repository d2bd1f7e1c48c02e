/* Normalization, and the block column (obs_pipeline.h). */
#include "trainer/wrappers/obs_pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_rows.h"
#include "trainer/ops/ops.h"
#include "trainer/ranks/ranks.h"

int obs_blocks(const CoreConfig *config) {
  return strcmp(config->algo.name, "sapg") == 0 ? (int)config->sapg.blocks : 0;
}

int obs_features(const CoreConfig *config, const Env *env) {
  return env->observation_length + (obs_blocks(config) > 0);
}

void obs_register(ObsPipeline *pipeline, const CoreConfig *config, const Env *env, const Shards *shards,
                       CoreArena *arena) {
  const int worlds = shards->worlds, global_worlds = shards->global_worlds;
  const NormalizeRule rule = normalize_rule(config->env.normalize_observations);
  *pipeline = (ObsPipeline){.shown = env->observation_length, .seen = obs_features(config, env), .worlds = worlds,
                         .global_worlds = global_worlds, .first_world = shards->first_world,
                         .device = core_arena_device(arena), .blocks = obs_blocks(config),
                         .warm_up = rule == NORMALIZE_STOIX ? (int)config->env.normalize_warmup : 0};

  if (pipeline->blocks > 0)
    pipeline->first_reported = global_worlds - global_worlds / pipeline->blocks - pipeline->first_world;
  pipeline->is_half = strcmp(config->train.observation_storage, "float16") == 0;
  pipeline->has_moments = rule != NORMALIZE_NONE || pipeline->blocks > 0;
  pipeline->active = pipeline->has_moments || pipeline->is_half;
  if (!pipeline->active) return;
  CORE_ARENA_DEVICE(arena, pipeline->raw, (size_t)worlds * (size_t)pipeline->shown,
                    "raw observations [worlds][features]");

  if (!pipeline->has_moments) return;
  pipeline->is_each = rule == NORMALIZE_CLEANRL_EACH;
  if (pipeline->is_each) normalize_each_register(&pipeline->each, worlds, pipeline->shown, arena);
  else if (global_worlds > worlds && core_arena_device(arena) == NULL)
    CORE_ARENA(arena, pipeline->all, (size_t)global_worlds * (size_t)pipeline->shown, "observations of all ranks");
  normalize_register(&pipeline->normalizer, rule, pipeline->shown, shards, arena);
}

void obs_start(ObsPipeline *pipeline) {
  if (pipeline->has_moments) normalize_start(&pipeline->normalizer);
  if (pipeline->is_each) normalize_each_start(&pipeline->each);
}

static void count(ObsPipeline *pipeline, bool arrived) {
  const NormalizeRule rule = pipeline->normalizer.rule;
  const bool counts = pipeline->has_moments && !pipeline->is_each && rule != NORMALIZE_NONE;
  if (!counts || (rule == NORMALIZE_CLEANRL) != arrived) return;
  const size_t bytes = (size_t)pipeline->worlds * (size_t)pipeline->shown * sizeof *pipeline->raw;
  if (pipeline->all == NULL) {
    normalize_add(&pipeline->normalizer, pipeline->raw, pipeline->worlds);
    return;
  }
  ranks_gather_all(pipeline->raw, bytes, pipeline->all);
  normalize_add(&pipeline->normalizer, pipeline->all, pipeline->global_worlds);
}

void obs_count_arrived(ObsPipeline *pipeline, const ObsLast *last) {
  if (!pipeline->is_each) {
    count(pipeline, true);
    return;
  }
  const NormalizeLast ends = {last ? last->dones : NULL, last ? last->raw : NULL, last ? last->seen : NULL,
                              pipeline->seen};
  normalize_each_add(&pipeline->each, pipeline->raw, last ? &ends : NULL);
}
void obs_count_acted_on(ObsPipeline *pipeline) { count(pipeline, false); }

static void round_to_halves(CoreDevice *device, float *x, size_t n) {
  if (device) kernels_launch(device, &ops_round_halves_launch, n, &(OpsRoundHalves){x, n});
  else ops_round_to_halves(x, n);
}

static void round_rows(const ObsPipeline *pipeline, float *seen, int worlds) {
  if (pipeline->is_half) round_to_halves(pipeline->device, seen, (size_t)worlds * (size_t)pipeline->seen);
}

/* Transforms all columns except the block column, whose values are small integers. */
static void transform(const ObsPipeline *pipeline, const float *raw, int worlds, float *seen) {
  const size_t rows = (size_t)worlds;
  if (pipeline->has_moments) normalize_apply(&pipeline->normalizer, raw, worlds, seen, pipeline->seen);
  else core_device_copy(pipeline->device, seen, raw, rows * (size_t)pipeline->shown * sizeof *seen);
  round_rows(pipeline, seen, worlds);
}

static void mark_blocks(const ObsPipeline *pipeline, float *seen) {
  const OpsMarkWorlds mark = {seen, (size_t)pipeline->worlds, (size_t)pipeline->seen, pipeline->first_world,
                              pipeline->blocks, pipeline->global_worlds};
  if (pipeline->blocks > 0) KERNELS_EACH(pipeline->device, ops_mark_worlds, ops_mark_world, mark.rows, &mark);
}

void obs_transform(const ObsPipeline *pipeline, float *seen) {
  if (pipeline->is_each) {
    normalize_each_apply(&pipeline->each, pipeline->raw, seen, pipeline->seen);
    round_rows(pipeline, seen, pipeline->worlds);
  } else {
    transform(pipeline, pipeline->raw, pipeline->worlds, seen);
  }
  mark_blocks(pipeline, seen);
}

void obs_transform_last(const ObsPipeline *pipeline, const ObsLast *last) {
  if (pipeline->is_each) round_rows(pipeline, last->seen, pipeline->worlds); /* the rest was done on arrival */
  else transform(pipeline, last->raw, pipeline->worlds, last->seen);
  mark_blocks(pipeline, last->seen);
}

void obs_pool_statistics(ObsPipeline *pipeline) {
  Normalizer *normalizer = &pipeline->normalizer;
  if (!pipeline->is_each) return;
  double *pooled = core_memory_allocate(obs_section_bytes(pipeline));
  normalize_each_pool(&pipeline->each, pipeline->global_worlds, pooled);
  core_device_to_device(pipeline->device, normalizer->moments, pooled, obs_section_bytes(pipeline));
  free(pooled);
  normalize_restored(normalizer);
}

void obs_set_leader_block(const ObsPipeline *pipeline, float *seen, int worlds) {
  const OpsMarkRows mark = {seen, (size_t)worlds, (size_t)pipeline->seen, NULL, 0, (float)(pipeline->blocks - 1)};
  KERNELS_EACH(pipeline->device, ops_mark_rows, ops_mark_row, mark.rows, &mark);
}

void obs_transform_eval(const ObsPipeline *pipeline, const float *raw, int worlds, float *seen) {
  transform(pipeline, raw, worlds, seen);
  if (pipeline->blocks > 0) obs_set_leader_block(pipeline, seen, worlds);
}

void obs_advance(ObsPipeline *pipeline) {
  if (pipeline->has_moments) normalize_advance(&pipeline->normalizer);
}
