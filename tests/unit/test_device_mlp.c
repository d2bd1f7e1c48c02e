/* Fused chains of layers in bf16 (kernels_mlp.h, device_mlp.c), element by element against float64 on the host with the
 * same, rounded inputs: each layer's outputs, gradients and weights' gradients from the device's own of the layer
 * before it. Rows fill no tile and no slab, and blocks have several tiles each. */
#include "trainer/ops/device/device_internal.h"
#define DEVICE_TESTS run_all
#include "tests/device_tools.h"
#include "device_buffers.h"
#include "bf16_tools.h"
#include "trainer/ops/update.h"

enum { ROWS_MAX = 700, WIDEST = 256 };
static Ops *ops;
static DeviceState *state;

/* Chain of `count` layers; out[count - 1] outputs. */
typedef struct Chain {
  int rows, in, count, out[OPS_MLP_LAYERS];
  OpsActivation last;
} Chain;

/* Chain on the device, and its parameters on the host, rounded. */
typedef struct Placed {
  Chain chain;
  OpsLayer layer[OPS_MLP_LAYERS];
  float *theta, *x, *dy;      /* on the host; x rounded */
  float *d_x, *d_dy, *d_gradient, *d_scratch;
  size_t parameters;
} Placed;

static size_t place_of(const Chain *chain, int l) {
  size_t place = 0;
  for (int i = 0; i < l; i++) place += ((size_t)(i > 0 ? chain->out[i - 1] : chain->in) + 1) * (size_t)chain->out[i];
  return place;
}

static Placed place_chain(const Chain *chain) {
  const size_t rows = (size_t)chain->rows, n = place_of(chain, chain->count);
  const size_t outputs = (size_t)chain->out[chain->count - 1];
  Placed p = {.chain = *chain, .theta = normals(1, n, 0.1), .x = rounded_normals(2, rows * (size_t)chain->in, 1),
              .dy = normals(3, rows * outputs, 1), .parameters = n};
  float *d_theta = UP(p.theta, n);
  p.d_x = UP(p.x, rows * (size_t)chain->in);
  p.d_dy = UP(p.dy, rows * outputs);
  float *unwritten = core_memory_allocate((n + 1) * sizeof *unwritten);
  memset(unwritten, 0xff, (n + 1) * sizeof *unwritten);
  p.d_gradient = UP(unwritten, n + 1);
  free(unwritten);
  float *nothing = core_memory_allocate((rows + 1) * WIDEST * sizeof *nothing);
  memset(nothing, 0xff, (rows + 1) * WIDEST * sizeof *nothing);
  p.d_scratch = UP(nothing, (rows + 1) * WIDEST);

  for (int l = 0; l < chain->count; l++) {
    const size_t place = place_of(chain, l);
    const int in = l > 0 ? chain->out[l - 1] : chain->in, out = chain->out[l];
    const size_t bias = place + (size_t)in * (size_t)out;
    p.layer[l] = (OpsLayer){.in = in, .out = out, .activation = l + 1 < chain->count ? OPS_TANH : chain->last,
                            .w = d_theta + place, .b = d_theta + bias, .y = UP(nothing, rows * (size_t)out),
                            .dw = p.d_gradient + place, .db = p.d_gradient + bias};
    for (size_t k = place; k < bias; k++) p.theta[k] = row_rounded(p.theta[k], OPS_BF16);
  }
  free(nothing);
  return p;
}

static void free_chain(Placed *p) {
  free(p->theta), free(p->x), free(p->dy);
  forget();
}

/* Returns n bf16 numbers of the device as floats. */
static float *widened(const void *memory, size_t n) {
  uint16_t *half = down(memory, n * sizeof *half);
  float *x = core_memory_allocate(n * sizeof *x);
  for (size_t i = 0; i < n; i++) x[i] = row_from_bf16(half[i]);
  free(half);
  return x;
}

/* c[m][n] = sum over k of a(i, k) b(k, j), whose elements are a_row and a_k apart, b_k and b_column. */
static float *product(size_t m, size_t n, size_t k, const float *a, size_t a_row, size_t a_k, const float *b,
                      size_t b_k, size_t b_column) {
  float *c = core_memory_allocate(m * n * sizeof *c);
  double *sum = core_memory_allocate(n * sizeof *sum);
  for (size_t i = 0; i < m; i++) {
    memset(sum, 0, n * sizeof *sum);
    for (size_t t = 0; t < k; t++)
      for (size_t j = 0; j < n; j++) sum[j] += (double)a[i * a_row + t * a_k] * (double)b[t * b_k + j * b_column];
    for (size_t j = 0; j < n; j++) c[i * n + j] = (float)sum[j];
  }
  free(sum);
  return c;
}

