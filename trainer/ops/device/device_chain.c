/* Chains of dense layers on a device with train.precision = bf16: hidden layers, and the gradients between them, are
 * bf16 in memory, so that products read the tensor cores' format and every pass moves half the bytes. Sums of products,
 * weights, their gradients, and the chain's input and output are float32.
 *
 * A hidden ReLU layer needs no separate pass where the library has epilogues for it: bias, ReLU and one bit per element
 * are computed with the product (cuBLASLt's RELU_AUX_BIAS), and in the backward pass the product above it is masked
 * with those bits and summed over rows on its way to memory (DRELU_BGRAD). Where it has none, and for the other
 * activations, one kernel computes bias and activation in one pass, and another the product, the derivative and the
 * sums over rows (kernels_tile.h); for SILU and for other widths the library computes the product, and a kernel the
 * rest (kernels_bf16.h). */
#include <stdlib.h>

#include "core/memory.h"
#include "trainer/ops/device/device_internal.h"

enum { ROUND_TO = 256 }; /* alignment of a mask in bytes */

/* One pass over a chain. */
typedef struct Pass {
  DeviceState *state;
  const OpsLayer *layers;
  int count, rows;
  const uint16_t *x;           /* the chain's input, rows device_rounded_row(in) apart */
  bool is_whole; /* whether all layers' parameters are in state->rounded.theta; else those of the current layer */
} Pass;

static size_t parameters_of(const OpsLayer *layer) { return ((size_t)layer->in + 1) * (size_t)layer->out; }

static void round_numbers(DeviceState *state, const float *from, size_t n, uint16_t *to) {
  const OpsRound arguments = {from, NULL, to, 1, n, n, ops_fours(n)};
  DEVICE_LAUNCH(state, ops_round, arguments.fours.number, &arguments);
}

static void round_input(DeviceState *state, const float *x, const uint32_t *index, size_t rows, size_t columns,
                        uint16_t *rounded) {
  const size_t stride = device_rounded_row(columns);
  const OpsRound arguments = {x, index, rounded, rows, columns, stride, ops_fours(stride)};
  CORE_CHECK(rows <= (size_t)state->max_rows && columns <= (size_t)state->max_width);
  DEVICE_LAUNCH(state, ops_round, rows * arguments.fours.number, &arguments);
}

void device_gather_inputs(Ops *ops, const float *source, const uint32_t *index, float *target, int rows, int columns) {
  DeviceState *state = device_state(ops);
  round_input(state, source, index, (size_t)rows, (size_t)columns, state->rounded.gathered);
  state->rounded.target = target;
}

/* Returns a chain's input as bf16, if gather_inputs stored it. */
static const uint16_t *take_input(DeviceState *state, const float *x, size_t rows, size_t columns) {
  DeviceRounded *rounded = &state->rounded;
  if (x == rounded->target) return rounded->gathered;
  round_input(state, x, NULL, rows, columns, rounded->x);
  return rounded->x;
}

/* Begins a pass: rounds the chain's input and, if its layers' parameters are contiguous and fit, as networks' are, also
 * these, in one launch. A backward pass reuses the forward pass's, unless another chain ran in between. */
static Pass begin(DeviceState *state, const float *x, const OpsLayer *layers, int count, int rows, bool is_forward) {
  Pass pass = {.state = state, .layers = layers, .count = count, .rows = rows, .is_whole = true};
  const size_t width = (size_t)state->max_width;
  size_t all = 0;

  for (int l = 0; l < count; l++) {
    const OpsLayer *layer = &layers[l];
    CORE_CHECK((size_t)layer->in <= width && (size_t)layer->out <= width);
    pass.is_whole &= layer->w == layers[0].w + all && layer->b == layer->w + (size_t)layer->in * (size_t)layer->out;
    all += parameters_of(layer);
  }

  pass.is_whole &= all <= DEVICE_ROUNDED_LAYERS * (width + 1) * width;
  const bool are_there = !is_forward && pass.is_whole && state->rounded.whole == layers[0].w;
  if (pass.is_whole && !are_there) round_numbers(state, layers[0].w, all, state->rounded.theta);
  state->rounded.whole = pass.is_whole ? layers[0].w : NULL;
  pass.x = take_input(state, x, (size_t)rows, (size_t)layers[0].in);
  return pass;
}

