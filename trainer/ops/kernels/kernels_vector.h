/* Kernels of long vectors: sums in float64, Adam, averages, advantages, gathering. Sums have the CPU's order
 * (cpu_vector.c): parts whose boundaries depend on the length, 16 interleaved sums per part. */
#ifndef TRAINER_OPS_KERNELS_VECTOR_H
#define TRAINER_OPS_KERNELS_VECTOR_H
#include "trainer/math/moments.h"
#include "trainer/ops/ops.h"
#include "trainer/ops/row_round_internal.h"
#include "trainer/ops/row_vector_internal.h"

enum { KERNEL_LANES = 16 }; /* lanes of a sum; threads per block of ops_sum_parts and ops_moment_parts */

/* ---- sums -------------------------------------------------------------------------------------------------------- */

typedef struct OpsVector { const float *x, *y; size_t n; } OpsVector; /* y NULL: of x alone */

typedef struct OpsSumParts {
  OpsVector v;
  size_t size;            /* elements of a part */
  double *sums;           /* [parts] of squares of x - y */
} OpsSumParts;

CORE_DEVICE_FN double ops_vector_element(const OpsVector *v, size_t i) {
  return v->y ? (double)v->x[i] - (double)v->y[i] : (double)v->x[i];
}

/* Returns the whole block's sum of the lanes' values, in lane order. */
CORE_KERNEL_FN double ops_add_lanes(const CoreDeviceThread *at, double own) {
  double *lane = (double *)at->shared, sum = 0;
  core_device_group_barrier(at, KERNEL_LANES); /* the last sum's lanes are not read any more */
  lane[at->thread] = own;
  core_device_group_barrier(at, KERNEL_LANES);
  for (int l = 0; l < KERNEL_LANES; l++) sum += lane[l];
  return sum;
}

typedef struct OpsPart { size_t first, end; } OpsPart;
CORE_DEVICE_FN OpsPart ops_part(size_t n, size_t size, size_t part) {
  OpsPart p = {part * size, part * size + size};
  if (p.end > n) p.end = n;
  return p;
}

CORE_KERNEL_FN void ops_sum_parts(const CoreDeviceThread *at, const OpsSumParts *a) {
  const OpsPart part = ops_part(a->v.n, a->size, at->block);
  double sum = 0;
  for (size_t i = part.first + at->thread; i < part.end; i += KERNEL_LANES) {
    const double x = ops_vector_element(&a->v, i);
    sum += x * x;
  }
  sum = ops_add_lanes(at, sum);
  if (at->thread == 0) a->sums[at->block] = sum;
}

typedef struct OpsMomentParts {
  OpsVector v;
  size_t size;            /* elements of a part */
  Moments *records;       /* [parts] */
  const uint32_t *count;  /* length on the device, from which the parts' size is derived. NULL: v.n */
  size_t most, least;     /* maximum parts, minimum elements of a part */
} OpsMomentParts;

/* Returns the size of a part by the rule of device_parts (device.c). */
CORE_DEVICE_FN size_t ops_part_size(size_t n, size_t most, size_t least) {
  const size_t size = (n + most - 1) / most;
  return size < least ? least : size;
}

/* Two passes over a part: its mean, then the powers about it. The mean of the rounding residuals is added to it. */
CORE_KERNEL_FN void ops_moment_parts(const CoreDeviceThread *at, const OpsMomentParts *a) {
  const size_t length = a->count ? *a->count : a->v.n;
  OpsPart part = ops_part(length, a->count ? ops_part_size(length, a->most, a->least) : a->size, at->block);
  if (part.first > length) part.first = length; /* more blocks than parts: an empty record */
  const size_t first = part.first + at->thread;
  const double n = (double)(part.end - part.first);
  double sum = 0, m2 = 0, m3 = 0, m4 = 0;

  for (size_t i = first; i < part.end; i += KERNEL_LANES) sum += ops_vector_element(&a->v, i);
  double mean = ops_add_lanes(at, sum) / n;
  sum = 0;
  for (size_t i = first; i < part.end; i += KERNEL_LANES) sum += ops_vector_element(&a->v, i) - mean;
  mean += ops_add_lanes(at, sum) / n;

  for (size_t i = first; i < part.end; i += KERNEL_LANES) {
    const double d = ops_vector_element(&a->v, i) - mean, square = d * d;
    m2 += square;
    m3 += square * d;
    m4 += square * square;
  }

  m2 = ops_add_lanes(at, m2);
  m3 = ops_add_lanes(at, m3);
  m4 = ops_add_lanes(at, m4);
  const Moments moments = {n, mean, m2, m3, m4};
  if (at->thread == 0) a->records[at->block] = moments;
}

