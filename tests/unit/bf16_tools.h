/* Helpers of the tests of bf16 kernels: inputs that are bf16 numbers, and a comparison of each element with the CPU's
 * float32 result for the same inputs. Include after device_buffers.h. */
#ifndef TESTS_UNIT_BF16_TOOLS_H
#define TESTS_UNIT_BF16_TOOLS_H
#include "ops_tools.h"
#include "tests/oracle/learner.h"
#include "trainer/ops/kernels/kernels_dense.h"

/* Bounds of an error, in units of the largest number of a matrix: of sums in another order; and of the approximations
 * and sums of a GPU, of which nvcc's code has the former. */
static const double EXACT = 2e-5, APPROXIMATE = 2e-3, ROUNDED = 1.0 / 256;

static inline double tolerance_of_device(void) {
  return device->stream || getenv("CORE_DEVICE_CODE") ? APPROXIMATE : EXACT;
}

static inline void round_numbers(float *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] = row_rounded(x[i], OPS_BF16);
}

/* Returns an activation's derivative at its output y; SILU: at its input. */
static inline float derivative_at(OpsActivation activation, float y) {
  const double s = 1 / (1 + exp(-(double)y));
  switch (activation) {
    case OPS_TANH: return (float)(1 - (double)y * (double)y);
    case OPS_RELU: return y > 0;
    case OPS_SILU: return (float)(s + (double)y * s * (1 - s));
    case OPS_ELU: return y > 0 ? 1 : 1 + y;
    default: return 1;
  }
}

/* N(0, scale) numbers, rounded to bf16. */
static inline float *rounded_normals(uint32_t stream, size_t n, double scale) {
  float *x = normals(stream, n, scale);
  round_numbers(x, n);
  return x;
}

/* Device memory with x[n] as bf16, in the room of floats. All bits of the rest are set: NaN, for a kernel that reads
 * it. */
static inline float *up_bf16(const float *x, size_t n) {
  uint16_t *half = core_memory_allocate(n * sizeof(float));
  memset(half, 0xff, n * sizeof(float));
  for (size_t i = 0; i < n; i++) half[i] = row_to_bf16(x[i]);
  float *memory = up(half, n * sizeof(float));
  free(half);
  return memory;
}

/* Asserts that each of n elements is within `bound` of the largest from want's, bf16 elements also within one rounding.
 * Memory of up_bf16 must be unchanged after them. */
static inline void assert_elements(const char *what, const float *want, const void *memory, size_t n,
                                   OpsNumbers numbers, double bound) {
  void *got = down(memory, n * sizeof(float));
  double largest = 0;
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)want[i]));
  assert_true(largest > 0);
  for (size_t i = 0; i < n; i++) {
    const double x = (double)ops_number(got, numbers, i), error = fabs(x - (double)want[i]);
    const double rounding = numbers == OPS_NUMBERS_BF16 ? fabs((double)want[i]) * ROUNDED : 0;
    if (!(error <= rounding + bound * largest))
      fail_msg("%s: element %zu of %zu: %.7g there, %.7g here; largest %.3g", what, i, n, x, (double)want[i], largest);
  }
  for (size_t i = n; numbers == OPS_NUMBERS_BF16 && i < 2 * n; i++)
    if (((uint16_t *)got)[i] != 0xffff) fail_msg("%s: written %zu elements after its end", what, i - n);
  free(got);
}

static inline void assert_bf16(const char *what, const float *want, const void *memory, size_t n) {
  assert_elements(what, want, memory, n, OPS_NUMBERS_BF16, tolerance_of_device());
}
static inline void assert_floats(const char *what, const float *want, const void *memory, size_t n) {
  assert_elements(what, want, memory, n, OPS_NUMBERS_FLOAT, tolerance_of_device());
}

/* Launches of kernels with a loop over all elements (a grid-stride loop) have this many blocks at most, so that each
 * block iterates several times; 0: as many as the ops choose. */
static unsigned blocks_max;
static void (*launch_of_device)(CoreDevice *device, const CoreKernel *kernel, unsigned blocks, unsigned threads,
                                size_t shared, const void *arguments);

static inline void launch_few_blocks(CoreDevice *on, const CoreKernel *kernel, unsigned blocks, unsigned threads,
                                     size_t shared, const void *arguments) {
  const bool has_loop = kernel->group == CORE_GROUP_NONE || strcmp(kernel->name, "ops_norm_eights") == 0 ||
                        strcmp(kernel->name, "ops_entity_attend_gradient") == 0;
  launch_of_device(on, kernel, has_loop && blocks_max > 0 && blocks > blocks_max ? blocks_max : blocks, threads, shared,
                   arguments);
}

static inline void limit_blocks(unsigned most) {
  if (device->launch != launch_few_blocks) launch_of_device = device->launch;
  device->launch = launch_few_blocks;
  blocks_max = most;
}

#endif
