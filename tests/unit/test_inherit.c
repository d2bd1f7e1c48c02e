/* init.from: parts taken from a parent's checkpoint, parts that start afresh, and incompatible parents. */
#include "test.h"

#include "core/config/config.h"
#include "core/memory.h"
#include "store_workspace.h"
#include "trainer/learners/ppo.h"
#include "trainer/learners/pqn.h"
#include "trainer/run/inherit.h"
#include "training_tools.h"

static CoreConfig small_config(void) {
  return CONFIGURED(
    "env.morphologies=car", "env.difficulty=0", "env.level_count=4", "env.num=8", "ppo.num_steps=16", "ppo.com=4",
    "ppo.num_minibatches=2", "ppo.epochs=2", "net.width=16", "net.depth=2", "eval.count=0", "algo.name=ppo_ewma",
    "train.total_steps=512", "train.threads=1", "metrics.states=100", "ppo.epsilon=0.001");
}

/* Creates a run of `config` with a checkpoint after 2 of its iterations. Sets `id`; the run continues in memory. */
static Training *make_parent(const CoreConfig *config, char id[CORE_RUN_ID]) {
  char directory[CORE_PATH_MAX];
  Checkpoint checkpoint;
  assert_ok(store_run_prepare(root, config, id));
  assert_ok(store_path_run(root, id, "ckpt", directory));
  assert_ok(checkpoint_open(directory, id, 2, &checkpoint));
  Training *parent = make(config);
  training_add_sections(parent, &checkpoint);
  iterate(parent, 2);
  training_before_save(parent);
  assert_ok(checkpoint_write(&checkpoint, 2));
  return parent;
}

static int inherit(Training *training, char parent[INHERIT_PARENT]) {
  Checkpoint sections = {0};
  training_add_sections(training, &sections);
  training_before_save(training);
  int code = inherit_restore(training, &sections, root, parent);
  return code == CORE_OK ? training_after_load(training) : code;
}

/* A child of `id` that has started from it. */
static Training *make_child(CoreConfig config, const char *id) {
  char from[64], parent[INHERIT_PARENT], expected[INHERIT_PARENT];
  snprintf(from, sizeof from, "init.from=run:%s@2", id);
  set(&config, from);
  Training *child = make(&config);
  assert_ok(inherit(child, parent));
  snprintf(expected, sizeof expected, "%s@2", id);
  assert_string_equal(parent, expected);
  return child;
}

static void assert_refused(CoreConfig config, const char *pair, int code, const char *part) {
  char parent[INHERIT_PARENT];
  set(&config, pair);
  Training *child = make(&config);
  assert_int_equal(inherit(child, parent), code);
  assert_message("init.from = ");
  assert_message(part);
  training_destroy(&child);
}

/* ---- inherited parts --------------------------------------------------------------------------------------------- */

/* With unchanged settings the child is its parent, bit for bit; with another COM it parts from it, after the start. */
static void test_all(void **state) {
  (void)state;
  char id[CORE_RUN_ID];
  CoreConfig config = small_config();
  Training *parent = make_parent(&config, id), *same = make_child(config, id);
  set(&config, "ppo.com=64");
  Training *other = make_child(config, id);
  assert_int_equal(same->position.iteration, 2);
  assert_true(same_weights(same, parent) && same_weights(other, parent));
  assert_memory_equal(learner_as_ppo(&other->learner)->proximal.theta, learner_as_ppo(&parent->learner)->proximal.theta,
                      parent->agent.actor.n * sizeof(float));
  assert_int_equal(learner_as_ppo(&other->learner)->actor_optimizer.t,
                   learner_as_ppo(&parent->learner)->actor_optimizer.t);
  assert_memory_equal(same->coverage.record, parent->coverage.record, sizeof *parent->coverage.record);
  assert_true(coverage_summarize(same->coverage.record->count).states > 0);
  iterate(parent, 2);
  iterate(same, 2);
  iterate(other, 2);
  assert_true(same_weights(same, parent) && training_finished(same));
  assert_false(same_weights(other, parent));
  training_destroy(&parent);
  training_destroy(&same);
  training_destroy(&other);
}

static void test_weights(void **state) {
  (void)state;
  char id[CORE_RUN_ID];
  CoreConfig config = small_config();
  Training *parent = make_parent(&config, id);
  set(&config, "init.restore=weights");
  set(&config, "env.num=4"); /* worlds and rollouts may be others */
  set(&config, "ppo.num_steps=8");
  Training *child = make_child(config, id);
  assert_true(same_weights(child, parent));
  assert_int_equal(child->position.iteration, 0);
  const Ppo *ppo = learner_as_ppo(&child->learner);
  assert_int_equal(ppo->actor_optimizer.t, 0);
  for (size_t i = 0; i < child->agent.actor.n; i++) {
    assert_true(ppo->actor_optimizer.m[i] == 0 && ppo->actor_optimizer.v[i] == 0);
    assert_true(ppo->proximal.theta[i] == child->agent.actor.theta[i]);
  }
  iterate(child, 1);
  training_destroy(&parent);
  training_destroy(&child);
}

