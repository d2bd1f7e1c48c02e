/* Updates without synchronisation: ops of a device that let an iteration's minibatches run there one after the other,
 * while the host reads the outcome once. Sums of losses stay in OpsUpdateStats on the device. Kernels decide on
 * clipping and on the step. What differs between minibatches is read from device memory, so that the operations of a
 * minibatch can be recorded as a graph (device.h).
 *
 * A step whose loss or gradient is not finite is not done, nor any after it. So the host can look for the cause in the
 * weights from before it.
 *
 *   begin -> take_rows -> losses (sums NULL) and gradients -> step -> take_rows -> ... -> finish
 *
 * Where ranks or shards divide a minibatch: take_piece -> losses and gradients -> add_sums for each of this rank's
 * shards, then the sums over ranks, then step. */
#ifndef TRAINER_OPS_UPDATE_H
#define TRAINER_OPS_UPDATE_H
#include <math.h>

#include "trainer/math/kurtosis.h"
#include "trainer/ops/ops.h"

enum { OPS_UPDATE_NETWORKS = 2 };

/* The factor of a gradient of this norm; *clipped: whether clipping acts. epsilon 0: optax'
 * rule, the gradient unchanged if norm < max_norm, else times max_norm/norm; > 0: PyTorch's, min(1, max_norm/(norm +
 * epsilon)). (spec ppo.md 1.6) */
CORE_DEVICE_FN double ops_clip_factor(double norm, double max_norm, double epsilon, int *clipped) {
  *clipped = norm > max_norm;
  if (epsilon > 0) return fmin(1.0, max_norm / (norm + epsilon));
  return norm < max_norm || isinf(max_norm) ? 1.0 : max_norm / norm;
}

/* Scalars of one step of Adam or RAdam, rounded to float32 once; scale: from clipping. */
typedef struct OpsAdamScalars { float scale, beta1, beta2, rest1, rest2, rate, root, epsilon; } OpsAdamScalars;
OpsAdamScalars ops_adam_scalars(double scale, double rate, double beta1, double beta2, double epsilon, int64_t t);
OpsAdamScalars ops_radam_scalars(double scale, double rate, double beta1, double beta2, double epsilon, int64_t t);

/* Scalars of one step that follow from its number alone. The host computes those of an iteration beforehand. */
typedef struct OpsUpdateScalars {
  OpsAdamScalars adam[OPS_UPDATE_NETWORKS];
  float share;                /* of the weights in the proximal weights */
  int32_t copies;             /* not 0: the weights are copied to the proximal weights */
} OpsUpdateScalars;

/* Where the sums of each loss are in OpsUpdateStats: up to five numbers, in the order of their struct in ops.h. */
enum {
  OPS_STATS_POLICY = 0, OPS_STATS_VALUE = 5, OPS_STATS_SAMPLED_ENTROPY = 10, OPS_STATS_REGULARIZE = 15,
  OPS_STATS_KL_PENALTY = 20,
  OPS_STATS_CONTROLLER = 25,
  OPS_STATS_ZERO_GRAD = 30, /* samples that the clip leaves without a gradient */
  OPS_STATS_SUMS = 35
};

typedef struct OpsUpdateStats {
  uint64_t step, earlier;     /* steps of this iteration, and of those before it */
  uint64_t failed;            /* 0, or 1 + the number of the step that was not done */
  double now[OPS_STATS_SUMS];  /* of the present minibatch, or of a piece of it */
  double all[OPS_STATS_SUMS];  /* where ranks or shards divide minibatches: of all its pieces, then of all ranks */
  double mean[OPS_STATS_SUMS]; /* of each minibatch's mean over its rows, added up */
  double norm[OPS_UPDATE_NETWORKS], norm_max[OPS_UPDATE_NETWORKS], clipped[OPS_UPDATE_NETWORKS]; /* sums, the largest */
  double joint;               /* of both networks' norms together, added up */
  double step_norm[OPS_UPDATE_NETWORKS]; /* lengths of steps, and what follows of gradients, added up; of plans that
                                            measure */
  Kurtosis kurtosis[OPS_UPDATE_NETWORKS];
  uint64_t at;                /* for the kernels: the present step ... */
  float scale[OPS_UPDATE_NETWORKS]; /* ... and the factors of its gradients */
} OpsUpdateStats;

