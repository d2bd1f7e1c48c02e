/* gradient.h where weights are on a device; called by gradient.c only, but for the plan (scaling.c). */
#ifndef TRAINER_GRADIENT_DEVICE_H
#define TRAINER_GRADIENT_DEVICE_H
#include "trainer/update/gradient.h"

/* mean over `before` rows and that of `rows` more -> mean over both, of a shard's n numbers. */
void gradient_device_add(CoreDevice *device, float *mean, const float *more, size_t n, int before, int rows);
/* The buckets of an agent's gradients, each of at least so many bytes where its network has them left. */
void gradient_device_plan(const Agent *agent, size_t least, GradientSending *sending);
void gradient_device_begin(Gradient *gradient);
void gradient_device_expect_last(Gradient *gradient, int rows, int64_t all_rows);
/* One shard a rank: weighs what is left to send, sends it, and waits on the device for all. */
void gradient_device_sum_ranks(Gradient *gradient, int64_t all_rows);
/* comm.deterministic: own [shards][n] of every rank -> mean [n]. shares: [all shards], on the host. */
void gradient_device_fold(Gradient *gradient, const float *own, size_t n, const double *shares, float *mean);
/* Numbers of a slice that is gathered at once. */
size_t gradient_device_slice(void);

#endif
