/* A CSV file that a program writes: a line of names, then a line of numbers each record. A logger that meets a new name
 * may write the whole file again with another first line (Stable-Baselines3's does): rows that were taken are passed
 * over then. */
#ifndef SWEEP_PROGRAM_TABLE_H
#define SWEEP_PROGRAM_TABLE_H
#include "sweep/program/source.h"

typedef struct ProgramTable ProgramTable;

ProgramTable *program_table_open(const char *path);
int program_table_read(ProgramTable *table, bool last, ProgramSink *sink);
void program_table_close(ProgramTable **table);

#endif
