/* Golden cases of single parts: distributions, GAE, standardization, ties of the clip, Adam, layouts. */
#ifndef TESTS_GOLDEN_PPO_PARTS_H
#define TESTS_GOLDEN_PPO_PARTS_H
#include "tests/golden/golden_check.h"
#include "tests/trainer_steps.h"
#include "trainer/learners/noisy_sgd.h"
#include "trainer/learners/sapg.h"
#include "trainer/nets/network.h"
#include "trainer/update/advantage.h"
#include "trainer/update/minibatch.h"
#include "trainer/update/optimizer.h"
#include "trainer/wrappers/normalize.h"

/* -------- distributions -------------------------------------------------------------------------------------- */

/* d logp / d z and d H / d z through the loss: at ratio 1 with A = -1 and no entropy the loss's gradient is that of
 * logp over the rows; with A = 0 and coefficient 1 it is minus that of the mean entropy. */
static void distribution_gradients(Check *check, const OpsHead *head, const float *z, const uint8_t *action,
                                   const float *logp, size_t rows) {
  size_t n = rows * (size_t)head->logits;
  float *advantage = check_floats(check, rows), *gradient = check_floats(check, n);
  OpsPolicySums sums;
  for (int entropy = 0; entropy < 2; entropy++) {
    for (size_t r = 0; r < rows; r++) advantage[r] = entropy ? 0 : -1;
    check->ops->policy_loss(check->ops, head, z, action, logp, NULL, advantage, (int)rows, INFINITY, entropy,
                            gradient, &sums);
    for (size_t i = 0; i < n; i++) gradient[i] *= entropy ? -(float)rows : (float)rows;
    check_singles(check, "", entropy ? "dentropy_dz" : "dlogp_dz", CHECK_SINGLE, gradient, n);
  }
}

static void case_distribution(Check *check) {
  OpsHead head = check_head(check);
  size_t n = 0, rows, actions;
  float *p = check_input_float(check, "in/z_behaviour", &n), *q = check_input_float(check, "in/z_new", &n);
  rows = n / (size_t)head.logits;
  actions = rows * (size_t)head.factors;
  uint8_t *action = check_input_bytes(check, "in/action", &actions, OPS_LOGITS_MAX);
  for (size_t i = 0; i < actions; i++)
    if (action[i] >= head.size[i % (size_t)head.factors]) check_give_up(check, "in/action is not in its factor");
  float *logp_p = check_floats(check, rows), *logp_q = check_floats(check, rows), *unused = check_floats(check, n);
  double *kl = check_memory(check, rows * sizeof(double)), *reverse = check_memory(check, rows * sizeof(double));
  float *entropy_p = check_floats(check, rows), *entropy_q = check_floats(check, rows);
  float *k1 = check_floats(check, rows), *k3 = check_floats(check, rows), zero = 0;
  Ops *ops = check->ops;
  ops->policy_logp(ops, &head, p, action, logp_p, (int)rows);
  ops->policy_logp(ops, &head, q, action, logp_q, (int)rows);
  for (size_t r = 0; r < rows; r++) {
    size_t at = r * (size_t)head.logits;
    const uint8_t *row_action = action + r * (size_t)head.factors;
    OpsPolicySums of_p, of_q;
    ops->policy_kl(ops, &head, p + at, q + at, 1, &kl[r], &reverse[r]);
    ops->policy_loss(ops, &head, p + at, row_action, logp_p + r, NULL, &zero, 1, INFINITY, 0, unused, &of_p);
    ops->policy_loss(ops, &head, q + at, row_action, logp_p + r, NULL, &zero, 1, INFINITY, 0, unused, &of_q);
    entropy_p[r] = (float)of_p.entropy, entropy_q[r] = (float)of_q.entropy, k1[r] = (float)of_q.k1,
    k3[r] = (float)of_q.k3;
  }
  check_singles(check, "", "logp_behaviour", CHECK_SINGLE, logp_p, rows);
  check_singles(check, "", "logp_new", CHECK_SINGLE, logp_q, rows);
  check_singles(check, "", "entropy_behaviour", CHECK_SINGLE, entropy_p, rows);
  check_singles(check, "", "entropy_new", CHECK_SINGLE, entropy_q, rows);
  check_doubles(check, "", "kl_behaviour_new", CHECK_DOUBLE, kl, rows);
  check_doubles(check, "", "kl_new_behaviour", CHECK_DOUBLE, reverse, rows);
  check_singles(check, "", "k1", CHECK_SINGLE, k1, rows);
  check_singles(check, "", "k3", CHECK_SINGLE, k3, rows);
  distribution_gradients(check, &head, q, action, logp_q, rows);
  check->left_out = "gradients of the KL, k2";
}

