/* All claims at once: noise decides nothing more often than 95 % intervals allow, Holm's correction, the table. */
#include "test.h"

#include <omp.h>

#include "claims_world.h"

static const AnalysisClaimsOptions all = {0}, together = {.correct = true};

static double two_sided(const AnalysisClaimResult *f) { return fmin(1, 2 * fmin(f->p_for, f->p_against)); }

/* Returns claim i's probability by Holm's definition: the largest, of all claims j with smaller ones and of itself, of
 * p_j times the number of claims from j on. */
static double holm(const AnalysisClaimResult *plain, size_t count, size_t i) {
  double largest = 0;
  for (size_t j = 0; j < count; j++) {
    size_t from = 0;
    if (isnan(plain[j].p_for) || two_sided(&plain[j]) > two_sided(&plain[i])) continue;
    for (size_t k = 0; k < count; k++) {
      const double p = two_sided(&plain[k]), q = two_sided(&plain[j]);
      from += !isnan(plain[k].p_for) && (p > q || (p == q && strcmp(plain[k].claim->id, plain[j].claim->id) >= 0));
    }
    if (two_sided(&plain[j]) < two_sided(&plain[i]) || strcmp(plain[j].claim->id, plain[i].claim->id) <= 0)
      largest = fmax(largest, fmin(1, two_sided(&plain[j]) * (double)from));
  }
  return largest;
}

/* Holm's correction by its definition; and a clearly true claim is still supported. */
static void test_correction(void **state) {
  const double hill[] = {0.3, 0.5, 0.7, 0.6, 0.4};
  World world = com_world(hill, 0.03);
  const AnalysisSelection selection = {.runs = world.runs, .count = world.count};
  AnalysisClaimResult *plain, *corrected;
  size_t count, stands = 0;
  assert_int_equal(analysis_claims_test(NULL, &selection, world.measured, NULL, &all, &plain, &count),
                   CORE_OK);
  assert_int_equal(
    analysis_claims_test(NULL, &selection, world.measured, NULL, &together, &corrected, &count),
    CORE_OK);
  for (size_t i = 0; i < count; i++) {
    if (isnan(plain[i].p_for)) continue;
    assert_true(fabs(two_sided(&corrected[i]) - holm(plain, count, i)) < 1e-12);
    if (corrected[i].verdict != ANALYSIS_UNDECIDED) assert_int_equal(corrected[i].verdict, plain[i].verdict);
    stands += corrected[i].verdict != ANALYSIS_UNDECIDED;
  }
  assert_true(stands > 0);
  free(plain);
  free(corrected);
  world_free(&world);
}

/* A claim of what can happen is "not seen" only if it significantly did not happen, among all claims. */
static void test_correction_of_unseen(void **state) {
  static const double p_against[] = {0.02, 0.001};
  static const AnalysisClaim can = {.id = "can", .test = ANALYSIS_TEST_LOW_END, .can = true},
                             other = {.id = "other", .test = ANALYSIS_TEST_LOW_END};
  for (size_t i = 0; i < 2; i++) {
    AnalysisClaimResult list[2] = {{.claim = &can, .p_for = 0.9, .p_against = p_against[i], .level = 0.025,
                                    .seeds = 5, .is_not_seen = true, .reason = "not seen in the tested range"},
                                   {.claim = &other, .p_for = 0.5, .p_against = 0.5, .level = 0.025, .seeds = 5}};
    assert_int_equal(analysis_claims_correct(list, 2), 2);
    assert_int_equal(list[0].verdict, ANALYSIS_UNDECIDED);
    assert_int_equal(list[0].is_not_seen, i == 1);
    assert_string_equal(list[0].reason, i == 1 ? "not seen in the tested range" : "not significant among 2 claims");
  }
}

/* Nothing differs: how often does a claim find something? Each of several tests, over 40 worlds of noise: one
 * side of 95 % is 2.5 %, and more than 5 of 40 would be four standard deviations off. */
static void test_noise(void **state) {
  static const char *const ids[] = {"com_kl", "com_low", "com_high", "ddr_low", "ddr_ends"};
  enum { WORLDS = 40, IDS = sizeof ids / sizeof *ids };
  int decided[IDS] = {0}, hopeful = 0, open = 0;

  for (int w = 0; w < WORLDS; w++) {
    World world = world_create();
    for (int c = 0; c < 6; c++) {
      for (int seed = 0; seed < 5; seed++) {
        CoreConfig config = ewma(2 * pow(4, c), seed);
        AnalysisRunMetrics *run = add_run(&world, &config, 0);
        for (uint32_t m = 0; m < ANALYSIS_MEASURES; m++)
          run->value[m] = noise((uint64_t)w + 100, (uint32_t)(c * 8 + seed), m);
      }
    }

    AnalysisSelection selection = {.runs = world.runs, .count = world.count};
    AnalysisClaimResult *list;
    size_t count;
    assert_int_equal(analysis_claims_test(NULL, &selection, world.measured, NULL, &all, &list, &count), CORE_OK);

    for (size_t i = 0; i < count; i++) {
      for (int k = 0; k < IDS; k++) {
        if (strcmp(list[i].claim->id, ids[k]) != 0) continue;
        decided[k] += list[i].verdict == ANALYSIS_SUPPORTED;
        open += list[i].verdict == ANALYSIS_UNDECIDED;
        hopeful += list[i].more_seeds > list[i].seeds;
      }
    }
    analysis_claims_free(&list, count);
    world_free(&world);
  }

  for (int k = 0; k < IDS; k++) {
    print_message("# %s: supported by noise in %d of %d worlds\n", ids[k], decided[k], WORLDS);
    assert_true(decided[k] <= 5);
  }
  assert_true(open > 0 && hopeful > 0);
}

static void test_threads(void **state) {
  const double hill[] = {0.3, 0.5, 0.7, 0.6, 0.4};
  World world = com_world(hill, 0.1);
  int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  AnalysisClaimResult one = finding_of(&world, "com_low"), trend = finding_of(&world, "com_kl");
  omp_set_num_threads(5);
  AnalysisClaimResult five = finding_of(&world, "com_low"), trend_five = finding_of(&world, "com_kl");
  omp_set_num_threads(threads);
  assert_memory_equal(&one.interval, &five.interval, sizeof one.interval);
  assert_memory_equal(&trend.interval, &trend_five.interval, sizeof trend.interval);
  world_free(&world);
}

/* Every row of claims.def names existing settings and measures, for any runs. */
static void test_table(void **state) {
  World world = world_create();
  AnalysisSelection selection = {.runs = world.runs, .count = 0};
  AnalysisClaimResult *list;
  size_t count;
  assert_int_equal(analysis_claims_test(NULL, &selection, world.measured, NULL, &all, &list, &count), CORE_OK);
  assert_true(count > 40);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(list[i].verdict, ANALYSIS_UNDECIDED);
    assert_true(list[i].reason[0] != '\0' && list[i].claim->sentence[0] != '\0' && list[i].claim->data[0] != '\0');
    for (size_t k = 0; k < i; k++) assert_string_not_equal(list[i].claim->id, list[k].claim->id);
  }
  analysis_claims_free(&list, count);
  world_free(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_table), cmocka_unit_test(test_noise), cmocka_unit_test(test_threads),
    cmocka_unit_test(test_correction), cmocka_unit_test(test_correction_of_unseen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
