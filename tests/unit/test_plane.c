/* analysis/coverage: the plane of known states, cells and shares, and the files of states as the trainer writes them,
 * whole and damaged. */
#include "test.h"

#include "analysis/runs/coverage.h"
#include "core/error.h"
#include "core/random.h"
#include "trainer/rollout/visited.h"

enum { STATES = 4000, FEATURES = 7 };

/* Features 0, 2 and 3 follow one hidden number a, 1 and 4 another b (4 with the sign turned), 5 is noise, 6 constant:
 * of six standardized features a explains 3/6 of the variance and b 2/6. */
static float *make_states(void) {
  float *states = malloc((STATES + 1) * FEATURES * sizeof *states);
  for (uint32_t i = 0; i < STATES; i++) {
    const CoreRandom4 words = core_random_4(5, CORE_RANDOM_TEST, i, 0, 0);
    double a, b, noise, unused;
    core_random_normal_pair(words.v[0], words.v[1], &a, &b);
    core_random_normal_pair(words.v[2], words.v[3], &noise, &unused);
    const float row[FEATURES] = {
      (float)(3 * a), (float)(100 + b), (float)(1e-3 * a), (float)(7 + 50 * a), (float)(-20 * b), (float)noise, 1e6F};
    memcpy(states + i * FEATURES, row, sizeof row);
  }
  for (int f = 0; f < FEATURES; f++) states[STATES * FEATURES + f] = f == 3 ? NAN : 0; /* a world that blew up */
  return states;
}

static void test_plane_of_known_states(void **state) {
  (void)state;
  float *states = make_states();
  AnalysisPlane plane;

  assert_ok(analysis_plane_fit(states, STATES + 1, FEATURES, &plane));
  assert_near(plane.share[0], 3.0 / 6, 0.03);
  assert_near(plane.share[1], 2.0 / 6, 0.03);

  const double third = 1 / sqrt(3), half = 1 / sqrt(2);
  const double first[FEATURES] = {third, 0, third, third, 0, 0, 0};
  for (int f = 0; f < FEATURES; f++) assert_near(plane.axis[0][f], first[f], 0.06);
  assert_near(fabs(plane.axis[1][1]), half, 0.06);
  assert_near(plane.axis[1][1] + plane.axis[1][4], 0, 1e-3);

  for (int k = 0; k < 2; k++) { /* unit length, orthogonal, largest component positive */
    double length = 0, across = 0, largest = 0;
    for (int f = 0; f < FEATURES; f++) {
      length += plane.axis[k][f] * plane.axis[k][f];
      across += plane.axis[0][f] * plane.axis[1][f];
      if (fabs(plane.axis[k][f]) > fabs(largest)) largest = plane.axis[k][f];
    }
    assert_near(length, 1, 1e-12);
    if (k == 1) assert_near(across, 0, 1e-12);
    assert_true(largest > 0);
  }

  assert_true(plane.scale[6] == 0);
  double place[2], inside = 0;
  for (int i = 0; i < STATES; i++) {
    assert_true(analysis_plane_project(&plane, states + i * FEATURES, place));
    inside += place[0] >= 0 && place[0] <= 1;
  }
  assert_near(inside / STATES, 0.99, 0.001); /* the box holds all but half a percent on either side */
  assert_false(analysis_plane_project(&plane, states + STATES * FEATURES, place));
  free(states);
  analysis_plane_free(&plane);
}

static double normal(uint32_t a, uint32_t b) {
  const CoreRandom4 words = core_random_4(11, CORE_RANDOM_TEST, a, b, 0);
  double first, unused;
  core_random_normal_pair(words.v[0], words.v[1], &first, &unused);
  return first;
}

/* 4000 features of two hidden numbers, one three times as strong in its features, and noise: the axes of the sketched
 * states are those of the hidden numbers. */
