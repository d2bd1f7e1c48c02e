/* `analyze settings`: a measure of runs against one setting (sensitivity, scaling): one dot per seed, a line through
 * the means, an interval at each; one line per value of --group, one panel per value of --panel. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figure.h"
#include "analysis/plot/number_text.h"
#include "analysis/figures/scored.h"
#include "analysis/plot/mean_line.h"
#include "analysis/runs/tasks.h"
#include "core/memory.h"
#include "core/terminal.h"

enum { TICKS_MAX = 8 }; /* maximum number of values that are labeled individually */

/* Runs of one line at one point of the x axis. */
typedef struct Place {
  size_t panel, group, x, choice;
  size_t runs;                     /* number of runs at this point */
  AnalysisInterval score;          /* interval over runs with a value */
} Place;

typedef struct Settings {
  AnalysisContext context;
  AnalysisRequest request;
  AnalysisScored scored;
  const char *x_name, *group_keys, *panel_keys, *best_keys, *aggregate_name, *interval_name;
  bool log_y, bootstrap;           /* bootstrap: --interval */
  AnalysisAggregate aggregate;
  AnalysisGrouping x, groups, panels, choices; /* x: by a single key, sorted by value */
  bool named, log_x;               /* whether the x axis has names, or is logarithmic */
  Place *places;
  size_t place_count, choice_count;
} Settings;

/* ---- the x axis ------------------------------------------------------------------------------------------------- */

/* Selects the axis: numeric, logarithmic if the numbers span a factor of eight; names, infinities and zeros among
 * such numbers are placed at equal distances. */
static void choose_axis(Settings *s) {
  const CoreConfigRow *row = s->x.keys[0];
  double low = INFINITY, high = 0;
  bool odd = false; /* has values that a logarithmic axis cannot show */
  s->named = row->kind != CORE_CONFIG_INT && row->kind != CORE_CONFIG_REAL;

  for (size_t i = 0; i < s->x.count && !s->named; i++) {
    const double value = analysis_key_number(s->x.groups[i].config, row);
    if (!analysis_key_applies(s->x.groups[i].config, row)) {
      s->named = true;
    } else if (!isfinite(value) || value <= 0) {
      odd = true;
    } else {
      low = fmin(low, value);
      high = fmax(high, value);
    }
  }

  s->log_x = !s->named && high >= 8 * low;
  s->named = s->named || (odd && (s->log_x || isinf(high)));
  for (size_t i = 0; i < s->x.count && !s->named; i++)
    s->named = isinf(analysis_key_number(s->x.groups[i].config, row));
  if (s->named) s->log_x = false;
}

static double x_of(const Settings *s, size_t x) {
  return s->named ? (double)x : analysis_key_number(s->x.groups[x].config, s->x.keys[0]);
}

/* ---- places ----------------------------------------------------------------------------------------------------- */

static bool belongs(const Settings *s, size_t run, const Place *place) {
  return s->x.group_of[run] == place->x && s->groups.group_of[run] == place->group &&
         (!s->panels.key_count || s->panels.group_of[run] == place->panel) &&
         (!s->choices.key_count || s->choices.group_of[run] == place->choice);
}

static void score_place(const Settings *s, Place *place, size_t *run) {
  place->runs = 0;
  for (size_t r = 0; r < s->context.selection.count; r++)
    if (belongs(s, r, place)) run[place->runs++] = r;
  place->score = (s->bootstrap ? analysis_scored_bootstrap : analysis_scored_interval)(
    &s->scored, s->scored.measure, s->aggregate, run, place->runs);
}

/* Selects the point itself, or of several candidates (--best-of) the one with the highest mean. Returns false
 * without runs. */
static bool choose_place(Settings *s, Place *place, size_t *run) {
  size_t candidates = s->choices.key_count ? s->choices.count : 1, present = 0;
  Place best = *place;
  for (size_t c = 0; c < candidates; c++) {
    Place here = *place;
    here.choice = c;
    score_place(s, &here, run);
    if (here.runs == 0) continue;
    if (present++ == 0 || here.score.center > best.score.center || isnan(best.score.center)) best = here;
  }
  if (present > s->choice_count) s->choice_count = present;
  *place = best;
  return present > 0;
}

