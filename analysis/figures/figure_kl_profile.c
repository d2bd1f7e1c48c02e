/* `analyze kl-profile`: Figs. 2 and 3 of Honari et al. 2025. KL between the policies of an iteration's minibatches
 * against the share of the iteration's data that is processed: to the policy of the next minibatch (consecutive), to
 * the last one (reference), and to the limit of the batch where it was measured (limit), in several phases of training.
 * Reads profile.<iteration>.tsv in the run directories (metrics.profile_every). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figure.h"
#include "analysis/plot/mean_line.h"
#include "analysis/plot/number_text.h"
#include "analysis/runs/measures.h"
#include "analysis/runs/tasks.h"
#include "core/memory.h"
#include "store/workspace/paths.h"

enum { PHASES = 5, GRID = 300, ROW_MAX = 6, KINDS = 3 };
static const double phases[PHASES] = {0.05, 0.25, 0.5, 0.75, 0.95}; /* as shares of training */
static const double KL_FLOOR = 1e-12;                               /* drawn in place of smaller values */
static const char *const kinds[KINDS] = {"consecutive", "reference", "limit"};
static const char *const titles[KINDS] = {"KL to the next minibatch's policy (nat)", "KL to the last policy (nat)",
                                          "KL to the limit policy (nat)"};
static const int kind_field[KINDS] = {2, 3, 5}; /* fields of a line; the fourth is the effective sample size */
static const char query[] = "runs/<id>/profile.<iteration>.tsv: percent, kl_consecutive, kl_reference, kl_limit";
/* Headers of a file, current and older; in the older one, the first KL was over as many minibatches as between two
 * lines. */
static const char header[] = "minibatches\tpercent\tkl_consecutive",
                  old_header[] = "minibatches\tpercent\tkl_sequential";
static const char interval_kind[] =
  "geometric mean over runs; CSV: with 95 % Student t of the logarithm, from three runs on";

typedef struct Profile { AnalysisCurve kl[KINDS]; int64_t iteration; } Profile;

typedef struct Profiles {
  AnalysisContext context;
  AnalysisRequest request;
  const char *group_keys, *panel_keys;
  char root[CORE_PATH_MAX];
  AnalysisGrouping groups, panels; /* panels: key_count 0 if not requested */
  Profile *read;               /* [run][PHASES]; iteration 0: none */
  bool is_best;                /* draws one run of each configuration and panel */
  size_t without;
  int kinds;                   /* KINDS, or without the limit if no run has measured it */
} Profiles;

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* Parses "profile.<iteration>.tsv"; 0 for other names. */
static int64_t profile_iteration(const char *name) {
  char digits[24];
  int64_t iteration;
  size_t length = strlen(name);
  if (strncmp(name, "profile.", 8) != 0 || length < 13 || strcmp(name + length - 4, ".tsv") != 0) return 0;
  if (length - 12 >= sizeof digits) return 0;
  memcpy(digits, name + 8, length - 12);
  digits[length - 12] = '\0';
  return core_text_to_int(digits, &iteration) && iteration > 0 ? iteration : 0;
}

static int read_profile(const char *path, Profile *profile) {
  char *text;
  size_t size;
  TRY(core_files_read(path, 0, &text, &size));

  char *tail = text, *line = strsep(&tail, "\n");
  int points = -1;
  const bool is_old = line && strncmp(line, old_header, strlen(old_header)) == 0;
  if (!line || (!is_old && strncmp(line, header, strlen(header)) != 0)) {
    free(text);
    return core_error(CORE_FAIL, "%s: not a KL profile (its first line has other column names)", path);
  }

  while ((line = strsep(&tail, "\n"))) {
    char *fields = line;
    double value[6];
    int found = 0;

    for (char *field; found < 6 && (field = strsep(&fields, "\t")); found++)
      if (!core_text_to_real(field, &value[found])) value[found] = NAN; /* the last policy has no successor */

    for (int kind = 0; kind < KINDS; kind++) {
      const int field = kind_field[kind];
      if (field < found && !isnan(value[1]) && value[field] > 0) /* excludes the last policy's KL to itself, 0 */
        analysis_curve_add(&profile->kl[kind], value[1], fmax(value[field], KL_FLOOR));
    }

    if (is_old && found >= 4 && value[0] > ++points) profile->kl[0].n = 0;
  }

  free(text);
  return CORE_OK;
}

