/* The device's kernels of layers that are bf16 in memory (kernels_bf16.h, kernels_tile.h, products), each alone and
 * element by element against float32 on the host with the same, rounded inputs. Rows fill no part and no tile, rows of
 * odd widths no 16 bytes, and blocks have several tiles each. */
#include "test.h"

#include "trainer/ops/device/device_internal.h"
#define DEVICE_TESTS run_all
#include "tests/device_tools.h"
#include "device_buffers.h"
#include "bf16_tools.h"

enum { ROWS = 333, PARTS = (ROWS + KERNEL_PART_ROWS - 1) / KERNEL_PART_ROWS, WIDEST = 256 };
static const size_t WIDTHS[] = {128, 24, 43, 1};
static Ops *ops;
static DeviceState *state;

static uint16_t *halves(float *memory) { return (uint16_t *)(void *)memory; }

/* Returns the elements per thread, as the ops choose them. */
static int step_of(size_t columns) { return columns % KERNEL_EIGHT == 0 ? KERNEL_EIGHT : 1; }

/* parts[part][column] = sum of x[rows][columns] over the part's rows. */
static float *sum_parts(const float *x, size_t rows, size_t columns) {
  float *parts = core_memory_allocate((rows + KERNEL_PART_ROWS - 1) / KERNEL_PART_ROWS * columns * sizeof *parts);
  for (size_t first = 0; first < rows; first += KERNEL_PART_ROWS)
    for (size_t c = 0; c < columns; c++) {
      double sum = 0;
      for (size_t r = first; r < rows && r < first + KERNEL_PART_ROWS; r++) sum += (double)x[r * columns + c];
      parts[first / KERNEL_PART_ROWS * columns + c] = (float)sum;
    }
  return parts;
}

/* ---- rounding ---------------------------------------------------------------------------------------------------- */

/* Rows of 33 and 7 floats have all alignments; those of 140 only 16 bytes. */
static void check_round(size_t columns, bool with_index) {
  const size_t stride = device_rounded_row(columns), n = ROWS * stride;
  float *source = normals(1, ROWS * columns, 1), *want = core_memory_zero_allocate(n, sizeof *want);
  uint32_t index[ROWS];
  for (uint32_t r = 0; r < ROWS; r++) index[r] = r * 7 % ROWS;
  for (size_t r = 0; r < ROWS; r++)
    for (size_t c = 0; c < columns; c++)
      want[r * stride + c] = row_rounded(source[(with_index ? index[r] : r) * columns + c], OPS_BF16);
  float *memory = up_bf16(want, n);
  device->fill(device, memory, 0xff, n * sizeof(uint16_t));
  const OpsRound arguments = {UP(source, ROWS * columns), with_index ? UP(index, ROWS) : NULL, halves(memory), ROWS,
                              columns, stride, ops_fours(stride)};
  DEVICE_LAUNCH(state, ops_round, ROWS * arguments.fours.number, &arguments);
  uint16_t *got = down(memory, n * sizeof *memory);
  for (size_t i = 0; i < n; i++) assert_int_equal(got[i], row_to_bf16(want[i]));
  assert_int_equal(got[n], 0xffff);
  free(source), free(want), free(got);
  forget();
}

/* Ties and the largest numbers of each side, to a target that is aligned to two bytes. */
static void check_rounding_of_ties(void) {
  const float x[] = {1.00390625f, 1.01171875f, -1.00390625f, 1.00390637f, 3.4e38f, -3.4e38f, 1e-40f, 0.0f, 2.0f};
  enum { N = sizeof x / sizeof *x };
  const uint16_t want[N] = {0x3f80, 0x3f82, 0xbf80, 0x3f81, 0x7f80, 0xff80, 0x0001, 0, 0x4000};
  float *memory = up(x, sizeof x);
  const OpsRound arguments = {UP(x, N), NULL, halves(memory) + 1, 1, N, N, ops_fours(N)};
  DEVICE_LAUNCH(state, ops_round, arguments.fours.number, &arguments);
  uint16_t *got = down(memory, sizeof x);
  assert_memory_equal(got + 1, want, sizeof want);
  free(got);
  forget();
}

/* ---- hidden layers ----------------------------------------------------------------------------------------------- */

