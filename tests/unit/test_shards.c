/* Division of a run: worlds over ranks and shards, minibatches into pieces, gradients from pieces. A rank is
 * simulated by giving a rollout its Shards; tests/mpi tests the communication. */
#include "test.h"

#include "core/device/arena.h"
#include "trainer/update/gradient.h"
#include "trainer/update/minibatch.h"
#include "trainer/update/reduce.h"

enum { STEPS = 10, WORLDS = 12, TOTAL = STEPS * WORLDS, PARTS = 3 };

/* ---- plans ----------------------------------------------------------------------------------------------------- */

static CoreConfig config_of(int64_t worlds, bool deterministic, int64_t shards) {
  CoreConfig config = core_config_default();
  config.env.num = worlds;
  config.comm.deterministic = deterministic;
  config.comm.shards = shards;
  return config;
}

static void test_plan_of_one_process(void **state) {
  Shards shards;
  CoreConfig plain = config_of(12, false, 5), ordered = config_of(12, true, 4), wrong = config_of(12, true, 5);
  assert_int_equal(shards_plan(&plain, &shards), CORE_OK); /* comm.shards means nothing then */
  assert_int_equal(shards.global_shards, 1);
  assert_int_equal(shards.worlds, 12);
  assert_int_equal(shards_plan(&ordered, &shards), CORE_OK);
  assert_int_equal(shards.shards, 4);
  assert_int_equal(shards_worlds(&shards), 3);
  assert_int_equal(shards_plan(&wrong, &shards), CORE_USAGE);
  assert_message("env.num = 12");
  assert_message("comm.shards = 5");
}

