/* Measured peak of matrix products on this machine: the best of the built-in libraries, from memory (with their own
 * threads, or with blocks of rows on ours) and on blocks that stay in the cache. Fractions of it relate to the
 * maximum of all these methods. Included by bench_trainer.c and bench_training.c. */
#ifndef TESTS_BENCH_MATRIX_H
#define TESTS_BENCH_MATRIX_H
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/device/arena.h"
#include "core/random.h"
#include "tests/bench/bench.h"
#include "trainer/ops/cpu/cpu_internal.h"

enum { BENCH_M = 16384, BENCH_N = 256, BENCH_K = 256, BENCH_TRIES = 10 };

/* Aligned and on large pages, as training has its buffers. */
static float *bench_floats(CoreArena **arena, size_t n, float size) {
  float *x;
  *arena = core_arena_create("benchmark");
  CORE_ARENA(*arena, x, n, "numbers");
  CORE_CHECK(core_arena_commit(*arena) == CORE_OK);
  CoreRandomStream random = core_random_stream(1, CORE_RANDOM_TEST, 0, 0);
  for (size_t i = 0; i < n; i++) x[i] = core_random_uniform(&random, -size, size);
  return x;
}

typedef struct BenchProduct {
  const CpuLibrary *library;
  int rows, threads;      /* rows of a block; BENCH_M: all at once, on the library's threads */
  bool in_cache;          /* every block of a thread is the same one */
  const float *a, *b;
  float *c;
} BenchProduct;

static void bench_multiply_block(const BenchProduct *p, int first) {
  const size_t row = (size_t)(p->in_cache ? omp_get_thread_num() * p->rows : first);
  p->library->product(0, 0, p->rows, BENCH_N, BENCH_K, p->a + row * BENCH_K, BENCH_K, p->b, BENCH_N, 0,
                      p->c + row * BENCH_N, BENCH_N);
}

static double bench_product_gflops(const BenchProduct *p) {
  double best = INFINITY;
  omp_set_num_threads(p->threads);
  for (int i = 0; i < BENCH_TRIES; i++) {
    const double start = bench_seconds();
    if (p->rows == BENCH_M) bench_multiply_block(p, 0);
    else {
#pragma omp parallel for schedule(dynamic, 1)
      for (int first = 0; first < BENCH_M; first += p->rows) bench_multiply_block(p, first);
    }
    best = fmin(best, bench_seconds() - start);
  }
  return 2e-9 * BENCH_M * BENCH_N * BENCH_K / best;
}

/* GFLOP/s of all threads together; with a row for each library. */
static inline double bench_matrix_peak(int threads) {
  const int rows[] = {BENCH_M, 128, 256, 512, 1024};
  size_t count;
  const CpuLibrary *libraries = cpu_libraries(&count);
  CoreArena *arenas[3];
  const float *a = bench_floats(&arenas[0], (size_t)BENCH_M * BENCH_K, 1),
              *b = bench_floats(&arenas[1], BENCH_K * BENCH_N, 1);
  float *c = bench_floats(&arenas[2], (size_t)BENCH_M * BENCH_N, 1);
  double peak = 0;
  for (size_t i = 0; i < count && (i == 0 || i < count - 1); i++) { /* plain C only where nothing else is */
    BenchProduct product = {.library = &libraries[i], .threads = threads, .a = a, .b = b, .c = c};
    double best = 0;
    char name[128], label[192];
    for (int r = 0; r < 5; r++) {
      product.rows = rows[r];
      best = fmax(best, bench_product_gflops(&product));
    }
    product.rows = 128;
    product.in_cache = true;
    const double cached = threads * 128 <= BENCH_M ? bench_product_gflops(&product) : 0;
    cpu_library_describe(&libraries[i], name);
    snprintf(label, sizeof label, "sgemm 16384x256x256 (%s)", name);
    bench_row("trainer", label, "speed", best, "GFLOP/s", threads);
    snprintf(label, sizeof label, "sgemm 128x256x256 in the cache (%s)", name);
    bench_row("trainer", label, "speed", cached, "GFLOP/s", threads);
    peak = fmax(peak, fmax(best, cached));
  }
  bench_row("trainer", "sgemm", "peak", peak, "GFLOP/s", threads);
  for (int i = 0; i < 3; i++) core_arena_destroy(&arenas[i]);
  return peak;
}

#endif
