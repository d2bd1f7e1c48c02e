/* Base of the unit tests: cmocka with the headers that it needs, assertions that many tests share, and a directory of
 * the test's own. */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/error.h"
#include "core/files.h"

/* Asserts that a call returns CORE_OK. */
#define assert_ok(call)                                                              \
  do {                                                                               \
    if ((call) != CORE_OK) fail_msg("%s: %s", #call, core_error_message());          \
  } while (0)

/* Asserts that the message of the last error contains a text. */
#define assert_message(part)                                                                        \
  do {                                                                                              \
    if (!strstr(core_error_message(), (part)))                                                      \
      fail_msg("\"%s\" is not in \"%s\"", (part), core_error_message());                            \
  } while (0)

/* Asserts that a value is not farther from the expected one than the tolerance, in double (cmocka compares in float).
 * NaN is far from all. */
#define assert_near(got, expected, tolerance) test_assert_near((got), (expected), (tolerance), __FILE__, __LINE__)
static inline void test_assert_near(double got, double expected, double tolerance, const char *file, int line) {
  if (fabs(got - expected) <= tolerance) return;
  print_error("%.17g, expected %.17g: off by %.3g > %.3g\n", got, expected, got - expected, tolerance);
  _fail(file, line);
}

/* Directory below $TMPDIR or /tmp while a test, or a group of tests, has the two fixtures. */
static char test_directory[256] __attribute__((unused));

static inline int test_directory_make(void **state) {
  (void)state;
  const char *base = getenv("TMPDIR");
  snprintf(test_directory, sizeof test_directory, "%s/test.XXXXXX", base && *base ? base : "/tmp");
  return mkdtemp(test_directory) ? 0 : -1;
}

static inline int test_directory_remove(void **state) {
  (void)state;
  return core_files_remove_tree(test_directory);
}

#endif
