/* Files: complete reads, atomic writes, directories, locks. Every error names the path and the reason. */
#ifndef CORE_FILES_H
#define CORE_FILES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include "core/text.h"

enum { CORE_PATH_MAX = 4096, CORE_FILES_LOCK_WAIT_S = 600 };

/* Guards the directory `root` (a workspace, by its resolved path), which other users may write: below it only regular
 * files are read, and links are followed only if this user or root made them; the owner of `root` may have made
 * `runs` and `sweeps`, directly below it, links to directories.
 * Elsewhere the user named the path, so pipes and links are intended. One directory per program; call it before threads
 * start. */
void core_files_guard(const char *root);

/* Reads a complete file, NUL-terminated; the caller frees *data. CORE_FAIL: it cannot be read or is larger than
 * max_bytes (0: 64 MiB). Below the guarded directory it is opened by core_files_open_reading; elsewhere it may be a
 * link or pipe. */
int core_files_read(const char *path, size_t max_bytes, char **data, size_t *size);

/* Opens a file like core_files_open_reading, as a stream. Caller closes it. */
int core_files_open_plain(const char *path, FILE **file);

/* Writes `path` so that after a crash it contains either the old or the new bytes: writes a temporary file, fsync,
 * rename, fsync of the directory. On error the old file is unchanged and the temporary is removed. Devices and pipes
 * (`-o /dev/stdout`) are written directly, except below the guarded directory. */
int core_files_write_atomic(const char *path, const void *data, size_t size);

/* Does the same for a file that only this user may write, whatever umask and access control lists say. */
int core_files_write_own(const char *path, const void *data, size_t size);

/* Writes `path` without the two fsyncs: neither another process nor a crash of this one sees a partial file, but after
 * a power failure it may have the old bytes or, on some file systems, none. For dispensable files that are written
 * often. */
int core_files_write_unsynced(const char *path, const void *data, size_t size);

/* Opens a file for writing in place, safely if others can create files of its name: refuses links, pipes, devices,
 * files with several hard links and, in a world-writable directory, files of other users. The message names the kind
 * and a remedy. Caller closes *fd. */
typedef enum CoreFilesMode {
  CORE_FILES_APPEND, /* reads, and writes at the end; creates the file */
  CORE_FILES_UPDATE, /* reads and writes; creates the file, does not truncate it */
  CORE_FILES_NEW,    /* writes a new file; an existing one is unlinked first */
} CoreFilesMode;
int core_files_open(const char *path, CoreFilesMode mode, int *fd);
/* Opens a regular file for reading without blocking. Below the guarded directory it refuses files with several hard
 * links and follows only links made by this user or root; otherwise private files could be
 * copied to where others can read them. For paths that may be pipes (experiments on a command line) use
 * core_files_read. */
int core_files_open_reading(const char *path, int *fd);
/* Opens a file in this way wherever it lies: each link in its path, and in the targets of links, must be this user's or
 * root's. For files that are read again and again, and whose contents others see: users who may write one of their
 * directories could exchange them. */
int core_files_open_checked(const char *path, int *fd);
/* Checks this for a file that a library opens by name; an absent file is valid. Does not open it, since closing it
 * would release this process's locks on it. */
int core_files_check_reading(const char *path);

int core_files_make_directories(const char *path); /* like mkdir -p */
bool core_files_exists(const char *path);

/* Removes a directory with its contents, a file or a link; an absent one is valid. Refuses "/", "", "." and "..".
 * Others may change the tree meanwhile: nothing outside of it is removed. */
int core_files_remove_tree(const char *path);
/* Does the same, but first renames it to `renamed`, a name in the same directory, which hides it from readers at once.
 * Also removes what an interrupted call has left. */
int core_files_remove_renamed(const char *path, const char *renamed);
/* Remove a file or link, which may be absent, and rename, by the rules of core_files_guard for the directories in the
 * paths. Renaming sets errno on errors (ENOENT: `from` is absent). */
int core_files_remove(const char *path);
int core_files_rename(const char *from, const char *to);
/* Removes from the directory what killed processes have left of core_files_write_atomic and core_files_remove_tree,
 * once it is an hour old. Ignores errors: the files only take room. */
void core_files_remove_leftovers(const char *directory);

/* Formats a path into a buffer of CORE_PATH_MAX bytes. CORE_USAGE: it is too long. */
int core_files_path(char *path, const char *format, ...) CORE_PRINTF(2, 3);
/* Splits a path into its directory ("." if it has none) and the name in it; name may be NULL. */
int core_files_parent(const char *path, char directory[CORE_PATH_MAX], const char **name);
/* Gets the path of a name that is relative to a directory, unless it is absolute. */
int core_files_path_in(const char *directory, const char *name, char path[CORE_PATH_MAX]);

/* Returns whether no other user can have written the file: it is this user's, has one name, and neither its group nor
 * others may write it. */
bool core_files_is_own(const struct stat *status);

/* Lists the sorted names in a directory without "." and "..". Caller frees each and the array. */
int core_files_list(const char *path, char ***names, size_t *count);

/* Acquires an advisory lock (fcntl) on `path`, a separate file that is created if absent. It ends with its process, so
 * a crashed holder never keeps it. core_files_unlock closes *fd; closing any other descriptor of `path` in this process
 * would release the lock, too. CORE_FAIL: another process holds it, at once if !wait, else after CORE_FILES_LOCK_WAIT_S
 * with a log line meanwhile; the message names the holder's host and process. */
int core_files_lock(const char *path, bool wait, int *fd);
int core_files_lock_within(const char *path, double wait_s, int *fd); /* with another timeout */
void core_files_unlock(int *fd);

#endif
