/* trainer/ops: dense layers, heads, losses and long vectors against slow double versions, finite differences, published
 * values and frequencies; and that no result depends on the number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/memory.h"
#include "core/random.h"
#include "tests/oracle/learner.h"
#include "trainer/ops/cpu_internal.h"
#include "trainer/ops/fast_math_internal.h"

enum { MAX_ROWS = 4096, MAX_WIDTH = 640 };
static const OpsHead kinetix = {.factors = 6, .logits = 16, .size = {3, 3, 3, 3, 2, 2}};
static const OpsHead uneven = {.factors = 3, .logits = 17, .size = {1, 11, 5}};

static Ops *make_ops(int threads) {
  Ops *ops;
  assert_int_equal(ops_cpu_create(threads, MAX_ROWS, MAX_WIDTH, &ops), CORE_OK);
  return ops;
}

/* N(0, scale) numbers of stream `stream`. */
static float *normals(uint32_t stream, size_t n, double scale) {
  float *x = core_memory_allocate(n * sizeof *x + 64);
  for (size_t i = 0; i < n; i++) {
    CoreRandom4 words = core_random_4(7, CORE_RANDOM_TEST, stream, (uint32_t)i, 0);
    double a, b;
    core_random_normal_pair(words.v[0], words.v[1], &a, &b);
    x[i] = (float)(scale * a);
  }
  return x;
}

static uint8_t *random_actions(const OpsHead *head, int rows) {
  uint8_t *actions = core_memory_allocate((size_t)(rows * head->factors));
  for (int i = 0; i < rows * head->factors; i++) {
    CoreRandom4 words = core_random_4(3, CORE_RANDOM_TEST, 99, (uint32_t)i, 0);
    actions[i] = (uint8_t)core_random_below(words.v[0], (uint32_t)head->size[i % head->factors]);
  }
  return actions;
}

static double *doubles(const float *x, size_t n) {
  double *d = core_memory_allocate(n * sizeof *d + 64);
  for (size_t i = 0; i < n; i++) d[i] = (double)x[i];
  return d;
}

static void assert_near(double got, double want, double tolerance) {
  if (!(fabs(got - want) <= tolerance)) fail_msg("got %.17g, want %.17g, off by %.3g > %.3g", got, want, got - want, tolerance);
}

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
    worst_expm1 = fmax(worst_expm1, fmax(ulps(fast_expm1(x), expm1((double)x)), ulps(fast_expm1(tiny), expm1((double)tiny))));
    if (i) worst_tail = fmax(worst_tail, ulps(fast_expm1_minus(tiny), expl((long double)tiny) - 1 - (long double)tiny) * (fabsf(tiny) > 1e-2f));
    worst_log = fmax(worst_log, ulps(fast_log(positive), log((double)positive)) * (fabs(log((double)positive)) > 1e-3));
    worst_tanh = fmax(worst_tanh, fmax(ulps(fast_tanh(x), tanh((double)x)), ulps(fast_tanh(tiny), tanh((double)tiny))));
    worst_sigmoid = fmax(worst_sigmoid, ulps(fast_sigmoid(x), 1 / (1 + exp(-(double)x))) * (x > -80));
  }
  print_message("# ulp: exp %.2f expm1 %.2f expm1-x %.2f log %.2f tanh %.2f sigmoid %.2f\n", worst_exp, worst_expm1, worst_tail,
                worst_log, worst_tanh, worst_sigmoid);
  assert_true(worst_exp <= 2 && worst_expm1 <= 4 && worst_log <= 2 && worst_tanh <= 6 && worst_sigmoid <= 4);
  assert_true(worst_tail <= 16); /* where e^x takes over from the polynomial, e^x - 1 - x loses three bits */
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
static const DenseShape dense_shapes[] = {{1, 1, 1}, {5, 7, 3}, {259, 13, 16}, {1030, 9, 1}, {600, 300, 19}, {513, 40, 33}};

