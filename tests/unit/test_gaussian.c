/* trainer/ops, continuous heads: log-probabilities against densities that integrate to 1, gradients of the loss, of
 * sampled entropies and of SAPG's regularizers against finite differences of their definitions in double, exact KL
 * against published forms, samples against their moments, and the same bits for any number of threads. */
#include "test.h"

#include "core/memory.h"
#include "tests/unit/ops_tools.h"

enum { ROWS = 40, FACTORS = 3, LOGITS = 2 * FACTORS };

static const OpsHead gaussian = {.kind = OPS_GAUSSIAN, .factors = FACTORS, .logits = LOGITS, .low = -1, .high = 1};
static const OpsHead tanh_affine = {
  .kind = OPS_TANH_AFFINE, .factors = FACTORS, .logits = LOGITS, .low = -2, .high = 3};

/* -------- definitions in double --------------------------------------------------------------------------------- */

static double deviation(const OpsHead *head, double raw) {
  return head->kind == OPS_GAUSSIAN ? exp(raw) : log1p(exp(raw)) + 1e-3;
}

static double normal_logp(double x, double mean, double sd) {
  return -0.5 * pow((x - mean) / sd, 2) - log(sd) - 0.5 * log(2 * acos(-1.0));
}

/* One component's log-probability of an action, as docs/algorithms.md#policies has it. */
static double component_logp(const OpsHead *head, double location, double raw, double action) {
  const double sd = deviation(head, raw), half = ((double)head->high - (double)head->low) / 2,
               middle = ((double)head->high + (double)head->low) / 2, edge = 1e-3;
  if (head->kind == OPS_GAUSSIAN) return normal_logp(action, location, sd);
  const double low = atanh((double)(head->low - (float)middle) / half + edge / half), high = -low;
  if (action <= (double)head->low + edge) return log(0.5 * erfc(-(low - location) / sd / sqrt(2))) - log(edge);
  if (action >= (double)head->high - edge) return log(0.5 * erfc((high - location) / sd / sqrt(2))) - log(edge);
  const double x = atanh((action - middle) / half);
  return normal_logp(x, location, sd) - log(half * (1 - tanh(x) * tanh(x)));
}

static double row_logp(const OpsHead *head, const double *z, const float *action) {
  double sum = 0;
  for (int k = 0; k < FACTORS; k++) sum += component_logp(head, z[k], z[FACTORS + k], (double)action[k]);
  return sum;
}

/* Rows of every kind: ratios inside and outside the clip, both signs of advantages. */
typedef struct Sample {
  float *z, *actions, *behavior, *proximal, *advantage, *noise, logp[ROWS];
} Sample;

static Sample sample(Ops *ops, const OpsHead *head) {
  Sample s = {.z = normals(41, ROWS * LOGITS, 0.6), .actions = normals(42, ROWS * FACTORS, 1),
              .behavior = normals(43, ROWS, 0.3), .proximal = normals(44, ROWS, 0.3),
              .advantage = normals(45, ROWS, 1), .noise = normals(46, ROWS * FACTORS, 1)};
  ops->policy_sample(ops, head, s.z, ROWS, 5, CORE_RANDOM_ACTION, 0, 1, s.actions, s.logp);
  for (int r = 0; r < ROWS; r++) {
    s.behavior[r] += s.logp[r];
    s.proximal[r] += s.logp[r];
  }
  return s;
}

static void free_sample(Sample *s) {
  free(s->z), free(s->actions), free(s->behavior), free(s->proximal), free(s->advantage), free(s->noise);
}

/* -------- log-probabilities ------------------------------------------------------------------------------------- */

static void test_logp_against_the_definition(void **state) {
  Ops *ops = make_ops(2);
  const OpsHead *heads[] = {&gaussian, &tanh_affine};
  for (int h = 0; h < 2; h++) {
    Sample s = sample(ops, heads[h]);
    double *z = doubles(s.z, ROWS * LOGITS);
    for (int r = 0; r < ROWS; r++)
      assert_near((double)s.logp[r], row_logp(heads[h], z + r * LOGITS, s.actions + r * FACTORS), 2e-5);
    free(z), free_sample(&s);
  }
  ops_destroy(&ops);
}

/* The tanh's density integrates to 1 when each tail, of width 1e-3, counts with its mean density. */
static void test_tanh_density_is_one(void **state) {
  Ops *ops = make_ops(1);
  const OpsHead one = {.kind = OPS_TANH_AFFINE, .factors = 1, .logits = 2, .low = -2, .high = 3};
  const float policies[][2] = {{0, 0}, {2, 1}, {-1, -1}, {0.3f, 3}};
  for (size_t p = 0; p < 4; p++) {
    enum { STEPS = 20000 };
    double sum = 0, width = (5 - 2e-3) / STEPS;
    for (int i = -1; i <= STEPS; i++) {
      float logp, action = i < 0 ? -2 : i == STEPS ? 3 : (float)(-2 + 1e-3 + (i + 0.5) * width);
      ops->policy_logp(ops, &one, policies[p], &action, &logp, 1);
      sum += exp((double)logp) * (i < 0 || i == STEPS ? 1e-3 : width);
    }
    assert_near(sum, 1, 2e-3);
  }
  ops_destroy(&ops);
}

