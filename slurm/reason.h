/* Explains Slurm's reasons for pending jobs and what to do about them. */
#ifndef SLURM_REASON_H
#define SLURM_REASON_H
#include <stdbool.h>

/* Returns an explanation such as "waits for free nodes"; the reason itself if it is unknown; that of the first of
 * several ("JobArrayTaskLimit,JobHeldUser"). */
const char *slurm_reason_text(const char *reason);
/* Returns a remedy; "": only waiting helps. */
const char *slurm_reason_advice(const char *reason);
/* Whether the job waits until it is released. */
bool slurm_reason_is_held(const char *reason);
/* Whether the job will never start unless something is changed. */
bool slurm_reason_is_stuck(const char *reason);

#endif
