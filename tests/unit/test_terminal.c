/* core/terminal and core/log: output for users. Streams here are files, not terminals, except where a pseudo
 * terminal is opened. */
#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "core/log.h"
#include "core/terminal.h"
#include "core/text.h"

#include "captured.h"

static void print_table(FILE *stream) {
  static const char *const headers[] = {"run", "what it says", "solve", "steps", "state"};
  CoreTable *t = core_table_create(headers, 5);
  static const char *const rows[][5] = {
    {"01ab", "naïve … text", "63 %", "1.23 M", "done"},
    {"9fcd", "a longer text\nin two lines", "-", "-", "failed"},
    {"2026", "", "7.5 %", "12", "done"},
  };
  for (size_t r = 0; r < 3; r++)
    for (size_t c = 0; c < 5; c++)
      if (c == 4) core_table_cell_color(t, CORE_RED, "%s", rows[r][c]);
      else core_table_cell(t, "%s", rows[r][c]);
  core_table_print(t, stream);
  core_table_destroy(&t);
  assert_null(t);
}

static void print_table_to_stdout(void) { print_table(stdout); }

static void tables_align_numbers_right(void **state) {
  (void)state;
  setenv("COLUMNS", "20", 1); /* no terminal: nothing is cut */
  assert_string_equal(captured(1, print_table_to_stdout),
    "run   what it says                solve   steps  state\n"
    "01ab  naïve … text                 63 %  1.23 M  done\n"
    "9fcd  a longer text in two lines      -       -  failed\n"
    "2026                              7.5 %      12  done\n");
  unsetenv("COLUMNS");
}

/* A stream that is a terminal of 30 columns and 10 lines, and the descriptor at its other end; false where there are
 * no pseudo terminals. */
static bool open_terminal(FILE **stream, int *other) {
  *other = posix_openpt(O_RDWR | O_NOCTTY);
  if (*other < 0 || grantpt(*other) != 0 || unlockpt(*other) != 0) return false;
  int fd = open(ptsname(*other), O_RDWR | O_NOCTTY);
  struct winsize size = {.ws_col = 30, .ws_row = 10};
  if (fd < 0 || ioctl(fd, TIOCSWINSZ, &size) != 0) return false;
  *stream = fdopen(fd, "r+");
  return *stream != NULL;
}

static const char *what_arrived(FILE *stream, int other) {
  static char text[4000];
  size_t length = 0;
  struct pollfd ready = {.fd = other, .events = POLLIN};
  fflush(stream);
  while (length < sizeof text - 1 && poll(&ready, 1, 50) == 1) {
    ssize_t got = read(other, text + length, sizeof text - 1 - length);
    if (got <= 0) break;
    length += (size_t)got;
  }
  text[length] = '\0';
  return text;
}

