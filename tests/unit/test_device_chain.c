/* trainer/ops/device/device_chain.c: chains whose hidden layers are bf16 in the device's memory, against the CPU's
 * bf16 chain, which rounds the same factors but keeps intermediate values in float32; and the fused epilogues of
 * ReLU against the kernels that replace them if the library does not support them. On a machine with a GPU the same
 * comparisons run there. */
#include "test.h"

#include "core/memory.h"
#include "tests/unit/ops_tools.h"
#include "trainer/ops/device/device_internal.h"
#define DEVICE_TESTS run_all
#include "tests/device_tools.h"

enum { LAYERS = 4, ROWS = 301, WIDEST = 256, FLOATS = 200000, FLOATS_OF_ROW = 1280 };

/* Network-shaped: rows of 33 inputs are no multiple of anything, hidden layers are, one output is the value's. */
static const int WIDTHS[][LAYERS + 1] = {{33, 64, 96, 32, 16}, {33, 96, 96, 64, 1}, {20, 24, 5, 40, 7}};
enum { SHAPES = sizeof WIDTHS / sizeof *WIDTHS };

/* A chain on the host, and where its arrays begin in a block of floats on the device. */
typedef struct Chain {
  int rows;
  const int *width;
  OpsActivation activation;
  size_t floats;
  float *host, *memory;        /* [floats] */
  size_t x, dy, dx, scratch, theta, gradient, y[LAYERS];
  size_t used;
} Chain;

static size_t take(Chain *chain, size_t n) {
  const size_t first = chain->used;
  chain->used += (n + 63) / 64 * 64;
  assert_true(chain->used <= chain->floats);
  return first;
}

static void draw(Chain *chain, size_t first, size_t n, uint32_t stream, double scale) {
  float *x = normals(stream, n, scale);
  memcpy(chain->host + first, x, n * sizeof *x);
  free(x);
}

static size_t parameters(const Chain *chain, int layers) {
  size_t n = 0;
  for (int l = 0; l < layers; l++) n += ((size_t)chain->width[l] + 1) * (size_t)chain->width[l + 1];
  return n;
}

static Chain make_chain(const int *width, int rows, OpsActivation activation) {
  Chain chain = {.rows = rows, .width = width, .activation = activation,
                 .floats = FLOATS + FLOATS_OF_ROW * (size_t)rows};
  chain.host = core_memory_zero_allocate(chain.floats, sizeof(float));
  const size_t n = (size_t)rows;
  draw(&chain, chain.x = take(&chain, n * (size_t)width[0]), n * (size_t)width[0], 1, 1);
  draw(&chain, chain.dy = take(&chain, n * (size_t)width[LAYERS]), n * (size_t)width[LAYERS], 2, 1);
  chain.dx = take(&chain, n * (size_t)width[0]);
  chain.scratch = take(&chain, 2 * n * WIDEST);
  chain.theta = take(&chain, parameters(&chain, LAYERS));
  chain.gradient = take(&chain, parameters(&chain, LAYERS));
  for (int l = 0; l < LAYERS; l++) {
    const size_t kernel = (size_t)width[l] * (size_t)width[l + 1], first = chain.theta + parameters(&chain, l);
    draw(&chain, first, kernel, 10 + (uint32_t)l, 1.4 / sqrt(width[l]));
    draw(&chain, first + kernel, (size_t)width[l + 1], 20 + (uint32_t)l, 0.3);
    chain.y[l] = take(&chain, n * (size_t)width[l + 1]);
  }
  assert_int_equal(device->allocate(device, chain.floats * sizeof(float), (void **)&chain.memory), CORE_OK);
  core_device_to_device(device, chain.memory, chain.host, chain.floats * sizeof(float));
  return chain;
}

static void free_chain(Chain *chain) {
  device->release(device, chain->memory);
  free(chain->host);
}