/* Finds the profiles of a directory that are nearest to the phases; with `deeper` also in its subdirectories. */
static int find_profiles(const char *directory, bool deeper, double last, int64_t nearest[PHASES]) {
  char inner[CORE_PATH_MAX], **names = NULL;
  size_t count = 0;
  int code = CORE_OK;
  if (!core_files_exists(directory)) return CORE_OK;

  TRY(core_files_list(directory, &names, &count));
  for (size_t i = 0; i < count; i++) {
    const int64_t iteration = profile_iteration(names[i]);
    if (iteration) {
      for (int phase = 0; phase < PHASES; phase++) {
        const double aim = phases[phase] * last;
        if (!nearest[phase] || fabs((double)iteration - aim) < fabs((double)nearest[phase] - aim))
          nearest[phase] = iteration;
      }
    }

    if (!deeper || iteration || code != CORE_OK) continue;
    code = core_files_path(inner, "%s/%s", directory, names[i]);
    if (code == CORE_OK) code = find_profiles(inner, false, last, nearest);
  }

  for (size_t i = 0; i < count; i++) free(names[i]);
  free(names);
  return code;
}

/* Reads the profile whose iteration is nearest to each phase. */
static int read_run(const Profiles *p, const AnalysisRun *run, Profile *read) {
  char path[CORE_PATH_MAX];
  int64_t nearest[PHASES] = {0};
  const double last = (double)run->iterations;
  TRY(store_path_run(p->root, run->id, NULL, path));
  TRY(find_profiles(path, false, last, nearest));
  TRY(store_path_run(p->root, run->id, "profile", path));
  TRY(find_profiles(path, true, last, nearest));
  for (int phase = 0; phase < PHASES && nearest[phase]; phase++) {
    TRY(store_path_profile(p->root, run->id, nearest[phase], path));
    TRY(read_profile(path, &read[phase]));
    read[phase].iteration = nearest[phase];
  }
  return CORE_OK;
}

static size_t panel_of(const Profiles *p, size_t run) { return p->panels.key_count ? p->panels.group_of[run] : 0; }

/* Whether another run of the same configuration and panel ended with a higher score, or with the same score and an
 * earlier place. */
static bool has_better(const Profiles *p, const AnalysisRunMetrics *measured, size_t run) {
  const double score = measured[run].value[ANALYSIS_MEASURE_final];
  for (size_t r = 0; r < p->context.selection.count; r++) {
    const double other = measured[r].value[ANALYSIS_MEASURE_final];
    const bool is_peer = p->groups.group_of[r] == p->groups.group_of[run] && panel_of(p, r) == panel_of(p, run) &&
                         p->read[r * PHASES].iteration > 0;
    const bool is_equal = other == score || (isnan(score) && isnan(other));
    if (is_peer && (other > score || (isnan(score) && !isnan(other)) || (r < run && is_equal))) return true;
  }
  return false;
}

/* Forgets the profiles of all but the best run of each configuration and panel. */
static int keep_best(Profiles *p) {
  AnalysisRunMetrics *measured;
  const size_t count = p->context.selection.count;
  bool *is_worse = core_memory_zero_allocate(count + 1, sizeof *is_worse);
  const int code = analysis_measures_read(p->context.database, &p->context.selection, NULL, 0, &measured);
  if (code == CORE_OK) {
    for (size_t r = 0; r < count; r++) is_worse[r] = has_better(p, measured, r);
    for (size_t i = 0; i < count * PHASES; i++) {
      if (!is_worse[i / PHASES]) continue;
      for (int kind = 0; kind < KINDS; kind++) p->read[i].kl[kind].n = 0;
    }
    free(measured);
  }
  free(is_worse);
  return code;
}

