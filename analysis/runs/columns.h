/* The measured quantities of results.db by name: what can stand on a figure's axes. */
#ifndef ANALYSIS_COLUMNS_H
#define ANALYSIS_COLUMNS_H
#include <stdbool.h>
#include <stddef.h>

#include "analysis/runs/curve.h"
#include "analysis/runs/select.h"
#include "analysis/statistics/interval.h"
#include "core/text.h"
#include "store/database/query.h"

/* A column and the constant statement that reads it for one run (?1) and level set (?2), in the order of iterations:
 * transitions, iteration, wall_seconds (of an evaluation only when ?3 is 1: it costs a look at
 * another table), value. */
typedef struct AnalysisColumn {
  const char *name, *unit;
  bool evaluation;
  const char *sql;
  const char *metric;        /* name of a row of the table metric, which is ?4; NULL: a column */
  bool normalized;           /* what sql reads is a return, to be normalised by its run's constants (normalized.h) */
} AnalysisColumn;

/* "solve_rate", or with its table: "iteration.solve_rate". A name that both tables have is the evaluations'.
 * CORE_USAGE names the option `asked_by` and the nearest column. */
int analysis_column_find(const char *asked_by, const char *name, const AnalysisColumn **column);
/* Makes a name of the table metric known as a column "metric.NAME", for as long as the process lives. */
void analysis_column_add_metric(const char *name);
/* The name without its table. */
const char *analysis_column_short(const AnalysisColumn *column);
/* For an axis: "training solve rate", "KL (nat)". */
void analysis_column_title(const AnalysisColumn *column, char *title, size_t size);
bool analysis_column_is_log(const AnalysisColumn *column);  /* drawn on a log axis, averaged as logarithms */
/* Where its values lie; logarithmic where `logarithmic`. */
AnalysisRange analysis_column_range(const AnalysisColumn *column, bool logarithmic);
/* All of them; those that a figure can draw are numbers. */
const AnalysisColumn *analysis_columns(size_t *count);
bool analysis_column_is_number(const AnalysisColumn *column);
/* " solve_rate ..." of evaluations and iterations, for --help. */
void analysis_column_list(CoreText *text);

typedef enum AnalysisAbscissa { ANALYSIS_TRANSITIONS, ANALYSIS_ITERATION, ANALYSIS_SECONDS } AnalysisAbscissa;
extern const char *const analysis_abscissa_names[3], *const analysis_abscissa_titles[3];
int analysis_abscissa_find(const char *name, AnalysisAbscissa *abscissa);

/* Adds the finite values of a run to `curve`. query: opened with column->sql. *infinite: incremented for each infinite
 * value. */
int analysis_column_read(const AnalysisColumn *column, StoreQuery *query, const AnalysisRun *run,
                         const char *level_set, AnalysisAbscissa abscissa, AnalysisCurve *curve, size_t *infinite);

#endif
