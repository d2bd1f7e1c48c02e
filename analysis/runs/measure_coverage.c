/* Reads coverage columns at equal numbers of states (measure_coverage.h). */
#include "analysis/runs/measure_coverage.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/runs/tasks.h"
#include "core/memory.h"
#include "store/database/query.h"

/* The states that a run has looked at by its last row; coverage is measured in one of so many iterations, so that of a
 * run which has none the whole log need not be read. */
static const char states_sql[] =
  "SELECT coverage_states FROM iteration_row WHERE row BETWEEN ?1 << 32 | max(?2 - ?3, 0) AND ?1 << 32 | ?2"
  " AND coverage_states IS NOT NULL ORDER BY row DESC LIMIT 1";
static const char coverage_sql[] =
  "SELECT coverage_50 FROM iteration_row WHERE row BETWEEN ?1 << 32 AND ?1 << 32 | ?2 AND coverage_states <= ?3"
  " ORDER BY row DESC LIMIT 1";

static int read_states(StoreQuery *query, const AnalysisRun *run, int64_t key, int64_t last, double *states) {
  const int64_t every = run->config.metrics.representation_every, other = run->config.metrics.every;
  bool row = false;
  store_query_reset(query);
  store_query_bind_int(query, 1, key);
  store_query_bind_int(query, 2, last);
  store_query_bind_int(query, 3, 2 * (every > other ? every : other));
  TRY(store_query_step(query, &row));
  if (row) *states = store_query_real(query, 0);
  return CORE_OK;
}

static int read_coverage(StoreQuery *query, int64_t key, int64_t last, double states, double *coverage) {
  bool row = false;
  store_query_reset(query);
  store_query_bind_int(query, 1, key);
  store_query_bind_int(query, 2, last);
  store_query_bind_real(query, 3, states);
  TRY(store_query_step(query, &row));
  if (row) *coverage = store_query_real(query, 0);
  return CORE_OK;
}

/* What the runs of r's task and budget have in common: the fewest states of those that have ended. */
static double common_states(const AnalysisSelection *selection, const size_t *task, const AnalysisMeasured *measured,
                            const double *states, size_t r) {
  double fewest = INFINITY;
  for (size_t i = 0; i < selection->count; i++) {
    const bool alike = task[i] == task[r] &&
                       selection->runs[i].config.train.total_steps == selection->runs[r].config.train.total_steps;
    if (alike && measured[i].ended && states[i] < fewest) fewest = states[i];
  }
  return fewest;
}

static int read_all(StoreQuery *of_states, StoreQuery *of_coverage, const AnalysisSelection *selection,
                    const int64_t *key, const int64_t *last, double *states, size_t *task, AnalysisMeasured *measured) {
  analysis_tasks_find(selection, task);
  for (size_t r = 0; r < selection->count; r++) {
    states[r] = NAN;
    const bool has_worlds = !core_config_has_no_worlds(&selection->runs[r].config);
    if (last[r] > 0 && has_worlds) TRY(read_states(of_states, &selection->runs[r], key[r], last[r], &states[r]));
  }
  for (size_t r = 0; r < selection->count; r++) {
    if (isnan(states[r])) continue;
    const double common = common_states(selection, task, measured, states, r);
    if (states[r] >= common)
      TRY(read_coverage(of_coverage, key[r], last[r], common, &measured[r].value[ANALYSIS_MEASURE_coverage]));
  }
  return CORE_OK;
}

int analysis_measures_read_coverage(StoreDatabase *database, const AnalysisSelection *selection, const int64_t *key,
                                    const int64_t *last, AnalysisMeasured *measured) {
  StoreQuery *of_states = NULL, *of_coverage = NULL;
  double *states = core_memory_allocate((selection->count + 1) * sizeof *states);
  size_t *task = core_memory_allocate((selection->count + 1) * sizeof *task);
  int code = store_query_open(database, states_sql, &of_states);
  if (code == CORE_OK) code = store_query_open(database, coverage_sql, &of_coverage);
  if (code == CORE_OK) code = read_all(of_states, of_coverage, selection, key, last, states, task, measured);
  store_query_close(&of_states);
  store_query_close(&of_coverage);
  free(states);
  free(task);
  return code;
}
