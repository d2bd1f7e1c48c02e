/* How ranks notice that one of them has died: every rank keeps a connection to the first one, which its system closes
 * when it ends, however it ends. MPI alone may wait for a dead rank forever. Used by ranks.c only. */
#ifndef TRAINER_LIFELINE_H
#define TRAINER_LIFELINE_H

/* All ranks, inside MPI. Where no connection can be made, training goes on without, with a warning: the launcher still
 * ends a run whose rank died. */
void lifeline_start(void);
/* All ranks, after they have met: from now on ends are no deaths. */
void lifeline_stop(void);

#endif
