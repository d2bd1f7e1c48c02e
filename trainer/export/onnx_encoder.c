/* Set and pixel encoders, operator by operator as in trainer/nets/encoder_set.c, encoder_nature.c and
 * encoder_impala.c. ONNX's convolutions use [rows][channels][height][width], the trainer
 * [rows][height][width][channels], which matters for the embedding and for layer norm. */
#include "trainer/export/export.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "trainer/nets/encoder_entities.h"
#include "trainer/nets/network.h"

typedef struct Source {
  Onnx *onnx;
  const EncoderShape *shape;
  const char *network;
  const float *theta;
} Source;

int onnx_encoder_check(const EncoderShape *shape) {
  switch (shape->kind) {
    case ENCODER_NONE:
    case ENCODER_SET:
    case ENCODER_STOIX_SET:
    case ENCODER_NATURE:
    case ENCODER_IMPALA: return CORE_OK;
    case ENCODER_TRANSFORMER: break;
  }
  return core_error(CORE_USAGE, "net.encoder = transformer cannot be exported as ONNX; use --safetensors for its "
                    "weights");
}

/* Adds the constant of tensor i, a vector or matrix. */
static OnnxValue add_tensor(const Source *s, int i) {
  const EncoderTensor *t = &s->shape->tensor[i];
  char name[ONNX_NAME];
  const int64_t dims[] = {t->rows, t->columns};
  snprintf(name, sizeof name, "%s.%s", s->network, t->name);
  const bool is_vector = t->rows == 1;
  return onnx_constant(s->onnx, name, ONNX_FLOAT, dims + is_vector, is_vector ? 1 : 2, s->theta + t->offset);
}

/* ---- layer norm -------------------------------------------------------------------------------------------------- */

OnnxValue onnx_layer_norm(Onnx *onnx, OnnxValue x, OnnxValue gain, OnnxValue offset) {
  const OnnxAttribute attributes[] = {
    {.name = "axis", .integer = -1}, {.name = "epsilon", .is_real = true, .real = (float)NETWORK_NORM_EPSILON}, {0}};
  return onnx_node(onnx, "LayerNormalization", (OnnxValue[]){x, gain, offset}, 3, attributes);
}

/* ---- set encoders ------------------------------------------------------------------------------------------------ */

/* Adds the embedding layer of a kind of entity, padded with zeros to the width of an entity. */
static OnnxValue embed(const Source *s, int kind, OnnxValue features) {
  const EncoderTensor *kernel = &s->shape->tensor[2 * kind], *bias = kernel + 1;
  const int64_t dims[] = {kernel->rows, ENCODER_SET_ENTITY};
  float *padded = core_memory_zero_allocate((size_t)(kernel->rows + 1) * ENCODER_SET_ENTITY, sizeof *padded);
  float *padded_bias = padded + (size_t)kernel->rows * ENCODER_SET_ENTITY, tag[ENCODER_SET_ENTITY] = {0};
  char name[ONNX_NAME];

  for (int r = 0; r <= kernel->rows; r++) {
    const size_t from = r < kernel->rows ? kernel->offset + (size_t)r * (size_t)kernel->columns : bias->offset;
    memcpy(padded + (size_t)r * ENCODER_SET_ENTITY, s->theta + from, (size_t)kernel->columns * sizeof *padded);
  }
  tag[encoder_set_tag(kind)] = 1;

  snprintf(name, sizeof name, "%s.%s", s->network, kernel->name);
  const OnnxValue w = onnx_constant(s->onnx, name, ONNX_FLOAT, dims, 2, padded);
  snprintf(name, sizeof name, "%s.%s", s->network, bias->name);
  const OnnxValue b = onnx_constant(s->onnx, name, ONNX_FLOAT, dims + 1, 1, padded_bias);
  snprintf(name, sizeof name, "%s.%s tag", s->network, encoder_entities(&s->shape->layout, kind).name);
  const OnnxValue kinds = onnx_constant(s->onnx, name, ONNX_FLOAT, dims + 1, 1, tag);
  free(padded);

  const OnnxValue y = onnx_binary(s->onnx, "Add", onnx_binary(s->onnx, "MatMul", features, w), b);
  return onnx_binary(s->onnx, "Add", onnx_unary(s->onnx, "Tanh", y), kinds);
}

