/* Functional ANOVA of grids: known additive and interacting functions, noise, coverage of the intervals. */
#include "test.h"

#include "analysis/statistics/anova.h"
#include "core/random.h"

static const AnalysisResampling resampling = {300, 0.95, 6};

enum { A = 3, B = 4, CELLS = A * B, RUNS = 5 };
static const size_t levels[] = {A, B};

/* Returns a + b + interaction, with effects whose sums over each setting are 0: variances 2/3, 5/4 and weight / 2. */
static double effect_of(size_t a, size_t b, double weight) {
  static const double of_a[A] = {-1, 0, 1}, of_b[B] = {-1.5, -0.5, 0.5, 1.5};
  static const double row[A] = {1, -1, 0}, column[B] = {1, -1, 1, -1}; /* its variance is 2/3 */
  return of_a[a] + of_b[b] + weight * row[a] * column[b];
}

static void fill(double *score, size_t *first, size_t runs, double weight, double noise, uint32_t world) {
  for (size_t c = 0; c <= CELLS; c++) first[c] = c * runs;
  for (size_t i = 0; i < CELLS * runs; i++) {
    const CoreRandom4 words = core_random_4(46, CORE_RANDOM_TEST, world, (uint32_t)i, 0);
    double z, second;
    core_random_normal_pair(words.v[0], words.v[1], &z, &second);
    score[i] = effect_of(i / runs / B, i / runs % B, weight) + noise * z;
  }
}

/* Without noise the shares are exact: variances 2/3, 5/4 and 2/3. */
static void test_exact(void **state) {
  double score[CELLS * RUNS], noise;
  size_t first[CELLS + 1];
  AnalysisInterval main[2], pair[4];
  const double total = 2.0 / 3 + 5.0 / 4 + 2.0 / 3;
  fill(score, first, RUNS, 1, 0, 0);
  const AnalysisGrid grid = {2, CELLS, levels, first, score};
  analysis_anova(&grid, &resampling, main, pair, &noise);
  assert_near(main[0].center, 2.0 / 3 / total, 1e-12);
  assert_near(main[1].center, 5.0 / 4 / total, 1e-12);
  assert_near(pair[1].center, 2.0 / 3 / total, 1e-12);
  assert_near(main[0].low, main[0].high, 1e-12);
  assert_near(noise, 0, 1e-12);
  fill(score, first, RUNS, 0, 0, 0);
  analysis_anova(&grid, &resampling, main, pair, &noise);
  assert_near(main[0].center + main[1].center, 1, 1e-12);
  assert_near(pair[2].center, 0, 1e-12);
}

/* Three settings, of which the last runs fastest: only the middle one matters, with 1 and 3. */
static void test_order(void **state) {
  const size_t three[] = {2, 3, 2}, first[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const double score[] = {1, 1, 2, 2, 6, 6, 1, 1, 2, 2, 6, 6};
  AnalysisInterval main[3], pair[9];
  double noise;
  const AnalysisGrid grid = {3, 12, three, first, score};
  analysis_anova(&grid, &resampling, main, pair, &noise);
  assert_near(main[0].center, 0, 1e-12);
  assert_near(main[1].center, 1, 1e-12);
  assert_near(main[2].center, 0, 1e-12);
  assert_true(isnan(main[1].low) && isnan(noise)); /* one run in a cell */
}

/* Noise is subtracted: the mean estimate is the truth, and intervals hold it. */
static void test_noise(void **state) {
  enum { WORLDS = 150 };
  static const size_t seeds[] = {3, RUNS};
  const double total = 2.0 / 3 + 5.0 / 4 + 2.0 / 3 / 4;
  const double truth[] = {2.0 / 3 / total, 5.0 / 4 / total, 2.0 / 3 / 4 / total};

  for (size_t k = 0; k < 2; k++) {
    double sum[3] = {0}, noise_sum = 0;
    size_t missed = 0;
    for (uint32_t world = 0; world < WORLDS; world++) {
      double score[CELLS * RUNS], noise;
      size_t first[CELLS + 1];
      AnalysisInterval main[2], pair[4];

      fill(score, first, seeds[k], 0.5, 1, world);
      const AnalysisGrid grid = {2, CELLS, levels, first, score};
      analysis_anova(&grid, &resampling, main, pair, &noise);

      const AnalysisInterval effect[] = {main[0], main[1], pair[1]};
      noise_sum += noise / WORLDS;
      for (size_t e = 0; e < 3; e++) {
        sum[e] += effect[e].center / WORLDS;
        missed += effect[e].low > truth[e] || effect[e].high < truth[e];
      }
    }

    print_message("# %zu seeds: %zu of %d intervals miss\n", seeds[k], missed, 3 * WORLDS);
    assert_true(missed <= 3 * WORLDS * 8 / 100);
    assert_near(sum[0], truth[0], 0.03);
    assert_near(sum[1], truth[1], 0.03);
    assert_near(sum[2], truth[2], 0.04);
    assert_near(noise_sum, 1 / (1 + total), 0.03);
  }
}

/* Scores that are only noise explain nothing in most worlds: the interval of each effect begins at 0. */
static void test_nothing(void **state) {
  enum { WORLDS = 100 };
  size_t claimed = 0;
  for (uint32_t world = 0; world < WORLDS; world++) {
    double score[CELLS * RUNS], noise;
    size_t first[CELLS + 1];
    AnalysisInterval main[2];
    fill(score, first, RUNS, 0, 1, world);
    for (size_t i = 0; i < CELLS * RUNS; i++) score[i] -= effect_of(i / RUNS / B, i / RUNS % B, 0);
    const AnalysisGrid grid = {2, CELLS, levels, first, score};
    analysis_anova(&grid, &resampling, main, NULL, &noise);
    claimed += main[0].low > 0.02 || main[1].low > 0.02;
  }
  print_message("# noise: an effect is claimed in %zu of %d worlds\n", claimed, WORLDS);
  assert_true(claimed <= 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_exact), cmocka_unit_test(test_order),
                                     cmocka_unit_test(test_noise), cmocka_unit_test(test_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
