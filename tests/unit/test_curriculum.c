/* Training on new levels: assignment of levels to worlds, searches of the buffer, dependence on (seed, iteration,
 * weights) only, and complete checkpoints. */
#include "test.h"

#include "core/memory.h"
#include "sim/batch/batch.h"
#include "sim/batch/level_stream.h"
#include "sim/levels/generate.h"
#include "store_workspace.h"
#include "training_tools.h"

enum { WORLDS = 16, SAMPLED = 4, KEPT = 8 };

static CoreConfig small_config(void) {
  return CONFIGURED(
    "env.task=random_s", "env.curriculum=sfl", "env.level_count=6", "env.num=16", "env.max_steps=12",
    "ppo.num_steps=16",
    "ppo.num_minibatches=4", "ppo.minibatch_by=environments", "ppo.epochs=1", "ppo.learning_rate=1e-3", "net.width=16",
    "net.depth=2", "eval.episodes=12", "eval.count=1", "train.total_steps=2560", "train.threads=1", "train.seed=3",
    "metrics.states=100", "sfl.sampled_ratio=0.25", "sfl.batch_size=48", "sfl.num_batches=1", "sfl.buffer_size=8",
    "sfl.rollout_steps=24", "sfl.period=3");
}

/* ---- assignment of levels to worlds ------------------------------------------------------------------------------ */

/* The first observation of world w in the last rollout must be that of `level`. */
static void assert_began_on(const Training *training, int w, const SimLevel *level) {
  SimBatchOptions options = sim_batch_options_default();
  SimBatch *batch;
  SimLevel copy = *level;
  assert_ok(sim_batch_create(&options, &(SimLevelSet){&copy, 1, level->size}, &batch));
  const size_t length = (size_t)sim_batch_observation_length(batch);
  assert_int_equal(training->rollout.features, length);
  float *expected = core_memory_zero_allocate(length, sizeof *expected);
  sim_batch_reset(batch, expected);
  assert_memory_equal(training->rollout.observations + (size_t)w * length, expected, length * sizeof *expected);
  free(expected);
  sim_batch_destroy(&batch);
}

/* New levels first, those of (seed, iteration); then the buffer's, which stay until the next search. */
static void test_levels_of_an_iteration(void **state) {
  (void)state;
  CoreConfig config = small_config();
  Training *training = make(&config);
  SimLevelStream *stream;
  SimLevel fresh[WORLDS - SAMPLED], kept;

  assert_ok(sim_level_stream_create(SIM_SIZE_S, &stream));
  for (int iteration = 1; iteration <= 5; iteration++) {
    const Curriculum *curriculum = training->curriculum;
    const uint64_t searched = iteration < 4 ? 1 : 4;

    iterate(training, 1);
    assert_int_equal(curriculum->generated, WORLDS - SAMPLED);
    sim_level_stream_draw(stream, UINT64_C(4) << 32 ^ (uint64_t)iteration, 0, WORLDS - SAMPLED, fresh, NULL);

    for (int w = 0; w < WORLDS - SAMPLED; w++) assert_began_on(training, w, &fresh[w]);
    assert_int_equal(curriculum->buffer.count, KEPT);

    for (int w = WORLDS - SAMPLED; w < WORLDS; w++) {
      int i = curriculum->slot[w] - (WORLDS - SAMPLED);
      assert_in_range(i, 0, KEPT - 1);
      const uint32_t number = curriculum->buffer.entry[i].number;
      assert_ok(sim_generate_level(SIM_SIZE_S, UINT64_C(4) << 32 ^ searched, number, &kept));
      assert_began_on(training, w, &kept);
    }

    for (int w = 0; w < WORLDS; w++) /* auto-resets stay on the level */
      assert_int_equal(training->rollout.level[w], curriculum->slot[w]);
  }

  sim_level_stream_destroy(&stream);
  training_destroy(&training);
}

/* Spread over the worlds: every other part of them, and the same levels as where they are the first. */
static void test_spread(void **state) {
  (void)state;
  CoreConfig config = small_config();
  set(&config, "sfl.placement=spread");
  Training *training = make(&config);
  SimLevelStream *stream;
  SimLevel fresh[WORLDS - SAMPLED];
  int next = 0;
  assert_ok(sim_level_stream_create(SIM_SIZE_S, &stream));
  iterate(training, 1);
  sim_level_stream_draw(stream, UINT64_C(4) << 32 ^ UINT64_C(1), 0, WORLDS - SAMPLED, fresh, NULL);
  for (int w = 0; w < WORLDS; w++) {
    const bool is_new = (w + 1) * (WORLDS - SAMPLED) / WORLDS > w * (WORLDS - SAMPLED) / WORLDS;
    assert_int_equal(training->curriculum->slot[w] < WORLDS - SAMPLED, is_new);
    if (!is_new) continue;
    assert_int_equal(training->curriculum->slot[w], next);
    assert_began_on(training, w, &fresh[next++]);
  }
  assert_int_equal(next, WORLDS - SAMPLED);
  sim_level_stream_destroy(&stream);
  training_destroy(&training);
}