/* Adds the rows of one kind in the entity matrix, [rows][count][ENCODER_SET_ENTITY], with inactive ones 0. */
static OnnxValue add_entities(const Source *s, int kind, OnnxValue x) {
  const EncoderEntities e = encoder_entities(&s->shape->layout, kind);
  OnnxValue columns = onnx_columns(s->onnx, x, e.offset, e.offset + e.count * e.features);
  columns = embed(s, kind, onnx_reshape(s->onnx, columns, (int64_t[]){0, e.count, e.features}, 3));
  const OnnxValue active = onnx_cast(s->onnx, onnx_columns(s->onnx, x, e.mask, e.mask + e.count), ONNX_BOOL);
  const OnnxValue factor = onnx_reshape(s->onnx, onnx_cast(s->onnx, active, ONNX_FLOAT), (int64_t[]){0, e.count, 1}, 3);
  return onnx_binary(s->onnx, "Mul", columns, factor);
}

static OnnxValue add_set_encoder(const Source *s, OnnxValue x) {
  OnnxValue kinds[ENCODER_ENTITY_KINDS];
  size_t count = 0;
  for (int kind = 0; kind < ENCODER_ENTITY_KINDS; kind++)
    if (encoder_entities(&s->shape->layout, kind).count > 0) kinds[count++] = add_entities(s, kind, x);
  OnnxValue y = onnx_concat(s->onnx, kinds, count, 1);
  const int heads = 2 * ENCODER_ENTITY_KINDS;
  y = onnx_binary(s->onnx, "Add", onnx_binary(s->onnx, "MatMul", y, add_tensor(s, heads)), add_tensor(s, heads + 1));
  const OnnxValue sum[] = {onnx_unary(s->onnx, "Relu", y), onnx_ints(s->onnx, &(int64_t){1}, 1)};
  y = onnx_node(s->onnx, "ReduceSum", sum, 2, (OnnxAttribute[]){{.name = "keepdims", .integer = 0}, {0}});
  return s->shape->kind == ENCODER_SET ? onnx_unary(s->onnx, "Tanh", y) : y;
}

/* ---- pixel encoders ---------------------------------------------------------------------------------------------- */

OnnxValue onnx_encoder_pixels(Onnx *onnx, const OpsPixels *p, const char *name) {
  int64_t dims[5] = {ONNX_ROWS};
  int rank = 1;
  if (p->frames > 1) dims[rank++] = p->frames;
  if (p->channels > 1 && !p->channels_last) dims[rank++] = p->channels;
  dims[rank++] = p->height;
  dims[rank++] = p->width;
  if (p->channels > 1 && p->channels_last) dims[rank++] = p->channels;
  return onnx_input(onnx, name, ONNX_UINT8, dims, rank);
}

/* Converts bytes to [rows][frames * channels][height][width] in [0, 1]. */
static OnnxValue scale_pixels(const Source *s, OnnxValue x) {
  const OpsPixels *p = &s->shape->pixels;
  if (p->channels_last && p->channels > 1) {
    x = onnx_reshape(s->onnx, x, (int64_t[]){-1, p->frames, p->height, p->width, p->channels}, 5);
    x = onnx_transpose(s->onnx, x, (int64_t[]){0, 1, 4, 2, 3}, 5);
  }
  x = onnx_reshape(s->onnx, x, (int64_t[]){-1, p->frames * p->channels, p->height, p->width}, 4);
  return onnx_binary(s->onnx, "Div", onnx_cast(s->onnx, x, ONNX_FLOAT), onnx_real(s->onnx, ONNX_FLOAT, 255));
}

/* Adds a kernel, transposed from [size][size][in][out] to [out][in][size][size]. */
static OnnxValue add_kernel(const Source *s, int i) {
  const EncoderTensor *t = &s->shape->tensor[i];
  const OpsConv *c = &t->conv;
  const size_t area = (size_t)c->size[0] * (size_t)c->size[1], in = (size_t)c->in, out = (size_t)c->out;
  const int64_t dims[] = {c->out, c->in, c->size[0], c->size[1]};
  float *transposed = core_memory_allocate(area * in * out * sizeof *transposed);
  char name[ONNX_NAME];
  for (size_t p = 0; p < area; p++)
    for (size_t k = 0; k < in; k++)
      for (size_t o = 0; o < out; o++)
        transposed[(o * in + k) * area + p] = s->theta[t->offset + (p * in + k) * out + o];
  snprintf(name, sizeof name, "%s.%s", s->network, t->name);
  const OnnxValue value = onnx_constant(s->onnx, name, ONNX_FLOAT, dims, 4, transposed);
  free(transposed);
  return value;
}

