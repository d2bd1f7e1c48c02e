/* `analyze curves`: any measured column against transitions, iterations or time; one line a configuration (or a value
 * of the asked keys), mean and 95 % interval over its runs; one panel a family of configurations. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/curve.h"
#include "analysis/figure.h"
#include "analysis/render.h"
#include "analysis/statistics.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/query.h"
#include "store/runlog.h"

enum { GRID_MAX = 300, BAND_RUNS_MIN = 3 };

static const char name[] = "curves";
static const char interval_kind[] =
    "95 % Student t over runs (of the logarithm, about a geometric mean, on a log axis)";

/* A column of the database and the constant statement that reads it: transitions, iteration, seconds, value. */
typedef struct Column { const char *name, *unit; bool evaluation; const char *sql; } Column;

static const Column columns[] = {
#define X(column, unit_text, comment) \
  {"evaluation." #column, unit_text, true, \
   "SELECT e.transitions, e.iteration, i.wall_seconds, e." #column " FROM evaluation e LEFT JOIN iteration i" \
   " ON i.run_id = e.run_id AND i.iteration = e.iteration" \
   " WHERE e.run_id = ?1 AND e.level_set = ?2 AND e." #column " IS NOT NULL ORDER BY e.iteration"},
  STORE_EVALUATION_COLUMNS(X)
#undef X
#define X(column, unit_text, comment) \
  {"iteration." #column, unit_text, false, \
   "SELECT transitions, iteration, wall_seconds, " #column " FROM iteration" \
   " WHERE run_id = ?1 AND ?2 IS NOT NULL AND " #column " IS NOT NULL ORDER BY iteration"},
  STORE_ITERATION_COLUMNS(X)
#undef X
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static const char *const log_columns[] = {"kl", "kl_reverse", "kl_k3", "ddr"};

typedef enum Abscissa { BY_TRANSITIONS, BY_ITERATION, BY_SECONDS } Abscissa;
static const char *const abscissae[] = {"transitions", "iteration", "wall_seconds"};
static const char *const abscissa_titles[] = {"environment transitions", "iterations", "training time (s)"};

/* One line of the figure on the common grid. */
typedef struct Line { double *mean, *low, *high; size_t *runs; size_t run_count; } Line;

typedef struct Curves {
  AnalysisContext context;
  AnalysisRequest request;
  const char *y_name, *x_name, *group;
  const Column *column;
  Abscissa abscissa;
  bool logarithmic;
  AnalysisGrouping groups;
  AnalysisCurve *curves;      /* [run], gathered by group: those of group g begin at first[g] */
  size_t *first;              /* [group + 1] */
  double *grid;
  size_t grid_count;
  Line *lines;                /* [group] */
  size_t without;             /* runs that have no value of the column */
} Curves;

/* ---- which column ----------------------------------------------------------------------------------------------- */

static const char *short_name(const Column *column) { return strchr(column->name, '.') + 1; }

static int find_column(const char *wanted, const Column **column) {
  const char *names[2 * COLUMNS];
  size_t count = 0;
  for (size_t i = 0; i < COLUMNS; i++) {
    if (strcmp(short_name(&columns[i]), "level_set") == 0) continue; /* the one that is no number */
    if (strcmp(wanted, columns[i].name) == 0 || strcmp(wanted, short_name(&columns[i])) == 0) {
      *column = &columns[i]; /* evaluations come first: solve_rate is theirs, training's is iteration.solve_rate */
      return CORE_OK;
    }
    names[count++] = short_name(&columns[i]);
    names[count++] = columns[i].name;
  }
  const char *near = core_text_nearest(wanted, names, count);
  if (near) return core_error(CORE_USAGE, "--y %s: no such column; did you mean %s?", wanted, near);
  return core_error(CORE_USAGE, "--y %s: no such column; `analyze curves --help` lists them", wanted);
}

static int find_abscissa(const char *wanted, Abscissa *abscissa) {
  for (size_t i = 0; i < 3; i++) {
    if (strcmp(wanted, abscissae[i]) != 0) continue;
    *abscissa = (Abscissa)i;
    return CORE_OK;
  }
  return core_error(CORE_USAGE, "--x %s: expected transitions, iteration or wall_seconds", wanted);
}

static bool is_log_column(const Column *column) {
  for (size_t i = 0; i < sizeof log_columns / sizeof *log_columns; i++) {
    if (strcmp(short_name(column), log_columns[i]) == 0) return true;
  }
  return false;
}

static bool is_rate(const Column *column) { return strcmp(short_name(column), "solve_rate") == 0; }

/* ---- data ------------------------------------------------------------------------------------------------------- */

static int read_curve(Curves *c, StoreQuery *query, const AnalysisRun *run, AnalysisCurve *curve) {
  bool row = false;
  int code;
  store_query_reset(query);
  store_query_bind_text(query, 1, run->id);
  store_query_bind_text(query, 2, c->context.level_set);
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    double x = store_query_real(query, (int)c->abscissa);
    bool start = c->abscissa == BY_SECONDS && store_query_int(query, 1) == 0; /* no training time has passed */
    analysis_curve_add(curve, start ? 0 : x, store_query_real(query, 3));
  }
  return code;
}

static int read_curves(Curves *c) {
  size_t runs = c->context.selection.count, groups = c->groups.count, at = 0;
  StoreQuery *query = NULL;
  int code = store_query_open(c->context.database, c->column->sql, &query);
  c->curves = core_memory_zero_allocate(runs, sizeof *c->curves);
  c->first = core_memory_zero_allocate(groups + 1, sizeof *c->first);
  for (size_t g = 0; g < groups && code == CORE_OK; g++) {
    c->first[g] = at;
    for (size_t r = 0; r < runs && code == CORE_OK; r++) {
      if (c->groups.group_of[r] != g) continue;
      code = read_curve(c, query, &c->context.selection.runs[r], &c->curves[at]);
      c->without += c->curves[at++].n == 0;
    }
  }
  c->first[groups] = at;
  store_query_close(&query);
  if (code == CORE_OK && c->without == runs) {
    code = core_error(CORE_FAIL, "%s: no run has a value of %s yet", c->context.path, c->column->name);
  }
  return code;
}

static void average(Curves *c) {
  c->grid = analysis_curve_grid(c->curves, c->context.selection.count, GRID_MAX, &c->grid_count);
  c->lines = core_memory_zero_allocate(c->groups.count, sizeof *c->lines);
  for (size_t g = 0; g < c->groups.count; g++) {
    Line *line = &c->lines[g];
    line->mean = core_memory_allocate(3 * c->grid_count * sizeof *line->mean);
    line->low = line->mean + c->grid_count;
    line->high = line->low + c->grid_count;
    line->runs = core_memory_allocate(c->grid_count * sizeof *line->runs);
    for (size_t i = c->first[g]; i < c->first[g + 1]; i++) line->run_count += c->curves[i].n > 0;
    analysis_curve_average(c->curves + c->first[g], c->first[g + 1] - c->first[g], c->grid, c->grid_count,
                           c->logarithmic, line->mean, line->low, line->high, line->runs);
    for (size_t i = 0; i < c->grid_count && is_rate(c->column); i++) { /* a rate lies between 0 and 1 whatever t says */
      line->low[i] = isnan(line->low[i]) ? NAN : fmax(line->low[i], 0);
      line->high[i] = isnan(line->high[i]) ? NAN : fmin(line->high[i], 1);
    }
  }
}

/* ---- the figure ------------------------------------------------------------------------------------------------- */

static void y_title(const Curves *c, char *title, size_t size) {
  char words[64];
  snprintf(words, sizeof words, "%s", short_name(c->column));
  for (char *w = words; *w; w++) *w = *w == '_' ? ' ' : *w;
  if (strncmp(words, "kl", 2) == 0) memcpy(words, "KL", 2);
  if (strcmp(words, "ddr") == 0) memcpy(words, "DDR", 3);
  const char *before = c->column->evaluation ? "" : is_rate(c->column) ? "training " : "";
  snprintf(title, size, "%s%s%s%s%s", before, words, c->column->unit[0] ? " (" : "", c->column->unit,
           c->column->unit[0] ? ")" : "");
}

/* A solid line with a band while all its runs are there; dashed where the shorter ones have ended. The band ends where
 * fewer than three runs are left: Student's t of one degree of freedom is 12.7, and the band would hide the figure. */
static void add_line(const Curves *c, AnalysisPlot *plot, size_t panel, size_t g, AnalysisMark mark) {
  const Line *line = &c->lines[g];
  bool band = line->run_count >= BAND_RUNS_MIN;
  size_t n = c->grid_count;
  double *solid = core_memory_allocate(4 * n * sizeof *solid), *dashed = solid + n, *low = dashed + n, *high = low + n;
  bool shorter = false;
  for (size_t i = 0; i < n; i++) {
    bool all = line->runs[i] == line->run_count, enough = line->runs[i] >= BAND_RUNS_MIN;
    low[i] = enough ? line->low[i] : NAN;
    high[i] = enough ? line->high[i] : NAN;
    solid[i] = all ? line->mean[i] : NAN;
    dashed[i] = !all || (i + 1 < n && line->runs[i + 1] != line->run_count) ? line->mean[i] : NAN;
    shorter |= !all && line->runs[i] > 0;
  }
  for (size_t i = c->first[g]; i < c->first[g + 1] && !band && line->run_count > 1; i++) {
    const AnalysisCurve *curve = &c->curves[i];
    if (curve->n) analysis_plot_curve(plot, panel, curve->n, curve->x, curve->y, NULL, NULL, mark, ANALYSIS_FAINT);
  }
  analysis_plot_curve(plot, panel, n, c->grid, solid, band ? low : NULL, band ? high : NULL, mark, ANALYSIS_SOLID);
  if (shorter) analysis_plot_curve(plot, panel, n, c->grid, dashed, NULL, NULL, mark, ANALYSIS_DASHED);
  free(solid);
}

/* Runs that are left where the line ends. */
static size_t last_run_count(const Line *line, size_t n) {
  while (n > 0 && line->runs[n - 1] == 0) n--;
  return n > 0 ? line->runs[n - 1] : 0;
}

static void add_caption(const Curves *c, AnalysisPlot *plot) {
  CoreText text = {0};
  size_t fewest = SIZE_MAX, most = 0;
  bool shorter = false;
  for (size_t g = 0; g < c->groups.count; g++) {
    size_t last = last_run_count(&c->lines[g], c->grid_count);
    shorter |= last > 0 && last < c->lines[g].run_count;
    if (c->lines[g].run_count < fewest) fewest = c->lines[g].run_count;
    if (c->lines[g].run_count > most) most = c->lines[g].run_count;
  }
  core_text_appendf(&text, "Line: %smean of n = ", c->logarithmic ? "geometric " : "");
  if (fewest != most) core_text_appendf(&text, "%zu to ", fewest);
  core_text_appendf(&text, "%zu runs. ", most);
  if (most >= BAND_RUNS_MIN) core_text_append(&text, "Band: 95 % interval (Student t). ");
  if (fewest < BAND_RUNS_MIN)
    core_text_append(&text, "Faint: single runs, where fewer than three allow no band (t intervals are in the CSV). ");
  if (shorter) core_text_append(&text, "Dashed: after the shorter runs have ended.");
  analysis_plot_caption(plot, core_text_string(&text));
  core_text_clear(&text);
  analysis_describe_runs(&c->context, &text);
  core_text_append(&text, ".");
  if (c->without) core_text_appendf(&text, " Without a value of %s: %zu.", c->column->name, c->without);
  analysis_plot_caption(plot, core_text_string(&text));
  core_text_free(&text);
}

static AnalysisPlot *make_plot(const Curves *c) {
  char title[128];
  y_title(c, title, sizeof title);
  AnalysisMark *marks = analysis_marks_create(&c->groups, c->context.style);
  AnalysisPlot *plot =
      analysis_plot_create(c->context.style, abscissa_titles[c->abscissa], false, title, c->logarithmic);
  bool heads = c->groups.family_count > 1 && c->groups.count > c->groups.family_count;
  size_t panel = 0;
  for (size_t g = 0; g < c->groups.count; g++) {
    bool begins = g == 0 || c->groups.groups[g].family != c->groups.groups[g - 1].family;
    const char *family = c->groups.families[c->groups.groups[g].family].name;
    if (begins) panel = analysis_plot_panel(plot, family, "");
    if (begins && heads) analysis_plot_legend_head(plot, family);
    add_line(c, plot, panel, g, marks[g]);
    if (c->groups.count > 1) analysis_plot_legend_entry(plot, c->groups.groups[g].label, marks[g], false, true);
  }
  add_caption(c, plot);
  free(marks);
  return plot;
}

static void append_value(CoreText *csv, double value) {
  char number[32];
  core_text_appendf(csv, ",%s", isfinite(value) ? core_text_from_real(value, number) : "");
}

static void make_csv(const Curves *c, CoreText *csv) {
  CoreText value = {0};
  core_text_append(csv, "configuration");
  for (size_t k = 0; k < c->groups.key_count; k++) core_text_appendf(csv, ",%s", c->groups.keys[k]->name);
  core_text_appendf(csv, ",%s,n,mean,low,high\n", abscissae[c->abscissa]);
  for (size_t g = 0; g < c->groups.count; g++) {
    const Line *line = &c->lines[g];
    for (size_t i = 0; i < c->grid_count; i++) {
      if (line->runs[i] == 0) continue;
      analysis_csv_field(csv, c->groups.groups[g].label);
      for (size_t k = 0; k < c->groups.key_count; k++) {
        core_text_append(csv, ",");
        analysis_csv_field(csv, analysis_key_value(c->groups.groups[g].config, c->groups.keys[k], &value));
      }
      append_value(csv, c->grid[i]);
      core_text_appendf(csv, ",%zu", line->runs[i]);
      append_value(csv, line->mean[i]);
      append_value(csv, line->low[i]);
      append_value(csv, line->high[i]);
      core_text_append(csv, "\n");
    }
  }
  core_text_free(&value);
}

static int draw(const Curves *c, int argc, char **argv) {
  CoreText source = {0}, csv = {0};
  AnalysisPlot *plot = make_plot(c);
  make_csv(c, &csv);
  analysis_describe_source(&c->context, name, argc, argv, c->column->sql, interval_kind, &source);
  int code = analysis_render(plot, c->context.folder, name, core_text_string(&source), core_text_string(&csv));
  analysis_plot_destroy(&plot);
  core_text_free(&source);
  core_text_free(&csv);
  return code;
}

/* ---- the table: each line at its start, middle and end ----------------------------------------------------------- */

/* The last grid place that all runs of the group reach; SIZE_MAX when there is none. */
static size_t last_common(const Curves *c, size_t g) {
  size_t last = SIZE_MAX;
  for (size_t i = 0; i < c->grid_count; i++) {
    if (c->lines[g].run_count > 0 && c->lines[g].runs[i] == c->lines[g].run_count) last = i;
  }
  return last;
}

static void print_table(const Curves *c) {
  char column[128], text[64], number[32];
  snprintf(column, sizeof column, "%s [95 %% t]", short_name(c->column));
  const char *headers[] = {"configuration", "runs", abscissae[c->abscissa], column};
  CoreTable *table = core_table_create(headers, sizeof headers / sizeof *headers);
  for (size_t g = 0; g < c->groups.count; g++) {
    const Line *line = &c->lines[g];
    size_t at = last_common(c, g);
    core_table_cell(table, "%s", c->groups.groups[g].label);
    core_table_cell(table, "%zu", line->run_count);
    core_table_cell(table, "%s", at == SIZE_MAX ? "-" : core_text_count(c->grid[at], number));
    if (at == SIZE_MAX) snprintf(text, sizeof text, "-");
    else analysis_format_interval(line->mean[at], line->low[at], line->high[at], text, sizeof text);
    core_table_cell(table, "%s", text);
  }
  core_table_print(table, stdout);
  core_table_destroy(&table);
  CoreText runs = {0};
  analysis_describe_runs(&c->context, &runs);
  printf("\n%s\n", core_text_string(&runs));
  if (c->without) printf("without a value of %s: %zu\n", c->column->name, c->without);
  core_text_free(&runs);
}

static json_t *json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static void print_json(const Curves *c) {
  json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:s}", "figure", name, "x", abscissae[c->abscissa], "y",
                           c->column->name, "filter", c->context.selection.filter, "interval", interval_kind);
  json_t *list = json_array();
  for (size_t g = 0; g < c->groups.count; g++) {
    const Line *line = &c->lines[g];
    size_t at = last_common(c, g);
    bool some = at != SIZE_MAX;
    json_array_append_new(
        list, json_pack("{s:s, s:I, s:o, s:o, s:o, s:o}", "configuration", c->groups.groups[g].label, "runs",
                        (json_int_t)line->run_count, "x", json_number(some ? c->grid[at] : NAN), "mean",
                        json_number(some ? line->mean[at] : NAN), "low", json_number(some ? line->low[at] : NAN),
                        "high", json_number(some ? line->high[at] : NAN)));
  }
  json_object_set_new(root, "configurations", list);
  json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
  printf("\n");
  json_decref(root);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static const char usage[] =
    "analyze curves results.db [--y COLUMN] [--x transitions|iteration|wall_seconds] [--group KEY[,KEY]] [OPTIONS]";

static void print_help(const CoreOption *table) {
  CoreText text = {0};
  core_text_append(
    &text,
    "Learning curves: one line for each configuration (or each value of --group), the mean over its runs with a "
    "shaded 95 % Student t interval; a panel for each algorithm. Runs are brought to a common grid by linear "
    "interpolation; a run that ended early is never extrapolated, and the line is dashed from there on. KL and DDR are "
    "drawn on a log axis, with geometric means. With fewer than three runs there is no band: the runs are drawn "
    "faintly instead.\n\n"
    "Files: curves.svg .png .csv .gp; the .gp draws the pictures again: gnuplot curves.gp.\n\n"
    "Columns of evaluations:");
  for (size_t i = 0; i < COLUMNS; i++) {
    if (i > 0 && columns[i].evaluation != columns[i - 1].evaluation) {
      core_text_append(&text, ".\nColumns of iterations (say iteration.NAME where an evaluation has it too):");
    }
    if (strcmp(short_name(&columns[i]), "level_set") != 0) core_text_appendf(&text, " %s", short_name(&columns[i]));
  }
  core_text_append(&text, ".");
  core_options_help(usage, core_text_string(&text), table);
  core_text_free(&text);
}

static int answer(Curves *c, int argc, char **argv, const char **operands, size_t operand_count) {
  TRY(find_column(c->y_name, &c->column));
  TRY(find_abscissa(c->x_name, &c->abscissa));
  c->logarithmic = is_log_column(c->column);
  TRY(analysis_context_open(&c->context, &c->request, operands, operand_count));
  TRY(analysis_group_runs(&c->context.selection, c->group, &c->groups));
  TRY(read_curves(c));
  average(c);
  if (c->request.json) print_json(c);
  else print_table(c);
  fflush(stdout);
  TRY(draw(c, argc, argv));
  if (!c->request.json) analysis_print_files(&c->context, name);
  return CORE_OK;
}

static void curves_free(Curves *c) {
  for (size_t i = 0; c->curves && i < c->context.selection.count; i++) analysis_curve_free(&c->curves[i]);
  for (size_t g = 0; c->lines && g < c->groups.count; g++) {
    free(c->lines[g].mean); /* low and high lie in the same block */
    free(c->lines[g].runs);
  }
  free(c->curves);
  free(c->first);
  free(c->grid);
  free(c->lines);
  analysis_grouping_free(&c->groups);
  analysis_context_close(&c->context);
  free(c->request.where.items);
}

int analysis_figure_curves(int argc, char **argv) {
  Curves c = {.y_name = "solve_rate", .x_name = "transitions"};
  const CoreOption table[] = {
    {"y", 'y', CORE_OPTION_TEXT, &c.y_name, "COLUMN", "what to draw (default: solve_rate, of the evaluations)"},
    {"x", 'x', CORE_OPTION_TEXT, &c.x_name, "COLUMN",
     "transitions, iteration or wall_seconds (default: transitions)"},
    {"group", 'g', CORE_OPTION_TEXT, &c.group, "KEY[,KEY]",
     "one line for each value of these settings (default: all that vary)"},
    ANALYSIS_REQUEST_OPTIONS(c.request),
    {0}};
  const char **operands = NULL;
  size_t operand_count = 0;
  bool help = false;
  int code = core_options_parse(table, argc, argv, &operands, &operand_count, &help);
  if (code == CORE_OK && help) print_help(table);
  else if (code == CORE_OK) code = answer(&c, argc, argv, operands, operand_count);
  curves_free(&c);
  free(operands);
  return code;
}
