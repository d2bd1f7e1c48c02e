/* Decisions of a sweep's [stop] rule: taken from results.db, written to stop.log, shown in the runs' states. Whoever
 * carries runs out asks the log which of them are stopped; nobody is told. One process at a time decides, under
 * sweep_stop_lock, so two cannot contradict each other. */
#ifndef SWEEP_DECIDE_H
#define SWEEP_DECIDE_H
#include "store/database/database.h"
#include "sweep/stop/stop_log.h"

typedef struct SweepStopOutcome {
  bool is_busy;              /* another process decides just now, or has within stop.every: nothing was done */
  size_t stopped, promoted;  /* runs */
  bool is_unmeasured;        /* runs have finished, and none has stop.measure */
} SweepStopOutcome;

/* Decides for the sweep as it was submitted last; one without [stop] has nothing to decide. The database is as it was
 * imported last. wait: for a process that decides just now. */
int sweep_stop_decide(const char *root, const char *name, StoreDatabase *database, bool wait,
                      SweepStopOutcome *outcome);
/* The same with an import before it. Unless `now`, not sooner than stop.every after the last one, by whomever. */
int sweep_stop_look(const char *root, const char *name, bool now, SweepStopOutcome *outcome);

/* A person takes runs up that are stopped; no rule stops them again. *taken: how many were. */
int sweep_stop_retry(const char *root, const char *name, const char (*runs)[CORE_RUN_ID], size_t count, size_t *taken);

/* The rule of the sweep as submitted; SWEEP_STOP_NONE also where the file cannot be read. *every_s: stop.every. */
SweepStopKind sweep_stop_of(const char *root, const char *name, double *every_s);

#endif
