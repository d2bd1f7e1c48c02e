/* Measured peak performance of this machine: multiplications and additions per second (separate ones: contraction is
 * disabled everywhere, so fused ones do not count), and bytes per second between memory and processor. Included by
 * bench_sim.c. */
#ifndef TESTS_BENCH_PEAK_H
#define TESTS_BENCH_PEAK_H
#include <omp.h>
#include <stdlib.h>

#include "core/memory.h"
#include "tests/bench/bench.h"

/* Chains that do not wait for each other, enough of them to hide how long an operation takes; a chain is a vector of
 * `floats` numbers that stays in one register. */
#define BENCH_PEAK_KERNEL(name, attributes, floats)                                                       \
  attributes static float name(int64_t rounds) {                                                          \
    typedef float vector __attribute__((vector_size(4 * floats)));                                        \
    vector product[6], sum[6], factor, term;                                                              \
    for (int i = 0; i < floats; i++) factor[i] = 1.0f + 1e-7f * (float)(rounds & 1), term[i] = 1e-9f;     \
    for (int k = 0; k < 6; k++) product[k] = factor * (float)(k + 1), sum[k] = term * (float)(k + 1);     \
    for (int64_t r = 0; r < rounds; r++) {                                                                \
      _Pragma("GCC unroll 6") for (int k = 0; k < 6; k++) product[k] = product[k] * factor, sum[k] = sum[k] + term; \
      __asm__ volatile("" : "+x"(factor), "+x"(term)); /* not to be computed ahead */                     \
    }                                                                                                     \
    vector all = product[0] + sum[0];                                                                     \
    for (int k = 1; k < 6; k++) all += product[k] + sum[k];                                               \
    return all[0] + all[floats - 1];                                                                      \
  }
#if defined(__x86_64__)
BENCH_PEAK_KERNEL(bench_peak_8, __attribute__((target("avx2"))), 8)
BENCH_PEAK_KERNEL(bench_peak_16, __attribute__((target("avx512f"))), 16)
#endif
#if defined(__x86_64__) || defined(__i386__)
BENCH_PEAK_KERNEL(bench_peak_4, , 4)
#endif

/* The widest vector that this processor has. */
static int bench_peak_floats(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") ? 16 : __builtin_cpu_supports("avx2") ? 8 : 4;
#else
  return 0;
#endif
}

static float bench_peak_run(int floats, int64_t rounds) {
#if defined(__x86_64__)
  return floats == 16 ? bench_peak_16(rounds) : floats == 8 ? bench_peak_8(rounds) : bench_peak_4(rounds);
#else
  return (float)(floats + rounds);
#endif
}

/* Returns multiplications and additions per second of all threads together, the best of some tries; 0 if there is no
 * kernel for this processor. */
static inline double bench_peak_operations(int threads) {
  enum { ROUNDS = 20000000, TRIES = 5 };
  const int floats = bench_peak_floats();
  volatile float seen = 0;
  double best = 0;
  if (floats == 0) return 0;
  omp_set_num_threads(threads);
  for (int i = 0; i < TRIES; i++) {
    const double start = bench_seconds();
#pragma omp parallel
    {
      const float result = bench_peak_run(floats, ROUNDS);
#pragma omp critical
      seen = seen + result;
    }
    const double rate = 12.0 * floats * ROUNDS * threads / (bench_seconds() - start);
    if (rate > best) best = rate;
  }
  return best;
}

/* Returns bytes per second read and written by all threads together in copies larger than the caches; the best
 * of some tries. */
static inline double bench_peak_bytes(int threads) {
  enum { TRIES = 5 };
  const size_t count = (size_t)32 << 20;
  float *from = core_memory_zero_allocate(count, sizeof *from), *to = core_memory_zero_allocate(count, sizeof *to);
  double best = 0;
  omp_set_num_threads(threads);
  for (int i = 0; i < TRIES; i++) {
    const double start = bench_seconds();
#pragma omp parallel for schedule(static)
    for (size_t k = 0; k < count; k++) to[k] = from[k] + 1.0f;
    const double rate = 2.0 * (double)(count * sizeof *to) / (bench_seconds() - start);
    if (rate > best) best = rate;
  }
  free(from), free(to);
  return best;
}

#endif
