/* Runs arranged for the test of a claim: selected by conditions, and grouped into cells (the seeds of a configuration)
 * and strata (cells that differ only in one setting). */
#ifndef ANALYSIS_CELLS_H
#define ANALYSIS_CELLS_H
#include "analysis/claims/table.h"
#include "analysis/runs/measures.h"
#include "analysis/runs/membership.h"
#include "analysis/statistics/statistics.h"

typedef struct AnalysisCells {
  size_t *run;             /* [count] run indices, sorted by stratum, second key, key */
  size_t count;
  double *score;           /* [count] measure */
  double *x;               /* [count] x measure; NaN without one */
  size_t *first;           /* [cells + 1] first run of cell c in `run` */
  double *key, *second;    /* [cells] */
  size_t *stratum;         /* [strata + 1] first cell of stratum s */
  struct AnalysisAllowance *allowance; /* [cells] what the runs may not show (allowance.h); NULL: nothing */
  size_t cells, strata;
  size_t unfinished, missing, censored; /* censored: unfinished runs that were stopped by a rule */
  size_t diverged, failed; /* runs of `count` that have the score of an untrained policy */
  double censored_at;      /* transitions that all censored runs reached; NaN without one */
  size_t *same_as;         /* [runs of the selection] run that replaces it; SIZE_MAX: not of this claim */
  size_t mixed;            /* cells dropped because their runs differ in other settings than the seed */
} AnalysisCells;

typedef struct AnalysisArrangement {
  const char *data;          /* "fig1a_com fig5_regularisation": only runs of these sweeps; "": all */
  /* "ppo.com=min,algo.name=ppo|ppo_ewma"; "A;B": runs that meet A or B. min and max refer to runs that are equal in all
   * settings except key, second, free_settings, the seed and those with min or max: profiles and tasks have their
   * own. */
  const char *where;
  const char *key;           /* "ppo.com", "-ppo.com" in descending order, "net.sharing:shared<joint", or "" */
  const char *second;        /* key of the same form, or "" */
  const char *free_settings; /* settings that may differ within a stratum, "a,b" */
  AnalysisMeasure measure;
  int x_measure;             /* AnalysisMeasure or -1 */
} AnalysisArrangement;

/* Whether a list such as "fig1a_com fig5_regularisation" contains this sweep. */
bool analysis_data_includes(const char *data, const char *sweep);

/* Arranges the runs. Copies (runs of one configuration and seed, which use the same random numbers) are resolved among
 * the claim's runs, so that no run of another experiment replaces them.
 *
 * The runs of a cell differ only in the seed. With a key, runs that also differ in free settings form no cell; they are
 * dropped and counted (mixed). Without a key (x_measure), every configuration is a cell of its stratum.
 *
 * If ppo.num_steps is a free setting, environments x steps of an iteration are equal within a stratum. Ignores runs
 * whose key is not a number (a schedule, a name not in the list). CORE_USAGE: an unknown setting. */
int analysis_cells_create(const AnalysisTable *table, const AnalysisArrangement *arrangement, AnalysisCells *cells);
void analysis_cells_free(AnalysisCells *cells);
/* Returns the number of runs of the smallest cell; 0: there are no cells. */
size_t analysis_cells_seeds_min(const AnalysisCells *cells);
/* Whether the scores of some cell differ. */
bool analysis_cells_have_spread(const AnalysisCells *cells);
/* Returns the mean of value[count], in the order of the cells' runs, over cell c. */
static inline double analysis_cells_mean(const AnalysisCells *cells, const double *value, size_t c) {
  return analysis_mean(value + cells->first[c], cells->first[c + 1] - cells->first[c]);
}

/* Sets cells->score to the measure score_at_time: the score of each run at the training time at which the fastest
 * finished run of its stratum made its last evaluation, by linear interpolation between evaluations. A run that ended
 * earlier keeps its last score. Runs without evaluations, or without times of them, get NaN and count as missing. */
int analysis_clock_scores(StoreDatabase *database, const AnalysisSelection *selection, AnalysisCells *cells);

/* Sets cells->x of runs with a parent in the selection to their score minus the parent's, both a tenth of the budget
 * after the switch, by linear interpolation between evaluations. Both began at the same policy, so this is what the
 * switch gained at once. NaN: the parent or the run was not evaluated until then. */
int analysis_switch_leads(StoreDatabase *database, const AnalysisSelection *selection, AnalysisCells *cells);

#endif
