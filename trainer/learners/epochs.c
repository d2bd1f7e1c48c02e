/* Shuffling and iterating over minibatches (epochs.h). */
#include "trainer/learners/epochs.h"

#include "core/terminal.h"
#include "trainer/ranks/ranks.h"

int epochs_steps(const CoreConfig *config) { return (int)(config->ppo.epochs * config->ppo.num_minibatches); }

static void shuffle(const Epochs *epochs, const UpdateContext *context, int epoch) {
  minibatch_shuffle(epochs->minibatch, context->ops, context->rollout, (uint64_t)epochs->config->train.seed,
                    context->iteration, context->first_epoch + epoch);
}

static int name_minibatch(int code, int epoch, int m) {
  return core_error_context(code, "epoch %d, minibatch %d", epoch + 1, m + 1);
}

static bool is_stopped(const Epochs *epochs) { return epochs->early_stop && epochs->early_stop->stopped; }

static int step_epoch_sync(const Epochs *epochs, const UpdateContext *context, int epoch, UpdateStats *stats) {
  for (int m = 0; m < (int)epochs->config->ppo.num_minibatches; m++) {
    const int code = epochs->step_sync(epochs->learner, context, m, stats);
    if (code != CORE_OK) return name_minibatch(code, epoch, m);
    if (is_stopped(epochs)) return CORE_OK;
    if (context->profile) profile_snapshot(context->profile, context->ops, epochs->agent);
  }
  if (epochs->early_stop) early_stop_end_epoch(epochs->early_stop);
  return CORE_OK;
}

/* ---- captured steps ---------------------------------------------------------------------------------------------- */

typedef struct Enqueued { const Epochs *epochs; const UpdateContext *context; } Enqueued;
static void enqueue_one(void *context) {
  const Enqueued *enqueued = context;
  enqueued->epochs->enqueue(enqueued->epochs->learner, enqueued->context);
}

static void enqueue_epoch(const Epochs *epochs, const UpdateContext *context) {
  Enqueued enqueued = {epochs, context};
  for (int m = 0; m < (int)epochs->config->ppo.num_minibatches; m++) {
    captured_minibatch(epochs->captured, enqueue_one, &enqueued);
    if (context->profile) profile_snapshot(context->profile, context->ops, epochs->agent);
  }
}

static void begin_captured(const Epochs *epochs, const UpdateContext *context, double lr) {
  captured_begin(epochs->captured, context, epochs->agent, &epochs->gradient->mean, epochs->actor, epochs->critic,
                 epochs->proximal, lr);
}

/* Repeats the failed step on the host, which names the value that is not finite. */
static int repeat_failed_step(const Epochs *epochs, const UpdateContext *context, int failed) {
  const int parts = (int)epochs->config->ppo.num_minibatches, epoch = failed / parts, m = failed % parts;
  UpdateStats unused = {0};
  shuffle(epochs, context, epoch);
  return name_minibatch(captured_diagnose(epochs->step_sync(epochs->learner, context, m, &unused)), epoch, m);
}

/* Finishes the captured update that began with epoch `first`. */
static int finish_captured(const Epochs *epochs, const UpdateContext *context, int first, UpdateStats *stats) {
  OpsUpdateStats sums;
  const int failed = captured_finish(epochs->captured, context->ops, epochs->actor, epochs->critic, epochs->proximal,
                                     &sums, stats);
  if (failed >= 0)
    return repeat_failed_step(epochs, context, first * (int)epochs->config->ppo.num_minibatches + failed);
  epochs->add_losses(epochs->learner, &sums, stats);
  if (epochs->early_stop == NULL) return CORE_OK;
  early_stop_read(epochs->early_stop, &sums, epochs->captured->plan.divided, epochs->minibatch->global_rows);
  early_stop_end_epoch(epochs->early_stop);
  return CORE_OK;
}

