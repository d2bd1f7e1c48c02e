/* `analyze curves`: any measured column against transitions, iterations or time. One line per configuration (or
 * value of the given keys), averaged over its runs, with an interval; one panel per algorithm, value of the given
 * keys, or column. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/figures/curve_set.h"
#include "analysis/plot/mean_line.h"
#include "analysis/plot/number_text.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/terminal.h"

/* ---- the figure ------------------------------------------------------------------------------------------------- */

/* Returns the end of the plotted line: that of the shortest run, if the longest one is hardly longer. Runs with more
 * transitions per iteration overshoot the budget slightly more. */
static size_t drawn_end(const AnalysisLineData *line, size_t n) {
  static const double HARDLY = 0.02; /* share of the line's length */
  size_t end = n;
  while (end > 0 && line->runs[end - 1] != line->run_count) end--;
  const bool hardly = end > 0 && line->grid[n - 1] - line->grid[end - 1] < HARDLY * (line->grid[n - 1] - line->grid[0]);
  return hardly ? end : n;
}

/* Adds a solid line with a band while all its runs exist, dashed after the shorter ones have ended. The band ends
 * when fewer than three runs are left. The line of switched runs has one style throughout. */
static void add_line(const AnalysisCurveSet *set, AnalysisPlot *plot, const AnalysisLineData *line,
                     const AnalysisLineStyle *look) {
  const AnalysisMark mark = look->mark;
  const bool has_band = line->run_count >= ANALYSIS_CURVE_BAND;
  bool is_shorter = false;
  size_t n = line->n, panel = line->column * set->panel_count + line->panel;
  double *solid = core_memory_allocate((4 * n + 1) * sizeof *solid);
  double *dashed = solid + n, *low = dashed + n, *high = low + n;

  /* Solid where all runs have values, dashed where some have ended; the two touch. */
  const size_t end = drawn_end(line, n);
  for (size_t i = 0; i < n; i++) {
    const bool is_whole = line->runs[i] == line->run_count;
    const bool is_next_whole = i + 1 < end && line->runs[i + 1] == line->run_count;
    const bool is_enough = line->runs[i] >= ANALYSIS_CURVE_BAND && i < end;
    low[i] = is_enough ? line->low[i] : NAN;
    high[i] = is_enough ? line->high[i] : NAN;
    solid[i] = is_whole ? line->mean[i] : NAN;
    dashed[i] = i < end && (!is_whole || (i + 1 < end && !is_next_whole)) ? line->mean[i] : NAN;
    is_shorter |= !is_whole && line->runs[i] > 0 && i < end;
  }

  /* Single runs, where they are too few for a band. */
  const size_t faint = !has_band && line->run_count > 1 ? line->curve_count : 0;
  for (size_t i = 0; i < faint; i++) {
    const AnalysisCurve *curve = &line->curves[i];
    if (curve->n) analysis_plot_curve(plot, panel, curve->n, curve->x, curve->y, NULL, NULL, mark, ANALYSIS_FAINT);
  }

  const double *grid = line->grid;
  const AnalysisLine dashes = look->line == ANALYSIS_SOLID ? ANALYSIS_DASHED : look->line;
  analysis_plot_curve(plot, panel, n, grid, solid, has_band ? low : NULL, has_band ? high : NULL, mark, look->line);
  if (is_shorter) analysis_plot_curve(plot, panel, n, grid, dashed, NULL, NULL, mark, dashes);
  free(solid);
}

/* Returns the number of runs at the end of the line. */
static size_t last_run_count(const AnalysisLineData *line) {
  size_t n = drawn_end(line, line->n);
  while (n > 0 && line->runs[n - 1] == 0) n--;
  return n > 0 ? line->runs[n - 1] : 0;
}

/* Counts values at or below 0 in columns on log axes, and *runs that have some. */
static size_t count_hidden(const AnalysisCurveSet *set, size_t *runs) {
  size_t hidden = 0;
  *runs = 0;
  for (size_t r = 0; r < set->context.selection.count - set->context.selection.repeats; r++) {
    const size_t before = hidden;
    for (size_t c = 0; c < set->column_count; c++)
      for (size_t i = 0; i < set->curves[c][r].n && analysis_curve_set_is_log(set, c); i++)
        hidden += set->curves[c][r].y[i] <= 0;
    *runs += hidden > before;
  }
  return hidden;
}

