/* Reads the scalars of a run's TensorBoard event files in a directory. */
#ifndef SWEEP_PROGRAM_EVENTS_H
#define SWEEP_PROGRAM_EVENTS_H
#include <stdbool.h>
#include <stddef.h>

#include "sweep/program/source.h"

typedef struct ProgramEvents ProgramEvents;

/* Opens a directory. run: only files of this run's processes (SWEEP_RUN of their environment), i.e. files that one of
 * them has open or whose name contains its process id, since TensorBoard's own writer opens its file only to append.
 * NULL: all files of the directory. list: metrics.<attempt>.files, with what lay there at the attempt's start.
 *
 * Equal tags in several folders get the name of their folder, relative to what the folders have in common:
 * train/loss, validation/loss. */
int program_events_open(const char *directory, const char *run, const char *list, ProgramEvents **events);
/* Adds a process of the run. */
void program_events_add_process(ProgramEvents *events, pid_t process);
/* Passes new scalars to the sink, a record per step. last: the program has ended. */
int program_events_read(ProgramEvents *events, bool last, ProgramSink *sink);
/* Returns the number of files of the attempt found so far. */
size_t program_events_files(const ProgramEvents *events);
void program_events_close(ProgramEvents **events);

/* Called with each scalar; the tag is not terminated. */
typedef void (*ProgramOnScalar)(void *context, double step, const char *tag, size_t length, double value);

/* Passes the scalars of an event on, simple values and tensors of one element. False: the event is damaged. */
bool program_event_scalars(const unsigned char *data, size_t size, ProgramOnScalar on_scalar, void *context);

#endif
