/* Minibatches: every transition once per epoch, whole environments if configured, rows that belong together. */
#include "test.h"

#include "core/device/arena.h"
#include "trainer/update/minibatch.h"
#include "trainer_steps.h"

enum { STEPS = 6, WORLDS = 8, FEATURES = 3, TOTAL = STEPS * WORLDS };

typedef struct Fixture {
  CoreArena *arena;
  Ops *ops;
  Rollout rollout;
  Minibatch minibatch;
  CoreConfig config;
  float *advantages, *targets;
} Fixture;

/* Fills a rollout with values that identify their rows. */
static void number_rows(Fixture *f) {
  Rollout *r = &f->rollout;
  for (int i = 0; i < TOTAL; i++) {
    for (int k = 0; k < FEATURES; k++) r->observations[i * FEATURES + k] = (float)(100 * i + k);
    for (int k = 0; k < 2; k++) r->actions[i * 2 + k] = (uint8_t)(2 * i + k);
    r->logp[i] = (float)i + 0.125f;
    r->values[i] = (float)i + 0.25f;
    f->advantages[i] = (float)i + 0.5f;
    f->targets[i] = (float)i + 0.75f;
  }
}

static Fixture *make(const char *by, int parts) {
  Fixture *f = calloc(1, sizeof *f);
  const Env env = {.worlds = WORLDS, .observation_length = FEATURES, .level_count = 1,
                   .head = {.factors = 2, .logits = 5, .size = {3, 2}}};
  f->config = core_config_default();
  f->config.env.num = WORLDS;
  f->config.ppo.num_steps = STEPS;
  f->config.ppo.num_minibatches = parts;
  snprintf(f->config.ppo.minibatch_by, sizeof f->config.ppo.minibatch_by, "%s", by);
  f->arena = core_arena_create("test");
  const Shards shards = shards_alone(WORLDS);
  rollout_register(&f->rollout, &f->config, &env, &shards, STEPS, f->arena);
  assert_int_equal(minibatch_register(&f->minibatch, &f->config, &f->rollout, f->arena), CORE_OK);
  CORE_ARENA(f->arena, f->advantages, TOTAL, "advantages");
  CORE_ARENA(f->arena, f->targets, TOTAL, "targets");
  assert_int_equal(core_arena_commit(f->arena), CORE_OK);
  assert_int_equal(ops_cpu_create(1, TOTAL, 16, &f->ops), CORE_OK);
  number_rows(f);
  return f;
}

static void destroy(Fixture *f) {
  ops_destroy(&f->ops);
  core_arena_destroy(&f->arena);
  free(f);
}

/* The gathered row `row` must be rollout row `index[row]` in every buffer. */
static int check_row(const Fixture *f, int row) {
  const Minibatch *m = &f->minibatch;
  int i = (int)m->index[row];
  assert_in_range(i, 0, TOTAL - 1);
  for (int k = 0; k < FEATURES; k++) assert_true(m->observations[row * FEATURES + k] == (float)(100 * i + k));
  for (int k = 0; k < 2; k++) assert_int_equal(m->actions[row * 2 + k], 2 * i + k);
  assert_true(m->logp[row] == (float)i + 0.125f);
  assert_true(m->values[row] == (float)i + 0.25f);
  assert_true(m->advantages[row] == (float)i + 0.5f);
  assert_true(m->targets[row] == (float)i + 0.75f);
  return i;
}

/* All parts of one epoch; seen[i] counts how often transition i came. */
static void gather_epoch(Fixture *f, int64_t iteration, int epoch, int seen[TOTAL]) {
  memset(seen, 0, TOTAL * sizeof *seen);
  minibatch_shuffle(&f->minibatch, f->ops, &f->rollout, 7, iteration, epoch);
  for (int m = 0; m < (int)f->config.ppo.num_minibatches; m++) {
    minibatch_gather(&f->minibatch, f->ops, &f->rollout, f->advantages, f->targets, m);
    for (int row = 0; row < f->minibatch.rows; row++) seen[check_row(f, row)]++;
  }
}