static void check_activation(size_t columns, OpsActivation activation) {
  const size_t n = ROWS * columns;
  float *z = rounded_normals(1, n, 2), *bias = normals(2, columns, 1), *y = up_bf16(z, n);
  const int step = step_of(columns);
  const OpsHiddenActivate arguments = {halves(y), UP(bias, columns), ROWS, core_divisor(columns / (size_t)step),
                                       activation, step};
  DEVICE_LAUNCH(state, ops_hidden_activate, n / (size_t)step, &arguments);
  for (size_t i = 0; i < n; i++) z[i] = (float)oracle_activation(activation, (double)z[i] + (double)bias[i % columns]);
  assert_bf16("activation", z, y, n);
  free(z), free(bias);
  forget();
}

static void check_hidden_gradient(size_t columns, OpsActivation activation) {
  const size_t n = ROWS * columns;
  float *y = rounded_normals(1, n, 0.8), *dy = rounded_normals(2, n, 1), *bias = normals(3, columns, 1);
  float *d_dy = up_bf16(dy, n), *parts = normals(4, PARTS * columns, 1), *d_parts = UP(parts, PARTS * columns);
  const int step = step_of(columns);
  const OpsHiddenGradient arguments = {halves(up_bf16(y, n)), UP(bias, columns), halves(d_dy), d_parts, ROWS, columns,
                                       activation, step, core_divisor(columns / (size_t)step)};
  DEVICE_LAUNCH(state, ops_hidden_gradient, PARTS * columns / (size_t)step, &arguments);
  for (size_t i = 0; i < n; i++)
    dy[i] *= derivative_at(activation, y[i] + (activation == OPS_SILU ? bias[i % columns] : 0));
  assert_bf16("gradient of a hidden layer", dy, d_dy, n);
  round_numbers(dy, n);
  free(parts);
  parts = sum_parts(dy, ROWS, columns);
  assert_elements("its sums", parts, d_parts, PARTS * columns, OPS_NUMBERS_FLOAT, APPROXIMATE);
  free(y), free(dy), free(bias), free(parts);
  forget();
}

