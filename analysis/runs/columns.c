/* Names of columns and axes (columns.h), generated from the store's lists of columns, so that none can be missing. */
#include "analysis/runs/columns.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/normalized.h"
#include "core/error.h"
#include "core/memory.h"
#include "store/runlog/runlog.h"

#define OF_EVALUATION(column) \
  "SELECT e.transitions, e.iteration, iif(?3, " STORE_SECONDS_SQL("?1", "e.iteration") ", NULL), e." #column \
  " FROM evaluation e" \
  " WHERE e.run_id = ?1 AND e.level_set = " ANALYSIS_LEVELS_SQL " AND e." #column " IS NOT NULL ORDER BY e.iteration"
#define OF_ITERATION(column) \
  "SELECT data.transitions, data.iteration, iif(?3, data.wall_seconds, NULL), data." #column \
  " FROM run CROSS JOIN iteration AS data ON data.run_id = run.id" \
  " WHERE run.id = ?1 AND ?2 IS NOT NULL AND data." #column " IS NOT NULL AND coalesce(run.iteration, 0) <= 2048" \
  " UNION ALL" \
  " SELECT data.transitions, data.iteration, iif(?3, data.wall_seconds, NULL), data." #column \
  " FROM run CROSS JOIN iteration_bin AS bin ON bin.run_id = run.id" \
  " CROSS JOIN iteration AS data ON data.run_id = run.id AND data.iteration =" \
  " (SELECT iteration FROM iteration WHERE run_id = ?1 AND iteration BETWEEN bin.bin << 6 AND bin.bin << 6 | 63" \
  " AND " #column " IS NOT NULL ORDER BY iteration DESC LIMIT 1) WHERE run.id = ?1 AND ?2 IS NOT NULL" \
  " AND run.iteration > 2048 ORDER BY 2"

static const char metric_sql[] =
  "SELECT m.step, m.iteration, iif(?3, " STORE_SECONDS_SQL("?1", "m.iteration") ", NULL), m.value FROM metric m"
  " WHERE m.run_id = ?1 AND ?2 IS NOT NULL AND m.name = ?4 AND m.value IS NOT NULL ORDER BY m.iteration";

