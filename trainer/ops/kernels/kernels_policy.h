/* Kernels of heads and losses: one thread per row, around the rows' functions (row_policy_internal.h,
 * row_gaussian_internal.h). Sums over rows are computed in blocks of KERNEL_ROWS in row order, as on the CPU. */
#ifndef TRAINER_OPS_KERNELS_POLICY_H
#define TRAINER_OPS_KERNELS_POLICY_H
#include "trainer/ops/row_gaussian_internal.h"
#include "trainer/ops/row_policy_internal.h"

enum { KERNEL_ROWS = 128, KERNEL_SUMS = 5 };

/* Tile of KERNEL_ROWS rows, whose sums are computed by a block of as many threads, or more, of which each of the first
 * has a row. */
typedef struct OpsRowTile {
  size_t index;
  void *shared;
} OpsRowTile;
CORE_KERNEL_FN OpsRowTile ops_row_tile(const CoreDeviceThread *at) {
  const OpsRowTile tile = {at->block, at->shared};
  return tile;
}
/* Returns the thread's row; SIZE_MAX: it has none. */
CORE_KERNEL_FN size_t ops_row_of_tile(const CoreDeviceThread *at, OpsRowTile tile) {
  return at->thread < KERNEL_ROWS ? tile.index * KERNEL_ROWS + at->thread : SIZE_MAX;
}

/* Writes sums[tile][KERNEL_SUMS] of the rows of a tile; a row past the end has zeros. */
CORE_KERNEL_FN void ops_sum_tile(const CoreDeviceThread *at, OpsRowTile tile, const double *own, double *sums) {
  double *rows = (double *)tile.shared;
  for (int k = 0; k < KERNEL_SUMS && at->thread < KERNEL_ROWS; k++)
    rows[at->thread * KERNEL_SUMS + (unsigned)k] = own[k];
  core_device_barrier(at);
  if (at->thread >= KERNEL_SUMS) return;
  double sum = 0;
  for (int r = 0; r < KERNEL_ROWS; r++) sum += rows[r * KERNEL_SUMS + (int)at->thread];
  sums[tile.index * KERNEL_SUMS + at->thread] = sum;
}
CORE_KERNEL_FN void ops_sum_rows(const CoreDeviceThread *at, const double *own, double *sums) {
  ops_sum_tile(at, ops_row_tile(at), own, sums);
}

/* Common arguments of a policy's kernels. */
typedef struct OpsRowsOfHead {
  OpsHead head;
  const float *logits;
  const void *actions;
  size_t rows;
  const uint32_t *count;  /* rows from *count on are padding, which losses ignore. NULL: there are none */
} OpsRowsOfHead;
CORE_DEVICE_FN size_t ops_counted(const uint32_t *count, size_t rows) { return count ? *count : rows; }
CORE_KERNEL_FN void ops_zero_row(float *row, size_t columns) {
  for (size_t c = 0; c < columns; c++) row[c] = 0;
}

CORE_DEVICE_FN const float *ops_logits_of(const OpsRowsOfHead *p, size_t r) {
  return p->logits + r * (size_t)p->head.logits;
}
CORE_DEVICE_FN float ops_logp_of(const OpsRowsOfHead *p, const void *actions, size_t r) {
  const size_t at = r * (size_t)p->head.factors;
  if (p->head.kind == OPS_MULTI_DISCRETE)
    return row_categorical_logp(&p->head, ops_logits_of(p, r), (const uint8_t *)actions + at);
  return row_gaussian_logp(&p->head, ops_logits_of(p, r), (const float *)actions + at);
}

/* ---- acting ------------------------------------------------------------------------------------------------------ */

typedef struct OpsSample {
  OpsRowsOfHead p;
  uint64_t seed;
  uint32_t purpose, first_world, step;
  const OpsClock *clock;       /* NULL, or `step` and `first_world` count from *clock on, and the seed is combined with
                                * the upper half of the step */
  void *actions;
  float *logp;
} OpsSample;

