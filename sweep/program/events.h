/* Reads the scalars of a run's TensorBoard event files in a directory. */
#ifndef SWEEP_PROGRAM_EVENTS_H
#define SWEEP_PROGRAM_EVENTS_H
#include "sweep/program/source.h"

typedef struct ProgramEvents ProgramEvents;

/* Opens a directory. run: only files of this run's processes (SWEEP_RUN of their environment), i.e. files that one of
 * them has open or whose name contains its process id, since TensorBoard's own writer opens its file only to append.
 * NULL: all files of the directory. list: file in which their names are stored for a later reader. */
int program_events_open(const char *directory, const char *run, const char *list, ProgramEvents **events);
/* Passes new scalars to the sink, a record per step. last: the program has ended. */
int program_events_read(ProgramEvents *events, bool last, ProgramSink *sink);
/* Returns the number of files found so far. */
size_t program_events_files(const ProgramEvents *events);
void program_events_close(ProgramEvents **events);

#endif
