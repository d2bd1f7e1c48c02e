/* Unexpected termination: exit() called by a loaded library, and fatal signals. In both cases a guard is called while
 * the process still runs, so that a run can record the reason. Forked processes have no guard. */
#ifndef CORE_EXIT_GUARD_H
#define CORE_EXIT_GUARD_H

/* Guard, called once from any thread with "library:x.so/maze called exit(0)" or "signal 11 (Segmentation fault) in
 * ...". When it returns, the process ends: after exit() with CORE_FAIL, after a signal by that signal. */
typedef void CoreExitGuard(void *context, const char *message);

/* Sets the guard; NULL removes it. The first call installs the handlers of fatal signals. Call from the main thread. */
void core_exit_guard(CoreExitGuard *guard, void *context);

/* Names the code that this thread runs from now on, for messages; NULL: the program's own. exit() in a named thread
 * never ends the process with success; without a guard the message goes to stderr. The text is borrowed. */
void core_exit_name(const char *code);

#endif
