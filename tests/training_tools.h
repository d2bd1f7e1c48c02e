/* A training from a few settings, in memory, for tests of the trainer as a whole. */
#ifndef TESTS_TRAINING_TOOLS_H
#define TESTS_TRAINING_TOOLS_H
#include "unit/test.h"

#include "core/device/device.h"
#include "core/memory.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/run/training.h"

/* "key=value" over `config`, or the test fails with the message. */
static inline void set(CoreConfig *config, const char *pair) {
  if (core_config_set_pair(config, pair) != CORE_OK) fail_msg("%s", core_error_message());
}

/* The defaults with `count` settings over them. */
static inline CoreConfig configured(const char *const *pairs, size_t count) {
  CoreConfig config = core_config_default();
  for (size_t i = 0; i < count; i++) set(&config, pairs[i]);
  return config;
}
#define CONFIGURED(...) configured((const char *const[]){__VA_ARGS__}, \
                                   sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
/* Four iterations of sixteen worlds on easy levels: milliseconds each. More settings may follow. */
#define CONFIGURED_SMALL(...) \
  CONFIGURED("env.morphologies=car+unicycle", "env.difficulty=0", "env.level_count=8", "env.num=16", \
             "ppo.num_steps=16", "ppo.num_minibatches=4", "ppo.epochs=2", "net.width=16", "net.depth=2", \
             "eval.episodes=8", "eval.count=0", "train.total_steps=1024", "train.threads=1", \
             "metrics.states=256", __VA_ARGS__)

/* Planned, allocated and started; the caller destroys it. */
static inline Training *make(const CoreConfig *config) {
  Training *training = NULL;
  if (training_plan(config, &training) != CORE_OK || training_allocate(training) != CORE_OK)
    fail_msg("%s", core_error_message());
  training_start(training);
  return training;
}

/* Returns the row of the last of `count` iterations. */
static inline StoreIteration iterate(Training *training, int iterations) {
  StoreIteration row = store_iteration_unmeasured(0);
  for (int i = 0; i < iterations; i++)
    if (training_iterate(training, &row) != CORE_OK) fail_msg("%s", core_error_message());
  return row;
}

/* Saves a training in a checkpoint, and reads it into another one of the same settings. */
static inline void resume_from_checkpoint(Training *saved, Training *resumed) {
  const int64_t iteration = saved->position.iteration;
  int64_t read;
  Checkpoint writer, reader;
  assert_int_equal(test_directory_make(NULL), 0);
  assert_ok(checkpoint_open(test_directory, "0123456789abcdef", 2, &writer));
  training_add_sections(saved, &writer);
  training_before_save(saved);
  assert_ok(checkpoint_write(&writer, iteration));

  assert_ok(checkpoint_open(test_directory, "0123456789abcdef", 2, &reader));
  training_add_sections(resumed, &reader);
  assert_ok(checkpoint_read_newest(&reader, &read));
  assert_int_equal(read, iteration);
  assert_ok(training_after_load(resumed));
  assert_int_equal(test_directory_remove(NULL), 0);
}

static inline bool same_weights(const Training *a, const Training *b) {
  return memcmp(a->agent.actor.theta, b->agent.actor.theta, a->agent.actor.n * sizeof(float)) == 0 &&
         memcmp(a->agent.critic.theta, b->agent.critic.theta, a->agent.critic.n * sizeof(float)) == 0;
}

/* Three iterations are the same bits twice, and others with another train.seed. */
static inline void assert_repeats_and_depends_on_the_seed(CoreConfig config) {
  Training *a = make(&config), *b = make(&config);
  set(&config, "train.seed=1");
  Training *other = make(&config);
  iterate(a, 3);
  iterate(b, 3);
  iterate(other, 3);
  assert_true(same_weights(a, b));
  assert_memory_not_equal(a->agent.actor.theta, other->agent.actor.theta, a->agent.actor.n * sizeof(float));
  training_destroy(&a);
  training_destroy(&b);
  training_destroy(&other);
}

/* A whole training lifts the solve rate to more than 0.75, and far beyond chance (of start and measurement). For an
 * easy task with a small budget. The row of its last iteration. */
static inline StoreIteration assert_learns(const CoreConfig *config) {
  StoreEvaluation before, after;
  Training *training = make(config);
  training_evaluate(training, &before);
  const StoreIteration row = iterate(training, (int)training->plan.iterations);
  assert_true(training_finished(training) && training_evaluation_due(training));
  training_evaluate(training, &after);
  assert_true(after.solve_rate > 0.75);
  assert_true(after.solve_rate - before.solve_rate > 5 * hypot(before.solve_rate_se, after.solve_rate_se));
  assert_true(after.episode_return > before.episode_return);
  training_destroy(&training);
  return row;
}

/* ---- trainings that differ in the order of sums ------------------------------------------------------------------ */

/* Fails unless `got` is within the tolerance of `want`, relative to it; two NaNs are near to each other. */
static inline void assert_relatively_near(const char *what, double got, double want, double tolerance) {
  if (isnan(got) && isnan(want)) return;
  if (!(fabs(got - want) <= tolerance * (1e-3 + fabs(want))))
    fail_msg("%s: %.9g, expected %.9g", what, got, want);
}

/* Copies the network's weights to the host; the caller frees them. */
static inline float *copy_weights(const Training *training, const AgentNetwork *network) {
  float *host = core_memory_allocate(network->n * sizeof *host);
  core_device_to_host(training->device, host, network->theta, network->n * sizeof *host);
  return host;
}

/* Fails unless the distance of two networks is at most `tolerance` times the length of the second. */
static inline void assert_close_weights(const Training *a, const AgentNetwork *left, const Training *b,
                                        const AgentNetwork *right, double tolerance) {
  float *x = copy_weights(a, left), *y = copy_weights(b, right);
  double apart = 0, norm = 0;
  for (size_t i = 0; i < left->n; i++) {
    apart += pow((double)x[i] - (double)y[i], 2);
    norm += pow((double)y[i], 2);
  }
  if (!(sqrt(apart) <= tolerance * sqrt(norm))) fail_msg("weights %g apart, of %g", sqrt(apart), sqrt(norm));
  free(x), free(y);
}

/* Fails unless two measured iterations are equal up to the order of sums. slack: factor of all tolerances. */
static inline void assert_same_rows(const StoreIteration *on_device, const StoreIteration *on_host, double slack) {
#define SAME(field, tolerance) assert_relatively_near(#field, on_device->field, on_host->field, slack * tolerance)
  SAME(episodes, 0);
  SAME(solve_rate, 0);
  SAME(episode_length, 0);
  SAME(episode_return, 1e-5);
  SAME(kl, 1e-2);
  SAME(kl_k3, 1e-2);
  SAME(entropy, 1e-4);
  SAME(policy_loss, 2e-2);
  SAME(value_loss, 1e-3);
  SAME(advantage_sd, 1e-3);
  SAME(explained_variance, 1e-2);
  SAME(grad_norm_actor, 1e-2);
  SAME(grad_norm_critic, 1e-2);
  SAME(grad_kurtosis_actor, 1e-1);
  SAME(update_norm_actor, 1e-2);
  SAME(weight_norm_critic, 1e-4);
  SAME(feature_rank_actor, 0.2);
  SAME(dormant_actor, 0.2);
  SAME(policy_variance, 1e-2);
#undef SAME
}

#endif
