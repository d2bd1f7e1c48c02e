/* The simulator as an environment, and its options for a configuration, for tools that access its worlds directly.
 * Learners only need env.h. */
#ifndef TRAINER_ENVS_SIM_H
#define TRAINER_ENVS_SIM_H
#include "sim/batch/batch.h"
#include "trainer/envs/env.h"

/* Creates the environment with the levels of config.env, on the host. CORE_USAGE: unknown or invalid level. */
int env_sim_create(const CoreConfig *config, int worlds, uint64_t seed, Env **env);

/* Loads the first env.level_count levels of the set that env.task names, expanded to env.size; free with
 * sim_level_set_free. original_size (may be NULL): their size before the expansion. */
int env_sim_levels(const CoreConfig *config, SimLevelSet *levels, SimSize *original_size);
/* Loads set number `set` of eval.levels, expanded to `size`; free with sim_level_set_free. name: for logs. CORE_USAGE:
 * unknown levels, or larger ones. */
int env_sim_evaluation_set(const CoreConfig *config, int set, SimSize size, SimLevelSet *levels,
                           char name[ENV_SET_NAME]);
/* Returns the options of config.env for a single world with full observations. */
SimBatchOptions env_sim_options(const CoreConfig *config);

#endif