/* Everything a layer computes, compared with double loops over the definition. */
static void compare_dense(Ops *ops, DenseShape s, OpsActivation activation) {
  size_t nx = (size_t)(s.rows * s.in), nw = (size_t)(s.in * s.out), ny = (size_t)(s.rows * s.out);
  float *x = normals(1, nx, 1), *w = normals(2, nw, 1 / sqrt(s.in)), *b = normals(3, (size_t)s.out, 0.3), *dy = normals(4, ny, 1);
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
    for (int activation = OPS_LINEAR; activation <= OPS_ELU; activation++) compare_dense(ops, dense_shapes[s], (OpsActivation)activation);
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
          for (int k = 0; k < K; k++) sum += (double)a[ta ? k * M + i : i * K + k] * (double)b[tb ? j * K + k : k * N + j];
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

/* -------- heads ---------------------------------------------------------------------------------------------- */

static void test_logp_against_the_definition(void **unused) {
  enum { ROWS = 300 };
  Ops *ops = make_ops(2);
  const OpsHead *heads[] = {&kinetix, &uneven};
  for (int h = 0; h < 2; h++) {
    size_t n = (size_t)(ROWS * heads[h]->logits);
    float *z = normals(21, n, 3), logp[ROWS];
    double *zd = doubles(z, n), entropy;
    uint8_t *actions = random_actions(heads[h], ROWS);
    ops->policy_logp(ops, heads[h], z, actions, logp, ROWS);
    for (int r = 0; r < ROWS; r++)
      assert_near((double)logp[r], oracle_logp(heads[h], zd + r * heads[h]->logits, actions + r * heads[h]->factors, &entropy), 5e-6);
    free(z), free(zd), free(actions);
  }
  ops_destroy(&ops);
}

static void test_kl_published_values(void **unused) {
  Ops *ops = make_ops(1);
  OpsHead pair = {.factors = 1, .logits = 2, .size = {2}};
  float p[] = {0, 0}, q[] = {logf(0.9f), logf(0.1f)};
  double kl, reverse;
  ops->policy_kl(ops, &pair, p, q, 1, &kl, &reverse);
  assert_near(kl, 0.510826, 5e-7); /* metrics.md 7 */
  assert_near(reverse, 0.368064, 5e-7);
  /* Between near policies KL is d^2 p (1 - p) / 2: float32 sums of p log(p/q) would lose it. */
  float near[] = {1.0f / 8192, 0};
  ops->policy_kl(ops, &pair, p, near, 1, &kl, &reverse);
  assert_near(kl / (0.125 / 8192 / 8192), 1, 1e-6);
  assert_near(reverse / kl, 1, 1e-6);
  /* A category that can not happen contributes nothing. */
  float never[] = {200, -200};
  ops->policy_kl(ops, &pair, never, p, 1, &kl, &reverse);
  assert_near(kl, log(2), 1e-7);
  assert_true(isfinite(reverse) && reverse > 100);
  ops_destroy(&ops);
}

static void test_k3_published_values(void **unused) {
  Ops *ops = make_ops(1);
  OpsHead certain = {.factors = 1, .logits = 1, .size = {1}}; /* logp = 0 exactly */
  const double cases[][2] = {{0.1, 0.0051709}, {-0.1, 0.0048374}, {1e-4, 5.0001667e-9}};
  for (int i = 0; i < 3; i++) {
    float z = 0, behaviour = (float)-cases[i][0], advantage = 1, gradient;
    uint8_t action = 0;
    OpsPolicySums sums;
    ops->policy_loss(ops, &certain, &z, &action, &behaviour, NULL, &advantage, 1, 0.2, 0, &gradient, &sums);
    assert_near(sums.k3, cases[i][1], 1e-5 * cases[i][1]);
    assert_near(sums.k1, -cases[i][0], 1e-8);
  }
  ops_destroy(&ops);
}

/* Chi-square of the counts against the probabilities of one repeated row. */
static void test_sampling_frequencies(void **unused) {
  enum { ROWS = 4000, REPEATS = 10 };
  Ops *ops = make_ops(2);
  float *row = normals(31, (size_t)kinetix.logits, 1.2), *z = core_memory_allocate(sizeof(float) * ROWS * 16), logp[ROWS], again[ROWS];
  static uint8_t actions[ROWS * 6];
  int counts[16] = {0}, pairs[3][3] = {{0}};
  for (int r = 0; r < ROWS; r++) memcpy(z + r * 16, row, 16 * sizeof(float));
  for (int step = 0; step < REPEATS; step++) {
    ops->policy_sample(ops, &kinetix, z, ROWS, 5, CORE_RANDOM_ACTION, 0, (uint32_t)step, actions, logp);
    ops->policy_logp(ops, &kinetix, z, actions, again, ROWS);
    assert_memory_equal(logp, again, sizeof logp);
    for (int r = 0; r < ROWS; r++) {
      for (int f = 0, k = 0; f < 6; k += kinetix.size[f++]) {
        assert_true(actions[r * 6 + f] < kinetix.size[f]);
        counts[k + actions[r * 6 + f]]++;
      }
      pairs[actions[r * 6]][actions[r * 6 + 1]]++;
    }
  }
  double chi = 0, chi_pairs = 0, probability[16], n = ROWS * REPEATS;
  for (int f = 0, k = 0; f < 6; k += kinetix.size[f++]) {
    double sum = 0;
    for (int i = 0; i < kinetix.size[f]; i++) sum += exp((double)row[k + i]);
    for (int i = 0; i < kinetix.size[f]; i++) {
      probability[k + i] = exp((double)row[k + i]) / sum;
      chi += pow(counts[k + i] - n * probability[k + i], 2) / (n * probability[k + i]);
    }
  }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double want = n * probability[i] * probability[3 + j];
      chi_pairs += pow(pairs[i][j] - want, 2) / want;
    }
  assert_true(chi < 30);       /* 10 degrees of freedom: 99.9 % point 29.6 */
  assert_true(chi_pairs < 27); /* factors are independent; 8 degrees: 99.9 % point 26.1 */
  free(row), free(z);
  ops_destroy(&ops);
}

