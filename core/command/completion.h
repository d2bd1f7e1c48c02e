/* Completion in a shell (Tab). The shell asks the program itself, with the words typed so far, so that what it offers
 * is always what the program takes: commands and options come from the tables that make --help, values from what an
 * option's argument or a command's usage calls them ("DIR", "KEY=VALUE", "mean|iqm"). */
#ifndef CORE_COMPLETION_H
#define CORE_COMPLETION_H
#include "core/command/options.h"
#include "core/text.h"

/* A line of a command as far as it is typed. */
typedef struct CoreTyping {
  const CoreProgram *program;
  const CoreOption *table; /* the command's */
  char **words;            /* behind the command's name, `count` of them; the one that is asked for is not among them */
  size_t count;
  const char *begun;       /* what of the value is there already */
} CoreTyping;

/* A row says how values of one kind are found. */
typedef struct CoreCompletion {
  const char *what; /* "--profile": of that option; "RUN": where usages and options say RUN; NULL ends the table */
  void (*list)(const CoreTyping *typing, CoreText *values); /* calls core_completion_add, or one of the three below */
} CoreCompletion;

/* One possible value, whatever is typed already (who asked sorts that out), and a few words on it or NULL. One that
 * ends in '=', '/' or ',' is only begun with it. */
void core_completion_add(CoreText *values, const char *value, const char *help);
/* Files that end in `ending` (NULL: all), and folders on the way to them: the shell finds them. */
void core_completion_add_files(CoreText *values, const char *ending);
/* Settings: their names, or, once the '=' is there, possible values of the one that is named. */
void core_completion_settings(const CoreTyping *typing, CoreText *values);

/* The value that the line gives to --name, or NULL. */
const char *core_completion_given(const CoreTyping *typing, const char *name);

/* `program --complete WORD...`: prints what may stand in place of the last word, one a line, with a tab and some words
 * of explanation; or a line ":files [ENDING]" or ":folders". Prints nothing where nothing is known; never fails on what
 * people type. */
int core_completion_answer(const CoreProgram *program, int argc, char **argv);
/* `program --completion SHELL`: prints what makes bash, zsh or fish ask. CORE_USAGE: another shell. */
int core_completion_script(const CoreProgram *program, const char *shell);

#endif
