/* Environments from shared libraries (environment.h), as env.h: env.task = library:FILE/NAME. */
#ifndef TRAINER_LIBRARY_ENV_H
#define TRAINER_LIBRARY_ENV_H
#include "trainer/envs/env.h"

#define LIBRARY_PREFIX "library:"

/* Creates the environment. CORE_USAGE: missing file, function or environment, or wrong version. */
int library_env_create(const CoreConfig *config, const EnvBatch *batch, Env **env);

#endif
