/* The command line: options from a table that is also the help, and programs made of subcommands. Prints help and
 * errors; decides nothing else. */
#include "core/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/terminal.h"
#include "core/text.h"

enum { OPTIONS_MAX = 128 };

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

/* One argument that begins with '-'; may take the next one as its value (*at moves on). */
static int parse_option(const CoreOption *table, int argc, char **argv, int *at, bool *help) {
  const char *argument = argv[*at], *value = NULL;
  bool is_long = argument[1] == '-';
  size_t length = is_long ? strcspn(argument, "=") : 2;
  const CoreOption *option =
    is_long ? find_long(table, argument + 2, length - 2) : find_letter(table, argument[1]);
  if (argument[length]) value = argument + length + is_long; /* --name=value, -nvalue */
  if (!option) {
    bool asks = is_long ? length == 6 && memcmp(argument, "--help", 6) == 0 : argument[1] == 'h';
    if (!asks || value) return unknown_option(table, argument, is_long ? length : strlen(argument));
    *help = true;
    return CORE_OK;
  }
  if (option->kind == CORE_OPTION_FLAG) {
    if (value) return core_error(CORE_USAGE, "--%s takes no value ('%s')", option->name, value);
  } else if (!value) {
    if (*at + 1 >= argc) return core_error(CORE_USAGE, "--%s needs a value: --%s %s", option->name, option->name,
                                           option->argument);
    value = argv[++*at];
  }
  return store_value(option, value);
}

/* `operands` has room for argc of them. */
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
  snprintf(text, size, "  %s--%s%s%s", letter, option->name, option->argument ? " " : "",
           option->argument ? option->argument : "");
}

static void print_help(const CoreManual *manual, const CoreOption *table) {
  enum { INDENT_MAX = 32, GAP = 2 };
  static const CoreOption help = {.name = "help", .letter = 'h', .help = "show this text"};
  char left[128];
  size_t indent = strlen("  -h, --help") + GAP;
  for (const CoreOption *option = table; option->name; option++) {
    format_option(option, left, sizeof left);
    size_t length = strlen(left) + GAP;
    if (length > indent && length <= INDENT_MAX) indent = length;
  }
  printf("Usage:\n  %s\n\n", manual->usage);
  core_terminal_print_wrapped(stdout, manual->about, 0, 0);
  printf("\nOptions:\n");
  for (const CoreOption *option = table;; option++) {
    const CoreOption *row = option->name ? option : &help;
    format_option(row, left, sizeof left);
    fputs(left, stdout);
    core_terminal_print_wrapped(stdout, row->help, (int)indent, (int)strlen(left));
    if (!option->name) break;
  }
  if (manual->more) manual->more();
}

/* ---- one command ----------------------------------------------------------------------------------------------- */

int core_options_misuse(const CoreManual *manual, const char *problem, ...) {
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
  if (count < manual->least) return core_options_misuse(manual, "%s", manual->hint ? "" : "an argument is missing");
  if (count > manual->most)
    return core_options_misuse(manual, "unexpected argument \"%.80s\"", operands[manual->most]);
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

int core_options_answer(const CoreManual *manual, const CoreOption *table, int argc, char **argv, CoreAnswer answer,
                        void *given) {
  static const CoreOption none[] = {{0}};
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

static void print_overview(const char *program, const char *intro, const CoreCommand *commands) {
  size_t indent = 0;
  printf("Usage:\n  %s COMMAND [OPTIONS] ...\n\n", program);
  core_terminal_print_wrapped(stdout, intro, 0, 0);
  printf("\nCommands:\n");
  for (const CoreCommand *command = commands; command->name; command++)
    if (command->summary && strlen(command->name) + 4 > indent) indent = strlen(command->name) + 4;
  for (const CoreCommand *command = commands; command->name; command++) {
    if (!command->summary) continue;
    int column = printf("  %s", command->name);
    core_terminal_print_wrapped(stdout, command->summary, (int)indent, column);
  }
  printf("\n`%s COMMAND --help` explains one; `%s --version` prints the version.\n", program, program);
}

static const CoreCommand *find_command(const CoreCommand *commands, const char *name) {
  for (const CoreCommand *command = commands; command->name; command++)
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

/* What was printed may still be lost to a full disk behind `> file`. */
int core_options_finish(const char *program, int code) {
  bool lost = fflush(stdout) != 0 || ferror(stdout);
  if (lost && code == CORE_OK) code = core_error_errno(CORE_FAIL, "cannot write to standard output");
  return core_options_report(program, code);
}

int core_options_dispatch(const char *program, const char *intro, const CoreCommand *commands, int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "--help";
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
    print_overview(program, intro, commands);
    return core_options_finish(program, CORE_OK);
  }
  if (strcmp(name, "--version") == 0) {
    printf("%s %s (commit %s)\n", program, core_version(), core_commit());
    return core_options_finish(program, CORE_OK);
  }
  const CoreCommand *command = find_command(commands, name);
  return core_options_finish(program, command ? command->run(argc - 1, argv + 1) : unknown_command(commands, name));
}
