/* A run's folder (paths.h says where): its config, the lease that keeps a second writer out, and its state as others
 * see it.
 *
 *   config.ini   the resolved configuration        log.txt      the program's own messages
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
  STORE_PENDING,   /* no attempt yet, or the folder is not there */
  STORE_RUNNING,
  STORE_FINISHED,
  STORE_FAILED,    /* the program said why */
  STORE_STOPPED,   /* asked to stop; has a checkpoint */
  STORE_DIVERGED,  /* NaN or infinity */
  STORE_STOPPED_BY_RULE, /* by its sweep's [stop] rule (sweep/stop): censored; has a checkpoint, `message` says why */
  STORE_LOST,      /* says running, but its process or heartbeat is gone (never written, only concluded) */
} StoreStatus;
const char *store_status_name(StoreStatus status);             /* "finished" */
bool store_status_from_name(const char *name, StoreStatus *status);

typedef struct StoreState {
  StoreStatus status;
  int attempt;                   /* 1, 2, ...; 0 = never started */
  char host[64];
  int64_t pid;
  double started_unix_s, heartbeat_unix_s, finished_unix_s;
  int64_t iteration, iterations; /* finished, planned */
  int64_t transitions, transitions_total;
  double steps_per_second, solve_rate; /* latest; NaN when unknown */
  double episode_return;         /* latest, where episodes have no goal; NaN elsewhere */
  double train_seconds;          /* of all attempts */
  char device[64], commit[48];
  char parent[48];               /* "<id>@<iteration>" that it started from (init.from); empty: none */
  char message[512];             /* the last error, one line */
  char code[264];                /* hash of the code that it is trained on (store/code); of a run that went on under
                                  * other code all of them, oldest first, '+' between; empty: the trainer's alone */
  char code_files[1024];         /* its files with their hashes, and versions of packages */
} StoreState;

enum { STORE_HEARTBEAT_S = 5, STORE_LOST_AFTER_S = 60 };

/* Creates the run's folder with config.ini when it is not there yet (both may exist already; settings that are not part
 * of the id take the new values). CORE_FAIL when config.ini there describes another run. */
int store_run_prepare(const char *root, const CoreConfig *config, char id[CORE_RUN_ID]);

/* Reads the state as written; a missing file gives STORE_PENDING. `concluded`: turns a dead "running" into STORE_LOST
 * (same host: nobody holds the lease; other host: heartbeat older than STORE_LOST_AFTER_S, by store_run_age_s).
 * CORE_FAIL: the file is damaged; *state then holds what could be read. */
int store_run_state_read(const char *root, const char *id, bool concluded, StoreState *state);
/* Seconds since the state file was last written, which a live run does every STORE_HEARTBEAT_S: by the clock that
 * stamps files, so that neither the writer's clock nor this machine's matters. Negative: that clock was set back since.
 * A file that is not there: 0. */
double store_run_age_s(const char *root, const char *id);
int store_run_state_write(const char *root, const char *id, const StoreState *state);

/* The right to write in the run's folder: fails with CORE_FAIL and the holder's host and pid when a live writer has it.
 * A stale one is taken over. Released by store_run_release or the process's end. */
typedef struct StoreLease StoreLease;
int store_run_acquire(const char *root, const char *id, StoreLease **lease);
void store_run_release(StoreLease **lease);

#endif
