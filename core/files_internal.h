/* What files.c and files_guard.c share: the way into a folder. */
#ifndef CORE_FILES_INTERNAL_H
#define CORE_FILES_INTERNAL_H
#include <stdbool.h>

/* Opens folder `folder` for openat() and its like, each step by the rules of core_files_guard; make: what is missing of
 * it below the guarded folder is made. On an error the message says "`doing` `path`: why", and errno is the system's
 * reason, or 0 where a link is not followed. Close *fd. */
int core_files_enter(const char *folder, bool make, const char *doing, const char *path, int *fd);

/* Is this a path below the guarded folder? */
bool core_files_is_guarded(const char *path);

/* The folder of `path` as text that open() takes ("." when the path has none), and the name in it. */
int core_files_parent(const char *path, char *folder, const char **name);

#endif