typedef struct OpsUpdateNetwork {
  float *theta;
  const float *gradient;
  float *m, *v;
  float *before;              /* [n] the weights before a step, in plans that measure; else NULL */
  size_t n;
} OpsUpdateNetwork;

typedef struct OpsUpdatePlan {
  OpsUpdateNetwork network[OPS_UPDATE_NETWORKS];
  int networks;
  float *proximal;            /* of the first network; NULL: none */
  double max_norm, norm_epsilon;
  int joint;                  /* not 0: gradients are clipped by the norm of both together */
  int rows;                   /* of a minibatch, over all ranks */
  int divided;                /* not 0: ranks or shards divide it, and its sums are stats->all */
  int steps;                  /* of an iteration, at most */
  OpsUpdateScalars *scalars;  /* [steps] on the device */
  OpsUpdateStats *stats;        /* on the device */
  double *parts;              /* [ops_update_parts()] on the device */
} OpsUpdatePlan;
size_t ops_update_parts(void);

/* Where ranks or shards divide minibatches: this rank's rows of all parts of an epoch, shard after shard within a part
 * (minibatch_device.c). Their number differs between parts and is on the device. Pieces all have `room` rows, so that
 * they can be recorded; the losses leave out the padding. */
typedef struct OpsPartRows {
  const uint32_t *rows;       /* of this rank's rollout, on the device */
  const uint32_t *begins;     /* [parts * shards + 1] where a shard's rows of a part begin in `rows`, on the device */
  int parts, shards, room;    /* room: rows of a piece */
  uint32_t worlds, all_worlds, first_world; /* this rank's, the run's */
} OpsPartRows;

typedef struct OpsUpdate {
  /* Copies an iteration's scalars [steps] from the host and clears the statistics. earlier: steps of iterations before.
   * From now on functions of ops.h may be given NULL for their sums. */
  void (*begin)(Ops *ops, const OpsUpdatePlan *plan, const OpsUpdateScalars *scalars, int steps, uint64_t earlier);
  /* rows[count * steps]: the rows of the present step's part of `order`, which is split into `parts` parts of `count`
   * worlds, as world_rows gives them; steps 1: `order` has rows. */
  void (*take_rows)(Ops *ops, const uint32_t *order, int parts, int count, int steps, int worlds, uint32_t *rows);
  /* The rows of one of this rank's shards of the present step's part: rows[room], their numbers in the run
   * of_run[room], and how many there are in *count, all on the device. The rest is padding: the first row again (the
   * rollout's first where there is none). From now on losses are sums and means over the *count rows. */
  void (*take_piece)(Ops *ops, const OpsPartRows *part, int shard, uint32_t *rows, uint32_t *of_run, uint32_t *count);
  /* Adds the sums of the piece's losses to those of the minibatch (stats->all); begin: sets them. */
  void (*add_sums)(Ops *ops, bool begin);
  /* Moments of x[n], of the piece's *count rows, as ops->moments, to *record on the device. */
  void (*moments)(Ops *ops, const float *x, size_t n, Moments *record);
  /* x[n] as `standardise`, but by the moments of records [count] on the device, merged in order. */
  void (*normalize_by)(Ops *ops, float *x, size_t n, const Moments *records, size_t count, bool unbiased);
  /* x = (x - mean) / (deviation + 1e-8); unbiased: of n - 1. */
  void (*normalize)(Ops *ops, float *x, size_t n, bool unbiased);
  /* As ops->normal_rows; the step, and the seed's upper half, are the number of steps done so far. */
  void (*normal_rows)(Ops *ops, uint64_t seed, uint32_t purpose, const uint32_t *index, int rows, int columns,
                      float *noise);
  /* Counts samples that the clip leaves without gradient (estimators_no_gradient), by the ratio to the policy of
   * ref_logp, to the statistics. */
  void (*count_zero_grad)(Ops *ops, const OpsHead *head, const float *logits, const void *actions,
                       const float *ref_logp, const float *advantage, int rows, double epsilon);
  /* Clips, steps all networks by Adam, and moves the proximal weights. Plans that measure: also the length of the step
   * and the kurtosis of the gradient. */
  void (*step)(Ops *ops, const OpsUpdatePlan *plan);
  /* Synchronises, and copies the statistics to the host. */
  void (*finish)(Ops *ops, const OpsUpdatePlan *plan, OpsUpdateStats *stats);
} OpsUpdate;

#endif
