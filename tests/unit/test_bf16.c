/* trainer/ops in bf16: rounding, products of rounded factors by every method, and gradients that stay as near to
 * float32's as the roundings allow.
 *
 * bf16 has 8 bits of significand: rounding to nearest changes a number by at most U = 2^-8 of itself. A product of two
 * rounded numbers is then off by at most 2U + U^2 of itself, and a sum of them by that share of the
 * sum of magnitudes. */
#include "test.h"

#include "core/memory.h"
#include "tests/unit/ops_tools.h"
#include "trainer/nets/network.h"
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer_steps.h"

static const double U = 1.0 / 256;

static const char *const methods[] = {"rounded", "library"};
enum { WAYS = 2 };

/* Whether the library supports bf16 on this processor; prints a message if not. */
static bool use_way(int method) {
  Ops *ops;
  assert_int_equal(setenv("TRAINER_BF16", methods[method], 1), 0);
  if (ops_cpu_create_bf16(1, 1, 1, &ops) != CORE_OK) {
    assert_string_equal(methods[method], "library");
    print_message("# not tested here: %s\n", core_error_message());
    return false;
  }
  ops_destroy(&ops);
  return true;
}

static Ops *make_bf16_ops(int threads) {
  Ops *ops;
  assert_int_equal(ops_cpu_create_bf16(threads, OPS_ROWS_MAX, OPS_WIDTH_MAX, &ops), CORE_OK);
  return ops;
}

/* ---- rounding ---------------------------------------------------------------------------------------------------- */

static float from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static uint32_t to_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static float rounded(float x) {
  float result;
  cpu_round_bf16(&x, 1, &result);
  return result;
}

/* By definition: the nearer of the neighbors below and above in magnitude, of equally near ones the even. */
static float nearest(float x) {
  const uint32_t below = to_bits(x) & 0xffff0000, above = below + 0x10000;
  const double low = fabs((double)from_bits(below)), at = fabs((double)x);
  const double high = (above & 0x7fffffff) == 0x7f800000 ? ldexp(1, 128) : fabs((double)from_bits(above));
  if (at - low != high - at) return from_bits(at - low < high - at ? below : above);
  return from_bits(below & 0x10000 ? above : below);
}