/* 2 to 16 ranks generate equally many new levels, to one, and each plays sfl.batch_size levels at a time. */
static void test_ranks_share_the_work(void **state) {
  (void)state;
  CoreConfig config = small_config();
  set(&config, "sfl.placement=spread");
  set(&config, "sfl.num_batches=16");
  Training *training = make(&config);
  for (int ranks = 2; ranks <= WORLDS; ranks *= 2) {
    int next = 0;
    for (int rank = 0; rank < ranks; rank++) {
      const Shards shards = {.global_worlds = WORLDS, .worlds = WORLDS / ranks, .first_world = rank * WORLDS / ranks,
                             .global_shards = ranks, .shards = 1};
      CoreArena *arena = core_arena_create("test");
      Curriculum curriculum;
      curriculum_register(&curriculum, &config, training->env, &shards, arena);
      assert_int_equal(curriculum.first_generated, next);
      assert_true(abs(curriculum.own_generated * ranks - (WORLDS - SAMPLED)) < ranks);
      assert_int_equal(curriculum.search.own, config.sfl.batch_size);
      assert_int_equal(curriculum.search.batches * ranks, 16);
      next += curriculum.own_generated;
      core_arena_destroy(&arena);
    }
    assert_int_equal(next, WORLDS - SAMPLED);
  }
  training_destroy(&training);
}

/* Uniform with replacement: 8 levels in 8000 draws, 1000 each with a standard deviation of 30. */
static void test_draws_are_uniform(void **state) {
  (void)state;
  CoreConfig config = small_config();
  int drawn[KEPT] = {0}, repeated = 0;
  set(&config, "env.num=1000");
  set(&config, "ppo.num_minibatches=1");
  set(&config, "sfl.sampled_ratio=1");
  Training *training = make(&config);
  for (int iteration = 1; iteration <= 8; iteration++) {
    int32_t before[1000];
    memcpy(before, training->curriculum->slot, sizeof before);
    iterate(training, 1);
    for (int w = 0; w < 1000; w++) {
      drawn[training->curriculum->slot[w]]++;
      repeated += iteration > 1 && training->curriculum->slot[w] == before[w];
    }
  }
  for (int i = 0; i < KEPT; i++) assert_in_range(drawn[i], 850, 1150);
  assert_in_range(repeated, 875 - 150, 875 + 150); /* an eighth of 7000 */
  training_destroy(&training);
}

static void test_schedule(void **state) {
  (void)state;
  CoreConfig config = small_config();
  Training *training = make(&config);
  for (int iteration = 1; iteration <= 7; iteration++) {
    bool due = iteration == 1 || iteration == 4 || iteration == 7;
    assert_int_equal(curriculum_search_due(training->curriculum, iteration), due);
    StoreIteration row = iterate(training, 1);
    assert_int_equal(!isnan(row.search_solve_rate), due);
    assert_int_equal(!isnan(row.buffer_learnability), due);
    assert_int_equal(training->curriculum->position.searched, iteration - (iteration - 1) % 3);
    assert_false(isnan(row.solve_rate_new) || isnan(row.solve_rate_sampled));
  }
  training_destroy(&training);
}

/* Without worlds on the buffer nothing is searched; without new levels all play from it. */
static void test_all_or_none_sampled(void **state) {
  (void)state;
  CoreConfig config = small_config();
  set(&config, "sfl.sampled_ratio=0");
  Training *training = make(&config);
  StoreIteration row = iterate(training, 2);
  assert_false(curriculum_search_due(training->curriculum, 1));
  assert_int_equal(curriculum_levels(training->curriculum), WORLDS);
  assert_true(isnan(row.solve_rate_sampled) && !isnan(row.solve_rate_new));
  assert_float_equal(row.solve_rate, row.solve_rate_new, 1e-12);
  training_destroy(&training);
  set(&config, "sfl.sampled_ratio=1");
  training = make(&config);
  row = iterate(training, 2);
  assert_int_equal(curriculum_levels(training->curriculum), KEPT);
  assert_true(!isnan(row.solve_rate_sampled) && isnan(row.solve_rate_new));
  training_destroy(&training);
}

