/* One run of the trainer: its folder, lease, logs, checkpoints and signals around training.h's computation. */
#ifndef TRAINER_RUN_H
#define TRAINER_RUN_H
#include <stdbool.h>

#include "core/config/config.h"

typedef struct RunOptions {
  const char *root;   /* the workspace; NULL: $SWEEP_ROOT, else the current folder */
  bool resume;        /* go on from the newest good checkpoint, if there is one */
  bool force;         /* start over, whatever was done */
  bool quiet;         /* print nothing but errors */
  bool dry_run;       /* print what would be done; write nothing */
  bool json;          /* with dry_run: for scripts */
  const char *if_changed; /* resume: what to do when the run's code has changed (run_code.h); NULL: refuse */
} RunOptions;

/* Trains to the end of the budget.
 *   CORE_OK       finished (now or before)
 *   CORE_FAIL     failed or diverged; the state file says which, the last good checkpoint is kept
 *   CORE_USAGE    wrong use; nothing was changed
 *   CORE_REQUEUE  a signal (SIGUSR1, SIGUSR2, SIGTERM, SIGINT) came: the last finished iteration was saved;
 *                 resume goes on, with an evaluation that was interrupted from its beginning */
int run_train(const CoreConfig *config, const RunOptions *options);

#endif
