/* Arithmetic of entity encoders (encoder.h): a sub-table of Ops. Each row of the observation is computed independently,
 * so results do not depend on how rows are divided. Matrix products, layer norm and sums over rows are in Ops.
 *
 * An entity matrix is [rows][entities][width]. Observations are rows in the layout of sim/task/observe_layout.h; masks,
 * indices and relations are read there, at the given offset in a row. Rows of entities whose mask is 0 are set to 0 and
 * pass no gradient on. */
#ifndef TRAINER_OPS_ENTITY_H
#define TRAINER_OPS_ENTITY_H
#include "trainer/ops/ops.h"

/* Observation rows. */
typedef struct OpsRows { const float *x; int rows, stride; } OpsRows;

/* Placement of one kind of entity, a dense matrix [rows][count][width], in an entity matrix. */
typedef struct OpsPack {
  int mask;               /* offset in an observation row: [count] */
  int count, width;
  int first, entities;    /* index of the kind's first entity in the matrix; entities of the matrix */
  int columns;            /* columns of the matrix; those after `width` are 0 ... */
  int tag;                /* ... except this one, which is 1; -1: none */
} OpsPack;

/* Attention among shapes. Entity 0 is the dummy; entity 1 + k is shape k. Each head has one relation: head h attends to
 * pairs with bit h * kinds / heads. The dummy attends to all, and all to it. */
typedef struct OpsAttention {
  int relations;          /* offset in an observation row: [entities - 1][entities - 1] of bits */
  int mask;               /* offset in an observation row: [entities - 1] */
  int kinds;              /* number of relations (bits) */
  int entities, heads, size; /* size: elements of a head's query; entities <= OPS_ENTITIES_MAX */
} OpsAttention;
enum { OPS_ENTITIES_MAX = 32 };

/* Messages from joints or thrusters to shapes. Each of `count` senders has a mask and the indices of `ends` shapes; its
 * message goes to the first of them. */
typedef struct OpsMessage {
  int mask, shapes;       /* offsets in an observation row: [count], [count][ends] */
  int count, ends;        /* ends: 1 or 2 */
  int entities, width;    /* entities of the shapes' matrix (shape k is entity 1 + k); width of an embedding */
} OpsMessage;

/* Dense layer between matrices of entities; result_is_float: y, backward dx, is not one. */
typedef struct OpsEntityDense {
  const float *x, *b;          /* b NULL: none */
  const uint16_t *w;           /* kernel by OpsEntity.round, and then the bias */
  float *y;                    /* backward: NULL with OPS_LINEAR */
  int in, out;
  bool result_is_float;
} OpsEntityDense;

/* Gradient of a dense layer's kernel: dw[in][out] = the sum over rows of x' dz, both rounded to bf16, with x [rows][in]
 * and dz [rows][out], the gradient before the layer's activation. Rows of bf16 start at multiples of 16 bytes. Inputs
 * of bf16 may be derived from x: by a layer norm, or as products with another matrix. */
typedef struct OpsWeightProduct {
  const void *x, *dz;
  const float *moments, *gain; /* [rows][2] mean and inverse of x, of an even number of rows in memory; the norm's gain,
                                * its offset follows; NULL: none */
  const uint16_t *times;       /* [rows][row_x] matrix whose absolute values multiply x; NULL: none */
  float *dw, *db;              /* db: column sums of dz; NULL: none */
  uint32_t rows, in, out;
  uint32_t row_x, row_dz;      /* elements from one row to the next */
  uint32_t place;              /* set by the device: of its sums among those of all products */
  bool dz_is_float;            /* otherwise bf16 */
} OpsWeightProduct;

/* Transformer over shapes (trainer/nets/encoder_transformer.c), where its forward pass leaves what the backward pass
 * reads, and where that leaves the gradients dz of layers z = x W, from which x' dz, the kernels' gradients, follow.
 * N = rows * entities; matrices are [N][OPS_TRANSFORMER_WIDTH] unless stated otherwise. Offsets of kernels are elements
 * of theta and of its rounding. What follows from others by a few operations an element, `normalized`, `inverse`, y and
 * rx, only the separate functions store. */
enum { OPS_TRANSFORMER_WIDTH = 128, OPS_TRANSFORMER_HEADS = 8, OPS_TRANSFORMER_LAYERS = 2,
       OPS_TRANSFORMER_KINDS = 4, OPS_TRANSFORMER_SHAPES = 2, /* kinds of entities: two of shapes, joints, thrusters */
       OPS_TRANSFORMER_FEATURES = 32 /* maximum features of an entity */ };
