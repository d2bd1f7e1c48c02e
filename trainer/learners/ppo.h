/* PPO and PPO-EWMA (Schulman et al. 2017; Hilton et al. 2022; spec ppo.md 1 and 2): from a rollout to new weights.
 * Actor and critic have separate losses, gradients, clipping and Adam states. PPO clips the ratio to the behaviour
 * policy; PPO-EWMA clips the ratio to the proximal policy, an average of past weights, and weights by
 * proximal/behaviour. */
#ifndef TRAINER_LEARNERS_PPO_H
#define TRAINER_LEARNERS_PPO_H
#include "trainer/advantage.h"
#include "trainer/kurtosis.h"
#include "trainer/minibatch.h"
#include "trainer/optimizer.h"
#include "trainer/profile.h"

/* Gradients before clipping, over an iteration's minibatches. */
typedef struct PpoGradients {
  double norm_mean, norm_max, clipped_fraction;
  Kurtosis kurtosis;               /* mean; NaN unless ppo->measure */
} PpoGradients;

/* What one update measured on the way; means are over its minibatches. */
typedef struct PpoUpdate {
  double learning_rate;
  PpoGradients actor, critic;
  double policy_loss, value_loss;  /* without the entropy term; without ppo.value_coef */
  double entropy, clip_fraction;
  double silent_fraction;          /* samples that the clip leaves without a policy gradient; NaN unless ppo->measure */
  double advantage_mean, advantage_sd; /* before standardisation */
  double explained_variance;       /* of the targets by the rollout's values */
} PpoUpdate;

typedef struct Ppo {
  const CoreConfig *config;        /* the caller's; must outlive this */
  Agent *agent;                    /* whose weights are learnt */
  bool ewma;                       /* PPO-EWMA rather than PPO */
  bool measure;                    /* in the next update, what costs time: kurtosis, silent_fraction */
  Profile *profile;                /* the caller's, begun: gets a snapshot after each minibatch; NULL: none */
  Minibatch minibatch;
  Optimizer actor_optimizer, critic_optimizer;
  Proximal proximal;               /* of the actor; theta NULL for PPO */
  float *advantages, *targets;     /* [N*K] */
  float *actor_gradient, *critic_gradient;
  float *doutput;                  /* [rows][logits]: gradient at a network's output */
  float *scratch;                  /* network_backward's */
  float *logp;                     /* [rows] of the present policy, when measured */
  float *proximal_logits, *proximal_logp; /* [rows][logits], [rows]; NULL for PPO */
} Ppo;

/* Registers buffers and settings. CORE_USAGE as minibatch_register. */
int ppo_register(Ppo *ppo, const CoreConfig *config, Agent *agent, const Rollout *rollout, CoreArena *arena);
/* Before the first update, after the weights are initialised: Adam's moments 0, proximal weights = weights. */
void ppo_start(Ppo *ppo);
/* Its second half: proximal weights = weights. */
void ppo_start_proximal(Ppo *ppo);

/* One iteration's update (E epochs of M minibatches); `iteration` counts from 1. CORE_FAIL when something is NaN or
 * infinite: the message names tensor and element, the weights are then undefined. */
int ppo_update(Ppo *ppo, Ops *ops, const Rollout *rollout, int64_t iteration, PpoUpdate *update);

/* Adam's step size in an iteration: constant, or linear to 0 over the budget (spec ppo.md 1.6). */
double ppo_learning_rate(const CoreConfig *config, int64_t iteration);

#endif
