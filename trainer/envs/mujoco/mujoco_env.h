/* The tasks on MuJoCo as an environment (env.h). Worlds are on the host and are divided over OpenMP's threads;
 * what happens in one depends neither on the thread nor on its neighbours. */
#ifndef TRAINER_MUJOCO_ENV_H
#define TRAINER_MUJOCO_ENV_H
#include "trainer/envs/env.h"

/* What of a task a run may choose. */
typedef struct MujocoSettings {
  double success_tolerance; /* rad; of tasks that turn an object to goals */
} MujocoSettings;

/* The task `name`, without "mujoco/". settings NULL: the task's own. CORE_USAGE: there is none of this name, or no
 * MuJoCo. */
int mujoco_env_create(const char *name, const MujocoSettings *settings, const EnvBatch *batch, Env **env);

#endif
