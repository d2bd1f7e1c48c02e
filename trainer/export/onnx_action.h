/* The mode of a policy's action distribution in the environment's native action space: clipped to the bounds,
 * rounded or offset by the first class, in its type and shape. */
#ifndef TRAINER_ONNX_ACTION_H
#define TRAINER_ONNX_ACTION_H
#include "trainer/export/onnx.h"
#include "trainer/ops/ops.h"

/* Adds the output "action", computed from logits [rows][head->logits]. space: Env.action_space; NULL: the output is
 * [rows][factors], classes as int64 or values as float32. CORE_USAGE: ONNX does not support the space's type. */
int onnx_action(Onnx *onnx, const OpsHead *head, const char *space, OnnxValue logits);

#endif
