/* Heads and losses on the CPU: sampling, log-probs, exact KL, the PPO and PPO-EWMA actor loss and the value loss
 * (docs/algorithms.md#losses); continuous heads, row by row, are in cpu_gaussian.c. Rows are processed in groups of
 * 16 with the rows innermost, so that heads of any sizes fill vector registers. KL is computed in float64: between
 * similar policies float32 would cancel. */
#include "core/random.h"
#include "trainer/ops/cpu/cpu_internal.h"
#include "trainer/ops/row_gaussian_internal.h"
#include "trainer/ops/row_policy_internal.h"

enum { GROUP = 16, VALUES_ALONE = 2048 }; /* rows of values that one thread processes before others have started */
_Static_assert(CPU_ROWS % GROUP == 0, "a block holds whole groups");

/* Group of rows of one head, logits outermost. Rows past the end hold zeros and are never stored. */
typedef struct Group {
  int first, rows;
  float logp[OPS_LOGITS_MAX][GROUP];   /* log-softmax of each factor */
  float p[OPS_LOGITS_MAX][GROUP];
} Group;

static void check_head(const OpsHead *head) {
  CORE_CHECK(head->factors <= OPS_FACTORS_MAX && head->logits <= OPS_LOGITS_MAX);
}

static void group_load(Group *group, const OpsHead *head, const float *logits, int first, int rows) {
  group->first = first;
  group->rows = rows - first < GROUP ? rows - first : GROUP;
  const float *row = logits + (size_t)first * head->logits;
  if (group->rows < GROUP) memset(group->logp, 0, (size_t)head->logits * sizeof group->logp[0]);
  cpu_transpose(row, (size_t)head->logits, group->rows, head->logits, group->logp[0], GROUP);
}

/* Computes probabilities and log-probs of `size` neighboring logits: z - max - log(sum e^(z - max)). */
static inline void factor_softmax(float (*logp)[GROUP], float (*p)[GROUP], int size) {
  float max[GROUP], total[GROUP], log_total[GROUP];
  for (int r = 0; r < GROUP; r++) {
    max[r] = logp[0][r];
    total[r] = 0;
  }

  for (int k = 1; k < size; k++)
    for (int r = 0; r < GROUP; r++) max[r] = logp[k][r] > max[r] ? logp[k][r] : max[r];
  for (int k = 0; k < size; k++)
    for (int r = 0; r < GROUP; r++) {
      logp[k][r] -= max[r];
      p[k][r] = fast_exp(logp[k][r]);
      total[r] += p[k][r];
    }

  for (int r = 0; r < GROUP; r++) log_total[r] = fast_log(total[r]);
  for (int k = 0; k < size; k++)
    for (int r = 0; r < GROUP; r++) {
      logp[k][r] -= log_total[r];
      p[k][r] /= total[r];
    }
}

CPU_VECTOR static void group_softmax(Group *group, const OpsHead *head) {
  for (int f = 0, k = 0; f < head->factors; f++) {
    factor_softmax(group->logp + k, group->p + k, head->size[f]);
    k += head->size[f];
  }
}

/* Computes the log-prob of each row's whole action. actions: of the group's first row. */
static void group_logp(const Group *group, const OpsHead *head, const uint8_t *actions, float *logp) {
  for (int r = 0; r < group->rows; r++) {
    float sum = 0;
    for (int f = 0, k = 0; f < head->factors; f++) {
      sum += group->logp[k + actions[(size_t)r * head->factors + f]][r];
      k += head->size[f];
    }
    logp[r] = sum;
  }
}

/* -------- acting --------------------------------------------------------------------------------------------- */

/* Returns the first k whose cumulative probability exceeds u; if rounding leaves u beyond the last, the last possible
 * k. */
static uint8_t inverse_cdf(float (*p)[GROUP], int row, int size, float u) {
  float cumulative = 0;
  int last = 0;
  for (int k = 0; k < size; k++) {
    cumulative += p[k][row];
    if (u < cumulative) return (uint8_t)k;
    if (p[k][row] > 0) last = k;
  }
  return (uint8_t)last;
}

