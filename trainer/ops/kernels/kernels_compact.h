/* Kernels of compact observations (trainer/rollout/compact.h). The bodies are functions of one element, which the
 * host's loops call too. */
#ifndef TRAINER_OPS_KERNELS_COMPACT_H
#define TRAINER_OPS_KERNELS_COMPACT_H
#include "core/device/device_kernel.h"

/* Constants of levels from where the environment has them into a table of their own. */
typedef struct OpsCompactCopy {
  const float *rows;           /* of whole observations, `length` numbers each */
  size_t length;
  const int32_t *feature;      /* [features] of a whole one */
  const int32_t *fixed;        /* [constants] of the features */
  size_t constants;
  float *table;                /* [slots][constants] */
} OpsCompactCopy;

CORE_DEVICE_FN void ops_compact_copy_row(const OpsCompactCopy *a, size_t row, size_t slot) {
  const float *from = a->rows + row * a->length;
  float *to = a->table + slot * a->constants;
  for (size_t c = 0; c < a->constants; c++) to[c] = from[a->feature[a->fixed[c]]];
}

/* Rows 0 .. levels - 1 into the slots of the same numbers. */
typedef struct OpsCompactLevels { OpsCompactCopy copy; size_t levels; } OpsCompactLevels;

CORE_KERNEL_FN void ops_compact_levels(const CoreDeviceThread *at, const OpsCompactLevels *a) {
  for (size_t i = core_device_first(at); i < a->levels; i += core_device_stride(at))
    ops_compact_copy_row(&a->copy, i, i);
}

/* Worlds whose episode has just begun, `first` .. `first` + count - 1 of them, get a slot for their level's constants;
 * where no slot is left, the level's number in its world's sequence is kept in its stead. */
typedef struct OpsCompactBegin {
  OpsCompactCopy copy;
  const int32_t *level;        /* the row of world 0's level; */
  size_t stride;               /* bytes to the next world's */
  const uint32_t *number;      /* [worlds]; NULL: slots do not run out */
  const uint8_t *done;         /* [worlds]; NULL: every world begins, in the slot of its own number */
  int32_t *present;            /* [worlds]: its slot, or -1 - number */
  int64_t *taken;              /* slots so far */
  size_t first, count, worlds, slots;
} OpsCompactBegin;

CORE_KERNEL_FN void ops_compact_place(const OpsCompactBegin *a, size_t w) {
  int64_t slot = (int64_t)w;
  if (a->done && !a->done[w]) return;
  if (a->done) slot = core_device_atomic_increment(a->taken);
  else if (w == a->first) *a->taken = (int64_t)a->worlds;
  a->present[w] = slot < (int64_t)a->slots ? (int32_t)slot : (int32_t)(-1 - (int64_t)a->number[w]);
}

CORE_DEVICE_FN void ops_compact_copy(const OpsCompactBegin *a, size_t w) {
  if ((a->done && !a->done[w]) || a->present[w] < 0) return;
  ops_compact_copy_row(&a->copy, (size_t)*(const int32_t *)((const char *)a->level + w * a->stride),
                       (size_t)a->present[w]);
}

CORE_KERNEL_FN void ops_compact_begin(const CoreDeviceThread *at, const OpsCompactBegin *a) {
  for (size_t i = core_device_first(at); i < a->count; i += core_device_stride(at)) {
    ops_compact_place(a, a->first + i);
    ops_compact_copy(a, a->first + i);
  }
}

/* Rows of observations, with what their constants are found by, as they are kept. */
typedef struct OpsCompactStore {
  const float *observations;   /* [rows][features] */
  const int32_t *level;        /* of row 0: its slot among the constants, or -1 - number; */
  size_t stride;               /* bytes to the next row's */
  const int32_t *column;       /* [changing] */
  size_t rows, features;
  CoreDivisor changing;
  float *values;               /* [rows][changing] */
  int32_t *levels;             /* [rows] */
} OpsCompactStore;

CORE_DEVICE_FN void ops_compact_keep(const OpsCompactStore *a, size_t i) {
  const CoreDivided place = core_divide(i, a->changing);
  const size_t row = place.whole, k = place.rest;
  a->values[i] = a->observations[row * a->features + (size_t)a->column[k]];
  if (k == 0) a->levels[row] = *(const int32_t *)((const char *)a->level + row * a->stride);
}

CORE_KERNEL_FN void ops_compact_store(const CoreDeviceThread *at, const OpsCompactStore *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->changing.number; i += core_device_stride(at))
    ops_compact_keep(a, i);
}

/* And back, of the rows that are named. Constants without a slot stay as they are: they have been drawn again. */
typedef struct OpsCompactGather {
  const float *values;
  const int32_t *levels;
  const float *table;          /* [slots][constants] */
  const int32_t *position;        /* [features] among the changing numbers; -1 - c: constant c */
  const uint32_t *index;       /* [rows] */
  size_t rows;
  CoreDivisor features;
  size_t changing;
  float *observations;         /* [rows][features] */
} OpsCompactGather;

CORE_DEVICE_FN void ops_compact_restore(const OpsCompactGather *a, size_t i) {
  const CoreDivided place = core_divide(i, a->features);
  const size_t row = a->index[place.whole], k = place.rest;
  const int32_t position = a->position[k], level = a->levels[row];
  if (position >= 0) a->observations[i] = a->values[row * a->changing + (size_t)position];
  else if (level >= 0)
    a->observations[i] = a->table[(size_t)level * (a->features.number - a->changing) + (size_t)(-1 - position)];
}

CORE_KERNEL_FN void ops_compact_gather(const CoreDeviceThread *at, const OpsCompactGather *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->features.number; i += core_device_stride(at))
    ops_compact_restore(a, i);
}

#endif
