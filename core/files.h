/* Files: whole reads, atomic writes, directories, locks. Every error names the path and the reason. */
#ifndef CORE_FILES_H
#define CORE_FILES_H
#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

enum { CORE_PATH_MAX = 4096 };

/* Reads a whole file, NUL-terminated; free() the data. CORE_FAIL when it can not be read or exceeds max_bytes
 * (0 = 64 MiB). */
int core_files_read(const char *path, size_t max_bytes, char **data, size_t *size);

/* Writes `path` so that after a crash it holds either the old or the new bytes: write beside it, fsync, rename,
 * fsync the folder. On error the old file is untouched and the temporary is removed. */
int core_files_write_atomic(const char *path, const void *data, size_t size);

/* The same without the two fsyncs: other processes, and a crash of this one, never meet half a file; a power cut may
 * leave the old bytes or, on some file systems, none. For what is written often and can be done without. */
int core_files_replace(const char *path, const void *data, size_t size);

int core_files_make_directories(const char *path); /* mkdir -p, mode 0777 & ~umask */
bool core_files_exists(const char *path);
int core_files_remove_tree(const char *path);      /* for tests and `--force`; refuses "/" and "" */

/* printf into a path buffer of CORE_PATH_MAX bytes; CORE_USAGE when too long. */
int core_files_path(char *path, const char *format, ...) CORE_PRINTF(2, 3);

/* The names in a folder, sorted, without "." and ".."; free each and the array. */
int core_files_list(const char *path, char ***names, size_t *count);

/* An advisory lock (fcntl write lock on `path`, a file of its own, created when absent): it ends with its process, so a
 * crashed owner never keeps it. *fd is closed by core_files_unlock; closing any other descriptor of `path` in this
 * process would end the lock too. CORE_FAIL at once when another process holds it and wait is false; the message names
 * the holder's process and host. */
int core_files_lock(const char *path, bool wait, int *fd);
void core_files_unlock(int *fd);

#endif
