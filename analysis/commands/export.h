/* Formats of `analyze export` (export.c) other than CSV and JSON lines, and the files that all formats write. */
#ifndef ANALYSIS_COMMANDS_EXPORT_H
#define ANALYSIS_COMMANDS_EXPORT_H
#include <stdio.h>

#include "core/files.h"
#include "store/database/database.h"

/* ---- mlflow.c ---------------------------------------------------------------------------------------------------- */

/* Copy of results.db in an MLflow server, through its REST API 2.0: sweeps as experiments, runs as runs, settings as
 * parameters, iterations, evaluations and named metrics as metrics. results.db remains authoritative: the copy
 * can be recreated at any time, and a second call continues where the first one stopped. */

typedef struct MlflowTarget {
  const char *url;        /* http(s)://host:port[/prefix] */
  const char *experiment; /* name of the experiment; NULL: the sweep's, or "sweep" for all runs */
  int64_t every;          /* export every Nth iteration, counting from 1, plus the last */
} MlflowTarget;

/* Copies the runs of `sweep` (NULL: all) and prints a summary. A token is read from MLFLOW_TRACKING_TOKEN and never
 * shown. CORE_FAIL: the server is unreachable or refuses; the message has its reason. */
int mlflow_export(StoreDatabase *database, const char *sweep, const MlflowTarget *target);

/* ---- tensorboard.c ----------------------------------------------------------------------------------------------- */

/* TensorBoard event files of the runs of results.db. */

typedef struct TensorboardTarget {
  const char *directory;     /* output directory with one subdirectory per run, named by its id; created if missing */
  int64_t every;          /* export every Nth iteration, counting from 1, plus the last */
} TensorboardTarget;

/* Writes the runs of `sweep` (NULL: all) and prints a summary: scalars "train/kl" of iterations and "eval/<level
 * set>/solve_rate" of evaluations and named metrics by steps, and for the HParams page the settings that differ from
 * the defaults in some run. A second call rewrites the files. */
int tensorboard_export(StoreDatabase *database, const char *sweep, const TensorboardTarget *target);

/* ---- export.c ---------------------------------------------------------------------------------------------------- */

/* File that is written under a temporary name first, so that the final name always denotes a complete file. */

typedef struct ExportFile {
  FILE *stream;               /* the caller writes here */
  char path[CORE_PATH_MAX], temporary[CORE_PATH_MAX];
} ExportFile;

/* Opens the temporary file. CORE_FAIL: the directory does not exist or is not writable. */
int export_file_begin(const char *path, ExportFile *file);
/* Closes and renames the file. code: the caller's result so far; if it is not CORE_OK, or writing failed, an
 * existing file is kept. */
int export_file_end(ExportFile *file, int code);

#endif