static void test_every_transition_once(void **state) {
  const int parts[] = {1, 2, 6, TOTAL};
  for (int p = 0; p < 4; p++) {
    Fixture *f = make("transitions", parts[p]);
    int seen[TOTAL];
    assert_int_equal(f->minibatch.rows, TOTAL / parts[p]);
    gather_epoch(f, 1, 0, seen);
    for (int i = 0; i < TOTAL; i++) assert_int_equal(seen[i], 1);
    destroy(f);
  }
}

static void test_whole_environments(void **state) {
  Fixture *f = make("environments", 4);
  int seen[TOTAL];
  gather_epoch(f, 1, 0, seen);
  for (int i = 0; i < TOTAL; i++) assert_int_equal(seen[i], 1);
  minibatch_gather(&f->minibatch, f->ops, &f->rollout, f->advantages, f->targets, 2);
  int steps_of_world[WORLDS] = {0}, present = 0;
  for (int row = 0; row < f->minibatch.rows; row++) steps_of_world[f->minibatch.index[row] % WORLDS]++;
  for (int w = 0; w < WORLDS; w++) {
    assert_true(steps_of_world[w] == 0 || steps_of_world[w] == STEPS);
    present += steps_of_world[w] == STEPS;
  }
  assert_int_equal(present, WORLDS / 4);
  destroy(f);
}

static void test_permutations_differ_and_repeat(void **state) {
  Fixture *f = make("transitions", 1);
  uint32_t first[TOTAL];
  minibatch_shuffle(&f->minibatch, f->ops, &f->rollout, 7, 3, 1);
  memcpy(first, f->minibatch.order, sizeof first);
  const struct { uint64_t seed; int64_t iteration; int epoch; } others[] = {{8, 3, 1}, {7, 4, 1}, {7, 3, 2}};
  for (int i = 0; i < 3; i++) {
    minibatch_shuffle(&f->minibatch, f->ops, &f->rollout, others[i].seed, others[i].iteration, others[i].epoch);
    assert_memory_not_equal(first, f->minibatch.order, sizeof first);
  }
  minibatch_shuffle(&f->minibatch, f->ops, &f->rollout, 7, 3, 1);
  assert_memory_equal(first, f->minibatch.order, sizeof first);
  destroy(f);
}

/* Each transition comes into the first of six parts about equally often: chi-square over the transitions;
 * 99.99 % of correct shuffles stay below the bound (Wilson-Hilferty for 47 degrees of freedom: 92). */
static void test_transitions_spread_over_parts(void **state) {
  enum { ROUNDS = 2000 };
  Fixture *f = make("transitions", 6);
  int in_first[TOTAL] = {0};
  for (int i = 0; i < ROUNDS; i++) {
    minibatch_shuffle(&f->minibatch, f->ops, &f->rollout, 1, i + 1, 0);
    for (int row = 0; row < f->minibatch.rows; row++) in_first[f->minibatch.order[row]]++;
  }
  double expected = (double)ROUNDS / 6, chi = 0;
  for (int i = 0; i < TOTAL; i++) chi += (in_first[i] - expected) * (in_first[i] - expected) / (expected * 5 / 6);
  assert_true(chi < 92);
  destroy(f);
}

static void test_too_many_transitions(void **state) {
  CoreConfig config = core_config_default();
  Minibatch minibatch;
  Rollout rollout = {.steps = 65536, .worlds = 4194304, .features = 1, .shards = shards_alone(4194304)};
  config.env.num = 4194304;
  config.ppo.num_steps = 65536;
  CoreArena *arena = core_arena_create("test");
  assert_int_equal(minibatch_register(&minibatch, &config, &rollout, arena), CORE_USAGE);
  assert_message("env.num");
  assert_message("ppo.num_steps");
  core_arena_destroy(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_transition_once), cmocka_unit_test(test_whole_environments),
    cmocka_unit_test(test_permutations_differ_and_repeat), cmocka_unit_test(test_transitions_spread_over_parts),
    cmocka_unit_test(test_too_many_transitions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
