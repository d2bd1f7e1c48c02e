/* TAP of a program that several ranks run: a check is good when it is good at every rank, and the first rank prints. */
#ifndef TESTS_RANKS_TAP_H
#define TESTS_RANKS_TAP_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "trainer/ranks/ranks.h"

static int checked; /* number of checks */
static bool failed;

/* All ranks must come here. */
static void check(const char *name, bool good) {
  int64_t bad = !good;
  ranks_sum_counts(&bad, 1);
  if (ranks_is_first()) printf("%s %d - %s\n", bad ? "not ok" : "ok", ++checked, name);
  failed |= bad != 0;
}

#endif