static void check_output_gradient(size_t columns, OpsActivation activation) {
  const size_t n = ROWS * columns;
  float *y = normals(1, n, 0.8), *dy = normals(2, n, 1), *bias = normals(3, columns, 1), *dz = up_bf16(dy, n);
  float *parts = normals(4, PARTS * columns, 1), *d_parts = UP(parts, PARTS * columns);
  const OpsOutputGradient arguments = {UP(y, n), UP(bias, columns), UP(dy, n), halves(dz), d_parts, ROWS,
                                       core_divisor(columns), activation};
  DEVICE_LAUNCH(state, ops_output_gradient, PARTS * columns, &arguments);
  for (size_t i = 0; i < n; i++)
    dy[i] *= derivative_at(activation, y[i] + (activation == OPS_SILU ? bias[i % columns] : 0));
  free(parts);
  parts = sum_parts(dy, ROWS, columns);
  assert_bf16("gradient of the output", dy, dz, n);
  assert_floats("its sums", parts, d_parts, PARTS * columns);
  free(y), free(dy), free(bias), free(parts);
  forget();
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Returns c[m][n] = op(a) op(b), terms in order; rows of a are row_a apart. */
static float *multiply(const DeviceProduct *p, const float *a, const float *b) {
  float *c = core_memory_allocate(p->m * p->n * sizeof *c);
  const size_t row_a = p->row_a ? p->row_a : p->transpose_a ? p->m : p->k;
  for (size_t i = 0; i < p->m; i++)
    for (size_t j = 0; j < p->n; j++) {
      double sum = 0;
      for (size_t l = 0; l < p->k; l++)
        sum += (double)(p->transpose_a ? a[l * row_a + i] : a[i * row_a + l]) *
               (double)(p->transpose_b ? b[j * p->k + l] : b[l * p->n + j]);
      c[i * p->n + j] = (float)sum;
    }
  return c;
}

/* Computes the epilogue of c on the host. mask: bits of a product before, one word for 32 elements. */
static void finish_product(const DeviceProduct *p, const float *bias, const uint32_t *mask, float *c) {
  for (size_t i = 0; i < p->m * p->n; i++) {
    const size_t column = i % p->n, word = i / p->n * ops_mask_words(p->n) + column / 32;
    if (p->epilogue == OPS_PRODUCT_BIAS) c[i] += bias[column];
    if (p->epilogue == OPS_PRODUCT_RELU || p->epilogue == OPS_PRODUCT_RELU_MASK) c[i] = fmaxf(0, c[i] + bias[column]);
    if (p->epilogue == OPS_PRODUCT_MASKED && !(mask[word] >> column % 32 & 1)) c[i] = 0;
  }
}

/* The order of a library's mask bits is its own, so only the emulator's are known. Results near 0 may be on either
 * side. */
static void assert_mask(const DeviceProduct *p, const float *c) {
  const size_t words = ops_mask_words(p->n);
  uint32_t *bits = down(p->mask, p->m * words * sizeof *bits);
  for (size_t i = 0; i < p->m * p->n; i++) {
    const size_t row = i / p->n, column = i % p->n;
    if (c[i] == 0 || c[i] > 1e-3f) assert_int_equal(bits[row * words + column / 32] >> column % 32 & 1, c[i] > 0);
  }
  free(bits);
}

/* Compares a product of bf16 factors, and its mask or column sums. A library gets a mask of which all bits are set. */
static void check_product(DeviceProduct p) {
  const size_t row_a = p.row_a ? p.row_a : p.transpose_a ? p.m : p.k, words = p.m * ops_mask_words(p.n);
  const size_t a_numbers = (p.transpose_a ? p.k : p.m) * row_a, n = p.m * p.n;
  float *a = rounded_normals(1, a_numbers, 1), *b = rounded_normals(2, p.k * p.n, 1 / sqrt((double)p.k));
  float *bias = rounded_normals(3, p.n, 1), *c = rounded_normals(4, n, 1), *d_c, *d_bias;
  uint32_t *mask = core_memory_allocate(words * sizeof *mask);

  const bool is_bf16 = p.result == OPS_NUMBERS_BF16, is_masked = p.epilogue == OPS_PRODUCT_MASKED;
  for (size_t i = 0; i < words; i++)
    mask[i] = device->stream ? UINT32_MAX : core_random_4(5, CORE_RANDOM_TEST, 6, (uint32_t)i, 0).v[0];

  p.a = up_bf16(a, a_numbers), p.b = up_bf16(b, p.k * p.n), p.mask = UP(mask, words);
  p.c = d_c = is_bf16 ? up_bf16(c, n) : UP(c, n);
  p.bias = d_bias = is_bf16 ? up_bf16(bias, p.n) : UP(bias, p.n);
  p.factors = OPS_NUMBERS_BF16;
  if (p.epilogue == OPS_PRODUCT) p.bias = NULL, p.mask = NULL;
  free(c);

  if (device_multiply(state, &p)) {
    device_fold_now(state);
    c = multiply(&p, a, b);
    finish_product(&p, bias, mask, c);
    assert_elements("product", c, d_c, n, p.result, tolerance_of_device());

    if (is_masked) {
      round_numbers(c, n);
      for (size_t j = 0; j < p.n; j++) {
        double sum = 0;
        for (size_t i = 0; i < p.m; i++) sum += (double)c[i * p.n + j];
        bias[j] = (float)sum;
      }
      assert_elements("product: sums of columns", bias, d_bias, p.n, p.result, 3 * tolerance_of_device());
    }
    if (p.epilogue == OPS_PRODUCT_RELU_MASK && !device->stream) assert_mask(&p, c);
    free(c);
  }

  free(a), free(b), free(bias), free(mask);
  forget();
}

static void test_products(void) {
  static const struct { size_t m, n, k; } sizes[] = {{ROWS, 64, 128}, {ROWS, 43, 27}, {ROWS, 1, 200}, {ROWS, 40, 1},
                                                     {70, 136, ROWS}, {48, 1, ROWS}};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int way = 0; way < 6; way++) {
      const bool is_bf16 = way % 2, transpose_a = way / 2 == 1, transpose_b = way / 2 == 2;
      check_product((DeviceProduct){.m = sizes[s].m, .n = sizes[s].n, .k = sizes[s].k, .transpose_a = transpose_a,
                                    .transpose_b = transpose_b,
                                    .row_a = way == 0 ? device_rounded_row(sizes[s].k) : 0,
                                    .result = is_bf16 ? OPS_NUMBERS_BF16 : OPS_NUMBERS_FLOAT});
    }
  for (OpsEpilogue epilogue = OPS_PRODUCT_BIAS; epilogue <= OPS_PRODUCT_MASKED; epilogue++)
    for (size_t s = 0; s < 3; s++) {
      const bool only_bf16 = epilogue == OPS_PRODUCT_RELU_MASK || epilogue == OPS_PRODUCT_MASKED;
      for (int is_bf16 = only_bf16; is_bf16 < 2; is_bf16++)
        check_product((DeviceProduct){.m = sizes[s].m, .n = s == 2 && only_bf16 ? 32 : sizes[s].n, .k = sizes[s].k,
                                      .transpose_b = epilogue == OPS_PRODUCT_MASKED, .epilogue = epilogue,
                                      .result = is_bf16 ? OPS_NUMBERS_BF16 : OPS_NUMBERS_FLOAT});
    }
}

