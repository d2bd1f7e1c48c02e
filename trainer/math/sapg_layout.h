/* Layout of a SAPG iteration's samples, and their division over ranks (sapg.h). Pure index arithmetic, for the host
 * (sapg_data.c) and the device's kernels (kernels_rows.h, kernels_ranks.h). */
#ifndef TRAINER_MATH_SAPG_LAYOUT_H
#define TRAINER_MATH_SAPG_LAYOUT_H
#include "core/device/device_kernel.h"

/* Samples of an iteration: N*K of the rollout, then those of the sampled followers. Indices in the run: on-policy t*N +
 * world; off-policy, from the d-th sampled follower, N*K + d*(n*K) + t*n + world in the block, n worlds per block. */
typedef struct SapgLayout {
  int worlds, steps, blocks;   /* N, K */
  int drawn;                   /* number of sampled followers */
  int sequence;                /* steps that stay together in a shuffle */
} SapgLayout;

CORE_DEVICE_FN int sapg_block_worlds(const SapgLayout *layout) { return layout->worlds / layout->blocks; }
CORE_DEVICE_FN size_t sapg_on_policy(const SapgLayout *layout) {
  return (size_t)layout->worlds * (size_t)layout->steps;
}
CORE_DEVICE_FN size_t sapg_off_policy(const SapgLayout *layout) { /* samples per follower */
  return (size_t)sapg_block_worlds(layout) * (size_t)layout->steps;
}
CORE_DEVICE_FN size_t sapg_samples(const SapgLayout *layout) {
  return sapg_on_policy(layout) + (size_t)layout->drawn * sapg_off_policy(layout);
}

/* Returns the sample of a step of a sequence. Sequences are numbered world after world, those of the sampled followers
 * last. */
CORE_DEVICE_FN uint32_t sapg_sample(const SapgLayout *layout, uint32_t sequence, uint32_t step) {
  const uint32_t per_world = (uint32_t)(layout->steps / layout->sequence);
  const uint32_t block = (uint32_t)sapg_block_worlds(layout), worlds = (uint32_t)layout->worlds;
  const uint32_t column = sequence / per_world; /* world, or after the worlds a world of a sampled follower */
  const uint32_t t = sequence % per_world * (uint32_t)layout->sequence + step;
  if (column < worlds) return t * worlds + column;
  const uint32_t follower = (column - worlds) / block, world = (column - worlds) % block;
  const uint32_t per_follower = (uint32_t)sapg_off_policy(layout);
  return (uint32_t)sapg_on_policy(layout) + follower * per_follower + t * block + world;
}

/* A rank's part: the samples of its own worlds, so that no transition is sent. Local indices: on-policy t*(local
 * worlds) + world; after them off-policy t*columns + column, where the columns are its worlds of sampled followers, in
 * order. */
typedef struct SapgShare {
  SapgLayout layout;
  uint32_t first_world, worlds, shard_worlds; /* local worlds, in the run's numbering; worlds per shard */
  uint32_t columns;            /* columns of this iteration */
  const uint32_t *follower;    /* [drawn] */
  const uint32_t *column;      /* [drawn] column of its first world */
} SapgShare;

CORE_DEVICE_FN size_t sapg_local_on_policy(const SapgShare *share) { return (size_t)share->layout.steps *
                                                                    share->worlds; }
CORE_DEVICE_FN size_t sapg_local_off_policy(const SapgShare *share) {
  return (size_t)share->layout.steps * share->columns;
}

/* A follower's worlds among the first `worlds` local ones: local indices. */
typedef struct SapgWorlds { uint32_t first, count; } SapgWorlds;
CORE_DEVICE_FN SapgWorlds sapg_local_worlds(const SapgShare *share, uint32_t follower, uint32_t worlds) {
  const int64_t block = sapg_block_worlds(&share->layout), from = (int64_t)follower * block - share->first_world;
  const int64_t first = from > 0 ? from : 0;
  const int64_t end = from + block < worlds ? from + block : worlds;
  const SapgWorlds local = {(uint32_t)first, end > first ? (uint32_t)(end - first) : 0};
  return local;
}

/* The functions below test both ends of a range with one comparison: for unsigned numbers, x - first < count is true
 * exactly if first <= x < first + count, since x - first wraps to a huge value if x < first (3 - 5 is 2^32 - 2). */

/* Returns the local world of an off-policy column. */
CORE_DEVICE_FN uint32_t sapg_world_of_column(const SapgShare *share, uint32_t column) {
  for (int d = 0; d < share->layout.drawn; d++) {
    const SapgWorlds local = sapg_local_worlds(share, share->follower[d], share->worlds);
    const uint32_t offset = column - share->column[d];
    if (offset < local.count) return local.first + offset;
  }
  return 0; /* no such column */
}

/* Returns the local index of a sample of the run, or -1 if another rank has it. */
CORE_DEVICE_FN int64_t sapg_local_index(const SapgShare *share, uint32_t sample) {
  const SapgLayout *layout = &share->layout;
  const uint32_t on_policy = (uint32_t)sapg_on_policy(layout), worlds = (uint32_t)layout->worlds;
  if (sample < on_policy) {
    const uint32_t t = sample / worlds, local_world = sample % worlds - share->first_world;
    return local_world < share->worlds ? (int64_t)t * share->worlds + local_world : -1;
  }
  const uint32_t per_follower = (uint32_t)sapg_off_policy(layout), block = (uint32_t)sapg_block_worlds(layout);
  const uint32_t d = (sample - on_policy) / per_follower, offset = (sample - on_policy) % per_follower;
  const uint32_t t = offset / block, local_world = share->follower[d] * block + offset % block - share->first_world;
  if (local_world >= share->worlds) return -1;
  const SapgWorlds local = sapg_local_worlds(share, share->follower[d], share->worlds);
  const uint32_t column = share->column[d] + (local_world - local.first);
  return (int64_t)sapg_local_on_policy(share) + (int64_t)t * share->columns + column;
}

/* Returns whether a local sample is off-policy: a transition of another block, from which the leader learns. */
CORE_DEVICE_FN int sapg_is_off_policy(const SapgShare *share, uint32_t local) {
  return local >= sapg_local_on_policy(share);
}

/* Returns a local sample's row of the rank's rollout [steps][worlds]. */
CORE_DEVICE_FN uint32_t sapg_row(const SapgShare *share, uint32_t local) {
  if (!sapg_is_off_policy(share, local)) return local;
  const uint32_t offset = local - (uint32_t)sapg_local_on_policy(share);
  const uint32_t t = offset / share->columns, column = offset % share->columns;
  return t * share->worlds + sapg_world_of_column(share, column);
}

#endif
