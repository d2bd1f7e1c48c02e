/* Measurements of an iteration, in their order (training_internal.h). */
#include "trainer/run/training_internal.h"

int training_prepare_metrics(Training *training, uint64_t seed, int64_t iteration) {
  metrics_choose(&training->metrics, &training->config, iteration);
  training->rollout.coverage = training->metrics.depth >= METRICS_REPRESENTATION ? &training->coverage : NULL;
  if (training->rollout.coverage) TRY(coverage_begin(&training->coverage, seed, iteration));
  const bool visited =
    training->config.metrics.visited_states > 0 && visited_begin(&training->visited, seed, iteration);
  training->rollout.visited = visited ? &training->visited : NULL;
  return CORE_OK;
}

void training_begin_metrics(Training *training, uint64_t seed, int64_t iteration) {
  const int64_t every = training->config.metrics.profile_every, noise_every = training->config.metrics.noise_every;
  training->measures_noise = noise_every > 0 && (iteration - 1) % noise_every == 0;
  noise_scale_begin(&training->noise);
  metrics_begin(&training->metrics, &training->agent);
  training->profiled = every > 0 && (iteration - 1) % every == 0;
  if (training->profiled)
    profile_begin(&training->profile, training->ops, &training->agent, &training->rollout, seed, iteration);
}

/* Merges the coverage of the measured rollout. */
static void finish_coverage(Training *training, StoreIteration *row) {
  if (training->rollout.coverage == NULL) return;
  coverage_finish(&training->coverage);
  const CoverageSummary summary = coverage_summarize(training->coverage.record->count);
  row->coverage_50 = summary.share_coarse;
  row->coverage_100 = summary.share_fine;
  row->coverage_entropy_50 = summary.entropy_coarse;
  row->coverage_entropy_100 = summary.entropy_fine;
  row->coverage_states = summary.states;
}

/* Measures whether the iteration's batch has a fixed point, before the profile is finished. */
static LimitPath measure_limit(Training *training, int64_t iteration) {
  const UpdateContext context = {.ops = training->ops, .rollout = &training->rollout, .iteration = iteration,
                                 .before = training->metrics.step_before};
  if (training->limit.checks == 0) return (LimitPath){0};
  return limit_measure(&training->limit, &training->learner, &context, &training->profile, &training->agent,
                       training->config.ppo.epochs);
}

static void fill_limit(const Training *training, const LimitPath *path, StoreIteration *row) {
  const Profile *profile = &training->profile;
  if (training->limit.checks == 0) return;
  row->limit_epochs = limit_epochs(path);
  if (path->checks == 0) return; /* the copy diverged at once */
  row->limit_moved = limit_moved(path);
  row->kl_limit = profile->to_limit[0];
  row->kl_limit_last = profile->to_limit[profile->points - 1];
  if (row->limit_epochs == 0) return; /* without a limit nothing approaches it */

  const ProfileSummary summary =
    profile_summarize(profile->to_limit, profile->update, profile->points, profile->updates);
  row->kl_limit_monotone = summary.monotone;
  row->kl_limit_slope = summary.slope;
}

static void finish_profile(Training *training, int64_t iteration, StoreIteration *row) {
  if (!training->profiled) return;
  const LimitPath path = measure_limit(training, iteration);
  const ProfileSummary summary = profile_finish(&training->profile, training->ops);
  row->kl_monotone = summary.monotone;
  row->kl_slope = summary.slope;
  row->kl_consecutive = profile_mean_consecutive(&training->profile);
  fill_limit(training, &path, row);
}

static void fill_noise(const Training *training, StoreIteration *row) {
  if (!training->measures_noise) return;
  row->grad_variance_actor = training->noise.actor.result.variance;
  row->grad_square_actor = training->noise.actor.result.square;
  row->grad_variance_critic = training->noise.critic.result.variance;
  row->grad_square_critic = training->noise.critic.result.square;
  store_iteration_set_noise_scale(row);
}

void training_finish_metrics(Training *training, uint64_t seed, int64_t iteration, MetricsPolicyChange *change,
                             StoreIteration *row) {
  metrics_policy_change(&training->metrics, training->ops, &training->agent, &training->rollout, seed, iteration,
                        change);
  finish_profile(training, iteration, row);
  fill_noise(training, row);
  finish_coverage(training, row);
  if (training->rollout.visited) visited_finish(&training->visited);
}
