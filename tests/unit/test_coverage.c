/* State coverage (docs/results.md#state-coverage): cells and entropies of known points, the plane and its box, and that
 * a training's record holds just the states that its rollouts arrived in. */
#include "test.h"

#include "trainer/rollout/coverage.h"
#include "training_tools.h"

/* ---- parts ------------------------------------------------------------------------------------------------------ */

static void test_cells(void **state) {
  (void)state;
  CoverageRecord *record = calloc(1, sizeof *record);
  record->low[0] = -1, record->high[0] = 1, record->low[1] = 10, record->high[1] = 20;
  const struct { double x, y; int column, row;
  } cases[] = {
    {-1, 10, 0, 0},
    {-0.9801, 10.0999, 0, 0},
    {-0.9799, 10.1001, 1, 1},
    {0.0001, 15.0001, 50, 50},
    {0.9999, 19.9999, 99, 99},
    {1, 20, 99, 99}, /* the box's far sides belong to its last cells, and so does all beyond them */
    {7, 1e300, 99, 99},
    {-7, -1e300, 0, 0},
    {INFINITY, -INFINITY, 99, 0},
    {NAN, 12.05, 0, 20},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const double point[2] = {cases[i].x, cases[i].y};
    assert_int_equal(coverage_cell(record, point), cases[i].row * COVERAGE_FINE + cases[i].column);
  }
  free(record);
}

static void test_shares_and_entropies(void **state) {
  (void)state;
  int64_t *count = calloc(COVERAGE_CELLS, sizeof *count);
  CoverageSummary none = coverage_summarize(count);
  assert_true(none.states == 0 && none.share_fine == 0 && none.share_coarse == 0 && isnan(none.entropy_fine));

  count[4 * COVERAGE_FINE + 6] = 7; /* all in one cell: no entropy */
  CoverageSummary one = coverage_summarize(count);
  assert_near(one.states, 7, 0);
  assert_near(one.share_fine, 1e-4, 1e-18);
  assert_near(one.share_coarse, 4e-4, 1e-18);
  assert_near(one.entropy_fine, 0, 1e-15);

  /* Four equal cells that make one of the coarse grid; then the same a column further, where they are parts of two. */
  count[4 * COVERAGE_FINE + 7] = count[5 * COVERAGE_FINE + 6] = count[5 * COVERAGE_FINE + 7] = 7;
  CoverageSummary four = coverage_summarize(count);
  assert_near(four.share_fine, 4e-4, 1e-18);
  assert_near(four.share_coarse, 4e-4, 1e-18);
  assert_near(four.entropy_fine, log(4) / log(10000), 1e-15);
  assert_near(four.entropy_coarse, 0, 1e-15);

  count[4 * COVERAGE_FINE + 6] = count[5 * COVERAGE_FINE + 6] = 0;
  count[4 * COVERAGE_FINE + 8] = count[5 * COVERAGE_FINE + 8] = 7;
  CoverageSummary two = coverage_summarize(count);
  assert_near(two.share_coarse, 8e-4, 1e-18);
  assert_near(two.entropy_coarse, log(2) / log(2500), 1e-15);

  for (int i = 0; i < COVERAGE_CELLS; i++) count[i] = 3;
  CoverageSummary all = coverage_summarize(count);
  assert_near(all.share_fine, 1, 0);
  assert_near(all.entropy_fine, 1, 1e-12);
  assert_near(all.entropy_coarse, 1, 1e-12);
  free(count);
}

/* ---- in a training ---------------------------------------------------------------------------------------------- */

