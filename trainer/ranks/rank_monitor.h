/* Detection of dead ranks. Every rank keeps a TCP connection to the first one, which the operating system closes
 * however the rank ends. MPI alone may wait for a dead rank forever. Used by ranks.c only. */
#ifndef TRAINER_RANK_MONITOR_H
#define TRAINER_RANK_MONITOR_H
#include <stdbool.h>

/* Connects the ranks, after MPI_Init; called by all ranks. If no connection can be made, training continues without,
 * with a warning; the launcher still ends a run whose rank died. */
void rank_monitor_start(void);
/* Stops monitoring, after a barrier: from now on a rank may end. Called by all ranks. */
void rank_monitor_stop(void);
/* Notifies the other ranks, once, of a stop requested from this rank; returns whether any rank is known to have
 * received a request. Without connections only this rank's own is known. Any thread. */
bool rank_monitor_share_stop(bool requested);

/* Makes the operating system end a connection whose peer has not answered for about `seconds`: a machine that
 * lost its power or its network closes nothing. */
void rank_monitor_limit_silence(int connection, int seconds);

#endif
