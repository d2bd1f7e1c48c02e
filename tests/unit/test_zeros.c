/* trainer/ops/cpu/cpu_zeros.c: products of rows with zeros in few patterns have the bits of the products that they
 * replace, and so have chains with such input. */
#include "test.h"

#include "tests/unit/products_tools.h"

enum { CASES = 400, PATTERNS = 9, WIDE = 384, OUT_MAX = 256, CHAIN_ROWS = 500, CHAIN_IN = 289, CHAIN_OUT = 64 };

/* Fills each row with one of a few patterns and occasional additional zeros. Zeros of both signs. */
static void put_zeros(uint32_t number, float *x, int rows, int columns) {
  for (int r = 0; r < rows; r++) {
    const uint32_t pattern = core_random_4(5, CORE_RANDOM_TEST, number, (uint32_t)r, 0).v[0] % PATTERNS;
    for (int c = 0; c < columns; c++) {
      const CoreRandom4 of_place = core_random_4(5, CORE_RANDOM_TEST, number, pattern, 1 + (uint32_t)c / 5);
      const CoreRandom4 own = core_random_4(5, CORE_RANDOM_TEST, number, (uint32_t)r, 1000 + (uint32_t)c);
      if (of_place.v[0] % 2 == 0 || own.v[0] % 200 == 0) x[r * columns + c] = own.v[1] % 2 ? 0.0f : -0.0f;
    }
  }
}

static void test_products_have_the_librarys_bits(void **unused) {
  const CpuLibrary *library = library_with_small();
  if (library == NULL) skip();

  const size_t room = WIDE * OUT_MAX;
  float *x = normals(1, CPU_ROWS * WIDE, 1), *b = normals(2, room, 1), *before = normals(3, room, 1);
  float *own = normals(4, room, 1), *theirs = normals(4, room, 1);

  for (uint32_t i = 0; i < CASES; i++) {
    const CoreRandom4 r = core_random_4(13, CORE_RANDOM_TEST, 5, i, 0);
    const int rows = pick(r.v[0], 2, CPU_ROWS), columns = pick(r.v[1], 2, WIDE);
    const int n = 64 * pick(r.v[2], 1, OUT_MAX / 64);
    const int transposed = (int)(r.v[3] & 1), accumulate = (int)(r.v[3] >> 1 & 1);
    const int m = transposed ? columns : rows, k = transposed ? rows : columns;
    const size_t bytes = (size_t)(m * n) * sizeof(float);
    CpuPatterns patterns;

    for (int j = 0; j < rows * columns; j++) x[j] = x[j] == 0 ? 1.5f : x[j];
    put_zeros(i, x, rows, columns);
    cpu_zeros_find(x, rows, columns, transposed, &patterns);

    memcpy(own, before, bytes), memcpy(theirs, before, bytes);
    assert_true(cpu_zeros_product(&patterns, transposed, m, n, k, x, columns, b, n, accumulate, own, n));
    library->product(transposed, 0, m, n, k, x, columns, b, n, accumulate, theirs, n);
    if (memcmp(own, theirs, bytes) != 0) fail_msg("%dx%dx%d, transposed %d, added %d", m, n, k, transposed, accumulate);
  }

  free(x), free(b), free(before), free(own), free(theirs);
}

/* Sharing pays from three lines of a pattern on. */
static void test_zeros_are_shared_by_three_lines(void **unused) {
  if (library_with_small() == NULL) skip();

  enum { ROWS = 12, COLUMNS = 8 };
  float x[ROWS * COLUMNS];
  CpuPatterns patterns;

  for (int kinds = 1; kinds <= COLUMNS; kinds++) {
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = i % COLUMNS == i / COLUMNS % kinds ? 0 : 1;
    cpu_zeros_find(x, ROWS, COLUMNS, 0, &patterns);
    assert_int_equal(patterns.kinds, kinds);
    assert_true(cpu_zeros_are_shared(&patterns, ROWS) == (kinds <= 4));
  }
}

