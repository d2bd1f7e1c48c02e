/* Ranks, silent units, policy variance and gradient kurtosis against closed forms and slow definitions. */
#include "test.h"

#include "core/device/arena.h"
#include "core/random.h"
#include "trainer/math/kurtosis.h"
#include "trainer/measure/representation.h"

static double uniform(CoreRandomStream *stream) { return core_random_next(stream) / 4294967296.0; }

/* ---- eigenvalues ----------------------------------------------------------------------------------------------- */

static void eigenvalues_of(const double *matrix, int n, double *values) {
  double copy[64 * 64], scratch[64];
  memcpy(copy, matrix, sizeof(double) * (size_t)(n * n));
  representation_eigenvalues(copy, n, values, scratch);
}

static void check_eigenvalues(const double *matrix, int n, const double *expected) {
  double values[64];
  eigenvalues_of(matrix, n, values);
  for (int i = 0; i < n; i++) assert_near(values[i], expected[i], 1e-13 * fabs(expected[0]) + 1e-300);
}

static void test_known_eigenvalues(void **state) {
  const double one[] = {5}, diagonal[] = {1, 0, 0, 0, 3, 0, 0, 0, 2}, zero[9] = {0};
  const double two[] = {2, 1, 1, 2}, ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  check_eigenvalues(one, 1, (double[]){5});
  check_eigenvalues(diagonal, 3, (double[]){3, 2, 1});
  check_eigenvalues(zero, 3, (double[]){0, 0, 0});
  check_eigenvalues(two, 2, (double[]){3, 1});
  check_eigenvalues(ones, 3, (double[]){3, 0, 0});
}

/* The second difference matrix has the eigenvalues 2 - 2 cos(k pi / (n + 1)); here hidden by a similarity Q A Q^T with
 * a Householder reflection, at scales from 1e-100 to 1e100. */
static void test_hidden_eigenvalues(void **state) {
  enum { N = 40 };
  CoreRandomStream stream = core_random_stream(7, 1, 2, 3);
  for (int scale = -100; scale <= 100; scale += 50) {
    double a[N * N] = {0}, v[N], q[N * N], qa[N * N], expected[N], norm = 0;
    for (int i = 0; i < N; i++) {
      a[i * N + i] = 2 * pow(10, scale);
      if (i > 0) a[i * N + i - 1] = a[(i - 1) * N + i] = -pow(10, scale);
      expected[N - 1 - i] = pow(10, scale) * (2 - 2 * cos((i + 1) * acos(-1) / (N + 1)));
      v[i] = uniform(&stream) - 0.5;
      norm += v[i] * v[i];
    }
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) q[i * N + j] = (i == j) - 2 * v[i] * v[j] / norm;
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        qa[i * N + j] = 0;
        for (int k = 0; k < N; k++) qa[i * N + j] += q[i * N + k] * a[k * N + j];
      }
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) {
        a[i * N + j] = 0;
        for (int k = 0; k < N; k++) a[i * N + j] += qa[i * N + k] * q[k * N + j];
      }
    check_eigenvalues(a, N, expected);
  }
}

/* ---- ranks ----------------------------------------------------------------------------------------------------- */

static void test_known_ranks(void **state) {
  RepresentationRank rank = representation_rank_of((double[]){100, 1, 0.01}, 3, 3);
  assert_true(rank.pca == 1);
  rank = representation_rank_of((double[]){100, 4, 0.01}, 3, 3);
  assert_true(rank.pca == 2);
  rank = representation_rank_of((double[]){1, 1, 1, 1}, 4, 100);
  assert_true(rank.pca == 4 && rank.srank == 4 && rank.lyle == 4);
  assert_near(rank.effective, 4, 1e-12);
  rank = representation_rank_of((double[]){1, 0.9e-2, 1.1e-2, -1e-18}, 4, 100); /* 0.01^2 * 100 = 0.01 */
  assert_true(rank.lyle == 2);
  rank = representation_rank_of((double[]){0, 0}, 2, 10);
  assert_true(rank.pca == 1 && rank.lyle == 0 && rank.effective == 1);
}

