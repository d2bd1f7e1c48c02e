/* Writes the records of an attempt to the run's logs: rows of stats and metrics, and the score as evaluations.
 *
 * A record belongs to its step: the rows of a run are ordered by steps, whatever the order of records, files and
 * attempts. A record that is read again, since its file was rewritten or the supervisor was killed, finds its row, and
 * nothing is written twice. A later attempt replaces values of earlier ones as it passes their steps, metric by metric;
 * what lies beyond its end is removed when the run ends. */
#ifndef SWEEP_PROGRAM_LOGS_H
#define SWEEP_PROGRAM_LOGS_H
#include <stdint.h>

#include "core/config/config.h"
#include "sweep/program/source.h"

typedef struct ProgramLogs ProgramLogs;

/* Opens the logs of an attempt, which may already have rows, and reads those of all attempts. */
int program_logs_open(const char *root, const char *id, int attempt, const CoreConfig *config, ProgramLogs **logs);
/* Lets the names of the step, the goal and [metric] never be dropped. */
void program_logs_reserve(const ProgramLogs *logs, ProgramNames *names);
/* Adds a record. */
void program_logs_append(ProgramLogs *logs, ProgramSeries *series, const ProgramRecord *record);
/* Removes the attempt's values of a metric. */
void program_logs_forget(ProgramLogs *logs, const char *name);
/* Removes all values of earlier attempts: the run starts over. */
void program_logs_clear(ProgramLogs *logs);
/* Removes what earlier attempts have beyond the end of this one. Call when the run has ended for good. */
void program_logs_trim(ProgramLogs *logs);
/* Writes what has changed. CORE_FAIL: e.g. a full disk; the rows are kept and retried. */
int program_logs_flush(ProgramLogs *logs, bool durable);
/* Writes what is left when the program has ended, with the incomplete last mean of the score, durably. */
int program_logs_end(ProgramLogs *logs);
void program_logs_close(ProgramLogs **logs);

/* Return the run's number of rows, the largest step of this attempt (NaN: none), and the run's latest score (NaN:
 * none). *is_rate: whether the score is a solve rate, from 0 to 1; otherwise it counts as a return. */
int64_t program_logs_rows(const ProgramLogs *logs);
double program_logs_step(const ProgramLogs *logs);
double program_logs_score(const ProgramLogs *logs, bool *is_rate);
/* Returns the steps per second that the program reports, else their mean in this attempt; NaN: unknown yet. The mean
 * is used since event files grow only every two minutes. */
double program_logs_speed(const ProgramLogs *logs);
/* Returns whether the metric of the goal has ended as NaN or infinity: all its values in the last 2 % of the run. */
bool program_logs_is_diverged(const ProgramLogs *logs);
/* Appends what is missing of the goal, the step and [metric]: "goal: no return; step: no step; logged: a, b". Nothing
 * if all have appeared, or the attempt has logged nothing. */
void program_logs_describe_missing(const ProgramLogs *logs, const ProgramSink *sink, CoreText *text);
/* Appends which values were ignored since they are no numbers, and how many names and records were dropped. */
void program_logs_describe_ignored(const ProgramSink *sink, CoreText *text);

#endif
