/* Parts of `sweep rm`: its options, its question, and --checkpoints (checkpoints.c). */
#ifndef SWEEP_REMOVE_H
#define SWEEP_REMOVE_H
#include "sweep/spec/sweep.h"

typedef struct SweepRemoveOptions {
  SweepCommon common;
  bool yes, dry_run, stale, checkpoints, json;
} SweepRemoveOptions;

/* Checks that the user can be asked. CORE_USAGE: there is no terminal. */
int sweep_remove_check_terminal(void);
/* Asks on the terminal. CORE_FAIL: the answer is no. */
int sweep_remove_ask(const char *question);

/* Removes the checkpoints of sweeps and keeps results, logs and settings. */
int sweep_remove_checkpoints(const SweepRemoveOptions *options, const char **operands, size_t count);

#endif
