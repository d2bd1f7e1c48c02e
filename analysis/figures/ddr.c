/* Reads and correlates DDR and scores (ddr.h). DDR of a run within a budget: transitions over the sum of KL(behavior
 * || updated), both over the iterations up to the budget with a known KL, so that lost rows are missing from both. */
#include "analysis/figures/ddr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/budget.h"
#include "analysis/runs/tasks.h"
#include "core/memory.h"
#include "store/database/query.h"

enum { REPLICATES = 2000, BOOTSTRAP_SEED = 8 };

/* Complete bins (sums of 64 iterations) up to the budget, and the rows of the first bin beyond it. */
const char analysis_ddr_sql[] =
  "WITH beyond AS (SELECT min(bin) AS bin FROM iteration_bin WHERE run_id = ?1 AND transitions > ?2)"
  " SELECT sum(part_transitions) / sum(part_kl), max(at) FROM (SELECT kl_transitions AS part_transitions,"
  " kl_sum AS part_kl, transitions AS at FROM iteration_bin WHERE run_id = ?1 AND transitions <= ?2 UNION ALL"
  " SELECT coalesce(merged_iterations, 1) * " STORE_KL_TRANSITIONS_SQL ","
  " coalesce(merged_iterations, 1) * max(kl, 1e-12), transitions FROM iteration"
  " WHERE run_id = ?1 AND iteration BETWEEN (SELECT bin << 6 FROM beyond) AND (SELECT bin << 6 | 63 FROM beyond)"
  " AND transitions <= ?2)";
const char analysis_ddr_evaluation_sql[] =
  "SELECT iteration, transitions, solve_rate FROM evaluation"
  " WHERE run_id = ?1 AND level_set = " ANALYSIS_LEVELS_SQL " AND solve_rate IS NOT NULL ORDER BY iteration";

const char analysis_ddr_return_sql[] =
  "SELECT iteration, transitions, episode_return FROM evaluation"
  " WHERE run_id = ?1 AND level_set = " ANALYSIS_LEVELS_SQL " AND episode_return IS NOT NULL ORDER BY iteration";

const char *analysis_ddr_score_name(const AnalysisDdr *ddr) {
  return ddr->is_return ? ddr->context->selection.return_name : "solve rate";
}

/* ---- data ------------------------------------------------------------------------------------------------------- */

static int read_ddr(StoreQuery *query, const AnalysisRun *run, double limit, AnalysisDdrDot *dot) {
  bool row = false;
  store_query_reset(query);
  store_query_bind_text(query, 1, run->id);
  store_query_bind_real(query, 2, limit);
  TRY(store_query_step(query, &row));
  dot->ddr = row ? store_query_real(query, 0) : NAN;
  dot->transitions = row ? store_query_real(query, 1) : NAN;
  return CORE_OK;
}

/* Reads the evaluations. untrained: score before training; NaN: none. */
static int read_evaluations(AnalysisDdr *ddr, StoreQuery *query, const AnalysisRun *run, double limit,
                            AnalysisDdrDot *dot, double *untrained) {
  bool row = false, trained = false;
  int code;
  dot->best = dot->best_at = dot->final = *untrained = NAN;

  store_query_reset(query);
  store_query_bind_text(query, 1, run->id);
  store_query_bind_text(query, 2, ddr->context->level_set);

  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    double transitions = store_query_real(query, 1), rate = store_query_real(query, 2);
    if (!(transitions <= limit)) continue;
    if (store_query_int(query, 0) == 0) *untrained = rate;
    trained |= store_query_int(query, 0) > 0;
    dot->final = rate;
    if (isnan(dot->best) || rate > dot->best) {
      dot->best = rate;
      dot->best_at = transitions;
    }
  }

  dot->drawn = trained && dot->ddr > 0 && isfinite(dot->ddr);
  return code;
}

/* Gives a run that diverged or failed before the budget the worst outcome, as in claims (analysis_measures_read):
 * the score of its untrained policy; without one a solve rate of 0 or an unknown return. */
static void take_worst(const AnalysisDdr *ddr, double untrained, AnalysisDdrDot *dot) {
  if (isnan(untrained) && !ddr->is_return) untrained = 0;
  dot->best = dot->final = untrained;
  dot->best_at = NAN;
  dot->drawn = !isnan(untrained) && dot->ddr > 0 && isfinite(dot->ddr);
}

