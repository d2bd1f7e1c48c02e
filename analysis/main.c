/* Main program of `analyze`: figures and tables from results.db. Each figure is a separate file. */
#include <stdio.h>
#include <string.h>

#include "analysis/commands.h"
#include "analysis/figures/figure.h"
#include "analysis/figures/papers.h"
#include "core/json.h"
#include "core/terminal.h"

static const char intro[] = "Makes figures from results.db as SVG, PNG and PDF, with the numbers as CSV and the "
                            "gnuplot script, and prints their tables. Imports new results of the workspace first.\n\n"
                            "Exit status: 0 success, 1 failure or no data yet, 2 usage error.";

static void print_figures_json(void) {
  json_t *figures = json_array(), *papers = json_array();
  for (const AnalysisFigure *f = analysis_figures; f->name; f++)
    json_array_append_new(figures, json_pack("{s:s, s:s}", "name", f->name, "shows", f->summary));
  for (const AnalysisPaper *p = analysis_papers; p->name; p++)
    json_array_append_new(papers, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name", p->name, "of", p->title,
                                            "experiment", p->experiment, "figure", p->figure, "options", p->options,
                                            "shows", p->summary));
  core_json_print(json_pack("{s:o, s:o}", "figures", figures, "papers", papers));
}

static int print_figures(void *json, const char **operands, size_t count) {
  if (*(const bool *)json) {
    print_figures_json();
    return CORE_OK;
  }

  size_t width = 0;
  for (const AnalysisFigure *f = analysis_figures; f->name; f++) {
    if (strlen(f->name) > width) width = strlen(f->name);
  }
  for (const AnalysisFigure *f = analysis_figures; f->name; f++) printf("%-*s  %s\n", (int)width, f->name, f->summary);

  static const char *const columns[] = {"paper figure", "of", "runs", "shows"};
  CoreTable *papers = core_table_create(columns, sizeof columns / sizeof *columns);
  for (const AnalysisPaper *paper = analysis_papers; paper->name; paper++) {
    core_table_cell(papers, "%s", paper->name);
    core_table_cell(papers, "%s", paper->title);
    core_table_cell(papers, "%s", paper->experiment);
    core_table_cell(papers, "%s", paper->summary);
  }

  printf("\nThe papers' figures by their names: each is one of the above with options (analyze NAME --help) for the "
         "runs of its experiment.\n\n");
  core_table_print(papers, stdout);
  core_table_destroy(&papers);
  return CORE_OK;
}

static int list_figures(int argc, char **argv) {
  static const CoreManual manual = {.usage = "analyze figures", .about = "Lists the available figures."};
  bool json = false;
  const CoreOption table[] = {{"json", 0, CORE_OPTION_FLAG, &json, NULL, "print the lists as JSON"}, {0}};
  return core_options_run(&manual, table, argc, argv, print_figures, &json);
}

int main(int argc, char **argv) {
  enum { COMMANDS_MAX = 128 };
  CoreCommand commands[COMMANDS_MAX] = {{0}};
  size_t count = 0;

  for (const AnalysisFigure *f = analysis_figures; f->name && count + 16 < COMMANDS_MAX; f++) {
    commands[count++] = (CoreCommand){f->name, f->summary, f->run};
  }
  commands[count++] = (CoreCommand){
    "figures", "list the figures, the papers' by their names too (fig1a ... onpolicy-fig3 ...)", list_figures};

  static const CoreCommand others[] = {
    {"report", "write one HTML page with everything", analysis_report},
    {"claims", "test the papers' claims: supported, contradicted or undecided", analysis_claims},
    {"compare", "compare two groups of runs: difference, probability of improvement, seeds needed", analysis_compare},
    {"advise", "propose what to try next, from DDR and stagnation, as an experiment file", analysis_advise},
    {"check", "check for damage, orphans, gaps and changed logs; --repair fixes them", analysis_check},
    {"merge", "merge databases of several clusters", analysis_merge},
    {"import", "bring runs of Weights & Biases, TensorBoard or CSV into a workspace", analysis_import},
    {"export", "export to CSV, JSON lines, TensorBoard or MLflow", analysis_export},
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) commands[count++] = others[i];

  commands[count++] = (CoreCommand){"sql", "run an SQL query; read-only", analysis_sql};
  for (const AnalysisPaper *paper = analysis_papers; paper->name && count + 1 < COMMANDS_MAX; paper++)
    commands[count++] = (CoreCommand){paper->name, NULL, analysis_paper_run}; /* `analyze figures` lists them */

  const CoreProgram program = {
    .name = "analyze", .intro = intro, .commands = commands, .completions = analysis_completions};
  return core_options_dispatch(&program, argc, argv);
}
