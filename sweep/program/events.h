/* TensorBoard event files: scalars of all files of a directory that are this run's. */
#ifndef SWEEP_PROGRAM_EVENTS_H
#define SWEEP_PROGRAM_EVENTS_H
#include "sweep/program/source.h"

typedef struct ProgramEvents ProgramEvents;

/* run: only files of this run's processes (SWEEP_RUN of their environment): files that one of them has open, and files
 * with the process id of one in their name, since TensorBoard's own writer opens its file only to append to it. NULL:
 * all files of the directory. list: file that keeps their names for a later reader. */
int program_events_open(const char *folder, const char *run, const char *list, ProgramEvents **events);
int program_events_read(ProgramEvents *events, bool last, ProgramSink *sink);
/* Files that were found so far. */
size_t program_events_files(const ProgramEvents *events);
void program_events_close(ProgramEvents **events);

#endif
