/* Encoders (trainer/nets/encoder.h) and layer norm as ONNX operators. */
#ifndef TRAINER_ONNX_ENCODER_H
#define TRAINER_ONNX_ENCODER_H
#include "trainer/export/onnx.h"
#include "trainer/nets/encoder.h"

/* Checks whether the encoder can be exported. CORE_USAGE: it is not supported. */
int onnx_encoder_check(const EncoderShape *shape);
/* Adds the input of a pixel encoder: bytes, [rows] followed by the environment's [frames][channels][height][width] or
 * [frames][height][width][channels], omitting frames and channels that are 1. */
OnnxValue onnx_encoder_pixels(Onnx *onnx, const OpsPixels *pixels, const char *name);
/* Adds the encoder. x: pixels as above, or observations [rows][shape->length]. Returns the embedding
 * [rows][shape->width]. theta: the encoder's parameters, whose tensors become constants "<network>.<tensor>". */
OnnxValue onnx_encoder(Onnx *onnx, const EncoderShape *shape, const char *network, const float *theta, OnnxValue x);

/* Adds the layer norm of each row of x [rows][columns] (trainer/ops/ops.h, norm_forward), with the networks'
 * epsilon. */
OnnxValue onnx_layer_norm(Onnx *onnx, OnnxValue x, OnnxValue gain, OnnxValue offset);

#endif
