/* Unexpected termination: exit() or pthread_exit() called by a loaded library, and fatal signals. A guard is called
 * while the process still runs, so that a run can record the reason. Forked processes have no guard. */
#ifndef CORE_EXIT_GUARD_H
#define CORE_EXIT_GUARD_H
#include <pthread.h>

/* Guard, called once from any thread with "library:x.so/maze called exit(0)" or "signal 11 (Segmentation fault) in
 * ...". When it returns, the process ends: after exit() and pthread_exit() with CORE_FAIL, after a signal by that
 * signal. */
typedef void CoreExitGuard(void *context, const char *message);

/* Sets the guard; NULL removes it. The first call installs the handlers of fatal signals. Call from the main thread. */
void core_exit_guard(CoreExitGuard *guard, void *context);

/* Names the code that this thread runs from now on, for messages; NULL: the program's own. exit() or pthread_exit() in
 * a named thread never ends the process with success; without a guard the message goes to stderr. The text is
 * borrowed. */
void core_exit_name(const char *code);

/* Executes a statement as foreign code of this name. If it ends its thread (pthread_exit, a cancellation), the process
 * ends as after exit(), since the other threads would wait for this one without an end. */
#define CORE_EXIT_GUARDED(code, statement) \
  do { \
    core_exit_name(code); \
    pthread_cleanup_push(core_exit_thread, NULL); \
    statement; \
    pthread_cleanup_pop(0); \
    core_exit_name(NULL); \
  } while (0)
void core_exit_thread(void *unused); /* cleanup handler */

#endif
