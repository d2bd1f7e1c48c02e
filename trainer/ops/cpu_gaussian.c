/* Continuous heads on the CPU: the diagonal Gaussian (spec ppo.md 8.1) and Stoix's tanh of a Gaussian stretched to the
 * action's bounds (1.7), row by row in float64. A row costs a few elementary functions, a small part of the network's
 * work for it, so nothing here is vectorised. Called by cpu_policy.c for one row at a time; knows no batch. */
#include <math.h>
#include <string.h>

#include "core/random.h"
#include "trainer/ops/cpu_internal.h"

static const double HALF_LOG_2PI = 0.91893853320467274178;   /* log(2 pi) / 2 */
static const double TAIL = 1e-3;                             /* actions so near to a bound share one log-probability */

/* log(1 + e^x) and its derivative. */
static double softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* log Phi(u), the Gaussian distribution function, and its derivative *slope = phi(u) / Phi(u). Below -35 the first
 * terms of the asymptotic series are good to 1e-10 of the value, where erfc would soon underflow. */
static double log_normal_cdf(double u, double *slope) {
  double value;
  if (u < -35) {
    double square = 1 / (u * u);
    value = -u * u / 2 - HALF_LOG_2PI - log(-u) + log1p(-square * (1 - 3 * square));
    *slope = -u / (1 - square * (1 - 3 * square));
    return value;
  }
  value = u > 0 ? log1p(-erfc(u * M_SQRT1_2) / 2) : log(erfc(-u * M_SQRT1_2) / 2);
  *slope = exp(-u * u / 2 - HALF_LOG_2PI - value);
  return value;
}

/* ---- one component ---------------------------------------------------------------------------------------------- */

/* The Gaussian of a component, and how its parameters follow from the network's: d_scale = d log(scale) / d raw. */
typedef struct Component { double location, log_scale, scale, d_scale; } Component;

static Component component_of(const OpsHead *head, const float *logits, int k) {
  const double location = (double)logits[k], raw = (double)logits[head->factors + k];
  if (head->kind == OPS_GAUSSIAN) return (Component){location, raw, exp(raw), 1};
  const double scale = ops_head_deviation(head, logits, k);
  return (Component){location, log(scale), scale, sigmoid(raw) / scale};
}

/* A log-density with its derivatives by location and by log(scale). */
typedef struct Density { double value, by_location, by_log_scale; } Density;

static Density normal_density(Component c, double x) {
  const double z = (x - c.location) / c.scale;
  return (Density){-z * z / 2 - c.log_scale - HALF_LOG_2PI, z / c.scale, z * z - 1};
}

/* The probability of all actions nearer than TAIL to a bound, as a density over that stretch. side: -1 low, 1 high. */
static Density tail_density(Component c, double cut, int side) {
  const double u = (cut - c.location) / c.scale;
  double slope;
  const double value = log_normal_cdf(-side * u, &slope) - log(TAIL);
  return (Density){value, side * slope / c.scale, side * slope * u};
}

/* log |d action / d x| of the tanh stretched by `half`. */
static double log_jacobian(double x, double half) { return log(half) + 2 * (M_LN2 - x - softplus(-2 * x)); }

static Density tanh_density(const OpsHead *head, Component c, double action) {
  const double low = (double)head->low, high = (double)head->high, half = (high - low) / 2, middle = (high + low) / 2;
  if (action <= low + TAIL) return tail_density(c, atanh((low + TAIL - middle) / half), -1);
  if (action >= high - TAIL) return tail_density(c, atanh((high - TAIL - middle) / half), 1);
  const double x = atanh((action - middle) / half);
  Density density = normal_density(c, x);
  density.value -= log_jacobian(x, half);
  return density;
}

static Density density_of(const OpsHead *head, Component c, double action) {
  return head->kind == OPS_GAUSSIAN ? normal_density(c, action) : tanh_density(head, c, action);
}

/* ---- one row ---------------------------------------------------------------------------------------------------- */

/* N(0,1) numbers of one row: four a block of random words. */
static void draw_normals(uint64_t seed, uint32_t purpose, uint32_t a, uint32_t b, int n, double *normal) {
  for (int i = 0; i < n; i += 4) {
    const CoreRandom4 words = core_random_4(seed, purpose, a, b, (uint32_t)i / 4);
    double four[4];
    core_random_normal_pair(words.v[0], words.v[1], &four[0], &four[1]);
    core_random_normal_pair(words.v[2], words.v[3], &four[2], &four[3]);
    for (int k = 0; k < 4 && i + k < n; k++) normal[i + k] = four[k];
  }
}

