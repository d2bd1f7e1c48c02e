/* A run's directory (paths.h): its configuration, the lease that excludes a second writer, and its published state.
 *
 *   config.ini   the resolved configuration        log.txt      log messages
 *   state        key=value lines, replaced atomically          ckpt/  checkpoints
 *   attempts.tsv how each attempt ended            code.<attempt>.tsv  files and versions of its code
 *   lease        fcntl-locked by the writer         stats.<attempt>.tsv, eval.<attempt>.tsv  run logs (runlog.h)
 *
 * A locked lease means a live writer on this host; state carries host, pid and heartbeat for every other reader. */
#ifndef STORE_RUN_H
#define STORE_RUN_H
#include <stdbool.h>
#include <stdint.h>

#include "core/config/config.h"

typedef enum StoreStatus {
  STORE_PENDING,   /* no attempt yet, or no directory */
  STORE_RUNNING,
  STORE_FINISHED,
  STORE_FAILED,    /* with the program's reason */
  STORE_STOPPED,   /* stopped on request, with a checkpoint */
  STORE_DIVERGED,  /* NaN or infinity */
  STORE_STOPPED_BY_RULE, /* by its sweep's [stop] rule (sweep/stop): censored, with a checkpoint and a reason */
  STORE_LOST,      /* "running" without a live process or heartbeat; derived, never written */
} StoreStatus;
enum { STORE_STATUSES = STORE_LOST + 1 };
/* The statuses in the order in which all commands list them: finished runs, active ones, those that need attention. */
extern const StoreStatus store_status_order[STORE_STATUSES];
const char *store_status_name(StoreStatus status);             /* "finished" */
bool store_status_from_name(const char *name, StoreStatus *status);
/* Whether a run has ended for good: finished or diverged. */
static inline bool store_status_is_final(StoreStatus status) {
  return status == STORE_FINISHED || status == STORE_DIVERGED;
}

/* Whether a run has ended without a result: it failed or diverged. Its score is that of an untrained policy. */
static inline bool store_status_is_broken(StoreStatus status) {
  return status == STORE_FAILED || status == STORE_DIVERGED;
}

typedef struct StoreState {
  StoreStatus status;
  int attempt;                   /* 1, 2, ...; 0 = never started */
  char host[64];
  int64_t pid;
  double started_unix_s, heartbeat_unix_s, finished_unix_s;
  int64_t iteration, iterations; /* finished, planned */
  int64_t transitions, transitions_total;
  double steps_per_second, solve_rate; /* latest; NaN when unknown */
  double episode_return;         /* latest, for tasks without a goal; NaN otherwise */
  double train_seconds;          /* total over all attempts */
  char device[96];               /* "cpu, oneDNN 3.7, avx512; ranks: 4, threads: 8" */
  char commit[48];
  char parent[48];               /* "<id>@<iteration>" of init.from; empty: none */
  char message[512];             /* last error, one line */
  char code[264];                /* hash of its code (store/code); if it was resumed with other code, all hashes, oldest
                                  * first, joined by '+'; empty: only the trainer's own code */
  char code_files[1024];         /* files with their hashes, and package versions */
} StoreState;

enum { STORE_HEARTBEAT_S = 5, STORE_LOST_AFTER_S = 60 };

/* Creates the run's directory with config.ini if missing; in an existing config.ini, settings outside the id take the
 * new values. CORE_FAIL: the existing config.ini describes another run. */
int store_run_prepare(const char *root, const CoreConfig *config, char id[CORE_RUN_ID]);

/* Reads the state; a missing file gives STORE_PENDING. `concluded`: turns a dead "running" into STORE_LOST (same host:
 * the lease is free; other host: heartbeat older than STORE_LOST_AFTER_S by store_run_age_s). CORE_FAIL: the file is
 * damaged; *state then has the readable fields. */
int store_run_state_read(const char *root, const char *id, bool concluded, StoreState *state);
/* Returns the seconds since the state file was last written, which a live run does every STORE_HEARTBEAT_S, by the file
 * system's clock. Negative: that clock was set back; 0: no file. */
double store_run_age_s(const char *root, const char *id);
int store_run_state_write(const char *root, const char *id, const StoreState *state);

/* Reads attempts.tsv; the last of several lines of one attempt counts, and damaged lines are ignored. A missing file
 * gives none. free(*attempts). */
int store_attempts_read(const char *root, const char *id, StoreState **attempts, size_t *count);

/* Acquires the lease of the run's directory, taking over a stale one. CORE_FAIL: a live writer holds it; the message
 * has its host and pid. Released by store_run_release or the end of the process. */
typedef struct StoreLease StoreLease;
int store_run_acquire(const char *root, const char *id, StoreLease **lease);
void store_run_release(StoreLease **lease);
/* Returns the process of this host that holds the run's lease, as the kernel knows it, whatever the run's files say; 0:
 * none, or a process that cannot be seen here. Not for processes that hold leases: closing the file releases theirs. */
long store_run_writer(const char *root, const char *id);

#endif
