/* Readable names of runs (core/config/label.h). */
#include "test.h"

#include "core/config/label.h"

static void assert_label(const CoreLabels *labels, const char *config, const char *expected) {
  char label[CORE_LABEL_MAX];
  core_labels_format(labels, config, label);
  assert_string_equal(label, expected);
}

static void test_names(void **state) {
  (void)state;
  static const char *const runs[] = {
    "{\"train\": {\"seed\": 1, \"threads\": 1}, \"ppo\": {\"epsilon\": 0.1, \"epochs\": 4}, \"pqn\": {\"epochs\": 2}}",
    "{\"train\": {\"seed\": 2, \"threads\": 8}, \"ppo\": {\"epsilon\": 0.2, \"epochs\": 4}, \"pqn\": {\"epochs\": 2}}",
    "{\"train\": {\"seed\": 1}, \"ppo\": {\"epsilon\": 0.1, \"epochs\": 8}, \"pqn\": {\"epochs\": 3}}"};
  CoreLabels labels = {0};
  core_labels_add(&labels, runs[0]);
  assert_label(&labels, runs[0], "seed=1");
  core_labels_add(&labels, runs[1]); /* threads do not affect results */
  assert_label(&labels, runs[1], "epsilon=0.2,seed=2");
  core_labels_add(&labels, runs[2]);
  assert_label(&labels, runs[2], "epsilon=0.1,ppo.epochs=8,pqn.epochs=3,seed=1");
  core_labels_add(&labels, "no JSON");
  core_labels_add(&labels, NULL);
  assert_label(&labels, "no JSON", "run");
  assert_label(&labels, NULL, "run");
  core_labels_free(&labels);
}

/* Text becomes part of a file name. */
static void test_hostile_values(void **state) {
  (void)state;
  static const char hostile[] =
    "{\"train\": {\"seed\": 3}, \"env\": {\"task\": \"../../etc/x y'\\\";$(rm)\\n\"}, \"settings\": {\"a/b\": true}}";
  CoreLabels labels = {0};
  core_labels_add(&labels, "{\"train\": {\"seed\": 3}, \"env\": {\"task\": \"a\"}}");
  core_labels_add(&labels, hostile);
  assert_label(&labels, hostile, "task=.._.._etc_x_y_____rm__,a_b=yes,seed=3");
  core_labels_free(&labels);
}

static void test_length(void **state) {
  (void)state;
  char config[1000], label[CORE_LABEL_MAX], text[400];
  CoreLabels labels = {0};
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = '\0';
  snprintf(config, sizeof config, "{\"train\": {\"seed\": 9}, \"env\": {\"task\": \"%s\"}}", text);
  core_labels_add(&labels, "{\"env\": {\"task\": \"a\"}}");
  core_labels_add(&labels, config);
  core_labels_format(&labels, config, label);
  assert_true(strlen(label) < CORE_LABEL_MAX);
  assert_non_null(strstr(label, "...,seed=9"));
  core_labels_free(&labels);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_names), cmocka_unit_test(test_hostile_values), cmocka_unit_test(test_length)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