typedef struct OpsTransformerNorm {
  float *normalized, *inverse, *y; /* inverse [N] */
  size_t gain;                /* the offset follows */
  float *moments;             /* [N][2] mean and inverse of the norm's inputs */
} OpsTransformerNorm;
typedef struct OpsTransformerGate {
  float *r, *z, *rx, *h, *out; /* r: with the sign bit where y is positive, unless separate functions store it */
  size_t w;                   /* Wr Wz Wg; Ur Uz, Ug and the bias follow */
  float *da;                  /* gradients before r, z and h [N][3 width] */
} OpsTransformerGate;
typedef struct OpsTransformerLayer {
  OpsTransformerNorm norm_1, norm_2;
  float *qkv, *attended;      /* [N][3 * heads * size], [N][heads * size] */
  float *out, *dense;         /* after relu */
  OpsTransformerGate gate_1, gate_2; /* gate_2.out, with the messages added, is the next layer's input */
  float *gathered[2];         /* joints' [rows][2 J][3 width], thrusters' [rows][T][2 width] */
  size_t qkv_w, out_w, dense_w, message[2]; /* a bias follows each */
  float *dqkv, *dout, *ddense; /* [N][3 * heads * size]; before relu */
  float *dmessages[2];        /* [rows][2 J or T][width] */
} OpsTransformerLayer;
typedef struct OpsTransformerKind {
  OpsPack pack;               /* width: of an embedding */
  int offset, features;       /* offset in an observation row: [count][features] */
  bool is_shape;
  float *copied, *embedded;   /* features: bf16 [rows][count][OPS_TRANSFORMER_FEATURES], with zeros; embeddings: floats
                               * [rows][count][width] */
  size_t w;                   /* its bias follows */
  float *dembedded;           /* gradients before tanh: bf16 [rows][count][OPS_TRANSFORMER_WIDTH] */
} OpsTransformerKind;
typedef struct OpsTransformer {
  OpsAttention attention;
  OpsMessage message[2];      /* joints', thrusters' */
  OpsTransformerKind kind[OPS_TRANSFORMER_KINDS];
  OpsTransformerLayer layer[OPS_TRANSFORMER_LAYERS];
  int kinds, layers;
  float *shapes, *weights;    /* input of the first layer; weights of the mean [N] */
  const float *theta;
  const uint16_t *rounded;
  float epsilon;              /* layer norms' */
  bool is_learning;           /* whether the backward pass follows */
} OpsTransformer;

typedef struct OpsEntity OpsEntity;
struct OpsEntity {
  /* Copies columns offset .. offset + columns - 1 of the observation -> target [rows][columns]. */
  void (*slice)(Ops *ops, OpsRows x, int offset, int columns, float *target);
  /* Copies one kind's embedding [rows][count][width] -> its rows of matrix [rows][entities][columns]; unpack is the
   * gradient. */
  void (*pack)(Ops *ops, OpsRows x, const OpsPack *pack, const float *embedding, float *matrix);
  void (*unpack)(Ops *ops, OpsRows x, const OpsPack *pack, const float *dmatrix, float *dembedding);
  /* Sets entity 0 of matrix [rows][entities][columns] to ones. */
  void (*dummy)(Ops *ops, int rows, int entities, int columns, float *matrix);

  /* out[rows][columns] = activation(sum of weight * matrix over entities); weights [rows][entities], NULL: ones.
   * Activation: OPS_LINEAR or OPS_TANH. */
  void (*pool)(Ops *ops, const float *matrix, const float *weights, int rows, int entities, int columns,
               OpsActivation activation, float *out);
  void (*pool_backward)(Ops *ops, const float *out, const float *dout, const float *weights, int rows, int entities,
                        int columns, OpsActivation activation, float *dmatrix);
  /* Computes the weights of a mean over the dummy and the entities whose mask (offset, count) is not 0: [rows][1 +
   * count]. */
  void (*mean_weights)(Ops *ops, OpsRows x, int mask, int count, float *weights);

  /* qkv [rows][entities][3][heads][size] -> out [rows][entities][heads][size]: softmax over the allowed entities of q.k
   * / sqrt(size), times v. On a device, size is 2. */
  void (*attend)(Ops *ops, OpsRows x, const OpsAttention *attention, const float *qkv, float *out);
  void (*attend_backward)(Ops *ops, OpsRows x, const OpsAttention *attention, const float *qkv, const float *dout,
                          float *dqkv);

