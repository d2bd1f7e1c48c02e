/* Command-line parser driven by the table that also generates the help, and dispatch to commands. */
#include "core/command/options.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/command/completion.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "core/text.h"
#include "core/version.h"

enum { OPTIONS_MAX = 128, STACK_BYTES = 1 << 20, STACK_BYTES_MIN = 256 << 10 };

/* ---- parsing -------------------------------------------------------------------------------------------------- */

static const CoreOption *find_long(const CoreOption *table, const char *name, size_t length) {
  for (const CoreOption *option = table; option->name; option++)
    if (strlen(option->name) == length && memcmp(option->name, name, length) == 0) return option;
  return NULL;
}

static const CoreOption *find_letter(const CoreOption *table, char letter) {
  for (const CoreOption *option = table; option->name; option++)
    if (option->letter && option->letter == letter) return option;
  return NULL;
}

static int unknown_option(const CoreOption *table, const char *argument, size_t length) {
  const char *names[OPTIONS_MAX] = {"help"}, *nearest = NULL;
  char name[64];
  size_t count = 1;
  for (const CoreOption *option = table; option->name && count < OPTIONS_MAX; option++) names[count++] = option->name;
  if (argument[1] == '-' && length >= 2 && length - 2 < sizeof name) {
    snprintf(name, sizeof name, "%.*s", (int)(length - 2), argument + 2);
    nearest = core_text_nearest(name, names, count);
  }
  if (nearest) return core_error(CORE_USAGE, "unknown option %.*s; did you mean --%s?", (int)length, argument, nearest);
  return core_error(CORE_USAGE, "unknown option %.*s; --help lists them", (int)length, argument);
}

void core_options_add(CoreOptionList *list, const char *value) {
  list->items = core_memory_resize(list->items, (list->count + 1) * sizeof *list->items);
  list->items[list->count++] = value;
}

static int store_value(const CoreOption *option, const char *value) {
  switch (option->kind) {
    case CORE_OPTION_FLAG: *(bool *)option->target = true; break;
    case CORE_OPTION_TEXT: *(const char **)option->target = value; break;
    case CORE_OPTION_INT:
      if (!core_text_to_int_scaled(value, option->target))
        return core_error(CORE_USAGE, "--%s %s: %s must be a whole number%s", option->name, value, option->argument,
                          core_text_number_hint(value));
      break;
    case CORE_OPTION_REAL:
      if (!core_text_to_real_scaled(value, option->target))
        return core_error(CORE_USAGE, "--%s %s: %s must be a number%s", option->name, value, option->argument,
                          core_text_number_hint(value));
      break;
    case CORE_OPTION_LIST: core_options_add(option->target, value); break;
  }
  return CORE_OK;
}

/* Parses one argument that begins with '-'; advances *index if the next one is its value. */
static int parse_option(const CoreOption *table, int argc, char **argv, int *index, bool *help) {
  const char *argument = argv[*index], *value = NULL;
  bool is_long = argument[1] == '-';
  size_t length = is_long ? strcspn(argument, "=") : 2;
  const CoreOption *option =
    is_long ? find_long(table, argument + 2, length - 2) : find_letter(table, argument[1]);
  if (argument[length]) value = argument + length + is_long; /* --name=value, -nvalue */

  if (!option) {
    bool is_help_request = is_long ? length == 6 && memcmp(argument, "--help", 6) == 0 : argument[1] == 'h';
    if (!is_help_request || value) return unknown_option(table, argument, is_long ? length : strlen(argument));
    *help = true;
    return CORE_OK;
  }

  if (option->kind == CORE_OPTION_FLAG) {
    if (value) return core_error(CORE_USAGE, "--%s takes no value ('%s')", option->name, value);
  } else if (!value) {
    if (*index + 1 >= argc) return core_error(CORE_USAGE, "--%s needs a value: --%s %s", option->name, option->name,
                                              option->argument);
    value = argv[++*index];
  }
  return store_value(option, value);
}

/* Parses the line; `operands` has capacity argc. */
static int parse_line(const CoreOption *table, int argc, char **argv, const char **operands, size_t *count,
                      bool *help) {
  bool ended = false;
  for (int i = 1; i < argc; i++) {
    if (!ended && strcmp(argv[i], "--") == 0) ended = true;
    else if (ended || argv[i][0] != '-' || !argv[i][1]) operands[(*count)++] = argv[i];
    else TRY(parse_option(table, argc, argv, &i, help));
  }
  return CORE_OK;
}

/* ---- help ----------------------------------------------------------------------------------------------------- */

static void format_option(const CoreOption *option, char *text, size_t size) {
  char letter[8] = "    ";
  if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
  snprintf(text, size, "%s--%s%s%s", letter, option->name, option->argument ? " " : "",
           option->argument ? option->argument : "");
}

