/* Trials of a search in results.db: the space as submitted ([search NAME] of the sweep's resolved text), and the
 * runs of each trial. */
#ifndef ANALYSIS_TRIALS_H
#define ANALYSIS_TRIALS_H
#include "analysis/runs/group.h"
#include "core/search/search.h"

typedef struct AnalysisTrial {
  double *coordinate;      /* [space.count], NaN: inactive */
  size_t *runs, count;     /* indices in the selection */
  size_t place;            /* index of its first run in the sweep's manifest: trials in the order they were proposed */
} AnalysisTrial;

/* Setting that only another search of the sweep varies, with its value outside of that search. */
typedef struct AnalysisTrialsOther { const CoreConfigRow *row; char *base; } AnalysisTrialsOther;

typedef struct AnalysisTrials {
  char name[65];           /* name of the search */
  CoreSearch space;
  AnalysisTrial *trials;   /* [count] sorted by place */
  size_t count, elsewhere; /* elsewhere: number of runs outside of this space */
  AnalysisTrialsOther *others;
  size_t other_count;
  CoreIni ini;             /* owns the text of the space */
  bool is_grid;            /* trials of an ordinary sweep (analysis_trials_read_grid) */
  bool is_complete;        /* whether every combination of values of a grid is a trial */
} AnalysisTrials;

/* Reads the trials. Two searches over the same settings cannot be told apart by their runs: each gets the trials of
 * both. search NULL: the only one. CORE_USAGE: the sweep lacks this search, has none, or has several and none was
 * named. Call analysis_trials_free, also after an error. */
int analysis_trials_read(StoreDatabase *database, const AnalysisSelection *selection, const char *sweep,
                         const char *search, AnalysisTrials *trials);
/* Sets *sweep, unless it is set, to the only sweep of a database, whose name `name` gets. CORE_USAGE: there are none or
 * several. */
int analysis_trials_only_sweep(const char *path, char name[128], const char **sweep);
/* Sets *has to whether the sweep has a search. CORE_USAGE: there is no such sweep. */
int analysis_trials_find_search(StoreDatabase *database, const char *sweep, bool *has);
/* Makes a trial of each configuration of a sweep without a search; settings are choices of their values. Of settings
 * that vary together only the first is an axis. Trials are sorted by value, the last axis running fastest. CORE_USAGE:
 * no setting varies, or there are too many settings or values. Call analysis_trials_free, also after an error. */
int analysis_trials_read_grid(const AnalysisSelection *selection, const AnalysisGrouping *configurations,
                              AnalysisTrials *trials);
/* Sorts the trials by their places. */
void analysis_trials_sort(AnalysisTrials *trials);
void analysis_trials_free(AnalysisTrials *trials);

/* Computes the importance of the space's settings from the scores of the trials list[n] (importance.h): main[axes]
 * and pair[axes * axes] (optional). Returns the forest's out-of-bag R^2. A setting that is inactive in a trial
 * counts as the middle of its range. */
double analysis_trials_importance(const AnalysisTrials *trials, const size_t *list, const double *score, size_t n,
                                  size_t pairs, double *main, double *pair);

#endif