/* Appends " Infinite values, skipped: 3, in 1 run." if there are any, and the values that log axes cannot show. */
static void append_passed_over(const AnalysisCurveSet *set, CoreText *text) {
  size_t runs;
  const size_t hidden = count_hidden(set, &runs);
  if (set->infinite)
    core_text_appendf(text, " Infinite values, skipped: %zu, in %zu run%s.", set->infinite, set->infinite_runs,
                      set->infinite_runs == 1 ? "" : "s");
  if (hidden)
    core_text_appendf(text, " At or below 0, which a log axis cannot show, and not in its means: %zu, in %zu run%s.",
                      hidden, runs, runs == 1 ? "" : "s");
}

static void append_reading(const AnalysisCurveSet *set, CoreText *text) {
  static const char *const words[] = {"mean", "median of task means", "interquartile mean"};
  static const char *const bands[] = {"95 % interval", "one standard deviation",
                                      "95 % interval (stratified bootstrap)"};
  size_t fewest = SIZE_MAX, most = 0, hidden_runs;
  bool shorter = false, logarithmic = false;

  for (size_t i = 0; i < set->line_count; i++) {
    const AnalysisLineData *line = &set->lines[i];
    size_t last = last_run_count(line);
    shorter |= last > 0 && last < line->run_count;
    if (line->run_count < fewest) fewest = line->run_count;
    if (line->run_count > most) most = line->run_count;
    logarithmic |= analysis_curve_set_is_log(set, line->column);
  }

  const char *average =
    set->aggregate == ANALYSIS_AGGREGATE_IQM ? words[2] : words[set->aggregate == ANALYSIS_AGGREGATE_MEDIAN];
  const char *geometric = !logarithmic ? "" : set->column_count > 1 ? " (geometric on log axes)" : " (geometric)";
  core_text_appendf(text, "Line: %s%s of n = ", average, geometric);
  if (fewest != most) core_text_appendf(text, "%zu to ", fewest);
  core_text_appendf(text, "%zu run%s. ", most, most == 1 ? "" : "s");

  if (most >= ANALYSIS_CURVE_BAND) core_text_appendf(text, "Band: %s. ", bands[set->spread]);
  if (fewest < ANALYSIS_CURVE_BAND && most > 1)
    core_text_append(text, "Faint: single runs, where fewer than three make no interval. ");

  shorter = shorter && (set->switched == SIZE_MAX || set->groups.family_count > 1);
  if (shorter && count_hidden(set, &hidden_runs))
    core_text_append(text, "Dashed: where runs have ended, or have no value above 0. ");
  else if (shorter) core_text_append(text, "Dashed: after the shorter runs have ended. ");

  analysis_thin_describe(&set->groups, set->facet, text);
  if (set->choice_count > 1)
    core_text_appendf(text,
                      "Each line is the best of up to %zu by its runs' last values, chosen on the same runs: biased "
                      "upward. ",
                      set->choice_count);

  for (size_t i = 0; i < set->reference_count; i++) {
    static const char *const meaning[] = {"mean of the runs' first values", "highest value of any run", "as given"};
    core_text_appendf(text, "Level \"%s\": %s. ", set->reference[i].label, meaning[set->reference[i].kind]);
  }
}

static void add_caption(const AnalysisCurveSet *set, AnalysisPlot *plot) {
  CoreText text = {0};
  append_reading(set, &text);
  analysis_plot_caption(plot, core_text_string(&text));
  core_text_clear(&text);
  analysis_describe_runs(&set->context, &text);
  core_text_append(&text, ".");
  if (set->without) core_text_appendf(&text, " Without a value of %s: %zu.", set->columns[0]->name, set->without);
  append_passed_over(set, &text);
  core_text_append(&text, analysis_scale_description(set->scale));
  if (set->columns[0]->evaluation && set->context.level_sets > 1)
    core_text_appendf(&text, " Levels: %s.", set->context.level_set);
  analysis_plot_caption(plot, core_text_string(&text));
  core_text_free(&text);
}

/* Maximum number of panels in one row per column, if there are several columns. */
enum { ROW_MAX = 6 };

