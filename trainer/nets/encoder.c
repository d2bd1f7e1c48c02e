/* Common parts of all encoders (encoder.h): lists of tensors and their initial values, division of rows into chunks. */
#include "core/device/arena.h"
#include "core/memory.h"
#include "trainer/nets/encoder_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "trainer/nets/network.h"

#define ROW(name) [ENCODER_##name] = &ENCODER_DESIGN_##name,
static const EncoderDesign *const DESIGN[] = {ENCODER_KINDS(ROW)};
#undef ROW
static const int DESIGNS = sizeof DESIGN / sizeof *DESIGN;

/* ---- shape ------------------------------------------------------------------------------------------------------- */

EncoderKind encoder_kind(const char *name) {
  for (int kind = ENCODER_NONE + 1; kind < DESIGNS; kind++)
    if (strcmp(DESIGN[kind]->name, name) == 0) return (EncoderKind)kind;
  CORE_CHECK(strcmp(name, "none") == 0);
  return ENCODER_NONE;
}

bool encoder_reads_pixels(EncoderKind kind) { return kind != ENCODER_NONE && DESIGN[kind]->scratch != NULL; }

EncoderShape encoder_shape(EncoderKind kind, SimEntityLayout layout) {
  EncoderShape shape = {.kind = kind, .length = layout.length, .layout = layout};
  CORE_CHECK(kind > ENCODER_NONE && (int)kind < DESIGNS && !encoder_reads_pixels(kind));
  DESIGN[kind]->list(&shape);
  return shape;
}

EncoderShape encoder_shape_of_pixels(EncoderKind kind, const EnvPixels *pixels, bool layer_norm) {
  EncoderShape shape = {.kind = kind, .length = env_pixels_length(pixels), .layer_norm = layer_norm};
  CORE_CHECK(encoder_reads_pixels(kind));
  shape.pixels = (OpsPixels){pixels->height,        pixels->width,         pixels->channels,
                             pixels->frames,        pixels->channels_last, (size_t)shape.length * sizeof(float)};
  DESIGN[kind]->list(&shape);
  return shape;
}

int encoder_check_pixels(EncoderKind kind, const EnvPixels *pixels) {
  const int min_side = kind == ENCODER_NATURE ? 36 : 1; /* one 3x3 window after strides of 4 and 2 */
  if (pixels->height >= min_side && pixels->width >= min_side) return CORE_OK;
  return core_error(CORE_USAGE, "net.encoder = %s: images of %d x %d are too small for its convolutions, which need "
                    "%d x %d; set net.encoder to impala or none", DESIGN[kind]->name, pixels->width, pixels->height,
                    min_side, min_side);
}

EncoderEntities encoder_entities(const SimEntityLayout *l, int kind) {
  const EncoderEntities entities[ENCODER_ENTITY_KINDS] = {
      [ENCODER_POLYGONS] = {"polygon", SIM_ENTITY_POLYGON, l->size.polygons, l->polygons, l->polygon_mask},
      [ENCODER_CIRCLES] = {"circle", SIM_ENTITY_CIRCLE, l->size.circles, l->circles, l->circle_mask},
      [ENCODER_JOINTS] = {"joint", SIM_ENTITY_JOINT, 2 * l->size.joints, l->joints, l->joint_mask},
      [ENCODER_THRUSTERS] = {"thruster", SIM_ENTITY_THRUSTER, l->size.thrusters, l->thrusters, l->thruster_mask},
  };
  return entities[kind];
}

int encoder_entity_count(const SimEntityLayout *layout) {
  int count = 0;
  for (int kind = 0; kind < ENCODER_ENTITY_KINDS; kind++) count += encoder_entities(layout, kind).count;
  return count;
}

int encoder_add(EncoderShape *shape, const char *name, int rows, int columns, EncoderInit init) {
  CORE_CHECK(shape->tensors < ENCODER_TENSORS_MAX);
  EncoderTensor *tensor = &shape->tensor[shape->tensors];
  *tensor = (EncoderTensor){.rows = rows, .columns = columns, .init = init, .offset = shape->parameters,
                            .packed = shape->packed};
  snprintf(tensor->name, sizeof tensor->name, "%s", name);
  shape->parameters += (size_t)rows * (size_t)columns;
  shape->packed += ((size_t)rows * (size_t)columns + 15) / 16 * 16;
  return shape->tensors++;
}

