/* Running normalisation on a device: the same rules, statistics in its memory (normalise_device.h). */
#include "trainer/wrappers/normalise_device.h"

#include "core/device/arena.h"
#include "core/error.h"
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_normalise.h"
#include "trainer/ranks/communicator.h"

enum { THREADS = 256, BLOCKS_MAX = 1 << 20 };

static void launch(CoreDevice *device, const CoreKernel *kernel, size_t elements, const void *arguments) {
  device->launch(device, kernel, core_device_blocks(elements, THREADS, BLOCKS_MAX), THREADS, 0, arguments);
}

/* Nothing with one rank, which reads its own. */
static void gather(Communicator *communicator, const double *own, size_t n, double *all) {
  if (communicator) communicator->gather(communicator, own, n * sizeof *own, all);
}

/* As many for the run as there are KERNEL_NORMALISE_PARTS, or a few more. */
static size_t parts_of_shard(const Shards *shards) {
  const size_t all = (size_t)shards->all_shards;
  return (KERNEL_NORMALISE_PARTS + all - 1) / all;
}

void normalise_device_register(Normaliser *normaliser, CoreArena *arena) {
  const size_t features = (size_t)normaliser->features;
  const size_t parts = parts_of_shard(&normaliser->shards), own = parts * (size_t)normaliser->shards.shards;
  const size_t all = parts * (size_t)normaliser->shards.all_shards;
  CORE_ARENA_DEVICE(arena, normaliser->sums, own * features, "sums of observations [parts][features]");
  if (all > own)
    CORE_ARENA_DEVICE(arena, normaliser->all_sums, all * features,
                      "sums of observations of all ranks [parts][features]");
  CORE_ARENA_DEVICE(arena, normaliser->shift, features, "shifts of means [features]");
}

void normalise_device_add(const Normaliser *normaliser, const float *x, int rows) {
  CoreDevice *device = normaliser->device;
  const size_t features = (size_t)normaliser->features;
  const Shards *shards = &normaliser->shards;
  const size_t parts = parts_of_shard(shards), own = parts * (size_t)shards->shards;
  const OpsMergeMoments arguments = {.x = x,
                                     .shard_rows = (size_t)shards_worlds(shards),
                                     .features = features,
                                     .parts = parts,
                                     .own_parts = own,
                                     .all_parts = parts * (size_t)shards->all_shards,
                                     .all_rows = (size_t)shards->all_worlds,
                                     .moments = normaliser->next,
                                     .sums = normaliser->sums,
                                     .all_sums = normaliser->communicator ? normaliser->all_sums : normaliser->sums,
                                     .shift = normaliser->shift};
  CORE_CHECK(rows == shards->worlds);
  launch(device, &ops_shift_parts_launch, own * features, &arguments);
  gather(normaliser->communicator, normaliser->sums, own * features, normaliser->all_sums);
  launch(device, &ops_shift_launch, features, &arguments);
  launch(device, &ops_square_parts_launch, own * features, &arguments);
  gather(normaliser->communicator, normaliser->sums, own * features, normaliser->all_sums);
  launch(device, &ops_merge_moments_launch, features, &arguments);
}

void normalise_device_factors(const Normaliser *normaliser) {
  const OpsFactors arguments = {normaliser->moments, (size_t)normaliser->features, normaliser->rule,
                                normaliser->factor};
  launch(normaliser->device, &ops_factors_launch, arguments.features, &arguments);
}

void normalise_device_apply(const Normaliser *normaliser, const float *x, int rows, float *y, int y_stride) {
  const OpsNormalise arguments = {x, (size_t)rows, core_divisor((size_t)normaliser->features), (size_t)y_stride,
                                  normaliser->moments + 1, normaliser->factor, normalise_bound(normaliser->rule), y};
  launch(normaliser->device, &ops_normalise_launch, arguments.rows * arguments.features.number, &arguments);
}

void reward_device_step(const RewardScale *scale, float *rewards, const uint8_t *dones, const uint8_t *goes_on) {
  const OpsRewardStep arguments = {
      .rewards = rewards, .dones = dones, .goes_on = goes_on, .returns = scale->returns, .moments = scale->moments,
    .all_returns = scale->communicator ? scale->all : scale->returns, .worlds = (size_t)scale->worlds,
    .all_worlds = (size_t)scale->all_worlds, .gamma = scale->gamma, .scales = scale->rule == REWARD_CLEANRL};
  launch(scale->device, &ops_reward_returns_launch, arguments.worlds, &arguments);
  gather(scale->communicator, scale->returns, arguments.worlds, scale->all);
  scale->device->launch(scale->device, &ops_reward_moments_launch, 1, KERNEL_REWARD_THREADS,
                        KERNEL_REWARD_THREADS * sizeof(double), &arguments);
  launch(scale->device, &ops_reward_step_launch, arguments.worlds, &arguments);
}

void reward_device_finish(const RewardScale *scale, float *rewards, size_t n) {
  launch(scale->device, &ops_reward_scale_launch, n, &(OpsRewardScale){rewards, n, scale->moments});
}
