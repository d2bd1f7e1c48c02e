/* Curves and figures of the report (report.h): averages over seeds at common points for the page's own chart, and
 * every figure of `analyze` that the data allow, made by the figure's own command. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/figures/figure.h"
#include "analysis/plot/page.h"
#include "analysis/report/report.h"
#include "analysis/runs/columns.h"
#include "analysis/runs/curve.h"
#include "analysis/runs/tasks.h"
#include "core/memory.h"
#include "store/database/query.h"

enum {
  POINTS = 100,             /* points of a curve */
  SERIES_MAX = 60,          /* maximum number of configurations with curves */
  IMAGE_BYTES_MAX = 4000000,
};

/* ---- curves ----------------------------------------------------------------------------------------------------- */

static const struct { const char *name, *words, *column;
} series_measures[] = {{"score", "score of evaluations (solve rate or return)", ""},
                       {"solve_rate", "training solve rate", "iteration.solve_rate"},
                       {"kl", "KL of an iteration (nat)", "kl"},
                       {"ddr", "DDR (transitions per nat)", "ddr"},
                       {"entropy", "entropy (nat)", "entropy"},
                       {"grad_norm_actor", "actor's gradient norm", "grad_norm_actor"},
                       {"explained_variance", "explained variance", "explained_variance"}};
enum { MEASURES = sizeof series_measures / sizeof *series_measures };

static const char evaluation_sql[] =
  "SELECT transitions, coalesce(solve_rate, episode_return) FROM evaluation WHERE run_id = ?1 AND level_set ="
  " (SELECT level_set FROM evaluation WHERE run_id = ?1 ORDER BY level_set <> 'train', level_set LIMIT 1) ORDER BY "
  "iteration";
/* Reads the first iteration at or after a point: at most POINTS lookups per run, however many rows it has. */
static const char iteration_sql[] = "SELECT iteration, transitions, solve_rate, kl, ddr, entropy, grad_norm_actor, "
                                    "explained_variance FROM iteration WHERE run_id = ?1 AND iteration >= ?2"
                                    " ORDER BY iteration LIMIT 1";
static const char last_sql[] = "SELECT max(iteration) FROM iteration WHERE run_id = ?1";

typedef struct Queries {
  StoreQuery *evaluation, *iteration, *last;
  size_t infinite, infinite_runs; /* infinite values, and runs that have some */
} Queries;

static void add_point(Queries *q, AnalysisCurve *curve, double x, double y) {
  if (isfinite(y)) analysis_curve_add(curve, x, y);
  q->infinite += isinf(y) != 0;
}

static int read_evaluations(Queries *q, const char *id, AnalysisCurve *curve) {
  StoreQuery *query = q->evaluation;
  bool row = false;
  int code;
  store_query_reset(query);
  store_query_bind_text(query, 1, id);
  while ((code = store_query_step(query, &row)) == CORE_OK && row)
    add_point(q, curve, store_query_real(query, 0), store_query_real(query, 1));
  return code;
}

static int read_iterations(Queries *q, const char *id, AnalysisCurve *curves) {
  bool row = false;
  store_query_reset(q->last);
  store_query_bind_text(q->last, 1, id);
  TRY(store_query_step(q->last, &row));

  int64_t last = row ? store_query_int(q->last, 0) : 0, next = 1;
  for (int64_t point = 1; point <= POINTS && next <= last; point++) {
    int64_t wanted = (last * point + POINTS - 1) / POINTS;
    store_query_reset(q->iteration);
    store_query_bind_text(q->iteration, 1, id);
    store_query_bind_int(q->iteration, 2, wanted > next ? wanted : next);
    TRY(store_query_step(q->iteration, &row));

    if (!row) break;
    next = store_query_int(q->iteration, 0) + 1;
    for (int m = 1; m < MEASURES; m++)
      add_point(q, &curves[m], store_query_real(q->iteration, 1), store_query_real(q->iteration, m + 1));
  }
  return CORE_OK;
}

/* Writes six digits, to keep the page small. */
static json_t *numbers(const double *value, size_t n) {
  json_t *list = json_array();
  char text[32];
  for (size_t i = 0; i < n; i++) {
    snprintf(text, sizeof text, "%.6g", value[i]);
    json_array_append_new(list, analysis_report_number(strtod(text, NULL)));
  }
  return list;
}

