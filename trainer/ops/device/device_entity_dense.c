/* Dense layers, and functions of 128 columns, of matrices of entities with train.precision = bf16 (entity.h). The
 * matrices are bf16 in memory, so that products read the tensor cores' format and every pass moves half the bytes.
 * Weights are rounded once per forward pass, in one launch; sums of columns are folded together where the backward pass
 * ends. */
#include "trainer/ops/device/device_internal.h"
#include "trainer/ops/entity.h"
#include "trainer/ops/kernels/kernels_entity.h"

/* ---- bf16 matrices of 128 columns -------------------------------------------------------------------------------- */

static const uint16_t *bf16(const float *x) { return (const uint16_t *)(const void *)x; }
static uint16_t *bf16_out(float *x) { return (uint16_t *)(void *)x; }

/* Whether a thread may have eight elements of a row of KERNEL_EIGHTS_COLUMNS. */
static bool are_eights(int columns, uintptr_t addresses) {
  return columns == KERNEL_EIGHTS_COLUMNS && addresses % sizeof(OpsEight) == 0;
}

/* Launches a kernel of such matrices; shared: floats of shared memory. */
static void launch_eights(DeviceState *state, const CoreKernel *kernel, size_t blocks, size_t shared,
                          const void *arguments) {
  CoreDevice *device = state->device;
  CORE_CHECK(blocks <= DEVICE_BLOCKS_MAX);
  device->launch(device, kernel, (unsigned)blocks, KERNEL_EIGHTS_THREADS, shared * sizeof(float), arguments);
}

/* Returns the blocks of a kernel that leaves sums of columns. */
static size_t sum_blocks(int rows) { return ((size_t)rows + KERNEL_EIGHTS_ROWS - 1) / KERNEL_EIGHTS_ROWS; }
enum { SUM_FLOATS = KERNEL_EIGHTS_THREADS * KERNEL_EIGHT };

/* Reserves scratch for the parts of `folds` sums of `columns`, which are folded in device_entity_finish or earlier, but
 * not before all of them are scheduled. */
static float *alloc_parts(DeviceState *state, size_t rows, size_t columns, int folds) {
  if (state->folds.folds + folds > KERNEL_FOLDS) device_fold_now(state);
  return device_alloc_column_parts(state, rows, (size_t)folds * columns);
}

static void fold_blocks(DeviceState *state, const float *sums, int rows, float *result) {
  device_fold_later(state, (OpsFold){.parts = sums, .count = sum_blocks(rows), .columns = KERNEL_EIGHTS_COLUMNS,
                                     .result = result});
}

/* ---- dense layers ------------------------------------------------------------------------------------------------ */

void device_entity_round(Ops *ops, const float *theta, size_t n, uint16_t *rounded) {
  const OpsRound arguments = {theta, NULL, rounded, 1, n, n, ops_fours(n)};
  DEVICE_LAUNCH(device_state(ops), ops_round, arguments.fours.number, &arguments);
}

static OpsNumbers result_of(const OpsEntityDense *layer) {
  return layer->result_is_float ? OPS_NUMBERS_FLOAT : OPS_NUMBERS_BF16;
}

void device_entity_forward(Ops *ops, const OpsEntityDense *layer, int rows, OpsActivation activation) {
  DeviceState *state = device_state(ops);
  DeviceProduct p = {.m = (size_t)rows, .n = (size_t)layer->out, .k = (size_t)layer->in, .a = layer->x, .b = layer->w,
                     .c = layer->y, .factors = OPS_NUMBERS_BF16, .result = result_of(layer)};
  ops->flops += 2.0 * rows * layer->in * layer->out;

  if (layer->b && (activation == OPS_LINEAR || activation == OPS_RELU)) {
    p.epilogue = activation == OPS_RELU ? OPS_PRODUCT_RELU : OPS_PRODUCT_BIAS;
    p.bias = (void *)(uintptr_t)(layer->result_is_float ? (const void *)layer->b : layer->w + p.k * p.n);
    if (device_multiply(state, &p)) return;
    p.epilogue = OPS_PRODUCT;
    p.bias = NULL;
  }

  device_multiply(state, &p);
  if (layer->b == NULL) return;
  if (layer->result_is_float) {
    device_activate(state, activation, layer->y, layer->b, rows, layer->out);
    return;
  }

  const int step = device_step(KERNEL_EIGHT, (size_t)layer->out, device_address(layer->y));
  const OpsHiddenActivate arguments = {(uint16_t *)(void *)layer->y, layer->b, p.m, core_divisor(p.n / (size_t)step),
                                       activation, step};
  DEVICE_LAUNCH(state, ops_hidden_activate, p.m * p.n / (size_t)step, &arguments);
}

