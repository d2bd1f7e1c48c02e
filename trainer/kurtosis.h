/* How heavy-tailed a gradient is (spec metrics.md 3.1): the kurtosis of log(|g| + 1e-8) over a network's gradient
 * entries. Read by the learners between the backward pass and the step; changes nothing. */
#ifndef TRAINER_KURTOSIS_H
#define TRAINER_KURTOSIS_H
#include <stddef.h>

typedef struct Kurtosis {
  double all;            /* n m4 / m2^2, 3 for a Gaussian (not the excess); NaN when all entries are alike */
  double nonzero;        /* the same without the entries that are exactly 0, which dead units make */
  double zero_fraction;  /* share of those */
} Kurtosis;

/* Of gradient[n]. The sums have a fixed order, whatever the number of threads. */
Kurtosis kurtosis_measure(const float *gradient, size_t n);

#endif
