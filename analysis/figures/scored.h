/* Score of each run, for figures of settings, bars and tables: its --measure within --budget. */
#ifndef ANALYSIS_SCORED_H
#define ANALYSIS_SCORED_H
#include "analysis/figures/figure.h"
#include "analysis/runs/measures.h"
#include "analysis/runs/normalized.h"
#include "analysis/statistics/stratified.h"

typedef struct AnalysisScored {
  const char *name;          /* --measure; NULL: final */
  double budget;             /* --budget; 0: all */
  AnalysisMeasure measure;
  AnalysisRunMetrics *runs;    /* [run of the selection]; value[measure] is NaN if not measured */
  size_t count, *task_of, tasks; /* runs of the selection, including repeated ones; [run] */
  size_t missing;            /* number of runs without a value */
  AnalysisScale scale;       /* scale of normalized_score */
  char return_title[96];     /* title of scores that are returns, because no run has a solve rate; "": they are not */
  size_t unfinished; /* runs with a value that is not final, shown hollow: not ended, nor at the budget */
  size_t censored;   /* unfinished runs stopped by their sweep's rule */
} AnalysisScored;

#define ANALYSIS_SCORED_OPTIONS(scored) \
  {"measure", 'm', CORE_OPTION_TEXT, &(scored).name, "NAME", \
   "what a run amounts to: final, best, normalized_score, ddr, kl, speed, ... (default: final, its last solve rate)"}, \
  {"budget", 'b', CORE_OPTION_REAL, &(scored).budget, "N", \
   "use only the first N transitions (default: all)"}

/* Checks the options, so that an error is reported before the database is opened. */
int analysis_scored_check(AnalysisScored *scored);
/* Reads the values. CORE_FAIL: no run has a value, or runs have different scales of normalization. */
int analysis_scored_read(AnalysisScored *scored, const AnalysisContext *context);
/* Returns CORE_FAIL if a mean over runs that share their group in each of these groupings (NULL: a single group) would
 * mix solve rates with returns, which have no common unit. */
int analysis_scored_refuse_mixed(const AnalysisScored *scored, const AnalysisContext *context,
                                 const AnalysisGrouping *const *groupings, size_t count);
void analysis_scored_free(AnalysisScored *scored);
/* Regroups runs by the setting that explains most of the variation, if there are more than eight groups (lines.h). */
int analysis_scored_limit_groups(const AnalysisScored *scored, const AnalysisSelection *selection,
                                 AnalysisGrouping *groups);

double analysis_scored_value(const AnalysisScored *scored, size_t run);
/* Computes an aggregate of a measure over these runs of the selection, with its 95 % interval (interval.h); n:
 * number of runs with a value. */
AnalysisInterval analysis_scored_interval(const AnalysisScored *scored, AnalysisMeasure measure,
                                          AnalysisAggregate aggregate, const size_t *run, size_t count);
/* Computes the aggregate with rliable's stratified percentile bootstrap of 50 000 replicates, too narrow for few
 * runs (stratified.h); NaN bounds with fewer than three. */
AnalysisInterval analysis_scored_bootstrap(const AnalysisScored *scored, AnalysisMeasure measure,
                                           AnalysisAggregate aggregate, const size_t *run, size_t count);
/* Computes several aggregates of one configuration's scores: interval[count]. draws: as for
 * analysis_stratified_aggregates. */
void analysis_scored_bootstraps(const AnalysisScored *scored, AnalysisMeasure measure, AnalysisDraws *draws,
                                const AnalysisScores *scores, const AnalysisAggregate *wanted, size_t count,
                                AnalysisInterval *interval);
extern const char analysis_bootstrap_description[]; /* description of the interval for files */
/* Parse the value of --aggregate, and of --interval. CORE_USAGE: it is invalid; the message names it. */
int analysis_aggregate_find(const char *name, AnalysisAggregate *aggregate);
int analysis_bootstrap_find(const char *name, bool *bootstrap);
const char *analysis_aggregate_title(AnalysisAggregate aggregate); /* "IQM" */

/* Returns "final solve rate", for an axis or a table heading. */
const char *analysis_scored_title(const AnalysisScored *scored, const AnalysisContext *context);
bool analysis_scored_is_log(const AnalysisScored *scored);
bool analysis_scored_is_rate(const AnalysisScored *scored, const AnalysisContext *context);
/* Appends " Not ended, current values: 1. Not plotted, without a value: 2.", without the parts whose count is 0, and
 * the budget. */
void analysis_scored_describe(const AnalysisScored *scored, CoreText *text);

/* Description of the query that the values come from, for output files. */
extern const char analysis_scored_query[];

#endif