/* Column sums of parts [count][columns], in their order: of groups of KERNEL_FOLD parts, then of the groups. */
typedef enum OpsPartsOf { OPS_PARTS_FLOAT, OPS_PARTS_DOUBLE, OPS_PARTS_BF16 } OpsPartsOf;
typedef struct OpsFold {
  OpsPartsOf of;
  const void *parts;
  size_t count, columns;
  double *sums;           /* [columns] result as doubles ... */
  float *result;          /* ... or, rounded, here */
} OpsFold;

/* Several folds in one launch. A block has KERNEL_FOLD_COLUMNS columns of one, and a thread for each of them in each of
 * threads / KERNEL_FOLD_COLUMNS groups; shared memory: one double per thread. */
enum { KERNEL_FOLDS = 24, KERNEL_FOLD = 64, KERNEL_FOLD_COLUMNS = 8 };
typedef struct OpsFolds { int folds; OpsFold fold[KERNEL_FOLDS]; } OpsFolds;
CORE_DEVICE_FN unsigned ops_fold_blocks(const OpsFold *f) {
  return (unsigned)((f->columns + KERNEL_FOLD_COLUMNS - 1) / KERNEL_FOLD_COLUMNS);
}

CORE_DEVICE_FN double ops_fold_part(const OpsFold *f, OpsPartsOf of, size_t i) {
  if (of == OPS_PARTS_DOUBLE) return ((const double *)f->parts)[i];
  if (of == OPS_PARTS_FLOAT) return (double)((const float *)f->parts)[i];
  return (double)row_from_bf16(((const uint16_t *)f->parts)[i]);
}

/* Adds a group's parts of a column. `of` is constant where this is inlined: a branch at each load would serialize the
 * loads (34 us instead of 16 on an H200). Loads eight at once, and adds them one after the other. */
CORE_DEVICE_FN double ops_fold_group_of(const OpsFold *f, const OpsPartsOf of, size_t column, size_t group) {
  enum { AT_ONCE = 8 };
  const size_t first = group * KERNEL_FOLD, end = first + KERNEL_FOLD < f->count ? first + KERNEL_FOLD : f->count;
  double sum = 0;
  size_t part = first;
  for (; part + AT_ONCE <= end; part += AT_ONCE) {
    double x[AT_ONCE];
    CORE_DEVICE_UNROLL for (size_t k = 0; k < AT_ONCE; k++)
      x[k] = ops_fold_part(f, of, (part + k) * f->columns + column);
    CORE_DEVICE_UNROLL for (size_t k = 0; k < AT_ONCE; k++) sum += x[k];
  }
  for (; part < end; part++) sum += ops_fold_part(f, of, part * f->columns + column);
  return sum;
}

CORE_DEVICE_FN double ops_fold_group(const OpsFold *f, size_t column, size_t group) {
  if (f->of == OPS_PARTS_DOUBLE) return ops_fold_group_of(f, OPS_PARTS_DOUBLE, column, group);
  if (f->of == OPS_PARTS_FLOAT) return ops_fold_group_of(f, OPS_PARTS_FLOAT, column, group);
  return ops_fold_group_of(f, OPS_PARTS_BF16, column, group);
}

CORE_KERNEL_FN void ops_fold(const CoreDeviceThread *at, const OpsFolds *a) {
  const OpsFold *f = a->fold;
  unsigned block = at->block;
  for (; block >= ops_fold_blocks(f); f++) block -= ops_fold_blocks(f);

  const size_t groups = (f->count + KERNEL_FOLD - 1) / KERNEL_FOLD, at_once = at->threads / KERNEL_FOLD_COLUMNS;
  const size_t column = (size_t)block * KERNEL_FOLD_COLUMNS + at->thread % KERNEL_FOLD_COLUMNS;
  const size_t own = at->thread / KERNEL_FOLD_COLUMNS;
  double *of_group = (double *)at->shared, sum = 0;

  for (size_t first = 0; first < groups; first += at_once) {
    if (first + own < groups && column < f->columns) of_group[at->thread] = ops_fold_group(f, column, first + own);
    core_device_barrier(at);
    if (own == 0)
      for (size_t g = 0; g < at_once && first + g < groups; g++) sum += of_group[g * KERNEL_FOLD_COLUMNS + at->thread];
    core_device_barrier(at);
  }

  if (own > 0 || column >= f->columns) return;
  if (f->result) f->result[column] = (float)sum;
  else f->sums[column] = sum;
}