/* PPO has no proximal weights: a PPO-EWMA child starts them at the weights; the other way round they are left out. */
static void test_between_learners(void **state) {
  (void)state;
  char id[CORE_RUN_ID];
  CoreConfig ewma = small_config(), ppo = small_config();
  set(&ppo, "algo.name=ppo");
  Training *parent = make_parent(&ppo, id), *child = make_child(ewma, id);
  assert_true(same_weights(child, parent) && learner_as_ppo(&child->learner)->proximal.weight == 1);
  assert_memory_equal(learner_as_ppo(&child->learner)->proximal.theta, parent->agent.actor.theta,
                      parent->agent.actor.n * sizeof(float));
  iterate(child, 1);
  training_destroy(&parent);
  training_destroy(&child);
  parent = make_parent(&ewma, id);
  child = make_child(ppo, id);
  assert_true(same_weights(child, parent) && child->position.iteration == 2);
  iterate(child, 1);
  training_destroy(&parent);
  training_destroy(&child);
}

/* A critic with normalized values is useless without their statistics. */
static void test_units_of_values(void **state) {
  (void)state;
  char id[CORE_RUN_ID];
  CoreConfig config = small_config(), plain;
  set(&config, "init.restore=weights");
  plain = config;
  set(&config, "ppo.normalize_value=yes");
  Training *parent = make_parent(&config, id), *child = make_child(config, id);
  const double *units = learner_as_ppo(&child->learner)->value_moments;
  assert_true(units[0] > 1);
  assert_memory_equal(units, learner_as_ppo(&parent->learner)->value_moments, VALUE_MOMENTS * sizeof *units);
  assert_int_equal(learner_as_ppo(&child->learner)->actor_optimizer.t, 0);
  iterate(child, 1);
  training_destroy(&child);
  training_destroy(&parent);
  parent = make_parent(&plain, id);
  child = make_child(config, id); /* at first those of rewards */
  units = learner_as_ppo(&child->learner)->value_moments;
  assert_true(units[0] == 1 && units[1] == 0 && units[2] == 1);
  training_destroy(&child);
  training_destroy(&parent);
}

/* Random actions become rarer by the child's own settings, from its first iteration on. */
static void test_schedule_of_random_actions(void **state) {
  (void)state;
  char id[CORE_RUN_ID];
  CoreConfig config = small_config();
  set(&config, "algo.name=pqn");
  set(&config, "env.actions=discrete");
  set(&config, "pqn.exploration_fraction=0.25");
  Training *parent = make_parent(&config, id), *same = make_child(config, id);
  set(&config, "pqn.exploration_fraction=1");
  Training *child = make_child(config, id);
  assert_true(same->agent.epsilon == parent->agent.epsilon && same->agent.epsilon == config.pqn.epsilon_end);
  assert_true(child->agent.epsilon == pqn_epsilon(&config, 3) && child->agent.epsilon > 0.4);
  training_destroy(&parent);
  training_destroy(&same);
  training_destroy(&child);
}

/* DDR controllers: a parent's COM is not used as an epsilon, and the child's limits apply immediately. */
static void test_control_of_the_ddr(void **state) {
  (void)state;
  char id[CORE_RUN_ID];
  CoreConfig config = small_config();
  set(&config, "ppo.ddr_target=1e4");
  Training *parent = make_parent(&config, id), *same = make_child(config, id);
  const double com = learner_as_ppo(&parent->learner)->ddr.value;
  assert_true(com != 4 && learner_as_ppo(&same->learner)->ddr.value == com);
  set(&config, "ppo.com_max=0.5");
  Training *bounded = make_child(config, id);
  assert_true(com > 0.5 && learner_as_ppo(&bounded->learner)->ddr.value == 0.5);
  set(&config, "algo.name=ppo");
  Training *other = make_child(config, id);
  assert_true(learner_as_ppo(&other->learner)->ddr.value == config.ppo.epsilon);
  training_destroy(&parent);
  training_destroy(&same);
  training_destroy(&bounded);
  training_destroy(&other);
}

/* A curriculum's checkpoint holds no worlds, so a child may have another fixed set, whose random play has another box:
 * cells are recounted. */