static void test_plane_of_many_features(void **state) {
  enum { COUNT = 400, PIXELS = 4000 };
  float *states = malloc((size_t)COUNT * PIXELS * sizeof *states);
  double hidden[COUNT][2], shared[2][2] = {{0}}, squares[2] = {0}, hidden_squares[2] = {0};
  AnalysisPlane plane;
  (void)state;

  for (uint32_t i = 0; i < COUNT; i++) {
    for (uint32_t k = 0; k < 2; k++) hidden[i][k] = normal(i, k);
    for (uint32_t f = 0; f < PIXELS; f++) {
      const int k = f % 4 == 0; /* a quarter of the features follow the second */
      states[i * PIXELS + f] = (float)(5 + hidden[i][k] + normal(i, 10 + f));
    }
  }

  states[7] = NAN; /* a state that does not count */
  assert_int_equal(analysis_plane_fit(states, COUNT, PIXELS, &plane), CORE_OK);

  for (uint32_t i = 1; i < COUNT; i++) {
    for (int a = 0; a < 2; a++) {
      double place = 0;
      for (size_t f = 0; f < PIXELS; f++)
        place += (states[i * PIXELS + f] - plane.mean[f]) * plane.scale[f] * plane.axis[a][f];
      squares[a] += place * place;
      for (int k = 0; k < 2; k++) shared[a][k] += place * hidden[i][k];
    }
    for (int k = 0; k < 2; k++) hidden_squares[k] += hidden[i][k] * hidden[i][k];
  }

  for (int a = 0; a < 2; a++) assert_true(fabs(shared[a][a]) / sqrt(squares[a] * hidden_squares[a]) > 0.95);
  assert_true(plane.share[0] > 2 * plane.share[1] && plane.share[0] + plane.share[1] < 1);
  assert_true(plane.share[1] > 0.05);
  analysis_plane_free(&plane);
  free(states);
}

static void test_degenerate_states(void **state) {
  (void)state;
  AnalysisPlane plane;
  const float equal[] = {1, 2, 1, 2, 1, 2}, line[] = {0, 1, 1, 3, 2, 5, 3, 7}, lost[] = {NAN, 1, INFINITY, 2};
  assert_int_equal(analysis_plane_fit(equal, 3, 2, &plane), CORE_FAIL);
  assert_message("3 usable states, all equal");
  assert_int_equal(analysis_plane_fit(lost, 2, 2, &plane), CORE_FAIL);
  assert_int_equal(analysis_plane_fit(NULL, 0, 2, &plane), CORE_FAIL);
  double place[2]; /* on a line: all variance in one component, the other in the middle of its box */
  assert_ok(analysis_plane_fit(line, 4, 2, &plane));
  assert_near(plane.share[0], 1, 1e-12);
  assert_near(plane.share[1], 0, 1e-12);
  assert_true(analysis_plane_project(&plane, line + 2, place));
  assert_near(place[1], 0.5, 0);
  analysis_plane_free(&plane);
  const float column[] = {1, 2, 3};
  assert_ok(analysis_plane_fit(column, 3, 1, &plane));
  assert_near(plane.axis[0][0], 1, 1e-12);
  analysis_plane_free(&plane);
}

