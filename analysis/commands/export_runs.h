/* Runs, iterations, evaluations and named metrics of results.db, as exporters to other formats (mlflow.c,
 * tensorboard.c) read them. */
#ifndef ANALYSIS_EXPORT_RUNS_H
#define ANALYSIS_EXPORT_RUNS_H
#include "store/database/query.h"
#include "store/runlog/runlog.h"

typedef struct ExportTable {
  const char *name, *extra;      /* table; its keys in addition to `iteration`, as ", level_set" */
  const char *const *columns;    /* [count] */
  int count;
} ExportTable;
extern const ExportTable export_iterations, export_evaluations;

/* Run of a row. */
typedef struct ExportRun {
  char id[CORE_RUN_ID];
  const char *status, *config;   /* configuration as JSON; NULL: unknown. Both valid until the next step */
  double started_s, ended_s;     /* Unix time; its first attempt's start; of a run that never began, when that was seen,
                                  * or now */
  int64_t iteration;             /* iterations done */
  bool has_whole_steps;          /* whether the steps of its iterations are integers, as those of epochs may not be */
} ExportRun;

/* Opens the runs of `sweep` (NULL: all), sorted by id. */
int export_runs_open(StoreDatabase *database, const char *sweep, StoreQuery **query);
/* Reads the next run; *more false: none. CORE_FAIL also for an invalid id, as in a foreign file. */
int export_runs_next(StoreQuery *query, ExportRun *run, bool *more);
/* Returns CORE_USAGE: there are no runs. */
int export_runs_none(const char *sweep);

/* Makes readable names (core/config/label.h) of the runs of `sweep` (NULL: all, each by what differs in its first
 * sweep): {id: name}. Caller calls json_decref. */
int export_runs_names(StoreDatabase *database, const char *sweep, json_t **names);

/* Opens SELECT iteration, <extra>, <columns> for one run, after iteration `after`. */
int export_rows_open(StoreDatabase *database, const ExportTable *table, const char *id, int64_t after,
                     StoreQuery **query);
/* Returns the index of a column of the table. */
int export_column(const ExportTable *table, const char *name);
/* Returns the x value of a row, for formats with integer steps: `step`, or the iteration if the run has others. */
int64_t export_step(const ExportRun *run, double step, int64_t iteration);

/* Opens the named metrics of a run from iteration `from` on: name, iteration, step, value and the iteration's
 * wall_seconds. `every`: only the last value of each metric in as many iterations; 1: all. */
int export_metrics_open(StoreDatabase *database, const char *id, int64_t from, int64_t every, StoreQuery **query);

/* Names that a format gives to columns: <prefix>kl, and eval<separator>train<separator>solve_rate. */
typedef struct ExportNaming { const char *prefix; char separator; } ExportNaming;
enum { EXPORT_NAME_MAX = 256 };
/* Copies the name of a named metric: its own, or behind "metric/" if it is that of a column. UTF-8. */
void export_metric_name(ExportNaming naming, const char *metric, char name[EXPORT_NAME_MAX]);

/* Calls add(to, "ppo.com", value) for each setting of a configuration given as JSON. */
void export_settings(const char *config, void (*add)(void *to, const char *name, const json_t *value), void *to);

#endif
