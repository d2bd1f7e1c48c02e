/* Products, float dense layers and layer norm on a device: the product is the library's, fused with bias and ReLU if
 * supported; the other activations, their gradients and the sums over rows are kernels. bf16 chains of layers:
 * device_chain.c. */
#include "trainer/ops/device/device_internal.h"

/* ---- products ---------------------------------------------------------------------------------------------------- */

int device_can_multiply(DeviceState *state, const DeviceProduct *p) {
  if (p->epilogue == OPS_PRODUCT || state->refuses) return p->epilogue == OPS_PRODUCT;
  return state->library ? device_library_takes(state->library, p) : 1;
}

/* Sums the columns of c[m][n], bf16, rounded to p->bias. */
static void sum_columns(DeviceState *state, const DeviceProduct *p) {
  CORE_CHECK(p->result == OPS_NUMBERS_BF16 && p->m <= (size_t)state->max_rows && p->n <= (size_t)state->max_width);
  float *parts = device_alloc_column_parts(state, p->m, p->n);
  const OpsHiddenGradient sums = {(uint16_t *)p->c, NULL, (uint16_t *)p->c, parts, p->m, p->n, OPS_LINEAR, 1,
                                  core_divisor(p->n)};
  DEVICE_LAUNCH(state, ops_hidden_gradient, device_column_parts(p->m) * p->n, &sums);
  device_fold_columns(state, parts, p->m, p->n, state->product);
  device_fold_now(state);
  const OpsRound rounded = {state->product, NULL, (uint16_t *)p->bias, 1, p->n, p->n, ops_fours(p->n)};
  DEVICE_LAUNCH(state, ops_round, p->n, &rounded);
}

/* Whether the product's terms run along the rows of a, so that a kernel sums them in parts (kernels_bf16.h). */
static bool sums_rows(const DeviceState *state, const OpsProduct *p) {
  return p->n == 1 && p->transpose_a && p->result == OPS_NUMBERS_FLOAT && p->epilogue == OPS_PRODUCT &&
         p->k <= (size_t)state->max_rows && p->m <= (size_t)state->max_width;
}

/* Multiplies with this program's kernels, without a library or where it has no algorithm. */
static void multiply_alone(DeviceState *state, const DeviceProduct *p) {
  const OpsProduct arguments = {p->a, p->b, p->c, p->transpose_a, p->transpose_b, p->m, p->n, p->k,
                                p->row_a ? p->row_a : p->transpose_a ? p->m : p->k, p->factors, p->result,
                                state->precision, p->epilogue, p->bias, p->mask};

  if (sums_rows(state, &arguments)) {
    const OpsColumnParts parts = {arguments, core_divisor(p->m), device_alloc_column_parts(state, p->k, p->m)};
    DEVICE_LAUNCH(state, ops_column_parts, device_column_parts(p->k) * p->m, &parts);
    device_fold_columns(state, parts.parts, p->k, p->m, p->c);
  } else if (p->k == 1 && p->n > 1 && p->epilogue == OPS_PRODUCT) {
    const int step = p->result == OPS_NUMBERS_BF16 ? KERNEL_EIGHT : KERNEL_FOUR;
    const OpsProductOuter outer = {arguments, core_divisor((p->n + (size_t)step - 1) / (size_t)step), step};
    DEVICE_LAUNCH(state, ops_product_outer, p->m * outer.steps.number, &outer);
  } else if (p->n == 1 && !p->transpose_a && p->mask == NULL) {
    DEVICE_LAUNCH(state, ops_product_column, p->m * KERNEL_LANES, &arguments);
  } else {
    DEVICE_LAUNCH(state, ops_product, p->m * ((p->n + KERNEL_MASK_BITS - 1) / KERNEL_MASK_BITS), &arguments);
  }

  if (p->epilogue == OPS_PRODUCT_MASKED) sum_columns(state, p);
}

int device_multiply(DeviceState *state, const DeviceProduct *p) {
  if (p->epilogue != OPS_PRODUCT && state->refuses) return 0;
  if (state->library && device_library_multiply(state->library, p, state->workspace)) return 1;
  if (p->epilogue != OPS_PRODUCT && state->library) return 0;
  multiply_alone(state, p);
  if (p->n == 1 && p->transpose_a) device_fold_now(state);
  return 1;
}

void device_multiply_later(DeviceState *state, const DeviceProduct *p) {
  if (!state->library || !device_library_multiply(state->library, p, state->workspace)) multiply_alone(state, p);
}

/* ---- dense layers of floats -------------------------------------------------------------------------------------- */

void device_activate(DeviceState *state, OpsActivation activation, float *y, const float *bias, int rows, int columns) {
  const OpsActivate arguments = {y, bias, (size_t)rows, core_divisor((size_t)columns), activation};
  DEVICE_LAUNCH(state, ops_activate, arguments.rows * (size_t)columns, &arguments);
}

void device_dense_forward(Ops *ops, const float *x, const float *w, const float *b, float *y, int rows, int in, int out,
                          OpsActivation activation) {
  DeviceState *state = device_state(ops);
  DeviceProduct product = {.m = (size_t)rows, .n = (size_t)out, .k = (size_t)in, .a = x, .b = w, .c = y};
  ops->flops += 2.0 * rows * in * out;
  if (activation == OPS_LINEAR || activation == OPS_RELU) {
    product.epilogue = activation == OPS_RELU ? OPS_PRODUCT_RELU : OPS_PRODUCT_BIAS;
    product.bias = (float *)(uintptr_t)b;
    if (device_multiply(state, &product)) return;
    product.epilogue = OPS_PRODUCT;
  }
  device_multiply(state, &product);
  device_activate(state, activation, y, b, rows, out);
}

