/* What was asked of Slurm and what it answered: sweeps/<name>/submit.log. Lines are only ever appended, and each is on
 * disk before the next step is taken. So after a crash at any moment it says what Slurm may know, and submit finds out.
 *
 *   <unix seconds> <tab> <who> <tab> <verb> <tab> ... <tab> ;
 *   ask      batch hash array first-task tasks       before Slurm is called
 *   took     batch array job                         it is job so-and-so
 *   refused  batch array reason                      Slurm said no
 *   gone     batch array                             asked, but Slurm never took it; a task of it ends at once
 *   cancel   run-id | all                            by sweep cancel
 *   uncancel number                                  Slurm has refused: so many of the last cancels were not done
 *
 * A line without its closing ';' was cut short by a crash or a full disk, before its step was taken. It does not
 * count. */
#ifndef SWEEP_JOURNAL_H
#define SWEEP_JOURNAL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config/config.h"
#include "sweep/cluster/batch.h"

typedef enum SweepArrayState {
  SWEEP_ARRAY_REQUESTED,    /* nobody knows whether Slurm has it */
  SWEEP_ARRAY_ACCEPTED,
  SWEEP_ARRAY_REJECTED,
  SWEEP_ARRAY_LOST,
} SweepArrayState;

/* One Slurm array: tasks first_task .. first_task+tasks-1 of its batch, as its indices 0 .. tasks-1. */
typedef struct SweepArray {
  int64_t batch, array;      /* array: 0, 1, ... in its batch */
  char hash[SWEEP_HASH];
  int64_t first_task, tasks;
  SweepArrayState state;
  int64_t job;               /* 0 until it is known */
  double requested_unix_s;
  size_t earlier_cancel_count;     /* how many of journal->cancels were written before it was asked for */
  char who[64];              /* who submitted it */
} SweepArray;

typedef struct SweepCancel { char id[CORE_RUN_ID]; /* "" = all */ char who[64]; } SweepCancel;

typedef struct SweepJournal {
  SweepArray *arrays;        /* in the order in which they were asked for */
  size_t count;
  SweepCancel *cancels;
  size_t cancel_count;
  int64_t batches;           /* the highest batch number; 0: nothing was ever submitted */
} SweepJournal;

/* Has this sweep a journal: was any of it given to Slurm? */
bool sweep_journal_exists(const char *root, const char *name);
/* An absent journal is an empty one. Torn lines are left out; any other damage is CORE_FAIL. */
int sweep_journal_read(const char *root, const char *name, SweepJournal *journal);
void sweep_journal_free(SweepJournal *journal);

/* Appends one line and brings it to disk. `format` gives verb and arguments, separated by tabs. */
int sweep_journal_append(const char *root, const char *name, const char *format, ...) CORE_PRINTF(3, 4);

/* The lock of whoever submits, cancels or retries: CORE_FAIL at once, with who holds it. core_files_unlock. */
int sweep_journal_lock(const char *root, const char *name, int *fd);

/* The comment that Slurm keeps with an array: "sweep=<name> batch=<number>.<hash>:<array>". buffer >= SLURM_NAME. */
const char *sweep_journal_comment(const char *name, int64_t batch, const char *hash, int64_t array, char *buffer);

/* Who cancelled this run last after `array`, which carries it, was asked for; or NULL. By the order of the journal's
 * lines, since they are written on machines whose clocks may differ. */
const char *sweep_journal_cancelled_by(const SweepJournal *journal, const char *id, const SweepArray *array);

#endif
