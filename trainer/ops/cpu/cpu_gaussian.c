/* Continuous heads on the CPU: the diagonal Gaussian and Stoix's tanh-Gaussian stretched to the action's bounds
 * (docs/algorithms.md#policies), row by row in float64 (row_gaussian_internal.h). A row costs a few elementary
 * functions, a small part of the network's work for it, so nothing here is vectorized. Called by cpu_policy.c for one
 * row at a time. */
#include <math.h>
#include <string.h>

#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/row_gaussian_internal.h"

/* ---- one row ---------------------------------------------------------------------------------------------------- */

void cpu_gaussian_sample(const OpsHead *head, const float *logits, uint64_t seed, uint32_t purpose, uint32_t world,
                         uint32_t step, float *action) {
  row_gaussian_sample(head, logits, seed, purpose, world, step, action);
}

float cpu_gaussian_logp(const OpsHead *head, const float *logits, const float *action) {
  return row_gaussian_logp(head, logits, action);
}

float cpu_gaussian_gradient(const OpsHead *head, const float *logits, const float *action, double slope, double weight,
                            float *dlogits) {
  return row_gaussian_gradient(head, logits, action, slope, weight, dlogits);
}

void cpu_gaussian_kl(const OpsHead *head, const float *p, const float *q, double *kl, double *kl_reverse) {
  row_gaussian_kl(head, p, q, kl, kl_reverse);
}

/* ---- entries of the table --------------------------------------------------------------------------------------- */

void cpu_policy_sampled_entropy(Ops *ops, const OpsHead *head, const float *logits, const float *noise, int rows,
                                double entropy_coef, float *dlogits, double *entropy) {
  CpuState *state = cpu_state(ops);
  const size_t width = (size_t)head->logits, factors = (size_t)head->factors;
  CORE_CHECK(head->kind == OPS_TANH_AFFINE && rows <= state->max_rows);

#pragma omp parallel for schedule(static) num_threads(state->threads) if (rows > CPU_ROWS)
  for (int block = 0; block < cpu_blocks(rows); block++) {
    double sum = 0;
    for (int r = 0; r < cpu_block_rows(rows, block); r++) {
      const size_t row = (size_t)block * CPU_ROWS + (size_t)r;
      sum += row_sampled_entropy(head, logits + row * width, noise + row * factors, entropy_coef / rows,
                                 dlogits + row * width);
    }
    state->sum_parts[block * CPU_SUMS] = sum;
  }

  *entropy = 0;
  for (int block = 0; block < cpu_blocks(rows); block++) *entropy += state->sum_parts[block * CPU_SUMS];
}

void cpu_normal_rows(Ops *ops, uint64_t seed, uint32_t purpose, const uint32_t *index, uint32_t step, int rows,
                     int columns, float *noise) {
  CORE_CHECK(columns <= OPS_FACTORS_MAX);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (rows > CPU_ROWS)
  for (int r = 0; r < rows; r++) {
    double normal[OPS_FACTORS_MAX];
    row_draw_normals(seed, purpose, index[r], step, columns, normal);
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

void cpu_gaussian_regularize(Ops *ops, const OpsHead *head, const float *logits, const int32_t *set,
                             const float *entropy_coef, double bound, double bounds_coef, int rows, float *dlogits,
                             OpsGaussianSums *sums) {
  CORE_CHECK(head->kind == OPS_GAUSSIAN);
  *sums = (OpsGaussianSums){0};
  for (int r = 0; r < rows; r++) {
    const size_t at = (size_t)r * (size_t)head->logits;
    row_regularize(head, logits + at, (double)entropy_coef[set[r]], bound, bounds_coef, rows, dlogits + at, sums);
  }
}

/* Sums in the order of the rows. */
void cpu_controller_kl(Ops *ops, const OpsHead *head, const float *logits, const uint32_t *index, int rows,
                       float *reference, double *sum) {
  const size_t columns = (size_t)head->logits;
  CORE_CHECK(head->kind == OPS_GAUSSIAN);
  *sum = 0;
  for (size_t r = 0; r < (size_t)rows; r++) {
    float *last = reference + (size_t)index[r] * columns;
    *sum += row_controller_kl(head, logits + r * columns, last);
    memcpy(last, logits + r * columns, columns * sizeof *last);
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

/* Sums one set at a time, in the order of the rows. */
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