static void test_cells(void **state) {
  (void)state;
  const struct { double x, y; size_t column, row; } cases[] = {
    {0, 0, 0, 0}, {0.0099, 0.0101, 0, 1}, {0.5, 0.995, 50, 99}, {1, 1, 99, 99}, {-3, 7, 0, 99}, {0.999, -1e300, 99, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(analysis_coverage_cell((const double[]){cases[i].x, cases[i].y}),
                     cases[i].row * 100 + cases[i].column);
  size_t *cells = calloc(100 * 100, sizeof *cells);
  assert_true(isnan(analysis_coverage_of(cells).coarse));
  cells[0] = cells[1] = cells[100] = 2; /* one cell of the coarse grid */
  cells[57 * 100 + 31] = 6;
  const AnalysisCoverage coverage = analysis_coverage_of(cells);
  assert_near(coverage.coarse, 2.0 / 2500, 1e-15);
  assert_near(coverage.fine, 4.0 / 10000, 1e-15);
  assert_near(coverage.entropy, log(2) / log(2500), 1e-12);
  free(cells);
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static void write_file(const char *directory, const char *name, const void *data, size_t size) {
  char path[CORE_PATH_MAX];
  assert_ok(core_files_path(path, "%s/%s", directory, name));
  assert_ok(core_files_write_atomic(path, data, size));
}

static void write_states(const char *directory, const char *name, int count, int features, float first) {
  float rows[64];
  for (int i = 0; i < count * features; i++) rows[i] = first + (float)i;
  const Visited visited = {.features = features, .count = count, .rows = rows};
  CoreText file = {0};
  visited_format(&visited, &file);
  write_file(directory, name, file.data, file.length);
  core_text_free(&file);
}

static void test_files(void **state) {
  AnalysisStates states;
  size_t count = 1;
  assert_ok(analysis_states_read("/nonexistent/run", &states));
  assert_int_equal(states.count, 0);
  assert_ok(analysis_states_count("/nonexistent/run", &count));
  assert_int_equal(count, 0);
  write_states(test_directory, "states.100.npy", 2, 3, 100); /* 100 comes after 20 */
  write_states(test_directory, "states.20.npy", 4, 3, 20);
  for (const char *const *other = (const char *const[]){"states.npy", "states..npy", "states.x.npy", "states.-3.npy",
                                                        "states.7.npy.tmp", "profile.3.tsv", NULL}; *other; other++)
    write_file(test_directory, *other, "nothing", 7);
  assert_ok(analysis_states_count(test_directory, &count));
  assert_int_equal(count, 6);
  assert_ok(analysis_states_read(test_directory, &states));
  assert_int_equal(states.count, 6);
  assert_int_equal(states.features, 3);
  assert_near(states.rows[0], 20, 0);
  assert_near(states.rows[4 * 3 + 5], 105, 0);
  assert_near(states.iteration[3], 20, 0);
  assert_near(states.iteration[4], 100, 0);
  for (size_t i = 0; i < 3; i++) assert_int_equal(analysis_states_spread(&states, i, 3), 2 * i);
  analysis_states_free(&states);
}

static void assert_refused(const char *directory, const char *name) {
  AnalysisStates states;
  assert_int_equal(analysis_states_read(directory, &states), CORE_FAIL);
  assert_message(name);
  assert_null(states.rows);
}

/* Any file gives an error that names it, never a read beyond its end. */
static void test_damaged_files(void **state) {
  char path[CORE_PATH_MAX], *whole;
  size_t size, count;

  write_states(test_directory, "states.100.npy", 2, 3, 100);
  assert_ok(core_files_path(path, "%s/states.100.npy", test_directory));
  assert_ok(core_files_read(path, 0, &whole, &size));

  for (size_t cut = 0; cut < size; cut += cut < 140 ? 1 : 3) {
    write_file(test_directory, "states.100.npy", whole, cut);
    assert_refused(test_directory, "states.100.npy");
  }

  for (size_t i = 0; i < 128; i++) { /* any byte of the header */
    AnalysisStates states;
    const char kept = whole[i];
    whole[i] = '9';
    write_file(test_directory, "states.100.npy", whole, size);
    if (analysis_states_read(test_directory, &states) == CORE_OK) analysis_states_free(&states);
    whole[i] = kept;
  }

  write_file(test_directory, "states.100.npy", "\x93NUMPY\x01\0\xff\xff", 10);
  assert_refused(test_directory, "states.100.npy");
  assert_int_equal(analysis_states_count(test_directory, &count), CORE_FAIL);
  static const char huge[] =
    "\x93NUMPY\x01\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (2147483647, 2147483647), }"
    "                                         \n";
  write_file(test_directory, "states.100.npy", huge, sizeof huge - 1);
  assert_refused(test_directory, "states.100.npy");

  write_file(test_directory, "states.100.npy", whole, size);
  write_states(test_directory, "states.200.npy", 2, 4, 0); /* another length */
  assert_refused(test_directory, "states.200.npy");
  free(whole);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_plane_of_known_states),
    cmocka_unit_test(test_plane_of_many_features), cmocka_unit_test(test_degenerate_states),
    cmocka_unit_test(test_cells),
    cmocka_unit_test_setup_teardown(test_files, test_directory_make, test_directory_remove),
    cmocka_unit_test_setup_teardown(test_damaged_files, test_directory_make, test_directory_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
