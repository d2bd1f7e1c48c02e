/* The command line: one table makes the parser and the help, so they can not disagree. */
#ifndef CORE_OPTIONS_H
#define CORE_OPTIONS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

typedef enum CoreOptionKind {
  CORE_OPTION_FLAG,   /* bool *       --wait */
  CORE_OPTION_TEXT,   /* const char **  --root DIR */
  CORE_OPTION_INT,    /* int64_t *    --jobs N */
  CORE_OPTION_REAL,   /* double * */
  CORE_OPTION_LIST,   /* CoreOptionList *: may be given several times  --set key=value */
} CoreOptionKind;

typedef struct CoreOptionList { const char **items; size_t count; } CoreOptionList; /* free(items) */

typedef struct CoreOption {
  const char *name;      /* "root"; NULL ends the table */
  char letter;           /* 'r' or 0 */
  CoreOptionKind kind;
  void *target;
  const char *argument;  /* "DIR"; NULL for flags */
  const char *help;      /* one sentence; say the default */
} CoreOption;

/* Parses argv[1..]; options may stand anywhere, "--" ends them, --name=value and --name value both work.
 * The rest goes to *operands (pointers into argv; free the array). `--help`/-h is always known: *help is set.
 * CORE_USAGE names the option and the nearest known one. */
int core_options_parse(const CoreOption *table, int argc, char **argv, const char ***operands, size_t *operand_count,
                       bool *help);

/* "Usage:\n  usage\n\ntext\n\nOptions:\n  -r, --root DIR   help (wrapped at the terminal's width)\n" to stdout. */
void core_options_help(const char *usage, const char *text, const CoreOption *table);

/* A program with subcommands: `sweep plan ...`. */
typedef struct CoreCommand {
  const char *name;                    /* NULL ends the table */
  const char *summary;                 /* one line for the overview; NULL: not in it */
  int (*run)(int argc, char **argv);   /* argv[0] is the command's name; returns a CORE_ code */
} CoreCommand;

/* Runs argv[1]'s command; prints "program: message" for an error; returns the exit code. Without a command, or with
 * --help: `intro` and the table. --version prints the version and commit. Unknown command: nearest, CORE_USAGE. */
int core_options_dispatch(const char *program, const char *intro, const CoreCommand *commands, int argc, char **argv);

/* "program: message" (red on a terminal) to stderr from core_error_message; returns code, for main(). */
int core_options_report(const char *program, int code);

/* Version and git commit compiled in ("0.1.0", "1a2b3c4"). */
const char *core_version(void);
const char *core_commit(void);

#endif
