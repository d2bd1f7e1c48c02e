/* core/options: parsing of the command line, and its messages. */
#include "test.h"

#include <fcntl.h>

#include "core/command/options.h"
#include "core/text.h"
#include "core/version.h"

#include "captured.h"

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

static const CoreManual any = {.usage = "program [OPTIONS] FILE...", .about = "What it does.",
                               .operands_max = SIZE_MAX};
static const CoreManual none = {.usage = "program rest [OPTIONS]", .about = "Does nothing."};
static const CoreManual some = {
  .usage = "program FILE [FILE]\n  program --set KEY=VALUE FILE", .about = "", .operands_min = 1, .operands_max = 2};
static const CoreManual hinted = {
  .usage = "program FILE [FILE]", .about = "", .operands_min = 1, .operands_max = 2,
  .hint = "expected one file or two"};

/* Arguments of the command: operands and list joined by ','. */
static struct { int calls; CoreText operands, sets; } heard;
static int answer_code; /* return value of the command */

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
  int code = core_options_run(manual, table, argc, argv, answer, &values);
  assert_null(values.set.items); /* the list is freed at the end of the call, for any result */
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
  assert_int_equal(core_options_run(&any, NULL, 2, argv, answer, &values), CORE_OK);
  assert_string_equal(core_text_string(&heard.operands), "a");
  assert_int_equal(core_options_run(&any, NULL, 3, argv, answer, &values), CORE_USAGE);
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
  assert_int_equal(core_options_usage_error(&hinted, "unknown format \"%s\"", "xml"), CORE_USAGE);
  assert_string_equal(core_error_message(),
                      "unknown format \"xml\"; expected one file or two; usage: program FILE [FILE]");
  assert_int_equal(core_options_usage_error(&some, "missing -o"), CORE_USAGE);
  assert_string_equal(core_error_message(), "missing -o; usage: program FILE [FILE]");
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

static void print_more(CoreHelp *help) { core_help_text(help, "And more."); }

/* The help does not depend on other or missing words of the line. */
static void ask_for_help(void) {
  static const CoreManual manual = {
    .usage = "program [OPTIONS] FILE", .about = "What it does.", .more = print_more,
    .operands_min = 1, .operands_max = 1};
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
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  core_text_free(&heard.operands);
  core_text_free(&heard.sets);
  return failed;
}
