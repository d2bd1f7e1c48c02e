/* One run of the trainer: its directory, lease, logs, checkpoints and signals around training.h's computation. */
#ifndef TRAINER_RUN_H
#define TRAINER_RUN_H
#include <stdbool.h>

#include "core/config/config.h"

typedef struct RunOptions {
  const char *root;   /* the workspace; NULL: $SWEEP_ROOT, else the current directory */
  bool resume;        /* resume from the newest valid checkpoint, if there is one */
  bool force;         /* start over, whatever was done */
  bool quiet;         /* print nothing but errors */
  bool dry_run;       /* print what would be done; write nothing */
  bool json;          /* with dry_run: machine-readable */
  const char *if_changed; /* resume: action when the run's code has changed (run_code.h); NULL: refuse */
} RunOptions;

/* Trains to the end of the budget.
 *   CORE_OK       finished (now or before)
 *   CORE_FAIL     failed or diverged; the state file says which, the last valid checkpoint is kept
 *   CORE_USAGE    usage error; nothing was changed
 *   CORE_REQUEUE  a signal (SIGUSR1, SIGUSR2, SIGTERM, SIGINT) arrived: the last finished iteration was saved;
 *                 resuming continues from it, and repeats an interrupted evaluation from its beginning */
int run_train(const CoreConfig *config, const RunOptions *options);

#endif
