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

/* Fields of a line. */
typedef struct ProgramCsvFields { char **items; size_t count; char *text; } ProgramCsvFields;

/* Returns the separator that a line of names has most of: comma, semicolon, tab, or a blank if it has none of these. */
char program_csv_find_separator(const char *line, size_t length);
/* Splits a line into its fields, without their quotes; free with program_csv_fields_free. */
ProgramCsvFields program_csv_split(const char *line, size_t length, char separator);
void program_csv_fields_free(ProgramCsvFields *fields);

#endif
