/* Epochs of minibatches of the whole rollout, as PPO and PQN go down their losses: every epoch a fresh shuffle, every
 * minibatch a step. The host decides on each step, or all are queued on a device (queue.h). */
#ifndef TRAINER_LEARNERS_EPOCHS_H
#define TRAINER_LEARNERS_EPOCHS_H
#include "trainer/learners/queue.h"
#include "trainer/minibatch.h"

typedef struct Epochs {
  const CoreConfig *config;
  const Agent *agent;
  Minibatch *minibatch;
  void *learner;
  /* Minibatch m, decided by the host. CORE_FAIL: what is not finite, and where. */
  int (*decide)(void *learner, const LearnerStep *step, int m, LearnerUpdate *update);
  /* The operations of the minibatch whose turn it is (minibatch_take), as queue_minibatch wants them. */
  void (*queue)(void *learner, const LearnerStep *step);
} Epochs;

/* Steps of an iteration. */
int epochs_steps(const CoreConfig *config);
int epochs_decide(const Epochs *epochs, const LearnerStep *step, LearnerUpdate *update);
/* Between queue_begin and queue_finish. */
void epochs_queue(const Epochs *epochs, Queue *queue, const LearnerStep *step);
/* After queue_finish, which gave `failed`: takes the step that could not be done once more, for the host to see why. */
int epochs_explain(const Epochs *epochs, const LearnerStep *step, int failed);

#endif
