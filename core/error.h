/* Errors: one message a thread, made once where the fault is known, and a code that is also the exit code.
 *
 * Functions that can fail return int (CORE_OK or a code) and give results by out-parameters. User input never meets an
 * assert; CORE_CHECK is for programming errors only. */
#ifndef CORE_ERROR_H
#define CORE_ERROR_H

enum {
  CORE_OK = 0,
  CORE_FAIL = 1,      /* the work failed: a full disk, a damaged file, a run that diverged */
  CORE_USAGE = 2,     /* wrong use: an unknown key, a bad value, a missing argument */
  CORE_REQUEUE = 75,  /* stopped on request after a checkpoint; run again to go on (EX_TEMPFAIL) */
};

#if defined(__GNUC__)
#define CORE_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#define CORE_NORETURN __attribute__((noreturn))
#else
#define CORE_PRINTF(format_index, first)
#define CORE_NORETURN
#endif

/* Sets this thread's message and returns `code`, so that a caller writes `return core_error(CORE_USAGE, "...")`.
 * The message says what is wrong, where (file, line, key) and the way out. No trailing newline or full stop needed. */
int core_error(int code, const char *format, ...) CORE_PRINTF(2, 3);

/* core_error with ": strerror(errno)" at the end. */
int core_error_errno(int code, const char *format, ...) CORE_PRINTF(2, 3);

/* Puts "context: " before the present message (innermost cause stays last) and returns `code`. */
int core_error_context(int code, const char *format, ...) CORE_PRINTF(2, 3);

/* This thread's last message; "" when none. Valid until the next error of the thread. */
const char *core_error_message(void);
void core_error_clear(void);

/* Hands an error on to the caller. */
#define TRY(expression)                     \
  do {                                      \
    int try_code_ = (expression);           \
    if (try_code_ != CORE_OK) return try_code_; \
  } while (0)

/* Leaves through `label` with the code in `variable`, for functions that own something. */
#define TRY_GOTO(variable, label, expression)    \
  do {                                           \
    (variable) = (expression);                   \
    if ((variable) != CORE_OK) goto label;       \
  } while (0)

/* A programming error: prints file, line, host and process, then aborts. Never for user input. */
#define CORE_CHECK(condition) \
  ((condition) ? (void)0 : core_error_abort(__FILE__, __LINE__, #condition))
void core_error_abort(const char *file, int line, const char *condition) CORE_NORETURN;

#endif