static void make_places(Settings *s) {
  size_t panels = s->panels.key_count ? s->panels.count : 1;
  size_t *run = core_memory_allocate((s->context.selection.count + 1) * sizeof *run);
  s->places = core_memory_allocate((panels * s->groups.count * s->x.count + 1) * sizeof *s->places);
  for (size_t p = 0; p < panels; p++) {
    for (size_t g = 0; g < s->groups.count; g++) {
      for (size_t x = 0; x < s->x.count; x++) {
        Place place = {.panel = p, .group = g, .x = x};
        if (choose_place(s, &place, run)) s->places[s->place_count++] = place;
      }
    }
  }
  free(run);
}

/* Returns the x of a group's dots and interval: on their tick, or slightly shifted if several groups have runs
 * there, so that intervals do not cover each other. */
static double drawn_x(const Settings *s, const Place *place) {
  static const double APART = 0.018; /* share of the axis */
  const double x_drawn = x_of(s, place->x);
  size_t here = 0, before = 0;

  /* The dots of other groups at this value, and the place among them. */
  for (size_t i = 0; i < s->place_count; i++) {
    if (s->places[i].panel != place->panel || s->places[i].x != place->x) continue;
    here++;
    before += s->places[i].group < place->group;
  }
  if (here < 2 || s->x.count < 2) return x_drawn;

  double low = INFINITY, high = -INFINITY, nearest = INFINITY, here_x = s->log_x ? log(x_drawn) : x_drawn;
  for (size_t x = 0; x < s->x.count; x++) {
    const double value = s->log_x ? log(x_of(s, x)) : x_of(s, x);
    low = fmin(low, value);
    high = fmax(high, value);
    if (x != place->x) nearest = fmin(nearest, fabs(value - here_x));
  }

  const double step = fmin(APART * (high - low), 0.7 * nearest / (double)here);
  const double shift = ((double)before - (double)(here - 1) / 2) * step;
  return s->log_x ? x_drawn * exp(shift) : x_drawn + shift;
}

/* ---- the figure ------------------------------------------------------------------------------------------------- */

static void add_dots(const Settings *s, AnalysisPlot *plot, const Place *place, AnalysisMark mark) {
  for (size_t r = 0; r < s->context.selection.count; r++) {
    if (belongs(s, r, place) && !isnan(analysis_scored_value(&s->scored, r)))
      analysis_plot_point(plot, place->panel, drawn_x(s, place), analysis_scored_value(&s->scored, r), mark,
                          !s->scored.runs[r].ended);
  }
}

/* Adds the line of one panel and group through the points from `first` on; returns the first point of the next line. */
static size_t add_line(const Settings *s, AnalysisPlot *plot, size_t first, AnalysisMark mark) {
  size_t end = first, n = 0;
  double *x = core_memory_allocate(2 * (s->x.count + 1) * sizeof *x), *y = x + s->x.count + 1;
  for (; end < s->place_count; end++) {
    const Place *place = &s->places[end];
    if (place->panel != s->places[first].panel || place->group != s->places[first].group) break;
    add_dots(s, plot, place, mark);
    if (isnan(place->score.center)) continue;

    const double drawn = drawn_x(s, place);
    x[n] = drawn;
    y[n++] = place->score.center;
    if (isnan(place->score.low)) continue;
    const double whisker[2] = {drawn, drawn}, ends[2] = {place->score.low, place->score.high};
    analysis_plot_whisker(plot, place->panel, whisker, ends, mark.color);
  }

  analysis_plot_curve(plot, s->places[first].panel, n, x, y, NULL, NULL, mark, ANALYSIS_SOLID);
  free(x);
  return end;
}

static bool is_log_y(const Settings *s) { return s->log_y || analysis_scored_is_log(&s->scored); }

/* Counts runs whose value a log axis cannot show. */
static size_t count_hidden(const Settings *s) {
  size_t hidden = 0;
  for (size_t r = 0; r < s->context.selection.count - s->context.selection.repeats && is_log_y(s); r++)
    hidden += analysis_scored_value(&s->scored, r) <= 0;
  return hidden;
}