/* ---- elementwise ------------------------------------------------------------------------------------------------- */

typedef struct OpsAdd { float *x; const float *y; size_t n; } OpsAdd;
CORE_KERNEL_FN void ops_add(const CoreDeviceThread *at, const OpsAdd *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) a->x[i] += a->y[i];
}

typedef struct OpsNormalizeByMoments { float *x; size_t n; double shift, factor; } OpsNormalizeByMoments;
CORE_KERNEL_FN void ops_normalize_by_moments(const CoreDeviceThread *at, const OpsNormalizeByMoments *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at))
    a->x[i] = (float)(((double)a->x[i] - a->shift) * a->factor);
}

typedef struct OpsWithin { float *x; size_t n; double shift, factor, bound; } OpsWithin;
CORE_KERNEL_FN void ops_normalize_within(const CoreDeviceThread *at, const OpsWithin *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at))
    a->x[i] = row_normalize_within(a->x[i], a->shift, a->factor, a->bound);
}
CORE_KERNEL_FN void ops_denormalize_within(const CoreDeviceThread *at, const OpsWithin *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at))
    a->x[i] = row_denormalize_within(a->x[i], a->shift, a->factor, a->bound);
}

typedef struct OpsAdam { float *theta; const float *gradient; float *m, *v; size_t n; RowAdam factors; } OpsAdam;
CORE_KERNEL_FN void ops_adam(const CoreDeviceThread *at, const OpsAdam *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at))
    row_adam(&a->theta[i], a->gradient[i], &a->m[i], &a->v[i], a->factors);
}

typedef struct OpsEwma { float *proximal; const float *theta; size_t n; float share; } OpsEwma;
CORE_KERNEL_FN void ops_ewma(const CoreDeviceThread *at, const OpsEwma *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at))
    a->proximal[i] += a->share * (a->theta[i] - a->proximal[i]);
}

/* Rows of `words` 32-bit elements, or of `words` bytes. */
typedef struct OpsGather {
  const void *source;
  const uint32_t *index;
  void *target;
  size_t rows;
  CoreDivisor words;
  int bytes;
} OpsGather;
CORE_KERNEL_FN void ops_gather(const CoreDeviceThread *at, const OpsGather *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->words.number; i += core_device_stride(at)) {
    const CoreDivided at_row = core_divide(i, a->words);
    const size_t from = (size_t)a->index[at_row.whole] * a->words.number + at_row.rest;
    if (a->bytes) ((uint8_t *)a->target)[i] = ((const uint8_t *)a->source)[from];
    else ((uint32_t *)a->target)[i] = ((const uint32_t *)a->source)[from];
  }
}

/* Short rows of several arrays by one index: one thread per row of one array, so that neighbors read neighboring
 * indices. */
typedef struct OpsGatherFields {
  const uint32_t *index;
  CoreDivisor rows;
  size_t fields;
  OpsField field[OPS_FIELDS_MAX];
} OpsGatherFields;
CORE_KERNEL_FN void ops_gather_fields(const CoreDeviceThread *at, const OpsGatherFields *a) {
  for (size_t i = core_device_first(at); i < a->rows.number * a->fields; i += core_device_stride(at)) {
    const CoreDivided of_field = core_divide(i, a->rows);
    const OpsField *field = &a->field[of_field.whole];
    const size_t row = of_field.rest, shift = field->bytes % 4 == 0 ? 2 : field->bytes % 2 == 0 ? 1 : 0;
    const size_t unit = (size_t)1 << shift, units = field->bytes >> shift;
    const size_t from = a->index[row] * units, to = row * units;
    for (size_t k = 0; k < units; k++) {
      if (unit == 4) ((uint32_t *)field->target)[to + k] = ((const uint32_t *)field->source)[from + k];
      else if (unit == 2) ((uint16_t *)field->target)[to + k] = ((const uint16_t *)field->source)[from + k];
      else ((uint8_t *)field->target)[to + k] = ((const uint8_t *)field->source)[from + k];
    }
  }
}

