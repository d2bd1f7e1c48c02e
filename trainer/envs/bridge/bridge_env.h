/* Third-party Python environments (env.h) in worker processes, each with a part of the worlds. A worker can die, so
 * Env.remote is checked after a rollout. Episodes restart when a run resumes. */
#ifndef TRAINER_BRIDGE_ENV_H
#define TRAINER_BRIDGE_ENV_H
#include "trainer/envs/env.h"

/* Whether the task is a Python environment: gym/, atari/ or envpool/. */
bool bridge_env_has(const char *task);
/* Creates the environment. CORE_USAGE: env.task is unavailable; the message is the worker's. */
int bridge_env_create(const CoreConfig *config, const EnvBatch *batch, Env **env);
/* Creates an environment from Env.spaces, with spaces but without worlds: it cannot be reset or stepped. CORE_FAIL,
 * CORE_USAGE: the record is invalid. */
int bridge_env_create_from_spaces(const CoreConfig *config, const char *spaces, Env **env);
/* Appends warnings about an environment that bridge_env_create accepts, one per line; once per task, Python and
 * process. Starts a separate worker and takes a few seconds at most. */
void bridge_env_append_warnings(const CoreConfig *config, CoreText *lines);

#endif
