/* trainer/ops: elementary functions, dense layers and long vectors against slow double versions; and that no result of
 * any op depends on the number of threads. Heads and losses: test_policy.c. */
#include "test.h"

#include "core/memory.h"
#include "tests/unit/ops_tools.h"
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/fast_math_internal.h"

/* -------- elementary functions ------------------------------------------------------------------------------- */

static double ulps(float got, double want) {
  float at = fabsf((float)want);
  double unit = (double)(nextafterf(at, INFINITY) - at);
  return fabs((double)got - want) / unit;
}

static void test_fast_functions_are_within_a_few_ulp(void **unused) {
  double worst_exp = 0, worst_expm1 = 0, worst_tail = 0, worst_log = 0, worst_tanh = 0, worst_sigmoid = 0;
  for (int i = -200000; i <= 200000; i++) {
    float x = (float)i * 4.3e-4f, tiny = (float)i * 1.7e-6f, positive = expf(x);
    worst_exp = fmax(worst_exp, ulps(fast_exp(x), exp((double)x)));
    worst_expm1 =
        fmax(worst_expm1, fmax(ulps(fast_expm1(x), expm1((double)x)), ulps(fast_expm1(tiny), expm1((double)tiny))));
    if (i)
      worst_tail = fmax(worst_tail, ulps(fast_expm1_minus(tiny), expl((long double)tiny) - 1 - (long double)tiny) *
                                        (fabsf(tiny) > 1e-2f));
    worst_log = fmax(worst_log, ulps(fast_log(positive), log((double)positive)) * (fabs(log((double)positive)) > 1e-3));
    worst_tanh = fmax(worst_tanh, fmax(ulps(fast_tanh(x), tanh((double)x)), ulps(fast_tanh(tiny), tanh((double)tiny))));
    worst_sigmoid = fmax(worst_sigmoid, ulps(fast_sigmoid(x), 1 / (1 + exp(-(double)x))) * (x > -80));
  }
  print_message("# ulp: exp %.2f expm1 %.2f expm1-x %.2f log %.2f tanh %.2f sigmoid %.2f\n", worst_exp, worst_expm1,
                worst_tail, worst_log, worst_tanh, worst_sigmoid);
  assert_true(worst_exp <= 2 && worst_expm1 <= 4 && worst_log <= 2 && worst_tanh <= 6 && worst_sigmoid <= 4);
  assert_true(worst_tail <= 16); /* at the switch from the polynomial to e^x, e^x - 1 - x loses three bits */
}

static void test_fast_functions_at_the_edges(void **unused) {
  assert_true(fast_exp(0) == 1 && fast_exp(-1000) == 0 && fast_exp(-INFINITY) == 0);
  assert_true(isinf(fast_exp(1000)) && isinf(fast_exp(INFINITY)) && isnan(fast_exp(NAN)));
  assert_true(fast_exp(-100) > 0 && fast_exp(88.5f) < INFINITY);
  assert_true(fast_tanh(50) == 1 && fast_tanh(-50) == -1 && fast_tanh(0) == 0 && isnan(fast_tanh(NAN)));
  assert_true(fast_log(1) == 0 && isnan(fast_log(NAN)));
  assert_true(fast_expm1(0) == 0 && fast_expm1_minus(0) == 0 && isnan(fast_expm1(NAN)));
}

/* -------- dense layers --------------------------------------------------------------------------------------- */

typedef struct DenseShape { int rows, in, out; } DenseShape;
static const DenseShape dense_shapes[] = {{1, 1, 1},    {5, 7, 3},      {259, 13, 16},
                                          {1030, 9, 1}, {600, 300, 19}, {513, 40, 33}};

