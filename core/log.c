/* Log messages, one line each with time and level. Results go to stdout, run statistics to store/runlog. Each line is
 * one write, so that lines of several threads or processes do not interleave. */
#include "core/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "core/memory.h"
#include "core/text.h"
#include "core/unicode.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *log_stream; /* NULL: stderr, which is not a constant expression */
static CoreLogLevel log_lowest = CORE_LOG_INFO;

void core_log_open(FILE *stream, CoreLogLevel lowest) {
  pthread_mutex_lock(&lock);
  log_stream = stream;
  log_lowest = lowest;
  pthread_mutex_unlock(&lock);
}

void core_log(CoreLogLevel level, const char *format, ...) {
  static const char *const names[] = {"debug", "info", "warn", "error"};
  char stamp[32], buffer[4096], *message = buffer;
  struct tm utc;
  time_t now = time(NULL);
  strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  va_list arguments;

  va_start(arguments, format);
  const int length = vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  if (length >= (int)sizeof buffer) { /* a long command line */
    message = core_memory_allocate((size_t)length + 1);
    va_start(arguments, format);
    vsnprintf(message, (size_t)length + 1, format, arguments);
    va_end(arguments);
  }
  core_unicode_mask(message);

  pthread_mutex_lock(&lock);
  if (level >= log_lowest) {
    FILE *stream = log_stream ? log_stream : stderr;
    fprintf(stream, "%s %s %s\n", stamp, names[level], message);
    fflush(stream);
  }
  pthread_mutex_unlock(&lock);
  if (message != buffer) free(message);
}
