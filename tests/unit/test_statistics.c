/* analysis/statistics against scipy and numpy (golden file, skipped if absent), published tables, and properties
 * that hold for all data. tests/golden/golden_stats.c compares with rliable. */
#include "test.h"

#include <stdbool.h>

#include <omp.h>

#include "analysis/statistics/statistics.h"
#include "core/random.h"
#include "oracle/student.h"

static const char golden_path[] = "../shared/data/golden_ppo/statistics.gold";

/* ---- the golden file: "PPOGOLD1", u32 count, u32 0, then 112-byte entries (name[64] type ndim dim[4] offset) ---- */

typedef struct Golden { unsigned char *bytes; size_t size; } Golden;
typedef struct GoldenEntry { char name[64]; uint32_t type, dimensions; uint64_t dim[4], offset; } GoldenEntry;

static bool golden_open(Golden *golden) {
  FILE *file = fopen(golden_path, "rb");
  if (!file) return false;
  fseek(file, 0, SEEK_END);
  golden->size = (size_t)ftell(file);
  rewind(file);
  golden->bytes = malloc(golden->size);
  bool good = fread(golden->bytes, 1, golden->size, file) == golden->size && memcmp(golden->bytes, "PPOGOLD1", 8) == 0;
  fclose(file);
  assert_true(good);
  return true;
}

/* The data of a tensor; fails the test when it is absent. */
static const void *golden_data(const Golden *golden, size_t *count, const char *format, ...) {
  char name[64];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  uint32_t entries;
  memcpy(&entries, golden->bytes + 8, 4);
  for (uint32_t i = 0; i < entries; i++) {
    const GoldenEntry *entry = (const GoldenEntry *)(golden->bytes + 16 + 112 * (size_t)i);
    if (strncmp(entry->name, name, 64) != 0) continue;
    *count = (size_t)(entry->dim[0] * entry->dim[1] * entry->dim[2] * entry->dim[3]);
    return golden->bytes + entry->offset;
  }
  fail_msg("%s has no tensor %s", golden_path, name);
  return NULL;
}

static void assert_agrees(double value, double expected, double relative) {
  if (isnan(expected) ? !isnan(value) : !(fabs(value - expected) <= relative * fmax(1, fabs(expected)))) {
    fail_msg("%.17g, expected %.17g", value, expected);
  }
}

#define OPEN_GOLDEN(golden)                                             \
  Golden golden;                                                        \
  if (!golden_open(&golden)) {                                          \
    print_message("%s is absent: skipped\n", golden_path);              \
    skip();                                                             \
  }

static void test_student_golden(void **state) {
  (void)state;
  OPEN_GOLDEN(golden)
  static const int sizes[] = {2, 3, 4, 5, 10};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    size_t n, three;
    const double *x = golden_data(&golden, &n, "student/%d/in/x", sizes[s]);
    const double *expected = golden_data(&golden, &three, "student/%d/out/mean_low_high", sizes[s]);
    AnalysisInterval interval = oracle_student(x, n, 0.95);
    assert_agrees(interval.center, expected[0], 1e-12);
    assert_agrees(interval.low, expected[1], 1e-11);
    assert_agrees(interval.high, expected[2], 1e-11);
  }
  free(golden.bytes);
}

static void test_interpolate_golden(void **state) {
  (void)state;
  OPEN_GOLDEN(golden)
  size_t n, points;
  const double *x = golden_data(&golden, &n, "interp/in/x"), *y = golden_data(&golden, &n, "interp/in/y");
  const double *grid = golden_data(&golden, &points, "interp/in/grid");
  const double *expected = golden_data(&golden, &points, "interp/out/y");
  for (size_t i = 0; i < points; i++) assert_agrees(analysis_interpolate(x, y, n, grid[i]), expected[i], 1e-12);
  free(golden.bytes);
}

/* ---- published numbers ------------------------------------------------------------------------------------------ */

