/* Series of one metric over a run, from results.db, thinned so that a long run costs no more than a short one. */
#ifndef SWEEP_SERVE_SERIES_H
#define SWEEP_SERVE_SERIES_H
#include "analysis/runs/columns.h"
#include "analysis/runs/curve.h"
#include "store/database/query.h"
#include "sweep/serve/series_cache.h"

/* Name of the metric that stands for evaluations on the training levels: solve rates, or returns where no run has a
 * solve rate. */
extern const char serve_series_score[];

/* Zero-initialize; serve_series_close after the last read. */
typedef struct ServeSeries {
  StoreDatabase *database;      /* borrowed */
  ServeSeriesCache *cache;      /* borrowed */
  CoreText cached;              /* name of this column's curves in the cache */
  const AnalysisColumn *column; /* column of the metric; of the score: solve rates, or returns */
  bool is_score;
  AnalysisAbscissa x;
  bool is_log_x;                /* long runs are sampled evenly in the logarithm of their iterations */
  StoreQuery *all, *last, *next; /* statements: all rows of a run, its last row, its first row from an iteration on */
} ServeSeries;

/* Finds the column of a metric: "score", "kl", or "metric.NAME" of a program. CORE_USAGE: there is no such column. */
int serve_series_find(const char *name, ServeSeries *series);
/* Prepares the statements; may be repeated with another column. */
int serve_series_open(ServeSeries *series);
/* Reads as `analyze curves` does: all rows, or the last of each 64 iterations. A run of more than
 * SERVE_SERIES_LONG iterations is sampled at SERVE_SERIES_POINTS rows. */
enum { SERVE_SERIES_LONG = 20000, SERVE_SERIES_POINTS = 400 };
int serve_series_read(const ServeSeries *series, const AnalysisRun *run, AnalysisCurve *curve);
void serve_series_close(ServeSeries *series);

#endif
