/* trainer/network: layout, orthogonal initialization, and the gradient of whole networks against finite differences
 * of a network in double. */
#include "test.h"

#include "core/memory.h"
#include "core/random.h"
#include "tests/oracle/learner.h"
#include "trainer_steps.h"

static float *uniforms(uint32_t stream, size_t n, float low, float high) {
  float *x = core_memory_allocate(n * sizeof *x);
  CoreRandomStream random = core_random_stream(11, CORE_RANDOM_TEST, stream, 0);
  for (size_t i = 0; i < n; i++) x[i] = core_random_uniform(&random, low, high);
  return x;
}

static void test_parameters_lie_as_documented(void **unused) {
  NetworkShape shape = network_shape(5, (int[]){7, 7}, 2, 3, OPS_TANH, 0.01);
  assert_int_equal(shape.layers, 3);
  assert_int_equal(network_kernel(&shape, 0), 0);
  assert_int_equal(network_bias(&shape, 0), 35);
  assert_int_equal(network_kernel(&shape, 1), 42);
  assert_int_equal(network_bias(&shape, 2), 42 + 56 + 21);
  assert_int_equal(network_parameters(&shape), 42 + 56 + 24);
  assert_int_equal(network_activation_floats(&shape, 10), 170);

  shape.layer_norm = true; /* W, b, gain, offset of every hidden layer; the head has none */
  assert_int_equal(network_norm_gain(&shape, 0), 42);
  assert_int_equal(network_norm_offset(&shape, 0), 49);
  assert_int_equal(network_kernel(&shape, 1), 56);
  assert_int_equal(network_bias(&shape, 2), 56 + 70 + 21);
  assert_int_equal(network_parameters(&shape), 56 + 70 + 24);
  assert_false(network_has_norm(&shape, 2));

  network_prepend(&shape, (int[]){4, 6}, 2, OPS_RELU);
  assert_int_equal(shape.layers, 5);
  const int width[] = {5, 4, 6, 7, 7, 3};
  assert_memory_equal(shape.width, width, sizeof width);
  const OpsActivation activation[] = {OPS_RELU, OPS_RELU, OPS_TANH, OPS_TANH, OPS_LINEAR};
  assert_memory_equal(shape.activation, activation, sizeof activation);
}

static void test_parameter_names(void **unused) {
  char name[64];
  NetworkShape shape = network_shape(5, (int[]){7, 7}, 2, 3, OPS_TANH, 0.01);
  assert_string_equal(network_parameter_name(&shape, "actor", 0, name), "actor.W0[0,0]");
  assert_string_equal(network_parameter_name(&shape, "actor", 34, name), "actor.W0[4,6]");
  assert_string_equal(network_parameter_name(&shape, "actor", 36, name), "actor.b0[1]");
  assert_string_equal(network_parameter_name(&shape, "critic", 42 + 7 * 3 + 2, name), "critic.W1[3,2]");
  assert_string_equal(network_parameter_name(&shape, "critic", 121, name), "critic.b2[2]");
  assert_string_equal(network_parameter_name(&shape, "critic", 122, name), "critic[122]"); /* the head's own */
  shape.layer_norm = true;
  assert_string_equal(network_parameter_name(&shape, "actor", 41, name), "actor.b0[6]");
  assert_string_equal(network_parameter_name(&shape, "actor", 43, name), "actor.gain0[1]");
  assert_string_equal(network_parameter_name(&shape, "actor", 55, name), "actor.offset0[6]");
  assert_string_equal(network_parameter_name(&shape, "actor", 56, name), "actor.W1[0,0]");
}

/* The longer side of every kernel is orthonormal times the gain; biases are 0. */
static void assert_orthogonal(const NetworkShape *shape, const float *theta, int layer, double gain) {
  int in = shape->width[layer], out = shape->width[layer + 1], count = in < out ? in : out,
      length = in < out ? out : in;
  const float *w = theta + network_kernel(shape, layer), *b = theta + network_bias(shape, layer);
  for (int i = 0; i < count; i++)
    for (int j = 0; j <= i; j++) {
      double dot = 0;
      for (int k = 0; k < length; k++)
        dot += in < out ? (double)w[i * out + k] * (double)w[j * out + k]
                        : (double)w[k * out + i] * (double)w[k * out + j];
      assert_true(fabs(dot - (i == j ? gain * gain : 0)) < 1e-6 * gain * gain);
    }
  for (int o = 0; o < out; o++) assert_true(b[o] == 0);
}

