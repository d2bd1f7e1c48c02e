/* core/options and core/terminal: what the command line takes, what people see. Streams here are files, never
 * terminals, except where a pseudo terminal is opened. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/command/options.h"
#include "core/log.h"
#include "core/terminal.h"
#include "core/text.h"
#include "core/version.h"

typedef struct Values {
  bool wait;
  const char *root;
  int64_t jobs;
  double rate;
  CoreOptionList set;
} Values;

static Values values;

static const CoreOption table[] = {
  {"wait", 'w', CORE_OPTION_FLAG, &values.wait, NULL, "stay until all runs have ended"},
  {"root", 'r', CORE_OPTION_TEXT, &values.root, "DIR", "the workspace; default: the current directory"},
  {"jobs", 'j', CORE_OPTION_INT, &values.jobs, "N", "runs at once; default: one a core"},
  {"rate", 0, CORE_OPTION_REAL, &values.rate, "X", "a rate"},
  {"set", 0, CORE_OPTION_LIST, &values.set, "KEY=VALUE", "a setting; may be given several times"},
  {0},
};

static const CoreManual any = {.usage = "program [OPTIONS] FILE...", .about = "What it does.", .most = SIZE_MAX};
static const CoreManual none = {.usage = "program rest [OPTIONS]", .about = "Does nothing."};
static const CoreManual some = {
  .usage = "program FILE [FILE]\n  program --set KEY=VALUE FILE", .about = "", .least = 1, .most = 2};
static const CoreManual hinted = {
  .usage = "program FILE [FILE]", .about = "", .least = 1, .most = 2, .hint = "expected one file or two"};

/* What the command was called with: operands and list joined by ','. */
static struct { int calls; CoreText operands, sets; } heard;
static int answer_code; /* what it returns */

static void join(CoreText *text, const char **items, size_t count) {
  core_text_clear(text);
  for (size_t i = 0; i < count; i++) core_text_appendf(text, "%s%s", i ? "," : "", items[i]);
}

static int answer(void *given, const char **operands, size_t count) {
  assert_ptr_equal(given, &values);
  heard.calls++;
  join(&heard.operands, operands, count);
  join(&heard.sets, values.set.items, values.set.count);
  return answer_code;
}

/* Answers up to 8 words. */
static int ask(const CoreManual *manual, const char *const *words) {
  char *argv[10] = {"program"};
  int argc = 1;
  for (; words[argc - 1]; argc++) argv[argc] = (char *)words[argc - 1];
  values = (Values){0};
  heard.calls = 0;
  int code = core_options_answer(manual, table, argc, argv, answer, &values);
  assert_null(values.set.items); /* the list ends with the call, whatever came of it */
  assert_int_equal(values.set.count, 0);
  return code;
}
#define ASK(manual, ...) ask(&(manual), (const char *const[]){__VA_ARGS__, NULL})

static void options_stand_anywhere(void **state) {
  (void)state;
  assert_int_equal(ASK(any, "a", "--root", "x", "-w", "b", "--jobs=1e2", "--", "--wait"), CORE_OK);
  assert_string_equal(core_text_string(&heard.operands), "a,b,--wait");
  assert_string_equal(values.root, "x");
  assert_true(values.wait);
  assert_int_equal(values.jobs, 100);
  assert_int_equal(ASK(any, "--set", "a=1", "--set=b=2", "-", "-j4", "--rate", "-0.5"), CORE_OK);
  assert_string_equal(core_text_string(&heard.operands), "-");
  assert_string_equal(core_text_string(&heard.sets), "a=1,b=2");
  assert_int_equal(values.jobs, 4);
  assert_true(values.rate == -0.5);
  assert_int_equal(ASK(any, "--root=", "--jobs", "3k", "--rate=1.5M"), CORE_OK);
  assert_int_equal(values.jobs, 3000);
  assert_true(values.rate == 1.5e6);
  assert_string_equal(values.root, "");
  assert_int_equal(heard.calls, 1);
}

static void an_answer_is_what_comes_back(void **state) {
  (void)state;
  answer_code = CORE_REQUEUE;
  assert_int_equal(ASK(any, "a", "--set", "a=1"), CORE_REQUEUE);
  answer_code = CORE_OK;
  assert_int_equal(heard.calls, 1);
}

static void a_command_may_have_no_options(void **state) {
  char *argv[] = {"program", "a", "-w", NULL};
  (void)state;
  heard.calls = 0;
  assert_int_equal(core_options_answer(&any, NULL, 2, argv, answer, &values), CORE_OK);
  assert_string_equal(core_text_string(&heard.operands), "a");
  assert_int_equal(core_options_answer(&any, NULL, 3, argv, answer, &values), CORE_USAGE);
  assert_string_equal(core_error_message(), "unknown option -w; --help lists them");
  assert_int_equal(heard.calls, 1);
}