static void add_caption(const Settings *s, AnalysisPlot *plot) {
  CoreText text = {0};

  core_text_appendf(&text, "Dot: a run%s. Line: %s. Vertical: 95 %% interval%s, from three runs on.",
                    s->scored.unfinished ? " (hollow: not at its end)" : "", analysis_aggregate_title(s->aggregate),
                    s->bootstrap ? " (stratified bootstrap)" : "");
  if (s->choice_count > 1)
    core_text_appendf(&text, " Each place is the best of up to %zu, chosen on the same runs: biased upward.",
                      s->choice_count);
  analysis_plot_caption(plot, core_text_string(&text));

  core_text_clear(&text);
  analysis_thin_describe(&s->groups, NULL, &text);
  if (text.length) analysis_plot_caption(plot, core_text_string(&text));

  core_text_clear(&text);
  analysis_describe_runs(&s->context, &text);
  core_text_append(&text, ".");
  analysis_scored_describe(&s->scored, &text);
  if (count_hidden(s))
    core_text_appendf(&text, " Without a dot, at or below 0, but in the means: %zu.", count_hidden(s));

  analysis_plot_caption(plot, core_text_string(&text));
  core_text_free(&text);
}

/* Uses the setting's key as title, since its help would be long, and users type the key. */
static AnalysisPlot *make_plot(const Settings *s) {
  AnalysisMark *marks = analysis_marks_create(&s->groups, s->context.style);
  CoreText value = {0};
  AnalysisPlot *plot = analysis_plot_create(s->context.style, s->x.keys[0]->name, s->log_x,
                                            analysis_scored_title(&s->scored, &s->context), is_log_y(s));

  for (size_t x = 0; x < s->x.count && s->named; x++)
    analysis_plot_category_x(plot, analysis_key_shown(s->x.groups[x].config, s->x.keys[0], &value));

  const bool ticks = !s->named && s->x.count <= TICKS_MAX;
  if (ticks && !s->log_x && x_of(s, 0) > 0 && x_of(s, 0) < 0.5 * x_of(s, s->x.count - 1))
    analysis_plot_tick_x(plot, 0, "0"); /* two numbers do not show whether the axis is logarithmic */
  if (ticks) {
    for (size_t x = 0; x < s->x.count; x++)
      analysis_plot_tick_x(plot, x_of(s, x), analysis_key_value(s->x.groups[x].config, s->x.keys[0], &value));
  }

  for (size_t p = 0; p < (s->panels.key_count ? s->panels.count : 1); p++)
    analysis_plot_panel(plot, s->panels.key_count && s->panels.count > 1 ? s->panels.groups[p].label : "", "");

  for (size_t first = 0; first < s->place_count;) first = add_line(s, plot, first, marks[s->places[first].group]);
  analysis_thin_legend(&s->groups, marks, false, plot);
  add_caption(s, plot);

  core_text_free(&value);
  free(marks);
  return plot;
}

static void make_csv(const Settings *s, CoreText *csv) {
  CoreText value = {0};

  core_text_append(csv, "panel,configuration");
  analysis_csv_keys(csv, &s->groups);
  core_text_appendf(csv, ",%s,best_of,runs,n,%s,low,high\n", s->x.keys[0]->name,
                    analysis_aggregate_name(s->aggregate));

  for (size_t i = 0; i < s->place_count; i++) {
    const Place *place = &s->places[i];

    analysis_csv_field(csv, s->panels.key_count ? s->panels.groups[place->panel].label : "");
    core_text_append(csv, ",");
    analysis_csv_field(csv, s->groups.groups[place->group].label);
    analysis_thin_csv(&s->groups, place->group, csv);

    core_text_append(csv, ",");
    analysis_csv_field(csv, analysis_key_value(s->x.groups[place->x].config, s->x.keys[0], &value));
    core_text_append(csv, ",");
    analysis_csv_field(csv, s->choices.key_count ? s->choices.groups[place->choice].label : "");

    core_text_appendf(csv, ",%zu,%zu", place->runs, place->score.n);
    analysis_csv_value(csv, place->score.center);
    analysis_csv_value(csv, place->score.low);
    analysis_csv_value(csv, place->score.high);
    core_text_append(csv, "\n");
  }

  core_text_free(&value);
}

