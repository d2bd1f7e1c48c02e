/* What a configuration means for the simulator, for tools that look at its worlds themselves; learners need env.h
 * only. */
#ifndef TRAINER_ENVS_SIM_H
#define TRAINER_ENVS_SIM_H
#include "sim/batch/batch.h"
#include "trainer/envs/env.h"

/* The first env.level_count levels of the set that env.task names, with env.size's slots; free with sim_level_set_free.
 * drawn (may be NULL): their size before that. */
int env_sim_levels(const CoreConfig *config, SimLevelSet *levels, SimSize *drawn);
/* The rules of config.env for one world with whole observations. */
SimBatchOptions env_sim_options(const CoreConfig *config);

#endif
