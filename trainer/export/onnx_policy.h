/* A run's policy as an ONNX model: from the environment's observation to the policy's parameters and the likeliest
 * action, with observations normalised inside. */
#ifndef TRAINER_ONNX_POLICY_H
#define TRAINER_ONNX_POLICY_H
#include "core/text.h"
#include "trainer/tools/player.h"

/* Appends the model to `file`. Its input "observation" is [rows][env's observation_length] float32, or pixels
 * (onnx_encoder.h). Its outputs: "logits" [rows][n] float32, as sweepdb's Policy.logits has them; "action", the
 * likeliest as the environment's step takes it (onnx_action.h). A policy with memory takes a step: its input
 * "state" is [rows][2 net.memory_width], 0 at an episode's first step, and its output "next_state" that of the next.
 * Of SAPG it is the leader's policy. CORE_USAGE:
 * a network that cannot be written yet, by the name of its setting. */
int onnx_policy(const Player *player, CoreText *file);

#endif
