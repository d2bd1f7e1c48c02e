/* Reads the lines of a growing file or a pipe. */
#ifndef SWEEP_PROGRAM_TAIL_H
#define SWEEP_PROGRAM_TAIL_H
#include <stdbool.h>
#include <stdint.h>

#include "core/files.h"
#include "core/text.h"

typedef struct ProgramTail {
  char path[CORE_PATH_MAX];
  int64_t offset;               /* offset of the first unread byte */
  CoreText line;                /* start of an incomplete line */
  bool is_skipping;             /* that line is too long, and is skipped up to its end */
  int64_t skipped;              /* number of such lines */
} ProgramTail;

/* Called with a line, without its newline. */
typedef void (*ProgramOnLine)(void *context, const char *line, size_t length);

/* Reads the file from `offset` to its end. last: a line without a newline is complete. An absent file has no lines; a
 * file that has become shorter is read from its beginning. */
int program_tail_read(ProgramTail *tail, bool last, ProgramOnLine on_line, void *context);
void program_tail_reset(ProgramTail *tail);
void program_tail_free(ProgramTail *tail);

/* Split bytes from a pipe into lines, and end the last line. */
void program_tail_bytes(ProgramTail *tail, const char *bytes, size_t count, ProgramOnLine on_line, void *context);
void program_tail_end(ProgramTail *tail, ProgramOnLine on_line, void *context);

#endif
