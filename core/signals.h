/* Signals in programs that compute.
 *
 * A handler runs on the stack of the thread that it interrupts. oneDNN uses the stack pointer for data (AVX-512):
 * a handler that interrupts one writes its frame over live memory. So no handler may run there:
 *   - every thread but one of ours blocks all signals that come from outside; that one waits for them;
 *   - every thread has an alternate stack, and core_signals_guard puts handlers of other libraries onto it.
 * Threads of all libraries are included: they come to life in our pthread_create (signals.c). */
#ifndef CORE_SIGNALS_H
#define CORE_SIGNALS_H
#include <stddef.h>

/* First thing in main(): from here on a thread of ours takes signals, and there each does what it would have done: it
 * ends the program, is ignored, or calls the handler that somebody has installed. Call once. CORE_FAIL: no thread. */
int core_signals_begin(void);

/* From here on SIGTERM, SIGINT, SIGUSR1 and SIGUSR2 end nothing: core_signals_stop tells of them. A second SIGINT ends
 * the program at once. After core_signals_begin. */
void core_signals_expect_stop(void);

/* The last of these signals that came; 0: none yet. Any thread may ask. */
int core_signals_stop(void);

/* Puts every handler that is installed onto alternate stacks, glibc's own two as well. Cheap (64 system calls): call it
 * again whenever a library may have installed one. */
void core_signals_guard(void);

/* Is there a thread, but the one that waits, which takes signals? Writes "thread 123 (name)" or "", for a warning. */
void core_signals_check(char *text, size_t capacity);

#endif
