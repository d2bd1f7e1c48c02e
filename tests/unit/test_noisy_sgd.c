/* The noisy convex example against its closed forms (docs/algorithms.md#noisy-parabola). The statistical bounds are 5
 * standard errors, computed here from the process's own correlation: a right program fails one in about two million
 * such comparisons, and the seeds are fixed. Also its schedule, and that steps depend on their number only. */
#include "test.h"

#include "core/device/arena.h"
#include "trainer/learners/noisy_sgd.h"

enum { DIMENSIONS = 50 };

typedef struct Fixture { CoreArena *arena; NoisySgd sgd; } Fixture;

static Fixture *make_on(CoreDevice *device, const char *rate, int64_t seed) {
  Fixture *f = calloc(1, sizeof *f);
  CoreConfig config = core_config_default();
  config.train.seed = seed;
  assert_int_equal(core_config_set(&config, "algo.name", "noisy_sgd"), CORE_OK);
  assert_int_equal(core_config_set(&config, "sgd.learning_rate", rate), CORE_OK);
  assert_int_equal(core_config_check(&config), CORE_OK);
  f->arena = core_arena_create("test");
  core_arena_set_device(f->arena, device);
  assert_int_equal(noisy_sgd_register(&f->sgd, &config, f->arena), CORE_OK);
  assert_int_equal(core_arena_commit(f->arena), CORE_OK);
  noisy_sgd_start(&f->sgd);
  return f;
}

static Fixture *make(const char *rate, int64_t seed) { return make_on(NULL, rate, seed); }

static void destroy(Fixture *f) {
  core_arena_destroy(&f->arena);
  free(f);
}

static StoreIteration step(Fixture *f, int64_t iteration) {
  StoreIteration row;
  if (noisy_sgd_step(&f->sgd, iteration, &row) != CORE_OK) fail_msg("%s", core_error_message());
  return row;
}

static void assert_within(double value, double expected, double error, const char *what) {
  if (!(fabs(value - expected) <= 5 * error))
    fail_msg("%s is %g, expected %g with a standard error of %g", what, value, expected, error);
}

/* x_i is an AR(1) process with coefficient 1 - 2 eta, so ||x||^2 is correlated as its square, and a mean of n of them
 * has the relative variance 2/d (1 + r)/(1 - r)/n, r = (1 - 2 eta)^2; ||g||^2 is correlated less. */
static void check_stationary(const char *text, int64_t burn_in, int64_t n) {
  double eta = strtod(text, NULL), r = (1 - 2 * eta) * (1 - 2 * eta), x2 = 0, g2 = 0, u2 = 0;
  double error = sqrt(2.0 / DIMENSIONS * (1 + r) / (1 - r) / (double)n);
  Fixture *f = make(text, 3);
  for (int64_t i = 1; i <= burn_in + n; i++) {
    StoreIteration row = step(f, i);
    if (i <= burn_in) continue;
    x2 += row.distance * row.distance / (double)n;
    g2 += row.grad_norm_actor * row.grad_norm_actor / (double)n;
    u2 += row.update_norm_actor * row.update_norm_actor / (double)n;
  }
  assert_true(error < 0.02);
  assert_within(x2, 9 * eta / (4 * (1 - eta)), error * x2, "E||x||^2");
  assert_within(g2, 9 / (1 - eta), error * g2, "E||g||^2");
  assert_within(u2, 9 * eta * eta / (1 - eta), error * u2, "E||eta g||^2");
  destroy(f);
}

static void test_stationary(void **state) {
  check_stationary("0.5", 10, 20000);
  check_stationary("0.1", 200, 20000);
  check_stationary("0.01", 2000, 100000);
}

/* The mean over seeds shrinks by 1 - 2 eta a step; its spread is that of the noise summed so far. */
static void test_decay(void **state) {
  enum { SEEDS = 200, STEPS = 20 };
  const double eta = 0.01, shrink = 1 - 2 * eta, sigma2 = 9.0 / DIMENSIONS;
  double mean[DIMENSIONS] = {0}, start[DIMENSIONS];
  for (int seed = 0; seed < SEEDS; seed++) {
    Fixture *f = make("0.01", seed);
    memcpy(start, f->sgd.x, sizeof start);
    for (int i = 1; i <= STEPS; i++) step(f, i);
    for (int i = 0; i < DIMENSIONS; i++) mean[i] += f->sgd.x[i] / SEEDS;
    destroy(f);
  }
  double variance = eta * eta * sigma2 * (1 - pow(shrink, 2 * STEPS)) / (1 - shrink * shrink);
  for (int i = 0; i < DIMENSIONS; i++)
    assert_within(mean[i], pow(shrink, STEPS) * start[i], sqrt(variance / SEEDS), "E x");
}

static void test_start(void **state) {
  Fixture *a = make("0.1", 0), *b = make("0.1", 1);
  double length = 0;
  for (int i = 0; i < DIMENSIONS; i++) length += a->sgd.x[i] * a->sgd.x[i];
  assert_true(fabs(sqrt(length) - 10) < 1e-12);
  assert_memory_equal(a->sgd.x, b->sgd.x, sizeof(double) * DIMENSIONS); /* one direction, */
  step(a, 1);
  step(b, 1);
  assert_memory_not_equal(a->sgd.x, b->sgd.x, sizeof(double) * DIMENSIONS); /* each its own noise */
  destroy(a);
  destroy(b);
}

