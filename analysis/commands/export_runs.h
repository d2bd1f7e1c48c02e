/* What exporters to other programs' formats (mlflow.c, tensorboard.c) read of results.db: the runs, and of each its
 * iterations and evaluations. */
#ifndef ANALYSIS_EXPORT_RUNS_H
#define ANALYSIS_EXPORT_RUNS_H
#include "store/database/query.h"
#include "store/runlog/runlog.h"

typedef struct ExportTable {
  const char *name, *extra;      /* of the table; keys beside `iteration`, as ", level_set" */
  const char *const *columns;    /* [count] */
  int count;
} ExportTable;
extern const ExportTable export_iterations, export_evaluations;

/* The run of a row. */
typedef struct ExportRun {
  char id[CORE_RUN_ID];
  const char *status, *config;   /* the configuration as JSON; NULL: unknown. Both until the next step */
  double started_s, ended_s;     /* Unix time; its first attempt's start; of a run that never began, when that was seen,
                                  * or now */
  int64_t iteration;             /* done */
} ExportRun;

/* Opens the runs of `sweep` (NULL: all), by id. */
int export_runs_open(StoreDatabase *database, const char *sweep, StoreQuery **query);
/* The next; *more false: there is none. CORE_FAIL also: an id that is none, as a foreign file may have. */
int export_runs_next(StoreQuery *query, ExportRun *run, bool *more);
/* CORE_USAGE: there were no runs. */
int export_runs_none(const char *sweep);

/* SELECT iteration, <extra>, <columns> of one run, beyond iteration `after`. */
int export_rows_open(StoreDatabase *database, const ExportTable *table, const char *id, int64_t after,
                     StoreQuery **query);
/* The place of a column of the table, counted from 0. */
int export_column(const ExportTable *table, const char *name);

/* Calls add(to, "ppo.com", value) for each setting of a configuration as JSON. */
void export_settings(const char *config, void (*add)(void *to, const char *name, const json_t *value), void *to);

#endif
