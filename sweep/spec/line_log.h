/* Logs of decisions in a sweep's folder (submit.log, stop.log): lines that are only ever appended, each on disk before
 * what it says is done.
 *
 *   <unix seconds> <tab> <who> <tab> <verb> <tab> ... <tab> ;
 *
 * A line without its closing ';' was cut short by a crash or a full disk, before its step was taken. It does not
 * count. */
#ifndef SWEEP_LINE_LOG_H
#define SWEEP_LINE_LOG_H
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* Appends one line of `fields` (joined by tabs; a newline in it becomes a blank) and brings it to disk. */
int sweep_line_log_append(const char *path, const char *fields);

/* Calls `take` with each whole line's fields, the closing ';' left out, in their order: field[0] is the time, [1] who,
 * [2] the verb. false: the line is none. An absent file has no lines. CORE_FAIL names the file and the damaged line;
 * `advice` says what to do with it. */
enum { SWEEP_LINE_FIELDS = 12 };
typedef bool (*SweepLineTake)(void *context, char **field, size_t count);
int sweep_line_log_read(const char *path, const char *advice, SweepLineTake take, void *context);

#endif
