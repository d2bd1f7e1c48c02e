/* Power of claims (analysis/claims/power.h) against Student's t with known spread and effect. */
#include "test.h"

#include "claims_world.h"

#include "analysis/claims/power.h"

enum { WORLDS = 2000 };

/* The score rises in the second half: a one-sample t test. */
static const AnalysisClaim rising = {.id = "rising", .where = "", .key = "", .second = "", .data = "",
                                     .free_settings = "", .test = ANALYSIS_TEST_POSITIVE, .test_name = "POSITIVE",
                                     .measure = ANALYSIS_MEASURE_rise_second};

static AnalysisPlanned plan(int seeds) {
  AnalysisPlanned planned = {0};
  for (int seed = 0; seed < seeds; seed++) {
    char id[CORE_RUN_ID];
    const CoreConfig config = ewma(2, seed);
    core_config_id(&config, id);
    analysis_planned_add(&planned, &config, id);
    analysis_planned_add(&planned, &config, id); /* a second time, which counts once */
  }
  assert_int_equal(planned.count, seeds);
  return planned;
}

/* The noncentral t distribution (scipy.stats.nct) with n - 1 degrees of freedom, at levels of 0.025 and 0.025 / 3. */
static void test_student(void **state) {
  static const struct { int seeds; double effect, alone, together; } cases[] = {
    {16, 0.05, 0.4648, 0.2803}, {24, 0.05, 0.6504, 0.4615}, {16, 0.08, 0.8484, 0.6904}, {24, 0.08, 0.9633, 0.8990}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    AnalysisPlanned planned = plan(cases[i].seeds);
    AnalysisPower power;
    const AnalysisSpread spread = {.sd = 0.1};
    assert_int_equal(
      analysis_power_simulate(&planned, &rising, spread, cases[i].effect, 6, WORLDS, &power), CORE_OK);
    assert_true(power.tested);
    const double error = 4 * sqrt(0.25 / WORLDS);
    if (!(fabs(power.alone - cases[i].alone) < error && fabs(power.together - cases[i].together) < error))
      fail_msg("%d seeds: %g and %g instead of %g and %g", cases[i].seeds, power.alone, power.together,
               cases[i].alone, cases[i].together);
    analysis_planned_free(&planned);
  }
}

/* Without an effect the claim is supported by chance only. */
static void test_no_effect(void **state) {
  AnalysisPlanned planned = plan(16);
  AnalysisPower power;
  assert_int_equal(
    analysis_power_simulate(&planned, &rising, (AnalysisSpread){.sd = 0.1}, 0, 1, WORLDS, &power), CORE_OK);
  assert_true(power.alone > 0.01 && power.alone < 0.04);
  analysis_planned_free(&planned);
}

/* The spread of seeds within settings, whatever the settings' means. */
static void test_spread(void **state) {
  World world = world_create();
  double squares = 0;
  for (int c = 0; c < 2; c++) {
    double value[4], mean = 0;
    for (int seed = 0; seed < 4; seed++) {
      const CoreConfig config = ewma(c ? 8 : 2, seed);
      value[seed] = c + 0.3 * noise(3, (uint32_t)c, (uint32_t)seed);
      add_run(&world, &config, 0)->value[rising.measure] = value[seed];
      mean += value[seed] / 4;
    }
    for (int seed = 0; seed < 4; seed++) squares += (value[seed] - mean) * (value[seed] - mean);
  }

  const AnalysisSelection selection = {.runs = world.runs, .count = world.count};
  AnalysisTable table = analysis_table_create(&selection, world.measured, NULL);
  AnalysisSpread spread;
  assert_int_equal(analysis_spread_measure(&table, &rising, &spread), CORE_OK);
  assert_int_equal(spread.runs, 8);
  assert_true(fabs(spread.sd - sqrt(squares / 6)) < 1e-9);

  world.count = 2; /* two seeds of one setting are too few */
  const AnalysisSelection two = {.runs = world.runs, .count = 2};
  AnalysisTable few = analysis_table_create(&two, world.measured, NULL);
  assert_int_equal(analysis_spread_measure(&few, &rising, &spread), CORE_OK);
  assert_int_equal(spread.runs, 0);
  assert_true(spread.sd == analysis_spread_assumed(&rising).sd);
  analysis_table_free(&few);
  analysis_table_free(&table);
  world_free(&world);
}

/* ---- levers and second conditions -------------------------------------------------------------------------------- */

static void add_planned(AnalysisPlanned *planned, const CoreConfig *config) {
  char id[CORE_RUN_ID];
  core_config_id(config, id);
  analysis_planned_add(planned, config, id);
}

/* A full grid of four levers. */
static AnalysisPlanned plan_levers(int seeds) {
  AnalysisPlanned planned = {0};
  for (int point = 0; point < 16; point++) {
    for (int seed = 0; seed < seeds; seed++) {
      CoreConfig config = core_config_default();
      config.train.seed = seed;
      config.ppo.epsilon = point & 1 ? 0.3 : 0.2;
      config.ppo.learning_rate = point & 2 ? 2e-4 : 1e-4;
      config.ppo.epochs = point & 4 ? 4 : 1;
      config.ppo.gamma = point & 8 ? 0.99 : 0.95;
      add_planned(&planned, &config);
    }
  }
  return planned;
}

