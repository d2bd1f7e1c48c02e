/* Failures and skew in claims (allowance.h): what few runs may hide prevents a verdict, and what they show is told. */
#include "test.h"

#include "tests/unit/claims_world.h"

#include "analysis/claims/allowance.h"

static void assert_verdict(const AnalysisClaimResult *f, AnalysisVerdict verdict) {
  if (f->verdict != verdict)
    fail_msg("%s is %s: %g, p %g and %g, %s", f->claim->id, analysis_verdict_name(f->verdict), f->interval.center,
             f->p_for, f->p_against, f->reason);
}

/* Environments 8 and 16 at 4 and 8 epochs (reuse_doubled, NOT_WORSE), each with its scores. */
static World two_settings(int seeds, double first, double last, int first_failed, int last_failed) {
  World world = world_create();
  for (int n = 0; n < 2; n++) {
    for (int seed = 0; seed < seeds; seed++) {
      CoreConfig config = core_config_default();
      config.env.num = n ? 16 : 8;
      config.ppo.epochs = n ? 8 : 4;
      config.train.seed = seed;
      const bool failed = seed < (n ? last_failed : first_failed);
      add_run(&world, &config, failed ? 0.02 : (n ? last : first) + 0.01 * noise(61, (uint32_t)n, (uint32_t)seed));
      world.measured[world.count - 1].rated = true;
    }
  }
  return world;
}

/* P(at most k of n fail | a fifth fails), by hand: 0.8^15 = 0.0352, 0.8^16 = 0.0281; one of 24: 0.033. */
static void test_unseen_rate(void **state) {
  assert_true(fabs(analysis_unseen_rate(15, 0, 0.035) - 0.2) < 1e-12);
  assert_true(analysis_unseen_rate(16, 0, 0.035) == 0);
  assert_true(fabs(analysis_unseen_rate(23, 1, 0.035) - (0.2 - 1.0 / 23)) < 1e-12);
  assert_true(analysis_unseen_rate(24, 1, 0.035) == 0);
  assert_true(analysis_unseen_rate(10, 2, 0.035) == 0);
  assert_true(analysis_unseen_rate(3, 3, 0.035) == 0);
  assert_true(analysis_unseen_rate(16, 0, 0.035 / 4) > 0);
}

/* The later setting is as good with 16 runs. With ten, a fifth of which may fail, it may be worse; unless it is better
 * by more than a fifth. */
static void test_unseen(void **state) {
  static const struct { int seeds; double last; AnalysisVerdict verdict; } cases[] = {
    {10, 0.6, ANALYSIS_UNDECIDED}, {16, 0.6, ANALYSIS_SUPPORTED}, {10, 0.75, ANALYSIS_SUPPORTED},
    {10, 0.50, ANALYSIS_UNDECIDED}, {16, 0.50, ANALYSIS_CONTRADICTED}, {10, 0.35, ANALYSIS_CONTRADICTED}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    World world = two_settings(cases[i].seeds, 0.6, cases[i].last, 0, 0);
    const AnalysisClaimResult f = finding_of(&world, "reuse_doubled");
    assert_verdict(&f, cases[i].verdict);
    assert_false(f.failures_differ);
    if (f.verdict == ANALYSIS_UNDECIDED) {
      assert_non_null(strstr(f.reason, "0 of 10 runs of a setting failed, but a fifth might"));
      assert_int_equal(f.more_seeds, 16);
    }
    world_free(&world);
  }
}

/* One of 20 runs fails: the test of means alone would decide, but two settings with such rates may be alike. */
static void test_seen(void **state) {
  World world = two_settings(20, 0.48, 0.59, 0, 1);
  AnalysisClaimResult f = finding_of(&world, "reuse_doubled");
  assert_verdict(&f, ANALYSIS_UNDECIDED);
  assert_true(f.failures_differ);
  assert_string_equal(f.reason, "failures differ: 1 of 20 runs with env.num = 16, 0 of 20 with env.num = 8");
  world_free(&world);
  /* that all fail is no chance */
  world = two_settings(10, 0.6, 0.6, 0, 10);
  f = finding_of(&world, "reuse_doubled");
  assert_verdict(&f, ANALYSIS_CONTRADICTED);
  world_free(&world);
}

/* The rivals of a setting at the end show failures together: four of 5 runs each are 20 runs. Against the end, which
 * has five, only a large difference decides. */
static void test_sides(void **state) {
  static const struct { double end; int seeds; AnalysisVerdict verdict; } cases[] = {
    {0.5, 5, ANALYSIS_SUPPORTED}, {0.5, 3, ANALYSIS_UNDECIDED}, {0.7, 5, ANALYSIS_UNDECIDED},
    {0.7, 16, ANALYSIS_CONTRADICTED}, {0.95, 5, ANALYSIS_CONTRADICTED}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    World world = world_create();
    for (int k = 0; k < 5; k++) {
      for (int seed = 0; seed < cases[i].seeds; seed++) {
        CoreConfig config = core_config_default();
        config.ppo.num_minibatches = 2 << k;
        config.train.seed = seed;
        const double mean = k ? 0.6 : cases[i].end;
        add_run(&world, &config, mean + 0.01 * noise(62, (uint32_t)k, (uint32_t)seed))->rated = true;
      }
    }
    const AnalysisClaimResult f = finding_of(&world, "sfl_few_minibatches");
    assert_verdict(&f, cases[i].verdict);
    world_free(&world);
  }
}