void cpu_gaussian_sample(const OpsHead *head, const float *logits, uint64_t seed, uint32_t purpose, uint32_t world,
                         uint32_t step, float *action) {
  double normal[OPS_FACTORS_MAX];
  draw_normals(seed, purpose, world, step, head->factors, normal);
  for (int k = 0; k < head->factors; k++) {
    const Component c = component_of(head, logits, k);
    const double x = c.location + c.scale * normal[k], low = (double)head->low, high = (double)head->high;
    action[k] = (float)(head->kind == OPS_GAUSSIAN ? x : (high + low) / 2 + (high - low) / 2 * tanh(x));
  }
}

float cpu_gaussian_logp(const OpsHead *head, const float *logits, const float *action) {
  double sum = 0;
  for (int k = 0; k < head->factors; k++)
    sum += density_of(head, component_of(head, logits, k), (double)action[k]).value;
  return (float)sum;
}

float cpu_gaussian_gradient(const OpsHead *head, const float *logits, const float *action, double slope, double weight,
                            float *dlogits) {
  const int closed = head->kind == OPS_GAUSSIAN; /* entropy log(scale) + constant */
  double entropy = 0;
  for (int k = 0; k < head->factors; k++) {
    const Component c = component_of(head, logits, k);
    const Density density = density_of(head, c, (double)action[k]);
    dlogits[k] = (float)(slope * density.by_location);
    dlogits[head->factors + k] = (float)((slope * density.by_log_scale - (closed ? weight : 0)) * c.d_scale);
    entropy += closed ? c.log_scale + HALF_LOG_2PI + 0.5 : 0;
  }
  return (float)entropy;
}

/* d = log(scale_q / scale_p): d + (e^(-2d) - 1)/2 keeps its digits when the scales are nearly the same. */
void cpu_gaussian_kl(const OpsHead *head, const float *p, const float *q, double *kl, double *kl_reverse) {
  for (int k = 0; k < head->factors; k++) {
    const Component cp = component_of(head, p, k), cq = component_of(head, q, k);
    const double d = cq.log_scale - cp.log_scale, move = cp.location - cq.location;
    *kl += d + expm1(-2 * d) / 2 + move * move / (2 * cq.scale * cq.scale);
    *kl_reverse += -d + expm1(2 * d) / 2 + move * move / (2 * cp.scale * cp.scale);
  }
}

/* ---- entries of the table --------------------------------------------------------------------------------------- */

/* Base entropy + log |Jacobian| at x = location + scale noise; d log_jacobian / dx = -2 tanh x. */
static double sampled_entropy_row(const OpsHead *head, const float *logits, const float *noise, double weight,
                                  float *dlogits) {
  const double half = ((double)head->high - (double)head->low) / 2;
  double entropy = 0;
  for (int k = 0; k < head->factors; k++) {
    const Component c = component_of(head, logits, k);
    const double x = c.location + c.scale * (double)noise[k], by_x = -2 * tanh(x);
    entropy += c.log_scale + HALF_LOG_2PI + 0.5 + log_jacobian(x, half);
    dlogits[k] -= (float)(weight * by_x);
    dlogits[head->factors + k] -= (float)(weight * (1 + by_x * c.scale * (double)noise[k]) * c.d_scale);
  }
  return entropy;
}

double cpu_policy_sampled_entropy(Ops *ops, const OpsHead *head, const float *logits, const float *noise, int rows,
                                  double entropy_coef, float *dlogits) {
  CpuState *state = cpu_state(ops);
  const size_t width = (size_t)head->logits, factors = (size_t)head->factors;
  CORE_CHECK(head->kind == OPS_TANH_AFFINE && rows <= state->max_rows);
#pragma omp parallel for schedule(static) num_threads(state->threads) if (rows > CPU_ROWS)
  for (int block = 0; block < cpu_blocks(rows); block++) {
    double sum = 0;
    for (int r = 0; r < cpu_block_rows(rows, block); r++) {
      const size_t row = (size_t)block * CPU_ROWS + (size_t)r;
      sum += sampled_entropy_row(head, logits + row * width, noise + row * factors, entropy_coef / rows,
                                 dlogits + row * width);
    }
    state->sum_parts[block * CPU_SUMS] = sum;
  }
  double entropy = 0;
  for (int block = 0; block < cpu_blocks(rows); block++) entropy += state->sum_parts[block * CPU_SUMS];
  return entropy;
}

