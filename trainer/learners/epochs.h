/* Epochs of minibatches of the whole rollout, for PPO and PQN: every epoch a fresh shuffle, every minibatch a step.
 * Either the host decides on each step, or a device runs all of them as a recorded update (recorded.h) and the host
 * synchronises once. Where ranks or shards divide minibatches it also synchronises once per epoch, for the number of
 * rows of each. If a shard has more rows than a piece holds, the host decides on that epoch's steps.
 *
 * With a controller each epoch has its learning rate, so the host synchronises once an epoch, and decides on each step
 * where ranks or shards divide minibatches. */
#ifndef TRAINER_LEARNERS_EPOCHS_H
#define TRAINER_LEARNERS_EPOCHS_H
#include "trainer/learners/recorded.h"
#include "trainer/learners/rl_games.h"
#include "trainer/update/gradient.h"
#include "trainer/update/minibatch.h"

typedef struct Epochs {
  const CoreConfig *config;
  const Agent *agent;
  Minibatch *minibatch;
  const Gradient *gradient;
  Optimizer *actor, *critic;     /* critic NULL: there is only the agent's actor */
  Proximal *proximal;            /* NULL: none */
  RecordedUpdate *recorded;
  RateController *controller;    /* NULL: the rate is update's */
  void *learner;
  /* Minibatch m, decided by the host. CORE_FAIL: a value is not finite; the message says which. */
  int (*decide)(void *learner, const LearnerStep *step, int m, LearnerUpdate *update);
  /* The operations of the present step's minibatch (minibatch_take), as recorded_minibatch requires. */
  void (*record)(void *learner, const LearnerStep *step);
  /* Adds the losses of the statistics. */
  void (*add_losses)(void *learner, const OpsUpdateStats *stats, LearnerUpdate *update);
} Epochs;

/* Steps of an iteration. */
int epochs_steps(const CoreConfig *config);
/* All of them; update gets sums over the steps (descent_average), its rate is set, and with a controller its
 * controller_kl is that of the last epoch. CORE_FAIL: what is not finite. */
int epochs_run(const Epochs *epochs, const LearnerStep *step, LearnerUpdate *update);

#endif
