/* File of a program that is read while it grows. It may be appended to, rewritten, made shorter, or replaced by another
 * file (rotated, whose rest is read first). What lies there when an attempt starts belongs to earlier attempts. */
#ifndef SWEEP_PROGRAM_FILE_H
#define SWEEP_PROGRAM_FILE_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/files.h"
#include "sweep/program/tail.h"

/* The first `size` bytes of a file: CRCs of their beginning and end. */
typedef struct ProgramPrefix {
  int64_t size;
  uint32_t head, tail;
  uint64_t inode;               /* the file, which may have been renamed */
} ProgramPrefix;

/* Whether the bytes are equal. */
bool program_prefix_equals(const ProgramPrefix *a, const ProgramPrefix *b);

typedef struct ProgramFile {
  char path[CORE_PATH_MAX];
  ProgramPrefix start;          /* content at the start of the attempt; size 0: none */
  ProgramPrefix seen;           /* part that has been read, or belongs to earlier attempts */
  int fd;                       /* -1: closed; it is opened again when it is read */
  int64_t settled_ns;           /* modification time of a file that is not read until it changes; 0: it changes now */
  dev_t device;
  ino_t inode;                  /* 0: not opened yet */
  ProgramPrefix rotated;        /* file that lay here before, and has been read to its end; size 0: none */
} ProgramFile;

/* Receivers of a file's bytes. */
typedef struct ProgramReader {
  void (*on_restart)(void *context); /* a file is read for the first time, or from its beginning again */
  /* Called with what belongs to earlier attempts, and then with NULL; optional. */
  void (*on_earlier)(void *context, const char *bytes, size_t count);
  void (*on_bytes)(void *context, const char *bytes, size_t count);
  void *context;
} ProgramReader;

/* Prepares a file, which need not exist. `start` is its content at the attempt's start. */
void program_file_init(ProgramFile *file, const char *path, const ProgramPrefix *start);
/* Computes the identity of a file's content; size 0: it is absent or cannot be read. */
ProgramPrefix program_file_prefix(const char *path);
/* Reads what is new. An absent file has no bytes. Below the workspace, links of other users are not followed. */
int program_file_read(ProgramFile *file, const ProgramReader *reader);
/* Reads the new lines of a file; reader->on_bytes passes them to `tail` and on_line. ends: a last line without a
 * newline is complete. Adds the number of lines that were too long to *damaged. */
int program_file_read_lines(ProgramFile *file, const ProgramReader *reader, ProgramTail *tail, ProgramOnLine on_line,
                            bool ends, int64_t *damaged);
/* Lets the file be read from the attempt's start again. */
void program_file_forget(ProgramFile *file);
/* Closes the descriptor. The rest of a file that is rotated away while it is closed is not read. */
void program_file_close(ProgramFile *file);

/* Lists the files that FILE was rotated to, the oldest first: FILE.1, FILE.2026-01-31, ... Caller frees each and the
 * array. */
int program_file_list_rotated(const char *path, char ***paths, size_t *count);

/* Contents at the start of an attempt, by path: the file metrics.<attempt>.files. */
typedef struct ProgramStarts {
  struct ProgramStartEntry {
    char *path;
    ProgramPrefix prefix;
    int64_t changed_ns;           /* last modification */
    bool is_own;                  /* it belongs to the attempt whatever its content */
  } *items;                       /* [count] */
  size_t count;
} ProgramStarts;

/* Reads and writes the list. False: there is none that only this user can have written; the files that it names would
 * be published. */
bool program_starts_read(const char *list, ProgramStarts *starts);
int program_starts_write(const char *list, const ProgramStarts *starts);
/* Adds a file with what it has now, or as the attempt's own. */
void program_starts_add(ProgramStarts *starts, const char *path, bool is_own);
/* Returns the entry of a file; NULL: it did not exist. */
const struct ProgramStartEntry *program_starts_find(const ProgramStarts *starts, const char *path);
/* Returns what the file `rotated` had at the start, under another name; size 0: nothing. Equal bytes are not enough: an
 * attempt that starts over writes the same files again. */
ProgramPrefix program_starts_match(const ProgramStarts *starts, const char *path, const char *rotated);
void program_starts_free(ProgramStarts *starts);

#endif
