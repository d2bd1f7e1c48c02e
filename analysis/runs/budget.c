/* Budgets of runs (budget.h). */
#include "analysis/runs/budget.h"

#include <math.h>

#include "core/error.h"
#include "store/database/query.h"
#include "store/runlog/aggregate.h"

/* ---- batches of programs ----------------------------------------------------------------------------------------- */

static const char batch_sql[] =
  "SELECT transitions FROM iteration WHERE run_id = ?1 AND kl IS NOT NULL ORDER BY iteration LIMIT 2";

static int read_batch(StoreQuery *query, AnalysisRun *run) {
  double first = NAN, second = NAN;
  bool row = false;
  store_query_reset(query);
  store_query_bind_text(query, 1, run->id);
  TRY(store_query_step(query, &row));
  if (row) first = store_query_real(query, 0);
  if (row) TRY(store_query_step(query, &row));
  if (row) second = store_query_real(query, 0);

  double batch = second - first;
  if (!(batch > 0)) batch = run->iteration > 0 ? run->transitions / (double)run->iteration : 0;
  run->transitions_per_iteration = (int64_t)fmin(ceil(batch), 9e15);
  return CORE_OK;
}

int analysis_budget_read_batches(StoreDatabase *database, AnalysisSelection *selection) {
  StoreQuery *query = NULL;
  TRY(store_query_open(database, batch_sql, &query));
  const bool begun = store_query_begin_reading(database);
  int code = CORE_OK;
  for (size_t r = 0; r < selection->count; r++) {
    if (!selection->runs[r].config.shared->program) continue;
    code = read_batch(query, &selection->runs[r]);
    if (code != CORE_OK) break;
  }
  store_query_close(&query);
  store_query_end_reading(database, begun);
  return code;
}

/* ---- budgets ----------------------------------------------------------------------------------------------------- */

double analysis_run_total(const AnalysisRun *run) {
  const int64_t total = run->config.shared->train.total_steps;
  return run->config.shared->program && total == 0 ? run->transitions : (double)total;
}

double analysis_run_limit(const AnalysisRun *run, double budget) {
  const double per_iteration = (double)run->transitions_per_iteration;
  if (run->config.shared->program) return budget >= analysis_run_total(run) ? INFINITY : budget;
  return per_iteration > 0 ? ceil(budget / per_iteration) * per_iteration : budget;
}

static bool program_reaches(const AnalysisRun *run, double transitions, double budget) {
  const double missing = budget - transitions, batch = (double)run->transitions_per_iteration;
  if (run->transitions >= budget) return true;
  if (run->status == STORE_FINISHED) return analysis_run_total(run) >= budget || missing <= batch;
  return run->status != STORE_DIVERGED && run->status != STORE_FAILED && missing < batch;
}

bool analysis_run_reaches(const AnalysisRun *run, double transitions, double budget) {
  const double per_iteration = (double)run->transitions_per_iteration;
  if (isnan(transitions)) return false;
  if (transitions >= budget) return true;
  if (run->config.shared->program) return program_reaches(run, transitions, budget);
  return (double)run->iteration * per_iteration >= budget && budget - transitions < STORE_AGGREGATE_MAX * per_iteration;
}

int analysis_budget_reach(StoreDatabase *database, const AnalysisRun *run, double transitions, double budget,
                          bool *reached) {
  StoreQuery *query;
  bool row = false;
  *reached = analysis_run_reaches(run, transitions, budget);
  if (!*reached || !run->config.shared->program || run->status != STORE_DIVERGED) return CORE_OK;
  TRY(store_query_open(database, "SELECT max(transitions) FROM evaluation WHERE run_id = ?1"
                       " AND coalesce(solve_rate, episode_return) IS NOT NULL", &query));
  store_query_bind_text(query, 1, run->id);
  const int code = store_query_step(query, &row);
  *reached = row && store_query_real(query, 0) >= budget; /* NaN: it never had one */
  store_query_close(&query);
  return code;
}
