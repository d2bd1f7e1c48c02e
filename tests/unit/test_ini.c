/* core/ini: the grammar, positions, and files that are no INI files. */
#include "test.h"

#include "core/ini.h"
#include "core/random.h"
#include "core/text.h"

static void assert_entry(const CoreIni *ini, size_t i, const char *section, const char *key, const char *value,
                         int line, int column) {
  assert_true(i < ini->count);
  const CoreIniEntry *e = &ini->entries[i];
  assert_string_equal(e->section, section);
  if (key) {
    assert_string_equal(e->key, key);
    assert_string_equal(e->value, value);
  } else {
    assert_null(e->key);
  }
  assert_int_equal(e->line, line);
  assert_int_equal(e->column, column);
}

static void entries_remember_where_they_stood(void **state) {
  CoreIni ini;
  (void)state;
  const char *text =
    "# comment\n"
    "first = 1\n"
    "\n"
    "[sweep]        ; named\n"
    "name  = fig8_ddr\r\n"
    "[ grid \t com ]\n"
    "  algo.name = ppo_ewma   # why\n"
    "[empty]\n"
    "[sweep]\n"
    "a=b=c;d\n"
    "none =\n"
    "last = x";

  assert_int_equal(core_ini_parse("f.ini", text, &ini), CORE_OK);
  assert_int_equal(ini.count, 10);

  assert_entry(&ini, 0, "", "first", "1", 2, 9);
  assert_entry(&ini, 1, "sweep", NULL, NULL, 4, 1);
  assert_entry(&ini, 2, "sweep", "name", "fig8_ddr", 5, 9);
  assert_entry(&ini, 3, "grid com", NULL, NULL, 6, 1);
  assert_entry(&ini, 4, "grid com", "algo.name", "ppo_ewma", 7, 15);
  assert_int_equal(ini.entries[4].key_column, 3);
  assert_entry(&ini, 5, "empty", NULL, NULL, 8, 1);
  assert_entry(&ini, 6, "sweep", NULL, NULL, 9, 1);
  assert_entry(&ini, 7, "sweep", "a", "b=c;d", 10, 3);
  assert_entry(&ini, 8, "sweep", "none", "", 11, 7);
  assert_entry(&ini, 9, "sweep", "last", "x", 12, 8);

  assert_int_equal(core_ini_error(&ini, &ini.entries[4], "is %s", "wrong"), CORE_USAGE);
  assert_string_equal(core_error_message(), "f.ini:7:15: is wrong");
  core_ini_error_key(&ini, &ini.entries[4], "%s", core_error_message());
  assert_string_equal(core_error_message(), "f.ini:7:3: f.ini:7:15: is wrong");

  core_ini_free(&ini);
  core_ini_free(&ini);
}

static void quotes_and_continuations(void **state) {
  CoreIni ini;
  (void)state;
  const char *text =
    "a = \"x ; y # z\" ; comment\n"
    "b = \"say \\\"hi\\\" \\\\ C:\\dir\"\n"
    "c = \"p;q\", \"r\"\n"
    "d = 1, 2, \\\n"
    "    3, \\ ; three\n"
    "    4\n"
    "e = \" \"\n"
    "; ends in a backslash \\\n"
    "f = 1 \\\n"
    "\n"
    "\xc3\xa9 = 1\n";

  assert_int_equal(core_ini_parse("f", text, &ini), CORE_USAGE);
  assert_string_equal(core_error_message(), "f:11:1: a key may hold only letters, digits, '.', '_' and '-'");

  char *cut = core_text_duplicate(text);
  *strstr(cut, "\xc3\xa9") = '\0';
  assert_int_equal(core_ini_parse("f", cut, &ini), CORE_OK);
  assert_entry(&ini, 0, "", "a", "x ; y # z", 1, 5);
  assert_entry(&ini, 1, "", "b", "say \"hi\" \\ C:\\dir", 2, 5);
  assert_entry(&ini, 2, "", "c", "\"p;q\", \"r\"", 3, 5);
  assert_entry(&ini, 3, "", "d", "1, 2, 3, 4", 4, 5);
  assert_entry(&ini, 4, "", "e", " ", 7, 5);
  assert_entry(&ini, 5, "", "f", "1", 9, 5);

  core_ini_free(&ini);
  free(cut);
}

/* '...' is a quoted text where it is a whole word; elsewhere ' is an apostrophe. */
static void single_quotes_and_comments(void **state) {
  CoreIni ini;
  CoreText item = {0};
  const char *start;
  (void)state;
  assert_int_equal(core_ini_parse("f", "a = '007' ; why\n"
                                  "b = 'x ; \"y # z'\n"
                                  "c = it's ; isn't it\n"
                                  "d = sh -c 'a ; b # c' '' # d\n"
                                  "e = 'p', 'q'\n"
                                  "f = '\n"
                                  "g = \"x\"#y #z\n"
                                  "h = 1", &ini), CORE_OK);
  static const struct { const char *value, *comment; bool is_quoted; } entries[] = {
    {"007", "; why", true}, {"x ; \"y # z", "", true}, {"it's", "; isn't it", false},
    {"sh -c 'a ; b # c' ''", "# d", false}, {"'p', 'q'", "", false}, {"'", "", false}, {"\"x\"#y", "#z", false},
    {"1", "", false}};
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
    assert_string_equal(ini.entries[i].value, entries[i].value);
    assert_string_equal(ini.entries[i].comment, entries[i].comment);
    assert_int_equal(ini.entries[i].is_quoted, entries[i].is_quoted);
  }
  core_ini_free(&ini);

  const char *rest = "'a, b' , it's, 'c' d, '', \"'e'\"";
  static const char *const items[] = {"a, b", "it's", "'c' d", "", "'e'"};
  for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
    assert_true(core_ini_next_item(&rest, &item, &start));
    assert_string_equal(core_text_string(&item), items[i]);
  }
  assert_false(core_ini_next_item(&rest, &item, &start));
  core_text_free(&item);
}