static void test_sampling_depends_on_world_and_step_only(void **unused) {
  enum { ROWS = 700 };
  Ops *ops = make_ops(2);
  float *z = normals(32, ROWS * 16, 1), logp[ROWS];
  uint8_t whole[ROWS * 6], parts[ROWS * 6], other[ROWS * 6];
  ops->policy_sample(ops, &kinetix, z, ROWS, 5, CORE_RANDOM_ACTION, 100, 9, whole, logp);
  ops->policy_sample(ops, &kinetix, z, 33, 5, CORE_RANDOM_ACTION, 100, 9, parts, logp);
  ops->policy_sample(ops, &kinetix, z + 33 * 16, ROWS - 33, 5, CORE_RANDOM_ACTION, 133, 9, parts + 33 * 6, logp + 33);
  assert_memory_equal(whole, parts, sizeof whole);
  const struct { uint64_t seed; uint32_t purpose, step; } changed[] = {
      {6, CORE_RANDOM_ACTION, 9}, {5, CORE_RANDOM_EVALUATE, 9}, {5, CORE_RANDOM_ACTION, 10}};
  for (int i = 0; i < 3; i++) {
    ops->policy_sample(ops, &kinetix, z, ROWS, changed[i].seed, changed[i].purpose, 100, changed[i].step, other, logp);
    assert_memory_not_equal(whole, other, sizeof whole);
  }
  free(z);
  ops_destroy(&ops);
}

static void test_impossible_actions_are_never_sampled(void **unused) {
  enum { ROWS = 2000 };
  Ops *ops = make_ops(1);
  OpsHead head = {.factors = 1, .logits = 4, .size = {4}};
  static float z[ROWS * 4], logp[ROWS];
  static uint8_t actions[ROWS];
  for (int r = 0; r < ROWS; r++) z[r * 4] = -300, z[r * 4 + 1] = 20, z[r * 4 + 2] = 20, z[r * 4 + 3] = -INFINITY;
  ops->policy_sample(ops, &head, z, ROWS, 1, CORE_RANDOM_ACTION, 0, 0, actions, logp);
  for (int r = 0; r < ROWS; r++) {
    assert_true(actions[r] == 1 || actions[r] == 2);
    assert_near((double)logp[r], -log(2), 1e-6);
  }
  ops_destroy(&ops);
}