/* Chosen by hand: the divisors up to 64 that have most divisors themselves, the smallest of equals. */
static void test_chosen_shards(void **state) {
  const int cases[][2] = {{1, 1}, {7, 7}, {12, 12}, {2048, 64}, {1536, 48}, {64, 64}, {60, 60}, {720, 60}, {97 * 2, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(shards_choose(cases[i][0]), cases[i][1]);
}

static Shards shards_of_rank(int rank, int ranks, int global_shards) {
  return (Shards){.global_worlds = WORLDS, .worlds = WORLDS / ranks, .first_world = WORLDS / ranks * rank,
                  .global_shards = global_shards, .shards = global_shards / ranks, .ordered = global_shards > ranks};
}

static void test_rows(void **state) {
  for (uint32_t row = 0; row < TOTAL; row++) {
    int owners = 0;
    for (int rank = 0; rank < 3; rank++) {
      const Shards shards = shards_of_rank(rank, 3, 3);
      const int64_t own = shards_row(&shards, row);
      if (own < 0) continue;
      owners++;
      assert_int_equal(own / shards.worlds, row / WORLDS);
      assert_int_equal(own % shards.worlds + shards.first_world, row % WORLDS);
    }
    assert_int_equal(owners, 1);
  }
}

/* ---- minibatches ----------------------------------------------------------------------------------------------- */

typedef struct Fixture {
  CoreArena *arena;
  Ops *ops;
  Rollout rollout;
  Minibatch minibatch;
  CoreConfig config;
  float *advantages, *targets;   /* the row's number in the run's rollout */
} Fixture;

static Fixture *make(const char *by, Shards shards) {
  Fixture *f = calloc(1, sizeof *f);
  f->config = config_of(WORLDS, false, 0);
  f->config.ppo.num_steps = STEPS;
  f->config.ppo.num_minibatches = PARTS;
  snprintf(f->config.ppo.minibatch_by, sizeof f->config.ppo.minibatch_by, "%s", by);
  const Env env = {.worlds = shards.worlds, .observation_length = 1, .level_count = 1,
                   .head = {.factors = 1, .logits = 2, .size = {2}}};
  f->arena = core_arena_create("test");
  rollout_register(&f->rollout, &f->config, &env, &shards, STEPS, f->arena);
  assert_int_equal(minibatch_register(&f->minibatch, &f->config, &f->rollout, f->arena), CORE_OK);
  CORE_ARENA(f->arena, f->advantages, TOTAL, "advantages");
  CORE_ARENA(f->arena, f->targets, TOTAL, "targets");
  assert_int_equal(core_arena_commit(f->arena), CORE_OK);
  assert_int_equal(ops_cpu_create(1, TOTAL, 16, &f->ops), CORE_OK);
  for (uint32_t row = 0; row < TOTAL; row++) {
    int64_t own = shards_row(&shards, row);
    if (own >= 0) f->advantages[own] = f->targets[own] = (float)row;
  }
  return f;
}

static void destroy(Fixture *f) {
  ops_destroy(&f->ops);
  core_arena_destroy(&f->arena);
  free(f);
}

/* The parts of one epoch: part_of[row] is which one a row of the run came in. */
static void go_through(Fixture *f, int part_of[TOTAL], int *pieces) {
  const Shards *shards = &f->rollout.shards;
  minibatch_shuffle(&f->minibatch, f->ops, &f->rollout, 5, 1, 0);
  for (int m = 0; m < PARTS; m++) {
    int shard_before = 0;
    minibatch_select(&f->minibatch, f->ops, &f->rollout, m);
    while (minibatch_next(&f->minibatch, f->ops, &f->rollout, f->advantages, f->targets)) {
      ++*pieces;
      assert_in_range(f->minibatch.rows, 1, f->minibatch.capacity);
      assert_true(f->minibatch.shard >= shard_before);
      shard_before = f->minibatch.shard;
      for (int i = 0; i < f->minibatch.rows; i++) {
        const int row = (int)f->minibatch.targets[i], world = row % WORLDS - shards->first_world;
        assert_int_equal(f->minibatch.index[i], row);
        assert_int_equal(part_of[row], -1);
        assert_int_equal(world / shards_worlds(shards), f->minibatch.shard);
        part_of[row] = m;
      }
    }
  }
}

/* Any division into ranks and shards: each transition comes once, in the part in which one process has it. */
static void check_divided(const char *by, int ranks, int global_shards) {
  int alone[TOTAL], divided[TOTAL], pieces = 0;
  for (int i = 0; i < TOTAL; i++) alone[i] = divided[i] = -1;
  Fixture *f = make(by, shards_alone(WORLDS));
  go_through(f, alone, &pieces);
  assert_int_equal(pieces, PARTS);
  destroy(f);
  for (int rank = 0; rank < ranks; rank++) {
    f = make(by, shards_of_rank(rank, ranks, global_shards));
    go_through(f, divided, &pieces);
    destroy(f);
  }
  assert_memory_equal(alone, divided, sizeof alone);
}

static void test_same_parts_for_any_division(void **state) {
  const int cases[][2] = {{2, 2}, {3, 3}, {4, 4}, {12, 12}, {1, 12}, {2, 12}, {3, 12}, {1, 4}, {6, 12}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check_divided("transitions", cases[i][0], cases[i][1]);
    check_divided("environments", cases[i][0], cases[i][1]);
  }
}

/* More rows than the buffers hold, which chance hardly ever brings: the buffers are made too small here. */
static void test_second_pieces(void **state) {
  int once[TOTAL], pieces = 0;
  for (int i = 0; i < TOTAL; i++) once[i] = -1;
  Fixture *f = make("transitions", shards_of_rank(0, 1, 2));
  f->minibatch.capacity = 7;
  go_through(f, once, &pieces);
  assert_true(pieces >= TOTAL / 7);
  for (int i = 0; i < TOTAL; i++) assert_true(once[i] >= 0);
  destroy(f);
}

static void test_room(void **state) {
  CoreConfig config = config_of(2048, false, 0);
  const Shards alone = shards_alone(2048);
  const Shards four = {.global_worlds = 2048, .worlds = 512, .global_shards = 4, .shards = 1};
  assert_int_equal(minibatch_capacity(&config, &alone, false), 16384);
  assert_int_equal(minibatch_capacity(&config, &four, true), 4096 + 6 * 64 + 1);
  snprintf(config.ppo.minibatch_by, sizeof config.ppo.minibatch_by, "environments");
  assert_int_equal(minibatch_capacity(&config, &four, true), 256 * (16 + 6 * 4 + 1));
  config.ppo.num_minibatches = 1;
  assert_int_equal(minibatch_capacity(&config, &four, true), 256 * 512); /* no more than all that it has */
}

/* Moments over shards against those of all values at once. */
static void test_moments_of_shards(void **state) {
  Fixture *f = make("transitions", shards_of_rank(0, 1, 4));
  float scratch[2 * STEPS * WORLDS / 4], ones[TOTAL];
  Moments all, folded, difference;
  for (int i = 0; i < TOTAL; i++) ones[i] = f->advantages[i] + 1;
  f->ops->moments(f->ops, f->advantages, NULL, TOTAL, &all);
  reduce_rollout_moments(f->ops, &f->rollout.shards, f->advantages, NULL, STEPS, scratch, &folded);
  assert_true(folded.n == TOTAL && fabs(folded.mean - all.mean) < 1e-12 * all.mean);
  assert_true(fabs(folded.m2 - all.m2) < 1e-12 * all.m2 && fabs(folded.m4 - all.m4) < 1e-12 * all.m4);
  reduce_rollout_moments(f->ops, &f->rollout.shards, ones, f->advantages, STEPS, scratch, &difference);
  assert_true(difference.mean == 1 && difference.m2 == 0);

  minibatch_shuffle(&f->minibatch, f->ops, &f->rollout, 5, 1, 0);
  double sum = 0;
  for (int m = 0; m < PARTS; m++) {
    minibatch_select(&f->minibatch, f->ops, &f->rollout, m);
    minibatch_advantage_moments(&f->minibatch, f->ops, &f->rollout, f->advantages, &folded);
    assert_true(folded.n == TOTAL / PARTS);
    sum += folded.mean / PARTS;
    assert_true(minibatch_next(&f->minibatch, f->ops, &f->rollout, f->advantages, f->targets)); /* begins again */
  }
  assert_true(fabs(sum - all.mean) < 1e-12 * all.mean);
  destroy(f);
}

/* ---- gradients ------------------------------------------------------------------------------------------------- */

/* Pieces of 3 shards, one of them in two pieces and one without rows: the mean over all rows, by hand. */
static void test_gradient_of_pieces(void **state) {
  Agent agent = {.actor = {.n = 20000}, .critic = {.n = 2}};
  const Shards shards = {.global_worlds = 3, .worlds = 3, .global_shards = 3, .shards = 3, .ordered = true};
  const struct { int shard, rows; float actor, critic; } pieces[] = {{0, 6, 1, 10}, {0, 2, 5, -10}, {2, 4, -3, 2}};
  Gradient gradient;
  CoreArena *arena = core_arena_create("test");
  agent.actor.shape.layers = agent.critic.shape.layers = 1;
  gradient_register(&gradient, &agent, &shards, 4, 1, arena);
  assert_int_equal(core_arena_commit(arena), CORE_OK);
  gradient.actor[20000] = NAN; /* the shard without rows: never read */
  for (int round = 0; round < 2; round++) {
    gradient_begin(&gradient);
    for (int i = 0; i < 3; i++) {
      for (size_t k = 0; k < agent.actor.n; k++) gradient.mean.actor[k] = pieces[i].actor;
      for (size_t k = 0; k < agent.critic.n; k++) gradient.mean.critic[k] = pieces[i].critic;
      gradient_add(&gradient, pieces[i].shard, pieces[i].rows);
    }
    gradient_finish(&gradient, 12);
    for (size_t k = 0; k < agent.actor.n; k++) /* (6 + 10 - 12) / 12 */
      assert_true(fabsf(gradient.mean.actor[k] - 4.0f / 12) < 1e-6f);
    assert_true(fabsf(gradient.mean.critic[1] - 48.0f / 12) < 1e-6f); /* (60 - 20 + 8) / 12 */
  }
  core_arena_destroy(&arena);
}

static void test_gradient_of_one_shard_is_left_alone(void **state) {
  Agent agent = {.actor = {.n = 3}, .critic = {.n = 2}};
  const Shards shards = shards_alone(4);
  const float expected[] = {1, 1.0f / 3, -2};
  Gradient gradient;
  CoreArena *arena = core_arena_create("test");
  gradient_register(&gradient, &agent, &shards, 4, 1, arena);
  assert_int_equal(core_arena_commit(arena), CORE_OK);
  memcpy(gradient.mean.actor, expected, sizeof expected);
  gradient_begin(&gradient);
  gradient_add(&gradient, 0, 7);
  gradient_finish(&gradient, 7);
  assert_memory_equal(gradient.mean.actor, expected, sizeof expected);
  core_arena_destroy(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_plan_of_one_process), cmocka_unit_test(test_chosen_shards), cmocka_unit_test(test_rows),
    cmocka_unit_test(test_same_parts_for_any_division), cmocka_unit_test(test_second_pieces),
    cmocka_unit_test(test_room), cmocka_unit_test(test_moments_of_shards), cmocka_unit_test(test_gradient_of_pieces),
    cmocka_unit_test(test_gradient_of_one_shard_is_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
