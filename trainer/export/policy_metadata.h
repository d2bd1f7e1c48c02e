/* Metadata of exported policies, for ONNX and safetensors. */
#ifndef TRAINER_POLICY_METADATA_H
#define TRAINER_POLICY_METADATA_H
#include "trainer/tools/player.h"

/* Calls add(context, key, value) for each entry: run, iteration, sweep (the version), policy ("categorical",
 * "gaussian", "tanh_affine", "q"), classes ("3,3,3,3,2,2") or bounds ("-1,1"), action_space (JSON of a Gymnasium
 * environment's native action space: type, shape, dtype, low and high or start), observation_bound if observations
 * are normalized (maximum magnitude of a normalized value), and config (all settings as JSON). */
void policy_metadata(const Player *player, void (*add)(void *context, const char *key, const char *value),
                     void *context);

#endif
