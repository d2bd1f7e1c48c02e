/* Encoders: networks from a row of observations to an embedding, the input of trunk, actor and critic (agent.h). Flat
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
 * Sources: Kinetix' kinetix/models/actor_critic.py (ActorCriticPermutationInvariantSymbolicRNN) and
 * transformer_model.py, Stoix' stoix/networks/specialised/kinetix.py; CleanRL's ppo_atari.py, ppo_procgen.py,
 * pqn_atari_envpool.py. Files: encoder.c (common), encoder_set.c, encoder_transformer.c; encoder_pixels.c,
 * encoder_nature.c, encoder_impala.c; arithmetic is the ops'.
 *
 * Rows are processed in chunks of fixed size. Where the chunks' activations take too much memory, a backward pass
 * recomputes them, with the same bits. Results depend neither on threads nor on the number of rows of a call. */
#ifndef TRAINER_ENCODER_H
#define TRAINER_ENCODER_H
#include <stdbool.h>
#include <stdint.h>

#include "core/device/arena.h"
#include "sim/task/observe_layout.h"
#include "trainer/envs/env.h"
#include "trainer/ops/image.h"

/* List of encoders: a new one is a line here, a choice of net.encoder in config.def, and ENCODER_DESIGN_X in its file
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
/* Rows per chunk: on the host, as many as stay in a cache; on a device the largest power of two, up to a maximum, whose
 * activations fit in its share of the memory. */
enum { ENCODER_CHUNK = 256, ENCODER_CHUNK_PIXELS = 4, ENCODER_CHUNK_DEVICE = 8192, ENCODER_MEMORY_SHARE = 16 };
/* Floats up to which the activations of all chunks are kept for the backward pass; of entities on the host only, since
 * a device's chunks are large. Gradients of pixels are summed in this many groups of chunks, hence by at most this many
 * threads. */
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
  OpsConv conv;              /* convolution of this kernel; conv.out 0: none */
  size_t packed;             /* offset of its gradient in a packed gradient (encoder_pixels.c) */
} EncoderTensor;

typedef struct EncoderShape {
  EncoderKind kind;
  int length;                /* elements of an observation row */
  SimEntityLayout layout;    /* layout of an entity observation */
  OpsPixels pixels;          /* layout of a row of pixels */
  bool layer_norm;           /* nature: before each activation */
  int width;                 /* width of the embedding: set 256, transformer 128; of pixels by their size */
  int heads;
  size_t parameters, packed; /* elements of the vector, and of a packed gradient */
  int tensors;
  EncoderTensor tensor[ENCODER_TENSORS_MAX];
} EncoderShape;

/* Returns the kind named by net.encoder; "none" gives ENCODER_NONE. */
EncoderKind encoder_kind(const char *name);
bool encoder_reads_pixels(EncoderKind kind);
/* Returns the shape of an entity encoder. */
EncoderShape encoder_shape(EncoderKind kind, SimEntityLayout layout);
/* Returns the shape of a pixel encoder. */
EncoderShape encoder_shape_of_pixels(EncoderKind kind, const EnvPixels *pixels, bool layer_norm);
/* Checks the pixels' size. CORE_USAGE: the convolutions of `kind` are too large for it. */
int encoder_check_pixels(EncoderKind kind, const EnvPixels *pixels);

/* Draws the initial parameters: a function of (seed, first_tensor) only. Uses tensor numbers first_tensor .. +
 * ENCODER_TENSORS_MAX - 1. */
void encoder_init(const EncoderShape *shape, uint64_t seed, uint32_t first_tensor, float *theta);
/* Formats the name of the k-th parameter: "actor.layer 1 gate 2 Ug[3,17]". buffer >= 64. */
const char *encoder_parameter_name(const EncoderShape *shape, const char *network, size_t k, char *buffer);

/* Convolution of a pixel encoder, for measurements of its activations. */
typedef struct EncoderLayer {
  int tensor;                /* index of its kernel, whose bias is the next */
  int channels, positions;   /* positions: per image; 0: it has no own relu, and h is NULL */
  const float *h;            /* [rows][positions][channels] after the relu */
} EncoderLayer;
enum { ENCODER_LAYERS_MAX = 32 };

/* Working memory of an encoder; any number of parameter vectors may use it one after the other. */
typedef struct Encoder {
  EncoderShape shape;
  int chunk_rows;            /* rows per chunk */
  float *memory;             /* activations of `kept` chunks; of entities, with their gradients */
  int kept;                  /* chunks whose activations stay until the backward pass; with more chunks, none do, and
                                pixels have no memory for any, entities for one */
  size_t chunk_floats;       /* floats of a chunk in memory */
  float *embedding;          /* [chunk_rows][width] recomputed */
  float *part;               /* [parameters] gradient of one chunk */
  float *zeros;              /* bias of kernels without one */
  uint16_t *rounded;         /* [parameters] of the last pass in bf16; of entities, on a device */
  /* Pixels only: */
  float *packed;             /* [2 * shape.packed] packed kernels of the last pass */
  float *sums;               /* [ENCODER_GROUPS][shape.packed] */
  float *chunk_scratch;      /* scratch of a chunk, on a device (image.h, each) */
} Encoder;

/* Registers buffers. max_rows: of any later call that learns; fewer than a chunk save memory. The chunk size depends on
 * the arena's device and its total memory, not its free memory, so that a run's sums are the same each time. */
void encoder_register(Encoder *encoder, const EncoderShape *shape, int max_rows, CoreArena *arena);
/* Return the rows and width that ops must support (ops_cpu_create). */
int encoder_ops_rows(const Encoder *encoder);
int encoder_ops_width(const EncoderShape *shape, bool on_device);

/* Computes x [rows][length] -> embedding [rows][width]; encoder_act: no encoder_backward follows, whose activations
 * need not be stored. */
void encoder_forward(const Encoder *encoder, Ops *ops, const float *theta, const float *x, int rows, float *embedding);
void encoder_act(const Encoder *encoder, Ops *ops, const float *theta, const float *x, int rows, float *embedding);
/* Lists the convolutions of a pixel encoder and returns their number, 0 where it keeps no activations for learning.
 * chunk: index of a chunk of the last pass, of which `rows` (<= encoder.chunk_rows) are examined; h is in the ops'
 * memory. */
int encoder_layers(const Encoder *encoder, int chunk, int rows, EncoderLayer layer[ENCODER_LAYERS_MAX]);

/* Computes the gradient from that at the embedding -> gradient [parameters] (set), summed over rows in a fixed order.
 * Must follow encoder_forward of the same rows and weights, which set `embedding`, with no other pass of this encoder
 * between them. Activations that were not kept are computed again. */
void encoder_backward(const Encoder *encoder, Ops *ops, const float *theta, const float *x, int rows,
                      const float *embedding, const float *dembedding, float *gradient);

#endif
