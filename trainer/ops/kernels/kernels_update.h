/* Kernels of updates without the host (update.h): norms of gradients, the decision, the step; and the parts of a
 * minibatch that depend on its index. Sums have the order given by the host (device.c). */
#ifndef TRAINER_OPS_KERNELS_UPDATE_H
#define TRAINER_OPS_KERNELS_UPDATE_H
#include "trainer/math/estimators.h"
#include "trainer/ops/kernels/kernels_policy.h"
#include "trainer/ops/kernels/kernels_rows.h"
#include "trainer/ops/kernels/kernels_vector.h"
#include "trainer/ops/update.h"

/* ---- rows and noise of the current step's minibatch -------------------------------------------------------------- */

typedef struct OpsTakeRows {
  const OpsUpdateStats *stats;
  const uint32_t *order;
  CoreDivisor parts;
  size_t count;
  CoreDivisor32 steps;
  uint32_t worlds;
  uint32_t *rows;
} OpsTakeRows;
CORE_KERNEL_FN void ops_current_rows(const CoreDeviceThread *at, const OpsTakeRows *a) {
  const uint32_t *things = a->order + core_divide(a->stats->step, a->parts).rest * a->count;
  for (size_t i = core_device_first(at); i < a->count * a->steps.number; i += core_device_stride(at))
    a->rows[i] = a->steps.number == 1 ? things[i] : ops_world_row(things, (uint32_t)i, a->steps, a->worlds);
}

/* A shard's rows of the current step's part, padded to `capacity` (update.h, current_shard_rows). */
typedef struct OpsTakePiece {
  const OpsUpdateStats *stats;
  OpsPartRows part;
  int shard;
  uint32_t *rows, *of_run, *count;
  CoreDivisor parts;
  CoreDivisor32 worlds;
} OpsTakePiece;
CORE_KERNEL_FN void ops_current_shard_rows(const CoreDeviceThread *at, const OpsTakePiece *a) {
  const OpsPartRows *part = &a->part;
  const size_t of_step = core_divide(a->stats->step, a->parts).rest;
  const size_t segment = of_step * (size_t)part->shards + (size_t)a->shard;
  const uint32_t begin = part->begins[segment], count = part->begins[segment + 1] - begin;
  for (size_t i = core_device_first(at); i < (size_t)part->capacity; i += core_device_stride(at)) {
    const uint32_t row = count ? part->rows[begin + (i < count ? i : 0)] : 0;
    a->rows[i] = row;
    const CoreDivided32 of_world = core_divide_32(row, a->worlds);
    a->of_run[i] = of_world.whole * part->global_worlds + part->first_world + of_world.rest;
  }
  if (core_device_first(at) == 0) *a->count = count;
}

typedef struct OpsAddSums { OpsUpdateStats *stats; int begin; } OpsAddSums;
CORE_KERNEL_FN void ops_add_sums(const CoreDeviceThread *at, const OpsAddSums *a) {
  OpsUpdateStats *stats = a->stats;
  for (size_t i = core_device_first(at); i < OPS_STATS_SUMS; i += core_device_stride(at))
    stats->all[i] = a->begin ? stats->now[i] : stats->all[i] + stats->now[i];
}

typedef struct OpsNormalsOfStep {
  const OpsUpdateStats *stats;
  uint64_t seed;
  uint32_t purpose;
  const uint32_t *index;
  size_t rows, columns;
  float *noise;
} OpsNormalsOfStep;
CORE_KERNEL_FN void ops_normals_of_step(const CoreDeviceThread *at, const OpsNormalsOfStep *a) {
  const uint64_t step = a->stats->earlier + a->stats->step, seed = a->seed ^ (step & 0xffffffff00000000u);
  for (size_t r = core_device_first(at); r < a->rows; r += core_device_stride(at)) {
    double normal[OPS_FACTORS_MAX];
    row_draw_normals(seed, a->purpose, a->index[r], (uint32_t)step, (int)a->columns, normal);
    for (size_t k = 0; k < a->columns; k++) a->noise[r * a->columns + k] = (float)normal[k];
  }
}

