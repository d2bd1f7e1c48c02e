/* A program's output: copied to the run's log up to a limit; standard error is scanned for the reason of a failure. */
#ifndef SWEEP_PROGRAM_OUTPUT_H
#define SWEEP_PROGRAM_OUTPUT_H
#include <stdint.h>
#include <stdio.h>

#include "sweep/program/child.h"
#include "sweep/program/reason.h"
#include "sweep/program/tail.h"

typedef struct ProgramOutput {
  FILE *log;
  int64_t logged_bytes;         /* bytes of the program's output in the log */
  ProgramTail error;            /* standard error, split into lines */
  ProgramReason reason;         /* explanation of a failure in standard error */
} ProgramOutput;

/* Copies bytes to the log. */
void program_output_add(ProgramOutput *output, const char *bytes, size_t count);
/* Reads and logs what is in the program's pipes. Closes a pipe at its end, which is not an error. */
void program_output_read(ProgramOutput *output, ProgramChild *child);
/* Ends an incomplete last line of standard error. */
void program_output_end(ProgramOutput *output);

#endif