/* Effects of four levers whose standard deviation is their mean, by Student's t: 0.29 (noncentral t, 3 degrees of
 * freedom, noncentrality 2), however many the seeds. Ranks change it a little. */
static void test_levers(void **state) {
  static const AnalysisTest tested[] = {ANALYSIS_TEST_UP, ANALYSIS_TEST_DOWN, ANALYSIS_TEST_GROWS,
                                        ANALYSIS_TEST_MIDDLE};
  for (size_t i = 0; i < sizeof tested / sizeof *tested; i++) {
    const AnalysisClaim claim = {.id = "levers", .where = "", .key = "ddr", .second = "", .data = "",
                                 .free_settings = "ppo.epsilon,ppo.learning_rate,ppo.epochs,ppo.gamma",
                                 .test = tested[i], .test_name = "", .measure = ANALYSIS_MEASURE_final};
    double alone[2];
    for (int many = 0; many < 2; many++) {
      AnalysisPlanned planned = plan_levers(many ? 8 : 3);
      AnalysisPower power;
      const AnalysisSpread spread = {0.6, 0.01, 0};
      assert_int_equal(analysis_power_simulate(&planned, &claim, spread, 0.1, 1, 300, &power), CORE_OK);
      assert_true(power.tested);
      alone[many] = power.alone;
      analysis_planned_free(&planned);
    }
    if (!(alone[1] > 0.15 && alone[1] < 0.45 && fabs(alone[1] - alone[0]) < 0.1))
      fail_msg("test %zu: %g with 3 seeds, %g with 8", i, alone[0], alone[1]);
  }
}

/* Computes mean and standard deviation of a measure over runs with a parent, or over those without. */
static void describe_runs(const AnalysisPlanned *planned, const AnalysisRunMetrics *measured, AnalysisMeasure measure,
                          bool with_parent, double *mean, double *sd) {
  double *value = calloc(planned->count, sizeof *value);
  size_t count = 0;
  for (size_t r = 0; r < planned->count; r++)
    if ((planned->runs[r].parent[0] != '\0') == with_parent) value[count++] = measured[r].value[measure];
  assert_true(count >= 200);
  *mean = analysis_mean(value, count);
  *sd = analysis_sd(value, count);
  free(value);
}

/* The lead after a switch, and the change since it, are of the claim's effect and vary as seeds do; the late gain of a
 * plateau varies by a quarter of that. */
static void test_second_conditions(void **state) {
  const AnalysisSpread spread = {0.6, 0.08, 0};
  double mean, sd;
  AnalysisPlanned planned = {0};
  for (int seed = 0; seed < 200; seed++) {
    CoreConfig low = ewma(8, seed), high = ewma(512, seed);
    char parent[CORE_RUN_ID];
    add_planned(&planned, &low);
    add_planned(&planned, &high);
    core_config_id(&low, parent);
    snprintf(high.init.from, sizeof high.init.from, "run:%s@10", parent);
    add_planned(&planned, &high);
  }
  analysis_planned_name_parents(&planned);

  for (int down = 0; down < 2; down++) {
    AnalysisClaim claim = {.id = "switch", .where = "", .key = "ppo.com", .second = "", .data = "",
                           .free_settings = "", .test = down ? ANALYSIS_TEST_SWITCH_DOWN : ANALYSIS_TEST_SWITCH_UP,
                           .test_name = "", .measure = ANALYSIS_MEASURE_final};
    AnalysisRunMetrics *measured = calloc(planned.count + 1, sizeof *measured);
    analysis_power_fill(&planned, &claim, spread, 1, measured);
    analysis_power_add_effect(&planned, &claim, spread, 0.1, 1, measured);
    describe_runs(&planned, measured, down ? ANALYSIS_MEASURE_total_gain : ANALYSIS_MEASURE_early_gain, true, &mean,
                  &sd);
    assert_true(fabs(mean - (down ? -0.1 : 0.1)) < 0.02 && fabs(sd / 0.08 - 1) < 0.2);
    describe_runs(&planned, measured, ANALYSIS_MEASURE_early_gain, false, &mean, &sd);
    assert_true(fabs(mean - 0.6) < 0.02); /* runs that did not switch stay as they are */

    claim.test = ANALYSIS_TEST_LOW_PLATEAU;
    analysis_power_fill(&planned, &claim, spread, 1, measured);
    analysis_power_add_effect(&planned, &claim, spread, 0.1, 1, measured);
    describe_runs(&planned, measured, ANALYSIS_MEASURE_late_gain, false, &mean, &sd);
    assert_true(fabs(mean) < 0.005 && fabs(sd / 0.02 - 1) < 0.2);
    for (size_t r = 0; r < planned.count; r++) {
      const double *value = measured[r].value;
      assert_true(value[ANALYSIS_MEASURE_total_gain] == value[ANALYSIS_MEASURE_final]);
    }
    free(measured);
  }
  analysis_planned_free(&planned);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_student), cmocka_unit_test(test_no_effect),
                                     cmocka_unit_test(test_spread), cmocka_unit_test(test_levers),
                                     cmocka_unit_test(test_second_conditions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
