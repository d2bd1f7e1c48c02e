/* One run of the trainer: its directory, lease, logs, checkpoints and signals around training.h's computation. */
#ifndef TRAINER_RUN_H
#define TRAINER_RUN_H
#include <stdbool.h>

#include "core/config/config.h"
#include "store/workspace/run.h"

typedef struct RunOptions {
  const char *root;   /* the workspace; NULL: $SWEEP_ROOT, else the current directory */
  bool resume;        /* resume from the newest valid checkpoint, if there is one */
  bool force;         /* start over, whatever was done */
  bool quiet;         /* print nothing but errors */
  bool dry_run;       /* print what would be done; write nothing */
  bool json;          /* with dry_run: machine-readable */
  const char *if_changed; /* resume: action when the run's code has changed (run_code_check_option); NULL: refuse */
} RunOptions;

/* Trains to the end of the budget.
 *   CORE_OK       finished (now or before)
 *   CORE_FAIL     failed or diverged; the state file says which, the last valid checkpoint is kept
 *   CORE_USAGE    usage error; nothing was changed
 *   CORE_REQUEUE  a signal (SIGUSR1, SIGUSR2, SIGTERM, SIGINT) arrived: the last finished iteration was saved;
 *                 resuming continues from it, and repeats an interrupted evaluation from its beginning */
int run_train(const CoreConfig *config, const RunOptions *options);

/* ---- run_code.c -------------------------------------------------------------------------------------------------- */

/* Code that a run is trained on, recorded in its directory: the code of each attempt, and whether a run may resume
 * under changed code. store/code identifies it. */

/* Checks the option for runs with a checkpoint whose code has changed: "refuse", "keep", "restart", or a
 * comma-separated list of code hashes that may resume. CORE_USAGE: something else. */
int run_code_check_option(const char *if_changed);
/* Decides whether the run may resume from its checkpoint. *restart: it is to start over. CORE_FAIL: its code has
 * changed; the message lists the differences and the options. A run of an older version has no record of its code, and
 * resumes. */
int run_code_may_resume(const CoreConfig *config, const StoreState *before, const char *if_changed, bool *restart);
/* Records this attempt's code in `state`, after that of the attempts which it resumes from. */
int run_code_begin(const CoreConfig *config, bool goes_on, StoreState *state);
/* Writes the attempt's code to the log, and all of its files' hashes to runs/<id>/code.<attempt>.tsv. */
void run_code_record(const CoreConfig *config, const char *root, const char *id, const StoreState *state);

#endif
