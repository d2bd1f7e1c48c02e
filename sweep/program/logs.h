/* Writes the records of an attempt to the run's logs: a row of stats per record, and the score as evaluations.
 *
 * Rows are numbered through all attempts of a run (`iteration`). An attempt that starts at step s replaces the rows of
 * earlier attempts from step s on, since later attempts win in the database. It empties them first, because it may have
 * fewer rows. The number of rows in an attempt's log is the number of its records that were written: after a crash at
 * any moment the source is read again from its beginning, and as many records are skipped. */
#ifndef SWEEP_PROGRAM_LOGS_H
#define SWEEP_PROGRAM_LOGS_H
#include <stdint.h>

#include "core/config/config.h"
#include "sweep/program/record.h"

typedef struct ProgramLogs ProgramLogs;

/* Opens the logs of an attempt, which may already have rows. Reads the steps of earlier attempts. */
int program_logs_open(const char *root, const char *id, int attempt, const CoreConfig *config, ProgramLogs **logs);
/* Appends a record. */
void program_logs_append(ProgramLogs *logs, const ProgramRecord *record);
/* Writes the appended rows. CORE_FAIL: e.g. a full disk; the rows are kept and retried. */
int program_logs_flush(ProgramLogs *logs, bool durable);
/* Closes the logs. ended: writes the incomplete last mean of the score, too. */
int program_logs_close(ProgramLogs **logs, bool ended);

/* Return the run's number of rows, its last step, and its latest score (NaN: none). *is_rate: whether the score is a
 * solve rate, from 0 to 1; otherwise it counts as a return. */
int64_t program_logs_rows(const ProgramLogs *logs);
double program_logs_step(const ProgramLogs *logs);
double program_logs_score(const ProgramLogs *logs, bool *is_rate);
/* Returns the steps per second that the program reports, else their mean in this attempt; NaN: unknown yet. The mean
 * is used since event files grow only every two minutes. */
double program_logs_speed(const ProgramLogs *logs);

#endif
