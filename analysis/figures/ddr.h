/* Data of `analyze ddr-vs-solve`: DDR and solve rate of each run within each budget, and their rank correlation.
 * figure_ddr.c plots and prints. */
#ifndef ANALYSIS_DDR_H
#define ANALYSIS_DDR_H
#include <stdbool.h>
#include <stddef.h>

#include "analysis/figures/figure.h"
#include "analysis/statistics/statistics.h"

enum {
  ANALYSIS_DDR_BUDGETS = 9,
  /* Minimum for a correlation: of 4 to 6 the bootstrap finds one in 7 to 8 % of uncorrelated data. */
  ANALYSIS_DDR_CONFIGURATIONS = 8,
};

/* Statements named as source in the figure's files. */
extern const char analysis_ddr_sql[], analysis_ddr_evaluation_sql[], analysis_ddr_return_sql[];

/* Run within a budget. NaN: not measured. */
typedef struct AnalysisDdrDot {
  double ddr, transitions;       /* transitions: covered by its log, at most the budget */
  double best, best_at, final;   /* solve rate (or return) of the evaluations within the budget; of an untrained policy
                                    if the run diverged or failed before it */
  bool drawn;                    /* whether it has a DDR and an evaluation after training started */
  bool reached;                  /* whether it trained up to the budget */
  bool counted;                  /* in the correlation: reached the budget, or diverged or failed before */
} AnalysisDdrDot;

typedef struct AnalysisDdrPanel {
  double budget;
  AnalysisDdrDot *dots;          /* [run] */
  AnalysisInterval rho;          /* Spearman's rho of the counted runs within each task */
  double third[3]; /* mean over tasks of counted runs with the lowest, middle, highest DDR; NaN: too few */
  size_t counted, clusters;      /* numbers of runs and configurations in the correlation */
  size_t drawn, hollow;
} AnalysisDdrPanel;

typedef struct AnalysisDdr {
  const AnalysisContext *context;
  bool use_final;                /* use the final solve rate instead of the best */
  bool is_return;                /* whether returns replace solve rates, because no run has one */
  AnalysisDdrPanel panels[ANALYSIS_DDR_BUDGETS]; /* sorted by budget */
  size_t panel_count;
  double untrained;              /* mean solve rate before training; NaN if not measured */
} AnalysisDdr;

/* Reads the data. budgets: "1e5,1e6", or NULL for the defaults: the full budget (or the progress of the furthest
 * run), and a thirtieth, a tenth and a third of it if most runs have points there. The caller sets `context` and
 * `use_final`. CORE_USAGE: invalid budgets. CORE_FAIL: no run has a point. Free with analysis_ddr_free, also after
 * an error. */
int analysis_ddr_read(AnalysisDdr *ddr, const char *budgets);
void analysis_ddr_free(AnalysisDdr *ddr);

/* Returns "solve rate", or if no run has one the name of the selection's returns. */
const char *analysis_ddr_score_name(const AnalysisDdr *ddr);

/* Returns the best or the final solve rate of a dot, as requested. */
double analysis_ddr_measured(const AnalysisDdr *ddr, const AnalysisDdrDot *dot);

/* Configuration at the largest budget. */
typedef struct AnalysisDdrRow {
  size_t configuration, seeds;
  size_t drawn, hollow;          /* numbers of runs with a point, and of those short of the budget */
  double ddr;                    /* geometric mean */
  AnalysisInterval best, final;  /* mean solve rates with 95 % intervals */
  double sort;
} AnalysisDdrRow;

/* Returns one row per configuration, sorted by falling solve rate; free() it. */
AnalysisDdrRow *analysis_ddr_rows(const AnalysisDdr *ddr);

/* ---- ddr_marks.c ------------------------------------------------------------------------------------------------- */

/* Returns the marker of each run; free() it. The color shows the setting that the run's configuration varies: the
 * one with the most values for its algorithm, or another one that differs from the algorithm's most common value;
 * light means a large value. With several sweeps (AnalysisGrouping) it shows the sweep. The shape shows the
 * algorithm, and the size the minibatch. Adds the legend to the plot. */
AnalysisMark *analysis_ddr_marks(const AnalysisContext *context, AnalysisPlot *plot);

#endif
