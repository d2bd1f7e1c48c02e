/* Scores of levels, the buffer of the best, and the search over a toy environment with known outcomes of each level. */
#include "test.h"

#include "core/device/arena.h"
#include "core/memory.h"
#include "core/random.h"
#include "trainer/evaluate/level_search.h"
#include "trainer/nets/agent_init.h"

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static void test_score(void **state) {
  (void)state;
  static const struct { int solved, episodes; double score; } known[] = {
    {0, 2, 0}, {1, 2, 0.2505}, {2, 2, 0.001}, {1, 4, 0.18775}, {3, 4, 0.18825}, {49, 50, 0.02058}, {0, 0, 0}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    assert_float_equal(level_search_score(known[i].solved, known[i].episodes), known[i].score, 1e-15);
}

/* ---- the buffer -------------------------------------------------------------------------------------------------- */

static LevelBuffer make_buffer(int capacity, CoreArena **arena) {
  LevelBuffer buffer;
  *arena = core_arena_create("test");
  level_buffer_register(&buffer, capacity, *arena);
  assert_int_equal(core_arena_commit(*arena), CORE_OK);
  return buffer;
}

/* Scores 3 1 2 2 0 2 at indices 0 .. 5: of the three that share 2, the last two stay. */
static void test_ties_go_to_the_larger_index(void **state) {
  (void)state;
  static const double scores[] = {3, 1, 2, 2, 0, 2};
  static const uint32_t orders[][6] = {{0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {2, 5, 0, 4, 3, 1}};
  CoreArena *arena;
  LevelBuffer buffer = make_buffer(3, &arena);
  for (int o = 0; o < 3; o++) {
    level_buffer_clear(&buffer);
    for (int i = 0; i < 6; i++)
      level_buffer_offer(&buffer, (LevelBufferEntry){scores[orders[o][i]], 0, orders[o][i], 100 + orders[o][i]});
    level_buffer_close(&buffer);
    assert_int_equal(buffer.count, 3);
    assert_int_equal(buffer.entry[0].index, 3);
    assert_int_equal(buffer.entry[1].index, 5);
    assert_int_equal(buffer.entry[2].index, 0);
    assert_int_equal(buffer.entry[2].number, 100);
  }
  core_arena_destroy(&arena);
}

static int ascending(const void *a, const void *b) {
  const LevelBufferEntry *x = a, *y = b;
  if (x->score != y->score) return x->score < y->score ? -1 : 1;
  return x->index < y->index ? -1 : 1;
}

/* Compares with the definition: the last K of a complete ascending sort. */
static void test_keeps_the_last_of_a_sort(void **state) {
  (void)state;
  enum { ALL = 3000 };
  static const int capacities[] = {1, 2, 7, 128, 1000, ALL, ALL + 5};
  static LevelBufferEntry all[ALL];
  for (size_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
    CoreArena *arena;
    LevelBuffer buffer = make_buffer(capacities[c], &arena);
    for (uint32_t i = 0; i < ALL; i++) {
      uint32_t word = core_random_4(c, CORE_RANDOM_TEST, i, 0, 0).v[0];
      all[i] = (LevelBufferEntry){.score = core_random_below(word, 40), .index = i, .number = word};
      level_buffer_offer(&buffer, all[i]);
    }
    level_buffer_close(&buffer);
    qsort(all, ALL, sizeof *all, ascending);
    int kept = capacities[c] < ALL ? capacities[c] : ALL;
    assert_int_equal(buffer.count, kept);
    assert_memory_equal(buffer.entry, all + ALL - kept, (size_t)kept * sizeof *all);
    core_arena_destroy(&arena);
  }
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

/* Level i of key k has the number i + k. Its episodes last 2 + i % 3 steps; of each ten in a row, i % 11 are solved,
 * the unsolved first. */
enum { FEATURES = 2 };
typedef struct Toy {
  int worlds;
  uint32_t *number;
  int *step, *episode;
} Toy;

static void toy_observe(const Toy *toy, float *observations) {
  for (int w = 0; w < toy->worlds; w++) {
    observations[w * FEATURES] = (float)(toy->number[w] % 7);
    observations[w * FEATURES + 1] = (float)toy->step[w];
  }
}

static void toy_reset_to(Env *env, const int32_t *level, float *observations) {
  Toy *toy = env->state;
  for (int w = 0; w < toy->worlds; w++) {
    assert_int_equal(level[w], w);
    toy->step[w] = toy->episode[w] = 0;
  }
  toy_observe(toy, observations);
}

static void toy_step(Env *env, const void *actions, const EnvStep *out) {
  const uint8_t *action = actions;
  Toy *toy = env->state;
  for (int w = 0; w < toy->worlds; w++) {
    int i = (int)toy->number[w] - 3 - LEVEL_SEARCH_FIRST;
    bool done = ++toy->step[w] == 2 + i % 3;
    out->dones[w] = done;
    out->solved[w] = done && toy->episode[w] % 10 >= 10 - i % 11;
    out->rewards[w] = (float)action[w];
    if (out->levels) out->levels[w] = w;
    out->episode_steps[w] = toy->step[w];
    if (!done) continue;
    toy->step[w] = 0;
    toy->episode[w]++;
  }
  toy_observe(toy, out->observations);
}

static void toy_draw(Env *env, uint64_t key, int64_t first, int count, int slot, uint32_t *numbers) {
  Toy *toy = env->state;
  assert_true(slot == 0 && count == toy->worlds);
  for (int i = 0; i < count; i++) numbers[i] = toy->number[i] = (uint32_t)(first + i + (int64_t)key);
}

static void toy_destroy(Env *env) {
  Toy *toy = env->state;
  free(toy->number);
  free(toy->step);
  free(toy->episode);
  free(toy);
  free(env);
}

static int toy_create_slots(const Env *env, const EnvBatch *batch, int slots, Env **made);
static const EnvLevels toy_levels = {.reset_to = toy_reset_to};
static const EnvGenerator toy_generator = {.create_slots = toy_create_slots, .generate = toy_draw};

static int toy_create_slots(const Env *env, const EnvBatch *batch, int slots, Env **made) {
  const int worlds = batch->worlds;
  assert_int_equal(worlds, slots);
  size_t n = (size_t)worlds;
  Toy *toy = core_memory_zero_allocate(1, sizeof *toy);
  *toy = (Toy){worlds, calloc(n, sizeof *toy->number), calloc(n, sizeof *toy->step), calloc(n, sizeof *toy->episode)};
  *made = core_memory_zero_allocate(1, sizeof **made);
  **made = (Env){.worlds = worlds, .observation_length = FEATURES, .level_count = slots, .max_steps = 4,
                 .head = {1, 2, {2}}, .step = toy_step, .destroy = toy_destroy, .levels = &toy_levels,
                 .generator = &toy_generator, .state = toy};
  return CORE_OK;
}

/* Searches 24 levels, at_once at a time, for `steps` steps; keeps 6. */
static LevelSearchSummary run(int at_once, int steps, int max_episodes, LevelBufferEntry kept[6]) {
  CoreConfig config = core_config_default();
  LevelSearch search;
  LevelBuffer buffer;
  LevelSearchSummary summary;
  Agent agent;
  ObsPipeline pipeline;
  Ops *ops;
  Env *levels;
  CoreArena *arena = core_arena_create("test");
  config.net.width = 8;
  config.net.depth = 1;
  config.sfl.batch_size = at_once;
  config.sfl.num_batches = 24 / at_once;
  config.sfl.rollout_steps = steps;
  config.sfl.max_episodes = max_episodes;
  assert_int_equal(toy_create_slots(NULL, &(EnvBatch){.worlds = 1}, 1, &levels), CORE_OK);
  agent_register(&agent, &config, levels, 16, arena);
  const Shards one_rank = shards_alone(1);
  obs_register(&pipeline, &config, levels, &one_rank, arena);
  level_search_register(&search, &config, levels, &one_rank, arena);
  level_buffer_register(&buffer, 6, arena);
  assert_int_equal(core_arena_commit(arena), CORE_OK);
  agent_bind_activations(&agent);
  agent_init_weights(&agent, 1);
  assert_int_equal(ops_cpu_create(1, 16, 16, &ops), CORE_OK);
  assert_int_equal(level_search_create(&search, levels, 1, NULL), CORE_OK);
  level_search_run(&search, &(EvalPlayer){&agent, &pipeline, ops}, 1, 3, 1, &buffer, &summary);
  assert_int_equal(buffer.count, 6);
  memcpy(kept, buffer.entry, 6 * sizeof *kept);
  level_search_destroy(&search);
  ops_destroy(&ops);
  env_destroy(&levels);
  core_arena_destroy(&arena);
  return summary;
}

/* 40 steps: 20, 13 or 10 whole episodes, so p differs a little from (i % 11) / 10 where they are 13. */
static double expected_rate(int i, int episodes) {
  int solved = 0;
  for (int e = 0; e < episodes; e++) solved += e % 10 >= 10 - i % 11;
  return (double)solved / episodes;
}

static void check_search(const LevelSearchSummary *summary, const LevelBufferEntry *kept, const int *episodes) {
  LevelBufferEntry all[24];
  double rates = 0, learnability = 0, found = 0;
  for (int i = 0; i < 24; i++) {
    double p = expected_rate(i, episodes[i % 3]);
    all[i] = (LevelBufferEntry){p * (1 - p) + 0.001 * p, p, (uint32_t)i,
                                (uint32_t)(LEVEL_SEARCH_FIRST + i) + 3};
    rates += p / 24;
    learnability += p * (1 - p) / 24;
  }
  qsort(all, 24, sizeof *all, ascending);
  for (int i = 0; i < 6; i++) {
    assert_float_equal(kept[i].score, all[18 + i].score, 1e-15);
    assert_int_equal(kept[i].index, all[18 + i].index);
    assert_int_equal(kept[i].number, all[18 + i].number);
    found += kept[i].solve_rate * (1 - kept[i].solve_rate) / 6;
  }
  assert_int_equal(summary->levels, 24);
  assert_float_equal(summary->solve_rate, rates, 1e-12);
  assert_float_equal(summary->learnability, learnability, 1e-12);
  assert_float_equal(summary->found, found, 1e-12);
}

static void test_search(void **state) {
  (void)state;
  LevelBufferEntry kept[6];
  LevelSearchSummary summary = run(24, 40, 50, kept);
  check_search(&summary, kept, (int[]){20, 13, 10});
}

static void test_only_the_first_episodes_count(void **state) {
  (void)state;
  LevelBufferEntry kept[6];
  LevelSearchSummary summary = run(24, 40, 12, kept);
  check_search(&summary, kept, (int[]){12, 12, 10});
}

static void test_division_into_batches_does_not_matter(void **state) {
  (void)state;
  LevelBufferEntry kept[6], again[6];
  static const int at_once[] = {1, 4, 12};
  run(24, 40, 50, kept);
  for (int i = 0; i < 3; i++) {
    LevelSearchSummary summary = run(at_once[i], 40, 50, again);
    check_search(&summary, again, (int[]){20, 13, 10});
    assert_memory_equal(kept, again, sizeof kept);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_score),
    cmocka_unit_test(test_ties_go_to_the_larger_index),
    cmocka_unit_test(test_keeps_the_last_of_a_sort),
    cmocka_unit_test(test_search),
    cmocka_unit_test(test_only_the_first_episodes_count),
    cmocka_unit_test(test_division_into_batches_does_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