/* Returns the inputs of layer l on the host. */
static float *inputs_of(const Placed *p, int l) {
  const size_t n = (size_t)p->chain.rows * (size_t)p->layer[l].in;
  if (l > 0) return widened(p->layer[l - 1].y, n);
  float *x = core_memory_allocate(n * sizeof *x);
  memcpy(x, p->x, n * sizeof *x);
  return x;
}

/* Asserts a number in bf16 within one rounding and the device's approximations, or a float within these. */
static void assert_matrix(const char *what, int l, const float *want, const void *memory, size_t n, bool is_bf16) {
  char name[64];
  snprintf(name, sizeof name, "layer %d: %s", l, what);
  const double bound = 3 * tolerance_of_device();
  if (!is_bf16) {
    assert_elements(name, want, memory, n, OPS_NUMBERS_FLOAT, bound);
    return;
  }
  uint16_t *got = down(memory, n * sizeof *got);
  for (size_t i = 0; i < n; i++) {
    const double x = (double)row_from_bf16(got[i]), error = fabs(x - (double)want[i]);
    if (!(error <= fabs((double)want[i]) * ROUNDED + bound))
      fail_msg("%s: element %zu of %zu: %.7g there, %.7g here", name, i, n, x, (double)want[i]);
  }
  free(got);
}

/* Asserts that the room of n floats after n bf16 numbers is as place_chain left it. */
static void assert_unwritten(const void *memory, size_t n) {
  uint16_t *got = down(memory, n * sizeof(float));
  for (size_t i = n; i < 2 * n; i++) assert_int_equal(got[i], 0xffff);
  free(got);
}

static void check_forward(const Placed *p) {
  const size_t rows = (size_t)p->chain.rows;
  ops->chain_forward(ops, p->d_x, p->layer, p->chain.count, p->chain.rows);
  for (int l = 0; l < p->chain.count; l++) {
    const OpsLayer *layer = &p->layer[l];
    const size_t in = (size_t)layer->in, out = (size_t)layer->out, place = place_of(&p->chain, l);
    float *x = inputs_of(p, l), *z = product(rows, out, in, x, in, 1, p->theta + place, out, 1);
    for (size_t i = 0; i < rows * out; i++) {
      z[i] += p->theta[place + in * out + i % out];
      if (layer->activation == OPS_TANH) z[i] = tanhf(z[i]);
    }
    assert_matrix("outputs", l, z, layer->y, rows * out, l + 1 < p->chain.count);
    if (l + 1 < p->chain.count) assert_unwritten(layer->y, rows * out);
    free(x), free(z);
  }
}

/* Returns where the device stored the gradient before layer l's activation; NULL: not at all. */
static const uint16_t *gradient_place(const Placed *p, int l) {
  const size_t rows = (size_t)p->chain.rows;
  if (p->layer[l].out < OPS_MLP_WARP) return NULL;
  const uint16_t *place = (const uint16_t *)(const void *)(l < 2 ? p->d_scratch : state->product);
  for (int i = l < 2 ? 0 : 2; i < l; i++) place += rows * (size_t)p->layer[i].out;
  return place;
}

/* Returns that gradient on the host. */
static float *gradient_of(const Placed *p, int l) {
  const size_t n = (size_t)p->chain.rows * (size_t)p->layer[l].out;
  if (gradient_place(p, l)) return widened(gradient_place(p, l), n);
  float *dz = core_memory_allocate(n * sizeof *dz);
  for (size_t i = 0; i < n; i++) dz[i] = row_rounded(p->dy[i], OPS_BF16);
  return dz;
}

/* The gradient before the last activation, and that of each layer below from that of the layer above. */
static void check_gradients(const Placed *p) {
  const size_t rows = (size_t)p->chain.rows;
  const int last = p->chain.count - 1;
  if (gradient_place(p, last)) {
    const size_t n = rows * (size_t)p->layer[last].out;
    float *want = down(p->layer[last].y, n * sizeof *want);
    for (size_t i = 0; i < n; i++) want[i] = p->dy[i] * derivative_at(p->chain.last, want[i]);
    assert_matrix("gradient", last, want, gradient_place(p, last), n, true);
    free(want);
  }
  for (int l = last; l > 0; l--) {
    const size_t in = (size_t)p->layer[l].in, out = (size_t)p->layer[l].out;
    float *dz = gradient_of(p, l), *y = inputs_of(p, l);
    float *want = product(rows, in, out, dz, out, 1, p->theta + place_of(&p->chain, l), 1, out);
    for (size_t i = 0; i < rows * in; i++) want[i] *= derivative_at(OPS_TANH, y[i]);
    assert_matrix("gradient below", l, want, gradient_place(p, l - 1), rows * in, true);
    free(dz), free(y), free(want);
  }
}

