/* Averages columns over the last quarter of each run (measures.h). */
#include "analysis/runs/measures.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "store/database/query.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* sweep serve has several threads */
static const AnalysisColumn *found[ANALYSIS_MEASURE_COLUMNS]; /* NULL: unused */
static char labels[ANALYSIS_MEASURE_COLUMNS][192];
static size_t next;

int analysis_measure_columns_find(const char *name, AnalysisMeasure *measure) {
  static const char prefix[] = "metric.";
  char title[160];
  const AnalysisColumn *column;
  if (strncmp(name, prefix, sizeof prefix - 1) == 0) analysis_column_add_metric(name + sizeof prefix - 1);
  TRY(analysis_column_find("measure", name, &column));

  pthread_mutex_lock(&lock);
  size_t slot = 0;
  while (slot < ANALYSIS_MEASURE_COLUMNS && found[slot] != column) slot++;

  if (slot == ANALYSIS_MEASURE_COLUMNS) {
    slot = next++ % ANALYSIS_MEASURE_COLUMNS;
    found[slot] = column;
    analysis_column_title(column, title, sizeof title);
    snprintf(labels[slot], sizeof labels[slot], "late %s", title);
  }

  pthread_mutex_unlock(&lock);
  *measure = (AnalysisMeasure)(ANALYSIS_MEASURES + slot);
  return CORE_OK;
}

const AnalysisColumn *analysis_measure_columns_get(AnalysisMeasure measure) {
  return found[measure - ANALYSIS_MEASURES];
}

const char *analysis_measure_columns_label(AnalysisMeasure measure) { return labels[measure - ANALYSIS_MEASURES]; }

/* Returns the mean over the last quarter of the iterations up to `last`, or the last value before it; NaN: none. */
static double average_late(const AnalysisCurve *curve, int64_t last) {
  double sum = 0, before = NAN;
  size_t count = 0;
  for (size_t i = 0; i < curve->n && curve->x[i] <= (double)last; i++) {
    before = curve->y[i];
    if (curve->x[i] <= (double)(last - last / 4) && last >= 4) continue;
    sum += curve->y[i];
    count++;
  }
  return count ? sum / (double)count : before;
}

/* Copies the level set of a run's evaluations: the given one, the training levels, or its first one. */
static int find_level_set(StoreQuery *query, const char *run, const char *given, char *level_set, size_t size) {
  bool row = false;
  snprintf(level_set, size, "%s", given ? given : "train");
  if (given) return CORE_OK;
  store_query_reset(query);
  store_query_bind_text(query, 1, run);
  TRY(store_query_step(query, &row));
  if (row) snprintf(level_set, size, "%s", store_query_text(query, 0));
  return CORE_OK;
}

static int read_column(StoreDatabase *database, const AnalysisSelection *selection, const char *level_set, size_t slot,
                       AnalysisRunMetrics *measured) {
  StoreQuery *query = NULL, *level_query = NULL;
  char level[256];
  size_t infinite = 0;
  int code = store_query_open(database, found[slot]->sql, &query);
  if (code == CORE_OK)
    code = store_query_open(database, "SELECT level_set FROM evaluation WHERE run_id = ?1"
                            " ORDER BY level_set <> 'train', level_set LIMIT 1", &level_query);

  for (size_t r = 0; r < selection->count; r++) {
    if (code != CORE_OK) break;
    const AnalysisRun *run = &selection->runs[r];
    AnalysisCurve curve = {0};
    if (measured[r].broken) continue; /* it has no values */

    code = find_level_set(level_query, run->id, level_set, level, sizeof level);
    if (code == CORE_OK)
      code = analysis_column_read(found[slot], query, run, level, ANALYSIS_ITERATION, &curve, &infinite);

    measured[r].value[ANALYSIS_MEASURES + slot] = average_late(&curve, measured[r].iteration);
    analysis_curve_free(&curve);
  }

  store_query_close(&query);
  store_query_close(&level_query);
  return code;
}

int analysis_measure_columns_read(StoreDatabase *database, const AnalysisSelection *selection, const char *level_set,
                                  AnalysisRunMetrics *measured) {
  for (size_t slot = 0; slot < ANALYSIS_MEASURE_COLUMNS; slot++)
    if (found[slot]) TRY(read_column(database, selection, level_set, slot, measured));
  return CORE_OK;
}
