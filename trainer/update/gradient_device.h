/* gradient.h for weights on a device; called by gradient.c only, except the plan (scaling.c). */
#ifndef TRAINER_GRADIENT_DEVICE_H
#define TRAINER_GRADIENT_DEVICE_H
#include "trainer/update/gradient.h"

/* Merges the mean over `more`'s rows into the mean over `before` rows, of a shard's gradient of n elements. */
void gradient_device_add(CoreDevice *device, float *mean, const float *more, size_t n, int before, int rows);
/* Plans the buckets of an agent's gradients, each of at least `min_bytes` bytes where its network has that many
 * left. */
void gradient_device_plan(const Agent *agent, size_t min_bytes, GradientSending *sending);
void gradient_device_begin(Gradient *gradient);
void gradient_device_expect_last(Gradient *gradient, int rows, int64_t global_rows);
/* Weighs and sends what is not sent yet, and makes the device wait for all sums. One shard per rank. */
void gradient_device_sum_ranks(Gradient *gradient, int64_t global_rows);
/* Folds local [shards][n] of every rank -> mean [n], for comm.deterministic. shares: [global shards], on the host. */
void gradient_device_fold(Gradient *gradient, const float *local, size_t n, const double *shares, float *mean);
/* Returns the elements of a slice that is gathered at once. */
size_t gradient_device_slice(void);

#endif
