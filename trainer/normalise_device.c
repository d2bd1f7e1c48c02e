/* Running normalisation on a device: the same rules, statistics in its memory (normalise_device.h). */
#include "trainer/normalise_device.h"

#include "trainer/ops/kernels.h"
#include "trainer/ops/kernels_normalise.h"

enum { THREADS = 256, BLOCKS_MAX = 1 << 20 };

static void launch(CoreDevice *device, const CoreKernel *kernel, size_t elements, const void *arguments) {
  device->launch(device, kernel, core_device_blocks(elements, THREADS, BLOCKS_MAX), THREADS, 0, arguments);
}

void normalise_device_register(Normaliser *normaliser, CoreArena *arena) {
  const size_t features = (size_t)normaliser->features;
  CORE_ARENA_DEVICE(arena, normaliser->sums, KERNEL_NORMALISE_PARTS * features,
                    "sums of observations [parts][features]");
  CORE_ARENA_DEVICE(arena, normaliser->shift, features, "shifts of means [features]");
}

void normalise_device_add(const Normaliser *normaliser, const float *x, int rows) {
  CoreDevice *device = normaliser->device;
  const size_t features = (size_t)normaliser->features;
  const OpsMergeMoments arguments = {x, (size_t)rows, features, normaliser->next, normaliser->sums, normaliser->shift};
  launch(device, &ops_shift_parts_launch, KERNEL_NORMALISE_PARTS * features, &arguments);
  launch(device, &ops_shift_launch, features, &arguments);
  launch(device, &ops_square_parts_launch, KERNEL_NORMALISE_PARTS * features, &arguments);
  launch(device, &ops_merge_moments_launch, features, &arguments);
}

void normalise_device_factors(const Normaliser *normaliser) {
  const OpsFactors arguments = {normaliser->moments, (size_t)normaliser->features, normaliser->rule,
                                normaliser->factor};
  launch(normaliser->device, &ops_factors_launch, arguments.features, &arguments);
}

void normalise_device_apply(const Normaliser *normaliser, const float *x, int rows, float *y, int y_stride) {
  const OpsNormalise arguments = {x, (size_t)rows, (size_t)normaliser->features, (size_t)y_stride,
                                  normaliser->moments + 1, normaliser->factor, normalise_bound(normaliser->rule), y};
  launch(normaliser->device, &ops_normalise_launch, arguments.rows * arguments.features, &arguments);
}

void reward_device_step(const RewardScale *scale, float *rewards, const uint8_t *dones) {
  const OpsRewardStep arguments = {rewards, dones, scale->returns, scale->moments, (size_t)scale->worlds, scale->gamma,
                                   scale->rule == REWARD_CLEANRL};
  scale->device->launch(scale->device, &ops_reward_step_launch, 1, KERNEL_REWARD_THREADS,
                        KERNEL_REWARD_THREADS * sizeof(double), &arguments);
}

void reward_device_finish(const RewardScale *scale, float *rewards, size_t n) {
  launch(scale->device, &ops_reward_scale_launch, n, &(OpsRewardScale){rewards, n, scale->moments});
}