static void test_coverage_of_other_levels(void **state) {
  (void)state;
  char id[CORE_RUN_ID];
  CoreConfig config = CONFIGURED_SMALL("env.task=random_s", "env.curriculum=sfl", "env.max_steps=16",
                                       "sfl.batch_size=32", "sfl.num_batches=1", "sfl.buffer_size=8",
                                       "sfl.rollout_steps=16", "ppo.minibatch_by=environments");
  Training *parent = make_parent(&config, id);
  set(&config, "env.level_count=2");
  Training *child = make_child(config, id);
  const CoverageRecord *before = parent->coverage.record;
  assert_true(memcmp(child->coverage.record->low, before->low, sizeof before->low) != 0);
  assert_true(coverage_summarize(child->coverage.record->count).states == 0);
  training_destroy(&parent);
  training_destroy(&child);
}

/* ---- incompatible parents ---------------------------------------------------------------------------------------- */

static void test_refusals(void **state) {
  (void)state;
  char id[CORE_RUN_ID], from[64];
  CoreConfig config = small_config(), weights;
  Training *parent = make_parent(&config, id);
  training_destroy(&parent);
  snprintf(from, sizeof from, "init.from=run:%s", id); /* its newest */
  set(&config, from);
  weights = config;
  set(&weights, "init.restore=weights");
  assert_refused(config, "net.width=32", CORE_USAGE, "net.width, net.depth");
  assert_refused(weights, "net.depth=3", CORE_USAGE, "net.width, net.depth");
  assert_refused(weights, "net.activation=relu", CORE_USAGE, "its net.activation is tanh, here it is relu");
  assert_refused(weights, "env.morphologies=chain", CORE_USAGE, "other features");
  assert_refused(config, "env.num=16", CORE_USAGE, "256 here");
  assert_refused(config, "ppo.num_steps=8", CORE_USAGE, "an iteration has 128 transitions there and 64 here");
  assert_refused(config, "train.total_steps=256", CORE_USAGE, "train.total_steps allows 2");
  assert_refused(config, "init.from=run:0123456789abcdef", CORE_USAGE, "no run 0123456789abcdef");
  snprintf(from, sizeof from, "init.from=run:%s@3", id);
  assert_refused(config, from, CORE_USAGE, "no checkpoint of iteration 3");
  assert_refused(config, "init.from=/nowhere/x.ckpt", CORE_USAGE, "no such file");
}

/* Equal weights, but inputs or values in other units. */
static void test_refused_units(void **state) {
  (void)state;
  static const char *const modes[] = {"init.restore=weights", "init.restore=all"};
  for (int mode = 0; mode < 2; mode++) {
    char id[CORE_RUN_ID], from[64];
    CoreConfig config = small_config(), plain = small_config();
    set(&config, "env.normalize_observations=cleanrl");
    set(&config, "ppo.normalize_value=yes");
    Training *parent = make_parent(&config, id);
    training_destroy(&parent);
    snprintf(from, sizeof from, "init.from=run:%s", id);
    set(&config, from), set(&config, modes[mode]);
    assert_refused(config, "env.normalize_observations=none", CORE_USAGE,
                   "its env.normalize_observations is cleanrl, here it is none");
    assert_refused(config, "ppo.normalize_value=no", CORE_USAGE, "its ppo.normalize_value is yes, here it is no");
    parent = make_parent(&plain, id);
    training_destroy(&parent);
    snprintf(from, sizeof from, "init.from=run:%s", id);
    set(&plain, from), set(&plain, modes[mode]);
    assert_refused(plain, "env.normalize_observations=stoix", CORE_USAGE,
                   "its env.normalize_observations is none, here it is stoix");
    if (mode == 1)
      assert_refused(plain, "env.normalize_rewards=cleanrl", CORE_USAGE,
                     "its env.normalize_rewards is none, here it is cleanrl");
  }
}

static void test_damaged(void **state) {
  (void)state;
  char id[CORE_RUN_ID], path[CORE_PATH_MAX], from[CORE_PATH_MAX + 16];
  CoreConfig config = small_config();
  Training *parent = make_parent(&config, id);
  training_destroy(&parent);
  assert_ok(store_path_run(root, id, "ckpt/iteration-000000000002.ckpt", path));
  FILE *file = fopen(path, "r+");
  fseek(file, -100, SEEK_END);
  fputs("damage", file);
  fclose(file);
  snprintf(from, sizeof from, "init.from=%s", path);
  assert_refused(config, from, CORE_FAIL, "damaged");
  write_text(path, "no checkpoint");
  assert_refused(config, from, CORE_FAIL, "damaged");
}

