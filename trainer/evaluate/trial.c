/* Buffers of trials, and a step of them. */
#include "trainer/evaluate/trial.h"

#include "core/device/arena.h"
#include "trainer/ops/kernels/kernels_each.h"
#include "trainer/ops/kernels/kernels_sequences.h"
#include "trainer/wrappers/action.h"

void trial_register(Trial *trial, const CoreConfig *config, const Env *levels, int worlds, CoreArena *arena) {
  const OpsHead head = action_head(config, levels);
  const size_t n = (size_t)worlds;
  *trial = (Trial){.worlds = worlds, .numbers = agent_states(config)};
  CORE_ARENA_DEVICE(arena, trial->states, n * (size_t)trial->numbers, "trial states of the memory [worlds][numbers]");
  CORE_ARENA_DEVICE(arena, trial->raw, n * (size_t)levels->observation_length, "trial shown [worlds][features]");
  CORE_ARENA_DEVICE(arena, trial->observations, n * (size_t)observer_features(config, levels),
             "trial observations [worlds][features]");
  CORE_ARENA_DEVICE(arena, trial->logits, n * (size_t)head.logits, "trial logits [worlds][logits]");
  CORE_ARENA_DEVICE(arena, trial->logp, n, "trial log-probabilities [worlds]");
  CORE_ARENA(arena, trial->rewards, n, "trial rewards [worlds]");
  CORE_ARENA_DEVICE(arena, trial->actions, n * ops_head_action_bytes(&head), "trial actions [worlds][bytes]");
  CORE_ARENA_DEVICE(arena, trial->bounded, n * (size_t)head.factors, "trial actions in bounds [worlds][factors]");
  CORE_ARENA(arena, trial->dones, n, "trial dones [worlds]");
  CORE_ARENA(arena, trial->solved, n, "trial solved [worlds]");
  if (levels->has_lives) CORE_ARENA(arena, trial->ends, n, "trial ends of episodes [worlds]");
  CORE_ARENA(arena, trial->episode_steps, n, "trial episode steps [worlds]");
  if (core_arena_device(arena) == NULL) return;
  CORE_ARENA_DEVICE(arena, trial->given.rewards, n, "trial rewards [worlds]");
  CORE_ARENA_DEVICE(arena, trial->given.dones, n, "trial dones [worlds]");
  CORE_ARENA_DEVICE(arena, trial->given.solved, n, "trial solved [worlds]");
  if (levels->has_lives) CORE_ARENA_DEVICE(arena, trial->given.ends, n, "trial ends of episodes [worlds]");
  CORE_ARENA_DEVICE(arena, trial->given.episode_steps, n, "trial episode steps [worlds]");
}

void trial_divide(Trial *trial, const int *end, int parts) {
  trial->part_end = end;
  trial->parts = parts;
}

void trial_begin(const Trial *trial, CoreDevice *device) {
  const size_t n = (size_t)trial->worlds * (size_t)trial->numbers;
  if (n > 0) core_device_zero(device, trial->states, n * sizeof *trial->states);
}

/* The agent's next pass is of worlds from `first` on. */
static void follow(const Trial *trial, const Agent *agent, int first) {
  float *states = trial->states + (size_t)first * (size_t)trial->numbers;
  agent_bind_sequences(agent, &(RecurrentSequences){.length = 1, .start = states, .end = states});
}

/* States end with their episodes. */
static void end_states(const Trial *trial, CoreDevice *device) {
  const OpsEndStates end = {trial->states, trial->now.dones, (size_t)trial->worlds,
                            core_divisor((size_t)trial->numbers)};
  if (trial->numbers > 0) KERNELS_EACH(device, ops_end_states, ops_end_state, end.worlds * end.numbers.number, &end);
}

/* The policy of all worlds, part after part. */
static void act(Trial *trial, const TrialPlayer *player) {
  const Agent *agent = player->agent;
  const size_t features = (size_t)agent->inputs, logits = (size_t)agent->head.logits;
  for (int part = 0, first = 0; part < trial->parts; first = trial->part_end[part++])
    if (trial->part_end[part] > first) {
      follow(trial, agent, first);
      agent_policy(agent, player->ops, agent->actor.theta, trial->observations + (size_t)first * features,
                   trial->part_end[part] - first, trial->logits + (size_t)first * logits);
    }
}

void trial_step(Trial *trial, Env *env, const TrialPlayer *player, const TrialKey *key) {
  const Agent *agent = player->agent;
  const EnvStep host = {.observations = trial->raw, .rewards = trial->rewards, .dones = trial->dones,
                        .solved = trial->solved, .episode_steps = trial->episode_steps, .ends = trial->ends};
  trial->now = player->ops->device ? trial->given : host;
  trial->now.observations = trial->raw;
  observer_look(player->observer, trial->raw, trial->worlds, trial->observations);
  follow(trial, agent, 0);
  if (trial->parts > 0) act(trial, player);
  else agent_policy(agent, player->ops, agent->actor.theta, trial->observations, trial->worlds, trial->logits);
  if (trial->acts_by_mean)
    action_likeliest(player->ops, &agent->head, trial->logits, trial->worlds, trial->actions);
  else
    player->ops->policy_sample(player->ops, &agent->head, trial->logits, trial->worlds, key->seed, key->purpose,
                               key->first_world, key->step, trial->actions, trial->logp);
  env->step(env, action_for_env(player->ops, &agent->head, trial->actions, trial->worlds, trial->bounded), &trial->now);
  end_states(trial, player->ops->device);
}

void trial_fetch(Trial *trial, const TrialPlayer *player) {
  CoreDevice *device = player->ops->device;
  const EnvStep *now = &trial->now;
  const size_t n = (size_t)trial->worlds;
  core_device_to_host(device, trial->rewards, now->rewards, n * sizeof *now->rewards);
  core_device_to_host(device, trial->dones, now->dones, n * sizeof *now->dones);
  core_device_to_host(device, trial->solved, now->solved, n * sizeof *now->solved);
  if (trial->ends) core_device_to_host(device, trial->ends, now->ends, n * sizeof *now->ends);
  core_device_to_host(device, trial->episode_steps, now->episode_steps, n * sizeof *now->episode_steps);
}
