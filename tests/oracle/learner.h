/* Slow reference versions in double of the trainer's float32 ops, written from the formulas of
 * docs/algorithms.md#advantages and docs/algorithms.md#losses, for comparison and for finite differences. */
#ifndef TESTS_ORACLE_LEARNER_H
#define TESTS_ORACLE_LEARNER_H
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/nets/network.h"

static inline double oracle_activation(OpsActivation activation, double z) {
  switch (activation) {
    case OPS_TANH: return tanh(z);
    case OPS_RELU: return z > 0 ? z : 0;
    case OPS_SILU: return z / (1 + exp(-z));
    case OPS_ELU: return z > 0 ? z : expm1(z);
    default: return z;
  }
}

/* One row through a dense layer; w [in][out]. */
static inline void oracle_dense(const double *x, const double *w, const double *b, double *y, int in, int out,
                                OpsActivation activation) {
  for (int o = 0; o < out; o++) {
    double z = b[o];
    for (int i = 0; i < in; i++) z += x[i] * w[(size_t)i * (size_t)out + (size_t)o];
    y[o] = oracle_activation(activation, z);
  }
}

/* Layer norm of one row of z [columns], then the activation (kept apart from the layer's product). */
static inline void oracle_norm(double *z, const double *gain, const double *offset, int columns,
                               OpsActivation activation) {
  double mean = 0, variance = 0;
  for (int c = 0; c < columns; c++) mean += z[c] / columns;
  for (int c = 0; c < columns; c++) variance += (z[c] - mean) * (z[c] - mean) / columns;
  for (int c = 0; c < columns; c++)
    z[c] = oracle_activation(activation, gain[c] * (z[c] - mean) / sqrt(variance + NETWORK_NORM_EPSILON) + offset[c]);
}

/* One row through all layers: x [width[0]] -> y [width[layers]]. */
static inline void oracle_network(const NetworkShape *shape, const double *theta, const double *x, double *y) {
  double now[512], next[512];
  memcpy(now, x, (size_t)shape->width[0] * sizeof *x);
  for (int l = 0; l < shape->layers; l++) {
    const int out = shape->width[l + 1];
    const bool norm = network_has_norm(shape, l);
    oracle_dense(now, theta + network_kernel(shape, l), theta + network_bias(shape, l), next, shape->width[l], out,
                 norm ? OPS_LINEAR : shape->activation[l]);
    if (norm)
      oracle_norm(next, theta + network_norm_gain(shape, l), theta + network_norm_offset(shape, l), out,
                  shape->activation[l]);
    memcpy(now, next, (size_t)out * sizeof *now);
  }
  memcpy(y, now, (size_t)shape->width[shape->layers] * sizeof *y);
}

/* sum over rows and outputs of weight * output of a network with parameters theta: a scalar to difference. */
static inline double oracle_network_scalar(const NetworkShape *shape, const double *theta, const float *x, int rows,
                                           const float *weight) {
  double sum = 0, now[512], output[512];
  for (int r = 0; r < rows; r++) {
    for (int i = 0; i < shape->width[0]; i++) now[i] = (double)x[(size_t)r * (size_t)shape->width[0] + (size_t)i];
    oracle_network(shape, theta, now, output);
    int outputs = shape->width[shape->layers];
    for (int o = 0; o < outputs; o++) sum += (double)weight[(size_t)r * (size_t)outputs + (size_t)o] * output[o];
  }
  return sum;
}

/* Log-probability of one row's action and the entropy, summed over factors. */
static inline double oracle_logp(const OpsHead *head, const double *z, const uint8_t *action, double *entropy) {
  double logp = 0;
  *entropy = 0;
  for (int f = 0; f < head->factors; z += head->size[f++]) {
    double max = -INFINITY, sum = 0;
    for (int k = 0; k < head->size[f]; k++) max = fmax(max, z[k]);
    for (int k = 0; k < head->size[f]; k++) sum += exp(z[k] - max);
    for (int k = 0; k < head->size[f]; k++) {
      double l = z[k] - max - log(sum);
      if (exp(l) > 0) *entropy -= exp(l) * l;
      if (k == action[f]) logp += l;
    }
  }
  return logp;
}

static inline double oracle_clamp(double x, double low, double high) { return fmin(fmax(x, low), high); }

/* mean(loss) - entropy_coef * mean(entropy) of the actor; proximal NULL for PPO. */
static inline double oracle_policy_loss(const OpsHead *head, const double *logits, const uint8_t *actions,
                                        const float *behavior, const float *proximal, const float *advantage, int rows,
                                        double epsilon, double entropy_coef) {
  double sum = 0;
  for (int r = 0; r < rows; r++) {
    double entropy, a = (double)advantage[r], b = (double)behavior[r];
    double logp = oracle_logp(head, logits + r * head->logits, actions + r * head->factors, &entropy), clipped;
    if (proximal) {
      double p = (double)proximal[r], low = epsilon < 1 ? log(1 - epsilon) : -INFINITY;
      clipped = exp(oracle_clamp(logp - p, low, log(1 + epsilon)) + p - b);
    } else {
      clipped = oracle_clamp(exp(logp - b), 1 - epsilon, 1 + epsilon);
    }
    sum += -fmin(exp(logp - b) * a, clipped * a) - entropy_coef * entropy;
  }
  return sum / rows;
}

static inline double oracle_value_loss(const double *value, const float *old_value, const float *target, int rows,
                                       int clip, double epsilon, double coef) {
  double sum = 0;
  for (int r = 0; r < rows; r++) {
    double t = (double)target[r], old = (double)old_value[r], error = (value[r] - t) * (value[r] - t);
    double bounded = old + oracle_clamp(value[r] - old, -epsilon, epsilon) - t;
    sum += 0.5 * (clip ? fmax(error, bounded * bounded) : error);
  }
  return coef * sum / rows;
}

/* Generalized advantage estimation of one world by its definition: the sum over k of (discount lambda)^k delta, cut
 * where an episode ended or was truncated. next_value: V of the true next observation of every step. */
static inline double oracle_gae(const double *reward, const double *value, const double *next_value,
                                const uint8_t *done, const uint8_t *truncated, int steps, int t, double gamma,
                                double lambda) {
  double sum = 0, weight = 1;
  for (int k = t; k < steps; k++) {
    double discount = done[k] ? 0 : gamma;
    sum += weight * (reward[k] + discount * next_value[k] - value[k]);
    if (done[k] || truncated[k]) break;
    weight *= gamma * lambda;
  }
  return sum;
}

#endif
