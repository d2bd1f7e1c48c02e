/* Host environments for a policy on a device: an environment whose buffers are on the device, around one whose worlds
 * and buffers are on the host. A step is three operations of the device's stream, which the host does not wait for:
 * actions are copied to page-locked memory, the worlds step, and their outputs are copied to the device. So one half of
 * the worlds can step while the policy runs for the other (EnvParts), where the inner environment steps in parts.
 *
 * The values are the inner environment's. Levels, generators, physics, images and failures are passed on; EnvCompact is
 * not, since constants would have to be where the buffers are. No step may be captured in a graph. */
#ifndef TRAINER_HOST_ENV_H
#define TRAINER_HOST_ENV_H
#include "trainer/envs/env.h"

/* Wraps `host` and takes ownership, also on failure. device: of the callers' buffers, borrowed; NULL: on the host (to
 * plan). Clones, evaluation sets and batches for curricula of *made are wrapped as well, for the device of their
 * EnvBatch. CORE_FAIL: no page-locked memory. */
int host_env_create(Env *host, CoreDevice *device, Env **created);

#endif