/* Full observations, and a separate fixed set for evaluation. */
static void test_evaluation_keeps_its_levels(void **state) {
  (void)state;
  CoreConfig config = small_config();
  Training *training = make(&config);
  StoreEvaluation before, after;
  assert_int_equal(training->plan.observation_length, 140);
  assert_int_equal(training->evaluator.env->level_count, 6);
  training_evaluate(training, &before);
  assert_int_equal(before.episodes, 12);
  Training *other = make(&config);
  iterate(other, 3);
  memcpy(other->agent.actor.theta, training->agent.actor.theta, training->agent.actor.n * sizeof(float));
  other->position.iteration = 0; /* same random actions */
  training_evaluate(other, &after);
  assert_float_equal(before.solve_rate, after.solve_rate, 0);
  assert_float_equal(before.episode_return, after.episode_return, 0);
  training_destroy(&training);
  training_destroy(&other);
}

/* ---- independence ------------------------------------------------------------------------------------------------ */

static void assert_same_training(const char *const *pairs) {
  CoreConfig config = small_config(), changed = config;
  for (; *pairs; pairs++) set(&changed, *pairs);
  Training *plain = make(&config);
  iterate(plain, 5);
  Training *other = make(&changed);
  iterate(other, 5);
  assert_true(same_weights(plain, other));
  training_destroy(&plain);
  training_destroy(&other);
}

static void test_threads_and_batches_do_not_matter(void **state) {
  (void)state;
  assert_same_training((const char *const[]){"train.threads=3", NULL});
  assert_same_training((const char *const[]){"sfl.batch_size=8", "sfl.num_batches=6", NULL});
  assert_same_training((const char *const[]){"checkpoint.every=5", NULL});
}

