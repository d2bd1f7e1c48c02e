/* Helpers of the tests of ops: ops of a given size, random values, a tolerance with a message. */
#ifndef TESTS_UNIT_OPS_TOOLS_H
#define TESTS_UNIT_OPS_TOOLS_H
#include "test.h"

#include "core/memory.h"
#include "core/random.h"
#include "tests/oracle/learner.h"

enum { OPS_ROWS_MAX = 4096, OPS_WIDTH_MAX = 640 };
static const OpsHead kinetix = {.factors = 6, .logits = 16, .size = {3, 3, 3, 3, 2, 2}};

static inline Ops *make_ops(int threads) {
  Ops *ops;
  assert_int_equal(ops_cpu_create(threads, OPS_ROWS_MAX, OPS_WIDTH_MAX, &ops), CORE_OK);
  return ops;
}

/* N(0, scale) numbers of stream `stream`. */
static inline float *normals(uint32_t stream, size_t n, double scale) {
  float *x = core_memory_allocate(n * sizeof *x + 64);
  for (size_t i = 0; i < n; i++) {
    CoreRandom4 words = core_random_4(7, CORE_RANDOM_TEST, stream, (uint32_t)i, 0);
    double a, b;
    core_random_normal_pair(words.v[0], words.v[1], &a, &b);
    x[i] = (float)(scale * a);
  }
  return x;
}

static inline uint8_t *random_actions(const OpsHead *head, int rows) {
  uint8_t *actions = core_memory_allocate((size_t)(rows * head->factors));
  for (int i = 0; i < rows * head->factors; i++) {
    CoreRandom4 words = core_random_4(3, CORE_RANDOM_TEST, 99, (uint32_t)i, 0);
    actions[i] = (uint8_t)core_random_below(words.v[0], (uint32_t)head->size[i % head->factors]);
  }
  return actions;
}

static inline double *doubles(const float *x, size_t n) {
  double *d = core_memory_allocate(n * sizeof *d + 64);
  for (size_t i = 0; i < n; i++) d[i] = (double)x[i];
  return d;
}

#endif