static int read_dots(AnalysisDdr *ddr, AnalysisDdrPanel *panel) {
  const AnalysisSelection *selection = &ddr->context->selection;
  StoreQuery *iterations = NULL, *evaluations = NULL;
  int code = store_query_open(ddr->context->database, analysis_ddr_sql, &iterations);
  if (code == CORE_OK)
    code = store_query_open(ddr->context->database,
                            ddr->is_return ? analysis_ddr_return_sql : analysis_ddr_evaluation_sql, &evaluations);
  panel->dots = core_memory_zero_allocate(selection->count, sizeof *panel->dots);

  for (size_t r = 0; r < selection->count; r++) {
    if (code != CORE_OK) break;
    const AnalysisRun *run = &selection->runs[r];
    AnalysisDdrDot *dot = &panel->dots[r];
    double limit = analysis_run_limit(run, panel->budget), untrained = NAN;

    code = read_ddr(iterations, run, limit, dot);
    if (code == CORE_OK) code = read_evaluations(ddr, evaluations, run, limit, dot, &untrained);
    if (code == CORE_OK)
      code = analysis_budget_reach(ddr->context->database, run, dot->transitions, panel->budget, &dot->reached);

    const bool broken = !dot->reached && store_status_is_broken(run->status);
    if (broken) take_worst(ddr, untrained, dot);
    dot->counted = dot->drawn && (dot->reached || broken);
    panel->drawn += dot->drawn;
    panel->hollow += dot->drawn && !dot->reached;
  }

  store_query_close(&iterations);
  store_query_close(&evaluations);
  return code;
}

double analysis_ddr_measured(const AnalysisDdr *ddr, const AnalysisDdrDot *dot) {
  return ddr->use_final ? dot->final : dot->best;
}

typedef struct Point { double x, y; } Point;

static int by_x(const void *left, const void *right) {
  const Point *a = left, *b = right;
  return a->x != b->x ? (a->x > b->x) - (a->x < b->x) : (a->y > b->y) - (a->y < b->y);
}

/* Adds the means of a task's runs in thirds by DDR, since a rank correlation cannot show that the paper's relation
 * falls at both ends. */
static void add_thirds(double third[3], const double *x, const double *y, size_t n) {
  Point *points = core_memory_allocate((n + 1) * sizeof *points);
  for (size_t i = 0; i < n; i++) points[i] = (Point){x[i], y[i]};
  qsort(points, n, sizeof *points, by_x);
  for (size_t k = 0; k < 3; k++) {
    const size_t begin = k * n / 3, end = (k + 1) * n / 3;
    double sum = 0;
    for (size_t i = begin; i < end; i++) sum += points[i].y;
    third[k] += sum / (double)(end - begin);
  }
  free(points);
}

/* Adds the point of a configuration on one task: the geometric mean of its runs' DDR, and their mean score. Returns
 * the number of its runs that count. */
static size_t add_configuration(const AnalysisDdr *ddr, const AnalysisDdrPanel *panel, const size_t *task, size_t t,
                                size_t c, double point[2], double *run_x, double *run_y) {
  size_t n = 0;
  double x = 0, y = 0;
  for (size_t r = 0; r < ddr->context->selection.count; r++) {
    const AnalysisDdrDot *dot = &panel->dots[r];
    if (task[r] != t || ddr->context->configurations.group_of[r] != c || !dot->counted) continue;
    run_x[n] = dot->ddr;
    run_y[n++] = analysis_ddr_measured(ddr, dot);
    x += log(dot->ddr);
    y += run_y[n - 1];
  }
  point[0] = exp(x / (double)n);
  point[1] = y / (double)n;
  return n;
}

/* Correlates configurations within each task, since seeds of one configuration repeat its point. */
static void correlate(const AnalysisDdr *ddr, AnalysisDdrPanel *panel) {
  const size_t runs = ddr->context->selection.count, groups = ddr->context->configurations.count;
  size_t *memory = core_memory_allocate(3 * (runs + 1) * sizeof *memory);
  size_t *cluster = memory, *stratum = memory + runs + 1, *task = stratum + runs + 1, used = 0;
  double *value = core_memory_allocate(4 * (runs + 1) * sizeof *value);
  double *x = value, *y = x + runs + 1, *run_x = y + runs + 1, *run_y = run_x + runs + 1, third[3] = {0, 0, 0};
  const size_t tasks = analysis_tasks_find(&ddr->context->selection, task);

  for (size_t t = 0; t < tasks; t++) {
    size_t of_task = 0;
    for (size_t c = 0; c < groups; c++) {
      double point[2];
      const size_t n = add_configuration(ddr, panel, task, t, c, point, run_x + of_task, run_y + of_task);
      if (n == 0) continue;

      x[panel->clusters] = point[0];
      y[panel->clusters] = point[1];
      cluster[panel->clusters] = panel->clusters;
      stratum[panel->clusters++] = t;
      of_task += n;
    }

    panel->counted += of_task;
    if (of_task < 3) continue;
    add_thirds(third, run_x, run_y, of_task);
    used++;
  }

  const bool enough = panel->clusters >= ANALYSIS_DDR_CONFIGURATIONS;
  panel->rho = (AnalysisInterval){NAN, NAN, NAN, panel->clusters};
  for (size_t k = 0; k < 3; k++) panel->third[k] = enough && used > 0 ? third[k] / (double)used : NAN;
  if (enough)
    panel->rho = analysis_spearman_interval(x, y, cluster, panel->clusters, panel->clusters, stratum, REPLICATES, 0.95,
                                            BOOTSTRAP_SEED);

  free(memory);
  free(value);
}

