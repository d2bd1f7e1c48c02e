/* Layers of networks as operators of ONNX, for towers and encoders alike. */
#ifndef TRAINER_ONNX_LAYER_H
#define TRAINER_ONNX_LAYER_H
#include "trainer/export/onnx.h"
#include "trainer/ops/ops.h"

/* Layer norm of each row of x [rows][columns] (trainer/ops/ops.h, norm_forward), with the towers' epsilon. */
OnnxValue onnx_layer_norm(Onnx *onnx, OnnxValue x, OnnxValue gain, OnnxValue offset);
OnnxValue onnx_activation(Onnx *onnx, OnnxValue x, OpsActivation activation);

#endif