/* Layers in one block, as they follow each other in a network's vector. */
static void lay_out(const Chain *chain, float *block, OpsLayer *layers) {
  for (int l = 0; l < LAYERS; l++) {
    const size_t in = (size_t)chain->width[l], out = (size_t)chain->width[l + 1], first = parameters(chain, l);
    float *theta = block + chain->theta + first, *gradient = block + chain->gradient + first;
    layers[l] = (OpsLayer){chain->width[l], chain->width[l + 1], l + 1 < LAYERS ? chain->activation : OPS_LINEAR, theta,
                           theta + in * out, block + chain->y[l], gradient, gradient + in * out};
  }
}

typedef struct Order { int layer[LAYERS], count; } Order;
static void note(void *context, int layer) {
  Order *order = context;
  order->layer[order->count++] = layer;
}

static void run(Ops *ops, const Chain *chain, float *block, Order *order) {
  OpsLayer layers[LAYERS];
  lay_out(chain, block, layers);
  ops->chain_forward(ops, block + chain->x, layers, LAYERS, chain->rows);
  ops->chain_backward(ops, block + chain->x, layers, LAYERS, block + chain->dy, block + chain->dx,
                      block + chain->scratch, chain->rows, &(OpsWatch){note, order});
}

static Ops *device_ops(int refuses) {
  Ops *ops;
  if (ops_device_create(device, OPS_BF16, ROWS, WIDEST, false, &ops) != CORE_OK) fail_msg("%s", core_error_message());
  device_state(ops)->refuses = refuses;
  return ops;
}

/* Distance in units of the length of `want`. */
static double apart(const float *got, const float *want, size_t n) {
  double distance = 0, length = 0;
  for (size_t i = 0; i < n; i++) {
    distance += pow((double)got[i] - (double)want[i], 2);
    length += pow((double)want[i], 2);
  }
  return sqrt(distance / length);
}

static float *fetch(const Chain *chain) {
  float *got = core_memory_allocate(chain->floats * sizeof *got);
  core_device_to_host(device, got, chain->memory, chain->floats * sizeof *got);
  return got;
}

/* ---- against the definition and the CPU -------------------------------------------------------------------------- */

static void assert_near_to(const char *what, int layer, double error, double most) {
  if (!(error <= most)) fail_msg("%s of layer %d: relative error %.3g, at most %.3g", what, layer, error, most);
}

static float rounded(float x) { return row_rounded(x, OPS_BF16); }
static void round_all(float *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = rounded(x[i]);
}

/* c[m][n] = a b, terms in order; a[m][k] or, transposed, [k][m]. */
static void product(const float *a, bool transpose_a, const float *b, bool transpose_b, size_t m, size_t n, size_t k,
                    float *c) {
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < n; j++) {
      float sum = 0;
      for (size_t l = 0; l < k; l++)
        sum += (transpose_a ? a[l * m + i] : a[i * k + l]) * (transpose_b ? b[j * k + l] : b[l * n + j]);
      c[i * n + j] = sum;
    }
}

/* A mask's row of 16 bytes does not fit after a few floats. */
static bool is_fused(const OpsLayer *layer) { return layer->activation == OPS_RELU && layer->out > 8; }

/* Computes the result that device_chain.c documents, in plain loops on the host: every rounding at its place. The
 * outputs of hidden layers and their gradients in chain->host are as they stand in bf16. fused: ReLU leaves with the
 * product. */
