/* Lists the possible completions at the cursor (completion.h) from option tables and the words of the line; programs
 * add their own kinds of values. Writes to stdout only and runs nothing that was typed. */
#include "core/command/completion.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/config/config.h"

enum { KIND_MAX = 128 };

/* ---- values ---------------------------------------------------------------------------------------------------- */

/* Prints the beginning of a help text on one line. */
static void append_short(CoreText *text, const char *help) {
  enum { COLUMNS = 68 };
  size_t length = strcspn(help, ";\n[("), blank = COLUMNS;
  const char *stop = strstr(help, ". ");
  if (stop && (size_t)(stop - help) < length) length = (size_t)(stop - help);
  if (length > COLUMNS) {
    while (blank > 0 && help[blank] != ' ') blank--;
    length = blank;
  }
  while (length > 0 && strchr(" :,", help[length - 1])) length--;
  core_text_append_bytes(text, help, length);
}

void core_completion_add(CoreText *values, const char *value, const char *help) {
  if (strpbrk(value, "\t\n\r\033")) return; /* skip names with characters that a shell or terminal interprets */
  core_text_append(values, value);
  if (help) core_text_append(values, "\t");
  if (help) append_short(values, help);
  core_text_append(values, "\n");
}

void core_completion_add_files(CoreText *values, const char *ending) {
  core_text_appendf(values, ":files%s%s\n", ending ? " " : "", ending ? ending : "");
}

static void add_directories(const CoreCompletionContext *context, CoreText *values) {
  core_text_append(values, ":folders\n");
}
static void add_files(const CoreCompletionContext *context, CoreText *values) {
  core_completion_add_files(values, NULL);
}
static void add_databases(const CoreCompletionContext *context, CoreText *values) {
  core_completion_add_files(values, "db");
}

static void add_keys(const CoreCompletionContext *context, CoreText *values) {
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  for (size_t i = 0; i < count; i++) core_completion_add(values, rows[i].name, rows[i].help);
}

/* Adds each choice of "ppo|ppo_ewma". */
static void add_choices(const char *name, const char *choices, CoreText *values) {
  char value[KIND_MAX];
  while (*choices) {
    const size_t length = strcspn(choices, "|");
    const int size = snprintf(value, sizeof value, "%s%.*s", name, (int)length, choices);
    if (size < (int)sizeof value) core_completion_add(values, value, NULL);
    choices += length + (choices[length] == '|');
  }
}

void core_completion_settings(const CoreCompletionContext *context, CoreText *values) {
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  for (size_t i = 0; i < count; i++) {
    char start[KIND_MAX];
    snprintf(start, sizeof start, "%s=", rows[i].name);
    if (strncmp(context->typed, start, strlen(start)) != 0) core_completion_add(values, start, rows[i].help);
    else if (rows[i].kind == CORE_CONFIG_ENUM) add_choices(start, rows[i].choices, values);
    else if (rows[i].kind == CORE_CONFIG_BOOL) add_choices(start, "yes|no", values);
    else {
      core_text_append(values, start);
      core_text_appendf(values, "%s\tdefault\n", rows[i].def);
    }
  }
}

/* ---- the line -------------------------------------------------------------------------------------------------- */

static const CoreOption *find_option(const CoreOption *table, const char *word) {
  const size_t length = strcspn(word, "=");
  for (const CoreOption *option = table; option->name; option++) {
    const bool is_long = length > 2 && strncmp(word, "--", 2) == 0 && strlen(option->name) == length - 2 &&
                         strncmp(word + 2, option->name, length - 2) == 0;
    if (is_long || (option->letter && word[0] == '-' && word[1] == option->letter && !word[2])) return option;
  }
  return NULL;
}

static bool needs_value(const CoreOption *option, const char *word) {
  return option && option->kind != CORE_OPTION_FLAG && !strchr(word, '=');
}

const char *core_completion_option_value(const CoreCompletionContext *context, const char *name) {
  const char *value = NULL;
  for (size_t i = 0; i < context->count; i++) {
    const char *word = context->words[i], *equals = strchr(word, '=');
    const CoreOption *option = find_option(context->table, word);
    if (!option) continue;
    const char *next = i + 1 < context->count ? context->words[i + 1] : NULL;
    if (strcmp(option->name, name) == 0) value = equals ? equals + 1 : next;
    i += needs_value(option, word);
  }
  return value;
}

