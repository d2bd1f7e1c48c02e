/* Loading of policies, and acting (player.h). */
#include "trainer/tools/player.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/random.h"
#include "store/code/trust.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/envs/tasks/tasks.h"
#include "store/workspace/paths.h"
#include "store/workspace/run_name.h"
#include "trainer/run/run_files.h"
#include "trainer/run/training_internal.h"
#include "trainer/wrappers/action.h"

static int load_pipeline(Player *player, const char *checkpoint) {
  ObsPipeline *pipeline = &player->pipeline;
  if (!pipeline->has_moments) return CORE_OK;
  TRY(checkpoint_read_section(checkpoint, player->run_id, OBS_SECTION, pipeline->normalizer.moments,
                              obs_section_bytes(pipeline), &player->iteration));
  normalize_restored(&pipeline->normalizer);
  return CORE_OK;
}

/* Applies the run's choice of bf16 layers. */
static int load_bf16(Player *player, const char *checkpoint) {
  OpsBf16 layers = {.layers = 0}, choice;
  bool exists;
  if (strcmp(player->config.train.precision, "bf16") != 0) return CORE_OK;
  TRY(checkpoint_has_section(checkpoint, TRAINING_BF16_SECTION, &exists));
  if (!exists) return CORE_OK;
  TRY(checkpoint_read_section(checkpoint, player->run_id, TRAINING_BF16_SECTION, &choice, sizeof choice,
                              &player->iteration));
  agent_add_layers(&player->agent, &layers);
  const int code = ops_bf16_check(&choice, &layers);
  if (code != CORE_OK) return core_error_context(code, "%s: \"%s\" is damaged", checkpoint, TRAINING_BF16_SECTION);
  if (choice.layers == 0) return CORE_OK;
  ops_cpu_bf16_adapt(player->ops, &layers, &choice);
  ops_cpu_bf16_use(player->ops, &choice);
  return CORE_OK;
}

static int load_policy(Player *player, const char *checkpoint) {
  AgentNetwork *actor = &player->agent.actor;
  player->arena = core_arena_create("player");
  agent_register(&player->agent, &player->config, player->env, 1, player->arena);
  const Shards alone = shards_alone(1);
  obs_register(&player->pipeline, &player->config, player->env, &alone, player->arena);

  CORE_ARENA(player->arena, player->env_observation, (size_t)player->env->observation_length,
             "environment observation [features]");
  CORE_ARENA(player->arena, player->observation, (size_t)player->agent.inputs, "observation [features]");
  CORE_ARENA(player->arena, player->states, (size_t)agent_state_size(&player->config),
             "recurrent state [values]");
  CORE_ARENA(player->arena, player->logits, (size_t)player->agent.head.logits, "logits [logits]");

  TRY(core_arena_commit(player->arena));
  agent_bind_activations(&player->agent);
  TRY(agent_create_ops(&player->agent, &player->config, 1, &player->ops));
  TRY(load_bf16(player, checkpoint));
  TRY(load_pipeline(player, checkpoint));
  return checkpoint_read_section(checkpoint, player->run_id, "actor", actor->theta, actor->n * sizeof *actor->theta,
                                 &player->iteration);
}

int player_create(const PlayerOptions *opts, Player *player) {
  RunFiles files;
  *player = (Player){.iteration = -1};
  struct stat status;

  TRY(run_files_find(opts->checkpoint, opts->root, opts->best, &files));
  player->config = core_config_default();
  TRY(core_config_read(files.config, &player->config));
  if (stat(files.config, &status) != 0 || status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)))
    TRY(store_trust_check(&player->config, false)); /* another user may have chosen its code */

  TRY(core_config_check(&player->config));
  TRY(agent_check(&player->config));
  core_config_id(&player->config, player->run_id);
  if (!opts->needs_env) TRY(run_files_create_env(&files, &player->config, &player->env));
  if (!player->env) TRY(env_create(&player->config, 1, 0, &player->env));
  TRY(agent_check_env(&player->config, player->env));
  TRY(core_text_copy(player->checkpoint, sizeof player->checkpoint, files.checkpoint, "checkpoint"));
  return load_policy(player, files.checkpoint);
}

int player_output(const Player *player, const char *root, const char *given, const char *extension,
                  char path[CORE_PATH_MAX]) {
  char workspace[CORE_PATH_MAX], label[CORE_LABEL_MAX];
  struct stat status;
  if (stat(given, &status) != 0 || !S_ISDIR(status.st_mode)) return core_files_path(path, "%s", given);
  TRY(store_root(root, workspace));
  store_run_label(workspace, player->run_id, &player->config, label);
  return core_files_path(path, "%s/%s-%s%s", given, label, player->run_id, extension);
}

int player_read_critic(Player *player) {
  const AgentNetwork *critic = &player->agent.critic;
  if (critic->n == 0) return CORE_OK;
  return checkpoint_read_section(player->checkpoint, player->run_id, "critic", critic->theta,
                                 critic->n * sizeof *critic->theta, &player->iteration);
}

void player_destroy(Player *player) {
  ops_destroy(&player->ops);
  core_arena_destroy(&player->arena);
  env_destroy(&player->env);
}

void player_act(Player *player, const float *observation, uint64_t seed, int step, PlayerAction *action) {
  const Env *env = player->env;
  const Agent *agent = &player->agent;
  PlayerAction sampled = {{0}};
  float logp, bounded[OPS_FACTORS_MAX] = {0};

  for (int i = 0; i < env->observation_length; i++)
    player->env_observation[i] = observation[env->features ? env->features[i] : i];
  obs_transform_eval(&player->pipeline, player->env_observation, 1, player->observation);
  if (step == 0)
    for (int i = 0; i < agent->recurrent.states; i++) player->states[i] = 0;
  agent_bind_sequences(agent, &(RecurrentSequences){.length = 1, .start = player->states, .end = player->states});
  agent_policy(agent, player->ops, agent->actor.theta, player->observation, 1, player->logits);

  if (strcmp(player->config.eval.actions, "mean") == 0)
    action_mode(player->ops, &agent->head, player->logits, 1, &sampled);
  else
    player->ops->policy_sample(player->ops, &agent->head, player->logits, 1, seed, CORE_RANDOM_EVALUATE, 0,
                               (uint32_t)step, &sampled, &logp);
  memcpy(action, action_for_env(NULL, &agent->head, &sampled, 1, bounded), sizeof *action);
}
