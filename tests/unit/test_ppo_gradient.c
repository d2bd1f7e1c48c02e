/* Gradients of a whole PPO update against differences of the losses in double, computed from the rollout alone:
 * advantages and their normalization, the clip, the entropy bonus, PPO-EWMA's proximal policy, the cap on ratios, the
 * value loss. Then clipping of gradients, and the minibatches of an epoch. */
#include "test.h"

#include "core/memory.h"
#include "core/random.h"
#include "tests/oracle/learner.h"
#include "trainer/learners/ppo.h"
#include "training_tools.h"

enum { SIZE = 512, CHECKED = 40 }; /* SIZE: inputs of a row at most; CHECKED: weights whose gradient is compared */

static CoreConfig small_config(void) {
  return CONFIGURED_SMALL("ppo.num_minibatches=1", "ppo.epochs=1", "net.width=8", "net.depth=1", "env.max_steps=12",
                          "ppo.max_grad_norm=inf", "ppo.learning_rate=0", "ppo.entropy_coef=0.3", "ppo.epsilon=0.1");
}

/* ---- the losses by their definition ------------------------------------------------------------------------------ */

/* Rows of a rollout [steps][worlds], and what the losses read of them. */
typedef struct Rows {
  const Training *training;
  int count;
  float *advantage, *target, *behavior, *proximal; /* behavior: capped; proximal: NULL without PPO-EWMA */
} Rows;

/* Outputs [rows][outputs] of a network with weights theta. */
static double *outputs_of(const Rows *rows, const AgentNetwork *network, const double *theta) {
  const size_t inputs = (size_t)network->shape.width[0], outputs = (size_t)network->shape.width[network->shape.layers];
  double *y = core_memory_allocate((size_t)rows->count * outputs * sizeof *y), x[SIZE];
  for (size_t r = 0; r < (size_t)rows->count; r++) {
    for (size_t i = 0; i < inputs; i++) x[i] = (double)rows->training->rollout.observations[r * inputs + i];
    oracle_network(&network->shape, theta, x, y + r * outputs);
  }
  return y;
}

static double actor_loss(const Rows *rows, const double *theta) {
  const CoreConfig *config = &rows->training->config;
  const Rollout *rollout = &rows->training->rollout;
  double *logits = outputs_of(rows, &rows->training->agent.actor, theta);
  const double loss = oracle_policy_loss(&rollout->head, logits, (const uint8_t *)rollout->actions, rows->behavior,
                                         rows->proximal, rows->advantage, rows->count, config->ppo.epsilon,
                                         config->ppo.entropy_coef);
  free(logits);
  return loss;
}

static double critic_loss(const Rows *rows, const double *theta) {
  const CoreConfig *config = &rows->training->config;
  double *values = outputs_of(rows, &rows->training->agent.critic, theta);
  const double loss = oracle_value_loss(values, rows->training->rollout.values, rows->target, rows->count,
                                        config->ppo.clip_value, config->ppo.epsilon, config->ppo.value_coef);
  free(values);
  return loss;
}

/* Log-probs of the rollout's actions under weights theta. */
static double *logp_of(const Rows *rows, const double *theta) {
  const OpsHead *head = &rows->training->rollout.head;
  const uint8_t *actions = (const uint8_t *)rows->training->rollout.actions;
  double *logits = outputs_of(rows, &rows->training->agent.actor, theta), entropy;
  double *logp = core_memory_allocate((size_t)rows->count * sizeof *logp);
  for (int r = 0; r < rows->count; r++)
    logp[r] = oracle_logp(head, logits + r * head->logits, actions + r * head->factors, &entropy);
  free(logits);
  return logp;
}

static void estimate_advantages(Rows *rows) {
  enum { STEPS = 16 };
  const Rollout *rollout = &rows->training->rollout;
  const CoreConfig *config = &rows->training->config;
  const uint8_t truncated[STEPS] = {0};
  assert_int_equal(rollout->steps, STEPS);
  for (int w = 0; w < rollout->worlds; w++) {
    double reward[STEPS], value[STEPS], next[STEPS];
    uint8_t done[STEPS];
    for (int t = 0; t < STEPS; t++) {
      const int at = t * rollout->worlds + w;
      reward[t] = (double)rollout->rewards[at], value[t] = (double)rollout->values[at];
      next[t] = (double)rollout->values[at + rollout->worlds], done[t] = rollout->dones[at];
    }
    for (int t = 0; t < STEPS; t++) {
      const int at = t * rollout->worlds + w;
      rows->advantage[at] = (float)oracle_gae(reward, value, next, done, truncated, STEPS, t, config->ppo.gamma,
                                              config->ppo.gae_lambda);
      rows->target[at] = rows->advantage[at] + rollout->values[at];
    }
  }
}