/* Deep in a tail neither the probability nor its gradient overflows. */
static void test_far_tails_are_finite(void **state) {
  Ops *ops = make_ops(1);
  const OpsHead one = {.kind = OPS_TANH_AFFINE, .factors = 1, .logits = 2, .low = -1, .high = 1};
  const float z[][2] = {{60, -8}, {-60, -8}, {500, -20}, {0, -20}, {0, 80}, {-1e4f, 0}}, actions[] = {-1, 1, 0.25f};
  for (size_t i = 0; i < 6; i++)
    for (size_t a = 0; a < 3; a++) {
      float logp, gradient[2], advantage = 1, behavior;
      OpsPolicySums sums;
      ops->policy_logp(ops, &one, z[i], &actions[a], &logp, 1);
      behavior = logp;
      ops->policy_loss(ops, &one, z[i], &actions[a], &behavior, NULL, &advantage, 1, 0.2, 0, gradient, &sums);
      assert_true(isfinite(logp) && isfinite(gradient[0]) && isfinite(gradient[1]));
    }
  ops_destroy(&ops);
}

/* -------- the loss ---------------------------------------------------------------------------------------------- */

static double loss_of(const OpsHead *head, const double *z, const Sample *s, bool proximal, double entropy_coef) {
  double sum = 0;
  for (int r = 0; r < ROWS; r++) {
    const double logp = row_logp(head, z + r * LOGITS, s->actions + r * FACTORS), a = (double)s->advantage[r];
    const double b = (double)s->behavior[r], p = (double)s->proximal[r];
    double clipped = proximal ? exp(oracle_clamp(logp - p, log(0.8), log(1.2)) + p - b)
                              : oracle_clamp(exp(logp - b), 0.8, 1.2);
    sum -= fmin(exp(logp - b) * a, clipped * a);
    for (int k = 0; k < FACTORS && head->kind == OPS_GAUSSIAN; k++)
      sum -= entropy_coef * (z[r * LOGITS + FACTORS + k] + 0.5 * log(2 * acos(-1.0)) + 0.5);
  }
  return sum / ROWS;
}

/* `gradient` against differences of f at z. */
#define COMPARE(gradient, z, f)                                                                                  \
  for (int i = 0; i < ROWS * LOGITS; i++) {                                                                      \
    double at_ = (z)[i], h_ = 1e-5;                                                                              \
    (z)[i] = at_ + h_;                                                                                           \
    double above_ = (f);                                                                                         \
    (z)[i] = at_ - h_;                                                                                           \
    double want_ = (above_ - (f)) / (2 * h_);                                                                    \
    (z)[i] = at_;                                                                                                \
    if (!(fabs((double)(gradient)[i] - want_) <= 2e-6 + 1e-4 * fabs(want_)))                                     \
      fail_msg("element %d: got %.9g, want %.9g", i, (double)(gradient)[i], want_);                              \
  }

static void test_loss_gradient_by_differences(void **state) {
  Ops *ops = make_ops(2);
  const OpsHead *heads[] = {&gaussian, &tanh_affine};
  for (int h = 0; h < 2; h++)
    for (int proximal = 0; proximal < 2; proximal++) {
      Sample s = sample(ops, heads[h]);
      double *z = doubles(s.z, ROWS * LOGITS);
      float gradient[ROWS * LOGITS];
      OpsPolicySums sums;
      ops->policy_loss(ops, heads[h], s.z, s.actions, s.behavior, proximal ? s.proximal : NULL, s.advantage, ROWS, 0.2,
                       0.02, gradient, &sums);
      assert_near(sums.loss / ROWS, loss_of(heads[h], z, &s, proximal, 0), 1e-5);
      assert_true(sums.clipped > 0 && sums.clipped < ROWS);
      COMPARE(gradient, z, loss_of(heads[h], z, &s, proximal, 0.02));
      free(z), free_sample(&s);
    }
  ops_destroy(&ops);
}

