/* Metrics of an iteration's change of the policy and the networks: exact KL in both directions and its estimators on
 * the rollout's states, the distance that weights moved, and the networks' representations
 * (docs/algorithms.md#measurements). Computed after the update; changes nothing. */
#ifndef TRAINER_METRICS_H
#define TRAINER_METRICS_H
#include "core/device/arena.h"
#include "store/runlog/runlog.h"
#include "trainer/measure/representation.h"
#include "trainer/rollout/rollout.h"

/* Depth of measurement, each including the one before. */
typedef enum MetricsDepth {
  METRICS_KL,              /* KL, its estimators, update norms: always */
  METRICS_POLICY,          /* also effective sample size, policy variance, weight norms: nearly free */
  METRICS_REPRESENTATION,  /* also feature ranks, dormant units; the learner also measures kurtosis and zero-gradient
                            * samples */
} MetricsDepth;

/* Metrics of one network; NaN where not measured. */
typedef struct MetricsNetwork {
  double weight_norm;
  RepresentationRank rank;
  RepresentationUnits units;
  double dormant_strict, dormant_loose; /* units.dormant with other taus: 0 and 0.1 */
} MetricsNetwork;

typedef struct MetricsPolicyChange {
  double kl, kl_reverse;     /* KL(behavior || updated), KL(updated || behavior), mean over the states */
  double k1, k2, k3;         /* estimators of the first from the actions taken: -l, l^2/2, expm1(l) - l */
  double update_norm_actor, update_norm_critic; /* ||theta - theta at the iteration's start|| */
  double ess_percent;        /* effective sample size of the ratios, as a share of the sampled states; NaN: not
                              * measured */
  double policy_variance;    /* variance of an action's probability over the states; NaN: not measured */
  MetricsNetwork actor, critic;
} MetricsPolicyChange;

typedef struct Metrics {
  MetricsDepth depth;        /* depth of this iteration; METRICS_KL until metrics_choose */
  int states, chunk_rows;    /* sampled states, over all ranks; states per chunk */
  double *shard_kl;          /* [shards] of this rank; NULL: the KL may depend on the ranks in its last digits */
  float *actor_before, *critic_before; /* weights at the iteration's start */
  float *step_before;        /* scratch for a network's weights before a minibatch's step (learner.h) */
  uint32_t *index, *index_on_device; /* [chunk_rows] rows of the rollout; the second where there is a device */
  uint32_t *place, *place_on_device; /* [chunk_rows] rows of the rollout's sampled logits, on a device */
  Sequences sequences;       /* for a recurrent policy: the sampled states are those of whole sequences */
  float *observations;       /* [chunk_rows][features] */
  float *behavior, *updated; /* [chunk_rows][logits] */
  float *behavior_logp, *updated_logp; /* [chunk_rows] */
  uint8_t *actions;          /* [chunk_rows][action_bytes] */
  float *values;             /* [chunk_rows] */
  Moments *per_logit;        /* [logits] moments of probabilities over the states */
  Representation actor, critic;
} Metrics;

/* Registers the buffers. states: all of the rollout's when it has fewer. shard_rows: 0, or the rows of a shard per pass
 * through the networks, whatever the number of ranks (minibatch_capacity); the KL then has the same bits for any number
 * of them. */
void metrics_register(Metrics *metrics, const Agent *agent, const Rollout *rollout, int64_t states, int64_t shard_rows,
                      CoreArena *arena);
/* Sets the depth of an iteration (from 1): the first, then every metrics.every-th, every
 * metrics.representation_every-th. */
void metrics_choose(Metrics *metrics, const CoreConfig *config, int64_t iteration);
/* Saves the weights, before the update. */
void metrics_begin(Metrics *metrics, const Agent *agent);
/* Computes the metrics after the update; called by all ranks. The states are a stratified sample, a function of (seed,
 * iteration). */
void metrics_policy_change(Metrics *metrics, Ops *ops, const Agent *agent, const Rollout *rollout, uint64_t seed,
                           int64_t iteration, MetricsPolicyChange *change);

/* Returns the number of layers of the actor or the critic: its convolutions, if any, its dense layers, its head. */
int metrics_layers(const Metrics *metrics, const Agent *agent, bool critic);
/* Returns the metrics of one layer after metrics_policy_change at METRICS_REPRESENTATION: weight norm and dormant units
 * of layer 1, 2 ... (the last, the head, has no units), as a record without its transitions. Computes the norm on the
 * ops' device: on all ranks or on the first, the weights are the same. */
StoreLayer metrics_layer(const Metrics *metrics, Ops *ops, const Agent *agent, bool critic, int layer,
                         int64_t iteration);

#endif
