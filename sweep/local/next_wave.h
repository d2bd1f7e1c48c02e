/* Goes on with a search whose wave has ended: `sweep submit NAME --no-start` of this program, which proposes and
 * records the next trials. The executor then loads the sweep again. */
#ifndef SWEEP_NEXT_WAVE_H
#define SWEEP_NEXT_WAVE_H

/* Waits for it, seconds; its words go into the log. CORE_FAIL: it ended with an error. */
int sweep_next_wave(const char *root, const char *name);

#endif
