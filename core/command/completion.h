/* Shell completion. The shell calls the program with the words typed so far, so that completions always match the
 * parser: commands and options come from the tables of --help, values from the name of an option's argument or of
 * an operand ("DIR", "KEY=VALUE", "mean|iqm"). */
#ifndef CORE_COMPLETION_H
#define CORE_COMPLETION_H
#include "core/command/options.h"
#include "core/text.h"

/* Command line as typed so far. */
typedef struct CoreCompletionContext {
  const CoreProgram *program;
  const CoreOption *table; /* options of the command */
  char **words;            /* [count] words after the command's name, without the one being completed */
  size_t count;
  const char *typed; /* typed part of the value */
} CoreCompletionContext;

/* Source of the values of one kind. */
typedef struct CoreCompletion {
  const char *what; /* "--profile" for that option, "RUN" for arguments of that name; NULL ends the table */
  void (*list)(const CoreCompletionContext *context,
               CoreText *values); /* calls core_completion_add, or one of the three below */
} CoreCompletion;

/* Adds a possible value, regardless of what is typed, with a short description or NULL. A value that ends in '=', '/'
 * or ',' is completed further. */
void core_completion_add(CoreText *values, const char *value, const char *help);
/* Requests files with the suffix `ending` (NULL: all), and directories; the shell lists them. */
void core_completion_add_files(CoreText *values, const char *ending);
/* Adds the names of settings or, after '=', possible values of the named one. */
void core_completion_settings(const CoreCompletionContext *context, CoreText *values);

/* Returns the value of --name on the line, or NULL. */
const char *core_completion_option_value(const CoreCompletionContext *context, const char *name);

/* Implements `program --complete WORD...`: prints completions of the last word, one per line with a tab and a
 * description, or a line ":files [ENDING]" or ":directories". Prints nothing if none is known and never fails on typed
 * words. */
int core_completion_run(const CoreProgram *program, int argc, char **argv);
/* Implements `program --completion SHELL`: prints the script for bash, zsh or fish. CORE_USAGE: another shell. */
int core_completion_script(const CoreProgram *program, const char *shell);

#endif
