/* Measurements of an iteration, in their order (training_measure.h). */
#include "trainer/run/training_measure.h"

int training_choose_metrics(Training *training, uint64_t seed, int64_t iteration) {
  metrics_choose(&training->metrics, &training->config, iteration);
  training->rollout.coverage = training->metrics.depth >= METRICS_REPRESENTATION ? &training->coverage : NULL;
  if (training->rollout.coverage) TRY(coverage_begin(&training->coverage, seed, iteration));
  const bool visited =
    training->config.metrics.visited_states > 0 && visited_begin(&training->visited, seed, iteration);
  training->rollout.visited = visited ? &training->visited : NULL;
  return CORE_OK;
}

void training_begin_metrics(Training *training, uint64_t seed, int64_t iteration) {
  const int64_t every = training->config.metrics.profile_every;
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

static void finish_profile(Training *training, StoreIteration *row) {
  if (!training->profiled) return;
  const ProfileSummary summary = profile_finish(&training->profile, training->ops);
  row->kl_monotone = summary.monotone;
  row->kl_slope = summary.slope;
  row->kl_consecutive = profile_mean_consecutive(&training->profile);
}

void training_finish_metrics(Training *training, uint64_t seed, int64_t iteration, MetricsPolicyChange *change,
                             StoreIteration *row) {
  metrics_policy_change(&training->metrics, training->ops, &training->agent, &training->rollout, seed, iteration,
                        change);
  finish_profile(training, row);
  finish_coverage(training, row);
  if (training->rollout.visited) visited_finish(&training->visited);
  obs_advance(&training->rollout.pipeline); /* the iteration used the rollout's statistics up to here */
}
