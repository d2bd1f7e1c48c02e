/* The process of a trainer or of a program: its start, the signals of the process that waits for it, and the meaning of
 * its wait status. The only place of `sweep` that forks for a run. */
#ifndef SWEEP_PROCESS_H
#define SWEEP_PROCESS_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

typedef struct SweepProcess {
  char *const *arguments;         /* NULL-terminated; the first one is looked up in PATH */
  int output, error;              /* descriptors of its standard output and standard error; its input is /dev/null */
  int death_signal;               /* sent to it when this process dies */
  bool has_group;                 /* leads a process group of its own */
  void (*prepare)(void *context); /* called in the child before it executes, with its output; may _exit */
  void *context;
} SweepProcess;

/* Forks and executes. The child has default signal handling, and blocks no signal. What cannot be executed explains
 * itself on standard error, with exit code SWEEP_EXIT_NOT_EXECUTABLE. CORE_FAIL: no process could be made. */
int sweep_process_start(const SweepProcess *process, pid_t *id);
enum { SWEEP_EXIT_NOT_EXECUTABLE = 127 };

/* Returns why a file cannot be executed though it exists: a missing interpreter, or line ends of Windows. "": no
 * reason was found. */
const char *sweep_process_explain(const char *path, char *buffer, size_t capacity);

/* ---- signals ----------------------------------------------------------------------------------------------------- */

/* Blocks `signals`, so that no handler is needed, and opens a descriptor that delivers them. */
int sweep_signals_open(const int *signals, size_t count, int *fd);
/* Waits for a signal, or for input on one of the other descriptors (-1: closed), at most 8. Returns the signal, with
 * the process that sent it; 0: none came in time. */
int sweep_signals_wait(int fd, const int *inputs, size_t count, int timeout_ms, pid_t *sender);

/* ---- ends -------------------------------------------------------------------------------------------------------- */

/* Returns the signal that killed a process; 0: it exited. below_launcher: below srun or a shell, which exit with
 * 128 + n if signal n killed what they had started. */
int sweep_process_signal(int status, bool below_launcher);

/* Returns the CPU time of a process in seconds. */
double sweep_process_cpu_s(const struct rusage *usage);
/* Whether a process that used cpu_s seconds of CPU time was killed at its limit; limit_s INFINITY: none. */
bool sweep_process_is_cpu_limit(double cpu_s, double limit_s);

#endif
