/* Continuous heads, one row at a time in float64: the diagonal Gaussian and Stoix's tanh-Gaussian stretched to the
 * action's bounds (docs/algorithms.md#policies). Shared by the CPU's loops (cpu_gaussian.c) and the GPU's kernels
 * (kernels_policy.h). */
#ifndef TRAINER_OPS_ROW_GAUSSIAN_INTERNAL_H
#define TRAINER_OPS_ROW_GAUSSIAN_INTERNAL_H
#include <math.h>

#include "core/device/device_kernel.h"
#include "core/random.h"
#include "trainer/ops/ops.h"
#include "trainer/ops/row_policy_internal.h"

#define ROW_HALF_LOG_2PI 0.91893853320467274178   /* log(2 pi) / 2 */
#define ROW_TAIL 1e-3                             /* actions closer than this to a bound share one log-prob */

/* log(1 + e^x) and its derivative. */
CORE_DEVICE_FN double row_softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }
CORE_DEVICE_FN double row_sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* log Phi(u) of the standard normal CDF, and its derivative *slope = phi(u) / Phi(u). Below -35 the first terms of the
 * asymptotic series are accurate to 1e-10 relative, where erfc would soon underflow. */
CORE_DEVICE_FN double row_log_normal_cdf(double u, double *slope) {
  double value;
  if (u < -35) {
    double square = 1 / (u * u);
    value = -u * u / 2 - ROW_HALF_LOG_2PI - log(-u) + log1p(-square * (1 - 3 * square));
    *slope = -u / (1 - square * (1 - 3 * square));
    return value;
  }
  value = u > 0 ? log1p(-erfc(u * M_SQRT1_2) / 2) : log(erfc(-u * M_SQRT1_2) / 2);
  *slope = exp(-u * u / 2 - ROW_HALF_LOG_2PI - value);
  return value;
}

/* ---- one component ---------------------------------------------------------------------------------------------- */

/* Gaussian of a component, and the derivative of its scale by the network's output: d_scale = d log(scale) / d raw. */
typedef struct RowComponent { double location, log_scale, scale, d_scale; } RowComponent;

CORE_DEVICE_FN RowComponent row_component(const OpsHead *head, const float *logits, int k) {
  const double location = (double)logits[k], raw = (double)logits[head->factors + k];
  if (head->kind == OPS_GAUSSIAN) return (RowComponent){location, raw, exp(raw), 1};
  const double scale = row_softplus(raw) + 1e-3;
  return (RowComponent){location, log(scale), scale, row_sigmoid(raw) / scale};
}

/* Log-density with its derivatives by location and by log(scale). */
typedef struct RowDensity { double value, by_location, by_log_scale; } RowDensity;

CORE_DEVICE_FN RowDensity row_normal_density(RowComponent c, double x) {
  const double z = (x - c.location) / c.scale;
  return (RowDensity){-z * z / 2 - c.log_scale - ROW_HALF_LOG_2PI, z / c.scale, z * z - 1};
}

/* Returns the probability of all actions within ROW_TAIL of a bound, as a density over that interval. side: -1 low, 1
 * high. */
CORE_DEVICE_FN RowDensity row_tail_density(RowComponent c, double cut, int side) {
  const double u = (cut - c.location) / c.scale;
  double slope;
  const double value = row_log_normal_cdf(-side * u, &slope) - log(ROW_TAIL);
  return (RowDensity){value, side * slope / c.scale, side * slope * u};
}

/* log |d action / d x| of the tanh stretched by `half`. */
CORE_DEVICE_FN double row_log_jacobian(double x, double half) {
  return log(half) + 2 * (M_LN2 - x - row_softplus(-2 * x));
}

CORE_DEVICE_FN RowDensity row_tanh_density(const OpsHead *head, RowComponent c, double action) {
  const double low = (double)head->low, high = (double)head->high, half = (high - low) / 2, middle = (high + low) / 2;
  if (action <= low + ROW_TAIL) return row_tail_density(c, atanh((low + ROW_TAIL - middle) / half), -1);
  if (action >= high - ROW_TAIL) return row_tail_density(c, atanh((high - ROW_TAIL - middle) / half), 1);
  const double x = atanh((action - middle) / half);
  RowDensity density = row_normal_density(c, x);
  density.value -= row_log_jacobian(x, half);
  return density;
}

