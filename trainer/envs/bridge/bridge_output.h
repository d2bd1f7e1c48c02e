/* Forwards the standard error of a process and keeps its last lines for error messages. */
#ifndef TRAINER_BRIDGE_OUTPUT_H
#define TRAINER_BRIDGE_OUTPUT_H

enum { BRIDGE_OUTPUT_TAIL = 400 }; /* size of the text of bridge_output_tail, including NUL */

typedef struct BridgeOutput BridgeOutput;

/* Creates a pipe. The caller passes its write end, *writer, to a process and closes it. */
int bridge_output_open(BridgeOutput **output, int *writer);
/* Returns the last lines written, joined into one line without control characters; "" if there are none. Call it after
 * the process has exited; its child processes may still run. */
void bridge_output_tail(BridgeOutput *output, char tail[BRIDGE_OUTPUT_TAIL]);
/* Forwards the remaining output and closes the pipe. *output may be NULL. */
void bridge_output_close(BridgeOutput **output);

#endif