/* ---- the product fused with the derivative ----------------------------------------------------------------------- */

/* Each of `blocks` blocks of a side has every blocks-th tile of OPS_TILE_ROWS rows. */
static void check_tiles(size_t rows, size_t n, size_t k, unsigned blocks, OpsActivation activation) {
  const size_t parts = (rows + KERNEL_PART_ROWS - 1) / KERNEL_PART_ROWS;
  float *dz = rounded_normals(1, rows * k, 1), *w = rounded_normals(2, n * k, 1 / sqrt((double)k));
  float *y = rounded_normals(3, rows * n, 0.8), *spare = normals(4, parts * n, 1), *d_parts = UP(spare, parts * n);
  float *below = up_bf16(y, rows * n);
  const OpsTileGradient arguments = {halves(up_bf16(dz, rows * k)), halves(up_bf16(w, n * k)),
                                     halves(up_bf16(y, rows * n)), halves(below), d_parts, rows, n, k, activation};
  device->launch(device, &ops_tile_gradient_launch, blocks * (unsigned)(n / ops_tile_columns(n)), OPS_TILE_THREADS,
                 ops_tile_bytes(n, k), &arguments);
  float *product = multiply(&(DeviceProduct){.m = rows, .n = n, .k = k, .transpose_b = 1}, dz, w);
  round_numbers(product, rows * n);
  for (size_t i = 0; i < rows * n; i++) product[i] *= derivative_at(activation, y[i]);
  /* a product may be rounded to its other neighbor: twice the rounding */
  assert_elements("fused product", product, below, rows * n, OPS_NUMBERS_BF16, device->stream ? ROUNDED : EXACT + 1e-3);
  round_numbers(product, rows * n);
  free(spare);
  spare = sum_parts(product, rows, n);
  assert_elements("its sums", spare, d_parts, parts * n, OPS_NUMBERS_FLOAT, ROUNDED);
  free(dz), free(w), free(y), free(spare), free(product);
  forget();
}

static void test_tiles(void) {
  static const size_t inner[] = {256, 30, 16, 200};
  for (size_t n = OPS_TILE_COLUMNS; n <= OPS_TILE_MAX; n += OPS_TILE_COLUMNS)
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
      const OpsActivation activation = (OpsActivation[]){OPS_TANH, OPS_ELU, OPS_RELU, OPS_LINEAR}[i];
      check_tiles(ROWS, n, inner[i], 1 + (unsigned)i, activation);
    }
  check_tiles(OPS_TILE_ROWS, 256, 256, 1, OPS_TANH);
  check_tiles(2 * OPS_TILE_ROWS + 1, 128, 256, 2, OPS_RELU);
  check_tiles(20, 64, 64, 1, OPS_TANH);
}

/* ---- on every device --------------------------------------------------------------------------------------------- */

static void begin(unsigned most_blocks) {
  if (ops_device_create(device, OPS_BF16, ROWS, WIDEST, false, &ops) != CORE_OK) fail_msg("%s", core_error_message());
  state = device_state(ops);
  limit_blocks(most_blocks);
}

static void end(void) {
  ops_destroy(&ops);
  core_device_close(&device);
}

static void run_all(void) {
  begin(2);
  for (int with_index = 0; with_index < 2; with_index++) {
    check_round(33, with_index);
    check_round(7, with_index);
    check_round(140, with_index);
  }
  check_rounding_of_ties();
  for (size_t w = 0; w < sizeof WIDTHS / sizeof *WIDTHS; w++)
    for (OpsActivation activation = OPS_LINEAR; activation <= OPS_ELU; activation++) {
      check_activation(WIDTHS[w], activation);
      check_hidden_gradient(WIDTHS[w], activation);
      check_output_gradient(WIDTHS[w], activation);
    }
  test_products();
  test_tiles();
  end();
}

/* Shared memory is checked, too: reading another thread's value without a barrier gives another result. */
static void test_isolated(void **unused) {
  (void)unused;
  device = core_device_emulated(CORE_DEVICE_ISOLATED);
  begin(0);
  check_tiles(3 * OPS_TILE_ROWS + 5, 128, 256, 2, OPS_TANH);
  check_tiles(3 * OPS_TILE_ROWS + 5, 64, 40, 2, OPS_TANH);
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_backward),
                                     cmocka_unit_test(test_isolated), cmocka_unit_test(test_gpu)};
  choose_device_tests();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