/* Returns the buffer of the layer's bf16 kernel; its bias follows it. */
static uint16_t *kernel_place(const Pass *pass, int l) {
  return pass->state->rounded.theta + (pass->is_whole ? pass->layers[l].w - pass->layers[0].w : 0);
}

/* Returns the layer's kernel in that buffer. */
static uint16_t *kernel_of(const Pass *pass, int l) {
  const OpsLayer *layer = &pass->layers[l];
  const size_t kernel = (size_t)layer->in * (size_t)layer->out;
  uint16_t *theta = kernel_place(pass, l);
  if (pass->is_whole) return theta;
  round_numbers(pass->state, layer->w, kernel, theta);
  round_numbers(pass->state, layer->b, (size_t)layer->out, theta + kernel);
  return theta;
}

/* ---- hidden layers as bf16 and mask, in the layer's floats ------------------------------------------------------- */

static uint16_t *hidden(const OpsLayer *layer) { return (uint16_t *)(void *)layer->y; }

static size_t mask_place(const Pass *pass, const OpsLayer *layer) {
  const size_t bytes = (size_t)pass->rows * (size_t)layer->out * sizeof(uint16_t);
  return (bytes + ROUND_TO - 1) / ROUND_TO * ROUND_TO;
}

static uint32_t *mask_of(const Pass *pass, const OpsLayer *layer) {
  return (uint32_t *)(void *)((char *)layer->y + mask_place(pass, layer));
}

static bool has_room_for_mask(const Pass *pass, const OpsLayer *layer) {
  const size_t mask = (size_t)pass->rows * ops_mask_words((size_t)layer->out) * sizeof(uint32_t);
  return mask_place(pass, layer) + mask <= (size_t)pass->rows * (size_t)layer->out * sizeof *layer->y;
}

