/* Shared declarations of the device's ops: their state, launching, and the entries of the table. Callers' buffers are
 * in device memory, except those marked as host memory; results by value or in structs are in host memory. */
#ifndef TRAINER_OPS_DEVICE_INTERNAL_H
#define TRAINER_OPS_DEVICE_INTERNAL_H
#include "core/device/arena.h"
#include "trainer/ops/entity.h"
#include "trainer/ops/image.h"
#include "trainer/ops/kernels/kernels_measure.h"
#include "trainer/ops/kernels/kernels.h"
#include "trainer/ops/kernels/kernels_bf16.h"
#include "trainer/ops/kernels/kernels_mlp.h"
#include "trainer/ops/kernels/kernels_policy.h"
#include "trainer/ops/kernels/kernels_rows.h"
#include "trainer/ops/kernels/kernels_tile.h"
#include "trainer/ops/kernels/kernels_update.h"
#include "trainer/ops/kernels/kernels_weights.h"

enum { DEVICE_THREADS = 256, DEVICE_BLOCKS_MAX = 1 << 20 };

/* Returns an address, to be ORed with others. */
static inline uintptr_t device_address(const void *x) { return (uintptr_t)x; }
/* Returns the elements per thread: `most`, which are 16 bytes, where rows of `columns` and the addresses (ORed) are
 * multiples of them, else 1. */
static inline int device_step(int most, size_t columns, uintptr_t addresses) {
  return columns % (size_t)most == 0 && addresses % sizeof(OpsEight) == 0 ? most : 1;
}

enum { DEVICE_WORKSPACE_BYTES = 32 << 20 }; /* library workspace: cuBLASLt's recommendation on sm_90 */

/* Product: an OpsProduct, row-major c[m][n] = op(a) op(b). */
typedef struct DeviceProduct {
  int transpose_a, transpose_b;
  size_t m, n, k;
  const void *a, *b;
  void *c;
  size_t row_a;                 /* 0: rows of a are contiguous */
  OpsNumbers factors, result;
  OpsEpilogue epilogue;
  void *bias;                   /* [n] of the result's type; OPS_PRODUCT_MASKED sets it */
  uint32_t *mask;
} DeviceProduct;

/* Library of matrix products (cuda_library.c). NULL where cuBLASLt cannot be opened or initialized; *reason (>= 256
 * bytes) then says why. */
typedef struct DeviceLibrary DeviceLibrary;
DeviceLibrary *device_library_open(CoreDevice *device, OpsPrecision precision, char *reason);
void device_library_close(DeviceLibrary **library);
/* Whether the library has an algorithm for the product and its epilogue; of pointers only alignments count. */
int device_library_takes(DeviceLibrary *library, const DeviceProduct *product);
/* Computes the product if the library supports it; returns 0 otherwise, having done nothing. workspace:
 * DEVICE_WORKSPACE_BYTES, for products of one stream. */
int device_library_multiply(DeviceLibrary *library, const DeviceProduct *product, void *workspace);

/* Buffers of a chain's bf16 values; with OPS_BF16 only. */
typedef struct DeviceRounded {
  uint16_t *x;                /* [max_rows][max_width], padded: a chain's input */
  uint16_t *theta;            /* [DEVICE_ROUNDED_LAYERS][max_width + 1][max_width]: weights and biases */
  const float *whole;         /* address from which the parameters of all layers were rounded in the last pass; NULL:
                               * none */
  uint16_t *db;               /* [DEVICE_ROUNDED_LAYERS][max_width]: biases' gradients, not yet converted to float */
  uint16_t *gathered;         /* input rows gathered by gather_inputs, */
  const float *target;        /* and the address by which chains refer to them; NULL: none so far */
} DeviceRounded;
enum { DEVICE_ROUNDED_LAYERS = 4 };
/* Returns the elements from one bf16 row to the next, so that each starts at a multiple of 16 bytes. */
static inline size_t device_rounded_row(size_t columns) { return (columns + 7) / 8 * 8; }

/* A fused pass whose launch waits for its loss and its backward pass (ops.h, expect_loss). */
typedef struct DevicePending {
  enum { DEVICE_NOTHING, DEVICE_PASS, DEVICE_PASS_AND_LOSS } are_there;
  bool is_expected;           /* the next chain's pass waits */
  OpsMlpLearn learn;          /* without the loss's sums, which are scratch */
} DevicePending;

/* State of a stream of operations: the default one, or the actor's (ops.h, stream_push), which share library and
 * statistics. */
