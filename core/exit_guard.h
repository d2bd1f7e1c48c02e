/* Unexpected ends of the process: exit() called by a library that it has loaded, and fatal signals. A guard is called
 * in both cases while the process still lives, so that a run can record why it ended. Forked processes have none. */
#ifndef CORE_EXIT_GUARD_H
#define CORE_EXIT_GUARD_H

/* Called once, from any thread, with "library:x.so/maze called exit(0)" or "signal 11 (Segmentation fault) in ...". The
 * process ends when it returns: after exit() with CORE_FAIL, after a signal by that signal. */
typedef void CoreExitGuard(void *context, const char *message);

/* Sets the guard; NULL removes it. Fatal signals are told from the first call on. Call it from the main thread. */
void core_exit_guard(CoreExitGuard *guard, void *context);

/* Names the code that this thread runs from here on, for messages; NULL: the program's own. A named thread's exit()
 * never ends the process with success, guard or not: without one its message goes to stderr. The text is borrowed. */
void core_exit_name(const char *code);

#endif