int encoder_add_dense(EncoderShape *shape, const char *name, int in, int out, EncoderInit init) {
  char text[ENCODER_NAME];
  snprintf(text, sizeof text, "%s W", name);
  const int kernel = encoder_add(shape, text, in, out, init);
  snprintf(text, sizeof text, "%s b", name);
  encoder_add(shape, text, 1, out, init == ENCODER_UNIFORM ? ENCODER_UNIFORM : ENCODER_ZEROS);
  return kernel;
}

const char *encoder_parameter_name(const EncoderShape *shape, const char *network, size_t k, char *buffer) {
  enum { NAME = 64 };
  const EncoderTensor *t = &shape->tensor[0];
  while (t + 1 < shape->tensor + shape->tensors && k >= t[1].offset) t++;
  const size_t element = k - t->offset, columns = (size_t)t->columns;
  if (t->rows == 1) snprintf(buffer, NAME, "%s.%s[%zu]", network, t->name, element);
  else snprintf(buffer, NAME, "%s.%s[%zu,%zu]", network, t->name, element / columns, element % columns);
  return buffer;
}

/* ---- initial values ---------------------------------------------------------------------------------------------- */

/* Draws element i of a tensor: N(0, 1), redrawn until it is within `bound`. */
static double draw_normal(uint64_t seed, uint32_t tensor, uint32_t i, double bound) {
  for (uint32_t attempt = 0;; attempt++) {
    const CoreRandom4 words = core_random_4(seed, CORE_RANDOM_WEIGHTS, tensor, i, attempt);
    double pair[2];
    core_random_normal_pair(words.v[0], words.v[1], &pair[0], &pair[1]);
    for (int k = 0; k < 2; k++)
      if (fabs(pair[k]) <= bound) return pair[k];
  }
}

/* heads > 1: the orthogonal tensor is [heads * rows][columns / heads]; head h's part goes to its columns. */
static void init_orthogonal(const EncoderTensor *t, int heads, uint64_t seed, uint32_t number, float *values) {
  const int in = t->rows * heads, out = t->columns / heads;
  const size_t n = (size_t)in * (size_t)out;
  double *gaussian = core_memory_allocate(n * sizeof *gaussian);
  float *kernel = core_memory_allocate(n * sizeof *kernel);
  for (size_t i = 0; i < n; i++) gaussian[i] = draw_normal(seed, number, (uint32_t)i, INFINITY);
  network_orthogonal(gaussian, in, out, sqrt(2), kernel);
  for (int head = 0; head < heads; head++)
    for (int r = 0; r < t->rows; r++)
      memcpy(values + (size_t)r * t->columns + head * out, kernel + ((size_t)head * t->rows + r) * out,
             (size_t)out * sizeof *values);
  free(gaussian);
  free(kernel);
}

/* The factor compensates the variance lost by truncation (jax.nn.initializers.variance_scaling). */
static void init_lecun(const EncoderTensor *t, uint64_t seed, uint32_t number, float *values) {
  const double deviation_left = 0.87962566103423978, scale = sqrt(1.0 / t->rows) / deviation_left;
  const size_t n = (size_t)t->rows * (size_t)t->columns;
  for (size_t i = 0; i < n; i++) values[i] = (float)(scale * draw_normal(seed, number, (uint32_t)i, 2.0));
}

static void init_uniform(const EncoderTensor *t, uint64_t seed, uint32_t number, float *values) {
  const float bound = (float)(1 / sqrt(t->rows > 1 ? t->rows : t[-1].rows));
  CoreRandomStream stream = core_random_stream(seed, CORE_RANDOM_WEIGHTS, number, 0);
  const size_t n = (size_t)t->rows * (size_t)t->columns;
  for (size_t i = 0; i < n; i++) values[i] = core_random_uniform(&stream, -bound, bound);
}