static void define_chain(const Chain *chain, bool fused) {
  OpsLayer layers[LAYERS];
  const size_t rows = (size_t)chain->rows;

  lay_out(chain, chain->host, layers);
  float *x = core_memory_allocate(rows * (size_t)chain->width[0] * sizeof *x), *w[LAYERS], *z[LAYERS];
  memcpy(x, chain->host + chain->x, rows * (size_t)chain->width[0] * sizeof *x);
  round_all(x, rows * (size_t)chain->width[0]);

  for (int l = 0; l < LAYERS; l++) {
    const OpsLayer *layer = &layers[l];
    const size_t in = (size_t)layer->in, out = (size_t)layer->out;
    const bool last = l + 1 == LAYERS, in_product = last || (fused && is_fused(layer));

    w[l] = core_memory_allocate(in * out * sizeof *w[l]), z[l] = core_memory_allocate(rows * out * sizeof *z[l]);
    memcpy(w[l], layer->w, in * out * sizeof *w[l]);
    round_all(w[l], in * out);
    product(l > 0 ? layers[l - 1].y : x, false, w[l], false, rows, out, in, z[l]);

    for (size_t i = 0; i < rows * out; i++) {
      const float b = layer->b[i % out];
      z[l][i] = in_product ? z[l][i] + (last ? b : rounded(b)) : rounded(z[l][i]) + b;
      layer->y[i] = ops_activate_one(layer->activation, z[l][i]);
    }
    if (!last) round_all(layer->y, rows * out);
  }

  float *dz = core_memory_allocate(rows * WIDEST * sizeof *dz),
        *below = core_memory_allocate(rows * WIDEST * sizeof *below);
  memcpy(dz, chain->host + chain->dy, rows * (size_t)chain->width[LAYERS] * sizeof *dz);

  for (int l = LAYERS - 1; l >= 0; l--) {
    const OpsLayer *layer = &layers[l];
    const size_t in = (size_t)layer->in, out = (size_t)layer->out;
    const bool in_product = fused && l + 1 < LAYERS && is_fused(layer);
    for (size_t i = 0; i < rows * out; i++)
      dz[i] *= ops_derivative_one(layer->activation, layer->activation == OPS_SILU ? z[l][i] : layer->y[i]);

    for (size_t c = 0; c < out; c++) {
      double sum = 0;
      for (size_t r = 0; r < rows; r++) sum += (double)(l + 1 < LAYERS ? rounded(dz[r * out + c]) : dz[r * out + c]);
      layer->db[c] = in_product ? rounded((float)sum) : (float)sum;
    }

    round_all(dz, rows * out);
    product(l > 0 ? layers[l - 1].y : x, true, dz, false, in, out, rows, layer->dw);
    product(dz, false, w[l], true, rows, in, out, below);
    if (l > 0) round_all(below, rows * in);
    else memcpy(chain->host + chain->dx, below, rows * in * sizeof *below);
    memcpy(dz, below, rows * in * sizeof *dz);
    free(w[l]), free(z[l]);
  }

  free(x), free(dz), free(below);
}

/* Converts n bf16 numbers to as many floats in their place. */
static void widen(float *numbers, size_t n) {
  for (size_t i = n; i-- > 0;) {
    uint16_t half;
    memcpy(&half, (const char *)numbers + i * sizeof half, sizeof half);
    numbers[i] = row_from_bf16(half);
  }
}

/* Compares a chain on the device with the host's block: no further apart than `most`, gradients `most_gradient`. */
static void compare(Ops *ops, const Chain *chain, double most, double most_gradient) {
  float *got = fetch(chain);
  for (int l = 0; l < LAYERS; l++) {
    const size_t in = (size_t)chain->width[l], out = (size_t)chain->width[l + 1], n = (size_t)chain->rows * out;
    const size_t first = chain->gradient + parameters(chain, l);
    if (l + 1 < LAYERS && ops->stores_bf16) widen(got + chain->y[l], n);
    assert_near_to("output", l, apart(got + chain->y[l], chain->host + chain->y[l], n), most);
    assert_near_to("kernel's gradient", l, apart(got + first, chain->host + first, in * out), most_gradient);
    assert_near_to("bias's gradient", l, apart(got + first + in * out, chain->host + first + in * out, out),
                   most_gradient);
  }
  assert_near_to("input's gradient", 0, apart(got + chain->dx, chain->host + chain->dx,
                                              (size_t)chain->rows * (size_t)chain->width[0]), most_gradient);
  free(got);
}

/* A GPU sums in another order, so that a number near the middle between two of bf16 may go the other way; its library
 * may have no epilogue for some shape, which moves roundings: up to 12 % of a bias's gradient of 70
 * rows (with ReLU). */