static void test_student_tables(void **state) {
  (void)state;
  static const struct { double probability, degrees, t; } rows[] = { /* NIST/SEMATECH handbook 1.3.6.7.2 */
    {0.975, 1, 12.706}, {0.975, 2, 4.303}, {0.975, 3, 3.182}, {0.975, 4, 2.776}, {0.975, 30, 2.042},
    {0.975, 100, 1.984}, {0.995, 5, 4.032}, {0.9, 10, 1.372}, {0.999, 2, 22.327}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double t = analysis_student_quantile(rows[i].probability, rows[i].degrees);
    assert_true(fabs(t - rows[i].t) < 6e-4);
    assert_agrees(analysis_student_quantile(1 - rows[i].probability, rows[i].degrees), -t, 1e-9);
  }
  assert_agrees(analysis_student_quantile(0.75, 1), 1, 1e-13);              /* Cauchy: tan(pi / 4) */
  assert_agrees(analysis_student_quantile(0.975, 1e7), 1.959963984540054, 1e-6); /* the normal limit */
  assert_true(analysis_student_quantile(0.5, 3) < 1e-12);
  assert_true(isnan(analysis_student_quantile(0, 3)) && isnan(analysis_student_quantile(1, 3)));
  assert_true(isnan(analysis_student_quantile(0.9, 0)) && isnan(analysis_student_quantile(NAN, 2)));
}

static void test_incomplete_beta(void **state) {
  (void)state;
  for (int i = 1; i < 10; i++) { /* closed forms: I_x(1, b), I_x(a, 1), and the symmetry */
    double x = i / 10.0;
    assert_agrees(analysis_incomplete_beta(1, 3, x), 1 - pow(1 - x, 3), 1e-14);
    assert_agrees(analysis_incomplete_beta(2.5, 1, x), pow(x, 2.5), 1e-14);
    assert_agrees(analysis_incomplete_beta(0.5, 4, x) + analysis_incomplete_beta(4, 0.5, 1 - x), 1, 1e-13);
  }
  assert_agrees(analysis_incomplete_beta(2, 2, 0), 0, 0);
  assert_agrees(analysis_incomplete_beta(2, 2, 1), 1, 0);
  assert_true(isnan(analysis_incomplete_beta(-1, 2, 0.5)) && isnan(analysis_incomplete_beta(1, 2, 1.5)));
}

static void test_small_values(void **state) {
  (void)state;
  const double eight[] = {8, 1, 7, 2, 6, 3, 5, 4}, ten[] = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
  assert_agrees(analysis_percentile(ten, 10, 0.25), 3.25, 1e-15); /* numpy.percentile(range(1, 11), 25) */
  assert_agrees(analysis_percentile(ten, 10, 1), 10, 0);
  assert_agrees(analysis_percentile(ten, 1, 0.3), 10, 0);
  assert_agrees(analysis_sd(eight, 8), sqrt(6), 1e-15);
  assert_true(analysis_sd((const double[]){0.8, 0.8, 0.8}, 3) == 0); /* their mean is not 0.8 to the last bit */
  const double powers[] = {1, 10, 100};
  assert_agrees(analysis_geometric_mean(powers, 3), 10, 1e-14);
  assert_true(isnan(analysis_mean(ten, 0)) && isnan(analysis_sd(ten, 1)));
  assert_true(isnan(analysis_geometric_mean((const double[]){1, 0}, 2)));
  assert_true(isnan(analysis_percentile((const double[]){1, NAN}, 2, 0.5)) && isnan(analysis_percentile(ten, 10, 1.5)));
  assert_true(isnan(analysis_interpolate(ten, ten, 0, 1)) && isnan(analysis_interpolate(eight, eight, 1, NAN)));
}

static void test_spearman(void **state) {
  (void)state;
  /* IQ against hours of television: the worked example of Spearman's coefficient in textbooks, rho = -29/165. */
  const double iq[] = {106, 86, 100, 101, 99, 103, 97, 113, 112, 110}, hours[] = {7, 0, 27, 50, 28, 29, 20, 12, 6, 17};
  assert_agrees(analysis_spearman(iq, hours, 10), -29.0 / 165, 1e-14);
  const double x[] = {1, 2, 2, 3}, y[] = {1, 3, 2, 4}; /* scipy.stats.spearmanr: 0.9486832980505138 */
  assert_agrees(analysis_spearman(x, y, 4), 0.9486832980505138, 1e-14);
  double ranks[4];
  analysis_ranks(x, 4, ranks);
  assert_true(ranks[0] == 1 && ranks[1] == 2.5 && ranks[2] == 2.5 && ranks[3] == 4);
  assert_true(isnan(analysis_spearman(x, (const double[]){1, 1, 1, 1}, 4)) && isnan(analysis_spearman(x, y, 1)));
  assert_true(isnan(analysis_spearman(x, (const double[]){1, NAN, 2, 3}, 4)));
}

