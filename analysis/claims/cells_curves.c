/* Values of cells that come from the curves of runs (cells.h): scores at equal training time, and leads of switched
 * runs. */
#include "analysis/claims/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/budget.h"
#include "analysis/runs/curve.h"
#include "core/memory.h"
#include "store/database/query.h"

/* Reads the pairs of a query about one run. */
static int read_curve(StoreQuery *query, const char *id, AnalysisCurve *curve) {
  bool row = false;
  int code;
  store_query_reset(query);
  store_query_bind_text(query, 1, id);
  while ((code = store_query_step(query, &row)) == CORE_OK && row)
    analysis_curve_add(curve, store_query_real(query, 0), store_query_real(query, 1));
  return code;
}

/* ---- scores at equal training time ------------------------------------------------------------------------------- */

/* Training seconds and score of the evaluations, on the level set that `final` uses (measures.c). */
static const char clock_sql[] =
  "SELECT " STORE_SECONDS_SQL("?1", "e.iteration") ","
  " coalesce(solve_rate, episode_return) FROM evaluation AS e WHERE run_id = ?1 AND iteration > 0 AND level_set ="
  " (SELECT level_set FROM evaluation WHERE run_id = ?1 ORDER BY level_set <> 'train', level_set LIMIT 1)"
  " ORDER BY iteration";

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

/* ---- leads of switched runs -------------------------------------------------------------------------------------- */

/* Transitions and score of the evaluations, also before training, on the level set that `final` uses (measures.c). */
static const char score_sql[] =
  "SELECT transitions, coalesce(solve_rate, episode_return) FROM evaluation WHERE run_id = ?1 AND level_set ="
  " (SELECT level_set FROM evaluation WHERE run_id = ?1 ORDER BY level_set <> 'train', level_set LIMIT 1)"
  " ORDER BY iteration";

/* Returns the score at `x`; NaN outside the evaluations. */
static double score_at(const AnalysisCurve *curve, double x) {
  const bool inside = curve->n > 0 && x >= curve->x[0] && x <= curve->x[curve->n - 1];
  return inside ? analysis_interpolate(curve->x, curve->y, curve->n, x) : NAN;
}

/* Returns the parent's transitions at the switch. A run that restores everything counts on; one that restores weights
 * counts from 0, and its origin names the iteration ("com 8 at 184", analysis/runs/select.h), else it is the parent's
 * end. */
static double find_switch(const AnalysisRun *child, const AnalysisRun *parent, const AnalysisCurve *curve) {
  const char *from = child->config.shared->init.from, *marker = strstr(from, " at ");
  if (strcmp(child->config.shared->init.restore, "all") == 0) return curve->x[0];
  if (!marker) return analysis_run_total(parent);
  return (double)(strtoll(marker + strlen(" at "), NULL, 10) * parent->transitions_per_iteration);
}

static const AnalysisRun *find_parent(const AnalysisSelection *selection, const AnalysisRun *child) {
  for (size_t r = 0; r < selection->count && child->parent[0]; r++)
    if (strcmp(selection->runs[r].id, child->parent) == 0) return &selection->runs[r];
  return NULL;
}

static int set_lead(StoreQuery *query, const AnalysisSelection *selection, const AnalysisRun *child, double *lead) {
  const AnalysisRun *parent = find_parent(selection, child);
  AnalysisCurve child_curve = {0}, parent_curve = {0};
  *lead = NAN;
  if (!parent) return CORE_OK;
  int code = read_curve(query, child->id, &child_curve);
  if (code == CORE_OK) code = read_curve(query, parent->id, &parent_curve);
  if (code == CORE_OK && child_curve.n > 0) {
    const double later = analysis_run_total(child) / 10;
    *lead = score_at(&child_curve, child_curve.x[0] + later) -
            score_at(&parent_curve, find_switch(child, parent, &child_curve) + later);
  }
  analysis_curve_free(&child_curve);
  analysis_curve_free(&parent_curve);
  return code;
}

int analysis_switch_leads(StoreDatabase *database, const AnalysisSelection *selection, AnalysisCells *cells) {
  StoreQuery *query = NULL;
  TRY(store_query_open(database, score_sql, &query));
  int code = CORE_OK;
  for (size_t i = 0; i < cells->count; i++) {
    code = set_lead(query, selection, &selection->runs[cells->run[i]], &cells->x[i]);
    if (code != CORE_OK) break;
  }
  store_query_close(&query);
  return code;
}