typedef struct DeviceState {
  CoreDevice *device;
  struct DeviceState *other;  /* the other stream's; NULL: there is none */
  CoreArena *arena;           /* arena of both streams */
  OpsPrecision precision;     /* precision of products */
  DeviceLibrary *library;     /* NULL: ops_product */
  char *workspace;            /* [DEVICE_WORKSPACE_BYTES] the library's; NULL without one */
  int max_rows, max_width;
  float *column_parts;        /* [column_parts_capacity] column sums of parts of rows, used so far: */
  size_t column_parts_capacity, column_parts_used;
  float *product;             /* [max_rows][max_width], for SILU */
  int refuses;                /* not 0: products have no fused epilogue, for tests */
  bool tiles;                 /* whether ops_tile_gradient may be used */
  DevicePending pending;
  bool fused;                 /* whether fused passes may be used (kernels_mlp.h, kernels_fused_encoder.h) */
  DeviceRounded rounded;
  double *row_parts;          /* [row_parts_capacity] sums of parts of KERNEL_ROWS rows */
  size_t row_parts_capacity, row_parts_used;
  OpsFolds folds;             /* pending folds of both */
  double *sums;               /* results for the host */
  Moments *records;
  OpsSpread *spread;
  uint64_t *first;
  OpsUpdateStats *stats;      /* open statistics on the device; NULL: none */
  const uint32_t *count;      /* row count of the current micro-batch, on the device; NULL: all rows count */
} DeviceState;

static inline DeviceState *device_state(Ops *ops) { return (DeviceState *)ops->state; }

/* Launches a kernel over n elements, one thread each (or strided). */
#define DEVICE_LAUNCH(state, kernel, elements, ...) \
  (state)->device->launch((state)->device, &kernel##_launch, \
                          core_device_blocks((elements), DEVICE_THREADS, DEVICE_BLOCKS_MAX), DEVICE_THREADS, \
                          DEVICE_THREADS * sizeof(float), __VA_ARGS__)

/* device_sums.c. Reserves scratch for a kernel's sums of parts of rows, which a fold must follow; if the scratch is
 * full, pending folds run first. */
size_t device_column_parts(size_t rows);
float *device_alloc_parts(DeviceState *state, size_t n);
float *device_alloc_column_parts(DeviceState *state, size_t rows, size_t columns); /* [device_column_parts][columns] */
size_t device_row_parts(int rows);
double *device_alloc_row_parts(DeviceState *state, int rows, size_t each);         /* [device_row_parts][each] */
/* Runs pending folds, before the host or a kernel reads sums. */
void device_fold_now(DeviceState *state);
void device_fold_later(DeviceState *state, OpsFold fold);
/* Schedules the fold of column sums of parts [device_column_parts][columns], rounded to result[columns]. */
void device_fold_columns(DeviceState *state, const float *parts, size_t rows, size_t columns, float *result);
/* Launches a kernel of KERNEL_ROWS threads per block over the rows, which leaves KERNEL_SUMS sums per block in parts
 * (of device_alloc_row_parts), and copies the totals to the host; sums NULL: schedules their fold into this slot of the
 * open statistics. */
void device_sum_rows(DeviceState *state, const CoreKernel *kernel, int rows, const void *arguments, const double *parts,
                     double sums[KERNEL_SUMS], int slot);
/* Schedules the fold of `count` parts to a slot of the open statistics, or to scratch for `sums`. Returns its place. */
double *device_fold_sums(DeviceState *state, const double *parts, size_t count, const double *sums, int slot);
/* Likewise, with this much shared memory per block. */
void device_sum_staged_rows(DeviceState *state, const CoreKernel *kernel, int rows, size_t shared,
                            const void *arguments, const double *parts, double sums[KERNEL_SUMS], int slot);
/* Division of a vector for sums, the same as on the CPU. */
typedef struct DeviceParts { size_t size; unsigned count; } DeviceParts;
DeviceParts device_parts(size_t n);

extern const OpsEntity DEVICE_ENTITY, DEVICE_ENTITY_BF16; /* device_entity.c */
extern const OpsImage DEVICE_IMAGE; /* device_image.c */
extern const struct OpsRecurrent DEVICE_RECURRENT; /* device_lstm.c */

/* device_dense.c */
/* Computes the product with its epilogue. Returns 0 if the epilogue is not supported, having done nothing. Without an
 * epilogue it always succeeds. */
int device_multiply(DeviceState *state, const DeviceProduct *product);
/* Computes the product without an epilogue; c is complete only after device_fold_now, since it may be pending as sums
 * of parts. */
void device_multiply_later(DeviceState *state, const DeviceProduct *product);
/* Whether device_multiply supports the product. */
int device_can_multiply(DeviceState *state, const DeviceProduct *product);
void device_activate(DeviceState *state, OpsActivation activation, float *y, const float *bias, int rows, int columns);
void device_dense_forward(Ops *ops, const float *x, const float *w, const float *b, float *y, int rows, int in, int out,
                          OpsActivation activation);
