/* `analyze coverage`: Figs. 2 and 9 of Mayor et al. 2025. Shows which cells of a plane the visited states of runs are
 * in, and when they were first reached; one panel per configuration (and task). Reads states.<iteration>.npy in the run
 * directories (metrics.visited_states); all runs of a task share one plane, so that they can be compared. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figure.h"
#include "analysis/plot/number_text.h"
#include "analysis/runs/coverage.h"
#include "analysis/runs/tasks.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/workspace/paths.h"

enum {
  PANELS_MAX = 12,
  STEPS = 5,
  FIT_STATES = 20000,
  COARSE = ANALYSIS_COVERAGE_COARSE,
  FINE = ANALYSIS_COVERAGE_FINE
};
static const char query[] = "runs/<id>/states.<iteration>.npy: states that the run visited, as observed";
static const char projection[] =
  "first two principal components of the standardized states of all runs of a task, in the box of their 0.5 and 99.5 % "
  "quantiles";

/* Coverage of the plane by one run. */
typedef struct RunCoverage {
  size_t kept;                 /* number of states in its directory */
  bool used;                   /* whether they suffice for the comparison */
  AnalysisCoverage coverage;
} RunCoverage;

typedef struct Panel {
  size_t task, group, runs;
  double *first;               /* [COARSE * COARSE] time of first visit, 0..1 of training; NaN: never */
  AnalysisInterval coarse, fine, entropy;
} Panel;

typedef struct Coverages {
  AnalysisContext context;
  AnalysisRequest request;
  const char *group_keys;
  char root[CORE_PATH_MAX];
  AnalysisGrouping groups, tasks;
  RunCoverage *runs;
  size_t *states;              /* [task] number of compared states of each run; 0: none has any */
  double (*share)[2];          /* [task] share of the variance in the two components */
  Panel *panels;
  size_t panel_count, without, fewer;
} Coverages;

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static int run_directory(const Coverages *c, size_t run, char *directory) {
  return store_path_run(c->root, c->context.selection.runs[run].id, NULL, directory);
}

static size_t runs_of(const Coverages *c) { return c->context.selection.count; }

/* Determines the number of states per run, the smallest number among ended runs, since coverage grows with it.
 * Excludes and counts runs that have fewer (running or stopped ones). */
static int count_states(Coverages *c) {
  char directory[CORE_PATH_MAX];
  for (size_t r = 0; r < runs_of(c); r++) {
    TRY(run_directory(c, r, directory));
    TRY(analysis_states_count(directory, &c->runs[r].kept));
    c->without += c->runs[r].kept == 0;
  }

  /* Runs of a task use the same number of states: the least of its ended runs, or of all runs if none has ended. */
  for (int pass = 0; pass < 2; pass++) {
    for (size_t r = 0; r < runs_of(c); r++) {
      size_t *states = &c->states[c->tasks.group_of[r]];
      const bool ended = c->context.selection.runs[r].status == STORE_FINISHED;

      if (c->runs[r].kept == 0 || (pass == 0 && !ended)) continue;
      if (pass == 1 && *states > 0) continue; /* already determined by ended runs */
      if (*states == 0 || c->runs[r].kept < *states) *states = c->runs[r].kept;
    }
  }

  for (size_t r = 0; r < runs_of(c); r++) {
    c->runs[r].used = c->runs[r].kept > 0 && c->runs[r].kept >= c->states[c->tasks.group_of[r]];
    c->fewer += c->runs[r].kept > 0 && !c->runs[r].used;
  }

  if (c->without < runs_of(c)) return CORE_OK;
  return core_error(CORE_FAIL,
                    "%s: no run has kept visited states; metrics.visited_states in their experiment file asks for "
                    "them (experiments/onpolicy/fig1b_more_data.ini)",
                    c->context.path);
}

/* Reads a run's states, which must have *features features; the first run sets it. */
static int read_states(const Coverages *c, size_t run, size_t *features, AnalysisStates *states) {
  char directory[CORE_PATH_MAX];
  TRY(run_directory(c, run, directory));
  TRY(analysis_states_read(directory, states));
  if (*features == 0) *features = states->features;
  if (states->features == *features) return CORE_OK;
  analysis_states_free(states);
  return core_error(CORE_FAIL, "%s: states of %zu features where other runs of the task have %zu; choose with --where",
                    directory, states->features, *features);
}

