/* Detects ranks that died. Every rank keeps a TCP connection to the first one, which the operating system closes
 * however the rank ends. MPI alone may wait for a dead rank forever. Used by ranks.c only. */
#ifndef TRAINER_RANK_MONITOR_H
#define TRAINER_RANK_MONITOR_H
#include <stdbool.h>

/* Called by all ranks, after MPI_Init. If no connection can be made, training goes on without, with a warning; the
 * launcher still ends a run whose rank died. */
void rank_monitor_start(void);
/* Called by all ranks after a barrier: from now on a rank may end. */
void rank_monitor_stop(void);
/* Tells the other ranks, once, of a stop that this rank was told; returns whether any rank is known to have been told.
 * Without connections only this rank's own is known. Any thread. */
bool rank_monitor_share_stop(bool requested);

#endif
