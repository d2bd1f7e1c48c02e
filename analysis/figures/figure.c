/* Table of figures and their common steps (figure.h). A new figure is a file figure_*.c and a row here. */
#include "analysis/figures/figure.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <time.h>

#include "analysis/figures/papers.h"
#include "analysis/plot/number_text.h"
#include "analysis/plot/plot.h"
#include "analysis/runs/codes.h"
#include "analysis/runs/membership.h"
#include "core/memory.h"
#include "core/unicode.h"
#include "core/version.h"
#include "store/database/query.h"

const AnalysisFigure analysis_figures[] = {
  {"ddr-vs-solve", "scatter of DDR (transitions per nat of policy change) against solve rate, one dot per seed",
   analysis_figure_ddr},
  {"curves", "any measured quantity against transitions, iterations or time: mean and 95 % interval over seeds",
   analysis_figure_curves},
  {"asymptote", "fitted learning curves: asymptotes, and transitions until a score, with intervals",
   analysis_figure_asymptote},
  {"best", "the best configuration against the budget, its setting or DDR, with intervals", analysis_figure_best},
  {"settings", "a measure of runs against one setting: sensitivity, scaling, throughput", analysis_figure_settings},
  {"heatmap", "a measure of runs over two settings, as colors", analysis_figure_heatmap},
  {"bars", "mean, IQM and other aggregates of each configuration, with intervals; performance profiles",
   analysis_figure_bars},
  {"kl-profile", "KL between the policies of one iteration's minibatches (P003)", analysis_figure_kl_profile},
  {"coverage", "part of the state space that runs have visited (P002)", analysis_figure_coverage},
  {"layers", "weight norms and dormant units of each layer of the networks (P002)", analysis_figure_layers},
  {"search", "results of a search or a grid: best trials, importance of settings, parallel coordinates, slices",
   analysis_figure_search},
  {"table", "the configurations in numbers: text, Markdown or LaTeX; with --runs each run", analysis_figure_table},
  {NULL, NULL, NULL},
};

/* ---- opening ---------------------------------------------------------------------------------------------------- */

enum { LEVEL_SETS = 32 };
typedef struct LevelSets {
  char names[LEVEL_SETS][64];
  size_t runs[LEVEL_SETS], count;
  size_t with_other; /* number of runs with a set that they are not trained on */
} LevelSets;

/* Whether it is the name of the levels that a run is trained on, in its evaluations. */
static bool is_training_set(const char *name) { return strcmp(name, "train") == 0; }

static int count_level_sets(const AnalysisContext *context, LevelSets *sets) {
  StoreQuery *query = NULL;
  int code = CORE_OK;

  TRY(store_query_open(context->database,
                       "SELECT DISTINCT level_set FROM evaluation WHERE run_id = ?1 ORDER BY level_set", &query));

  const bool begun = store_query_begin_reading(context->database);
  for (size_t r = 0; r < context->selection.count; r++) {
    if (code != CORE_OK) break;
    bool row = false, other = false;
    store_query_reset(query);
    store_query_bind_text(query, 1, context->selection.runs[r].id);

    while ((code = store_query_step(query, &row)) == CORE_OK && row) {
      const char *name = store_query_text(query, 0);
      size_t i = 0;
      while (i < sets->count && strcmp(sets->names[i], name) != 0) i++;
      if (i == LEVEL_SETS || strlen(name) >= sizeof sets->names[0]) continue;
      if (i == sets->count) memcpy(sets->names[sets->count++], name, strlen(name) + 1);
      sets->runs[i]++;
      other |= !is_training_set(name);
    }

    sets->with_other += other;
  }

  store_query_close(&query);
  store_query_end_reading(context->database, begun);
  return code;
}

/* Resolves --level-set other: the name, if all runs have the same first set that they are not trained on, else the
 * placeholder for each run's own; NULL if none has one. */
static const char *other_set(const LevelSets *sets) {
  const char *first = NULL;
  bool shared = false;
  for (size_t i = 0; i < sets->count; i++) {
    if (is_training_set(sets->names[i]) || (first && strcmp(sets->names[i], first) > 0)) continue;
    first = sets->names[i];
    shared = sets->runs[i] == sets->with_other;
  }
  return !first || shared ? first : ANALYSIS_LEVELS_OTHER;
}

