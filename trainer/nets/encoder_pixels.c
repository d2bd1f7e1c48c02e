/* Common parts of pixel encoders. On the host each thread takes a chunk of images through all layers, so that their
 * activations stay in its cache; kernels are packed once per pass, in the convolutions' format. Gradients are summed in
 * that format, chunk after chunk in each of at most ENCODER_GROUPS groups, which depend on the number of rows alone,
 * and unpacked at the end. */
#include "core/device/arena.h"
#include "trainer/nets/encoder_internal.h"

int encoder_add_conv(EncoderShape *shape, const char *name, const OpsConv *conv, EncoderInit init) {
  const size_t packed = shape->packed;
  const int kernel = encoder_add_dense(shape, name, ops_conv_patch(conv), conv->out, init);
  EncoderTensor *tensor = &shape->tensor[kernel];
  tensor->conv = *conv;
  tensor[1].packed = packed + ops_conv_packed(conv);
  shape->packed = tensor[1].packed + ((size_t)conv->out + 15) / 16 * 16;
  return kernel;
}

void encoder_conv(const EncoderPass *pass, int tensor, const float *x, float *y, OpsActivation activation,
                  float *scratch) {
  const EncoderTensor *t = &pass->shape->tensor[tensor];
  pass->ops->image->conv_forward(pass->ops, &t->conv, x, pass->packed + 2 * t->packed, pass->theta + t[1].offset, y,
                                 pass->x.rows, activation, scratch);
}

