/* The command line: one table makes the parser and the help, so they can not disagree. */
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
  CORE_OPTION_LIST,   /* CoreOptionList *: may be given several times  --set key=value */
} CoreOptionKind;

typedef struct CoreOptionList { const char **items; size_t count; } CoreOptionList;

typedef struct CoreOption {
  const char *name;      /* "root"; NULL ends the table */
  char letter;           /* 'r' or 0 */
  CoreOptionKind kind;
  void *target;
  const char *argument;  /* "DIR", "mean|iqm" (choices); NULL for flags. Completion goes by it: completion.h */
  const char *help;      /* one sentence; say the default */
} CoreOption;

/* One command: what its help says, and how many operands it takes. */
typedef struct CoreManual {
  const char *usage;     /* "sweep logs RUN [options]"; other ways follow as "\n  ...", and errors name the first */
  const char *about;     /* what it does; as core_help_text takes it */
  void (*more)(CoreHelp *help); /* what the help has after the options; NULL: nothing */
  size_t least, most;    /* operands; SIZE_MAX: any number */
  const char *hint;      /* "expected one database": for errors, before the usage; NULL: the usage is enough */
} CoreManual;

/* What a command does. `given` is what its options were stored in; operands are strings of argv, `count` of them as its
 * manual says. They and the lists of CORE_OPTION_LIST end with the call. Returns a CORE_ code. */
typedef int (*CoreAnswer)(void *given, const char **operands, size_t count);

/* Answers a command line, argv[0] being the command; `table` may be NULL: no options of its own. Options may stand
 * anywhere, "--" ends them, --name=value and --name value both work. With --help or -h, which every command knows,
 * prints usage, what it does and the options to stdout and returns CORE_OK; otherwise calls `answer` and returns its
 * code. CORE_USAGE, without a call: an option is unknown (with the nearest known one) or its value is bad, an operand
 * is missing or too many (with the usage). */
int core_options_answer(const CoreManual *manual, const CoreOption *table, int argc, char **argv, CoreAnswer answer,
                        void *given);

/* CORE_USAGE: "problem; hint; usage: ...", for what an answer finds wrong with the line as a whole. */
int core_options_misuse(const CoreManual *manual, const char *problem, ...) CORE_PRINTF(2, 3);

/* Puts `value` at the end of a list, as one more --set would; it has to live as long as the list. */
void core_options_add(CoreOptionList *list, const char *value);

/* A command of a program: `sweep plan ...`. */
typedef struct CoreCommand {
  const char *name;                    /* NULL ends the table */
  const char *summary;                 /* one line for the overview; NULL: not in it */
  int (*run)(int argc, char **argv);   /* argv[0] is the command's name; returns a CORE_ code. Ends in
                                        * core_options_answer, and has no effect of its own before. */
} CoreCommand;

typedef struct CoreProgram {
  const char *name;                    /* "sweep" */
  const char *intro;                   /* what it does; as core_help_text takes it */
  const CoreCommand *commands;
  const char *usual;                   /* the command meant where the line begins with an option; NULL: none */
  const struct CoreCompletion *completions; /* how values are found (completion.h); NULL: none of its own */
} CoreProgram;

/* Runs argv[1]'s command; prints "program: message" for an error; returns the exit code. Without a command, or with
 * --help: intro and commands; `help COMMAND` is `COMMAND --help`. --version prints version and commit, and features
 * on a second line. Unknown command: nearest, CORE_USAGE. Also --completion SHELL and --man FOLDER, which make install
 * calls. */
int core_options_dispatch(const CoreProgram *program, int argc, char **argv);

/* What a command would answer with: its manual and options (never NULL), good during the call of `describe`. */
typedef void (*CoreDescribe)(const CoreManual *manual, const CoreOption *table, void *to);
void core_options_describe(const CoreCommand *command, CoreDescribe describe, void *to);
/* The command of that name; NULL: there is none. */
const CoreCommand *core_options_find(const CoreProgram *program, const char *name);

/* The rows of Options and of Commands, for --help and for man(1). */
void core_options_help(CoreHelp *help, const CoreOption *table);
void core_options_help_commands(CoreHelp *help, const CoreProgram *program);

/* "program: message" (red on a terminal) to stderr from core_error_message; returns code. */
int core_options_report(const char *program, int code);
/* The last call of a main() that answers a command without core_options_dispatch: writes out what was printed, and
 * makes a failure of it (`program --help > /dev/full`) CORE_FAIL with its message; reports; returns the exit code. */
int core_options_finish(const char *program, int code);

#endif
