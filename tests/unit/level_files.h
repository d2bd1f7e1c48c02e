/* Helpers of tests of levels and their files: a temporary directory, messages, tolerances. */
#ifndef TESTS_UNIT_LEVEL_FILES_H
#define TESTS_UNIT_LEVEL_FILES_H
#include "test.h"

#include "core/files.h"

static inline void assert_relative(double got, double want, double tolerance, const char *what, const char *level,
                                   int index) {
  if (!(fabs(got - want) <= tolerance * fabs(want)))
    fail_msg("%s of shape %d of %s: %.9g instead of %.9g", what, index, level, got, want);
}

#endif