static void a_terminal_gets_colors_and_wrapped_columns(void **state) {
  FILE *stream;
  int other;
  (void)state;
  if (!open_terminal(&stream, &other)) {
    print_message("no pseudo terminal can be opened\n");
    skip();
  }

  const char *no_color = getenv("NO_COLOR");
  char *kept = no_color ? core_text_duplicate(no_color) : NULL;
  unsetenv("NO_COLOR");
  setenv("TERM", "xterm", 1);
  assert_true(core_terminal_has_color(stream));
  assert_int_equal(core_terminal_width(stream), 30);

  static const char *const headers[] = {"n", "text"};
  CoreTable *t = core_table_create(headers, 2);
  core_table_cell(t, "1");
  core_table_cell_color(t, CORE_GREEN, "%s", "ééééééééééééééééééééééééééééééééé");
  core_table_print(t, stream);
  core_table_destroy(&t);

  assert_string_equal(what_arrived(stream, other),
    "\033[1mn\033[0m \033[1mtext\033[0m\r\n"
    "1 \033[32méééééééééééééééééééééééééééé\033[0m\r\n"
    "  \033[32mééééé\033[0m\r\n");

  static const char *const names[] = {"configuration", "runs", "final solve rate [95 % t]"};
  setenv("NO_COLOR", "1", 1);
  t = core_table_create(names, 3); /* 13 + 2 + 4 + 2 + 25 columns, of which there are 30 */
  core_table_cell(t, "com 2");
  core_table_cell(t, "%d", 12);
  core_table_cell(t, "0.375 [0.25, 0.5]");
  core_table_cell(t, "eps 0.2, steps");
  core_table_cell(t, "-");
  core_table_cell(t, "–");
  core_table_print(t, stream);
  core_table_destroy(&t);

  assert_string_equal(what_arrived(stream, other),
    "configuration runs final solve\r\n"
    "                          rate\r\n"
    "                      [95 % t]\r\n"
    "com 2           12       0.375\r\n"
    "                   [0.25, 0.5]\r\n"
    "eps 0.2,         -           –\r\n"
    "steps\r\n");

  static const char *const many[] = {"name", "first number", "second number", "third", "fourth number"};
  t = core_table_create(many, 5); /* too wide for one row */
  core_table_cell(t, "com 2");
  for (int i = 1; i < 5; i++) core_table_cell(t, i == 3 ? "" : "0.123456");
  core_table_print(t, stream);
  core_table_destroy(&t);

  assert_string_equal(what_arrived(stream, other),
    "com 2\r\n"
    "  first number   0.123456\r\n"
    "  second number  0.123456\r\n"
    "  fourth number  0.123456\r\n");

  assert_false(core_terminal_has_color(stream));
  assert_string_equal(core_terminal_color(stream, CORE_RED), "");

  CoreLive live = {.stream = stream};
  core_live_draw(&live, "one\ntwo\n", false);
  what_arrived(stream, other);
  assert_int_equal(live.lines, 2);
  core_live_draw(&live, "0123456789012345678901234567890123456789", true);
  assert_string_equal(what_arrived(stream, other), "\033[2A\r\033[J01234567890123456789012345678\r\n");
  assert_int_equal(live.lines, 0);
  core_live_draw(&live, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", false);
  assert_int_equal(live.lines, 9);

  if (kept) setenv("NO_COLOR", kept, 1);
  else unsetenv("NO_COLOR");
  free(kept);
  fclose(stream);
  close(other);
}

static void draw_three(void) {
  CoreLive live = {.stream = stdout, .plain_every_s = 3600};
  core_live_draw(&live, "first", false);
  core_live_draw(&live, "second\n", false);
  core_live_draw(&live, "last\n", true);
}

static void a_pipe_gets_plain_lines_now_and_then(void **state) {
  (void)state;
  assert_string_equal(captured(1, draw_three), "first\nlast\n");
}

static void bars_have_their_width(void **state) {
  char buffer[200];
  (void)state;
  assert_string_equal(core_terminal_bar(0, 18, buffer), "[----------] 0 %");
  assert_string_equal(core_terminal_bar(0.63, 18, buffer), "[######----] 63 %");
  assert_string_equal(core_terminal_bar(0.9999, 18, buffer), "[#########-] 99 %");
  assert_string_equal(core_terminal_bar(1, 18, buffer), "[##########] 100 %");
  assert_string_equal(core_terminal_bar(7, 18, buffer), "[##########] 100 %");
  assert_string_equal(core_terminal_bar(NAN, 18, buffer), "[----------] 0 %");
  assert_string_equal(core_terminal_bar(0.5, 0, buffer), "[-] 50 %");
}

static void columns_are_characters(void **state) {
  (void)state;
  assert_int_equal(core_terminal_columns(""), 0);
  assert_int_equal(core_terminal_columns("naïve…"), 6);
  assert_int_equal(core_terminal_columns("\033[31mred\033[0m"), 3);
  assert_int_equal(core_terminal_columns("\033[31"), 0);
}

static void log_two(void) {
  core_log_open(stdout, CORE_LOG_WARN);
  core_info("hidden");
  core_warn("shown %d", 1);
  core_log_open(NULL, CORE_LOG_INFO);
}

static void logs_carry_time_and_level(void **state) {
  int year, month, day, hour, minute, second, end = 0;
  (void)state;
  const char *text = captured(1, log_two);
  int found = sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ warn shown 1%n", &year, &month, &day, &hour, &minute, &second,
                     &end);
  assert_int_equal(found, 6);
  assert_string_equal(text + end, "\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(tables_align_numbers_right),
    cmocka_unit_test(a_terminal_gets_colors_and_wrapped_columns),
    cmocka_unit_test(a_pipe_gets_plain_lines_now_and_then),
    cmocka_unit_test(bars_have_their_width),
    cmocka_unit_test(columns_are_characters),
    cmocka_unit_test(logs_carry_time_and_level),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
