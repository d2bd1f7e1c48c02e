/* Validation of combinations of settings (core_config_check). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/schedule.h"

/* Appends the divisors of `total` nearest to `divisor`, below and above: "32 or 64". */
static void append_nearest_divisors(int64_t total, int64_t divisor, CoreText *text) {
  int64_t below = divisor < total ? divisor : total, above = divisor + 1;
  while (below > 1 && total % below) below--;
  while (above < total && total % above) above++;
  core_text_appendf(text, "%lld", (long long)below);
  if (above <= total) core_text_appendf(text, " or %lld", (long long)above);
}

static int check_minibatches(const CoreConfig *config) {
  int64_t n = config->env.num, k = config->ppo.num_steps, m = config->ppo.num_minibatches;
  bool by_env = strcmp(config->ppo.minibatch_by, "environments") == 0;
  int64_t total = by_env ? n : n * k;
  if (total % m == 0) return CORE_OK;

  CoreText divisors = {0};
  append_nearest_divisors(total, m, &divisors);
  int code;
  if (by_env)
    code = core_error(CORE_USAGE, "env.num = %lld cannot be divided into ppo.num_minibatches = %lld equal parts "
                      "(ppo.minibatch_by = environments); set ppo.num_minibatches to %s, or env.num to a multiple "
                      "of it",
                      (long long)n, (long long)m, core_text_string(&divisors));
  else
    code = core_error(CORE_USAGE, "env.num * ppo.num_steps = %lld * %lld = %lld transitions cannot be divided into "
                      "ppo.num_minibatches = %lld equal parts; set ppo.num_minibatches to %s",
                      (long long)n, (long long)k, (long long)total, (long long)m, core_text_string(&divisors));

  core_text_free(&divisors);
  return code;
}

/* Checks that rollouts and minibatches consist of complete sequences of a recurrent policy. */
static int check_sequences(const CoreConfig *config) {
  const bool sapg = strcmp(config->algo.name, "sapg") == 0;
  const char *key = sapg ? "sapg.sequence_length" : "ppo.sequence_length";
  const long long length = core_config_sequence_length(config), steps = (long long)config->ppo.num_steps;
  const long long total = core_config_transitions_per_iteration(config), parts = (long long)config->ppo.num_minibatches;

  if (length == 1) return CORE_OK;
  if (steps % length != 0)
    return core_error(CORE_USAGE, "ppo.num_steps = %lld is not a multiple of %s = %lld; set the latter to a divisor "
                      "of it", steps, key, length);
  if (total / parts % length == 0) return CORE_OK;

  CoreText divisors = {0};
  append_nearest_divisors(total / length, parts, &divisors);
  const int code = core_error(CORE_USAGE, "a minibatch of %lld transitions does not consist of whole sequences of %s = "
                              "%lld steps, as net.memory = %s requires; set ppo.num_minibatches to %s", total / parts,
                              key, length, config->net.memory, core_text_string(&divisors));
  core_text_free(&divisors);
  return code;
}

/* Checks the sizes of SAPG's blocks and the number of sampled followers. */
static int check_sapg(const CoreConfig *config) {
  const long long blocks = (long long)config->sapg.blocks, envs = (long long)config->env.num;
  if (strcmp(config->algo.name, "sapg") != 0) return CORE_OK;

  if (envs % blocks != 0)
    return core_error(CORE_USAGE,
                      "env.num = %lld cannot be divided into sapg.blocks = %lld blocks; set env.num to %lld "
                      "or %lld",
                      envs, blocks, envs / blocks * blocks + (envs < blocks ? blocks : 0),
                      (envs / blocks + 1) * blocks);
  if (config->sapg.off_policy_ratio >= blocks)
    return core_error(CORE_USAGE,
                      "sapg.off_policy_ratio = %lld: there are %lld followers in sapg.blocks = %lld; set it to "
                      "0 to %lld",
                      (long long)config->sapg.off_policy_ratio, blocks - 1, blocks, blocks - 1);
  if (config->ppo.num_steps % config->sapg.sequence_length != 0)
    return core_error(CORE_USAGE,
                      "ppo.num_steps = %lld is not a multiple of sapg.sequence_length = %lld; set the latter to "
                      "1, or to a divisor",
                      (long long)config->ppo.num_steps, (long long)config->sapg.sequence_length);

  if (strcmp(config->net.action_head, "gaussian") != 0)
    return core_error(CORE_USAGE,
                      "algo.name = sapg needs a log standard deviation per block; set net.action_head to gaussian");
  return CORE_OK;
}