static int read_all(Profiles *p) {
  const AnalysisSelection *selection = &p->context.selection;
  if (!analysis_database_in_workspace(p->context.path, p->root))
    return core_error(CORE_FAIL, "%s: KL profiles are in the run directories, but there is no runs/ next to it",
                      p->context.path);

  p->read = core_memory_zero_allocate(selection->count * PHASES + 1, sizeof *p->read);
  for (size_t r = 0; r < selection->count; r++) {
    TRY(read_run(p, &selection->runs[r], &p->read[r * PHASES]));
    p->without += p->read[r * PHASES].iteration == 0;
  }

  p->kinds = KINDS - 1;
  for (size_t i = 0; i < selection->count * PHASES; i++)
    if (p->read[i].kl[KINDS - 1].n > 0) p->kinds = KINDS;

  if (p->without < selection->count) return CORE_OK;
  return core_error(CORE_FAIL,
                    "%s: no run has written a profile yet; metrics.profile_every in their experiment file asks for "
                    "them (experiments/fixed_point/fig2_kl_minibatch.ini)",
                    p->context.path);
}

/* ---- the figure ------------------------------------------------------------------------------------------------- */

static size_t panel_count(const Profiles *p) { return p->panels.key_count ? p->panels.count : 1; }

/* Returns the title of a panel; "" if all runs share one. */
static const char *panel_name(const Profiles *p, size_t panel) {
  return panel_count(p) > 1 ? p->panels.groups[panel].label : "";
}

/* Computes the geometric mean over the group's runs in a panel, for one phase and kind. */
static AnalysisMeanLine make_line(const Profiles *p, size_t panel, size_t group, int phase, int kind) {
  AnalysisCurve *curves = core_memory_allocate((p->context.selection.count + 1) * sizeof *curves);
  size_t count = 0;
  for (size_t r = 0; r < p->context.selection.count; r++) {
    const Profile *profile = &p->read[r * PHASES + (size_t)phase];
    const bool here = p->groups.group_of[r] == group && (panel_count(p) == 1 || p->panels.group_of[r] == panel);
    if (here && profile->kl[kind].n) curves[count++] = profile->kl[kind];
  }
  AnalysisMeanLine line = analysis_mean_line_average(curves, count, GRID, ANALYSIS_RANGE_LOG);
  free(curves);
  return line;
}

static void append_rows(const Profiles *p, size_t panel, size_t group, int phase, int kind,
                        const AnalysisMeanLine *line, CoreText *csv) {
  for (size_t i = 0; i < line->n; i++) {
    if (p->panels.key_count) {
      analysis_csv_field(csv, panel_name(p, panel));
      core_text_append(csv, ",");
    }
    analysis_csv_field(csv, p->groups.groups[group].label);
    analysis_csv_key_values(csv, &p->groups, p->groups.groups[group].config);
    core_text_appendf(csv, ",%s,%g", kinds[kind], 100 * phases[phase]);
    analysis_mean_line_csv(line, i, csv);
  }
}

/* Returns the line of a group: solid for the last one, of two. */
static AnalysisLine line_of(const Profiles *p, size_t group) {
  return group + 1 == p->groups.count ? ANALYSIS_SOLID : ANALYSIS_DASHED;
}

