/* A copy of results.db in an MLflow server, through its REST API 2.0: an experiment a sweep, a run a run, settings as
 * parameters, iterations and evaluations as metrics (step = iteration). results.db stays the truth: the copy can be
 * made again at any time, and a second call goes on where the first one stopped. */
#ifndef ANALYSIS_MLFLOW_H
#define ANALYSIS_MLFLOW_H
#include "store/database/database.h"

typedef struct MlflowTarget {
  const char *url;        /* http(s)://host:port[/prefix] */
  const char *experiment; /* its name; NULL: the sweep's, or "sweep" for all runs */
  int64_t every;          /* each so manieth iteration, from 1; the last one always */
} MlflowTarget;

/* Copies the runs of `sweep` (NULL: all) and prints a line at the end. A token comes from MLFLOW_TRACKING_TOKEN and is
 * never shown. CORE_FAIL: the server cannot be reached or refuses, with its own words. */
int mlflow_export(StoreDatabase *database, const char *sweep, const MlflowTarget *target);

#endif
