/* Reads a CSV file that a program writes: a line of names, then a line of numbers per record. A later line of names
 * starts new columns, and a rewritten file begins with its own. */
#ifndef SWEEP_PROGRAM_CSV_H
#define SWEEP_PROGRAM_CSV_H
#include "sweep/program/file.h"
#include "sweep/program/source.h"

typedef struct ProgramCsv ProgramCsv;

/* Opens the table. start: content of the file at the attempt's start; only its names are read. series: of its records,
 * which must outlive it. */
ProgramCsv *program_csv_open(const char *path, const ProgramPrefix *start, ProgramSeries *series);
ProgramFile *program_csv_file(ProgramCsv *table);
/* Passes new rows to the sink. */
int program_csv_read(ProgramCsv *table, ProgramReading reading, ProgramSink *sink);
void program_csv_close(ProgramCsv **table);

#endif