/* Another seed, number of worlds and algorithm: the same plane and box, so that runs can be compared. */
static void test_one_plane_for_all_runs(void **state) {
  (void)state;
  CoreConfig config = CONFIGURED_SMALL();
  Training *a = make(&config);
  set(&config, "train.seed=7");
  set(&config, "env.num=32");
  set(&config, "algo.name=ppo_ewma");
  Training *b = make(&config);
  assert_int_equal(a->coverage.features, a->levels->observation_length);
  assert_memory_equal(a->coverage.omega, b->coverage.omega, 2 * (size_t)a->coverage.features * sizeof(double));
  assert_memory_equal(a->coverage.record, b->coverage.record, sizeof *a->coverage.record);
  double squares = 0;
  for (int i = 0; i < 2 * a->coverage.features; i++) squares += a->coverage.omega[i] * a->coverage.omega[i];
  assert_near(squares, 2, 0.5); /* two columns of N(0, 1/features): standard error 2 / sqrt(features) */
  for (int axis = 0; axis < 2; axis++) assert_true(a->coverage.record->high[axis] > a->coverage.record->low[axis]);
  training_destroy(&a);
  training_destroy(&b);
}

/* A checkpoint whose record is damaged has been read by then, box and all. */
static void test_starting_over(void **state) {
  (void)state;
  CoreConfig config = CONFIGURED_SMALL();
  Training *training = make(&config);
  CoverageRecord *record = training->coverage.record, *fresh = calloc(1, sizeof *fresh);
  *fresh = *record;
  memset(record, 0x40, sizeof *record);
  training_start(training);
  assert_memory_equal(record, fresh, sizeof *record);
  free(fresh);
  training_destroy(&training);
}

/* If all states are used and an iteration's rollout is still in memory, its cells can be recounted. */
static void test_book_holds_the_states(void **state) {
  (void)state;
  CoreConfig config = CONFIGURED_SMALL("metrics.representation_every=2");
  Training *training = make(&config);
  const Coverage *coverage = &training->coverage;
  const Rollout *rollout = &training->rollout;
  const size_t features = (size_t)rollout->features;
  int64_t *expected = calloc(COVERAGE_CELLS, sizeof *expected);
  double before = 0;

  for (int i = 1; i <= 4; i++) {
    StoreIteration row = iterate(training, 1);
    assert_true(isnan(row.coverage_50) == (i % 2 == 0) && isnan(row.coverage_states) == (i % 2 == 0));
    if (i % 2 == 0) continue;

    for (size_t r = 16; r < 17 * 16; r++) { /* row blocks 1 .. 16: where steps arrived */
      double point[2];
      coverage_project(coverage, rollout->observations + r * features, point);
      expected[coverage_cell(coverage->record, point)]++;
    }

    assert_memory_equal(coverage->record->count, expected, COVERAGE_CELLS * sizeof *expected);
    assert_near(row.coverage_states, 256 * (i + 1) / 2, 0);
    assert_true(row.coverage_100 > 0 && row.coverage_100 < row.coverage_50 && row.coverage_100 > before);
    assert_true(row.coverage_entropy_50 > 0 && row.coverage_entropy_100 < 1);
    before = row.coverage_100;
  }

  free(expected);
  training_destroy(&training);
}

/* A part of the states, observations that the agent sees otherwise, levels that are ever new. */
static void test_other_settings(void **state) {
  (void)state;
  CoreConfig configs[] = {
    CONFIGURED_SMALL("metrics.states=100"),
    CONFIGURED_SMALL("env.normalize_observations=stoix", "env.normalize_warmup=4"),
    CONFIGURED_SMALL("algo.name=pqn", "env.actions=discrete"),
    CONFIGURED_SMALL("algo.name=sapg", "sapg.blocks=4", "env.actions=continuous"),
    CONFIGURED_SMALL("env.task=random_s", "env.curriculum=sfl", "env.max_steps=16", "sfl.batch_size=32",
                     "sfl.num_batches=1", "sfl.buffer_size=8", "sfl.rollout_steps=16", "ppo.minibatch_by=environments"),
  };
  for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
    Training *training = make(&configs[i]);
    int64_t sum = 0;
    StoreIteration row = iterate(training, 1);
    for (int k = 0; k < COVERAGE_CELLS; k++) sum += training->coverage.record->count[k];
    assert_int_equal(sum, i == 0 ? 100 : 256);
    assert_near(row.coverage_states, (double)sum, 0);
    assert_true(row.coverage_50 > 0);
    training_destroy(&training);
  }
}

