/* Helpers of tests of levels and their files: a temporary directory, messages, tolerances. */
#ifndef TESTS_UNIT_LEVEL_FILES_H
#define TESTS_UNIT_LEVEL_FILES_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/files.h"

#include "message.h"

static char directory[256];

static inline int make_directory(void **state) {
  snprintf(directory, sizeof directory, "%s/test_level.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
  return mkdtemp(directory) ? 0 : -1;
}

static inline int remove_directory(void **state) { return core_files_remove_tree(directory); }

static inline void assert_relative(double got, double want, double tolerance, const char *what, const char *level,
                                   int index) {
  if (!(fabs(got - want) <= tolerance * fabs(want)))
    fail_msg("%s of shape %d of %s: %.9g instead of %.9g", what, index, level, got, want);
}

#endif
