/* Losses and categorical heads, one row at a time (docs/algorithms.md#losses): formulas shared by the CPU's
 * loops over groups of rows (cpu_policy.c) and the GPU's kernels (kernels_policy.h), and the row form that only the
 * latter use. A row's operations have the order of the groups', so both produce the same bits. */
#ifndef TRAINER_OPS_ROW_POLICY_INTERNAL_H
#define TRAINER_OPS_ROW_POLICY_INTERNAL_H
#include "core/random.h"
#include "trainer/ops/fast_math_internal.h"
#include "trainer/ops/ops.h"

/* ---- exact KL --------------------------------------------------------------------------------------------------- */

/* log of the sum of e^z, so that log p_k = z_k - this. */
CORE_DEVICE_FN double row_log_normalizer(const float *z, int size) {
  double max = z[0], sum = 0;
  for (int k = 1; k < size; k++) max = z[k] > max ? z[k] : max;
  for (int k = 0; k < size; k++) sum += exp(z[k] - max);
  return max + log(sum);
}

CORE_DEVICE_FN void row_factor_kl(const float *p, const float *q, int size, double *kl, double *kl_reverse) {
  double normalizer_p = row_log_normalizer(p, size), normalizer_q = row_log_normalizer(q, size);
  for (int k = 0; k < size; k++) {
    double log_p = p[k] - normalizer_p, log_q = q[k] - normalizer_q;
    double probability_p = exp(log_p), probability_q = exp(log_q);
    if (probability_p != 0) *kl += probability_p * (log_p - log_q);
    if (probability_q != 0) *kl_reverse += probability_q * (log_q - log_p);
  }
}

/* Returns KL(ref || policy) of a factor and adds `weight` times its gradient, p_policy - p_ref, to dlogits. */
CORE_DEVICE_FN double row_factor_kl_gradient(const float *z, const float *ref, int size, double weight,
                                             float *dlogits) {
  const double normalizer = row_log_normalizer(z, size), ref_normalizer = row_log_normalizer(ref, size);
  double kl = 0;
  for (int k = 0; k < size; k++) {
    const double log_p = z[k] - normalizer, log_ref = ref[k] - ref_normalizer, p_ref = exp(log_ref);
    if (p_ref != 0) kl += p_ref * (log_ref - log_p);
    dlogits[k] += (float)(weight * (exp(log_p) - p_ref));
  }
  return kl;
}

/* ---- the losses ------------------------------------------------------------------------------------------------- */

/* Clip range: PPO compares r itself with 1 +- epsilon, PPO-EWMA compares log r_p with their logarithms. */
typedef struct RowClip { float low, high; int proximal; } RowClip;

CORE_DEVICE_FN RowClip row_clip(double epsilon, int proximal) {
  if (!proximal) return (RowClip){(float)(1 - epsilon), (float)(1 + epsilon), 0};
  return (RowClip){epsilon < 1 ? (float)log1p(-epsilon) : -INFINITY, (float)log1p(epsilon), 1};
}

/* Returns the share of the gradient that passes the clip (docs/algorithms.md#losses). Exactly on a bound the
 * reference's automatic differentiation splits ties evenly between branches: 3/4 on one bound, 5/8 where both bounds
 * coincide (epsilon 0, first minibatch). */
CORE_DEVICE_FN float row_passing_share(float x, RowClip clip, float advantage) {
  float tie = x == clip.low ? (x == clip.high ? 0.625f : 0.75f) : x == clip.high ? 0.75f : 1.0f;
  int stopped = (advantage > 0) & (x > clip.high);
  stopped |= (advantage < 0) & (x < clip.low);
  return stopped ? 0.0f : tie;
}

/* slope = d loss / d logp */
typedef struct RowSurrogate { float loss, slope, k3, outside; } RowSurrogate;

