/* Mergeable statistics in float64: central moments up to the fourth (Pebay 2008, SAND2008-6212), and log-sum-exp.
 * Partial records are folded in a fixed order, so a statistic does not depend on the number of threads or ranks.
 * Nothing here forms E[x^2] - E[x]^2, which loses all digits when the mean is large. */
#ifndef TRAINER_MOMENTS_H
#define TRAINER_MOMENTS_H
#include <math.h>

#include "core/device/device_kernel.h"

/* n values with mean `mean`; m2, m3, m4 are the sums of (x - mean)^2, ^3, ^4. All zero = no values yet. */
typedef struct Moments { double n, mean, m2, m3, m4; } Moments;

static inline void moments_add(Moments *a, double x) {
  double before = a->n, n = before + 1, delta = x - a->mean, step = delta / n, term = delta * step * before;
  a->n = n;
  a->mean += step;
  a->m4 += term * step * step * (n * n - 3 * n + 3) + 6 * step * step * a->m2 - 4 * step * a->m3;
  a->m3 += term * step * (n - 2) - 3 * step * a->m2;
  a->m2 += term;
}

/* Merges b's values into a. */
CORE_DEVICE_FN void moments_merge(Moments *a, const Moments *b) {
  if (b->n == 0) return;
  if (a->n == 0) { *a = *b; return; }
  double na = a->n, nb = b->n, n = na + nb, d = b->mean - a->mean, d2 = d * d;
  Moments both = {n, a->mean + d * nb / n, a->m2 + b->m2 + d2 * na * nb / n, 0, 0};
  both.m3 = a->m3 + b->m3 + d2 * d * na * nb * (na - nb) / (n * n) + 3 * d * (na * b->m2 - nb * a->m2) / n;
  both.m4 = a->m4 + b->m4 + d2 * d2 * na * nb * (na * na - na * nb + nb * nb) / (n * n * n) +
            6 * d2 * (na * na * b->m2 + nb * nb * a->m2) / (n * n) + 4 * d * (na * b->m3 - nb * a->m3) / n;
  *a = both;
}

/* Scales the weight of all values so far. */
static inline void moments_scale(Moments *a, double weight) {
  a->n *= weight;
  a->m2 *= weight;
  a->m3 *= weight;
  a->m4 *= weight;
}

/* Population variance m2/n and unbiased m2/(n-1); NaN without enough values. */
CORE_DEVICE_FN double moments_variance(const Moments *a) { return a->n > 0 ? a->m2 / a->n : NAN; }
CORE_DEVICE_FN double moments_variance_unbiased(const Moments *a) { return a->n > 1 ? a->m2 / (a->n - 1) : NAN; }
/* n m4 / m2^2: 3 for a Gaussian (not the excess); NaN when all values are equal. */
CORE_DEVICE_FN double moments_kurtosis(const Moments *a) { return a->m2 > 0 ? a->n * a->m4 / (a->m2 * a->m2) : NAN; }

/* sum of e^x over the values, stored as sum * e^max. Start with log_sum_empty(). */
typedef struct LogSum { double max, sum; } LogSum;

static inline LogSum log_sum_empty(void) { return (LogSum){-INFINITY, 0}; }

static inline void log_sum_add(LogSum *a, double x) {
  if (x == -INFINITY) return;
  if (x > a->max) {
    a->sum = a->sum * exp(a->max - x) + 1;
    a->max = x;
  } else {
    a->sum += exp(x - a->max);
  }
}

static inline void log_sum_merge(LogSum *a, const LogSum *b) {
  if (b->sum == 0) return;
  if (a->sum == 0) { *a = *b; return; }
  double max = a->max > b->max ? a->max : b->max;
  a->sum = a->sum * exp(a->max - max) + b->sum * exp(b->max - max);
  a->max = max;
}

/* Returns the log of the sum; -inf without values. */
static inline double log_sum_value(const LogSum *a) { return a->sum > 0 ? a->max + log(a->sum) : -INFINITY; }

#endif