static const AnalysisColumn columns[] = {
#define X(column, unit_text, comment) {"evaluation." #column, unit_text, true, OF_EVALUATION(column), NULL, false},
  STORE_EVALUATION_COLUMNS(X)
#undef X
  {"evaluation.normalized_score", "", true, OF_EVALUATION(episode_return), NULL, true},
#define X(column, unit_text, comment) {"iteration." #column, unit_text, false, OF_ITERATION(column), NULL, false},
  STORE_ITERATION_COLUMNS(X)
#undef X
  {"iteration.normalized_score", "", false, OF_ITERATION(episode_return), NULL, true},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static const char *const log_columns[] = {"kl", "kl_reverse", "kl_k3", "kl_consecutive", "ddr"};
static const char *const log_prefixes[] = {"update_norm_"};

const char *const analysis_abscissa_names[3] = {"transitions", "iteration", "wall_seconds"};
const char *const analysis_abscissa_titles[3] = {"environment transitions", "iterations", "training time (s)"};

/* ---- metrics by name --------------------------------------------------------------------------------------------- */

static pthread_mutex_t metrics_lock = PTHREAD_MUTEX_INITIALIZER; /* sweep serve has several threads */
static AnalysisColumn **metrics; /* [metric_count]; never moved, since callers keep pointers */
static size_t metric_count;

/* Under the lock. */
static void add_metric(const char *name) {
  for (size_t i = 0; i < metric_count; i++)
    if (strcmp(metrics[i]->metric, name) == 0) return;
  CoreText full = {0};
  core_text_appendf(&full, "metric.%s", name);
  metrics = core_memory_resize(metrics, (metric_count + 1) * sizeof *metrics);
  AnalysisColumn *column = core_memory_zero_allocate(1, sizeof *column);
  *column = (AnalysisColumn){full.data, "", false, metric_sql, strchr(full.data, '.') + 1, false};
  metrics[metric_count++] = column;
}

void analysis_column_add_metric(const char *name) {
  pthread_mutex_lock(&metrics_lock);
  add_metric(name);
  pthread_mutex_unlock(&metrics_lock);
}

static const AnalysisColumn *find_metric(const char *wanted) {
  for (size_t i = 0; i < metric_count; i++)
    if (strcmp(wanted, metrics[i]->name) == 0 || strcmp(wanted, metrics[i]->metric) == 0) return metrics[i];
  return NULL;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

const char *analysis_column_short(const AnalysisColumn *column) { return strchr(column->name, '.') + 1; }

const AnalysisColumn *analysis_columns(size_t *count) {
  *count = COLUMNS;
  return columns;
}

bool analysis_column_is_number(const AnalysisColumn *column) {
  return strcmp(analysis_column_short(column), "level_set") != 0;
}

/* Under the lock. */
static int find_column(const char *asked_by, const char *wanted, const AnalysisColumn **column) {
  const char **names = core_memory_allocate((2 * COLUMNS + metric_count) * sizeof *names);
  size_t count = 0;

  *column = find_metric(wanted);
  for (size_t i = 0; i < metric_count; i++) names[count++] = metrics[i]->metric;

  for (size_t i = COLUMNS; i-- > 0;) {
    if (!analysis_column_is_number(&columns[i])) continue;
    /* Evaluations come first, so that solve_rate is theirs; the training one is iteration.solve_rate. */
    if (strcmp(wanted, columns[i].name) == 0 || strcmp(wanted, analysis_column_short(&columns[i])) == 0)
      *column = &columns[i];
    names[count++] = analysis_column_short(&columns[i]);
    names[count++] = columns[i].name;
  }

  const char *synonym = *column ? NULL : core_config_find_metric_synonym(wanted);
  const size_t named = synonym ? COLUMNS : 0;
  for (size_t i = named; i-- > 0;)
    if (strcmp(synonym, analysis_column_short(&columns[i])) == 0) *column = &columns[i];

  const char *near = *column ? NULL : core_text_nearest(wanted, names, count);
  free(names);
  if (*column) return CORE_OK;
  if (near) return core_error(CORE_USAGE, "%s %s: no such column; did you mean %s?", asked_by, wanted, near);
  return core_error(CORE_USAGE, "%s %s: no such column; `analyze curves --help` lists them", asked_by, wanted);
}

int analysis_column_find(const char *asked_by, const char *wanted, const AnalysisColumn **column) {
  pthread_mutex_lock(&metrics_lock);
  const int code = find_column(asked_by, wanted, column);
  pthread_mutex_unlock(&metrics_lock);
  return code;
}

int analysis_abscissa_find(const char *wanted, AnalysisAbscissa *abscissa) {
  for (size_t i = 0; i < 3; i++) {
    if (strcmp(wanted, analysis_abscissa_names[i]) != 0) continue;
    *abscissa = (AnalysisAbscissa)i;
    return CORE_OK;
  }
  return core_error(CORE_USAGE, "--x %s: expected transitions, iteration or wall_seconds", wanted);
}

bool analysis_column_is_log(const AnalysisColumn *column) {
  const char *name = analysis_column_short(column);
  for (size_t i = 0; i < sizeof log_columns / sizeof *log_columns; i++) {
    if (strcmp(name, log_columns[i]) == 0) return true;
  }
  return strncmp(name, log_prefixes[0], strlen(log_prefixes[0])) == 0;
}

/* Ranges by prefix of the name; columns with other names may have any value. */
static const struct { const char *prefix; double low, high; } ranges[] = {
  {"solve_rate_se", 0, INFINITY}, {"solve_rate", 0, 1},         {"search_solve_rate", 0, 1},
  {"dormant_", 0, 1},             {"inactive_", 0, 1},          {"dead_", 0, 1},
  {"clip_fraction", 0, 1},        {"kl_monotone", 0, 1},        {"grad_zero_", 0, 1},
  {"kl_limit_monotone", 0, 1},    {"limit_", 0, INFINITY},
  {"coverage_states", 0, INFINITY}, {"coverage_", 0, 1},        {"ess_percent", 0, 100},
  {"explained_variance", -INFINITY, 1}, {"feature_rank_", 0, INFINITY}, {"grad_norm_", 0, INFINITY},
  {"update_norm_", 0, INFINITY},  {"step_norm_", 0, INFINITY},  {"weight_norm_", 0, INFINITY},
  {"policy_variance", 0, INFINITY}, {"distance", 0, INFINITY},  {"steps_per_second", 0, INFINITY},
  {"seconds_", 0, INFINITY},      {"episode_length", 0, INFINITY}};

AnalysisRange analysis_column_range(const AnalysisColumn *column, bool logarithmic) {
  const char *name = analysis_column_short(column);
  if (logarithmic) return ANALYSIS_RANGE_LOG;
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (strncmp(name, ranges[i].prefix, strlen(ranges[i].prefix)) == 0)
      return (AnalysisRange){ranges[i].low, ranges[i].high, false};
  return ANALYSIS_RANGE_FREE;
}

static bool is_solve_rate(const char *name) {
  return strncmp(name, "solve_rate", strlen("solve_rate")) == 0 && strcmp(name, "solve_rate_se") != 0;
}

/* Titles that do not follow from the name. */
static const struct { const char *name, *title; } titles[] = {
  {"kl", "KL (nat)"},                       {"kl_reverse", "reverse KL (nat)"},
  {"ddr", "DDR (transitions per nat)"},     {"grad_norm_actor", "gradient norm (actor)"},
  {"grad_norm_critic", "gradient norm (critic)"}, {"feature_rank_actor", "feature rank (actor)"},
  {"feature_rank_critic", "feature rank (critic)"}, {"dormant_actor", "dormant units (actor)"},
  {"dormant_critic", "dormant units (critic)"}, {"inactive_actor", "inactive units (actor)"},
  {"inactive_critic", "inactive units (critic)"}, {"weight_norm_actor", "weight norm (actor)"},
  {"weight_norm_critic", "weight norm (critic)"}, {"grad_kurtosis_actor", "gradient kurtosis (actor)"},
  {"grad_kurtosis_critic", "gradient kurtosis (critic)"}, {"ess_percent", "effective sample size (%)"},
  {"noise_scale_actor", "gradient noise scale (actor)"}, {"noise_scale_critic", "gradient noise scale (critic)"},
  {"steps_per_second", "transitions per second"}, {"update_norm_actor", "update size"},
  {"distance", "distance to the optimum"}, {"episode_return", "return"},
  {"normalized_score", "normalized score"}};

void analysis_column_title(const AnalysisColumn *column, char *title, size_t size) {
  char words[64];
  const char *name = analysis_column_short(column), *before = column->evaluation ? "" : "training ";
  if (column->metric) {
    snprintf(title, size, "%s", column->metric);
    return;
  }

  if (!is_solve_rate(name) && strncmp(name, "episode", 7) != 0 && !column->normalized) before = "";
  for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
    if (strcmp(titles[i].name, name) != 0) continue;
    snprintf(title, size, "%s%s", before, titles[i].title);
    return;
  }
  snprintf(words, sizeof words, "%s", name);
  for (char *w = words; *w; w++) *w = *w == '_' ? ' ' : *w;
  if (strncmp(words, "kl", 2) == 0) memcpy(words, "KL", 2);
  snprintf(title, size, "%s%s%s%s%s", before, words, column->unit[0] ? " (" : "", column->unit,
           column->unit[0] ? ")" : "");
}

void analysis_column_list(CoreText *text) {
  core_text_append(text, "Columns of evaluations:");
  for (size_t i = 0; i < COLUMNS; i++) {
    if (i > 0 && columns[i].evaluation != columns[i - 1].evaluation) {
      core_text_append(text, ".\nColumns of iterations (say iteration.NAME where an evaluation has it too):");
    }
    if (analysis_column_is_number(&columns[i])) core_text_appendf(text, " %s", analysis_column_short(&columns[i]));
  }
  core_text_append(text, ".");
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

int analysis_column_read(const AnalysisColumn *column, StoreQuery *query, const AnalysisRun *run,
                         const char *level_set, AnalysisAbscissa abscissa, AnalysisCurve *curve, size_t *infinite) {
  const AnalysisBounds bounds = analysis_bounds_of(&run->config);
  bool row = false;
  int code;

  store_query_reset(query);
  store_query_bind_text(query, 1, run->id);
  store_query_bind_text(query, 2, level_set);
  store_query_bind_int(query, 3, abscissa == ANALYSIS_SECONDS);
  if (column->metric) store_query_bind_text(query, 4, column->metric);

  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    double x = store_query_real(query, (int)abscissa), y = store_query_real(query, 3);
    bool start = abscissa == ANALYSIS_SECONDS && store_query_int(query, 1) == 0; /* no training time has passed */
    if (column->normalized) y = analysis_normalize(&bounds, y);
    if (isfinite(y)) analysis_curve_add(curve, start ? 0 : x, y);
    *infinite += isinf(y) != 0;
  }
  return code;
}