/* Fits a plane to an equal number of states of each run. */
static int fit_task(const Coverages *c, size_t task, size_t used, AnalysisPlane *plane) {
  const size_t room = FIT_STATES / used > 0 ? FIT_STATES / used : 1;
  const size_t states_per_run = c->states[task] < room ? c->states[task] : room;
  float *pool = NULL;
  size_t pooled = 0, features = 0;
  int code = CORE_OK;

  for (size_t r = 0; r < runs_of(c); r++) {
    if (code != CORE_OK) break;
    AnalysisStates states;
    if (c->tasks.group_of[r] != task || !c->runs[r].used) continue;

    code = read_states(c, r, &features, &states);
    if (code != CORE_OK) break;

    if (!pool) pool = core_memory_allocate((used * states_per_run * features + 1) * sizeof *pool);
    for (size_t i = 0; i < states_per_run; i++) {
      const size_t row = analysis_states_spread(&states, i, states_per_run);
      memcpy(pool + pooled * features, states.rows + row * features, features * sizeof *pool);
      pooled++;
    }
    analysis_states_free(&states);
  }

  if (code == CORE_OK) code = analysis_plane_fit(pool, pooled, features, plane);
  free(pool);
  return code;
}

/* Marks the cells of a run, and the time at which its panel's were first reached. */
static int place_run(Coverages *c, size_t run, const AnalysisPlane *plane, Panel *panel, size_t *cells) {
  AnalysisStates states;
  size_t features = plane->features, want = c->states[panel->task];
  const double iterations = (double)c->context.selection.runs[run].iterations;

  TRY(read_states(c, run, &features, &states));
  memset(cells, 0, FINE * FINE * sizeof *cells);

  for (size_t i = 0; i < want; i++) {
    const size_t row = analysis_states_spread(&states, i, want);
    double point[2];
    if (!analysis_plane_project(plane, states.rows + row * features, point)) continue;

    const size_t cell = analysis_coverage_cell(point), coarse = cell / FINE / 2 * COARSE + cell % FINE / 2;
    const double when = fmin(states.iteration[row] / iterations, 1);
    cells[cell]++;
    if (!(panel->first[coarse] <= when)) panel->first[coarse] = when;
  }

  c->runs[run].coverage = analysis_coverage_of(cells);
  analysis_states_free(&states);
  return CORE_OK;
}

static int place_panel(Coverages *c, const AnalysisPlane *plane, Panel *panel) {
  double *values = core_memory_allocate((3 * runs_of(c) + 1) * sizeof *values);
  double *coarse = values, *fine = coarse + runs_of(c), *entropy = fine + runs_of(c);
  size_t *cells = core_memory_allocate(FINE * FINE * sizeof *cells);
  int code = CORE_OK;

  panel->first = core_memory_allocate(COARSE * COARSE * sizeof *panel->first);
  for (size_t i = 0; i < COARSE * COARSE; i++) panel->first[i] = NAN;

  for (size_t r = 0; r < runs_of(c); r++) {
    if (code != CORE_OK) break;
    if (c->tasks.group_of[r] != panel->task || c->groups.group_of[r] != panel->group || !c->runs[r].used) continue;
    code = place_run(c, r, plane, panel, cells);
    if (code != CORE_OK || isnan(c->runs[r].coverage.coarse)) continue;

    coarse[panel->runs] = c->runs[r].coverage.coarse;
    fine[panel->runs] = c->runs[r].coverage.fine;
    entropy[panel->runs++] = c->runs[r].coverage.entropy;
  }

  panel->coarse = analysis_mean_interval(coarse, panel->runs, ANALYSIS_RANGE_SHARE, 0.95);
  panel->fine = analysis_mean_interval(fine, panel->runs, ANALYSIS_RANGE_SHARE, 0.95);
  panel->entropy = analysis_mean_interval(entropy, panel->runs, ANALYSIS_RANGE_SHARE, 0.95);

  free(cells);
  free(values);
  return code;
}