/* A step depends on x and its index only, which a checkpoint stores. */
static void test_resumes_bit_for_bit(void **state) {
  Fixture *whole = make("0:0.1+7:0.003", 5), *resumed = make("0:0.1+7:0.003", 5);
  for (int i = 1; i <= 5; i++) step(whole, i);
  memcpy(resumed->sgd.x, whole->sgd.x, sizeof(double) * DIMENSIONS);
  for (int i = 6; i <= 12; i++) {
    StoreIteration a = step(whole, i), b = step(resumed, i);
    assert_memory_equal(&a.distance, &b.distance, sizeof a.distance);
    assert_true(a.learning_rate == (i <= 7 ? 0.1 : 0.003)); /* the first step is step 0 of the schedule */
  }
  destroy(whole);
  destroy(resumed);
}

/* On an emulated device: x takes the same steps to the bit, sums have another order; in every order of threads. In
 * nvcc's code (tests/ptx/test_ptx.sh) the noise's logarithm, sine and cosine are CUDA's, whose last bits of float64
 * differ. */
static void test_device(void **state) {
  const CoreDeviceOrder orders[] = {CORE_DEVICE_FORWARD, CORE_DEVICE_BACKWARD, CORE_DEVICE_ISOLATED};
  for (int order = 0; order < 3; order++) {
    CoreDevice *device = core_device_emulated(orders[order]);
    Fixture *there = make_on(device, "0:0.1+7:0.003", 5), *here = make("0:0.1+7:0.003", 5);
    for (int i = 1; i <= 12; i++) {
      StoreIteration a = step(there, i), b = step(here, i);
      assert_true(fabs(a.distance - b.distance) < 1e-12 * b.distance && a.learning_rate == b.learning_rate);
      assert_true(fabs(a.grad_norm_actor - b.grad_norm_actor) < 1e-12 * b.grad_norm_actor);
    }
    double x[DIMENSIONS];
    core_device_to_host(device, x, there->sgd.x, sizeof x);
    if (getenv("CORE_DEVICE_CODE") == NULL) assert_memory_equal(x, here->sgd.x, sizeof x);
    for (int i = 0; i < DIMENSIONS; i++) assert_true(fabs(x[i] - here->sgd.x[i]) <= 1e-13);
    destroy(there), destroy(here);
    core_device_close(&device);
  }
}

static void test_divergence(void **state) {
  Fixture *f = make("3", 0);
  StoreIteration row;
  int code = CORE_OK;
  for (int i = 1; i < 5000 && code == CORE_OK; i++) code = noisy_sgd_step(&f->sgd, i, &row);
  assert_int_equal(code, CORE_FAIL);
  assert_message("learning rate 3");
  destroy(f);
}

/* ---- schedules ------------------------------------------------------------------------------------------------- */

static void test_schedule(void **state) {
  CoreSchedule schedule;
  assert_int_equal(core_schedule_parse("rate", "0:0.1+700:3e-3+1400:0.2", &schedule), CORE_OK);
  assert_int_equal(schedule.count, 3);
  assert_true(core_schedule_at(&schedule, 0) == 0.1 && core_schedule_at(&schedule, 699) == 0.1);
  assert_true(core_schedule_at(&schedule, 700) == 0.003 && core_schedule_at(&schedule, 1399) == 0.003);
  assert_true(core_schedule_at(&schedule, 1400) == 0.2 && core_schedule_at(&schedule, INT64_MAX) == 0.2);
  assert_int_equal(core_schedule_parse("rate", "0.25", &schedule), CORE_OK);
  assert_true(schedule.count == 1 && core_schedule_at(&schedule, 12345) == 0.25);
}

static void test_schedules_that_are_none(void **state) {
  static const char *const bad[][2] = {
    {"", "is not a number"}, {"x", "is not a number"}, {"0:", "is not a number"}, {"0:nan", "is not a number"},
    {"0:inf", "is not a number"}, {"-1", "is not a number"}, {"0:0.1+", "has no step"}, {"0.1+5:0.2", "has no step"},
    {"5:0.1", "must be 0"}, {"0:0.1+5:0.2+5:0.3", "greater"}, {"0:0.1+-5:0.2", "is no step"}, {":0.1", "is no step"},
    {"0:0.1+1.5:0.2", "is no step"}, {"0:0.1+99999999999999999999:0.2", "is no step"}, {"0:0.1:0.2", "is not a number"},
    {"0:0.1+1k:0.2", "write 1000 for '1k'"},
    {"0:0.1+1111111111111111111111111111111111111111111:0.2", "is no step"}};
  char many[1024] = "0:1";
  CoreSchedule schedule;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(core_schedule_parse("sgd.learning_rate", bad[i][0], &schedule), CORE_USAGE);
    if (!strstr(core_error_message(), bad[i][1]) || !strstr(core_error_message(), "sgd.learning_rate"))
      fail_msg("'%s': %s", bad[i][0], core_error_message());
  }
  for (int i = 1, used = 3; i < 40; i++) used += snprintf(many + used, sizeof many - (size_t)used, "+%d:1", i);
  assert_int_equal(core_schedule_parse("rate", many, &schedule), CORE_USAGE);
  assert_message("more than 32");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_stationary), cmocka_unit_test(test_decay), cmocka_unit_test(test_start),
    cmocka_unit_test(test_resumes_bit_for_bit), cmocka_unit_test(test_divergence), cmocka_unit_test(test_device),
    cmocka_unit_test(test_schedule),
    cmocka_unit_test(test_schedules_that_are_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
