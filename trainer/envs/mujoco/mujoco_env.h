/* MuJoCo tasks as an environment (env.h). Worlds are on the host, divided over OpenMP threads; each is independent of
 * threads and other worlds. */
#ifndef TRAINER_MUJOCO_ENV_H
#define TRAINER_MUJOCO_ENV_H
#include "trainer/envs/env.h"

/* Parameters of a task that a run sets. */
typedef struct MujocoSettings {
  double success_tolerance; /* rad, for reorientation tasks */
} MujocoSettings;

/* Creates task `name`, without "mujoco/". settings NULL: the task's defaults. CORE_USAGE: unknown task, or MuJoCo is
 * missing. */
int mujoco_env_create(const char *name, const MujocoSettings *settings, const EnvBatch *batch, Env **env);

#endif
