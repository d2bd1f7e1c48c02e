/* Characters: validity, masking, and output that is UTF-8 for any input bytes (core/unicode.h). */
#include "test.h"

#include "core/error.h"
#include "core/json.h"
#include "core/random.h"
#include "core/unicode.h"

static void assert_masked(const char *text, const char *expected) {
  char *copy = core_text_duplicate(text);
  core_unicode_mask(copy);
  assert_string_equal(copy, expected);
  free(copy);
}

static void test_mask(void **state) {
  assert_masked("plain caf\xc3\xa9 \xe2\x82\xac", "plain caf\xc3\xa9 \xe2\x82\xac");
  assert_masked("\x1b[31m\x7f", "?[31m?");
  assert_masked("\xc2\x9b" "31m", "?31m");                  /* U+009B, which is ESC [ */
  assert_masked("caf\xe9 \x9b", "caf? ?");                  /* Latin-1, and a raw C1 byte */
  assert_masked("a\xe2\x80\xae" "b", "a?b");                /* U+202E reverses the following text */
  /* Isolates, marks of direction, separators of lines, the byte order mark, tags, invisible characters. */
  assert_masked("\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c\xe2\x80\xa8\xe2\x80\xa9", "???????");
  assert_masked("\xef\xbb\xbf\xf3\xa0\x81\x81\xe2\x80\x8b\xe2\x81\xa0\xef\xbf\xb9\xe1\xa0\x8e", "??????");
  /* Letters, a combining accent, a Persian word with a non-joiner, an emoji of three with joiners. */
  assert_masked("\xe6\x90\x8d \xe0\xa4\xa8\xe0\xa4\xae\xe0\xa4\xb8\xe0\xa5\x8d e\xcc\x81",
                "\xe6\x90\x8d \xe0\xa4\xa8\xe0\xa4\xae\xe0\xa4\xb8\xe0\xa5\x8d e\xcc\x81");
  assert_masked("\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac\xef\xb8\x8f",
                "\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac\xef\xb8\x8f");
  assert_masked("two\nlines\tand", "two\nlines\tand");
  assert_masked("\xed\xa0\x80", "???");                     /* a surrogate */
  assert_masked("\xc0\xaf\xf4\x90\x80\x80", "??????");      /* overlong; beyond the last code point */
}

/* JSON escapes them and reads back, also beyond 16 bits. */
static void test_json_escapes(void **state) {
  const char *const text = "a\xe2\x80\xae\xef\xbb\xbf\xf3\xa0\x81\x81z";
  CoreText printed = {0};
  json_t *value = json_string(text);
  core_json_append(value, 0, &printed);
  assert_string_equal(core_text_string(&printed), "\"a\\u202e\\ufeff\\udb40\\udc41z\"");
  json_t *again = json_loads(core_text_string(&printed), JSON_DECODE_ANY, NULL);
  assert_string_equal(json_string_value(again), text);
  json_decref(value);
  json_decref(again);
  core_text_free(&printed);
}

static void test_odd(void **state) {
  static const struct { const char *text, *name; } odd[] = {
    {"1\xc2\xa0" "6", "character U+00A0 (no-break space)"}, {"\xe2\x88\x92" "1", "character U+2212 (minus sign)"},
    {"\xef\xbb\xbf[sweep]", "character U+FEFF (byte order mark)"},
    {"\xef\xbc\x91", "character U+FF11 (full-width form)"},
    {"a\xe2\x80\x8b", "character U+200B (zero-width space)"}, {"\xe2\x80\x9cx", "double quotation mark"},
    {"\xe9", "byte 0xe9, which is not UTF-8"}, {"\xc2\x85", "control character U+0085"}};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    CoreText text = {0};
    assert_non_null(core_unicode_find_odd(odd[i].text, &text));
    assert_non_null(strstr(core_text_string(&text), odd[i].name));
    core_text_free(&text);
  }
  assert_null(core_unicode_find_odd("caf\xc3\xa9 \xe4\xb8\xad", &(CoreText){0}));
}

static void assert_clean(const char *text, bool lines) {
  assert_true(core_text_is_utf8(text));
  for (const char *at = text; *at;) {
    const uint32_t code = core_unicode_next(&at);
    assert_false(core_unicode_is_unsafe(code) && !(lines && (code == '\n' || code == '\t')));
  }
}

/* Messages, JSON and text for the database, of random bytes: valid UTF-8 without controls, and JSON that reads back. */
static void test_random_bytes(void **state) {
  for (uint32_t round = 0; round < 3000; round++) {
    CoreRandomStream stream = core_random_stream(11, CORE_RANDOM_TEST, round, 0);
    char bytes[65];
    for (size_t i = 0; i < 64; i++) {
      const uint32_t word = core_random_next(&stream);
      bytes[i] = (char)(word & 1 ? 1 + (word >> 8) % 255 : 0x80 + (word >> 8) % 128);
    }
    bytes[64] = '\0';
    core_error(CORE_FAIL, "%s", bytes);
    assert_clean(core_error_message(), true);
    CoreText plain = {0}, printed = {0};
    core_text_append_utf8(&plain, bytes);
    assert_true(core_text_is_utf8(core_text_string(&plain)));
    json_t *value = json_pack("{s:s, s:[s, f]}", "text", bytes, "list", bytes, 0.0 / 0.0);
    core_json_append(value, 0, &printed);
    assert_clean(core_text_string(&printed), false);
    json_t *again = json_loads(core_text_string(&printed), 0, NULL);
    assert_non_null(again);
    assert_string_equal(json_string_value(json_object_get(again, "text")), core_text_string(&plain));
    json_decref(value);
    json_decref(again);
    core_text_free(&plain);
    core_text_free(&printed);
  }
}

static void test_pack(void **state) {
  CoreText text = {0};
  json_t *kept = json_integer(7);
  json_t *value = json_pack("{s:s, s:i, s:I, s:f, s:b, s:n, s:o, s:O, s:{s:[]}}", "none", NULL, "i", 1, "I",
                                 (json_int_t)2, "nan", 0.0 / 0.0, "b", 1, "n", "missing", NULL, "kept", kept, "deep",
                                 "a");
  core_json_append(value, 0, &text);
  assert_string_equal(core_text_string(&text),
                      "{\"none\": null, \"i\": 1, \"I\": 2, \"nan\": null, \"b\": true, \"n\": null, "
                      "\"missing\": null, \"kept\": 7, \"deep\": {\"a\": []}}");
  json_decref(value);
  assert_int_equal(kept->refcount, 1);
  json_decref(kept);
  core_text_free(&text);
}

static void test_pairs(void **state) {
  static const char *const pairs[][2] = {
    {"k=v", "k=v"}, {" k = v ", "k=v"}, {"k =v w", "k=v w"}, {"k=", "k="}, {"word", "word"}, {"a = b = c", "a=b = c"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    char *plain = core_text_normalize_pair(pairs[i][0]);
    assert_string_equal(plain, pairs[i][1]);
    free(plain);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mask), cmocka_unit_test(test_json_escapes),
                                     cmocka_unit_test(test_odd),
                                     cmocka_unit_test(test_random_bytes), cmocka_unit_test(test_pack),
                                     cmocka_unit_test(test_pairs)};
  return cmocka_run_group_tests_name("unicode", tests, NULL, NULL);
}