/* ---- normalization by a minibatch's own moments: ops_moment_parts, then these ------------------------------------ */

typedef struct OpsSpread { double shift, factor; } OpsSpread;
typedef struct OpsSpreadOfParts {
  const Moments *records;
  size_t count;
  int unbiased;
  OpsSpread *spread;
} OpsSpreadOfParts;
/* One block, with one record per thread; they are merged one after the other. */
CORE_KERNEL_FN void ops_spread(const CoreDeviceThread *at, const OpsSpreadOfParts *a) {
  Moments *fetched = (Moments *)at->shared, all = {0, 0, 0, 0, 0};
  for (size_t first = 0; first < a->count; first += at->threads) {
    if (first + at->thread < a->count) fetched[at->thread] = a->records[first + at->thread];
    core_device_barrier(at);
    if (at->thread == 0)
      for (size_t i = 0; i < at->threads && first + i < a->count; i++) moments_merge(&all, &fetched[i]);
    core_device_barrier(at);
  }
  if (at->thread > 0) return;
  const double variance = a->unbiased ? moments_variance_unbiased(&all) : moments_variance(&all);
  a->spread->shift = all.mean;
  a->spread->factor = 1 / (sqrt(variance) + 1e-8);
}

/* *record = the merge of parts [count]. */
typedef struct OpsMergeRecords { const Moments *parts; size_t count; Moments *record; } OpsMergeRecords;
CORE_KERNEL_FN void ops_merge_records(const CoreDeviceThread *at, const OpsMergeRecords *a) {
  if (core_device_first(at) > 0) return;
  Moments all = {0, 0, 0, 0, 0};
  for (size_t i = 0; i < a->count; i++) moments_merge(&all, &a->parts[i]);
  *a->record = all;
}

typedef struct OpsNormalizeBy { float *x; size_t n; const OpsSpread *spread; } OpsNormalizeBy;
CORE_KERNEL_FN void ops_normalize_by(const CoreDeviceThread *at, const OpsNormalizeBy *a) {
  const OpsSpread spread = *a->spread;
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at))
    a->x[i] = (float)(((double)a->x[i] - spread.shift) * spread.factor);
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

typedef struct OpsUpdateStep {
  OpsUpdatePlan plan;
  size_t size[OPS_UPDATE_NETWORKS];  /* elements of a part of the gradient */
  unsigned count[OPS_UPDATE_NETWORKS]; /* parts: the blocks of the first network's come first */
} OpsUpdateStep;

/* A part's sum of squares has KERNEL_LANES interleaved sums, as on the CPU: too few threads to hide the latency of
 * device memory. So a block of more threads loads the entries, KERNEL_SQUARES at a time, and leaves their squares in
 * shared memory: KERNEL_SQUARES doubles. */
enum { KERNEL_SQUARES_THREADS = 256, KERNEL_SQUARES_EACH = 16, KERNEL_SQUARES = 4096 };

/* Squares `count` entries. A thread loads all of its own before it stores the first. */
CORE_KERNEL_FN void ops_square_entries(const CoreDeviceThread *at, const float *gradient, size_t count,
                                       double *square) {
  float x[KERNEL_SQUARES_EACH];
  CORE_DEVICE_UNROLL for (size_t j = 0; j < KERNEL_SQUARES_EACH; j++) {
    const size_t i = at->thread + j * KERNEL_SQUARES_THREADS;
    x[j] = i < count ? gradient[i] : 0;
  }
  CORE_DEVICE_UNROLL for (size_t j = 0; j < KERNEL_SQUARES_EACH; j++)
    square[at->thread + j * KERNEL_SQUARES_THREADS] = (double)x[j] * (double)x[j];
}

