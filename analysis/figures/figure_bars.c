/* `analyze bars`: aggregates of Agarwal et al. (2021) of each configuration over runs and tasks, as bars with
 * intervals; with --profile performance profiles, the share of runs above each score. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figure.h"
#include "analysis/plot/number_text.h"
#include "analysis/figures/scored.h"
#include "analysis/plot/mean_line.h"
#include "analysis/statistics/stratified.h"
#include "analysis/runs/tasks.h"
#include "core/memory.h"
#include "core/terminal.h"

enum { PROFILE_POINTS = 101, BOOTSTRAP_SEED = 8 };

typedef struct Bars {
  AnalysisContext context;
  AnalysisRequest request;
  AnalysisScored scored;
  bool draws_profiles;         /* --profile */
  const char *group_keys, *aggregate_names, *interval_name;
  bool bootstrap;              /* --interval bootstrap; profiles have no other */
  AnalysisAggregate wanted[ANALYSIS_AGGREGATES];
  size_t wanted_count;
  AnalysisGrouping groups;
  AnalysisTaskScores *scores;  /* [group] */
  AnalysisInterval *aggregates; /* [group][wanted] */
  AnalysisInterval *profile;   /* [group][PROFILE_POINTS] */
  double tau[PROFILE_POINTS];
} Bars;

/* ---- data ------------------------------------------------------------------------------------------------------- */

static int find_aggregates(Bars *b) {
  char *copy = core_text_duplicate(b->aggregate_names), *tail = copy;
  int code = CORE_OK;
  for (char *name; (name = strsep(&tail, ","));) {
    AnalysisAggregate aggregate;
    code = analysis_aggregate_find(name, &aggregate);
    if (code == CORE_OK && b->wanted_count == ANALYSIS_AGGREGATES)
      code = core_error(CORE_USAGE, "--aggregate names one twice");
    if (code != CORE_OK) break;
    b->wanted[b->wanted_count++] = aggregate;
  }
  free(copy);
  return code;
}

static void collect(Bars *b) {
  const AnalysisSelection *selection = &b->context.selection;
  size_t *task_of = core_memory_allocate((selection->count + 1) * sizeof *task_of), tasks;
  size_t *task = core_memory_allocate((selection->count + 1) * sizeof *task);
  double *value = core_memory_allocate((selection->count + 1) * sizeof *value);

  tasks = analysis_tasks_find(selection, task_of);
  b->scores = core_memory_zero_allocate(b->groups.count + 1, sizeof *b->scores);

  for (size_t g = 0; g < b->groups.count; g++) {
    size_t count = 0;
    for (size_t r = 0; r < selection->count; r++) {
      if (b->groups.group_of[r] != g) continue;
      value[count] = analysis_scored_value(&b->scored, r);
      task[count++] = task_of[r];
    }
    b->scores[g] = analysis_tasks_scores(value, task, count, tasks);
  }

  free(task_of);
  free(task);
  free(value);
}

static size_t score_count(const Bars *b, size_t g) {
  const AnalysisScores *scores = &b->scores[g].scores;
  return scores->tasks ? scores->first[scores->tasks] : 0;
}

/* Computes the aggregates with the intervals of all figures (interval.h). */
static void aggregate_group(Bars *b, size_t g, size_t *run) {
  size_t count = 0;
  for (size_t r = 0; r < b->context.selection.count; r++)
    if (b->groups.group_of[r] == g) run[count++] = r;
  for (size_t w = 0; w < b->wanted_count; w++)
    b->aggregates[g * b->wanted_count + w] =
      analysis_scored_interval(&b->scored, b->scored.measure, b->wanted[w], run, count);
}

/* Computes rliable's intervals, which are too narrow for few runs (stratified.h). */
static void bootstrap(Bars *b) {
  AnalysisDraws draws = {0};
  for (size_t g = 0; g < b->groups.count; g++)
    analysis_scored_bootstraps(&b->scored, b->scored.measure, &draws, &b->scores[g].scores, b->wanted, b->wanted_count,
                               &b->aggregates[g * b->wanted_count]);
  analysis_draws_free(&draws);
}

