/* sweep/status/failures: reasons that differ only in numbers and run ids are grouped; others stay apart. */
#include "test.h"

#include "sweep/status/failures.h"

static void test_alike(void **state) {
  (void)state;
  SweepFailures t = {0};
  sweep_failures_add(&t, "stopped", "goes on from iteration 512", 0);
  sweep_failures_add(&t, "stopped", "goes on from iteration 512", 4);
  assert_int_equal(t.count, 1);
  assert_string_equal(t.items[0].reason, "goes on from iteration 512");
  sweep_failures_add(&t, "stopped", "goes on from iteration 64", 5);
  sweep_failures_add(&t, "stopped", "goes on from iteration 64", 6);
  assert_int_equal(t.count, 1);
  assert_string_equal(t.items[0].reason, "goes on from iteration ...");
  assert_int_equal(t.items[0].count, 4);
  assert_int_equal(t.items[0].runs[2], 5);
  sweep_failures_add(&t, "failed", "goes on from iteration 512", 7); /* another status */
  assert_int_equal(t.count, 2);
  sweep_failures_free(&t);
}

static void test_apart(void **state) {
  (void)state;
  static const char *const reasons[] = {
    "exit code 1",        "exit code 1; last message: x", "killed by signal 6 (Aborted)", "killed by signal 9 (Killed)",
    "node n4 failed",     "node a4 failed",               "",                             "beef",
    "run 0123456789abcde", "exit  code 1",
  };
  enum { COUNT = sizeof reasons / sizeof *reasons };
  SweepFailures t = {0};
  for (size_t i = 0; i < COUNT; i++) sweep_failures_add(&t, "failed", reasons[i], i);
  assert_int_equal(t.count, COUNT);
  sweep_failures_add(&t, "failed", "exit code 2", 20);
  sweep_failures_add(&t, "failed", "run 0123456789abcdef", 21); /* an id of 16 digits, unlike the one above */
  sweep_failures_add(&t, "failed", "run fedcba9876543210", 22);
  assert_int_equal(t.count, COUNT + 1);
  assert_string_equal(t.items[0].reason, "exit code ...");
  assert_string_equal(t.items[COUNT].reason, "run ...");
  sweep_failures_free(&t);
}

static void test_many(void **state) {
  (void)state;
  SweepRunState runs[300] = {{.id = "0123456789abcdef"}};
  SweepProgress progress = {.name = "s", .run = runs, .runs = 300};
  SweepFailures t = {0};
  CoreText text = {0};
  char reason[8] = "aaa";
  for (size_t i = 0; i < 300; i++) {
    snprintf(runs[i].id, sizeof runs[i].id, "%016zx", i);
    reason[0] = (char)('a' + i % 20), reason[1] = (char)('a' + i / 20);
    sweep_failures_add(&t, "failed", reason, i);
  }
  assert_int_equal(t.others, 300 - t.count);
  sweep_failures_draw(&t, &progress, &text);
  assert_non_null(strstr(core_text_string(&text), "  292 more for other reasons\n"));
  assert_non_null(strstr(core_text_string(&text), "sweep status s --failed lists all runs that need attention\n"));
  core_text_free(&text);
  sweep_failures_free(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_alike), cmocka_unit_test(test_apart),
                                     cmocka_unit_test(test_many)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
