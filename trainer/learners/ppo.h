/* PPO and PPO-EWMA (Schulman et al. 2017; Hilton et al. 2022; docs/algorithms.md#losses): from a rollout to new
 * weights. Actor and critic have separate losses and Adam states; their gradients are clipped separately, or together
 * where net.sharing gives them a joint loss. PPO clips the ratio to the behavior policy; PPO-EWMA clips the ratio to
 * the proximal policy, an average of past weights, and weights samples by proximal/behavior. */
#ifndef TRAINER_LEARNERS_PPO_H
#define TRAINER_LEARNERS_PPO_H
#include "core/device/arena.h"
#include "trainer/update/advantage.h"
#include "trainer/learners/ddr_control.h"
#include "trainer/learners/captured.h"
#include "trainer/learners/kl_control.h"
#include "trainer/learners/rl_games.h"
#include "trainer/update/gradient.h"
#include "trainer/update/minibatch.h"
#include "trainer/update/optimizer.h"

typedef struct Ppo {
  const CoreConfig *config;        /* the caller's; must outlive this */
  Agent *agent;                    /* agent whose weights are trained */
  const Rollout *rollout;          /* the rollout it was created for */
  bool ewma;                       /* whether this is PPO-EWMA */
  Minibatch minibatch;
  Optimizer actor_optimizer, critic_optimizer;
  Proximal proximal;               /* proximal actor weights; theta NULL for PPO */
  DdrControl ddr;                  /* COM and epsilon in use */
  float *advantages, *targets;     /* [steps][worlds] of this rank */
  Gradient gradient;
  float *moments_scratch;          /* scratch of reduce_rollout_moments; NULL where it needs none */
  float *doutput, *dvalue;         /* [rows][logits], [rows]: gradients at the networks' outputs */
  float *logp;                     /* [rows] log-probs of the current policy, when measured or needed below */
  float *capped_logp;              /* [rows] behavior log-probs raised to the limit of ppo.ratio_cap; NULL if
                                    * disabled */
  float *kl_penalty_weights, *dkl_penalty; /* [rows], [rows][logits] for a squared ppo.kl_penalty; NULL if disabled */
  bool penalizes_exact_kl;         /* ppo.kl_penalty_form = exact */
  float *behavior_logits;          /* [rows][logits] of the policy that acted, for PPO's exact penalty; else NULL */
  KlPenalty penalty;
  EarlyStop early_stop;
  Moments *advantage_moments;      /* over iterations; NULL unless normalize_advantage is ewma */
  float *noise;                    /* [rows][factors] noise of a sampled entropy; NULL where the entropy has a closed
                                    * form */
  AdaptiveLr adaptive_lr;          /* on with ppo.lr_schedule = kl */
  float *old_logits;               /* [steps * worlds][logits] policies that the adaptive learning rate's KL compares
                                   * with; NULL if disabled */
  int32_t *zero_block_ids;         /* [rows] zeros, for ppo.bounds_coef; NULL if disabled */
  float *zero_entropy_coef;        /* [1] zero: the entropy coefficient that belongs to it */
  double *value_moments;           /* [VALUE_MOMENTS] of ppo.normalize_value, on the host; NULL if disabled */
  float *values;                   /* [steps + 1][worlds] values in units of rewards, later in the critic's units; NULL
                                    * if disabled */
  float *proximal_logits, *proximal_logp; /* [rows][logits], [rows]; NULL for PPO */
  CapturedUpdate captured;         /* captured updates on a device */
} Ppo;

/* Returns Adam's learning rate in an iteration (optim_lr). With ppo.lr_schedule = kl: that of the first iteration. */
double ppo_learning_rate(const CoreConfig *config, int64_t iteration);

/* Entries of the learner table. */
extern const LearnerVTable ppo_learner, ppo_ewma_learner;
/* Returns the state of a learner made by one of these entries. */
Ppo *learner_as_ppo(const Learner *learner);

#endif
