/* Buffers and steps of evaluation rollouts. */
#include "trainer/evaluate/eval_rollout.h"

#include "core/device/arena.h"
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_rows.h"
#include "trainer/wrappers/action.h"

void eval_rollout_register(EvalRollout *eval_rollout, const CoreConfig *config, const Env *levels, int worlds,
                           CoreArena *arena) {
  const OpsHead head = action_head(config, levels);
  const size_t n = (size_t)worlds;
  *eval_rollout = (EvalRollout){.worlds = worlds, .state_size = agent_state_size(config)};

  CORE_ARENA_DEVICE(arena, eval_rollout->states, n * (size_t)eval_rollout->state_size,
                    "trial states of the memory [worlds][numbers]");
  CORE_ARENA_DEVICE(arena, eval_rollout->raw, n * (size_t)levels->observation_length, "trial shown [worlds][features]");
  CORE_ARENA_DEVICE(arena, eval_rollout->observations, n * (size_t)obs_features(config, levels),
             "trial observations [worlds][features]");
  CORE_ARENA_DEVICE(arena, eval_rollout->logits, n * (size_t)head.logits, "trial logits [worlds][logits]");
  CORE_ARENA_DEVICE(arena, eval_rollout->logp, n, "trial log-probabilities [worlds]");
  CORE_ARENA(arena, eval_rollout->rewards, n, "trial rewards [worlds]");
  CORE_ARENA_DEVICE(arena, eval_rollout->actions, n * ops_head_action_bytes(&head), "trial actions [worlds][bytes]");
  CORE_ARENA_DEVICE(arena, eval_rollout->bounded, n * (size_t)head.factors,
                    "trial actions in bounds [worlds][factors]");
  CORE_ARENA(arena, eval_rollout->dones, n, "trial dones [worlds]");
  CORE_ARENA(arena, eval_rollout->solved, n, "trial solved [worlds]");
  if (levels->has_lives) CORE_ARENA(arena, eval_rollout->ends, n, "trial ends of episodes [worlds]");
  CORE_ARENA(arena, eval_rollout->episode_steps, n, "trial episode steps [worlds]");

  if (core_arena_device(arena) == NULL) return;
  CORE_ARENA_DEVICE(arena, eval_rollout->given.rewards, n, "trial rewards [worlds]");
  CORE_ARENA_DEVICE(arena, eval_rollout->given.dones, n, "trial dones [worlds]");
  CORE_ARENA_DEVICE(arena, eval_rollout->given.solved, n, "trial solved [worlds]");
  if (levels->has_lives) CORE_ARENA_DEVICE(arena, eval_rollout->given.ends, n, "trial ends of episodes [worlds]");
  CORE_ARENA_DEVICE(arena, eval_rollout->given.episode_steps, n, "trial episode steps [worlds]");
}

void eval_rollout_divide(EvalRollout *eval_rollout, const int *end, int parts) {
  eval_rollout->part_end = end;
  eval_rollout->parts = parts;
}

void eval_rollout_begin(const EvalRollout *eval_rollout, CoreDevice *device) {
  const size_t n = (size_t)eval_rollout->worlds * (size_t)eval_rollout->state_size;
  if (n > 0) core_device_zero(device, eval_rollout->states, n * sizeof *eval_rollout->states);
}

/* Binds the agent's next pass to worlds from `first` on. */
static void follow(const EvalRollout *eval_rollout, const Agent *agent, int first) {
  float *states = eval_rollout->states + (size_t)first * (size_t)eval_rollout->state_size;
  agent_bind_sequences(agent, &(RecurrentSequences){.length = 1, .start = states, .end = states});
}

/* Clears the states of episodes that ended. */
static void end_states(const EvalRollout *eval_rollout, CoreDevice *device) {
  const OpsEndStates end = {eval_rollout->states, eval_rollout->now.dones, (size_t)eval_rollout->worlds,
                            core_divisor((size_t)eval_rollout->state_size)};
  if (eval_rollout->state_size > 0)
    KERNELS_EACH(device, ops_end_states, ops_end_state, end.worlds * end.state_size.number, &end);
}

/* Computes the policy of all worlds, part after part. */
static void act(EvalRollout *eval_rollout, const EvalPlayer *player) {
  const Agent *agent = player->agent;
  const size_t features = (size_t)agent->inputs, logits = (size_t)agent->head.logits;
  for (int part = 0, first = 0; part < eval_rollout->parts; part++) {
    if (eval_rollout->part_end[part] > first) {
      follow(eval_rollout, agent, first);
      agent_policy(agent, player->ops, agent->actor.theta, eval_rollout->observations + (size_t)first * features,
                   eval_rollout->part_end[part] - first, eval_rollout->logits + (size_t)first * logits);
    }
    first = eval_rollout->part_end[part];
  }
}

void eval_rollout_step(EvalRollout *eval_rollout, Env *env, const EvalPlayer *player, const EvalKey *key) {
  const Agent *agent = player->agent;
  const EnvStep host = {.observations = eval_rollout->raw, .rewards = eval_rollout->rewards,
                        .dones = eval_rollout->dones,
                        .solved = eval_rollout->solved, .episode_steps = eval_rollout->episode_steps,
                          .ends = eval_rollout->ends};

  eval_rollout->now = player->ops->device ? eval_rollout->given : host;
  eval_rollout->now.observations = eval_rollout->raw;
  obs_transform_eval(player->pipeline, eval_rollout->raw, eval_rollout->worlds, eval_rollout->observations);
  follow(eval_rollout, agent, 0);
  if (eval_rollout->parts > 0) act(eval_rollout, player);
  else agent_policy(agent, player->ops, agent->actor.theta, eval_rollout->observations, eval_rollout->worlds,
                    eval_rollout->logits);

  if (eval_rollout->acts_by_mean)
    action_mode(player->ops, &agent->head, eval_rollout->logits, eval_rollout->worlds, eval_rollout->actions);
  else if (key->clock)
    player->ops->policy_sample_at(player->ops, &agent->head, eval_rollout->logits, eval_rollout->worlds, key->seed,
                                  key->purpose, key->first_world, key->clock, key->step, eval_rollout->actions,
                                  eval_rollout->logp);
  else
    player->ops->policy_sample(player->ops, &agent->head, eval_rollout->logits, eval_rollout->worlds, key->seed,
                               key->purpose, key->first_world, key->step, eval_rollout->actions, eval_rollout->logp);

  env->step(env, action_for_env(player->ops, &agent->head, eval_rollout->actions, eval_rollout->worlds,
                                eval_rollout->bounded), &eval_rollout->now);
  end_states(eval_rollout, player->ops->device);
}

void eval_rollout_download(EvalRollout *eval_rollout, const EvalPlayer *player) {
  CoreDevice *device = player->ops->device;
  const EnvStep *now = &eval_rollout->now;
  const size_t n = (size_t)eval_rollout->worlds;
  core_device_to_host(device, eval_rollout->rewards, now->rewards, n * sizeof *now->rewards);
  core_device_to_host(device, eval_rollout->dones, now->dones, n * sizeof *now->dones);
  core_device_to_host(device, eval_rollout->solved, now->solved, n * sizeof *now->solved);
  if (eval_rollout->ends) core_device_to_host(device, eval_rollout->ends, now->ends, n * sizeof *now->ends);
  core_device_to_host(device, eval_rollout->episode_steps, now->episode_steps, n * sizeof *now->episode_steps);
}
