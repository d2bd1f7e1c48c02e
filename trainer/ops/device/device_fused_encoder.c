/* Fused passes of a transformer over shapes (kernels_fused_encoder.h, kernels_fused_backward.h), and the rule that
 * chooses them. */
#include "trainer/ops/device/device_internal.h"
#include "trainer/ops/kernels/kernels_fused_backward.h"

/* Whether all matrices and kernels of a layer start at multiples of 16 bytes. */
static bool is_aligned(const OpsTransformer *t) {
  uintptr_t addresses = device_address(t->theta) | device_address(t->rounded) | device_address(t->shapes);
  for (int k = 0; k < t->kinds; k++)
    addresses |= device_address(t->kind[k].copied) | device_address(t->kind[k].dembedded);
  size_t offsets = 0;
  for (int l = 0; l < t->layers; l++) {
    const OpsTransformerLayer *layer = &t->layer[l];
    addresses |= device_address(layer->norm_1.moments) | device_address(layer->qkv) | device_address(layer->attended) |
                 device_address(layer->gate_1.r) | device_address(layer->gate_2.r) | device_address(layer->gathered[0]);
    addresses |= device_address(layer->gate_1.da) | device_address(layer->gate_2.da) | device_address(layer->dqkv) |
                 device_address(layer->ddense) | device_address(layer->dout) | device_address(layer->dmessages[0]) |
                 device_address(layer->dmessages[1]);
    offsets |= layer->norm_1.gain | layer->norm_2.gain | layer->qkv_w | layer->out_w | layer->dense_w |
               layer->gate_1.w | layer->gate_2.w | layer->message[0] | layer->message[1];
  }
  return addresses % sizeof(OpsEight) == 0 && offsets % KERNEL_EIGHT == 0;
}

/* The rule, for both passes: bf16 (the caller's table), worlds whose entities include room for all that they send, and
 * enough shared memory for the backward pass, which needs more. TRAINER_FUSED=off: never. */
static bool takes(const DeviceState *state, const OpsTransformer *t) {
  const OpsAttention *a = &t->attention;
  if (!state->fused || OPS_ENCODER_BACKWARD_SHARED > state->device->shared_bytes || !is_aligned(t)) return false;
  if (a->entities > OPS_ENTITIES_MAX || a->heads != OPS_TRANSFORMER_HEADS || a->size != KERNEL_HEAD_SIZE) return false;
  for (int k = 0; k < t->kinds; k++)
    if (t->kind[k].features > OPS_TRANSFORMER_FEATURES || t->kind[k].pack.count > a->entities) return false;
  return t->message[0].count + t->message[1].count <= a->entities;
}

/* Return the multiply-adds per world of the layers, in each pass, and of the forward pass with its embeddings. */
static double layer_products_of(const OpsTransformer *t) {
  const double width = OPS_TRANSFORMER_WIDTH, attended = OPS_ENCODER_ATTENDED;
  double messages = 0;
  for (int s = 0; s < 2; s++) messages += t->message[s].count * (t->message[s].ends + 1) * width * width;
  return t->layers * (messages + t->attention.entities * (4 * attended + 13 * width) * width);
}
static double products_of(const OpsTransformer *t) {
  double embedding = 0;
  for (int k = 0; k < t->kinds; k++) embedding += t->kind[k].pack.count * t->kind[k].features * t->kind[k].pack.width;
  return embedding + layer_products_of(t);
}

/* Builds the arguments of both passes. */
static OpsEncode arguments_of(OpsRows x, const OpsTransformer *t) {
  const uint32_t worlds = OPS_ENCODER_ROWS / (uint32_t)t->attention.entities; /* a tile's */
  OpsEncode a = {.t = *t, .worlds = worlds, .tiles = ((uint32_t)x.rows + worlds - 1) / worlds,
                 .attend = {.x = x, .attention = t->attention, .heads = core_divisor_32((size_t)t->attention.heads),
                            .entities = core_divisor_32((size_t)t->attention.entities), .numbers = OPS_NUMBERS_BF16}};
  for (int k = 0; k < t->kinds; k++) a.count[k] = core_divisor_32((size_t)t->kind[k].pack.count);
  return a;
}

