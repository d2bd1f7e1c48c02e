/* Watches the files of a program's code that others can change, while the program starts. An interpreter opens a script
 * by its name, after the script was hashed, and no copy can take its place: `$0`, `__file__`, relative imports and
 * files next to it would change. So a program is started only if its files have been left alone for a while and have
 * their hashes, is not executed if one has changed since, and is ended if one changes while the interpreter opens
 * it. */
#ifndef SWEEP_PROGRAM_CODE_WATCH_H
#define SWEEP_PROGRAM_CODE_WATCH_H
#include <stddef.h>

#include "core/config/config.h"

typedef struct ProgramCodeFile ProgramCodeFile; /* a file and its identity when it had its hash */

typedef struct ProgramCodeWatch { ProgramCodeFile *files; size_t count; } ProgramCodeWatch;

/* Begins to watch the files of a configuration's code that others can change; there may be none. Waits until no one
 * has changed them for a moment. CORE_FAIL: one changes all the time, or is not the one that was hashed; CORE_USAGE: as
 * store_code_find. */
int program_code_watch_begin(const CoreConfig *config, ProgramCodeWatch *watch);
/* Returns the path of a file that has changed since, or NULL. Neither allocates nor locks: safe after a fork. */
const char *program_code_watch_find_changed(const ProgramCodeWatch *watch);
void program_code_watch_free(ProgramCodeWatch *watch);

#endif
