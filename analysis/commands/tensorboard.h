/* TensorBoard event files of the runs of results.db. */
#ifndef ANALYSIS_TENSORBOARD_H
#define ANALYSIS_TENSORBOARD_H
#include "store/database/database.h"

typedef struct TensorboardTarget {
  const char *directory;     /* output directory with one subdirectory per run, named by its id; created if missing */
  int64_t every;          /* export every Nth iteration, counting from 1, plus the last */
} TensorboardTarget;

/* Writes the runs of `sweep` (NULL: all) and prints a summary: scalars "train/kl" of iterations and "eval/<level
 * set>/solve_rate" of evaluations and named metrics by steps, and for the HParams page the settings that differ from
 * the defaults in some run. A second call rewrites the files. */
int tensorboard_export(StoreDatabase *database, const char *sweep, const TensorboardTarget *target);

#endif