/* The first element that is not finite: all exponent bits set. *first starts as n. */
typedef struct OpsNonfinite { const float *x; size_t n; uint64_t *first; } OpsNonfinite;
CORE_KERNEL_FN void ops_nonfinite(const CoreDeviceThread *at, const OpsNonfinite *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) {
    if ((fast_to_bits(a->x[i]) & 0x7f800000) != 0x7f800000) continue;
    core_device_atomic_min(a->first, i);
    return; /* a thread's later elements have larger indices */
  }
}

/* ---- generalized advantage estimation: a thread per world, from the last step to the first ----------------------- */

typedef struct OpsGae {
  float gamma, lambda, reward_scale;
  const float *reward, *value, *bootstrap;
  const uint8_t *done, *truncated;
  size_t steps, worlds;
  float *advantage, *target;
} OpsGae;

CORE_KERNEL_FN void ops_gae(const CoreDeviceThread *at, const OpsGae *a) {
  for (size_t w = core_device_first(at); w < a->worlds; w += core_device_stride(at)) {
    float next = 0;
    for (size_t t = a->steps; t-- > 0;) {
      const size_t i = t * a->worlds + w;
      const int cut = a->truncated ? a->truncated[i] : 0;
      const RowGae now = {a->reward_scale * a->reward[i], a->value[i], cut ? a->bootstrap[i] : a->value[i + a->worlds],
                          a->done[i], cut};
      next = row_gae(now, a->gamma, a->lambda, next, t + 1 < a->steps);
      a->advantage[i] = next;
      a->target[i] = a->value[i] + next;
    }
  }
}

/* ---- the episode statistics -------------------------------------------------------------------------------------- */

/* A step's rewards and finished episodes, one thread per world. Floating-point sums are per world, so that their order
 * is fixed; integer sums are global. */
typedef struct OpsCountEpisodes {
  const float *reward;
  const uint8_t *done, *solved;
  const int32_t *level, *length, *level_of_slot; /* the last NULL: levels are slots */
  double *returns, *finished; /* [worlds] of the running episode; of those that ended in this rollout */
  int64_t *attempts, *solutions, *count; /* [levels], [levels], [3]: episodes, steps, goals */
  int worlds, first_reported;
} OpsCountEpisodes;

CORE_KERNEL_FN void ops_count_episodes(const CoreDeviceThread *at, const OpsCountEpisodes *a) {
  for (size_t w = core_device_first(at); w < (size_t)a->worlds; w += core_device_stride(at)) {
    const double total = a->returns[w] + (double)a->reward[w];
    a->returns[w] = a->done[w] ? 0 : total;
    if (!a->done[w] || (int64_t)w < a->first_reported) continue;
    a->finished[w] += total;
    core_device_atomic_add(&a->count[0], 1);
    core_device_atomic_add(&a->count[1], a->length[w]);
    core_device_atomic_add(&a->count[2], a->solved[w]);
    /* new levels, in no set, are counted together (env.h) */
    const size_t slot = a->level[w] < 0 ? 0 : (size_t)a->level[w];
    const size_t level = a->level_of_slot ? (size_t)a->level_of_slot[slot] : slot;
    core_device_atomic_add(&a->attempts[level], 1);
    if (a->solved[w]) core_device_atomic_add(&a->solutions[level], 1);
  }
}

typedef struct OpsCountTrials {
  const uint8_t *done, *solved;
  size_t worlds;
  int64_t most, *episodes, *solutions; /* [worlds] */
} OpsCountTrials;

CORE_KERNEL_FN void ops_count_trials(const CoreDeviceThread *at, const OpsCountTrials *a) {
  for (size_t w = core_device_first(at); w < a->worlds; w += core_device_stride(at)) {
    if (!a->done[w] || a->episodes[w] == a->most) continue;
    a->episodes[w]++;
    a->solutions[w] += a->solved[w] != 0;
  }
}

#endif
