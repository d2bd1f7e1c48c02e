/* Worlds on the host for a policy on a device: an environment whose buffers are on the device, around one whose worlds
 * and buffers are on the host. A step is three things that the device's stream does in order, and the host does not
 * wait for them: actions go to page-locked memory, the worlds step, and what they give goes to the device. So one half
 * of the worlds can step while the policy runs for the other (EnvParts), where the inner environment steps in parts.
 *
 * The numbers are the inner environment's. Levels, generators, physics, pictures and failures are passed on;
 * EnvCompact is not, since constants would have to be where the buffers are. No step may be recorded in a graph. */
#ifndef TRAINER_HOST_ENV_H
#define TRAINER_HOST_ENV_H
#include "trainer/envs/env.h"

/* Takes `host`, also where it fails. device: where the callers' buffers are, borrowed; NULL: on the host (to plan).
 * Siblings, evaluation sets and batches for curricula of *made are wrapped as well, for the device of their EnvBatch.
 * CORE_FAIL: no page-locked memory. */
int host_env_create(Env *host, CoreDevice *device, Env **made);

#endif