static void add_panels(const AnalysisCurveSet *set, AnalysisPlot *plot) {
  char title[160];
  const bool several = set->panel_count > 1; /* a single task needs no name */
  const bool rows = set->column_count > 1 && several && set->panel_count <= ROW_MAX;

  if (rows) analysis_plot_columns(plot, set->panel_count);
  for (size_t i = 0; i < set->column_count * set->panel_count; i++) {
    const size_t p = i % set->panel_count, c = i / set->panel_count;
    const char *name = "";
    if ((several || !set->panels.key_count) && (c == 0 || !rows)) name = set->panel_name[p];

    size_t panel = analysis_plot_panel(plot, name, "");
    const bool log = analysis_curve_set_is_log(set, c);
    const AnalysisColumn *shown = analysis_curve_set_shown(set, p, c);
    const bool comparable = isfinite(analysis_column_range(shown, log).high), is_other = shown != set->columns[c];

    if (set->own_axes) analysis_plot_panel_axis_x(plot, panel);
    if (set->column_count == 1 && (!set->own_axes || comparable) && !is_other) continue;

    analysis_curve_set_title(set, shown, title, sizeof title);
    analysis_plot_panel_axis(plot, panel, rows && p > 0 && !is_other ? "" : title, log);
  }
}

static void add_references(const AnalysisCurveSet *set, AnalysisPlot *plot) {
  for (size_t i = 0; i < set->column_count * set->panel_count * set->reference_count; i++) {
    const AnalysisReference *reference = &set->reference[i % set->reference_count];
    const size_t panel = i / set->reference_count, column = panel / set->panel_count;
    const bool is_own = analysis_curve_set_shown(set, panel % set->panel_count, column) == set->columns[column];
    const bool meant = reference->kind == ANALYSIS_REFERENCE_NUMBER ? column == 0 && is_own
                                                                    : set->columns[column]->evaluation;
    if (!meant) continue;
    const double y = analysis_curve_set_reference(set, reference, panel % set->panel_count, column);
    if (isfinite(y)) analysis_plot_level(plot, panel, y, reference->label);
  }
}

static void add_legend(const AnalysisCurveSet *set, AnalysisPlot *plot, const AnalysisLineStyle *looks) {
  const AnalysisGrouping *groups = &set->groups;
  bool heads = groups->family_count > 1 && groups->count > groups->family_count;
  for (size_t g = 0; g < groups->count && groups->count > 1; g++) {
    bool begins = g == 0 || groups->groups[g].family != groups->groups[g - 1].family;
    const char *label = heads ? groups->groups[g].within : groups->groups[g].label;
    if (begins && heads) analysis_plot_legend_head(plot, groups->families[groups->groups[g].family].name);
    if (begins && groups->groups[g].family == set->switched) analysis_curve_switch_legend(set, plot);
    if (groups->groups[g].family == set->switched) continue;
    for (size_t i = 0; i < set->line_count && set->panel_count == 1 && set->column_count == 1; i++)
      if (set->lines[i].group == g && set->choices.key_count) label = set->lines[i].label;
    analysis_plot_legend_entry(plot, label, looks[g].mark, true);
  }
}

static AnalysisPlot *make_plot(const AnalysisCurveSet *set) {
  char title[160];
  AnalysisLineStyle *looks = analysis_curve_styles(set);
  analysis_curve_set_title(set, set->columns[0], title, sizeof title);
  AnalysisPlot *plot = analysis_plot_create(set->context.style, analysis_abscissa_titles[set->abscissa], set->log_x,
                                            title, analysis_curve_set_is_log(set, 0));
  add_panels(set, plot);
  for (size_t i = 0; i < set->line_count; i++) add_line(set, plot, &set->lines[i], &looks[set->lines[i].group]);
  add_references(set, plot);
  add_legend(set, plot, looks);
  add_caption(set, plot);
  free(looks);
  return plot;
}

/* Returns the title of a panel: the column (if there are several), the value of --panel, or the algorithm; with
 * several columns and panels, or a column of its own, "column: value". */
static const char *panel_name(const AnalysisCurveSet *set, const AnalysisLineData *line, char room[256]) {
  const char *panel = set->panel_name[line->panel];
  const AnalysisColumn *shown = analysis_curve_set_shown(set, line->panel, line->column);
  const char *column = shown->name;
  if (set->column_count == 1 && shown == set->columns[line->column]) return panel;
  if (set->panel_count == 1) return column;
  snprintf(room, 256, "%s: %.200s", column, panel);
  return room;
}

