/* The trials of a search, out of results.db: the space as the sweep was submitted with ([search NAME] of its resolved
 * text), and which runs are which trial. */
#ifndef ANALYSIS_TRIALS_H
#define ANALYSIS_TRIALS_H
#include "analysis/runs/select.h"
#include "core/search/search.h"

typedef struct AnalysisTrial {
  double *coordinate;      /* [space.count], NaN: took no part */
  size_t *runs, count;     /* of the selection */
  size_t place;            /* of its first run in the sweep's manifest: trials in the order they were proposed */
} AnalysisTrial;

/* A setting that another search of the sweep draws, and this one does not: in its runs it has the file's value. */
typedef struct AnalysisTrialsOther { const CoreConfigRow *row; char *base; } AnalysisTrialsOther;

typedef struct AnalysisTrials {
  char name[65];           /* the search's */
  CoreSearch space;
  AnalysisTrial *trials;   /* [count], by place */
  size_t count, elsewhere; /* runs whose settings are not of this space */
  AnalysisTrialsOther *others;
  size_t other_count;
  CoreIni ini;             /* what the space points into */
} AnalysisTrials;

/* Runs of two searches over the same settings cannot be told apart: each has the trials of both. search NULL: the only
 * one. CORE_USAGE: the sweep has no such search, none, or several and none was named. Caller
 * calls analysis_trials_free, also after an error. */
int analysis_trials_read(StoreDatabase *database, const AnalysisSelection *selection, const char *sweep,
                         const char *search, AnalysisTrials *trials);
void analysis_trials_free(AnalysisTrials *trials);

/* Computes the importance of the space's settings from the scores of the trials list[n] (importance.h): main[axes] and
 * pair[axes * axes], NULL: not wanted. Returns the forest's out-of-bag R^2. A setting that takes no part in a trial
 * counts as the middle of its range, where it explains nothing. */
double analysis_trials_importance(const AnalysisTrials *trials, const size_t *list, const double *score, size_t n,
                                  size_t pairs, double *main, double *pair);

#endif
