/* The curves of a figure: which runs make which line of which panel, brought to a common grid and averaged. Reads the
 * database; figure_curves.c draws. */
#ifndef ANALYSIS_CURVE_SET_H
#define ANALYSIS_CURVE_SET_H
#include "analysis/figures/figure.h"
#include "analysis/runs/columns.h"
#include "analysis/runs/curve.h"
#include "analysis/runs/normalized.h"
#include "analysis/statistics/interval.h"

enum {
  ANALYSIS_CURVE_COLUMNS = 8,
  ANALYSIS_CURVE_GRID = 300,
  ANALYSIS_CURVE_BAND = ANALYSIS_SEEDS_LEAST,
  ANALYSIS_CURVE_REFERENCES = 8,
};

typedef enum AnalysisSpread {
  ANALYSIS_SPREAD_T,         /* 95 %, as every figure has it (interval.h) */
  ANALYSIS_SPREAD_SD,        /* one standard deviation */
  ANALYSIS_SPREAD_BOOTSTRAP, /* 95 % stratified percentile bootstrap of whole runs */
} AnalysisSpread;

/* A level line: of each panel's runs (untrained, best) or a number that was given. */
typedef struct AnalysisReference {
  enum { ANALYSIS_REFERENCE_UNTRAINED, ANALYSIS_REFERENCE_BEST, ANALYSIS_REFERENCE_NUMBER } kind;
  double value;              /* of ANALYSIS_REFERENCE_NUMBER */
  char label[48];
} AnalysisReference;

/* One line: the average of some runs at the places of the column's grid. */
typedef struct AnalysisLineData {
  size_t panel, group, column; /* panel: of --panel's, or the family's */
  char *label;
  AnalysisCurve *curves;     /* [curve_count] of its runs, empty ones included; not owned */
  size_t *task;              /* [curve_count] */
  size_t curve_count, run_count; /* run_count: with a value */
  double *mean, *low, *high; /* [grid count] */
  size_t *runs;              /* [grid count] that reach the place */
} AnalysisLineData;

typedef struct AnalysisCurveSet {
  AnalysisContext context;
  AnalysisRequest request;
  /* asked for */
  const char *y_names, *x_name, *group_keys, *panel_keys, *best_keys, *aggregate_name, *interval_name, *log_axes,
    *panel_range, *references;
  bool log_x, log_y;
  /* understood */
  const AnalysisColumn *columns[ANALYSIS_CURVE_COLUMNS];
  size_t column_count;
  AnalysisAbscissa abscissa;
  AnalysisAggregate aggregate;
  AnalysisSpread spread;
  AnalysisGrouping groups, panels, choices; /* panels, choices: key_count 0 when not asked for */
  /* read */
  AnalysisCurve *curves[ANALYSIS_CURVE_COLUMNS]; /* [column][run] */
  double *grid[ANALYSIS_CURVE_COLUMNS];
  size_t grid_count[ANALYSIS_CURVE_COLUMNS];
  AnalysisLineData *lines;
  size_t line_count, panel_count; /* panel_count: of each column */
  AnalysisReference reference[ANALYSIS_CURVE_REFERENCES];
  size_t reference_count;
  AnalysisScale scale;       /* of normalised scores, when a column is of them */
  size_t without;            /* runs that have no value of the first column */
  size_t infinite, infinite_runs; /* values that no line can show, and runs that have some, of any column */
  size_t choice_count;       /* most candidates that --best-of chose from */
} AnalysisCurveSet;

/* Opens the context of the database at `path`, reads and averages. After an error, too, the owner calls
 * analysis_curve_set_free. */
int analysis_curve_set_read(AnalysisCurveSet *set, const char *path);
void analysis_curve_set_free(AnalysisCurveSet *set);

/* Where a panel's reference stands; NaN: none of its runs has it. */
double analysis_curve_set_reference(const AnalysisCurveSet *set, const AnalysisReference *reference, size_t panel,
                                    size_t column);
/* Is the column drawn on a log axis, and averaged as logarithms? */
bool analysis_curve_set_is_log(const AnalysisCurveSet *set, size_t column);
/* analysis_interval_words or another kind's, for files. */
void analysis_curve_set_interval(const AnalysisCurveSet *set, CoreText *text);

#endif