CORE_DEVICE_FN RowSurrogate row_surrogate(float logp, float behavior, float proximal, float advantage, RowClip clip) {
  RowSurrogate row;
  float l = logp - behavior, ratio = fast_exp(l);
  float x = clip.proximal ? logp - proximal : ratio;
  float bounded = fast_clamp(x, clip.low, clip.high);
  float clipped = clip.proximal ? fast_exp(bounded + (proximal - behavior)) : bounded;
  float free_term = ratio * advantage, clipped_term = clipped * advantage;
  row.loss = -(free_term < clipped_term ? free_term : clipped_term);
  row.slope = -free_term * row_passing_share(x, clip, advantage);
  row.k3 = fast_expm1_minus(l);
  row.outside = x < clip.low || x > clip.high ? 1.0f : 0.0f;
  return row;
}

/* Uses the unclipped branch where its loss is at least the clipped one's; the clipped branch has gradient 0 beyond
 * epsilon. Without clipping epsilon is infinite and both branches are equal. */
CORE_DEVICE_FN void row_value(float value, float old_value, float target, float epsilon, float scale, float *slope,
                              float *error) {
  float difference = value - target, move = value - old_value;
  float bounded = fast_clamp(move, -epsilon, epsilon);
  float clipped = old_value + bounded - target;
  float free_error = difference * difference, clipped_error = clipped * clipped;
  int outside = (move < -epsilon) | (move > epsilon);
  int stopped = outside & (free_error < clipped_error);
  int free_counts = outside | (free_error >= clipped_error);
  *slope = stopped ? 0.0f : scale * difference;
  *error = stopped ? clipped_error : free_counts ? free_error : clipped_error;
}

/* ---- categorical heads ------------------------------------------------------------------------------------------- */

/* Softmax terms of a factor: p_k = e^(z_k - max) / total, log p_k = z_k - max - log_total. */
typedef struct RowFactor { float max, total, log_total; } RowFactor;

CORE_DEVICE_FN RowFactor row_factor(const float *z, int size) {
  RowFactor f = {z[0], 0.0f, 0.0f};
  for (int k = 1; k < size; k++) f.max = z[k] > f.max ? z[k] : f.max;
  for (int k = 0; k < size; k++) f.total += fast_exp(z[k] - f.max);
  f.log_total = fast_log(f.total);
  return f;
}

CORE_DEVICE_FN float row_factor_p(RowFactor f, float z) { return fast_exp(z - f.max) / f.total; }
CORE_DEVICE_FN float row_factor_logp(RowFactor f, float z) { return z - f.max - f.log_total; }

/* Returns the log-prob of a whole action. */
CORE_DEVICE_FN float row_categorical_logp(const OpsHead *head, const float *logits, const uint8_t *action) {
  float sum = 0;
  for (int f = 0, k = 0; f < head->factors; f++) {
    sum += row_factor_logp(row_factor(logits + k, head->size[f]), logits[k + action[f]]);
    k += head->size[f];
  }
  return sum;
}

/* Returns the first k whose cumulative probability exceeds u; if rounding leaves u beyond the last, the last possible
 * k. */
CORE_DEVICE_FN int row_factor_draw(RowFactor f, const float *z, int size, float u) {
  float cumulative = 0;
  int last = 0;
  for (int k = 0; k < size; k++) {
    const float p = row_factor_p(f, z[k]);
    cumulative += p;
    if (u < cumulative) return k;
    if (p > 0) last = k;
  }
  return last;
}

/* Draws an action and returns its log-prob, as row_categorical_logp. */
CORE_DEVICE_FN float row_categorical_sample(const OpsHead *head, const float *logits, uint64_t seed, uint32_t purpose,
                                            uint32_t world, uint32_t step, uint8_t *action) {
  CoreRandom4 words = {{0}};
  float logp = 0;
  for (int f = 0, k = 0; f < head->factors; f++) {
    if (f % 4 == 0) words = core_random_4(seed, purpose, world, step, (uint32_t)f / 4);
    const RowFactor factor = row_factor(logits + k, head->size[f]);
    const int drawn = row_factor_draw(factor, logits + k, head->size[f], core_random_unit(words.v[f % 4]));
    action[f] = (uint8_t)drawn;
    logp += row_factor_logp(factor, logits[k + drawn]);
    k += head->size[f];
  }
  return logp;
}