/* Averages the solve rates of evaluations at iteration 0, the untrained policy. */
static int read_untrained(AnalysisDdr *ddr) {
  StoreQuery *query = NULL;
  double sum = 0;
  size_t count = 0;
  int code = CORE_OK;

  TRY(store_query_open(ddr->context->database,
                       "SELECT iif(?3, episode_return, solve_rate) FROM evaluation WHERE run_id = ?1 AND level_set = "
                       ANALYSIS_LEVELS_SQL " AND iteration = 0",
                       &query));

  for (size_t r = 0; r < ddr->context->selection.count; r++) {
    if (code != CORE_OK) break;
    bool row = false;
    store_query_reset(query);
    store_query_bind_text(query, 1, ddr->context->selection.runs[r].id);
    store_query_bind_text(query, 2, ddr->context->level_set);
    store_query_bind_int(query, 3, ddr->is_return);

    code = store_query_step(query, &row);
    if (code != CORE_OK || !row || isnan(store_query_real(query, 0))) continue;
    sum += store_query_real(query, 0);
    count++;
  }

  store_query_close(&query);
  ddr->untrained = count ? sum / (double)count : NAN;
  return code;
}

/* Finds out whether scores are returns: no run has a solve rate, but some have a return. */
static int find_scores(AnalysisDdr *ddr) {
  StoreQuery *query = NULL;
  int64_t rates = 0, returns = 0;
  int code = CORE_OK;

  TRY(store_query_open(ddr->context->database,
                       "SELECT count(solve_rate), count(episode_return) FROM evaluation WHERE run_id = ?1 AND "
                       "level_set = " ANALYSIS_LEVELS_SQL, &query));

  for (size_t r = 0; r < ddr->context->selection.count; r++) {
    if (code != CORE_OK) break;
    bool row = false;
    store_query_reset(query);
    store_query_bind_text(query, 1, ddr->context->selection.runs[r].id);
    store_query_bind_text(query, 2, ddr->context->level_set);

    code = store_query_step(query, &row);
    if (code != CORE_OK || !row) continue;
    rates += store_query_int(query, 0);
    returns += store_query_int(query, 1);
  }

  store_query_close(&query);
  ddr->is_return = rates == 0 && returns > 0;
  return code;
}

/* ---- budgets ---------------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
  double x = ((const AnalysisDdrPanel *)a)->budget, y = ((const AnalysisDdrPanel *)b)->budget;
  return (x > y) - (x < y);
}

static int add_panel(AnalysisDdr *ddr, double budget) {
  for (size_t p = 0; p < ddr->panel_count; p++) {
    if (ddr->panels[p].budget == budget) return CORE_OK;
  }
  if (ddr->panel_count == ANALYSIS_DDR_BUDGETS)
    return core_error(CORE_USAGE, "--budget: at most %d budgets", ANALYSIS_DDR_BUDGETS);
  AnalysisDdrPanel *panel = &ddr->panels[ddr->panel_count++];
  *panel = (AnalysisDdrPanel){.budget = budget};
  return read_dots(ddr, panel);
}

static int asked_budgets(AnalysisDdr *ddr, const char *budgets) {
  for (const char *start = budgets; *start;) {
    size_t length = strcspn(start, ",");
    char text[64];
    double budget = 0;

    if (length >= sizeof text) length = sizeof text - 1;
    memcpy(text, start, length);
    text[length] = '\0';

    if (!core_text_to_real_scaled(text, &budget) || !isfinite(budget) || budget < 1) {
      return core_error(CORE_USAGE, "--budget %s: expected transitions, e.g. 1M or 100k,1M", budgets);
    }

    TRY(add_panel(ddr, budget));
    start += length + (start[length] == ',');
  }

  if (ddr->panel_count == 0) return core_error(CORE_USAGE, "--budget: expected transitions, e.g. 1M or 100k,1M");
  return CORE_OK;
}

/* Sets the default budgets: the full budget, or the progress of the furthest run; and a third, a tenth and a
 * thirtieth of it, if most runs have points there. */
