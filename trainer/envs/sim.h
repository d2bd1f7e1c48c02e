/* The simulator as an environment, and what a configuration means for it, for tools that look at its worlds themselves;
 * learners need env.h only. */
#ifndef TRAINER_ENVS_SIM_H
#define TRAINER_ENVS_SIM_H
#include "sim/batch/batch.h"
#include "trainer/envs/env.h"

/* With config.env's levels, on the host. CORE_USAGE: no such level, or one that cannot be simulated. */
int env_sim_create(const CoreConfig *config, int worlds, uint64_t seed, Env **env);

/* The first env.level_count levels of the set that env.task names, with env.size's slots; free with sim_level_set_free.
 * drawn (may be NULL): their size before that. */
int env_sim_levels(const CoreConfig *config, SimLevelSet *levels, SimSize *drawn);
/* Set number `set` of eval.levels, expanded to `size`; free with sim_level_set_free. name: for logs. CORE_USAGE: no
 * such levels, or larger ones. */
int env_sim_evaluation_set(const CoreConfig *config, int set, SimSize size, SimLevelSet *levels,
                           char name[ENV_SET_NAME]);
/* The rules of config.env for one world with whole observations. */
SimBatchOptions env_sim_options(const CoreConfig *config);

#endif
