/* Generations of runs that begin from others' checkpoints: parents first, children aligned with them line by line. */
#include "test.h"

#include "sweep/cluster/generations.h"

enum { MOST = 64 };
static const size_t NONE = SWEEP_NO_PARENT, ELSEWHERE = SWEEP_PARENT_EXTERNAL;

/* Invariants of every order, for any list: each run once, parents in earlier generations, aligned lines next to their
 * parents. */
static void check(const size_t *parent, const SweepGenerations *order) {
  size_t wave_of[MOST], line_of[MOST], seen = 0;
  for (size_t i = 0; i < MOST; i++) wave_of[i] = SIZE_MAX;
  for (size_t w = 0; w < order->generation_count; w++) {
    assert_int_equal(order->generations[w].first, seen);
    assert_true(order->generations[w].count > 0);
    for (size_t i = 0; i < order->generations[w].count; i++) {
      const size_t run = order->run[seen++];
      assert_true(wave_of[run] == SIZE_MAX);
      wave_of[run] = w, line_of[run] = i;
    }
  }
  assert_int_equal(seen, order->count);
  for (size_t i = 0; i < order->count; i++) {
    const SweepGeneration *generation = &order->generations[wave_of[i]];
    if (parent[i] == NONE) {
      assert_true(generation->parent == NONE && !generation->waits);
    } else if (generation->waits) {
      if (parent[i] != ELSEWHERE) assert_true(wave_of[parent[i]] < wave_of[i]);
    } else {
      assert_int_equal(generation->parent, wave_of[parent[i]]);
      assert_int_equal(line_of[i], line_of[parent[i]]);
    }
  }
}

static void test_no_parents(void **state) {
  const size_t parent[] = {NONE, NONE, NONE};
  SweepGenerations order;
  sweep_generations_make(parent, 3, true, &order);
  check(parent, &order);
  assert_int_equal(order.generation_count, 1);
  for (size_t i = 0; i < 3; i++) assert_int_equal(order.run[i], i);
  sweep_generations_free(&order);
  sweep_generations_make(parent, 0, true, &order);
  assert_int_equal(order.generation_count, 0);
  sweep_generations_free(&order);
}

/* Runs 1 and 3 have two and three children, 0 none; they come most first, and the generations have 2, 2 and 1 lines. */
static void test_aligned(void **state) {
  const size_t parent[] = {NONE, NONE, 1, NONE, 3, 3, 1, 3};
  SweepGenerations order;
  sweep_generations_make(parent, 8, true, &order);
  check(parent, &order);
  const size_t expected[] = {3, 1, 0, 4, 2, 5, 6, 7};
  assert_memory_equal(order.run, expected, sizeof expected);
  assert_int_equal(order.generation_count, 4);
  assert_int_equal(order.generations[3].count, 1);
  sweep_generations_free(&order);
  sweep_generations_make(parent, 8, false, &order); /* by level, in their order */
  check(parent, &order);
  const size_t levels[] = {0, 1, 3, 2, 4, 5, 6, 7};
  assert_memory_equal(order.run, levels, sizeof levels);
  assert_int_equal(order.generation_count, 2);
  sweep_generations_free(&order);
}

/* Grandchildren, and children of runs that are in the queue already. */
static void test_levels(void **state) {
  const size_t parent[] = {2, ELSEWHERE, 3, NONE, 1, 0};
  SweepGenerations order;
  for (int align = 0; align < 2; align++) {
    sweep_generations_make(parent, 6, align, &order);
    check(parent, &order);
    sweep_generations_free(&order);
  }
}

/* One parent of very many: no generation for each of them. */
static void test_many_children(void **state) {
  size_t parent[MOST];
  SweepGenerations order;
  for (size_t i = 0; i < MOST; i++) parent[i] = i ? 0 : NONE;
  sweep_generations_make(parent, MOST, true, &order);
  check(parent, &order);
  assert_int_equal(order.generation_count, 2);
  assert_true(order.generations[1].waits);
  sweep_generations_free(&order);
}

/* Lists by chance, each parent earlier or later in the list than its children. */
static void test_random(void **state) {
  unsigned seed = 1;
  for (int round = 0; round < 500; round++) {
    size_t parent[MOST], name[MOST], shuffled[MOST];
    SweepGenerations order;
    for (size_t i = 0; i < MOST; i++) name[i] = i;
    for (size_t i = MOST; i-- > 1;) {
      const size_t k = (size_t)rand_r(&seed) % (i + 1), kept = name[i];
      name[i] = name[k], name[k] = kept;
    }
    for (size_t i = 0; i < MOST; i++) {
      const int kind = rand_r(&seed) % 8;
      parent[i] = i == 0 || kind < 4 ? NONE : kind == 4 ? ELSEWHERE : (size_t)rand_r(&seed) % i;
    }
    for (size_t i = 0; i < MOST; i++) shuffled[name[i]] = parent[i] < ELSEWHERE ? name[parent[i]] : parent[i];
    sweep_generations_make(shuffled, MOST, round % 2, &order);
    check(shuffled, &order);
    sweep_generations_free(&order);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_parents), cmocka_unit_test(test_aligned),
                                     cmocka_unit_test(test_levels), cmocka_unit_test(test_many_children),
                                     cmocka_unit_test(test_random)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
