/* Slurm's words for why a job waits, in plain ones, with what can be done about it. */
#ifndef SLURM_REASON_H
#define SLURM_REASON_H
#include <stdbool.h>

/* "waits for free nodes"; for an unknown reason, Slurm's own word. Of several ("JobArrayTaskLimit,JobHeldUser") the
 * first. */
const char *slurm_reason_text(const char *reason);
/* What to do; "" when only waiting helps. */
const char *slurm_reason_advice(const char *reason);
bool slurm_reason_is_held(const char *reason);
/* It will not start by itself: something must be changed. */
bool slurm_reason_is_stuck(const char *reason);

#endif