/* ---- the bootstrap ---------------------------------------------------------------------------------------------- */

static double mean_of(const void *context, const size_t *index, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += ((const double *)context)[index[i]];
  return n ? sum / (double)n : NAN;
}

static double test_normal(uint32_t i) {
  CoreRandom4 words = core_random_4(7, CORE_RANDOM_TEST, i, 0, 0);
  double first, second;
  core_random_normal_pair(words.v[0], words.v[1], &first, &second);
  return first;
}

static void test_bootstrap_threads(void **state) {
  (void)state;
  double x[40], y[40];
  size_t cluster[40];
  for (uint32_t i = 0; i < 40; i++) {
    x[i] = test_normal(i);
    y[i] = 0.5 * x[i] + test_normal(100 + i);
    cluster[i] = i / 4;
  }
  int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  AnalysisInterval one = analysis_spearman_interval(x, y, cluster, 40, 10, NULL, 500, 0.95, 3);
  omp_set_num_threads(5);
  AnalysisInterval five = analysis_spearman_interval(x, y, cluster, 40, 10, NULL, 500, 0.95, 3);
  AnalysisInterval other = analysis_spearman_interval(x, y, cluster, 40, 10, NULL, 500, 0.95, 4);
  omp_set_num_threads(threads);
  assert_memory_equal(&one, &five, sizeof one);
  assert_true(other.low != one.low);
  assert_true(one.low < one.center && one.center < one.high && one.center == analysis_spearman(x, y, 40));
  for (size_t i = 0; i < 40; i++) x[i] = round(x[i]), y[i] = round(2 * y[i]); /* ties: mean ranks, as one by one */
  AnalysisInterval tied = analysis_spearman_interval(x, y, cluster, 40, 10, NULL, 500, 0.95, 3);
  assert_agrees(tied.center, analysis_spearman(x, y, 40), 1e-12);
  x[7] = NAN;
  assert_true(isnan(analysis_spearman_interval(x, y, cluster, 40, 10, NULL, 500, 0.95, 3).center));
}

/* Within each of two strata y rises with x; over both it falls. */
static void test_spearman_strata(void **state) {
  (void)state;
  const double x[] = {1, 2, 3, 11, 12, 13}, y[] = {10, 11, 12, 1, 2, 3};
  const size_t cluster[] = {0, 1, 2, 3, 4, 5}, stratum[] = {0, 0, 0, 1, 1, 1};
  assert_agrees(analysis_spearman_interval(x, y, cluster, 6, 6, stratum, 100, 0.95, 3).center, 1, 1e-12);
  assert_true(analysis_spearman_interval(x, y, cluster, 6, 6, NULL, 100, 0.95, 3).center < 0);
}

/* Each stratum keeps its number of clusters in every replicate: equal values within strata leave no spread. */
static void test_bootstrap_strata(void **state) {
  (void)state;
  const double x[] = {1, 1, 1, 5, 5, 5, 5};
  const size_t cluster[] = {0, 1, 2, 3, 4, 5, 6}, stratum[] = {0, 0, 0, 1, 1, 1, 1};
  const AnalysisInterval within = analysis_bootstrap(mean_of, x, cluster, 7, 7, stratum, 200, 0.95, 1);
  const AnalysisInterval across = analysis_bootstrap(mean_of, x, cluster, 7, 7, NULL, 200, 0.95, 1);
  assert_agrees(within.low, 23. / 7, 1e-12);
  assert_agrees(within.high, 23. / 7, 1e-12);
  assert_true(across.low < 2.5 && across.high > 4);
}