void encoder_conv_backward(const EncoderPass *pass, int tensor, const float *x, const float *y, float *dy, float *dx,
                           float *dpacked, OpsActivation activation, float *scratch) {
  const EncoderTensor *t = &pass->shape->tensor[tensor];
  pass->ops->image->conv_backward(pass->ops, &t->conv, x, pass->packed + 2 * t->packed, y, dy, dx,
                                  dpacked + t->packed, dpacked + t[1].packed, pass->x.rows, activation, scratch);
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

static int chunk_count(const Encoder *encoder, int rows) {
  return (rows + encoder->chunk_rows - 1) / encoder->chunk_rows;
}

/* Returns the memory of a call's chunks; NULL: there are more than are kept. */
static float *kept_memory(const Encoder *encoder, int rows) {
  return chunk_count(encoder, rows) <= encoder->kept ? encoder->memory : NULL;
}

/* Returns the scratch floats of a call: a gradient, scratch, and activations where they are not kept. */
static size_t scratch_floats(const Encoder *encoder, const EncoderDesign *design, bool is_kept) {
  return encoder->shape.packed + design->scratch(&encoder->shape, encoder->chunk_rows) +
         (is_kept ? 0 : encoder->chunk_floats + (size_t)encoder->chunk_rows * (size_t)encoder->shape.width);
}

void encoder_pixels_register(Encoder *encoder, const EncoderDesign *design, int max_rows, CoreArena *arena) {
  const size_t chunks = (size_t)chunk_count(encoder, max_rows), packed = encoder->shape.packed;
  encoder->chunk_floats = design->floats(&encoder->shape, encoder->chunk_rows);
  encoder->kept = encoder->chunk_floats * chunks <= ENCODER_KEPT_FLOATS ? (int)chunks : 0;
  CORE_ARENA_DEVICE(arena, encoder->memory, (size_t)encoder->kept * encoder->chunk_floats,
                    "encoder's activations [chunks][floats of a chunk]");
  CORE_ARENA_DEVICE(arena, encoder->packed, 2 * packed, "encoder's packed kernels");
  CORE_ARENA_DEVICE(arena, encoder->sums, ENCODER_GROUPS * packed, "encoder's packed gradients [groups]");
  if (core_arena_device(arena))
    CORE_ARENA_DEVICE(arena, encoder->chunk_scratch, scratch_floats(encoder, design, false),
                      "encoder's work on a chunk");
}

/* A pass over all rows. */
typedef struct Whole {
  const Encoder *encoder;
  const EncoderDesign *design;
  Ops *ops;
  const float *theta, *x, *dembedding;
  float *embedding, *kept;
  int rows;
} Whole;

/* chunk_scratch: [packed] gradient, then scratch, then activations that are not kept. */
static EncoderPass pass_of(const Whole *whole, int chunk, float *chunk_scratch) {
  const Encoder *encoder = whole->encoder;
  const int first = chunk * encoder->chunk_rows, left = whole->rows - first, stride = encoder->shape.length;
  float *scratch = chunk_scratch + encoder->shape.packed;
  float *memory = whole->kept ? whole->kept + (size_t)chunk * encoder->chunk_floats
                              : scratch + whole->design->scratch(&encoder->shape, encoder->chunk_rows);
  return (EncoderPass){
    .ops = whole->ops, .shape = &encoder->shape, .theta = whole->theta, .packed = encoder->packed, .memory = memory,
    .scratch = scratch,
    .x = {whole->x + (size_t)first * (size_t)stride, left < encoder->chunk_rows ? left : encoder->chunk_rows, stride},
  };
}

static void pack(const Encoder *encoder, Ops *ops, const float *theta) {
  for (int i = 0; i < encoder->shape.tensors; i++) {
    const EncoderTensor *t = &encoder->shape.tensor[i];
    if (t->conv.out > 0) ops->image->conv_pack(ops, &t->conv, theta + t->offset, encoder->packed + 2 * t->packed);
  }
}

static void forward_chunk(void *context, int chunk, float *chunk_scratch) {
  const Whole *whole = context;
  const Encoder *encoder = whole->encoder;
  const EncoderPass pass = pass_of(whole, chunk, chunk_scratch);
  const size_t first = (size_t)chunk * (size_t)encoder->chunk_rows;
  whole->design->forward(&pass, whole->embedding + first * (size_t)encoder->shape.width);
}

void encoder_pixels_forward(const Encoder *encoder, const EncoderDesign *design, Ops *ops, const float *theta,
                            const float *x, int rows, float *embedding) {
  Whole whole = {encoder, design, ops, theta, x, NULL, embedding, kept_memory(encoder, rows), rows};
  pack(encoder, ops, theta);
  ops->image->each(ops, chunk_count(encoder, rows), scratch_floats(encoder, design, whole.kept != NULL),
                   encoder->chunk_scratch, forward_chunk, &whole);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

static int groups_of(const Whole *whole) {
  const int chunks = chunk_count(whole->encoder, whole->rows);
  return chunks < ENCODER_GROUPS ? chunks : ENCODER_GROUPS;
}
static int first_of_group(const Whole *whole, int group) {
  return (int)((int64_t)chunk_count(whole->encoder, whole->rows) * group / groups_of(whole));
}

static void backward_chunk(const Whole *whole, int chunk, float *chunk_scratch, float *dpacked) {
  const Encoder *encoder = whole->encoder;
  const EncoderPass pass = pass_of(whole, chunk, chunk_scratch);
  const size_t first = (size_t)chunk * (size_t)encoder->chunk_rows * (size_t)encoder->shape.width;
  if (whole->kept == NULL) whole->design->forward(&pass, pass.memory + encoder->chunk_floats);
  whole->design->backward(&pass, NULL, whole->dembedding + first, dpacked);
}

static void backward_group(void *context, int group, float *chunk_scratch) {
  const Whole *whole = context;
  const size_t packed = whole->encoder->shape.packed;
  const int first = first_of_group(whole, group), end = first_of_group(whole, group + 1);
  float *sum = whole->encoder->sums + (size_t)group * packed;
  backward_chunk(whole, first, chunk_scratch, sum);
  for (int chunk = first + 1; chunk < end; chunk++) {
    backward_chunk(whole, chunk, chunk_scratch, chunk_scratch);
    whole->ops->add(whole->ops, sum, chunk_scratch, packed);
  }
}

/* Adds the groups' sums, in their order, into the parameter gradient. */
static void unpack(const Whole *whole, int groups, float *gradient) {
  const EncoderShape *shape = &whole->encoder->shape;
  Ops *ops = whole->ops;
  float *sum = whole->encoder->sums;
  for (int group = 1; group < groups; group++)
    ops->add(ops, sum, sum + (size_t)group * shape->packed, shape->packed);
  for (int i = 0; i < shape->tensors; i++) {
    const EncoderTensor *t = &shape->tensor[i];
    if (t->conv.out > 0) ops->image->conv_unpack(ops, &t->conv, sum + t->packed, gradient + t->offset);
    else core_device_copy(ops->device, gradient + t->offset, sum + t->packed,
                          (size_t)t->rows * (size_t)t->columns * sizeof *gradient);
  }
}

void encoder_pixels_backward(const Encoder *encoder, const EncoderDesign *design, Ops *ops, const float *theta,
                             const float *x, int rows, const float *dembedding, float *gradient) {
  Whole whole = {encoder, design, ops, theta, x, dembedding, NULL, kept_memory(encoder, rows), rows};
  const int groups = groups_of(&whole);
  ops->image->each(ops, groups, scratch_floats(encoder, design, whole.kept != NULL), encoder->chunk_scratch,
                   backward_group, &whole);
  unpack(&whole, groups, gradient);
}