/* Adds a lane's squares, several of which are loaded at once. */
CORE_KERNEL_FN double ops_add_squares(const double *square, size_t lane, size_t count, double sum) {
  enum { AT_ONCE = 16 };
  size_t i = lane;
  for (; i + (AT_ONCE - 1) * KERNEL_LANES < count; i += AT_ONCE * KERNEL_LANES) {
    double x[AT_ONCE];
    CORE_DEVICE_UNROLL for (size_t j = 0; j < AT_ONCE; j++) x[j] = square[i + j * KERNEL_LANES];
    CORE_DEVICE_UNROLL for (size_t j = 0; j < AT_ONCE; j++) sum += x[j];
  }
  for (; i < count; i += KERNEL_LANES) sum += square[i];
  return sum;
}

CORE_KERNEL_FN void ops_gradient_parts(const CoreDeviceThread *at, const OpsUpdateStep *a) {
  const unsigned k = at->block < a->count[0] ? 0 : 1;
  const OpsPart part = ops_part(a->plan.network[k].n, a->size[k], at->block - (k ? a->count[0] : 0));
  double *square = (double *)at->shared, sum = 0;

  for (size_t first = part.first; first < part.end; first += KERNEL_SQUARES) {
    const size_t left = part.end - first, count = left < KERNEL_SQUARES ? left : KERNEL_SQUARES;
    core_device_barrier(at); /* the previous squares are added */
    ops_square_entries(at, a->plan.network[k].gradient + first, count, square);
    core_device_barrier(at);
    if (at->thread < KERNEL_LANES) sum = ops_add_squares(square, at->thread, count, sum);
  }

  core_device_barrier(at);
  if (at->thread < KERNEL_LANES) square[at->thread] = sum;
  core_device_barrier(at);
  if (at->thread > 0) return;

  sum = 0;
  for (unsigned lane = 0; lane < KERNEL_LANES; lane++) sum += square[lane];
  a->plan.parts[at->block] = sum;
}

/* Whether the losses that are minimized are finite; the others are diagnostics. */
CORE_KERNEL_FN int ops_stats_is_finite(const double *sums) {
  return isfinite(sums[OPS_STATS_POLICY]) && isfinite(sums[OPS_STATS_ENTROPY]) && isfinite(sums[OPS_STATS_VALUE]) &&
         isfinite(sums[OPS_STATS_SAMPLED_ENTROPY]) && isfinite(sums[OPS_STATS_REGULARIZE + 1]) &&
         isfinite(sums[OPS_STATS_KL_PENALTY]);
}

/* Decides on the step and adds it to the statistics, except for the means. Returns whether there is a step. */
CORE_KERNEL_FN int ops_take_step(const OpsUpdatePlan *plan, const double *sums, const double *norm,
                                 OpsUpdateStats *stats) {
  if (stats->failed || stats->stopped) return 0;
  if (!ops_stats_is_finite(sums) || !isfinite(norm[0]) || !isfinite(norm[1])) {
    stats->failed = stats->step + 1;
    return 0;
  }

  if (plan->k3_limit > 0 && sums[OPS_STATS_K3] / plan->rows > plan->k3_limit) {
    stats->stopped = 1;
    return 0;
  }

  const double both = hypot(norm[0], norm[1]);
  stats->joint += both;
  for (int k = 0; k < plan->networks; k++) {
    int clipped;
    stats->scale[k] = (float)ops_clip_factor(plan->joint ? both : norm[k], plan->max_norm, plan->norm_epsilon,
                                             &clipped);
    stats->norm[k] += norm[k];
    stats->clipped[k] += clipped;
    if (norm[k] > stats->norm_max[k]) stats->norm_max[k] = norm[k];
  }

  stats->at = stats->step++;
  return 1;
}