/* Key of a row's random numbers. */
typedef struct Draw { uint64_t seed; uint32_t purpose, first_world, step; } Draw;

static void sample_row(Group *group, const OpsHead *head, int r, Draw draw, uint8_t *action) {
  CoreRandom4 words = {{0}};
  for (int f = 0, k = 0; f < head->factors; f++) {
    if (f % 4 == 0)
      words = core_random_4(draw.seed, draw.purpose, draw.first_world + (uint32_t)(group->first + r), draw.step,
                            (uint32_t)f / 4);
    action[f] = inverse_cdf(group->p + k, r, head->size[f], core_random_unit(words.v[f % 4]));
    k += head->size[f];
  }
}

/* Samples a group's actions, [group.rows][factors], and their log-probs. */
static void sample_group(const OpsHead *head, const float *logits, int first, int rows, Draw draw, uint8_t *action,
                         float *logp) {
  Group group;
  group_load(&group, head, logits, first, rows);
  group_softmax(&group, head);
  for (int r = 0; r < group.rows; r++) sample_row(&group, head, r, draw, action + (size_t)r * head->factors);
  group_logp(&group, head, action, logp + first);
}

static void logp_group(const OpsHead *head, const float *logits, int first, int rows, const uint8_t *action,
                       float *logp) {
  Group group;
  group_load(&group, head, logits, first, rows);
  group_softmax(&group, head);
  group_logp(&group, head, action, logp + first);
}

void cpu_policy_sample(Ops *ops, const OpsHead *head, const float *logits, int rows, uint64_t seed, uint32_t purpose,
                       uint32_t first_world, uint32_t step, void *actions, float *logp) {
  check_head(head);
  cpu_threads_poll(&cpu_state(ops)->look, CPU_THREADS_ACT, &cpu_state(ops)->threads);
  const Draw draw = {seed, purpose, first_world, step};
  const size_t factors = (size_t)head->factors, width = (size_t)head->logits;

#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (rows > CPU_ROWS)
  for (int first = 0; first < rows; first += GROUP) {
    if (!ops_head_is_continuous(head)) {
      sample_group(head, logits, first, rows, draw, (uint8_t *)actions + (size_t)first * factors, logp);
      continue;
    }

    for (int r = first; r < rows && r < first + GROUP; r++) {
      float *action = (float *)actions + (size_t)r * factors;
      cpu_gaussian_sample(head, logits + (size_t)r * width, seed, purpose, first_world + (uint32_t)r, step, action);
      logp[r] = cpu_gaussian_logp(head, logits + (size_t)r * width, action);
    }
  }
}

void cpu_policy_logp(Ops *ops, const OpsHead *head, const float *logits, const void *actions, float *logp, int rows) {
  check_head(head);
  const size_t factors = (size_t)head->factors, width = (size_t)head->logits;
#pragma omp parallel for schedule(static) num_threads(cpu_state(ops)->threads) if (rows > CPU_ROWS)
  for (int first = 0; first < rows; first += GROUP) {
    if (!ops_head_is_continuous(head)) {
      logp_group(head, logits, first, rows, (const uint8_t *)actions + (size_t)first * factors, logp);
      continue;
    }
    for (int r = first; r < rows && r < first + GROUP; r++)
      logp[r] = cpu_gaussian_logp(head, logits + (size_t)r * width, (const float *)actions + (size_t)r * factors);
  }
}

/* -------- exact KL ------------------------------------------------------------------------------------------- */

