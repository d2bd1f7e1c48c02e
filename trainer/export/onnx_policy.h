/* A run's policy as an ONNX model from observation, which it normalizes, to logits and the mode of the action. */
#ifndef TRAINER_ONNX_POLICY_H
#define TRAINER_ONNX_POLICY_H
#include "core/text.h"
#include "trainer/tools/player.h"

/* Appends the model to `file`. Input: "observation" [rows][observation_length] float32, or pixels (onnx_encoder.h).
 * Outputs: "logits" [rows][n] float32, as sweepdb's Policy.logits; "action", the mode in the native action space
 * (onnx_action.h). The model of a recurrent policy computes one step, with an additional input "state" [rows][2
 * net.memory_width], 0 at the first step of an episode, and output "next_state". For SAPG, exports the leader's policy.
 * CORE_USAGE: the network is not supported. */
int onnx_policy(const Player *player, CoreText *file);

#endif
