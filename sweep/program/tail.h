/* Splits bytes of a file or a pipe into lines, which end at LF, CR or both. */
#ifndef SWEEP_PROGRAM_TAIL_H
#define SWEEP_PROGRAM_TAIL_H
#include <stdbool.h>
#include <stdint.h>

#include "core/text.h"

typedef struct ProgramTail {
  CoreText line;                /* start of an incomplete line */
  bool is_skipping;             /* that line is too long, and is skipped up to its end */
  int64_t skipped;              /* number of such lines */
} ProgramTail;

/* Called with a line that is not empty, without its end. */
typedef void (*ProgramOnLine)(void *context, const char *line, size_t length);

/* Passes complete lines on, and keeps the start of the next. */
void program_tail_bytes(ProgramTail *tail, const char *bytes, size_t count, ProgramOnLine on_line, void *context);
/* Ends the last line. */
void program_tail_end(ProgramTail *tail, ProgramOnLine on_line, void *context);
/* Returns the length of the control sequence of a terminal at `text` (ECMA-48, ECMA-35): CSI, strings up to ST or BEL
 * (OSC, DCS, ...), and others, with intermediate characters such as ESC ( B of `tput sgr0`. 0: there is none. */
size_t program_escape_length(const char *text);
/* Forgets an incomplete line. */
void program_tail_reset(ProgramTail *tail);
void program_tail_free(ProgramTail *tail);

#endif
