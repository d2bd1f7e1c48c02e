/* Lines of a file that grows. */
#ifndef SWEEP_PROGRAM_TAIL_H
#define SWEEP_PROGRAM_TAIL_H
#include <stdbool.h>
#include <stdint.h>

#include "core/files.h"
#include "core/text.h"

typedef struct ProgramTail {
  char path[CORE_PATH_MAX];
  int64_t offset;               /* position of the first unread byte */
  CoreText line;                /* beginning of the line that has no end yet */
  bool is_skipping;             /* that line has become too long: it is skipped up to its end */
  int64_t skipped;              /* such lines */
} ProgramTail;

/* Called with a line, without its newline. */
typedef void (*ProgramOnLine)(void *context, const char *line, size_t length);

/* Reads on, up to the end of the file. last: a line without an end is one. An absent file has no lines; a shorter one
 * than was read is read from its beginning. */
int program_tail_read(ProgramTail *tail, bool last, ProgramOnLine take, void *context);
void program_tail_reset(ProgramTail *tail);
void program_tail_free(ProgramTail *tail);

/* Cuts bytes into lines as above; for what comes through a pipe. */
void program_tail_bytes(ProgramTail *tail, const char *bytes, size_t count, ProgramOnLine take, void *context);
void program_tail_end(ProgramTail *tail, ProgramOnLine take, void *context);

#endif
