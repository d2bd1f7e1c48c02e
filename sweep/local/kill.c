/* Tells limits of the user (ulimit) from a lack of memory (kill.h). */
#include "sweep/local/kill.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "sweep/program/child.h"

/* Whether the CPU time has reached the limit, at which the kernel sends SIGKILL. */
static bool has_used_cpu(const struct rusage *usage) {
  struct rlimit limit;
  const bool is_limited = getrlimit(RLIMIT_CPU, &limit) == 0 && limit.rlim_max != RLIM_INFINITY;
  return is_limited && program_is_cpu_limit(program_cpu_seconds(usage), (double)limit.rlim_max);
}

bool sweep_kill_describe(int signal, const struct rusage *usage, bool is_program, int64_t peak_mb, char *reason,
                         size_t size) {
  const bool is_kill = signal == SIGKILL;
  if (signal == SIGXCPU || (is_kill && !is_program && has_used_cpu(usage))) {
    snprintf(reason, size, "killed at its limit of CPU time (ulimit -t)");
    return false;
  }
  if (signal == SIGXFSZ) {
    snprintf(reason, size, "killed at its limit of file size (ulimit -f)");
    return false;
  }

  if (!is_kill)
    snprintf(reason, size, "killed by signal %d (%s)", signal, strsignal(signal));
  else if (peak_mb <= 0)
    snprintf(reason, size, "killed (SIGKILL), possibly out of memory");
  else
    snprintf(reason, size, "killed (SIGKILL), possibly out of memory (its processes had %lld MB)", (long long)peak_mb);
  return true;
}
