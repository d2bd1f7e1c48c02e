/* Figures of `analyze` and their common parts: options, selection of runs, provenance. A figure is a file figure_*.c
 * with one entry here: analyze NAME results.db [OPTIONS]. */
#ifndef ANALYSIS_FIGURE_H
#define ANALYSIS_FIGURE_H
#include <stdbool.h>
#include <stddef.h>

#include "analysis/plot/number_text.h"
#include "analysis/plot/palette.h"
#include "analysis/plot/plot.h"
#include "analysis/runs/group.h"
#include "analysis/statistics/interval.h"
#include "core/command/options.h"
#include "core/files.h"

typedef struct AnalysisFigure {
  const char *name, *summary;          /* a NULL name terminates the table */
  int (*run)(int argc, char **argv);
} AnalysisFigure;

extern const AnalysisFigure analysis_figures[];

int analysis_figure_ddr(int argc, char **argv);
int analysis_figure_curves(int argc, char **argv);
int analysis_figure_asymptote(int argc, char **argv);
int analysis_figure_best(int argc, char **argv);
int analysis_figure_settings(int argc, char **argv);
int analysis_figure_heatmap(int argc, char **argv);
int analysis_figure_bars(int argc, char **argv);
int analysis_figure_kl_profile(int argc, char **argv);
int analysis_figure_coverage(int argc, char **argv);
int analysis_figure_layers(int argc, char **argv);
int analysis_figure_search(int argc, char **argv);
int analysis_figure_table(int argc, char **argv);

/* Operands of every figure, for its CoreManual. */
#define ANALYSIS_ONE_DATABASE \
  .operands = {"DATABASE"}, .operands_max = 1, .hint = "expected one database, or none for that of the workspace"

/* Options of every figure. Zero-initialize. */
typedef struct AnalysisRequest {
  int argc;                            /* arguments; argv[0] is the figure's name or a paper's (papers.h) */
  char **argv;
  const char *sweep, *directory, *style, *level_set;
  const char *name;                    /* name of the files; NULL: the command's */
  const char *common;                  /* --common, for figures that have it */
  CoreOptionList where;
  bool json, json_done;                /* --json; json_done: the figure has printed better JSON than its CSV rows */
} AnalysisRequest;

/* Rows of an options table for the common options. */
#define ANALYSIS_REQUEST_OPTIONS(request) \
  {"sweep", 0, CORE_OPTION_TEXT, &(request).sweep, "NAME[,NAME]", \
   "only the runs of these sweeps (default: all runs)"}, \
  {"where", 'w', CORE_OPTION_LIST, &(request).where, "KEY=VALUE", \
   "only runs with this setting; the same key again means either, another key means both; VALUE may be max, min " \
   "or mode (of the runs that meet the other conditions)"}, \
  {"level-set", 0, CORE_OPTION_TEXT, &(request).level_set, "NAME", \
   "which evaluation levels; other: of each run the first that it was not trained on (default: those that most runs " \
   "have)"}, \
  {"output", 'o', CORE_OPTION_TEXT, &(request).directory, "DIR|FILE", \
   "output directory (default: figures/ next to the database), or a file such as plot.png, which names all files"}, \
  {"name", 0, CORE_OPTION_TEXT, &(request).name, "NAME", \
   "what the files are called, without ending (default: as the command; curves and layers of --y: curves-kl)"}, \
  {"style", 0, CORE_OPTION_TEXT, &(request).style, "paper|slides|dark", "for what the picture is (default: paper)"}, \
  {"json", 0, CORE_OPTION_FLAG, &(request).json, NULL, "print the table as JSON"}

#define ANALYSIS_COMMON_OPTION(request) \
  {"common", 0, CORE_OPTION_TEXT, &(request).common, "KEY=VALUE", \
   "runs with this setting belong to every other value of the key too: a reference that all panels or lines share"}

/* Context of a figure: the database, open and up to date, and the selected runs, grouped into configurations. */
typedef struct AnalysisContext {
  const AnalysisRequest *request;
  const char *path;                    /* path of the database */
  char directory[CORE_PATH_MAX];          /* output directory */
  char stem[128];                      /* name without ending of a file given as output; "": a directory */
  const char *name;                    /* name of the files */
  char level_set[64];                  /* "" if no run has an evaluation */
  size_t level_sets;                   /* number of level sets of the selected runs */
  const AnalysisStyle *style;
  StoreDatabase *database;
  AnalysisSelection selection;
  AnalysisGrouping configurations;     /* grouped by all that varies except the seed */
} AnalysisContext;

/* Opens the context. path: database. CORE_USAGE: an invalid option. CORE_FAIL: no runs; for a paper's figure the
 * message names the experiment that makes them. */
int analysis_context_open(AnalysisContext *context, const AnalysisRequest *request, const char *path);
/* Checks that a run has an evaluation. CORE_FAIL: none yet. */
int analysis_context_need_evaluations(const AnalysisContext *context);
void analysis_context_close(AnalysisContext *context);
/* Restricts the selection to runs with keep[run]; call it before keeping pointers to runs. */
int analysis_context_filter(AnalysisContext *context, const bool *keep);

/* Appends "24 runs of 12 configurations (2 seeds): 22 finished, 1 running, 1 diverged". */
void analysis_describe_runs(const AnalysisContext *context, CoreText *text);
/* Names the files "curves-kl", for a figure that shows one of many quantities, unless --name or a paper's name does. */
void analysis_request_name_after(AnalysisRequest *request, const char *quantity, char room[128]);
/* Appends the provenance lines of each file: figure, command, program, trainer, date, database, filter, runs, query,
 * interval. */
void analysis_describe_source(const AnalysisContext *context, const char *query, const char *interval, CoreText *text);
/* Writes the files of a figure, named after its command, and prints their paths (with --json the rows, unless
 * json_done). Frees the plot and the CSV. */
int analysis_figure_write(const AnalysisContext *context, AnalysisPlot *plot, const char *query, const char *interval,
                          CoreText *csv);
/* Returns the number of seeds of each configuration; free() it. */
size_t *analysis_seed_counts(const AnalysisContext *context);

/* Prints "figures/x.svg .png .pdf .csv .gp", as far as the files exist. */
void analysis_print_files(const AnalysisContext *context, const char *name);
/* Returns the text for a value of the key on an axis or in a table: "none" if the key is unused or empty. */
const char *analysis_key_shown(const AnalysisConfig *config, const CoreConfigRow *row, CoreText *text);
/* Appends " n = 2: no interval, which needs 3 runs." if one of them has none. */
void analysis_describe_missing(const AnalysisInterval *interval, size_t count, CoreText *text);

/* Prints one row per run and one column for each of the measures, "final,ddr", as text, CSV or, by the request, JSON;
 * its level set NULL: the training levels. path: the database. CORE_USAGE: unknown measure, bad budget, or an option of
 * the selection. */
int analysis_table_runs_print(const char *path, const AnalysisRequest *request, const char *measures, double budget,
                              bool csv);

#endif