static void print_table(const Settings *s) {
  char column[96], text[64];
  CoreText value = {0};

  const bool mean = s->aggregate == ANALYSIS_AGGREGATE_MEAN;
  snprintf(column, sizeof column, "%s%s%s [95 %%%s]", analysis_scored_title(&s->scored, &s->context), mean ? "" : ", ",
           mean ? "" : analysis_aggregate_title(s->aggregate), s->bootstrap ? " bootstrap" : "");

  const char *headers[] = {"panel", "configuration", s->x.keys[0]->name, "runs", column, "best of"};
  bool panels = s->panels.key_count && s->panels.count > 1, best = s->choices.key_count > 0;
  CoreTable *table = core_table_create(headers + !panels, 5 + (size_t)best - !panels);

  for (size_t i = 0; i < s->place_count; i++) {
    const Place *place = &s->places[i];
    if (panels) core_table_cell(table, "%s", s->panels.groups[place->panel].label);
    core_table_cell(table, "%s", s->groups.groups[place->group].label);
    core_table_cell(table, "%s", analysis_key_shown(s->x.groups[place->x].config, s->x.keys[0], &value));
    core_table_cell(table, "%zu", place->score.n);

    analysis_format_interval(place->score, text, sizeof text);
    core_table_cell(table, "%s", text);
    if (best) core_table_cell(table, "%s", s->choices.groups[place->choice].label);
  }

  core_table_print(table, stdout);
  core_table_destroy(&table);

  core_text_clear(&value);
  analysis_describe_runs(&s->context, &value);
  core_text_append(&value, ".");

  AnalysisInterval *intervals = core_memory_allocate((s->place_count + 1) * sizeof *intervals);
  for (size_t i = 0; i < s->place_count; i++) intervals[i] = s->places[i].score;
  analysis_describe_missing(intervals, s->place_count, &value);
  free(intervals);
  analysis_scored_describe(&s->scored, &value);

  printf("\n");
  core_terminal_print_wrapped(stdout, core_text_string(&value), 0, 0);
  core_text_free(&value);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static int group(Settings *s) {
  const AnalysisSelection *selection = &s->context.selection;
  CoreText elsewhere = {0}; /* settings that make no groups, because they are shown otherwise */
  core_text_append(&elsewhere, s->x_name);
  if (s->panel_keys)
    core_text_appendf(&elsewhere, ",%s", strcmp(s->panel_keys, "task") == 0 ? core_config_task_keys : s->panel_keys);
  if (s->aggregate != ANALYSIS_AGGREGATE_MEAN) core_text_appendf(&elsewhere, ",%s", core_config_task_keys);
  if (s->best_keys) core_text_appendf(&elsewhere, ",%s", s->best_keys);

  int code = analysis_group_runs(selection, s->x_name, &s->x);
  if (code == CORE_OK && s->x.key_count != 1) code = core_error(CORE_USAGE, "--x %s: expected one setting", s->x_name);

  if (code == CORE_OK && s->x.count == 1 && !analysis_key_applies(s->x.groups[0].config, s->x.keys[0]))
    code = core_error(CORE_USAGE, "--x %s: no selected run has this setting; `analyze table` lists those that differ",
                      s->x_name);

  if (code == CORE_OK)
    code = analysis_group_runs_without(selection, s->group_keys, core_text_string(&elsewhere), &s->groups);
  if (code == CORE_OK && s->panel_keys) code = analysis_group_runs(selection, s->panel_keys, &s->panels);
  if (code == CORE_OK && s->best_keys) code = analysis_group_runs(selection, s->best_keys, &s->choices);

  core_text_free(&elsewhere);
  return code;
}

static int answer(void *figure, const char **operands, size_t count) {
  Settings *s = figure;
  if (!s->x_name) return core_error(CORE_USAGE, "missing --x KEY, for example --x ppo.learning_rate");

  TRY(analysis_aggregate_find(s->aggregate_name, &s->aggregate));
  if (s->aggregate == ANALYSIS_AGGREGATE_OPTIMALITY_GAP && s->best_keys)
    return core_error(CORE_USAGE, "--best-of takes the highest value, and the best optimality gap is the lowest");

  TRY(analysis_bootstrap_find(s->interval_name, &s->bootstrap));
  TRY(analysis_context_open(&s->context, &s->request, analysis_database_path(operands, count)));
  TRY(analysis_scored_check(&s->scored));

  TRY(group(s));
  TRY(analysis_scored_read(&s->scored, &s->context));
  if (!s->group_keys && !s->best_keys) TRY(analysis_scored_limit_groups(&s->scored, &s->context.selection, &s->groups));

  const AnalysisGrouping *together[] = {&s->x, &s->groups, s->panel_keys ? &s->panels : NULL,
                                        s->best_keys ? &s->choices : NULL};
  TRY(analysis_scored_refuse_mixed(&s->scored, &s->context, together, sizeof together / sizeof *together));

  choose_axis(s);
  make_places(s);

  if (!s->request.json) print_table(s);
  fflush(stdout);

  CoreText csv = {0};
  AnalysisPlot *plot = make_plot(s);
  make_csv(s, &csv);
  return analysis_figure_write(&s->context, plot, analysis_scored_query,
                               s->bootstrap ? analysis_bootstrap_description : analysis_interval_description, &csv);
}

static const CoreManual manual = {
  .usage = "analyze settings [results.db] --x KEY [--group KEYS] [--panel KEYS] [--measure NAME] [OPTIONS]",
  .about = "How much one setting matters: what each run amounts to (--measure) against the value of --x, one line for "
           "each value of --group, the mean (--aggregate) over its runs with a 95 % interval; each run is a dot, "
           "hollow when it has not ended. --best-of takes, at each place, the best value of another setting.\n\n"
           "Files: settings.svg .png .pdf .csv .gp; the .gp draws the pictures again: gnuplot settings.gp.",
  ANALYSIS_ONE_DATABASE};

int analysis_figure_settings(int argc, char **argv) {
  Settings s = {.request = {.argc = argc, .argv = argv}, .aggregate_name = "mean"};

  const CoreOption table[] = {
    {"x", 'x', CORE_OPTION_TEXT, &s.x_name, "KEY", "the setting on the x axis"},
    {"group", 'g', CORE_OPTION_TEXT, &s.group_keys, "KEY[,KEY]",
     "one line for each value of these settings; none: one line (default: all that vary)"},
    {"panel", 0, CORE_OPTION_TEXT, &s.panel_keys, "KEY[,KEY]", "one panel for each value of these settings, or task"},
    {"best-of", 0, CORE_OPTION_TEXT, &s.best_keys, "KEY[,KEY]", "at each place draw the best value of these settings"},
    {"aggregate", 0, CORE_OPTION_TEXT, &s.aggregate_name, "NAME",
     "of the runs at a place: mean (default), or over tasks, which make no lines then: median, iqm, optimality gap"},
    {"interval", 0, CORE_OPTION_TEXT, &s.interval_name, "t|bootstrap",
     "as in every figure, or rliable's stratified percentile bootstrap (default: t)"},
    {"log-y", 0, CORE_OPTION_FLAG, &s.log_y, NULL, "a log y axis (default: for DDR and KL)"},
    ANALYSIS_SCORED_OPTIONS(s.scored),
    ANALYSIS_COMMON_OPTION(s.request),
    ANALYSIS_REQUEST_OPTIONS(s.request),
    {0}};

  int code = core_options_run(&manual, table, argc, argv, answer, &s);
  analysis_scored_free(&s.scored);
  analysis_grouping_free(&s.x);
  analysis_grouping_free(&s.groups);
  analysis_grouping_free(&s.panels);
  analysis_grouping_free(&s.choices);
  analysis_context_close(&s.context);
  free(s.places);
  return code;
}