static void aggregate(Bars *b) {
  size_t *run = core_memory_allocate((b->context.selection.count + 1) * sizeof *run);
  b->aggregates = core_memory_zero_allocate(b->groups.count * b->wanted_count + 1, sizeof *b->aggregates);
  for (size_t g = 0; g < b->groups.count && !b->bootstrap; g++) aggregate_group(b, g, run);
  if (b->bootstrap) bootstrap(b);
  free(run);
}

/* Computes profiles from 0 to 1 for solve rates, otherwise over the range of the scores. */
static void make_profiles(Bars *b) {
  double low = 0, high = 1;
  if (!analysis_scored_is_rate(&b->scored, &b->context)) {
    low = INFINITY, high = -INFINITY;
    for (size_t g = 0; g < b->groups.count; g++)
      for (size_t i = 0; i < score_count(b, g); i++) {
        low = fmin(low, b->scores[g].score[i]);
        high = fmax(high, b->scores[g].score[i]);
      }
  }

  for (size_t i = 0; i < PROFILE_POINTS; i++) b->tau[i] = low + (high - low) * (double)i / (PROFILE_POINTS - 1);
  b->profile = core_memory_zero_allocate(b->groups.count * PROFILE_POINTS + 1, sizeof *b->profile);

  AnalysisDraws draws = {0};
  for (size_t g = 0; g < b->groups.count; g++)
    analysis_stratified_profile(&draws, &b->scores[g].scores, b->tau, PROFILE_POINTS, ANALYSIS_REPLICATES_CURVE, 0.95,
                                BOOTSTRAP_SEED, &b->profile[g * PROFILE_POINTS]);
  for (size_t i = 0; i < b->groups.count * PROFILE_POINTS; i++)
    if (!analysis_interval_has_runs(&b->scores[i / PROFILE_POINTS].scores))
      b->profile[i].low = b->profile[i].high = NAN;

  analysis_draws_free(&draws);
}

/* ---- figures ---------------------------------------------------------------------------------------------------- */

static void add_caption(const Bars *b, AnalysisPlot *plot, const char *reading) {
  CoreText text = {0};
  analysis_plot_caption(plot, reading);
  analysis_describe_runs(&b->context, &text);
  core_text_append(&text, ".");
  analysis_scored_describe(&b->scored, &text);
  analysis_plot_caption(plot, core_text_string(&text));
  core_text_free(&text);
}

static AnalysisPlot *plot_bars(const Bars *b) {
  AnalysisMark *marks = analysis_marks_create(&b->groups, b->context.style);
  AnalysisPlot *plot =
      analysis_plot_create(b->context.style, analysis_scored_title(&b->scored, &b->context), false, "", false);
  size_t n = b->groups.count;

  for (size_t g = n; g-- > 0;) analysis_plot_category_y(plot, b->groups.groups[g].label); /* first one at the top */
  for (size_t w = 0; w < b->wanted_count; w++) {
    size_t panel = analysis_plot_panel(plot, analysis_aggregate_title(b->wanted[w]), "");
    for (size_t g = 0; g < n; g++) {
      const AnalysisInterval *bar = &b->aggregates[g * b->wanted_count + w];
      double y = (double)(n - 1 - g);

      if (isnan(bar->center)) {
        analysis_plot_text(plot, panel, 0, y, "no value", b->context.style->muted);
        continue;
      }
      analysis_plot_box(plot, panel, 0, y - 0.33, bar->center, y + 0.33,
                        analysis_mix(marks[g].color, b->context.style->background, 0.4)); /* light */
      if (isnan(bar->low)) continue;
      const double x[2] = {bar->low, bar->high}, middle[2] = {y, y};
      analysis_plot_whisker(plot, panel, x, middle, b->context.style->foreground);
    }
  }

  add_caption(b, plot,
              b->bootstrap ? "Line: 95 % stratified bootstrap interval over the runs of each task, from three runs on."
                           : "Line: 95 % interval over the runs of each task, from three runs on.");
  free(marks);
  return plot;
}

