/* Errors: one message per thread, made once where the fault is known, and a code that is also the exit code.  Functions
 * that can fail return int (CORE_OK or a code) and results through out-parameters. CORE_CHECK is for programming errors
 * only, never for user input. */
#ifndef CORE_ERROR_H
#define CORE_ERROR_H

enum {
  CORE_OK = 0,
  CORE_FAIL = 1,      /* runtime failure: full disk, damaged file, diverged run */
  CORE_USAGE = 2,     /* usage error: unknown key, invalid value, missing argument */
  CORE_REQUEUE = 75,  /* stopped on request after a checkpoint; run again to resume (EX_TEMPFAIL) */
};

#if defined(__GNUC__)
#define CORE_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#define CORE_NORETURN __attribute__((noreturn))
#else
#define CORE_PRINTF(format_index, first)
#define CORE_NORETURN
#endif

/* Sets this thread's message and returns `code`: `return core_error(CORE_USAGE, "...")`. The message has the form
 * `subject: problem; remedy` with file, line and key, without a trailing newline or period. */
int core_error(int code, const char *format, ...) CORE_PRINTF(2, 3);

/* Appends ": strerror(errno)" to the message of core_error. */
int core_error_errno(int code, const char *format, ...) CORE_PRINTF(2, 3);

/* Prepends "context: " to the current message and returns `code`. */
int core_error_context(int code, const char *format, ...) CORE_PRINTF(2, 3);

/* Returns this thread's last message, "" if none; valid until the thread's next error. */
const char *core_error_message(void);
void core_error_clear(void);

/* Returns an error code to the caller. */
#define TRY(expression)                     \
  do {                                      \
    int try_code_ = (expression);           \
    if (try_code_ != CORE_OK) return try_code_; \
  } while (0)

/* Jumps to `label` with the code in `variable`, for functions that release resources. */
#define TRY_GOTO(variable, label, expression)    \
  do {                                           \
    (variable) = (expression);                   \
    if ((variable) != CORE_OK) goto label;       \
  } while (0)

/* Reports a programming error with file, line, host and process, then aborts. */
#define CORE_CHECK(condition) \
  ((condition) ? (void)0 : core_error_abort(__FILE__, __LINE__, #condition))
void core_error_abort(const char *file, int line, const char *condition) CORE_NORETURN;

#endif