static bool has_runs(const Coverages *c, size_t task, size_t group) {
  for (size_t r = 0; r < runs_of(c); r++)
    if (c->tasks.group_of[r] == task && c->groups.group_of[r] == group && c->runs[r].used) return true;
  return false;
}

static int read_task(Coverages *c, size_t task) {
  AnalysisPlane plane;
  size_t used = 0;

  for (size_t r = 0; r < runs_of(c); r++) used += c->tasks.group_of[r] == task && c->runs[r].used;
  if (used == 0) return CORE_OK;

  int code = fit_task(c, task, used, &plane);
  if (code != CORE_OK) return code;
  for (int k = 0; k < 2; k++) c->share[task][k] = plane.share[k];

  for (size_t g = 0; g < c->groups.count; g++) {
    if (code != CORE_OK) break;
    if (!has_runs(c, task, g)) continue;
    c->panels = core_memory_resize(c->panels, (c->panel_count + 1) * sizeof *c->panels);
    c->panels[c->panel_count++] = (Panel){.task = task, .group = g};
    code = place_panel(c, &plane, &c->panels[c->panel_count - 1]);
  }

  analysis_plane_free(&plane);
  return code;
}

static int read_all(Coverages *c) {
  if (!analysis_database_in_workspace(c->context.path, c->root))
    return core_error(CORE_FAIL, "%s: visited states are in the run directories, but there is no runs/ next to it",
                      c->context.path);
  c->runs = core_memory_zero_allocate(runs_of(c) + 1, sizeof *c->runs);
  c->states = core_memory_zero_allocate(c->tasks.count + 1, sizeof *c->states);
  c->share = core_memory_zero_allocate(c->tasks.count + 1, sizeof *c->share);
  TRY(count_states(c));
  for (size_t t = 0; t < c->tasks.count; t++) TRY(read_task(c, t));
  return CORE_OK;
}

/* ---- the figure ------------------------------------------------------------------------------------------------- */

/* Returns a task's name; if tasks differ in one setting only its value, which is short enough for a title. */
static const char *task_name(const Coverages *c, size_t task, CoreText *value) {
  const AnalysisFamily *family = &c->tasks.families[0];
  const AnalysisGroup *group = &c->tasks.groups[task];
  return family->key_count == 1 ? analysis_key_value(group->config, family->keys[0], value) : group->label;
}

static void panel_title(const Coverages *c, const Panel *panel, CoreText *text) {
  CoreText value = {0};
  core_text_clear(text);
  const bool one_group = c->groups.count == 1;
  if (c->tasks.count > 1) core_text_appendf(text, "%s%s", task_name(c, panel->task, &value), one_group ? "" : ": ");
  core_text_append(text, !one_group ? c->groups.groups[panel->group].label : c->tasks.count > 1 ? "" : "all runs");
  core_text_free(&value);
}

/* Returns the color step of a cell; -1: never reached. Adjacent cells of one step are merged to a rectangle, which
 * keeps the files small. */
static int step_of(const Panel *panel, size_t cell) {
  return isnan(panel->first[cell]) ? -1 : (int)fmin(STEPS * panel->first[cell], STEPS - 1);
}

static void add_cells(const Coverages *c, AnalysisPlot *plot, const Panel *panel, size_t number) {
  const double side = 1.0 / COARSE;
  for (size_t row = 0; row < COARSE; row++) {
    for (size_t begin = 0, end; begin < COARSE; begin = end) {
      const int step = step_of(panel, row * COARSE + begin);
      for (end = begin + 1; end < COARSE && step_of(panel, row * COARSE + end) == step; end++) {}
      if (step < 0) continue;
      analysis_plot_box(plot, number, (double)begin * side, (double)row * side, (double)end * side,
                        (double)(row + 1) * side, analysis_ramp(step / (STEPS - 1.0)));
    }
  }
  analysis_plot_box(plot, number, 0, 0, 0, 0, c->context.style->background); /* equal axes in all panels */
  analysis_plot_box(plot, number, 1, 1, 1, 1, c->context.style->background);
}

