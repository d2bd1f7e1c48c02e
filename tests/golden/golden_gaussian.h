/* Golden cases of the continuous heads: the diagonal Gaussian and Stoix's tanh of one, with their gradients. */
#ifndef TESTS_GOLDEN_GAUSSIAN_H
#define TESTS_GOLDEN_GAUSSIAN_H
#include "tests/golden/golden_check.h"
#include "trainer/ops/row_gaussian_internal.h"

/* Two inputs [rows][factors] side by side: the head's parameters [rows][2 factors]. */
static float *gaussian_parameters(Check *check, const char *left, const char *right, size_t rows, size_t factors) {
  size_t n = rows * factors;
  float *a = check_input_float(check, left, &n), *b = check_input_float(check, right, &n);
  float *both = check_floats(check, 2 * n);
  for (size_t r = 0; r < rows; r++) {
    memcpy(both + 2 * r * factors, a + r * factors, factors * sizeof(float));
    memcpy(both + (2 * r + 1) * factors, b + r * factors, factors * sizeof(float));
  }
  return both;
}

/* A gradient at the parameters against the file's two tensors, NULL: not held there. */
static void gaussian_compare(Check *check, const float *both, size_t rows, size_t factors, const char *left,
                             const char *right) {
  float *half = check_floats(check, rows * factors);
  const char *names[2] = {left, right};
  for (size_t side = 0; side < 2; side++) {
    if (!names[side]) continue;
    for (size_t r = 0; r < rows; r++)
      memcpy(half + r * factors, both + (2 * r + side) * factors, factors * sizeof(float));
    check_singles(check, "", names[side], CHECK_SINGLE, half, rows * factors);
  }
}

static OpsHead gaussian_head(Check *check, OpsHeadKind kind, const char *tensor, size_t *rows) {
  const GoldEntry *shape = check_entry(check, tensor);
  if (shape->dimensions != 2 || shape->dimension[1] < 1 || shape->dimension[1] > OPS_FACTORS_MAX)
    check_give_up(check, "%s has no shape of actions", tensor);
  *rows = (size_t)shape->dimension[0];
  int factors = (int)shape->dimension[1];
  return (OpsHead){.kind = kind, .factors = factors, .logits = 2 * factors, .low = -1, .high = 1};
}

/* The gradient of the log-probability, as in distribution_gradients: ratio 1, A = -1, no entropy. */
static float *gaussian_logp_gradient(Check *check, const OpsHead *head, const float *z, const float *action,
                                     const float *logp, size_t rows) {
  size_t n = rows * (size_t)head->logits;
  float *advantage = check_floats(check, rows), *gradient = check_floats(check, n);
  OpsPolicySums sums;
  for (size_t r = 0; r < rows; r++) advantage[r] = -1;
  check->ops->policy_loss(check->ops, head, z, action, logp, NULL, advantage, (int)rows, INFINITY, 0, gradient, &sums);
  for (size_t i = 0; i < n; i++) gradient[i] *= (float)rows;
  return gradient;
}

static float *gaussian_entropy_gradient(Check *check, const OpsHead *head, const float *z, const float *action,
                                        const float *logp, size_t rows) {
  size_t n = rows * (size_t)head->logits;
  float *advantage = check_floats(check, rows), *gradient = check_floats(check, n);
  OpsPolicySums sums;
  check->ops->policy_loss(check->ops, head, z, action, logp, NULL, advantage, (int)rows, INFINITY, 1, gradient, &sums);
  for (size_t i = 0; i < n; i++) gradient[i] *= -(float)rows;
  return gradient;
}

