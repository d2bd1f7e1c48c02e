/* The run's state file, refreshed by a thread, so that readers see a live run however long an iteration takes. */
#ifndef TRAINER_HEARTBEAT_H
#define TRAINER_HEARTBEAT_H
#include "store/workspace/run.h"

typedef struct Heartbeat Heartbeat;

/* Writes `state` at once, then every STORE_HEARTBEAT_S seconds with a new heartbeat time. */
int heartbeat_start(const char *root, const char *id, const StoreState *state, Heartbeat **heartbeat);
/* Sets the state that the next beats write. */
void heartbeat_update(Heartbeat *heartbeat, const StoreState *state);
/* Writes that the run failed, and why; called from another thread just before the process ends. Safe for NULL. */
void heartbeat_abandon(Heartbeat *heartbeat, const char *message);
/* Ends the thread and writes the final state. Safe for a NULL heartbeat. */
int heartbeat_stop(Heartbeat **heartbeat, const StoreState *final);

#endif
