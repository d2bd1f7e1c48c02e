/* core/device: division of indices by multiplication, and the table of operation times. */
#include "test.h"

#include "core/device/device_kernel.h"
#include "core/device/device_times.h"
#include "core/random.h"

static void check_division(size_t i, size_t number) {
  const CoreDivided divided = core_divide(i, core_divisor(number));
  assert_int_equal(divided.whole, i / number);
  assert_int_equal(divided.rest, i % number);
  if (i > UINT32_MAX) return;
  const CoreDivided32 quick = core_divide_32((uint32_t)i, core_divisor_32(number));
  assert_int_equal(quick.whole, i / number);
  assert_int_equal(quick.rest, i % number);
}

/* Checks divisions where the quotient changes, up to the largest index, and at random. */
static void test_division(void **state) {
  const size_t most = SIZE_MAX / 2, most_32 = UINT32_MAX;
  CoreRandomStream random = core_random_stream(1, CORE_RANDOM_TEST, 0, 0);
  (void)state;
  for (size_t k = 0; k < 100000; k++) {
    size_t number = core_random_next(&random) >> k % 32;
    if (k < 2000) number = k;
    if (number == 0) number = UINT32_MAX;
    const size_t some = ((size_t)core_random_next(&random) << 31 | core_random_next(&random)) >> k % 61;
    const size_t multiple = some / number * number, last = most / number * number;
    const size_t last_32 = most_32 / number * number;
    const size_t of[] = {0, 1, number - 1, number, number + 1, some, multiple, multiple > 0 ? multiple - 1 : 0,
                         last - 1, last, most, last_32 - 1, last_32, most_32};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) check_division(of[i], number);
  }
  assert_int_equal(core_divide(7, core_divisor(0)).whole, 7); /* nothing has no columns */
  assert_int_equal(core_divide_32(7, core_divisor_32(0)).whole, 7);
}

static void test_times(void **state) {
  char *text = NULL;
  size_t bytes = 0;
  (void)state;

  unsetenv("CORE_DEVICE_TIMES");
  assert_null(core_device_times_open());

  setenv("CORE_DEVICE_TIMES", "1", 1);
  CoreDeviceTimes *times = core_device_times_open();
  assert_non_null(times);
  core_device_times_add(times, "brief", 1e-6);
  core_device_times_add(times, "long", 5e-1); /* loads its code */
  core_device_times_add(times, "long", 3e-3);
  core_device_times_add(times, "long", 1e-3);

  for (int i = 0; i < 600; i++) { /* more than there is room for */
    char name[16];
    snprintf(name, sizeof name, "name %d", i);
    core_device_times_add(times, name, 0);
  }

  FILE *out = open_memstream(&text, &bytes);
  core_device_times_print(times, 2e-6, out);
  fclose(out);
  assert_non_null(strstr(text, "(2.0 us of each"));
  assert_non_null(strstr(text, "         2        4.000    2000.00  99.98  long\n         1        0.001       1.00"));
  assert_non_null(strstr(text, "        90        0.000       0.00   0.00  others\n"));

  free(text);
  core_device_times_close(&times);
  assert_null(times);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_division), cmocka_unit_test(test_times)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
