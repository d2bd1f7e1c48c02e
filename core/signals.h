/* Signal handling in programs that compute.
 *
 * A handler runs on the stack of the interrupted thread. oneDNN's AVX-512 kernels keep data below the stack pointer, so
 * a handler's frame would overwrite live memory. Therefore no handler runs there:
 *   - every thread except one of ours blocks all external signals; that thread waits for them;
 *   - every thread has an alternate stack, and core_signals_guard moves handlers of other libraries onto it.
 * This includes threads of all libraries, which are created by our pthread_create (signals.c). */
#ifndef CORE_SIGNALS_H
#define CORE_SIGNALS_H
#include <stddef.h>

/* Starts the thread that receives signals; the first call in main(). In that thread each signal has its usual effect:
 * it ends the program, is ignored, or calls the installed handler. CORE_FAIL: the thread could not be created. */
int core_signals_begin(void);

/* Makes SIGTERM, SIGINT, SIGUSR1 and SIGUSR2 set core_signals_stop instead of ending the program. A second SIGINT ends
 * it at once. Call after core_signals_begin. */
void core_signals_expect_stop(void);

/* Returns the last of these signals received; 0: none. Callable from any thread. */
int core_signals_stop(void);

/* Moves every installed handler, including glibc's own two, onto alternate stacks. Takes 64 system calls; call it again
 * whenever a library may have installed a handler. */
void core_signals_guard(void);

/* Whether a thread other than the waiting one accepts signals. Writes "thread 123 (name)" or "", for a warning. */
void core_signals_check(char *text, size_t capacity);

#endif