void device_dense_backward(Ops *ops, const float *x, const float *w, const float *b, const float *y, float *dy,
                           float *dx, float *dw, float *db, int rows, int in, int out, OpsActivation activation);
void device_norm_forward(Ops *ops, float *z, float *inverse, const float *gain, const float *offset, float *y, int rows,
                         int columns, double epsilon, OpsActivation activation);
void device_norm_backward(Ops *ops, const float *n, const float *inverse, const float *gain, const float *offset,
                          const float *y, float *dy, float *dgain, float *doffset, int rows, int columns,
                          OpsActivation activation);
/* device_entity_dense.c: OpsEntity.round, dense_forward, dense_backward, norm, norm_add_gradient,
 * gate_close_bias_backward and finish. */
void device_entity_norm(Ops *ops, const float *x, float *n, float *inverse, const float *gain, const float *offset,
                        float *y, int rows, int columns, double epsilon);
void device_entity_norm_backward(Ops *ops, const float *n, const float *inverse, const float *gain, float *dy,
                                 const float *more, float *dx, float *dgain, float *doffset, int rows, int columns);
void device_entity_gate_backward(Ops *ops, const float *dout, const float *z, const float *h, const float *x, int rows,
                                 int width, float *dug, float *da, float *du, float *dx, float *dbias);
void device_entity_finish(Ops *ops);
void device_entity_round(Ops *ops, const float *theta, size_t n, uint16_t *rounded);
void device_entity_forward(Ops *ops, const OpsEntityDense *layer, int rows, OpsActivation activation);
void device_entity_backward(Ops *ops, const OpsEntityDense *layer, int rows, OpsActivation activation, float *dy,
                            float *dx, float *dw, float *db);
/* device_fused_encoder.c: OpsEntity.transform and transform_backward */
bool device_transform(Ops *ops, OpsRows x, const OpsTransformer *transformer, float *embedding);
bool device_transform_backward(Ops *ops, OpsRows x, const OpsTransformer *transformer, const float *dembedding,
                               float *gradient);
/* Turns dy into the gradient before the activation; its column sums go to db. */
void device_undo_activation(DeviceState *state, OpsActivation activation, const float *y, const float *bias, float *dy,
                            float *db, int rows, int columns);
/* OpsEntity.norm and norm_add_gradient of float matrices. */
void device_norm(Ops *ops, const float *x, float *n, float *inverse, const float *gain, const float *offset, float *y,
                 int rows, int columns, double epsilon);
void device_norm_add_gradient(Ops *ops, const float *n, const float *inverse, const float *gain, float *dy,
                              const float *more, float *dx, float *dgain, float *doffset, int rows, int columns);
/* device_chain.c: of OPS_BF16 */
void device_chain_forward(Ops *ops, const float *x, const OpsLayer *layers, int count, int rows);
void device_chain_backward(Ops *ops, const float *x, const OpsLayer *layers, int count, float *dy, float *dx,
                           float *scratch, int rows, const OpsWatch *watch);
void device_gather_inputs(Ops *ops, const float *source, const uint32_t *index, float *target, int rows, int columns);
/* device_mlp.c: chains whose layers run in one launch */
/* Chain of layers with its inputs and parameters in bf16, rows of x device_rounded_row(in) apart. */
typedef struct DeviceMlp {
  DeviceState *state;
  const OpsLayer *layers;
  int count, rows;
  const uint16_t *x, *theta;  /* theta: of all layers, in the order of `layers` */
} DeviceMlp;
/* Whether the device fuses these layers, whose parameters are contiguous: the rule of the fused path. */
bool device_mlp_takes(const DeviceState *state, const OpsLayer *layers, int count);
/* Runs the forward pass, or postpones it if a loss is expected. */
void device_mlp_forward(const DeviceMlp *mlp);
void device_expect_loss(Ops *ops);
/* Postpones a loss (the other is NULL) until the backward pass of the chain with these outputs. Returns false, having
 * run a postponed pass, if there is none, or if the sums are wanted at once. */
bool device_mlp_postpones(DeviceState *state, const float *outputs, const void *sums, const OpsPolicyLoss *policy,
                          const OpsValueLoss *value);
/* Runs what is postponed, for a backward pass that is not fused. */
void device_mlp_flush(DeviceState *state);
/* Sets the gradients of the layers from dy. Returns the gradient before the first layer's activation, as bf16 in
 * scratch; NULL: there is one narrow layer, which has none. scratch: as chain_backward's. */
