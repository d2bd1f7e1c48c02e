/* What a sweep's [stop] rule has decided: sweeps/<name>/stop.log, lines as in line_log.h. It says which runs are
 * stopped; a run's own state only shows it.
 *
 *   stop     run rule rung transitions value threshold why    it is stopped there; "-" stands for what a rule has not
 *   promote  run rule rung transitions value threshold why    asha: its setting goes on from that rung
 *   retry    run                                              a person takes it up; no rule stops it again
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
  double transitions, value, threshold; /* NaN: there is none */
  double unix_s;
  char who[64];
  char why[SWEEP_STOP_WHY];    /* one line */
} SweepStopEntry;

/* What holds of a run after all its lines. */
typedef struct SweepStopStanding {
  bool is_stopped, is_exempt;
  int level;                   /* rungs that it was promoted from: 0, 1, ... */
  size_t entry;                /* its last line */
} SweepStopStanding;

typedef struct SweepStopLog {
  SweepStopEntry *entries;
  size_t count;
  SweepIdSet runs;             /* that have a line */
  SweepStopStanding *standing; /* [runs.count] */
} SweepStopLog;

/* An absent log is an empty one. CORE_FAIL: a line is damaged. Caller frees. */
int sweep_stop_log_read(const char *root, const char *name, SweepStopLog *log);
void sweep_stop_log_free(SweepStopLog *log);
/* NULL: no line is about it. */
const SweepStopStanding *sweep_stop_log_find(const SweepStopLog *log, const char *run);
bool sweep_stop_log_stops(const SweepStopLog *log, const char *run);

/* Appends and brings to disk; time and who are filled in by it. */
int sweep_stop_log_append(const char *root, const char *name, const SweepStopEntry *entry);
/* "asha: its value ...", for a run's state and for people. */
void sweep_stop_log_words(const SweepStopEntry *entry, char *text, size_t size);

/* Who decides, or takes runs up. wait: for the one who has it now; else CORE_FAIL at once. core_files_unlock. */
int sweep_stop_lock(const char *root, const char *name, bool wait, int *fd);
/* Bytes of the log: another number means news. 0: there is none. */
int64_t sweep_stop_log_size(const char *root, const char *name);

#endif
