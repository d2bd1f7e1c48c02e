/* The runs of results.db as event files of TensorBoard. */
#ifndef ANALYSIS_TENSORBOARD_H
#define ANALYSIS_TENSORBOARD_H
#include "store/database/database.h"

typedef struct TensorboardTarget {
  const char *folder;     /* one folder a run below it, by its id; made when absent */
  int64_t every;          /* each so manieth iteration, from 1; the last one always */
} TensorboardTarget;

/* Writes the runs of `sweep` (NULL: all) and prints a line at the end. Scalars "train/kl" of iterations and
 * "eval/<level set>/solve_rate" of evaluations by transitions; settings that are not the defaults in all runs for the
 * HParams page. A second call writes the files anew. */
int tensorboard_export(StoreDatabase *database, const char *sweep, const TensorboardTarget *target);

#endif