static void test_gram(void **state) {
  enum { ROWS = 23, WIDTH = 19 };
  float x[ROWS * WIDTH];
  double gram[WIDTH * WIDTH] = {0};
  CoreRandomStream stream = core_random_stream(1, 1, 1, 1);
  for (int i = 0; i < ROWS * WIDTH; i++) x[i] = (float)uniform(&stream) - 0.4f;
  representation_add_gram(x, 5, WIDTH, gram);
  representation_add_gram(x + 5 * WIDTH, ROWS - 5, WIDTH, gram);
  for (int i = 0; i < WIDTH; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0;
      for (int r = 0; r < ROWS; r++) sum += (double)x[r * WIDTH + i] * (double)x[r * WIDTH + j];
      assert_near(gram[i * WIDTH + j], sum, 1e-14);
    }
}

/* From the Gram matrix of features far from 0 and their means, that of the features less their means. */
static void test_centered_gram(void **state) {
  enum { ROWS = 23, WIDTH = 5 };
  float x[ROWS * WIDTH], less[ROWS * WIDTH];
  double gram[WIDTH * WIDTH] = {0}, centered[WIDTH * WIDTH], expected[WIDTH * WIDTH] = {0}, values[WIDTH],
                      scratch[WIDTH];
  Moments feature[WIDTH] = {{0}};
  CoreRandomStream stream = core_random_stream(3, 1, 1, 1);
  for (int r = 0; r < ROWS; r++) { /* two directions around a mean of 100 */
    float a = (float)uniform(&stream), b = (float)uniform(&stream);
    for (int i = 0; i < WIDTH; i++) {
      x[r * WIDTH + i] = 100 + a * (float)(i + 1) + b * (float)(i * i);
      moments_add(&feature[i], (double)x[r * WIDTH + i]);
    }
  }
  for (int k = 0; k < ROWS * WIDTH; k++) less[k] = (float)((double)x[k] - feature[k % WIDTH].mean);
  representation_add_gram(x, ROWS, WIDTH, gram);
  representation_add_gram(less, ROWS, WIDTH, expected);
  representation_center_gram(gram, feature, WIDTH, ROWS, centered);
  for (int i = 0; i < WIDTH; i++)
    for (int j = 0; j <= i; j++) assert_near(centered[i * WIDTH + j], expected[i * WIDTH + j], 1e-4);
  eigenvalues_of(gram, WIDTH, values);
  assert_near(representation_rank_of(values, WIDTH, ROWS).pca, 1, 0); /* all that is seen is the mean */
  representation_eigenvalues(centered, WIDTH, values, scratch);
  assert_near(representation_rank_of(values, WIDTH, ROWS).pca, 2, 0);
}

/* ---- units ----------------------------------------------------------------------------------------------------- */

typedef struct Layers {
  CoreArena *arena;
  NetworkShape shape;
  Representation representation;
  NetworkActivations activations;
  float first[4 * 3], second[4 * 2], output[4];
} Layers;

/* Hidden layers of 3 and 2 units, filled by the test, over 4 states. */
static Layers *make_layers(OpsActivation activation) {
  Layers *layers = calloc(1, sizeof *layers);
  layers->shape = (NetworkShape){.layers = 3, .width = {5, 3, 2, 1}, .activation = {activation, activation}};
  layers->activations = (NetworkActivations){.hidden = {layers->first, layers->second, layers->output}};
  layers->arena = core_arena_create("test");
  representation_register(&layers->representation, &layers->shape, NULL, 0, layers->arena);
  assert_int_equal(core_arena_commit(layers->arena), CORE_OK);
  representation_begin(&layers->representation);
  return layers;
}

static void destroy_layers(Layers *layers) {
  core_arena_destroy(&layers->arena);
  free(layers);
}

static void fill_unit(float *layer, int width, int unit, const float values[4]) {
  for (int r = 0; r < 4; r++) layer[r * width + unit] = values[r];
}

