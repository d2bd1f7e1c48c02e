/* Dense layers between matrices of entities with train.precision = bf16 (entity.h). The matrices are bf16 in memory, so
 * that products read the tensor cores' format and every pass moves half the bytes. Weights are rounded once per forward
 * pass, in one launch. */
#include "trainer/ops/device/device_internal.h"
#include "trainer/ops/entity.h"

void device_entity_round(Ops *ops, const float *theta, size_t n, uint16_t *rounded) {
  const OpsRound arguments = {theta, NULL, rounded, 1, n, n, ops_fours(n)};
  DEVICE_LAUNCH(device_state(ops), ops_round, arguments.fours.number, &arguments);
}

static OpsNumbers result_of(const OpsEntityDense *layer) {
  return layer->result_is_float ? OPS_NUMBERS_FLOAT : OPS_NUMBERS_BF16;
}

static int step_of(const OpsEntityDense *layer, const void *x) {
  return layer->out % KERNEL_EIGHT == 0 && (uintptr_t)x % sizeof(OpsEight) == 0 ? KERNEL_EIGHT : 1;
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
  const int step = step_of(layer, layer->y);
  const OpsHiddenActivate arguments = {(uint16_t *)(void *)layer->y, layer->b, p.m, core_divisor(p.n / (size_t)step),
                                       activation, step};
  DEVICE_LAUNCH(state, ops_hidden_activate, p.m * p.n / (size_t)step, &arguments);
}

/* Turns dy into the gradient before the activation, and sums its columns. */
static void undo_activation(DeviceState *state, const OpsEntityDense *layer, OpsActivation activation, float *dy,
                            float *db, int rows) {
  const size_t r = (size_t)rows, c = (size_t)layer->out;
  float *parts = device_alloc_column_parts(state, r, c);
  const int step = step_of(layer, dy);
  const OpsHiddenGradient arguments = {(const uint16_t *)(const void *)(layer->y ? layer->y : dy), layer->b,
                                       (uint16_t *)(void *)dy, parts, r, c, activation, step,
                                       core_divisor(c / (size_t)step)};
  DEVICE_LAUNCH(state, ops_hidden_gradient, device_column_parts(r) * c / (size_t)step, &arguments);
  if (db) device_fold_columns(state, parts, r, c, db);
  device_fold_now(state);
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
