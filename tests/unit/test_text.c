/* core/text and core/error: numbers in and out, buffers, names, messages. */
#include "test.h"

#include <errno.h>
#include <float.h>
#include <locale.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

#include "core/error.h"
#include "core/files.h"
#include "core/random.h"
#include "core/text.h"

static void integers_are_read_exactly_or_not_at_all(void **state) {
  static const struct { const char *text; int64_t value; } good[] = {
    {"0", 0}, {"-0", 0}, {"7", 7}, {"+7", 7}, {"-12", -12}, {"1e8", 100000000}, {"3e9", 3000000000}, {"1E3", 1000},
    {"1.5e6", 1500000}, {"12.50e1", 125}, {"2.0", 2}, {"100e-2", 1}, {"0e999", 0}, {"00012", 12}, {".5e1", 5},
    {"9223372036854775807", INT64_MAX}, {"-9223372036854775808", INT64_MIN}, {"9.223372036854775807e18", INT64_MAX},
    {"9007199254740993", 9007199254740993}, /* 2^53 + 1: through a double it would be even */
  };
  static const char *const bad[] = {
    "", " ", "1 ", " 1", "abc", "1_000_000", "1,000", "0x10", "1e", "1e+", "e5", ".", "-", "+-1", "1.5", "1e-1",
    "2.5e0", "9223372036854775808", "-9223372036854775809", "1e19", "1e99999999999", "inf", "nan", "1e8x", "1..2",
  };
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    int64_t value = -1;
    if (!core_text_to_int(good[i].text, &value)) fail_msg("'%s' was refused", good[i].text);
    assert_int_equal(value, good[i].value);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    int64_t value = -1;
    if (core_text_to_int(bad[i], &value)) fail_msg("'%s' was read as %lld", bad[i], (long long)value);
    assert_int_equal(value, -1);
  }
}

static void reals_are_read_strictly(void **state) {
  static const struct { const char *text; double value; } good[] = {
    {"0.1", 0.1}, {"1e8", 1e8}, {"-2.5E-3", -2.5e-3}, {".5", 0.5}, {"5.", 5}, {"inf", INFINITY}, {"-inf", -INFINITY},
    {"0e9999", 0}, {"4.9406564584124654e-324", 4.9406564584124654e-324}, {"1.7976931348623157e308", DBL_MAX},
  };
  static const char *const bad[] = {"", "nan", "NaN", "infinity", "1e999", "1e-999", "0x1p3", "1,5", "1.5 ", "--1",
                                    "1e", "1f"};
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    double value = -1;
    if (!core_text_to_real(good[i].text, &value)) fail_msg("'%s' was refused", good[i].text);
    assert_true(value == good[i].value);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    double value;
    if (core_text_to_real(bad[i], &value)) fail_msg("'%s' was read as %g", bad[i], value);
  }
}

static void booleans_are_words(void **state) {
  bool value;
  (void)state;
  assert_true(core_text_to_bool("yes", &value) && value);
  assert_true(core_text_to_bool("True", &value) && value);
  assert_true(core_text_to_bool("off", &value) && !value);
  assert_true(core_text_to_bool("0", &value) && !value);
  assert_false(core_text_to_bool("2", &value));
  assert_false(core_text_to_bool("", &value));
  assert_false(core_text_to_bool("yess", &value));
}

static void suffixes_are_powers_of_a_thousand(void **state) {
  static const struct { const char *text; int64_t value; } whole[] = {
    {"50k", 50000}, {"3M", 3000000}, {"2G", 2000000000}, {"1T", 1000000000000}, {"1.5M", 1500000}, {"1e9", 1000000000},
    {"0.001k", 1}, {"-2k", -2000}, {".5k", 500}, {"2.k", 2000}, {"0T", 0}, {"9223372036854775.807k", INT64_MAX},
    {"50000", 50000}};
  static const char *const not_whole[] = {
    "50 k", "5kk", "k", "M", "", ".k", "-k", "1.2345k", "0.0001k", "50K", "50m", "1e3k", "1kM", "k5", "5k ", " 5k",
    "0x1k", "infk", "9300000T", "9223372036854775.808k", "9e18k", "5,000"};
  static const char *const reals[][2] = {
    {"1.1M", "1100000"}, {"0.3k", "300"}, {"2.675k", "2675"}, {"1e-3", "0.001"}, {"-1.7G", "-1.7e9"}, {"inf", "inf"}};
  (void)state;

  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
    int64_t value;
    if (!core_text_to_int_scaled(whole[i].text, &value)) fail_msg("'%s' was refused", whole[i].text);
    assert_int_equal(value, whole[i].value);
  }

  for (size_t i = 0; i < sizeof not_whole / sizeof *not_whole; i++) {
    int64_t value;
    if (core_text_to_int_scaled(not_whole[i], &value))
      fail_msg("'%s' was read as %lld", not_whole[i], (long long)value);
  }

  for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) { /* to the bit */
    double scaled, plain;
    assert_true(core_text_to_real_scaled(reals[i][0], &scaled));
    assert_true(core_text_to_real(reals[i][1], &plain));
    assert_memory_equal(&scaled, &plain, sizeof plain);
  }
}

