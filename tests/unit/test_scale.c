/* [scale]: each scheme against the table of docs/experiments.md#scaling-a-reference, values that are not integers, and
 * run ids, which depend on the configuration as written. */
#include "test.h"

#include <jansson.h>

#include "core/config/config.h"
#include "core/error.h"

/* N0 = 2048, K = 256, M0 = 32, so B0 = 16384; eta0 = 3e-4. */
static CoreConfig scaled(const char *scheme, const char *factor) {
  CoreConfig config = core_config_default();
  assert_int_equal(core_config_set(&config, "scale.scheme", scheme), CORE_OK);
  assert_int_equal(core_config_set(&config, "scale.factor", factor), CORE_OK);
  return config;
}

static void check(const char *scheme, const char *factor, int64_t n, int64_t m, int64_t b, double rate) {
  CoreConfig config = scaled(scheme, factor), run, again;
  if (core_config_resolve(&config, &run) != CORE_OK) fail_msg("%s", core_error_message());
  assert_int_equal(core_config_check(&config), CORE_OK);
  assert_int_equal(run.env.num, n);
  assert_int_equal(run.ppo.num_minibatches, m);
  assert_int_equal(core_config_transitions_per_iteration(&run) / run.ppo.num_minibatches, b);
  assert_true(fabs(run.ppo.learning_rate - rate) <= 1e-15);
  assert_true(run.ppo.com == config.ppo.com && run.ppo.epochs == config.ppo.epochs);
  assert_int_equal(core_config_transitions_per_iteration(&config), core_config_transitions_per_iteration(&run));
  assert_int_equal(core_config_iterations(&config), core_config_iterations(&run));
  assert_int_equal(core_config_resolve(&run, &again), CORE_OK); /* once is enough */
  assert_memory_equal(&again, &run, sizeof run);
}

static void test_schemes(void **state) {
  check("none", "1", 2048, 32, 16384, 3e-4);
  check("more_minibatches", "4", 8192, 128, 16384, 3e-4);
  check("larger_minibatches", "4", 8192, 32, 4 * 16384, 3e-4);
  check("larger_minibatches_sqrt", "4", 8192, 32, 4 * 16384, 6e-4);
  check("hybrid", "512", 512 * 2048, 32 * 32, 16 * 16384, 4 * 3e-4); /* the paper's million environments */
  check("hybrid", "4", 8192, 64, 2 * 16384, sqrt(2) * 3e-4);
  check("hybrid", "1", 2048, 32, 16384, 3e-4);
}

static void test_smaller_than_the_reference(void **state) {
  check("more_minibatches", "0.25", 512, 8, 16384, 3e-4);
  check("larger_minibatches", "0.25", 512, 32, 4096, 3e-4);
  check("larger_minibatches_sqrt", "0.25", 512, 32, 4096, 1.5e-4);
  check("hybrid", "0.125", 256, 16, 4096, 1.5e-4); /* ceil(-3/2) = -1, floor(-3/2) = -2 */
  check("more_minibatches", "1.5", 3072, 48, 16384, 3e-4);
}

static void refuse(const char *scheme, const char *factor, const char *extra, const char *part) {
  CoreConfig config = scaled(scheme, factor);
  if (extra) assert_int_equal(core_config_set_pair(&config, extra), CORE_OK);
  assert_int_equal(core_config_check(&config), CORE_USAGE);
  assert_message(part);
}

static void test_refusals(void **state) {
  CoreConfig config = core_config_default();
  refuse("none", "4", NULL, "scale.factor = 4 needs a scale.scheme");
  refuse("more_minibatches", "0.0001", NULL, "env.num = 2048 times 0.0001 is not a whole number");
  refuse("more_minibatches", "0.015625", NULL, "ppo.num_minibatches = 32 times 0.015625 is not a whole number");
  refuse("larger_minibatches", "0.0078125", "ppo.minibatch_by=environments",
         "scale.factor = 0.0078125: env.num = 16 cannot be divided into ppo.num_minibatches = 32");
  refuse("larger_minibatches", "1e6", NULL, "env.num scales to");
  refuse("larger_minibatches_sqrt", "1024", "ppo.learning_rate=1",
         "ppo.learning_rate scales to 32, outside its range 0 to 10");
  refuse("hybrid", "3", NULL, "is not a power of two");
  refuse("hybrid", "3", NULL, "scale.scheme = hybrid, scale.factor = 3: ");
  assert_int_equal(core_config_set(&config, "scale.scheme", "more_minibatch"), CORE_USAGE);
  assert_message("did you mean more_minibatches");
  assert_int_equal(core_config_set(&config, "scale.factor", "0"), CORE_USAGE);
  assert_int_equal(core_config_set(&config, "scale.factor", "nan"), CORE_USAGE);
}

/* A failed resolve leaves the target alone. */
static void test_failure_changes_nothing(void **state) {
  CoreConfig config = scaled("hybrid", "3"), target = core_config_default(), before = target;
  assert_int_equal(core_config_resolve(&config, &target), CORE_USAGE);
  assert_memory_equal(&target, &before, sizeof target);
}

/* The id depends on the keys as written: the scaled values are another run with equal settings. */
static void test_identity(void **state) {
  CoreConfig config = scaled("more_minibatches", "4"), run, plain = core_config_default();
  char id[CORE_RUN_ID], run_id[CORE_RUN_ID], plain_id[CORE_RUN_ID];
  assert_int_equal(core_config_resolve(&config, &run), CORE_OK);
  core_config_id(&config, id);
  core_config_id(&run, run_id);
  core_config_id(&plain, plain_id);
  assert_string_not_equal(id, run_id);
  assert_string_not_equal(id, plain_id);
  assert_string_equal(plain_id, "cae66941d9efbd40");
}

static void test_json_holds_what_it_comes_to(void **state) {
  CoreConfig config = scaled("larger_minibatches_sqrt", "4"), plain = core_config_default();
  CoreText text = {0};
  core_config_to_json(&config, &text);
  json_t *root = json_loads(text.data, JSON_REJECT_DUPLICATES, NULL), *resolved = json_object_get(root, "resolved");
  assert_int_equal(json_integer_value(json_object_get(resolved, "env_num")), 8192);
  assert_int_equal(json_integer_value(json_object_get(resolved, "ppo_num_minibatches")), 32);
  assert_int_equal(json_integer_value(json_object_get(resolved, "minibatch")), 65536);
  assert_true(json_real_value(json_object_get(resolved, "ppo_learning_rate")) == 6e-4);
  assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "env"), "num")), 2048);
  json_decref(root);
  core_text_clear(&text);
  core_config_to_json(&plain, &text);
  assert_null(strstr(text.data, "resolved"));
  core_text_free(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_schemes), cmocka_unit_test(test_smaller_than_the_reference), cmocka_unit_test(test_refusals),
    cmocka_unit_test(test_failure_changes_nothing), cmocka_unit_test(test_identity),
    cmocka_unit_test(test_json_holds_what_it_comes_to),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
