/* Operations on long vectors on the CPU: sums in float64, Adam, EWMA, GAE, normalization; and transposition. A vector
 * is divided into parts whose boundaries depend on its length alone, and sums of parts are added in order, so that
 * results do not depend on the number of threads. */
#include <stdbool.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "core/random.h"
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/row_vector_internal.h"

enum { LANES = 16 }; /* independent accumulators of a sum; fixed, so that all instruction sets add in the same order */

enum { ALONE = 1 << 16 }; /* length up to which one thread is faster than starting others */

/* -------- parts ---------------------------------------------------------------------------------------------- */

typedef struct Parts { size_t n, size; int count; } Parts;

static Parts parts_of(size_t n) {
  size_t size = (n + CPU_SUM_PARTS - 1) / CPU_SUM_PARTS;
  if (size < CPU_SUM_MIN) size = CPU_SUM_MIN;
  return (Parts){n, size, (int)((n + size - 1) / size)};
}

static size_t part_first(Parts parts, int part) { return parts.size * (size_t)part; }
static size_t part_count(Parts parts, int part) {
  size_t left = parts.n - part_first(parts, part);
  return left < parts.size ? left : parts.size;
}

/* -------- sums ----------------------------------------------------------------------------------------------- */

/* Sums `term`, an expression of the index i, over n elements in LANES interleaved float64 accumulators. */
#define LANE_SUM(result, n, term)                                                   \
  do {                                                                              \
    double lane_[LANES] = {0};                                                      \
    size_t whole_ = (n) / LANES * LANES, base_ = 0;                                 \
    for (; base_ < whole_; base_ += LANES)                                          \
      for (int l_ = 0; l_ < LANES; l_++) { size_t i = base_ + l_; lane_[l_] += (term); } \
    for (int l_ = 0; base_ + l_ < (n); l_++) { size_t i = base_ + l_; lane_[l_] += (term); } \
    (result) = 0;                                                                   \
    for (int l_ = 0; l_ < LANES; l_++) (result) += lane_[l_];                       \
  } while (0)

static inline double square(double x) { return x * x; }

CPU_VECTOR static double part_norm(const float *x, size_t n) {
  double sum;
  LANE_SUM(sum, n, square((double)x[i]));
  return sum;
}

CPU_VECTOR static double part_distance(const float *x, const float *y, size_t n) {
  double sum;
  LANE_SUM(sum, n, square((double)x[i] - (double)y[i]));
  return sum;
}

double cpu_norm_squared(Ops *ops, const float *x, size_t n) {
  double sums[CPU_SUM_PARTS], sum = 0;
  Parts parts = parts_of(n);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (n > ALONE)
  for (int part = 0; part < parts.count; part++)
    sums[part] = part_norm(x + part_first(parts, part), part_count(parts, part));
  for (int part = 0; part < parts.count; part++) sum += sums[part];
  return sum;
}

double cpu_distance_squared(Ops *ops, const float *x, const float *y, size_t n) {
  double sums[CPU_SUM_PARTS], sum = 0;
  Parts parts = parts_of(n);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (n > ALONE)
  for (int part = 0; part < parts.count; part++) {
    size_t first = part_first(parts, part);
    sums[part] = part_distance(x + first, y + first, part_count(parts, part));
  }
  for (int part = 0; part < parts.count; part++) sum += sums[part];
  return sum;
}

/* Returns the moments of one part by the corrected two-pass algorithm: the mean, then central moments. The mean of the
 * residuals is added to the mean, so that the mean of equal values is exactly their value. */
#define PART_MOMENTS(n, term)                              \
  do {                                                     \
    double sum, mean;                                      \
    Moments moments = {.n = (double)(n)};                  \
    LANE_SUM(sum, n, term);                                \
    mean = sum / moments.n;                                \
    LANE_SUM(sum, n, (term) - mean);                       \
    moments.mean = mean += sum / moments.n;                \
    LANE_SUM(moments.m2, n, square((term) - mean));        \
    LANE_SUM(moments.m3, n, square((term) - mean) * ((term) - mean)); \
    LANE_SUM(moments.m4, n, square(square((term) - mean))); \
    return moments;                                        \
  } while (0)

