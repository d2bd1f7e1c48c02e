/* Kernels of observations that are kept as what changes on a level (trainer/compact.h). */
#ifndef TRAINER_OPS_KERNELS_COMPACT_H
#define TRAINER_OPS_KERNELS_COMPACT_H
#include "core/device_kernel.h"

/* Rows of observations, with the number of the level that each is on, as they are kept. */
typedef struct OpsCompactStore {
  const float *observations;   /* [rows][features] */
  const int32_t *level_number; /* of row 0; */
  size_t stride;               /* bytes to the next row's */
  const int32_t *column;       /* [changing] */
  size_t rows, features, changing;
  float *values;               /* [rows][changing] */
  int32_t *level;              /* [rows] */
} OpsCompactStore;

CORE_DEVICE_FN void ops_compact_keep(const OpsCompactStore *a, size_t i) {
  const size_t row = i / a->changing, k = i % a->changing;
  a->values[i] = a->observations[row * a->features + (size_t)a->column[k]];
  if (k == 0) a->level[row] = *(const int32_t *)((const char *)a->level_number + row * a->stride);
}

CORE_KERNEL_FN void ops_compact_store(const CoreDeviceThread *at, const OpsCompactStore *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->changing; i += core_device_stride(at)) ops_compact_keep(a, i);
}

/* And back, of the rows that are named. */
typedef struct OpsCompactGather {
  const float *values;
  const int32_t *level;
  const float *constants;      /* [levels][features] */
  const int32_t *place;        /* [features] among the changing numbers; -1: a constant */
  const uint32_t *index;       /* [rows] */
  size_t rows, features, changing;
  float *observations;         /* [rows][features] */
} OpsCompactGather;

CORE_DEVICE_FN void ops_compact_restore(const OpsCompactGather *a, size_t i) {
  const size_t row = a->index[i / a->features], k = i % a->features;
  const int32_t place = a->place[k];
  a->observations[i] = place >= 0 ? a->values[row * a->changing + (size_t)place]
                                  : a->constants[(size_t)a->level[row] * a->features + k];
}

CORE_KERNEL_FN void ops_compact_gather(const CoreDeviceThread *at, const OpsCompactGather *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->features; i += core_device_stride(at)) ops_compact_restore(a, i);
}

#endif