const uint16_t *device_mlp_backward(const DeviceMlp *mlp, const float *dy, float *scratch);
/* device_weights.c. Computes the products, at most OPS_WEIGHTS_PRODUCTS, in one launch and a fold. */
void device_weights(DeviceState *state, const OpsWeightProduct *products, int count);
/* Returns the sums of a slab that the largest fused pass needs: a chain's, or with max_width of its widest kernel the
 * transformer's. */
size_t device_weights_parts_max(int max_width);
/* device_rows.c */
void device_unit_sums(Ops *ops, const void *h, bool is_bf16, int rows, int columns, Moments *moments,
                      double *magnitude);
void device_gram(Ops *ops, const void *h, bool is_bf16, int rows, int columns, double *gram);
void device_permute(Ops *ops, uint64_t seed, uint32_t purpose, uint32_t a, uint32_t b, uint32_t *order, uint32_t n,
                    uint32_t *scratch);
void device_world_rows(Ops *ops, const uint32_t *world, int count, int steps, int worlds, uint32_t *rows);
void device_gather_rows(Ops *ops, const float *source, const uint32_t *index, float *target, int rows, int columns);
void device_gather_bytes(Ops *ops, const void *source, const uint32_t *index, void *target, int rows, size_t bytes);
void device_gather_fields(Ops *ops, const OpsField *field, int fields, const uint32_t *index, int rows);
void device_gather_halves(Ops *ops, const uint16_t *source, const uint32_t *index, float *target, int rows,
                          int columns);
void device_store_halves(Ops *ops, const float *x, size_t n, uint16_t *halves);
/* device_policy.c */
void device_policy_sample(Ops *ops, const OpsHead *head, const float *logits, int rows, uint64_t seed, uint32_t purpose,
                          uint32_t first_world, uint32_t step, void *actions, float *logp);
void device_policy_sample_at(Ops *ops, const OpsHead *head, const float *logits, int rows, uint64_t seed,
                             uint32_t purpose, uint32_t first_world, const OpsClock *clock, uint32_t step,
                             void *actions, float *logp);
void device_policy_logp(Ops *ops, const OpsHead *head, const float *logits, const void *actions, float *logp, int rows);
void device_policy_kl(Ops *ops, const OpsHead *head, const float *p, const float *q, int rows, double *kl,
                      double *kl_reverse);
void device_policy_loss(Ops *ops, const OpsHead *head, const float *logits, const void *actions,
                        const float *logp_behavior, const float *logp_proximal, const float *advantage, int rows,
                        double epsilon, double entropy_coef, float *dlogits, OpsPolicySums *sums);
void device_policy_sampled_entropy(Ops *ops, const OpsHead *head, const float *logits, const float *noise, int rows,
                                   double entropy_coef, float *dlogits, double *sum);
void device_controller_kl(Ops *ops, const OpsHead *head, const float *logits, const uint32_t *index, int rows,
                          float *reference, double *sum);
void device_cap(Ops *ops, const float *behavior, const float *logp, double log_cap, size_t n, float *capped);
void device_kl_penalty(Ops *ops, const float *logp, const float *ref_logp, double weight, int rows,
                       float *kl_penalty_weights, double *sum);
void device_exact_kl_penalty(Ops *ops, const OpsHead *head, const float *logits, const float *ref_logits, int rows,
                             double weight, float *dlogits, double *sum);
void device_normal_rows(Ops *ops, uint64_t seed, uint32_t purpose, const uint32_t *index, uint32_t step, int rows,
                        int columns, float *noise);
void device_gaussian_join(Ops *ops, const float *mean, const float *log_sigma, const int32_t *set, int rows,
                          int factors, float *logits);
void device_gaussian_split(Ops *ops, const float *dlogits, const int32_t *set, int rows, int factors, int sets,
                           float *dmean, float *dlog_sigma);
void device_gaussian_regularize(Ops *ops, const OpsHead *head, const float *logits, const int32_t *set,
                                const float *entropy_coef, double bound, double bounds_coef, int rows, float *dlogits,
                                OpsGaussianSums *sums);
void device_embed_forward(Ops *ops, const float *x, const float *embedding, int rows, int features, int width,
                          float *joined, int32_t *set);
void device_embed_backward(Ops *ops, const float *djoined, const int32_t *set, int rows, int features, int width,
                           int sets, float *dembedding);
void device_value_loss(Ops *ops, const float *value, const float *old_value, const float *target, int rows, int clip,
                       double epsilon, double value_coef, float *dvalue, OpsValueSums *sums);
void device_q_policy(Ops *ops, float *q, int rows, int columns, double epsilon);
void device_q_values(Ops *ops, const float *q, int rows, int columns, float *values);
void device_q_loss(Ops *ops, const float *q, const uint8_t *actions, const float *target, int rows, int columns,
                   float *dq, OpsValueSums *sums);

/* device_update.c */
extern const OpsUpdate device_update;

#endif
