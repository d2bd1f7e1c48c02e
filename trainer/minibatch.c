/* Permuting and gathering. */
#include "trainer/minibatch.h"

#include <inttypes.h>

#include "core/random.h"

/* That M divides is core_config_check's business; here only what 32-bit rows can hold. */
static int check_sizes(const CoreConfig *config) {
  int64_t total = core_config_transitions_per_iteration(config), parts = config->ppo.num_minibatches;
  if (total > UINT32_MAX)
    return core_error(CORE_USAGE, "env.num * ppo.num_steps = %" PRId64 " passes 2^32 - 1; lower one of them", total);
  if (total / parts > INT32_MAX)
    return core_error(CORE_USAGE, "a minibatch of %" PRId64 " transitions is too large; raise ppo.num_minibatches",
                      total / parts);
  return CORE_OK;
}

int minibatch_register(Minibatch *minibatch, const CoreConfig *config, const Rollout *rollout, CoreArena *arena) {
  MinibatchBy by = strcmp(config->ppo.minibatch_by, "environments") == 0 ? MINIBATCH_ENVIRONMENTS
                                                                         : MINIBATCH_TRANSITIONS;
  TRY(check_sizes(config));
  size_t total = (size_t)rollout->steps * (size_t)rollout->worlds;
  size_t rows = total / (size_t)config->ppo.num_minibatches;
  *minibatch = (Minibatch){.rows = (int)rows, .by = by};
  CORE_ARENA(arena, minibatch->order, by == MINIBATCH_TRANSITIONS ? total : (size_t)rollout->worlds,
             "minibatch permutation");
  CORE_ARENA(arena, minibatch->index, rows, "minibatch rows [rows]");
  CORE_ARENA(arena, minibatch->observations, rows * (size_t)rollout->features,
             "minibatch observations [rows][features]");
  CORE_ARENA(arena, minibatch->actions, rows * rollout->action_bytes, "minibatch actions [rows][bytes]");
  CORE_ARENA(arena, minibatch->logp, rows, "minibatch log-probabilities [rows]");
  CORE_ARENA(arena, minibatch->values, rows, "minibatch values [rows]");
  CORE_ARENA(arena, minibatch->advantages, rows, "minibatch advantages [rows]");
  CORE_ARENA(arena, minibatch->targets, rows, "minibatch targets [rows]");
  return CORE_OK;
}

void minibatch_shuffle(Minibatch *minibatch, const Rollout *rollout, uint64_t seed, int64_t iteration, int epoch) {
  uint32_t worlds = (uint32_t)rollout->worlds;
  uint32_t n = minibatch->by == MINIBATCH_TRANSITIONS ? worlds * (uint32_t)rollout->steps : worlds;
  core_random_permutation(seed, CORE_RANDOM_SHUFFLE, (uint32_t)iteration, (uint32_t)epoch, minibatch->order, n);
}

static void fill_index(Minibatch *minibatch, const Rollout *rollout, int m) {
  uint32_t steps = (uint32_t)rollout->steps, worlds = (uint32_t)rollout->worlds, rows = (uint32_t)minibatch->rows;
  if (minibatch->by == MINIBATCH_TRANSITIONS) {
    memcpy(minibatch->index, minibatch->order + (size_t)m * rows, rows * sizeof *minibatch->index);
    return;
  }
  const uint32_t *world = minibatch->order + (size_t)m * (rows / steps);
  for (uint32_t row = 0; row < rows; row++) minibatch->index[row] = row % steps * worlds + world[row / steps];
}

void minibatch_gather(Minibatch *minibatch, Ops *ops, const Rollout *rollout, const float *advantages,
                      const float *targets, int m) {
  const int rows = minibatch->rows;
  fill_index(minibatch, rollout, m);
  const uint32_t *index = minibatch->index;
  ops->gather_rows(ops, rollout->observations, index, minibatch->observations, rows, rollout->features);
  ops->gather_rows(ops, rollout->logp, index, minibatch->logp, rows, 1);
  ops->gather_rows(ops, rollout->values, index, minibatch->values, rows, 1);
  ops->gather_rows(ops, advantages, index, minibatch->advantages, rows, 1);
  ops->gather_rows(ops, targets, index, minibatch->targets, rows, 1);
  rollout_gather_actions(rollout, index, rows, minibatch->actions);
}
