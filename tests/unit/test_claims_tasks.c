/* Claims over several tasks: each is shown, a verdict needs more than one, and there is none if they disagree. */
#include "test.h"

#include "claims_world.h"

#include "analysis/claims/allowance.h"

enum { TASKS = 4 };
static const char *const tasks[TASKS] = {"gym/HalfCheetah-v4", "gym/Walker2d-v4", "gym/Ant-v4", "gym/Hopper-v4"};

static void put(World *world, const char *task, int64_t envs, int64_t steps, int seed, AnalysisMeasure measure,
                double value) {
  CoreConfig config = core_config_default();
  if (core_config_set(&config, "env.task", task) != CORE_OK) fail_msg("%s", core_error_message());
  config.env.num = envs;
  config.ppo.num_steps = steps;
  config.train.seed = seed;
  add_run(world, &config, 0)->value[measure] = value;
}

/* KL between minibatches with 10 and with 100 environments, whose ratio in each task is given. */
static World ratios_world(const double *ratio, int count) {
  World world = world_create();
  for (int t = 0; t < count; t++) {
    for (int envs = 0; envs < 2; envs++) {
      for (int seed = 0; seed < SEEDS; seed++)
        put(&world, tasks[t], envs ? 100 : 10, envs ? 50 : 500, seed, ANALYSIS_MEASURE_kl_consecutive,
            1e-5 * (envs ? ratio[t] : 1) * exp(0.03 * noise(30, (uint32_t)(2 * t + envs), (uint32_t)seed)));
    }
  }
  return world;
}

static AnalysisClaimResult result_of(const World *world, const char *id, AnalysisClaimResult **list, size_t *count) {
  const AnalysisSelection selection = {.runs = world->runs, .count = world->count};
  const AnalysisClaimsOptions asked = {.ids = &id, .id_count = 1};
  assert_int_equal(analysis_claims_test(NULL, &selection, world->measured, NULL, &asked, list, count), CORE_OK);
  assert_int_equal(*count, 1);
  return (*list)[0];
}