static void add_legend(const Profiles *p, AnalysisPlot *plot) {
  char text[32];
  AnalysisMark plain = {.color = p->context.style->foreground};
  for (int phase = 0; phase < PHASES; phase++) {
    snprintf(text, sizeof text, "%g %% of training", 100 * phases[phase]);
    analysis_plot_legend_entry(plot, text, (AnalysisMark){.color = analysis_ramp(phase / (PHASES - 1.0))}, true);
  }
  if (p->groups.count < 2) return;
  analysis_plot_legend_head(plot, "");
  for (size_t g = p->groups.count; g-- > 0;)
    analysis_plot_legend_line(plot, p->groups.groups[g].label, plain, line_of(p, g));
}

static void add_caption(const Profiles *p, AnalysisPlot *plot) {
  CoreText text = {0};
  core_text_appendf(&text, "Line: %s its profile nearest to the phase. ",
                    p->is_best ? "the run with the highest final score, at" : "geometric mean over runs, each at");
  analysis_describe_runs(&p->context, &text);
  core_text_append(&text, ".");
  if (p->kinds == KINDS) core_text_append(&text, " Limit: the policy after metrics.limit_epochs on the same batch.");
  if (p->without) core_text_appendf(&text, " Without a profile: %zu.", p->without);
  analysis_plot_caption(plot, core_text_string(&text));
  core_text_free(&text);
}

/* Adds the lines of one panel, one color per phase. */
static void add_lines(const Profiles *p, AnalysisPlot *plot, size_t number, size_t panel, int kind, CoreText *csv) {
  for (size_t i = 0; i < p->groups.count * PHASES; i++) {
    const size_t g = i / PHASES;
    const int phase = (int)(i % PHASES);
    AnalysisMeanLine line = make_line(p, panel, g, phase, kind);
    AnalysisMark mark = {.color = analysis_ramp(phase / (PHASES - 1.0))};
    analysis_plot_curve(plot, number, line.n, line.grid, line.mean, NULL, NULL, mark,
                        line_of(p, g));
    append_rows(p, panel, g, phase, kind, &line, csv);
    analysis_mean_line_free(&line);
  }
}

static int draw(const Profiles *p) {
  const size_t panels = panel_count(p);
  CoreText csv = {0};
  AnalysisPlot *plot = analysis_plot_create(p->context.style, "% of the iteration's data processed", false, "", false);

  core_text_append(&csv, p->panels.key_count ? "panel,configuration" : "configuration");
  analysis_csv_keys(&csv, &p->groups);
  core_text_append(&csv, ",kl,phase_percent,percent,n,mean,low,high\n");

  const bool rows = panels > 1 && panels <= ROW_MAX; /* one row per kind, one column per panel */
  if (rows) analysis_plot_columns(plot, panels);

  for (size_t i = 0; i < (size_t)p->kinds * panels; i++) {
    const size_t panel = i % panels;
    const int kind = (int)(i / panels);

    const size_t number = analysis_plot_panel(plot, kind == 0 || !rows ? panel_name(p, panel) : "", "");
    analysis_plot_panel_axis(plot, number, rows && panel > 0 ? "" : titles[kind], true);
    add_lines(p, plot, number, panel, kind, &csv);
  }

  add_legend(p, plot);
  add_caption(p, plot);
  return analysis_figure_write(&p->context, plot, query, interval_kind, &csv);
}

/* Adds a group's cells in one phase: label, phase, number of runs, and the KL of each kind. */
static void print_row(const Profiles *p, size_t panel, size_t group, int phase, CoreTable *table) {
  core_table_cell(table, "%s", p->groups.groups[group].label);
  core_table_cell(table, "%g %%", 100 * phases[phase]);
  for (int kind = 0; kind < p->kinds; kind++) {
    AnalysisMeanLine line = make_line(p, panel, group, phase, kind);
    if (kind == 0) core_table_cell(table, "%zu", line.count);
    analysis_mean_line_cells(&line, 3, table);
    analysis_mean_line_free(&line);
  }
}

