/* trainer/ops/cpu/cpu_small.c: narrow products against their definition, and with the bits of the library that they
 * replace. */
#include "test.h"

#include "tests/unit/products_tools.h"

enum { CASES = 3000, ROWS_MAX = 160, COLUMNS_MAX = 64, DEPTH_MAX = 384, ROOM = 420 * 420 };

/* A chain of fused multiply-adds in the order of k. */
static float element(int transpose_a, int k, const float *a, int lda, const float *b, int ldb, int row, int column) {
  float sum = 0;
  for (int l = 0; l < k; l++)
    sum = fmaf(transpose_a ? a[l * lda + row] : a[row * lda + l], b[l * ldb + column], sum);
  return sum;
}

static void test_products_have_the_librarys_bits(void **unused) {
  const CpuLibrary *library = library_with_small();
  if (library == NULL) skip();

  float *a = normals(1, ROOM, 1), *b = normals(2, ROOM, 1), *before = normals(3, ROOM, 1);
  float *own = normals(4, ROOM, 1), *theirs = normals(4, ROOM, 1);

  for (uint32_t i = 0; i < CASES; i++) {
    const CoreRandom4 r = core_random_4(11, CORE_RANDOM_TEST, 5, i, 0);
    const CoreRandom4 s = core_random_4(11, CORE_RANDOM_TEST, 6, i, 0);
    const int m = pick(r.v[0], 2, ROWS_MAX), n = pick(r.v[1], 2, COLUMNS_MAX), k = pick(r.v[2], 1, DEPTH_MAX);
    const int transposed = (int)(r.v[3] & 1), accumulate = (int)(r.v[3] >> 1 & 1);
    const int lda = (transposed ? m : k) + pick(s.v[0], 0, 3);
    const int ldb = n + pick(s.v[1], 0, 3), ldc = n + pick(s.v[2], 0, 3);
    const size_t bytes = (size_t)(m * ldc) * sizeof(float);

    memcpy(own, before, bytes), memcpy(theirs, before, bytes);
    assert_true(cpu_small_product(transposed, 0, m, n, k, a, lda, b, ldb, accumulate, own, ldc));
    library->product(transposed, 0, m, n, k, a, lda, b, ldb, accumulate, theirs, ldc);
    if (memcmp(own, theirs, bytes) != 0) fail_msg("%dx%dx%d, transposed %d, added %d", m, n, k, transposed, accumulate);

    const int row = pick(s.v[3] >> 16, 0, m - 1), column = pick(s.v[3] << 16, 0, n - 1);
    float sum = element(transposed, k, a, lda, b, ldb, row, column);
    if (accumulate) sum += before[row * ldc + column];
    assert_memory_equal(&sum, &own[row * ldc + column], sizeof sum);
    for (int gap = n; gap < ldc; gap++) assert_true(own[gap] == before[gap]); /* nothing outside C is written */
  }

  free(a), free(b), free(before), free(own), free(theirs);
}

static void test_other_shapes_are_left_to_the_library(void **unused) {
  float x[4] = {1, 2, 3, 4}, y[4] = {7, 7, 7, 7};
  assert_false(cpu_small_product(0, 0, 1, 2, 2, x, 2, x, 2, 0, y, 2));
  assert_false(cpu_small_product(0, 0, 2, 1, 2, x, 2, x, 1, 0, y, 1));
  assert_false(cpu_small_product(0, 1, 2, 2, 2, x, 2, x, 2, 0, y, 2));
  assert_false(cpu_small_product(0, 0, 2, COLUMNS_MAX + 1, 2, x, 2, x, 2, 0, y, 2));
  assert_false(cpu_small_product(0, 0, 2, 2, DEPTH_MAX + 1, x, 2, x, 2, 0, y, 2));
  for (int i = 0; i < 4; i++) assert_true(y[i] == 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_products_have_the_librarys_bits),
    cmocka_unit_test(test_other_shapes_are_left_to_the_library),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