static void check_weights(const Placed *p) {
  const size_t rows = (size_t)p->chain.rows;
  for (int l = 0; l < p->chain.count; l++) {
    const size_t in = (size_t)p->layer[l].in, out = (size_t)p->layer[l].out;
    float *dz = gradient_of(p, l), *x = inputs_of(p, l), *ones = core_memory_allocate(rows * sizeof *ones);
    for (size_t r = 0; r < rows; r++) ones[r] = 1;
    float *dw = product(in, out, rows, x, 1, in, dz, out, 1), *db = product(1, out, rows, ones, 0, 1, dz, out, 1);
    assert_matrix("gradient of weights", l, dw, p->layer[l].dw, in * out, false);
    assert_matrix("gradient of biases", l, db, p->layer[l].db, out, false);
    free(dz), free(x), free(ones), free(dw), free(db);
  }
  float *end = down(p->d_gradient + p->parameters, sizeof *end);
  assert_true(isnan(*end)); /* nothing is written after the gradients */
  free(end);
}

static void check_input_gradient(const Placed *p, const float *d_dx) {
  const size_t rows = (size_t)p->chain.rows, in = (size_t)p->chain.in, out = (size_t)p->layer[0].out;
  float *dz = gradient_of(p, 0), *dx = product(rows, in, out, dz, out, 1, p->theta, 1, out);
  assert_matrix("gradient of inputs", 0, dx, d_dx, rows * in, false);
  free(dz), free(dx);
}

static void check_chain(const Chain *chain) {
  Placed p = place_chain(chain);
  float *d_dx = UP(p.x, (size_t)chain->rows * (size_t)chain->in);
  uint64_t launches = device->launches;
  check_forward(&p);
  assert_int_equal(device->launches - launches, 3); /* parameters and inputs are rounded, and all layers */

  launches = device->launches;
  const bool has_dx = chain->last == OPS_TANH;
  ops->chain_backward(ops, p.d_x, p.layer, chain->count, p.d_dy, has_dx ? d_dx : NULL, p.d_scratch, chain->rows, NULL);
  if (!has_dx) assert_int_equal(device->launches - launches, 4); /* inputs, gradients of rows, of weights, their fold */
  check_gradients(&p);
  check_weights(&p);
  if (has_dx) check_input_gradient(&p, d_dx);
  free_chain(&p);
}

/* ---- pass, loss and gradients in one launch ---------------------------------------------------------------------- */

/* Results of a pass, on the host. */
typedef struct Learnt {
  float *output, *dy, *gradient;
  OpsUpdateStats *stats;
} Learnt;

/* Inputs of a loss: a policy's if `head` has logits, else of values. d_rows [3][rows] and d_classes on the device. */
typedef struct Loss {
  OpsHead head;
  const float *d_rows;
  const uint8_t *d_classes;
} Loss;

static Learnt learn(const Placed *p, const Loss *loss, bool is_expected, uint64_t *launches) {
  const int rows = p->chain.rows, last = p->chain.count - 1;
  const float *output = p->layer[last].y;
  const size_t outputs = (size_t)rows * (size_t)p->layer[last].out;
  device->fill(device, (void *)(uintptr_t)output, 0xff, outputs * sizeof(float));
  device->fill(device, p->d_dy, 0xff, outputs * sizeof(float));
  device->fill(device, p->d_gradient, 0xff, p->parameters * sizeof(float));
  device->fill(device, state->stats, 0, sizeof *state->stats);

  const uint64_t before = device->launches;
  if (is_expected) ops->expect_loss(ops);
  ops->chain_forward(ops, p->d_x, p->layer, p->chain.count, rows);
  if (loss->head.logits > 0)
    ops->policy_loss(ops, &loss->head, output, loss->d_classes, loss->d_rows, NULL, loss->d_rows + rows, rows, 0.2,
                     0.01, p->d_dy, NULL);
  else
    ops->value_loss(ops, output, loss->d_rows, loss->d_rows + rows, rows, 1, 0.2, 0.5, p->d_dy, NULL);
  ops->chain_backward(ops, p->d_x, p->layer, p->chain.count, p->d_dy, NULL, p->d_scratch, rows, NULL);
  *launches = device->launches - before;

  return (Learnt){down(output, outputs * sizeof(float)), down(p->d_dy, outputs * sizeof(float)),
                  down(p->d_gradient, p->parameters * sizeof(float)), down(state->stats, sizeof *state->stats)};
}

