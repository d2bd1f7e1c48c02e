/* Layer norm and activations (onnx_layer.h). */
#include "trainer/export/onnx_layer.h"

#include "trainer/nets/network.h"

OnnxValue onnx_layer_norm(Onnx *onnx, OnnxValue x, OnnxValue gain, OnnxValue offset) {
  const OnnxAttribute attributes[] = {
    {.name = "axis", .number = -1}, {.name = "epsilon", .is_real = true, .real = (float)NETWORK_NORM_EPSILON}, {0}};
  return onnx_node(onnx, "LayerNormalization", (OnnxValue[]){x, gain, offset}, 3, attributes);
}

OnnxValue onnx_activation(Onnx *onnx, OnnxValue x, OpsActivation activation) {
  switch (activation) {
    case OPS_TANH: return onnx_1(onnx, "Tanh", x);
    case OPS_RELU: return onnx_1(onnx, "Relu", x);
    case OPS_SILU: return onnx_2(onnx, "Mul", x, onnx_1(onnx, "Sigmoid", x));
    case OPS_ELU: return onnx_1(onnx, "Elu", x);
    case OPS_LINEAR: break;
  }
  return x;
}