/* Checks the sizes of the resolved configuration. */
static int check_sizes(const CoreConfig *config) {
  CoreConfig resolved;
  TRY(core_config_resolve(config, &resolved));
  int code = check_minibatches(&resolved);
  if (code == CORE_OK) code = check_sapg(&resolved);
  if (code == CORE_OK) code = check_sequences(&resolved);
  if (code == CORE_OK || !core_config_is_scaled(config)) return code;
  return core_error_context(code, "scale.scheme = %s, scale.factor = %g", config->scale.scheme, config->scale.factor);
}

static int check_without_envs(const CoreConfig *config) {
  CoreSchedule schedule;
  if (core_config_is_scaled(config))
    return core_error(CORE_USAGE, "algo.name = %s has no environments to scale by scale.scheme = %s",
                      config->algo.name, config->scale.scheme);
  if (*config->init.from)
    return core_error(CORE_USAGE, "algo.name = %s has no networks to restore from init.from", config->algo.name);
  return core_schedule_parse("sgd.learning_rate", config->sgd.learning_rate, &schedule);
}

/* Checks that an episode fits into the steps played on a level; otherwise hard levels would never finish an episode. */
static int check_length(const char *name, int64_t steps, int64_t max_steps) {
  if (steps >= max_steps) return CORE_OK;
  return core_error(CORE_USAGE, "env.curriculum = sfl plays every level from its start, so %s = %lld must be at "
                    "least env.max_steps = %lld", name, (long long)steps, (long long)max_steps);
}

static int check_curriculum(const CoreConfig *config) {
  enum { SEARCHED_MAX = 1 << 30 };
  int64_t searched = config->sfl.num_batches * config->sfl.batch_size;

  if (!core_config_has_curriculum(config)) return CORE_OK;
  if (strncmp(config->env.task, "random_", strlen("random_")) != 0)
    return core_error(CORE_USAGE, "env.curriculum = sfl needs a level generator, which env.task = %s lacks; set "
                      "env.task to random_s, random_m or random_l", config->env.task);
  if (strcmp(config->env.reset, "level_set") != 0)
    return core_error(CORE_USAGE, "env.curriculum = sfl selects the level of each environment, so env.reset = %s is "
                      "not allowed; leave it at level_set", config->env.reset);
  TRY(check_length("ppo.num_steps", config->ppo.num_steps, config->env.max_steps));
  TRY(check_length("sfl.rollout_steps", config->sfl.rollout_steps, config->env.max_steps));

  if (searched > SEARCHED_MAX)
    return core_error(CORE_USAGE, "sfl.num_batches * sfl.batch_size = %lld levels exceeds the maximum of %d",
                      (long long)searched, SEARCHED_MAX);
  if (config->sfl.buffer_size <= searched) return CORE_OK;
  return core_error(CORE_USAGE, "sfl.buffer_size = %lld is more than the %lld levels searched (sfl.num_batches * "
                    "sfl.batch_size)", (long long)config->sfl.buffer_size, (long long)searched);
}

/* Checks that the learner supports the action space of the task. */
static int check_actions(const CoreConfig *config) {
  static const struct { const char *learner, *actions, *need; } fixed[] = {
    {"sapg", "continuous", "needs a standard deviation per block"},
    {"pqn", "discrete", "needs a discrete set of actions"}};
  const bool is_mujoco = strncmp(config->env.task, "mujoco/", strlen("mujoco/")) == 0;
  const char *actions = is_mujoco ? "continuous" : config->env.actions;

  if (!is_mujoco && strchr(config->env.task, '/')) return CORE_OK; /* checked when the learner is created */
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
    if (strcmp(config->algo.name, fixed[i].learner) != 0 || strcmp(actions, fixed[i].actions) == 0) continue;
    if (is_mujoco)
      return core_error(CORE_USAGE, "algo.name = %s %s, but the actions of env.task = %s are continuous; set "
                        "algo.name to ppo, ppo_ewma or sapg", config->algo.name, fixed[i].need, config->env.task);
    return core_error(CORE_USAGE, "algo.name = %s %s, which env.actions = %s does not provide; set env.actions = %s, "
                      "or algo.name to ppo or ppo_ewma, which support all", config->algo.name, fixed[i].need, actions,
                      fixed[i].actions);
  }
  return CORE_OK;
}

/* Checks that PQN has a single network. */
static int check_pqn(const CoreConfig *config) {
  if (strcmp(config->net.sharing, "separate") != 0)
    return core_error(CORE_USAGE,
                      "algo.name = pqn has no critic to combine by net.sharing = %s; leave "
                      "net.sharing = separate",
                      config->net.sharing);
  return CORE_OK;
}

static int check_ratio_cap(const CoreConfig *config) {
  if (config->ppo.ratio_cap == 0 || config->ppo.ratio_cap >= 1) return CORE_OK;
  return core_error(CORE_USAGE,
                    "ppo.ratio_cap = %g is below 1, the ratio of an unchanged policy; set it to 1 or more, or to "
                    "0 for no cap",
                    config->ppo.ratio_cap);
}

