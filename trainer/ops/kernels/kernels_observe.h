/* Kernels of the agent's observations apart from normalization (trainer/wrappers/obs_pipeline.h): half precision,
 * stored or only rounded to, and the last column with the block of a row (SAPG). */
#ifndef TRAINER_OPS_KERNELS_OBSERVE_H
#define TRAINER_OPS_KERNELS_OBSERVE_H
#include "trainer/ops/row_half_internal.h"

/* ---- half precision -------------------------------------------------------------------------------------------- */

typedef struct OpsRoundHalves { float *x; size_t n; } OpsRoundHalves;
CORE_KERNEL_FN void ops_round_halves(const CoreDeviceThread *at, const OpsRoundHalves *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at))
    a->x[i] = row_from_half(row_to_half(a->x[i]));
}

typedef struct OpsStoreHalves { const float *x; size_t n; uint16_t *halves; } OpsStoreHalves;
CORE_KERNEL_FN void ops_store_halves(const CoreDeviceThread *at, const OpsStoreHalves *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) a->halves[i] = row_to_half(a->x[i]);
}

/* Gathers the named rows. */
typedef struct OpsGatherHalves {
  const uint16_t *source;
  const uint32_t *index;  /* [rows] */
  float *target;
  size_t rows;
  CoreDivisor columns;
} OpsGatherHalves;
CORE_KERNEL_FN void ops_gather_halves(const CoreDeviceThread *at, const OpsGatherHalves *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->columns.number; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, a->columns);
    a->target[i] = row_from_half(a->source[(size_t)a->index[place.whole] * a->columns.number + place.rest]);
  }
}

/* ---- the column of blocks: the last of rows [rows][columns]; other columns are unchanged ------------------------- */

/* Returns the block of one of global_worlds worlds, which are divided evenly. */
CORE_DEVICE_FN float ops_block_of_world(int64_t world, int64_t blocks, int64_t global_worlds) {
  return (float)(world * blocks / global_worlds);
}

/* Row w is world first_world + w. */
typedef struct OpsMarkWorlds {
  float *x;
  size_t rows, columns;
  int64_t first_world, blocks, global_worlds;
} OpsMarkWorlds;
CORE_DEVICE_FN void ops_mark_world(const OpsMarkWorlds *a, size_t w) {
  a->x[(w + 1) * a->columns - 1] = ops_block_of_world(a->first_world + (int64_t)w, a->blocks, a->global_worlds);
}
CORE_KERNEL_FN void ops_mark_worlds(const CoreDeviceThread *at, const OpsMarkWorlds *a) {
  for (size_t w = core_device_first(at); w < a->rows; w += core_device_stride(at)) ops_mark_world(a, w);
}

/* Sets one block for all rows, or for those whose sample index is at least `from`. */
typedef struct OpsMarkRows {
  float *x;
  size_t rows, columns;
  const uint32_t *sample; /* [rows]; NULL: all rows */
  uint32_t from;
  float block;
} OpsMarkRows;
CORE_DEVICE_FN void ops_mark_row(const OpsMarkRows *a, size_t r) {
  if (a->sample == NULL || a->sample[r] >= a->from) a->x[(r + 1) * a->columns - 1] = a->block;
}
CORE_KERNEL_FN void ops_mark_rows(const CoreDeviceThread *at, const OpsMarkRows *a) {
  for (size_t r = core_device_first(at); r < a->rows; r += core_device_stride(at)) ops_mark_row(a, r);
}

#endif