CORE_KERNEL_FN void ops_sample(const CoreDeviceThread *at, const OpsSample *a) {
  const uint64_t now = a->clock ? a->clock->step + a->step : a->step, seed = a->seed ^ (now & 0xffffffff00000000u);
  const uint32_t step = (uint32_t)now, first_world = a->first_world + (a->clock ? (uint32_t)a->clock->world : 0);
  for (size_t r = core_device_first(at); r < a->p.rows; r += core_device_stride(at)) {
    const size_t first = r * (size_t)a->p.head.factors;
    const uint32_t world = first_world + (uint32_t)r;
    const float *logits = ops_logits_of(&a->p, r);
    if (a->p.head.kind == OPS_MULTI_DISCRETE) {
      a->logp[r] = row_categorical_sample(&a->p.head, logits, seed, a->purpose, world, step,
                                          (uint8_t *)a->actions + first);
      continue;
    }
    row_gaussian_sample(&a->p.head, logits, seed, a->purpose, world, step, (float *)a->actions + first);
    a->logp[r] = ops_logp_of(&a->p, a->actions, r);
  }
}

/* Writes the mode of the policy: the first of the most probable classes, a Gaussian's mean, or its tanh. p.actions is
 * not read. */
typedef struct OpsActionMode { OpsRowsOfHead p; void *actions; } OpsActionMode;
CORE_DEVICE_FN void ops_action_mode_row(const OpsActionMode *a, size_t r) {
  const OpsHead *head = &a->p.head;
  const float *logits = ops_logits_of(&a->p, r);
  const size_t first = r * (size_t)head->factors;
  if (head->kind != OPS_MULTI_DISCRETE) {
    row_gaussian_mean(head, logits, (float *)a->actions + first);
    return;
  }
  for (int f = 0, k = 0; f < head->factors; f++) {
    ((uint8_t *)a->actions)[first + (size_t)f] = (uint8_t)row_greedy(logits + k, head->size[f]);
    k += head->size[f];
  }
}
CORE_KERNEL_FN void ops_action_mode(const CoreDeviceThread *at, const OpsActionMode *a) {
  for (size_t r = core_device_first(at); r < a->p.rows; r += core_device_stride(at)) ops_action_mode_row(a, r);
}

typedef struct OpsLogp { OpsRowsOfHead p; float *logp; } OpsLogp;
CORE_KERNEL_FN void ops_logp(const CoreDeviceThread *at, const OpsLogp *a) {
  for (size_t r = core_device_first(at); r < a->p.rows; r += core_device_stride(at))
    a->logp[r] = ops_logp_of(&a->p, a->p.actions, r);
}

/* Clamps a Gaussian's actions to the environment's bounds. */
typedef struct OpsBound { const float *values; float *bounded; size_t n; float low, high; } OpsBound;
CORE_KERNEL_FN void ops_bound(const CoreDeviceThread *at, const OpsBound *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at)) {
    const float x = a->values[i];
    a->bounded[i] = x < a->low ? a->low : x > a->high ? a->high : x;
  }
}

/* ---- sums over rows: blocks of KERNEL_ROWS threads --------------------------------------------------------------- */

typedef struct OpsKl { OpsRowsOfHead p; const float *q; double *sums; } OpsKl;
CORE_KERNEL_FN void ops_kl(const CoreDeviceThread *at, const OpsKl *a) {
  const size_t r = core_device_first(at);
  double own[KERNEL_SUMS] = {0};
  if (r < a->p.rows) {
    const float *p = ops_logits_of(&a->p, r), *q = a->q + r * (size_t)a->p.head.logits;
    if (a->p.head.kind != OPS_MULTI_DISCRETE) {
      row_gaussian_kl(&a->p.head, p, q, &own[0], &own[1]);
    } else {
      for (int f = 0, k = 0; f < a->p.head.factors; f++) {
        row_factor_kl(p + k, q + k, a->p.head.size[f], &own[0], &own[1]);
        k += a->p.head.size[f];
      }
    }
  }
  ops_sum_rows(at, own, a->sums);
}

typedef struct OpsPolicyLoss {
  OpsRowsOfHead p;
  const float *behavior, *proximal, *advantage;
  RowClip clip;
  double entropy_coef;
  float *dlogits;
  double *sums;           /* [blocks][KERNEL_SUMS] in the order of OpsPolicySums */
  CoreDivisor32 columns;  /* logits per row */
} OpsPolicyLoss;