/* -------- advantages ----------------------------------------------------------------------------------------- */

/* PQN's target over the greatest Q is GAE's; the file's knows no truncation: a value of the state after it is the
 * stored one of the next step. */
static void lambda_target(Check *check, const char *prefix, AdvantageRule rule, size_t n, size_t steps, size_t worlds) {
  float *reward = check_input_float(check, check_name(check, prefix, "in/reward"), &n);
  float *value = check_input_float(check, check_name(check, prefix, "in/value"), &n);
  float *next_value = check_input_float(check, check_name(check, prefix, "in/next_value"), &n);
  uint8_t *done = check_input_bytes(check, check_name(check, prefix, "in/done"), &n, 2);
  float *values = check_floats(check, n + worlds), *errors = check_floats(check, n), *target = check_floats(check, n);
  memcpy(values, value, n * sizeof(float));
  memcpy(values + n, next_value + n - worlds, worlds * sizeof(float));
  advantage_estimate(check->ops, rule, reward, values, done, NULL, NULL, (int)steps, (int)worlds, errors, target);
  check_singles(check, prefix, "pqn_lambda_target", CHECK_SINGLE, target, n);
}

static void gae_one(Check *check, const char *prefix) {
  const GoldEntry *shape = check_entry(check, check_name(check, prefix, "in/reward"));
  size_t n = 0, steps = (size_t)shape->dimension[0], worlds = (size_t)shape->dimension[1];
  float *reward = check_input_float(check, check_name(check, prefix, "in/reward"), &n);
  float *value = check_input_float(check, check_name(check, prefix, "in/value"), &n);
  float *next_value = check_input_float(check, check_name(check, prefix, "in/next_value"), &n);
  uint8_t *done = check_input_bytes(check, check_name(check, prefix, "in/done"), &n, 2);
  uint8_t *truncated = check_input_bytes(check, check_name(check, prefix, "in/truncated"), &n, 2);
  if (n == 0 || n != steps * worlds) check_give_up(check, "%sin/reward is not a matrix", prefix);
  AdvantageRule rule = {check_real(check, check_name(check, prefix, "hp/gamma")),
                        check_real(check, check_name(check, prefix, "hp/lam")),
                        check_real(check, check_name(check, prefix, "hp/reward_scale"))};
  float *values = check_floats(check, n + worlds), *advantage = check_floats(check, n),
        *target = check_floats(check, n);
  memcpy(values, value, n * sizeof(float));
  memcpy(values + n, next_value + n - worlds, worlds * sizeof(float));
  advantage_estimate(check->ops, rule, reward, values, done, truncated, next_value, (int)steps, (int)worlds,
                     advantage, target);
  check_singles(check, prefix, "advantage", CHECK_SINGLE, advantage, n);
  check_singles(check, prefix, "target", CHECK_SINGLE, target, n);
  lambda_target(check, prefix, rule, n, steps, worlds);
  advantage_normalize(check->ops, ADVANTAGE_STOIX_BATCH, advantage, n, NULL);
  check_singles(check, prefix, "advantage_stoix", CHECK_SINGLE, advantage, n);
  rule.lambda = 0; /* targets are one-step returns then */
  advantage_estimate(check->ops, rule, reward, values, done, truncated, next_value, (int)steps, (int)worlds,
                     advantage, target);
  check_singles(check, prefix, "sapg_one_step_return", CHECK_SINGLE, target, n);
}

/* Lists a file's sub-cases by their prefixes before "in/reward". */
static void case_gae(Check *check) {
  int cases = 0;
  for (uint32_t i = 0; i < check->gold.count; i++) {
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s", check->gold.entry[i].name);
    char *end = strstr(prefix, "in/reward");
    if (!end) continue;
    *end = '\0';
    gae_one(check, check_name(check, prefix, ""));
    cases++;
  }
  if (cases != check_int(check, "hp/cases", 1, 10000)) check_give_up(check, "hp/cases does not agree with the file");
}