/* Files written by programs have none; it would indicate damage. */
static void plain_numbers_have_no_suffix(void **state) {
  int64_t whole;
  double real;
  (void)state;
  assert_false(core_text_to_int("50k", &whole));
  assert_false(core_text_to_real("50k", &real));
}

static void a_refused_number_is_explained(void **state) {
  static const char suffixes[] = ": suffixes are k, M, G and T, for 1e3, 1e6, 1e9 and 1e12";
  static const struct { const char *text, *hint; } cases[] = {
    {"50 k", ": no blank may stand before the suffix, as in 50k"}, {"5kk", suffixes}, {"50K", suffixes},
    {"50m", suffixes}, {"k", ": there are no digits before the suffix, as in 50k"},
    {"1e3k", ": it has an exponent and a suffix; one is enough"},
    {"9300000T", ": it is beyond what such numbers can hold"}, {"1e30", ": it is beyond what such numbers can hold"},
    {"1e999", ": it is beyond what such numbers can hold"}, {"many", ""}, {"1.5", ""}, {"", ""}, {"nan", ""},
    {"1..4", ""}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_string_equal(core_text_number_hint(cases[i].text), cases[i].hint);
}

static void reals_are_written_in_their_usual_form(void **state) {
  static const struct { double value; const char *text; } cases[] = {
    {0, "0"}, {-0.0, "-0"}, {1, "1"}, {64, "64"}, {100, "100"}, {100000, "100000"}, {1e6, "1e6"}, {1e8, "1e8"},
    {1.5e6, "1.5e6"}, {1234567, "1234567"}, {0.1, "0.1"}, {0.995, "0.995"}, {3e-4, "0.0003"}, {1e-5, "1e-5"},
    {2.5e-7, "2.5e-7"}, {0.1 + 0.2, "0.30000000000000004"}, {1.0 / 3, "0.3333333333333333"}, {-12.75, "-12.75"},
    {INFINITY, "inf"}, {-INFINITY, "-inf"}, {9007199254740993.0, "9007199254740992"}, {5e-324, "5e-324"},
    {DBL_MAX, "1.7976931348623157e308"}, {1e22, "1e22"}, {1e23, "1e23"},
  };
  char buffer[32];
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_string_equal(core_text_from_real(cases[i].value, buffer), cases[i].text);
}

/* No %.*g with fewer digits may read back to the same value. */
static void assert_shortest(double value, const char *text) {
  size_t digits = 0;
  bool leading = true;
  for (const char *c = text; *c && *c != 'e'; c++) {
    if (*c != '0' && *c >= '0' && *c <= '9') leading = false;
    digits += !leading && *c >= '0' && *c <= '9';
  }
  char shorter[400];
  for (int precision = 1; precision < (int)digits; precision++) {
    snprintf(shorter, sizeof shorter, "%.*g", precision, value);
    /* Zeros at the end of a whole number are no significant digits. */
    if (strtod(shorter, NULL) == value && strchr(text, '.')) fail_msg("%s is longer than %s", text, shorter);
  }
}

static void any_real_survives_the_round_trip(void **state) {
  CoreRandomStream random = core_random_stream(1, CORE_RANDOM_TEST, 0, 0);
  char buffer[32];
  (void)state;
  for (int i = 0; i < 20000; i++) {
    uint64_t bits = (uint64_t)core_random_next(&random) << 32 | core_random_next(&random);
    double value, back;
    memcpy(&value, &bits, sizeof value);
    if (i % 2) value = ldexp((double)(bits >> 11), -(int)(bits % 60)); /* magnitudes that people use */
    if (!isfinite(value)) continue;
    if (i % 4 == 3) value = (double)(bits >> 40) / pow(10, (double)(bits % 16)); /* few digits */
    core_text_from_real(value, buffer);
    assert_true(strlen(buffer) < 30);
    assert_true(core_text_to_real(buffer, &back));
    assert_memory_equal(&value, &back, sizeof value);
    assert_shortest(value, buffer);
  }
}

/* Switches to a locale with a decimal comma, compiling one under `directory` where none is installed. */
static bool use_comma_locale(const char *directory) {
  static const char *const installed[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
  for (size_t i = 0; i < sizeof installed / sizeof *installed; i++)
    if (setlocale(LC_ALL, installed[i])) return true;
  char target[600];
  pid_t child;
  int status;
  snprintf(target, sizeof target, "%s/de_DE.UTF-8", directory);
  char *const arguments[] = {"localedef", "-i", "de_DE", "-f", "UTF-8", target, NULL};
  if (posix_spawnp(&child, "localedef", NULL, NULL, arguments, environ) != 0) return false;
  waitpid(child, &status, 0);
  setenv("LOCPATH", directory, 1);
  return setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

static void numbers_ignore_the_locale(void **state) {
  static const double values[] = {0.25, 1.0 / 3, 2.5e-7, 1.5e300};
  static const char *const texts[] = {"0.25", "0.3333333333333333", "2.5e-7", "1.5e300"};
  char buffers[4][32], printed[32];
  double back[4];
  (void)state;
  assert_int_equal(test_directory_make(NULL), 0);
  bool found = use_comma_locale(test_directory);
  snprintf(printed, sizeof printed, "%.2f", 0.25);
  for (int i = 0; i < 4; i++) {
    core_text_from_real(values[i], buffers[i]);
    if (!core_text_to_real(texts[i], &back[i])) back[i] = -1;
  }
  setlocale(LC_ALL, "C");
  unsetenv("LOCPATH");
  assert_int_equal(test_directory_remove(NULL), 0);
  if (!found) {
    print_message("no locale with a decimal comma can be had\n");
    skip();
  }
  assert_string_equal(printed, "0,25");
  for (int i = 0; i < 4; i++) {
    assert_string_equal(buffers[i], texts[i]);
    assert_true(back[i] == values[i]);
  }
}

static void counts_and_durations_are_for_people(void **state) {
  char buffer[32];
  (void)state;
  assert_string_equal(core_text_count(0, buffer), "0");
  assert_string_equal(core_text_count(999, buffer), "999");
  assert_string_equal(core_text_count(1234567, buffer), "1.23 M");
  assert_string_equal(core_text_count(999999, buffer), "1 M");
  assert_string_equal(core_text_count(3e9, buffer), "3 G");
  assert_string_equal(core_text_count(-2500, buffer), "-2.5 k");
  assert_string_equal(core_text_count(INFINITY, buffer), "inf");
  assert_string_equal(core_text_duration(0.25, buffer), "0.25 s");
  assert_string_equal(core_text_duration(59.4, buffer), "59 s");
  assert_string_equal(core_text_duration(59.9, buffer), "1 min 00 s");
  assert_string_equal(core_text_duration(93.4, buffer), "1 min 33 s");
  assert_string_equal(core_text_duration(3599.8, buffer), "1 h 00 min");
  assert_string_equal(core_text_duration(90000, buffer), "1 d 01 h");
  assert_string_equal(core_text_duration(NAN, buffer), "unknown");
  assert_string_equal(core_text_duration(-1, buffer), "unknown");
}

static void buffers_grow_and_stay_terminated(void **state) {
  CoreText text = {0};
  (void)state;
  assert_string_equal(core_text_string(&text), "");
  for (int i = 0; i < 1000; i++) core_text_appendf(&text, "%d,", i);
  core_text_append_bytes(&text, "\0x", 2);
  assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4 + 2);
  assert_memory_equal(text.data, "0,1,2,", 6);
  assert_int_equal(text.data[text.length], 0);
  core_text_clear(&text);
  assert_string_equal(core_text_string(&text), "");
  char *longer = malloc(5001);
  memset(longer, 'a', 5000);
  longer[5000] = '\0';
  core_text_appendf(&text, "<%s>", longer);
  assert_int_equal(text.length, 5002);
  assert_int_equal(text.data[5001], '>');
  free(longer);
  core_text_free(&text);
  char small[4];
  assert_int_equal(core_text_copy(small, sizeof small, "abc", "a word"), CORE_OK);
  assert_int_equal(core_text_copy(small, sizeof small, "abcd", "a word"), CORE_USAGE);
  assert_message("a word");
  assert_string_equal(small, "abc");
}

static void names_for_paths_are_harmless(void **state) {
  static const char *const good[] = {"fig8_ddr", "a", "A.b-c_9", "_x"};
  static const char *const bad[] = {"", ".", "..", ".hidden", "-rf", "a/b", "a b", "a\nb", "a\"b", "a'b", "$x", "a;b",
    "é", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_int_equal(core_text_check_name(good[i], "x"), CORE_OK);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(core_text_check_name(bad[i], "sweep.name"), CORE_USAGE);
    assert_message("sweep.name");
  }
}

static void utf8_is_checked(void **state) {
  static const char *const good[] = {"", "abc", "é", "…", "日本", "😀", "\xf4\x8f\xbf\xbf"};
  static const char *const bad[] = {"\x80", "\xc0\xaf", "\xc3", "\xe2\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff",
                                    "a\xe9z", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xf5\x80\x80\x80"};
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(core_text_is_utf8(good[i]));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(core_text_is_utf8(bad[i]));
}

static void nearest_names_are_near(void **state) {
  static const char *const names[] = {"plan", "submit", "status", "stop", "logs"};
  char endless[400];
  (void)state;
  assert_string_equal(core_text_nearest("sumbit", names, 5), "submit");
  assert_string_equal(core_text_nearest("Status", names, 5), "status");
  assert_string_equal(core_text_nearest("log", names, 5), "logs");
  assert_null(core_text_nearest("banana", names, 5));
  assert_null(core_text_nearest("plan", names, 0));
  memset(endless, 's', sizeof endless - 1);
  endless[sizeof endless - 1] = '\0';
  assert_null(core_text_nearest(endless, names, 5));
}

static void *other_thread(void *arg) {
  (void)arg;
  core_error(CORE_FAIL, "of the other thread");
  return NULL;
}

static int fails(void) { return core_error(CORE_USAGE, "inner"); }

static int hands_on(void) {
  TRY(fails());
  return CORE_OK;
}

static void errors_keep_their_message(void **state) {
  pthread_t thread;
  (void)state;
  core_error_clear();
  assert_string_equal(core_error_message(), "");
  assert_int_equal(hands_on(), CORE_USAGE);
  assert_int_equal(core_error_context(CORE_FAIL, "outer %d", 1), CORE_FAIL);
  assert_string_equal(core_error_message(), "outer 1: inner");
  assert_int_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
  pthread_join(thread, NULL);
  assert_string_equal(core_error_message(), "outer 1: inner");
  core_error(CORE_FAIL, "<%s>", core_error_message()); /* an argument that is the message itself */
  assert_string_equal(core_error_message(), "<outer 1: inner>");
  errno = ENOSPC;
  core_error_errno(CORE_FAIL, "cannot write %s", "x");
  assert_string_equal(core_error_message(), "cannot write x: No space left on device");
  core_error(CORE_FAIL, "name \033[31m\r");
  assert_string_equal(core_error_message(), "name ?[31m?");
}

static void endless_errors_are_cut(void **state) {
  char *endless = malloc(100001);
  (void)state;
  memset(endless, 'x', 100000);
  endless[100000] = '\0';
  core_error(CORE_FAIL, "%s", endless);
  core_error_context(CORE_FAIL, "%s", endless);
  assert_true(strlen(core_error_message()) > 1000 && strlen(core_error_message()) < 10000);
  free(endless);
}

/* Each cell as it is written, and as it is read back. */
static void cells_are_no_formulas(void **state) {
  static const struct { const char *cell, *written; } cases[] = {
    {"plain", "plain"}, {"", ""}, {"a,b\"c\nd", "\"a,b\"\"c\nd\""},
    {"=1+1", "'=1+1"}, {"=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"}, {"@SUM(A1)", "'@SUM(A1)"},
    {"+49 30", "'+49 30"}, {"-1+1", "'-1+1"}, {"=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\""},
    {"\t=1", "\"'\t=1\""}, {"\r=1", "\"'\r=1\""}, {"\n=1", "\"'\n=1\""},
    {"-0.5", "-0.5"}, {"-1e-5", "-1e-5"}, {"-inf", "-inf"}, {"-", "-"}, {"=", "="}, {"a=1", "a=1"},
    {"0684670735522928", "'0684670735522928"}, {"13236110316e3573", "'13236110316e3573"},
    {"1e45678901234567", "'1e45678901234567"}, {"068467073552292", "068467073552292"},
    {"06846707355229280", "06846707355229280"}, {"132361103163573e", "132361103163573e"},
    {"e132361103163573", "e132361103163573"}, {"1e2e345678901234", "1e2e345678901234"},
    {"0684670735522.28", "0684670735522.28"},
    {"'0684670735522928", "''0684670735522928"}, {"'068467073552292a", "'068467073552292a"},
    {"'quoted'", "'quoted'"}, {"'=1", "''=1"}, {"''-x", "'''-x"}, {"'=", "'="}, {"'", "'"},
  };
  (void)state;

  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CoreText csv = {0}, cell = {0};
    bool last;

    core_text_append_cell(&csv, cases[i].cell);
    assert_string_equal(core_text_string(&csv), cases[i].written);
    core_text_append(&csv, ",next\n");
    assert_string_equal(core_text_read_cell(core_text_string(&csv), &cell, &last), "next\n");
    assert_string_equal(core_text_string(&cell), cases[i].cell);
    assert_false(last);

    core_text_free(&csv);
    core_text_free(&cell);
  }
}

static void rows_of_cells_are_read(void **state) {
  static const char csv[] = "a,\"b\nc\",'=1\n,\n";
  static const struct { const char *cell; bool last; } expected[] = {
    {"a", false}, {"b\nc", false}, {"=1", true}, {"", false}, {"", true}};
  const char *at = csv;
  CoreText cell = {0};
  (void)state;
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    bool last;
    at = core_text_read_cell(at, &cell, &last);
    assert_string_equal(core_text_string(&cell), expected[i].cell);
    assert_int_equal(last, expected[i].last);
  }
  assert_string_equal(at, "");
  core_text_free(&cell);
}

static void comments_of_csv_are_no_formulas(void **state) {
  static const char comment[] = "sweep a,=1+1;@x,\"=2\" b=c, d\r=3";
  CoreText csv = {0};
  (void)state;
  core_text_append_csv_comment(&csv, comment, sizeof comment - 1);
  assert_string_equal(core_text_string(&csv), "# sweep a,'=1+1;'@x,'\"=2\" b=c, d =3\n");
  core_text_free(&csv);
}

static void durations_have_units(void **state) {
  static const struct { const char *text; double seconds; } good[] = {
    {"0", 0}, {"90", 90}, {"90s", 90}, {"10m", 600}, {"10 min", 600}, {"1.5h", 5400}, {"2d", 172800}, {"1e3", 1000}};
  static const char *const bad[] = {"", "m", "-1", "10M", "10 x", "10mm", "soon", "1h30m", "nan"};
  double seconds;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_true(core_text_to_duration(good[i].text, &seconds));
    assert_true(seconds == good[i].seconds);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(core_text_to_duration(bad[i], &seconds));
}

static void test_xml(void **state) {
  (void)state;
  CoreText xml = {0};
  core_text_append_xml(&xml, "<a href=\"x\">'R&D'\t\x01\xff\xc3\xa9\xef\xbf\xbe\xe2\x80\xae\n");
  assert_string_equal(core_text_string(&xml), "&lt;a href=&quot;x&quot;&gt;&apos;R&amp;D&apos; ??\xc3\xa9??\n");
  core_text_free(&xml);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_xml),
    cmocka_unit_test(durations_have_units),
    cmocka_unit_test(integers_are_read_exactly_or_not_at_all),
    cmocka_unit_test(reals_are_read_strictly),
    cmocka_unit_test(booleans_are_words),
    cmocka_unit_test(suffixes_are_powers_of_a_thousand),
    cmocka_unit_test(plain_numbers_have_no_suffix),
    cmocka_unit_test(a_refused_number_is_explained),
    cmocka_unit_test(reals_are_written_in_their_usual_form),
    cmocka_unit_test(any_real_survives_the_round_trip),
    cmocka_unit_test(numbers_ignore_the_locale),
    cmocka_unit_test(counts_and_durations_are_for_people),
    cmocka_unit_test(buffers_grow_and_stay_terminated),
    cmocka_unit_test(names_for_paths_are_harmless),
    cmocka_unit_test(utf8_is_checked),
    cmocka_unit_test(nearest_names_are_near),
    cmocka_unit_test(errors_keep_their_message),
    cmocka_unit_test(endless_errors_are_cut),
    cmocka_unit_test(cells_are_no_formulas),
    cmocka_unit_test(rows_of_cells_are_read),
    cmocka_unit_test(comments_of_csv_are_no_formulas),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