/* Logits of categorical heads of at most KERNEL_STAGED logits are kept in shared memory, with the classes' log-probs
 * and probabilities: exponentials are computed once, and neighboring threads access neighboring addresses of device
 * memory. Rows are padded to an odd length, so that threads access different banks. */
enum { KERNEL_STAGED = 47 };
CORE_DEVICE_FN int ops_is_staged(const OpsHead *head) {
  return head->kind == OPS_MULTI_DISCRETE && head->logits <= KERNEL_STAGED;
}
/* Returns the floats from one such row to the next, and the shared memory of ops_policy_loss. */
CORE_DEVICE_FN uint32_t ops_staged_row(const OpsHead *head) { return (uint32_t)head->logits | 1; }
CORE_DEVICE_FN size_t ops_policy_loss_shared(const OpsHead *head) {
  const size_t staged = ops_is_staged(head) ? 2 * KERNEL_ROWS * ops_staged_row(head) * sizeof(float) : 0;
  return KERNEL_ROWS * KERNEL_SUMS * sizeof(double) + staged;
}

/* Copies the tile's rows of logits to shared memory, or those of shared memory to dlogits. */
CORE_KERNEL_FN void ops_stage_logits(const CoreDeviceThread *at, OpsRowTile tile, const OpsPolicyLoss *a, float *staged,
                                     float *dlogits) {
  const size_t first = tile.index * KERNEL_ROWS, left = a->p.rows - first;
  const uint32_t count = (left < KERNEL_ROWS ? (uint32_t)left : KERNEL_ROWS) * a->columns.number;
  const float *logits = ops_logits_of(&a->p, first);
  for (uint32_t i = at->thread; i < count; i += at->threads) {
    const CoreDivided32 place = core_divide_32(i, a->columns);
    float *number = staged + place.whole * ops_staged_row(&a->p.head) + place.rest;
    if (dlogits) dlogits[first * a->columns.number + i] = *number;
    else *number = logits[i];
  }
}

/* Computes a row's loss and its gradient. log_p, p: its staged logits and probabilities, which become dlogits; NULL:
 * they are not staged. */
CORE_KERNEL_FN void ops_policy_loss_row(const OpsPolicyLoss *a, size_t r, size_t rows, float *log_p, float *p,
                                        double *own) {
  const OpsHead *head = &a->p.head;
  const size_t first = r * (size_t)head->factors;
  const float weight = (float)(a->entropy_coef / (double)rows), behavior = a->behavior[r];
  const float *logits = ops_logits_of(&a->p, r);
  const uint8_t *classes = (const uint8_t *)a->p.actions + first;

  const float logp =
    log_p ? row_categorical_terms(head, log_p, classes, log_p, p) : ops_logp_of(&a->p, a->p.actions, r);
  const RowSurrogate s =
    row_surrogate(logp, behavior, a->proximal ? a->proximal[r] : 0.0f, a->advantage[r], a->clip);
  const float slope = s.slope / (float)(int)rows;

  float *dlogits = a->dlogits + r * (size_t)head->logits, entropy;
  if (log_p) entropy = row_gradient_of_terms(head, log_p, classes, slope, weight, p);
  else if (head->kind == OPS_MULTI_DISCRETE)
    entropy = row_categorical_gradient(head, logits, classes, slope, weight, dlogits);
  else
    entropy = row_gaussian_gradient(head, logits, (const float *)a->p.actions + first, (double)slope, (double)weight,
                                    dlogits);

  own[0] = (double)s.loss;
  own[1] = (double)entropy;
  own[2] = -((double)logp - (double)behavior);
  own[3] = (double)s.k3;
  own[4] = (double)s.outside;
}