CORE_DEVICE_FN RowDensity row_density(const OpsHead *head, RowComponent c, double action) {
  return head->kind == OPS_GAUSSIAN ? row_normal_density(c, action) : row_tanh_density(head, c, action);
}

/* ---- one row ---------------------------------------------------------------------------------------------------- */

/* Draws N(0,1) values of one row: four per block of random words. */
CORE_DEVICE_FN void row_draw_normals(uint64_t seed, uint32_t purpose, uint32_t a, uint32_t b, int n, double *normal) {
  for (int i = 0; i < n; i += 4) {
    const CoreRandom4 words = core_random_4(seed, purpose, a, b, (uint32_t)i / 4);
    double four[4];
    core_random_normal_pair(words.v[0], words.v[1], &four[0], &four[1]);
    core_random_normal_pair(words.v[2], words.v[3], &four[2], &four[3]);
    for (int k = 0; k < 4 && i + k < n; k++) normal[i + k] = four[k];
  }
}

/* Maps x of the Gaussian to an action. */
CORE_DEVICE_FN float row_action(const OpsHead *head, double x) {
  const double low = (double)head->low, high = (double)head->high;
  return (float)(head->kind == OPS_GAUSSIAN ? x : (high + low) / 2 + (high - low) / 2 * tanh(x));
}

CORE_DEVICE_FN void row_gaussian_mean(const OpsHead *head, const float *logits, float *action) {
  for (int k = 0; k < head->factors; k++) action[k] = row_action(head, (double)logits[k]);
}

CORE_DEVICE_FN void row_gaussian_sample(const OpsHead *head, const float *logits, uint64_t seed, uint32_t purpose,
                                        uint32_t world, uint32_t step, float *action) {
  double normal[OPS_FACTORS_MAX];
  row_draw_normals(seed, purpose, world, step, head->factors, normal);
  for (int k = 0; k < head->factors; k++) {
    const RowComponent c = row_component(head, logits, k);
    action[k] = row_action(head, c.location + c.scale * normal[k]);
  }
}

CORE_DEVICE_FN float row_gaussian_logp(const OpsHead *head, const float *logits, const float *action) {
  double sum = 0;
  for (int k = 0; k < head->factors; k++)
    sum += row_density(head, row_component(head, logits, k), (double)action[k]).value;
  return (float)sum;
}

CORE_DEVICE_FN float row_gaussian_gradient(const OpsHead *head, const float *logits, const float *action, double slope,
                                           double weight, float *dlogits) {
  const int closed = head->kind == OPS_GAUSSIAN; /* entropy log(scale) + constant */
  double entropy = 0;
  for (int k = 0; k < head->factors; k++) {
    const RowComponent c = row_component(head, logits, k);
    const RowDensity density = row_density(head, c, (double)action[k]);
    dlogits[k] = (float)(slope * density.by_location);
    dlogits[head->factors + k] = (float)((slope * density.by_log_scale - (closed ? weight : 0)) * c.d_scale);
    entropy += closed ? c.log_scale + ROW_HALF_LOG_2PI + 0.5 : 0;
  }
  return (float)entropy;
}

/* d = log(scale_q / scale_p): d + (e^(-2d) - 1)/2 keeps its digits when the scales are nearly equal. */
CORE_DEVICE_FN void row_gaussian_kl(const OpsHead *head, const float *p, const float *q, double *kl,
                                    double *kl_reverse) {
  for (int k = 0; k < head->factors; k++) {
    const RowComponent cp = row_component(head, p, k), cq = row_component(head, q, k);
    const double d = cq.log_scale - cp.log_scale, move = cp.location - cq.location;
    *kl += d + expm1(-2 * d) / 2 + move * move / (2 * cq.scale * cq.scale);
    *kl_reverse += -d + expm1(2 * d) / 2 + move * move / (2 * cp.scale * cp.scale);
  }
}