static void init_tensor(const EncoderShape *shape, int i, uint64_t seed, uint32_t number, float *values) {
  const EncoderTensor *t = &shape->tensor[i];
  const size_t n = (size_t)t->rows * (size_t)t->columns;
  switch (t->init) {
    case ENCODER_ORTHOGONAL: init_orthogonal(t, 1, seed, number, values); break;
    case ENCODER_HEADS: init_orthogonal(t, shape->heads, seed, number, values); break;
    case ENCODER_LECUN: init_lecun(t, seed, number, values); break;
    case ENCODER_UNIFORM: init_uniform(t, seed, number, values); break;
    default:
      for (size_t k = 0; k < n; k++) values[k] = t->init == ENCODER_ONES ? 1.0f : 0.0f;
  }
}

void encoder_init(const EncoderShape *shape, uint64_t seed, uint32_t first_tensor, float *theta) {
  for (int i = 0; i < shape->tensors; i++)
    init_tensor(shape, i, seed, first_tensor + (uint32_t)i, theta + shape->tensor[i].offset);
}

/* ---- dense layers ------------------------------------------------------------------------------------------------ */

void encoder_dense(const EncoderPass *pass, int tensor, bool biased, const float *x, float *y, int rows,
                   OpsActivation activation) {
  const EncoderTensor *t = &pass->shape->tensor[tensor];
  const float *bias = biased ? pass->theta + t[1].offset : pass->zeros;
  pass->ops->dense_forward(pass->ops, x, pass->theta + t->offset, bias, y, rows, t->rows, t->columns, activation);
}

/* The scratch of an unused bias gradient follows all tensors of `gradient` (encoder_register). None is computed where
 * dy is already the gradient before the activation. */
void encoder_dense_backward(const EncoderPass *pass, int tensor, bool biased, const float *x, const float *y, float *dy,
                            float *dx, float *gradient, float *sums, int rows, OpsActivation activation) {
  const EncoderTensor *t = &pass->shape->tensor[tensor];
  const float *bias = biased ? pass->theta + t[1].offset : pass->zeros;
  float *unused = sums ? sums : gradient + pass->shape->parameters;
  float *db = biased ? gradient + t[1].offset : unused;
  if (!biased && !sums && activation == OPS_LINEAR) db = NULL;
  pass->ops->dense_backward(pass->ops, x, pass->theta + t->offset, bias, y, dy, dx, gradient + t->offset, db, rows,
                            t->rows, t->columns, activation);
}

static OpsEntityDense entity_dense(const EncoderPass *pass, int tensor, bool biased, const float *x, const float *y,
                                   EncoderFloats floats) {
  const EncoderTensor *t = &pass->shape->tensor[tensor];
  return (OpsEntityDense){.x = x, .w = pass->rounded ? pass->rounded + t->offset : NULL,
                          .b = biased ? pass->theta + t[1].offset : NULL, .y = (float *)(uintptr_t)y,
                          .in = t->rows, .out = t->columns, .result_is_float = floats == ENCODER_FLOAT_RESULT};
}

void encoder_layer(const EncoderPass *pass, int tensor, bool biased, const float *x, float *y, EncoderFloats floats,
                   int rows, OpsActivation activation) {
  const OpsEntityDense layer = entity_dense(pass, tensor, biased, x, y, floats);
  if (pass->ops->entity->dense_forward) pass->ops->entity->dense_forward(pass->ops, &layer, rows, activation);
  else encoder_dense(pass, tensor, biased, x, y, rows, activation);
}