static AnalysisPlot *plot_profiles(const Bars *b) {
  char title[96];
  snprintf(title, sizeof title, "score τ (%s)", analysis_scored_title(&b->scored, &b->context));

  AnalysisMark *marks = analysis_marks_create(&b->groups, b->context.style);
  AnalysisPlot *plot = analysis_plot_create(b->context.style, title, false, "share of runs above τ", false);
  size_t panel = analysis_plot_panel(plot, "", "");
  double share[PROFILE_POINTS], low[PROFILE_POINTS], high[PROFILE_POINTS];

  for (size_t g = 0; g < b->groups.count; g++) {
    const bool band = analysis_interval_has_runs(&b->scores[g].scores);
    for (size_t i = 0; i < PROFILE_POINTS; i++) {
      const AnalysisInterval *point = &b->profile[g * PROFILE_POINTS + i];
      share[i] = point->center;
      low[i] = point->low;
      high[i] = point->high;
    }

    analysis_plot_steps(plot, panel, PROFILE_POINTS, b->tau, share, band ? low : NULL, band ? high : NULL, marks[g]);
  }

  analysis_thin_legend(&b->groups, marks, true, plot);
  CoreText reading = {0};
  core_text_append(&reading, "Band: 95 % stratified bootstrap, pointwise, from three runs on. ");
  analysis_thin_describe(&b->groups, NULL, &reading);
  add_caption(b, plot, core_text_string(&reading));
  core_text_free(&reading);
  free(marks);
  return plot;
}

static void bars_csv(const Bars *b, CoreText *csv) {
  core_text_append(csv, "configuration");
  analysis_csv_keys(csv, &b->groups);
  core_text_append(csv, ",aggregate,tasks,n,value,low,high\n");

  for (size_t g = 0; g < b->groups.count; g++) {
    for (size_t w = 0; w < b->wanted_count; w++) {
      const AnalysisInterval *bar = &b->aggregates[g * b->wanted_count + w];

      analysis_csv_field(csv, b->groups.groups[g].label);
      analysis_thin_csv(&b->groups, g, csv);
      core_text_appendf(csv, ",%s,%zu,%zu", analysis_aggregate_name(b->wanted[w]), b->scores[g].scores.tasks,
                        score_count(b, g));

      analysis_csv_value(csv, bar->center);
      analysis_csv_value(csv, bar->low);
      analysis_csv_value(csv, bar->high);
      core_text_append(csv, "\n");
    }
  }
}

static void profiles_csv(const Bars *b, CoreText *csv) {
  core_text_append(csv, "configuration");
  analysis_csv_keys(csv, &b->groups);
  core_text_append(csv, ",tau,n,share,low,high\n");

  for (size_t g = 0; g < b->groups.count; g++) {
    for (size_t i = 0; i < PROFILE_POINTS; i++) {
      const AnalysisInterval *point = &b->profile[g * PROFILE_POINTS + i];

      analysis_csv_field(csv, b->groups.groups[g].label);
      analysis_thin_csv(&b->groups, g, csv);
      analysis_csv_value(csv, b->tau[i]);
      core_text_appendf(csv, ",%zu", score_count(b, g));

      analysis_csv_value(csv, point->center);
      analysis_csv_value(csv, point->low);
      analysis_csv_value(csv, point->high);
      core_text_append(csv, "\n");
    }
  }
}

