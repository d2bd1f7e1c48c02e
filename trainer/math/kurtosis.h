/* Heavy-tailedness of a gradient (Mayor et al. 2025, B.4, after Garg et al. 2021): the kurtosis of log(|g| + 1e-8) over
 * a network's gradient entries. Computed by the learners between the backward pass and the step; changes nothing. */
#ifndef TRAINER_KURTOSIS_H
#define TRAINER_KURTOSIS_H
#include <stddef.h>

#include "trainer/math/moments.h"

#define KURTOSIS_FLOOR 1e-8 /* added to |g|, so that the logarithm of an exact 0 is finite */

typedef struct Kurtosis {
  double all;            /* n m4 / m2^2, 3 for a Gaussian (not the excess); NaN when all entries are equal */
  double nonzero;        /* kurtosis without exact zeros, which dead units produce */
  double zero_fraction;  /* share of exact zeros */
} Kurtosis;

/* Computes the kurtosis from the moments of log(|g| + KURTOSIS_FLOOR) of the nonzero ones among n entries. */
CORE_DEVICE_FN Kurtosis kurtosis_of_moments(Moments all, double n) {
  const Moments zeros = {n - all.n, log(KURTOSIS_FLOOR), 0, 0, 0}; /* all equal: no spread */
  const double nonzero = moments_kurtosis(&all), zero_fraction = zeros.n / n;
  moments_merge(&all, &zeros);
  const Kurtosis kurtosis = {moments_kurtosis(&all), nonzero, zero_fraction};
  return kurtosis;
}

/* Computes the kurtosis of gradient[n]. The sums have a fixed order, whatever the number of threads. */
Kurtosis kurtosis_measure(const float *gradient, size_t n);

#endif
