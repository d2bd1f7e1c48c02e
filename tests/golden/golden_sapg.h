/* Golden case "sapg": both clip variants of the loss with entropies by block, bounds and clipped values, their
 * gradients at means, log standard deviations and values; the learning rate that follows the KL. */
#ifndef TESTS_GOLDEN_SAPG_H
#define TESTS_GOLDEN_SAPG_H
#include "tests/golden/golden_check.h"
#include "tests/trainer_steps.h"
#include "trainer/learners/sapg.h"
#include "trainer/update/advantage.h"

typedef struct SapgCase {
  OpsHead head;
  size_t rows, factors;
  int blocks;
  float *logits, *action, *logp_old, *logp_leader_old, *value, *value_old, *returns, *advantage, *entropy_coef;
  int32_t *block;
} SapgCase;

static SapgCase sapg_from_file(Check *check) {
  const GoldEntry *shape = check_entry(check, "in/mu");
  SapgCase c = {.rows = (size_t)shape->dimension[0], .factors = (size_t)shape->dimension[1],
                .blocks = check_int(check, "hp/blocks", 2, 64)};
  if (shape->dimensions != 2 || c.factors > OPS_FACTORS_MAX) check_give_up(check, "in/mu has no shape of actions");
  c.head = (OpsHead){.kind = OPS_GAUSSIAN, .factors = (int)c.factors, .logits = 2 * (int)c.factors};
  size_t n = c.rows * c.factors, sigmas = (size_t)c.blocks * c.factors, rows = c.rows;
  const float *mu = check_input_float(check, "in/mu", &n);
  const float *log_sigma = check_input_float(check, "in/log_std_blocks", &sigmas);
  const uint8_t *block = check_input_bytes(check, "in/block", &rows, c.blocks);
  c.action = check_input_float(check, "in/action", &n);
  c.logp_old = check_input_float(check, "in/logp_old", &rows);
  c.logp_leader_old = check_input_float(check, "in/logp_leader_old", &rows);
  c.value = check_input_float(check, "in/value", &rows);
  c.value_old = check_input_float(check, "in/value_old", &rows);
  c.returns = check_input_float(check, "in/return", &rows);
  c.block = check_memory(check, rows * sizeof *c.block);
  c.logits = check_floats(check, 2 * n);
  c.advantage = check_floats(check, rows);
  c.entropy_coef = check_floats(check, (size_t)c.blocks);
  for (size_t r = 0; r < rows; r++) c.block[r] = block[r];
  for (int b = 0; b < c.blocks; b++)
    c.entropy_coef[b] = (float)sapg_entropy_coef(b, c.blocks, check_real(check, "hp/entropy_scale"));
  check->ops->gaussian_join(check->ops, mu, log_sigma, c.block, (int)rows, (int)c.factors, c.logits);
  return c;
}

/* The mean magnitude of the terms that a mean adds up. */
static double sapg_terms(const float *ratio, const float *advantage, size_t rows) {
  double sum = 0;
  for (size_t r = 0; r < rows; r++) sum += fabs((double)ratio[r] * (double)advantage[r]) / (double)rows;
  return sum;
}

static void sapg_variant(Check *check, const char *variant, int paper) {
  Ops *ops = check->ops;
  SapgCase c = sapg_from_file(check);
  size_t rows = c.rows, n = rows * c.factors;
  const double count = (double)rows, epsilon = check_real(check, "hp/eps");
  const double critic_coef = check_real(check, "hp/critic_coef"), bounds_coef = check_real(check, "hp/bounds_coef");
  float *dlogits = check_floats(check, 2 * n), *dmu = check_floats(check, n), *dvalue = check_floats(check, rows);
  float *dlog_sigma = check_floats(check, (size_t)c.blocks * c.factors), *logp = check_floats(check, rows);
  float *ratio = check_floats(check, rows);
  OpsPolicySums policy;
  OpsGaussianSums regular;
  OpsValueSums value;
  memcpy(c.advantage, check_input_float(check, "in/advantage_raw", &rows), rows * sizeof *c.advantage);
  advantage_normalize(ops, ADVANTAGE_CLEANRL_MINIBATCH, c.advantage, rows, NULL);
  ops->policy_logp(ops, &c.head, c.logits, c.action, logp, (int)rows);
  for (size_t r = 0; r < rows; r++) ratio[r] = expf(logp[r] - c.logp_old[r]);
  ops->policy_loss(ops, &c.head, c.logits, c.action, c.logp_old, paper ? c.logp_leader_old : NULL, c.advantage,
                   (int)rows, epsilon, 0, dlogits, &policy);
  ops->gaussian_regularize(ops, &c.head, c.logits, c.block, c.entropy_coef, 1.1, bounds_coef, (int)rows, dlogits,
                           &regular);
  ops->value_loss(ops, c.value, c.value_old, c.returns, (int)rows, 1, epsilon, critic_coef, dvalue, &value);
  ops->gaussian_split(ops, dlogits, c.block, (int)rows, (int)c.factors, c.blocks, dmu, dlog_sigma);
  const double actor = policy.loss / count, critic = 2 * value.loss / count, entropy = regular.entropy / count,
               bounds = regular.bounds / count, terms = sapg_terms(ratio, c.advantage, rows);
#define NAME(name) check_name(check, variant, name)
  check_values(check, "", NAME("loss_actor"), CHECK_SINGLE, &actor, 1, terms);
  check_scalar(check, "", NAME("loss_critic"), CHECK_SINGLE, critic);
  check_scalar(check, "", NAME("entropy_term"), CHECK_SINGLE, entropy);
  check_scalar(check, "", NAME("loss_bounds"), CHECK_SINGLE, bounds);
  const double loss = actor + 0.5 * critic_coef * critic - entropy + bounds_coef * bounds;
  check_values(check, "", NAME("loss"), CHECK_SINGLE, &loss, 1, terms);
  check_singles(check, "", NAME("advantage"), CHECK_SINGLE, c.advantage, rows);
  check_singles(check, "", NAME("ratio"), CHECK_SINGLE, ratio, rows);
  check_singles(check, "", NAME("dmu"), CHECK_SINGLE, dmu, n);
  check_singles(check, "", NAME("dlog_std_blocks"), CHECK_SINGLE, dlog_sigma, (size_t)c.blocks * c.factors);
  check_singles(check, "", NAME("dvalue"), CHECK_SINGLE, dvalue, rows);
#undef NAME
}

static void sapg_rates(Check *check) {
  size_t n = 0;
  double *kl = check_input(check, "lr/in/kl", &n), *rates = check_memory(check, n * sizeof(double));
  double rate = check_real(check, "lr/hp/start"), threshold = check_real(check, "lr/hp/threshold");
  for (size_t i = 0; i < n; i++) rates[i] = rate = rl_games_lr(rate, kl[i], threshold);
  check_doubles(check, "lr/", "lr", CHECK_DOUBLE, rates, n);
}

static void case_sapg(Check *check) {
  sapg_variant(check, "code/", 0);
  sapg_variant(check, "paper/", 1);
  sapg_rates(check);
}

#endif
