/* core/random against the published vectors and the moments of its distributions; core/memory's arenas. */
#include "test.h"

#include <stdbool.h>

#include "core/device/arena.h"
#include "core/random.h"

/* Random123's kat_vectors, "philox4x32 10 ...": counter words 0..3, key words 0..1, result. */
static void philox_gives_the_published_numbers(void **state) {
  static const struct { uint32_t counter[4], key[2], expected[4]; } vectors[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  (void)state;
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    const uint32_t *c = vectors[i].counter;
    uint64_t seed = (uint64_t)vectors[i].key[1] << 32 | vectors[i].key[0];
    CoreRandom4 words = core_random_4(seed, c[3], c[2], c[1], c[0]);
    assert_memory_equal(words.v, vectors[i].expected, sizeof words.v);
  }
}

static void a_stream_reads_block_after_block(void **state) {
  CoreRandomStream stream = core_random_stream(5, CORE_RANDOM_TEST, 7, 9);
  (void)state;
  for (uint32_t block = 0; block < 3; block++) {
    CoreRandom4 words = core_random_4(5, CORE_RANDOM_TEST, 7, 9, block);
    for (int i = 0; i < 4; i++) assert_int_equal(core_random_next(&stream), words.v[i]);
  }
}

static void uniform_numbers_have_their_range_and_moments(void **state) {
  enum { N = 200000 };
  CoreRandomStream stream = core_random_stream(1, CORE_RANDOM_TEST, 0, 0);
  double sum = 0, squares = 0;
  uint32_t bins[10] = {0};
  (void)state;
  assert_true(core_random_unit(0) == 0.0f && core_random_unit(0xffffffff) < 1.0f);
  assert_int_equal(core_random_below(0xffffffff, 10), 9);
  assert_int_equal(core_random_below(0, 10), 0);
  for (int i = 0; i < N; i++) {
    double x = core_random_uniform(&stream, 0, 1);
    assert_true(x >= 0 && x < 1);
    sum += x;
    squares += x * x;
    bins[core_random_below(core_random_next(&stream), 10)]++;
  }
  /* Five standard errors: mean 1/sqrt(12 N), second moment sqrt(4/45 / N), bin sqrt(N * 0.09). */
  assert_true(fabs(sum / N - 0.5) < 5 / sqrt(12.0 * N));
  assert_true(fabs(squares / N - 1.0 / 3) < 5 * sqrt(4.0 / 45 / N));
  for (int i = 0; i < 10; i++) assert_true(fabs(bins[i] - N / 10.0) < 5 * sqrt(N * 0.09));
}

static void normal_numbers_have_their_moments(void **state) {
  enum { N = 100000 };
  CoreRandomStream stream = core_random_stream(2, CORE_RANDOM_TEST, 0, 0);
  double sum = 0, squares = 0, fourths = 0, products = 0, x, y;
  (void)state;
  for (int i = 0; i < N; i++) {
    uint32_t first = core_random_next(&stream), second = core_random_next(&stream);
    core_random_normal_pair(first, second, &x, &y);
    sum += x + y;
    squares += x * x + y * y;
    fourths += x * x * x * x + y * y * y * y;
    products += x * y;
  }
  /* Five standard errors; the variances of x, x^2, x^4 and xy are 1, 2, 96 and 1. */
  assert_true(fabs(sum / (2 * N)) < 5 / sqrt(2.0 * N));
  assert_true(fabs(squares / (2 * N) - 1) < 5 * sqrt(2 / (2.0 * N)));
  assert_true(fabs(fourths / (2 * N) - 3) < 5 * sqrt(96 / (2.0 * N)));
  assert_true(fabs(products / N) < 5 / sqrt((double)N));
  core_random_normal_pair(0, 0, &x, &y); /* the ends of the range stay finite */
  assert_true(isfinite(x) && isfinite(y));
  core_random_normal_pair(0xffffffff, 0xffffffff, &x, &y);
  assert_true(isfinite(x) && isfinite(y));
}

