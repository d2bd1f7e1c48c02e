/* The controller of the DDR: it reaches and holds targets over three decades on a noisy model of a training,
 * respects its limits, and follows an increasing target. tests/cli/test_ddr_target.sh tests real trainings. */
#include "test.h"

#include "core/error.h"
#include "core/random.h"
#include "trainer/learners/ddr_control.h"

static CoreConfig configured(const char *const *pairs) {
  CoreConfig config = core_config_default();
  for (; *pairs; pairs++) assert_int_equal(core_config_set_pair(&config, *pairs), CORE_OK);
  return config;
}
#define CONFIGURED(...) configured((const char *const[]){__VA_ARGS__, NULL})

static DdrControl made(const CoreConfig *config) {
  DdrControl control;
  assert_int_equal(ddr_control_create(config, &control), CORE_OK);
  return control;
}

/* A training's DDR: it goes as COM^0.9 or epsilon^-1.7, with noise of 40 % from one iteration to the next. */
static double stand_in(const DdrControl *control, uint32_t iteration) {
  const CoreRandom4 words = core_random_4(1, CORE_RANDOM_TEST, iteration, 0, 0);
  double x, y;
  core_random_normal_pair(words.v[0], words.v[1], &x, &y);
  const double noise = 0.4 * x;
  if (control->kind == DDR_CONTROL_COM) return 1000 * pow(ddr_control_com(control), 0.9) * exp(noise);
  return 10000 * pow(ddr_control_epsilon(control), -1.7) * exp(noise);
}

/* The geometric mean of iterations 60 to 160 on a control that begins at its configured value. */
static double held(const CoreConfig *config) {
  DdrControl control = made(config);
  double sum = 0;
  for (uint32_t i = 1; i <= 160; i++) {
    const double ddr = stand_in(&control, i);
    if (i > 60) sum += log(ddr);
    ddr_control_update(&control, 1000.0 * i, ddr);
  }
  return exp(sum / 100);
}

static void test_targets(void **state) {
  static const double targets[] = {3e3, 3e4, 3e5, 3e6};
  (void)state;
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    CoreConfig by_com = CONFIGURED("algo.name=ppo_ewma", "ppo.com=64"), by_epsilon = CONFIGURED("algo.name=ppo");
    by_com.ppo.ddr_target = by_epsilon.ppo.ddr_target = targets[i];
    const double com = held(&by_com) / targets[i], epsilon = held(&by_epsilon) / targets[i];
    if (!(com > 0.8 && com < 1.2)) fail_msg("COM holds %g times the target %g", com, targets[i]);
    if (!(epsilon > 0.8 && epsilon < 1.2)) fail_msg("epsilon holds %g times the target %g", epsilon, targets[i]);
  }
}

/* One step, worked out by hand: (100 / 400)^0.5 = 1/2; epsilon moves the other way by the square root of that. */
static void test_step(void **state) {
  const CoreConfig com = CONFIGURED("algo.name=ppo_ewma", "ppo.com=64", "ppo.ddr_target=100", "ppo.ddr_gain=0.5");
  const CoreConfig epsilon = CONFIGURED("ppo.epsilon=0.2", "ppo.ddr_target=100", "ppo.ddr_gain=1");
  DdrControl control = made(&com);
  (void)state;
  ddr_control_update(&control, 1, 400);
  assert_float_equal(ddr_control_com(&control), 32, 1e-12);
  assert_float_equal(ddr_control_epsilon(&control), com.ppo.epsilon, 0);
  control = made(&epsilon);
  ddr_control_update(&control, 1, 400);
  assert_float_equal(ddr_control_epsilon(&control), 0.4, 1e-12);
  ddr_control_update(&control, 1, 1e300); /* counts as 10 times the target */
  assert_float_equal(ddr_control_epsilon(&control), 0.4 * sqrt(10), 1e-12);
  ddr_control_update(&control, 1, NAN);
  ddr_control_update(&control, 1, 0);
  assert_float_equal(ddr_control_epsilon(&control), 0.4 * sqrt(10), 1e-12);
}

static void test_limits(void **state) {
  const CoreConfig config = CONFIGURED("algo.name=ppo_ewma", "ppo.com=2", "ppo.ddr_target=1e9", "ppo.com_min=4",
                                       "ppo.com_max=50");
  const CoreConfig endless = CONFIGURED("ppo.epsilon=inf", "ppo.ddr_target=1e4");
  DdrControl control = made(&config);
  (void)state;
  assert_float_equal(ddr_control_com(&control), 4, 0);
  for (int i = 0; i < 100; i++) ddr_control_update(&control, 1, 1e3);
  assert_float_equal(ddr_control_com(&control), 50, 0);
  control = made(&endless);
  assert_float_equal(ddr_control_epsilon(&control), endless.ppo.epsilon_max, 0);
}

static void test_growth(void **state) {
  const CoreConfig config = CONFIGURED("ppo.ddr_target=1e4", "ppo.ddr_schedule=power", "ppo.ddr_transitions=1e6",
                                       "ppo.ddr_growth=0.5");
  (void)state;
  assert_float_equal(ddr_control_target(&config, 1e6), 1e4, 1e-9);
  assert_float_equal(ddr_control_target(&config, 4e6), 2e4, 1e-9);
}

/* Off, it changes nothing. */
static void test_off(void **state) {
  const CoreConfig config = CONFIGURED("algo.name=ppo_ewma", "ppo.com=7", "ppo.epsilon=inf");
  DdrControl control = made(&config);
  (void)state;
  ddr_control_update(&control, 1, 1e3);
  assert_float_equal(ddr_control_com(&control), 7, 0);
  assert_true(isinf(ddr_control_epsilon(&control)));
}

static void refuse(const CoreConfig *config, const char *message) {
  DdrControl control;
  assert_int_equal(ddr_control_create(config, &control), CORE_USAGE);
  assert_message(message);
}

static void test_refusals(void **state) {
  const CoreConfig com = CONFIGURED("algo.name=ppo", "ppo.ddr_target=1e4", "ppo.ddr_by=com");
  const CoreConfig limits = CONFIGURED("ppo.ddr_target=1e4", "ppo.epsilon_min=2", "ppo.epsilon_max=1");
  (void)state;
  refuse(&com, "set ppo.ddr_by = epsilon");
  refuse(&limits, "ppo.epsilon_min = 2 is above ppo.epsilon_max = 1");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_targets), cmocka_unit_test(test_step), cmocka_unit_test(test_limits),
    cmocka_unit_test(test_growth), cmocka_unit_test(test_off), cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
