/* Early stopping and the adaptive KL penalty (kl_control.h). */
#include "trainer/learners/kl_control.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/update/reduce.h"

/* ---- early stopping ---------------------------------------------------------------------------------------------- */

/* Stable-Baselines3's factor (PPO.train). */
static const double MINIBATCH_FACTOR = 1.5;

void early_stop_register(EarlyStop *stop, const CoreConfig *config, const Shards *shards, CoreArena *arena) {
  const double target = config->ppo.target_kl;
  *stop = (EarlyStop){.by_minibatch = strcmp(config->ppo.target_kl_check, "minibatch") == 0, .shards = *shards};
  if (target == 0) return;
  stop->limit = stop->by_minibatch ? MINIBATCH_FACTOR * target : target;
  CORE_ARENA(arena, stop->k3, (size_t)shards->shards, "k3 of a minibatch [shards]");
}

void early_stop_begin(EarlyStop *stop) { stop->stopped = false; }

void early_stop_begin_minibatch(EarlyStop *stop) {
  if (early_stop_is_on(stop)) memset(stop->k3, 0, (size_t)stop->shards.shards * sizeof *stop->k3);
}

void early_stop_add(EarlyStop *stop, int shard, double k3) {
  if (early_stop_is_on(stop)) stop->k3[shard] += k3;
}

bool early_stop_allows(EarlyStop *stop, int64_t global_rows) {
  if (!early_stop_is_on(stop)) return true;
  double *records = reduce_gather_records(stop->k3, (size_t)stop->shards.shards * sizeof *stop->k3), sum = 0;
  for (int s = 0; s < stop->shards.global_shards; s++) sum += records[s];
  free(records);
  stop->last = sum / (double)global_rows;
  if (stop->by_minibatch && stop->last > stop->limit) stop->stopped = true;
  return !stop->stopped;
}

void early_stop_read(EarlyStop *stop, const OpsUpdateStats *stats, bool divided, int rows) {
  if (!early_stop_is_on(stop)) return;
  stop->last = (divided ? stats->all : stats->now)[OPS_STATS_K3] / rows;
  if (stats->stopped) stop->stopped = true;
}

void early_stop_end_epoch(EarlyStop *stop) {
  if (early_stop_is_on(stop) && !stop->by_minibatch && stop->last > stop->limit) stop->stopped = true;
}

/* ---- the adaptive penalty ---------------------------------------------------------------------------------------- */

static const double TOLERANCE = 1.5, STEP = 2, COEFFICIENT_MIN = 1e-6, COEFFICIENT_MAX = 1e6;

KlPenalty kl_penalty_create(const CoreConfig *config) {
  return (KlPenalty){.target = config->ppo.kl_penalty_target, .start = config->ppo.kl_penalty,
                     .coefficient = config->ppo.kl_penalty};
}

void kl_penalty_start(KlPenalty *penalty) { penalty->coefficient = penalty->start; }

void kl_penalty_update(KlPenalty *penalty, double kl) {
  if (!kl_penalty_is_adaptive(penalty)) return;
  if (kl < penalty->target / TOLERANCE) penalty->coefficient = fmax(penalty->coefficient / STEP, COEFFICIENT_MIN);
  if (kl > penalty->target * TOLERANCE) penalty->coefficient = fmin(penalty->coefficient * STEP, COEFFICIENT_MAX);
}
