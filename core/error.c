/* Per-thread message of the last error. Prints only in CORE_CHECK. Never allocates, so that exhausted memory can be
 * reported. */
#include "core/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/unicode.h"

enum { MESSAGE_CAPACITY = 4096 };

static _Thread_local char last_message[MESSAGE_CAPACITY];

/* Formats into a separate buffer first, since arguments may point into the current message. */
static void set_message(const char *format, va_list arguments, const char *separator, const char *tail) {
  char text[MESSAGE_CAPACITY];
  vsnprintf(text, sizeof text, format, arguments);
  size_t length = strlen(text);
  snprintf(text + length, sizeof text - length, "%s%s", separator, tail);
  core_unicode_mask(text); /* messages quote user input */
  memcpy(last_message, text, strlen(text) + 1);
}

int core_error(int code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  set_message(format, arguments, "", "");
  va_end(arguments);
  return code;
}

int core_error_errno(int code, const char *format, ...) {
  char reason[256];
  int number = errno;
  va_list arguments;
  va_start(arguments, format);
  set_message(format, arguments, ": ", strerror_r(number, reason, sizeof reason));
  va_end(arguments);
  errno = number;
  return code;
}

int core_error_context(int code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  set_message(format, arguments, *last_message ? ": " : "", last_message);
  va_end(arguments);
  return code;
}

const char *core_error_message(void) { return last_message; }

void core_error_clear(void) { last_message[0] = '\0'; }

void core_error_abort(const char *file, int line, const char *condition) {
  char host[256] = "unknown host";
  gethostname(host, sizeof host - 1);
  fprintf(stderr, "%s:%d: internal error on %s, process %ld: %s\n", file, line, host, (long)getpid(), condition);
  fflush(stderr);
  abort();
}
