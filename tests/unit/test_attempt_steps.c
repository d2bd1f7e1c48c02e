/* sweep/local/attempt_steps: how far an attempt got, and what a later one did again. */
#include "test.h"

#include "store_workspace.h"
#include "sweep/local/attempt_steps.h"

#define STEPS(...) \
  (SweepAttemptSteps) { (double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double) }

static void test_repeated(void **state) {
  const SweepAttemptSteps first = STEPS(10, 20, 30, 40), none = {0};
  assert_float_equal(sweep_attempt_steps_repeated(&first, &STEPS(10, 20, 30, 40, 50)), 1, 0);
  assert_float_equal(sweep_attempt_steps_repeated(&first, &STEPS(9, 19, 31, 39, 52)), 0.75, 0); /* logged by time */
  assert_float_equal(sweep_attempt_steps_repeated(&first, &STEPS(50, 60)), 0, 0);               /* resumed at its end */
  assert_float_equal(sweep_attempt_steps_repeated(&first, &STEPS(30, 40, 50)), 0.5, 0);         /* at step 20 */
  assert_float_equal(sweep_attempt_steps_repeated(&first, &STEPS(0, 50, 60)), 0.25, 0); /* with a record at its start */
  assert_float_equal(sweep_attempt_steps_repeated(&first, &none), 0, 0);
  assert_float_equal(sweep_attempt_steps_repeated(&none, &first), 1, 0); /* killed before its first record */
}

static void test_beyond(void **state) {
  const SweepAttemptSteps steps = STEPS(0, 10, 20, 30, 40), none = {0};
  assert_float_equal(sweep_attempt_steps_beyond(&steps, 40), 0, 0);
  assert_float_equal(sweep_attempt_steps_beyond(&steps, 39), 0.2, 0);
  assert_float_equal(sweep_attempt_steps_beyond(&steps, -1), 1, 0);
  assert_float_equal(sweep_attempt_steps_beyond(&none, 0), 0, 0);
  assert_float_equal(sweep_attempt_steps_last(&steps), 40, 0);
  assert_float_equal(sweep_attempt_steps_last(&none), 0, 0);
}

/* Records in any order; a row without transitions only clears one of an earlier attempt. */
static void test_read(void **state) {
  static const double logged[] = {30, NAN, 10, 20};
  char id[CORE_RUN_ID];
  StoreRunlog *log;
  SweepAttemptSteps steps, other = STEPS(15);
  make_run(1, id);
  assert_int_equal(store_runlog_open(root, id, 2, STORE_LOG_STATS, &log), CORE_OK);
  for (int i = 0; i < 4; i++) {
    StoreIteration row = store_iteration_unmeasured(i + 1);
    row.transitions = logged[i];
    store_runlog_iteration(log, &row);
  }
  assert_int_equal(store_runlog_close(&log), CORE_OK);
  assert_int_equal(sweep_attempt_steps_read(root, id, 2, &steps), CORE_OK);
  assert_int_equal(steps.count, 3);
  sweep_attempt_steps_merge(&steps, &other);
  assert_int_equal(steps.count, 4);
  for (size_t i = 1; i < steps.count; i++) assert_true(steps.steps[i - 1] < steps.steps[i]);
  sweep_attempt_steps_free(&steps);
  assert_int_equal(sweep_attempt_steps_read(root, id, 3, &steps), CORE_OK);
  assert_int_equal(steps.count, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_repeated), cmocka_unit_test(test_beyond),
                                     WORKSPACE_TEST(test_read)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
