/* Kernels of what ranks and shards add up: weighted sums of gradients, folding shards in their order, and the columns that
 * a shard's worlds are. */
#ifndef TRAINER_OPS_KERNELS_RANKS_H
#define TRAINER_OPS_KERNELS_RANKS_H
#include "core/device_kernel.h"

/* x = keep x + share more, where a factor of 0 takes nothing: neither NaN nor what was never set. */
typedef struct OpsBlend {
  float *x;
  const float *more;      /* NULL: nothing is added */
  size_t n;
  float keep, share;
} OpsBlend;

CORE_KERNEL_FN void ops_blend(const CoreDeviceThread *at, const OpsBlend *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) {
    const float kept = a->keep != 0 ? a->keep * a->x[i] : 0;
    a->x[i] = a->more && a->share != 0 ? kept + a->share * a->more[i] : kept;
  }
}

/* mean[n] = the sum over shards of share[shard] of[shard][n], in float64 and in shard order. A share of 0 is a shard
 * without rows, which holds nothing. */
typedef struct OpsFoldShards {
  const float *of;
  const double *share;
  int shards;
  size_t n;
  float *mean;
} OpsFoldShards;

CORE_KERNEL_FN void ops_fold_shards(const CoreDeviceThread *at, const OpsFoldShards *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) {
    double total = 0;
    for (int s = 0; s < a->shards; s++)
      if (a->share[s] != 0) total += a->share[s] * (double)a->of[(size_t)s * a->n + i];
    a->mean[i] = (float)total;
  }
}

/* columns [rows][count] = those from `first` on of x [rows][of]. */
typedef struct OpsColumns {
  const float *x;
  size_t rows, of, first, count;
  float *columns;
} OpsColumns;

CORE_KERNEL_FN void ops_columns(const CoreDeviceThread *at, const OpsColumns *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->count; i += core_device_stride(at))
    a->columns[i] = a->x[i / a->count * a->of + a->first + i % a->count];
}

#endif
