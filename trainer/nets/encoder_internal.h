/* Helpers of the encoders' files: the list of tensors, and dense layers by tensor index. */
#ifndef TRAINER_ENCODER_INTERNAL_H
#define TRAINER_ENCODER_INTERNAL_H
#include "trainer/nets/encoder.h"
#include "trainer/nets/encoder_entities.h"
#include "trainer/ops/entity.h"

/* One chunk during a pass. */
typedef struct EncoderPass {
  Ops *ops;
  const EncoderShape *shape;
  const float *theta, *zeros;
  const uint16_t *rounded;   /* Encoder.rounded */
  OpsRows x;
  float *memory, *scratch;   /* a chunk's; scratch: contents not needed by the backward pass */
  const float *packed;       /* pixels: Encoder.packed */
  bool is_learning;          /* entities: whether `backward` may follow `forward` */
} EncoderPass;

/* Encoder implementation: its tensors, the floats of memory for a chunk of `rows`, its two passes. backward follows
 * forward with the same pass; it sets every tensor of the gradient, which is packed for pixel encoders. scratch: floats
 * that a pass needs in addition to memory; NULL: the encoder reads entities. */
typedef struct EncoderDesign {
  const char *name;
  void (*list)(EncoderShape *shape);
  size_t (*floats)(const EncoderShape *shape, int rows);
  size_t (*scratch)(const EncoderShape *shape, int rows);
  void (*forward)(const EncoderPass *pass, float *embedding);
  void (*backward)(const EncoderPass *pass, const float *embedding, const float *dembedding, float *gradient);
  /* encoder_layers; pixels only. */
  int (*layers)(const EncoderShape *shape, int rows, float *memory, EncoderLayer layer[ENCODER_LAYERS_MAX]);
} EncoderDesign;
#define ENCODER_DESIGN(name) extern const EncoderDesign ENCODER_DESIGN_##name;
ENCODER_KINDS(ENCODER_DESIGN)
#undef ENCODER_DESIGN

/* Adds a tensor to the list and returns its index. encoder_add_dense: a kernel, followed by its bias of zeros. */
int encoder_add(EncoderShape *shape, const char *name, int rows, int columns, EncoderInit init);
int encoder_add_dense(EncoderShape *shape, const char *name, int in, int out, EncoderInit init);

/* Applies the dense layer of a kernel over [rows][in]; `biased`: the next tensor is its bias. */
void encoder_dense(const EncoderPass *pass, int tensor, bool biased, const float *x, float *y, int rows,
                   OpsActivation activation);
/* dy is overwritten; dx may be NULL. Without a bias, `sums`, if not NULL, receives dy's column sums. */
void encoder_dense_backward(const EncoderPass *pass, int tensor, bool biased, const float *x, const float *y, float *dy,
                            float *dx, float *gradient, float *sums, int rows, OpsActivation activation);

/* Dense layers between matrices of entities, which may be bf16 (entity.h). floats: whether the result, y or backward
 * dx, is floats. */
typedef enum EncoderFloats { ENCODER_NO_FLOATS, ENCODER_FLOAT_RESULT } EncoderFloats;
void encoder_layer(const EncoderPass *pass, int tensor, bool biased, const float *x, float *y, EncoderFloats floats,
                   int rows, OpsActivation activation);
void encoder_layer_backward(const EncoderPass *pass, int tensor, bool biased, const float *x, const float *y,
                            EncoderFloats floats, float *dy, float *dx, float *gradient, float *sums, int rows,
                            OpsActivation activation);

/* ---- pixel encoders (encoder_pixels.c) --------------------------------------------------------------------------- */

/* Adds a convolution's kernel, followed by its bias; returns the kernel's index. */
int encoder_add_conv(EncoderShape *shape, const char *name, const OpsConv *conv, EncoderInit init);
/* Applies the convolution of a kernel; like dense layers above, with a packed gradient. */
void encoder_conv(const EncoderPass *pass, int tensor, const float *x, float *y, OpsActivation activation,
                  float *scratch);
void encoder_conv_backward(const EncoderPass *pass, int tensor, const float *x, const float *y, float *dy, float *dx,
                           float *dpacked, OpsActivation activation, float *scratch);
void encoder_pixels_register(Encoder *encoder, const EncoderDesign *design, int max_rows, CoreArena *arena);
void encoder_pixels_forward(const Encoder *encoder, const EncoderDesign *design, Ops *ops, const float *theta,
                            const float *x, int rows, float *embedding);
void encoder_pixels_backward(const Encoder *encoder, const EncoderDesign *design, Ops *ops, const float *theta,
                             const float *x, int rows, const float *dembedding, float *gradient);
/* Returns the elements of a chunk's pixels, as floats. */
static inline size_t encoder_pixel_floats(const EncoderShape *shape, int rows) {
  const OpsPixels *p = &shape->pixels;
  return (size_t)rows * (size_t)p->height * (size_t)p->width * (size_t)(p->frames * p->channels);
}

/* Allocates `floats` of a chunk's memory; base NULL: only counts. */
static inline float *encoder_reserve(float *base, size_t *used, size_t floats) {
  float *block = base ? base + *used : NULL;
  *used += (floats + 15) / 16 * 16;
  return block;
}

#endif
