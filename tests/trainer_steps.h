/* Calls of the trainer put together as several tests want them: a whole network, an update, a minibatch, an order. */
#ifndef TESTS_TRAINER_STEPS_H
#define TESTS_TRAINER_STEPS_H
#include <math.h>

#include "trainer/learners/sapg.h"
#include "trainer/nets/network.h"
#include "trainer/update/advantage.h"
#include "trainer/update/minibatch.h"
#include "trainer/update/optimizer.h"

/* x [rows][inputs]; hidden[layers-1] is the output [rows][outputs]. */
static inline void network_forward(Ops *ops, const NetworkShape *shape, const float *theta, const float *x, int rows,
                                   const NetworkActivations *activations) {
  network_forward_layers(ops, shape, theta, x, rows, activations, 0, shape->layers);
}

/* doutput [rows][outputs] (overwritten) -> gradient (whole vector set). */
static inline void network_backward(Ops *ops, const NetworkShape *shape, const float *theta, const float *x, int rows,
                                    const NetworkActivations *activations, float *doutput, float *scratch,
                                    float *gradient) {
  network_backward_layers(ops, shape, theta, x, rows, activations, 0, shape->layers, doutput, NULL, scratch, gradient,
                          NULL);
}

/* One update of theta[n]. *norm: ||gradient|| before clipping; *clipped: whether the clip acted. */
static inline void optimizer_step(Ops *ops, Optimizer *optimizer, float *theta, const float *gradient, size_t n,
                                  double rate, double *norm, int *clipped) {
  *norm = sqrt(ops->norm_squared(ops, gradient, n));
  optimizer_apply(ops, optimizer, theta, gradient, n, rate, optimizer_clip(optimizer, *norm, clipped));
}

/* Standardizes advantage[n] by its own moments; *moments (or NULL) gets those of the values before. */
static inline void advantage_normalize(Ops *ops, AdvantageNorm norm, float *advantage, size_t n, Moments *moments) {
  Moments before;
  ops->moments(ops, advantage, NULL, n, &before);
  advantage_normalize_by(ops, norm, &before, advantage, n);
  if (moments) *moments = before;
}

/* All of part m at once, where one rank has all worlds in one shard. */
static inline void minibatch_gather(Minibatch *minibatch, Ops *ops, const Rollout *rollout, const float *advantages,
                                    const float *targets, int m) {
  CORE_CHECK(rollout->shards.global_shards == 1);
  minibatch_select(minibatch, ops, rollout, m);
  minibatch_next(minibatch, ops, rollout, advantages, targets);
}

/* order[samples] from a permutation of the sequences: a world's steps one after the other, worlds in order. */
static inline void sapg_order(const SapgLayout *layout, const uint32_t *sequences, uint32_t *order) {
  const size_t length = (size_t)layout->sequence, count = sapg_samples(layout) / length;
  for (size_t s = 0; s < count; s++)
    for (size_t i = 0; i < length; i++) order[s * length + i] = sapg_sample(layout, sequences[s], (uint32_t)i);
}

/* This rank's number of a sample of the run, or -1; of data on the host. */
static inline int64_t sapg_data_own(const SapgData *data, uint32_t sample) {
  const SapgShare share = {.layout = data->layout, .first_world = (uint32_t)data->shards.first_world,
                           .worlds = (uint32_t)data->shards.worlds,
                           .shard_worlds = (uint32_t)shards_worlds(&data->shards),
                           .columns = (uint32_t)data->columns, .follower = data->follower, .column = data->column};
  return sapg_local_index(&share, sample);
}

#endif
