/* Procgen's games as an environment (env.h), in this process: env.task = procgen/coinrun, settings in [procgen]. */
#ifndef TRAINER_PROCGEN_ENV_H
#define TRAINER_PROCGEN_ENV_H
#include "trainer/envs/env.h"

#define PROCGEN_PREFIX "procgen/" /* of a game's name in env.task */

/* CORE_USAGE: there is no such game, or no library. */
int procgen_env_create(const CoreConfig *config, const EnvBatch *batch, Env **env);

#endif
