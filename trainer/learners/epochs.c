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

static int decide_epoch(const Epochs *epochs, const LearnerStep *step, int epoch, LearnerUpdate *update) {
  for (int m = 0; m < (int)epochs->config->ppo.num_minibatches; m++) {
    const int code = epochs->decide(epochs->learner, step, m, update);
    if (code != CORE_OK) return name_minibatch(code, epoch, m);
    if (step->profile) profile_take(step->profile, step->ops, epochs->agent);
  }
  return CORE_OK;
}

/* ---- recorded ---------------------------------------------------------------------------------------------------- */

typedef struct Recording { const Epochs *epochs; const LearnerStep *step; } Recording;
static void record_one(void *context) {
  const Recording *recording = context;
  recording->epochs->record(recording->epochs->learner, recording->step);
}

static void record_epoch(const Epochs *epochs, const LearnerStep *step) {
  Recording recording = {epochs, step};
  for (int m = 0; m < (int)epochs->config->ppo.num_minibatches; m++) {
    recorded_minibatch(epochs->recorded, record_one, &recording);
    if (step->profile) profile_take(step->profile, step->ops, epochs->agent);
  }
}

static void open_stats(const Epochs *epochs, const LearnerStep *step, double rate) {
  recorded_begin(epochs->recorded, step, epochs->agent, &epochs->gradient->mean, epochs->actor, epochs->critic,
                 epochs->proximal, rate);
}

/* Takes the step that could not be done once more, for the host to see why. */
static int explain(const Epochs *epochs, const LearnerStep *step, int failed) {
  const int parts = (int)epochs->config->ppo.num_minibatches, epoch = failed / parts, m = failed % parts;
  LearnerUpdate unused = {0};
  shuffle(epochs, step, epoch);
  return name_minibatch(recorded_explain(epochs->decide(epochs->learner, step, m, &unused)), epoch, m);
}

/* Of the epochs from `first` on. */
static int close_stats(const Epochs *epochs, const LearnerStep *step, int first, LearnerUpdate *update) {
  OpsUpdateStats stats;
  const int failed = recorded_finish(epochs->recorded, step->ops, epochs->actor, epochs->critic, epochs->proximal,
                                     &stats, update);
  if (failed >= 0) return explain(epochs, step, first * (int)epochs->config->ppo.num_minibatches + failed);
  epochs->add_losses(epochs->learner, &stats, update);
  return CORE_OK;
}

/* One epoch, and the learning rate of the next. */
static int run_controlled(const Epochs *epochs, const LearnerStep *step, int epoch, LearnerUpdate *update) {
  RateController *controller = epochs->controller;
  const int minibatches = (int)epochs->config->ppo.num_minibatches;
  shuffle(epochs, step, epoch);
  if (recorded_is_possible(epochs->recorded, epochs->agent) && step->rollout->shards.all_shards == 1) {
    open_stats(epochs, step, *controller->rate);
    record_epoch(epochs, step);
    TRY(close_stats(epochs, step, epoch, update));
  } else {
    rate_controller_begin(controller);
    TRY(decide_epoch(epochs, step, epoch, update));
    update->controller_kl = rate_controller_kl(controller, minibatches);
  }
  rate_controller_follow(controller, update->controller_kl);
  return CORE_OK;
}

int epochs_run(const Epochs *epochs, const LearnerStep *step, LearnerUpdate *update) {
  const bool is_recorded = recorded_is_possible(epochs->recorded, epochs->agent);
  const bool divided = step->rollout->shards.all_shards > 1;
  int opened = -1; /* the epoch that the open stats begins with */
  for (int epoch = 0; epoch < (int)epochs->config->ppo.epochs; epoch++) {
    if (epochs->controller) {
      TRY(run_controlled(epochs, step, epoch, update));
      continue;
    }
    shuffle(epochs, step, epoch);
    const bool takes = is_recorded && (!divided || minibatch_fits(epochs->minibatch, step->rollout));
    if (opened >= 0 && !takes) {
      TRY(close_stats(epochs, step, opened, update));
      opened = -1;
    }
    if (!takes) {
      TRY(decide_epoch(epochs, step, epoch, update));
      continue;
    }
    if (opened < 0) {
      open_stats(epochs, step, update->learning_rate);
      opened = epoch;
    }
    record_epoch(epochs, step);
  }
  return opened >= 0 ? close_stats(epochs, step, opened, update) : CORE_OK;
}
