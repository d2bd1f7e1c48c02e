/* Reads coverage columns at equal numbers of states (measure_coverage.h). */
#include "analysis/runs/measure_coverage.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/runs/tasks.h"
#include "core/memory.h"
#include "store/database/query.h"

/* Number of states counted by a run's last row. Coverage is measured every so often, so that the log of a run
 * without coverage need not be read completely. */
static const char states_sql[] =
  "SELECT coverage_states FROM iteration WHERE run_id = ?1 AND iteration BETWEEN ?2 - ?3 AND ?2"
  " AND coverage_states IS NOT NULL ORDER BY iteration DESC LIMIT 1";
static const char coverage_sql[] =
  "SELECT coverage_50 FROM iteration WHERE run_id = ?1 AND iteration <= ?2 AND coverage_states <= ?3"
  " ORDER BY iteration DESC LIMIT 1";

static int read_states(StoreQuery *query, const AnalysisRun *run, int64_t last, double *states) {
  const int64_t every = run->config.shared->metrics.representation_every, other = run->config.shared->metrics.every;
  bool row = false;
  store_query_reset(query);
  store_query_bind_text(query, 1, run->id);
  store_query_bind_int(query, 2, last);
  store_query_bind_int(query, 3, 2 * (every > other ? every : other));
  TRY(store_query_step(query, &row));
  if (row) *states = store_query_real(query, 0);
  return CORE_OK;
}

static int read_coverage(StoreQuery *query, const AnalysisRun *run, int64_t last, double states, double *coverage) {
  bool row = false;
  store_query_reset(query);
  store_query_bind_text(query, 1, run->id);
  store_query_bind_int(query, 2, last);
  store_query_bind_real(query, 3, states);
  TRY(store_query_step(query, &row));
  if (row) *coverage = store_query_real(query, 0);
  return CORE_OK;
}

typedef struct Compared {
  const AnalysisSelection *selection;
  const AnalysisRunMetrics *measured;
  const size_t *run, *task;       /* [count] indices in the selection; task[run of the selection] */
  double *states;                 /* [count] states counted by the last row; NaN: not measured */
  size_t count;
} Compared;

/* Returns the smallest number of states of the runs of i's task and budget that reached it. */
static double common_states(const Compared *c, size_t i) {
  const AnalysisRun *runs = c->selection->runs;
  double fewest = INFINITY;
  for (size_t k = 0; k < c->count; k++) {
    const AnalysisRunMetrics *m = &c->measured[c->run[k]];
    const CoreConfig *a = runs[c->run[k]].config.shared, *b = runs[c->run[i]].config.shared;
    const bool alike = c->task[c->run[k]] == c->task[c->run[i]] && a->train.total_steps == b->train.total_steps;
    if (alike && m->ended && !m->broken && c->states[k] < fewest) fewest = c->states[k];
  }
  return fewest;
}

static int read_all(StoreQuery *of_states, StoreQuery *of_coverage, const Compared *c, double *value) {
  for (size_t i = 0; i < c->count; i++) {
    const AnalysisRun *run = &c->selection->runs[c->run[i]];
    const AnalysisRunMetrics *m = &c->measured[c->run[i]];
    value[i] = c->states[i] = NAN;
    if (m->iteration > 0 && !core_config_has_no_envs(run->config.shared))
      TRY(read_states(of_states, run, m->iteration, &c->states[i]));
  }
  for (size_t i = 0; i < c->count; i++) {
    if (isnan(c->states[i])) continue;
    const AnalysisRunMetrics *m = &c->measured[c->run[i]];
    const double common = common_states(c, i);
    const AnalysisRun *run = &c->selection->runs[c->run[i]];
    if (c->states[i] >= common) TRY(read_coverage(of_coverage, run, m->iteration, common, &value[i]));
  }
  return CORE_OK;
}

int analysis_coverage_read(StoreDatabase *database, const AnalysisSelection *selection,
                           const AnalysisRunMetrics *measured, const size_t *run, size_t count, double *value) {
  StoreQuery *of_states = NULL, *of_coverage = NULL;
  size_t *task = core_memory_allocate((selection->count + 1) * sizeof *task);
  const Compared compared = {selection, measured, run, task,
                             core_memory_allocate((count + 1) * sizeof(double)), count};
  analysis_tasks_find(selection, task);
  int code = store_query_open(database, states_sql, &of_states);
  if (code == CORE_OK) code = store_query_open(database, coverage_sql, &of_coverage);
  if (code == CORE_OK) code = read_all(of_states, of_coverage, &compared, value);
  store_query_close(&of_states);
  store_query_close(&of_coverage);
  free(compared.states);
  free(task);
  return code;
}