static void test_units(void **state) {
  static const float still[] = {0.5f, 0.5f, 0.5f, 0.5f}, alive[] = {1, -1, 1, -1}, faint[] = {0.01f, 0, 0, 0};
  for (int relu = 0; relu < 2; relu++) {
    Layers *layers = make_layers(relu ? OPS_RELU : OPS_TANH);
    fill_unit(layers->first, 3, 0, still);
    fill_unit(layers->first, 3, 1, alive);
    fill_unit(layers->first, 3, 2, faint);  /* 0.0025 of a mean of 0.5: dormant, yet not dead: sd 0.0043 */
    representation_add(&layers->representation, &layers->activations, 4);
    RepresentationUnits units = representation_units(&layers->representation, 0.025);
    /* The second layer is 0: all of it is dormant, inactive and dead. */
    assert_near(units.dormant, 3 / 5., 1e-15);
    assert_near(units.inactive, 2 / 5., 1e-15);
    assert_near(units.dead, (relu ? 2 : 3) / 5., 1e-15); /* tanh: the constant unit, too */
    assert_near(representation_units(&layers->representation, 0).dormant, 2 / 5., 1e-15);
    RepresentationUnits first = representation_layer_units(&layers->representation, 1, 0.025);
    RepresentationUnits second = representation_layer_units(&layers->representation, 2, 0.025);
    assert_near(first.dormant, 1 / 3., 1e-15);
    assert_near(first.inactive, 0, 1e-15);
    assert_near(first.dead, (relu ? 0 : 1) / 3., 1e-15);
    assert_true(second.dormant == 1 && second.inactive == 1 && second.dead == 1);
    destroy_layers(layers);
  }
}

/* Channels of a convolution over 2 states of 3 positions, next to one without a relu and a hidden layer. Computed by
 * hand: the first channel is 1 at one position of one state, the second always 0, the third 3 everywhere. */
static void test_convolutions(void **state) {
  const RepresentationLayer convolutions[] = {{3, 3, OPS_RELU}, {4, 0, OPS_RELU}};
  const NetworkShape shape = {.layers = 2, .width = {9, 2, 1}, .activation = {OPS_RELU}};
  const float h[2 * 3 * 3] = {0, 0, 3, 1, 0, 3, 0, 0, 3, 0, 0, 3, 0, 0, 3, 0, 0, 3};
  float hidden[2 * 2] = {1, 1, 1, 1}, output[2] = {0, 0};
  const NetworkActivations activations = {.hidden = {hidden, output}};
  CoreArena *arena = core_arena_create("test");
  Representation representation;
  representation_register(&representation, &shape, convolutions, 2, arena);
  assert_int_equal(core_arena_commit(arena), CORE_OK);
  representation_begin(&representation);
  for (int r = 0; r < 2; r++) representation_add_convolution(&representation, 0, h + 9 * r, 1);
  representation_add(&representation, &activations, 2);
  assert_near(representation.unit[0].mean, 1 / 6., 1e-15);
  RepresentationUnits first = representation_layer_units(&representation, 1, 0.2); /* 1/6 of a mean of 19/18 */
  assert_near(first.dormant, 2 / 3., 1e-15);
  assert_near(representation_layer_units(&representation, 1, 0.1).dormant, 1 / 3., 1e-15);
  assert_near(first.dead, 1 / 3., 1e-15);
  assert_near(first.inactive, 1 / 3., 1e-15);
  assert_true(isnan(representation_layer_units(&representation, 2, 0.2).dormant));
  assert_near(representation_layer_units(&representation, 3, 0.2).dormant, 0, 0);
  assert_near(representation_units(&representation, 0.2).dormant, 2 / 5., 1e-15); /* 3 channels and 2 units */
  core_arena_destroy(&arena);
}

/* A unit at 1 - 1e-7 that hardly moves keeps its tiny spread; batches add up to the whole. */
static void test_batches_add_up(void **state) {
  Layers *layers = make_layers(OPS_TANH), *whole = make_layers(OPS_TANH);
  CoreRandomStream stream = core_random_stream(4, 1, 1, 1);
  for (int i = 0; i < 12; i++) layers->first[i] = whole->first[i] = (float)uniform(&stream);
  for (int i = 0; i < 8; i++) layers->second[i] = whole->second[i] = 1 - (float)(1e-7 * uniform(&stream));
  representation_add(&whole->representation, &whole->activations, 4);
  for (int r = 0; r < 4; r++) {
    const NetworkActivations row = {.hidden = {layers->first + 3 * r, layers->second + 2 * r, layers->output + r}};
    representation_add(&layers->representation, &row, 1);
  }
  for (int u = 0; u < 5; u++) {
    double a = moments_variance(&layers->representation.unit[u]), b = moments_variance(&whole->representation.unit[u]);
    assert_near(a, b, 1e-9 * b + 1e-30);
  }
  RepresentationRank a = representation_rank(&layers->representation), b = representation_rank(&whole->representation);
  assert_true(a.pca == b.pca && a.srank == b.srank && a.lyle == b.lyle);
  assert_true(a.centered == 1 && b.centered == 1 &&
              a.pca == 1); /* the second unit moves by 1e-7, which is all there is */
  destroy_layers(layers);
  destroy_layers(whole);
}

