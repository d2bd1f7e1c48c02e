/* Copy of results.db in an MLflow server, through its REST API 2.0: sweeps as experiments, runs as runs, settings as
 * parameters, iterations, evaluations and named metrics as metrics. results.db remains authoritative: the copy
 * can be recreated at any time, and a second call continues where the first one stopped. */
#ifndef ANALYSIS_MLFLOW_H
#define ANALYSIS_MLFLOW_H
#include "store/database/database.h"

typedef struct MlflowTarget {
  const char *url;        /* http(s)://host:port[/prefix] */
  const char *experiment; /* name of the experiment; NULL: the sweep's, or "sweep" for all runs */
  int64_t every;          /* export every Nth iteration, counting from 1, plus the last */
} MlflowTarget;

/* Copies the runs of `sweep` (NULL: all) and prints a summary. A token is read from MLFLOW_TRACKING_TOKEN and never
 * shown. CORE_FAIL: the server is unreachable or refuses; the message has its reason. */
int mlflow_export(StoreDatabase *database, const char *sweep, const MlflowTarget *target);

#endif
