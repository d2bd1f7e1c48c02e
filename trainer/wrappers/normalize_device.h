/* Running normalization on a device, for normalize.c. x, y, rewards and dones are in its memory, and so are the
 * statistics, the same at all ranks. Observations are summed in parts of the run's shards; ranks gather these sums and
 * fold them in order. Discounted returns, one value per world, are gathered unreduced. So with comm.deterministic the
 * bits do not depend on the number of ranks. */
#ifndef TRAINER_NORMALIZE_DEVICE_H
#define TRAINER_NORMALIZE_DEVICE_H
#include "core/device/arena.h"
#include "trainer/wrappers/normalize.h"

void normalize_device_register(Normalizer *normalizer, CoreArena *arena);
void normalize_device_add(const Normalizer *normalizer, const float *x, int rows); /* to `next` */
void normalize_device_factors(const Normalizer *normalizer);                       /* from `moments` */
void normalize_device_apply(const Normalizer *normalizer, const float *x, int rows, float *y, int y_stride);
/* goes_on [worlds]: ends across which a sum continues; NULL: none. */
void reward_device_step(const RewardScale *scale, float *rewards, const uint8_t *dones, const uint8_t *goes_on);
void reward_device_finish(const RewardScale *scale, float *rewards, size_t n);

#endif