static void columns_count_characters(void **state) {
  CoreIni ini;
  (void)state;
  assert_int_equal(core_ini_parse("f", "a = \"\xc3\xa9\xe2\x80\xa6\" x\"\n", &ini), CORE_USAGE);
  assert_string_equal(core_error_message(), "f:1:11: the closing quote is missing");
  assert_int_equal(core_ini_parse("f", "\xef\xbb\xbf""a = 1\n", &ini), CORE_OK);
  assert_entry(&ini, 0, "", "a", "1", 1, 5);
  core_ini_free(&ini);
}

static void faults_name_line_and_column(void **state) {
  static const struct { const char *text, *message; } cases[] = {
    {"[sweep\n", "f:1:7: the section's ']' is missing"},
    {"\n[sweep] x\n", "f:2:8: nothing may follow the section's ']'"},
    {"[ ]\n", "f:1:1: the section has no name"},
    {"[a[b]\n", "f:1:3: a section's name may not hold ["},
    {"a = 1\n  words\n", "f:2:3: neither [section] nor key = value"},
    {" = 1\n", "f:1:2: a key is missing before '='"},
    {"a b = 1\n", "f:1:2: a key may hold only letters, digits, '.', '_' and '-'"},
    {"../x = 1\n", "f:1:3: a key may hold only letters, digits, '.', '_' and '-'"},
    {"a = \"x\n", "f:1:5: the closing quote is missing"},
    {"a = 5\" ; inch\n", "f:1:6: the closing quote is missing"},
    {"a = 1 \\\n", "f:1:7: the file ends after '\\', which announces another line"},
    {"a = 1\x01\n", "f:1:6: control character U+0001 cannot stand in a text file; is this the right file?"},
    {"a = 1\rb = 2\n", "f:1:6: control character U+000D cannot stand in a text file; is this the right file?"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CoreIni ini;
    assert_int_equal(core_ini_parse("f", cases[i].text, &ini), CORE_USAGE);
    assert_string_equal(core_error_message(), cases[i].message);
    assert_null(ini.entries);
  }
}

static void long_lines(void **state) {
  CoreText text = {0};
  CoreIni ini;
  (void)state;
  core_text_append(&text, "list = 0");
  for (int i = 1; i < 10000; i++) core_text_appendf(&text, ",%d", i);
  assert_int_equal(core_ini_parse("f", core_text_string(&text), &ini), CORE_OK);
  assert_int_equal(strlen(ini.entries[0].value), text.length - 7);
  core_ini_free(&ini);
  while (text.length <= 65536) core_text_append(&text, ",99999999");
  assert_int_equal(core_ini_parse("f", core_text_string(&text), &ini), CORE_USAGE);
  assert_string_equal(core_error_message(), "f:1:1: this line is longer than 65536 bytes");
  core_text_free(&text);
}

static void files_that_are_none(void **state) {
  char path[] = "/tmp/test_ini.XXXXXX";
  CoreIni ini;
  (void)state;
  assert_int_equal(core_ini_read("/nonexistent/x.ini", &ini), CORE_FAIL);
  assert_string_equal(core_error_message(), "cannot read /nonexistent/x.ini: No such file or directory");
  assert_int_equal(core_ini_read("/", &ini), CORE_FAIL);
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, "a = 1\nb\0c = 2\n", 14), 14);
  close(fd);
  int code = core_ini_read(path, &ini);
  unlink(path);
  assert_int_equal(code, CORE_USAGE);
  assert_message(":2:2: byte 0x00");
}

/* Any bytes give an error or entries, within the buffer (checked by sanitizer builds). */
static void noise_is_survived(void **state) {
  static const char alphabet[] = "ab=[]\"\\;# \t\n\r.\xc3\xa9,";
  (void)state;
  for (uint32_t round = 0; round < 20000; round++) {
    CoreRandomStream random = core_random_stream(7, CORE_RANDOM_TEST, round, 0);
    char text[64];
    size_t length = core_random_below(core_random_next(&random), sizeof text);
    for (size_t i = 0; i < length; i++)
      text[i] = alphabet[core_random_below(core_random_next(&random), sizeof alphabet - 1)];
    text[length] = '\0';
    CoreIni ini;
    if (core_ini_parse("noise", text, &ini) == CORE_OK)
      for (size_t i = 0; i < ini.count; i++) assert_true(ini.entries[i].line >= 1 && ini.entries[i].column >= 1);
    else
      assert_memory_equal(core_error_message(), "noise:", 6);
    core_ini_free(&ini);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(entries_remember_where_they_stood),
    cmocka_unit_test(quotes_and_continuations),
    cmocka_unit_test(single_quotes_and_comments), cmocka_unit_test(columns_count_characters),
    cmocka_unit_test(faults_name_line_and_column),
    cmocka_unit_test(long_lines),
    cmocka_unit_test(files_that_are_none),
    cmocka_unit_test(noise_is_survived),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
