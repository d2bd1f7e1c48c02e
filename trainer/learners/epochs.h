/* Epochs of minibatches over the whole rollout, for PPO and PQN: each epoch reshuffles, each minibatch is one step.
 * Either the host drives each step, or a device runs all of them as a captured update (captured.h) and the host
 * synchronizes once. Where ranks or shards divide minibatches, it also synchronizes once per epoch, for the number of
 * rows of each. If a shard has more rows than a micro-batch holds, the host drives that epoch's steps.
 *
 * With an adaptive learning rate the host synchronizes once per epoch, and drives each step where ranks or shards
 * divide minibatches. With early stopping it synchronizes once per epoch, to leave out the epochs that follow. */
#ifndef TRAINER_LEARNERS_EPOCHS_H
#define TRAINER_LEARNERS_EPOCHS_H
#include "trainer/learners/captured.h"
#include "trainer/learners/kl_control.h"
#include "trainer/learners/rl_games.h"
#include "trainer/update/gradient.h"
#include "trainer/update/minibatch.h"

typedef struct Epochs {
  const CoreConfig *config;
  const Agent *agent;
  Minibatch *minibatch;
  Gradient *gradient;
  Optimizer *actor, *critic;     /* critic NULL: the agent has only an actor */
  Proximal *proximal;            /* NULL: none */
  CapturedUpdate *captured;
  AdaptiveLr *adaptive_lr;       /* NULL: the rate is that of UpdateStats */
  EarlyStop *early_stop;         /* NULL: all epochs are run */
  void *learner;
  /* Runs minibatch m, synchronizing with the host. CORE_FAIL: a value is not finite; the message names it. */
  int (*step_sync)(void *learner, const UpdateContext *context, int m, UpdateStats *stats);
  /* Adds this rank's part of the gradient of minibatch m, without a step. CORE_FAIL as above. */
  int (*add_gradients)(void *learner, const UpdateContext *context, int m, UpdateStats *stats);
  /* Enqueues the operations of the current minibatch (minibatch_select_current), as captured_minibatch() requires. */
  void (*enqueue)(void *learner, const UpdateContext *context);
  /* Adds the losses of the device's statistics. */
  void (*add_losses)(void *learner, const OpsUpdateStats *sums, UpdateStats *stats);
} Epochs;

/* Returns the steps per iteration, at most. */
int epochs_steps(const CoreConfig *config);
/* Measures context->noise (begun; NULL: nothing) on the minibatches of the first epoch. Called by all ranks, once
 * add_gradients may be called and before the state that it changes is set up for the epochs; weights stay as they are.
 * Leaves NaN where a value is not finite: the epochs report it. */
void epochs_measure_noise(const Epochs *epochs, const UpdateContext *context);
/* Runs all epochs. The statistics are sums over the steps (optim_average_stats); their learning rate must be set. With
 * an adaptive learning rate, controller_kl is that of the last epoch. CORE_FAIL: a value is not finite. */
int epochs_run(const Epochs *epochs, const UpdateContext *context, UpdateStats *stats);

#endif