static void check_definition(const int *width, int rows, OpsActivation activation, int refuses) {
  Ops *ops = device_ops(refuses);
  Chain chain = make_chain(width, rows, activation);
  Order order = {{0}, 0};
  run(ops, &chain, chain.memory, &order);
  assert_int_equal(order.count, LAYERS);
  for (int i = 0; i < LAYERS; i++) assert_int_equal(order.layer[i], LAYERS - 1 - i);
  define_chain(&chain, !refuses);
  const bool is_approximate = getenv("CORE_DEVICE_CODE") && activation != OPS_LINEAR && activation != OPS_RELU;
  if (device->stream) compare(ops, &chain, 1e-2, 0.2);
  else if (is_approximate) compare(ops, &chain, 6e-3, 5e-2); /* nvcc's code has the GPU's approximations */
  else compare(ops, &chain, 1e-6, 1e-5);
  free_chain(&chain);
  ops_destroy(&ops);
}

/* The CPU rounds the same factors and keeps all else in float32. What bf16 in memory adds is within 0.6 % of outputs
 * and 1% of gradients, except for ReLU, where a value near 0 that falls on the other side affects a row's entire
 * gradient along. */
static void check_host(const int *width, int rows, OpsActivation activation) {
  Ops *host, *ops = device_ops(0);
  Chain chain = make_chain(width, rows, activation);
  Order on_host = {{0}, 0}, order = {{0}, 0};
  assert_int_equal(ops_cpu_create_bf16(1, ROWS, WIDEST, &host), CORE_OK);
  run(host, &chain, chain.host, &on_host);
  run(ops, &chain, chain.memory, &order);
  assert_true(host->flops == ops->flops);
  compare(ops, &chain, 0.006, activation == OPS_RELU || activation == OPS_ELU ? 0.12 : 0.01);
  free_chain(&chain);
  ops_destroy(&host), ops_destroy(&ops);
}

static void test_every_activation(void) {
  for (size_t s = 0; s < SHAPES; s++)
    for (OpsActivation a = OPS_LINEAR; a <= OPS_ELU; a++) {
      const int rows = s == 0 ? ROWS : 70;
      for (int refuses = 0; refuses < 2; refuses++) check_definition(WIDTHS[s], rows, a, refuses);
      check_host(WIDTHS[s], rows, a);
    }
}

/* The product, the derivative and the sums in one kernel or in three: on the emulator, which adds up terms in one
 * order, the same bits. */
static void check_tiles(const int *width, int rows, OpsActivation activation) {
  Chain chain = make_chain(width, rows, activation);
  const size_t n = parameters(&chain, LAYERS), inputs = (size_t)rows * (size_t)width[0];
  float *got[2];
  for (int refuses = 0; refuses < 2; refuses++) {
    Ops *ops = device_ops(refuses);
    Order order = {{0}, 0};
    core_device_to_device(device, chain.memory, chain.host, chain.floats * sizeof(float));
    run(ops, &chain, chain.memory, &order);
    got[refuses] = fetch(&chain);
    ops_destroy(&ops);
  }
  if (device->stream) {
    assert_near_to("gradient", LAYERS, apart(got[0] + chain.gradient, got[1] + chain.gradient, n), 0.01);
    assert_near_to("input's gradient", 0, apart(got[0] + chain.dx, got[1] + chain.dx, inputs), 0.01);
  } else {
    assert_memory_equal(got[0] + chain.gradient, got[1] + chain.gradient, n * sizeof(float));
    assert_memory_equal(got[0] + chain.dx, got[1] + chain.dx, inputs * sizeof(float));
  }
  free(got[0]), free(got[1]);
  free_chain(&chain);
}

static void test_tiles(void) {
  const unsigned processors = device->processors;
  static const int widest[] = {33, 256, 256, 64, 30}, odd[] = {17, 128, 64, 192, 9}, value[] = {20, 64, 48, 128, 1};
  check_tiles(widest, 70, OPS_TANH);
  device->processors = 1; /* so blocks have several tiles, as with many rows */
  check_tiles(widest, ROWS, OPS_TANH);
  device->processors = processors;
  check_tiles(odd, 259, OPS_ELU);
  check_tiles(odd, 64, OPS_LINEAR);
  check_tiles(value, 40, OPS_TANH);
}