void cpu_policy_kl(Ops *ops, const OpsHead *head, const float *p, const float *q, int rows, double *kl,
                   double *kl_reverse) {
  CpuState *state = cpu_state(ops);
  check_head(head);
  CORE_CHECK(rows <= state->max_rows);

#pragma omp parallel for schedule(static) num_threads(state->threads) if (rows > CPU_ROWS)
  for (int block = 0; block < cpu_blocks(rows); block++) {
    double forward = 0, reverse = 0;
    for (int r = 0; r < cpu_block_rows(rows, block); r++) {
      size_t at = ((size_t)block * CPU_ROWS + r) * head->logits;
      if (ops_head_is_continuous(head)) {
        cpu_gaussian_kl(head, p + at, q + at, &forward, &reverse);
        continue;
      }
      for (int f = 0; f < head->factors; f++) {
        row_factor_kl(p + at, q + at, head->size[f], &forward, &reverse);
        at += head->size[f];
      }
    }
    state->sum_parts[block * CPU_SUMS] = forward;
    state->sum_parts[block * CPU_SUMS + 1] = reverse;
  }

  *kl = *kl_reverse = 0;
  for (int block = 0; block < cpu_blocks(rows); block++) {
    *kl += state->sum_parts[block * CPU_SUMS];
    *kl_reverse += state->sum_parts[block * CPU_SUMS + 1];
  }
}

/* -------- actor loss ----------------------------------------------------------------------------------------- */

/* Per-row part of the loss for a group. */
typedef struct Surrogate {
  float logp[GROUP], behavior[GROUP], proximal[GROUP], advantage[GROUP]; /* in */
  float loss[GROUP], slope[GROUP], k3[GROUP], outside[GROUP];             /* out; slope = d loss / d logp */
} Surrogate;

CPU_VECTOR static void surrogate(Surrogate *s, RowClip clip) {
  for (int r = 0; r < GROUP; r++) {
    const RowSurrogate row = row_surrogate(s->logp[r], s->behavior[r], s->proximal[r], s->advantage[r], clip);
    s->loss[r] = row.loss;
    s->slope[r] = row.slope;
    s->k3[r] = row.k3;
    s->outside[r] = row.outside;
  }
}

/* Turns group->p into the gradient at the logits: slope (1[k = action] - p) + weight p (log p + H), and adds each row's
 * entropy. The caller adds the one-hot term. slope and weight are divided by the batch size. */
CPU_VECTOR static void group_gradient(Group *group, const OpsHead *head, const float *slope, float weight,
                                      float *entropy) {
  for (int r = 0; r < GROUP; r++) entropy[r] = 0;
  for (int f = 0, first = 0; f < head->factors; f++) {
    float h[GROUP] = {0};
    for (int k = first; k < first + head->size[f]; k++)
      for (int r = 0; r < GROUP; r++) h[r] -= group->p[k][r] > 0 ? group->p[k][r] * group->logp[k][r] : 0.0f;
    for (int k = first; k < first + head->size[f]; k++)
      for (int r = 0; r < GROUP; r++) {
        float p = group->p[k][r], of_entropy = p > 0 ? p * (group->logp[k][r] + h[r]) : p;
        group->p[k][r] = weight * of_entropy - slope[r] * p;
      }
    for (int r = 0; r < GROUP; r++) entropy[r] += h[r];
    first += head->size[f];
  }
}

static void group_store_gradient(const Group *group, const OpsHead *head, const uint8_t *actions, const float *slope,
                                 float *dlogits) {
  cpu_transpose(group->p[0], GROUP, head->logits, group->rows, dlogits, (size_t)head->logits);
  for (int r = 0; r < group->rows; r++) {
    float *row = dlogits + (size_t)r * head->logits;
    for (int f = 0, k = 0; f < head->factors; f++) {
      row[k + actions[(size_t)r * head->factors + f]] += slope[r];
      k += head->size[f];
    }
  }
}

typedef struct Loss {
  const OpsHead *head;
  const float *logits, *behavior, *proximal, *advantage;
  const void *actions;
  float *dlogits;
  int rows;
  RowClip clip;
  float weight;       /* entropy coefficient / rows */
} Loss;

