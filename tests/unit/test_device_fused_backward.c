/* The transformer's fused backward pass (kernels_fused_backward.h, kernels_weights.h): each matrix and sum that it
 * leaves, element by element, against sums in float64 and the CPU's float32 functions on the matrices from which the
 * device computes it, rounded as there; with numbers of worlds that are a multiple of nothing. */
#define DEVICE_TESTS run_all
#include "transformer_tools.h"

static float *dembedding; /* [worlds][W] on the device */
static float *gradient;   /* [parameters] on the device */

/* A number that sums in another order round to the other side changes all that follows from it by a rounding. Bounds
 * are in units of the largest number. */
static const double ROUNDED_TWICE = 2 * ROUNDED;

static void assert_rounded(const char *what, const float *want, const void *memory, size_t n) {
  assert_elements(what, want, memory, n, OPS_NUMBERS_BF16, ROUNDED_TWICE);
}

/* Returns dz W' in float64, rounded to bf16 if is_rounded. */
static float *product(const float *dz, size_t w, int count, int in, int out, bool is_rounded) {
  float *dx = space(count, in);
  for (int r = 0; r < count; r++)
    for (int i = 0; i < in; i++) {
      const float *row = dz + r * out, *column = rounded + w + (size_t)i * (size_t)out;
      double sum = 0;
      for (int o = 0; o < out; o++) sum += (double)row[o] * (double)column[o];
      dx[r * in + i] = (float)sum;
    }
  if (is_rounded) round_numbers(dx, (size_t)(count * in));
  return dx;
}

/* Checks the gradient at `place`, the column sums of x [count][columns]. */
static void check_sums(const char *what, const float *x, int count, int columns, size_t place) {
  float *sums = space(1, columns);
  for (int c = 0; c < columns; c++) {
    double sum = 0;
    for (int r = 0; r < count; r++) sum += (double)x[r * columns + c];
    sums[c] = (float)sum;
  }
  if (count > 0) assert_elements(what, sums, gradient + place, (size_t)columns, OPS_NUMBERS_FLOAT, ROUNDED_TWICE);
  free(sums);
}

/* dx: at the layer's output; becomes that before its messages. dembedded: of senders. */
static void check_messages(const OpsTransformerLayer *layer, float *dx, float *dembedded[2]) {
  float *dgathered[2];
  for (int s = 0; s < 2; s++) {
    const OpsMessage *m = &t.message[s];
    const int count = worlds * m->count, parts = m->ends + 1;
    float *want = space(count, W);
    host->entity->scatter_backward(host, here, m, dx, want);
    assert_rounded("dmessages", want, layer->dmessages[s], (size_t)(count * W));
    free(want);

    float *dz = numbers(layer->dmessages[s], (size_t)(count * W), OPS_NUMBERS_BF16);
    check_sums("bias of messages", dz, count, W, layer->message[s] + (size_t)(parts * W * W));
    dgathered[s] = product(dz, layer->message[s], count, parts * W, W, true);
    free(dz);
  }
  for (int s = 0; s < 2; s++) {
    host->entity->gather_backward(host, here, &t.message[s], dgathered[s], dx, dembedded[s]);
    round_numbers(dx, (size_t)(rows * W));
    free(dgathered[s]);
  }
}

/* Returns a part of [count][parts][W]. */
static float *part_of(const float *x, int parts, int part) {
  float *y = space(rows, W);
  for (int r = 0; r < rows; r++) memcpy(y + r * W, x + (r * parts + part) * W, W * sizeof *y);
  return y;
}

/* dx: at the gate's output; becomes that at its x, without the part by U, which is returned. relu: outputs of the layer
 * below, before which dz is. */