static void launch(DeviceState *state, const CoreKernel *kernel, size_t shared, const OpsEncode *a) {
  const unsigned blocks = core_device_blocks(a->tiles, 1, state->device->processors);
  state->device->launch(state->device, kernel, blocks, OPS_ENCODER_THREADS, shared, a);
}

bool device_transform(Ops *ops, OpsRows x, const OpsTransformer *t, float *embedding) {
  DeviceState *state = device_state(ops);
  if (!takes(state, t)) return false;

  OpsEncode a = arguments_of(x, t);
  a.embedding = embedding;
  launch(state, &ops_encoder_launch, OPS_ENCODER_SHARED, &a);
  ops->flops += 2 * x.rows * products_of(t);
  return true;
}

/* Schedules the folds of a layer's sums, which the kernel leaves one kind after the other. */
static void fold_layer(DeviceState *state, const OpsTransformerLayer *layer, const OpsEncode *a, const float *sums,
                       float *gradient) {
  enum { W = OPS_ENCODER_WIDTH, SQUARE = OPS_ENCODER_SQUARE };
  const struct { size_t begin, columns, place; } sum[OPS_ENCODER_SUM_KINDS] = {
    {OPS_ENCODER_SUM_NORM_1, 2 * W, layer->norm_1.gain},
    {OPS_ENCODER_SUM_NORM_2, 2 * W, layer->norm_2.gain},
    {OPS_ENCODER_SUM_GATE_1, W, layer->gate_1.w + 6 * SQUARE},
    {OPS_ENCODER_SUM_GATE_2, W, layer->gate_2.w + 6 * SQUARE},
  };
  for (int k = 0; k < OPS_ENCODER_SUM_KINDS; k++)
    device_fold_later(state, (OpsFold){.parts = sums + sum[k].begin * a->tiles, .count = a->tiles,
                                       .columns = sum[k].columns, .result = gradient + sum[k].place});
}

/* A list of products. */
typedef struct Products { OpsWeightProduct product[OPS_WEIGHTS_PRODUCTS]; int count; } Products;

/* Adds the gradient of a kernel [in][out], from inputs x and the columns of dz [rows][row_dz] from `first` on, all in
 * bf16. */
static void add_kernel(Products *p, const float *x, int in, const float *dz, int row_dz, int first, int out, int rows,
                       float *dw) {
  if (rows > 0)
    p->product[p->count++] = (OpsWeightProduct){
      .x = x, .dz = (const uint16_t *)(const void *)dz + first, .dw = dw, .rows = (uint32_t)rows, .in = (uint32_t)in,
      .out = (uint32_t)out, .row_x = (uint32_t)in, .row_dz = (uint32_t)row_dz};
}

/* Adds that of a layer's kernel, and of its bias, which follows. */
static void add_layer(Products *p, const float *x, int in, const float *dz, int out, int rows, float *dw) {
  add_kernel(p, x, in, dz, out, 0, out, rows, dw);
  if (rows > 0) p->product[p->count - 1].db = dw + in * out;
}

/* Adds that of a layer after the norm of x. */
static void add_normed_layer(Products *p, const OpsTransformer *t, const OpsTransformerNorm *norm, const float *x,
                             const float *dz, int out, int rows, float *dw) {
  add_layer(p, x, OPS_ENCODER_WIDTH, dz, out, rows, dw);
  p->product[p->count - 1].moments = norm->moments;
  p->product[p->count - 1].gain = t->theta + norm->gain;
}