static void make_csv(const AnalysisCurveSet *set, CoreText *csv) {
  char name[256];
  bool panels = set->column_count > 1 || set->panels.key_count || set->faceted || set->is_mixed;
  core_text_appendf(csv, "%sconfiguration", panels ? "panel," : "");
  analysis_csv_keys(csv, &set->groups);
  core_text_appendf(csv, ",%s,n,mean,low,high\n", analysis_abscissa_names[set->abscissa]);

  for (size_t l = 0; l < set->line_count; l++) {
    const AnalysisLineData *line = &set->lines[l];
    for (size_t i = 0; i < line->n; i++) {
      if (line->runs[i] == 0) continue;
      if (panels) {
        analysis_csv_field(csv, panel_name(set, line, name));
        core_text_append(csv, ",");
      }

      analysis_csv_field(csv, line->label);
      analysis_thin_csv(&set->groups, line->group, csv);

      analysis_csv_value(csv, line->grid[i]);
      core_text_appendf(csv, ",%zu", line->runs[i]);
      analysis_csv_value(csv, line->mean[i]);
      analysis_csv_value(csv, line->low[i]);
      analysis_csv_value(csv, line->high[i]);
      core_text_append(csv, "\n");
    }
  }
}

static int draw(const AnalysisCurveSet *set) {
  CoreText csv = {0}, interval = {0}, query = {0};
  AnalysisPlot *plot = make_plot(set);
  make_csv(set, &csv);
  analysis_curve_set_interval(set, &interval);
  for (size_t c = 0; c < set->column_count; c++) core_text_appendf(&query, "%s%s", c ? "; " : "", set->columns[c]->sql);
  for (size_t i = 0; i < set->column_count * set->panel_count; i++)
    if (set->shown[i] != set->columns[i / set->panel_count]) core_text_appendf(&query, "; %s", set->shown[i]->sql);
  int code = analysis_figure_write(&set->context, plot, core_text_string(&query), core_text_string(&interval), &csv);
  core_text_free(&interval);
  core_text_free(&query);
  return code;
}

/* ---- the table: each line where all its runs are --------------------------------------------------------------- */

/* Returns the last grid point that all runs of the line reach; SIZE_MAX: none. */
static size_t last_common(const AnalysisCurveSet *set, const AnalysisLineData *line) {
  size_t last = SIZE_MAX;
  for (size_t i = 0; i < line->n; i++) {
    if (line->run_count > 0 && line->runs[i] == line->run_count) last = i;
  }
  return last;
}

static void print_table(const AnalysisCurveSet *set) {
  static const char *const kinds[] = {"95 %", "sd", "95 % bootstrap"};
  char column[128], text[64], number[32], name[256];
  bool panels = set->column_count > 1 || set->faceted || set->is_mixed ||
                (set->panels.key_count && set->panel_count > 1);
  const bool is_one = set->column_count == 1 && !set->is_mixed;

  snprintf(column, sizeof column, "%s [%s]", is_one ? analysis_column_short(set->columns[0]) : "value",
           kinds[set->spread]);
  const char *headers[] = {set->column_count > 1 ? "column" : "panel", "configuration", "runs",
                           analysis_abscissa_names[set->abscissa], column};

  CoreTable *table = core_table_create(headers + !panels, sizeof headers / sizeof *headers - !panels);
  for (size_t l = 0; l < set->line_count; l++) {
    const AnalysisLineData *line = &set->lines[l];
    size_t last = last_common(set, line);
    if (panels) core_table_cell(table, "%s", panel_name(set, line, name));
    core_table_cell(table, "%s", line->label);
    core_table_cell(table, "%zu", line->run_count);
    core_table_cell(table, "%s", last == SIZE_MAX ? "-" : core_text_count(line->grid[last], number));

    AnalysisInterval value = {NAN, NAN, NAN, 0};
    if (last != SIZE_MAX)
      value = (AnalysisInterval){line->mean[last], line->low[last], line->high[last], line->runs[last]};
    if (last == SIZE_MAX) snprintf(text, sizeof text, "-");
    else analysis_format_interval(value, text, sizeof text);
    core_table_cell(table, "%s", text);
  }

  core_table_print(table, stdout);
  core_table_destroy(&table);

  CoreText runs = {0};
  analysis_describe_runs(&set->context, &runs);
  core_text_append(&runs, ".");
  if (set->without) core_text_appendf(&runs, " Without a value of %s: %zu.", set->columns[0]->name, set->without);
  append_passed_over(set, &runs);
  core_text_append(&runs, analysis_scale_description(set->scale));

  printf("\n");
  core_terminal_print_wrapped(stdout, core_text_string(&runs), 0, 0);
  core_text_free(&runs);
}

