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
  ANALYSIS_CURVE_BAND = ANALYSIS_INTERVAL_RUNS_MIN,
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
  double *grid, *own_grid;   /* [n] places: the column's, or of its own (which it then owns) */
  size_t n;
  double *mean, *low, *high; /* [n] */
  size_t *runs;              /* [n] that reach the place */
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
  size_t *panel_of;          /* [run] */
  char **panel_name;         /* [panel_count] */
  const CoreConfigRow **facet; /* [family] whose values have panels of their own; NULL: none */
  bool faceted;              /* some family has a facet */
  size_t switched;           /* family with runs that went on from others with other settings; SIZE_MAX: none */
  AnalysisSelection switches; /* its runs; shares all but the array with the context's selection */
  AnalysisGrouping targets;  /* these runs by their own settings, without init.from */
  bool own_axes;             /* panels are of different sweeps, whose axes do not compare */
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

/* The runs of --panels only. CORE_USAGE: no range. */
int analysis_curve_set_choose_panels(AnalysisCurveSet *set);
/* Groups and panels, after the columns have been read: asked for, or all that differs. Of more lines than can be told
 * apart, those of the setting that explains most, in panels of the next one; both leave the rest averaged. */
int analysis_curve_set_group(AnalysisCurveSet *set);

/* Where a panel's reference stands; NaN: none of its runs has it. */
double analysis_curve_set_reference(const AnalysisCurveSet *set, const AnalysisReference *reference, size_t panel,
                                    size_t column);
/* Is the column drawn on a log axis, and averaged as logarithms? */
bool analysis_curve_set_is_log(const AnalysisCurveSet *set, size_t column);
/* analysis_interval_description or another kind's, for files. */
void analysis_curve_set_interval(const AnalysisCurveSet *set, CoreText *text);

#endif