/* -------- losses --------------------------------------------------------------------------------------------- */

static void compare_policy_loss(Ops *ops, const OpsHead *head, double epsilon, int with_proximal, double entropy_coef) {
  enum { ROWS = 37 };
  size_t n = (size_t)(ROWS * head->logits);
  float *z = normals(41, n, 1), *advantage = normals(42, ROWS, 1), *shift = normals(43, ROWS, 0.3), *shift_proximal = normals(44, ROWS, 0.3);
  float behaviour[ROWS], proximal[ROWS], *gradient = normals(45, n, 1);
  double *zd = doubles(z, n), h = 1e-6, entropy;
  uint8_t *actions = random_actions(head, ROWS);
  OpsPolicySums sums;
  for (int r = 0; r < ROWS; r++) {
    double logp = oracle_logp(head, zd + r * head->logits, actions + r * head->factors, &entropy);
    behaviour[r] = (float)logp + shift[r], proximal[r] = (float)logp + shift_proximal[r];
  }
  const float *given = with_proximal ? proximal : NULL;
  ops->policy_loss(ops, head, z, actions, behaviour, given, advantage, ROWS, epsilon, entropy_coef, gradient, &sums);
  double want = oracle_policy_loss(head, zd, actions, behaviour, given, advantage, ROWS, epsilon, entropy_coef);
  assert_near((sums.loss - entropy_coef * sums.entropy) / ROWS, want, 3e-6);
  for (size_t i = 0; i < n; i++) {
    double z0 = zd[i];
    zd[i] = z0 + h;
    double above = oracle_policy_loss(head, zd, actions, behaviour, given, advantage, ROWS, epsilon, entropy_coef);
    zd[i] = z0 - h;
    double below = oracle_policy_loss(head, zd, actions, behaviour, given, advantage, ROWS, epsilon, entropy_coef);
    zd[i] = z0;
    assert_near((double)gradient[i], (above - below) / (2 * h), 1e-6);
  }
  free(z), free(advantage), free(shift), free(shift_proximal), free(gradient), free(zd), free(actions);
}

static void test_policy_loss_gradient_by_differences(void **unused) {
  Ops *ops = make_ops(2);
  const double epsilons[] = {0.05, 0.2, 1, 1.5, INFINITY};
  const OpsHead *heads[] = {&kinetix, &uneven};
  for (int e = 0; e < 5; e++)
    for (int proximal = 0; proximal < 2; proximal++)
      for (int h = 0; h < 2; h++) compare_policy_loss(ops, heads[h], epsilons[e], proximal, 0.03);
  ops_destroy(&ops);
}

/* The clip's two-sided rule and its ties (spec 1.4), on one sample with a known ratio. d loss/d logp is read from a pair
 * of equal logits, where d logp / d z = 1/2. */
