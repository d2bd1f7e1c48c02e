/* Running normalization on a device: the same rules, statistics in its memory (normalize_device.h). */
#include "trainer/wrappers/normalize_device.h"

#include "core/device/arena.h"
#include "core/error.h"
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_normalize.h"
#include "trainer/ranks/communicator.h"

enum { THREADS = 256, BLOCKS_MAX = 1 << 20 };

static void launch(CoreDevice *device, const CoreKernel *kernel, size_t elements, const void *arguments) {
  device->launch(device, kernel, core_device_blocks(elements, THREADS, BLOCKS_MAX), THREADS, 0, arguments);
}

/* Gathers from all ranks. Does nothing with one rank, which reads its own. */
static void gather(Communicator *communicator, const double *sent, size_t n, double *gathered) {
  if (communicator) communicator->gather(communicator, sent, n * sizeof *sent, gathered);
}

/* Returns the parts per shard: KERNEL_NORMALIZE_PARTS or slightly more for the run. */
static size_t parts_of_shard(const Shards *shards) {
  const size_t total = (size_t)shards->global_shards;
  return (KERNEL_NORMALIZE_PARTS + total - 1) / total;
}

void normalize_device_register(Normalizer *normalizer, CoreArena *arena) {
  const size_t features = (size_t)normalizer->features;
  const size_t parts = parts_of_shard(&normalizer->shards), own = parts * (size_t)normalizer->shards.shards;
  const size_t total = parts * (size_t)normalizer->shards.global_shards;
  CORE_ARENA_DEVICE(arena, normalizer->sums, own * features, "sums of observations [parts][features]");
  if (total > own)
    CORE_ARENA_DEVICE(arena, normalizer->global_sums, total * features,
                      "sums of observations of all ranks [parts][features]");
  CORE_ARENA_DEVICE(arena, normalizer->shift, features, "shifts of means [features]");
}

void normalize_device_add(const Normalizer *normalizer, const float *x, int rows) {
  CoreDevice *device = normalizer->device;
  const size_t features = (size_t)normalizer->features;
  const Shards *shards = &normalizer->shards;
  const size_t parts = parts_of_shard(shards), own = parts * (size_t)shards->shards;
  const OpsMergeMoments arguments = {.x = x,
                                     .shard_rows = (size_t)shards_worlds(shards),
                                     .features = features,
                                     .parts = parts,
                                     .own_parts = own,
                                     .all_parts = parts * (size_t)shards->global_shards,
                                     .global_rows = (size_t)shards->global_worlds,
                                     .moments = normalizer->next,
                                     .sums = normalizer->sums,
                                     .global_sums = normalizer->communicator ? normalizer->global_sums :
                                       normalizer->sums,
                                     .shift = normalizer->shift};

  CORE_CHECK(rows == shards->worlds);
  launch(device, &ops_shift_parts_launch, own * features, &arguments);
  gather(normalizer->communicator, normalizer->sums, own * features, normalizer->global_sums);
  launch(device, &ops_shift_launch, features, &arguments);
  launch(device, &ops_square_parts_launch, own * features, &arguments);
  gather(normalizer->communicator, normalizer->sums, own * features, normalizer->global_sums);
  launch(device, &ops_merge_moments_launch, features, &arguments);
}

void normalize_device_factors(const Normalizer *normalizer) {
  const OpsFactors arguments = {normalizer->moments, (size_t)normalizer->features, normalizer->rule,
                                normalizer->factor};
  launch(normalizer->device, &ops_factors_launch, arguments.features, &arguments);
}

void normalize_device_apply(const Normalizer *normalizer, const float *x, int rows, float *y, int y_stride) {
  const OpsNormalize arguments = {x, (size_t)rows, core_divisor((size_t)normalizer->features), (size_t)y_stride,
                                  normalizer->moments + 1, normalizer->factor, normalize_bound(normalizer->rule), y};
  launch(normalizer->device, &ops_normalize_launch, arguments.rows * arguments.features.number, &arguments);
}

void reward_device_step(const RewardScale *scale, float *rewards, const uint8_t *dones, const uint8_t *goes_on) {
  const OpsRewardStep arguments = {
      .rewards = rewards, .dones = dones, .goes_on = goes_on, .returns = scale->returns, .moments = scale->moments,
    .all_returns = scale->communicator ? scale->all : scale->returns, .worlds = (size_t)scale->worlds,
    .global_worlds = (size_t)scale->global_worlds, .gamma = scale->gamma, .scales = scale->rule == REWARD_CLEANRL};
  launch(scale->device, &ops_reward_returns_launch, arguments.worlds, &arguments);
  gather(scale->communicator, scale->returns, arguments.worlds, scale->all);
  scale->device->launch(scale->device, &ops_reward_moments_launch, 1, KERNEL_REWARD_THREADS,
                        KERNEL_REWARD_THREADS * sizeof(double), &arguments);
  launch(scale->device, &ops_reward_step_launch, arguments.worlds, &arguments);
}

void reward_device_finish(const RewardScale *scale, float *rewards, size_t n) {
  launch(scale->device, &ops_reward_scale_launch, n, &(OpsRewardScale){rewards, n, scale->moments});
}
