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

/* What the paper says of the runs behind a figure, as text: "not stated" where it says nothing, "" where there is
 * nothing to say. */
typedef struct AnalysisPaperRuns {
  const char *experiment;      /* the file that makes ours */
  const char *environment, *shape, *transitions, *seeds; /* of the paper; shape: environments x steps */
  const char *stand_in;        /* what takes the place of its environment here; "": it is the paper's */
} AnalysisPaperRuns;

/* A paper: "P000", its title, what is true of all its figures here. */
typedef struct AnalysisPaperTitle { const char *key, *title, *note; } AnalysisPaperTitle;
/* A figure of a paper that is not drawn: "P002 Fig. 15", what it shows, why. */
typedef struct AnalysisPaperAbsent { const char *title, *summary, *reason; } AnalysisPaperAbsent;

extern const AnalysisPaperRuns analysis_paper_runs[];     /* NULL ends each of these tables */
extern const AnalysisPaperTitle analysis_paper_titles[];
extern const AnalysisPaperAbsent analysis_paper_absents[];

/* NULL: no paper's figure has this name. */
const AnalysisPaper *analysis_paper_find(const char *name);
/* A command of `analyze`: argv[0] is the figure's name. */
int analysis_paper_run(int argc, char **argv);

#endif