/* Computes the rows one at a time. */
static void gaussian_rows(Check *check, const OpsHead *head, const float *p, const float *q, const float *action,
                          const float *logp_p, size_t rows) {
  double *kl = check_memory(check, rows * sizeof(double)), *reverse = check_memory(check, rows * sizeof(double));
  float *entropy_p = check_floats(check, rows), *entropy_q = check_floats(check, rows);
  double *sapg = check_memory(check, rows * sizeof(double));
  float *k1 = check_floats(check, rows), *k3 = check_floats(check, rows), zero = 0, unused[OPS_LOGITS_MAX];
  Ops *ops = check->ops;
  for (size_t r = 0; r < rows; r++) {
    size_t at = r * (size_t)head->logits;
    const float *a = action + r * (size_t)head->factors;
    OpsPolicySums of_p, of_q;
    ops->policy_kl(ops, head, p + at, q + at, 1, &kl[r], &reverse[r]);
    sapg[r] = row_controller_kl(head, q + at, p + at);
    ops->policy_loss(ops, head, p + at, a, logp_p + r, NULL, &zero, 1, INFINITY, 0, unused, &of_p);
    ops->policy_loss(ops, head, q + at, a, logp_p + r, NULL, &zero, 1, INFINITY, 0, unused, &of_q);
    entropy_p[r] = (float)of_p.entropy, entropy_q[r] = (float)of_q.entropy;
    k1[r] = (float)of_q.k1, k3[r] = (float)of_q.k3;
  }
  check_singles(check, "", "entropy_behaviour", CHECK_SINGLE, entropy_p, rows);
  check_singles(check, "", "entropy_new", CHECK_SINGLE, entropy_q, rows);
  check_doubles(check, "", "kl_behaviour_new", CHECK_DOUBLE, kl, rows);
  check_doubles(check, "", "kl_new_behaviour", CHECK_DOUBLE, reverse, rows);
  check_doubles(check, "", "kl_sapg", CHECK_DOUBLE, sapg, rows);
  check_singles(check, "", "k1", CHECK_SINGLE, k1, rows);
  check_singles(check, "", "k3", CHECK_SINGLE, k3, rows);
}

static void case_gaussian(Check *check) {
  size_t rows, n;
  const OpsHead head = gaussian_head(check, OPS_GAUSSIAN, "in/mu_behaviour", &rows);
  const size_t factors = (size_t)head.factors;
  float *p = gaussian_parameters(check, "in/mu_behaviour", "in/logstd_behaviour", rows, factors);
  float *q = gaussian_parameters(check, "in/mu_new", "in/logstd_new", rows, factors);
  n = rows * factors;
  float *action = check_input_float(check, "in/action", &n);
  float *logp_p = check_floats(check, rows), *logp_q = check_floats(check, rows);
  check->ops->policy_logp(check->ops, &head, p, action, logp_p, (int)rows);
  check->ops->policy_logp(check->ops, &head, q, action, logp_q, (int)rows);
  check_singles(check, "", "logp_behaviour", CHECK_SINGLE, logp_p, rows);
  check_singles(check, "", "logp_new", CHECK_SINGLE, logp_q, rows);
  gaussian_rows(check, &head, p, q, action, logp_p, rows);
  gaussian_compare(check, gaussian_logp_gradient(check, &head, q, action, logp_q, rows), rows, factors, "dlogp_dmu",
                   "dlogp_dlogstd");
  gaussian_compare(check, gaussian_entropy_gradient(check, &head, q, action, logp_q, rows), rows, factors, NULL,
                   "dentropy_dlogstd");
  check->left_out = "gradients of the KL, k2";
}

static void case_tanh_affine(Check *check) {
  size_t rows, n;
  OpsHead head = gaussian_head(check, OPS_TANH_AFFINE, "in/loc", &rows);
  const size_t factors = (size_t)head.factors;
  head.low = (float)check_real(check, "hp/min");
  head.high = (float)check_real(check, "hp/max");
  float *z = gaussian_parameters(check, "in/loc", "in/raw", rows, factors);
  n = rows * factors;
  float *action = check_input_float(check, "in/action", &n), *noise = check_input_float(check, "in/noise", &n);
  float *logp = check_floats(check, rows), *entropy = check_floats(check, rows), *gradient = check_floats(check, 2 * n);
  Ops *ops = check->ops;
  ops->policy_logp(ops, &head, z, action, logp, (int)rows);
  check_singles(check, "", "logp", CHECK_SINGLE, logp, rows);
  gaussian_compare(check, gaussian_logp_gradient(check, &head, z, action, logp, rows), rows, factors, "dlogp_dloc",
                   "dlogp_draw");
  for (size_t r = 0; r < rows; r++) { /* minus the gradient of a mean over one row */
    double of_row;
    ops->policy_sampled_entropy(ops, &head, z + 2 * r * factors, noise + r * factors, 1, -1, gradient + 2 * r * factors,
                                &of_row);
    entropy[r] = (float)of_row;
  }
  check_singles(check, "", "entropy", CHECK_SINGLE, entropy, rows);
  gaussian_compare(check, gradient, rows, factors, "dentropy_dloc", "dentropy_draw");
}

#endif
