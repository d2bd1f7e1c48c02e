/* Weighting and adding the gradients of micro-batches, shards and ranks (gradient.h). */
#include "trainer/update/gradient.h"

#include <stdlib.h>
#include <string.h>

#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/ranks/ranks.h"
#include "trainer/update/gradient_device.h"
#include "trainer/update/reduce.h"

enum { SLICE = 16384, BLOCK = 256 }; /* elements of a shard that are gathered, and folded, at once */

void gradient_register(Gradient *gradient, const Agent *agent, const Shards *shards, int rows, int pieces,
                       CoreArena *arena) {
  const size_t local_shards = (size_t)shards->shards;
  *gradient = (Gradient){.agent = agent, .shards = *shards};
  agent_register_gradient(agent, &gradient->mean, rows, arena);
  if (shards->global_shards == 1 && pieces == 1) return;
  CORE_ARENA(arena, gradient->rows, local_shards, "gradient rows [shards]");
  CORE_ARENA_DEVICE(arena, gradient->actor, local_shards * agent->actor.n,
                    "actor gradients of shards [shards][parameters]");
  CORE_ARENA_DEVICE(arena, gradient->critic, local_shards * agent->critic.n,
                    "critic gradients of shards [shards][parameters]");
  if (!shards->ordered) return;
  const size_t slice = agent->device ? gradient_device_slice() : SLICE;
  CORE_ARENA_DEVICE(arena, gradient->gather, ((size_t)shards->global_shards + local_shards) * slice,
                    "gradient slices [shards][slice]");
  if (agent->device) CORE_ARENA_DEVICE(arena, gradient->shares, (size_t)shards->global_shards, "shares [shards]");
}

void gradient_begin_captured(Gradient *gradient, const GradientCaptured *captured) {
  gradient_begin(gradient);
  gradient->captured = *captured;
}

void gradient_begin(Gradient *gradient) {
  gradient->captured = (GradientCaptured){0};
  if (gradient->rows == NULL) return;
  memset(gradient->rows, 0, (size_t)gradient->shards.shards * sizeof *gradient->rows);
  if (gradient->agent->device) gradient_device_begin(gradient);
}

void gradient_expect_last(Gradient *gradient, int rows, int64_t global_rows) {
  if (gradient->rows && gradient->agent->device) gradient_device_expect_last(gradient, rows, global_rows);
}

void gradient_merge_mean(CoreDevice *device, float *mean, const float *more, size_t n, int before, int rows) {
  const float keep = (float)before / (float)(before + rows), share = (float)rows / (float)(before + rows);
  if (device) {
    gradient_device_add(device, mean, more, n, before, rows);
  } else if (before == 0) {
    memcpy(mean, more, n * sizeof *mean);
  } else {
    for (size_t i = 0; i < n; i++) mean[i] = keep * mean[i] + share * more[i];
  }
}

void gradient_add(Gradient *gradient, int shard, int rows) {
  const size_t actor = gradient->agent->actor.n, critic = gradient->agent->critic.n;
  CoreDevice *device = gradient->agent->device;
  if (gradient->rows == NULL || gradient->sending.last) return; /* the last micro-batch is weighted as it is sent */
  const int before = gradient->rows[shard];
  gradient_merge_mean(device, gradient->actor + (size_t)shard * actor, gradient->mean.actor, actor, before, rows);
  gradient_merge_mean(device, gradient->critic + (size_t)shard * critic, gradient->mean.critic, critic, before, rows);
  gradient->rows[shard] += rows;
}

/* Sums the ranks' parts, each weighted by its share of the rows. */
static void sum_ranks(const Gradient *gradient, const float *local, size_t n, int64_t global_rows, float *mean) {
  const float share = (float)((double)gradient->rows[0] / (double)global_rows);
  if (gradient->rows[0] == 0) {
    memset(mean, 0, n * sizeof *mean); /* `local` holds no gradient */
  } else {
    for (size_t i = 0; i < n; i++) mean[i] = share * local[i];
  }
  ranks_sum_floats(mean, n);
}

/* Sums count elements of every shard, weighted by share, in shard order. */
static void fold_slice(const float *slice, const double *share, int shards, size_t count, float *mean) {
  double total[BLOCK];
  for (size_t first = 0; first < count; first += BLOCK) {
    const size_t n = count - first < BLOCK ? count - first : BLOCK;
    memset(total, 0, sizeof total);
    for (int s = 0; s < shards; s++) {
      const float *local = slice + (size_t)s * count + first;
      if (share[s] == 0) continue; /* the shard has no gradient */
      for (size_t i = 0; i < n; i++) total[i] += share[s] * (double)local[i];
    }
    for (size_t i = 0; i < n; i++) mean[first + i] = (float)total[i];
  }
}

static void fold_shards(Gradient *gradient, const float *local, size_t n, const double *shares, float *mean) {
  const size_t shards = (size_t)gradient->shards.shards;
  float *gathered = gradient->gather, *packed = gathered + (size_t)gradient->shards.global_shards * SLICE;
  if (gradient->agent->device) {
    gradient_device_fold(gradient, local, n, shares, mean);
    return;
  }
  for (size_t first = 0; first < n; first += SLICE) {
    const size_t count = n - first < SLICE ? n - first : SLICE;
    for (size_t s = 0; s < shards; s++) memcpy(packed + s * count, local + s * n + first, count * sizeof *packed);
    ranks_gather_all(packed, shards * count * sizeof *packed, gathered);
    fold_slice(gathered, shares, gradient->shards.global_shards, count, mean + first);
  }
}

void gradient_finish(Gradient *gradient, int64_t global_rows) {
  const size_t actor = gradient->agent->actor.n, critic = gradient->agent->critic.n;

  if (gradient->rows == NULL) return;
  if (gradient->shards.global_shards == 1) {
    core_device_copy(gradient->agent->device, gradient->mean.actor, gradient->actor, actor * sizeof(float));
    core_device_copy(gradient->agent->device, gradient->mean.critic, gradient->critic, critic * sizeof(float));
    return;
  }

  if (!gradient->shards.ordered && gradient->agent->device) {
    gradient_device_sum_ranks(gradient, global_rows);
    return;
  }
  if (gradient->captured.rows) {
    fold_shards(gradient, gradient->actor, actor, NULL, gradient->mean.actor);
    fold_shards(gradient, gradient->critic, critic, NULL, gradient->mean.critic);
    return;
  }
  if (!gradient->shards.ordered) {
    sum_ranks(gradient, gradient->actor, actor, global_rows, gradient->mean.actor);
    sum_ranks(gradient, gradient->critic, critic, global_rows, gradient->mean.critic);
    return;
  }

  const int local_shards = gradient->shards.shards;
  double *share = core_memory_zero_allocate((size_t)local_shards, sizeof *share);
  for (int s = 0; s < local_shards; s++) share[s] = (double)gradient->rows[s] / (double)global_rows;
  double *shares = reduce_gather_records(share, (size_t)local_shards * sizeof *share);
  fold_shards(gradient, gradient->actor, actor, shares, gradient->mean.actor);
  fold_shards(gradient, gradient->critic, critic, shares, gradient->mean.critic);

  free(shares);
  free(share);
}