static void normalize_advantages(Rows *rows) {
  const char *by = rows->training->config.ppo.normalize_advantage;
  double mean = 0, squares = 0, divisor = 1;
  for (int r = 0; r < rows->count; r++) mean += (double)rows->advantage[r] / rows->count;
  for (int r = 0; r < rows->count; r++) squares += pow((double)rows->advantage[r] - mean, 2);
  if (strcmp(by, "none") == 0) return;
  if (strcmp(by, "batch") == 0) divisor = sqrt(squares / rows->count + 1e-5);
  if (strcmp(by, "minibatch") == 0) divisor = sqrt(squares / rows->count) + 1e-8;
  if (strcmp(by, "minibatch_unbiased") == 0) divisor = sqrt(squares / (rows->count - 1)) + 1e-8;
  for (int r = 0; r < rows->count; r++) rows->advantage[r] = (float)(((double)rows->advantage[r] - mean) / divisor);
}

/* ---- against an update ------------------------------------------------------------------------------------------- */

static double *doubles_of(const float *x, size_t n) {
  double *copy = core_memory_allocate(n * sizeof *copy);
  for (size_t i = 0; i < n; i++) copy[i] = (double)x[i];
  return copy;
}

/* Moves weights, so that ratios and values are on both sides of their clips. */
static void move(float *theta, size_t n, uint32_t stream, float by) {
  for (size_t i = 0; i < n; i++)
    theta[i] += by * (2 * core_random_unit(core_random_4(3, CORE_RANDOM_TEST, stream, (uint32_t)i, 0).v[0]) - 1);
}

static void compare(const Rows *rows, double (*loss)(const Rows *rows, const double *theta), const char *what,
                    const AgentNetwork *network, const float *gradient) {
  const double h = 1e-6;
  double *theta = doubles_of(network->theta, network->n), largest = 0;
  for (size_t i = 0; i < network->n; i++) largest = fmax(largest, fabs((double)gradient[i]));
  assert_true(largest > 1e-3);
  for (size_t i = 0; i < network->n; i += network->n / CHECKED + 1) {
    const double at = theta[i];
    theta[i] = at + h;
    const double above = loss(rows, theta);
    theta[i] = at - h;
    const double want = (above - loss(rows, theta)) / (2 * h);
    theta[i] = at;
    if (!(fabs((double)gradient[i] - want) <= 5e-4 * largest))
      fail_msg("%s, element %zu: got %.9g, want %.9g, largest %.3g", what, i, (double)gradient[i], want, largest);
  }
  free(theta);
}

