/* Visits by several threads: each index once, and the first failure ends them with its message. */
#include "test.h"

#include <stdatomic.h>
#include <time.h>

#include "core/error.h"
#include "core/parallel.h"

enum { COUNT = 1000, BAD = 17 };

typedef struct Visited { atomic_int times[COUNT], begun; } Visited;

static int visit(void *context, size_t index) {
  Visited *visited = context;
  atomic_fetch_add(&visited->times[index], 1);
  return CORE_OK;
}

static void test_each_once(void **state) {
  (void)state;
  static Visited visited;
  assert_int_equal(core_parallel_visit(0, visit, &visited), CORE_OK);
  for (size_t i = 0; i < COUNT; i++) assert_int_equal(visited.times[i], 0);
  assert_int_equal(core_parallel_visit(COUNT, visit, &visited), CORE_OK);
  for (size_t i = 0; i < COUNT; i++) assert_int_equal(visited.times[i], 1);
}

static int fail_once(void *context, size_t index) {
  Visited *visited = context;
  atomic_fetch_add(&visited->begun, 1);
  nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  return index == BAD ? core_error(CORE_USAGE, "item %zu is bad", index) : CORE_OK;
}

static void test_failure(void **state) {
  (void)state;
  static Visited visited;
  core_error_clear();
  assert_int_equal(core_parallel_visit(COUNT, fail_once, &visited), CORE_USAGE);
  assert_string_equal(core_error_message(), "item 17 is bad");
  assert_true(visited.begun > BAD && visited.begun < COUNT / 2);
}

static int wait_for_others(void *context, size_t index) {
  Visited *visited = context;
  (void)index;
  atomic_fetch_add(&visited->begun, 1);
  for (int i = 0; i < 5000 && visited->begun < 4; i++) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  return visited->begun >= 4 ? CORE_OK : CORE_FAIL;
}

static void test_at_once(void **state) {
  (void)state;
  static Visited visited;
  assert_int_equal(core_parallel_visit(4, wait_for_others, &visited), CORE_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_once), cmocka_unit_test(test_failure),
                                     cmocka_unit_test(test_at_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
