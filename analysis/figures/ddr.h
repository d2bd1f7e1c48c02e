/* The data of `analyze ddr-vs-solve`: each run's DDR and solve rate inside each budget, and their rank correlation.
 * Draws and prints nothing: figure_ddr.c does. */
#ifndef ANALYSIS_DDR_H
#define ANALYSIS_DDR_H
#include <stdbool.h>
#include <stddef.h>

#include "analysis/figures/figure.h"
#include "analysis/statistics/statistics.h"

enum { ANALYSIS_DDR_BUDGETS = 9, ANALYSIS_DDR_CONFIGURATIONS = 8 /* fewer give no correlation: of 4 to 6 the
                                  bootstrap finds one in 7 to 8 % of data without */ };

/* The statements that the figure's files name as their source. */
extern const char analysis_ddr_sql[], analysis_ddr_evaluation_sql[], analysis_ddr_return_sql[];

/* One run inside one budget. NaN: not measured. */
typedef struct AnalysisDdrDot {
  double ddr, transitions;       /* transitions: as far as its log goes, at most the budget */
  double best, best_at, final;   /* solve rate (or return) of the evaluations inside the budget; a run that diverged or
                                    failed before it has the score of its untrained policy */
  bool drawn;                    /* has a DDR and an evaluation after training began */
  bool reached;                  /* trained up to the budget */
  bool counted;                  /* in the correlation: reached it, or diverged or failed before */
} AnalysisDdrDot;

typedef struct AnalysisDdrPanel {
  double budget;
  AnalysisDdrDot *dots;          /* [run] */
  AnalysisInterval rho;          /* Spearman's, over the counted runs within each task */
  double third[3]; /* mean over tasks of those of the counted runs with the lowest, middle, highest DDR; NaN: too few */
  size_t counted, clusters;      /* runs and configurations in the correlation */
  size_t drawn, hollow;
} AnalysisDdrPanel;

typedef struct AnalysisDdr {
  const AnalysisContext *context;
  bool use_final;                /* the final solve rate instead of the best */
  bool is_return;                /* no run has a solve rate: returns take their place in all of these */
  AnalysisDdrPanel panels[ANALYSIS_DDR_BUDGETS]; /* by growing budget */
  size_t panel_count;
  double untrained;              /* solve rate before training, mean over runs; NaN when nobody measured it */
} AnalysisDdr;

/* budgets: "1e5,1e6", or NULL for the usual ones: the whole budget (or as far as the furthest run has come), and a
 * thirtieth, a tenth and a third of it where most runs have points. `context` and `use_final` are set before.
 * CORE_USAGE: bad budgets. CORE_FAIL: no run has a point. Free with analysis_ddr_free, also after an error. */
int analysis_ddr_read(AnalysisDdr *ddr, const char *budgets);
void analysis_ddr_free(AnalysisDdr *ddr);

/* "solve rate", or "return" where no run has one. */
const char *analysis_ddr_words(const AnalysisDdr *ddr);

/* The best or the final solve rate of a dot, as asked. */
double analysis_ddr_measured(const AnalysisDdr *ddr, const AnalysisDdrDot *dot);

/* A configuration at the largest budget. */
typedef struct AnalysisDdrRow {
  size_t configuration, seeds;
  size_t drawn, hollow;          /* runs with a point; those of them that did not reach the budget */
  double ddr;                    /* geometric mean */
  AnalysisInterval best, final;  /* solve rates: mean and 95 % interval */
  double sort;
} AnalysisDdrRow;

/* One row a configuration, by falling solve rate; free() it. */
AnalysisDdrRow *analysis_ddr_rows(const AnalysisDdr *ddr);

#endif
