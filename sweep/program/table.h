/* Reads a CSV file that a program writes: a header, then a line per record. A logger that meets a new name may rewrite
 * the whole file with another header (Stable-Baselines3's does): rows that were already emitted are skipped then. */
#ifndef SWEEP_PROGRAM_TABLE_H
#define SWEEP_PROGRAM_TABLE_H
#include "sweep/program/source.h"

typedef struct ProgramTable ProgramTable;

ProgramTable *program_table_open(const char *path);
/* Passes new rows to the sink. last: the program has ended, so that no more rows will follow. */
int program_table_read(ProgramTable *table, bool last, ProgramSink *sink);
void program_table_close(ProgramTable **table);

#endif