/* Checks the combination of the settings that control the KL. */
static int check_kl_controls(const CoreConfig *config) {
  if (config->ppo.kl_penalty_target > 0 && config->ppo.kl_penalty == 0)
    return core_error(CORE_USAGE, "ppo.kl_penalty_target = %g: doubling and halving leave ppo.kl_penalty = 0; set "
                      "ppo.kl_penalty to 1, or ppo.kl_penalty_target to 0", config->ppo.kl_penalty_target);
  if (config->ppo.target_kl == 0 || strcmp(config->ppo.target_kl_check, "minibatch") != 0 ||
      strcmp(config->ppo.lr_schedule, "kl") != 0)
    return CORE_OK;
  return core_error(CORE_USAGE, "ppo.target_kl_check = minibatch: ppo.lr_schedule = kl needs the mean KL of whole "
                    "epochs; set ppo.target_kl_check to epoch");
}

/* Checks that the learner supports recurrent policies. */
static int check_memory(const CoreConfig *config) {
  static const char *const learners[][2] = {{"pqn", "learns Q values of single transitions"},
                                            {"noisy_sgd", "has no policy"}};
  if (strcmp(config->net.memory, "none") == 0) return CORE_OK;
  for (size_t i = 0; i < sizeof learners / sizeof *learners; i++)
    if (strcmp(config->algo.name, learners[i][0]) == 0)
      return core_error(CORE_USAGE, "net.memory = %s: algo.name = %s %s; set net.memory to none, or algo.name to ppo, "
                        "ppo_ewma or sapg", config->net.memory, learners[i][0], learners[i][1]);
  return CORE_OK;
}

/* Parses "512-256-128" into width[]. Returns the number of widths; 0: the text is not such a list. */
static int parse_widths(const char *text, int width[CORE_CONFIG_LAYERS_MAX]) {
  for (int count = 0; count < CORE_CONFIG_LAYERS_MAX;) {
    char *end;
    const long units = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;
    if (units < 1 || units > CORE_CONFIG_WIDTH_MAX) return 0;
    width[count++] = (int)units;
    if (*end == '\0') return count;
    if (*end != '-') return 0;
    text = end + 1;
  }
  return 0;
}

static int list_widths(const char *text, int64_t units, int64_t layers, int width[CORE_CONFIG_LAYERS_MAX]) {
  if (*text) return parse_widths(text, width);
  for (int64_t layer = 0; layer < layers; layer++) width[layer] = (int)units;
  return (int)layers;
}

int core_config_tower_widths(const CoreConfig *config, int width[CORE_CONFIG_LAYERS_MAX]) {
  return list_widths(config->net.widths, config->net.width, config->net.depth, width);
}

int core_config_trunk_widths(const CoreConfig *config, int width[CORE_CONFIG_LAYERS_MAX]) {
  return list_widths(config->net.trunk_widths, config->net.trunk_width, config->net.trunk_depth, width);
}

static int check_widths(const CoreConfig *config) {
  const struct { const char *key, *text; } lists[] = {
    {"net.widths", config->net.widths}, {"net.trunk_widths", config->net.trunk_widths}};
  int width[CORE_CONFIG_LAYERS_MAX];
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (*lists[i].text && parse_widths(lists[i].text, width) == 0)
      return core_error(CORE_USAGE, "%s = %s: expected 1 to %d widths of 1 to %d units, separated by '-', such as "
                        "512-256-128", lists[i].key, lists[i].text, CORE_CONFIG_LAYERS_MAX, CORE_CONFIG_WIDTH_MAX);
  return CORE_OK;
}

int64_t core_config_sequence_length(const CoreConfig *config) {
  if (strcmp(config->net.memory, "none") == 0) return 1;
  return strcmp(config->algo.name, "sapg") == 0 ? config->sapg.sequence_length : config->ppo.sequence_length;
}

int core_config_check(const CoreConfig *config) {
  CoreOrigin origin;
  if (config->program) return CORE_OK; /* validated by core_script_read */

  TRY(check_memory(config));
  if (core_config_has_no_envs(config)) return check_without_envs(config);
  TRY(check_actions(config));
  TRY(check_widths(config));
  TRY(check_sizes(config));
  TRY(check_curriculum(config));
  TRY(core_origin_parse(config->init.from, &origin));
  TRY(check_ratio_cap(config));

  /* Checks of single learners and tasks. */
  if (strncmp(config->algo.name, "ppo", strlen("ppo")) == 0) TRY(check_kl_controls(config));
  if (strcmp(config->algo.name, "pqn") == 0) TRY(check_pqn(config));
  if (strcmp(config->env.task, "levels") == 0 && !*config->env.levels)
    return core_error(CORE_USAGE, "env.task = levels needs env.levels; set it to a directory of level files, or to "
                      "files joined by '+'");
  return CORE_OK;
}
