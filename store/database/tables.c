/* Lists the tables and views of results.db (tables.h), for code that describes or copies all of them. */
#include "store/database/tables.h"

#define COLUMN(name, type, unit, comment) {#name, type, unit, comment},
#define MEASURED(name, unit, comment) {#name, "REAL", unit, comment},
#define TABLE(table, columns) static const StoreTableColumn table[] = {columns {0}}

TABLE(versions, STORE_VERSION_COLUMNS(COLUMN));
TABLE(sweeps, STORE_SWEEP_COLUMNS(COLUMN));
TABLE(runs, STORE_RUN_COLUMNS(COLUMN));
TABLE(members, STORE_MEMBER_COLUMNS(COLUMN));
TABLE(attempts, STORE_ATTEMPT_COLUMNS(COLUMN));
TABLE(log_files, STORE_LOG_FILE_COLUMNS(COLUMN));
TABLE(run_imports, STORE_RUN_IMPORT_COLUMNS(COLUMN));
TABLE(evaluations, STORE_EVALUATION_KEYS(COLUMN) STORE_EVALUATION_COLUMNS(MEASURED));
TABLE(layers, STORE_LAYER_KEYS(COLUMN) STORE_LAYER_COLUMNS(MEASURED));
TABLE(annotations, STORE_ANNOTATION_COLUMNS(COLUMN));
TABLE(bins, STORE_BIN_COLUMNS(COLUMN));
TABLE(iterations, STORE_ITERATION_KEYS(COLUMN) STORE_ITERATION_COLUMNS(MEASURED));
TABLE(metrics, STORE_METRIC_KEYS(COLUMN) STORE_METRIC_NUMBERS(MEASURED));
TABLE(settings, STORE_SETTING_COLUMNS(COLUMN));
TABLE(layer_metrics, STORE_LAYER_METRIC_COLUMNS(COLUMN));
TABLE(ddrs, STORE_DDR_COLUMNS(COLUMN));
TABLE(bests, STORE_BEST_COLUMNS(COLUMN));
TABLE(summaries, STORE_SUMMARY_COLUMNS(COLUMN));

#define RUNS "(SELECT run_id FROM sweep_run WHERE sweep = ?1)"

const StoreTable *store_tables(size_t *count) {
  static const char importer_state[] = "importer's state, which is only valid with the files of its workspace";

  /* name, key, sweep_filter, exclusion_reason, columns */
  static const StoreTable tables[] = {
    {"sweep", "name", "name = ?1", NULL, sweeps},
    {"run", "id", "id IN " RUNS, NULL, runs},
    {"sweep_run", "sweep, idx", "sweep = ?1", NULL, members},
    {"attempt", "run_id, attempt", "run_id IN " RUNS, NULL, attempts},
    {"evaluation", "run_id, iteration, level_set", "run_id IN " RUNS, NULL, evaluations},
    {"layer", "run_id, iteration, network, layer", "run_id IN " RUNS, NULL, layers},
    {"annotation", "subject, name, key, value",
     "subject = 'sweep' AND name = ?1 OR subject = 'run' AND name IN " RUNS, NULL, annotations},
    {"iteration", "run_id, iteration", "run_id IN " RUNS, NULL, iterations},
    {"metric", "run_id, name, iteration", "run_id IN " RUNS, NULL, metrics},
    {"run_ddr", "run_id", "run_id IN " RUNS, NULL, ddrs},
    {"best_solve_rate", "run_id, level_set", "run_id IN " RUNS, NULL, bests},
    {"run_summary", "run_id", "run_id IN " RUNS, NULL, summaries},
    {"layer_metric", "run_id, iteration, network, layer, metric", NULL, "the table layer, one row per value",
     layer_metrics},
    {"setting", "run_id, name", NULL, "the column config of run, one row per setting", settings},
    {"iteration_bin", "run_id, bin", NULL, "sums over rows of iteration, used by run_ddr", bins},
    {"run_log", "run_id, attempt, kind", NULL, importer_state, log_files},
    {"run_import", "run", NULL, importer_state, run_imports},
    {"schema_version", "version", NULL, "version history of the file; schema.json has the current version", versions},
  };

  *count = sizeof tables / sizeof *tables;
  return tables;
}