static void test_initialization_is_orthogonal(void **unused) {
  NetworkShape shape = network_shape(140, (int[]){64, 64, 64}, 3, 16, OPS_TANH, 0.01);
  float *theta = core_memory_allocate(network_parameters(&shape) * sizeof *theta);
  network_init(&shape, 3, 0, theta);
  for (int layer = 0; layer < 3; layer++) assert_orthogonal(&shape, theta, layer, sqrt(2));
  assert_orthogonal(&shape, theta, 3, 0.01);
  free(theta);
}

static void test_layer_norm_starts_as_the_identity(void **unused) {
  NetworkShape shape = network_shape(6, (int[]){5, 5}, 2, 3, OPS_TANH, 0.01);
  shape.layer_norm = true;
  float *theta = uniforms(1, network_parameters(&shape), 7, 9);
  network_init(&shape, 3, 0, theta);
  for (int layer = 0; layer < 2; layer++) {
    assert_orthogonal(&shape, theta, layer, sqrt(2));
    for (size_t i = 0; i < 5; i++) {
      assert_true(theta[network_norm_gain(&shape, layer) + i] == 1);
      assert_true(theta[network_norm_offset(&shape, layer) + i] == 0);
    }
  }
  assert_orthogonal(&shape, theta, 2, 0.01);
  free(theta);
}

static void test_initialization_depends_on_seed_and_tensor_only(void **unused) {
  NetworkShape shape = network_shape(20, (int[]){33, 33}, 2, 5, OPS_TANH, 0.01),
               shallow = network_shape(20, (int[]){33}, 1, 5, OPS_TANH, 0.01);
  size_t n = network_parameters(&shape), bytes = n * sizeof(float), first = 20 * 33 * sizeof(float);
  float *a = core_memory_allocate(bytes), *b = core_memory_allocate(bytes);
  network_init(&shape, 3, 0, a);
  network_init(&shape, 3, 0, b);
  assert_memory_equal(a, b, bytes);
  network_init(&shallow, 3, 0, b);
  assert_memory_equal(a, b, first);
  network_init(&shape, 4, 0, b);
  assert_memory_not_equal(a, b, first);
  network_init(&shape, 3, 100, b);
  assert_memory_not_equal(a, b, first);
  free(a), free(b);
}

/* A square kernel of a QR with positive diagonal: R = Q^T G is upper triangular with a positive diagonal. */
static void test_orthogonal_is_the_positive_qr(void **unused) {
  enum { N = 12 };
  double gaussian[N * N];
  float kernel[N * N];
  for (uint32_t i = 0; i < N * N; i++) {
    double spare;
    CoreRandom4 words = core_random_4(1, CORE_RANDOM_TEST, 5, i, 0);
    core_random_normal_pair(words.v[0], words.v[1], &gaussian[i], &spare);
  }
  network_orthogonal(gaussian, N, N, 1, kernel);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      double r = 0;
      for (int k = 0; k < N; k++) r += (double)kernel[k * N + i] * gaussian[k * N + j];
      if (i == j) assert_true(r > 0);
      if (i > j) assert_true(fabs(r) < 2e-6);
    }
}