static float *check_gate(const OpsTransformerGate *gate, const float *input, const float *relu, const float *dz,
                         float *dx) {
  const size_t n = (size_t)(rows * W), u_w = gate->w + 3 * W * W;
  float *r = reset_numbers(gate), *z = entity_numbers(gate->z, W), *h = entity_numbers(gate->h, W);
  float *x = entity_numbers(input, W), *y = entity_numbers(relu, W), *dug = space(rows, W), *da = space(rows, 3 * W);
  float *du = space(rows, 2 * W), *dout = space(rows, W);

  memcpy(dout, dx, n * sizeof *dx);
  host->entity->gate_close_backward(host, dout, z, h, x, rows, W, dug, da, du, dx);
  float *dbias = part_of(du, 2, 1);
  for (size_t i = 0; i < n; i++) dbias[i] = -dbias[i];
  check_sums("gate: bias", dbias, rows, W, gate->w + 6 * W * W);
  round_numbers(dx, n);

  float *got_da = entity_numbers(gate->da, 3 * W), *got_dug = part_of(got_da, 3, 2);
  float *drx = product(got_dug, u_w + 2 * W * W, rows, W, W, true);
  host->entity->gate_open_backward(host, drx, r, x, rows, W, da, du, dx);
  assert_rounded("gate: da", da, gate->da, 3 * n);
  round_numbers(dx, n);

  float *got_du = space(rows, 2 * W);
  for (int i = 0; i < rows; i++) memcpy(got_du + i * 2 * W, got_da + i * 3 * W, 2 * W * sizeof *got_du);
  float *dy = product(got_da, gate->w, rows, W, 3 * W, false), *more = product(got_du, u_w, rows, W, 2 * W, true);
  for (size_t i = 0; i < n; i++) dy[i] *= derivative_at(OPS_RELU, y[i]);
  assert_bf16("gradient before ReLU", dy, dz, n);
  free(r), free(z), free(h), free(x), free(y), free(dug), free(da), free(du), free(dout), free(dbias), free(got_dug);
  free(drx), free(got_da), free(got_du), free(dy);
  return more;
}

/* dy: at the output of the norm of `input`. Adds `more` and the gradient there to dx. */
static void check_norm(const OpsTransformerNorm *norm, const float *input, float *dy, const float *more, float *dx) {
  const size_t n = (size_t)(rows * W);
  float *x = entity_numbers(input, W), *normalized = norm_of(norm, x, false), *y = norm_of(norm, x, true);
  float *moments = numbers(norm->moments, (size_t)(2 * rows), OPS_NUMBERS_FLOAT), *sums = space(2, W);
  float *inverse = space(rows, 1);
  for (int r = 0; r < rows; r++) inverse[r] = moments[2 * r + 1];
  host->norm_backward(host, normalized, inverse, theta + norm->gain, theta + norm->gain + W, y, dy, sums, sums + W,
                      rows, W, OPS_LINEAR);
  assert_elements("norm: gain", sums, gradient + norm->gain, W, OPS_NUMBERS_FLOAT, ROUNDED_TWICE);
  assert_elements("norm: offset", sums + W, gradient + norm->gain + W, W, OPS_NUMBERS_FLOAT, ROUNDED_TWICE);
  for (size_t i = 0; i < n; i++) dx[i] += more[i] + dy[i];
  round_numbers(dx, n);
  free(x), free(normalized), free(y), free(moments), free(inverse), free(sums);
}

/* Checks the layer from the gate's y to the norm's output: returns the gradient there. */
static float *check_dense(const OpsTransformerLayer *layer) {
  float *dz = entity_numbers(layer->ddense, W);
  check_sums("dense: bias", dz, rows, W, layer->dense_w + W * W);
  float *dy = product(dz, layer->dense_w, rows, W, W, true);
  free(dz);
  return dy;
}

static float *check_attention(const OpsTransformerLayer *layer) {
  enum { QKV = 3 * ATTENDED };
  const size_t n = (size_t)(rows * QKV);
  float *dz = entity_numbers(layer->dout, W), *qkv = numbers(layer->qkv, n, OPS_NUMBERS_FLOAT);
  float *want = space(rows, QKV);
  check_sums("out: bias", dz, rows, W, layer->out_w + ATTENDED * W);
  float *dattended = product(dz, layer->out_w, rows, ATTENDED, W, false);
  host->entity->attend_backward(host, here, &t.attention, qkv, dattended, want);
  assert_bf16("dqkv", want, layer->dqkv, n);

  float *dqkv = entity_numbers(layer->dqkv, QKV);
  check_sums("qkv: bias", dqkv, rows, QKV, layer->qkv_w + W * QKV);
  float *dy = product(dqkv, layer->qkv_w, rows, W, QKV, true);
  free(dz), free(qkv), free(want), free(dattended), free(dqkv);
  return dy;
}

