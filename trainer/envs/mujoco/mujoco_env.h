/* The tasks on MuJoCo as an environment (env.h). Worlds are on the host and are divided over OpenMP's threads;
 * what happens in one depends neither on the thread nor on its neighbours. */
#ifndef TRAINER_MUJOCO_ENV_H
#define TRAINER_MUJOCO_ENV_H
#include "trainer/envs/env.h"

/* The task `name`, without "mujoco/". CORE_USAGE: there is none of this name, or no MuJoCo. */
int mujoco_env_create(const char *name, const EnvBatch *batch, Env **env);

#endif
