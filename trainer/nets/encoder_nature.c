/* Convolutions for Atari (encoder.h): Mnih et al. 2015, "Human-level control through deep reinforcement learning", as
 * in CleanRL, with layer norm before each activation if net.norm requests it. */
#include "trainer/nets/encoder_internal.h"
#include "trainer/nets/network.h"

enum { LAYERS = 3 };
/* Returns the tensors per layer: a kernel and a bias, with layer norm also a gain and an offset. */
static int tensors_of(const EncoderShape *shape) { return shape->layer_norm ? 4 : 2; }

static void convolutions(const EncoderShape *shape, OpsConv conv[LAYERS]) {
  static const struct { int out, size, stride; } layer[LAYERS] = {{32, 8, 4}, {64, 4, 2}, {64, 3, 1}};
  int height = shape->pixels.height, width = shape->pixels.width, in = shape->pixels.frames * shape->pixels.channels;
  for (int l = 0; l < LAYERS; l++) {
    conv[l] = (OpsConv){height, width, in, layer[l].out, {layer[l].size, layer[l].size},
                        {layer[l].stride, layer[l].stride}, {0, 0}};
    height = ops_conv_height(&conv[l]);
    width = ops_conv_width(&conv[l]);
    in = conv[l].out;
  }
}

static void list(EncoderShape *shape) {
  static const char *const name[LAYERS] = {"conv 0", "conv 1", "conv 2"};
  static const char *const norm[LAYERS][2] = {
    {"conv 0 gain", "conv 0 offset"}, {"conv 1 gain", "conv 1 offset"}, {"conv 2 gain", "conv 2 offset"}};
  OpsConv conv[LAYERS];
  convolutions(shape, conv);
  for (int l = 0; l < LAYERS; l++) {
    encoder_add_conv(shape, name[l], &conv[l], ENCODER_ORTHOGONAL);
    if (!shape->layer_norm) continue;
    encoder_add(shape, norm[l][0], 1, (int)ops_conv_outputs(&conv[l]), ENCODER_ONES);
    encoder_add(shape, norm[l][1], 1, (int)ops_conv_outputs(&conv[l]), ENCODER_ZEROS);
  }
  shape->width = (int)ops_conv_outputs(&conv[LAYERS - 1]);
}

typedef struct Memory {
  OpsConv conv[LAYERS];
  float *x[LAYERS + 1];     /* [rows][height][width][channels]: the pixels, then each layer's output */
  float *z[LAYERS], *inverse[LAYERS]; /* with layer norm: normalized; [rows] 1 / standard deviation */
} Memory;

static Memory lay_out(const EncoderShape *shape, int rows, float *base, size_t *used) {
  const size_t n = (size_t)rows;
  Memory m;
  *used = 0;
  convolutions(shape, m.conv);
  m.x[0] = encoder_reserve(base, used, encoder_pixel_floats(shape, rows));
  for (int l = 0; l < LAYERS; l++) {
    const size_t outputs = n * ops_conv_outputs(&m.conv[l]);
    m.x[l + 1] = encoder_reserve(base, used, outputs);
    m.z[l] = encoder_reserve(base, used, shape->layer_norm ? outputs : 0);
    m.inverse[l] = encoder_reserve(base, used, shape->layer_norm ? n : 0);
  }
  return m;
}

static size_t floats(const EncoderShape *shape, int rows) {
  size_t used;
  lay_out(shape, rows, NULL, &used);
  return used;
}

/* Gradients of two layers' outputs, alternating, and scratch of convolutions. */
typedef struct Scratch { float *gradient[2], *conv; } Scratch;