/* Returns the range of a series, as in `analyze curves`: KL and DDR as geometric means. */
static AnalysisRange series_range(const AnalysisReport *report, const size_t *run, size_t runs, size_t measure) {
  const AnalysisColumn *column;
  if (measure == 0) return analysis_measure_range(ANALYSIS_MEASURE_best, report->measured, run, runs);
  if (analysis_column_find("report", series_measures[measure].column, &column) != CORE_OK) return ANALYSIS_RANGE_FREE;
  return analysis_column_range(column, analysis_column_is_log(column));
}

/* Averages the curves of one measure of a configuration, whose runs are run[runs], on the grid; NULL if no run has a
 * value. */
static json_t *average(const AnalysisReport *report, const AnalysisCurve *curves, const size_t *task, size_t tasks,
                       const size_t *run, size_t runs, size_t measure, const double *grid, size_t n) {
  AnalysisCurve *measured = core_memory_allocate((runs + 1) * sizeof *measured);
  double *mean = core_memory_allocate((3 * n + 1) * sizeof *mean);
  size_t *reached = core_memory_allocate((n + 1) * sizeof *reached), most = 0;
  for (size_t r = 0; r < runs; r++) measured[r] = curves[r * MEASURES + measure];

  const AnalysisCurveOptions manner = {ANALYSIS_AGGREGATE_MEAN, series_range(report, run, runs, measure), task,
                                       tasks};
  analysis_curve_average(measured, runs, &manner, grid, n, mean, mean + n, mean + 2 * n, reached);

  json_t *counts = json_array();
  for (size_t i = 0; i < n; i++) {
    json_array_append_new(counts, json_integer((json_int_t)reached[i]));
    if (reached[i] > most) most = reached[i];
  }

  json_t *object = most == 0 ? NULL
                             : json_pack("{s:o, s:o, s:o, s:O}", "mean", numbers(mean, n), "low", numbers(mean + n, n),
                                         "high", numbers(mean + 2 * n, n), "runs", counts);

  json_decref(counts);
  free(measured);
  free(mean);
  free(reached);
  return object;
}

static int read_group(const AnalysisReport *report, Queries *q, size_t group, AnalysisCurve *curves) {
  size_t position = 0;
  for (size_t r = 0; r < report->selection.count; r++) {
    if (report->groups.group_of[r] != group) continue;
    AnalysisCurve *of = curves + position++ * MEASURES;
    const size_t before = q->infinite;
    TRY(read_evaluations(q, report->selection.runs[r].id, &of[0]));
    TRY(read_iterations(q, report->selection.runs[r].id, of));
    q->infinite_runs += q->infinite > before;
  }
  return CORE_OK;
}

static int add_series(const AnalysisReport *report, Queries *q, size_t group, const double *grid, json_t *color,
                      json_t *list) {
  size_t runs = report->groups.groups[group].run_count;
  AnalysisCurve *curves = core_memory_zero_allocate(runs * MEASURES + 1, sizeof *curves);
  size_t *task_of = core_memory_allocate((report->selection.count + 1) * sizeof *task_of);
  size_t *task = core_memory_allocate(2 * (runs + 1) * sizeof *task), *run = task + runs + 1, count = 0;
  const size_t tasks = analysis_tasks_find(&report->selection, task_of);

  for (size_t r = 0; r < report->selection.count; r++) {
    if (report->groups.group_of[r] != group) continue;
    run[count] = r;
    task[count++] = task_of[r];
  }

  json_t *values = json_object();
  int code = read_group(report, q, group, curves);
  if (code == CORE_OK) {
    for (size_t m = 0; m < MEASURES; m++) {
      json_t *curve = average(report, curves, task, tasks, run, runs, m, grid, POINTS + 1);
      if (curve) json_object_set_new(values, series_measures[m].name, curve);
    }
  }

  json_array_append_new(
    list, json_pack("{s:o, s:o, s:o}", "label", analysis_report_text(report->groups.groups[group].label), "color",
                    color, "values", values));

  for (size_t i = 0; i < runs * MEASURES; i++) analysis_curve_free(&curves[i]);
  free(curves);
  free(task_of);
  free(task);
  return code;
}