/* Memory of ops_decide: in a thread's sequence of loads and stores, each would wait for device memory. */
typedef struct OpsDecision {
  OpsUpdateStats stats;
  double norm[OPS_UPDATE_NETWORKS];
  int is_step;
} OpsDecision;
CORE_DEVICE_FN size_t ops_decide_shared(unsigned parts) { return sizeof(OpsDecision) + parts * sizeof(double); }
CORE_KERNEL_FN void ops_copy_stats(const CoreDeviceThread *at, const OpsUpdateStats *from, OpsUpdateStats *to) {
  for (unsigned i = at->thread; i < sizeof *to / sizeof(uint64_t); i += at->threads)
    ((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
}

/* One block: computes the step's clipping factors and the statistics; or that there is no step. One thread per network
 * adds its parts, so that both are added at once, and one per loss divides its sum. */
CORE_KERNEL_FN void ops_decide(const CoreDeviceThread *at, const OpsUpdateStep *a) {
  const OpsUpdatePlan *plan = &a->plan;
  OpsDecision *here = (OpsDecision *)at->shared;
  const double *sums = plan->divided ? here->stats.all : here->stats.now;
  double *part = (double *)(here + 1);

  for (unsigned i = at->thread; i < a->count[0] + a->count[1]; i += at->threads) part[i] = plan->parts[i];
  ops_copy_stats(at, plan->stats, &here->stats);
  core_device_barrier(at);

  if (at->thread < OPS_UPDATE_NETWORKS) {
    const unsigned first = at->thread ? a->count[0] : 0, end = first + a->count[at->thread];
    double sum = 0;
    for (unsigned i = first; i < end; i++) sum += part[i];
    here->norm[at->thread] = sqrt(sum);
  }
  core_device_barrier(at);

  if (at->thread == 0) here->is_step = ops_take_step(plan, sums, here->norm, &here->stats);
  core_device_barrier(at);
  if (here->is_step && at->thread < OPS_STATS_SUMS) here->stats.mean[at->thread] += sums[at->thread] / plan->rows;
  core_device_barrier(at);

  ops_copy_stats(at, &here->stats, plan->stats);
}

/* Moves a proximal weight after its parameter's step. */
CORE_KERNEL_FN void ops_follow(const OpsUpdateScalars *now, float theta, float *proximal) {
  if (now->copies) *proximal = theta;
  else *proximal += now->share * (theta - *proximal);
}

/* Steps by Adam, one thread per parameter, and moves the proximal weights of the first network. */
CORE_KERNEL_FN void ops_descend(const CoreDeviceThread *at, const OpsUpdateStep *a) {
  const OpsUpdatePlan *plan = &a->plan;
  if (plan->stats->failed || plan->stats->stopped) return;
  const OpsUpdateScalars *now = &plan->scalars[plan->stats->at];
  const size_t first = plan->network[0].n, all = first + (plan->networks > 1 ? plan->network[1].n : 0);
  for (size_t e = core_device_first(at); e < all; e += core_device_stride(at)) {
    const int k = e >= first;
    const size_t i = k ? e - first : e;
    const OpsUpdateNetwork *network = &plan->network[k];
    OpsAdamScalars scalars = now->adam[k];
    scalars.scale = plan->stats->scale[k];
    row_adam(&network->theta[i], network->gradient[i], &network->m[i], &network->v[i], scalars);
    if (k == 0 && plan->proximal) ops_follow(now, network->theta[i], &plan->proximal[i]);
  }
}

/* ---- measurements of a step -------------------------------------------------------------------------------------- */

typedef struct OpsSilent {
  OpsRowsOfHead p;
  const float *ref_logp, *advantage;
  double epsilon;
  double *sums;                /* [blocks][KERNEL_SUMS], the first of each */
} OpsSilent;
CORE_KERNEL_FN void ops_zero_grad(const CoreDeviceThread *at, const OpsSilent *a) {
  const size_t r = core_device_first(at);
  double own[KERNEL_SUMS] = {0, 0, 0, 0, 0};
  if (r < ops_counted(a->p.count, a->p.rows)) {
    const double l = (double)ops_logp_of(&a->p, a->p.actions, r) - (double)a->ref_logp[r];
    own[0] = estimators_no_gradient(l, (double)a->advantage[r], a->epsilon);
  }
  ops_sum_rows(at, own, a->sums);
}

/* Adds the `count` values of each thread of a block, a power of two of threads, by a tree; own[] becomes the sums.
 * Shared memory: `count` doubles per thread. */
CORE_KERNEL_FN void ops_add_by_tree(const CoreDeviceThread *at, const unsigned count, double *own) {
  double *value = (double *)at->shared + at->thread;
  core_device_barrier(at); /* earlier values are not read any more */
  CORE_DEVICE_UNROLL for (unsigned k = 0; k < count; k++) value[k * at->threads] = own[k];
  for (unsigned half = at->threads / 2; half > 0; half /= 2) {
    core_device_barrier(at);
    if (at->thread >= half) continue;
    CORE_DEVICE_UNROLL for (unsigned k = 0; k < count; k++) value[k * at->threads] += value[k * at->threads + half];
  }
  core_device_barrier(at);
  CORE_DEVICE_UNROLL for (unsigned k = 0; k < count; k++) own[k] = ((const double *)at->shared)[k * at->threads];
}

/* Likewise returns the largest value of all threads. */
CORE_KERNEL_FN double ops_max_by_tree(const CoreDeviceThread *at, double own) {
  double *value = (double *)at->shared + at->thread;
  core_device_barrier(at);
  *value = own;
  for (unsigned half = at->threads / 2; half > 0; half /= 2) {
    core_device_barrier(at);
    if (at->thread < half && value[half] > *value) *value = value[half];
  }
  core_device_barrier(at);
  return *(const double *)at->shared;
}

enum { KERNEL_MERGED = 3 };    /* doubles of shared memory per thread */
/* Merges the moments of all threads of a block about their common mean, which is computed from differences to the
 * largest mean, so that equal values have exactly no spread. One division, where moments_merge has seven. */
CORE_KERNEL_FN Moments ops_merge_by_tree(const CoreDeviceThread *at, const Moments *own) {
  const double base = ops_max_by_tree(at, own->n > 0 ? own->mean : -INFINITY);
  double sum[2] = {own->n, own->n > 0 ? own->n * (own->mean - base) : 0};
  ops_add_by_tree(at, 2, sum);
  const double mean = sum[0] > 0 ? base + sum[1] / sum[0] : 0, d = own->n > 0 ? own->mean - mean : 0, square = d * d;
  double power[KERNEL_MERGED] = {own->m2 + own->n * square, own->m3 + 3 * d * own->m2 + own->n * square * d,
                                 own->m4 + 4 * d * own->m3 + 6 * square * own->m2 + own->n * square * square};
  ops_add_by_tree(at, KERNEL_MERGED, power);
  const Moments merged = {sum[0], mean, power[0], power[1], power[2]};
  return merged;
}

/* Sums of powers of the differences to the first of some values. Moments computed from them lose no more digits than
 * the values' number has, since the first value is one of them. */
typedef struct OpsPowers { double n, base, d1, d2, d3, d4; } OpsPowers;
CORE_KERNEL_FN void ops_add_power(OpsPowers *p, double x) {
  if (p->n == 0) p->base = x;
  const double d = x - p->base, square = d * d;
  p->n += 1;
  p->d1 += d;
  p->d2 += square;
  p->d3 += square * d;
  p->d4 += square * square;
}
CORE_KERNEL_FN Moments ops_moments_of_powers(const OpsPowers *p) {
  const double by = p->n > 0 ? p->d1 / p->n : 0, square = by * by;
  const Moments moments = {p->n, p->base + by, p->d2 - p->n * square, p->d3 - 3 * by * p->d2 + 2 * p->n * square * by,
                           p->d4 - 4 * by * p->d3 + 6 * square * p->d2 - 3 * p->n * square * square};
  return moments;
}

/* ops_descend with measurements: of each part of a network, the moments of the logarithms of its gradient's nonzero
 * entries (kurtosis.h), and in plan.parts the squared length of its step. A block per part. A thread loads several
 * parameters before it steps the first. */
typedef struct OpsMeasuredStep {
  OpsUpdateStep step;
  Moments *records;            /* [parts of both networks] */
} OpsMeasuredStep;
enum { KERNEL_MEASURE_THREADS = 512, KERNEL_MEASURE_AT_ONCE = 8 };

/* Steps a thread's parameters from `first` on, KERNEL_MEASURE_THREADS apart, and returns the sum of the squares of
 * their changes. */
CORE_KERNEL_FN double ops_step_several(const OpsUpdatePlan *plan, const OpsUpdateScalars *now, int k, size_t first,
                                       size_t end, OpsPowers *logarithms) {
  enum { AT_ONCE = KERNEL_MEASURE_AT_ONCE, APART = KERNEL_MEASURE_THREADS };
  const OpsUpdateNetwork *network = &plan->network[k];
  OpsAdamScalars scalars = now->adam[k];
  float gradient[AT_ONCE], theta[AT_ONCE], m[AT_ONCE], v[AT_ONCE];
  double sum = 0;

  scalars.scale = plan->stats->scale[k];
  CORE_DEVICE_UNROLL for (size_t j = 0; j < AT_ONCE; j++) {
    const size_t i = first + j * APART < end ? first + j * APART : first;
    gradient[j] = network->gradient[i];
    theta[j] = network->theta[i];
    m[j] = network->m[i];
    v[j] = network->v[i];
  }

  CORE_DEVICE_UNROLL for (size_t j = 0; j < AT_ONCE; j++) {
    const size_t i = first + j * APART;
    if (i >= end) continue;
    const double before = (double)theta[j];
    row_adam(&theta[j], gradient[j], &m[j], &v[j], scalars);
    network->theta[i] = theta[j];
    network->m[i] = m[j];
    network->v[i] = v[j];
    if (k == 0 && plan->proximal) ops_follow(now, theta[j], &plan->proximal[i]);
    sum += ((double)theta[j] - before) * ((double)theta[j] - before);
    if (gradient[j] != 0) ops_add_power(logarithms, log(fabs((double)gradient[j]) + KURTOSIS_FLOOR));
  }

  return sum;
}

/* Steps a part of a network and measures it. Shared memory: KERNEL_MERGED doubles per thread. */
CORE_KERNEL_FN void ops_descend_measured(const CoreDeviceThread *at, const OpsMeasuredStep *a) {
  const OpsUpdatePlan *plan = &a->step.plan;
  const int k = at->block >= a->step.count[0];
  const OpsPart part = ops_part(plan->network[k].n, a->step.size[k], at->block - (k ? a->step.count[0] : 0));
  OpsPowers logarithms = {0, 0, 0, 0, 0, 0};
  double sum = 0;
  if (plan->stats->failed || plan->stats->stopped) return;
  for (size_t i = part.first + at->thread; i < part.end; i += KERNEL_MEASURE_AT_ONCE * KERNEL_MEASURE_THREADS)
    sum += ops_step_several(plan, &plan->scalars[plan->stats->at], k, i, part.end, &logarithms);
  ops_add_by_tree(at, 1, &sum);
  const Moments own = ops_moments_of_powers(&logarithms), merged = ops_merge_by_tree(at, &own);
  if (at->thread > 0) return;
  plan->parts[at->block] = sum;
  a->records[at->block] = merged;
}

/* Merges the parts of a network, one per thread, into the statistics: a block per network. Shared memory: KERNEL_MERGED
 * doubles per thread. */
CORE_KERNEL_FN void ops_measure_step(const CoreDeviceThread *at, const OpsMeasuredStep *a) {
  const unsigned k = at->block, first = k ? a->step.count[0] : 0;
  OpsUpdateStats *stats = a->step.plan.stats;
  Moments own = {0, 0, 0, 0, 0};
  double sum = 0;

  if (stats->failed || stats->stopped) return;
  if (at->thread < a->step.count[k]) {
    own = a->records[first + at->thread];
    sum = a->step.plan.parts[first + at->thread];
  }

  ops_add_by_tree(at, 1, &sum);
  const Moments merged = ops_merge_by_tree(at, &own);
  if (at->thread > 0) return;

  const Kurtosis kurtosis = kurtosis_of_moments(merged, (double)a->step.plan.network[k].n);
  Kurtosis *total = &stats->kurtosis[k];
  total->all += kurtosis.all;
  total->nonzero += kurtosis.nonzero;
  total->zero_fraction += kurtosis.zero_fraction;
  stats->step_norm[k] += sqrt(sum);
}

#endif
