/* Curves of runs that were read before, so that while a sweep trains only runs with new rows are read again. */
#ifndef SWEEP_SERVE_SERIES_CACHE_H
#define SWEEP_SERVE_SERIES_CACHE_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/runs/curve.h"
#include "core/config/config.h"

enum { SERVE_SERIES_CACHE_METRICS = 24, SERVE_SERIES_CACHE_POINTS = 4 << 20 /* 64 MB */ };

typedef struct ServeSeriesCacheEntry {
  uint64_t run;                /* id as a number */
  uint64_t version;            /* version of the rows that it was read from; 0: free */
  AnalysisCurve curve;
} ServeSeriesCacheEntry;

/* Curves of one metric over one axis. */
typedef struct ServeSeriesCacheMetric {
  char *name;                  /* NULL: free */
  ServeSeriesCacheEntry *entries; /* [capacity], hashed by run with linear probing */
  size_t count, capacity;
  int64_t used;                /* larger: used later */
} ServeSeriesCacheMetric;

/* For any number of threads. Initialize with SERVE_SERIES_CACHE_INITIALIZER. */
typedef struct ServeSeriesCache {
  pthread_mutex_t lock;        /* protects all below */
  ServeSeriesCacheMetric metrics[SERVE_SERIES_CACHE_METRICS];
  int64_t uses;
  size_t points;
} ServeSeriesCache;
#define SERVE_SERIES_CACHE_INITIALIZER {.lock = PTHREAD_MUTEX_INITIALIZER}

/* Copies the curve of a metric over a run. false: there is none of this version. */
bool serve_series_cache_find(ServeSeriesCache *cache, const char *metric, const char *run, uint64_t version,
                             AnalysisCurve *curve);
/* Keeps a copy, if need be in place of the metric that was used least recently. version 0: does not. */
void serve_series_cache_keep(ServeSeriesCache *cache, const char *metric, const char *run, uint64_t version,
                             const AnalysisCurve *curve);
void serve_series_cache_free(ServeSeriesCache *cache);

#endif
