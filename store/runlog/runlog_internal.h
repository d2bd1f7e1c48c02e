/* Internals shared by the writer and reader of run logs and the importer: column tables, file names and checksums. */
#ifndef STORE_RUNLOG_INTERNAL_H
#define STORE_RUNLOG_INTERNAL_H
#include <math.h>
#include <stdbool.h>

#include "store/runlog/runlog.h"

enum {
#define X(name, unit, comment) +1
  STORE_ITERATION_COUNT = 0 STORE_ITERATION_COLUMNS(X),
  STORE_EVALUATION_COUNT = 0 STORE_EVALUATION_COLUMNS(X),
  STORE_LAYER_COUNT = 1 STORE_LAYER_COLUMNS(X), /* includes the key `layer`, a number like the columns after it */
  STORE_METRIC_COUNT = 0 STORE_METRIC_NUMBERS(X),
#undef X
  STORE_RUNLOG_VERSION = 1,
};

/* Return the values of a record, in the order of the columns. */
static inline const double *store_iteration_values(const StoreIteration *row) { return &row->transitions; }
static inline const double *store_evaluation_values(const StoreEvaluation *row) { return &row->transitions; }
static inline const double *store_layer_values(const StoreLayer *row) { return &row->layer; }
static inline const double *store_metric_values(const StoreMetric *row) { return &row->step; }

/* Whether a record has no number, so that it removes the row of its key. */
static inline bool store_values_are_absent(const double *values, int count) {
  for (int i = 0; i < count; i++)
    if (!isnan(values[i])) return false;
  return true;
}

_Static_assert(sizeof(StoreIteration) == 8 + 8 * STORE_ITERATION_COUNT, "a StoreIteration is its key and its columns");
_Static_assert(sizeof(StoreEvaluation) == 8 + 64 + 8 * STORE_EVALUATION_COUNT, "a StoreEvaluation likewise");
_Static_assert(sizeof(StoreLayer) == 8 + 16 + 8 * STORE_LAYER_COUNT, "a StoreLayer likewise");
_Static_assert(sizeof(StoreMetric) == 8 + 128 + 8 * STORE_METRIC_COUNT, "a StoreMetric likewise");

typedef struct StoreLogColumn { const char *name, *unit; } StoreLogColumn;
/* Returns the numeric columns of a kind, without its keys (except `layer`). */
const StoreLogColumn *store_runlog_columns(StoreLogKind kind, size_t *count);

const char *store_runlog_kind_name(StoreLogKind kind); /* "stats", "eval", "layers", "metrics" */

/* Parses a file name such as "stats.3.tsv" into kind and attempt. Returns false for any other name. */
bool store_runlog_from_name(const char *name, StoreLogKind *kind, int *attempt);

/* Distinguishes a log that grew from one that was replaced: reads its size, and the CRC-32 of the last (at most 64)
 * bytes before `offset`, which is 0 if the file is shorter. crc NULL: reads only the size. */
int store_runlog_prefix_crc(const char *path, int64_t offset, int64_t *size, uint32_t *crc);

#endif