CORE_KERNEL_FN void ops_policy_loss_tile(const CoreDeviceThread *at, OpsRowTile tile, const OpsPolicyLoss *a) {
  const size_t r = ops_row_of_tile(at, tile), rows = ops_counted(a->p.count, a->p.rows);
  const int is_staged = ops_is_staged(&a->p.head);
  const uint32_t row = ops_staged_row(&a->p.head);
  float *staged = (float *)((double *)tile.shared + KERNEL_ROWS * KERNEL_SUMS);
  float *gradients = staged + KERNEL_ROWS * row;
  float *log_p = is_staged ? staged + at->thread * row : NULL;
  float *p = is_staged ? gradients + at->thread * row : NULL;
  double own[KERNEL_SUMS] = {0};
  if (is_staged) ops_stage_logits(at, tile, a, staged, NULL);
  core_device_barrier(at);
  if (r < rows) ops_policy_loss_row(a, r, rows, log_p, p, own);
  else if (r < a->p.rows)
    ops_zero_row(is_staged ? p : a->dlogits + r * (size_t)a->p.head.logits, (size_t)a->p.head.logits);
  ops_sum_tile(at, tile, own, a->sums);
  if (is_staged) ops_stage_logits(at, tile, a, gradients, a->dlogits);
}
CORE_KERNEL_FN void ops_policy_loss(const CoreDeviceThread *at, const OpsPolicyLoss *a) {
  ops_policy_loss_tile(at, ops_row_tile(at), a);
}

typedef struct OpsSampledEntropy {
  OpsRowsOfHead p;
  const float *noise;
  double entropy_coef;
  float *dlogits;
  double *sums;
} OpsSampledEntropy;
CORE_KERNEL_FN void ops_sampled_entropy(const CoreDeviceThread *at, const OpsSampledEntropy *a) {
  const size_t r = core_device_first(at), rows = ops_counted(a->p.count, a->p.rows);
  double own[KERNEL_SUMS] = {0};
  if (r < rows)
    own[0] = row_sampled_entropy(&a->p.head, ops_logits_of(&a->p, r), a->noise + r * (size_t)a->p.head.factors,
                                 a->entropy_coef / (double)rows, a->dlogits + r * (size_t)a->p.head.logits);
  ops_sum_rows(at, own, a->sums);
}

typedef struct OpsRegularize {
  OpsRowsOfHead p;
  const int32_t *set;
  const float *entropy_coef;
  double bound, bounds_coef;
  float *dlogits;
  double *sums;
} OpsRegularize;
CORE_KERNEL_FN void ops_regularize(const CoreDeviceThread *at, const OpsRegularize *a) {
  const size_t r = core_device_first(at), rows = ops_counted(a->p.count, a->p.rows);
  double own[KERNEL_SUMS] = {0};
  if (r < rows) {
    OpsGaussianSums sums = {0, 0};
    row_regularize(&a->p.head, ops_logits_of(&a->p, r), (double)a->entropy_coef[a->set[r]], a->bound, a->bounds_coef,
                   (int)rows, a->dlogits + r * (size_t)a->p.head.logits, &sums);
    own[0] = sums.entropy;
    own[1] = sums.bounds;
  }
  ops_sum_rows(at, own, a->sums);
}

typedef struct OpsControllerKl {
  OpsRowsOfHead p;
  const uint32_t *index;  /* [rows] rows of the reference */
  float *reference;       /* [*][logits]; its rows become the logits */
  double *sums;
} OpsControllerKl;
CORE_KERNEL_FN void ops_controller_kl(const CoreDeviceThread *at, const OpsControllerKl *a) {
  const size_t r = core_device_first(at), width = (size_t)a->p.head.logits;
  double own[KERNEL_SUMS] = {0};
  if (r < a->p.rows) {
    const float *logits = ops_logits_of(&a->p, r);
    float *reference = a->reference + (size_t)a->index[r] * width;
    own[0] = row_controller_kl(&a->p.head, logits, reference);
    for (size_t k = 0; k < width; k++) reference[k] = logits[k];
  }
  ops_sum_rows(at, own, a->sums);
}

typedef struct OpsClampLogRatio {
  const float *behavior, *logp;
  float log_cap;
  size_t n;
  float *capped;
} OpsClampLogRatio;
CORE_KERNEL_FN void ops_cap(const CoreDeviceThread *at, const OpsClampLogRatio *a) {
  for (size_t i = core_device_first(at); i < a->n; i += core_device_stride(at))
    a->capped[i] = fmaxf(a->behavior[i], a->logp[i] - a->log_cap);
}