/* Adds those of a gate: W of y, U of x before r and z, and Ug of r x before h. */
static void add_gate(Products *p, const OpsTransformerGate *gate, const float *x, const float *y, int rows,
                     float *gradient) {
  enum { W = OPS_ENCODER_WIDTH, SQUARE = OPS_ENCODER_SQUARE };
  float *dw = gradient + gate->w;
  add_kernel(p, y, W, gate->da, 3 * W, 0, 3 * W, rows, dw);
  add_kernel(p, x, W, gate->da, 3 * W, 0, 2 * W, rows, dw + 3 * SQUARE);
  add_kernel(p, x, W, gate->da, 3 * W, 2 * W, W, rows, dw + 5 * SQUARE);
  p->product[p->count - 1].times = (const uint16_t *)(const void *)gate->r;
}

/* Adds that of a kind's embedding, and its bias's; rows are padded. */
static void add_embedding(Products *p, const OpsTransformerKind *kind, int worlds, float *gradient) {
  const int rows = worlds * kind->pack.count, width = kind->pack.width;
  if (rows == 0) return;
  add_kernel(p, kind->copied, kind->features, kind->dembedded, OPS_ENCODER_WIDTH, 0, width, rows, gradient + kind->w);
  p->product[p->count - 1].row_x = OPS_TRANSFORMER_FEATURES;
  p->product[p->count - 1].db = gradient + kind->w + kind->features * width;
}

/* Computes the gradients of all kernels and most biases, from what both passes have left. */
static void launch_kernels(DeviceState *state, int worlds, const OpsTransformer *t, float *gradient) {
  enum { W = OPS_ENCODER_WIDTH, ATTENDED = OPS_ENCODER_ATTENDED, QKV = OPS_ENCODER_QKV };
  const int rows = worlds * t->attention.entities;
  Products p = {.count = 0};
  for (int l = 0; l < t->layers; l++) {
    const OpsTransformerLayer *layer = &t->layer[l];
    const float *input = l > 0 ? t->layer[l - 1].gate_2.out : t->shapes;
    add_gate(&p, &layer->gate_1, input, layer->out, rows, gradient);
    add_gate(&p, &layer->gate_2, layer->gate_1.out, layer->dense, rows, gradient);
    add_normed_layer(&p, t, &layer->norm_1, input, layer->dqkv, QKV, rows, gradient + layer->qkv_w);
    add_layer(&p, layer->attended, ATTENDED, layer->dout, W, rows, gradient + layer->out_w);
    add_normed_layer(&p, t, &layer->norm_2, layer->gate_1.out, layer->ddense, W, rows, gradient + layer->dense_w);
    for (int s = 0; s < 2; s++)
      add_layer(&p, layer->gathered[s], (t->message[s].ends + 1) * W, layer->dmessages[s], W,
                worlds * t->message[s].count, gradient + layer->message[s]);
  }
  for (int k = 0; k < t->kinds; k++) add_embedding(&p, &t->kind[k], worlds, gradient);
  device_weights(state, p.product, p.count);
}

bool device_transform_backward(Ops *ops, OpsRows x, const OpsTransformer *t, const float *dembedding,
                               float *gradient) {
  DeviceState *state = device_state(ops);
  if (!takes(state, t)) return false;

  OpsEncode a = arguments_of(x, t);
  const size_t each = (size_t)OPS_ENCODER_SUMS * a.tiles; /* a layer's sums, which wait for each other */
  if (state->folds.folds + t->layers * OPS_ENCODER_SUM_KINDS > KERNEL_FOLDS) device_fold_now(state);
  a.sums = device_alloc_parts(state, (size_t)t->layers * each);
  a.dembedding = dembedding;
  launch(state, &ops_encoder_backward_launch, OPS_ENCODER_BACKWARD_SHARED, &a);
  for (int l = 0; l < t->layers; l++)
    fold_layer(state, &t->layer[l], &a, a.sums + (size_t)l * each, gradient);
  launch_kernels(state, x.rows, t, gradient);
  ops->flops += 2 * x.rows * (layer_products_of(t) + products_of(t));
  return true;
}