void cpu_normal_rows(Ops *ops, uint64_t seed, uint32_t purpose, const uint32_t *index, uint32_t step, int rows,
                     int columns, float *noise) {
  CORE_CHECK(columns <= OPS_FACTORS_MAX);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (rows > CPU_ROWS)
  for (int r = 0; r < rows; r++) {
    double normal[OPS_FACTORS_MAX];
    draw_normals(seed, purpose, index[r], step, columns, normal);
    for (int k = 0; k < columns; k++) noise[(size_t)r * (size_t)columns + (size_t)k] = (float)normal[k];
  }
}

void cpu_gaussian_join(Ops *ops, const float *mean, const float *log_sigma, const int32_t *set, int rows, int factors,
                       float *logits) {
  const size_t n = (size_t)factors;
  for (size_t r = 0; r < (size_t)rows; r++) {
    const float *of_row = log_sigma + (set ? (size_t)set[r] : 0) * n;
    for (size_t k = 0; k < n; k++) {
      logits[r * 2 * n + k] = mean[r * n + k];
      logits[r * 2 * n + n + k] = of_row[k];
    }
  }
}

/* One thread: the sums have one order, and the work is that of a copy. */
void cpu_gaussian_split(Ops *ops, const float *dlogits, const int32_t *set, int rows, int factors, int sets,
                        float *dmean, float *dlog_sigma) {
  const size_t n = (size_t)factors;
  for (int s = 0; s < sets; s++) {
    double sum[OPS_FACTORS_MAX] = {0};
    for (size_t r = 0; r < (size_t)rows; r++) {
      if ((set ? set[r] : 0) != s) continue;
      for (size_t k = 0; k < n; k++) {
        dmean[r * n + k] = dlogits[r * 2 * n + k];
        sum[k] += (double)dlogits[r * 2 * n + n + k];
      }
    }
    for (size_t k = 0; k < n; k++) dlog_sigma[(size_t)s * n + k] = (float)sum[k];
  }
}

/* One row's part; the gradients are divided by the number of rows. */
static void regularise_row(const OpsHead *head, const float *logits, double entropy_coef, double bound,
                           double bounds_coef, int rows, float *dlogits, OpsGaussianSums *sums) {
  double entropy = 0;
  for (int k = 0; k < head->factors; k++) {
    const double mean = (double)logits[k];
    const double beyond = mean > bound ? mean - bound : mean < -bound ? mean + bound : 0;
    entropy += (double)logits[head->factors + k] + HALF_LOG_2PI + 0.5;
    sums->bounds += beyond * beyond;
    dlogits[k] += (float)(2 * bounds_coef * beyond / rows);
    dlogits[head->factors + k] -= (float)(entropy_coef / rows);
  }
  sums->entropy += entropy_coef * entropy;
}

void cpu_gaussian_regularise(Ops *ops, const OpsHead *head, const float *logits, const int32_t *set,
                             const float *entropy_coef, double bound, double bounds_coef, int rows, float *dlogits,
                             OpsGaussianSums *sums) {
  CORE_CHECK(head->kind == OPS_GAUSSIAN);
  *sums = (OpsGaussianSums){0};
  for (int r = 0; r < rows; r++) {
    const size_t at = (size_t)r * (size_t)head->logits;
    regularise_row(head, logits + at, (double)entropy_coef[set[r]], bound, bounds_coef, rows, dlogits + at, sums);
  }
}

void cpu_embed_forward(Ops *ops, const float *x, const float *embedding, int rows, int features, int width,
                       float *joined, int32_t *set) {
  const size_t from = (size_t)features + 1, to = (size_t)(features + width);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (rows > CPU_ROWS)
  for (int r = 0; r < rows; r++) {
    const float *row = x + (size_t)r * from;
    set[r] = (int32_t)row[features];
    memcpy(joined + (size_t)r * to, row, (size_t)features * sizeof *joined);
    memcpy(joined + (size_t)r * to + (size_t)features, embedding + (size_t)set[r] * (size_t)width,
           (size_t)width * sizeof *joined);
  }
}

/* A set's numbers at a time, each a sum in the order of the rows. */
void cpu_embed_backward(Ops *ops, const float *djoined, const int32_t *set, int rows, int features, int width, int sets,
                        float *dembedding) {
  const size_t from = (size_t)(features + width);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (rows > CPU_ROWS)
  for (int number = 0; number < sets * width; number++) {
    const int s = number / width, k = number % width;
    double sum = 0;
    for (int r = 0; r < rows; r++)
      if (set[r] == s) sum += (double)djoined[(size_t)r * from + (size_t)(features + k)];
    dembedding[number] = (float)sum;
  }
}
