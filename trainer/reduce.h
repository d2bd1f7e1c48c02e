/* Statistics and gradients over all ranks (spec metrics.md 1.4): small records are gathered and folded in rank order, so
 * that every rank has the same result; a gradient is the mean over the rows of all ranks. With one rank nothing happens.
 * All ranks call these in the same order. */
#ifndef TRAINER_REDUCE_H
#define TRAINER_REDUCE_H
#include "trainer/moments.h"
#include "trainer/ops/ops.h"
#include "trainer/shards.h"

/* n records each, in place. */
void reduce_moments(Moments *records, size_t n);
void reduce_log_sums(LogSum *records, size_t n);

/* Moments of x[steps][worlds] (minus y, unless NULL) over all worlds of the run: one record a shard, folded in shard
 * order. scratch: [2][steps * worlds of a shard], used with several shards only. */
void reduce_rollout_moments(Ops *ops, const Shards *shards, const float *x, const float *y, int steps, float *scratch,
                            Moments *moments);
/* Folds one record of each of this rank's shards with those of the other ranks, in shard order. */
void reduce_shard_moments(const Shards *shards, const Moments *records, Moments *moments);

/* The gradient of a minibatch from those of its shards: gradients [shards][n], each a mean over rows[shard] of all_rows
 * (of all ranks; a shard without rows has no gradient and is not read). The mean over all rows goes to gradients[0 ..
 * n-1]. `ordered` shards are gathered piece by piece and folded in double in shard order; gather: of
 * reduce_gather_floats. */
void reduce_gradient(const Shards *shards, float *gradients, size_t n, const int *rows, int64_t all_rows,
                     float *gather);
enum { REDUCE_PIECE = 16384 };
/* Floats that `gather` must have; 0 where it is not used. */
size_t reduce_gather_floats(const Shards *shards);

#endif