  /* Gate (GTrXL): with a = y [Wr Wz Wg] and u = x [Ur Uz], r = sigmoid(a_r + u_r), z = sigmoid(a_z + u_z - bias), h =
   * tanh(a_g + (r x) Ug), out = (1 - z) x + z h. gate_open computes r, z and r x, gate_close h and out; all
   * [rows][width] but a [rows][3][width], u [rows][2][width]. Backward, gate_close sets dug, da's third part, the z
   * parts' gradient before the sigmoid in da and du, and dx; gate_open then adds to dx and sets the r parts. */
  void (*gate_open)(Ops *ops, const float *a, const float *u, const float *bias, const float *x, int rows, int width,
                    float *r, float *z, float *rx);
  void (*gate_close)(Ops *ops, const float *a, const float *ug, const float *z, const float *x, int rows, int width,
                     float *h, float *out);
  void (*gate_close_backward)(Ops *ops, const float *dout, const float *z, const float *h, const float *x, int rows,
                              int width, float *dug, float *da, float *du, float *dx);
  void (*gate_open_backward)(Ops *ops, const float *drx, const float *r, const float *x, int rows, int width, float *da,
                             float *du, float *dx);

  /* Concatenates the embeddings of a sender's shapes and its own: [rows][count][ends * width + width]. */
  void (*gather)(Ops *ops, OpsRows x, const OpsMessage *message, const float *shapes, const float *embedding,
                 float *gathered);
  /* Adds the gradient of gather to dshapes and to dembedding [rows][count][width]. */
  void (*gather_backward)(Ops *ops, OpsRows x, const OpsMessage *message, const float *dgathered, float *dshapes,
                          float *dembedding);
  /* Adds each message [rows][count][width] to its shape; scatter_backward is the gradient at the messages. */
  void (*scatter)(Ops *ops, OpsRows x, const OpsMessage *message, const float *messages, float *shapes);
  void (*scatter_backward)(Ops *ops, OpsRows x, const OpsMessage *message, const float *dshapes, float *dmessages);

  /* Ops.norm_forward and norm_backward without an activation, in fewer passes over memory: x is not overwritten, and
   * `more` and then the gradient at x are added to dx. Both are NULL where separate calls are as fast. */
  void (*norm)(Ops *ops, const float *x, float *n, float *inverse, const float *gain, const float *offset, float *y,
               int rows, int columns, double epsilon);
  void (*norm_add_gradient)(Ops *ops, const float *n, const float *inverse, const float *gain, float *dy,
                            const float *more, float *dx, float *dgain, float *doffset, int rows, int columns);
  /* gate_close_backward that also computes the gradient of the gate's bias. NULL: the bias's is computed from du's. */
  void (*gate_close_bias_backward)(Ops *ops, const float *dout, const float *z, const float *h, const float *x,
                                   int rows, int width, float *dug, float *da, float *du, float *dx, float *dbias);
  /* Completes the gradients of parameters, which may be in parts until then. NULL: they are complete. */
  void (*finish)(Ops *ops);

  /* Ops.dense_forward and dense_backward where matrices of entities are bf16 in memory, in the room of floats:
   * arguments of all functions above except observations, embeddings of a kind, out and dout of pool, qkv and dout of
   * attend. round: rounds an encoder's parameters [n] to bf16, before its layers. NULL: matrices are floats. */
  void (*round)(Ops *ops, const float *theta, size_t n, uint16_t *rounded);
  void (*dense_forward)(Ops *ops, const OpsEntityDense *layer, int rows, OpsActivation activation);
  void (*dense_backward)(Ops *ops, const OpsEntityDense *layer, int rows, OpsActivation activation, float *dy,
                         float *dx, float *dw, float *db);

  /* Computes the forward pass of a transformer -> embedding [rows][OPS_TRANSFORMER_WIDTH] in one launch; is_learning:
   * with all that its backward pass reads. Returns false where it does not support the shapes or the device, having
   * done nothing. NULL: nowhere. */
  bool (*transform)(Ops *ops, OpsRows x, const OpsTransformer *transformer, float *embedding);
  /* Computes its backward pass: the gradients in `transformer`, and those of all parameters in gradient[] (complete
   * after `finish`). Supports what `transform` does. */
  bool (*transform_backward)(Ops *ops, OpsRows x, const OpsTransformer *transformer, const float *dembedding,
                             float *gradient);
};

#endif
