/* Arithmetic of convolutional encoders (encoder_pixels.c): a sub-table of Ops. Activations are
 * [rows][height][width][channels]. A kernel is [size][size][in][out], so it is the (in, out) matrix of a dense layer
 * over patches (y, x, channel). Convolutions are cross-correlations, as in PyTorch.
 *
 * Each row is computed independently and sums over rows have a fixed order, so results depend neither on threads nor on
 * how rows are divided over calls, except for weight gradients, which are sums over the rows of the call. */
#ifndef TRAINER_OPS_IMAGE_H
#define TRAINER_OPS_IMAGE_H
#include "trainer/ops/ops.h"

/* Rows of pixels: frames, oldest first, each [height][width][channels] or [channels][height][width] (env.h). */
typedef struct OpsPixels {
  int height, width, channels, frames;
  bool channels_last;
  size_t row;             /* bytes from one row to the next */
} OpsPixels;

/* Convolution: `in` channels of height x width, zero-padded by `pad`, -> `out` channels. size, stride, pad: vertically,
 * horizontally. */
typedef struct OpsConv { int height, width, in, out, size[2], stride[2], pad[2]; } OpsConv;
CORE_DEVICE_FN int ops_conv_height(const OpsConv *c) {
  return (c->height + 2 * c->pad[0] - c->size[0]) / c->stride[0] + 1;
}
CORE_DEVICE_FN int ops_conv_width(const OpsConv *c) {
  return (c->width + 2 * c->pad[1] - c->size[1]) / c->stride[1] + 1;
}
/* elements of a patch */
CORE_DEVICE_FN int ops_conv_patch(const OpsConv *c) { return c->size[0] * c->size[1] * c->in; }
static inline size_t ops_conv_inputs(const OpsConv *c) { return (size_t)c->height * (size_t)c->width * (size_t)c->in; }
static inline size_t ops_conv_outputs(const OpsConv *c) {
  return (size_t)ops_conv_height(c) * (size_t)ops_conv_width(c) * (size_t)c->out;
}
static inline size_t ops_conv_weights(const OpsConv *c) { return (size_t)ops_conv_patch(c) * (size_t)c->out; }

/* Max pooling with 3 x 3 windows, stride 2 and padding 1: (side - 1) / 2 + 1 outputs per side. Padding never wins;
 * among equal values the first in row order does. */
typedef struct OpsPool3 { int height, width, channels; } OpsPool3;
CORE_DEVICE_FN int ops_pool3_side(int side) { return (side - 1) / 2 + 1; }
static inline size_t ops_pool3_outputs(const OpsPool3 *p) {
  return (size_t)ops_pool3_side(p->height) * (size_t)ops_pool3_side(p->width) * (size_t)p->channels;
}

/* On a device convolutions are matrix products over patches: OPS_CONV_ROWS rows at a time. The scratch, in floats,
 * holds patches and their gradients, the gradients of kernel and bias, and the bias's sums over blocks of 32 rows. */
enum { OPS_CONV_ROWS = 64 };
static inline size_t ops_conv_scratch(const OpsConv *c, int rows) {
  const size_t some = (size_t)(rows < OPS_CONV_ROWS ? rows : OPS_CONV_ROWS), out = (size_t)c->out;
  const size_t positions = some * (size_t)ops_conv_height(c) * (size_t)ops_conv_width(c);
  return 2 * positions * (size_t)ops_conv_patch(c) + ops_conv_weights(c) + out + (positions / 32 + 1) * out;
}
/* Returns the maximum floats of a kernel's gradient in a library's packed format, half of what the packed kernel
 * takes. */
static inline size_t ops_conv_packed(const OpsConv *c) {
  const size_t in = (size_t)(c->in + 15) / 16 * 16, out = (size_t)(c->out + 15) / 16 * 16;
  return (size_t)c->size[0] * (size_t)c->size[1] * in * out;
}

/* All functions except `each` may run on several threads at once if the ops are the host's. */
typedef struct OpsImage OpsImage;
struct OpsImage {
  /* bytes [rows][pixels->row] -> y[rows][height][width][frames * channels], the frames' channels side by side, divided
   * by 255. */
  void (*pixels)(Ops *ops, const OpsPixels *pixels, const void *bytes, int rows, float *y);
  /* Packs a kernel w [weights] -> packed [2 * ops_conv_packed]; unpacks a kernel's packed gradient -> dw [weights]. */
  void (*conv_pack)(Ops *ops, const OpsConv *conv, const float *w, float *packed);
  void (*conv_unpack)(Ops *ops, const OpsConv *conv, const float *dpacked, float *dw);
  /* y[rows][outputs] = activation(conv(x[rows][inputs], kernel) + b); OPS_LINEAR or OPS_RELU. scratch: see
   * ops_conv_scratch; ignored on the host. */
  void (*conv_forward)(Ops *ops, const OpsConv *conv, const float *x, const float *packed, const float *b, float *y,
                       int rows, OpsActivation activation, float *scratch);
  /* dy[rows][outputs], the gradient at y, is overwritten with that before the activation. dpacked, db are set; dx
   * [rows][inputs] is set unless NULL. y is read with OPS_RELU only. */
  void (*conv_backward)(Ops *ops, const OpsConv *conv, const float *x, const float *packed, const float *y, float *dy,
                        float *dx, float *dpacked, float *db, int rows, OpsActivation activation, float *scratch);
  /* from[rows][outputs]: index 0..8 of the maximum in its window, which receives the gradient; dx is set. */
  void (*pool_forward)(Ops *ops, const OpsPool3 *pool, const float *x, float *y, uint8_t *from, int rows);
  void (*pool_backward)(Ops *ops, const OpsPool3 *pool, const uint8_t *from, const float *dy, float *dx, int rows);
  /* y[n] = max(x, 0); backward: the gradient at y, in place, becomes that at x: 0 where y is not positive. */
  void (*relu_forward)(Ops *ops, const float *x, float *y, size_t n);
  void (*relu_backward)(Ops *ops, const float *y, float *dy, size_t n);
  /* Ops.norm_backward. */
  void (*norm_backward)(Ops *ops, const float *n, const float *inverse, const float *gain, const float *offset,
                        const float *y, float *dy, float *dgain, float *doffset, int rows, int columns,
                        OpsActivation activation);
  /* Calls work(context, i, scratch) for all i < count, on the host from all threads. The scratch has `floats` floats
   * per call; on a device, where calls run one after the other, it is the given one. */
  void (*each)(Ops *ops, int count, size_t floats, float *scratch, void (*work)(void *context, int i, float *scratch),
               void *context);
};

#endif
