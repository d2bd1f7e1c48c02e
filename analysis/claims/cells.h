/* Runs arranged for a claim: chosen by conditions, put into cells (configurations) and strata (cells that differ in one
 * setting only). */
#ifndef ANALYSIS_CELLS_H
#define ANALYSIS_CELLS_H
#include "analysis/runs/measures.h"
#include "analysis/runs/membership.h"
#include "analysis/statistics/statistics.h"

/* Hashes of every setting of every run, made once: comparing settings is then comparing numbers. */
typedef struct AnalysisTable {
  const AnalysisSelection *selection;
  const AnalysisMeasured *measured;
  const AnalysisMembership *membership; /* NULL: every run belongs to every sweep */
  size_t rows;             /* settings */
  uint64_t *hash;          /* [run][rows] */
  uint64_t *name, *default_hash; /* [rows] */
} AnalysisTable;

AnalysisTable analysis_table_create(const AnalysisSelection *selection, const AnalysisMeasured *measured,
                                    const AnalysisMembership *membership);
void analysis_table_free(AnalysisTable *table);

typedef struct AnalysisCells {
  size_t *run;             /* [count] the runs, by stratum, second key, key */
  size_t count;
  double *score;           /* [count] the measure */
  double *x;               /* [count] the x measure, NaN without one */
  size_t *first;           /* [cells + 1] of cell c in `run` */
  double *key, *second;    /* [cells] */
  size_t *stratum;         /* [strata + 1] of stratum s in cells */
  size_t cells, strata;
  size_t unfinished, missing, censored; /* censored: of the unfinished, stopped by rule */
  size_t diverged, failed; /* of `count`: runs that broke down, with the scores of an untrained policy */
  double censored_at;      /* transitions that all censored runs reached; NaN without one */
  size_t *same_as;         /* [runs of the selection] the run that stands for it; SIZE_MAX: not of this claim */
  size_t mixed;            /* cells left out: their runs differ in settings that move together with the key */
} AnalysisCells;

typedef struct AnalysisArrangement {
  const char *data;        /* "fig1a_com fig5_regularisation": only runs of these sweeps; "" = all */
  /* "ppo.com=min,algo.name=ppo|ppo_ewma"; "A;B": runs that meet A or B. min and max are of the runs that are alike in
   * all settings but key, second, beside, the seed and those of the conditions with min and max: profiles and tasks
   * have their own. */
  const char *where;
  const char *key;         /* "ppo.com", "-ppo.com" in descending order, "net.sharing:shared<joint", or "" */
  const char *second;      /* or "" */
  const char *beside;      /* settings that may differ within a stratum, "a,b" */
  AnalysisMeasure measure;
  int x_measure;           /* AnalysisMeasure or -1 */
} AnalysisArrangement;

/* Does a list such as "fig1a_com fig5_regularisation" name this sweep? */
bool analysis_data_names(const char *data, const char *sweep);

/* Copies (runs of one cell and seed, which drew the same random numbers) are resolved within the claim's runs, so that
 * no run of another experiment speaks for them.
 *
 * A cell's runs differ in nothing but the seed. With a key, runs that differ in settings beside it too make no cell:
 * they are left out and counted (mixed). Without one (x_measure), every configuration is a cell of its stratum.
 *
 * A run's environments x steps an iteration stay equal within a stratum when ppo.num_steps is beside the key. A run
 * whose key is not a number (a schedule, a name that the list lacks) is not part. CORE_USAGE: an unknown setting. */
int analysis_cells_create(const AnalysisTable *table, const AnalysisArrangement *arrangement, AnalysisCells *cells);
void analysis_cells_free(AnalysisCells *cells);
/* Mean of value[count], the runs' in the cells' order, over cell c. */
static inline double analysis_cells_mean(const AnalysisCells *cells, const double *value, size_t c) {
  return analysis_mean(value + cells->first[c], cells->first[c + 1] - cells->first[c]);
}

#endif
