/* Encoders (trainer/nets/encoder.h) as operators of ONNX. */
#ifndef TRAINER_ONNX_ENCODER_H
#define TRAINER_ONNX_ENCODER_H
#include "trainer/export/onnx.h"
#include "trainer/nets/encoder.h"

/* CORE_USAGE: this encoder cannot be written yet. */
int onnx_encoder_check(const EncoderShape *shape);
/* The input of an encoder of pixels: bytes, [rows] and then [frames][channels][height][width] or
 * [frames][height][width][channels] as the environment has them, without frames and channels where there is one. */
OnnxValue onnx_encoder_pixels(Onnx *onnx, const OpsPixels *pixels, const char *name);
/* x: that, or observation rows [rows][shape->length] -> the embedding [rows][shape->width]. theta: the encoder's part
 * of a network's vector; its tensors become constants "<network>.<tensor>". */
OnnxValue onnx_encoder(Onnx *onnx, const EncoderShape *shape, const char *network, const float *theta, OnnxValue x);

#endif