static void add_caption(const Coverages *c, AnalysisPlot *plot) {
  CoreText text = {0}, value = {0};
  size_t fewest = SIZE_MAX, most = 0;

  for (size_t t = 0; t < c->tasks.count; t++) {
    if (c->states[t] == 0) continue;
    if (c->states[t] < fewest) fewest = c->states[t];
    if (c->states[t] > most) most = c->states[t];
  }

  core_text_appendf(
    &text,
    "Cells of a %d x %d grid that some visited state fell into, by when the first one did, all runs of a "
    "panel together; below: mean share of cells of a single run, of ",
    COARSE, COARSE);
  if (fewest != most) core_text_appendf(&text, "%zu to ", fewest);
  core_text_appendf(&text, "%zu states each [95 %%]. Plane: %s (the paper embeds by UMAP);", most, projection);

  for (size_t t = 0; t < c->tasks.count; t++) {
    if (c->states[t] == 0) continue;
    core_text_appendf(&text, "%s %.0f + %.0f %%", t ? "," : " they have", 100 * c->share[t][0], 100 * c->share[t][1]);
    if (c->tasks.count > 1) core_text_appendf(&text, " (%s)", task_name(c, t, &value));
  }
  core_text_append(&text, " of the variance.");

  analysis_plot_caption(plot, core_text_string(&text));
  core_text_clear(&text);
  analysis_describe_runs(&c->context, &text);
  core_text_append(&text, ".");
  if (c->without) core_text_appendf(&text, " Without kept states: %zu.", c->without);
  if (c->fewer) core_text_appendf(&text, " Left out, with fewer states: %zu.", c->fewer);
  analysis_plot_caption(plot, core_text_string(&text));

  core_text_free(&text);
  core_text_free(&value);
}

static AnalysisPlot *make_plot(const Coverages *c) {
  CoreText title = {0};
  AnalysisPlot *plot = analysis_plot_create(c->context.style, "first component (share of its range)", false,
                                            "second component", false);

  for (size_t p = 0; p < c->panel_count; p++) {
    const Panel *panel = &c->panels[p];
    char number[64], note[128];
    panel_title(c, panel, &title);

    analysis_format_interval(panel->coarse, number, sizeof number);
    if (isnan(panel->coarse.low)) snprintf(note, sizeof note, "coverage %s", number); /* contains n */
    else snprintf(note, sizeof note, "coverage %s, n = %zu", number, panel->runs);
    add_cells(c, plot, panel, analysis_plot_panel(plot, core_text_string(&title), note));
  }

  for (int i = 0; i < STEPS; i++) {
    char label[64];
    snprintf(label, sizeof label, "%s%d to %d %%%s", i == 0 ? "first seen at " : "", 100 * i / STEPS,
             100 * (i + 1) / STEPS, i + 1 == STEPS ? " of training" : "");
    const AnalysisMark mark = {.color = analysis_ramp(i / (STEPS - 1.0)), .shape = ANALYSIS_SQUARE};
    analysis_plot_legend_entry(plot, label, mark, false);
  }

  add_caption(c, plot);
  core_text_free(&title);
  return plot;
}

/* Writes one row per run, including those without a value. */
static void make_csv(const Coverages *c, CoreText *csv) {
  core_text_append(csv, "task,configuration");
  analysis_csv_keys(csv, &c->groups);
  core_text_append(csv, ",run,seed,states_kept,states,coverage_50,coverage_100,entropy_50\n");

  for (size_t r = 0; r < runs_of(c); r++) {
    const AnalysisRun *run = &c->context.selection.runs[r];
    const RunCoverage *coverage = &c->runs[r];
    const AnalysisCoverage none = {NAN, NAN, NAN}, *value = coverage->used ? &coverage->coverage : &none;

    analysis_csv_field(csv, c->tasks.groups[c->tasks.group_of[r]].label);
    core_text_append(csv, ",");
    analysis_csv_field(csv, c->groups.groups[c->groups.group_of[r]].label);
    analysis_csv_key_values(csv, &c->groups, &run->config);
    core_text_append(csv, ",");
    analysis_csv_field(csv, run->id);

    core_text_appendf(csv, ",%lld,%zu,%zu", (long long)run->config.seed, coverage->kept,
                      coverage->used ? c->states[c->tasks.group_of[r]] : 0);
    analysis_csv_value(csv, value->coarse);
    analysis_csv_value(csv, value->fine);
    analysis_csv_value(csv, value->entropy);
    core_text_append(csv, "\n");
  }
}

