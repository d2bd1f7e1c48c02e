/* The files of a program's own code ([program] code), if the user does not list them: those that words of the command
 * name, and the modules that they import (find_program.py). */
#ifndef STORE_SCRIPT_H
#define STORE_SCRIPT_H
#include <stdbool.h>

#include "core/config/script.h"
#include "core/text.h"

/* Zero-initialize; free with store_script_free. */
typedef struct StoreScriptFiles {
  CoreText files;   /* separated by blanks, the main script first; relative to the working directory if near */
  CoreText skipped; /* lines "NAME <tab> REASON": code, or files that may be code, that are not among them */
} StoreScriptFiles;

/* Returns whether a list of files, separated by blanks, has a name. */
bool store_script_lists(const char *files, const char *name);
/* Finds the files. Of a setting that is a choice, every value is tried in the command. Nothing of them is executed. */
int store_script_find(const CoreScript *program, StoreScriptFiles *found);
void store_script_free(StoreScriptFiles *found);

#endif