static Scratch lay_out_scratch(const EncoderShape *shape, int rows, float *base, size_t *used) {
  OpsConv conv[LAYERS];
  Scratch s;
  size_t max_floats = 0;
  *used = 0;
  convolutions(shape, conv);
  for (int l = 0; l < LAYERS; l++) {
    const size_t some = ops_conv_scratch(&conv[l], rows);
    max_floats = some > max_floats ? some : max_floats;
  }
  for (int i = 0; i < 2; i++) s.gradient[i] = encoder_reserve(base, used, (size_t)rows * ops_conv_outputs(&conv[0]));
  s.conv = encoder_reserve(base, used, max_floats);
  return s;
}

static size_t scratch(const EncoderShape *shape, int rows) {
  size_t used;
  lay_out_scratch(shape, rows, NULL, &used);
  return used;
}

static void forward(const EncoderPass *pass, float *embedding) {
  Ops *ops = pass->ops;
  const EncoderShape *shape = pass->shape;
  const int rows = pass->x.rows, tensors = tensors_of(shape);
  size_t used;
  const Memory m = lay_out(shape, rows, pass->memory, &used);
  const Scratch s = lay_out_scratch(shape, rows, pass->scratch, &used);

  ops->image->pixels(ops, &shape->pixels, pass->x.x, rows, m.x[0]);
  for (int l = 0; l < LAYERS; l++) {
    const EncoderTensor *t = &shape->tensor[l * tensors];
    if (!shape->layer_norm) {
      encoder_conv(pass, l * tensors, m.x[l], m.x[l + 1], OPS_RELU, s.conv);
      continue;
    }
    encoder_conv(pass, l * tensors, m.x[l], m.z[l], OPS_LINEAR, s.conv);
    ops->norm_forward(ops, m.z[l], m.inverse[l], pass->theta + t[2].offset, pass->theta + t[3].offset, m.x[l + 1], rows,
                      t[2].columns, NETWORK_NORM_EPSILON, OPS_RELU);
  }

  core_device_copy(ops->device, embedding, m.x[LAYERS], (size_t)rows * (size_t)shape->width * sizeof *embedding);
}

static void backward(const EncoderPass *pass, const float *embedding, const float *dembedding, float *dpacked) {
  Ops *ops = pass->ops;
  const EncoderShape *shape = pass->shape;
  const int rows = pass->x.rows, tensors = tensors_of(shape);
  const OpsActivation activation = shape->layer_norm ? OPS_LINEAR : OPS_RELU;
  size_t used;
  const Memory m = lay_out(shape, rows, pass->memory, &used);
  const Scratch s = lay_out_scratch(shape, rows, pass->scratch, &used);
  float *dy = s.gradient[0], *dx = s.gradient[1];
  (void)embedding;

  core_device_copy(ops->device, dy, dembedding, (size_t)rows * (size_t)shape->width * sizeof *dy);
  for (int l = LAYERS - 1; l >= 0; l--) {
    const EncoderTensor *t = &shape->tensor[l * tensors];
    if (shape->layer_norm)
      ops->image->norm_backward(ops, m.z[l], m.inverse[l], pass->theta + t[2].offset, pass->theta + t[3].offset,
                                m.x[l + 1], dy, dpacked + t[2].packed, dpacked + t[3].packed, rows, t[2].columns,
                                OPS_RELU);
    encoder_conv_backward(pass, l * tensors, m.x[l], m.x[l + 1], dy, l > 0 ? dx : NULL, dpacked, activation, s.conv);

    float *swap = dy;
    dy = dx;
    dx = swap;
  }
}

static int layers(const EncoderShape *shape, int rows, float *memory, EncoderLayer layer[ENCODER_LAYERS_MAX]) {
  size_t used;
  const Memory m = lay_out(shape, rows, memory, &used);
  for (int l = 0; l < LAYERS; l++)
    layer[l] = (EncoderLayer){l * tensors_of(shape), m.conv[l].out,
                              ops_conv_height(&m.conv[l]) * ops_conv_width(&m.conv[l]), m.x[l + 1]};
  return LAYERS;
}

const EncoderDesign ENCODER_DESIGN_NATURE = {"nature", list, floats, scratch, forward, backward, layers};