/* openai/ppo-ewma's running moments over rollouts. */
static void advantage_ewma(Check *check) {
  const GoldEntry *shape = check_entry(check, "ewma/in/advantage");
  size_t all = 0, rollouts = (size_t)shape->dimension[0], n = (size_t)shape->dimension[1];
  float *advantage = check_input_float(check, "ewma/in/advantage", &all);
  double *both = check_memory(check, 2 * rollouts * sizeof *both);
  Moments moments = {0};
  if (n == 0 || all != rollouts * n) check_give_up(check, "ewma/in/advantage is not a matrix");
  for (size_t i = 0; i < rollouts; i++) {
    Moments now;
    check->ops->moments(check->ops, advantage + i * n, NULL, n, &now);
    advantage_normalize_ewma(check->ops, &moments, check_real(check, "ewma/hp/decay"), &now, advantage + i * n, n);
    both[2 * i] = moments.mean;
    both[2 * i + 1] = moments_variance(&moments);
  }
  check_doubles(check, "ewma/", "mean_var", CHECK_DOUBLE, both, 2 * rollouts);
  check_singles(check, "ewma/", "normalised_last", CHECK_STABLE, advantage + all - n, n);
}

static void case_advantage_norm(Check *check) {
  static const struct { const char *name; AdvantageNorm norm; int by_minibatch; } rules[] = {
      {"stoix_batch", ADVANTAGE_STOIX_BATCH, 0},
      {"kinetix_minibatch", ADVANTAGE_KINETIX_MINIBATCH, 1},
      {"cleanrl_minibatch", ADVANTAGE_CLEANRL_MINIBATCH, 1}};
  static const char *const sets[] = {"plain/", "offset/", "constant/"};
  size_t parts = (size_t)check_int(check, "hp/num_minibatches", 1, 1 << 20);
  for (int set = 0; set < 3; set++)
    for (int r = 0; r < 3; r++) {
      size_t n = 0;
      float *advantage = check_input_float(check, check_name(check, sets[set], "in/advantage"), &n);
      size_t size = rules[r].by_minibatch ? n / parts : n;
      for (size_t first = 0; size > 0 && first + size <= n; first += size)
        advantage_normalize(check->ops, rules[r].norm, advantage + first, size, NULL);
      check_singles(check, sets[set], rules[r].name, CHECK_STABLE, advantage, n);
    }
  advantage_ewma(check);
}

/* -------- ties of the clip ----------------------------------------------------------------------------------- */

/* A behavior log-probability from which the loss recovers `ratio` exactly: its neighbors are tried, since a rounded
 * logarithm need not come back to the bound. */
static float behavior_of_ratio(Check *check, const OpsHead *head, const float *z, const uint8_t *action, float logp,
                                double ratio) {
  float behavior = logp - (float)log(ratio), one = 1, unused[2];
  OpsPolicySums sums;
  for (int distance = 0; distance < 64; distance++)
    for (int side = -1; side <= 1; side += 2) {
      float candidate = behavior;
      for (int i = 0; i < distance; i++) candidate = nextafterf(candidate, side * INFINITY);
      check->ops->policy_loss(check->ops, head, z, action, &candidate, NULL, &one, 1, INFINITY, 0, unused, &sums);
      if (-sums.loss == ratio) return candidate;
    }
  check_give_up(check, "no log-probability gives a ratio of exactly %g", ratio);
}

static void case_ties(Check *check) {
  OpsHead head = {.factors = 1, .logits = 2, .size = {2}};
  float z[2] = {0, 0}, logp, gradient[2];
  uint8_t action = 0;
  size_t n = 0;
  float *advantage = check_input_float(check, "in/advantage", &n);
  double *ratio = check_input(check, "in/ratio", &n), *epsilon = check_input(check, "in/eps", &n);
  double *slope = check_memory(check, n * sizeof(double));
  check->ops->policy_logp(check->ops, &head, z, &action, &logp, 1);
  for (size_t i = 0; i < n; i++) {
    OpsPolicySums sums;
    float behavior = behavior_of_ratio(check, &head, z, &action, logp, ratio[i]);
    check->ops->policy_loss(check->ops, &head, z, &action, &behavior, NULL, advantage + i, 1, epsilon[i], 0,
                            gradient, &sums);
    slope[i] = 2 * (double)gradient[0]; /* d logp / d z_0 = 1 - p_0 = 1/2 */
  }
  check_doubles(check, "", "jax_dloss_dlogp", CHECK_SINGLE, slope, n);
}

/* -------- Adam ----------------------------------------------------------------------------------------------- */

static void adam_path(Check *check, OptimizerRule rule, const char *epsilon, const char *expected) {
  size_t n = 0, all = 0;
  float *theta = check_input_float(check, "in/theta", &n), *gradient = check_input_float(check, "in/grad", &all);
  size_t steps = n ? all / n : 0;
  float *path = check_floats(check, all);
  double rate = check_real(check, "hp/lr"), total = check_real(check, "hp/total");
  Optimizer optimizer = {.rule = rule, .m = check_floats(check, n), .v = check_floats(check, n),
                         .beta1 = check_real(check, "hp/beta1"), .beta2 = check_real(check, "hp/beta2"),
                         .epsilon = check_real(check, epsilon)};
  for (size_t step = 0; step < steps; step++) {
    optimizer_apply(check->ops, &optimizer, theta, gradient + step * n, n, rate * (1 - (double)step / total), 1);
    memcpy(path + step * n, theta, n * sizeof(float));
  }
  check_singles(check, "", expected, CHECK_SINGLE, path, all);
}