/* Checks the memory of a ReLU layer after a pass: its values, then a bit for each that is above 0. The order of the
 * bits is the library's own, so only the emulator's is looked at. */
static void test_masks(void) {
  Ops *ops = device_ops(0);
  Chain chain = make_chain(WIDTHS[1], ROWS, OPS_RELU);
  Order order = {{0}, 0};
  const size_t columns = (size_t)WIDTHS[1][1], words = ops_mask_words(columns), n = ROWS * columns;
  run(ops, &chain, chain.memory, &order);
  float *got = fetch(&chain);
  const uint16_t *y = (const uint16_t *)(const void *)(got + chain.y[0]);
  const uint32_t *mask = (const uint32_t *)(const void *)((const char *)y + (n * sizeof *y + 255) / 256 * 256);
  int above = 0;
  for (size_t i = 0; i < n && device->stream == NULL; i++) {
    const size_t row = i / columns, c = i % columns;
    const bool bit = mask[row * words + c / 32] >> c % 32 & 1;
    assert_int_equal(bit, row_from_bf16(y[i]) > 0);
    above += bit;
  }
  assert_true(device->stream || (above > (int)n / 4 && above < (int)n * 3 / 4));
  free(got);
  free_chain(&chain);
  ops_destroy(&ops);
}

/* Two runs give the same bits, and so does a chain whose layers' parameters lie apart. */
static void test_the_same_again(void) {
  float *got[2], *apart_from[LAYERS];
  Ops *ops = device_ops(0);
  Chain chain = make_chain(WIDTHS[0], ROWS, OPS_TANH);
  OpsLayer layers[LAYERS];

  for (int time = 0; time < 2; time++) {
    Order order = {{0}, 0};
    core_device_to_device(device, chain.memory, chain.host, chain.floats * sizeof(float));
    run(ops, &chain, chain.memory, &order);
    got[time] = fetch(&chain);
  }
  assert_memory_equal(got[0] + chain.gradient, got[1] + chain.gradient, parameters(&chain, LAYERS) * sizeof(float));

  lay_out(&chain, chain.memory, layers);
  for (int l = 0; l < LAYERS; l++) {
    const size_t kernel = (size_t)layers[l].in * (size_t)layers[l].out;
    assert_int_equal(device->allocate(device, kernel * sizeof(float), (void **)&apart_from[l]), CORE_OK);
    core_device_copy(device, apart_from[l], layers[l].w, kernel * sizeof(float));
    layers[l].w = apart_from[l];
  }

  core_device_to_device(device, chain.memory + chain.dy, chain.host + chain.dy,
                        ROWS * (size_t)WIDTHS[0][LAYERS] * sizeof(float));
  ops->chain_forward(ops, chain.memory + chain.x, layers, LAYERS, ROWS);
  ops->chain_backward(ops, chain.memory + chain.x, layers, LAYERS, chain.memory + chain.dy, NULL,
                      chain.memory + chain.scratch, ROWS, NULL);

  free(got[1]);
  got[1] = fetch(&chain);
  if (device->stream) { /* parameters at other addresses may be other algorithms to the library */
    assert_near_to("gradient", LAYERS,
                   apart(got[1] + chain.gradient, got[0] + chain.gradient, parameters(&chain, LAYERS)), 0.01);
  } else {
    assert_memory_equal(got[0] + chain.gradient, got[1] + chain.gradient, parameters(&chain, LAYERS) * sizeof(float));
  }

  for (int l = 0; l < LAYERS; l++) device->release(device, apart_from[l]);
  free(got[0]), free(got[1]);
  free_chain(&chain);
  ops_destroy(&ops);
}

/* Rows gathered for a chain alone are those that gather_rows puts into floats: the same bits, from a table and in
 * place. */
