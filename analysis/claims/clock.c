/* Scores at equal training time (clock.h), from a curve of each run against the wall_seconds of its iterations. */
#include "analysis/claims/clock.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/runs/curve.h"
#include "core/memory.h"
#include "store/database/query.h"

/* Training seconds and score of the evaluations, on the level set that `final` uses (measures.c). */
static const char clock_sql[] =
  "SELECT " STORE_SECONDS_SQL("?1", "e.iteration") ","
  " coalesce(solve_rate, episode_return) FROM evaluation AS e WHERE run_id = ?1 AND iteration > 0 AND level_set ="
  " (SELECT level_set FROM evaluation WHERE run_id = ?1 ORDER BY level_set <> 'train', level_set LIMIT 1)"
  " ORDER BY iteration";

static int read_curve(StoreQuery *query, const char *id, AnalysisCurve *curve) {
  bool row = false;
  int code;
  store_query_reset(query);
  store_query_bind_text(query, 1, id);
  while ((code = store_query_step(query, &row)) == CORE_OK && row)
    analysis_curve_add(curve, store_query_real(query, 0), store_query_real(query, 1));
  return code;
}

/* Returns the time at which the fastest finished run of cells->run[first .. end - 1] made its last evaluation; of all
 * runs, if none finished. */
static double find_fastest(const AnalysisSelection *selection, const AnalysisCells *cells, const AnalysisCurve *curve,
                           size_t first, size_t end) {
  double fastest = INFINITY, fastest_finished = INFINITY;
  for (size_t i = first; i < end; i++) {
    if (curve[i].n == 0) continue;
    const double seconds = curve[i].x[curve[i].n - 1];
    fastest = fmin(fastest, seconds);
    if (selection->runs[cells->run[i]].status == STORE_FINISHED) fastest_finished = fmin(fastest_finished, seconds);
  }
  return isinf(fastest_finished) ? fastest : fastest_finished;
}

static double interpolate_score(const AnalysisCurve *curve, double seconds) {
  if (curve->n == 0) return NAN;
  if (seconds >= curve->x[curve->n - 1]) return curve->y[curve->n - 1];
  if (seconds <= curve->x[0]) return curve->y[0];
  return analysis_interpolate(curve->x, curve->y, curve->n, seconds);
}

int analysis_clock_scores(StoreDatabase *database, const AnalysisSelection *selection, AnalysisCells *cells) {
  StoreQuery *query = NULL;
  TRY(store_query_open(database, clock_sql, &query));
  AnalysisCurve *curve = core_memory_zero_allocate(cells->count + 1, sizeof *curve);
  int code = CORE_OK;
  for (size_t i = 0; i < cells->count; i++) {
    code = read_curve(query, selection->runs[cells->run[i]].id, &curve[i]);
    if (code != CORE_OK) break;
  }

  const size_t strata = code == CORE_OK ? cells->strata : 0;
  for (size_t s = 0; s < strata; s++) {
    const size_t first = cells->first[cells->stratum[s]], end = cells->first[cells->stratum[s + 1]];
    const double seconds = find_fastest(selection, cells, curve, first, end);
    for (size_t i = first; i < end; i++) {
      cells->score[i] = interpolate_score(&curve[i], seconds);
      cells->missing += isnan(cells->score[i]);
    }
  }

  for (size_t i = 0; i < cells->count; i++) analysis_curve_free(&curve[i]);
  free(curve);
  store_query_close(&query);
  return code;
}
