/* PPO and PPO-EWMA (Schulman et al. 2017; Hilton et al. 2022; spec ppo.md 1 and 2): from a rollout to new weights.
 * Actor and critic have separate losses and Adam states; their gradients are clipped apart, or together where
 * net.sharing gives them a common loss. PPO clips the ratio to the behaviour policy; PPO-EWMA clips the ratio to the
 * proximal policy, an average of past weights, and weights by proximal/behaviour. */
#ifndef TRAINER_LEARNERS_PPO_H
#define TRAINER_LEARNERS_PPO_H
#include "core/device/arena.h"
#include "trainer/update/advantage.h"
#include "trainer/learners/ddr_control.h"
#include "trainer/learners/recorded.h"
#include "trainer/learners/rl_games.h"
#include "trainer/update/gradient.h"
#include "trainer/update/minibatch.h"
#include "trainer/update/optimizer.h"

typedef struct Ppo {
  const CoreConfig *config;        /* the caller's; must outlive this */
  Agent *agent;                    /* whose weights are learnt */
  bool ewma;                       /* PPO-EWMA rather than PPO */
  Minibatch minibatch;
  Optimizer actor_optimizer, critic_optimizer;
  Proximal proximal;               /* of the actor; theta NULL for PPO */
  DdrControl ddr;                  /* COM and epsilon in use */
  float *advantages, *targets;     /* [steps][worlds] of this rank */
  Gradient gradient;
  float *moments_scratch;          /* of reduce_rollout_moments; NULL where it needs none */
  float *doutput, *dvalue;         /* [rows][logits], [rows]: gradients at the networks' outputs */
  float *logp;                     /* [rows] of the present policy, when measured or needed below */
  float *capped; /* [rows] behaviour's log-probabilities, at least those of ppo.ratio_cap; NULL: off */
  float *pull, *dpenalty;          /* [rows], [rows][logits] of ppo.kl_penalty; NULL: off */
  Moments *moments;                /* of advantages, over iterations; NULL: standardised otherwise */
  float *noise;                    /* [rows][factors] for a sampled entropy; NULL where it has a closed form */
  RateController controller;       /* on with ppo.lr_schedule = kl */
  float *last_policy;              /* [steps * worlds][logits] that its KL is taken to; NULL: off */
  int32_t *no_block;               /* [rows] of zeros for ppo.bounds_coef; NULL: off */
  float *no_entropy;               /* [1] of zero, the weight of entropies that belongs to it */
  double *value_moments;           /* [VALUE_MOMENTS] of ppo.normalize_value, on the host; NULL: off */
  float *values;                   /* [steps + 1][worlds] of rewards, then in the critic's units; NULL: off */
  float *proximal_logits, *proximal_logp; /* [rows][logits], [rows]; NULL for PPO */
  RecordedUpdate recorded;                     /* of updates on a device */
} Ppo;

/* Adam's step size in an iteration: constant, or linear to 0 over the budget (spec ppo.md 1.6). With ppo.lr_schedule =
 * kl: that of the first. */
double ppo_learning_rate(const CoreConfig *config, int64_t iteration);

/* The entries of the table. */
extern const LearnerKind ppo_learner, ppo_ewma_learner;
/* The state behind an entry of them. */
Ppo *ppo_of(const Learner *learner);

#endif
