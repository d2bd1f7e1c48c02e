/* Encoders: networks from a row of observations to an embedding, which trunk, actor and critic (agent.h) take. Flat
 * observations need no encoder.
 *
 * Of entity observations (observe_layout.h); the embedding does not depend on the order of entities:
 *   set           every entity by a layer of its kind, then 8 heads, each summed over all entities; tanh (Kinetix)
 *   stoix_set     the same with 4 heads and no activation after the sum (Stoix)
 *   transformer   two layers of masked attention among shapes, with gates and messages from joints and thrusters
 * Of pixels (env.h, EnvPixels); the embedding is the last activations, [height][width][channels]:
 *   nature        convolutions 32 8x8/4, 64 4x4/2, 64 3x3/1, each with relu, or layer norm and relu (Mnih et al. 2015)
 *   impala        for 16, 32, 32 channels a 3x3 convolution, a pool and two residual blocks (Espeholt et al. 2018)
 *
 * Source: spec kinetix.md 6; Kinetix' actor_critic.py and transformer_model.py, Stoix' kinetix.py; CleanRL's
 * ppo_atari.py, ppo_procgen.py, pqn_atari_envpool.py. Files: encoder.c (what all have in common), encoder_set.c,
 * encoder_transformer.c; encoder_pixels.c, encoder_nature.c, encoder_impala.c; arithmetic is the ops'.
 *
 * Rows are processed in pieces of fixed size. Where pieces' activations take too much memory, a backward pass computes
 * them again, with the same bits. Results depend neither on threads nor on the number of rows of a call. */
#ifndef TRAINER_ENCODER_H
#define TRAINER_ENCODER_H
#include <stdbool.h>
#include <stdint.h>

#include "core/device/arena.h"
#include "sim/task/observe_layout.h"
#include "trainer/envs/env.h"
#include "trainer/ops/picture.h"

/* The encoders: a new one is a line here, a choice of net.encoder in config.def, and ENCODER_DESIGN_X in its file
 * (encoder_internal.h). */
#define ENCODER_KINDS(X) \
  X(SET) \
  X(STOIX_SET) \
  X(TRANSFORMER) \
  X(NATURE) \
  X(IMPALA)
#define ENCODER_KIND(name) ENCODER_##name,
typedef enum EncoderKind { ENCODER_NONE, ENCODER_KINDS(ENCODER_KIND) } EncoderKind;
#undef ENCODER_KIND
enum { ENCODER_TENSORS_MAX = 64, ENCODER_NAME = 32 };
/* Rows that go through at a time: on the host, what stays in a cache; on a device twice as many as long as its share of
 * the memory holds their activations, at most so many. */
enum { ENCODER_PIECE = 256, ENCODER_PIECE_PIXELS = 4, ENCODER_PIECE_DEVICE = 8192, ENCODER_MEMORY_SHARE = 16 };
/* Pixels: activations of all pieces are kept for the backward pass up to so many floats. Gradients are sums of so many
 * groups of pieces, for as many threads at most. */
enum { ENCODER_KEPT_FLOATS = 3 << 27, ENCODER_GROUPS = 32 };

typedef enum EncoderInit {
  ENCODER_ZEROS, ENCODER_ONES,
  ENCODER_ORTHOGONAL,        /* gain sqrt(2) */
  ENCODER_HEADS,             /* the heads' kernels as one tensor [heads * rows][columns / heads], orthogonal, sqrt(2) */
  ENCODER_LECUN,             /* LeCun normal: truncated at two standard deviations, variance 1 / rows */
  ENCODER_UNIFORM,           /* within +-1 / sqrt(rows); of a bias: its kernel's rows (PyTorch's default) */
} EncoderInit;

/* One tensor of the parameter vector, row-major. */
typedef struct EncoderTensor {
  char name[ENCODER_NAME];   /* "layer 1 gate 2 Ug" */
  int rows, columns;         /* kernels (in, out); vectors have one row */
  EncoderInit init;
  size_t offset;
  OpsConv conv;              /* of a convolution's kernel; else conv.out is 0 */
  size_t packed;             /* where its gradient is in a packed gradient (encoder_pixels.c) */
} EncoderTensor;

