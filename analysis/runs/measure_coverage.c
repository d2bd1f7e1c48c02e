/* Reads coverage columns at equal numbers of states (measures.h). */
#include "analysis/runs/measures.h"

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

/* Run by task and budget. */
typedef struct Alike { size_t task; int64_t total; size_t at; } Alike;

static int compare_alike(const void *left, const void *right) {
  const Alike *a = left, *b = right;
  if (a->task != b->task) return a->task < b->task ? -1 : 1;
  return (a->total > b->total) - (a->total < b->total);
}

/* Finds, for each run, the smallest number of states of the runs of its task and budget that reached it; free() it. */
static double *find_common_states(const Compared *c) {
  double *common = core_memory_allocate((c->count + 1) * sizeof *common);
  Alike *order = core_memory_allocate((c->count + 1) * sizeof *order);
  for (size_t i = 0; i < c->count; i++) {
    const AnalysisRun *run = &c->selection->runs[c->run[i]];
    order[i] = (Alike){c->task[c->run[i]], run->config.shared->train.total_steps, i};
  }
  qsort(order, c->count, sizeof *order, compare_alike);

  for (size_t first = 0, end; first < c->count; first = end) {
    double fewest = INFINITY;
    for (end = first; end < c->count && compare_alike(&order[first], &order[end]) == 0; end++) {
      const AnalysisRunMetrics *m = &c->measured[c->run[order[end].at]];
      const double states = c->states[order[end].at];
      if (m->ended && !m->broken && states < fewest) fewest = states;
    }
    for (size_t i = first; i < end; i++) common[order[i].at] = fewest;
  }

  free(order);
  return common;
}

/* Reads the coverage at the common number of states of the runs that have counted as many. */
static int read_at_common(StoreQuery *of_coverage, const Compared *c, double *value) {
  double *common = find_common_states(c);
  int code = CORE_OK;
  for (size_t i = 0; i < c->count; i++) {
    if (code != CORE_OK) break;
    const size_t run = c->run[i];
    if (c->states[i] >= common[i])
      code = read_coverage(of_coverage, &c->selection->runs[run], c->measured[run].iteration, common[i], &value[i]);
  }
  free(common);
  return code;
}

static int read_all(StoreQuery *of_states, StoreQuery *of_coverage, const Compared *c, double *value) {
  for (size_t i = 0; i < c->count; i++) {
    const AnalysisRun *run = &c->selection->runs[c->run[i]];
    const AnalysisRunMetrics *m = &c->measured[c->run[i]];
    value[i] = c->states[i] = NAN;
    if (m->iteration > 0 && !core_config_has_no_envs(run->config.shared))
      TRY(read_states(of_states, run, m->iteration, &c->states[i]));
  }
  return read_at_common(of_coverage, c, value);
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