/* POSITIVE of four configurations, of which each may hide failures: of 5 runs each, three have together too few to show
 * that a fifth fails; of 10, one. */
static void test_mean(void **state) {
  static const struct { int seeds; double gain, over; AnalysisVerdict verdict; } cases[] = {
    {3, 0.03, 0.2, ANALYSIS_UNDECIDED},         {5, 0.03, 0.15, ANALYSIS_UNDECIDED},
    {5, 0.5, 0.15, ANALYSIS_SUPPORTED},         {10, 0.03, 0.05, ANALYSIS_UNDECIDED},
    {16, 0.03, 0, ANALYSIS_SUPPORTED}};
  static const AnalysisClaim rising = {.id = "rising", .where = "", .key = "", .second = "", .data = "",
                                       .free_settings = "", .test = ANALYSIS_TEST_POSITIVE, .test_name = "POSITIVE",
                                       .measure = ANALYSIS_MEASURE_rise_second};
  const AnalysisClaimsOptions options = {.looks = 1};

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    World world = world_create();
    for (int c = 0; c < 4; c++) {
      for (int seed = 0; seed < cases[i].seeds; seed++) {
        const CoreConfig config = ewma(2 << c, seed);
        AnalysisRunMetrics *m = add_run(&world, &config, 0.6);
        m->value[ANALYSIS_MEASURE_rise_second] = cases[i].gain + 0.01 * noise(63, (uint32_t)c, (uint32_t)seed);
        m->value[ANALYSIS_MEASURE_total_gain] = 0.5;
      }
    }

    const AnalysisSelection selection = {.runs = world.runs, .count = world.count};
    AnalysisTable table = analysis_table_create(&selection, world.measured, NULL);
    AnalysisClaimResult f = {0};
    assert_int_equal(analysis_claim_test(NULL, &options, &rising, &table, &f), CORE_OK);
    assert_verdict(&f, cases[i].verdict);
    if (f.verdict == ANALYSIS_UNDECIDED) assert_true(f.unseen && f.more_seeds == 16);
    free(f.tasks);

    AnalysisCells cells;
    const double weight[4] = {0.25, 0.25, 0.25, 0.25};
    assert_int_equal(analysis_claim_arrange(NULL, &rising, &table, &cells), CORE_OK);
    f = (AnalysisClaimResult){.claim = &rising, .comparison = ANALYSIS_BY_DIFFERENCE};
    analysis_cells_allow(&table, &cells, &f);
    const AnalysisContrast contrast = analysis_contrast(&cells, weight);
    if (fabs(contrast.over - cases[i].over * 0.5) > 1e-9) fail_msg("%d seeds: %g", cases[i].seeds, contrast.over);

    analysis_cells_free(&cells);
    analysis_table_free(&table);
    world_free(&world);
  }
}

/* The failures of that setting count which matters most, over all its tasks; of several if their runs are few. */
static void test_settings(void **state) {
  static const struct { size_t runs, setting[4]; double over; } cases[] = {
    {10, {0, 1, 2, 3}, 0.3 / 4}, {10, {0, 1, 0, 3}, 0.35 / 4}, {7, {0, 1, 2, 3}, 0.55 / 4},
    {5, {0, 1, 2, 3}, 0.65 / 4}, {5, {0, 1, 0, 3}, 0.65 / 4}};
  static const double loss[4] = {0.1, 0.3, 0.25, 0};
  double score[40], weight[4] = {0.25, 0.25, 0.25, 0.25};
  for (size_t i = 0; i < 40; i++) score[i] = (double)i;

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    AnalysisAllowance allowance[4] = {{0}};
    size_t first[5] = {0};
    for (size_t c = 0; c < 4; c++) {
      allowance[c] = (AnalysisAllowance){.failures = loss[c], .setting = cases[i].setting[c]};
      first[c + 1] = first[c] + cases[i].runs;
    }
    const AnalysisCells cells = {.score = score, .first = first, .cells = 4, .count = first[4], .allowance = allowance};
    const AnalysisContrast contrast = analysis_contrast(&cells, weight);
    if (fabs(contrast.over - cases[i].over) > 1e-9) fail_msg("case %zu: %g", i, contrast.over);
    assert_true(contrast.under == 0);
  }
}