/* The percentile interval of a mean is close to the normal one; clusters of identical points widen it by sqrt(4). */
static void test_bootstrap_width(void **state) {
  (void)state;
  enum { POINTS = 100, COPIES = 4 };
  double x[POINTS], repeated[POINTS * COPIES];
  size_t own[POINTS], cluster[POINTS * COPIES], apart[POINTS * COPIES];
  for (uint32_t i = 0; i < POINTS; i++) {
    x[i] = test_normal(i);
    own[i] = i;
    for (size_t c = 0; c < COPIES; c++) {
      repeated[i * COPIES + c] = x[i];
      cluster[i * COPIES + c] = i;
      apart[i * COPIES + c] = i * COPIES + c;
    }
  }
  double expected = 2 * 1.96 * analysis_sd(x, POINTS) / sqrt(POINTS);
  AnalysisInterval plain = analysis_bootstrap(mean_of, x, own, POINTS, POINTS, NULL, 4000, 0.95, 1);
  AnalysisInterval clustered =
    analysis_bootstrap(mean_of, repeated, cluster, POINTS * COPIES, POINTS, NULL, 4000, 0.95, 1);
  AnalysisInterval blind =
      analysis_bootstrap(mean_of, repeated, apart, POINTS * COPIES, POINTS * COPIES, NULL, 4000, 0.95, 1);
  assert_true(fabs((plain.high - plain.low) / expected - 1) < 0.08);
  assert_true(fabs((clustered.high - clustered.low) / expected - 1) < 0.08);
  assert_true(fabs((blind.high - blind.low) * 2 / expected - 1) < 0.08);
}

static void test_bootstrap_edges(void **state) {
  (void)state;
  const double x[] = {1, 2, 3}, y[] = {5, 5, 5};
  const size_t cluster[] = {0, 0, 0};
  AnalysisInterval constant = analysis_spearman_interval(x, y, cluster, 3, 1, NULL, 50, 0.95, 0);
  assert_true(isnan(constant.center) && isnan(constant.low) && isnan(constant.high));
  AnalysisInterval single = analysis_spearman_interval(x, x, cluster, 3, 1, NULL, 50, 0.95, 0);
  assert_agrees(single.low, 1, 1e-15);
  assert_agrees(single.high, 1, 1e-15);
  AnalysisInterval empty = analysis_spearman_interval(x, x, cluster, 0, 0, NULL, 50, 0.95, 0);
  assert_true(isnan(empty.center) && empty.n == 0);
}

/* R: t.test(x, y)$conf.int; power.t.test(delta = 0.1, sd = 0.1, power = 0.8) gives n = 16.7, delta = 0.2: 5.09. */
static void test_two_sides(void **state) {
  const double x[] = {0.61, 0.64, 0.58, 0.66, 0.60}, y[] = {0.52, 0.55, 0.57};
  AnalysisInterval interval = oracle_welch(x, 5, y, 3, 0.95);
  assert_agrees(interval.center, 0.618 - 0.5466666666666667, 1e-12);
  /* by hand: se^2 = 0.00102 / 5 + 0.000633333 / 3, 5.27158 degrees: between the tables' t of 5 and of 6 degrees */
  double t = (interval.high - interval.low) / 2 / sqrt(0.00102 / 5 + 0.0019 / 9);
  assert_true(t < 2.5706 && t > 2.4469);
  assert_agrees(t, analysis_student_quantile(0.975, 5.271582687621528), 1e-10);
  assert_int_equal(analysis_seeds_needed(0.1, 0.1, 0.1, 1, 0.95, 0.8), 17);
  assert_int_equal(analysis_seeds_needed(-0.2, 0.1, 0.1, 1, 0.95, 0.8), 6);
  assert_int_equal(analysis_seeds_needed(0, 0.1, 0.1, 1, 0.95, 0.8), 0);
  assert_int_equal(analysis_seeds_needed(1e-9, 0.1, 0.1, 1, 0.95, 0.8), 0);
  assert_int_equal(analysis_seeds_needed(1, 0, 0, 1, 0.95, 0.8), 2);
  assert_int_equal(analysis_seeds_needed(0.1, 0.1, 0.1, 4, 0.95, 0.8), 5); /* 16 degrees: t 2.12 + 0.865 */
  assert_int_equal(analysis_seeds_needed(NAN, 0.1, 0.1, 1, 0.95, 0.8), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_student_golden),    cmocka_unit_test(test_interpolate_golden),
    cmocka_unit_test(test_student_tables),
    cmocka_unit_test(test_incomplete_beta),   cmocka_unit_test(test_small_values),
    cmocka_unit_test(test_spearman),          cmocka_unit_test(test_bootstrap_threads),
    cmocka_unit_test(test_spearman_strata), cmocka_unit_test(test_bootstrap_strata),
    cmocka_unit_test(test_bootstrap_width),
    cmocka_unit_test(test_bootstrap_edges),
    cmocka_unit_test(test_two_sides),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