typedef struct OpsKlPenalty {
  const float *logp, *ref_logp;
  double weight;
  size_t rows;
  const uint32_t *count;
  float *kl_penalty_weights;
  double *sums;
} OpsKlPenalty;
CORE_KERNEL_FN void ops_kl_penalty(const CoreDeviceThread *at, const OpsKlPenalty *a) {
  const size_t r = core_device_first(at);
  double own[KERNEL_SUMS] = {0};
  if (r < ops_counted(a->count, a->rows)) {
    const double apart = (double)a->logp[r] - (double)a->ref_logp[r];
    a->kl_penalty_weights[r] = (float)(-a->weight * apart);
    own[0] = 0.5 * apart * apart;
  }
  ops_sum_rows(at, own, a->sums);
}

typedef struct OpsExactKl {
  OpsRowsOfHead p;
  const float *ref_logits;
  double weight;
  float *dlogits;
  double *sums;
} OpsExactKl;
CORE_KERNEL_FN void ops_exact_kl(const CoreDeviceThread *at, const OpsExactKl *a) {
  const size_t r = core_device_first(at), rows = ops_counted(a->p.count, a->p.rows);
  const size_t width = (size_t)a->p.head.logits;
  double own[KERNEL_SUMS] = {0};
  if (r < rows)
    own[0] = row_kl_gradient(&a->p.head, ops_logits_of(&a->p, r), a->ref_logits + r * width,
                             a->weight / (double)rows, a->dlogits + r * width);
  ops_sum_rows(at, own, a->sums);
}

typedef struct OpsValueLoss {
  const float *value, *old_value, *target;
  size_t rows;
  const uint32_t *count;
  float epsilon;
  double value_coef;
  float *dvalue;
  double *sums;
} OpsValueLoss;
CORE_KERNEL_FN void ops_value_loss_tile(const CoreDeviceThread *at, OpsRowTile tile, const OpsValueLoss *a) {
  const size_t r = ops_row_of_tile(at, tile), rows = ops_counted(a->count, a->rows);
  double own[KERNEL_SUMS] = {0};
  if (r < rows) {
    const float scale = (float)(a->value_coef / (double)rows);
    float error;
    row_value(a->value[r], a->old_value[r], a->target[r], a->epsilon, scale, &a->dvalue[r], &error);
    own[0] = 0.5 * (double)error;
  } else if (r < a->rows) {
    a->dvalue[r] = 0;
  }
  ops_sum_tile(at, tile, own, a->sums);
}
CORE_KERNEL_FN void ops_value_loss(const CoreDeviceThread *at, const OpsValueLoss *a) {
  ops_value_loss_tile(at, ops_row_tile(at), a);
}

/* ---- Q values ---------------------------------------------------------------------------------------------------- */

typedef struct OpsQ {
  float *q;               /* [rows][columns]; replaced by the policy */
  const uint8_t *actions;
  const float *target;
  size_t rows, columns;
  const uint32_t *count;
  float best, other;
  float *values, *dq;
  double *sums;
} OpsQ;

CORE_KERNEL_FN void ops_q_policy(const CoreDeviceThread *at, const OpsQ *a) {
  for (size_t r = core_device_first(at); r < a->rows; r += core_device_stride(at)) {
    float *row = a->q + r * a->columns;
    const size_t chosen = (size_t)row_greedy(row, (int)a->columns);
    for (size_t c = 0; c < a->columns; c++) row[c] = c == chosen ? a->best : a->other;
  }
}

CORE_KERNEL_FN void ops_q_values(const CoreDeviceThread *at, const OpsQ *a) {
  for (size_t r = core_device_first(at); r < a->rows; r += core_device_stride(at)) {
    const float *row = a->q + r * a->columns;
    a->values[r] = row[row_greedy(row, (int)a->columns)];
  }
}

CORE_KERNEL_FN void ops_q_loss(const CoreDeviceThread *at, const OpsQ *a) {
  const size_t r = core_device_first(at), rows = ops_counted(a->count, a->rows);
  double own[KERNEL_SUMS] = {0};
  if (r < a->rows) ops_zero_row(a->dq + r * a->columns, a->columns);
  if (r < rows) {
    const size_t taken = r * a->columns + a->actions[r];
    const float error = a->q[taken] - a->target[r];
    a->dq[taken] = 2.0f / (float)(int)rows * error;
    own[0] = (double)error * (double)error;
  }
  ops_sum_rows(at, own, a->sums);
}

