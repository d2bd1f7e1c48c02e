/* Folding what ranks and shards give (reduce.h). */
#include "trainer/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "trainer/ranks.h"

/* ---- records ------------------------------------------------------------------------------------------------------- */

/* Every rank's `bytes`, in rank order; the caller frees them. */
static void *gather_records(const void *own, size_t bytes) {
  void *all = core_memory_zero_allocate((size_t)ranks_size(), bytes);
  ranks_gather_all(own, bytes, all);
  return all;
}

void reduce_moments(Moments *records, size_t n) {
  if (ranks_size() == 1) return;
  Moments *all = gather_records(records, n * sizeof *records);
  memset(records, 0, n * sizeof *records);
  for (int rank = 0; rank < ranks_size(); rank++)
    for (size_t i = 0; i < n; i++) moments_merge(&records[i], &all[(size_t)rank * n + i]);
  free(all);
}

void reduce_log_sums(LogSum *records, size_t n) {
  if (ranks_size() == 1) return;
  LogSum *all = gather_records(records, n * sizeof *records);
  for (size_t i = 0; i < n; i++) records[i] = log_sum_empty();
  for (int rank = 0; rank < ranks_size(); rank++)
    for (size_t i = 0; i < n; i++) log_sum_merge(&records[i], &all[(size_t)rank * n + i]);
  free(all);
}

void reduce_shard_moments(const Shards *shards, const Moments *records, Moments *moments) {
  Moments *all = gather_records(records, (size_t)shards->shards * sizeof *records);
  *moments = (Moments){0};
  for (int i = 0; i < shards->all_shards; i++) moments_merge(moments, &all[i]);
  free(all);
}

/* The columns of one shard -> packed [steps][worlds of a shard]. */
static const float *pack(const Shards *shards, int shard, const float *x, int steps, float *packed) {
  size_t columns = (size_t)shards_worlds(shards);
  if (shards->shards == 1) return x;
  for (int t = 0; t < steps; t++)
    memcpy(packed + (size_t)t * columns, x + (size_t)t * (size_t)shards->worlds + (size_t)shard * columns,
           columns * sizeof *x);
  return packed;
}

void reduce_rollout_moments(Ops *ops, const Shards *shards, const float *x, const float *y, int steps, float *scratch,
                            Moments *moments) {
  const size_t n = (size_t)steps * (size_t)shards_worlds(shards);
  Moments *records = core_memory_zero_allocate((size_t)shards->shards, sizeof *records);
  for (int s = 0; s < shards->shards; s++)
    ops->moments(ops, pack(shards, s, x, steps, scratch), y ? pack(shards, s, y, steps, scratch + n) : NULL, n,
                 &records[s]);
  reduce_shard_moments(shards, records, moments);
  free(records);
}

/* ---- gradients ----------------------------------------------------------------------------------------------------- */

size_t reduce_gather_floats(const Shards *shards) {
  if (!shards->ordered || shards->all_shards == 1) return 0;
  return (size_t)(shards->all_shards + shards->shards) * REDUCE_PIECE;
}

/* x *= share; nothing where share is 1, so that one rank's gradient stays as it is. */
static void scale(float *x, size_t n, double share) {
  if (share == 1) return;
  const float factor = (float)share;
  for (size_t i = 0; i < n; i++) x[i] *= factor;
}

/* n numbers of every shard -> their sum weighted by share, in shard order, at sum. */
static void fold_piece(const float *shard, const double *share, int shards, size_t n, float *sum) {
  double total[256];
  for (size_t first = 0; first < n; first += 256) {
    size_t count = n - first < 256 ? n - first : 256;
    memset(total, 0, sizeof total);
    for (int s = 0; s < shards; s++) {
      if (share[s] == 0) continue; /* it holds nothing */
      for (size_t i = 0; i < count; i++) total[i] += share[s] * (double)shard[(size_t)s * n + first + i];
    }
    for (size_t i = 0; i < count; i++) sum[first + i] = (float)total[i];
  }
}

static void fold_shards(const Shards *shards, float *gradients, size_t n, const double *share, float *gather) {
  const size_t own = (size_t)shards->shards;
  double *all_shares = gather_records(share, own * sizeof *share);
  float *packed = gather + (size_t)shards->all_shards * REDUCE_PIECE;
  for (size_t first = 0; first < n; first += REDUCE_PIECE) {
    size_t count = n - first < REDUCE_PIECE ? n - first : REDUCE_PIECE;
    for (size_t s = 0; s < own; s++)
      memcpy(packed + s * count, gradients + s * n + first, count * sizeof *packed);
    ranks_gather_all(packed, own * count * sizeof *packed, gather);
    fold_piece(gather, all_shares, shards->all_shards, count, gradients + first);
  }
  free(all_shares);
}

void reduce_gradient(const Shards *shards, float *gradients, size_t n, const int *rows, int64_t all_rows,
                     float *gather) {
  if (shards->ordered && shards->all_shards > 1) {
    double *share = core_memory_zero_allocate((size_t)shards->shards, sizeof *share);
    for (int s = 0; s < shards->shards; s++) share[s] = (double)rows[s] / (double)all_rows;
    fold_shards(shards, gradients, n, share, gather);
    free(share);
    return;
  }
  if (rows[0] == 0) memset(gradients, 0, n * sizeof *gradients);
  else scale(gradients, n, (double)rows[0] / (double)all_rows);
  ranks_sum_floats(gradients, n);
}