static OnnxValue add_conv(const Source *s, int i, OnnxValue x) {
  const OpsConv *c = &s->shape->tensor[i].conv;
  const OnnxAttribute attributes[] = {
    {.name = "kernel_shape", .ints = (int64_t[]){c->size[0], c->size[1]}, .count = 2},
    {.name = "strides", .ints = (int64_t[]){c->stride[0], c->stride[1]}, .count = 2},
    {.name = "pads", .ints = (int64_t[]){c->pad[0], c->pad[1], c->pad[0], c->pad[1]}, .count = 4},
    {0}};
  const OnnxValue inputs[] = {x, add_kernel(s, i), add_tensor(s, i + 1)};
  return onnx_node(s->onnx, "Conv", inputs, 3, attributes);
}

/* Transpose between [rows][channels][height][width] and [rows][height][width][channels]. */
static OnnxValue to_channels_last(const Source *s, OnnxValue x) {
  return onnx_transpose(s->onnx, x, (int64_t[]){0, 2, 3, 1}, 4);
}
static OnnxValue to_channels_first(const Source *s, OnnxValue x) {
  return onnx_transpose(s->onnx, x, (int64_t[]){0, 3, 1, 2}, 4);
}

/* Adds the layer norm over all outputs of convolution i, whose gain and offset follow its bias. */
static OnnxValue add_norm(const Source *s, int i, OnnxValue x) {
  const OpsConv *c = &s->shape->tensor[i].conv;
  x = onnx_reshape(s->onnx, to_channels_last(s, x), (int64_t[]){-1, (int64_t)ops_conv_outputs(c)}, 2);
  x = onnx_layer_norm(s->onnx, x, add_tensor(s, i + 2), add_tensor(s, i + 3));
  x = onnx_reshape(s->onnx, x, (int64_t[]){-1, ops_conv_height(c), ops_conv_width(c), c->out}, 4);
  return to_channels_first(s, x);
}

static OnnxValue add_nature(const Source *s, OnnxValue x) {
  const int step = s->shape->layer_norm ? 4 : 2;
  for (int i = 0; i < s->shape->tensors; i += step) {
    x = add_conv(s, i, x);
    if (s->shape->layer_norm) x = add_norm(s, i, x);
    x = onnx_unary(s->onnx, "Relu", x);
  }
  return x;
}

static OnnxValue add_pool(const Source *s, OnnxValue x) {
  const OnnxAttribute attributes[] = {
    {.name = "kernel_shape", .ints = (int64_t[]){3, 3}, .count = 2},
    {.name = "strides", .ints = (int64_t[]){2, 2}, .count = 2},
    {.name = "pads", .ints = (int64_t[]){1, 1, 1, 1}, .count = 4},
    {0}};
  return onnx_node(s->onnx, "MaxPool", &x, 1, attributes);
}

/* Adds the stages of the IMPALA encoder, ten tensors each: a convolution and two residual blocks of two. */
static OnnxValue add_impala(const Source *s, OnnxValue x) {
  for (int stage = 0; stage < s->shape->tensors; stage += 10) {
    x = add_pool(s, add_conv(s, stage, x));
    for (int block = stage + 2; block < stage + 10; block += 4) {
      OnnxValue y = add_conv(s, block, onnx_unary(s->onnx, "Relu", x));
      y = add_conv(s, block + 2, onnx_unary(s->onnx, "Relu", y));
      x = onnx_binary(s->onnx, "Add", y, x);
    }
  }
  return onnx_unary(s->onnx, "Relu", x);
}

OnnxValue onnx_encoder(Onnx *onnx, const EncoderShape *shape, const char *network, const float *theta, OnnxValue x) {
  const Source source = {onnx, shape, network, theta};
  if (!encoder_reads_pixels(shape->kind)) return add_set_encoder(&source, x);
  x = scale_pixels(&source, x);
  x = shape->kind == ENCODER_NATURE ? add_nature(&source, x) : add_impala(&source, x);
  return onnx_reshape(onnx, to_channels_last(&source, x), (int64_t[]){-1, shape->width}, 2);
}
