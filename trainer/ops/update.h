/* Updates without the host: device ops that run an iteration's minibatches one after the other, while the host reads
 * the outcome once. Sums of losses stay in OpsUpdateStats on the device. Kernels decide on clipping and on the step.
 * What differs between minibatches is read from device memory, so that the operations of a minibatch can be captured as
 * a graph (device.h).
 *
 * A step whose loss or gradient is not finite is skipped, and so are all later ones. So the host can look for the cause
 * in the weights from before it.
 *
 *   begin -> current_rows -> losses (sums NULL) and gradients -> step -> current_rows -> ... -> finish
 *
 * Where ranks or shards divide a minibatch: current_shard_rows -> losses and gradients -> add_sums for each of this
 * rank's shards, then the sums over ranks, then step. */
#ifndef TRAINER_OPS_UPDATE_H
#define TRAINER_OPS_UPDATE_H
#include <math.h>

#include "trainer/math/kurtosis.h"
#include "trainer/ops/ops.h"

enum { OPS_UPDATE_NETWORKS = 2 };

/* Returns the clipping factor of a gradient of this norm; *clipped: whether clipping acts. epsilon 0: optax' rule, the
 * gradient unchanged if norm < max_norm, else times max_norm/norm; > 0: PyTorch's, min(1, max_norm/(norm + epsilon))
 * (docs/algorithms.md#optimizers). */
CORE_DEVICE_FN double ops_clip_factor(double norm, double max_norm, double epsilon, int *clipped) {
  *clipped = norm > max_norm;
  if (epsilon > 0) return fmin(1.0, max_norm / (norm + epsilon));
  return norm < max_norm || isinf(max_norm) ? 1.0 : max_norm / norm;
}

/* Scalars of one step of Adam or RAdam, rounded to float32 once; scale: from clipping; keep: what is left of a
 * parameter after decoupled weight decay, 1 without. */
typedef struct OpsAdamScalars { float scale, beta1, beta2, rest1, rest2, rate, root, epsilon, keep; } OpsAdamScalars;
OpsAdamScalars ops_adam_scalars(double scale, double rate, double beta1, double beta2, double epsilon, int64_t t);
OpsAdamScalars ops_radam_scalars(double scale, double rate, double beta1, double beta2, double epsilon, int64_t t);

/* Scalars of one step that depend on its index only. The host computes those of an iteration beforehand. */
typedef struct OpsUpdateScalars {
  OpsAdamScalars adam[OPS_UPDATE_NETWORKS];
  float share;                /* weight of theta in the proximal average */
  int32_t copies;             /* not 0: theta is copied to the proximal weights */
} OpsUpdateScalars;

/* Offsets of each loss's sums in OpsUpdateStats: up to five values, in the order of their struct in ops.h. */
enum {
  OPS_STATS_POLICY = 0,
  OPS_STATS_ENTROPY = OPS_STATS_POLICY + 1, OPS_STATS_K3 = OPS_STATS_POLICY + 3,
  OPS_STATS_CLIPPED = OPS_STATS_POLICY + 4,
  OPS_STATS_VALUE = 5, OPS_STATS_SAMPLED_ENTROPY = 10,
  OPS_STATS_REGULARIZE = 15, OPS_STATS_KL_PENALTY = 20,
  OPS_STATS_CONTROLLER = 25,
  OPS_STATS_ZERO_GRAD = 30, /* samples with zero policy gradient because of the clip */
  OPS_STATS_SUMS = 35
};

typedef struct OpsUpdateStats {
  uint64_t step, earlier;     /* steps of this iteration, and of those before it */
  uint64_t failed;            /* 0, or 1 + the index of the step that was skipped */
  uint64_t stopped;           /* not 0: a minibatch's k3 exceeded the plan's limit; it and all later ones are skipped */
  double now[OPS_STATS_SUMS]; /* sums of the current minibatch, or of a micro-batch of it */
  double all[OPS_STATS_SUMS];  /* sums over all micro-batches, then over all ranks, where ranks or shards divide
                                * minibatches */
  double mean[OPS_STATS_SUMS]; /* sum of each minibatch's mean over its rows */
  double norm[OPS_UPDATE_NETWORKS], norm_max[OPS_UPDATE_NETWORKS], clipped[OPS_UPDATE_NETWORKS]; /* sums, the largest */
  double joint;               /* sum of the joint norms of both networks */
  /* sums of step lengths and of gradient statistics, in plans that measure */
  double step_norm[OPS_UPDATE_NETWORKS];
  Kurtosis kurtosis[OPS_UPDATE_NETWORKS];
  uint64_t at;                /* for the kernels: the current step ... */
  float scale[OPS_UPDATE_NETWORKS]; /* ... and the clipping factors of its gradients */
} OpsUpdateStats;

