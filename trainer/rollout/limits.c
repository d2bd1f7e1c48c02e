/* Truncated steps (limits.h). */
#include "trainer/rollout/limits.h"

#include <string.h>

bool limits_bootstrap(const CoreConfig *config) { return strcmp(config->env.truncation, "bootstrap") == 0; }

int limits_check(const CoreConfig *config, const Env *env) {
  if (!limits_bootstrap(config)) return CORE_OK;
  if (env->truncates) return CORE_OK;
  return env_unsupported(env, "env.truncation", config->env.truncation, "time limits that are told from other ends",
                   "env.truncation to terminate");
}

void limits_register(Limits *limits, const CoreConfig *config, const Env *env, const ObsPipeline *pipeline, int steps,
                     CoreArena *arena) {
  const size_t n = (size_t)pipeline->worlds, k = (size_t)steps;
  const bool bootstraps = limits_bootstrap(config);
  *limits = (Limits){0};
  if (!env->truncates) return;
  CORE_ARENA_DEVICE(arena, limits->truncated, k * n, "rollout cuts by the time limit [steps][worlds]");
  if (!bootstraps && !pipeline->is_each) return;
  CORE_ARENA_DEVICE(arena, limits->raw, n * (size_t)pipeline->shown, "last observations shown [worlds][features]");
  if (!bootstraps) return;
  if (pipeline->active)
    CORE_ARENA_DEVICE(arena, limits->seen, n * (size_t)pipeline->seen, "last observations seen [worlds][features]");
  CORE_ARENA_DEVICE(arena, limits->values, k * n, "rollout values of last observations [steps][worlds]");
  if (pipeline->blocks > 0)
    CORE_ARENA_DEVICE(arena, limits->leader_values, k * n,
                      "rollout values of last observations, the leader's [steps][worlds]");
}

void limits_value(const Limits *limits, const ObsPipeline *pipeline, Ops *ops, const Agent *agent, const Shards *shards,
                  const RolloutStates *states, int t, int first, int count) {
  const int shard = shards_worlds(shards), end = first + count;
  const size_t row = (size_t)t * (size_t)shards->worlds;
  float *seen = pipeline->active ? limits->seen : limits->raw;
  for (int worlds; first < end; first += worlds) {
    worlds = shard - first % shard < end - first ? shard - first % shard : end - first;
    const size_t index = (size_t)first;
    /* A device does the same work at each step, so that steps can be captured. */
    if (ops->device == NULL && !memchr(limits->truncated + row + index, 1, (size_t)worlds)) continue;
    float *shown = seen + index * (size_t)pipeline->seen;
    states_bind(states, agent, first, false);
    agent_values(agent, ops, shown, worlds, limits->values + row + index);
    if (limits->leader_values == NULL) continue;
    obs_set_leader_block(pipeline, shown, worlds);
    agent_values(agent, ops, shown, worlds, limits->leader_values + row + index);
  }
}