/* Returns KL(ref || policy) and adds `weight` times its gradient to dlogits; d as in row_gaussian_kl. */
CORE_DEVICE_FN double row_gaussian_kl_gradient(const OpsHead *head, const float *logits, const float *ref,
                                               double weight, float *dlogits) {
  double kl = 0;
  for (int k = 0; k < head->factors; k++) {
    const RowComponent c = row_component(head, logits, k), of_ref = row_component(head, ref, k);
    const double d = c.log_scale - of_ref.log_scale, move = c.location - of_ref.location;
    const double square = move * move / (c.scale * c.scale);
    kl += d + expm1(-2 * d) / 2 + square / 2;
    dlogits[k] += (float)(weight * move / (c.scale * c.scale));
    dlogits[head->factors + k] += (float)(weight * (-expm1(-2 * d) - square) * c.d_scale);
  }
  return kl;
}

/* Returns KL(ref || policy) of a row of any head and adds `weight` times its gradient to dlogits. */
CORE_DEVICE_FN double row_kl_gradient(const OpsHead *head, const float *logits, const float *ref, double weight,
                                      float *dlogits) {
  double kl = 0;
  if (head->kind != OPS_MULTI_DISCRETE) return row_gaussian_kl_gradient(head, logits, ref, weight, dlogits);
  for (int f = 0, k = 0; f < head->factors; f++) {
    kl += row_factor_kl_gradient(logits + k, ref + k, head->size[f], weight, dlogits + k);
    k += head->size[f];
  }
  return kl;
}

/* Returns KL(p || q) in the form that SAPG's adaptive learning rate uses, with its small constants (rl_games'
 * torch_ext.py, policy_kl). */
CORE_DEVICE_FN double row_controller_kl(const OpsHead *head, const float *p, const float *q) {
  double kl = 0;
  for (int k = 0; k < head->factors; k++) {
    const double of_p = row_component(head, p, k).scale, of_q = row_component(head, q, k).scale;
    const double move = (double)q[k] - (double)p[k];
    kl += log(of_q / of_p + 1e-5) - 0.5 + (of_p * of_p + move * move) / (2 * (of_q * of_q + 1e-5));
  }
  return kl;
}

/* Base entropy + log |Jacobian| at x = location + scale noise; d row_log_jacobian / dx = -2 tanh x. */
CORE_DEVICE_FN double row_sampled_entropy(const OpsHead *head, const float *logits, const float *noise, double weight,
                                  float *dlogits) {
  const double half = ((double)head->high - (double)head->low) / 2;
  double entropy = 0;
  for (int k = 0; k < head->factors; k++) {
    const RowComponent c = row_component(head, logits, k);
    const double x = c.location + c.scale * (double)noise[k], by_x = -2 * tanh(x);
    entropy += c.log_scale + ROW_HALF_LOG_2PI + 0.5 + row_log_jacobian(x, half);
    dlogits[k] -= (float)(weight * by_x);
    dlogits[head->factors + k] -= (float)(weight * (1 + by_x * c.scale * (double)noise[k]) * c.d_scale);
  }
  return entropy;
}

/* Adds one row's regularization; the gradients are divided by the number of rows. */
CORE_DEVICE_FN void row_regularize(const OpsHead *head, const float *logits, double entropy_coef, double bound,
                           double bounds_coef, int rows, float *dlogits, OpsGaussianSums *sums) {
  double entropy = 0;
  for (int k = 0; k < head->factors; k++) {
    const double mean = (double)logits[k];
    const double beyond = mean > bound ? mean - bound : mean < -bound ? mean + bound : 0;
    entropy += (double)logits[head->factors + k] + ROW_HALF_LOG_2PI + 0.5;
    sums->bounds += beyond * beyond;
    dlogits[k] += (float)(2 * bounds_coef * beyond / rows);
    dlogits[head->factors + k] -= (float)(entropy_coef / rows);
  }
  sums->entropy += entropy_coef * entropy;
}

#endif
