/* Log messages, "2026-01-31T12:00:00Z level message", to stderr or a run's log.txt. */
#ifndef CORE_LOG_H
#define CORE_LOG_H
#include <stdio.h>

#include "core/error.h"

typedef enum CoreLogLevel { CORE_LOG_DEBUG, CORE_LOG_INFO, CORE_LOG_WARN, CORE_LOG_ERROR } CoreLogLevel;

/* Sets the stream (default stderr, owned by the caller) and the lowest level printed (default INFO). */
void core_log_open(FILE *stream, CoreLogLevel lowest);
void core_log(CoreLogLevel level, const char *format, ...) CORE_PRINTF(2, 3);
#define core_info(...) core_log(CORE_LOG_INFO, __VA_ARGS__)
#define core_warn(...) core_log(CORE_LOG_WARN, __VA_ARGS__)

#endif