static json_t *json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static void print_json(const AnalysisCurveSet *set) {
  CoreText interval = {0};
  char name[256];
  analysis_curve_set_interval(set, &interval);
  size_t hidden_runs;
  const size_t hidden = count_hidden(set, &hidden_runs);

  json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "figure", set->request.argv[0], "x",
                           analysis_abscissa_names[set->abscissa], "y", set->columns[0]->name, "filter",
                           set->context.selection.filter, "interval", core_text_string(&interval),
                           "without_value", (json_int_t)set->without, "infinite_values", (json_int_t)set->infinite,
                           "values_without_logarithm", (json_int_t)hidden);

  json_t *list = json_array();
  for (size_t l = 0; l < set->line_count; l++) {
    const AnalysisLineData *line = &set->lines[l];
    const size_t last = last_common(set, line);
    const bool has_value = last != SIZE_MAX;
    json_array_append_new(
      list, json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o}", "panel", panel_name(set, line, name), "y",
                      analysis_curve_set_shown(set, line->panel, line->column)->name, "configuration", line->label,
                      "runs", (json_int_t)line->run_count, "x", json_number(has_value ? line->grid[last] : NAN),
                      "mean", json_number(has_value ? line->mean[last] : NAN), "low",
                      json_number(has_value ? line->low[last] : NAN), "high",
                      json_number(has_value ? line->high[last] : NAN)));
  }

  json_object_set_new(root, "configurations", list);
  core_json_print(root);
  core_text_free(&interval);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static void describe(CoreText *text) {
  core_text_append(
    text,
    "Learning curves: one line for each configuration (or each value of --group), the mean over its runs with a shaded "
    "95 % interval; a panel for each algorithm or each value of --panel, and for each of several columns of --y. Runs "
    "are brought to a common grid by linear interpolation; a run that ended early is never extrapolated, and the line "
    "is dashed from there on. KL and DDR are drawn on a log axis, with geometric means. With fewer than three runs "
    "there is no band: the runs are drawn faintly instead.\n\n"
    "Files: curves.svg .png .pdf .csv .gp; the .gp draws the pictures again: gnuplot curves.gp.\n\n");
  analysis_column_list(text);
}

static int set_log_axes(AnalysisCurveSet *set) {
  const char *axes = set->log_axes;
  if (!axes) return CORE_OK;
  set->log_x = strchr(axes, 'x') != NULL;
  set->log_y = strchr(axes, 'y') != NULL;
  return strspn(axes, "xy") == strlen(axes) && *axes ? CORE_OK
                                                     : core_error(CORE_USAGE, "--log %s: expected x, y or xy", axes);
}

static bool has_active_runs(const AnalysisSelection *selection) {
  size_t ended = 0;
  while (ended < selection->count && selection->runs[ended].status != STORE_RUNNING &&
         selection->runs[ended].status != STORE_PENDING)
    ended++;
  return ended < selection->count;
}

/* Reads and draws once. *is_active: whether some runs are running or waiting; then runs without a value yet are no
 * error. */
static int draw_on_terminal(const AnalysisCurveSet *options, const char *path, CoreLive *live, bool *is_active) {
  AnalysisCurveSet set = *options;
  CoreText text = {0};
  int code = analysis_curve_set_read(&set, path);
  *is_active = options->is_watched && has_active_runs(&set.context.selection);

  if (code == CORE_OK) analysis_curve_set_append_terminal(&set, &text);
  else if (code == CORE_FAIL && *is_active) core_text_appendf(&text, "%s\n", core_error_message());
  if (code == CORE_FAIL && *is_active) code = CORE_OK;
  if (code == CORE_OK) core_live_draw(live, core_text_string(&text), !*is_active);

  core_text_free(&text);
  analysis_curve_set_free(&set);
  return code;
}

static int show_on_terminal(const AnalysisCurveSet *options, const char *path) {
  enum { REDRAW_S = 2, PIPE_S = 60 };
  CoreLive live = {.stream = stdout, .plain_every_s = PIPE_S};
  bool is_active;
  TRY(draw_on_terminal(options, path, &live, &is_active));
  while (is_active) {
    nanosleep(&(struct timespec){.tv_sec = REDRAW_S}, NULL);
    TRY(draw_on_terminal(options, path, &live, &is_active));
  }
  return CORE_OK;
}