/* Asserts the bits of a pass, a loss and gradients of rows in a launch each, which other tests check. counted: rows
 * that are no padding. */
static void check_learning(const Chain *chain, int factors, uint32_t counted) {
  Placed p = place_chain(chain);
  const size_t rows = (size_t)chain->rows;
  const int logits = chain->out[chain->count - 1];
  Loss loss = {.head = {.factors = factors, .logits = factors > 0 ? logits : 0, .kind = OPS_MULTI_DISCRETE}};
  for (int f = 0; f < factors; f++) loss.head.size[f] = logits / factors + (f == 0 ? logits % factors : 0);
  float *values = normals(5, 2 * rows, 1);
  uint8_t *classes = core_memory_zero_allocate(rows * (size_t)(factors + 1), 1);
  for (size_t i = 0; i < rows * (size_t)factors; i++) classes[i] = (uint8_t)(i * 7 % (size_t)(logits / factors));
  for (size_t r = 0; factors > 0 && r < rows; r++) values[r] = -(float)factors; /* log-probs of the behavior */
  loss.d_rows = UP(values, 2 * rows);
  loss.d_classes = UP(classes, rows * (size_t)(factors + 1));
  OpsUpdateStats stats = {0};
  state->stats = UP(&stats, 1);
  state->count = UP(&counted, 1);

  uint64_t launches[2];
  Learnt apart = learn(&p, &loss, false, &launches[0]), one = learn(&p, &loss, true, &launches[1]);
  assert_int_equal(launches[0] - launches[1], 2);
  const size_t outputs = rows * (size_t)logits;
  for (size_t i = 0; i < outputs; i++) assert_true(isfinite(one.output[i]) && isfinite(one.dy[i]));
  assert_memory_equal(one.output, apart.output, outputs * sizeof(float));
  assert_memory_equal(one.dy, apart.dy, outputs * sizeof(float));
  assert_memory_equal(one.gradient, apart.gradient, p.parameters * sizeof(float));
  assert_memory_equal(one.stats, apart.stats, sizeof *one.stats);
  assert_true(one.stats->now[factors > 0 ? OPS_STATS_POLICY : OPS_STATS_VALUE] != 0);

  free(apart.output), free(apart.dy), free(apart.gradient), free(apart.stats);
  free(one.output), free(one.dy), free(one.gradient), free(one.stats);
  free(values), free(classes);
  state->stats = NULL;
  state->count = NULL;
  free_chain(&p);
}

/* A pass that waits for its loss runs before a loss whose sums are wanted, and before gradients that are watched. */
static void note_layer(void *context, int layer) { *(int *)context += layer >= 0; }
static void check_flush(void) {
  Placed p = place_chain(&(Chain){40, 20, 2, {64, 1}, OPS_LINEAR});
  float *values = normals(5, 80, 1), *d_values = UP(values, 80);
  OpsValueSums sums = {0};
  ops->expect_loss(ops);
  ops->chain_forward(ops, p.d_x, p.layer, 2, 40);
  ops->value_loss(ops, p.layer[1].y, d_values, d_values + 40, 40, 1, 0.2, 0.5, p.d_dy, &sums);
  assert_true(isfinite(sums.loss) && sums.loss > 0);

  OpsUpdateStats stats = {0};
  state->stats = UP(&stats, 1);
  int layers = 0;
  ops->expect_loss(ops);
  ops->chain_forward(ops, p.d_x, p.layer, 2, 40);
  ops->value_loss(ops, p.layer[1].y, d_values, d_values + 40, 40, 1, 0.2, 0.5, p.d_dy, NULL);
  ops->chain_backward(ops, p.d_x, p.layer, 2, p.d_dy, NULL, p.d_scratch, 40, &(OpsWatch){note_layer, &layers});
  OpsUpdateStats *got = down(state->stats, sizeof *got);
  assert_true(got->now[OPS_STATS_VALUE] == sums.loss);
  assert_int_equal(layers, 2);
  free(got), free(values);
  state->stats = NULL;
  free_chain(&p);
}