static void check_layers(void) {
  float *dx = space(rows, W), *none = space(worlds, W), *dembedded[KINDS];
  float *weights = numbers(t.weights, (size_t)rows, OPS_NUMBERS_FLOAT);
  float *dout = numbers(dembedding, (size_t)(worlds * W), OPS_NUMBERS_FLOAT);
  for (int k = 0; k < KINDS; k++) dembedded[k] = space(worlds * t.kind[k].pack.count, W);
  host->entity->pool_backward(host, none, dout, weights, worlds, entities, W, OPS_LINEAR, dx);
  round_numbers(dx, (size_t)(rows * W));

  for (int i = LAYERS - 1; i >= 0; i--) {
    const OpsTransformerLayer *layer = &t.layer[i];
    const float *input = i > 0 ? t.layer[i - 1].gate_2.out : t.shapes;
    check_messages(layer, dx, dembedded + OPS_TRANSFORMER_SHAPES);
    float *more = check_gate(&layer->gate_2, layer->gate_1.out, layer->dense, layer->ddense, dx);
    float *dy = check_dense(layer);
    check_norm(&layer->norm_2, layer->gate_1.out, dy, more, dx);
    free(more), free(dy);
    more = check_gate(&layer->gate_1, input, layer->out, layer->dout, dx);
    dy = check_attention(layer);
    check_norm(&layer->norm_1, input, dy, more, dx);
    free(more), free(dy);
  }

  for (int k = 0; k < KINDS; k++) {
    const OpsTransformerKind *kind = &t.kind[k];
    const int count = worlds * kind->pack.count, width = kind->pack.width;
    float *y = numbers(kind->embedded, (size_t)(count * width), OPS_NUMBERS_FLOAT), *dz = space(count, W);
    if (kind->is_shape) host->entity->unpack(host, here, &kind->pack, dx, dembedded[k]);
    for (int i = 0; i < count * width; i++) dz[i / width * W + i % width] = dembedded[k][i] * (1 - y[i] * y[i]);
    if (count > 0) assert_rounded(NAMES[k], dz, kind->dembedded, (size_t)(count * W));
    free(dembedded[k]), free(y), free(dz);
  }
  free(dx), free(none), free(weights), free(dout);
}

/* ---- gradients of kernels ---------------------------------------------------------------------------------------- */

/* Checks the gradient at `place` of a kernel [in][out], of inputs x [count][in] and the columns of dz [count][stride]
 * from `first` on. */
static void check_kernel(const char *what, const float *x, int in, const float *dz, int stride, int first, int out,
                         int count, size_t place) {
  const size_t n = (size_t)(in * out);
  double *sum = core_memory_zero_allocate(n, sizeof *sum);
  float *dw = space(in, out);
  for (int r = 0; r < count; r++)
    for (int i = 0; i < in; i++)
      for (int o = 0; o < out; o++)
        sum[i * out + o] += (double)x[r * in + i] * (double)dz[r * stride + first + o];
  for (size_t i = 0; i < n; i++) dw[i] = (float)sum[i];
  if (count > 0) assert_floats(what, dw, gradient + place, n);
  free(sum), free(dw);
}

static void check_gate_kernels(const OpsTransformerGate *gate, const float *input, const float *of_y) {
  float *x = entity_numbers(input, W), *y = entity_numbers(of_y, W), *rx = reset_inputs(gate, x);
  float *da = entity_numbers(gate->da, 3 * W);
  check_kernel("gate: W", y, W, da, 3 * W, 0, 3 * W, rows, gate->w);
  check_kernel("gate: U", x, W, da, 3 * W, 0, 2 * W, rows, gate->w + 3 * W * W);
  check_kernel("gate: Ug", rx, W, da, 3 * W, 2 * W, W, rows, gate->w + 5 * W * W);
  free(x), free(y), free(rx), free(da);
}

static void check_layer_kernels(const OpsTransformerLayer *layer, const float *input) {
  enum { QKV = 3 * ATTENDED };
  float *x = entity_numbers(input, W), *middle = entity_numbers(layer->gate_1.out, W);
  float *y_1 = norm_of(&layer->norm_1, x, true), *y_2 = norm_of(&layer->norm_2, middle, true);
  float *attended = entity_numbers(layer->attended, ATTENDED), *dqkv = entity_numbers(layer->dqkv, QKV);
  float *dout = entity_numbers(layer->dout, W), *ddense = entity_numbers(layer->ddense, W);
  check_kernel("qkv", y_1, W, dqkv, QKV, 0, QKV, rows, layer->qkv_w);
  check_kernel("out", attended, ATTENDED, dout, W, 0, W, rows, layer->out_w);
  check_kernel("dense", y_2, W, ddense, W, 0, W, rows, layer->dense_w);
  free(x), free(middle), free(y_1), free(y_2), free(attended), free(dqkv), free(dout), free(ddense);

  for (int s = 0; s < 2; s++) {
    const int count = worlds * t.message[s].count, in = (t.message[s].ends + 1) * W;
    float *both = numbers(layer->gathered[s], (size_t)(count * in), OPS_NUMBERS_BF16);
    float *dz = numbers(layer->dmessages[s], (size_t)(count * W), OPS_NUMBERS_BF16);
    check_kernel("messages", both, in, dz, W, 0, W, count, layer->message[s]);
    free(both), free(dz);
  }
}