CPU_VECTOR static Moments part_moments(const float *x, size_t n) { PART_MOMENTS(n, (double)x[i]); }
CPU_VECTOR static Moments part_moments_of_difference(const float *x, const float *y, size_t n) {
  PART_MOMENTS(n, (double)x[i] - (double)y[i]);
}

void cpu_moments(Ops *ops, const float *x, const float *y, size_t n, Moments *moments) {
  Moments records[CPU_SUM_PARTS];
  Parts parts = parts_of(n);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (parts.count > 1)
  for (int part = 0; part < parts.count; part++) {
    size_t first = part_first(parts, part), count = part_count(parts, part);
    records[part] = y ? part_moments_of_difference(x + first, y + first, count) : part_moments(x + first, count);
  }
  *moments = (Moments){0};
  for (int part = 0; part < parts.count; part++) moments_merge(moments, &records[part]);
}

/* -------- transposing ---------------------------------------------------------------------------------------- */

/* Transposes four elements of four rows at a time by register shuffles, if available. */
#if defined(__SSE__)
static void transpose_4(const float *x, size_t x_step, float *y, size_t y_step) {
  __m128 row[4];
  for (size_t r = 0; r < 4; r++) row[r] = _mm_loadu_ps(x + r * x_step);
  _MM_TRANSPOSE4_PS(row[0], row[1], row[2], row[3]);
  for (size_t r = 0; r < 4; r++) _mm_storeu_ps(y + r * y_step, row[r]);
}
#else
static void transpose_4(const float *x, size_t x_step, float *y, size_t y_step) {
  for (size_t r = 0; r < 4; r++)
    for (size_t c = 0; c < 4; c++) y[c * y_step + r] = x[r * x_step + c];
}
#endif

void cpu_transpose(const float *x, size_t x_step, int rows, int columns, float *y, size_t y_step) {
  const size_t high = (size_t)rows, wide = (size_t)columns;
  for (size_t c = 0; c < wide; c += 4)
    for (size_t r = 0; r < high; r += 4) {
      if (r + 4 <= high && c + 4 <= wide) {
        transpose_4(x + r * x_step + c, x_step, y + c * y_step + r, y_step);
        continue;
      }
      for (size_t i = r; i < high && i < r + 4; i++)
        for (size_t k = c; k < wide && k < c + 4; k++) y[k * y_step + i] = x[i * x_step + k];
    }
}

/* -------- elementwise ---------------------------------------------------------------------------------------- */

void cpu_permute(Ops *ops, uint64_t seed, uint32_t purpose, uint32_t a, uint32_t b, uint32_t *order, uint32_t n,
                 uint32_t *scratch) {
  (void)ops;
  (void)scratch;
  core_random_permutation(seed, purpose, a, b, order, n);
}

void cpu_world_rows(Ops *ops, const uint32_t *world, int count, int steps, int worlds, uint32_t *rows) {
  (void)ops;
  for (int w = 0; w < count; w++)
    for (int t = 0; t < steps; t++) *rows++ = (uint32_t)t * (uint32_t)worlds + world[w];
}

/* Prefetches the beginning of a row. Gathered rows are scattered, so the hardware prefetcher cannot predict the next
 * one; within a long row it can. */
static inline void prefetch_row(const float *row, int columns) {
  enum { LINE = 64 / sizeof(float), MOST = 32 * LINE };
  for (int c = 0; c < columns && c < MOST; c += LINE) __builtin_prefetch(row + c);
}

static void gather_some(const float *source, const uint32_t *index, float *target, int rows, int columns) {
  const int ahead = 3;
  for (int row = 0; row < rows; row++) {
    if (row + ahead < rows) prefetch_row(source + (size_t)index[row + ahead] * columns, columns);
    memcpy(target + (size_t)row * columns, source + (size_t)index[row] * columns, sizeof(float) * (size_t)columns);
  }
}

void cpu_gather_rows(Ops *ops, const float *source, const uint32_t *index, float *target, int rows, int columns) {
  const int some = 16;
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads)
  for (int row = 0; row < rows; row += some)
    gather_some(source, index + row, target + (size_t)row * columns, rows - row < some ? rows - row : some, columns);
}

