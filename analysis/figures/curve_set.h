/* Curves of a figure: assigns runs to the lines of panels, interpolates them to a common grid, and averages. Reads
 * the database; figure_curves.c plots. */
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
  ANALYSIS_SPREAD_T,         /* 95 %, as in all figures (interval.h) */
  ANALYSIS_SPREAD_SD,        /* one standard deviation */
  ANALYSIS_SPREAD_BOOTSTRAP, /* 95 % stratified percentile bootstrap of whole runs */
} AnalysisSpread;

/* Horizontal reference line: of each panel's runs (untrained, best), or a given number. */
typedef struct AnalysisReference {
  enum { ANALYSIS_REFERENCE_UNTRAINED, ANALYSIS_REFERENCE_BEST, ANALYSIS_REFERENCE_NUMBER } kind;
  double value;              /* value of an ANALYSIS_REFERENCE_NUMBER */
  char label[48];
} AnalysisReference;

/* Line: average of some runs at the points of the column's grid. */
typedef struct AnalysisLineData {
  size_t panel, group, column; /* panel: index among those of --panel, or of the family */
  char *label;
  AnalysisCurve *curves;     /* [curve_count] curves of its runs, including empty ones; not owned */
  size_t *task;              /* [curve_count] */
  size_t curve_count, run_count; /* run_count: runs with a value */
  double *grid, *own_grid;   /* [n] points: the column's, or separate ones, owned by the line */
  size_t n;
  double *mean, *low, *high; /* [n] */
  size_t *runs;              /* [n] number of runs that reach the point */
} AnalysisLineData;

typedef struct AnalysisCurveSet {
  AnalysisContext context;
  AnalysisRequest request;
  /* options */
  const char *y_names, *x_name, *group_keys, *panel_keys, *best_keys, *aggregate_name, *interval_name, *log_axes,
    *panel_range, *references;
  bool log_x, log_y;
  bool is_terminal, is_watched; /* --terminal, --watch */
  bool is_worst_ranked;      /* whether evaluations of runs that diverged or failed go on with their first value */
  /* parsed options */
  const AnalysisColumn *columns[ANALYSIS_CURVE_COLUMNS];
  size_t column_count;
  AnalysisAbscissa abscissa;
  AnalysisAggregate aggregate;
  AnalysisSpread spread;
  AnalysisGrouping groups, panels, choices; /* panels, choices: key_count 0 if not requested */
  /* data */
  AnalysisCurve *curves[ANALYSIS_CURVE_COLUMNS]; /* [column][run] */
  const AnalysisColumn **shown; /* [column][panel] column that the panel shows: what its runs have */
  bool is_mixed;             /* whether a panel shows another column than the others */
  double *grid[ANALYSIS_CURVE_COLUMNS];
  size_t grid_count[ANALYSIS_CURVE_COLUMNS];
  AnalysisLineData *lines;
  size_t line_count, panel_count; /* panel_count: per column */
  size_t *panel_of;          /* [run] */
  char **panel_name;         /* [panel_count] */
  const CoreConfigRow **facet; /* [family] key whose values have separate panels; NULL: none */
  bool faceted;              /* whether some family has a facet */
  size_t switched;           /* family with runs that start from others with other settings; SIZE_MAX: none */
  AnalysisSelection switches; /* runs of that family; shares everything except the array with the context's selection */
  AnalysisGrouping targets;  /* these runs grouped by their current settings, without init.from */
  bool own_axes;             /* whether panels have separate axes, being of different sweeps */
  AnalysisReference reference[ANALYSIS_CURVE_REFERENCES];
  size_t reference_count;
  AnalysisScale scale;       /* scale of normalized scores, if a column has them */
  size_t without;            /* number of runs without a value of the first column */
  size_t infinite, infinite_runs; /* infinite values, and runs that have some, in any column */
  size_t choice_count;       /* maximum number of candidates for --best-of */
} AnalysisCurveSet;

/* Opens the context of the database at `path`, reads and averages. Call analysis_curve_set_free, also after an
 * error. */
int analysis_curve_set_read(AnalysisCurveSet *set, const char *path);
void analysis_curve_set_free(AnalysisCurveSet *set);

/* Keeps only the runs of --panels. CORE_USAGE: not a range. */
int analysis_curve_set_select_panels(AnalysisCurveSet *set);
/* Groups runs and makes panels after the columns have been read, by options or by all differences. If there are more
 * lines than can be distinguished, uses the setting that explains most for lines and the next one for panels, and
 * averages over the others. */
int analysis_curve_set_group(AnalysisCurveSet *set);

/* Returns the value of a panel's reference; NaN: none of its runs has one. */
double analysis_curve_set_reference(const AnalysisCurveSet *set, const AnalysisReference *reference, size_t panel,
                                    size_t column);
/* Returns the column that a panel shows. */
const AnalysisColumn *analysis_curve_set_shown(const AnalysisCurveSet *set, size_t panel, size_t column);
/* Writes a column's axis title; returns have the name that the selection's programs give them. */
void analysis_curve_set_title(const AnalysisCurveSet *set, const AnalysisColumn *column, char *title, size_t size);
/* Whether the column is shown on a log axis, and averaged as logarithms. */
bool analysis_curve_set_is_log(const AnalysisCurveSet *set, size_t column);
/* Describes the interval for files: analysis_interval_description, or that of another kind. */
void analysis_curve_set_interval(const AnalysisCurveSet *set, CoreText *text);
/* Appends the lines as pictures of braille characters, for stdout's width and height, with a line about the runs. */
void analysis_curve_set_append_terminal(const AnalysisCurveSet *set, CoreText *text);

/* ---- curve_styles.c: colors and line styles ---------------------------------------------------------------------- */

typedef struct AnalysisLineStyle { AnalysisMark mark; AnalysisLine line; } AnalysisLineStyle;

/* Returns the style of each group; free() it. A switched run (Fig. 3a) has the color of its current settings, not of
 * its parent's; it is dashed, in a pattern for each of up to three parents, and a run from the start is thin. */
AnalysisLineStyle *analysis_curve_styles(const AnalysisCurveSet *set);
/* Adds the legend block of the switched family: the colors, and the two line styles. */
void analysis_curve_switch_legend(const AnalysisCurveSet *set, AnalysisPlot *plot);

#endif
