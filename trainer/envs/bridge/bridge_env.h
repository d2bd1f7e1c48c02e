/* Environments of other people as an environment (env.h): they run in worker processes, each with a part of the
 * worlds. A worker can die, so Env.outside says after a rollout how it went. Episodes begin anew when a run resumes. */
#ifndef TRAINER_BRIDGE_ENV_H
#define TRAINER_BRIDGE_ENV_H
#include "trainer/envs/env.h"

/* Is env.task one for the bridge? */
bool bridge_env_has(const char *task);
/* CORE_USAGE: env.task cannot be had; the message is the worker's. */
int bridge_env_create(const CoreConfig *config, const EnvBatch *batch, Env **env);
/* Makes an environment of Env.spaces, which has observations and actions but no worlds: it cannot be reset or stepped.
 * CORE_FAIL, CORE_USAGE: it is no such record. */
int bridge_env_recall(const CoreConfig *config, const char *spaces, Env **env);
/* Appends what may be wrong with an environment that bridge_env_create makes, as lines; for each task and Python once a
 * process. It starts a process of its own and takes some seconds at most. */
void bridge_env_remarks(const CoreConfig *config, CoreText *lines);

#endif
