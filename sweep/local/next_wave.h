/* Goes on with a search whose wave has ended: `sweep submit NAME --no-start` of this program, which proposes and
 * records the next trials. The executor then loads the sweep again. */
#ifndef SWEEP_NEXT_WAVE_H
#define SWEEP_NEXT_WAVE_H
#include <stdbool.h>

/* Waits for it, seconds; its words go into the log. CORE_FAIL: it ended with an error. same_environment: in the
 * sweep's recorded environment (environment.h), since what it checks depends on it. */
int sweep_next_wave_propose(const char *root, const char *name, bool same_environment);

#endif
