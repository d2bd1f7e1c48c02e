/* analysis/number_text: estimate and interval have equal precision, without exponents in text for readers. */
#include "test.h"

#include "analysis/plot/number_text.h"

static void check_interval(double center, double low, double high, const char *expected) {
  char text[64];
  analysis_format_interval((AnalysisInterval){center, low, high, 3}, text, sizeof text);
  assert_string_equal(text, expected);
}

static void test_intervals(void **state) {
  (void)state;
  check_interval(422, 282.3, 561.4, "422 [282, 561]");
  check_interval(318, -11, 650, "318 [-11, 650]");
  check_interval(0.31, 0.22, 0.4, "0.310 [0.220, 0.400]");
  check_interval(0.3721, 0.3674, 0.3769, "0.372 [0.367, 0.377]");
  check_interval(3.03, -0.39, 6.5, "3.03 [-0.39, 6.50]");
  check_interval(-0.0657, -0.0894, -0.042, "-0.066 [-0.089, -0.042]");
  check_interval(0.0025, 0.0018, 0.0031, "0.00250 [0.00180, 0.00310]");
  check_interval(1590, 1204, 1979, "1590 [1204, 1979]");
  check_interval(1, 1, 1, "1 [1, 1]");
  check_interval(0.002, 0.0003, 0.031, "0.0020 [0.00030, 0.031]");
  check_interval(2.81e-5, 1.2e-5, 4.5e-5, "2.81e-05 [1.20e-05, 4.50e-05]");
  check_interval(2.5e6, 1e6, 4e6, "2.50e+06 [1.00e+06, 4.00e+06]");
  check_interval(0.31, NAN, NAN, "0.31 [n = 3]");
  check_interval(NAN, NAN, NAN, "-");
  check_interval(0.5, -INFINITY, 0.7, "0.5 [-inf, 0.7]");
}

static void test_numbers(void **state) {
  (void)state;
  static const struct { double value; const char *text; } cases[] = {
    {0, "0"},           {0.3149, "0.315"}, {999.4, "999"}, {999.6, "1000"}, {1590, "1590"},     {123456, "123456"},
    {-1590, "-1590"},   {1e6, "1.00e+06"}, {1e-5, "1.00e-05"}, {NAN, "-"},  {INFINITY, "inf"}, {0.00054, "0.00054"}};
  char text[32];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    analysis_format_number(cases[i].value, text, sizeof text);
    assert_string_equal(text, cases[i].text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_intervals), cmocka_unit_test(test_numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
