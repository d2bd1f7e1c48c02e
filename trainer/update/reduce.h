/* Statistics over all ranks: small records are gathered and folded in rank order, so that every rank has the same
 * result. With one rank nothing happens. All ranks call these in the same order. */
#ifndef TRAINER_REDUCE_H
#define TRAINER_REDUCE_H
#include "trainer/math/moments.h"
#include "trainer/ops/ops.h"
#include "trainer/ranks/shards.h"

/* Gathers every rank's `bytes`, in rank order; the caller frees them. */
void *reduce_gather_records(const void *sent, size_t bytes);

/* Reduce n records each, in place. */
void reduce_moments(Moments *records, size_t n);
void reduce_log_sums(LogSum *records, size_t n);

/* Copies columns first .. first + count - 1 of x [rows][of] -> packed [rows][count], both on the device (NULL: the
 * host). */
void reduce_pack(CoreDevice *device, const float *x, size_t rows, size_t of, size_t first, size_t count, float *packed);
/* Computes the moments of x[steps][worlds] (minus y, unless NULL) over all worlds of the run: one record per shard,
 * folded in shard order. scratch: [2][steps * worlds of a shard], used with several shards only. */
void reduce_rollout_moments(Ops *ops, const Shards *shards, const float *x, const float *y, int steps, float *scratch,
                            Moments *moments);
/* Folds one record per shard of this rank with those of the other ranks, in shard order. */
void reduce_shard_moments(const Shards *shards, const Moments *records, Moments *moments);

#endif