/* Counts the operands of the line. Sets *value_of to the option whose value is being completed, *ended after "--". */
static size_t count_operands(const CoreCompletionContext *context, const CoreOption **value_of, bool *ended) {
  size_t operands = 0;
  *value_of = NULL;
  *ended = false;
  for (size_t i = 0; i < context->count; i++) {
    const char *word = context->words[i];
    const CoreOption *option = *ended ? NULL : find_option(context->table, word);
    if (!*ended && strcmp(word, "--") == 0) *ended = true;
    else if (*ended || *word != '-') operands++;
    if (needs_value(option, word) && ++i == context->count) *value_of = option;
  }
  return operands;
}

/* ---- kinds ----------------------------------------------------------------------------------------------------- */

static const CoreCompletion common_kinds[] = {{"FILE", add_files},
                                              {"DIR", add_directories},
                                              {"KEY", add_keys},
                                              {"KEYS", add_keys},
                                              {"KEY=VALUE", core_completion_settings},
                                              {"DATABASE", add_databases},
                                              {0}};

static bool add_kind(const CoreCompletion *table, const char *kind, const CoreCompletionContext *context,
                     CoreText *values) {
  for (; table && table->what; table++) {
    if (strcmp(table->what, kind) != 0) continue;
    table->list(context, values);
    return true;
  }
  return false;
}

/* Adds values of one alternative of "FILE|NAME", or a literal word ("csv"; "seeds=" of "seeds=N"). */
static void add_alternative(const char *kind, const CoreCompletionContext *context, CoreText *values) {
  char word[KIND_MAX];
  if (add_kind(context->program->completions, kind, context, values)) return;
  if (add_kind(common_kinds, kind, context, values)) return;
  if (!islower((unsigned char)*kind)) return;
  snprintf(word, sizeof word, "%.*s", (int)(strcspn(kind, "=") + (strchr(kind, '=') != NULL)), kind);
  core_completion_add(values, word, NULL);
}

/* Adds values of an operand: "FILE|NAME", "KEY[,KEY]", "csv|jsonl". */
static void add_kinds(const char *kinds, const CoreCompletionContext *context, CoreText *values) {
  while (*kinds) {
    char kind[KIND_MAX];
    const size_t length = strcspn(kinds, "|");
    snprintf(kind, sizeof kind, "%.*s", (int)length, kinds);
    kind[strcspn(kind, "[")] = '\0';
    add_alternative(kind, context, values);
    kinds += length + (kinds[length] == '|');
  }
}

/* Returns the name of operand `index`; NULL: the command takes none there. */
static const char *operand_at(const CoreManual *manual, size_t index) {
  size_t count = 0;
  while (count < CORE_OPERANDS_MAX && manual->operands[count]) count++;
  if (index < count) return manual->operands[index];
  return count > 0 && manual->operands_max == SIZE_MAX ? manual->operands[count - 1] : NULL;
}

/* ---- output ---------------------------------------------------------------------------------------------------- */

/* Prints the values with the typed prefix, each after the part of the word that is kept: "--set=" or "a,b,". */
static void print_matching(const char *prefix, size_t prefix_length, const char *typed, const CoreText *values) {
  const size_t length = strlen(typed);
  for (const char *line = core_text_string(values); *line;) {
    const size_t size = strcspn(line, "\n");
    if (*line == ':') printf("%.*s\n", (int)size, line);
    else if (strncmp(line, typed, length) == 0) printf("%.*s%.*s\n", (int)prefix_length, prefix, (int)size, line);
    line += size + (line[size] == '\n');
  }
}