static double sampled_entropy_of(const double *z, const float *noise) {
  double sum = 0;
  for (int r = 0; r < ROWS; r++)
    for (int k = 0; k < FACTORS; k++) {
      const double sd = deviation(&tanh_affine, z[r * LOGITS + FACTORS + k]);
      const double x = z[r * LOGITS + k] + sd * (double)noise[r * FACTORS + k];
      sum += 0.5 * log(2 * acos(-1.0)) + 0.5 + log(sd) + log(2.5 * (1 - tanh(x) * tanh(x)));
    }
  return sum;
}

static void test_sampled_entropy_by_differences(void **state) {
  Ops *ops = make_ops(2);
  Sample s = sample(ops, &tanh_affine);
  double *z = doubles(s.z, ROWS * LOGITS);
  float gradient[ROWS * LOGITS] = {0};
  double sum;
  ops->policy_sampled_entropy(ops, &tanh_affine, s.z, s.noise, ROWS, 0.5, gradient, &sum);
  assert_near(sum, sampled_entropy_of(z, s.noise), 1e-3);
  COMPARE(gradient, z, -0.5 * sampled_entropy_of(z, s.noise) / ROWS);
  free(z), free_sample(&s);
  ops_destroy(&ops);
}

static double regular_of(const double *z, const int32_t *set, const float *coef) {
  double sum = 0;
  for (int r = 0; r < ROWS; r++)
    for (int k = 0; k < FACTORS; k++) {
      const double mean = z[r * LOGITS + k], beyond = fmax(fabs(mean) - 0.4, 0);
      sum += 0.3 * beyond * beyond;
      sum -= (double)coef[set[r]] * (z[r * LOGITS + FACTORS + k] + 0.5 * log(2 * acos(-1.0)) + 0.5);
    }
  return sum / ROWS;
}

static void test_regularizers_by_differences(void **state) {
  Ops *ops = make_ops(1);
  const float coef[3] = {0.5f, 0.25f, 0};
  Sample s = sample(ops, &gaussian);
  double *z = doubles(s.z, ROWS * LOGITS);
  float gradient[ROWS * LOGITS] = {0};
  int32_t set[ROWS];
  OpsGaussianSums sums;
  for (int r = 0; r < ROWS; r++) set[r] = r % 3;
  ops->gaussian_regularize(ops, &gaussian, s.z, set, coef, 0.4, 0.3, ROWS, gradient, &sums);
  assert_near((0.3 * sums.bounds - sums.entropy) / ROWS, regular_of(z, set, coef), 1e-5);
  COMPARE(gradient, z, regular_of(z, set, coef));
  free(z), free_sample(&s);
  ops_destroy(&ops);
}

/* -------- KL, samples, sets ------------------------------------------------------------------------------------- */

static void test_kl(void **state) {
  Ops *ops = make_ops(1);
  const OpsHead one = {.kind = OPS_GAUSSIAN, .factors = 1, .logits = 2};
  const float p[2] = {0.5f, 0}, q[2] = {-0.5f, logf(2)}, near[2] = {0.5f, 1.0f / 8192};
  double kl, reverse;
  ops->policy_kl(ops, &one, p, q, 1, &kl, &reverse);
  assert_near(kl, log(2) + 2.0 / 8 - 0.5, 1e-7);      /* log(s_q/s_p) + (s_p^2 + d^2) / (2 s_q^2) - 1/2 */
  assert_near(reverse, -log(2) + 5.0 / 2 - 0.5, 1e-6);
  ops->policy_kl(ops, &one, p, near, 1, &kl, &reverse); /* about d^2 */
  assert_near(kl * 8192 * 8192, 1, 1e-3);
  assert_near(reverse / kl, 1, 1e-3);
  ops_destroy(&ops);
}

static void test_samples_have_the_policys_moments(void **state) {
  enum { MANY = 4000 };
  Ops *ops = make_ops(2);
  const OpsHead *heads[] = {&gaussian, &tanh_affine};
  float *z = core_memory_allocate(sizeof(float) * MANY * LOGITS), *actions = normals(1, MANY * FACTORS, 1);
  float *logp = normals(1, MANY, 1);
  for (int r = 0; r < MANY * LOGITS; r++) z[r] = (float)(r % LOGITS) * 0.2f - 0.3f;
  for (int h = 0; h < 2; h++) {
    ops->policy_sample(ops, heads[h], z, MANY, 5, CORE_RANDOM_ACTION, 0, 7, actions, logp);
    for (int k = 0; k < FACTORS; k++) {
      Moments moments = {0};
      for (int r = 0; r < MANY; r++) {
        const double a = (double)actions[r * FACTORS + k];
        assert_true(h == 0 || (a >= -2 && a <= 3));
        moments_add(&moments, h == 0 ? a : atanh((a - 0.5) / 2.5));
      }
      const double sd = deviation(heads[h], (double)z[FACTORS + k]);
      assert_near(moments.mean, (double)z[k], 4 * sd / sqrt(MANY));
      assert_near(sqrt(moments_variance(&moments)), sd, 4 * sd / sqrt(2 * MANY));
    }
  }
  free(z), free(actions), free(logp);
  ops_destroy(&ops);
}

