/* Write-ahead journal of requests to Slurm and its answers: sweeps/<name>/submit.log. Lines are only appended, and each
 * is on disk before the next step. So after a crash at any moment it lists what Slurm may know, and the next submission
 * resolves it.
 *
 *   <unix seconds> <tab> <user@host> <tab> <verb> <tab> ... <tab> ;
 *   ask      batch hash array first-task tasks       request, before Slurm is called
 *   took     batch array job                         accepted as this job
 *   refused  batch array reason                      rejected
 *   gone     batch array                             lost: never accepted; a task of it exits at once
 *   cancel   run-id | all                            by sweep stop
 *   uncancel count                                   Slurm rejected the last `count` cancels
 *
 * A line without its closing ';' was cut short by a crash or a full disk before its step was taken. It is ignored. */
#ifndef SWEEP_JOURNAL_H
#define SWEEP_JOURNAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "sweep/cluster/batch.h"

typedef enum SweepArrayState {
  SWEEP_ARRAY_REQUESTED,    /* unconfirmed: Slurm may or may not have it */
  SWEEP_ARRAY_ACCEPTED,
  SWEEP_ARRAY_REJECTED,
  SWEEP_ARRAY_LOST,      /* never accepted */
} SweepArrayState;

/* A Slurm array. Its indices 0 .. tasks-1 are tasks first_task .. first_task+tasks-1 of the batch. */
typedef struct SweepArray {
  int64_t batch, array;      /* number of the batch; index of the array in it */
  char hash[SWEEP_HASH];
  int64_t first_task, tasks;
  SweepArrayState state;
  int64_t job;               /* Slurm's job id; 0: unknown */
  double requested_unix_s;
  size_t earlier_cancel_count; /* entries of journal->cancels before its request */
  char submitted_by[64];     /* user@host */
} SweepArray;

typedef struct SweepCancel {
  char id[CORE_RUN_ID];      /* "": all runs */
  char cancelled_by[64];     /* user@host */
} SweepCancel;

typedef struct SweepJournal {
  SweepArray *arrays;        /* [count], in the order of their requests */
  size_t count;
  SweepCancel *cancels;      /* [cancel_count] */
  size_t cancel_count;
  int64_t batches;           /* highest batch number; 0: never submitted */
} SweepJournal;

/* Whether the sweep has a journal, i.e. was ever submitted to Slurm. */
bool sweep_journal_exists(const char *root, const char *name);
/* Reads the journal; an absent one is empty. Torn lines are ignored; any other damage is CORE_FAIL. */
int sweep_journal_read(const char *root, const char *name, SweepJournal *journal);
void sweep_journal_free(SweepJournal *journal);

/* Appends a line and syncs it to disk. `format` gives the verb and its arguments, separated by tabs. */
int sweep_journal_append(const char *root, const char *name, const char *format, ...) CORE_PRINTF(3, 4);

/* Takes the lock for submitting, cancelling and retrying. CORE_FAIL at once if another process holds it; the message
 * names that process. The caller calls core_files_unlock. */
int sweep_journal_lock(const char *root, const char *name, int *fd);

/* Formats the comment that identifies an array in Slurm: "sweep=<name> batch=<number>.<hash>:<array>". Returns `buffer`
 * of at least SLURM_NAME bytes. */
const char *sweep_journal_comment(const char *name, int64_t batch, const char *hash, int64_t array, char *buffer);

/* Returns the user@host of the last cancel of this run after the request of `array`, which contains it; NULL: none. The
 * order of lines decides, not their times, since the machines' clocks may differ. */
const char *sweep_journal_cancelled_by(const SweepJournal *journal, const char *id, const SweepArray *array);

#endif
