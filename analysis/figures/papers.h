/* The papers' figures by their names: `analyze fig9 results.db` is `analyze curves` with the options that make Fig. 9
 * out of the runs of its experiment. Options that the caller gives come after them and win. */
#ifndef ANALYSIS_PAPERS_H
#define ANALYSIS_PAPERS_H
#include "core/command/options.h"

typedef struct AnalysisPaper {
  const char *name, *title;    /* "fig9", "P000 Fig. 9" */
  const char *experiment;      /* the file that makes its runs */
  const char *figure;          /* "curves" */
  const char *options;         /* for it, separated by blanks; none of them holds one */
  const char *summary;
} AnalysisPaper;

extern const AnalysisPaper analysis_papers[]; /* a NULL name ends the table */

/* NULL: no paper's figure has this name. */
const AnalysisPaper *analysis_paper_find(const char *name);
/* A command of `analyze`: argv[0] is the figure's name. */
int analysis_paper_run(int argc, char **argv);

#endif