/* Join and split, embed and its transpose: adjoint to each other, <A x, y> = <x, A' y>. */
static void test_sets_are_adjoint(void **state) {
  enum { SETS = 4, WIDTH = 5, FEATURES = 2 };
  Ops *ops = make_ops(2);
  float *mean = normals(1, ROWS * FACTORS, 1), *sigma = normals(2, SETS * FACTORS, 1);
  float *y = normals(3, ROWS * LOGITS, 1);
  float logits[ROWS * LOGITS], dmean[ROWS * FACTORS], dsigma[SETS * FACTORS], joined[ROWS * (FEATURES + WIDTH)];
  float *embedding = normals(4, SETS * WIDTH, 1), dembedding[SETS * WIDTH], x[ROWS * (FEATURES + 1)];
  int32_t set[ROWS], read[ROWS];
  double left = 0, right = 0;

  for (int r = 0; r < ROWS; r++) {
    set[r] = r * 7 % SETS;
    x[r * 3] = (float)r, x[r * 3 + 1] = 2, x[r * 3 + 2] = (float)set[r];
  }

  ops->gaussian_join(ops, mean, sigma, set, ROWS, FACTORS, logits);
  ops->gaussian_split(ops, y, set, ROWS, FACTORS, SETS, dmean, dsigma);
  for (int i = 0; i < ROWS * LOGITS; i++) left += (double)logits[i] * (double)y[i];
  for (int i = 0; i < ROWS * FACTORS; i++) right += (double)mean[i] * (double)dmean[i];
  for (int i = 0; i < SETS * FACTORS; i++) right += (double)sigma[i] * (double)dsigma[i];
  assert_near(left, right, 1e-4);

  ops->embed_forward(ops, x, embedding, ROWS, FEATURES, WIDTH, joined, read);
  assert_memory_equal(read, set, sizeof set);
  assert_true(joined[7 * 3] == 3 && joined[7 * 3 + 1] == 2 && joined[7 * 3 + 2] == embedding[set[3] * WIDTH]);

  ops->embed_backward(ops, joined, set, ROWS, FEATURES, WIDTH, SETS, dembedding);
  for (int s = 0; s < SETS; s++)
    for (int k = 0; k < WIDTH; k++) /* ten rows a set */
      assert_near((double)dembedding[s * WIDTH + k], 10 * (double)embedding[s * WIDTH + k], 1e-5);

  free(mean), free(sigma), free(y), free(embedding);
  ops_destroy(&ops);
}

static void test_threads_do_not_matter(void **state) {
  enum { MANY = 1000 };
  float *z = normals(8, MANY * LOGITS, 0.5), *advantage = normals(9, MANY, 1), *noise = normals(10, MANY * FACTORS, 1);
  float *out[2][3];
  OpsPolicySums sums[2];
  double entropy[2];
  for (int i = 0; i < 2; i++) {
    Ops *ops = make_ops(i == 0 ? 1 : 3);
    for (int k = 0; k < 3; k++) out[i][k] = normals(1, MANY * LOGITS, 1);
    ops->policy_sample(ops, &tanh_affine, z, MANY, 5, CORE_RANDOM_ACTION, 0, 1, out[i][0], out[i][1]);
    ops->policy_loss(ops, &tanh_affine, z, out[i][0], out[i][1], NULL, advantage, MANY, 0.2, 0, out[i][2], &sums[i]);
    ops->policy_sampled_entropy(ops, &tanh_affine, z, noise, MANY, 0.1, out[i][2], &entropy[i]);
    ops_destroy(&ops);
  }
  for (int k = 0; k < 3; k++) assert_memory_equal(out[0][k], out[1][k], sizeof(float) * MANY);
  assert_memory_equal(out[0][2], out[1][2], sizeof(float) * MANY * LOGITS);
  assert_true(sums[0].loss == sums[1].loss && entropy[0] == entropy[1]);
  for (int i = 0; i < 6; i++) free(out[i / 3][i % 3]);
  free(z), free(advantage), free(noise);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_logp_against_the_definition), cmocka_unit_test(test_tanh_density_is_one),
    cmocka_unit_test(test_far_tails_are_finite), cmocka_unit_test(test_loss_gradient_by_differences),
    cmocka_unit_test(test_sampled_entropy_by_differences), cmocka_unit_test(test_regularizers_by_differences),
    cmocka_unit_test(test_kl), cmocka_unit_test(test_samples_have_the_policys_moments),
    cmocka_unit_test(test_sets_are_adjoint), cmocka_unit_test(test_threads_do_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