static void print_options(const CoreCompletionContext *context, const char *word) {
  static const CoreOption help = {.name = "help", .help = "show what the command does, and its options"};
  CoreText values = {0};
  for (const CoreOption *option = context->table;; option++) {
    char name[KIND_MAX];
    const CoreOption *row = option->name ? option : &help;
    bool given = false;
    for (size_t i = 0; i < context->count; i++) given |= find_option(context->table, context->words[i]) == row;
    snprintf(name, sizeof name, "--%s", row->name);
    if (!given || row->kind == CORE_OPTION_LIST) core_completion_add(&values, name, row->help);
    if (!option->name) break;
  }
  print_matching("", 0, word, &values);
  core_text_free(&values);
}

/* Prints completions of a value after the first `stays` bytes of its word ("--set="). */
static void print_values(CoreCompletionContext *context, const CoreOption *option, const char *kinds, const char *word,
                         size_t prefix) {
  CoreText values = {0};
  char name[KIND_MAX];
  const char *comma = strrchr(word + prefix, ',');
  if (comma && strstr(kinds, "[,")) prefix = (size_t)(comma + 1 - word);
  context->typed = word + prefix;
  if (option) snprintf(name, sizeof name, "--%s", option->name);
  if (!option || !add_kind(context->program->completions, name, context, &values)) add_kinds(kinds, context, &values);
  print_matching(word, prefix, context->typed, &values);
  core_text_free(&values);
}

/* Completion request for a command line. */
typedef struct Request {
  CoreCompletionContext context;
  const char *word;
} Request;

static void complete_command(const CoreManual *manual, const CoreOption *table, void *to) {
  Request *request = to;
  CoreCompletionContext *context = &request->context;
  const char *word = request->word, *equals = strchr(word, '=');
  const CoreOption *value_of;
  bool ended;
  context->table = table;
  const size_t operands = count_operands(context, &value_of, &ended);

  if (value_of) {
    print_values(context, value_of, value_of->argument, word, 0);
  } else if (!ended && *word == '-' && equals) {
    const CoreOption *option = find_option(table, word);
    if (needs_value(option, "")) print_values(context, option, option->argument, word, (size_t)(equals + 1 - word));
  } else if (!ended && *word == '-') {
    print_options(context, word);
  } else {
    const char *kinds = operand_at(manual, operands);
    if (kinds) print_values(context, NULL, kinds, word, 0);
  }
}

static void print_commands(const CoreProgram *program, const char *word) {
  CoreText values = {0};
  for (const CoreCommand *command = program->commands; command->name; command++)
    core_completion_add(&values, command->name, command->summary);
  core_completion_add(&values, "help", "what a command does, and its options");
  print_matching("", 0, word, &values);
  core_text_free(&values);
}

/* In a program with a default command, --help belongs to that command. */
static void print_program_options(const CoreProgram *program, const char *word) {
  CoreText values = {0};
  if (!program->usual) core_completion_add(&values, "--help", "what the program does, and its commands");
  core_completion_add(&values, "--version", "version, commit and libraries");
  core_completion_add(&values, "--completion", "what makes a shell complete: bash, zsh or fish");
  print_matching("", 0, word, &values);
  core_text_free(&values);
}

int core_completion_run(const CoreProgram *program, int argc, char **argv) {
  static char nothing[] = "";
  char *word = argc > 0 ? argv[argc - 1] : nothing, *first = argc > 1 ? argv[0] : nothing;

  if (argc > 1 && strcmp(first, "--completion") == 0) {
    CoreText shells = {0};
    add_choices("", "bash|zsh|fish", &shells);
    print_matching("", 0, word, &shells);
    core_text_free(&shells);
    return CORE_OK;
  }

  if ((argc <= 1 && *word != '-') || (argc == 2 && strcmp(first, "help") == 0)) {
    print_commands(program, word);
    return CORE_OK;
  }

  const bool usual = program->usual && (argc <= 1 || *first == '-');
  const CoreCommand *command = core_options_find(program, usual ? program->usual : first);
  if (argc <= 1) print_program_options(program, word);
  if (!command) return CORE_OK;
  const int skipped = usual ? 0 : 1;
  Request request = {.context = {.program = program, .words = argv + skipped, .count = (size_t)(argc - 1 - skipped)},
                     .word = word};
  if (argc == 0) request.context.count = 0;
  core_options_describe(command, complete_command, &request);
  return CORE_OK;
}
