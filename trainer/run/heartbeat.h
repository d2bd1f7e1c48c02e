/* The run's state file, kept fresh by a thread, so that readers see a live run however long an iteration takes. */
#ifndef TRAINER_HEARTBEAT_H
#define TRAINER_HEARTBEAT_H
#include "store/workspace/run.h"

typedef struct Heartbeat Heartbeat;

/* Writes `state` at once, then every STORE_HEARTBEAT_S seconds with a new heartbeat time. */
int heartbeat_start(const char *root, const char *id, const StoreState *state, Heartbeat **heartbeat);
/* What the next beats write. */
void heartbeat_update(Heartbeat *heartbeat, const StoreState *state);
/* From another thread than the run's, just before the process ends: writes that it has failed, and why.
 * Safe for NULL. */
void heartbeat_abandon(Heartbeat *heartbeat, const char *message);
/* Ends the thread and writes the final state. Safe for a NULL heartbeat. */
int heartbeat_stop(Heartbeat **heartbeat, const StoreState *final);

#endif
