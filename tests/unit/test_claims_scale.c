/* The scale on which claims compare: ratios of positive unbounded measures, shares of returns that may be negative, and
 * differences of bounded measures, for every kind of test. */
#include "test.h"

#include "claims_world.h"

#include "analysis/claims/claims.h"

enum { FEW_SEEDS = 5 };

static void set_text(CoreConfig *config, const char *name, const char *value) {
  if (core_config_set(config, name, value) != CORE_OK) fail_msg("%s", core_error_message());
}

/* KL by epsilon 0.05 and 0.8 at COM 2 and 512: times 8 and times 236, though the difference is larger at COM 2. */
static void test_gain_of_kl(void **state) {
  static const double kl[2][2] = {{0.05, 0.4}, {0.001, 0.236}};
  World world = world_create();
  for (int com = 0; com < 2; com++) {
    for (int epsilon = 0; epsilon < 2; epsilon++) {
      for (int seed = 0; seed < FEW_SEEDS; seed++) {
        CoreConfig config = ewma(com ? 512 : 2, seed);
        config.ppo.epsilon = epsilon ? 0.8 : 0.05;
        add_run(&world, &config, 0)->value[ANALYSIS_MEASURE_kl] =
          kl[com][epsilon] * exp(0.05 * noise(20, (uint32_t)(2 * com + epsilon), (uint32_t)seed));
      }
    }
  }

  AnalysisClaimResult f = finding_of(&world, "com_overshoot");
  assert_int_equal(f.verdict, ANALYSIS_SUPPORTED);
  assert_int_equal(f.comparison, ANALYSIS_BY_RATIO);
  assert_true(fabs(f.interval.center - log(236.0 / 8)) < 0.2);

  world.measured[0].value[ANALYSIS_MEASURE_kl] = INFINITY; /* no mean, hence no verdict, and the reason is told */
  f = finding_of(&world, "com_overshoot");
  assert_int_equal(f.verdict, ANALYSIS_UNDECIDED);
  assert_non_null(strstr(f.reason, "no finite value"));
  world_free(&world);
}

/* Returns of two tasks, by the number of minibatches: the loss of one minibatch is a half and three quarters. */
static World returns_world(double small_scale, double large_scale, double offset) {
  World world = world_create();
  for (int task = 0; task < 2; task++) {
    for (int size = 0; size < 3; size++) {
      for (int seed = 0; seed < FEW_SEEDS; seed++) {
        CoreConfig config = core_config_default();
        set_text(&config, "env.task", task ? "gym/Walker2d-v4" : "gym/HalfCheetah-v4");
        config.ppo.num_minibatches = 1 << (2 * size);
        config.train.seed = seed;
        const double scale = task ? large_scale : small_scale, most = task ? 0.75 : 0.5;
        const double lost = size == 0 ? most : size == 1 ? 0.1 : 0;
        const double score = scale * (1 - lost) * (1 + 0.01 * noise(21, (uint32_t)(3 * task + size), (uint32_t)seed));
        add_run(&world, &config, score - offset * scale);
      }
    }
  }
  return world;
}

/* A task whose returns are a thousand times as large does not outweigh the other one. */
static void test_tasks_of_unequal_scale(void **state) {
  static const double scales[][2] = {{1, 1}, {1, 1000}, {1000, 1}};
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
    World world = returns_world(scales[i][0], scales[i][1], 0);
    AnalysisClaimResult f = finding_of(&world, "small_minibatches");
    assert_int_equal(f.comparison, ANALYSIS_BY_RATIO);
    assert_true(fabs(f.interval.center - (log(2) + log(4)) / 2) < 0.02);
    assert_int_equal(f.verdict, ANALYSIS_SUPPORTED);
    world_free(&world);
    world = returns_world(scales[i][0], scales[i][1], 2); /* all are negative */
    f = finding_of(&world, "small_minibatches");
    assert_int_equal(f.comparison, ANALYSIS_BY_SHARE);
    /* differences 0.5 and 0.75, by the mean absolute returns 2 - (0.5 + 0.9 + 1) / 3 and 2 - (0.25 + 0.9 + 1) / 3 */
    assert_true(fabs(f.interval.center - (0.5 / 1.2 + 0.75 / (2 - 2.15 / 3)) / 2) < 0.02);
    assert_int_equal(f.verdict, ANALYSIS_SUPPORTED);
    world_free(&world);
  }
}

/* Each claim of claims.def, whatever its test, compares on the scale of its measure. */
static void test_all_kinds(void **state) {
  size_t count;
  const AnalysisClaim *claims = analysis_claims_list(&count);
  for (size_t i = 0; i < count; i++) {
    double score[3] = {2, 4, 8}, x[3] = {1, 10, 100};
    size_t run[3] = {0, 1, 2}, first[2] = {0, 3}, stratum[2] = {0, 1};
    AnalysisRunMetrics measured[3] = {0};
    const AnalysisTable table = {.metrics = measured};

    for (int rated = 0; rated < 2; rated++) {
      for (int r = 0; r < 3; r++) {
        score[r] = 2 << r;
        measured[r].rated = rated;
        measured[r].normalized = !rated;
        for (size_t k = 0; k < ANALYSIS_MEASURES; k++) measured[r].value[k] = score[r];
      }

      AnalysisCells cells = {.run = run, .score = score, .x = x, .first = first, .stratum = stratum, .count = 3,
                             .cells = 1, .strata = 1};
      AnalysisClaimResult f = {.claim = &claims[i], .margin = NAN};
      analysis_cells_scale(&table, &cells, &f);

      const AnalysisRange range = analysis_measure_range(claims[i].measure, measured, NULL, 3);
      if (isfinite(range.high)) assert_int_equal(f.comparison, ANALYSIS_BY_DIFFERENCE);
      if (range.logarithmic) assert_int_equal(f.comparison, ANALYSIS_BY_RATIO);
      const double shown[] = {4, log(4), 4 * 3.0 / 14};
      assert_true(fabs(score[1] - shown[f.comparison]) < 1e-12);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gain_of_kl), cmocka_unit_test(test_tasks_of_unequal_scale),
                                     cmocka_unit_test(test_all_kinds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