/* Configurations sorted by final score, the best first, as many as the page shows. */
typedef struct Ranked { size_t group; double score; } Ranked;

static int by_score(const void *left, const void *right) {
  const Ranked *a = left, *b = right;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  return (a->group > b->group) - (a->group < b->group);
}

static Ranked *rank_groups(const AnalysisReport *report) {
  Ranked *order = core_memory_zero_allocate(report->groups.count + 1, sizeof *order);
  AnalysisMembers members = analysis_grouping_members(&report->groups, report->selection.count);
  for (size_t g = 0; g < report->groups.count; g++) {
    double sum = 0;
    size_t n = 0;
    for (size_t i = members.first[g]; i < members.first[g + 1]; i++) {
      const double score = report->measured[members.run[i]].value[ANALYSIS_MEASURE_final];
      if (!isnan(score)) sum += score, n++;
    }
    order[g] = (Ranked){g, n ? sum / (double)n : -INFINITY};
  }
  analysis_members_free(&members);
  qsort(order, report->groups.count, sizeof *order, by_score);
  return order;
}

int analysis_report_add_curves(const AnalysisReport *report, json_t *root) {
  Queries q = {0};
  double grid[POINTS + 1], last = 0;
  char note[384];
  size_t shown = report->groups.count < SERIES_MAX ? report->groups.count : SERIES_MAX;
  json_t *series = json_array(), *words = json_object();

  for (size_t r = 0; r < report->selection.count; r++) last = fmax(last, report->measured[r].transitions);
  for (size_t i = 0; i <= POINTS; i++) grid[i] = last * (double)i / POINTS;
  for (size_t m = 0; m < MEASURES; m++)
    json_object_set_new(words, series_measures[m].name, core_json_text(series_measures[m].words));
  json_t *curves = json_pack("{s:o, s:o, s:o}", "x", numbers(grid, POINTS + 1), "series", series, "measures", words);
  json_object_set_new(root, "curves", curves);

  int code = store_query_open(report->database, evaluation_sql, &q.evaluation);
  if (code == CORE_OK) code = store_query_open(report->database, iteration_sql, &q.iteration);
  if (code == CORE_OK) code = store_query_open(report->database, last_sql, &q.last);
  Ranked *order = rank_groups(report);
  AnalysisPageColors colors = analysis_page_colors_create(&report->groups);
  for (size_t i = 0; i < shown; i++) {
    if (code != CORE_OK) break;
    code = add_series(report, &q, order[i].group, grid, analysis_page_color(&colors, order[i].group), series);
  }
  analysis_page_colors_free(&colors);

  int length = snprintf(note, sizeof note,
                        "Mean over the runs of a configuration (their number in brackets), 95 %% interval where at "
                        "least 3 runs are there; KL and DDR as geometric means; never beyond a run's own end. "
                        "Best final score first%s.",
                        shown < report->groups.count ? "; the others are under Configurations" : "");

  if (q.infinite)
    snprintf(note + length, sizeof note - (size_t)length, " Infinite values, skipped: %zu, in %zu run%s.",
             q.infinite, q.infinite_runs, q.infinite_runs == 1 ? "" : "s");
  json_object_set_new(curves, "note", core_json_text(note));

  free(order);
  store_query_close(&q.evaluation);
  store_query_close(&q.iteration);
  store_query_close(&q.last);
  return code;
}

/* ---- figures ---------------------------------------------------------------------------------------------------- */

char *analysis_report_base64(const char *prefix, const char *bytes, size_t size) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  char *text = core_memory_allocate(strlen(prefix) + 4 * ((size + 2) / 3) + 1);
  char *out = text + strlen(prefix);
  memcpy(text, prefix, strlen(prefix));
  for (size_t i = 0; i < size; i += 3) {
    uint32_t word = 0;
    for (size_t k = 0; k < 3; k++) word = word << 8 | (i + k < size ? (unsigned char)bytes[i + k] : 0);
    for (size_t k = 0; k < 4; k++) *out++ = i + k <= size ? digits[word >> (18 - 6 * k) & 63] : '=';
  }
  *out = '\0';
  return text;
}

