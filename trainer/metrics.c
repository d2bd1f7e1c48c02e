/* KL, its estimators, and distances of weights, in float64. */
#include "trainer/metrics.h"

#include <math.h>

#include "core/random.h"

enum { PIECE = 4096 }; /* states at once: enough for fast matrix products, little memory */

void metrics_register(Metrics *metrics, const Agent *agent, const Rollout *rollout, int64_t states, CoreArena *arena) {
  int64_t total = (int64_t)rollout->steps * rollout->worlds;
  *metrics = (Metrics){.states = (int)(states < total ? states : total)};
  const int piece = agent->max_rows < PIECE ? agent->max_rows : PIECE; /* the ops hold no more than the agent's rows */
  metrics->piece = metrics->states < piece ? metrics->states : piece;
  size_t rows = (size_t)metrics->piece;
  CORE_ARENA(arena, metrics->actor_before, agent->actor.n, "actor weights before the update");
  CORE_ARENA(arena, metrics->critic_before, agent->critic.n, "critic weights before the update");
  CORE_ARENA(arena, metrics->index, rows, "metrics rows [rows]");
  CORE_ARENA(arena, metrics->observations, rows * (size_t)rollout->features, "metrics observations [rows][features]");
  CORE_ARENA(arena, metrics->behaviour, rows * (size_t)rollout->head.logits, "metrics behaviour [rows][logits]");
  CORE_ARENA(arena, metrics->updated, rows * (size_t)rollout->head.logits, "metrics updated [rows][logits]");
  CORE_ARENA(arena, metrics->behaviour_logp, rows, "metrics behaviour log-probabilities [rows]");
  CORE_ARENA(arena, metrics->updated_logp, rows, "metrics updated log-probabilities [rows]");
  CORE_ARENA(arena, metrics->actions, rows * (size_t)rollout->head.factors, "metrics actions [rows][factors]");
}

void metrics_begin(Metrics *metrics, const Agent *agent) {
  memcpy(metrics->actor_before, agent->actor.theta, agent->actor.n * sizeof *agent->actor.theta);
  memcpy(metrics->critic_before, agent->critic.theta, agent->critic.n * sizeof *agent->critic.theta);
}

uint32_t metrics_state(uint64_t seed, int64_t iteration, int64_t j, int64_t states, int64_t total) {
  int64_t low = j * total / states, high = (j + 1) * total / states;
  uint32_t word = core_random_4(seed, CORE_RANDOM_STATES, (uint32_t)iteration, (uint32_t)j, 0).v[0];
  return (uint32_t)low + core_random_below(word, (uint32_t)(high - low));
}

/* Adds the sums over the `rows` states that metrics->index names. */
static void add_piece(Metrics *metrics, Ops *ops, const Agent *agent, const Rollout *rollout, int rows,
                      MetricsPolicyChange *sums) {
  const OpsHead *head = &rollout->head;
  double kl, kl_reverse;
  ops->gather_rows(ops, rollout->observations, metrics->index, metrics->observations, rows, rollout->features);
  ops->gather_rows(ops, rollout->logits, metrics->index, metrics->behaviour, rows, head->logits);
  ops->gather_rows(ops, rollout->logp, metrics->index, metrics->behaviour_logp, rows, 1);
  rollout_gather_actions(rollout, metrics->index, rows, metrics->actions);
  agent_forward(agent, ops, &agent->actor, agent->actor.theta, metrics->observations, rows, metrics->updated);
  ops->policy_logp(ops, head, metrics->updated, metrics->actions, metrics->updated_logp, rows);
  ops->policy_kl(ops, head, metrics->behaviour, metrics->updated, rows, &kl, &kl_reverse);
  sums->kl += kl;
  sums->kl_reverse += kl_reverse;
  for (int i = 0; i < rows; i++) {
    double l = (double)metrics->updated_logp[i] - (double)metrics->behaviour_logp[i];
    sums->k1 -= l;
    sums->k3 += expm1(l) - l;
  }
}

void metrics_policy_change(Metrics *metrics, Ops *ops, const Agent *agent, const Rollout *rollout, uint64_t seed,
                           int64_t iteration, MetricsPolicyChange *change) {
  int64_t total = (int64_t)rollout->steps * rollout->worlds;
  *change = (MetricsPolicyChange){0};
  for (int first = 0; first < metrics->states; first += metrics->piece) {
    int rows = metrics->states - first < metrics->piece ? metrics->states - first : metrics->piece;
    for (int i = 0; i < rows; i++)
      metrics->index[i] = metrics_state(seed, iteration, first + i, metrics->states, total);
    add_piece(metrics, ops, agent, rollout, rows, change);
  }
  change->kl /= metrics->states;
  change->kl_reverse /= metrics->states;
  change->k1 /= metrics->states;
  change->k3 /= metrics->states;
  change->update_norm_actor =
    sqrt(ops->distance_squared(ops, agent->actor.theta, metrics->actor_before, agent->actor.n));
  change->update_norm_critic =
    sqrt(ops->distance_squared(ops, agent->critic.theta, metrics->critic_before, agent->critic.n));
}