static void permutations_hold_each_index_once(void **state) {
  enum { N = 1000 };
  uint32_t order[N], again[N], other[N];
  bool seen[N] = {false};
  (void)state;
  core_random_permutation(3, CORE_RANDOM_SHUFFLE, 1, 2, order, N);
  core_random_permutation(3, CORE_RANDOM_SHUFFLE, 1, 2, again, N);
  core_random_permutation(3, CORE_RANDOM_SHUFFLE, 1, 3, other, N);
  assert_memory_equal(order, again, sizeof order);
  assert_memory_not_equal(order, other, sizeof order);
  for (int i = 0; i < N; i++) {
    assert_true(order[i] < N && !seen[order[i]]);
    seen[order[i]] = true;
  }
  core_random_permutation(3, CORE_RANDOM_SHUFFLE, 1, 2, order, 1);
  assert_int_equal(order[0], 0);
  core_random_permutation(3, CORE_RANDOM_SHUFFLE, 1, 2, NULL, 0);
}

static void permutations_are_uniform(void **state) {
  enum { N = 24000 };
  uint32_t counts[27] = {0}, order[3];
  (void)state;
  for (uint32_t i = 0; i < N; i++) {
    core_random_permutation(4, CORE_RANDOM_SHUFFLE, i, 0, order, 3);
    counts[order[0] * 9 + order[1] * 3 + order[2]]++;
  }
  int kinds = 0;
  for (int i = 0; i < 27; i++) {
    if (!counts[i]) continue;
    kinds++;
    assert_true(fabs(counts[i] - N / 6.0) < 5 * sqrt(N * 5.0 / 36));
  }
  assert_int_equal(kinds, 6);
}

static void arenas_give_aligned_zeroed_blocks(void **state) {
  CoreArena *arena = core_arena_create("test");
  float *a;
  char *b;
  double *none, *many[40];
  (void)state;
  CORE_ARENA(arena, a, 1000, "a [1000]");
  CORE_ARENA(arena, b, 3, "b");
  CORE_ARENA(arena, none, 0, "none");
  for (int i = 0; i < 40; i++) CORE_ARENA(arena, many[i], 1, "many");
  assert_null(a);
  assert_int_equal(core_arena_bytes(arena), 4032 + 64 + 40 * 64);
  assert_int_equal(core_arena_commit(arena), CORE_OK);
  assert_int_equal(core_arena_bytes(arena), 4032 + 64 + 40 * 64);
  assert_true((uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0 && (uintptr_t)many[39] % 64 == 0);
  assert_true((char *)b >= (char *)(a + 1000) && many[0] != many[1]);
  for (int i = 0; i < 1000; i++) assert_true(a[i] == 0);
  memset(a, 1, 1000 * sizeof *a);
  assert_int_equal(b[0] + b[1] + b[2], 0);
  core_arena_destroy(&arena);
  assert_null(arena);
  core_arena_destroy(&arena);
}

static void arenas_too_large_name_their_entries(void **state) {
  (void)state;
  for (int overflow = 0; overflow < 2; overflow++) {
    CoreArena *arena = core_arena_create("the rollout");
    double *small, *large;
    CORE_ARENA(arena, small, 10, "small things");
    CORE_ARENA(arena, large, overflow ? SIZE_MAX / 4 : SIZE_MAX / 12, "observations [steps][worlds]");
    assert_int_equal(core_arena_commit(arena), CORE_FAIL);
    const char *message = core_error_message();
    assert_non_null(strstr(message, "the rollout needs"));
    assert_true(strstr(message, "observations [steps][worlds]") < strstr(message, "small things"));
    core_arena_destroy(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(philox_gives_the_published_numbers),
    cmocka_unit_test(a_stream_reads_block_after_block),
    cmocka_unit_test(uniform_numbers_have_their_range_and_moments),
    cmocka_unit_test(normal_numbers_have_their_moments),
    cmocka_unit_test(permutations_hold_each_index_once),
    cmocka_unit_test(permutations_are_uniform),
    cmocka_unit_test(arenas_give_aligned_zeroed_blocks),
    cmocka_unit_test(arenas_too_large_name_their_entries),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