/* Selects the requested level set, or the one on which most runs were evaluated, preferring the training levels. */
static int choose_level_set(AnalysisContext *context) {
  LevelSets sets = {0};
  TRY(count_level_sets(context, &sets));

  context->level_sets = sets.count;
  if (sets.count == 0) return context->request->level_set ? analysis_context_need_evaluations(context) : CORE_OK;

  size_t usual = 0;
  const char *names[LEVEL_SETS], *asked = context->request->level_set, *chosen = NULL;
  for (size_t i = 0; i < sets.count; i++) {
    const bool as_many = sets.runs[i] == sets.runs[usual];
    names[i] = sets.names[i];
    if (sets.runs[i] > sets.runs[usual] || (as_many && is_training_set(names[i]))) usual = i;
    if (asked && strcmp(asked, names[i]) == 0) chosen = names[i];
  }

  if (asked && !chosen && strcmp(asked, "other") == 0) chosen = other_set(&sets);
  if (asked && !chosen) {
    const char *near = core_text_nearest(asked, names, sets.count);
    return core_error(CORE_USAGE, "--level-set %s: no run was evaluated on it; try %s", asked,
                      near ? near : names[usual]);
  }

  snprintf(context->level_set, sizeof context->level_set, "%s", chosen ? chosen : names[usual]);
  return CORE_OK;
}

/* Splits an output that is a file, such as out/plot.png, into context->directory and context->stem. Returns false for a
 * directory. */
static bool split_output(AnalysisContext *context) {
  static const char *const endings[] = {".svg", ".png", ".pdf", ".csv", ".gp", ".tex", ".md", ".txt"};
  struct stat status;
  const char *output = context->request->directory, *slash = output ? strrchr(output, '/') : NULL;
  if (!output || (stat(output, &status) == 0 && S_ISDIR(status.st_mode))) return false;
  const char *file = slash ? slash + 1 : output, *ending = strrchr(file, '.');
  if (!ending || ending == file) return false;

  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    if (strcmp(ending, endings[i]) != 0 || (size_t)(ending - file) >= sizeof context->stem) continue;
    snprintf(context->stem, sizeof context->stem, "%.*s", (int)(ending - file), file);
    return core_files_path(context->directory, "%.*s", slash ? (int)(slash - output + (slash == output)) : 1,
                           slash ? output : ".") == CORE_OK;
  }
  return false;
}

/* Selects the output directory: next to the database, or in the current directory if that is not writable. */
static int choose_directory(AnalysisContext *context) {
  char parent[CORE_PATH_MAX];
  if (split_output(context)) return CORE_OK;
  if (context->request->directory) return core_files_path(context->directory, "%s", context->request->directory);
  const char *slash = strrchr(context->path, '/');
  if (!slash) return core_files_path(context->directory, "figures");
  TRY(core_files_path(context->directory, "%.*s/figures", (int)(slash - context->path), context->path));
  TRY(core_files_path(parent, "%.*s", (int)(slash - context->path), slash > context->path ? context->path : "/"));
  if (access(core_files_exists(context->directory) ? context->directory : parent, W_OK) == 0) return CORE_OK;
  core_unicode_print(stderr,
                     "note: %s is not writable: figures are written to ./figures; -o DIR selects a directory\n",
                     parent);
  return core_files_path(context->directory, "figures");
}

static int choose_name(AnalysisContext *context) {
  const char *stem = *context->stem ? context->stem : context->request->name;
  const char *name = stem ? stem : context->request->argv[0];
  bool plain = *name && *name != '.' && *name != '-' && strlen(name) < 128;
  for (const char *c = name; *c; c++) plain = plain && (isalnum((unsigned char)*c) || strchr("._-+=", *c));
  context->name = name;
  return plain ? CORE_OK
               : core_error(CORE_USAGE, "--name '%.100s': expected letters, digits and ._-+= (the folder is -o DIR)",
                            name);
}

void analysis_request_name_after(AnalysisRequest *request, const char *quantity, char room[128]) {
  if (request->name || analysis_paper_find(request->argv[0])) return;
  snprintf(room, 128, "%s-%.100s", request->argv[0], quantity);
  for (char *c = room; *c; c++)
    if (!isalnum((unsigned char)*c) && *c != '_') *c = '-';
  request->name = room;
}

int analysis_context_need_evaluations(const AnalysisContext *context) {
  if (context->level_sets > 0) return CORE_OK;
  size_t runs = context->selection.count - context->selection.repeats;
  return core_error(CORE_FAIL, "%s: none of the %zu runs has an evaluation yet; see `sweep status`", context->path,
                    runs);
}

/* Groups the original runs, without those repeated by --common. */
static int group_configurations(AnalysisContext *context) {
  AnalysisSelection *selection = &context->selection;
  selection->count -= selection->repeats;
  int code = analysis_group_runs(selection, NULL, &context->configurations);
  selection->count += selection->repeats;
  return code;
}

