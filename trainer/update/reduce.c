/* Folding records of ranks and shards (reduce.h). */
#include "trainer/update/reduce.h"

#include <stdlib.h>
#include <string.h>

#include "core/device/device.h"
#include "core/memory.h"
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_ranks.h"
#include "trainer/ranks/ranks.h"

void *reduce_gather_records(const void *sent, size_t bytes) {
  void *gathered = core_memory_zero_allocate((size_t)ranks_size(), bytes);
  ranks_gather_all(sent, bytes, gathered);
  return gathered;
}

void reduce_moments(Moments *records, size_t n) {
  if (ranks_size() == 1) return;
  Moments *gathered = reduce_gather_records(records, n * sizeof *records);
  memset(records, 0, n * sizeof *records);
  for (int rank = 0; rank < ranks_size(); rank++)
    for (size_t i = 0; i < n; i++) moments_merge(&records[i], &gathered[(size_t)rank * n + i]);
  free(gathered);
}

void reduce_log_sums(LogSum *records, size_t n) {
  if (ranks_size() == 1) return;
  LogSum *gathered = reduce_gather_records(records, n * sizeof *records);
  for (size_t i = 0; i < n; i++) records[i] = log_sum_empty();
  for (int rank = 0; rank < ranks_size(); rank++)
    for (size_t i = 0; i < n; i++) log_sum_merge(&records[i], &gathered[(size_t)rank * n + i]);
  free(gathered);
}

void reduce_shard_moments(const Shards *shards, const Moments *records, Moments *moments) {
  Moments *gathered = reduce_gather_records(records, (size_t)shards->shards * sizeof *records);
  *moments = (Moments){0};
  for (int i = 0; i < ranks_size() * shards->shards; i++) moments_merge(moments, &gathered[i]);
  free(gathered);
}

void reduce_pack(CoreDevice *device, const float *x, size_t rows, size_t of, size_t first, size_t count,
                 float *packed) {
  if (count == 0) return; /* a divisor is never 0 */
  const OpsColumns columns = {x, rows, of, first, core_divisor(count), packed};
  KERNELS_EACH(device, ops_columns, ops_column, rows * count, &columns);
}

/* Packs the columns of one shard -> packed [steps][worlds of a shard]. */
static const float *pack(CoreDevice *device, const Shards *shards, int shard, const float *x, int steps,
                         float *packed) {
  const size_t columns = (size_t)shards_worlds(shards);
  if (shards->shards == 1) return x;
  reduce_pack(device, x, (size_t)steps, (size_t)shards->worlds, (size_t)shard * columns, columns, packed);
  return packed;
}

void reduce_rollout_moments(Ops *ops, const Shards *shards, const float *x, const float *y, int steps, float *scratch,
                            Moments *moments) {
  const size_t n = (size_t)steps * (size_t)shards_worlds(shards);
  Moments *records = core_memory_zero_allocate((size_t)shards->shards, sizeof *records);
  for (int s = 0; s < shards->shards; s++)
    ops->moments(ops, pack(ops->device, shards, s, x, steps, scratch),
                 y ? pack(ops->device, shards, s, y, steps, scratch + n) : NULL, n, &records[s]);
  reduce_shard_moments(shards, records, moments);
  free(records);
}