static void test_names(void **state) {
  (void)state;
  static const char *const bad[] = {"run:",
                                    "run:123",
                                    "run:0123456789abcdeg",
                                    "run:0123456789abcdef0",
                                    "run:../../etc/passwd",
                                    "run:0123456789abcdef@",
                                    "run:0123456789abcdef@-1",
                                    "run:0123456789abcdef@x",
                                    "run:0123456789abcdef/x",
                                    "run:0123456789ABCDEF"};
  CoreOrigin origin;
  CoreConfig config = core_config_default();

  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(core_origin_parse(bad[i], &origin), CORE_USAGE);
    assert_message("init.from = ");
    assert_ok(core_config_set(&config, "init.from", bad[i]));
    assert_int_equal(core_config_check(&config), CORE_USAGE); /* also when a sweep is planned */
  }

  assert_ok(core_origin_parse("run:0123456789abcdef@12", &origin));
  assert_true(origin.is_run && origin.iteration == 12);
  assert_string_equal(origin.run, "0123456789abcdef");

  assert_ok(core_origin_parse("run:0123456789abcdef", &origin));
  assert_true(origin.is_run && origin.iteration == -1);
  assert_ok(core_origin_parse("here/x.ckpt", &origin));
  assert_false(origin.is_run);
}

/* ---- on a device ----------------------------------------------------------------------------------------------- */

/* Asserts equal weights up to the order of sums in products; tolerance 0: identical bits. */
static void assert_weights_near(const Training *there, const float *theirs, const Training *here, const float *ours,
                                double tolerance) {
  const size_t n = here->agent.actor.n;
  float *copy = core_memory_allocate(n * sizeof *copy);
  double apart = 0, norm = 0;
  core_device_to_host(there->device, copy, theirs, n * sizeof *copy);
  for (size_t i = 0; i < n; i++) {
    apart += pow((double)copy[i] - (double)ours[i], 2);
    norm += pow((double)ours[i], 2);
  }
  assert_true(sqrt(apart) <= tolerance * sqrt(norm));
  free(copy);
}

/* A child on a device takes what a parent on the CPU left, and makes what that did not have
 * (PPO's proximal weights). */
static void check_on_a_device(CoreConfig config, const char *id) {
  set(&config, "algo.name=ppo_ewma");
  Training *here = make_child(config, id);
  set(&config, "train.device=cuda");
  setenv("CORE_DEVICE", "emulated", 1);
  Training *there = make_child(config, id);
  unsetenv("CORE_DEVICE");
  assert_true(there->device != NULL);
  assert_weights_near(there, there->agent.actor.theta, here, here->agent.actor.theta, 0);
  assert_weights_near(there, learner_as_ppo(&there->learner)->proximal.theta, here,
                      learner_as_ppo(&here->learner)->proximal.theta, 0);
  assert_int_equal(there->position.iteration, here->position.iteration);
  iterate(there, 1), iterate(here, 1);
  assert_weights_near(there, there->agent.actor.theta, here, here->agent.actor.theta, 1e-3);
  training_destroy(&there);
  training_destroy(&here);
}

static void test_on_a_device(void **state) {
  (void)state;
  char id[CORE_RUN_ID];
  CoreConfig config = small_config();
  set(&config, "algo.name=ppo");
  Training *parent = make_parent(&config, id);
  training_destroy(&parent);
  check_on_a_device(config, id);
  set(&config, "init.restore=weights");
  check_on_a_device(config, id);
}

/* Right checksums, wrong numbers: 2^63 more iterations, or fewer than none. */
static void test_positions_where_no_run_can_be(void **state) {
  const int64_t wrong[] = {-1, INT64_MIN, INT64_MAX, -((int64_t)1 << 31)};
  const CoreConfig config = CONFIGURED_SMALL("train.seed=5");
  Training *training = make(&config);
  iterate(training, 1);
  training_before_save(training);
  const TrainingPosition good = training->position;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    int64_t *const fields[] = {&training->position.iteration, &training->position.count.actor_updates,
                               &training->position.count.critic_updates};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
      training->position = good;
      *fields[f] = wrong[i];
      assert_int_equal(training_after_load(training), CORE_FAIL);
      assert_message("which is impossible");
    }
  }
  training->position = good;
  assert_int_equal(training_after_load(training), CORE_OK);
  training_destroy(&training);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    WORKSPACE_TEST(test_all), WORKSPACE_TEST(test_weights), WORKSPACE_TEST(test_on_a_device),
    WORKSPACE_TEST(test_between_learners),
    WORKSPACE_TEST(test_coverage_of_other_levels), WORKSPACE_TEST(test_schedule_of_random_actions),
    WORKSPACE_TEST(test_control_of_the_ddr),
    WORKSPACE_TEST(test_units_of_values), WORKSPACE_TEST(test_refusals), WORKSPACE_TEST(test_refused_units),
    WORKSPACE_TEST(test_damaged), cmocka_unit_test(test_names),
    cmocka_unit_test(test_positions_where_no_run_can_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
