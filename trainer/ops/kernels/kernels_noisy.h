/* Kernel of the noisy convex example (trainer/learners/noisy_sgd.h), and a coordinate's step on host and device. */
#ifndef TRAINER_OPS_KERNELS_NOISY_H
#define TRAINER_OPS_KERNELS_NOISY_H
#include "core/random.h"
#include "trainer/ops/kernels/kernels_normalize.h"

enum { KERNEL_NOISY_THREADS = 256 };

/* Draws N(0, 1) values of coordinates i and i + 1, i even: a function of (seed, step). */
CORE_DEVICE_FN void noisy_normals(uint64_t seed, int64_t step, size_t i, double normal[2]) {
  const CoreRandom4 words = core_random_4(seed, CORE_RANDOM_NOISE, (uint32_t)step, (uint32_t)(step >> 32), (uint32_t)i);
  core_random_normal_pair(words.v[0], words.v[1], &normal[0], &normal[1]);
}

/* x -= rate (2x + noise); returns the square of 2x + noise. */
CORE_DEVICE_FN double noisy_descend(double *x, double noise, double rate) {
  const double gradient = 2 * *x + noise;
  *x -= rate * gradient;
  return gradient * gradient;
}

typedef struct OpsNoisyStep {
  double *x;              /* [n] */
  size_t n;
  uint64_t seed;
  int64_t step;
  double scale, rate;     /* standard deviation of the noise; learning rate */
  double *sums;           /* [2]: sum of squared gradients, sum of x^2 after the step */
} OpsNoisyStep;

/* One block, a pair of coordinates per thread; sums in the order of the threads. */
CORE_KERNEL_FN void ops_noisy_step(const CoreDeviceThread *at, const OpsNoisyStep *a) {
  double gradient = 0, loss = 0;
  for (size_t i = 2 * (size_t)at->thread; i < a->n; i += 2 * (size_t)at->threads) {
    double normal[2];
    noisy_normals(a->seed, a->step, i, normal);
    for (size_t k = i; k < i + 2 && k < a->n; k++) {
      gradient += noisy_descend(&a->x[k], a->scale * normal[k - i], a->rate);
      loss += a->x[k] * a->x[k];
    }
  }
  gradient = ops_add_block(at, gradient);
  loss = ops_add_block(at, loss);
  if (at->thread > 0) return;
  a->sums[0] = gradient;
  a->sums[1] = loss;
}

#endif