typedef struct OpsUpdateNetwork {
  float *theta;
  const float *gradient;
  float *m, *v;
  size_t n;
} OpsUpdateNetwork;

typedef struct OpsUpdatePlan {
  OpsUpdateNetwork network[OPS_UPDATE_NETWORKS];
  int networks;
  float *proximal;            /* proximal weights of the first network; NULL: none */
  double max_norm, norm_epsilon;
  double k3_limit;            /* mean k3 of a minibatch beyond which there is no further step; 0: none */
  int measures;               /* not 0: statistics include the steps' lengths and the gradients' kurtosis */
  int joint;                  /* not 0: gradients are clipped by their joint norm */
  int rows;                   /* rows of a minibatch, over all ranks */
  int divided;                /* not 0: ranks or shards divide minibatches, whose sums are stats->all */
  int steps;                  /* maximum steps of an iteration */
  OpsUpdateScalars *scalars;  /* [steps] on the device */
  OpsUpdateStats *stats;      /* on the device */
  double *parts;              /* [ops_update_parts()] on the device */
} OpsUpdatePlan;
size_t ops_update_parts(void);

/* This rank's rows of all minibatches of an epoch, shard after shard within a minibatch (minibatch_device.c), where
 * ranks or shards divide minibatches. Their number differs between minibatches and is known on the device only. All
 * micro-batches have `capacity` rows, so that they can be captured; the losses ignore the padding. */
typedef struct OpsPartRows {
  const uint32_t *rows;       /* rows of this rank's rollout, on the device */
  const uint32_t *begins;     /* [parts * shards + 1] offsets in `rows` of a shard's rows of a minibatch, on the
                               * device */
  int parts, shards, capacity; /* capacity: rows of a micro-batch */
  uint32_t worlds, global_worlds, first_world; /* this rank's, the run's */
} OpsPartRows;

typedef struct OpsUpdate {
  /* Copies an iteration's scalars [steps] from the host and clears the statistics. earlier: steps of earlier
   * iterations. From now on functions of ops.h accept NULL for their sums. */
  void (*begin)(Ops *ops, const OpsUpdatePlan *plan, const OpsUpdateScalars *scalars, int steps, uint64_t earlier);
  /* Lists the rows of the current step's minibatch -> rows[count * steps]. `order` is split into `parts` minibatches of
   * `count` worlds, as world_rows takes them; steps 1: `order` holds rows. */
  void (*current_rows)(Ops *ops, const uint32_t *order, int parts, int count, int steps, int worlds, uint32_t *rows);
  /* Lists the rows of one of this rank's shards in the current step's minibatch: rows[capacity], their indices in the
   * run of_run[capacity], and their number in *count, all on the device. The rest is padding: the first row repeated
   * (the rollout's first if there is none). From now on losses are sums and means over the *count rows. */
  void (*current_shard_rows)(Ops *ops, const OpsPartRows *part, int shard, uint32_t *rows, uint32_t *of_run,
                             uint32_t *count);
  /* Adds the loss sums of the micro-batch to those of the minibatch (stats->all); begin: sets them. */
  void (*add_sums)(Ops *ops, bool begin);
  /* Writes the moments of x[n], over the micro-batch's *count rows, to *record on the device, as ops->moments. */
  void (*moments)(Ops *ops, const float *x, size_t n, Moments *record);
  /* Normalizes x[n] as `normalize` does, but by the moments of records [count] on the device, merged in order. */
  void (*normalize_by)(Ops *ops, float *x, size_t n, const Moments *records, size_t count, bool unbiased);
  /* x = (x - mean) / (std + 1e-8); unbiased: with n - 1. */
  void (*normalize)(Ops *ops, float *x, size_t n, bool unbiased);
  /* Draws as ops->normal_rows; the step, and the seed's upper half, are the number of steps done so far. */
  void (*normal_rows)(Ops *ops, uint64_t seed, uint32_t purpose, const uint32_t *index, int rows, int columns,
                      float *noise);
  /* Counts samples whose policy gradient is zero because of the clip (estimators_no_gradient), by the ratio to the
   * policy of ref_logp, in the statistics. */
  void (*count_zero_grad)(Ops *ops, const OpsHead *head, const float *logits, const void *actions,
                          const float *ref_logp, const float *advantage, int rows, double epsilon);
  /* Clips, steps all networks by Adam, and moves the proximal weights. */
  void (*step)(Ops *ops, const OpsUpdatePlan *plan);
  /* Synchronizes, and copies the statistics to the host. */
  void (*finish)(Ops *ops, const OpsUpdatePlan *plan, OpsUpdateStats *stats);
} OpsUpdate;

#endif