void core_options_help(CoreHelp *help, const CoreOption *table) {
  enum { INDENT_MAX = 32, MARGIN = 2, GAP = 2 };
  static const CoreOption ask = {.name = "help", .letter = 'h', .help = "show this text"};
  char left[128];
  size_t indent = MARGIN + strlen("-h, --help") + GAP;

  for (const CoreOption *option = table; option->name; option++) {
    format_option(option, left, sizeof left);
    size_t length = MARGIN + strlen(left) + GAP;
    if (length > indent && length <= INDENT_MAX) indent = length;
  }

  core_help_heading(help, "Options");
  for (const CoreOption *option = table;; option++) {
    const CoreOption *row = option->name ? option : &ask;
    format_option(row, left, sizeof left);
    core_help_row(help, left, row->help, (int)indent);
    if (!option->name) break;
  }
}

static void print_help(const CoreManual *manual, const CoreOption *table) {
  CoreHelp help = {.out = stdout};
  core_help_heading(&help, "Usage");
  core_help_usage(&help, manual->usage);
  core_help_text(&help, manual->about);
  core_options_help(&help, table);
  if (manual->more) manual->more(&help);
}

/* ---- one command ----------------------------------------------------------------------------------------------- */

int core_options_usage_error(const CoreManual *manual, const char *problem, ...) {
  char text[512];
  const char *hint = manual->hint ? manual->hint : "";
  va_list arguments;
  va_start(arguments, problem);
  vsnprintf(text, sizeof text, problem, arguments);
  va_end(arguments);
  return core_error(CORE_USAGE, "%s%s%s; usage: %.*s", text, *text && *hint ? "; " : "", hint,
                    (int)strcspn(manual->usage, "\n"), manual->usage);
}

static int check_operands(const CoreManual *manual, const char **operands, size_t count) {
  if (count < manual->operands_min)
    return core_options_usage_error(manual, "%s", manual->hint ? "" : "an argument is missing");
  if (count > manual->operands_max)
    return core_options_usage_error(manual, "unexpected argument \"%.80s\"", operands[manual->operands_max]);
  return CORE_OK;
}

static void free_lists(const CoreOption *table) {
  for (const CoreOption *option = table; option->name; option++) {
    if (option->kind != CORE_OPTION_LIST) continue;
    CoreOptionList *list = option->target;
    free(list->items);
    *list = (CoreOptionList){0};
  }
}

/* Set while a command is described instead of executed. */
static CoreDescribe describe_callback;
static void *describe_context;

void core_options_describe(const CoreCommand *command, CoreDescribe describe, void *to) {
  char *argv[] = {(char *)command->name, NULL};
  describe_callback = describe;
  describe_context = to;
  command->run(1, argv);
  describe_callback = NULL;
}

int core_options_run(const CoreManual *manual, const CoreOption *table, int argc, char **argv, CoreHandler answer,
                        void *given) {
  static const CoreOption none[] = {{0}};
  if (describe_callback) {
    describe_callback(manual, table ? table : none, describe_context);
    return CORE_OK;
  }

  const char **operands = core_memory_zero_allocate((size_t)argc + 1, sizeof *operands);
  size_t count = 0;
  bool help = false;
  if (!table) table = none;
  int code = parse_line(table, argc, argv, operands, &count, &help);
  if (code == CORE_OK && help) {
    print_help(manual, table);
  } else if (code == CORE_OK) {
    code = check_operands(manual, operands, count);
    if (code == CORE_OK) code = answer(given, operands, count);
  }

  free_lists(table);
  free(operands);
  return code;
}

/* ---- programs with subcommands -------------------------------------------------------------------------------- */

void core_options_help_commands(CoreHelp *help, const CoreProgram *program) {
  size_t indent = 0;
  for (const CoreCommand *command = program->commands; command->name; command++)
    if (command->summary && strlen(command->name) + 4 > indent) indent = strlen(command->name) + 4;
  core_help_heading(help, "Commands");
  for (const CoreCommand *command = program->commands; command->name; command++)
    if (command->summary) core_help_row(help, command->name, command->summary, (int)indent);
}

static void print_overview(const CoreProgram *program) {
  CoreHelp help = {.out = stdout};
  CoreText text = {0};
  core_help_heading(&help, "Usage");
  core_text_appendf(&text, "%s COMMAND [OPTIONS] ...", program->name);
  core_help_usage(&help, core_text_string(&text));
  core_help_text(&help, program->intro);
  core_options_help_commands(&help, program);
  core_text_clear(&text);
  core_text_appendf(&text, "`%s COMMAND --help` explains one; `%s --version` prints version, commit and "
                    "libraries; `%s --completion bash` (zsh, fish) what makes a shell complete commands, options and "
                    "names.", program->name, program->name, program->name);
  core_help_text(&help, core_text_string(&text));
  core_text_free(&text);
}

const CoreCommand *core_options_find(const CoreProgram *program, const char *name) {
  for (const CoreCommand *command = program->commands; command->name; command++)
    if (strcmp(command->name, name) == 0) return command;
  return NULL;
}