/* Extends the error message by its location, and for a paper's figure by the command that makes its runs. */
static int open_error(const AnalysisContext *context, int code) {
  const AnalysisPaper *paper = analysis_paper_find(context->request->argv[0]);
  char *message = core_text_duplicate(core_error_message());
  if (paper)
    code = core_error(code,
                      "%s: %s; its runs: sweep submit %s (with --profile laptop or demo on a small machine), or name "
                      "others with --sweep",
                      context->path, message, paper->experiment);
  else code = core_error(code, "%s: %s", context->path, message);
  free(message);
  return code;
}

static int open_context(AnalysisContext *context) {
  const AnalysisRequest *request = context->request;
  TRY(analysis_style_find(request->style, &context->style));
  TRY(choose_directory(context));
  TRY(choose_name(context));
  TRY(analysis_database_open(context->path, &context->database));
  int code = analysis_select_runs(context->database, request->sweep, request->where.items, request->where.count,
                                  &context->selection);
  if (code == CORE_OK) analysis_codes_warn(&context->selection);
  if (code == CORE_OK) code = analysis_selection_cover(context->database, request->sweep, &context->selection);
  if (code == CORE_OK) code = choose_level_set(context);
  if (code == CORE_OK && request->common) code = analysis_selection_repeat(&context->selection, request->common);
  return code == CORE_OK ? group_configurations(context) : open_error(context, code);
}

int analysis_context_filter(AnalysisContext *context, const bool *keep) {
  AnalysisSelection *selection = &context->selection;
  const size_t count = selection->count, first_repeat = count - selection->repeats;
  selection->count = selection->repeats = 0;
  for (size_t r = 0; r < count; r++) {
    if (!keep[r]) continue;
    if (r != selection->count) selection->runs[selection->count] = selection->runs[r];
    selection->count++;
    selection->repeats += r >= first_repeat;
  }
  analysis_grouping_free(&context->configurations);
  return group_configurations(context);
}

int analysis_context_open(AnalysisContext *context, const AnalysisRequest *request, const char *path) {
  *context = (AnalysisContext){.request = request, .path = path};
  int code = open_context(context);
  if (code != CORE_OK) analysis_context_close(context);
  return code;
}

void analysis_context_close(AnalysisContext *context) {
  analysis_grouping_free(&context->configurations);
  analysis_selection_free(&context->selection);
  store_database_close(&context->database);
}

/* ---- words ------------------------------------------------------------------------------------------------------ */