/* The runs of a setting on all tasks count together. */
static void test_tasks(void **state) {
  World world = two_settings(5, 0.6, 0.6, 0, 0);
  for (size_t r = 0, count = world.count; r < count; r++) {
    CoreConfig other = *world.runs[r].config.shared;
    if (core_config_set(&other, "env.task", "gym/Walker2d-v4") != CORE_OK) fail_msg("%s", core_error_message());
    add_run(&world, &other, 0.6);
  }

  const AnalysisSelection selection = {.runs = world.runs, .count = world.count};
  AnalysisTable table = analysis_table_create(&selection, world.measured, NULL);
  AnalysisCells cells;
  const AnalysisArrangement arrangement = {.data = "", .where = "", .key = "env.num", .second = "",
                                           .free_settings = "ppo.epochs", .measure = ANALYSIS_MEASURE_final,
                                           .x_measure = -1};
  assert_int_equal(analysis_cells_create(&table, &arrangement, &cells), CORE_OK);
  assert_int_equal(cells.cells, 4);

  size_t count;
  AnalysisClaimResult f = {.claim = analysis_claims_list(&count), .comparison = ANALYSIS_BY_DIFFERENCE};
  analysis_cells_allow(&table, &cells, &f);
  for (size_t c = 0; c < 4; c++) {
    assert_int_equal(cells.allowance[c].runs, 10);
    assert_int_equal(cells.allowance[c].setting, c % 2);
  }

  analysis_cells_free(&cells);
  analysis_table_free(&table);
  world_free(&world);
}

/* A switch compares two groups that may both hide failures, which takes more runs to exclude. */
static void test_switch(void **state) {
  for (int seeds = 16; seeds <= 19; seeds += 3) {
    World world = world_create();
    for (int seed = 0; seed < seeds; seed++) {
      const CoreConfig low = ewma(8, seed), high = ewma(512, seed);
      char parent[CORE_RUN_ID];
      add_run(&world, &low, 0.3 + 0.01 * noise(64, 0, (uint32_t)seed));
      memcpy(parent, world.runs[world.count - 1].id, CORE_RUN_ID);
      add_run(&world, &high, 0.5 + 0.01 * noise(64, 1, (uint32_t)seed));
      CoreConfig child = high;
      snprintf(child.init.from, sizeof child.init.from, "com 8 at 1430");
      add_run(&world, &child, 0.5 + 0.01 * noise(64, 2, (uint32_t)seed));
      memcpy(world.runs[world.count - 1].parent, parent, CORE_RUN_ID);
    }

    const AnalysisClaimResult f = finding_of(&world, "switch_same");
    assert_verdict(&f, seeds < 19 ? ANALYSIS_UNDECIDED : ANALYSIS_SUPPORTED);
    if (seeds < 19) {
      assert_non_null(strstr(f.reason, "0 of 16 runs of a setting failed, but a fifth might"));
      assert_non_null(strstr(f.reason, "19 runs would tell"));
      assert_int_equal(f.more_seeds, 19);
    }
    world_free(&world);
  }
}

/* A setting near 1 with a long tail away from it, of 16 runs, seems better than one of equal mean. The allowance for
 * skew, 7 sd min(1, 2 sd / distance) / (n - 1), by hand. */
static void test_skew(void **state) {
  World world = two_settings(16, 0.93, 0.98, 0, 0);
  AnalysisTable table;
  const AnalysisSelection selection = {.runs = world.runs, .count = world.count};

  table = analysis_table_create(&selection, world.measured, NULL);
  AnalysisCells cells;
  const AnalysisArrangement arrangement = {.data = "", .where = "", .key = "env.num", .second = "",
                                           .free_settings = "ppo.epochs", .measure = ANALYSIS_MEASURE_final,
                                           .x_measure = -1};

  assert_int_equal(analysis_cells_create(&table, &arrangement, &cells), CORE_OK);
  size_t count;
  AnalysisClaimResult f = {.claim = analysis_claims_list(&count), .comparison = ANALYSIS_BY_DIFFERENCE};
  analysis_cells_allow(&table, &cells, &f);

  for (size_t c = 0; c < 2; c++) {
    const double mean = analysis_cells_mean(&cells, cells.score, c), sd = analysis_sd(cells.score + 16 * c, 16);
    assert_true(fabs(cells.allowance[c].near_high - 7 * sd * fmin(1, 2 * sd / (1 - mean)) / 15) < 1e-12);
    assert_true(cells.allowance[c].near_low == 0);
    assert_true(cells.allowance[c].failures == 0);
  }

  const double weight[2] = {-1, 1};
  const AnalysisContrast contrast = analysis_contrast(&cells, weight);
  assert_true(fabs(contrast.over - cells.allowance[1].near_high - cells.allowance[0].near_low) < 1e-12);
  assert_true(fabs(contrast.under - cells.allowance[1].near_low - cells.allowance[0].near_high) < 1e-12);

  analysis_cells_free(&cells);
  analysis_table_free(&table);
  world_free(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_unseen_rate), cmocka_unit_test(test_unseen),
                                     cmocka_unit_test(test_seen), cmocka_unit_test(test_sides),
                                     cmocka_unit_test(test_settings), cmocka_unit_test(test_tasks),
                                     cmocka_unit_test(test_mean), cmocka_unit_test(test_switch),
                                     cmocka_unit_test(test_skew)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
