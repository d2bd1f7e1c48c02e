/* Numbers that environments report (trainer/envs/info.h): names, limits, means. */
#include "test.h"

#include "core/error.h"
#include "trainer/envs/info.h"

static void test_names(void **state) {
  (void)state;
  static const char *const good[] = {"distance", "is_success", "episode/r", "TimeLimit.truncated", "0", "a-b"};
  static const char *const bad[] = {"", "/etc", "../x", "a/../b", ".hidden", "-x", "a b", "a'b", "a\"b", "a;b", "a\tb",
                                    "a\nb", "gr\xc3\xb6\xc3\x9f" "e", "a:b", "a\\b", "a%b"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(env_info_is_name(good[i]));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (env_info_is_name(bad[i])) fail_msg("'%s' is accepted", bad[i]);
  char longest[ENV_INFO_NAME + 1];
  memset(longest, 'x', sizeof longest);
  longest[ENV_INFO_NAME] = '\0';
  assert_false(env_info_is_name(longest));
  longest[ENV_INFO_NAME - 1] = '\0';
  assert_true(env_info_is_name(longest));
}

static void test_sums(void **state) {
  (void)state;
  EnvInfoTable table = {0}, other = {0};
  env_info_add(&table, "b", 3, 2);
  env_info_add(&table, "a", 1, 1);
  env_info_add(&other, "c", 5, 1);
  env_info_add(&other, "b", 7, 3);
  env_info_add(&other, "no name", 1, 1);
  env_info_merge(&table, &other);
  env_info_reduce(&table); /* one rank: unchanged */
  assert_int_equal(table.count, 3);
  static const EnvInfoSum expected[] = {{"a", 1, 1}, {"b", 10, 5}, {"c", 5, 1}};
  for (int i = 0; i < 3; i++) {
    assert_string_equal(table.item[i].name, expected[i].name);
    assert_true(table.item[i].sum == expected[i].sum && table.item[i].count == expected[i].count);
  }
  assert_string_equal(table.ignored, "no name");
}

static void test_limit(void **state) {
  (void)state;
  EnvInfoTable table = {0};
  char name[32];
  for (int i = 0; i < 1000; i++) {
    snprintf(name, sizeof name, "n%d", (i * 7) % 1000);
    env_info_add(&table, name, i, 1);
  }
  assert_int_equal(table.count, ENV_INFO_NAMES - 2);
  assert_string_equal(table.ignored, "n434"); /* the 63rd: 62 * 7 */
  env_info_add(&table, "is_success", 1, 1); /* successes have places of their own */
  env_info_add(&table, "m", 1, 1);
  assert_int_equal(table.count, ENV_INFO_NAMES - 1);
  env_info_add(&table, "success", 1, 1);
  assert_int_equal(table.count, ENV_INFO_NAMES);
  for (int i = 1; i < ENV_INFO_NAMES; i++) assert_true(strcmp(table.item[i - 1].name, table.item[i].name) < 0);
  env_info_add(&table, "n0", 5, 1); /* known names still count */
  assert_true(table.item[1].count == 2);
}

/* Tables of damaged or forged checkpoints are refused. */
static void test_check(void **state) {
  (void)state;
  EnvInfoTable table = {0}, wrong;
  env_info_add(&table, "a", 1, 1);
  env_info_add(&table, "b", 1, 1);
  assert_int_equal(env_info_check(&table), CORE_OK);
  const int64_t counts[] = {-1, ENV_INFO_NAMES + 1, (int64_t)1 << 40};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    wrong = table;
    wrong.count = counts[i];
    assert_int_equal(env_info_check(&wrong), CORE_FAIL);
  }
  wrong = table;
  memset(wrong.item[1].name, 'x', ENV_INFO_NAME);
  assert_int_equal(env_info_check(&wrong), CORE_FAIL);
  wrong = table;
  memcpy(wrong.item[1].name, "a", 2); /* not in order */
  assert_int_equal(env_info_check(&wrong), CORE_FAIL);
  wrong = table;
  memset(wrong.ignored, 'x', ENV_INFO_NAME);
  assert_int_equal(env_info_check(&wrong), CORE_FAIL);
}

static void test_solve_rate(void **state) {
  (void)state;
  EnvInfoTable table = {0};
  double episodes;
  env_info_add(&table, "z", 1, 1);
  assert_true(isnan(env_info_solve_rate(&table, &episodes)) && episodes == 0);
  env_info_add(&table, "success", 1, 4);
  assert_true(env_info_solve_rate(&table, &episodes) == 0.25 && episodes == 4);
  env_info_add(&table, "is_success", 3, 4);
  assert_true(env_info_solve_rate(&table, &episodes) == 0.75);
}

static void test_hostile_name(void **state) {
  (void)state;
  EnvInfoTable table = {0};
  env_info_add(&table, "\x1b[2J\xff", 1, 1);
  assert_int_equal(table.count, 0);
  assert_string_equal(table.ignored, "?[2J?");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names), cmocka_unit_test(test_sums), cmocka_unit_test(test_limit),
    cmocka_unit_test(test_check),
    cmocka_unit_test(test_solve_rate), cmocka_unit_test(test_hostile_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
