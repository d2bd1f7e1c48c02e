/* Shuffling and going through the minibatches (epochs.h). */
#include "trainer/learners/epochs.h"

int epochs_steps(const CoreConfig *config) { return (int)(config->ppo.epochs * config->ppo.num_minibatches); }

static void shuffle(const Epochs *epochs, const LearnerStep *step, int epoch) {
  minibatch_shuffle(epochs->minibatch, step->ops, step->rollout, (uint64_t)epochs->config->train.seed, step->iteration,
                    epoch);
}

static int name_minibatch(int code, int epoch, int m) {
  return core_error_context(code, "epoch %d, minibatch %d", epoch + 1, m + 1);
}

int epochs_decide(const Epochs *epochs, const LearnerStep *step, LearnerUpdate *update) {
  for (int epoch = 0; epoch < (int)epochs->config->ppo.epochs; epoch++) {
    shuffle(epochs, step, epoch);
    for (int m = 0; m < (int)epochs->config->ppo.num_minibatches; m++) {
      const int code = epochs->decide(epochs->learner, step, m, update);
      if (code != CORE_OK) return name_minibatch(code, epoch, m);
      if (step->profile) profile_take(step->profile, step->ops, epochs->agent);
    }
  }
  return CORE_OK;
}

typedef struct Queued { const Epochs *epochs; const LearnerStep *step; } Queued;
static void queue_one(void *context) {
  const Queued *queued = context;
  queued->epochs->queue(queued->epochs->learner, queued->step);
}

void epochs_queue(const Epochs *epochs, Queue *queue, const LearnerStep *step) {
  Queued queued = {epochs, step};
  for (int epoch = 0; epoch < (int)epochs->config->ppo.epochs; epoch++) {
    shuffle(epochs, step, epoch);
    for (int m = 0; m < (int)epochs->config->ppo.num_minibatches; m++) {
      queue_minibatch(queue, queue_one, &queued);
      if (step->profile) profile_take(step->profile, step->ops, epochs->agent);
    }
  }
}

int epochs_explain(const Epochs *epochs, const LearnerStep *step, int failed) {
  const int parts = (int)epochs->config->ppo.num_minibatches, epoch = failed / parts, m = failed % parts;
  LearnerUpdate unused = {0};
  shuffle(epochs, step, epoch);
  return name_minibatch(queue_explain(epochs->decide(epochs->learner, step, m, &unused)), epoch, m);
}