static void test_seeds_matter(void **state) {
  (void)state;
  CoreConfig config = small_config();
  Training *one = make(&config);
  set(&config, "train.seed=4294967295");
  Training *other = make(&config);
  iterate(one, 1);
  iterate(other, 1);
  assert_int_not_equal(one->curriculum->position.key, other->curriculum->position.key);
  assert_true(memcmp(one->rollout.observations, other->rollout.observations, 140 * sizeof(float)) != 0);
  training_destroy(&one);
  training_destroy(&other);
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

/* Resumes a training from the state that `saved` wrote after `iterations`. */
static Training *resume(const CoreConfig *config, const char *directory, int64_t iterations) {
  Checkpoint checkpoint;
  int64_t iteration;
  Training *training = NULL;
  assert_ok(training_plan(config, &training));
  assert_ok(training_allocate(training));
  assert_ok(checkpoint_open(directory, "0123456789abcdef", 2, &checkpoint));
  training_add_sections(training, &checkpoint);
  assert_ok(checkpoint_read_newest(&checkpoint, &iteration));
  assert_int_equal(iteration, iterations);
  assert_ok(training_after_load(training));
  return training;
}

/* Stopped and resumed after each of 6 iterations, the bits after the 7th are the same. */
static void test_resumes_exactly(void **state) {
  (void)state;
  char directory[CORE_PATH_MAX];
  CoreConfig config = small_config();
  Checkpoint checkpoint;
  Training *undisturbed = make(&config), *saved = make(&config);

  assert_ok(core_files_path(directory, "%s/ckpt", root));
  assert_ok(checkpoint_open(directory, "0123456789abcdef", 2, &checkpoint));
  training_add_sections(saved, &checkpoint);

  const StoreIteration expected = iterate(undisturbed, 7);
  for (int stop = 1; stop <= 6; stop++) {
    iterate(saved, 1);
    training_before_save(saved);
    assert_ok(checkpoint_write(&checkpoint, stop));

    Training *resumed = resume(&config, directory, stop);
    StoreIteration row = iterate(resumed, 7 - stop);
    assert_true(same_weights(undisturbed, resumed));
    assert_float_equal(row.kl, expected.kl, 0);
    assert_float_equal(row.solve_rate_new, expected.solve_rate_new, 0);
    assert_float_equal(row.solve_rate_sampled, expected.solve_rate_sampled, 0);
    assert_memory_equal(undisturbed->curriculum->buffer.entry, resumed->curriculum->buffer.entry,
                        KEPT * sizeof(LevelBufferEntry));
    training_destroy(&resumed);
  }

  training_destroy(&undisturbed);
  training_destroy(&saved);
}

static void test_impossible_buffers_are_refused(void **state) {
  (void)state;
  CoreConfig config = small_config();
  Training *training = make(&config);
  iterate(training, 2);
  training_before_save(training);
  const CurriculumPosition good = training->curriculum->position;
  static const CurriculumPosition bad[] = {{1, 0, KEPT}, {1, -5, KEPT}, {1, 3, KEPT}, {1, 1, KEPT - 1},
                                           {1, 1, KEPT + 1}, {1, 1, 0}, {1, 1, INT64_MAX}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    training->curriculum->position = bad[i];
    assert_int_equal(training_after_load(training), CORE_USAGE);
    assert_message("saved curriculum");
  }
  training->curriculum->position = good;
  for (int i = 0; i < KEPT; i++) training->curriculum->buffer.entry[i].number = UINT32_MAX - (uint32_t)i;
  assert_ok(training_after_load(training)); /* every number is some level */
  iterate(training, 1);
  training_destroy(&training);
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static void test_bad_settings(void **state) {
  (void)state;
  static const struct { const char *pair, *part; } bad[] = {
    {"env.task=loco512", "needs a level generator"},
    {"env.reset=new", "env.reset = new is not allowed; leave it at level_set"},
    {"env.max_steps=17", "ppo.num_steps = 16 must be at least env.max_steps = 17"},
    {"sfl.rollout_steps=11", "sfl.rollout_steps = 11 must be at least env.max_steps = 12"},
    {"sfl.buffer_size=49", "sfl.buffer_size = 49 is more than the 48 levels searched"},
    {"sfl.num_batches=1048576", "exceeds the maximum of 1073741824"},
    {"ppo.num_minibatches=32", "ppo.num_minibatches = 32"},
    {"ppo.num_minibatches=1024", "ppo.num_minibatches = 1024"},
  };

  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CoreConfig config = small_config();
    if (strstr(bad[i].pair, "num_batches")) set(&config, "sfl.batch_size=2048");
    set(&config, bad[i].pair);
    Training *training;
    assert_int_equal(training_plan(&config, &training), CORE_USAGE);
    assert_null(training);
    assert_message(bad[i].part);
  }

  static const char *const out_of_range[] = {
    "sfl.sampled_ratio=-0.1", "sfl.sampled_ratio=1.01", "sfl.sampled_ratio=nan", "sfl.period=0", "sfl.buffer_size=0",
    "sfl.max_episodes=0", "env.curriculum=plr"};
  CoreConfig config = small_config();
  for (size_t i = 0; i < sizeof out_of_range / sizeof *out_of_range; i++)
    assert_int_equal(core_config_set_pair(&config, out_of_range[i]), CORE_USAGE);
}

/* The paper's largest recipe: refused before anything is allocated, with numbers and settings. */
static void test_memory_is_estimated(void **state) {
  (void)state;
  CoreConfig config = small_config();
  static const char *const pairs[] = {
    "env.task=random_l", "env.num=1048576", "env.max_steps=256", "ppo.num_steps=256", "ppo.num_minibatches=1024",
    "sfl.batch_size=4096", "sfl.num_batches=1024", "sfl.buffer_size=8192", "sfl.rollout_steps=512"};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) set(&config, pairs[i]);
  Training *training;
  assert_ok(training_plan(&config, &training));
  print_message("# 1 048 576 worlds on L: worlds and levels %.3g GB, buffers %.3g GB\n",
                training->plan.environment_bytes / 1e9, training->plan.buffer_bytes / 1e9);
  /* 532 480 places of at least a level and its observation, 1 048 576 worlds of some 2 KiB */
  assert_true(training->plan.environment_bytes > 532480 * (2080.0 + 2716) + 1048576 * 2000.0);
  assert_true(training->plan.environment_bytes < 20e9);
  training->plan.machine_bytes = 64e9;
  assert_int_equal(training_check_memory(training), CORE_FAIL);
  assert_message("env.num");
  assert_message("sfl.batch_size");
  training_destroy(&training);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_spread), cmocka_unit_test(test_ranks_share_the_work),
    cmocka_unit_test(test_levels_of_an_iteration),
    cmocka_unit_test(test_draws_are_uniform),
    cmocka_unit_test(test_schedule),
    cmocka_unit_test(test_all_or_none_sampled),
    cmocka_unit_test(test_evaluation_keeps_its_levels),
    cmocka_unit_test(test_threads_and_batches_do_not_matter),
    cmocka_unit_test(test_seeds_matter),
    WORKSPACE_TEST(test_resumes_exactly),
    cmocka_unit_test(test_impossible_buffers_are_refused),
    cmocka_unit_test(test_bad_settings),
    cmocka_unit_test(test_memory_is_estimated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
