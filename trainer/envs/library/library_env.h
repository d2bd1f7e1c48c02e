/* Environments of shared libraries (environment.h) as an environment (env.h): env.task = library:FILE/NAME. */
#ifndef TRAINER_LIBRARY_ENV_H
#define TRAINER_LIBRARY_ENV_H
#include "trainer/envs/env.h"

#define LIBRARY_PREFIX "library:"

/* CORE_USAGE: no such file, function or environment, or of another version. */
int library_env_create(const CoreConfig *config, const EnvBatch *batch, Env **env);

#endif
