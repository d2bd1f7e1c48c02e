/* Work of each rank of a run with SFL at paper scale, 1 to 16 ranks: none has more than 5 % above the mean. The table
 * that it prints counts what a rank plans: environments, rows of a minibatch, new levels, levels of a search, attempts
 * of an evaluation. */
#include "test.h"

#include "core/device/arena.h"
#include "trainer/envs/tasks/tasks.h"
#include "trainer/evaluate/curriculum.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/rollout/rollout.h"
#include "trainer/update/minibatch.h"

typedef enum Part { WORLDS, ROWS, NEW_LEVELS, SEARCHED, ATTEMPTS, PARTS } Part;
static const char *const names[PARTS] = {"environments", "rows of a minibatch", "new levels", "levels of a search",
                                         "attempts of an evaluation"};

/* fig11_sfl.ini's million environments, divided by 64. */
static CoreConfig make_config(const char *shuffle) {
  static const char *const pairs[] = {
    "env.task=random_s", "env.curriculum=sfl", "env.num=16384", "env.level_count=100", "ppo.num_steps=256",
    "ppo.num_minibatches=1024", "ppo.minibatch_by=environments", "sfl.batch_size=4096", "sfl.num_batches=16",
    "sfl.placement=spread", "sfl.buffer_size=8192", "eval.episodes=2000"};
  CoreConfig config = core_config_default();
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    assert_int_equal(core_config_set_pair(&config, pairs[i]), CORE_OK);
  assert_int_equal(core_config_set(&config, "ppo.shuffle", shuffle), CORE_OK);
  assert_int_equal(core_config_check(&config), CORE_OK);
  return config;
}

/* Registers the buffers of rank `rank` of `ranks`, without memory, and reads the sizes of its parts. */
static void plan_rank(const CoreConfig *config, const Env *env, int ranks, int rank, double work[PARTS]) {
  const int all = (int)config->env.num, worlds = all / ranks;
  const Shards shards = {.global_worlds = all, .first_world = rank * worlds, .worlds = worlds,
                         .global_shards = ranks, .shards = 1};
  const int attempts = evaluate_attempts(config->eval.episodes, env->level_count);
  CoreArena *arena = core_arena_create("test");
  Rollout rollout;
  Minibatch minibatch;
  Curriculum curriculum;
  rollout_register(&rollout, config, env, &shards, (int)config->ppo.num_steps, arena);
  assert_int_equal(minibatch_register(&minibatch, config, &rollout, arena), CORE_OK);
  curriculum_register(&curriculum, config, env, &shards, arena);
  work[WORLDS] = shards.worlds;
  work[ROWS] = minibatch.capacity;
  work[NEW_LEVELS] = curriculum.own_generated;
  work[SEARCHED] = (double)curriculum.search.own * curriculum.search.batches;
  work[ATTEMPTS] = (double)(attempts * (rank + 1) / ranks - attempts * rank / ranks);
  core_arena_destroy(&arena);
}

/* Returns the largest rank's work relative to the mean, per part. */
static void measure(const CoreConfig *config, const Env *env, int ranks, double excess[PARTS], double mean[PARTS]) {
  double most[PARTS] = {0};
  for (int part = 0; part < PARTS; part++) mean[part] = 0;
  for (int rank = 0; rank < ranks; rank++) {
    double work[PARTS];
    plan_rank(config, env, ranks, rank, work);
    for (int part = 0; part < PARTS; part++) {
      mean[part] += work[part] / ranks;
      most[part] = work[part] > most[part] ? work[part] : most[part];
    }
  }
  for (int part = 0; part < PARTS; part++) excess[part] = most[part] / mean[part];
}

static void test_equal_work(void **state) {
  (void)state;
  const CoreConfig config = make_config("blocks");
  double alone[PARTS], mean[PARTS], excess[PARTS];
  Env *env;
  assert_int_equal(env_create(&config, 1, 0, &env), CORE_OK);
  measure(&config, env, 1, excess, alone);
  for (int ranks = 1; ranks <= 16; ranks *= 2) {
    measure(&config, env, ranks, excess, mean);
    for (int part = 0; part < PARTS; part++) {
      print_message("%2d ranks, %-25s mean %9.1f, of one rank %6.2f %%, largest %.3f times the mean\n", ranks,
                    names[part], mean[part], 100 * mean[part] / alone[part], excess[part]);
      assert_true(excess[part] <= 1.05);
      assert_true(mean[part] * ranks <= 1.05 * alone[part]);
    }
  }
  env_destroy(&env);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_equal_work)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