void device_undo_activation(DeviceState *state, OpsActivation activation, const float *y, const float *bias, float *dy,
                            float *db, int rows, int columns) {
  const size_t r = (size_t)rows, c = (size_t)columns;
  float *parts = device_alloc_column_parts(state, r, c);
  const OpsActivationGradient arguments = {y, bias, dy, parts, r, core_divisor(c), activation};
  DEVICE_LAUNCH(state, ops_activation_gradient, device_column_parts(r) * c, &arguments);
  device_fold_columns(state, parts, r, c, db);
  device_fold_now(state);
}

void device_dense_backward(Ops *ops, const float *x, const float *w, const float *b, const float *y, float *dy,
                           float *dx, float *dw, float *db, int rows, int in, int out, OpsActivation activation) {
  DeviceState *state = device_state(ops);
  const size_t r = (size_t)rows, i = (size_t)in, o = (size_t)out;
  CORE_CHECK(rows <= state->max_rows && in <= state->max_width && out <= state->max_width);
  if (activation == OPS_SILU) {
    device_multiply(state, &(DeviceProduct){.m = r, .n = o, .k = i, .a = x, .b = w, .c = state->product});
    y = state->product;
  }
  if (db || activation != OPS_LINEAR) device_undo_activation(state, activation, y, b, dy, db, rows, out);
  if (dx) device_multiply(state, &(DeviceProduct){.transpose_b = 1, .m = r, .n = i, .k = o, .a = dy, .b = w, .c = dx});
  device_multiply(state, &(DeviceProduct){.transpose_a = 1, .m = i, .n = o, .k = r, .a = x, .b = dy, .c = dw});
  ops->flops += 2.0 * rows * in * out * (1 + (dx != NULL) + (activation == OPS_SILU));
}

void device_norm_forward(Ops *ops, float *z, float *inverse, const float *gain, const float *offset, float *y, int rows,
                         int columns, double epsilon, OpsActivation activation) {
  DeviceState *state = device_state(ops);
  const bool is_linear = activation == OPS_LINEAR;
  const OpsNormRows arguments = {z, z, inverse, gain, is_linear ? offset : NULL, y, (size_t)rows, (size_t)columns,
                                 (float)epsilon};
  DEVICE_LAUNCH(state, ops_norm_rows, (size_t)rows * KERNEL_LANES, &arguments);
  if (!is_linear) device_activate(state, activation, y, offset, rows, columns);
}

void device_norm(Ops *ops, const float *x, float *n, float *inverse, const float *gain, const float *offset, float *y,
                 int rows, int columns, double epsilon) {
  DeviceState *state = device_state(ops);
  const OpsNormRows arguments = {x, n, inverse, gain, offset, y, (size_t)rows, (size_t)columns, (float)epsilon};
  DEVICE_LAUNCH(state, ops_norm_rows, (size_t)rows * KERNEL_LANES, &arguments);
}

/* Sums over rows of dy, and of dy n: gradients of offset and gain. */
static void norm_sums(DeviceState *state, const float *n, const float *dy, float *dgain, float *doffset, size_t rows,
                      size_t columns) {
  float *parts = device_alloc_column_parts(state, rows, 2 * columns);
  float *more = parts + device_column_parts(rows) * columns;
  const OpsGainParts arguments = {dy, n, parts, more, rows, core_divisor(columns)};
  DEVICE_LAUNCH(state, ops_gain_parts, device_column_parts(rows) * columns, &arguments);
  device_fold_columns(state, parts, rows, columns, dgain);
  device_fold_columns(state, more, rows, columns, doffset);
  device_fold_now(state);
}

void device_norm_add_gradient(Ops *ops, const float *n, const float *inverse, const float *gain, float *dy,
                              const float *more, float *dx, float *dgain, float *doffset, int rows, int columns) {
  DeviceState *state = device_state(ops);
  const size_t r = (size_t)rows, c = (size_t)columns;
  norm_sums(state, n, dy, dgain, doffset, r, c);
  const OpsNormGradient arguments = {n, inverse, gain, more, dy, dx, r, c};
  DEVICE_LAUNCH(state, ops_norm_gradient, r * KERNEL_LANES, &arguments);
}

void device_norm_backward(Ops *ops, const float *n, const float *inverse, const float *gain, const float *offset,
                          const float *y, float *dy, float *dgain, float *doffset, int rows, int columns,
                          OpsActivation activation) {
  DeviceState *state = device_state(ops);
  const size_t r = (size_t)rows, c = (size_t)columns;
  CORE_CHECK(rows <= state->max_rows && columns <= state->max_width);

  if (activation == OPS_SILU) {
    DEVICE_LAUNCH(state, ops_scale_rows, r * c, &(OpsScaleRows){n, gain, state->product, r, core_divisor(c)});
    y = state->product;
  }
  device_undo_activation(state, activation, y, offset, dy, doffset, rows, columns);

  float *parts = device_alloc_column_parts(state, r, c);
  const OpsGainParts arguments = {dy, n, parts, NULL, r, core_divisor(c)};
  DEVICE_LAUNCH(state, ops_gain_parts, device_column_parts(r) * c, &arguments);
  device_fold_columns(state, parts, r, c, dgain);

  /* The next kernel overwrites dy, which the pending sums read. */
  device_fold_now(state);
  const OpsNormGradient gradient = {n, inverse, gain, NULL, dy, NULL, r, c};
  DEVICE_LAUNCH(state, ops_norm_gradient, r * KERNEL_LANES, &gradient);
}
