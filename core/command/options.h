/* Command line: one table generates both parser and help. */
#ifndef CORE_OPTIONS_H
#define CORE_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/help.h"

typedef enum CoreOptionKind {
  CORE_OPTION_FLAG,   /* bool *       --wait */
  CORE_OPTION_TEXT,   /* const char **  --root DIR */
  CORE_OPTION_INT,    /* int64_t *    --jobs N */
  CORE_OPTION_REAL,   /* double * */
  CORE_OPTION_LIST,   /* CoreOptionList *, repeatable  --set key=value */
} CoreOptionKind;

typedef struct CoreOptionList { const char **items; size_t count; } CoreOptionList;

typedef struct CoreOption {
  const char *name;      /* "root"; NULL ends the table */
  char letter;           /* 'r' or 0 */
  CoreOptionKind kind;
  void *target;
  const char *argument;  /* "DIR", "mean|iqm" (choices); NULL for flags. Also selects completions: completion.h */
  const char *help;      /* one sentence with the default */
} CoreOption;

enum { CORE_OPERANDS_MAX = 4 };

/* Help and operands of a command. */
typedef struct CoreManual {
  const char *usage;     /* "sweep logs RUN [options]"; further forms follow as "\n  ..."; errors print the first */
  const char *about;     /* description, in core_help_text's format */
  void (*more)(CoreHelp *help); /* prints help after the options; NULL: nothing */
  const char *operands[CORE_OPERANDS_MAX]; /* names of the operands, which select completions (completion.h); the last
                                            * one may repeat if operands_max is SIZE_MAX */
  size_t operands_min, operands_max;       /* number of operands; SIZE_MAX: unlimited */
  const char *hint;      /* "expected one database", printed before the usage in errors; NULL: none */
} CoreManual;

/* Executes a command. `given` holds the parsed options, operands[count] are strings of argv. Operands and lists of
 * CORE_OPTION_LIST are valid during the call only. Returns a CORE_ code. */
typedef int (*CoreHandler)(void *given, const char **operands, size_t count);

/* Parses a command line, argv[0] being the command, and calls `answer`; returns its code. `table` NULL: no options.
 * Options may be anywhere before "--", as --name=value or --name value. --help or -h, which every command has, prints
 * usage, description and options to stdout and returns CORE_OK. CORE_USAGE, without a call: an option is unknown (the
 * message suggests the nearest) or its value is invalid, or the number of operands is wrong (it prints the usage). */
int core_options_run(const CoreManual *manual, const CoreOption *table, int argc, char **argv, CoreHandler answer,
                        void *given);

/* Returns CORE_USAGE with the message "problem; hint; usage: ...", for errors that a command finds in its line. */
int core_options_usage_error(const CoreManual *manual, const char *problem, ...) CORE_PRINTF(2, 3);

/* Appends `value` to a list as another --set would; `value` must outlive the list. */
void core_options_add(CoreOptionList *list, const char *value);

/* Command of a program: `sweep plan ...`. */
typedef struct CoreCommand {
  const char *name;                    /* NULL ends the table */
  const char *summary;                 /* one line for the overview; NULL: not listed */
  int (*run)(int argc, char **argv);   /* argv[0] is the command's name; returns a CORE_ code. Must end in
                                        * core_options_run without side effects before it. */
} CoreCommand;

typedef struct CoreProgram {
  const char *name;                    /* "sweep" */
  const char *intro;                   /* description, in core_help_text's format */
  const CoreCommand *commands;
  const char *usual;                   /* default command if the line begins with an option; NULL: none */
  const struct CoreCompletion *completions; /* completions of the program's own value kinds; NULL: none */
} CoreProgram;

/* Runs argv[1]'s command, prints "program: message" on an error, and returns the exit code. Without a command, or with
 * --help, prints the introduction and the commands; `help COMMAND` is `COMMAND --help`. --version prints version and
 * commit, and features on a second line. An unknown command is CORE_USAGE with the nearest name. make install uses
 * --completion SHELL and --man FOLDER. */
int core_options_dispatch(const CoreProgram *program, int argc, char **argv);

/* Callback that receives a command's manual and options (never NULL), valid during the call. */
typedef void (*CoreDescribe)(const CoreManual *manual, const CoreOption *table, void *to);
void core_options_describe(const CoreCommand *command, CoreDescribe describe, void *to);
/* Finds the command of that name; NULL: none. */
const CoreCommand *core_options_find(const CoreProgram *program, const char *name);

/* Print the rows of the sections Options and Commands, for --help and man(1). */
void core_options_help(CoreHelp *help, const CoreOption *table);
void core_options_help_commands(CoreHelp *help, const CoreProgram *program);

/* Prints "program: message" from core_error_message to stderr, red on a terminal, and returns `code`. */
int core_options_report(const char *program, int code);
/* Ends a main() that does not use core_options_dispatch: flushes stdout, turns a write error (`program --help >
 * /dev/full`) into CORE_FAIL with a message, reports errors, and returns the exit code. */
int core_options_finish(const char *program, int code);

/* Writes the pages into `directory`, which is created if missing. CORE_FAIL: the message names the file. */
int core_manual_write(const CoreProgram *program, const char *directory);

#endif