/* Runs one epoch and sets the learning rate of the next. */
static int run_adaptive(const Epochs *epochs, const UpdateContext *context, int epoch, UpdateStats *stats) {
  AdaptiveLr *adaptive_lr = epochs->adaptive_lr;
  const int minibatches = (int)epochs->config->ppo.num_minibatches;
  shuffle(epochs, context, epoch);
  if (captured_is_available(epochs->captured, epochs->agent) && context->rollout->shards.global_shards == 1) {
    begin_captured(epochs, context, *adaptive_lr->lr);
    enqueue_epoch(epochs, context);
    TRY(finish_captured(epochs, context, epoch, stats));
  } else {
    adaptive_lr_begin_epoch(adaptive_lr);
    TRY(step_epoch_sync(epochs, context, epoch, stats));
    stats->controller_kl = adaptive_lr_mean_kl(adaptive_lr, minibatches);
  }
  adaptive_lr_update(adaptive_lr, stats->controller_kl);
  return CORE_OK;
}

static int run(const Epochs *epochs, const UpdateContext *context, UpdateStats *stats) {
  const bool is_captured = captured_is_available(epochs->captured, epochs->agent);
  const bool divided = context->rollout->shards.global_shards > 1;
  const bool may_stop = epochs->early_stop && early_stop_is_on(epochs->early_stop);
  int first_captured = -1; /* first epoch of the captured update in progress; -1: none */

  for (int epoch = 0; epoch < (int)epochs->config->ppo.epochs && !is_stopped(epochs); epoch++) {
    if (epochs->adaptive_lr) {
      TRY(run_adaptive(epochs, context, epoch, stats));
      continue;
    }
    shuffle(epochs, context, epoch);

    const bool fits = is_captured && (!divided || minibatch_fits(epochs->minibatch, context->rollout));
    if (first_captured >= 0 && !fits) {
      TRY(finish_captured(epochs, context, first_captured, stats));
      first_captured = -1;
    }
    if (!fits) {
      TRY(step_epoch_sync(epochs, context, epoch, stats));
      continue;
    }

    if (first_captured < 0) {
      begin_captured(epochs, context, stats->learning_rate);
      first_captured = epoch;
    }
    enqueue_epoch(epochs, context);

    if (!may_stop) continue;
    TRY(finish_captured(epochs, context, first_captured, stats));
    first_captured = -1;
  }
  return first_captured >= 0 ? finish_captured(epochs, context, first_captured, stats) : CORE_OK;
}

/* ---- the noise scale --------------------------------------------------------------------------------------------- */

static int measure_noise(const Epochs *epochs, const UpdateContext *context) {
  const int64_t rows = epochs->minibatch->global_rows;
  UpdateContext plain = *context;
  UpdateStats unused = {0};
  plain.measure = false;
  shuffle(epochs, context, 0);

  for (int m = 0; m < (int)epochs->config->ppo.num_minibatches; m++) {
    TRY(ranks_agree(epochs->add_gradients(epochs->learner, &plain, m, &unused)));
    gradient_finish(epochs->gradient, rows);
    noise_scale_add(context->noise, context->ops, epochs->agent, &epochs->gradient->mean);
  }
  noise_scale_finish(context->noise, context->ops, epochs->agent, rows);
  return CORE_OK;
}

void epochs_measure_noise(const Epochs *epochs, const UpdateContext *context) {
  const double start = core_clock_s();
  if (context->noise == NULL) return;
  const int before = core_device_begin_phase(context->ops->device, CORE_PHASE_MEASURE);
  if (epochs->config->ppo.num_minibatches > 1 && measure_noise(epochs, context) != CORE_OK) core_error_clear();
  core_device_begin_phase(context->ops->device, (CoreDevicePhase)before);
  context->noise->seconds = core_clock_s() - start;
}

int epochs_run(const Epochs *epochs, const UpdateContext *context, UpdateStats *stats) {
  const int before = core_device_begin_phase(context->ops->device, CORE_PHASE_MINIBATCHES);
  const int code = run(epochs, context, stats);
  core_device_begin_phase(context->ops->device, (CoreDevicePhase)before);
  return code;
}