/* Runs a figure's command with its output redirected to a file, whose text the page shows. */
static int run_quietly(const AnalysisFigure *figure, int argc, char **argv, char **output) {
  FILE *file = tmpfile();
  int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  fflush(stdout);
  fflush(stderr);
  int out = dup(1), err = dup(2);
  if (!file || null < 0 || out < 0 || err < 0) return core_error_errno(CORE_FAIL, "cannot redirect a figure's output");

  dup2(fileno(file), 1);
  dup2(null, 2);
  int code = figure->run(argc, argv);
  fflush(stdout);

  dup2(out, 1);
  dup2(err, 2);
  close(out);
  close(err);
  close(null);

  long size = ftell(file);
  size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : size;
  rewind(file);
  *output = core_memory_zero_allocate((size_t)(size > 0 ? size : 0) + 1, 1);
  size_t got = fread(*output, 1, (size_t)(size > 0 ? size : 0), file);
  (*output)[got] = '\0';

  fclose(file);
  return code;
}

static const char *const image_kinds[][2] = {{"svg", "data:image/svg+xml;base64,"},
                                             {"png", "data:image/png;base64,"}};

/* Removes images of an earlier report, which may be of other runs. */
static void remove_images(const char *directory, const char *name) {
  char path[CORE_PATH_MAX];
  for (size_t i = 0; i < 2; i++)
    if (core_files_path(path, "%s/figures/%s.%s", directory, name, image_kinds[i][0]) == CORE_OK) (void)unlink(path);
}

/* Reads <directory>/figures/<name>.svg, or a .png, as a data URL; NULL if the figure made none. */
static char *read_image(const char *directory, const char *name) {
  for (size_t i = 0; i < 2; i++) {
    char path[CORE_PATH_MAX], *bytes = NULL;
    size_t size;
    if (core_files_path(path, "%s/figures/%s.%s", directory, name, image_kinds[i][0]) != CORE_OK ||
        core_files_read(path, IMAGE_BYTES_MAX, &bytes, &size) != CORE_OK) continue;
    char *image = analysis_report_base64(image_kinds[i][1], bytes, size);
    free(bytes);
    return image;
  }
  core_error_clear();
  return NULL;
}

int analysis_report_add_figures(const AnalysisReport *report, const char *directory, json_t *section) {
  json_t *drawn = json_array(), *missing = json_array();
  char figures[CORE_PATH_MAX];

  json_object_set_new(section, "figures", drawn);
  json_object_set_new(section, "missing_figures", missing);
  TRY(core_files_path(figures, "%s/figures", directory));
  TRY(core_files_make_directories(figures));

  const char **argv = core_memory_zero_allocate(2 * report->where->count + 8, sizeof *argv);
  for (const AnalysisFigure *f = analysis_figures; f->name; f++) {
    int argc = 0;
    char *output = NULL;

    argv[argc++] = f->name;
    argv[argc++] = report->path;
    argv[argc++] = "-o";
    argv[argc++] = figures;
    if (report->sweep) {
      argv[argc++] = "--sweep";
      argv[argc++] = report->sweep;
    }
    for (size_t i = 0; i < report->where->count; i++) {
      argv[argc++] = "--where";
      argv[argc++] = report->where->items[i];
    }

    remove_images(directory, f->name);
    int code = run_quietly(f, argc, (char **)argv, &output);

    char *image = code == CORE_OK ? read_image(directory, f->name) : NULL;
    if (image) {
      json_array_append_new(drawn, json_pack("{s:s, s:s, s:o, s:o}", "name", f->name, "summary", f->summary, "image",
                                             core_json_text(image), "text",
                                             analysis_report_text(output ? output : "")));
    } else {
      json_array_append_new(missing,
                            json_pack("{s:s, s:s, s:o}", "name", f->name, "summary", f->summary, "reason",
                                      analysis_report_text(code == CORE_OK ? "no picture" : core_error_message())));
    }

    core_error_clear();
    free(image);
    free(output);
  }

  free(argv);
  return CORE_OK;
}
