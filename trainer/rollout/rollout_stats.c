/* Episode statistics of a rollout (rollout.h). */
#include <math.h>
#include <stdlib.h>

#include "trainer/ranks/ranks.h"
#include "trainer/rollout/rollout_internal.h"

/* Returns this rollout's statistics on the ops' device; with SAPG only the leader's worlds count. */
static OpsEpisodes stats_of(const Rollout *rollout) {
  OpsEpisodes stats = rollout->stats;
  stats.worlds = rollout->worlds;
  stats.first_reported = rollout->pipeline.first_reported;
  stats.returns = rollout->returns;
  stats.level_of_slot = rollout->level_of_slot;
  if (rollout->device) return stats;
  stats.attempts = rollout->attempts;
  stats.solutions = rollout->solutions;
  return stats;
}

void rollout_open_stats(const Rollout *rollout) {
  const OpsEpisodes stats = stats_of(rollout);
  const size_t levels = (size_t)rollout->levels;
  core_device_zero(rollout->device, stats.finished,
                   (rollout->device ? (size_t)rollout->worlds : 1) * sizeof *stats.finished);
  core_device_zero(rollout->device, stats.count, OPS_EPISODE_COUNTS * sizeof *stats.count);
  core_device_zero(rollout->device, stats.attempts, levels * sizeof *stats.attempts);
  core_device_zero(rollout->device, stats.solutions, levels * sizeof *stats.solutions);
}

void rollout_count_episodes(Rollout *rollout, Ops *ops, int t, RolloutPart part) {
  const size_t first = (size_t)part.first, row = (size_t)t * (size_t)rollout->worlds + first;
  OpsEpisodes stats = stats_of(rollout);
  const uint8_t *ends = rollout->ends ? rollout->ends + first : rollout->dones + row;
  const OpsEpisodeStep step = {rollout->rewards + row, ends, rollout->solved + first, rollout->level + first,
                               rollout->episode_steps + first};
  stats.worlds = part.worlds;
  stats.first_reported = stats.first_reported > part.first ? stats.first_reported - part.first : 0;
  stats.returns += first;
  if (rollout->device) stats.finished += first;
  ops->count_episodes(ops, &stats, &step);
}

void rollout_read_stats(const Rollout *rollout, RolloutEpisodes *episodes) {
  const OpsEpisodes stats = stats_of(rollout);
  const size_t n = rollout->device ? (size_t)rollout->worlds : 1, levels = (size_t)rollout->levels;
  int64_t count[OPS_EPISODE_COUNTS];
  void *copy;
  const double *finished = core_device_view(rollout->device, stats.finished, n * sizeof *finished, &copy);
  core_device_to_host(rollout->device, count, stats.count, sizeof count);
  core_device_to_host(rollout->device, rollout->attempts, stats.attempts, levels * sizeof *stats.attempts);
  core_device_to_host(rollout->device, rollout->solutions, stats.solutions, levels * sizeof *stats.solutions);
  episodes->count = count[0];
  episodes->length_mean = (double)count[1];
  episodes->goals = (double)count[2];
  for (size_t w = 0; w < n; w++) episodes->return_mean += finished[w];
  free(copy);
}

void rollout_close_stats(const Rollout *rollout, RolloutEpisodes *episodes) {
  double sums[] = {episodes->return_mean, episodes->length_mean, episodes->goals}, rates = 0;
  int64_t levels = 0;

  ranks_sum_counts(&episodes->count, 1);
  ranks_sum_counts(rollout->attempts, (size_t)rollout->levels);
  ranks_sum_counts(rollout->solutions, (size_t)rollout->levels);
  ranks_sum(sums, 3);
  episodes->return_mean = sums[0];
  episodes->length_mean = sums[1];

  for (int i = 0; i < rollout->levels; i++) {
    if (rollout->attempts[i] == 0) continue;
    levels++;
    rates += (double)rollout->solutions[i] / (double)rollout->attempts[i];
  }

  episodes->solve_rate = rollout->solves && levels > 0 ? rates / (double)levels : NAN;
  episodes->return_mean = episodes->count > 0 ? episodes->return_mean / (double)episodes->count : NAN;
  episodes->length_mean = episodes->count > 0 ? episodes->length_mean / (double)episodes->count : NAN;
  episodes->goals = rollout->counts_goals && episodes->count > 0 ? sums[2] / (double)episodes->count : NAN;
}