/* ---- a sample that is kept -------------------------------------------------------------------------------------- */

/* For any number of iterations: the requested total, including the last one, and never more than available. */
static void test_shares_of_iterations(void **state) {
  (void)state;
  const struct { int64_t states, iterations, total, sum; int parts; } cases[] = {
    {1000, 4, 256, 1000, 4}, {1000, 3, 256, 3 * 256, 3}, {4096, 64, 1024, 4096, 64}, {4096, 65, 1024, 4096, 64},
    {4096, 1000003, 1024, 4096, 64}, {10, 1000, 1024, 10, 10}, {1, 1, 1, 1, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const Visited visited = {.states = cases[i].states, .iterations = cases[i].iterations, .total = cases[i].total};
    int64_t sum = 0, share = 0;
    int parts = 0;
    for (int64_t k = 1; k <= cases[i].iterations; k++) {
      share = visited_share(&visited, k);
      assert_true(share >= 0 && share <= cases[i].total);
      sum += share;
      parts += share > 0;
    }
    assert_int_equal(sum, cases[i].sum);
    assert_int_equal(parts, cases[i].parts);
    assert_true(share > 0);
    assert_int_equal(visited_share(&visited, cases[i].iterations + 1), 0);
  }
}

/* Each row of the sample is a state that the rollout arrived in, in its order; and the run learns what it learns
 * without. */
static void test_sample_holds_states(void **state) {
  (void)state;
  CoreConfig config = CONFIGURED_SMALL("metrics.visited_states=120"), plain = CONFIGURED_SMALL();
  Training *training = make(&config), *without = make(&plain);
  const Rollout *rollout = &training->rollout;
  const size_t features = (size_t)rollout->features, bytes = features * sizeof(float);
  for (int i = 1; i <= 4; i++) {
    iterate(training, 1);
    iterate(without, 1);
    const Visited *visited = &training->visited;
    assert_ptr_equal(rollout->visited, visited);
    assert_int_equal(visited->count, 30);
    assert_int_equal(visited->features, features);
    size_t at = 16; /* row blocks 1 .. 16: where steps arrived */
    for (int64_t s = 0; s < visited->count; s++, at++) {
      const float *row = visited->rows + (size_t)s * features;
      while (at < 17 * 16 && memcmp(rollout->observations + at * features, row, bytes) != 0) at++;
      assert_true(at < 17 * 16);
    }
  }
  assert_true(same_weights(training, without));
  assert_null(without->rollout.visited);
  training_destroy(&training);
  training_destroy(&without);
}

static void test_file_of_the_sample(void **state) {
  (void)state;
  float rows[] = {1, -2.5F, 3, 4, 5, INFINITY};
  const Visited visited = {.features = 3, .count = 2, .rows = rows};
  CoreText file = {0};
  visited_format(&visited, &file);
  const size_t header = (unsigned char)file.data[8] + 256U * (unsigned char)file.data[9];
  assert_memory_equal(file.data, "\x93NUMPY\x01\0", 8);
  assert_int_equal((10 + header) % 64, 0);
  assert_int_equal(file.length, 10 + header + sizeof rows);
  assert_int_equal(file.data[10 + header - 1], '\n');
  file.data[10 + header - 1] = '\0';
  assert_ptr_equal(strstr(file.data + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"),
                   file.data + 10);
  assert_memory_equal(file.data + 10 + header, rows, sizeof rows);
  core_text_free(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_cells), cmocka_unit_test(test_shares_and_entropies),
    cmocka_unit_test(test_one_plane_for_all_runs), cmocka_unit_test(test_starting_over),
    cmocka_unit_test(test_book_holds_the_states),
    cmocka_unit_test(test_other_settings), cmocka_unit_test(test_shares_of_iterations),
    cmocka_unit_test(test_sample_holds_states), cmocka_unit_test(test_file_of_the_sample),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
