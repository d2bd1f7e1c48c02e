/* Figures of the papers by name: `analyze fig9 results.db` is `analyze curves` with the options that reproduce Fig.
 * 9 from the runs of its experiment. Options given by the user come later and override them. */
#ifndef ANALYSIS_PAPERS_H
#define ANALYSIS_PAPERS_H
#include "core/command/options.h"

typedef struct AnalysisPaper {
  const char *name, *title;    /* "fig9", "P000 Fig. 9" */
  const char *experiment;      /* experiment file that makes its runs */
  const char *figure;          /* "curves" */
  const char *options;         /* its options, separated by blanks; none contains one */
  const char *summary;
} AnalysisPaper;

extern const AnalysisPaper analysis_papers[]; /* terminated by a NULL name */

/* Description of the runs behind a figure in the paper: "not stated" if the paper gives none, "" if not applicable. */
typedef struct AnalysisPaperRuns {
  const char *experiment;      /* experiment file that makes our runs */
  const char *environment, *shape, *transitions, *seeds; /* from the paper; shape: environments x steps */
  const char *stand_in;        /* substitute for the environment here; "": the paper's */
} AnalysisPaperRuns;

/* Paper: "P000", its title, remarks on all its figures. */
typedef struct AnalysisPaperTitle { const char *key, *title, *note; } AnalysisPaperTitle;
/* Figure of a paper that is not reproduced: "P002 Fig. 15", its description, the reason. */
typedef struct AnalysisPaperAbsent { const char *title, *summary, *reason; } AnalysisPaperAbsent;

extern const AnalysisPaperRuns analysis_paper_runs[];     /* each of these tables is terminated by NULL */
extern const AnalysisPaperTitle analysis_paper_titles[];
extern const AnalysisPaperAbsent analysis_paper_absents[];

/* Finds a figure by name; NULL: none. */
const AnalysisPaper *analysis_paper_find(const char *name);
/* Runs a command of `analyze`; argv[0] is the name of the figure. */
int analysis_paper_run(int argc, char **argv);

#endif