/* Everything a layer computes, compared with double loops over the definition. */
static void compare_dense(Ops *ops, DenseShape s, OpsActivation activation) {
  size_t nx = (size_t)(s.rows * s.in), nw = (size_t)(s.in * s.out), ny = (size_t)(s.rows * s.out);
  float *x = normals(1, nx, 1), *w = normals(2, nw, 1 / sqrt(s.in)), *b = normals(3, (size_t)s.out, 0.3),
        *dy = normals(4, ny, 1);
  float *y = normals(5, ny, 1), *dx = normals(5, nx, 1), *dw = normals(5, nw, 1), *db = normals(5, (size_t)s.out, 1);
  double *upstream = doubles(dy, ny);
  ops->dense_forward(ops, x, w, b, y, s.rows, s.in, s.out, activation);
  ops->dense_backward(ops, x, w, b, y, dy, dx, dw, db, s.rows, s.in, s.out, activation);
  for (int r = 0; r < s.rows; r++)
    for (int o = 0; o < s.out; o++) { /* upstream becomes the gradient before the activation */
      size_t at = (size_t)r * (size_t)s.out + (size_t)o;
      double z = (double)b[o], h = 1e-5;
      for (int i = 0; i < s.in; i++) z += (double)x[r * s.in + i] * (double)w[i * s.out + o];
      assert_near((double)y[at], oracle_activation(activation, z), 4e-6);
      if (activation == OPS_RELU && fabs(z) < 1e-4) upstream[at] = (double)dy[at]; /* the kink: either side is right */
      else upstream[at] *= (oracle_activation(activation, z + h) - oracle_activation(activation, z - h)) / (2 * h);
      assert_near((double)dy[at], upstream[at], 2e-5);
    }
  for (int o = 0; o < s.out; o++) {
    double sum = 0;
    for (int r = 0; r < s.rows; r++) sum += upstream[r * s.out + o];
    assert_near((double)db[o], sum, 2e-6 * s.rows + 1e-5);
    for (int i = 0; i < s.in; i++) {
      sum = 0;
      for (int r = 0; r < s.rows; r++) sum += (double)x[r * s.in + i] * upstream[r * s.out + o];
      assert_near((double)dw[i * s.out + o], sum, 4e-6 * s.rows + 1e-5);
    }
  }
  for (int r = 0; r < s.rows; r++)
    for (int i = 0; i < s.in; i++) {
      double sum = 0;
      for (int o = 0; o < s.out; o++) sum += upstream[r * s.out + o] * (double)w[i * s.out + o];
      assert_near((double)dx[r * s.in + i], sum, 1e-4);
    }
  float *const all[] = {x, w, b, dy, y, dx, dw, db};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  free(upstream);
}

static void test_dense_layers_against_the_definition(void **unused) {
  Ops *ops = make_ops(2);
  for (size_t s = 0; s < sizeof dense_shapes / sizeof *dense_shapes; s++)
    for (int activation = OPS_LINEAR; activation <= OPS_ELU; activation++)
      compare_dense(ops, dense_shapes[s], (OpsActivation)activation);
  ops_destroy(&ops);
  assert_null(ops);
}

static void test_every_library_multiplies_alike(void **unused) {
  enum { M = 37, N = 19, K = 53 };
  size_t count;
  const CpuLibrary *libraries = cpu_libraries(&count);
  float *a = normals(11, M * K, 1), *b = normals(12, K * N, 1), *start = normals(13, M * N, 1), c[M * N];
  assert_true(count >= 1);
  for (size_t library = 0; library < count; library++)
    for (int mode = 0; mode < 8; mode++) {
      int ta = mode & 1, tb = mode >> 1 & 1, accumulate = mode >> 2;
      memcpy(c, start, sizeof c);
      libraries[library].product(ta, tb, M, N, K, a, ta ? M : K, b, tb ? K : N, accumulate, c, N);
      for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
          double sum = accumulate ? (double)start[i * N + j] : 0;
          for (int k = 0; k < K; k++)
            sum += (double)a[ta ? k * M + i : i * K + k] * (double)b[tb ? j * K + k : k * N + j];
          assert_near((double)c[i * N + j], sum, 3e-5);
        }
    }
  free(a), free(b), free(start);
}