void cpu_gather_inputs(Ops *ops, const float *source, const uint32_t *index, float *target, int rows, int columns) {
  CpuState *state = cpu_state(ops);
  CpuInputs *inputs = &state->inputs;
  CORE_CHECK(rows <= state->max_rows);

  inputs->x = target;
  inputs->rows = rows;
  inputs->columns = columns;
  inputs->has_zeros = cpu_zeros_are_many(state, source, index, rows, columns);

#pragma omp parallel for schedule(static) num_threads(state->threads) if (rows > CPU_ROWS)
  for (int block = 0; block < cpu_blocks(rows); block++) {
    const int first = block * CPU_ROWS, some = cpu_block_rows(rows, block);
    float *x = target + (size_t)first * columns;
    if (index) gather_some(source, index + first, x, some, columns);
    if (!inputs->has_zeros) continue;
    for (int transposed = 0; transposed < 2; transposed++)
      cpu_zeros_find(x, some, columns, transposed, &inputs->blocks[block][transposed]);
  }
}

void cpu_gather_fields(Ops *ops, const OpsField *field, int fields, const uint32_t *index, int rows) {
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads)
  for (int row = 0; row < rows; row++)
    for (const OpsField *f = field; f < field + fields; f++)
      memcpy((char *)f->target + (size_t)row * f->bytes, (const char *)f->source + (size_t)index[row] * f->bytes,
             f->bytes);
}

CPU_VECTOR static void part_add(float *restrict x, const float *restrict y, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] += y[i];
}

void cpu_add(Ops *ops, float *x, const float *y, size_t n) {
  Parts parts = parts_of(n);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (parts.count > 1)
  for (int part = 0; part < parts.count; part++)
    part_add(x + part_first(parts, part), y + part_first(parts, part), part_count(parts, part));
}

CPU_VECTOR static void part_normalize(float *x, size_t n, double shift, double factor) {
  for (size_t i = 0; i < n; i++) x[i] = (float)(((double)x[i] - shift) * factor);
}

void cpu_normalize(Ops *ops, float *x, size_t n, double shift, double factor) {
  Parts parts = parts_of(n);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (parts.count > 1)
  for (int part = 0; part < parts.count; part++)
    part_normalize(x + part_first(parts, part), part_count(parts, part), shift, factor);
}

void cpu_normalize_within(Ops *ops, float *x, size_t n, double shift, double factor, double bound) {
  (void)ops;
  for (size_t i = 0; i < n; i++) x[i] = row_normalize_within(x[i], shift, factor, bound);
}

void cpu_denormalize_within(Ops *ops, float *x, size_t n, double shift, double factor, double bound) {
  (void)ops;
  for (size_t i = 0; i < n; i++) x[i] = row_denormalize_within(x[i], shift, factor, bound);
}

CPU_VECTOR static void part_adam(float *restrict theta, const float *restrict gradient, float *restrict m,
                                 float *restrict v, size_t n, RowAdam f) {
  for (size_t i = 0; i < n; i++) {
    row_adam(&theta[i], gradient[i], &m[i], &v[i], f);
  }
}

static void adam(Ops *ops, float *theta, const float *gradient, float *m, float *v, size_t n, RowAdam factors) {
  Parts parts = parts_of(n);
  cpu_threads_poll(&cpu_state(ops)->look, CPU_THREADS_UPDATE, &cpu_state(ops)->threads);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (parts.count > 1)
  for (int part = 0; part < parts.count; part++) {
    size_t first = part_first(parts, part);
    part_adam(theta + first, gradient + first, m + first, v + first, part_count(parts, part), factors);
  }
}

void cpu_adam(Ops *ops, float *theta, const float *gradient, float *m, float *v, size_t n, double scale, double keep,
              double rate, double beta1, double beta2, double epsilon, int64_t t) {
  RowAdam factors = row_adam_factors(scale, rate, beta1, beta2, epsilon, t);
  factors.keep = (float)keep;
  adam(ops, theta, gradient, m, v, n, factors);
}

