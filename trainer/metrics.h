/* What an iteration did to the policy: exact KL in both directions and its estimators on the rollout's states, and how
 * far the weights moved (spec metrics.md 2, 3). Measured after the update; changes nothing. */
#ifndef TRAINER_METRICS_H
#define TRAINER_METRICS_H
#include "trainer/rollout.h"

typedef struct MetricsPolicyChange {
  double kl, kl_reverse;     /* KL(behaviour || updated), KL(updated || behaviour), mean over the states */
  double k1, k3;             /* estimators of the first from the actions taken: -l, expm1(l) - l */
  double update_norm_actor, update_norm_critic; /* ||theta - theta at the iteration's start|| */
} MetricsPolicyChange;

typedef struct Metrics {
  int states, piece;         /* states looked at; and how many at once */
  float *actor_before, *critic_before; /* weights at the iteration's start */
  uint32_t *index;           /* [piece] rows of the rollout */
  float *observations;       /* [piece][features] */
  float *behaviour, *updated; /* [piece][logits] */
  float *behaviour_logp, *updated_logp; /* [piece] */
  uint8_t *actions;          /* [piece][factors] */
} Metrics;

/* states: all of the rollout's when it has fewer. */
void metrics_register(Metrics *metrics, const Agent *agent, const Rollout *rollout, int64_t states, CoreArena *arena);
/* Keeps the weights, before the update. */
void metrics_begin(Metrics *metrics, const Agent *agent);
/* After the update. Which states: a stratified sample, a function of (seed, iteration). */
void metrics_policy_change(Metrics *metrics, Ops *ops, const Agent *agent, const Rollout *rollout, uint64_t seed,
                           int64_t iteration, MetricsPolicyChange *change);

/* The state looked at in stratum j of `states`: uniform in [j*total/states, (j+1)*total/states); j itself when
 * states = total. */
uint32_t metrics_state(uint64_t seed, int64_t iteration, int64_t j, int64_t states, int64_t total);

#endif