/* dlogits = slope (1[k = action] - p) + weight p (log p + H) of each factor; returns the entropy. */
CORE_DEVICE_FN float row_categorical_gradient(const OpsHead *head, const float *logits, const uint8_t *action,
                                              float slope, float weight, float *dlogits) {
  float entropy = 0;
  for (int f = 0, first = 0; f < head->factors; f++) {
    const float *z = logits + first;
    const RowFactor factor = row_factor(z, head->size[f]);

    float h = 0;
    for (int k = 0; k < head->size[f]; k++) {
      const float p = row_factor_p(factor, z[k]);
      h -= p > 0 ? p * row_factor_logp(factor, z[k]) : 0.0f;
    }

    for (int k = 0; k < head->size[f]; k++) {
      const float p = row_factor_p(factor, z[k]), of_entropy = p > 0 ? p * (row_factor_logp(factor, z[k]) + h) : p;
      dlogits[first + k] = weight * of_entropy - slope * p;
    }

    dlogits[first + action[f]] += slope;
    entropy += h;
    first += head->size[f];
  }
  return entropy;
}

/* Computes the log-prob of each class, which may replace its logit, and its probability; returns the log-prob of the
 * whole action. */
CORE_DEVICE_FN float row_categorical_terms(const OpsHead *head, const float *logits, const uint8_t *action,
                                           float *log_p, float *p) {
  float sum = 0;
  for (int f = 0, first = 0; f < head->factors; f++) {
    const int end = first + head->size[f];
    float max = logits[first], total = 0;

    for (int k = first + 1; k < end; k++) max = logits[k] > max ? logits[k] : max;
    for (int k = first; k < end; k++) {
      p[k] = fast_exp(logits[k] - max);
      total += p[k];
    }

    const float log_total = fast_log(total);
    for (int k = first; k < end; k++) {
      p[k] /= total;
      log_p[k] = logits[k] - max - log_total;
    }

    sum += log_p[first + action[f]];
    first = end;
  }
  return sum;
}

/* row_categorical_gradient from these terms; dlogits replaces p. */
CORE_DEVICE_FN float row_gradient_of_terms(const OpsHead *head, const float *log_p, const uint8_t *action, float slope,
                                           float weight, float *p) {
  float entropy = 0;
  for (int f = 0, first = 0; f < head->factors; f++) {
    const int end = first + head->size[f];
    float h = 0;
    for (int k = first; k < end; k++) h -= p[k] > 0 ? p[k] * log_p[k] : 0.0f;
    for (int k = first; k < end; k++) {
      const float of_entropy = p[k] > 0 ? p[k] * (log_p[k] + h) : p[k];
      p[k] = weight * of_entropy - slope * p[k];
    }
    p[first + action[f]] += slope;
    entropy += h;
    first = end;
  }
  return entropy;
}

/* ---- Q values ---------------------------------------------------------------------------------------------------- */

/* Computes the log-probs of the greedy and of any other action. Impossible actions still have a finite logarithm, so
 * that KL stays finite; a probability of 1e-30 is never sampled. */
static inline void row_q_logp(double epsilon, int columns, float *best, float *other) {
  const double each = epsilon / columns;
  *other = (float)log(fmax(each, 1e-30));
  *best = (float)log1p(each - epsilon);
}

/* Returns the greedy action, the first of equal values. */
CORE_DEVICE_FN int row_greedy(const float *q, int columns) {
  int best = 0;
  for (int c = 1; c < columns; c++)
    if (q[c] > q[best]) best = c;
  return best;
}

#endif