static int answer(void *figure, const char **operands, size_t count) {
  AnalysisCurveSet *set = figure;
  char name[128];
  TRY(set_log_axes(set));

  const bool is_terminal = set->is_terminal || set->is_watched;
  if (is_terminal && set->request.json) return core_error(CORE_USAGE, "--terminal and --json exclude each other");
  if (is_terminal && (set->request.directory || set->request.name))
    return core_error(CORE_USAGE, "--terminal writes no file: leave out --output and --name");
  if (is_terminal) return show_on_terminal(set, analysis_database_path(operands, count));

  if (strcmp(set->y_names, "solve_rate") != 0) analysis_request_name_after(&set->request, set->y_names, name);
  TRY(analysis_curve_set_read(set, analysis_database_path(operands, count)));
  if (set->request.json) print_json(set);
  else print_table(set);
  fflush(stdout);
  return draw(set);
}

int analysis_figure_curves(int argc, char **argv) {
  AnalysisCurveSet set = {
    .y_names = "solve_rate", .x_name = "transitions", .request = {.argc = argc, .argv = argv, .json_done = true}};

  const CoreOption table[] = {
    {"y", 'y', CORE_OPTION_TEXT, &set.y_names, "COLUMN[,COLUMN]",
     "what to draw, a panel each of several (default: solve_rate, of the evaluations; their "
     "episode_return in panels where no run has one)"},
    {"x", 'x', CORE_OPTION_TEXT, &set.x_name, "COLUMN",
     "transitions, iteration or wall_seconds (default: transitions)"},
    {"group", 'g', CORE_OPTION_TEXT, &set.group_keys, "KEY[,KEY]",
     "one line for each value of these settings; none: one line (default: all that vary)"},
    {"panel", 0, CORE_OPTION_TEXT, &set.panel_keys, "KEY[,KEY]",
     "one panel for each value of these settings; task: for each task (default: for each algorithm)"},
    {"panels", 0, CORE_OPTION_TEXT, &set.panel_range, "N-M",
     "only these of --panel's values, in their order: 1-4, or 5- for all from the fifth on"},
    {"reference", 0, CORE_OPTION_TEXT, &set.references, "NAME[,NAME]",
     "dashed levels in each panel of evaluations. untrained: what the runs begin with, a random policy's solve rate; "
     "best: the best evaluation of any run; NAME=VALUE: a number, as in optimum=0.95 (of several columns the first)"},
    {"best-of", 0, CORE_OPTION_TEXT, &set.best_keys, "KEY[,KEY]",
     "of these settings' values, draw the one that ends highest, for each line"},
    {"aggregate", 0, CORE_OPTION_TEXT, &set.aggregate_name, "mean|median|iqm",
     "how a line averages; median and iqm stratify over tasks (default: mean)"},
    {"interval", 0, CORE_OPTION_TEXT, &set.interval_name, "t|sd|bootstrap",
     "what the band shows: a 95 % interval as in every figure (t), the standard deviation, or rliable's bootstrap "
     "(default: t)"},
    {"log", 0, CORE_OPTION_TEXT, &set.log_axes, "x|y|xy",
     "axes to draw logarithmically (default: y of KL, DDR, update norms)"},
    {"terminal", 't', CORE_OPTION_FLAG, &set.is_terminal, NULL, "draw on the terminal and write no files"},
    {"watch", 0, CORE_OPTION_FLAG, &set.is_watched, NULL,
     "the same, redrawn with new results until every run has ended; in a pipe once a minute"},
    ANALYSIS_COMMON_OPTION(set.request),
    ANALYSIS_REQUEST_OPTIONS(set.request),
    {0}};

  CoreText about = {0};
  describe(&about);
  const CoreManual manual = {
    .usage = "analyze curves [results.db] [--y COLUMN[,COLUMN]] [--x transitions|iteration|wall_seconds] "
             "[--group KEYS] [--panel KEYS] [OPTIONS]",
    .about = core_text_string(&about),
    ANALYSIS_ONE_DATABASE};

  int code = core_options_run(&manual, table, argc, argv, answer, &set);
  core_text_free(&about);
  analysis_curve_set_free(&set);
  return code;
}
