/* Log of the decisions of a sweep's [stop] rule: sweeps/<name>/stop.log, lines as in line_log.h. It is authoritative on
 * which runs are stopped; states of runs follow it.
 *
 *   stop     run rule rung transitions value threshold why    stopped at that point; "-": the rule has no such value
 *   promote  run rule rung transitions value threshold why    asha: its setting continues beyond that rung
 *   retry    run                                              resumed by a user; no rule stops it again
 *
 * Written under sweep_stop_lock only. */
#ifndef SWEEP_STOP_LOG_H
#define SWEEP_STOP_LOG_H
#include "sweep/spec/id_set.h"
#include "sweep/spec/stop_rule.h"

enum { SWEEP_STOP_WHY = 200 };

typedef enum SweepStopVerb { SWEEP_STOPS, SWEEP_PROMOTES, SWEEP_RETRIES } SweepStopVerb;

typedef struct SweepStopEntry {
  SweepStopVerb verb;
  char run[CORE_RUN_ID];
  SweepStopKind rule;
  int rung;                    /* asha: 0, 1, ...; else -1 */
  double transitions, value, threshold; /* NaN: none */
  double unix_s;
  char who[64];
  char why[SWEEP_STOP_WHY];    /* one line */
} SweepStopEntry;

/* State of a run after all of its lines. */
typedef struct SweepStopState {
  bool is_stopped, is_exempt;
  int level;    /* number of rungs that it was promoted from */
  size_t entry; /* index of its last line */
} SweepStopState;

typedef struct SweepStopLog {
  SweepStopEntry *entries;
  size_t count;
  SweepIdSet runs;       /* runs with lines */
  SweepStopState *state; /* [runs.count] */
} SweepStopLog;

/* Reads the log; an absent one is empty. CORE_FAIL: a line is damaged. Caller frees. */
int sweep_stop_log_read(const char *root, const char *name, SweepStopLog *log);
void sweep_stop_log_free(SweepStopLog *log);
/* Returns the state of a run; NULL: it has no lines. */
const SweepStopState *sweep_stop_log_find(const SweepStopLog *log, const char *run);
bool sweep_stop_log_is_stopped(const SweepStopLog *log, const char *run);

/* Appends an entry, with time and user, and syncs the file. */
int sweep_stop_log_append(const char *root, const char *name, const SweepStopEntry *entry);
/* Formats "asha: its value ..." for a run's message. */
void sweep_stop_log_format(const SweepStopEntry *entry, char *text, size_t size);

/* Locks decisions and retries. wait: wait for the holder; otherwise CORE_FAIL at once. Release by core_files_unlock. */
int sweep_stop_lock(const char *root, const char *name, bool wait, int *fd);
/* Returns the size of the log in bytes, which grows with every entry; 0: no log. */
int64_t sweep_stop_log_size(const char *root, const char *name);

#endif