static void test_other_shapes_are_left(void **unused) {
  if (library_with_small() == NULL) skip();
  const float x[4] = {1, 0, 0, 1};
  float y[200] = {7};
  CpuPatterns patterns;
  cpu_zeros_find(x, 2, 2, 0, &patterns);
  assert_false(cpu_zeros_product(&patterns, 0, 1, 64, 2, x, 2, y, 64, 0, y, 64));
  assert_false(cpu_zeros_product(&patterns, 0, 2, 63, 2, x, 2, y, 63, 0, y, 63));
  assert_true(y[0] == 7);
}

/* Results of a chain for an input: outputs, gradients of kernel and bias. */
typedef struct Made { float y[CHAIN_ROWS * CHAIN_OUT], dw[CHAIN_IN * CHAIN_OUT], db[CHAIN_OUT]; } Made;

static void pass(Ops *ops, const float *x, const float *w, const float *upstream, Made *made) {
  float *dy = core_memory_allocate(sizeof made->y), *scratch = core_memory_allocate(2 * sizeof made->y);
  const OpsLayer layer = {.in = CHAIN_IN, .out = CHAIN_OUT, .activation = OPS_TANH, .w = w, .b = w, .y = made->y,
                          .dw = made->dw, .db = made->db};
  memcpy(dy, upstream, sizeof made->y);
  ops->chain_forward(ops, x, &layer, 1, CHAIN_ROWS);
  ops->chain_backward(ops, x, &layer, 1, dy, NULL, scratch, CHAIN_ROWS, NULL);
  free(dy), free(scratch);
}

/* Gathered for chains, with one thread and with three, as plain rows, and without any zeros being looked for. */
static void test_chains_have_the_same_bits(void **unused) {
  const size_t size = CHAIN_ROWS * CHAIN_IN;
  float *source = normals(1, size, 1), *x = normals(2, size, 1), *plain = normals(2, size, 1);
  float *w = normals(3, CHAIN_IN * CHAIN_OUT, 0.1), *upstream = normals(4, CHAIN_ROWS * CHAIN_OUT, 1);
  Made *made = core_memory_allocate(sizeof *made), *want = core_memory_allocate(sizeof *want);
  uint32_t index[CHAIN_ROWS];

  put_zeros(1, source, CHAIN_ROWS, CHAIN_IN);
  for (uint32_t r = 0; r < CHAIN_ROWS; r++) index[r] = r * 7 % CHAIN_ROWS;

  for (int threads = 1; threads <= 3; threads += 2) {
    Ops *ops = make_ops(threads);
    CpuState *state = cpu_state(ops);
    ops->gather_rows(ops, source, index, plain, CHAIN_ROWS, CHAIN_IN);

    if (threads == 1) {
      const CpuLibrary library = *state->library, *before = state->library;
      CpuLibrary without = library;
      without.has_small = false; /* neither zeros nor narrow products */
      state->library = &without;
      pass(ops, plain, w, upstream, want);
      state->library = before;
    }

    pass(ops, plain, w, upstream, made);
    assert_memory_equal(made, want, sizeof *made);

    ops->gather_inputs(ops, source, index, x, CHAIN_ROWS, CHAIN_IN);
    assert_memory_equal(x, plain, size * sizeof *x);
    assert_true(state->inputs.has_zeros == state->library->has_small);
    pass(ops, x, w, upstream, made);
    assert_memory_equal(made, want, sizeof *made);

    for (size_t i = 0; i < size; i++) x[i] = (float)(i % 9) + 1; /* rows without zeros, in the same place */
    ops->gather_inputs(ops, x, NULL, x, CHAIN_ROWS, CHAIN_IN);
    assert_false(state->inputs.has_zeros);
    ops_destroy(&ops);
  }
  free(source), free(x), free(plain), free(w), free(upstream), free(made), free(want);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_products_have_the_librarys_bits),
    cmocka_unit_test(test_zeros_are_shared_by_three_lines),
    cmocka_unit_test(test_other_shapes_are_left),
    cmocka_unit_test(test_chains_have_the_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
