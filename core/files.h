/* Files: whole reads, atomic writes, directories, locks. Every error names the path and the reason. */
#ifndef CORE_FILES_H
#define CORE_FILES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "core/text.h"

enum { CORE_PATH_MAX = 4096, CORE_FILES_LOCK_WAIT_S = 600 };

/* From now on the folder `root` (a workspace, its path resolved) and all below it are ones that other people may write
 * too: below it no link to a folder is followed unless we, root or the owner of `root` made it, and nothing but plain
 * files is read. Elsewhere a user named the path, so pipes and links are what they meant. One folder a program; call it
 * before threads begin. */
void core_files_guard(const char *root);

/* Reads a whole file, NUL-terminated; free() the data. CORE_FAIL when it cannot be read or exceeds max_bytes
 * (0 = 64 MiB). Below the guarded folder it opens as core_files_open_reading; elsewhere links and pipes may be
 * named. */
int core_files_read(const char *path, size_t max_bytes, char **data, size_t *size);

/* core_files_open_reading as a stream; fclose() it. */
int core_files_open_plain(const char *path, FILE **file);

/* Writes `path` so that after a crash it holds either the old or the new bytes: write beside it, fsync, rename,
 * fsync the folder. On error the old file is untouched and the temporary is removed. A device or a pipe (`-o
 * /dev/stdout`) is written into, but for one below the guarded folder. */
int core_files_write_atomic(const char *path, const void *data, size_t size);

/* The same without the two fsyncs: other processes, and a crash of this one, never meet half a file; a power cut may
 * leave the old bytes or, on some file systems, none. For what is written often and can be done without. */
int core_files_replace(const char *path, const void *data, size_t size);

/* Opens a file that is written in place, where others may have put something under its name: never a link, pipe,
 * device, or a file with several names, nor, in a folder that everybody may write, a stranger's. The message says what
 * it is and the way out. Close *fd. */
typedef enum CoreFilesHow {
  CORE_FILES_APPEND,  /* read, and write at the end; made when absent */
  CORE_FILES_UPDATE,  /* read and write; made when absent, nothing is cut off */
  CORE_FILES_NEW,     /* write; whatever had the name loses it first */
} CoreFilesHow;
int core_files_open(const char *path, CoreFilesHow how, int *fd);
/* Opens a plain file for reading, and never waits; the message says what is in the way. Below the workspace as if a
 * stranger had prepared it: the file has one name, and no link is followed but one that we, root or the workspace's
 * owner made; else private files of ours could end up in what others read. What may be a pipe (an experiment that a
 * command line names) is read by core_files_read. */
int core_files_open_reading(const char *path, int *fd);
/* Checks the same of a file that a library will open by its name; an absent one is good. Opens nothing: closing a file
 * would end the locks that this process has on it. */
int core_files_check_reading(const char *path);

int core_files_make_directories(const char *path); /* mkdir -p, mode 0777 & ~umask */
bool core_files_exists(const char *path);
int core_files_remove_tree(const char *path);      /* for tests and `--force`; refuses "/" and "" */

/* printf into a path buffer of CORE_PATH_MAX bytes; CORE_USAGE when too long. */
int core_files_path(char *path, const char *format, ...) CORE_PRINTF(2, 3);

/* The names in a folder, sorted, without "." and ".."; free each and the array. */
int core_files_list(const char *path, char ***names, size_t *count);

/* An advisory lock (fcntl write lock on `path`, a file of its own, created when absent): it ends with its process, so a
 * crashed owner never keeps it. *fd is closed by core_files_unlock; closing any other descriptor of `path` in this
 * process would end the lock too. CORE_FAIL when another process holds it: at once when wait is false, else after
 * CORE_FILES_LOCK_WAIT_S (of the wait it is said soon); the message names the holder's process and host. */
int core_files_lock(const char *path, bool wait, int *fd);
int core_files_lock_within(const char *path, double wait_s, int *fd); /* the same with another limit */
void core_files_unlock(int *fd);

#endif
