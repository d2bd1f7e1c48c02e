/* The likeliest action of a policy, as the environment's own step takes it: within the bounds of each number, of whole
 * numbers or counted from where its classes begin, in its type and shape. */
#ifndef TRAINER_ONNX_ACTION_H
#define TRAINER_ONNX_ACTION_H
#include "trainer/export/onnx.h"
#include "trainer/ops/ops.h"

/* Adds the output "action" to a graph with these logits [rows][head's]. space: Env.action_space, or NULL where a step
 * takes what the head gives: [rows][factors], classes as int64 or numbers as float32. CORE_USAGE: the space has a type
 * that ONNX lacks. */
int onnx_action(Onnx *onnx, const OpsHead *head, const char *space, OnnxValue logits);

#endif
