/* Figures of the papers (papers.h), from the table papers.def. */
#include "analysis/figures/papers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures/figure.h"
#include "core/memory.h"

enum { OPTIONS_MAX = 24 };

/* Each table uses one kind of row of papers.def. */
#define PAPER(key, title, note)
#define EXPERIMENT(file, environment, shape, transitions, seeds, stand_in)
#define ABSENT(title, summary, reason)
#define FIGURE(name, title, experiment, figure, options, summary) \
  {name, title, "experiments/" experiment ".ini", figure, options, summary},
const AnalysisPaper analysis_papers[] = {
#include "analysis/figures/papers.def"
  {0}};
#undef FIGURE
#define FIGURE(name, title, experiment, figure, options, summary)

#undef EXPERIMENT
#define EXPERIMENT(file, environment, shape, transitions, seeds, stand_in) \
  {"experiments/" file ".ini", environment, shape, transitions, seeds, stand_in},
const AnalysisPaperRuns analysis_paper_runs[] = {
#include "analysis/figures/papers.def"
  {0}};
#undef EXPERIMENT
#define EXPERIMENT(file, environment, shape, transitions, seeds, stand_in)

#undef PAPER
#define PAPER(key, title, note) {key, title, note},
const AnalysisPaperTitle analysis_paper_titles[] = {
#include "analysis/figures/papers.def"
  {0}};
#undef PAPER
#define PAPER(key, title, note)

#undef ABSENT
#define ABSENT(title, summary, reason) {title, summary, reason},
const AnalysisPaperAbsent analysis_paper_absents[] = {
#include "analysis/figures/papers.def"
  {0}};

const AnalysisPaper *analysis_paper_find(const char *name) {
  for (const AnalysisPaper *paper = analysis_papers; paper->name; paper++) {
    if (strcmp(paper->name, name) == 0) return paper;
  }
  return NULL;
}

static const AnalysisFigure *figure_of(const AnalysisPaper *paper) {
  for (const AnalysisFigure *figure = analysis_figures; figure->name; figure++) {
    if (strcmp(figure->name, paper->figure) == 0) return figure;
  }
  return NULL;
}

static bool asks_for_help(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
  }
  return false;
}

static void print_help(const AnalysisPaper *paper) {
  const AnalysisPaperRuns *runs = analysis_paper_runs;
  while (runs->experiment && strcmp(runs->experiment, paper->experiment) != 0) runs++;
  printf("%s: %s.\n", paper->title, paper->summary);
  if (runs->experiment) {
    printf("The paper: %s%s%s; transitions: %s; %s seeds.\n", runs->environment,
           runs->shape[0] ? "; environments x steps: " : "", runs->shape, runs->transitions, runs->seeds);
    if (runs->stand_in[0]) printf("Stand-in here: %s.\n", runs->stand_in);
  }
  printf("Runs: sweep submit %s\nIt is: analyze %s %s\nAll of that figure's options may follow:\n\n", paper->experiment,
         paper->figure, paper->options);
}

int analysis_paper_run(int argc, char **argv) {
  const AnalysisPaper *paper = analysis_paper_find(argv[0]);
  CORE_CHECK(paper && figure_of(paper)); /* the command table is generated from this one, and a test plots each */
  if (asks_for_help(argc, argv)) print_help(paper);

  /* The paper's options first, so that those of the command line override them. */
  char *copy = core_text_duplicate(paper->options), *remaining = copy, *option;
  char **arguments = core_memory_allocate(((size_t)argc + OPTIONS_MAX + 1) * sizeof *arguments);
  int count = 0;
  arguments[count++] = argv[0];
  while ((option = strsep(&remaining, " ")) && count <= OPTIONS_MAX) {
    if (*option) arguments[count++] = option;
  }
  for (int i = 1; i < argc; i++) arguments[count++] = argv[i];
  arguments[count] = NULL;

  int code = figure_of(paper)->run(count, arguments);
  free(arguments);
  free(copy);
  return code;
}
