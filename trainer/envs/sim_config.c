/* Translates a configuration into the simulator's levels, options and features (sim.h). */
#include "sim/batch/filter.h"
#include "sim/levels/level_set.h"
#include "sim/task/observe.h"
#include "trainer/envs/levels.h"
#include "trainer/envs/sim_internal.h"

/* Returns env.size, or `size` for auto. */
static SimSize configured_size(const CoreConfig *config, SimSize size) {
  static const struct { const char *name; const SimSize *size; } sizes[] = {
    {"s", &SIM_SIZE_S}, {"m", &SIM_SIZE_M}, {"l", &SIM_SIZE_L}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (strcmp(config->env.size, sizes[i].name) == 0) return *sizes[i].size;
  return size;
}

static int read_levels(const CoreConfig *config, SimLevelSet *levels) {
  const char *task = config->env.task;
  int64_t count = config->env.level_count;
  if (strcmp(task, "loco512") == 0)
    return sim_morphology_set(config->env.morphologies, config->env.difficulty, (int)count, levels);
  if (strcmp(task, "random_s") == 0) return sim_generate_set(SIM_SIZE_S, (int)count, levels);
  if (strcmp(task, "random_m") == 0) return sim_generate_set(SIM_SIZE_M, (int)count, levels);
  if (strcmp(task, "random_l") == 0) return sim_generate_set(SIM_SIZE_L, (int)count, levels);
  const int code = sim_level_set_read(config->env.levels, config->env.level_folder, levels);
  if (code != CORE_OK) return core_error_context(code, "env.levels");
  if (levels->count > count) levels->count = (int)count;
  return CORE_OK;
}

int env_sim_levels(const CoreConfig *config, SimLevelSet *levels, SimSize *original_size) {
  TRY(read_levels(config, levels));
  if (original_size) *original_size = levels->size;
  int code = sim_level_set_expand(levels, configured_size(config, levels->size));
  if (code != CORE_OK) {
    sim_level_set_free(levels);
    return core_error_context(code, "env.size = %s", config->env.size);
  }
  return CORE_OK;
}

/* Returns the index of a setting's value among its choices. */
static int choice_index(const char *value, const char *const *choices) {
  int i = 0;
  for (; choices[i]; i++)
    if (strcmp(value, choices[i]) == 0) return i;
  CORE_CHECK(!"a choice of core/config/config.def is unknown to the simulator");
  return i;
}

SimBatchOptions env_sim_options(const CoreConfig *config) {
  static const char *const spaces[] = {"multi_discrete", "discrete", "continuous", NULL};
  static const char *const observations[] = {"flat", "padded", "entity", NULL};
  static const char *const resets[] = {"level_set", "same", "new", "new_filtered", NULL};
  SimBatchOptions options = sim_batch_options_default();
  options.frame_skip = (int)config->env.frame_skip;
  options.max_steps = (int)config->env.max_steps;
  options.dense_reward = (float)config->env.dense_reward;
  options.pad_writes_zero = config->env.pad_writes_zero;
  options.actions = (SimActionSpace)choice_index(config->env.actions, spaces);
  options.observation = (SimObservationKind)choice_index(config->env.observations, observations);
  options.reset = (SimReset)choice_index(config->env.reset, resets);
  return options;
}

/* Checks that env.reset = new is used with a level generator. */
static int check_reset(const CoreConfig *config) {
  if (strncmp(config->env.reset, "new", 3) != 0 || strncmp(config->env.task, "random_", 7) == 0) return CORE_OK;
  return core_error(CORE_USAGE, "env.reset = %s needs a level generator, which env.task = %s lacks; set env.task to "
                    "random_s, random_m or random_l, or env.reset = level_set", config->env.reset, config->env.task);
}

int env_sim_evaluation_set(const CoreConfig *config, int set, SimSize size, SimLevelSet *levels,
                           char name[ENV_SET_NAME]) {
  int code = levels_read_part(config->eval.levels, set, config->env.level_folder, levels, name);
  if (code == CORE_OK && sim_level_set_expand(levels, size) != CORE_OK)
    code = core_error_context(CORE_USAGE, "larger than the training levels; set env.size to a larger size");
  if (code == CORE_OK) return CORE_OK;
  sim_level_set_free(levels);
  return core_error_context(code, "eval.levels");
}

/* Selects the features that are nonzero on any training or evaluation level, so that all batches of a policy share
 * them. */
static int select_features(const CoreConfig *config, const SimLevelSet *trained, SimBatchOptions *options,
                           int32_t *features) {
  uint8_t used[SIM_OBSERVE_MAX] = {0};
  char name[ENV_SET_NAME];
  int sets;
  TRY(env_evaluation_sets(config, NULL, &sets));

  /* Levels that are not known yet may have any feature. */
  const bool unknown_levels = options->reset >= SIM_RESET_NEW || core_config_has_curriculum(config);
  memset(used, unknown_levels, (size_t)sim_observe_length(trained->size));
  sim_batch_mark_features(trained, used);
  for (int i = 0; i < sets; i++) {
    SimLevelSet levels;
    TRY(env_sim_evaluation_set(config, i, trained->size, &levels, name));
    sim_batch_mark_features(&levels, used);
    sim_level_set_free(&levels);
  }

  for (int k = 0; k < SIM_OBSERVE_MAX; k++)
    if (used[k]) features[options->feature_count++] = k;
  options->features = features;
  return CORE_OK;
}

int env_sim_create(const CoreConfig *config, int worlds, uint64_t seed, Env **env) {
  SimLevelSet levels = {0};
  int32_t features[SIM_OBSERVE_MAX];
  TRY(check_reset(config));
  SimBatchOptions options = env_sim_options(config);
  TRY(env_sim_levels(config, &levels, &options.new_size));
  options.worlds = worlds;
  options.seed = seed;
  const bool is_flat = options.observation == SIM_OBSERVATION_FLAT; /* other layouts have fixed positions */
  int code = is_flat ? select_features(config, &levels, &options, features) : CORE_OK;
  if (code != CORE_OK) {
    sim_level_set_free(&levels);
    return code;
  }
  return env_sim_create_batch(&options, &levels, env);
}