typedef struct EncoderShape {
  EncoderKind kind;
  int length;                /* numbers of an observation row */
  SimEntityLayout layout;    /* of an entity observation */
  OpsPixels pixels;          /* of a row of pixels */
  bool layer_norm;           /* nature: before each activation */
  int width;                 /* of the embedding: set 256, transformer 128; of pixels as their size makes it */
  int heads;
  size_t parameters, packed; /* numbers of the vector, and of a packed gradient */
  int tensors;
  EncoderTensor tensor[ENCODER_TENSORS_MAX];
} EncoderShape;

/* `name` as net.encoder has it; "none" gives ENCODER_NONE. */
EncoderKind encoder_kind(const char *name);
bool encoder_reads_pixels(EncoderKind kind);
/* kind: one that reads entities. */
EncoderShape encoder_shape(EncoderKind kind, SimEntityLayout layout);
/* kind: one that reads pixels. */
EncoderShape encoder_shape_of_pixels(EncoderKind kind, const EnvPixels *pixels, bool layer_norm);
/* CORE_USAGE: pixels that the convolutions of `kind` are too large for. */
int encoder_check_pixels(EncoderKind kind, const EnvPixels *pixels);

/* Initial parameters: a function of (seed, first_tensor) only. Tensors first_tensor .. + ENCODER_TENSORS_MAX - 1 are
 * used up. */
void encoder_initialise(const EncoderShape *shape, uint64_t seed, uint32_t first_tensor, float *theta);
/* "actor.layer 1 gate 2 Ug[3,17]" for the k-th parameter. buffer >= 64. */
const char *encoder_parameter_name(const EncoderShape *shape, const char *network, size_t k, char *buffer);

/* A convolution of an encoder of pixels, for those who look at its activations. */
typedef struct EncoderLayer {
  int tensor;                /* its kernel, whose bias is the next */
  int channels, positions;   /* positions: of a picture; 0: it has no relu of its own, and h is NULL */
  const float *h;            /* [rows][positions][channels] after the relu */
} EncoderLayer;
enum { ENCODER_LAYERS_MAX = 32 };

/* An encoder's working memory; any number of parameter vectors may use it one after the other. */
typedef struct Encoder {
  EncoderShape shape;
  int piece;                 /* rows that go through at a time */
  float *memory;             /* activations and their gradients for a piece; of pixels, activations of `kept` pieces */
  float *embedding;          /* [piece][width] computed again */
  float *part;               /* [parameters] gradient of one piece */
  float *zeros;              /* a bias for kernels without one */
  /* Of pixels: */
  int kept;                  /* pieces whose activations stay until the backward pass; of more pieces, none do */
  size_t piece_floats;       /* of a piece's activations */
  float *packed;             /* [2 * shape.packed] kernels as convolutions take them, of the last pass */
  float *sums;               /* [ENCODER_GROUPS][shape.packed] */
  float *room;               /* of a piece on its way, on a device (picture.h, each) */
} Encoder;

/* max_rows: of any later call that learns; fewer than a piece save memory. The piece follows from the arena's device
 * and its whole memory, not from what is free, so that a run's sums are the same each time. */
void encoder_register(Encoder *encoder, const EncoderShape *shape, int max_rows, CoreArena *arena);
/* What ops must be able to hold (ops_cpu_create). */
int encoder_ops_rows(const Encoder *encoder);
int encoder_ops_width(const EncoderShape *shape, bool on_device);

/* x [rows][length] -> embedding [rows][width]. */
void encoder_forward(const Encoder *encoder, Ops *ops, const float *theta, const float *x, int rows, float *embedding);
/* The convolutions of an encoder of pixels; their number, 0 where it keeps no activations for learning. piece: of the
 * last pass, of which `rows` (<= encoder.piece) are to be looked at; h is where the ops are. */
int encoder_layers(const Encoder *encoder, int piece, int rows, EncoderLayer layer[ENCODER_LAYERS_MAX]);

/* The gradient at the embedding -> gradient [parameters] (set), summed over rows in a fixed order. Comes after
 * encoder_forward of the same rows and weights, with no other pass of this encoder between them. */
void encoder_backward(const Encoder *encoder, Ops *ops, const float *theta, const float *x, int rows,
                      const float *dembedding, float *gradient);

#endif