static int usual_budgets(AnalysisDdr *ddr) {
  const AnalysisSelection *selection = &ddr->context->selection;
  double planned = 0, seen = 0;
  AnalysisDdrPanel probe = {.budget = INFINITY};

  for (size_t r = 0; r < selection->count; r++)
    planned = fmax(planned, analysis_run_total(&selection->runs[r]));
  TRY(read_dots(ddr, &probe));
  for (size_t r = 0; r < selection->count; r++) seen = fmax(seen, probe.dots[r].drawn ? probe.dots[r].transitions : 0);
  free(probe.dots);

  if (seen <= 0)
    return core_error(CORE_FAIL, "%s: no run has both iterations and an evaluation after its start yet",
                      ddr->context->path);

  double full = fmin(planned, seen);
  static const double fractions[] = {1.0 / 30, 0.1, 1.0 / 3, 1};
  for (size_t i = 0; i < sizeof fractions / sizeof *fractions; i++) {
    double budget = fractions[i] < 1 ? round(full * fractions[i]) : full;
    TRY(add_panel(ddr, budget));

    AnalysisDdrPanel *panel = &ddr->panels[ddr->panel_count - 1];
    if (fractions[i] == 1 || 2 * panel->drawn > selection->count) continue;
    free(panel->dots);
    ddr->panel_count--;
  }
  return CORE_OK;
}

int analysis_ddr_read(AnalysisDdr *ddr, const char *budgets) {
  TRY(find_scores(ddr));
  TRY(budgets ? asked_budgets(ddr, budgets) : usual_budgets(ddr));
  qsort(ddr->panels, ddr->panel_count, sizeof *ddr->panels, by_size);
  for (size_t p = 0; p < ddr->panel_count; p++) correlate(ddr, &ddr->panels[p]);
  TRY(read_untrained(ddr));
  if (ddr->panels[ddr->panel_count - 1].drawn > 0) return CORE_OK;
  return core_error(CORE_FAIL, "%s: no run has an evaluation inside these budgets", ddr->context->path);
}

void analysis_ddr_free(AnalysisDdr *ddr) {
  for (size_t p = 0; p < ddr->panel_count; p++) free(ddr->panels[p].dots);
  ddr->panel_count = 0;
}

/* ---- the table's rows ------------------------------------------------------------------------------------------- */

static int by_solve_rate(const void *left, const void *right) {
  const AnalysisDdrRow *a = left, *b = right;
  bool none_a = isnan(a->sort), none_b = isnan(b->sort);
  if (none_a != none_b) return none_a ? 1 : -1;
  if (!none_a && a->sort != b->sort) return a->sort < b->sort ? 1 : -1;
  return (a->configuration > b->configuration) - (a->configuration < b->configuration);
}

static AnalysisInterval score_of(const AnalysisDdr *ddr, const double *value, const size_t *task, size_t count,
                                 size_t tasks) {
  return analysis_tasks_interval(value, task, count, tasks, ANALYSIS_AGGREGATE_MEAN,
                                 ddr->is_return ? ANALYSIS_RANGE_FREE : ANALYSIS_RANGE_SHARE);
}

/* Returns one row per configuration, at the largest budget; free() it. */
AnalysisDdrRow *analysis_ddr_rows(const AnalysisDdr *ddr) {
  const AnalysisContext *context = ddr->context;
  const AnalysisDdrPanel *panel = &ddr->panels[ddr->panel_count - 1];
  size_t count = context->configurations.count, runs = context->selection.count;
  AnalysisDdrRow *rows = core_memory_zero_allocate(count, sizeof *rows);
  double *values = core_memory_allocate(3 * runs * sizeof *values);
  size_t *task_of = core_memory_allocate(2 * runs * sizeof *task_of), *task = task_of + runs;

  const size_t tasks = analysis_tasks_find(&context->selection, task_of);
  size_t *seeds = analysis_seed_counts(context);
  AnalysisMembers members = analysis_grouping_members(&context->configurations, runs);

  for (size_t c = 0; c < count; c++) {
    AnalysisDdrRow *row = &rows[c];
    row->configuration = c;
    row->seeds = seeds[c];

    for (size_t i = members.first[c]; i < members.first[c + 1]; i++) {
      const size_t r = members.run[i];
      const AnalysisDdrDot *dot = &panel->dots[r];
      if (!dot->drawn) continue;
      values[row->drawn] = dot->ddr;
      task[row->drawn] = task_of[r];
      values[runs + row->drawn] = dot->best;
      values[2 * runs + row->drawn++] = dot->final;
      row->hollow += !dot->reached;
    }

    row->ddr = analysis_geometric_mean(values, row->drawn);
    row->best = score_of(ddr, values + runs, task, row->drawn, tasks);
    row->final = score_of(ddr, values + 2 * runs, task, row->drawn, tasks);
    row->sort = ddr->use_final ? row->final.center : row->best.center;
  }

  free(values);
  free(task_of);
  free(seeds);
  analysis_members_free(&members);

  qsort(rows, count, sizeof *rows, by_solve_rate);
  return rows;
}