static void interval_cell(CoreTable *table, AnalysisInterval interval) {
  char text[64];
  analysis_format_interval(interval, text, sizeof text);
  core_table_cell(table, "%s", text);
}

static void print_table(const Coverages *c) {
  static const char *const headers[] = {"configuration", "runs",   "states each", "coverage 50 x 50 [95 %]",
                                        "100 x 100",     "entropy"};
  CoreTable *table = core_table_create(headers, sizeof headers / sizeof *headers);
  CoreText text = {0};

  for (size_t p = 0; p < c->panel_count; p++) {
    const Panel *panel = &c->panels[p];
    panel_title(c, panel, &text);
    core_table_cell(table, "%s", core_text_string(&text));
    core_table_cell(table, "%zu", panel->runs);
    core_table_cell(table, "%zu", c->states[panel->task]);

    interval_cell(table, panel->coarse);
    interval_cell(table, panel->fine);
    interval_cell(table, panel->entropy);
  }

  core_table_print(table, stdout);
  core_table_destroy(&table);

  core_text_clear(&text);
  analysis_describe_runs(&c->context, &text);
  printf("\n");
  core_terminal_print_wrapped(stdout, core_text_string(&text), 0, 0);
  if (c->without) printf("without kept states: %zu\n", c->without);
  if (c->fewer) printf("left out, with fewer states: %zu\n", c->fewer);
  core_text_free(&text);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static int group(Coverages *c) {
  TRY(analysis_group_runs(&c->context.selection, "task", &c->tasks));
  TRY(analysis_group_runs_without(&c->context.selection, c->group_keys, core_config_task_keys, &c->groups));
  if (c->groups.count * c->tasks.count <= PANELS_MAX) return CORE_OK;
  return core_error(CORE_USAGE,
                    "%zu configurations of %zu tasks would make more than %d panels; choose with --where KEY=VALUE, "
                    "or take fewer keys with --group",
                    c->groups.count, c->tasks.count, PANELS_MAX);
}

static int answer(void *figure, const char **operands, size_t count) {
  Coverages *c = figure;
  CoreText csv = {0};
  TRY(analysis_context_open(&c->context, &c->request, analysis_database_path(operands, count)));
  TRY(group(c));
  TRY(read_all(c));
  if (!c->request.json) print_table(c);
  fflush(stdout);
  AnalysisPlot *plot = make_plot(c);
  make_csv(c, &csv);
  return analysis_figure_write(&c->context, plot, query, analysis_interval_description, &csv);
}

static const CoreManual manual = {
  .usage = "analyze coverage [results.db] [--group KEYS] [--where KEY=VALUE]... [OPTIONS]",
  .about = "How much of the state space runs have visited: the states that they kept (metrics.visited_states) in the "
           "plane of the first two principal components of all compared runs' standardized states, a panel a "
           "configuration and task; a cell's color says when training first came there. The numbers are the shares "
           "of cells of a 50 x 50 and a 100 x 100 grid that a single run's states occupy, and the entropy of their "
           "histogram over log(2500), at equal numbers of states. The columns coverage_* of iterations are the same "
           "in a plane that needs no states: see docs/results.md.\n\n"
           "Files: coverage.svg .png .pdf .csv .gp; the .gp draws the pictures again: gnuplot coverage.gp.",
  ANALYSIS_ONE_DATABASE};

int analysis_figure_coverage(int argc, char **argv) {
  Coverages c = {.request = {.argc = argc, .argv = argv}};

  const CoreOption table[] = {
    {"group", 'g', CORE_OPTION_TEXT, &c.group_keys, "KEY[,KEY]",
     "one panel for each value of these settings; none: one a task (default: all that vary)"},
    ANALYSIS_REQUEST_OPTIONS(c.request),
    {0}};

  int code = core_options_run(&manual, table, argc, argv, answer, &c);
  for (size_t p = 0; p < c.panel_count; p++) free(c.panels[p].first);
  free(c.panels);
  free(c.runs);
  free(c.states);
  free(c.share);

  analysis_grouping_free(&c.groups);
  analysis_grouping_free(&c.tasks);
  analysis_context_close(&c.context);
  return code;
}