/* same_steps is EQUAL within a factor of 1.25. */
static void test_equal(void **state) {
  static const struct { double ratio[3]; int count; AnalysisVerdict verdict; bool disagree; } cases[] = {
    {{1.02, 1.01, 0}, 2, ANALYSIS_SUPPORTED, false},    {{1.6, 1.7, 0}, 2, ANALYSIS_CONTRADICTED, false},
    {{1.54, 1.01, 0}, 2, ANALYSIS_UNDECIDED, true},     {{1.01, 1.02, 1}, 3, ANALYSIS_SUPPORTED, false},
    {{1.01, 1.02, 1.6}, 3, ANALYSIS_UNDECIDED, true},   {{1.01, 1.25, 0}, 2, ANALYSIS_UNDECIDED, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    World world = ratios_world(cases[i].ratio, cases[i].count);
    AnalysisClaimResult *list;
    size_t count;

    const AnalysisClaimResult f = result_of(&world, "same_steps", &list, &count);
    if (f.verdict != cases[i].verdict || f.disagree != cases[i].disagree)
      fail_msg("case %zu is %s: p %g and %g, %s", i, analysis_verdict_name(f.verdict), f.p_for, f.p_against, f.reason);

    assert_int_equal(f.task_count, cases[i].count);
    for (int t = 0; t < cases[i].count; t++) {
      bool found = false;
      for (size_t k = 0; k < f.task_count; k++) {
        if (strcmp(f.tasks[k].label + strlen("task="), tasks[t]) != 0) continue;
        found = fabs(f.tasks[k].interval.center - log(cases[i].ratio[t])) < 0.08;
      }
      assert_true(found);
    }

    assert_true((f.verdict == ANALYSIS_UNDECIDED && cases[i].disagree) == (strcmp(f.reason, "tasks disagree") == 0));
    analysis_claims_free(&list, count);
    world_free(&world);
  }
}

/* more_actors FALLS: a task with a strong effect does not decide for one without, nor against one of the other side. */
static void test_one_alone(void **state) {
  static const struct { double slope[TASKS]; int count; AnalysisVerdict verdict; const char *reason; } cases[] = {
    {{-1, -1, 0, 0}, 2, ANALYSIS_SUPPORTED, ""},
    {{-1, 0, 0, 0}, 2, ANALYSIS_UNDECIDED, "tasks disagree: one alone decides"},
    {{-1, 1, 0, 0}, 2, ANALYSIS_UNDECIDED, "tasks disagree"},
    {{-1, -1, -1, 0}, 4, ANALYSIS_SUPPORTED, ""},
    {{-1, -1, -1, 1}, 4, ANALYSIS_UNDECIDED, "tasks disagree"},
    {{1, 1, 1, 1}, 4, ANALYSIS_CONTRADICTED, ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    World world = world_create();
    for (int t = 0; t < cases[i].count; t++)
      for (int envs = 0; envs < 3; envs++)
        for (int seed = 0; seed < SEEDS; seed++)
          put(&world, tasks[t], 10 << envs, 80 >> envs, seed, ANALYSIS_MEASURE_kl,
              0.01 * exp(cases[i].slope[t] * envs + 0.1 * noise(31, (uint32_t)(3 * t + envs), (uint32_t)seed)));
    const AnalysisClaimResult f = finding_of(&world, "more_actors");
    if (f.verdict != cases[i].verdict || strcmp(f.reason, cases[i].reason) != 0)
      fail_msg("case %zu is %s: p %g and %g, %s", i, analysis_verdict_name(f.verdict), f.p_for, f.p_against, f.reason);
    world_free(&world);
  }
}

/* The scores of `count` tasks at two sizes of the data of an iteration: each rises by rise[task][size] if its
 * environments are doubled. */
static World sizes_world(const double (*rise)[2], int count, uint64_t luck) {
  World world = world_create();
  for (int t = 0; t < count; t++)
    for (int size = 0; size < 2; size++)
      for (int envs = 0; envs < 2; envs++)
        for (int seed = 0; seed < SEEDS; seed++)
          put(&world, tasks[t], 10 << envs, (40 << size) >> envs, seed, ANALYSIS_MEASURE_normalized_score,
              0.5 + rise[t][size] * envs + 0.04 * noise(luck, (uint32_t)(4 * t + 2 * size + envs), (uint32_t)seed));
  return world;
}

/* environments_more RISES at two sizes of each task: a task that shows the effect at both does not decide for the
 * others. */
static void test_one_task_alone(void **state) {
  static const char alone[] = "tasks disagree: one alone decides", apart[] = "tasks disagree";
  static const struct { double rise[3][2]; int count; AnalysisVerdict verdict; const char *reason; } cases[] = {
    {{{0.15, 0.15}, {0, 0}}, 2, ANALYSIS_UNDECIDED, alone},
    {{{-0.15, -0.15}, {0, 0}}, 2, ANALYSIS_UNDECIDED, alone},
    {{{0.15, 0.15}, {0.15, 0.15}}, 2, ANALYSIS_SUPPORTED, ""},
    {{{-0.15, -0.15}, {-0.15, -0.15}}, 2, ANALYSIS_CONTRADICTED, ""},
    {{{0.15, 0}, {0.15, 0}}, 2, ANALYSIS_SUPPORTED, ""},
    {{{0.15, 0.15}}, 1, ANALYSIS_SUPPORTED, ""},
    {{{0.15, 0}}, 1, ANALYSIS_UNDECIDED, alone},
    {{{0.15, 0.15}, {0, 0}, {0.15, 0.15}}, 3, ANALYSIS_SUPPORTED, ""},
    {{{0.15, 0.15}, {-0.15, -0.15}}, 2, ANALYSIS_UNDECIDED, apart},
    {{{0.15, 0.15}, {-0.03, -0.03}}, 2, ANALYSIS_UNDECIDED, apart}, /* neither size alone shows it */
    {{{0.15, -0.03}, {0.03, 0.03}}, 2, ANALYSIS_UNDECIDED, alone}, /* either task alone shows it, one size less not */
    {{{-0.15, 0.03}, {-0.03, -0.03}}, 2, ANALYSIS_UNDECIDED, alone},
  };

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    World world = sizes_world(cases[i].rise, cases[i].count, 36);
    const AnalysisClaimResult f = finding_of(&world, "environments_more");
    if (f.verdict != cases[i].verdict || strcmp(f.reason, cases[i].reason) != 0)
      fail_msg("case %zu is %s: p %g and %g, %s", i, analysis_verdict_name(f.verdict), f.p_for, f.p_against, f.reason);
    world_free(&world);
  }
}

/* Strata of one task are told apart by their transitions, those of one size by their task alone. */
static void test_labels(void **state) {
  static const double rise[2][2] = {{0.15, 0.15}, {0.15, 0.15}};
  AnalysisClaimResult *list;
  size_t count;
  World world = sizes_world(rise, 2, 36);
  const AnalysisClaimResult f = result_of(&world, "environments_more", &list, &count);

  assert_int_equal(f.task_count, 4);
  for (size_t k = 0; k < f.task_count; k++) {
    const char *label = f.tasks[k].label;
    bool found = false;
    for (int t = 0; t < 2; t++) {
      char small[96], large[96];
      snprintf(small, sizeof small, "task=%s, 400 transitions per iteration", tasks[t]);
      snprintf(large, sizeof large, "task=%s, 800 transitions per iteration", tasks[t]);
      found = found || strcmp(label, small) == 0 || strcmp(label, large) == 0;
    }
    if (!found) fail_msg("%s", label);
    for (size_t o = 0; o < k; o++) assert_string_not_equal(label, f.tasks[o].label);
  }
  analysis_claims_free(&list, count);
  world_free(&world);

  world = sizes_world(rise, 1, 36);
  const AnalysisClaimResult one = result_of(&world, "environments_more", &list, &count);
  assert_int_equal(one.task_count, 2);
  assert_string_equal(one.tasks[0].label, "400 transitions per iteration");
  analysis_claims_free(&list, count);
  world_free(&world);

  world = sizes_world(rise, 2, 36);
  size_t kept = 0;
  for (size_t r = 0; r < world.count; r++) { /* each task at one size, so that its name is enough */
    const bool is_first = strcmp(world.runs[r].config.shared->env.task, tasks[0]) == 0;
    if (is_first != (world.runs[r].transitions_per_iteration == 400)) {
      free((void *)world.runs[r].config.shared);
      continue;
    }
    world.runs[kept] = world.runs[r];
    world.measured[kept++] = world.measured[r];
  }
  world.count = kept;
  const AnalysisClaimResult named = result_of(&world, "environments_more", &list, &count);
  assert_int_equal(named.task_count, 2);
  for (size_t k = 0; k < 2; k++) assert_null(strstr(named.tasks[k].label, "transitions"));
  analysis_claims_free(&list, count);
  world_free(&world);
}

/* monotone AT_LEAST_95: configurations above and below the bound are no mean. */
static void test_mean_of_two_groups(void **state) {
  for (int mixed = 0; mixed < 2; mixed++) {
    World world = world_create();
    for (int t = 0; t < TASKS; t++)
      for (int seed = 0; seed < SEEDS; seed++)
        put(&world, tasks[t], 10, 500, seed, ANALYSIS_MEASURE_kl_limit_monotone,
            (mixed && t == 0 ? 0.55 : mixed ? 0.98 : 0.5) + 0.003 * noise(32, (uint32_t)t, (uint32_t)seed));
    const AnalysisClaimResult f = finding_of(&world, "monotone");
    assert_int_equal(f.verdict, mixed ? ANALYSIS_UNDECIDED : ANALYSIS_CONTRADICTED);
    assert_int_equal(f.disagree, mixed);
    world_free(&world);
  }
}

/* Without a spread, Markov's inequality: P(8 values of at most v) <= (0.05 / (1 - v))^8, and P(8 ones) <= 0.95^8. A
 * configuration with more seeds adds none. */
static void test_mean_without_spread(void **state) {
  static const struct { double value; AnalysisVerdict verdict; double p_for, p_against; } cases[] = {
    {0, ANALYSIS_CONTRADICTED, 1, 3.90625e-11},
    {0.5, ANALYSIS_CONTRADICTED, 1, 1e-8},
    {0.94, ANALYSIS_UNDECIDED, 1, 0.2325680394},
    {1, ANALYSIS_UNDECIDED, 0.6634204313, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    World world = world_create();
    for (int envs = 1; envs <= 3; envs++)
      for (int seed = 0; seed < (envs == 1 ? SEEDS : 8); seed++)
        put(&world, tasks[0], envs, 100, seed, ANALYSIS_MEASURE_limit_reached, cases[i].value);
    const AnalysisClaimResult f = finding_of(&world, "contraction");
    const bool equal = fabs(f.p_for / cases[i].p_for - 1) < 1e-6 && fabs(f.p_against / cases[i].p_against - 1) < 1e-6;
    if (f.verdict != cases[i].verdict || !equal)
      fail_msg("%g is %s: p %g and %g", cases[i].value, analysis_verdict_name(f.verdict), f.p_for, f.p_against);
    world_free(&world);
  }
}

/* Switches of two tasks, each compared with the runs of its own task. */
static void test_switches(void **state) {
  World world = world_create();
  for (int t = 0; t < 2; t++) {
    for (int seed = 0; seed < ANALYSIS_UNSEEN_SWITCHED; seed++) {
      CoreConfig low = ewma(8, seed), high = ewma(512, seed);
      char parent[CORE_RUN_ID];
      low.net.width = high.net.width = t ? 256 : 64;
      const double level = t ? 0.9 : 0.5, wobble = 0.01 * noise(33, (uint32_t)t, (uint32_t)seed);
      add_run(&world, &low, level - 0.2 + wobble);
      memcpy(parent, world.runs[world.count - 1].id, CORE_RUN_ID);

      add_run(&world, &high, level + 0.01 * noise(34, (uint32_t)t, (uint32_t)seed));
      CoreConfig child = high;
      snprintf(child.init.from, sizeof child.init.from, "com 8 at 1430");
      add_run(&world, &child, level + 0.01 * noise(35, (uint32_t)t, (uint32_t)seed));
      memcpy(world.runs[world.count - 1].parent, parent, CORE_RUN_ID);
    }
  }

  AnalysisClaimResult *list;
  size_t count;
  const AnalysisClaimResult f = result_of(&world, "switch_same", &list, &count);
  if (f.verdict != ANALYSIS_SUPPORTED) fail_msg("%s: p %g and %g", f.reason, f.p_for, f.p_against);
  /* by the runs of the first task the second one's are 0.4 off */
  assert_int_equal(f.task_count, 2);
  assert_true(fabs(f.interval.center) < 0.02);
  analysis_claims_free(&list, count);
  world_free(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_equal), cmocka_unit_test(test_one_alone),
                                     cmocka_unit_test(test_one_task_alone), cmocka_unit_test(test_labels),
                                     cmocka_unit_test(test_mean_of_two_groups),
                                     cmocka_unit_test(test_mean_without_spread), cmocka_unit_test(test_switches)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