static void expect_refusal(int code, const char *message) {
  assert_int_equal(code, CORE_USAGE);
  assert_string_equal(core_error_message(), message);
  assert_int_equal(heard.calls, 0);
}

static void wrong_options_are_named(void **state) {
  (void)state;
  expect_refusal(ASK(any, "--jbos", "3"), "unknown option --jbos; did you mean --jobs?");
  expect_refusal(ASK(any, "--hepl"), "unknown option --hepl; did you mean --help?");
  expect_refusal(ASK(any, "--something=1"), "unknown option --something; --help lists them");
  expect_refusal(ASK(any, "-xyz"), "unknown option -xyz; --help lists them");
  expect_refusal(ASK(any, "--root"), "--root needs a value: --root DIR");
  expect_refusal(ASK(any, "--wait=1"), "--wait takes no value ('1')");
  expect_refusal(ASK(any, "--jobs", "two"), "--jobs two: N must be a whole number");
  expect_refusal(ASK(any, "--jobs", "2 k"),
                 "--jobs 2 k: N must be a whole number: no blank may stand before the suffix, as in 50k");
  expect_refusal(ASK(any, "--rate", "nan"), "--rate nan: X must be a number");
  expect_refusal(ASK(any, "--set", "x=1", "--bad"), "unknown option --bad; --help lists them");
  expect_refusal(ASK(any, "--help", "--bad"), "unknown option --bad; --help lists them");
}

static void operands_are_counted(void **state) {
  static const char *const nothing[] = {NULL};
  (void)state;
  assert_int_equal(ask(&none, nothing), CORE_OK);
  assert_string_equal(core_text_string(&heard.operands), "");
  expect_refusal(ASK(none, "-w", "x"), "unexpected argument \"x\"; usage: program rest [OPTIONS]");
  expect_refusal(ask(&some, nothing), "an argument is missing; usage: program FILE [FILE]");
  expect_refusal(ask(&hinted, nothing), "expected one file or two; usage: program FILE [FILE]");
  assert_int_equal(ASK(some, "a"), CORE_OK);
  assert_int_equal(ASK(hinted, "a", "b"), CORE_OK);
  assert_string_equal(core_text_string(&heard.operands), "a,b");
  expect_refusal(ASK(some, "a", "b", "c", "d"), "unexpected argument \"c\"; usage: program FILE [FILE]");
  expect_refusal(ASK(hinted, "a", "--", "b", "-w"),
                 "unexpected argument \"-w\"; expected one file or two; usage: program FILE [FILE]");
  assert_int_equal(ask(&any, nothing), CORE_OK);
}

static void commands_tell_what_else_is_wrong(void **state) {
  (void)state;
  assert_int_equal(core_options_misuse(&hinted, "unknown format \"%s\"", "xml"), CORE_USAGE);
  assert_string_equal(core_error_message(),
                      "unknown format \"xml\"; expected one file or two; usage: program FILE [FILE]");
  assert_int_equal(core_options_misuse(&some, "-o is missing"), CORE_USAGE);
  assert_string_equal(core_error_message(), "-o is missing; usage: program FILE [FILE]");
}

static void lists_can_be_added_to(void **state) {
  CoreOptionList list = {0};
  (void)state;
  core_options_add(&list, "a=1");
  core_options_add(&list, "b=2");
  assert_int_equal(list.count, 2);
  assert_string_equal(list.items[0], "a=1");
  assert_string_equal(list.items[1], "b=2");
  free(list.items);
}