static void test_rounding_is_to_nearest_even(void **unused) {
  for (uint32_t upper = 0; upper < 0x10000; upper++) { /* every bf16 number, and the points around each half-way */
    const float x = from_bits(upper << 16);
    if (isnan(x)) {
      assert_true(isnan(rounded(from_bits(upper << 16 | 0x7fff))));
      continue;
    }
    assert_true(to_bits(rounded(x)) == upper << 16);
    if (isinf(x)) continue;
    const uint32_t lower[] = {1, 0x7fff, 0x8000, 0x8001, 0xffff};
    for (int i = 0; i < 5; i++) {
      const float between = from_bits(upper << 16 | lower[i]);
      assert_true(to_bits(rounded(between)) == to_bits(nearest(between)));
    }
  }
  assert_true(rounded(1 + 1.0f / 256) == 1 && rounded(1 + 3.0f / 256) == 1 + 4.0f / 256); /* ties */
  assert_true(isinf(rounded(3.4e38f)) && rounded(-3.3e38f) > -INFINITY);
  assert_true(isnan(rounded(from_bits(0x7f800001))) && isnan(rounded(from_bits(0xffffffff))));
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

typedef struct Layer {
  int rows, in, out;
  float *x, *w, *b, *y, *dy, *dx, *dw, *db;
} Layer;

static Layer make_layer(int rows, int in, int out) {
  const size_t nx = (size_t)(rows * in), ny = (size_t)(rows * out), nw = (size_t)(in * out);
  return (Layer){rows,
                 in,
                 out,
                 normals(1, nx, 1),
                 normals(2, nw, 1 / sqrt(in)),
                 normals(3, (size_t)out, 0.3),
                 normals(4, ny, 1),
                 normals(5, ny, 1),
                 normals(6, nx, 1),
                 normals(6, nw, 1),
                 normals(6, (size_t)out, 1)};
}

static void run_layer(Ops *ops, Layer *l) {
  ops->dense_forward(ops, l->x, l->w, l->b, l->y, l->rows, l->in, l->out, OPS_LINEAR);
  ops->dense_backward(ops, l->x, l->w, l->b, l->y, l->dy, l->dx, l->dw, l->db, l->rows, l->in, l->out, OPS_LINEAR);
}

static void free_layer(Layer *l) {
  float *const all[] = {l->x, l->w, l->b, l->y, l->dy, l->dx, l->dw, l->db};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* sum over k of a[k] b[k], as far as `round` of rounded numbers, and of their magnitudes. */
typedef struct Sum { double sum, magnitude; } Sum;
static Sum dot(const float *a, int step_a, const float *b, int step_b, int n, bool round) {
  Sum s = {0, 0};
  for (int k = 0; k < n; k++) {
    const float left = a[(size_t)k * (size_t)step_a], right = b[(size_t)k * (size_t)step_b];
    const double product = round ? (double)rounded(left) * (double)rounded(right) : (double)left * (double)right;
    s.sum += product;
    s.magnitude += fabs(product);
  }
  return s;
}

/* `got` is the exact sum of products of rounded factors up to float32 rounding, and as far from the unrounded one as
 * rounding allows. */
static void check_sum(double got, Sum exact, Sum unrounded, int n) {
  assert_near(got, exact.sum, (n + 2) * 0x1p-24 * (exact.magnitude + fabs(exact.sum)) + 1e-6);
  assert_near(exact.sum, unrounded.sum, (2 * U + U * U) * unrounded.magnitude);
}

static void compare_layer(Ops *ops, Layer *l) {
  run_layer(ops, l);
  for (int r = 0; r < l->rows; r += 7)
    for (int o = 0; o < l->out; o += 3) {
      const float *x = l->x + r * l->in, *w = l->w + o;
      check_sum((double)l->y[r * l->out + o] - (double)l->b[o], dot(x, 1, w, l->out, l->in, true),
                dot(x, 1, w, l->out, l->in, false), l->in);
    }
  for (int r = 0; r < l->rows; r += 7)
    for (int i = 0; i < l->in; i += 3) {
      const float *dy = l->dy + r * l->out, *w = l->w + i * l->out;
      check_sum((double)l->dx[r * l->in + i], dot(dy, 1, w, 1, l->out, true), dot(dy, 1, w, 1, l->out, false), l->out);
    }
  for (int i = 0; i < l->in; i += 3)
    for (int o = 0; o < l->out; o += 3) {
      const float *x = l->x + i, *dy = l->dy + o;
      check_sum((double)l->dw[i * l->out + o], dot(x, l->in, dy, l->out, l->rows, true),
                dot(x, l->in, dy, l->out, l->rows, false), l->rows);
    }
  for (int o = 0; o < l->out; o++) { /* no product: float32 */
    double sum = 0;
    for (int r = 0; r < l->rows; r++) sum += (double)l->dy[r * l->out + o];
    assert_near((double)l->db[o], sum, 1e-5 * l->rows);
  }
}

static void test_products_of_rounded_factors(void **unused) {
  const int shapes[][3] = {{1, 1, 1}, {5, 7, 3}, {259, 40, 33}, {300, 140, 16}};
  for (int method = 0; method < WAYS; method++) {
    if (!use_way(method)) continue;
    Ops *ops = make_bf16_ops(2);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
      Layer layer = make_layer(shapes[s][0], shapes[s][1], shapes[s][2]);
      compare_layer(ops, &layer);
      free_layer(&layer);
    }
    ops_destroy(&ops);
  }
}

/* Kernels that take another path (cpu_dense.c) because copies of their gradients would be too large. */
static void test_a_large_kernel(void **unused) {
  enum { ROWS = 512, WIDTH = 2049, SOME = 100 };
  Ops *ops;
  Layer l = make_layer(ROWS, WIDTH, WIDTH);
  assert_true(use_way(0));
  assert_int_equal(ops_cpu_create_bf16(2, ROWS, WIDTH, &ops), CORE_OK);
  run_layer(ops, &l);
  for (int k = 0; k < SOME; k++) {
    const CoreRandom4 random = core_random_4(5, CORE_RANDOM_TEST, 1, (uint32_t)k, 0);
    const int i = (int)core_random_below(random.v[0], WIDTH), o = (int)core_random_below(random.v[1], WIDTH),
              r = (int)core_random_below(random.v[2], ROWS);
    const float *x = l.x + i, *dy = l.dy + o, *row = l.dy + r * WIDTH, *w = l.w + i * WIDTH;
    check_sum((double)l.dw[i * WIDTH + o], dot(x, WIDTH, dy, WIDTH, ROWS, true), dot(x, WIDTH, dy, WIDTH, ROWS, false),
              ROWS);
    check_sum((double)l.dx[r * WIDTH + i], dot(row, 1, w, 1, WIDTH, true), dot(row, 1, w, 1, WIDTH, false), WIDTH);
  }
  free_layer(&l);
  ops_destroy(&ops);
}

/* ---- networks ---------------------------------------------------------------------------------------------------- */

enum { ROWS = 700, IN = 60, OUT = 7, DEPTH = 3, WIDTH = 64 };
static const int HIDDEN[DEPTH] = {WIDTH, WIDTH, WIDTH};

static float *network_gradient(Ops *ops, const NetworkShape *shape, float *output) {
  const size_t n = network_parameters(shape);
  float *theta = core_memory_allocate(n * sizeof *theta), *gradient = normals(1, n, 1), *x = normals(2, ROWS * IN, 1);
  float *block = normals(1, network_activation_floats(shape, ROWS), 1), *scratch = normals(1, 2 * ROWS * WIDTH, 1);
  float *doutput = normals(3, ROWS * OUT, 1.0 / ROWS);
  NetworkActivations activations;
  network_init(shape, 5, 0, theta);
  network_place_activations(shape, ROWS, block, &activations);
  network_forward(ops, shape, theta, x, ROWS, &activations);
  memcpy(output, activations.hidden[DEPTH], ROWS * OUT * sizeof *output);
  network_backward(ops, shape, theta, x, ROWS, &activations, doutput, scratch, gradient);
  free(theta), free(x), free(block), free(scratch), free(doutput);
  return gradient;
}

static double relative_distance(const float *a, const float *b, size_t n) {
  double distance = 0, norm = 0;
  for (size_t i = 0; i < n; i++) {
    distance += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    norm += (double)b[i] * (double)b[i];
  }
  return sqrt(distance / norm);
}

/* A gradient passes DEPTH + 1 products forwards and as many back, each of two factors rounded by a share of U.
 * Roundings are as independent as the numbers: their shares add as squares, each U / sqrt(3) on average at most. Twice
 * that is allowed, since layers stretch what reaches them; the tenth of it must be there, or nothing was rounded. (Not
 * relu: rounding turns some units near 0 on or off, each by its full value.) */
static void test_gradients_are_near_those_of_float32(void **unused) {
  const double expected = U / sqrt(3) * sqrt(2 * 2 * (DEPTH + 1));
  const OpsActivation activations[] = {OPS_TANH, OPS_SILU, OPS_ELU};
  for (int method = 0; method < WAYS; method++)
    for (int i = 0; i < 6; i++) {
      if (!use_way(method)) continue;
      NetworkShape shape = network_shape(IN, HIDDEN, DEPTH, OUT, activations[i / 2], 1);
      shape.layer_norm = i % 2;
      Ops *exact = make_ops(2), *ops = make_bf16_ops(2);
      float *outputs[] = {normals(1, ROWS * OUT, 1), normals(1, ROWS * OUT, 1)};
      float *want = network_gradient(exact, &shape, outputs[0]), *got = network_gradient(ops, &shape, outputs[1]);
      const double off = relative_distance(got, want, network_parameters(&shape));
      const double output_off = relative_distance(outputs[1], outputs[0], ROWS * OUT);
      print_message("# %s, activation %d%s: gradient off by %.4f, output by %.4f of itself (%.4f expected at most)\n",
                    methods[method], (int)activations[i / 2], i % 2 ? ", layer norm" : "", off, output_off, expected);
      assert_true(off < 2 * expected && off > 0.1 * expected);
      assert_true(output_off < 2 * expected && output_off > 0.1 * expected);
      free(want), free(got), free(outputs[0]), free(outputs[1]);
      ops_destroy(&exact), ops_destroy(&ops);
    }
}

static void test_no_result_depends_on_the_number_of_threads(void **unused) {
  const NetworkShape shape = network_shape(IN, HIDDEN, DEPTH, OUT, OPS_SILU, 1);
  float *output = normals(1, ROWS * OUT, 1);
  for (int method = 0; method < WAYS; method++) {
    if (!use_way(method)) continue;
    Ops *one = make_bf16_ops(1), *several = make_bf16_ops(5);
    float *want = network_gradient(one, &shape, output), *got = network_gradient(several, &shape, output);
    assert_memory_equal(want, got, network_parameters(&shape) * sizeof *want);
    free(want), free(got);
    ops_destroy(&one), ops_destroy(&several);
  }
  free(output);
}

/* A policy that acts on some rows and learns from others must be the same policy. */
static void test_a_row_does_not_depend_on_its_neighbors(void **unused) {
  for (int method = 0; method < WAYS; method++) {
    if (!use_way(method)) continue;
    Ops *ops = make_bf16_ops(2);
    Layer all = make_layer(300, IN, OUT), some = make_layer(300, IN, OUT);
    ops->dense_forward(ops, all.x, all.w, all.b, all.y, 300, IN, OUT, OPS_TANH);
    ops->dense_forward(ops, some.x + 17 * IN, some.w, some.b, some.y, 140, IN, OUT, OPS_TANH);
    assert_memory_equal(all.y + 17 * OUT, some.y, 140 * OUT * sizeof(float));
    free_layer(&all), free_layer(&some);
    ops_destroy(&ops);
  }
}

static void test_an_unknown_way_is_an_error(void **unused) {
  Ops *ops;
  assert_int_equal(setenv("TRAINER_BF16", "fast", 1), 0);
  assert_int_equal(ops_cpu_create_bf16(1, 10, 10, &ops), CORE_USAGE);
  assert_message("TRAINER_BF16=fast: expected rounded or library");
  assert_int_equal(unsetenv("TRAINER_BF16"), 0);
  assert_int_equal(ops_cpu_create_bf16(1, 10, 10, &ops), CORE_OK);
  ops_destroy(&ops);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rounding_is_to_nearest_even),
      cmocka_unit_test(test_products_of_rounded_factors),
      cmocka_unit_test(test_a_large_kernel),
      cmocka_unit_test(test_gradients_are_near_those_of_float32),
      cmocka_unit_test(test_no_result_depends_on_the_number_of_threads),
      cmocka_unit_test(test_a_row_does_not_depend_on_its_neighbors),
      cmocka_unit_test(test_an_unknown_way_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
