/* Decisions of a sweep's [stop] rule: made from results.db, written to stop.log, shown in the runs' states. Processes
 * that execute runs poll the log for stopped ones. One process at a time decides, under sweep_stop_lock, so that
 * decisions cannot contradict each other. */
#ifndef SWEEP_DECIDE_H
#define SWEEP_DECIDE_H
#include "store/database/database.h"
#include "sweep/stop/stop_log.h"

typedef struct SweepStopOutcome {
  bool is_busy;             /* another process is deciding, or has decided within stop.every */
  size_t stopped, promoted; /* number of runs */
  bool is_unmeasured;       /* runs have finished, but none has a value of stop.measure */
} SweepStopOutcome;

/* Applies the rule of the sweep's last submission, if it has one, to rows that are already imported. wait: wait for
 * another process that is deciding. */
int sweep_stop_decide(const char *root, const char *name, StoreDatabase *database, bool wait,
                      SweepStopOutcome *outcome);
/* Imports new rows and applies the rule. Unless `now`, does nothing within stop.every of the last time by any
 * process. */
int sweep_stop_poll(const char *root, const char *name, bool now, SweepStopOutcome *outcome);

/* Exempts stopped runs from the rule for good, so that they can resume. *resumed: their number. */
int sweep_stop_retry(const char *root, const char *name, const char (*runs)[CORE_RUN_ID], size_t count,
                     size_t *resumed);

/* Returns the rule of the submitted sweep; SWEEP_STOP_NONE also if its file cannot be read. *every_s: stop.every. */
SweepStopKind sweep_stop_read_rule(const char *root, const char *name, double *every_s);

#endif
