/* Moments of the logarithms of a gradient, in blocks determined by its length alone (kurtosis.h). */
#include "trainer/math/kurtosis.h"

enum { PARTS_MAX = 256, BLOCK = 1024 };

/* Computes the moments of x[n] from differences to the first value, so that equal values have exactly no spread. */
static Moments moments_of_block(const double *x, int n) {
  double mean = 0, m2 = 0, m3 = 0, m4 = 0;
  if (n == 0) return (Moments){0};
  for (int i = 0; i < n; i++) mean += x[i] - x[0];
  mean = x[0] + mean / n;
  for (int i = 0; i < n; i++) {
    double d = x[i] - mean, square = d * d;
    m2 += square;
    m3 += square * d;
    m4 += square * square;
  }
  return (Moments){n, mean, m2, m3, m4};
}

/* Computes the moments of the nonzero entries. */
static Moments moments_of_part(const float *gradient, size_t n) {
  Moments part = {0};
  double logarithms[BLOCK];
  for (size_t first = 0; first < n; first += BLOCK) {
    size_t end = first + BLOCK < n ? first + BLOCK : n;
    int kept = 0;
    for (size_t i = first; i < end; i++)
      if (gradient[i] != 0) logarithms[kept++] = log(fabs((double)gradient[i]) + KURTOSIS_FLOOR);
    const Moments block = moments_of_block(logarithms, kept);
    moments_merge(&part, &block);
  }
  return part;
}

Kurtosis kurtosis_measure(const float *gradient, size_t n) {
  Moments part[PARTS_MAX], all = {0};
  size_t blocks = (n + BLOCK - 1) / BLOCK, length = (blocks + PARTS_MAX - 1) / PARTS_MAX * BLOCK;
  int parts = length ? (int)((n + length - 1) / length) : 0;
#pragma omp parallel for schedule(static)
  for (int p = 0; p < parts; p++) {
    size_t first = (size_t)p * length;
    part[p] = moments_of_part(gradient + first, n - first < length ? n - first : length);
  }
  for (int p = 0; p < parts; p++) moments_merge(&all, &part[p]);
  return kurtosis_of_moments(all, (double)n);
}