/* Turns dy into the gradient before the activation, and sums its columns. */
static void undo_activation(DeviceState *state, const OpsEntityDense *layer, OpsActivation activation, float *dy,
                            float *db, int rows) {
  const size_t r = (size_t)rows, c = (size_t)layer->out;
  float *parts = alloc_parts(state, r, c, 1);
  const float *y = layer->y ? layer->y : dy;
  const uintptr_t addresses = device_address(y) | device_address(dy);

  if (are_eights(layer->out, addresses) && (activation == OPS_LINEAR || activation == OPS_RELU)) {
    const OpsEightsGradient eights = {bf16(y), bf16_out(dy), parts, r, activation == OPS_RELU};
    launch_eights(state, &ops_eights_gradient_launch, sum_blocks(rows), SUM_FLOATS, &eights);
    if (db) fold_blocks(state, parts, rows, db);
    return;
  }

  const int step = device_step(KERNEL_EIGHT, c, addresses);
  const OpsHiddenGradient arguments = {bf16(y), layer->b, bf16_out(dy), parts, r, c, activation, step,
                                       core_divisor(c / (size_t)step)};
  DEVICE_LAUNCH(state, ops_hidden_gradient, device_column_parts(r) * c / (size_t)step, &arguments);
  if (db) device_fold_columns(state, parts, r, c, db);
}

void device_entity_backward(Ops *ops, const OpsEntityDense *layer, int rows, OpsActivation activation, float *dy,
                            float *dx, float *dw, float *db) {
  DeviceState *state = device_state(ops);
  const size_t r = (size_t)rows, in = (size_t)layer->in, out = (size_t)layer->out;
  if (db || activation != OPS_LINEAR) undo_activation(state, layer, activation, dy, db, rows);
  if (dx)
    device_multiply(state, &(DeviceProduct){.transpose_b = 1, .m = r, .n = in, .k = out, .a = dy, .b = layer->w,
                                            .c = dx, .factors = OPS_NUMBERS_BF16, .result = result_of(layer)});
  device_multiply(state, &(DeviceProduct){.transpose_a = 1, .m = in, .n = out, .k = r, .a = layer->x, .b = dy, .c = dw,
                                          .factors = OPS_NUMBERS_BF16});
  ops->flops += 2.0 * rows * layer->in * layer->out * (1 + (dx != NULL));
}

/* ---- layer norm and gates ---------------------------------------------------------------------------------------- */

void device_entity_norm(Ops *ops, const float *x, float *n, float *inverse, const float *gain, const float *offset,
                        float *y, int rows, int columns, double epsilon) {
  const OpsNormEights a = {bf16(x), bf16_out(n), bf16_out(y), inverse, gain, offset, (size_t)rows, (float)epsilon};
  const size_t blocks = (a.rows + KERNEL_EIGHTS_AT_ONCE - 1) / KERNEL_EIGHTS_AT_ONCE;
  CORE_CHECK(are_eights(columns, device_address(x) | device_address(n) | device_address(y)));
  launch_eights(device_state(ops), &ops_norm_eights_launch, blocks, KERNEL_EIGHTS_THREADS, &a);
}

void device_entity_norm_backward(Ops *ops, const float *n, const float *inverse, const float *gain, float *dy,
                                 const float *more, float *dx, float *dgain, float *doffset, int rows, int columns) {
  DeviceState *state = device_state(ops);
  const size_t width = KERNEL_EIGHTS_COLUMNS;
  float *sums = alloc_parts(state, (size_t)rows, width, 2);
  const OpsNormEightsGradient a = {bf16(n), bf16(dy), bf16(more), bf16_out(dx), inverse, gain, sums,
                                   sums + sum_blocks(rows) * width, (size_t)rows};
  CORE_CHECK(are_eights(columns, device_address(n) | device_address(dy) | device_address(more) | device_address(dx)));
  launch_eights(state, &ops_norm_eights_gradient_launch, sum_blocks(rows), SUM_FLOATS, &a);
  fold_blocks(state, a.dgain, rows, dgain);
  fold_blocks(state, a.doffset, rows, doffset);
}

void device_entity_gate_backward(Ops *ops, const float *dout, const float *z, const float *h, const float *x, int rows,
                                 int width, float *dug, float *da, float *du, float *dx, float *dbias) {
  DeviceState *state = device_state(ops);
  float *sums = alloc_parts(state, (size_t)rows, KERNEL_EIGHTS_COLUMNS, 1);
  const OpsGateEights g = {bf16(dout), bf16(z), bf16(h), bf16(x), bf16_out(dug), bf16_out(da), bf16_out(du),
                           bf16_out(dx), sums, (size_t)rows};
  const uintptr_t written = device_address(dug) | device_address(da) | device_address(du) | device_address(dx);
  const uintptr_t read = device_address(dout) | device_address(z) | device_address(h) | device_address(x);
  CORE_CHECK(are_eights(width, read | written));
  launch_eights(state, &ops_gate_eights_launch, sum_blocks(rows), SUM_FLOATS, &g);
  fold_blocks(state, sums, rows, dbias);
}

void device_entity_finish(Ops *ops) { device_fold_now(device_state(ops)); }