static void test_gather(void **unused) {
  Ops *ops = make_ops(2);
  uint32_t index[] = {3, 0, 3, 1};
  float source[] = {0, 1, 10, 11, 20, 21, 30, 31}, target[8];
  ops->gather_rows(ops, source, index, target, 4, 2);
  const float want[] = {30, 31, 0, 1, 30, 31, 10, 11};
  assert_memory_equal(target, want, sizeof want);
  ops_destroy(&ops);
}

/* -------- long vectors --------------------------------------------------------------------------------------- */

static void test_sums_and_moments(void **unused) {
  const size_t sizes[] = {1, 15, 17, 4096, 5000, 100003};
  Ops *ops = make_ops(2);

  for (int s = 0; s < 6; s++) {
    size_t n = sizes[s];
    float *x = normals(61, n, 1e-2), *y = normals(62, n, 1);
    long double norm = 0, distance = 0, mean = 0, m2 = 0, m3 = 0, m4 = 0;

    for (size_t i = 0; i < n; i++) {
      x[i] += 1000; /* a spread of 1e-2 about 1000: E[x^2] - m^2 in float32 has no digit left */
      norm += (long double)x[i] * (long double)x[i];
      distance += ((long double)x[i] - (long double)y[i]) * ((long double)x[i] - (long double)y[i]);
      mean += (long double)x[i] / (long double)n;
    }
    for (size_t i = 0; i < n; i++) {
      long double d = (long double)x[i] - mean;
      m2 += d * d, m3 += d * d * d, m4 += d * d * d * d;
    }

    assert_near(ops->norm_squared(ops, x, n), (double)norm, 1e-14 * (double)norm);
    assert_near(ops->distance_squared(ops, x, y, n), (double)distance, 1e-14 * (double)distance);

    Moments moments, difference;
    ops->moments(ops, x, NULL, n, &moments);
    assert_true(moments.n == (double)n);
    assert_near(moments.mean, (double)mean, 1e-12);
    assert_near(moments.m2, (double)m2, 1e-10 * (double)m2);
    assert_near(moments.m3, (double)m3, 1e-9 * (double)n * 1e-6);
    assert_near(moments.m4, (double)m4, 1e-9 * (double)m4);

    ops->moments(ops, x, x, n, &difference);
    assert_true(difference.mean == 0 && difference.m2 == 0 && difference.n == (double)n);
    free(x), free(y);
  }
  ops_destroy(&ops);
}

static void test_moments_of_equal_values_are_exact(void **unused) {
  Ops *ops = make_ops(2);
  float x[9000];
  for (int i = 0; i < 9000; i++) x[i] = 0.1f;
  Moments moments;
  ops->moments(ops, x, NULL, 9000, &moments);
  assert_true(moments.mean == (double)0.1f && moments.m2 == 0);
  float *y = core_memory_allocate(9000 * sizeof *y); /* sums of differences with 53 bits are rounded */
  for (int i = 0; i < 9000; i++) x[i] = 9999999, y[i] = 0.1f;
  ops->moments(ops, x, y, 9000, &moments);
  assert_true(moments.mean == 9999999 - (double)0.1f && moments.m2 == 0);
  free(y);
  ops_destroy(&ops);
}

static void test_adam_against_double(void **unused) {
  enum { N = 5000, STEPS = 30 };
  Ops *ops = make_ops(2);
  float *theta = normals(71, N, 1), m[N] = {0}, v[N] = {0};
  double *exact = doubles(theta, N), em[N] = {0}, ev[N] = {0};
  for (int t = 1; t <= STEPS; t++) {
    float *gradient = normals(71 + (uint32_t)t, N, 0.1);
    ops->adam(ops, theta, gradient, m, v, N, 0.5, 1, 1e-3, 0.9, 0.999, 1e-5, t);
    for (int i = 0; i < N; i++) {
      double g = 0.5 * (double)gradient[i];
      em[i] = 0.9 * em[i] + 0.1 * g, ev[i] = 0.999 * ev[i] + 0.001 * g * g;
      exact[i] -= 1e-3 * (em[i] / (1 - pow(0.9, t))) / (sqrt(ev[i] / (1 - pow(0.999, t))) + 1e-5);
    }
    free(gradient);
  }
  for (int i = 0; i < N; i++) assert_near((double)theta[i], exact[i], 2e-6);
  free(theta), free(exact);
  ops_destroy(&ops);
}