/* Computes the surrogate of a group whose log-probs are in s->logp; slope is divided by the batch size. */
static void surrogate_group(const Loss *loss, int first, int rows, Surrogate *s, float *slope) {
  size_t bytes = sizeof(float) * (size_t)rows;
  memcpy(s->behavior, loss->behavior + first, bytes);
  memcpy(s->advantage, loss->advantage + first, bytes);
  if (loss->proximal) memcpy(s->proximal, loss->proximal + first, bytes);
  surrogate(s, loss->clip);
  for (int r = 0; r < GROUP; r++) slope[r] = s->slope[r] / (float)loss->rows;
}

static void categorical_group(const Loss *loss, int first, Surrogate *s, float *entropy) {
  Group group;
  float slope[GROUP];
  const uint8_t *actions = (const uint8_t *)loss->actions + (size_t)first * loss->head->factors;
  group_load(&group, loss->head, loss->logits, first, loss->rows);
  group_softmax(&group, loss->head);
  group_logp(&group, loss->head, actions, s->logp);
  surrogate_group(loss, first, group.rows, s, slope);
  group_gradient(&group, loss->head, slope, loss->weight, entropy);
  group_store_gradient(&group, loss->head, actions, slope, loss->dlogits + (size_t)first * loss->head->logits);
}

static void gaussian_group(const Loss *loss, int first, int rows, Surrogate *s, float *entropy) {
  float slope[GROUP];
  const size_t width = (size_t)loss->head->logits, factors = (size_t)loss->head->factors, at = (size_t)first;
  const float *logits = loss->logits + at * width, *actions = (const float *)loss->actions + at * factors;
  for (int r = 0; r < rows; r++)
    s->logp[r] = cpu_gaussian_logp(loss->head, logits + (size_t)r * width, actions + (size_t)r * factors);
  surrogate_group(loss, first, rows, s, slope);
  for (int r = 0; r < rows; r++)
    entropy[r] = cpu_gaussian_gradient(loss->head, logits + (size_t)r * width, actions + (size_t)r * factors,
                                       (double)slope[r], (double)loss->weight,
                                       loss->dlogits + (at + (size_t)r) * width);
}

static void loss_group(const Loss *loss, int first, OpsPolicySums *sums) {
  Surrogate s = {0};
  float entropy[GROUP];
  const int rows = loss->rows - first < GROUP ? loss->rows - first : GROUP;
  if (ops_head_is_continuous(loss->head)) gaussian_group(loss, first, rows, &s, entropy);
  else categorical_group(loss, first, &s, entropy);
  for (int r = 0; r < rows; r++) {
    sums->loss += (double)s.loss[r];
    sums->entropy += (double)entropy[r];
    sums->k1 -= (double)s.logp[r] - (double)s.behavior[r];
    sums->k3 += (double)s.k3[r];
    sums->clipped += (double)s.outside[r];
  }
}

void cpu_policy_loss(Ops *ops, const OpsHead *head, const float *logits, const void *actions,
                     const float *logp_behavior, const float *logp_proximal, const float *advantage, int rows,
                     double epsilon, double entropy_coef, float *dlogits, OpsPolicySums *sums) {
  CpuState *state = cpu_state(ops);
  check_head(head);
  CORE_CHECK(rows <= state->max_rows);
  _Static_assert(sizeof(OpsPolicySums) <= CPU_SUMS * sizeof(double), "a block's sums fit its slot");
  Loss loss = {.head = head, .logits = logits, .behavior = logp_behavior, .proximal = logp_proximal,
               .advantage = advantage, .actions = actions, .dlogits = dlogits, .rows = rows,
               .clip = row_clip(epsilon, logp_proximal != NULL), .weight = (float)(entropy_coef / rows)};

#pragma omp parallel for schedule(static) num_threads(state->threads) if (rows > CPU_ROWS)
  for (int block = 0; block < cpu_blocks(rows); block++) {
    OpsPolicySums part = {0};
    int first = block * CPU_ROWS, end = first + cpu_block_rows(rows, block);
    for (; first < end; first += GROUP) loss_group(&loss, first, &part);
    memcpy(state->sum_parts + block * CPU_SUMS, &part, sizeof part);
  }

  *sums = (OpsPolicySums){0};
  for (int block = 0; block < cpu_blocks(rows); block++) {
    OpsPolicySums part;
    memcpy(&part, state->sum_parts + block * CPU_SUMS, sizeof part);
    sums->loss += part.loss;
    sums->entropy += part.entropy;
    sums->k1 += part.k1;
    sums->k3 += part.k3;
    sums->clipped += part.clipped;
  }
}

