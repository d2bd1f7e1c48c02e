/* What a file with a policy says about itself: metadata of ONNX models and of safetensors. */
#ifndef TRAINER_POLICY_FACTS_H
#define TRAINER_POLICY_FACTS_H
#include "trainer/tools/player.h"

/* Calls add(to, key, value) for each fact: run, iteration, sweep (the version), policy ("categorical", "gaussian",
 * "tanh_affine", "q"), classes ("3,3,3,3,2,2") or bounds ("-1,1"), action_space (JSON of what a Gymnasium environment's
 * own step takes: type, shape, dtype, low and high or start), observation_bound where observations are normalised
 * (the largest magnitude of a normalised number), and config, all settings as JSON. */
void policy_facts(const Player *player, void (*add)(void *to, const char *key, const char *value), void *to);

#endif
