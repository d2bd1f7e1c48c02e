/* Sequences of filtered levels: equality with the plain definition of the filter, independence of ranges and
 * threads, and regeneration of a level from its number. */
#include "test.h"

#include <omp.h>

#include "core/memory.h"
#include "sim/batch/filter.h"
#include "sim/batch/level_stream.h"
#include "sim/levels/generate.h"
#include "sim/levels/level_set.h"
#include "tests/level_hash.h"

enum { SIZES = 3, LEVELS = 2 * SIM_STREAM_GROUP };
static const SimSize *const sizes[SIZES] = {&SIM_SIZE_S, &SIM_SIZE_M, &SIM_SIZE_L};
static SimLevel levels[LEVELS], other[LEVELS];
static uint32_t numbers[LEVELS];

static SimLevelStream *make(SimSize size) {
  SimLevelStream *stream;
  if (sim_level_stream_create(size, &stream) != CORE_OK) fail_msg("%s", core_error_message());
  return stream;
}

static uint64_t hash_of(const SimLevel *level) { return level_hash(LEVEL_HASH_START, level); }

static void assert_same(const SimLevel *a, const SimLevel *b, int count) {
  for (int i = 0; i < count; i++) {
    assert_string_equal(a[i].name, b[i].name);
    assert_true(hash_of(&a[i]) == hash_of(&b[i]));
  }
}

/* The groups are the filter's choice among all 128, although only those are played that could be chosen. */
static void test_is_the_filter(void **state) {
  (void)state;
  for (int s = 0; s < SIZES; s++) {
    SimLevelStream *stream = make(*sizes[s]);
    for (uint64_t key = 1; key < (s == 0 ? 4 : 2); key++) {
      const int64_t group = key == 3 ? 33554430 : 5 * (int64_t)key; /* and the last ones of a sequence */
      sim_level_stream_draw(stream, key, group * SIM_STREAM_GROUP, LEVELS, levels, numbers);
      for (int g = 0; g < 2; g++) {
        SimLevelSet set;
        assert_int_equal(sim_generate_filtered(*sizes[s], key, (uint32_t)(group + g) * 2 * SIM_STREAM_GROUP,
                                               SIM_STREAM_GROUP, &set), CORE_OK);
        assert_same(levels + g * SIM_STREAM_GROUP, set.level, SIM_STREAM_GROUP);
        sim_level_set_free(&set);
      }
      for (int i = 0; i < LEVELS; i++) {
        assert_int_equal(sim_generate_level(*sizes[s], key, numbers[i], &other[i]), CORE_OK);
        assert_true(i == 0 || numbers[i] > numbers[i - 1]);
      }
      assert_same(levels, other, LEVELS);
    }
    sim_level_stream_destroy(&stream);
    assert_null(stream);
  }
}

static void test_key_0_is_the_fixed_set(void **state) {
  (void)state;
  SimLevelSet set;
  SimLevelStream *stream = make(SIM_SIZE_M);
  assert_int_equal(sim_generate_set(SIM_SIZE_M, 70, &set), CORE_OK);
  sim_level_stream_draw(stream, 0, 0, 70, levels, NULL);
  assert_same(levels, set.level, 70);
  sim_level_set_free(&set);
  sim_level_stream_destroy(&stream);
}

static void test_ranges_fit_together(void **state) {
  (void)state;
  SimLevelStream *stream = make(SIM_SIZE_S);
  sim_level_stream_draw(stream, 7, 60, 100, levels, NULL);
  static const int cuts[] = {0, 1, 4, 5, 68, 70, 100};
  for (int i = 0; i + 1 < (int)(sizeof cuts / sizeof *cuts); i++)
    sim_level_stream_draw(stream, 7, 60 + cuts[i], cuts[i + 1] - cuts[i], other + cuts[i], numbers + cuts[i]);
  assert_same(levels, other, 100);
  sim_level_stream_destroy(&stream);
}

static void test_threads_do_not_matter(void **state) {
  (void)state;
  const int threads = omp_get_max_threads();
  for (int count = 1; count <= 4; count += 3) {
    omp_set_num_threads(count);
    SimLevelStream *stream = make(SIM_SIZE_M);
    sim_level_stream_draw(stream, 9, 0, LEVELS, count == 1 ? levels : other, NULL);
    assert_int_equal(omp_get_max_threads(), count); /* the caller's number stays */
    sim_level_stream_destroy(&stream);
  }
  omp_set_num_threads(threads);
  assert_same(levels, other, LEVELS);
}

/* Few levels solve themselves, many of the unfiltered ones do; keys give other levels. */
static void test_is_filtered(void **state) {
  (void)state;
  enum { MANY = 1024 };
  SimLevelSet set = {core_memory_allocate(MANY * sizeof *set.level), MANY, SIM_SIZE_S};
  uint8_t solved[MANY];
  SimLevelStream *stream = make(SIM_SIZE_S);
  int kept = 0, drawn = 0;
  sim_level_stream_draw(stream, UINT64_C(5) << 32 ^ 17, 0, MANY, set.level, NULL);
  assert_int_equal(sim_filter_noop(&set, solved), CORE_OK);
  for (int i = 0; i < MANY; i++) kept += solved[i];
  for (int i = 0; i < MANY; i++)
    assert_int_equal(sim_generate_level(SIM_SIZE_S, UINT64_C(5) << 32 ^ 17, (uint32_t)i, &set.level[i]), CORE_OK);
  assert_int_equal(sim_filter_noop(&set, solved), CORE_OK);
  for (int i = 0; i < MANY; i++) drawn += solved[i];
  print_message("# levels that solve themselves: %d of %d filtered, %d of %d unfiltered\n", kept, MANY, drawn, MANY);
  assert_true(kept <= MANY / 100);
  assert_true(drawn >= MANY / 20);
  sim_level_stream_draw(stream, 1, 0, 1, levels, NULL);
  sim_level_stream_draw(stream, UINT64_C(1) << 32, 0, 1, other, NULL);
  assert_true(hash_of(levels) != hash_of(other));
  sim_level_set_free(&set);
  sim_level_stream_destroy(&stream);
}

static void test_refuses_other_sizes(void **state) {
  (void)state;
  SimLevelStream *stream;
  assert_int_equal(sim_level_stream_create((SimSize){4, 1, 1, 1}, &stream), CORE_USAGE);
  assert_null(stream);
  assert_int_equal(sim_level_stream_create((SimSize){99, 1, 1, 1}, &stream), CORE_USAGE);
  assert_null(stream);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_is_the_filter),         cmocka_unit_test(test_key_0_is_the_fixed_set),
    cmocka_unit_test(test_ranges_fit_together),   cmocka_unit_test(test_threads_do_not_matter),
    cmocka_unit_test(test_is_filtered),           cmocka_unit_test(test_refuses_other_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