static void check_kernels(void) {
  for (int i = 0; i < LAYERS; i++) {
    const OpsTransformerLayer *layer = &t.layer[i];
    const float *input = i > 0 ? t.layer[i - 1].gate_2.out : t.shapes;
    check_gate_kernels(&layer->gate_1, input, layer->out);
    check_gate_kernels(&layer->gate_2, layer->gate_1.out, layer->dense);
    check_layer_kernels(layer, input);
  }

  for (int k = 0; k < KINDS; k++) {
    const OpsTransformerKind *kind = &t.kind[k];
    const int count = worlds * kind->pack.count, features = kind->features, width = kind->pack.width;
    float *padded = numbers(kind->copied, (size_t)(count * OPS_TRANSFORMER_FEATURES), OPS_NUMBERS_BF16);
    float *x = space(count, features);
    float *dz = numbers(kind->dembedded, (size_t)(count * W), OPS_NUMBERS_BF16), *ones = space(count, 1);
    for (int i = 0; i < count; i++) ones[i] = 1;
    for (int i = 0; i < count * features; i++)
      x[i] = padded[i / features * OPS_TRANSFORMER_FEATURES + i % features];
    check_kernel(NAMES[k], x, features, dz, W, 0, width, count, kind->w);
    check_kernel(NAMES[k], ones, 1, dz, W, 0, width, count, kind->w + (size_t)(features * width));
    free(padded), free(x), free(dz), free(ones);
  }
}

/* ---- on every device --------------------------------------------------------------------------------------------- */

static void backward(const Way *way) {
  const unsigned processors = device->processors;
  transform(way);
  float *dout = normals(91, (size_t)(worlds * W), 1);
  dembedding = UP(dout, (size_t)(worlds * W));
  gradient = unset(shape.parameters);
  device->processors = way->processors;
  assert_true(ops->entity->transform_backward(ops, there, &t, dembedding, gradient));
  ops->entity->finish(ops);
  device->processors = processors;
  free(dout);
}

static const Way WAYS[] = {{&SIM_SIZE_S, 35, 2}, {&SIM_SIZE_L, 16, 2}, {&SIM_SIZE_M, 27, 1}, {&SIM_SIZE_LOCO, 11, 1},
                           {&SIM_SIZE_S, 3, 1}};

static void check_way(const Way *way) {
  backward(way);
  check_layers();
  check_kernels();
}

static void run_all(void) { check_ways(WAYS, sizeof WAYS / sizeof *WAYS); }

/* The number of blocks does not change a bit of the sums, nor a world's place in a tile of its gradients. */
static void test_places(void **state) {
  enum { SHIFT = 5 };
  (void)state;
  device = core_device_emulated(CORE_DEVICE_FORWARD);
  open_ops();
  backward(&(Way){&SIM_SIZE_M, 27, 1});
  const size_t parameters = shape.parameters, each = (size_t)(t.kind[0].pack.count * W / 2);
  float *first = down(t.kind[0].dembedded, (size_t)worlds * each * sizeof *first);
  float *sums = down(gradient, parameters * sizeof *sums);
  forget_worlds();

  backward(&(Way){&SIM_SIZE_M, 27, 3});
  float *others = down(gradient, parameters * sizeof *others);
  assert_memory_equal(others, sums, parameters * sizeof *sums);

  there.x += SHIFT * there.stride;
  there.rows -= SHIFT;
  assert_true(ops->entity->transform(ops, there, &t, embedding));
  assert_true(ops->entity->transform_backward(ops, there, &t, dembedding + SHIFT * W, gradient));
  ops->entity->finish(ops);
  float *second = down(t.kind[0].dembedded, (size_t)worlds * each * sizeof *second);
  assert_memory_equal(second, first + SHIFT * each, (size_t)(worlds - SHIFT) * each * sizeof *first);
  free(first), free(sums), free(others), free(second);
  forget_worlds();
  close_ops();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
                                     cmocka_unit_test(test_isolated), cmocka_unit_test(test_places),
                                     cmocka_unit_test(test_gpu)};
  choose_device_tests();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
