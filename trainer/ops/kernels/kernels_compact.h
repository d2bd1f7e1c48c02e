/* Kernels of compact observations (trainer/rollout/compact.h). The bodies are functions of one element, which the
 * host's loops also call. */
#ifndef TRAINER_OPS_KERNELS_COMPACT_H
#define TRAINER_OPS_KERNELS_COMPACT_H
#include "core/device/device_kernel.h"
#include "sim/task/observe_layout.h"

enum { COMPACT_BITS = 32 };

/* Copies levels' constants from the environment into a separate table. */
typedef struct OpsCompactCopy {
  const float *rows;           /* full observations, `length` elements each */
  size_t length;
  const int32_t *feature;      /* [features] index in a full observation */
  const int32_t *fixed;        /* [constants] indices among the features */
  size_t constants;
  float *table;                /* [slots][constants] */
} OpsCompactCopy;

CORE_DEVICE_FN void ops_compact_copy_row(const OpsCompactCopy *a, size_t row, size_t slot) {
  const float *from = a->rows + row * a->length;
  float *to = a->table + slot * a->constants;
  for (size_t c = 0; c < a->constants; c++) to[c] = from[a->feature[a->fixed[c]]];
}

/* Copies rows 0 .. levels - 1 into the slots of the same numbers. */
typedef struct OpsCompactLevels { OpsCompactCopy copy; size_t levels; } OpsCompactLevels;

CORE_KERNEL_FN void ops_compact_levels(const CoreDeviceThread *at, const OpsCompactLevels *a) {
  for (size_t i = core_device_first(at); i < a->levels; i += core_device_stride(at))
    ops_compact_copy_row(&a->copy, i, i);
}

/* Assigns slots for their level's constants to worlds whose episode has just begun, `first` .. `first` + count - 1;
 * where no slot is left, stores the level's number in its world's sequence. */
typedef struct OpsCompactBegin {
  OpsCompactCopy copy;
  const int32_t *level;        /* row of world 0's level; */
  size_t stride;               /* bytes to the next world's */
  const uint32_t *number;      /* [worlds]; NULL: slots never run out */
  const uint8_t *done;         /* [worlds]; NULL: every world begins, in the slot of its own index */
  int32_t *present;            /* [worlds] slot, or -1 - number */
  int64_t *used_slots;         /* slots used so far */
  size_t first, count, worlds, slots;
} OpsCompactBegin;

CORE_KERNEL_FN void ops_compact_place(const OpsCompactBegin *a, size_t w) {
  int64_t slot = (int64_t)w;
  if (a->done && !a->done[w]) return;
  if (a->done) slot = core_device_atomic_increment(a->used_slots);
  else if (w == a->first) *a->used_slots = (int64_t)a->worlds;
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

/* Stores rows of observations, with the references to their constants. */
typedef struct OpsCompactStore {
  const float *observations;   /* [rows][features] */
  const int32_t *level;        /* slot of row 0's constants, or -1 - number; */
  size_t stride;               /* bytes to the next row's */
  const int32_t *column;       /* [changing], then [flags] */
  size_t rows, features, changing, flags;
  CoreDivisor each;            /* changing features, and words of flags, of a row */
  float *values;               /* [rows][changing] */
  uint32_t *bits;              /* [rows][words]; NULL: no flags */
  int32_t *levels;             /* [rows]; NULL: in */
  uint16_t *short_levels;      /* [rows]; both NULL: nowhere */
} OpsCompactStore;

/* Returns word `word` of the flags of an observation. */
CORE_DEVICE_FN uint32_t ops_compact_bits(const OpsCompactStore *a, const float *observation, size_t word) {
  const size_t first = word * COMPACT_BITS, left = a->flags - first;
  const int32_t *column = a->column + a->changing + first;
  uint32_t bits = 0;
  for (size_t i = 0; i < COMPACT_BITS && i < left; i++)
    bits |= ((uint32_t)observation[column[i]] & SIM_ATTEND_TOUCHING ? 1u : 0u) << i;
  return bits;
}

CORE_DEVICE_FN void ops_compact_keep(const OpsCompactStore *a, size_t i) {
  const CoreDivided place = core_divide(i, a->each);
  const size_t row = place.whole, k = place.rest, words = a->each.number - a->changing;
  const float *observation = a->observations + row * a->features;
  if (k < a->changing) a->values[row * a->changing + k] = observation[a->column[k]];
  else a->bits[row * words + k - a->changing] = ops_compact_bits(a, observation, k - a->changing);
  if (k > 0 || (!a->levels && !a->short_levels)) return;
  const int32_t level = *(const int32_t *)((const char *)a->level + row * a->stride);
  if (a->levels) a->levels[row] = level;
  else a->short_levels[row] = (uint16_t)level;
}

CORE_KERNEL_FN void ops_compact_store(const CoreDeviceThread *at, const OpsCompactStore *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->each.number; i += core_device_stride(at))
    ops_compact_keep(a, i);
}

/* Gathers the named rows. Constants without a slot stay unchanged: they have been generated again. */
typedef struct OpsCompactGather {
  const float *values;
  const uint32_t *bits;
  const int32_t *levels;       /* as in Compact */
  const uint16_t *short_levels;
  CoreDivisor worlds;
  const float *table;          /* [slots][constants] */
  const int32_t *position;     /* [features] index among the changing features; -1 - c: constant c */
  const int32_t *flag;         /* [features] index among the flags; -1: none */
  const uint32_t *index;       /* [rows] */
  size_t rows;
  CoreDivisor features;
  size_t changing, words;
  float *observations;         /* [rows][features] */
} OpsCompactGather;

CORE_DEVICE_FN int32_t ops_compact_level(const OpsCompactGather *a, size_t row) {
  if (a->levels) return a->levels[row];
  return a->short_levels ? (int32_t)a->short_levels[row] : (int32_t)core_divide(row, a->worlds).rest;
}

CORE_DEVICE_FN void ops_compact_restore(const OpsCompactGather *a, size_t i) {
  const CoreDivided place = core_divide(i, a->features);
  const size_t row = a->index[place.whole], k = place.rest;
  const int32_t position = a->position[k], flag = a->words > 0 ? a->flag[k] : -1;
  const int32_t level = position >= 0 ? 0 : ops_compact_level(a, row);
  if (position >= 0) a->observations[i] = a->values[row * a->changing + (size_t)position];
  else if (level >= 0)
    a->observations[i] = a->table[(size_t)level * (a->features.number - a->changing) + (size_t)(-1 - position)];
  if (flag >= 0 && a->bits[row * a->words + (size_t)flag / COMPACT_BITS] >> flag % COMPACT_BITS & 1u)
    a->observations[i] += (float)SIM_ATTEND_TOUCHING;
}

CORE_KERNEL_FN void ops_compact_gather(const CoreDeviceThread *at, const OpsCompactGather *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->features.number; i += core_device_stride(at))
    ops_compact_restore(a, i);
}

#endif