static void test_policy_loss_clip_rule(void **unused) {
  static const struct { double log_ratio, advantage, epsilon, share; int clipped; } cases[] = {
      {0.5, 1, 0.2, 0, 1},  {0.5, -1, 0.2, 1, 1},  {-0.5, 1, 0.2, 1, 1},      {-0.5, -1, 0.2, 0, 1},      {0.1, 1, 0.2, 1, 0},
      {0, 1, 0, 0.625, 0},  {0, -1, 0, 0.625, 0},  {0.5, 1, INFINITY, 1, 0},  {-0.5, -1, INFINITY, 1, 0}, {-3, -1, 1, 1, 0},
      {0.1, 1, 0, 0, 1},    {0.1, -1, 0, 1, 1},    {-0.1, -1, 0, 0, 1},
  };
  Ops *ops = make_ops(1);
  OpsHead pair = {.factors = 1, .logits = 2, .size = {2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int with_proximal = 0; with_proximal < 2; with_proximal++) {
      float z[2] = {0, 0}, logp, gradient[2], advantage = (float)cases[i].advantage;
      uint8_t action = 0;
      OpsPolicySums sums;
      ops->policy_logp(ops, &pair, z, &action, &logp, 1);
      float behaviour = (float)((double)logp - cases[i].log_ratio);
      ops->policy_loss(ops, &pair, z, &action, &behaviour, with_proximal ? &behaviour : NULL, &advantage, 1, cases[i].epsilon, 0,
                       gradient, &sums);
      assert_near(2 * (double)gradient[0], -cases[i].advantage * exp(cases[i].log_ratio) * cases[i].share, 2e-6);
      assert_true(gradient[1] == -gradient[0]);
      assert_int_equal((int)sums.clipped, cases[i].clipped);
    }
  ops_destroy(&ops);
}

/* COM 0: the proximal policy is the policy, so nothing clips and the gradient is importance sampling's. */
static void test_policy_loss_with_itself_as_proximal(void **unused) {
  enum { ROWS = 40 };
  Ops *ops = make_ops(1);
  float *z = normals(46, ROWS * 16, 1), *advantage = normals(47, ROWS, 1), logp[ROWS], behaviour[ROWS], clipped[ROWS * 16], free_of_clip[ROWS * 16];
  uint8_t *actions = random_actions(&kinetix, ROWS);
  OpsPolicySums sums, unclipped;
  ops->policy_logp(ops, &kinetix, z, actions, logp, ROWS);
  for (int r = 0; r < ROWS; r++) behaviour[r] = logp[r] + (float)(r - 20) * 0.1f;
  ops->policy_loss(ops, &kinetix, z, actions, behaviour, logp, advantage, ROWS, 0.1, 0, clipped, &sums);
  ops->policy_loss(ops, &kinetix, z, actions, behaviour, NULL, advantage, ROWS, INFINITY, 0, free_of_clip, &unclipped);
  assert_memory_equal(clipped, free_of_clip, sizeof clipped);
  assert_true(sums.clipped == 0);
  assert_near(sums.loss, unclipped.loss, 1e-4);
  free(z), free(advantage), free(actions);
  ops_destroy(&ops);
}

static void test_losses_pass_nan_on(void **unused) {
  Ops *ops = make_ops(1);
  float *z = normals(48, 16 * 16, 1), *rows = normals(49, 16, 1), gradient[16 * 16], dvalue[16];
  uint8_t *actions = random_actions(&kinetix, 16);
  OpsPolicySums sums;
  OpsValueSums value;
  z[16 * 5 + 3] = NAN;
  ops->policy_loss(ops, &kinetix, z, actions, rows, NULL, rows, 16, 0.2, 0.01, gradient, &sums);
  assert_true(isnan(sums.loss) && isnan(gradient[16 * 5 + 3]) && !isnan(gradient[0]));
  float bad[16];
  memcpy(bad, rows, sizeof bad);
  bad[7] = NAN;
  ops->value_loss(ops, bad, rows, rows, 16, 1, 0.2, 0.5, dvalue, &value);
  assert_true(isnan(value.loss) && isnan(dvalue[7]) && !isnan(dvalue[6]));
  free(z), free(rows), free(actions);
  ops_destroy(&ops);
}

static void test_value_loss_gradient_by_differences(void **unused) {
  enum { ROWS = 301 };
  Ops *ops = make_ops(2);
  float *value = normals(51, ROWS, 1), *old_value = normals(52, ROWS, 0.2), *target = normals(53, ROWS, 1), gradient[ROWS];
  const double epsilons[] = {0.2, 1e-3, 2, INFINITY};
  for (int r = 0; r < ROWS; r++) old_value[r] += value[r];
  for (int e = 0; e < 4; e++)
    for (int clip = 0; clip < 2; clip++) {
      OpsValueSums sums;
      double *v = doubles(value, ROWS), h = 1e-6;
      ops->value_loss(ops, value, old_value, target, ROWS, clip, epsilons[e], 0.5, gradient, &sums);
      assert_near(0.5 * sums.loss / ROWS, oracle_value_loss(v, old_value, target, ROWS, clip, epsilons[e], 0.5), 1e-6);
      for (int r = 0; r < ROWS; r++) {
        double v0 = v[r];
        v[r] = v0 + h;
        double above = oracle_value_loss(v, old_value, target, ROWS, clip, epsilons[e], 0.5);
        v[r] = v0 - h;
        double below = oracle_value_loss(v, old_value, target, ROWS, clip, epsilons[e], 0.5);
        v[r] = v0;
        assert_near((double)gradient[r], (above - below) / (2 * h), 1e-8 + 1e-6 * fabs((double)gradient[r]));
      }
      free(v);
    }
  free(value), free(old_value), free(target);
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
  ops_destroy(&ops);
}

static void test_adam_against_double(void **unused) {
  enum { N = 5000, STEPS = 30 };
  Ops *ops = make_ops(2);
  float *theta = normals(71, N, 1), m[N] = {0}, v[N] = {0};
  double *exact = doubles(theta, N), em[N] = {0}, ev[N] = {0};
  for (int t = 1; t <= STEPS; t++) {
    float *gradient = normals(71 + (uint32_t)t, N, 0.1);
    ops->adam(ops, theta, gradient, m, v, N, 0.5, 1e-3, 0.9, 0.999, 1e-5, t);
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

/* -------- threads and wrong use ------------------------------------------------------------------------------ */

/* Every output of a round of ops, as one block of bytes. */
typedef struct Round {
  float y[1500 * 70], dx[1500 * 40], dw[40 * 70], db[70], dlogits[1500 * 16], dvalue[1500], logp[1500], theta[9000], m[9000], v[9000];
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
  ops->policy_sample(ops, &kinetix, logits, 1500, 4, CORE_RANDOM_ACTION, 0, 1, out->actions, out->logp);
  ops->policy_kl(ops, &kinetix, logits, other, 1500, &out->kl, &out->reverse);
  ops->policy_loss(ops, &kinetix, other, out->actions, out->logp, NULL, advantage, 1500, 0.2, 0.01, out->dlogits,
                   &out->policy);
  ops->value_loss(ops, advantage, logits, other, 1500, 1, 0.2, 0.5, out->dvalue, &out->value);
  out->norm = ops->norm_squared(ops, n, 9000);
  ops->moments(ops, n, NULL, 9000, &out->moments);
  memcpy(out->theta, n, sizeof out->theta);
  ops->adam(ops, out->theta, n, out->m, out->v, 9000, 1, 1e-3, 0.9, 0.999, 1e-5, 1);
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
      cmocka_unit_test(test_logp_against_the_definition),
      cmocka_unit_test(test_kl_published_values),
      cmocka_unit_test(test_k3_published_values),
      cmocka_unit_test(test_sampling_frequencies),
      cmocka_unit_test(test_sampling_depends_on_world_and_step_only),
      cmocka_unit_test(test_impossible_actions_are_never_sampled),
      cmocka_unit_test(test_policy_loss_gradient_by_differences),
      cmocka_unit_test(test_policy_loss_clip_rule),
      cmocka_unit_test(test_policy_loss_with_itself_as_proximal),
      cmocka_unit_test(test_losses_pass_nan_on),
      cmocka_unit_test(test_value_loss_gradient_by_differences),
      cmocka_unit_test(test_sums_and_moments),
      cmocka_unit_test(test_moments_of_equal_values_are_exact),
      cmocka_unit_test(test_adam_against_double),
      cmocka_unit_test(test_first_nonfinite),
      cmocka_unit_test(test_no_result_depends_on_the_number_of_threads),
      cmocka_unit_test(test_wrong_use_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