static void begin(unsigned processors) {
  if (ops_device_create(device, OPS_BF16, ROWS_MAX, WIDEST, false, &ops) != CORE_OK)
    fail_msg("%s", core_error_message());
  state = device_state(ops);
  device->processors = processors;
}

static void end(void) {
  ops_destroy(&ops);
  core_device_close(&device);
}

static void run_all(void) {
  begin(2);
  check_chain(&(Chain){301, 98, 4, {256, 256, 256, 31}, OPS_LINEAR});
  check_chain(&(Chain){650, 41, 2, {64, 1}, OPS_LINEAR});
  check_chain(&(Chain){257, 256, 3, {128, 64, 5}, OPS_LINEAR});
  check_chain(&(Chain){130, 140, 3, {64, 256, 128}, OPS_TANH});
  check_chain(&(Chain){129, 16, 5, {64, 64, 128, 64, 63}, OPS_LINEAR});
  check_chain(&(Chain){700, 128, 6, {128, 128, 256, 128, 128, 31}, OPS_LINEAR}); /* all of the scratch */
  check_chain(&(Chain){33, 128, 1, {64}, OPS_TANH});
  check_chain(&(Chain){100, 64, 2, {128, 64}, OPS_LINEAR});
  check_learning(&(Chain){301, 98, 3, {128, 64, 31}, OPS_LINEAR}, 6, 301);
  check_learning(&(Chain){300, 98, 2, {64, 60}, OPS_LINEAR}, 5, 290);
  check_learning(&(Chain){600, 30, 3, {64, 256, 1}, OPS_LINEAR}, 0, 256);
  check_flush();
  end();
}

/* Shared memory is checked, too: reading another thread's value without a barrier gives another result. */
static void test_isolated(void **unused) {
  (void)unused;
  device = core_device_emulated(CORE_DEVICE_ISOLATED);
  begin(1);
  check_chain(&(Chain){140, 41, 3, {64, 64, 3}, OPS_LINEAR});
  check_learning(&(Chain){140, 20, 2, {64, 6}, OPS_LINEAR}, 2, 139);
  end();
}

/* Chains that the rule leaves to other kernels, and TRAINER_FUSED=off. */
static void test_rule(void **unused) {
  (void)unused;
  device = core_device_emulated(CORE_DEVICE_FORWARD);
  begin(2);
  static const Chain others[] = {
    {10, 98, 2, {96, 31}, OPS_LINEAR}, {10, 257, 2, {64, 31}, OPS_LINEAR}, {10, 64, 2, {64, 65}, OPS_LINEAR},
    {10, 64, 2, {64, 31}, OPS_TANH}, {10, 64, 1, {31}, OPS_LINEAR},
    {10, 64, 6, {64, 64, 256, 256, 64, 31}, OPS_LINEAR}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    Placed p = place_chain(&others[i]);
    assert_false(device_mlp_takes(state, p.layer, others[i].count));
    free_chain(&p);
  }

  Placed p = place_chain(&(Chain){10, 98, 3, {64, 64, 31}, OPS_LINEAR});
  assert_true(device_mlp_takes(state, p.layer, 3));
  p.layer[1].activation = OPS_RELU;
  assert_false(device_mlp_takes(state, p.layer, 3));
  p.layer[1].activation = OPS_TANH;
  device->shared_bytes = OPS_MLP_BACKWARD_BYTES - 1;
  assert_false(device_mlp_takes(state, p.layer, 3));
  device->shared_bytes = OPS_MLP_BACKWARD_BYTES;
  assert_true(device_mlp_takes(state, p.layer, 3));
  ops_destroy(&ops);

  setenv("TRAINER_FUSED", "off", 1);
  begin(2);
  assert_false(device_mlp_takes(state, p.layer, 3));
  ops_destroy(&ops);
  setenv("TRAINER_FUSED", "no", 1);
  assert_int_equal(ops_device_create(device, OPS_BF16, ROWS_MAX, WIDEST, false, &ops), CORE_USAGE);
  unsetenv("TRAINER_FUSED");
  free_chain(&p);
  core_device_close(&device);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
                                     cmocka_unit_test(test_isolated), cmocka_unit_test(test_rule),
                                     cmocka_unit_test(test_gpu)};
  choose_device_tests();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