static void case_adam(Check *check) {
  adam_path(check, OPTIMIZER_ADAM, "hp/adam_eps", "adam_theta");
  adam_path(check, OPTIMIZER_RADAM, "hp/radam_eps", "radam_theta");
}

/* -------- layouts -------------------------------------------------------------------------------------------- */

static void layout_orthogonal(Check *check) {
  for (int i = 0;; i++) {
    char prefix[32];
    snprintf(prefix, sizeof prefix, "orthogonal/%d/", i);
    if (!check_has(check, check_name(check, prefix, "in/gaussian"))) return;
    const GoldEntry *shape = check_entry(check, check_name(check, prefix, "out/kernel"));
    size_t n = 0;
    double *gaussian = check_input(check, check_name(check, prefix, "in/gaussian"), &n);
    if (shape->dimensions != 2 || gold_elements(shape) != n)
      check_give_up(check, "%sout/kernel is not of the Gaussian's size", prefix);
    float *kernel = check_floats(check, n);
    network_orthogonal(gaussian, (int)shape->dimension[0], (int)shape->dimension[1], sqrt(2), kernel);
    check_singles(check, prefix, "kernel", CHECK_STABLE, kernel, n);
  }
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Rows of every minibatch that minibatch_gather takes under a given permutation. Whole environments may stand in any
 * order inside their minibatch: there both sides are sorted. */
static void layout_minibatches(Check *check, const char *permutations, const char *expected, MinibatchUnit by) {
  int steps = check_int(check, "minibatch/hp/K", 1, 4096), worlds = check_int(check, "minibatch/hp/N", 1, 4096);
  int parts = check_int(check, "minibatch/hp/M", 1, steps * worlds);
  size_t total = (size_t)steps * (size_t)worlds, rows = total / (size_t)parts, all = 0, most = total;
  double *order = check_input(check, permutations, &all);
  size_t length = by == MINIBATCH_TRANSITIONS ? total : (size_t)worlds, epochs = all / length;
  uint8_t *actions = check_memory(check, total);
  float *zeros = check_floats(check, total);
  Rollout rollout = {.steps = steps, .worlds = worlds, .features = 1, .head = {.factors = 1, .logits = 2, .size = {2}},
                     .observations = zeros, .values = zeros, .logp = zeros, .actions = actions,
                     .action_bytes = 1, .shards = shards_alone(worlds)};
  Minibatch minibatch = {.global_rows = (int)rows,
                         .capacity = (int)rows,
                         .rows = (int)rows,
                         .by = by,
                         .order = check_memory(check, total * 4),
                         .own = check_memory(check, total * 4),
                         .shard_rows = check_memory(check, sizeof(int)),
                         .index = check_memory(check, most * 4),
                         .observations = check_floats(check, rows),
                         .actions = check_memory(check, rows),
                         .logp = check_floats(check, rows),
                         .values = check_floats(check, rows),
                         .advantages = check_floats(check, rows),
                         .targets = check_floats(check, rows)};
  double *index = check_memory(check, epochs * total * sizeof(double));
  for (size_t epoch = 0; epoch < epochs; epoch++) {
    for (size_t i = 0; i < length; i++) {
      if (!(order[epoch * length + i] >= 0 && order[epoch * length + i] < (double)length))
        check_give_up(check, "%s is no permutation", permutations);
      minibatch.order[i] = (uint32_t)order[epoch * length + i];
    }
    for (int m = 0; m < parts; m++) {
      double *part = index + epoch * total + (size_t)m * rows;
      minibatch_gather(&minibatch, check->ops, &rollout, zeros, zeros, m);
      for (size_t r = 0; r < rows; r++) part[r] = minibatch.index[r];
      if (by == MINIBATCH_ENVIRONMENTS) qsort(part, rows, sizeof *part, ascending);
    }
  }
  if (by == MINIBATCH_TRANSITIONS) {
    check_doubles(check, "minibatch/", expected, CHECK_DOUBLE, index, epochs * total);
    return;
  }
  size_t n = epochs * total;
  double *truth = check_input(check, check_name(check, "minibatch/out/", expected), &n);
  for (size_t first = 0; first < n; first += rows) qsort(truth + first, rows, sizeof *truth, ascending);
  for (size_t i = 0; i < n; i++)
    if (truth[i] != index[i]) check_note(check, INFINITY, "minibatch/", expected, i);
  check->values += n;
}

/* SAPG's order of samples, without followers. */
static void layout_sequences(Check *check) {
  const SapgLayout layout = {.steps = check_int(check, "minibatch/hp/K", 1, 4096), .blocks = 1,
                             .worlds = check_int(check, "minibatch/hp/N", 1, 4096),
                             .sequence = check_int(check, "minibatch/hp/seq", 1, 4096)};
  size_t all = 0, total = sapg_samples(&layout), length = total / (size_t)layout.sequence;
  double *shuffled = check_input(check, "minibatch/in/permutation_sequences", &all);
  uint32_t *sequences = check_memory(check, length * sizeof *sequences);
  uint32_t *order = check_memory(check, total * sizeof *order);
  const size_t epochs = all / length;
  double *samples = check_memory(check, epochs * total * sizeof *samples);
  for (size_t epoch = 0; epoch < epochs; epoch++) {
    for (size_t i = 0; i < length; i++) sequences[i] = (uint32_t)shuffled[epoch * length + i];
    sapg_order(&layout, sequences, order);
    for (size_t i = 0; i < total; i++) samples[epoch * total + i] = order[i];
  }
  check_doubles(check, "minibatch/", "sequences", CHECK_DOUBLE, samples, epochs * total);
}

/* Replays the noisy convex example with the file's start and noise. */
static void layout_convex(Check *check) {
  size_t n = 0, all = 0;
  double *x = check_input(check, "convex/in/x0", &n), *noise = check_input(check, "convex/in/noise", &all);
  double rate = check_real(check, "convex/hp/lr");
  size_t steps = n ? all / n : 0;
  double *distance = check_memory(check, steps * sizeof(double));
  double *gradient = check_memory(check, steps * sizeof(double));
  for (size_t step = 0; step < steps; step++) {
    double squares = 0;
    gradient[step] = sqrt(noisy_sgd_descend(x, noise + step * n, (int)n, rate));
    for (size_t i = 0; i < n; i++) squares += x[i] * x[i];
    distance[step] = sqrt(squares);
  }
  check_doubles(check, "convex/", "x_norm", CHECK_DOUBLE, distance, steps);
  check_doubles(check, "convex/", "grad_norm", CHECK_DOUBLE, gradient, steps);
  check_doubles(check, "convex/", "x_last", CHECK_DOUBLE, x, n);
}

/* Running observation statistics, batch after batch: each number has its feature's scale, so each is compared alone. */
static void running_compare(Check *check, const char *prefix, const char *name, const double *ours, size_t n) {
  double *truth = check_input(check, check_name(check, check_name(check, prefix, "out/"), name), &n);
  for (size_t i = 0; i < n; i++)
    check_note(check, fabs(ours[i] - truth[i]) / (1e-10 * fmax(fabs(truth[i]), 1e-12)), prefix, name, i);
  check->values += n;
}

static void layout_running(Check *check) {
  double count = 0, *mean = NULL, *m2 = NULL, *deviation = NULL;
  for (int batch = 0;; batch++) {
    char prefix[32];
    size_t n = 0;
    snprintf(prefix, sizeof prefix, "running/%d/", batch);
    const char *input = check_name(check, prefix, "in/obs");
    if (!check_has(check, input)) return;
    const GoldEntry *shape = check_entry(check, input);
    const float *x = check_input_float(check, input, &n);
    const size_t features = (size_t)shape->dimension[1];
    if (!mean) {
      mean = check_memory(check, features * sizeof *mean);
      m2 = check_memory(check, features * sizeof *m2);
      deviation = check_memory(check, features * sizeof *deviation);
    }
    count = normalize_merge(count, mean, m2, (int)features, x, (int)(n / features));
    for (size_t k = 0; k < features; k++) deviation[k] = 1 / normalize_factor(NORMALIZE_STOIX, count, m2[k]);
    running_compare(check, prefix, "mean", mean, features);
    running_compare(check, prefix, "summed_variance", m2, features);
    running_compare(check, prefix, "std", deviation, features);
  }
}

static void case_layout(Check *check) {
  layout_orthogonal(check);
  layout_minibatches(check, "minibatch/in/permutation_transitions", "transitions", MINIBATCH_TRANSITIONS);
  layout_minibatches(check, "minibatch/in/permutation_envs", "envs", MINIBATCH_ENVIRONMENTS);
  layout_convex(check);
  layout_running(check);
  layout_sequences(check);
}

#endif
