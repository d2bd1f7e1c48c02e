/* Append-only logs of decisions in a sweep's directory (submit.log, stop.log). Each line is synced before its step is
 * taken.
 *
 *   <unix seconds> <tab> <who> <tab> <verb> <tab> ... <tab> ;
 *
 * A line without its closing ';' was truncated by a crash or a full disk before its step was taken, and is ignored. */
#ifndef SWEEP_LINE_LOG_H
#define SWEEP_LINE_LOG_H
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* Appends one line of `fields` (joined by tabs; newlines become blanks) and syncs the file. */
int sweep_line_log_append(const char *path, const char *fields);

/* Calls `on_line` with the fields of each complete line, in order: [0] the time, [1] the user, [2] the verb. It returns
 * false for an invalid line. An absent file has no lines. CORE_FAIL: a line is damaged; the message names it and ends
 * with `advice`. */
enum { SWEEP_LINE_FIELDS = 12 };
typedef bool (*SweepLineHandler)(void *context, char **field, size_t count);
int sweep_line_log_read(const char *path, const char *advice, SweepLineHandler on_line, void *context);

#endif
