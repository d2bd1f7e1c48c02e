/* Reads a CSV file that a program writes: a header, then a line per record. A logger that meets a new name may rewrite
 * the whole file with another header (Stable-Baselines3's does): rows that were already emitted are skipped then. */
#ifndef SWEEP_PROGRAM_CSV_H
#define SWEEP_PROGRAM_CSV_H
#include "sweep/program/source.h"

typedef struct ProgramCsv ProgramCsv;

ProgramCsv *program_csv_open(const char *path);
/* Passes new rows to the sink. last: the program has ended, so that no more rows will follow. */
int program_csv_read(ProgramCsv *table, bool last, ProgramSink *sink);
void program_csv_close(ProgramCsv **table);

#endif
