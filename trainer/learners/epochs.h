/* Epochs of minibatches of the whole rollout, as PPO and PQN go down their losses: every epoch a fresh shuffle, every
 * minibatch a step. The host decides on each step, or all are queued on a device (queue.h), which it then waits for
 * once; where ranks or shards divide minibatches, once more an epoch, for how many rows are whose. An epoch in which
 * chance gave a shard more of them than a piece holds is the host's to decide. */
#ifndef TRAINER_LEARNERS_EPOCHS_H
#define TRAINER_LEARNERS_EPOCHS_H
#include "trainer/learners/queue.h"
#include "trainer/update/gradient.h"
#include "trainer/update/minibatch.h"

typedef struct Epochs {
  const CoreConfig *config;
  const Agent *agent;
  Minibatch *minibatch;
  const Gradient *gradient;
  Optimizer *actor, *critic;     /* critic NULL: there is only the agent's actor */
  Proximal *proximal;            /* NULL: none */
  Queue *queue_of;
  void *learner;
  /* Minibatch m, decided by the host. CORE_FAIL: what is not finite, and where. */
  int (*decide)(void *learner, const LearnerStep *step, int m, LearnerUpdate *update);
  /* The operations of the minibatch whose turn it is (minibatch_take), as queue_minibatch wants them. */
  void (*queue)(void *learner, const LearnerStep *step);
  /* Adds what the stats has of losses. */
  void (*add_losses)(void *learner, const OpsUpdateStats *stats, LearnerUpdate *update);
} Epochs;

/* Steps of an iteration. */
int epochs_steps(const CoreConfig *config);
/* All of them; update gets sums over the steps (descent_average), its rate is set. CORE_FAIL: what is not finite. */
int epochs_run(const Epochs *epochs, const LearnerStep *step, LearnerUpdate *update);

#endif