void encoder_layer_backward(const EncoderPass *pass, int tensor, bool biased, const float *x, const float *y,
                            EncoderFloats floats, float *dy, float *dx, float *gradient, float *sums, int rows,
                            OpsActivation activation) {
  const EncoderTensor *t = &pass->shape->tensor[tensor];
  const OpsEntityDense layer = entity_dense(pass, tensor, biased, x, y, floats);
  if (pass->ops->entity->dense_backward)
    pass->ops->entity->dense_backward(pass->ops, &layer, rows, activation, dy, dx, gradient + t->offset,
                                      biased ? gradient + t[1].offset : sums);
  else encoder_dense_backward(pass, tensor, biased, x, y, dy, dx, gradient, sums, rows, activation);
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

/* Returns the maximum rows per chunk. Some thousands of rows fill a device, each some twenty rows of a product; its
 * memory mostly holds the rollout. */
static int max_chunk_rows(const EncoderShape *shape, const CoreDevice *device) {
  int chunk = encoder_reads_pixels(shape->kind) ? ENCODER_CHUNK_PIXELS : ENCODER_CHUNK;
  if (device == NULL) return chunk;
  const double budget = (double)device->memory_bytes / ENCODER_MEMORY_SHARE;
  while (chunk < ENCODER_CHUNK_DEVICE &&
         (double)DESIGN[shape->kind]->floats(shape, 2 * chunk) * sizeof(float) <= budget)
    chunk *= 2;
  return chunk;
}

static int widest(const EncoderShape *shape) {
  int width = encoder_reads_pixels(shape->kind) ? shape->width : shape->length;
  for (int i = 0; i < shape->tensors; i++) {
    const EncoderTensor *t = &shape->tensor[i];
    if (t->rows > width) width = t->rows;
    if (t->columns > width) width = t->columns;
  }
  return width;
}

/* Returns the chunks whose activations an entity encoder keeps: all of a call on the host, up to a limit; otherwise,
 * and on a device, one. */
static int kept_chunks(const Encoder *encoder, int max_rows, const CoreDevice *device) {
  const size_t chunks = ((size_t)max_rows + (size_t)encoder->chunk_rows - 1) / (size_t)encoder->chunk_rows;
  return device == NULL && chunks * encoder->chunk_floats <= ENCODER_KEPT_FLOATS ? (int)chunks : 1;
}

void encoder_register(Encoder *encoder, const EncoderShape *shape, int max_rows, CoreArena *arena) {
  const int chunk_max = max_chunk_rows(shape, core_arena_device(arena));
  *encoder = (Encoder){.shape = *shape, .chunk_rows = max_rows < chunk_max ? max_rows : chunk_max};

  if (encoder_reads_pixels(shape->kind)) {
    encoder->chunk_rows = chunk_max < max_rows || core_arena_device(arena) == NULL ? chunk_max : max_rows;
    encoder_pixels_register(encoder, DESIGN[shape->kind], max_rows, arena);
    return;
  }

  const size_t spare = (size_t)widest(shape);
  encoder->chunk_floats = DESIGN[shape->kind]->floats(shape, encoder->chunk_rows);
  encoder->kept = kept_chunks(encoder, max_rows, core_arena_device(arena));
  CORE_ARENA_DEVICE(arena, encoder->memory, (size_t)encoder->kept * encoder->chunk_floats,
                    "encoder's activations [chunks][floats of a chunk]");
  CORE_ARENA_DEVICE(arena, encoder->embedding, (size_t)encoder->chunk_rows * (size_t)shape->width,
                    "encoder's embedding of a chunk [rows][width]");
  CORE_ARENA_DEVICE(arena, encoder->part, shape->parameters + spare, "encoder's gradient of a chunk");
  CORE_ARENA_DEVICE_ZERO(arena, encoder->zeros, spare, "a bias of zeros");
  if (core_arena_device(arena))
    CORE_ARENA_DEVICE(arena, encoder->rounded, shape->parameters, "encoder's parameters in bf16");
}

/* Every entity, or shape and dummy, is a row of some matrix product. */
int encoder_ops_rows(const Encoder *encoder) {
  if (encoder_reads_pixels(encoder->shape.kind)) return encoder->chunk_rows;
  return encoder->chunk_rows * (encoder_entity_count(&encoder->shape.layout) + 1);
}

/* On the host no operation allocates scratch for pixels. */
int encoder_ops_width(const EncoderShape *shape, bool on_device) {
  return encoder_reads_pixels(shape->kind) && !on_device ? shape->width : widest(shape);
}

/* Whether the activations of all chunks of a call stay until the backward pass. */
static bool keeps_all(const Encoder *encoder, int rows) { return rows <= encoder->kept * encoder->chunk_rows; }

static EncoderPass pass_of(const Encoder *encoder, Ops *ops, const float *theta, const float *x, int rows, int first) {
  const int left = rows - first, stride = encoder->shape.length;
  const size_t chunk = keeps_all(encoder, rows) ? (size_t)(first / encoder->chunk_rows) : 0;
  return (EncoderPass){
      .ops = ops, .shape = &encoder->shape, .theta = theta, .zeros = encoder->zeros, .rounded = encoder->rounded,
      .memory = encoder->memory + chunk * encoder->chunk_floats, .is_learning = true,
      .x = {x + (size_t)first * (size_t)stride, left < encoder->chunk_rows ? left : encoder->chunk_rows, stride},
  };
}

/* Stores no activations where not those of all chunks stay: encoder_backward computes them again. */
static void forward(const Encoder *encoder, Ops *ops, const float *theta, const float *x, int rows, float *embedding,
                    bool is_learning) {
  const EncoderDesign *design = DESIGN[encoder->shape.kind];
  if (encoder_reads_pixels(encoder->shape.kind)) {
    encoder_pixels_forward(encoder, design, ops, theta, x, rows, embedding);
    return;
  }
  if (ops->entity->round) ops->entity->round(ops, theta, encoder->shape.parameters, encoder->rounded);
  for (int first = 0; first < rows; first += encoder->chunk_rows) {
    EncoderPass pass = pass_of(encoder, ops, theta, x, rows, first);
    pass.is_learning = is_learning && keeps_all(encoder, rows);
    design->forward(&pass, embedding + (size_t)first * (size_t)encoder->shape.width);
  }
}

void encoder_forward(const Encoder *encoder, Ops *ops, const float *theta, const float *x, int rows, float *embedding) {
  forward(encoder, ops, theta, x, rows, embedding, true);
}
void encoder_act(const Encoder *encoder, Ops *ops, const float *theta, const float *x, int rows, float *embedding) {
  forward(encoder, ops, theta, x, rows, embedding, false);
}

void encoder_backward(const Encoder *encoder, Ops *ops, const float *theta, const float *x, int rows,
                      const float *embedding, const float *dembedding, float *gradient) {
  const EncoderDesign *design = DESIGN[encoder->shape.kind];
  const size_t n = encoder->shape.parameters, width = (size_t)encoder->shape.width;

  if (encoder_reads_pixels(encoder->shape.kind)) {
    encoder_pixels_backward(encoder, design, ops, theta, x, rows, dembedding, gradient);
    return;
  }

  for (int first = 0; first < rows; first += encoder->chunk_rows) {
    const EncoderPass pass = pass_of(encoder, ops, theta, x, rows, first);
    const float *chunk_embedding = embedding + (size_t)first * width;
    if (!keeps_all(encoder, rows)) {
      design->forward(&pass, encoder->embedding);
      chunk_embedding = encoder->embedding;
    }
    design->backward(&pass, chunk_embedding, dembedding + (size_t)first * width, encoder->part);
    if (ops->entity->finish) ops->entity->finish(ops);
    if (first == 0) core_device_copy(ops->device, gradient, encoder->part, n * sizeof *gradient);
    else ops->add(ops, gradient, encoder->part, n);
  }
}

int encoder_layers(const Encoder *encoder, int chunk, int rows, EncoderLayer layer[ENCODER_LAYERS_MAX]) {
  if (!encoder_reads_pixels(encoder->shape.kind) || encoder->kept == 0) return 0;
  CORE_CHECK(chunk < encoder->kept && rows <= encoder->chunk_rows);
  /* Before the arena's commit there is no memory, and the addresses are not read. */
  float *memory = encoder->memory ? encoder->memory + (size_t)chunk * encoder->chunk_floats : NULL;
  return DESIGN[encoder->shape.kind]->layers(&encoder->shape, rows, memory, layer);
}
