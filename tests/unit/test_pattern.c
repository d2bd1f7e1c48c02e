/* core/config/pattern: regular expressions that would take the C library's stack or gigabytes of memory are refused,
 * and those that people write are not. */
#include "test.h"

#include <sys/resource.h>

#include "core/config/pattern.h"
#include "core/error.h"
#include "core/text.h"

static int compile(const char *text) {
  regex_t regex;
  const int code = core_pattern_compile(text, &regex);
  if (code == CORE_OK) regfree(&regex);
  return code;
}

static void test_usual(void **state) {
  static const char *const usual[] = {
    "return ([-0-9.e]+)", "loss: ([0-9.]+) +acc: ([0-9.]+)%", "^\\[([0-9]{1,6})/[0-9]{1,6}\\]", "a|b|(c|d)*",
    "x{3}", "x{2,}",
    "[]a]+[^]b]+[[:digit:].]{1,12}", "\\(([0-9]+)\\) \\{x\\}", "(a(b(c(d)?)+)*)", "[(]{40}[{]{40}[*]{40}",
    "step=([0-9]+)[,;]",
    "损失 ([0-9.]+)", "(([0-9]{1,3}\\.){3}[0-9]{1,3})"};
  (void)state;
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    if (compile(usual[i]) != CORE_OK) fail_msg("%s: %s", usual[i], core_error_message());
}

static void test_refused(void **state) {
  static const char *const refused[] = {
    "(x{1,32767})", "((((x{1,200}){1,200}){1,200}))", "((x{1,255}){1,255})", "((x{1,32767}){1,100})", "x{501}",
    "(abc){200}",
    "(x{20}){20}{20}", "x{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}", "x+++++++++++++++++++++++++",
    "((((((((((((x+)+)+)+)+)+)+)+)+)+)+)+)", "[a-z]{1,32767}", "\\w{1000}", "(a|b|c){,400}", "(.*){600,}", "[]]{600}",
    "[[:alpha:]]{600}", "(a)\\1", "(.*)(.*)x\\2", "()\\1{2}"};
  static const char *const broken[] = {"(", "[", "[[:x:]]", "[[:", "x{2", "a{5,2}", "\\", "(]", "{"};
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (compile(refused[i]) != CORE_USAGE) fail_msg("%s is accepted", refused[i]);
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) (void)compile(broken[i]); /* ends, with either result */
}

/* Repeats `unit` and closes with `end`s. */
static void assert_refused(const char *before, const char *unit, const char *middle, const char *end, int count) {
  CoreText text = {0};
  core_text_append(&text, before);
  for (int i = 0; i < count; i++) core_text_append(&text, unit);
  core_text_append(&text, middle);
  for (int i = 0; i < count; i++) core_text_append(&text, end);
  assert_int_equal(compile(core_text_string(&text)), CORE_USAGE);
  core_text_free(&text);
}

static void test_long_and_deep(void **state) {
  (void)state;
  assert_refused("", "(", "x", ")", 30);
  assert_refused("", "(", "x", ")", 20000);
  assert_refused("a", "|a", "", "", 20000);
  assert_refused("x", "*", "", "", 30000);
  assert_refused("x", "{1,2}", "", "", 30);
  assert_refused("", "(x+", "", ")+", 15);
}

/* Whatever passes is compiled within little memory: random expressions of the dangerous characters. */
static void test_random(void **state) {
  static const char alphabet[] = "x.()|*+?{}0123456789,[]^$\\-:a";
  unsigned seed = 1;
  (void)state;
  const struct rlimit memory = {1u << 30, 1u << 30};
  assert_int_equal(setrlimit(RLIMIT_AS, &memory), 0);
  for (int round = 0; round < 20000; round++) {
    char text[64];
    size_t length = 0;
    const size_t wanted = 4 + seed % 56;
    for (; length < wanted; length++) {
      seed = seed * 1664525u + 1013904223u;
      text[length] = alphabet[(seed >> 16) % (sizeof alphabet - 1)];
    }
    text[length] = '\0';
    (void)compile(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_usual), cmocka_unit_test(test_refused),
                                     cmocka_unit_test(test_long_and_deep), cmocka_unit_test(test_random)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
