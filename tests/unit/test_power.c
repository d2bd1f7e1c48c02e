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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_student), cmocka_unit_test(test_no_effect),
                                     cmocka_unit_test(test_spread)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
