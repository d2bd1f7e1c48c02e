/* Dense layers and layer norm on a device: the product is the library's, with bias and rectifier in it where it has them;
 * the other activations, their gradients and the sums over rows are kernels. */
#include "trainer/ops/device_internal.h"

static void multiply(DeviceState *state, const DeviceProduct *p) {
  if (state->library) {
    device_library_multiply(state->library, p);
    return;
  }
  const OpsProduct arguments = {p->a, p->b, p->c, p->transpose_a, p->transpose_b, p->m, p->n, p->k,
                                state->precision};
  DEVICE_LAUNCH(state, ops_product, p->m * p->n, &arguments);
}

static void activate(DeviceState *state, OpsActivation activation, float *y, const float *bias, int rows, int columns) {
  const OpsActivate arguments = {y, bias, (size_t)rows, (size_t)columns, activation};
  DEVICE_LAUNCH(state, ops_activate, arguments.rows * arguments.columns, &arguments);
}

void device_dense_forward(Ops *ops, const float *x, const float *w, const float *b, float *y, int rows, int in, int out,
                          OpsActivation activation) {
  DeviceState *state = device_state(ops);
  const int fused = state->library && (activation == OPS_LINEAR || activation == OPS_RELU);
  const DeviceProduct product = {.m = (size_t)rows, .n = (size_t)out, .k = (size_t)in, .a = x, .b = w, .c = y,
                                 .bias = fused ? b : NULL, .rectify = activation == OPS_RELU};
  multiply(state, &product);
  if (!fused) activate(state, activation, y, b, rows, out);
  ops->flops += 2.0 * rows * in * out;
}

/* dy becomes the gradient before the activation; its column sums go to db. */
static void undo_activation(DeviceState *state, OpsActivation activation, const float *y, const float *bias, float *dy,
                            float *db, int rows, int columns) {
  const size_t parts = ((size_t)rows + KERNEL_PART_ROWS - 1) / KERNEL_PART_ROWS;
  const OpsActivationGradient arguments = {y, bias, dy, state->column_parts, (size_t)rows, (size_t)columns, activation};
  DEVICE_LAUNCH(state, ops_activation_gradient, parts * (size_t)columns, &arguments);
  device_fold_columns(state, state->column_parts, NULL, parts, (size_t)columns, db);
}

void device_dense_backward(Ops *ops, const float *x, const float *w, const float *b, const float *y, float *dy, float *dx,
                           float *dw, float *db, int rows, int in, int out, OpsActivation activation) {
  DeviceState *state = device_state(ops);
  const size_t r = (size_t)rows, i = (size_t)in, o = (size_t)out;
  CORE_CHECK(rows <= state->max_rows && in <= state->max_width && out <= state->max_width);
  if (activation == OPS_SILU) {
    multiply(state, &(DeviceProduct){.m = r, .n = o, .k = i, .a = x, .b = w, .c = state->product});
    y = state->product;
  }
  undo_activation(state, activation, y, b, dy, db, rows, out);
  if (dx) multiply(state, &(DeviceProduct){.transpose_b = 1, .m = r, .n = i, .k = o, .a = dy, .b = w, .c = dx});
  multiply(state, &(DeviceProduct){.transpose_a = 1, .m = i, .n = o, .k = r, .a = x, .b = dy, .c = dw});
  ops->flops += 2.0 * rows * in * out * (1 + (dx != NULL) + (activation == OPS_SILU));
}

void device_norm_forward(Ops *ops, float *z, float *inverse, const float *gain, const float *offset, float *y, int rows,
                         int columns, double epsilon, OpsActivation activation) {
  DeviceState *state = device_state(ops);
  const OpsNormRows arguments = {z, inverse, gain, y, (size_t)rows, (size_t)columns, (float)epsilon};
  DEVICE_LAUNCH(state, ops_norm_rows, (size_t)rows * KERNEL_LANES, &arguments);
  activate(state, activation, y, offset, rows, columns);
}

void device_norm_backward(Ops *ops, const float *n, const float *inverse, const float *gain, const float *offset,
                          const float *y, float *dy, float *dgain, float *doffset, int rows, int columns,
                          OpsActivation activation) {
  DeviceState *state = device_state(ops);
  const size_t r = (size_t)rows, c = (size_t)columns, parts = (r + KERNEL_PART_ROWS - 1) / KERNEL_PART_ROWS;
  CORE_CHECK(rows <= state->max_rows && columns <= state->max_width);
  if (activation == OPS_SILU) {
    DEVICE_LAUNCH(state, ops_scale_rows, r * c, &(OpsScaleRows){n, gain, state->product, r, c});
    y = state->product;
  }
  undo_activation(state, activation, y, offset, dy, doffset, rows, columns);
  DEVICE_LAUNCH(state, ops_gain_parts, parts * c, &(OpsGainParts){dy, n, state->column_parts, r, c});
  device_fold_columns(state, state->column_parts, NULL, parts, c, dgain);
  DEVICE_LAUNCH(state, ops_norm_gradient, r * KERNEL_LANES, &(OpsNormGradient){n, inverse, gain, dy, r, c});
}
