/* Sets of entities and pictures, operator by operator as trainer/nets/encoder_set.c, encoder_nature.c and
 * encoder_impala.c compute them. Convolutions are ONNX's over [rows][channels][height][width]. The trainer's
 * activations are [rows][height][width][channels], which matters at the embedding and in layer norm. */
#include "trainer/export/onnx_encoder.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "trainer/export/onnx_layer.h"
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
  return core_error(CORE_USAGE, "net.encoder = transformer: its attention and messages cannot be written as ONNX yet; "
                    "use --safetensors for its weights");
}

/* A vector, or a matrix, as it lies. */
static OnnxValue tensor(const Source *s, int i) {
  const EncoderTensor *t = &s->shape->tensor[i];
  char name[ONNX_NAME];
  const int64_t dims[] = {t->rows, t->columns};
  snprintf(name, sizeof name, "%s.%s", s->network, t->name);
  const bool is_vector = t->rows == 1;
  return onnx_constant(s->onnx, name, ONNX_FLOAT, dims + is_vector, is_vector ? 1 : 2, s->theta + t->offset);
}

/* ---- sets of entities -------------------------------------------------------------------------------------------- */

/* The kind's layer, made as wide as an entity: what its kernel does not make is 0 after the tanh. */
static OnnxValue embed(const Source *s, int kind, OnnxValue features) {
  const EncoderTensor *kernel = &s->shape->tensor[2 * kind], *bias = kernel + 1;
  const int64_t dims[] = {kernel->rows, ENCODER_SET_ENTITY};
  float *wide = core_memory_zero_allocate((size_t)(kernel->rows + 1) * ENCODER_SET_ENTITY, sizeof *wide);
  float *wide_bias = wide + (size_t)kernel->rows * ENCODER_SET_ENTITY, tag[ENCODER_SET_ENTITY] = {0};
  char name[ONNX_NAME];
  for (int r = 0; r <= kernel->rows; r++) {
    const size_t from = r < kernel->rows ? kernel->offset + (size_t)r * (size_t)kernel->columns : bias->offset;
    memcpy(wide + (size_t)r * ENCODER_SET_ENTITY, s->theta + from, (size_t)kernel->columns * sizeof *wide);
  }
  tag[encoder_set_tag(kind)] = 1;
  snprintf(name, sizeof name, "%s.%s", s->network, kernel->name);
  const OnnxValue w = onnx_constant(s->onnx, name, ONNX_FLOAT, dims, 2, wide);
  snprintf(name, sizeof name, "%s.%s", s->network, bias->name);
  const OnnxValue b = onnx_constant(s->onnx, name, ONNX_FLOAT, dims + 1, 1, wide_bias);
  snprintf(name, sizeof name, "%s.%s tag", s->network, encoder_entities(&s->shape->layout, kind).name);
  const OnnxValue kinds = onnx_constant(s->onnx, name, ONNX_FLOAT, dims + 1, 1, tag);
  free(wide);
  const OnnxValue y = onnx_2(s->onnx, "Add", onnx_2(s->onnx, "MatMul", features, w), b);
  return onnx_2(s->onnx, "Add", onnx_1(s->onnx, "Tanh", y), kinds);
}

/* One kind's rows of the entity matrix, [rows][count][ENCODER_SET_ENTITY]. */
static OnnxValue entities(const Source *s, int kind, OnnxValue x) {
  const EncoderEntities e = encoder_entities(&s->shape->layout, kind);
  OnnxValue part = onnx_columns(s->onnx, x, e.offset, e.offset + e.count * e.features);
  part = embed(s, kind, onnx_reshape(s->onnx, part, (int64_t[]){0, e.count, e.features}, 3));
  const OnnxValue active = onnx_cast(s->onnx, onnx_columns(s->onnx, x, e.mask, e.mask + e.count), ONNX_BOOL);
  const OnnxValue shown = onnx_reshape(s->onnx, onnx_cast(s->onnx, active, ONNX_FLOAT), (int64_t[]){0, e.count, 1}, 3);
  return onnx_2(s->onnx, "Mul", part, shown);
}