static void test_too_few_states(void **state) {
  Layers *layers = make_layers(OPS_TANH);
  representation_add(&layers->representation, &layers->activations, 1);
  assert_true(isnan(representation_rank(&layers->representation).pca));
  destroy_layers(layers);
}

/* ---- policy and gradient --------------------------------------------------------------------------------------- */

static void test_policy_variance(void **state) {
  const OpsHead head = {.factors = 2, .logits = 3, .size = {2, 1}};
  const float logits[] = {0, 0, 7, logf(9), 0, -3, 1e4f, -1e4f, 0}; /* P(first) = 0.5, 0.9, 1; the factor of one: 1 */
  Moments moments[3] = {{0}};
  representation_add_policy(&head, logits, 1, moments);
  assert_true(isnan(representation_policy_variance(&head, moments)));
  representation_add_policy(&head, logits + 3, 2, moments);
  double variance = (0.3 * 0.3 + 0.1 * 0.1 + 0.2 * 0.2) / 2; /* variance of 0.5, 0.9, 1 about 0.8 */
  assert_near(representation_policy_variance(&head, moments), 2 * variance / 3, 1e-7);
}

static void test_kurtosis(void **state) {
  float known[5], tiny = 1e-30f;
  for (int i = 0; i < 5; i++) known[i] = (float)exp(i + 1) * (i % 2 ? -1 : 1);
  Kurtosis kurtosis = kurtosis_measure(known, 5);
  assert_near(kurtosis.all, 1.7, 1e-6);
  assert_near(kurtosis.nonzero, 1.7, 1e-6);
  assert_true(kurtosis.zero_fraction == 0);
  known[0] = 0;
  known[1] = -0.0f;
  kurtosis = kurtosis_measure(known, 5);
  assert_near(kurtosis.nonzero, 1.5, 1e-6); /* kurtosis of 3, 4, 5 */
  assert_true(kurtosis.zero_fraction == 0.4 && isfinite(kurtosis.all) && kurtosis.all != kurtosis.nonzero);
  assert_true(isnan(kurtosis_measure(&tiny, 1).all));
  assert_true(isnan(kurtosis_measure((float[]){0.1f, -0.1f, 0.1f}, 3).all));
  kurtosis = kurtosis_measure((float[]){0, 0}, 2);
  assert_true(isnan(kurtosis.all) && isnan(kurtosis.nonzero) && kurtosis.zero_fraction == 1);
}

/* Many parts against one moment record. */
static void test_kurtosis_of_many(void **state) {
  enum { N = 700001 };
  float *gradient = malloc(N * sizeof *gradient);
  CoreRandomStream stream = core_random_stream(9, 1, 1, 1);
  Moments all = {0};
  for (int i = 0; i < N; i++) {
    gradient[i] = i % 7 == 0 ? 0 : (float)(tan(3 * (uniform(&stream) - 0.5)) * 1e-3);
    moments_add(&all, log(fabs((double)gradient[i]) + 1e-8));
  }
  assert_near(kurtosis_measure(gradient, N).all, moments_kurtosis(&all), 1e-9);
  free(gradient);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_known_eigenvalues), cmocka_unit_test(test_hidden_eigenvalues),
    cmocka_unit_test(test_known_ranks),       cmocka_unit_test(test_gram),
    cmocka_unit_test(test_centered_gram),      cmocka_unit_test(test_units), cmocka_unit_test(test_convolutions),
    cmocka_unit_test(test_batches_add_up),    cmocka_unit_test(test_too_few_states),
    cmocka_unit_test(test_policy_variance),   cmocka_unit_test(test_kurtosis),
    cmocka_unit_test(test_kurtosis_of_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