static void compare_gradient(Ops *ops, NetworkShape shape, int rows) {
  size_t n = network_parameters(&shape), outputs = (size_t)(rows * shape.width[shape.layers]);
  float *theta = uniforms(1, n, -0.8f, 0.8f), *x = uniforms(2, (size_t)(rows * shape.width[0]), -1, 1);
  float *weight = uniforms(3, outputs, -1, 1), *upstream = uniforms(3, outputs, -1, 1),
        *gradient = uniforms(4, n, 7, 9);
  float *block = core_memory_allocate(sizeof(float) * network_activation_floats(&shape, rows)), scratch[2 * 64 * 16];
  double *exact = core_memory_allocate(n * sizeof *exact), h = 1e-6;
  NetworkActivations activations;
  network_place_activations(&shape, rows, block, &activations);
  network_forward(ops, &shape, theta, x, rows, &activations);
  network_backward(ops, &shape, theta, x, rows, &activations, upstream, scratch, gradient);
  for (size_t i = 0; i < n; i++) exact[i] = (double)theta[i];
  double sum = 0;
  for (size_t i = 0; i < outputs; i++) sum += (double)weight[i] * (double)activations.hidden[shape.layers - 1][i];
  assert_true(fabs(sum - oracle_network_scalar(&shape, exact, x, rows, weight)) < 2e-5);
  for (size_t i = 0; i < n; i++) {
    double at = exact[i];
    exact[i] = at + h;
    double above = oracle_network_scalar(&shape, exact, x, rows, weight);
    exact[i] = at - h;
    double below = oracle_network_scalar(&shape, exact, x, rows, weight);
    exact[i] = at;
    double want = (above - below) / (2 * h);
    if (fabs((double)gradient[i] - want) > 3e-5 * (1 + fabs(want))) {
      char name[64];
      fail_msg("%s: got %.9g, want %.9g", network_parameter_name(&shape, "net", i, name), (double)gradient[i], want);
    }
  }
  free(theta), free(x), free(weight), free(upstream), free(gradient), free(block), free(exact);
}

static NetworkShape normalized(int inputs, const int *width, int depth, int outputs, OpsActivation activation) {
  NetworkShape shape = network_shape(inputs, width, depth, outputs, activation, 1);
  shape.layer_norm = true;
  return shape;
}

static void test_gradient_by_differences_for_every_activation(void **unused) {
  Ops *ops;
  assert_int_equal(ops_cpu_create(2, 64, 32, &ops), CORE_OK);
  for (int activation = OPS_LINEAR; activation <= OPS_ELU; activation++) {
    compare_gradient(ops, network_shape(5, (int[]){9, 7, 9}, 3, 4, (OpsActivation)activation, 1), 13);
    compare_gradient(ops, network_shape(3, (int[]){6}, 1, 1, (OpsActivation)activation, 1), 64);
    compare_gradient(ops, network_shape(4, NULL, 0, 3, (OpsActivation)activation, 1), 2);
    compare_gradient(ops, normalized(5, (int[]){9, 7, 9}, 3, 4, (OpsActivation)activation), 13);
    compare_gradient(ops, normalized(3, (int[]){16}, 1, 1, (OpsActivation)activation), 64);
  }
  ops_destroy(&ops);
}

/* Rows are independent: some of them have the same outputs as in the full batch. */
static void test_forward_of_a_part_is_the_part_of_forward(void **unused) {
  enum { ROWS = 700, PART = 256 };
  Ops *ops;
  NetworkShape shape = network_shape(17, (int[]){24, 24}, 2, 5, OPS_TANH, 1);
  float *theta = uniforms(1, network_parameters(&shape), -0.5f, 0.5f), *x = uniforms(2, ROWS * 17, -1, 1);
  float *whole = core_memory_allocate(sizeof(float) * network_activation_floats(&shape, ROWS));
  float *part = core_memory_allocate(sizeof(float) * network_activation_floats(&shape, ROWS));
  NetworkActivations a, b;
  assert_int_equal(ops_cpu_create(2, ROWS, 32, &ops), CORE_OK);
  network_place_activations(&shape, ROWS, whole, &a);
  network_place_activations(&shape, PART, part, &b);
  network_forward(ops, &shape, theta, x, ROWS, &a);
  network_forward(ops, &shape, theta, x, PART, &b);
  assert_memory_equal(a.hidden[2], b.hidden[2], sizeof(float) * PART * 5);
  free(theta), free(x), free(whole), free(part);
  ops_destroy(&ops);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parameters_lie_as_documented),
      cmocka_unit_test(test_parameter_names),
      cmocka_unit_test(test_initialization_is_orthogonal),
      cmocka_unit_test(test_layer_norm_starts_as_the_identity),
      cmocka_unit_test(test_initialization_depends_on_seed_and_tensor_only),
      cmocka_unit_test(test_orthogonal_is_the_positive_qr),
      cmocka_unit_test(test_gradient_by_differences_for_every_activation),
      cmocka_unit_test(test_forward_of_a_part_is_the_part_of_forward),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