static OnnxValue set(const Source *s, OnnxValue x) {
  OnnxValue kinds[ENCODER_ENTITY_KINDS];
  size_t count = 0;
  for (int kind = 0; kind < ENCODER_ENTITY_KINDS; kind++)
    if (encoder_entities(&s->shape->layout, kind).count > 0) kinds[count++] = entities(s, kind, x);
  OnnxValue y = onnx_concat(s->onnx, kinds, count, 1);
  const int heads = 2 * ENCODER_ENTITY_KINDS;
  y = onnx_2(s->onnx, "Add", onnx_2(s->onnx, "MatMul", y, tensor(s, heads)), tensor(s, heads + 1));
  const OnnxValue sum[] = {onnx_1(s->onnx, "Relu", y), onnx_ints(s->onnx, &(int64_t){1}, 1)};
  y = onnx_node(s->onnx, "ReduceSum", sum, 2, (OnnxAttribute[]){{.name = "keepdims", .number = 0}, {0}});
  return s->shape->kind == ENCODER_SET ? onnx_1(s->onnx, "Tanh", y) : y;
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

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

/* Bytes -> [rows][frames * channels][height][width] between 0 and 1. */
static OnnxValue show(const Source *s, OnnxValue x) {
  const OpsPixels *p = &s->shape->pixels;
  if (p->channels_last && p->channels > 1) {
    x = onnx_reshape(s->onnx, x, (int64_t[]){-1, p->frames, p->height, p->width, p->channels}, 5);
    x = onnx_transpose(s->onnx, x, (int64_t[]){0, 1, 4, 2, 3}, 5);
  }
  x = onnx_reshape(s->onnx, x, (int64_t[]){-1, p->frames * p->channels, p->height, p->width}, 4);
  return onnx_2(s->onnx, "Div", onnx_cast(s->onnx, x, ONNX_FLOAT), onnx_real(s->onnx, ONNX_FLOAT, 255));
}

/* Kernel [size][size][in][out] -> [out][in][size][size]. */
static OnnxValue kernel(const Source *s, int i) {
  const EncoderTensor *t = &s->shape->tensor[i];
  const OpsConv *c = &t->conv;
  const size_t area = (size_t)c->size[0] * (size_t)c->size[1], in = (size_t)c->in, out = (size_t)c->out;
  const int64_t dims[] = {c->out, c->in, c->size[0], c->size[1]};
  float *turned = core_memory_allocate(area * in * out * sizeof *turned);
  char name[ONNX_NAME];
  for (size_t at = 0; at < area; at++)
    for (size_t k = 0; k < in; k++)
      for (size_t o = 0; o < out; o++)
        turned[(o * in + k) * area + at] = s->theta[t->offset + (at * in + k) * out + o];
  snprintf(name, sizeof name, "%s.%s", s->network, t->name);
  const OnnxValue value = onnx_constant(s->onnx, name, ONNX_FLOAT, dims, 4, turned);
  free(turned);
  return value;
}

static OnnxValue conv(const Source *s, int i, OnnxValue x) {
  const OpsConv *c = &s->shape->tensor[i].conv;
  const OnnxAttribute attributes[] = {
    {.name = "kernel_shape", .ints = (int64_t[]){c->size[0], c->size[1]}, .count = 2},
    {.name = "strides", .ints = (int64_t[]){c->stride[0], c->stride[1]}, .count = 2},
    {.name = "pads", .ints = (int64_t[]){c->pad[0], c->pad[1], c->pad[0], c->pad[1]}, .count = 4},
    {0}};
  const OnnxValue inputs[] = {x, kernel(s, i), tensor(s, i + 1)};
  return onnx_node(s->onnx, "Conv", inputs, 3, attributes);
}

/* [rows][channels][height][width] <-> [rows][height][width][channels] */
static OnnxValue channels_last(const Source *s, OnnxValue x) {
  return onnx_transpose(s->onnx, x, (int64_t[]){0, 2, 3, 1}, 4);
}
static OnnxValue channels_first(const Source *s, OnnxValue x) {
  return onnx_transpose(s->onnx, x, (int64_t[]){0, 3, 1, 2}, 4);
}

/* The layer norm of all outputs of convolution i, whose gain and offset follow its bias. */
static OnnxValue norm(const Source *s, int i, OnnxValue x) {
  const OpsConv *c = &s->shape->tensor[i].conv;
  x = onnx_reshape(s->onnx, channels_last(s, x), (int64_t[]){-1, (int64_t)ops_conv_outputs(c)}, 2);
  x = onnx_layer_norm(s->onnx, x, tensor(s, i + 2), tensor(s, i + 3));
  x = onnx_reshape(s->onnx, x, (int64_t[]){-1, ops_conv_height(c), ops_conv_width(c), c->out}, 4);
  return channels_first(s, x);
}

static OnnxValue nature(const Source *s, OnnxValue x) {
  const int step = s->shape->layer_norm ? 4 : 2;
  for (int i = 0; i < s->shape->tensors; i += step) {
    x = conv(s, i, x);
    if (s->shape->layer_norm) x = norm(s, i, x);
    x = onnx_1(s->onnx, "Relu", x);
  }
  return x;
}

static OnnxValue pool(const Source *s, OnnxValue x) {
  const OnnxAttribute attributes[] = {
    {.name = "kernel_shape", .ints = (int64_t[]){3, 3}, .count = 2},
    {.name = "strides", .ints = (int64_t[]){2, 2}, .count = 2},
    {.name = "pads", .ints = (int64_t[]){1, 1, 1, 1}, .count = 4},
    {0}};
  return onnx_node(s->onnx, "MaxPool", &x, 1, attributes);
}

/* A stage is ten tensors: its convolution, then two blocks of two. */
static OnnxValue impala(const Source *s, OnnxValue x) {
  for (int stage = 0; stage < s->shape->tensors; stage += 10) {
    x = pool(s, conv(s, stage, x));
    for (int block = stage + 2; block < stage + 10; block += 4) {
      OnnxValue y = conv(s, block, onnx_1(s->onnx, "Relu", x));
      y = conv(s, block + 2, onnx_1(s->onnx, "Relu", y));
      x = onnx_2(s->onnx, "Add", y, x);
    }
  }
  return onnx_1(s->onnx, "Relu", x);
}

OnnxValue onnx_encoder(Onnx *onnx, const EncoderShape *shape, const char *network, const float *theta, OnnxValue x) {
  const Source source = {onnx, shape, network, theta};
  if (!encoder_reads_pixels(shape->kind)) return set(&source, x);
  x = show(&source, x);
  x = shape->kind == ENCODER_NATURE ? nature(&source, x) : impala(&source, x);
  return onnx_reshape(onnx, channels_last(&source, x), (int64_t[]){-1, shape->width}, 2);
}