void cpu_radam(Ops *ops, float *theta, const float *gradient, float *m, float *v, size_t n, double scale, double rate,
               double beta1, double beta2, double epsilon, int64_t t) {
  const RowAdam factors = row_radam_factors(scale, rate, beta1, beta2, epsilon, t);
  adam(ops, theta, gradient, m, v, n, factors);
}

CPU_VECTOR static void part_ewma(float *restrict proximal, const float *restrict theta, size_t n, float share) {
  for (size_t i = 0; i < n; i++) proximal[i] += share * (theta[i] - proximal[i]);
}

void cpu_ewma(Ops *ops, float *proximal, const float *theta, size_t n, double keep) {
  if (keep == 0) { /* p + (theta - p) may not round to theta, but a center of mass of 0 means theta itself */
    memcpy(proximal, theta, sizeof(float) * n);
    return;
  }
  Parts parts = parts_of(n);
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (n > ALONE)
  for (int part = 0; part < parts.count; part++) {
    size_t first = part_first(parts, part);
    part_ewma(proximal + first, theta + first, part_count(parts, part), (float)(1 - keep));
  }
}

/* -------- generalized advantage estimation ------------------------------------------------------------------- */

/* One step of neighboring worlds. `next` is the advantage of the following step (NULL: zeros). Where an episode was
 * truncated, the value of its final observation (`bootstrap`) replaces the stored next value, and the trace is cut. */
typedef struct GaeStep {
  float gamma, lambda, reward_scale;
  const float *reward, *value, *next_value, *bootstrap, *next;
  const uint8_t *done, *truncated;
} GaeStep;

CPU_VECTOR static void gae_step(GaeStep s, int worlds, float *restrict advantage, float *restrict target) {
  for (int n = 0; n < worlds; n++) {
    const int cut = s.truncated ? s.truncated[n] : 0;
    const RowGae now = {s.reward_scale * s.reward[n], s.value[n], cut ? s.bootstrap[n] : s.next_value[n], s.done[n],
                        cut};
    advantage[n] = row_gae(now, s.gamma, s.lambda, s.next ? s.next[n] : 0.0f, s.next != NULL);
    target[n] = s.value[n] + advantage[n];
  }
}

void cpu_gae(Ops *ops, double gamma, double lambda, double reward_scale, const float *reward, const float *value,
             const uint8_t *done, const uint8_t *truncated, const float *bootstrap, int steps, int worlds,
             float *advantage, float *target) {
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads)
  for (int first = 0; first < worlds; first += CPU_ROWS) {
    int count = worlds - first < CPU_ROWS ? worlds - first : CPU_ROWS;
    for (int step = steps - 1; step >= 0; step--) {
      size_t at = (size_t)step * worlds + first, next = at + worlds;
      GaeStep s = {
          .gamma = (float)gamma, .lambda = (float)lambda, .reward_scale = (float)reward_scale, .reward = reward + at,
          .value = value + at, .next_value = value + next, .bootstrap = truncated ? bootstrap + at : NULL,
          .next = step == steps - 1 ? NULL : advantage + next, .done = done + at,
          .truncated = truncated ? truncated + at : NULL,
      };
      gae_step(s, count, advantage + at, target + at);
    }
  }
}

/* -------- checks --------------------------------------------------------------------------------------------- */

/* Whether any element is inf or NaN: all exponent bits set. */
CPU_VECTOR static int part_has_nonfinite(const float *x, size_t n) {
  int found = 0;
  for (size_t i = 0; i < n; i++) found |= (fast_to_bits(x[i]) & 0x7f800000) == 0x7f800000;
  return found;
}

size_t cpu_first_nonfinite(Ops *ops, const float *x, size_t n) {
  Parts parts = parts_of(n);
  int earliest = parts.count;
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (parts.count > 1) \
    reduction(min : earliest)
  for (int part = 0; part < parts.count; part++)
    if (part < earliest && part_has_nonfinite(x + part_first(parts, part), part_count(parts, part))) earliest = part;
  if (earliest == parts.count) return n;
  size_t i = part_first(parts, earliest);
  while (isfinite(x[i])) i++;
  return i;
}
