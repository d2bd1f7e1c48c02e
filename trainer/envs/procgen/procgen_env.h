/* Procgen's games as an in-process environment (env.h): env.task = procgen/coinrun, settings in [procgen]. */
#ifndef TRAINER_PROCGEN_ENV_H
#define TRAINER_PROCGEN_ENV_H
#include "trainer/envs/env.h"

#define PROCGEN_PREFIX "procgen/" /* prefix of a game's name in env.task */

/* Creates the environment. CORE_USAGE: unknown game, or the library is missing. */
int procgen_env_create(const CoreConfig *config, const EnvBatch *batch, Env **env);

#endif