static void test_first_nonfinite(void **unused) {
  enum { N = 20000 };
  Ops *ops = make_ops(2);
  float *x = normals(81, N, 1);
  assert_int_equal(ops->first_nonfinite(ops, x, N), N);
  x[19999] = INFINITY;
  assert_int_equal(ops->first_nonfinite(ops, x, N), 19999);
  x[12345] = NAN;
  x[15000] = -INFINITY;
  assert_int_equal(ops->first_nonfinite(ops, x, N), 12345);
  x[0] = NAN;
  assert_int_equal(ops->first_nonfinite(ops, x, N), 0);
  assert_int_equal(ops->first_nonfinite(ops, x, 0), 0);
  free(x);
  ops_destroy(&ops);
}

/* -------- layer norm ----------------------------------------------------------------------------------------- */

/* Rows far from 0 keep their digits; a row without spread becomes 0. Gradients: test_network.c. */
static void test_layer_norm_of_offset_and_constant_rows(void **unused) {
  enum { ROWS = 300, COLUMNS = 37 };
  Ops *ops = make_ops(2);
  float *z = normals(71, ROWS * COLUMNS, 1), *y = normals(72, ROWS * COLUMNS, 1), inverse[ROWS];
  float *gain = normals(73, COLUMNS, 1), *offset = normals(74, COLUMNS, 1);
  for (int i = 0; i < ROWS * COLUMNS; i++) z[i] += (float)(i / COLUMNS); /* the last rows lie around 300 */
  for (int c = 0; c < COLUMNS; c++) z[7 * COLUMNS + c] = 0.1f;
  double *want = doubles(z, ROWS * COLUMNS), *exact_gain = doubles(gain, COLUMNS),
         *exact_offset = doubles(offset, COLUMNS);
  ops->norm_forward(ops, z, inverse, gain, offset, y, ROWS, COLUMNS, NETWORK_NORM_EPSILON, OPS_TANH);
  for (int r = 0; r < ROWS; r++) {
    oracle_norm(want + r * COLUMNS, exact_gain, exact_offset, COLUMNS, OPS_TANH);
    for (int c = 0; c < COLUMNS; c++)
      assert_near((double)y[r * COLUMNS + c], want[r * COLUMNS + c], r < 10 ? 1e-5 : 2e-4);
  }
  for (int c = 0; c < COLUMNS; c++) assert_near((double)z[7 * COLUMNS + c], 0, 1e-4);
  free(z), free(y), free(gain), free(offset), free(want), free(exact_gain), free(exact_offset);
  ops_destroy(&ops);
}

/* -------- threads and wrong use ------------------------------------------------------------------------------ */

/* Every output of a round of ops, as one block of bytes. */
typedef struct Round {
  float y[1500 * 70], dx[1500 * 40], dw[40 * 70], db[70], dlogits[1500 * 16], dvalue[1500], logp[1500], theta[9000],
      m[9000], v[9000], normalized[1500 * 70], inverse[1500], dnorm[1500 * 70], dgain[70], doffset[70];
  uint8_t actions[1500 * 6];
  double norm, kl, reverse;
  OpsPolicySums policy;
  OpsValueSums value;
  Moments moments;
} Round;

