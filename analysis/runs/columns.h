/* Measured quantities of results.db by name: the possible axes of figures. */
#ifndef ANALYSIS_COLUMNS_H
#define ANALYSIS_COLUMNS_H
#include <stdbool.h>
#include <stddef.h>

#include "analysis/runs/curve.h"
#include "analysis/runs/select.h"
#include "analysis/statistics/interval.h"
#include "core/text.h"
#include "store/database/database.h"
#include "store/database/query.h"

/* Column and the constant statement that reads it for one run (?1) and level set (?2), in the order of iterations:
 * transitions, iteration, wall_seconds (for an evaluation only if ?3 is 1, since it needs another table), value. */
typedef struct AnalysisColumn {
  const char *name, *unit;
  bool evaluation;
  const char *sql;
  const char *metric;        /* name in the table metric, bound as ?4; NULL: a column */
  bool normalized;           /* whether sql reads a return to be normalized (normalized.h) */
} AnalysisColumn;

/* Finds a column: "solve_rate", or with its table "iteration.solve_rate". If both tables have the name, it is the
 * evaluations'. CORE_USAGE: the message names the option `asked_by` and the nearest column. */
int analysis_column_find(const char *asked_by, const char *name, const AnalysisColumn **column);
/* Registers a name of the table metric as column "metric.NAME", for the lifetime of the process. */
void analysis_column_add_metric(const char *name);
/* Returns the name without its table. */
const char *analysis_column_short(const AnalysisColumn *column);
/* Formats an axis title: "training solve rate", "KL (nat)"; a metric's name as its program wrote it. */
void analysis_column_title(const AnalysisColumn *column, char *title, size_t size);
bool analysis_column_is_log(const AnalysisColumn *column);  /* shown on a log axis, averaged as logarithms */
/* Returns the range of its values; a logarithmic one if `logarithmic`. */
AnalysisRange analysis_column_range(const AnalysisColumn *column, bool logarithmic);
/* Lists all columns; figures can show those that are numbers. */
const AnalysisColumn *analysis_columns(size_t *count);
bool analysis_column_is_number(const AnalysisColumn *column);
/* Appends " solve_rate ..." of evaluations and iterations, for --help. */
void analysis_column_list(CoreText *text);

typedef enum AnalysisAbscissa { ANALYSIS_TRANSITIONS, ANALYSIS_ITERATION, ANALYSIS_SECONDS } AnalysisAbscissa;
extern const char *const analysis_abscissa_names[3], *const analysis_abscissa_titles[3];
int analysis_abscissa_find(const char *name, AnalysisAbscissa *abscissa);

/* Adds the finite values of a run to `curve`. query: opened with column->sql. *infinite: incremented for each infinite
 * value. */
int analysis_column_read(const AnalysisColumn *column, StoreQuery *query, const AnalysisRun *run,
                         const char *level_set, AnalysisAbscissa abscissa, AnalysisCurve *curve, size_t *infinite);

/* ---- programs.c -------------------------------------------------------------------------------------------------- */

/* Users' programs whose runs are in the database ([program] of their experiment files). */

/* Registers their settings as keys, which --group, --where and --x accept, and names of the table metric as columns,
 * which --y accepts. */
int analysis_programs_know(StoreDatabase *database);
/* Registers the names of one run's metrics as columns. */
int analysis_programs_know_run(StoreDatabase *database, const char *run);

#endif