static void test_gathered_inputs(void) {
  enum { SOURCE = 500 };
  float *got[3];
  Ops *ops = device_ops(0);
  Chain chain = make_chain(WIDTHS[0], ROWS, OPS_TANH);
  const size_t columns = (size_t)WIDTHS[0][0];
  float *rows = normals(77, SOURCE * columns, 1), *source, *target = chain.memory + chain.x;
  uint32_t index[ROWS], *on_device;

  for (uint32_t i = 0; i < ROWS; i++) index[i] = i * 7 % SOURCE;
  assert_int_equal(device->allocate(device, SOURCE * columns * sizeof *source, (void **)&source), CORE_OK);
  assert_int_equal(device->allocate(device, sizeof index, (void **)&on_device), CORE_OK);
  core_device_to_device(device, source, rows, SOURCE * columns * sizeof *source);
  core_device_to_device(device, on_device, index, sizeof index);

  for (int way = 0; way < 3; way++) { /* floats; in a form of the ops' own; floats, then that */
    Order order = {{0}, 0};
    core_device_to_device(device, chain.memory, chain.host, chain.floats * sizeof(float));
    if (way == 1) ops->gather_inputs(ops, source, on_device, target, ROWS, (int)columns);
    else ops->gather_rows(ops, source, on_device, target, ROWS, (int)columns);
    if (way == 2) ops->gather_inputs(ops, target, NULL, target, ROWS, (int)columns);
    run(ops, &chain, chain.memory, &order);
    got[way] = fetch(&chain);
  }

  for (int way = 1; way < 3; way++) {
    assert_memory_equal(got[way] + chain.gradient, got[0] + chain.gradient, parameters(&chain, LAYERS) * sizeof(float));
    assert_memory_equal(got[way] + chain.dx, got[0] + chain.dx, ROWS * columns * sizeof(float));
  }
  assert_memory_equal(got[1] + chain.x, chain.host + chain.x,
                      ROWS * columns * sizeof(float)); /* target stays as it was */

  for (int way = 0; way < 3; way++) free(got[way]);
  free(rows);
  device->release(device, source), device->release(device, on_device);
  free_chain(&chain);
  ops_destroy(&ops);
}

/* ---- on every device --------------------------------------------------------------------------------------------- */

/* Whether the library has the epilogues at all, which only it can say: without them the numbers are right and slow. */
static void say_what_is_fused(void) {
  Ops *ops = device_ops(0);
  void *room;
  assert_int_equal(device->allocate(device, 1 << 20, &room), CORE_OK);
  const DeviceProduct p = {.m = ROWS,
                           .n = WIDEST,
                           .k = WIDEST,
                           .a = room,
                           .b = room,
                           .c = room,
                           .bias = room,
                           .mask = room,
                           .factors = OPS_NUMBERS_BF16,
                           .result = OPS_NUMBERS_BF16,
                           .epilogue = OPS_PRODUCT_RELU_MASK};
  DeviceProduct back = p;
  back.transpose_b = 1;
  back.epilogue = OPS_PRODUCT_MASKED;
  print_message("# ReLU and its mask in the product: %s; its gradient and the bias's: %s\n",
                device_can_multiply(device_state(ops), &p) ? "yes" : "no",
                device_can_multiply(device_state(ops), &back) ? "yes" : "no");
  device->release(device, room);
  ops_destroy(&ops);
}

static void run_all(void) {
  if (device->stream) say_what_is_fused(); /* a GPU */
  test_every_activation();
  test_tiles();
  test_masks();
  test_the_same_again();
  test_gathered_inputs();
  core_device_close(&device);
}

/* Shared memory is checked, too: reading another thread's value without a barrier gives other bits. */
static void test_isolated(void **state) {
  static const int width[] = {17, 64, 64, 128, 9}, widest[] = {33, 256, 256, 64, 30};
  (void)state;
  device = core_device_emulated(CORE_DEVICE_ISOLATED);
  check_tiles(width, 195, OPS_TANH);
  device->processors = 1;
  check_tiles(widest, 195, OPS_TANH);
  core_device_close(&device);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
                                     cmocka_unit_test(test_isolated),
                                     cmocka_unit_test(test_gpu)};
  choose_device_tests();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
