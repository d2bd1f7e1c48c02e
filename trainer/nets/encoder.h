/* Encoders: networks from a row of entity observations (observe_layout.h) to an embedding that does not depend on the
 * order of entities. Actor and critic (agent.h) take the embedding. Flat observations need no encoder.
 *
 *   set           every entity by a layer of its kind, then 8 heads, each summed over all entities; tanh (Kinetix)
 *   stoix_set     the same with 4 heads and no activation after the sum (Stoix)
 *   transformer   two layers of masked attention among shapes, with gates and messages from joints and thrusters
 *
 * Source: spec kinetix.md 6; Kinetix' actor_critic.py and transformer_model.py, Stoix' kinetix.py. Files: encoder.c
 * (what all have in common), encoder_set.c, encoder_transformer.c; arithmetic is the ops'.
 *
 * Rows are processed in pieces of fixed size, and a backward pass recomputes a piece's activations, so memory does not
 * grow with the rows. Results depend neither on threads nor on the number of rows of a call. */
#ifndef TRAINER_ENCODER_H
#define TRAINER_ENCODER_H
#include <stdbool.h>
#include <stdint.h>

#include "core/device/arena.h"
#include "sim/task/observe_layout.h"
#include "trainer/ops/ops.h"

/* The encoders: a new one is a line here, a choice of net.encoder in config.def, and ENCODER_DESIGN_X in its file
 * (encoder_internal.h). */
#define ENCODER_KINDS(X) \
  X(SET) \
  X(STOIX_SET) \
  X(TRANSFORMER)
#define ENCODER_KIND(name) ENCODER_##name,
typedef enum EncoderKind { ENCODER_NONE, ENCODER_KINDS(ENCODER_KIND) } EncoderKind;
#undef ENCODER_KIND
enum { ENCODER_TENSORS_MAX = 64, ENCODER_NAME = 32 };
/* Rows that go through at a time: on the host, what stays in a cache; on a device twice as many as long as its share of
 * the memory holds their activations, at most so many. */
enum { ENCODER_PIECE = 256, ENCODER_PIECE_DEVICE = 8192, ENCODER_MEMORY_SHARE = 16 };

typedef enum EncoderInit {
  ENCODER_ZEROS, ENCODER_ONES,
  ENCODER_ORTHOGONAL,        /* gain sqrt(2) */
  ENCODER_HEADS,             /* the heads' kernels as one tensor [heads * rows][columns / heads], orthogonal, sqrt(2) */
  ENCODER_LECUN,             /* LeCun normal: truncated at two standard deviations, variance 1 / rows */
} EncoderInit;

/* One tensor of the parameter vector, row-major. */
typedef struct EncoderTensor {
  char name[ENCODER_NAME];   /* "layer 1 gate 2 Ug" */
  int rows, columns;         /* kernels (in, out); vectors have one row */
  EncoderInit init;
  size_t offset;
} EncoderTensor;

typedef struct EncoderShape {
  EncoderKind kind;
  SimEntityLayout layout;    /* of an observation row */
  int width;                 /* of the embedding: 256, transformer 128 */
  int heads;
  size_t parameters;
  int tensors;
  EncoderTensor tensor[ENCODER_TENSORS_MAX];
} EncoderShape;

/* `name` as net.encoder has it; "none" gives ENCODER_NONE. */
EncoderKind encoder_kind(const char *name);
/* kind: not ENCODER_NONE. */
EncoderShape encoder_shape(EncoderKind kind, SimEntityLayout layout);

/* Initial parameters: a function of (seed, first_tensor) only. Tensors first_tensor .. + ENCODER_TENSORS_MAX - 1 are
 * used up. */
void encoder_initialise(const EncoderShape *shape, uint64_t seed, uint32_t first_tensor, float *theta);
/* "actor.layer 1 gate 2 Ug[3,17]" for the k-th parameter. buffer >= 64. */
const char *encoder_parameter_name(const EncoderShape *shape, const char *network, size_t k, char *buffer);

/* An encoder's working memory; any number of parameter vectors may use it one after the other. */
typedef struct Encoder {
  EncoderShape shape;
  int piece;                 /* rows that go through at a time */
  float *memory;             /* activations and their gradients for a piece */
  float *embedding;          /* [piece][width] computed again */
  float *part;               /* [parameters] gradient of one piece */
  float *zeros;              /* a bias for kernels without one */
} Encoder;

/* max_rows: of any later call that learns; fewer than a piece save memory. The piece follows from the arena's device
 * and its whole memory, not from what is free, so that a run's sums are the same each time. */
void encoder_register(Encoder *encoder, const EncoderShape *shape, int max_rows, CoreArena *arena);
/* What ops must be able to hold (ops_cpu_create). */
int encoder_ops_rows(const Encoder *encoder);
int encoder_ops_width(const EncoderShape *shape);

/* x [rows][layout.length] -> embedding [rows][width]. */
void encoder_forward(const Encoder *encoder, Ops *ops, const float *theta, const float *x, int rows, float *embedding);
/* The gradient at the embedding -> gradient [parameters] (set), summed over rows in a fixed order. */
void encoder_backward(const Encoder *encoder, Ops *ops, const float *theta, const float *x, int rows,
                      const float *dembedding, float *gradient);

#endif
