/* Finds out from a program's standard error why it failed. The last line is often noise: advice of Hydra, JAX or W&B, a
 * table of torchrun, a progress bar, a warning at exit. The reason is the last exception of a traceback, or the message
 * of another language's crash; without one, the last line that reports an error; without one, the last line. */
#ifndef SWEEP_PROGRAM_REASON_H
#define SWEEP_PROGRAM_REASON_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROGRAM_REASON = 400 }; /* bytes of a reason */

/* Quality of a line as a reason, increasing. */
typedef enum ProgramReasonRank {
  PROGRAM_REASON_NONE,
  PROGRAM_REASON_NOISE,     /* warnings, separators, advice */
  PROGRAM_REASON_LINE,      /* any other line */
  PROGRAM_REASON_ERROR,     /* "error: ...", "2024-01-01 ERROR ..." */
  PROGRAM_REASON_WRAPPER,   /* an exception that only reports the failure of another process */
  PROGRAM_REASON_EXCEPTION, /* an exception or a crash */
} ProgramReasonRank;

/* State of the scan. Zero-initialize. */
typedef struct ProgramReason {
  char text[PROGRAM_REASON];
  ProgramReasonRank rank;
  int64_t line, lines;          /* line of `text`, and number of lines so far */
  bool is_in_traceback;
  bool is_ignored;              /* by Python: the traceback is of an error at exit */
  char source[PROGRAM_REASON];  /* the traceback's last frame, or the assertion in it */
  const char *prefix;           /* the next line continues `text`, after this; NULL: it does not */
} ProgramReason;

/* Adds a line of standard error, without its newline. */
void program_reason_add(ProgramReason *reason, const char *line, size_t length);

#endif
