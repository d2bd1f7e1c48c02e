/* Directory access shared by files.c and files_guard.c. */
#ifndef CORE_FILES_INTERNAL_H
#define CORE_FILES_INTERNAL_H
#include <stdbool.h>

/* Opens a directory for openat(), following each component by the rules of core_files_guard. create: creates missing
 * components below the guarded directory. On error the message is "`operation` `path`: reason", and errno is set; 0: a
 * link was refused. Caller closes *fd. */
int core_files_enter(const char *directory, bool create, const char *operation, const char *path, int *fd);

/* Whether the path is in the guarded directory. */
bool core_files_is_guarded(const char *path);

#endif