static int unknown_command(const CoreCommand *commands, const char *name) {
  const char *names[OPTIONS_MAX];
  size_t count = 0;
  for (const CoreCommand *command = commands; command->name && count < OPTIONS_MAX; command++)
    names[count++] = command->name;
  const char *nearest = core_text_nearest(name, names, count);
  if (nearest) return core_error(CORE_USAGE, "unknown command '%.80s'; did you mean %s?", name, nearest);
  return core_error(CORE_USAGE, "unknown command '%.80s'; --help lists them", name);
}

int core_options_report(const char *program, int code) {
  const char *message = core_error_message();
  if (code != CORE_OK && *message)
    fprintf(stderr, "%s%s: %s%s\n", core_terminal_color(stderr, CORE_RED), program, message,
            core_terminal_reset(stderr));
  return code;
}

/* Flushes stdout and reports a write error, such as a full disk behind `> file`. */
int core_options_finish(const char *program, int code) {
  bool lost = fflush(stdout) != 0 || ferror(stdout);
  if (lost && code == CORE_OK) code = core_error_errno(CORE_FAIL, "cannot write to standard output");
  return core_options_report(program, code);
}

static bool is_help(const char *word) {
  return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

/* Handles `--help`, `help` and `help COMMAND`. */
static int print_help_for(const CoreProgram *program, const char *name) {
  if (!name || is_help(name)) {
    print_overview(program);
    return CORE_OK;
  }
  const CoreCommand *command = core_options_find(program, name);
  char *argv[] = {(char *)name, "--help", NULL};
  return command ? command->run(2, argv) : unknown_command(program->commands, name);
}

/* Handles options of the program itself, before any command. */
static int run_program_option(const CoreProgram *program, const char *option, int argc, char **argv) {
  static const char *const names[] = {"help", "version", "completion"};
  if (strcmp(option, "--version") == 0) {
    printf("%s %s (commit %s)\n%s\n", program->name, core_version(), core_commit(), core_features());
    return CORE_OK;
  }
  if (strcmp(option, "--completion") == 0 && argc == 1) return core_completion_script(program, argv[0]);
  if (strcmp(option, "--complete") == 0) return core_completion_run(program, argc, argv);
  if (strcmp(option, "--man") == 0 && argc == 1) return core_manual_write(program, argv[0]);
  const char *nearest = strncmp(option, "--", 2) == 0 ? core_text_nearest(option + 2, names, 3) : NULL;
  if (strcmp(option, "--completion") == 0) return core_completion_script(program, "");
  return core_error(CORE_USAGE, "unknown option %.80s; %s%s", option, nearest ? "did you mean --" : "--help lists the "
                    "commands, which take options of their own", nearest ? nearest : "");
}

static int run_line(const CoreProgram *program, int argc, char **argv) {
  static const char *const program_options[] = {"--version", "--completion", "--complete", "--man"};
  const char *first = argc > 1 ? argv[1] : "help";
  bool is_program_option = false;
  for (size_t i = 0; i < sizeof program_options / sizeof *program_options; i++)
    is_program_option |= strcmp(first, program_options[i]) == 0;
  if (is_program_option) return run_program_option(program, first, argc - 2, argv + 2);
  if (*first == '-' && program->usual) return core_options_find(program, program->usual)->run(argc, argv);
  if (is_help(first)) return print_help_for(program, argc > 2 ? argv[2] : NULL);
  if (*first == '-') return run_program_option(program, first, argc - 2, argv + 2);
  const CoreCommand *command = core_options_find(program, first);
  return command ? command->run(argc - 1, argv + 1) : unknown_command(program->commands, first);
}

/* Prepares for limits of the shell (ulimit), which would end the program without a word: a file that is too large is an
 * error of write (EFBIG), and a small stack is enlarged if that is allowed. */
static int prepare_for_limits(void) {
  struct rlimit stack;
  pthread_attr_t threads;
  signal(SIGXFSZ, SIG_IGN);
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur == RLIM_INFINITY || stack.rlim_cur >= STACK_BYTES)
    return CORE_OK;

  if (stack.rlim_max != RLIM_INFINITY && stack.rlim_max < STACK_BYTES_MIN)
    return core_error(CORE_FAIL, "the stack is limited to %llu kB; allow at least %d: ulimit -s %d, or for all users "
                      "in /etc/security/limits.conf", (unsigned long long)stack.rlim_max / 1024, STACK_BYTES / 1024,
                      STACK_BYTES / 1024);

  stack.rlim_cur = stack.rlim_max < STACK_BYTES ? stack.rlim_max : STACK_BYTES;
  setrlimit(RLIMIT_STACK, &stack);
  if (pthread_attr_init(&threads) == 0) { /* the limit at the start was that of threads, too */
    pthread_attr_setstacksize(&threads, STACK_BYTES);
    pthread_setattr_default_np(&threads);
    pthread_attr_destroy(&threads);
  }
  return CORE_OK;
}

int core_options_dispatch(const CoreProgram *program, int argc, char **argv) {
  const int code = prepare_for_limits();
  return core_options_finish(program->name, code == CORE_OK ? run_line(program, argc, argv) : code);
}
