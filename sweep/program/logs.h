/* Records of an attempt to rows of the run's logs: one row of stats for each record, and the score as evaluations.
 *
 * Rows are numbered through all attempts of a run (`iteration`). An attempt that begins at step s takes the place of
 * the rows of earlier attempts from step s on, as the database lets later attempts win; it empties
 * them first, since it may come to fewer. The number of rows in an
 * attempt's log says how many of its records were taken: after a crash at any moment the same source is read again from
 * its beginning, and that number of records is skipped. */
#ifndef SWEEP_PROGRAM_LOGS_H
#define SWEEP_PROGRAM_LOGS_H
#include <stdint.h>

#include "core/config/config.h"
#include "sweep/program/record.h"

typedef struct ProgramLogs ProgramLogs;

/* Opens the logs of one attempt, new or begun. Reads the steps of the attempts before it. */
int program_logs_open(const char *root, const char *id, int attempt, const CoreConfig *config, ProgramLogs **logs);
void program_logs_append(ProgramLogs *logs, const ProgramRecord *record);
/* Writes what was taken. CORE_FAIL: a full disk; the rows are kept and tried again. */
int program_logs_flush(ProgramLogs *logs, bool durable);
/* ended: the last, unfinished mean of the score counts, too. */
int program_logs_close(ProgramLogs **logs, bool ended);

/* Numbers that status shows: rows of the run, the last step, the latest score (NaN: none). */
int64_t program_logs_rows(const ProgramLogs *logs);
double program_logs_step(const ProgramLogs *logs);
double program_logs_score(const ProgramLogs *logs);
/* Steps per second of this attempt, on average: event files grow every two minutes, so that differences between two looks
 * say nothing. NaN: not known yet. */
double program_logs_speed(const ProgramLogs *logs);

#endif