static void check_update(const char *const *pairs, size_t count) {
  CoreConfig config = small_config();
  for (size_t i = 0; i < count; i++) set(&config, pairs[i]);
  Training *training = make(&config);
  iterate(training, 1);
  Agent *agent = &training->agent;
  Ppo *ppo = learner_as_ppo(&training->learner);
  move(agent->actor.theta, agent->actor.n, 1, 0.2f), move(agent->critic.theta, agent->critic.n, 2, 0.2f);
  if (ppo->ewma) move(ppo->proximal.theta, agent->actor.n, 3, 0.1f);
  Rows rows = {.training = training, .count = training->rollout.steps * training->rollout.worlds};
  const size_t n = (size_t)rows.count;
  rows.advantage = core_memory_zero_allocate(4 * n, sizeof *rows.advantage);
  rows.target = rows.advantage + n, rows.behavior = rows.target + n;
  if (ppo->ewma) rows.proximal = rows.behavior + n;
  estimate_advantages(&rows);
  normalize_advantages(&rows);
  double *theta = doubles_of(agent->actor.theta, agent->actor.n), *logp = logp_of(&rows, theta), *proximal = NULL;
  if (ppo->ewma) {
    free(theta);
    theta = doubles_of(ppo->proximal.theta, agent->actor.n);
    proximal = logp_of(&rows, theta);
  }
  for (int r = 0; r < rows.count; r++) {
    rows.behavior[r] = training->rollout.logp[r];
    if (config.ppo.ratio_cap > 0)
      rows.behavior[r] = fmaxf(rows.behavior[r], (float)(logp[r] - log(config.ppo.ratio_cap)));
    if (proximal) rows.proximal[r] = (float)proximal[r];
  }
  const UpdateContext step = {.ops = training->ops, .rollout = &training->rollout, .iteration = 2};
  UpdateStats update;
  assert_int_equal(training->learner.kind->update(training->learner.state, &step, &update), CORE_OK);
  compare(&rows, actor_loss, "actor", &agent->actor, ppo->gradient.mean.actor);
  compare(&rows, critic_loss, "critic", &agent->critic, ppo->gradient.mean.critic);
  assert_true(update.clip_fraction > 0.05 && update.clip_fraction < 0.95);
  free(rows.advantage), free(theta), free(logp), free(proximal);
  training_destroy(&training);
}
#define CHECK(...) check_update((const char *const[]){__VA_ARGS__}, \
                                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void test_ppo(void **state) {
  (void)state;
  CHECK("ppo.normalize_advantage=batch");
  CHECK("ppo.normalize_advantage=minibatch", "ppo.entropy_coef=0");
  CHECK("ppo.normalize_advantage=minibatch_unbiased", "ppo.clip_value=no");
  CHECK("ppo.normalize_advantage=none", "ppo.gae_lambda=0.7", "ppo.gamma=0.9");
}

static void test_ppo_ewma(void **state) {
  (void)state;
  CHECK("algo.name=ppo_ewma", "ppo.normalize_advantage=batch");
}

static void test_cap(void **state) {
  (void)state;
  CHECK("ppo.ratio_cap=1.2");
}

/* ---- clipping ---------------------------------------------------------------------------------------------------- */

static double norm_of(const float *x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
  return sqrt(sum);
}

/* After the first step Adam's first moment is 1 - beta1 times the clipped gradient: of both networks together, or of
 * each. */
static void test_clipping(void **state) {
  const char *const sharing[] = {"net.sharing=separate", "net.sharing=joint"};
  (void)state;
  for (int is_joint = 0; is_joint < 2; is_joint++) {
    CoreConfig config = small_config();
    set(&config, sharing[is_joint]);
    set(&config, "ppo.max_grad_norm=0.001");
    Training *training = make(&config);
    iterate(training, 1);
    const Ppo *ppo = learner_as_ppo(&training->learner);
    const double rest = 1 - config.ppo.adam_beta1;
    const double actor = norm_of(ppo->actor_optimizer.m, training->agent.actor.n) / rest;
    const double critic = norm_of(ppo->critic_optimizer.m, training->agent.critic.n) / rest;
    if (is_joint) assert_float_equal(hypot(actor, critic), 0.001, 1e-6);
    if (!is_joint) assert_float_equal(actor, 0.001, 1e-6);
    if (!is_joint) assert_float_equal(critic, 0.001, 1e-6);
    training_destroy(&training);
  }
}

/* ---- minibatches ------------------------------------------------------------------------------------------------- */

/* The last epoch of an iteration leaves its own permutation. */
static void test_epochs_have_permutations(void **state) {
  CoreConfig config = small_config();
  (void)state;
  set(&config, "ppo.shuffle=all");
  for (int epochs = 1; epochs <= 3; epochs++) {
    config.ppo.epochs = epochs;
    Training *training = make(&config);
    iterate(training, 2);
    const Minibatch *minibatch = &learner_as_ppo(&training->learner)->minibatch;
    const uint32_t n = (uint32_t)(training->rollout.steps * training->rollout.worlds);
    uint32_t *order = core_memory_allocate(n * sizeof *order);
    core_random_permutation((uint64_t)config.train.seed, CORE_RANDOM_SHUFFLE, 2, (uint32_t)epochs - 1, order, n);
    assert_memory_equal(minibatch->order, order, n * sizeof *order);
    free(order);
    training_destroy(&training);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ppo), cmocka_unit_test(test_ppo_ewma),
                                     cmocka_unit_test(test_cap), cmocka_unit_test(test_clipping),
                                     cmocka_unit_test(test_epochs_have_permutations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
