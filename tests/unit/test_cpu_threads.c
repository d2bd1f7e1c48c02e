/* The rule that reduces the CPU ops' threads while other programs occupy processors (cpu_threads.h), on a simulated
 * machine whose spinning threads share the processors evenly. cli/test_threads uses a real one. */
#include "test.h"

#include "trainer/ops/cpu/cpu_threads.h"

/* A look at `now` threads that have `processors` to themselves, which may be a part of one. */
static CpuThreadsSeen machine(int now, double processors) {
  const double ran = now < processors ? now : processors;
  return (CpuThreadsSeen){.seconds = 0.25, .ran = 0.25 * ran, .waited = 1 - ran / now};
}

/* Polls until the end. Returns the number of polls that saw a waiting thread. */
static int poll_rule(CpuThreadsRule *rule, double processors, int polls) {
  int waited = 0;
  for (int i = 0; i < polls; i++) {
    const CpuThreadsSeen seen = machine(rule->now, processors);
    waited += seen.waited > 0;
    const int now = cpu_threads_next(rule, seen);
    assert_true(now == rule->now && now >= 1 && now <= rule->most);
  }
  return waited;
}

static void test_idle_machine(void **state) {
  (void)state;
  CpuThreadsRule rule = {.most = 16, .now = 16};
  assert_int_equal(poll_rule(&rule, 16, 1000), 0);
  assert_int_equal(rule.now, 16);
}

static void test_takes_what_is_free(void **state) {
  (void)state;
  static const struct { int most; double processors; int now; } cases[] = {
    {2, 1, 1}, {2, 0.3, 1}, {16, 9, 9}, {16, 9.4, 9}, {64, 1, 1}, {128, 100, 100}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CpuThreadsRule rule = {.most = cases[i].most, .now = cases[i].most};
    poll_rule(&rule, cases[i].processors, 2);
    assert_int_equal(rule.now, cases[i].now);
  }
}

/* One more is tried now and then, more seldom each time. */
static void test_tries_seldom(void **state) {
  (void)state;
  CpuThreadsRule rule = {.most = 2, .now = 2};
  assert_in_range(poll_rule(&rule, 1, 2000), 2, 16);
  assert_in_range(poll_rule(&rule, 1, 2000), 1, 10);
}

static void test_comes_back(void **state) {
  (void)state;
  CpuThreadsRule rule = {.most = 8, .now = 8};
  poll_rule(&rule, 1, 4);
  assert_int_equal(rule.now, 1);
  poll_rule(&rule, 8, 8 * 10);
  assert_int_equal(rule.now, 8);
  poll_rule(&rule, 1, 2000); /* patience at its most ... */
  poll_rule(&rule, 8, 8 * 250);
  assert_int_equal(rule.now, 8);
  poll_rule(&rule, 8, 1000);
  poll_rule(&rule, 1, 2);
  poll_rule(&rule, 8, 8 * 10); /* ... and forgotten, once all went well */
  assert_int_equal(rule.now, 8);
}

/* Between waiting and calm nothing changes. */
static void test_in_between(void **state) {
  (void)state;
  CpuThreadsRule rule = {.most = 4, .now = 2};
  for (int i = 0; i < 1000; i++)
    assert_int_equal(cpu_threads_next(&rule, (CpuThreadsSeen){.seconds = 0.25, .ran = 0.45, .waited = 0.1}), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_idle_machine), cmocka_unit_test(test_takes_what_is_free),
    cmocka_unit_test(test_tries_seldom), cmocka_unit_test(test_comes_back), cmocka_unit_test(test_in_between),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