/* What `body` prints to descriptor `fd` (1 or 2). */
static const char *captured(int fd, void (*body)(void)) {
  static char text[20000];
  FILE *file = tmpfile(), *stream = fd == 1 ? stdout : stderr;
  assert_non_null(file);
  fflush(stream);
  int kept = dup(fd);
  dup2(fileno(file), fd);
  body();
  fflush(stream);
  dup2(kept, fd);
  close(kept);
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

static void print_more(CoreHelp *help) { core_help_text(help, "And more."); }

/* Neither what else the line holds nor what it lacks matters to the help. */
static void ask_for_help(void) {
  static const CoreManual manual = {
    .usage = "program [OPTIONS] FILE", .about = "What it does.", .more = print_more, .least = 1, .most = 1};
  assert_int_equal(ASK(manual, "--help"), CORE_OK);
  assert_int_equal(heard.calls, 0);
}

static void ask_for_help_among_others(void) {
  assert_int_equal(ASK(none, "x", "-h", "--set", "a=1", "y"), CORE_OK);
  assert_int_equal(heard.calls, 0);
}

static void help_comes_from_the_table(void **state) {
  (void)state;
  setenv("COLUMNS", "60", 1);
  static const char start[] = "Usage:\n  program rest [OPTIONS]\n\nDoes nothing.\n\nOptions:\n";
  assert_memory_equal(captured(1, ask_for_help_among_others), start, sizeof start - 1);
  const char *text = captured(1, ask_for_help);
  unsetenv("COLUMNS");
  assert_string_equal(text,
    "Usage:\n"
    "  program [OPTIONS] FILE\n"
    "\n"
    "What it does.\n"
    "\n"
    "Options:\n"
    "  -w, --wait           stay until all runs have ended\n"
    "  -r, --root DIR       the workspace; default: the current\n"
    "                       directory\n"
    "  -j, --jobs N         runs at once; default: one a core\n"
    "      --rate X         a rate\n"
    "      --set KEY=VALUE  a setting; may be given several times\n"
    "  -h, --help           show this text\n"
    "\n"
    "And more.\n");
}

static int plan(int argc, char **argv) {
  printf("plan of %s, %d\n", argv[0], argc);
  return CORE_OK;
}

static int submit(int argc, char **argv) {
  (void)argc, (void)argv;
  return core_error(CORE_FAIL, "the disk is full");
}

static const CoreCommand commands[] = {{"plan", "show what would run", plan}, {"submit", "run it", submit}, {0}};
static char *words[4];
static int exit_code;

static void dispatch(void) {
  int argc = 1;
  words[0] = "sweep";
  while (argc < 4 && words[argc]) argc++;
  static const CoreProgram program = {.name = "sweep", .intro = "Runs sweeps.", .commands = commands};
  exit_code = core_options_dispatch(&program, argc, words);
}

static const char *dispatched(int fd, char *first, char *second) {
  words[1] = first;
  words[2] = second;
  core_error_clear();
  return captured(fd, dispatch);
}

static void commands_are_dispatched(void **state) {
  (void)state;
  assert_string_equal(dispatched(1, "plan", "x"), "plan of plan, 2\n");
  assert_int_equal(exit_code, CORE_OK);
  assert_string_equal(dispatched(2, "submit", NULL), "sweep: the disk is full\n");
  assert_int_equal(exit_code, CORE_FAIL);
  assert_string_equal(dispatched(2, "sumbit", NULL), "sweep: unknown command 'sumbit'; did you mean submit?\n");
  assert_int_equal(exit_code, CORE_USAGE);
  assert_string_equal(dispatched(2, "banana", NULL), "sweep: unknown command 'banana'; --help lists them\n");
  const char *text = dispatched(1, "--help", NULL);
  assert_non_null(strstr(text, "Runs sweeps."));
  assert_non_null(strstr(text, "\n  plan    show what would run\n  submit  run it\n"));
  assert_int_equal(exit_code, CORE_OK);
  assert_non_null(strstr(dispatched(1, NULL, NULL), "Commands:"));
  text = dispatched(1, "--version", NULL);
  assert_memory_equal(text, "sweep ", 6);
  assert_non_null(strstr(text, core_version()));
  assert_non_null(strstr(text, core_commit()));
  assert_non_null(strstr(text, core_features()));
}

static void output_that_is_lost_is_a_failure(void **state) {
  (void)state;
  int full = open("/dev/full", O_WRONLY);
  if (full < 0) {
    print_message("this system has no /dev/full\n");
    skip();
  }
  fflush(stdout);
  int kept = dup(1);
  dup2(full, 1);
  const char *message = dispatched(2, "plan", NULL);
  dup2(kept, 1);
  close(kept);
  close(full);
  clearerr(stdout);
  assert_int_equal(exit_code, CORE_FAIL);
  assert_string_equal(message, "sweep: cannot write to standard output: No space left on device\n");
}

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

static void a_terminal_gets_colours_and_wrapped_columns(void **state) {
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
  t = core_table_create(many, 5); /* no room beside each other */
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
    cmocka_unit_test(options_stand_anywhere),
    cmocka_unit_test(an_answer_is_what_comes_back),
    cmocka_unit_test(a_command_may_have_no_options),
    cmocka_unit_test(wrong_options_are_named),
    cmocka_unit_test(operands_are_counted),
    cmocka_unit_test(commands_tell_what_else_is_wrong),
    cmocka_unit_test(lists_can_be_added_to),
    cmocka_unit_test(help_comes_from_the_table),
    cmocka_unit_test(commands_are_dispatched),
    cmocka_unit_test(output_that_is_lost_is_a_failure),
    cmocka_unit_test(tables_align_numbers_right),
    cmocka_unit_test(a_terminal_gets_colours_and_wrapped_columns),
    cmocka_unit_test(a_pipe_gets_plain_lines_now_and_then),
    cmocka_unit_test(bars_have_their_width),
    cmocka_unit_test(columns_are_characters),
    cmocka_unit_test(logs_carry_time_and_level),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  core_text_free(&heard.operands);
  core_text_free(&heard.sets);
  return failed;
}