/* Returns the elements per thread of kernels_bf16.h for this layer. */
static int step_of(const OpsLayer *layer, const void *other) {
  return device_step(KERNEL_EIGHT, (size_t)layer->out, device_address(layer->y) | device_address(other));
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* Returns the inputs of layer l in its product. Rows of the chain's input are padded with zeros, and the values after
 * the first layer's kernel, its bias and the next layer, are finite: so the first product may use whole padded rows,
 * which for 140 columns is faster (98 columns, cuBLASLt 13 on an H200: 38 us instead of 49), and has the same sums. */
static size_t product_inputs(const Pass *pass, int l) {
  const OpsLayer *layer = &pass->layers[l];
  const size_t in = (size_t)layer->in, all = device_rounded_row(in);
  const bool has_more = l == 0 && pass->is_whole && pass->count > 1;
  return has_more && (all - in - 1) * (size_t)layer->out <= parameters_of(layer + 1) ? all : in;
}

/* Returns the product x W of layer l, with as much of bias and activation as the library fuses. */
static DeviceProduct forward_product(const Pass *pass, int l, uint16_t *w) {
  const OpsLayer *layer = &pass->layers[l];
  const bool is_last = l + 1 == pass->count, is_relu = layer->activation == OPS_RELU;
  DeviceProduct p = {.m = (size_t)pass->rows, .n = (size_t)layer->out, .k = product_inputs(pass, l),
                     .a = l > 0 ? hidden(layer - 1) : pass->x, .b = w, .c = layer->y,
                     .row_a = l > 0 ? 0 : device_rounded_row((size_t)layer->in), .factors = OPS_NUMBERS_BF16,
                     .result = is_last ? OPS_NUMBERS_FLOAT : OPS_NUMBERS_BF16};
  p.bias = is_last ? (void *)(uintptr_t)layer->b : w + (size_t)layer->in * (size_t)layer->out;
  if (is_last && (is_relu || layer->activation == OPS_LINEAR))
    p.epilogue = is_relu ? OPS_PRODUCT_RELU : OPS_PRODUCT_BIAS;
  if (is_last || !is_relu || !has_room_for_mask(pass, layer)) return p;
  p.epilogue = OPS_PRODUCT_RELU_MASK;
  p.mask = mask_of(pass, layer);
  return p;
}

/* Whether a forward pass over these rows stores the layer's mask. The library decides by addresses, too. */
static bool leaves_mask(const Pass *pass, int l) {
  const DeviceProduct p = forward_product(pass, l, kernel_place(pass, l));
  return p.epilogue == OPS_PRODUCT_RELU_MASK && device_can_multiply(pass->state, &p);
}

static void layer_forward(const Pass *pass, int l) {
  DeviceState *state = pass->state;
  const OpsLayer *layer = &pass->layers[l];
  DeviceProduct p = forward_product(pass, l, kernel_of(pass, l));
  if (p.epilogue != OPS_PRODUCT && device_multiply(state, &p)) return;
  p.epilogue = OPS_PRODUCT;
  device_multiply(state, &p);
  if (p.result == OPS_NUMBERS_FLOAT) {
    device_activate(state, layer->activation, layer->y, layer->b, pass->rows, layer->out);
    return;
  }
  const int step = step_of(layer, layer->y);
  const CoreDivisor steps = core_divisor(p.n / (size_t)step);
  const OpsHiddenActivate arguments = {hidden(layer), layer->b, p.m, steps, layer->activation, step};
  DEVICE_LAUNCH(state, ops_hidden_activate, p.m * p.n / (size_t)step, &arguments);
}

static bool is_fused(const Pass *pass) {
  return pass->is_whole && device_mlp_takes(pass->state, pass->layers, pass->count);
}
static DeviceMlp fused(const Pass *pass) {
  return (DeviceMlp){pass->state, pass->layers, pass->count, pass->rows, pass->x, pass->state->rounded.theta};
}

void device_chain_forward(Ops *ops, const float *x, const OpsLayer *layers, int count, int rows) {
  const Pass pass = begin(device_state(ops), x, layers, count, rows, true);
  if (!is_fused(&pass)) pass.state->pending.is_expected = false;
  else {
    const DeviceMlp mlp = fused(&pass);
    device_mlp_forward(&mlp);
    for (int l = 0; l < count; l++) ops->flops += 2.0 * rows * layers[l].in * layers[l].out;
    return;
  }

  for (int l = 0; l < count; l++) {
    layer_forward(&pass, l);
    ops->flops += 2.0 * rows * layers[l].in * layers[l].out;
  }
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* Computes x W of a layer again, into the ops' scratch: SILU cannot be inverted from its output. */
static void *product_again(const Pass *pass, int l) {
  DeviceProduct p = forward_product(pass, l, kernel_of(pass, l));
  p.epilogue = OPS_PRODUCT;
  p.c = pass->state->product;
  device_multiply(pass->state, &p);
  return p.c;
}

/* Returns the scratch for sums of the bias's gradient over parts of rows, which are folded after the last layer unless
 * a watch needs them earlier. */
static float *alloc_bias_parts(const Pass *pass, const OpsLayer *layer) {
  return device_alloc_column_parts(pass->state, (size_t)pass->rows, (size_t)layer->out);
}

static void fold_bias(const Pass *pass, const OpsLayer *layer, const float *parts) {
  device_fold_columns(pass->state, parts, (size_t)pass->rows, (size_t)layer->out, layer->db);
}

static size_t part_columns(const Pass *pass, const OpsLayer *layer) {
  return device_column_parts((size_t)pass->rows) * (size_t)layer->out;
}

/* Computes the gradient before the last layer's activation, and its bias's. */
static void output_gradient(const Pass *pass, const float *dy, uint16_t *dz) {
  const OpsLayer *last = &pass->layers[pass->count - 1];
  const float *y = last->activation == OPS_SILU ? (const float *)product_again(pass, pass->count - 1) : last->y;
  float *parts = alloc_bias_parts(pass, last);
  const OpsOutputGradient arguments = {y, last->b, dy, dz, parts, (size_t)pass->rows,
                                       core_divisor((size_t)last->out), last->activation};
  DEVICE_LAUNCH(pass->state, ops_output_gradient, part_columns(pass, last), &arguments);
  fold_bias(pass, last, parts);
}

/* Computes hidden_gradient in one kernel (kernels_tile.h), for layers of a supported size. Returns 0 otherwise. */
static int tile_gradient(const Pass *pass, int l, const uint16_t *dz, uint16_t *below) {
  DeviceState *state = pass->state;
  const OpsLayer *layer = &pass->layers[l - 1];
  const size_t n = (size_t)layer->out, k = (size_t)pass->layers[l].out, rows = (size_t)pass->rows;
  const size_t tiles = (rows + OPS_TILE_ROWS - 1) / OPS_TILE_ROWS, shared = ops_tile_bytes(n, k);

  /* Each return leaves this product to the library. */
  if (layer->activation == OPS_SILU || n % OPS_TILE_COLUMNS > 0 || n > OPS_TILE_MAX || k > OPS_TILE_MAX) return 0;
  if (shared > state->device->shared_bytes || state->refuses || !state->tiles) return 0;
  const uint16_t *w = kernel_of(pass, l);
  if (((uintptr_t)w | (uintptr_t)dz | (uintptr_t)below | (uintptr_t)layer->y) % sizeof(OpsEight) > 0) return 0;

  const unsigned sides = (unsigned)(n / ops_tile_columns(n)); /* adjacent blocks */
  const unsigned most = OPS_TILE_BLOCKS * state->device->processors / sides;
  float *parts = alloc_bias_parts(pass, layer);
  const OpsTileGradient arguments = {dz, w, hidden(layer), below, parts, rows, n, k, layer->activation};
  state->device->launch(state->device, &ops_tile_gradient_launch, sides * core_device_blocks(tiles, 1, most),
                        OPS_TILE_THREADS, shared, &arguments);
  fold_bias(pass, layer, parts);
  return 1;
}

/* Computes dz of the layer below from dz of layer l, and the gradient of the lower layer's bias. */
static void hidden_gradient(const Pass *pass, int l, const uint16_t *dz, uint16_t *below) {
  DeviceState *state = pass->state;
  const OpsLayer *layer = &pass->layers[l - 1];
  DeviceProduct p = {.transpose_b = 1,
                     .m = (size_t)pass->rows,
                     .n = (size_t)layer->out,
                     .k = (size_t)pass->layers[l].out,
                     .a = dz,
                     .b = kernel_of(pass, l),
                     .c = below,
                     .factors = OPS_NUMBERS_BF16,
                     .result = OPS_NUMBERS_BF16};

  if (leaves_mask(pass, l - 1)) {
    p.epilogue = OPS_PRODUCT_MASKED;
    p.mask = mask_of(pass, layer);
    const int slot = (l - 1) % DEVICE_ROUNDED_LAYERS;
    p.bias = state->rounded.db + (size_t)slot * (size_t)state->max_width;
    if (slot == DEVICE_ROUNDED_LAYERS - 1 && l + 1 < pass->count) device_fold_now(state); /* the slots are reused */
    if (device_multiply(state, &p)) {
      device_fold_later(state, (OpsFold){.of = OPS_PARTS_BF16, .parts = p.bias, .count = 1, .columns = p.n,
                                         .result = layer->db});
      return;
    }
    p.epilogue = OPS_PRODUCT;
  }

  if (tile_gradient(pass, l, dz, below)) return;
  device_multiply(state, &p);

  const uint16_t *y = layer->activation == OPS_SILU ? (const uint16_t *)product_again(pass, l - 1) : hidden(layer);
  const int step = step_of(layer, below);
  float *parts = alloc_bias_parts(pass, layer);
  const OpsHiddenGradient arguments = {y, layer->b, below, parts, p.m, p.n, layer->activation, step,
                                       core_divisor(p.n / (size_t)step)};
  DEVICE_LAUNCH(state, ops_hidden_gradient, part_columns(pass, layer) / (size_t)step, &arguments);

  fold_bias(pass, layer, parts);
}

static void weight_gradient(const Pass *pass, int l, const uint16_t *dz) {
  const OpsLayer *layer = &pass->layers[l];
  device_multiply_later(pass->state,
                        &(DeviceProduct){.transpose_a = 1, .m = (size_t)layer->in, .n = (size_t)layer->out,
                                         .k = (size_t)pass->rows, .a = l > 0 ? hidden(layer - 1) : pass->x, .b = dz,
                                         .c = layer->dw, .row_a = l > 0 ? 0 : device_rounded_row((size_t)layer->in),
                                         .factors = OPS_NUMBERS_BF16});
}

/* Computes the gradient at the chain's input. */
static void input_gradient(const Pass *pass, const uint16_t *dz, float *dx) {
  const OpsLayer *layer = &pass->layers[0];
  device_multiply(pass->state, &(DeviceProduct){.transpose_b = 1, .m = (size_t)pass->rows, .n = (size_t)layer->in,
                                                .k = (size_t)layer->out, .a = dz, .b = kernel_of(pass, 0), .c = dx,
                                                .factors = OPS_NUMBERS_BF16});
}

static void backward_fused(Ops *ops, const Pass *pass, const float *dy, float *dx, float *scratch) {
  const DeviceMlp mlp = fused(pass);
  const uint16_t *dz = device_mlp_backward(&mlp, dy, scratch);
  if (dx) input_gradient(pass, dz, dx);
  for (int l = 0; l < pass->count; l++)
    ops->flops += 2.0 * pass->rows * pass->layers[l].in * pass->layers[l].out * (1 + (l > 0 || dx));
}

void device_chain_backward(Ops *ops, const float *x, const OpsLayer *layers, int count, float *dy, float *dx,
                           float *scratch, int rows, const OpsWatch *watch) {
  const Pass pass = begin(device_state(ops), x, layers, count, rows, false);
  if (watch == NULL && is_fused(&pass)) {
    backward_fused(ops, &pass, dy, dx, scratch);
    return;
  }
  device_mlp_flush(pass.state);

  size_t widest = 0;
  for (int l = 0; l < count; l++) widest = (size_t)layers[l].out > widest ? (size_t)layers[l].out : widest;
  const size_t first = ((size_t)rows * widest + KERNEL_EIGHT - 1) / KERNEL_EIGHT * KERNEL_EIGHT;
  uint16_t *half[2] = {(uint16_t *)(void *)scratch, (uint16_t *)(void *)scratch + first};
  uint16_t *dz = half[count % 2];

  output_gradient(&pass, dy, dz);
  for (int l = count - 1; l >= 0; l--) {
    const OpsLayer *layer = &layers[l];
    weight_gradient(&pass, l, dz);
    if (l > 0) hidden_gradient(&pass, l, dz, half[l % 2]);
    else if (dx) input_gradient(&pass, dz, dx);
    dz = half[l % 2];
    ops->flops += 2.0 * rows * layer->in * layer->out * (1 + (l > 0 || dx) + (layer->activation == OPS_SILU));

    if (watch == NULL) continue;
    device_fold_now(pass.state);
    watch->on_complete(watch->context, l);
  }

  device_fold_now(pass.state);
}
