/* core/json: printed values read back unchanged, and numbers have the shortest form. */
#include "test.h"

#include <float.h>

#include "core/config/config.h"
#include "core/json.h"
#include "core/random.h"

static void numbers_are_as_short_as_they_can_be(void **state) {
  json_t *value = json_pack("{s:f, s:f, s:f, s:i, s:n}", "rate", 0.0003, "whole", 2.0, "large", 1e22,
                            "count", 3, "none");
  CoreText text = {0};
  core_json_append(value, 0, &text);
  assert_string_equal(text.data, "{\"rate\": 0.0003, \"whole\": 2.0, \"large\": 1e22, \"count\": 3, \"none\": null}");
  core_text_free(&text);
  json_decref(value);
}

static void levels_are_indented(void **state) {
  json_t *value = json_pack("{s:[i, b], s:{}, s:[]}", "list", 1, 1, "object", "array");
  CoreText text = {0};
  core_json_append(value, 2, &text);
  assert_string_equal(text.data, "{\n  \"list\": [\n    1,\n    true\n  ],\n  \"object\": {},\n  \"array\": []\n}");
  core_text_free(&text);
  json_decref(value);
}

static void whatever_is_printed_reads_back_to_the_same_value(void **state) {
  json_t *list = json_array(), *again;
  CoreRandomStream random = core_random_stream(1, CORE_RANDOM_TEST, 0, 0);
  for (int i = 0; i < 2000; i++) {
    const uint64_t high = core_random_next(&random), low = core_random_next(&random);
    const union { uint64_t bits; double value; } any = {.bits = high << 32 | low};
    if (any.value - any.value == 0) json_array_append_new(list, json_real(any.value));
  }
  json_array_append_new(list, json_real(DBL_MIN / 8));
  json_array_append_new(list, json_real(-0.0));
  json_array_append_new(list, json_integer(INT64_MIN));
  json_array_append_new(list, core_json_text("\"quoted\" \\ \n \x01 caf\xc3\xa9"));
  for (int indent = 0; indent <= 2; indent++) {
    CoreText text = {0};
    core_json_append(list, indent, &text);
    again = json_loads(text.data, 0, NULL);
    assert_true(json_equal(list, again));
    json_decref(again);
    core_text_free(&text);
  }
  json_decref(list);
}

static void assert_printed(json_t *value, const char *expected) {
  CoreText text = {0};
  core_json_append(value, 0, &text);
  assert_string_equal(core_text_string(&text), expected);
  core_text_free(&text);
  json_decref(value);
}

static void values_that_json_lacks_are_replaced(void **state) {
  CoreConfig config = core_config_default();
  assert_printed(core_json_real(NAN), "null");
  assert_printed(core_json_real(0.5), "0.5");
  assert_printed(core_json_text("caf\xc3\xa9"), "\"caf\xc3\xa9\"");
  assert_printed(core_json_text("cut \xc3"), "\"cut \xef\xbf\xbd\""); /* in the middle of a character */
  config.env.num = 64, config.ppo.epsilon = 0.3;
  assert_printed(core_config_setting_json(&config, core_config_find("env.num")), "64");
  assert_printed(core_config_setting_json(&config, core_config_find("ppo.epsilon")), "0.3");
  assert_printed(core_config_setting_json(&config, core_config_find("algo.name")), "\"ppo\"");
  assert_printed(core_config_setting_json(&config, core_config_find("comm.deterministic")), "false");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(numbers_are_as_short_as_they_can_be),
    cmocka_unit_test(levels_are_indented),
    cmocka_unit_test(values_that_json_lacks_are_replaced),
    cmocka_unit_test(whatever_is_printed_reads_back_to_the_same_value),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
