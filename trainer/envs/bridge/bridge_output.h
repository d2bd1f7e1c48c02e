/* Standard error of a worker: passed on as it comes, and its end kept for the message where the worker fails. Knows
 * nothing of workers. */
#ifndef TRAINER_BRIDGE_OUTPUT_H
#define TRAINER_BRIDGE_OUTPUT_H

enum { BRIDGE_OUTPUT_TAIL = 400 }; /* bytes of the text that bridge_output_tail gives, with its NUL */

typedef struct BridgeOutput BridgeOutput;

/* Makes a pipe whose end to write is *writer, for the caller to give to a process and to close. */
int bridge_output_open(BridgeOutput **output, int *writer);
/* Gives the last lines that were written, as one line without controls; "": nothing was. Call it when the process has
 * ended; processes that it has started may go on. */
void bridge_output_tail(BridgeOutput *output, char tail[BRIDGE_OUTPUT_TAIL]);
/* Passes on what is left. NULL is nothing to close. */
void bridge_output_close(BridgeOutput **output);

#endif