static void print_table(const Bars *b) {
  const char *headers[3 + ANALYSIS_AGGREGATES] = {"configuration", "tasks", "runs"};
  char text[64];

  for (size_t w = 0; w < b->wanted_count; w++) headers[3 + w] = analysis_aggregate_title(b->wanted[w]);
  CoreTable *table = core_table_create(headers, 3 + b->wanted_count);

  for (size_t g = 0; g < b->groups.count; g++) {
    core_table_cell(table, "%s", b->groups.groups[g].label);
    core_table_cell(table, "%zu", b->scores[g].scores.tasks);
    core_table_cell(table, "%zu", score_count(b, g));
    for (size_t w = 0; w < b->wanted_count; w++) {
      const AnalysisInterval *bar = &b->aggregates[g * b->wanted_count + w];
      analysis_format_interval(*bar, text, sizeof text);
      core_table_cell(table, "%s", text);
    }
  }

  printf("%s [%s]\n\n", analysis_scored_title(&b->scored, &b->context),
         b->bootstrap ? "95 % stratified bootstrap" : "95 %");
  core_table_print(table, stdout);
  core_table_destroy(&table);

  CoreText runs = {0};
  analysis_describe_runs(&b->context, &runs);
  core_text_append(&runs, ".");
  analysis_describe_missing(b->aggregates, b->groups.count * b->wanted_count, &runs);
  analysis_scored_describe(&b->scored, &runs);
  printf("\n");
  core_terminal_print_wrapped(stdout, core_text_string(&runs), 0, 0);
  core_text_free(&runs);
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

static int answer(void *figure, const char **operands, size_t count) {
  Bars *b = figure;
  char name[128];
  CoreText csv = {0};

  if (b->draws_profiles && b->interval_name)
    return core_error(CORE_USAGE, "--interval and --profile exclude each other: profiles have bootstrap intervals");
  if (b->draws_profiles) analysis_request_name_after(&b->request, "profile", name);
  TRY(analysis_bootstrap_find(b->interval_name, &b->bootstrap));
  TRY(find_aggregates(b));

  TRY(analysis_context_open(&b->context, &b->request, analysis_database_path(operands, count)));
  TRY(analysis_scored_check(&b->scored));

  TRY(analysis_group_runs_without(&b->context.selection, b->group_keys, core_config_task_keys, &b->groups));
  TRY(analysis_scored_read(&b->scored, &b->context));
  TRY(analysis_scored_refuse_mixed(&b->scored, &b->context, (const AnalysisGrouping *const[]){&b->groups}, 1));
  if (b->draws_profiles && !b->group_keys)
    TRY(analysis_scored_limit_groups(&b->scored, &b->context.selection, &b->groups));

  collect(b);
  aggregate(b);
  if (b->draws_profiles) make_profiles(b);
  if (!b->request.json) print_table(b);

  fflush(stdout);
  AnalysisPlot *plot = b->draws_profiles ? plot_profiles(b) : plot_bars(b);
  if (b->draws_profiles) profiles_csv(b, &csv);
  else bars_csv(b, &csv);

  const bool is_bootstrap = b->draws_profiles || b->bootstrap;
  const char *interval = is_bootstrap ? analysis_bootstrap_description : analysis_interval_description;
  return analysis_figure_write(&b->context, plot, analysis_scored_query, interval, &csv);
}

static const CoreManual manual = {
  .usage = "analyze bars [results.db] [--measure NAME] [--aggregate NAME[,NAME] | --profile] [OPTIONS]",
  .about = "Each configuration as a bar: mean, median, interquartile mean (IQM) or optimality gap over its runs and "
           "tasks (Agarwal et al. 2021), with a 95 % interval over the runs of each task. Runs that differ in what "
           "they are trained on are tasks of one configuration.\n\n"
           "With --profile: performance profiles, for each configuration the share of its runs, over all tasks, whose "
           "score is above τ, against τ. The curve that lies higher everywhere is the better one.\n\n"
           "Files: bars.svg .png .pdf .csv .gp (bars-profile with --profile); the .gp draws the pictures again: "
           "gnuplot bars.gp.",
  ANALYSIS_ONE_DATABASE};

int analysis_figure_bars(int argc, char **argv) {
  Bars b = {.request = {.argc = argc, .argv = argv}, .aggregate_names = "mean,iqm"};

  const CoreOption table[] = {
    {"group", 'g', CORE_OPTION_TEXT, &b.group_keys, "KEY[,KEY]",
     "one configuration for each value of these settings (default: all that vary but the task)"},
    {"aggregate", 0, CORE_OPTION_TEXT, &b.aggregate_names, "NAME[,NAME]",
     "mean, median, iqm, optimality gap (default: mean,iqm)"},
    {"profile", 0, CORE_OPTION_FLAG, &b.draws_profiles, NULL, "draw performance profiles instead of bars"},
    ANALYSIS_SCORED_OPTIONS(b.scored),
    ANALYSIS_REQUEST_OPTIONS(b.request),
    {"interval", 0, CORE_OPTION_TEXT, &b.interval_name, "t|bootstrap",
     "of bars: as in every figure, or rliable's stratified percentile bootstrap of 50 000 replicates (default: t)"},
    {0}};

  int code = core_options_run(&manual, table, argc, argv, answer, &b);
  for (size_t g = 0; b.scores && g < b.groups.count; g++) analysis_tasks_scores_free(&b.scores[g]);
  analysis_scored_free(&b.scored);
  analysis_grouping_free(&b.groups);
  analysis_context_close(&b.context);
  free(b.scores);
  free(b.aggregates);
  free(b.profile);
  return code;
}