/* -------- value loss ----------------------------------------------------------------------------------------- */

/* Writes the squared errors to `error`. */
CPU_VECTOR static void value_rows(const float *value, const float *old_value, const float *target, int rows,
                                  float epsilon, float scale, float *dvalue, float *error) {
  for (int r = 0; r < rows; r++)
    row_value(value[r], old_value[r], target[r], epsilon, scale, &dvalue[r], &error[r]);
}

void cpu_value_loss(Ops *ops, const float *value, const float *old_value, const float *target, int rows, int clip,
                    double epsilon, double value_coef, float *dvalue, OpsValueSums *sums) {
  CpuState *state = cpu_state(ops);
  float bound = clip ? (float)epsilon : INFINITY, scale = (float)(value_coef / rows);
  CORE_CHECK(rows <= state->max_rows);
#pragma omp parallel for schedule(static) num_threads(state->threads) if (rows > VALUES_ALONE)
  for (int block = 0; block < cpu_blocks(rows); block++) {
    float error[CPU_ROWS];
    double sum = 0;
    int first = block * CPU_ROWS, count = cpu_block_rows(rows, block);
    value_rows(value + first, old_value + first, target + first, count, bound, scale, dvalue + first, error);
    for (int r = 0; r < count; r++) sum += 0.5 * (double)error[r];
    state->sum_parts[block * CPU_SUMS] = sum;
  }
  sums->loss = 0;
  for (int block = 0; block < cpu_blocks(rows); block++) sums->loss += state->sum_parts[block * CPU_SUMS];
}

/* -------- the cap on the ratio, and the pull toward a policy -------------------------------------------------- */

void cpu_cap(Ops *ops, const float *behavior, const float *logp, double log_cap, size_t n, float *capped) {
  const float cap = (float)log_cap;
  (void)ops;
  for (size_t i = 0; i < n; i++) capped[i] = fmaxf(behavior[i], logp[i] - cap);
}

void cpu_kl_penalty(Ops *ops, const float *logp, const float *ref_logp, double weight, int rows,
                    float *kl_penalty_weights, double *sum) {
  (void)ops;
  *sum = 0;
  for (int i = 0; i < rows; i++) {
    const double apart = (double)logp[i] - (double)ref_logp[i];
    kl_penalty_weights[i] = (float)(-weight * apart);
    *sum += 0.5 * apart * apart;
  }
}

void cpu_exact_kl_penalty(Ops *ops, const OpsHead *head, const float *logits, const float *ref_logits, int rows,
                          double weight, float *dlogits, double *sum) {
  CpuState *state = cpu_state(ops);
  const size_t width = (size_t)head->logits;
#pragma omp parallel for schedule(static) num_threads(state->threads) if (rows > CPU_ROWS)
  for (int block = 0; block < cpu_blocks(rows); block++) {
    double part = 0;
    const size_t first = (size_t)block * CPU_ROWS, end = first + (size_t)cpu_block_rows(rows, block);
    for (size_t r = first; r < end; r++)
      part += row_kl_gradient(head, logits + r * width, ref_logits + r * width, weight / rows, dlogits + r * width);
    state->sum_parts[block * CPU_SUMS] = part;
  }
  *sum = 0;
  for (int block = 0; block < cpu_blocks(rows); block++) *sum += state->sum_parts[block * CPU_SUMS];
}
