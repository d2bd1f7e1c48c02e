/* Kernels for the division over ranks and shards: weighted sums of gradients, folding shards in their order, the
 * columns of a shard's worlds, and each rank's rows of a permutation. */
#ifndef TRAINER_OPS_KERNELS_RANKS_H
#define TRAINER_OPS_KERNELS_RANKS_H
#include "core/random.h"
#include "trainer/math/sapg_layout.h"

/* x = keep x + share more, where a factor of 0 ignores its operand, even NaN or uninitialized memory. */
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

/* x = this rank's share of it: *rows of `all` rows. Like ops_blend for a last micro-batch, but with the rows on the
 * device. */
typedef struct OpsWeigh { float *x; size_t n; const uint32_t *rows; double all; } OpsWeigh;

CORE_KERNEL_FN void ops_weigh(const CoreDeviceThread *at, const OpsWeigh *a) {
  const float share = (float)((double)*a->rows / a->all);
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at))
    a->x[i] = share != 0 ? share * a->x[i] : 0;
}

/* mean[n] = the sum over shards of share[shard] of[shard][n], in float64 and in shard order. A share of 0 is a shard
 * without rows, whose memory is undefined. */
typedef struct OpsFoldShards {
  const float *of;
  const double *shares;   /* [shards], or [parts][shards] */
  const uint64_t *step;   /* on the device: the part is *step % parts; NULL: there is one part */
  CoreDivisor parts;
  int shards;
  size_t n;
  float *mean;
} OpsFoldShards;

CORE_KERNEL_FN void ops_fold_shards(const CoreDeviceThread *at, const OpsFoldShards *a) {
  const double *share = a->shares + (a->step ? (size_t)core_divide(*a->step, a->parts).rest * (size_t)a->shards : 0);
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) {
    double total = 0;
    for (int s = 0; s < a->shards; s++)
      if (share[s] != 0) total += share[s] * (double)a->of[(size_t)s * a->n + i];
    a->mean[i] = (float)total;
  }
}

/* columns [rows][count] = those from `first` on of x [rows][of]. */
typedef struct OpsColumns {
  const float *x;
  size_t rows, of, first;
  CoreDivisor count;
  float *columns;
} OpsColumns;

CORE_DEVICE_FN void ops_column(const OpsColumns *a, size_t i) {
  const CoreDivided place = core_divide(i, a->count);
  a->columns[i] = a->x[place.whole * a->of + a->first + place.rest];
}
CORE_KERNEL_FN void ops_columns(const CoreDeviceThread *at, const OpsColumns *a) {
  const size_t n = a->rows * a->count.number;
  for (size_t i = core_device_first(at); i < n; i += core_device_stride(at)) ops_column(a, i);
}

/* ---- a rank's rows of minibatches -------------------------------------------------------------------------------- */

/* Lists a rank's rows part after part of a permutation, within a part shard after shard, within a shard in the
 * permutation's order. A part is divided into chunks, one thread each: ops_count_rows counts the rows of each shard,
 * ops_scan_rows computes where in a shard's rows of the part each chunk's begin, and, once the host has set where each
 * part's rows of a shard begin, ops_scatter_rows writes the rows to their positions. */
enum { OPS_CHUNK = 256 };

/* Unit of a permutation: the run's rows [steps][global_worlds]; its worlds, of which a part has all steps, one world
 * after the other; the sequences of SAPG's samples, one after the other. */
typedef enum OpsPermuted { OPS_ROWS, OPS_WORLDS, OPS_SEQUENCES } OpsPermuted;

typedef struct OpsChooseRows {
  const uint32_t *order;       /* the permutation */
  OpsPermuted of;
  SapgShare share;             /* OPS_SEQUENCES: division of the samples; rows are then samples */
  uint32_t part_rows, parts, steps;
  uint32_t last_rows;          /* rows of the last part, if it is larger than the others; else 0 */
  uint32_t global_worlds, first_world, worlds, shard_worlds, shards; /* the last four: this rank's */
  uint32_t *count;             /* [parts][chunks][shards] */
  uint32_t *total;             /* [parts][shards] rows; then their offsets */
  uint32_t *rows;              /* [steps * worlds], or one per sample, in this rank's numbering */
} OpsChooseRows;

CORE_DEVICE_FN uint32_t ops_rows_of(const OpsChooseRows *a, size_t part) {
  return part + 1 == a->parts && a->last_rows > 0 ? a->last_rows : a->part_rows;
}
CORE_DEVICE_FN size_t ops_chunks(const OpsChooseRows *a) { /* Returns the chunks of the largest part. */
  return ((size_t)ops_rows_of(a, a->parts - 1) + OPS_CHUNK - 1) / OPS_CHUNK;
}

typedef struct OpsChosen { int is_own; uint32_t row, shard; } OpsChosen;
CORE_DEVICE_FN OpsChosen ops_chosen_sample(const OpsChooseRows *a, size_t i) {
  const size_t length = (size_t)a->share.layout.sequence;
  const int64_t own = sapg_local_index(&a->share, sapg_sample(&a->share.layout, a->order[i / length],
                                                              (uint32_t)(i % length)));
  OpsChosen chosen = {own >= 0, (uint32_t)own, 0};
  if (own >= 0) chosen.shard = sapg_row(&a->share, (uint32_t)own) % a->worlds / a->shard_worlds;
  return chosen;
}
CORE_DEVICE_FN OpsChosen ops_chosen(const OpsChooseRows *a, size_t part, uint32_t i) {
  uint32_t step, world;
  if (a->of == OPS_SEQUENCES) return ops_chosen_sample(a, part * a->part_rows + i);
  if (a->of == OPS_WORLDS) {
    step = i % a->steps;
    world = a->order[part * (a->part_rows / a->steps) + i / a->steps];
  } else {
    const uint32_t row = a->order[part * a->part_rows + i];
    step = row / a->global_worlds;
    world = row % a->global_worlds;
  }
  world -= a->first_world; /* wraps to a huge value for another rank's */
  const OpsChosen chosen = {world < a->worlds, step * a->worlds + world, world / a->shard_worlds};
  return chosen;
}