static int by_number(const void *left, const void *right) {
  const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

size_t *analysis_seed_counts(const AnalysisContext *context) {
  const AnalysisSelection *selection = &context->selection;
  const size_t runs = selection->count - selection->repeats, groups = context->configurations.count;
  AnalysisMembers members = analysis_grouping_members(&context->configurations, runs);
  size_t *count = core_memory_zero_allocate(groups + 1, sizeof *count);
  int64_t *seed = core_memory_allocate((runs + 1) * sizeof *seed);
  for (size_t g = 0; g < groups; g++) {
    const size_t first = members.first[g], n = members.first[g + 1] - first;
    for (size_t i = 0; i < n; i++) seed[i] = selection->runs[members.run[first + i]].config.seed;
    qsort(seed, n, sizeof *seed, by_number);
    for (size_t i = 0; i < n; i++) count[g] += i == 0 || seed[i] != seed[i - 1];
  }
  free(seed);
  analysis_members_free(&members);
  return count;
}

void analysis_describe_runs(const AnalysisContext *context, CoreText *text) {
  const AnalysisSelection *selection = &context->selection;
  size_t configurations = context->configurations.count, fewest = SIZE_MAX, most = 0;
  const size_t runs = selection->count - selection->repeats;

  /* Sizes: runs, configurations, seeds. */
  size_t *seeds = analysis_seed_counts(context);
  for (size_t c = 0; c < configurations; c++) {
    if (seeds[c] < fewest) fewest = seeds[c];
    if (seeds[c] > most) most = seeds[c];
  }
  free(seeds);

  core_text_appendf(text, "%zu run%s of %zu configuration%s (", runs, runs == 1 ? "" : "s",
                    configurations, configurations == 1 ? "" : "s");
  if (fewest != most) core_text_appendf(text, "%zu to ", fewest);
  core_text_appendf(text, "%zu seed%s%s)", most, most == 1 ? "" : "s",
                    configurations > 1 && fewest == most ? " each" : "");

  const char *separator = ": ";
  for (size_t i = 0; i < STORE_STATUSES; i++) {
    const StoreStatus status = store_status_order[i];
    size_t count = 0;
    for (size_t r = 0; r < runs; r++) count += selection->runs[r].status == status;
    if (count == 0) continue;
    core_text_appendf(text, "%s%zu %s%s", separator, count, store_status_name(status),
                      status == STORE_STOPPED_BY_RULE ? " (censored: known as far as they came)" : "");
    separator = ", ";
  }

  if (selection->copies)
    core_text_appendf(text, "; %zu more %s (%s in settings that nothing reads): counted once", selection->copies,
                      selection->copies == 1 ? "is a duplicate" : "are duplicates",
                      selection->copies == 1 ? "it differs" : "they differ");
  if (selection->unreadable) core_text_appendf(text, "; %zu excluded: configuration unreadable", selection->unreadable);
}

static void describe_trainers(const AnalysisSelection *selection, CoreText *text) {
  size_t distinct = 0;
  for (size_t r = 0; r < selection->count && distinct < 8; r++) {
    const char *commit = selection->runs[r].commit;
    bool seen = *commit == '\0';
    for (size_t e = 0; e < r && !seen; e++) seen = strcmp(selection->runs[e].commit, commit) == 0;
    if (!seen) core_text_appendf(text, "%s%s", distinct++ ? ", " : "", commit);
  }
  if (distinct == 0) core_text_append(text, "unknown");
}

void analysis_describe_source(const AnalysisContext *context, const char *query, const char *interval, CoreText *text) {
  const AnalysisPaper *paper = analysis_paper_find(context->request->argv[0]);
  char date[32];
  time_t now = time(NULL);
  struct tm utc;
  strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&now, &utc));

  core_text_appendf(text, "figure: %s", context->request->argv[0]);
  if (paper) core_text_appendf(text, " (%s; experiment %s)", paper->title, paper->experiment);
  core_text_append(text, "\ncommand: analyze");
  for (int i = 0; i < context->request->argc; i++) core_text_appendf(text, " %s", context->request->argv[i]);
  core_text_appendf(text, "\nprogram: analyze %s, commit %s\ntrainer: commit ", core_version(), core_commit());

  describe_trainers(&context->selection, text);
  core_text_appendf(text, "\ndate: %s\nfilter: %s; level set %s\nruns: ", date, context->selection.filter,
                    context->level_set[0] ? context->level_set : "none");
  analysis_describe_runs(context, text);

  core_text_appendf(text, "\nquery: %s\nquery: %s\ninterval: %s\n", context->selection.sql, query, interval);
  /* Contains names and values of users: replace control characters to keep one line each. */
  for (char *c = text->data; *c; c++) {
    if ((unsigned char)*c < 0x20 && *c != '\n') *c = ' ';
  }
}

int analysis_figure_write(const AnalysisContext *context, AnalysisPlot *plot, const char *query, const char *interval,
                          CoreText *csv) {
  CoreText source = {0};
  const char *name = context->name;
  CoreText mixed = {0};
  analysis_describe_source(context, query, interval, &source);
  analysis_codes_describe(&context->selection, &mixed);
  if (mixed.length > 0) analysis_plot_caption(plot, mixed.data);
  core_text_free(&mixed);
  int code = analysis_render(plot, context->directory, name, core_text_string(&source), core_text_string(csv));
  core_text_free(&source);
  if (context->request->json && !context->request->json_done) analysis_csv_print_json(core_text_string(csv));
  if (code == CORE_OK && !context->request->json) analysis_print_files(context, name);
  analysis_plot_destroy(&plot);
  core_text_free(csv);
  return code;
}

void analysis_print_files(const AnalysisContext *context, const char *name) {
  char pdf[CORE_PATH_MAX];
  bool has_pdf = core_files_path(pdf, "%s/%s.pdf", context->directory, name) == CORE_OK && core_files_exists(pdf);
  core_unicode_print(stdout, "%s/%s.svg .png %s.csv .gp\n", context->directory, name, has_pdf ? ".pdf " : "");
}

const char *analysis_key_shown(const AnalysisConfig *config, const CoreConfigRow *row, CoreText *text) {
  const char *value = analysis_key_value(config, row, text);
  return *value ? value : "none";
}

void analysis_describe_missing(const AnalysisInterval *interval, size_t count, CoreText *text) {
  size_t fewest = SIZE_MAX, most = 0;
  for (size_t i = 0; i < count; i++) {
    if (isnan(interval[i].center) || !isnan(interval[i].low)) continue;
    if (interval[i].n < fewest) fewest = interval[i].n;
    if (interval[i].n > most) most = interval[i].n;
  }
  if (most == 0) return;
  core_text_appendf(text, " n = %zu", fewest);
  if (most > fewest) core_text_appendf(text, " to %zu", most);
  core_text_appendf(text, ": no interval, which needs %d runs.", ANALYSIS_INTERVAL_RUNS_MIN);
}
