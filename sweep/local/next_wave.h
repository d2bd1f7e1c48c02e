/* Continues a search whose wave has ended: runs `sweep submit NAME --no-start`, which proposes and records the next
 * trials. The executor then reloads the sweep. */
#ifndef SWEEP_NEXT_WAVE_H
#define SWEEP_NEXT_WAVE_H
#include <stdbool.h>

/* Waits for the child process, seconds, and logs its output. CORE_FAIL: it failed. same_environment: runs it in the
 * sweep's recorded environment (environment.h), which its checks depend on. */
int sweep_next_wave_propose(const char *root, const char *name, bool same_environment);

#endif