/* order[parts][blocks]: units in an order that is not a permutation of all. The unit of a run are numbered world after
 * world; `parts` neighbors are a block. Shuffled: part m gets a random unit of each block, by a permutation of each
 * block of its own. Otherwise part m gets the m-th slice of `blocks` neighbors. The order of OPS_ROWS holds the run's
 * rows. */
typedef struct OpsUnitOrder {
  OpsPermuted of;
  int is_shuffled;
  uint64_t seed;               /* below 2^32 */
  uint32_t iteration, epoch;
  uint32_t parts, blocks, first_block; /* first_block: of this order */
  uint32_t steps, global_worlds;
  uint32_t *order;
} OpsUnitOrder;

CORE_DEVICE_FN uint32_t ops_unit(const OpsUnitOrder *a, uint32_t unit) {
  return a->of == OPS_ROWS ? unit % a->steps * a->global_worlds + unit / a->steps : unit;
}
CORE_DEVICE_FN void ops_order_block(const OpsUnitOrder *a, size_t i) {
  const uint32_t block = a->first_block + (uint32_t)i;
  uint32_t *order = a->order + i;

  if (!a->is_shuffled) {
    for (uint32_t m = 0; m < a->parts; m++) order[(size_t)m * a->blocks] = ops_unit(a, m * a->blocks + block);
    return;
  }

  CoreRandomStream stream =
    core_random_stream(a->seed | (uint64_t)block << 32, CORE_RANDOM_BLOCK, a->iteration, a->epoch);
  for (uint32_t m = 0; m < a->parts; m++) { /* as core_random_permutation */
    const uint32_t j = core_random_below(core_random_next(&stream), m + 1);
    order[(size_t)m * a->blocks] = order[(size_t)j * a->blocks];
    order[(size_t)j * a->blocks] = m;
  }

  for (uint32_t m = 0; m < a->parts; m++)
    order[(size_t)m * a->blocks] = ops_unit(a, block * a->parts + order[(size_t)m * a->blocks]);
}
CORE_KERNEL_FN void ops_order_units(const CoreDeviceThread *at, const OpsUnitOrder *a) {
  for (size_t i = core_device_first(at); i < a->blocks; i += core_device_stride(at)) ops_order_block(a, i);
}

/* rows[parts][part_rows]: this rank's, of an order that holds its own units only. */
CORE_KERNEL_FN void ops_own_rows(const CoreDeviceThread *at, const OpsChooseRows *a) {
  const size_t n = (size_t)a->parts * a->part_rows;
  for (size_t i = core_device_first(at); i < n; i += core_device_stride(at))
    a->rows[i] = ops_chosen(a, i / a->part_rows, (uint32_t)(i % a->part_rows)).row;
}

CORE_KERNEL_FN void ops_count_rows(const CoreDeviceThread *at, const OpsChooseRows *a) {
  const size_t chunks = ops_chunks(a);
  for (size_t c = core_device_first(at); c < a->parts * chunks; c += core_device_stride(at)) {
    const uint32_t first = (uint32_t)(c % chunks) * OPS_CHUNK, all = ops_rows_of(a, c / chunks);
    uint32_t *count = a->count + c * a->shards;
    for (uint32_t s = 0; s < a->shards; s++) count[s] = 0;
    for (uint32_t i = first; i < first + OPS_CHUNK && i < all; i++) {
      const OpsChosen chosen = ops_chosen(a, c / chunks, i);
      if (chosen.is_own) count[chosen.shard]++;
    }
  }
}

CORE_KERNEL_FN void ops_scan_rows(const CoreDeviceThread *at, const OpsChooseRows *a) {
  const size_t chunks = ops_chunks(a);
  for (size_t i = core_device_first(at); i < (size_t)a->parts * a->shards; i += core_device_stride(at)) {
    uint32_t *count = a->count + i / a->shards * chunks * a->shards + i % a->shards, sum = 0;
    for (size_t c = 0; c < chunks; c++) {
      const uint32_t own = count[c * a->shards];
      count[c * a->shards] = sum;
      sum += own;
    }
    a->total[i] = sum;
  }
}

CORE_KERNEL_FN void ops_scatter_rows(const CoreDeviceThread *at, const OpsChooseRows *a) {
  const size_t chunks = ops_chunks(a);
  for (size_t c = core_device_first(at); c < a->parts * chunks; c += core_device_stride(at)) {
    const uint32_t first = (uint32_t)(c % chunks) * OPS_CHUNK, *begin = a->total + c / chunks * a->shards;
    const uint32_t all = ops_rows_of(a, c / chunks);
    uint32_t *position = a->count + c * a->shards;
    for (uint32_t i = first; i < first + OPS_CHUNK && i < all; i++) {
      const OpsChosen chosen = ops_chosen(a, c / chunks, i);
      if (chosen.is_own) a->rows[begin[chosen.shard] + position[chosen.shard]++] = chosen.row;
    }
  }
}

/* Converts this rank's rows to rows of the run. */
typedef struct OpsRunRows {
  const uint32_t *rows;
  size_t n;
  uint32_t worlds, global_worlds, first_world;
  uint32_t *of_run;
} OpsRunRows;
CORE_KERNEL_FN void ops_run_rows(const CoreDeviceThread *at, const OpsRunRows *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at))
    a->of_run[i] = a->rows[i] / a->worlds * a->global_worlds + a->first_world + a->rows[i] % a->worlds;
}

#endif