static void run_round(int threads, Round *out) {
  Ops *ops = make_ops(threads);
  float *x = normals(91, 1500 * 40, 1), *w = normals(92, 40 * 70, 0.1), *b = normals(93, 70, 1),
        *dy = normals(94, 1500 * 70, 1);
  float *logits = normals(95, 1500 * 16, 1), *other = normals(96, 1500 * 16, 1), *advantage = normals(97, 1500, 1),
        *n = normals(98, 9000, 1);
  ops->dense_forward(ops, x, w, b, out->y, 1500, 40, 70, OPS_SILU);
  ops->dense_backward(ops, x, w, b, out->y, dy, out->dx, out->dw, out->db, 1500, 40, 70, OPS_SILU);
  memcpy(out->normalized, out->y, sizeof out->y);
  memcpy(out->dnorm, dy, sizeof out->dnorm);
  ops->norm_forward(ops, out->normalized, out->inverse, w, b, out->y, 1500, 70, 1e-5, OPS_SILU);
  ops->norm_backward(ops, out->normalized, out->inverse, w, b, out->y, out->dnorm, out->dgain, out->doffset, 1500, 70,
                     OPS_SILU);
  ops->policy_sample(ops, &kinetix, logits, 1500, 4, CORE_RANDOM_ACTION, 0, 1, out->actions, out->logp);
  ops->policy_kl(ops, &kinetix, logits, other, 1500, &out->kl, &out->reverse);
  ops->policy_loss(ops, &kinetix, other, out->actions, out->logp, NULL, advantage, 1500, 0.2, 0.01, out->dlogits,
                   &out->policy);
  ops->value_loss(ops, advantage, logits, other, 1500, 1, 0.2, 0.5, out->dvalue, &out->value);
  out->norm = ops->norm_squared(ops, n, 9000);
  ops->moments(ops, n, NULL, 9000, &out->moments);
  memcpy(out->theta, n, sizeof out->theta);
  ops->adam(ops, out->theta, n, out->m, out->v, 9000, 1, 1, 1e-3, 0.9, 0.999, 1e-5, 1);
  float *const all[] = {x, w, b, dy, logits, other, advantage, n};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  ops_destroy(&ops);
}

static void test_no_result_depends_on_the_number_of_threads(void **unused) {
  const int threads[] = {2, 3, 7};
  Round *one = core_memory_zero_allocate(1, sizeof *one);
  run_round(1, one);
  for (int i = 0; i < 3; i++) {
    Round *several = core_memory_zero_allocate(1, sizeof *several);
    run_round(threads[i], several);
    assert_memory_equal(one, several, sizeof *one);
    free(several);
  }
  free(one);
}

static void test_wrong_use_is_an_error(void **unused) {
  Ops *ops;
  assert_int_equal(ops_cpu_create(-1, 10, 10, &ops), CORE_USAGE);
  assert_null(ops);
  assert_int_equal(ops_cpu_create(1, 0, 10, &ops), CORE_USAGE);
  assert_int_equal(ops_cpu_create(1, 10, 0, &ops), CORE_USAGE);
  assert_int_equal(ops_cpu_create(0, 10, 10, &ops), CORE_OK);
  ops_destroy(&ops);
  ops_destroy(&ops);
  assert_true(strlen(ops_cpu_description()) > 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fast_functions_are_within_a_few_ulp),
      cmocka_unit_test(test_fast_functions_at_the_edges),
      cmocka_unit_test(test_dense_layers_against_the_definition),
      cmocka_unit_test(test_every_library_multiplies_alike),
      cmocka_unit_test(test_gather),
      cmocka_unit_test(test_sums_and_moments),
      cmocka_unit_test(test_moments_of_equal_values_are_exact),
      cmocka_unit_test(test_adam_against_double),
      cmocka_unit_test(test_first_nonfinite),
      cmocka_unit_test(test_layer_norm_of_offset_and_constant_rows),
      cmocka_unit_test(test_no_result_depends_on_the_number_of_threads),
      cmocka_unit_test(test_wrong_use_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