/* ---- noise, free deviations, embeddings -------------------------------------------------------------------------- */

typedef struct OpsNormals {
  uint64_t seed;
  uint32_t purpose, step;
  const uint32_t *index;
  size_t rows, columns;
  float *noise;
} OpsNormals;
CORE_KERNEL_FN void ops_normals(const CoreDeviceThread *at, const OpsNormals *a) {
  for (size_t r = core_device_first(at); r < a->rows; r += core_device_stride(at)) {
    double normal[OPS_FACTORS_MAX];
    row_draw_normals(a->seed, a->purpose, a->index[r], a->step, (int)a->columns, normal);
    for (size_t k = 0; k < a->columns; k++) a->noise[r * a->columns + k] = (float)normal[k];
  }
}

typedef struct OpsJoin {
  const float *mean, *log_sigma;
  const int32_t *set;
  size_t rows;
  CoreDivisor factors;
  float *logits;
} OpsJoin;
CORE_KERNEL_FN void ops_join(const CoreDeviceThread *at, const OpsJoin *a) {
  const size_t factors = a->factors.number;
  for (size_t i = core_device_first(at); i < a->rows * factors; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, a->factors);
    const size_t r = place.whole, k = place.rest, set = a->set ? (size_t)a->set[r] : 0;
    a->logits[r * 2 * factors + k] = a->mean[i];
    a->logits[r * 2 * factors + factors + k] = a->log_sigma[set * factors + k];
  }
}

/* target[rows][count] = columns first .. first + count - 1 of source[rows][columns]. */
typedef struct OpsSlice {
  const float *source;
  float *target;
  size_t rows, columns, first;
  CoreDivisor count;
} OpsSlice;
CORE_KERNEL_FN void ops_slice(const CoreDeviceThread *at, const OpsSlice *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->count.number; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, a->count);
    a->target[i] = a->source[place.whole * a->columns + a->first + place.rest];
  }
}

/* Sums by set, of `sets` sets from first_set on, of columns first .. first + count - 1 of source[rows][columns], for
 * parts of KERNEL_ROWS rows: parts[part][sets][count]. set NULL: all rows belong to the first. */
typedef struct OpsSetParts {
  const float *source;
  const int32_t *set;
  size_t rows, columns, first, count, first_set, sets;
  double *parts;
} OpsSetParts;
CORE_KERNEL_FN void ops_set_parts(const CoreDeviceThread *at, const OpsSetParts *a) {
  const size_t parts = (a->rows + KERNEL_ROWS - 1) / KERNEL_ROWS, each = a->sets * a->count;
  for (size_t i = core_device_first(at); i < parts * each; i += core_device_stride(at)) {
    const size_t from = i / each * KERNEL_ROWS, column = a->first + i % a->count;
    const size_t set = a->first_set + i % each / a->count;
    const size_t end = from + KERNEL_ROWS < a->rows ? from + KERNEL_ROWS : a->rows;
    double sum = 0;
    for (size_t r = from; r < end; r++)
      if ((a->set ? (size_t)a->set[r] : 0) == set) sum += (double)a->source[r * a->columns + column];
    a->parts[i] = sum;
  }
}

typedef struct OpsEmbed {
  const float *x, *embedding;
  size_t rows, features, width;
  CoreDivisor columns;         /* features + width */
  float *joined;
  int32_t *set;
} OpsEmbed;
CORE_KERNEL_FN void ops_embed(const CoreDeviceThread *at, const OpsEmbed *a) {
  for (size_t i = core_device_first(at); i < a->rows * a->columns.number; i += core_device_stride(at)) {
    const CoreDivided place = core_divide(i, a->columns);
    const size_t r = place.whole, c = place.rest;
    const float *row = a->x + r * (a->features + 1);
    const int32_t set = (int32_t)row[a->features];
    if (c == 0) a->set[r] = set;
    a->joined[i] = c < a->features ? row[c] : a->embedding[(size_t)set * a->width + c - a->features];
  }
}

#endif