/* Prints the KL at the start and end of an iteration, by group and phase. */
static void print_table(const Profiles *p) {
  static const char *const headers[] = {"panel", "configuration",    "phase", "runs", "consecutive: first", "last",
                                        "reference: first", "last", "limit: first", "last"};

  const bool has_panels = panel_count(p) > 1;
  const size_t columns = sizeof headers / sizeof *headers - (size_t)(2 * (KINDS - p->kinds));
  CoreTable *table = core_table_create(headers + !has_panels, columns - !has_panels);

  for (size_t panel = 0; panel < panel_count(p); panel++)
    for (size_t g = 0; g < p->groups.count; g++)
      for (int phase = 0; phase < PHASES; phase++) {
        if (has_panels) core_table_cell(table, "%s", panel_name(p, panel));
        print_row(p, panel, g, phase, table);
      }

  core_table_print(table, stdout);
  core_table_destroy(&table);

  CoreText runs = {0};
  analysis_describe_runs(&p->context, &runs);
  printf("\n");
  core_terminal_print_wrapped(stdout, core_text_string(&runs), 0, 0);
  if (p->without) printf("without a profile: %zu\n", p->without);
  core_text_free(&runs);
}

static int answer(void *figure, const char **operands, size_t count) {
  Profiles *p = figure;
  TRY(analysis_context_open(&p->context, &p->request, analysis_database_path(operands, count)));
  const char *elsewhere = p->panel_keys && strcmp(p->panel_keys, "task") == 0 ? core_config_task_keys : p->panel_keys;
  TRY(analysis_group_runs_without(&p->context.selection, p->group_keys, elsewhere, &p->groups));
  if (p->panel_keys) TRY(analysis_group_runs(&p->context.selection, p->panel_keys, &p->panels));
  TRY(read_all(p));
  if (p->is_best) TRY(keep_best(p));
  TRY(analysis_mean_line_check_groups(&p->groups));
  if (!p->request.json) print_table(p);
  fflush(stdout);
  return draw(p);
}

static const CoreManual manual = {
  .usage = "analyze kl-profile [results.db] [--group KEYS] [--panel KEYS] [--where KEY=VALUE]... [OPTIONS]",
  .about =
    "How the policy moves within an iteration: KL between the policies before and after a minibatch and to "
    "the iteration's last policy, and to the limit of its batch where metrics.limit_epochs measured it, against the "
    "share of the iteration's data that is processed, at 5, 25, 50, 75 "
    "and 95 % of training (the nearest profile that a run has written), as geometric means over runs. One "
    "or two configurations: dashed and solid; a column of panels for each value of --panel. The runs need "
    "metrics.profile_every, and their directories next to the database.\n\n"
    "Files: kl-profile.svg .png .pdf .csv .gp; the .gp draws the pictures again: gnuplot kl-profile.gp.",
  ANALYSIS_ONE_DATABASE};

int analysis_figure_kl_profile(int argc, char **argv) {
  Profiles p = {.request = {.argc = argc, .argv = argv}};

  const CoreOption table[] = {
    {"group", 'g', CORE_OPTION_TEXT, &p.group_keys, "KEY[,KEY]",
     "one configuration for each value of these settings (default: all that vary)"},
    {"panel", 0, CORE_OPTION_TEXT, &p.panel_keys, "KEY[,KEY]",
     "one column of panels for each value of these settings; task: for each task (default: one column)"},
    {"best", 0, CORE_OPTION_FLAG, &p.is_best, NULL,
     "draw the run with the highest final score of each configuration and panel, as the paper does (default: means)"},
    ANALYSIS_REQUEST_OPTIONS(p.request),
    {0}};

  int code = core_options_run(&manual, table, argc, argv, answer, &p);
  for (size_t i = 0; p.read && i < p.context.selection.count * PHASES; i++) {
    for (int kind = 0; kind < KINDS; kind++) analysis_curve_free(&p.read[i].kl[kind]);
  }

  free(p.read);
  analysis_grouping_free(&p.groups);
  analysis_grouping_free(&p.panels);
  analysis_context_close(&p.context);
  return code;
}
