/* One run of each program is read (programs.h). */
#include "analysis/runs/programs.h"

#include "analysis/runs/columns.h"
#include "analysis/runs/parents.h"
#include "core/config/script.h"
#include "core/error.h"
#include "store/database/query.h"

int analysis_program_take(const json_t *root, CoreConfig *config) {
  const CoreScript *program;
  TRY(core_script_from_json(root, &program));
  core_script_attach(config, program);
  if (program) config->train.seed = json_integer_value(json_object_get(json_object_get(root, "train"), "seed"));
  return CORE_OK;
}

/* Names of one run's metrics, by steps from one to the next in the table's key. */
static int know_metrics(StoreDatabase *database, const char *run) {
  StoreQuery *query;
  bool row = false;
  TRY(store_query_open(database,
                       "WITH RECURSIVE names(name) AS (SELECT min(name) FROM metric WHERE run_id = ?1 UNION ALL"
                       " SELECT (SELECT min(name) FROM metric WHERE run_id = ?1 AND name > names.name) FROM names"
                       " WHERE names.name IS NOT NULL) SELECT name FROM names WHERE name IS NOT NULL", &query));
  store_query_bind_text(query, 1, run);
  int code = store_query_step(query, &row);
  for (; code == CORE_OK && row; code = store_query_step(query, &row))
    analysis_column_add_metric(store_query_text(query, 0));
  store_query_close(&query);
  return code;
}

/* The run that got furthest of each program, and of the trainer's tasks. */
int analysis_programs_know(StoreDatabase *database) {
  StoreQuery *query;
  bool row = false;
  CoreConfig config;
  TRY(store_query_open(database, "SELECT config, id, max(iteration) FROM run WHERE config IS NOT NULL GROUP BY"
                       " coalesce(json_extract(config, '$.program'), json_extract(config, '$.env.task'))", &query));
  int code = store_query_step(query, &row);
  for (; code == CORE_OK && row; code = store_query_step(query, &row)) {
    const char *text = store_query_text(query, 0), *id = store_query_text(query, 1);
    if (analysis_config_from_json(text, &config) != CORE_OK) core_error_clear();
    if (know_metrics(database, id) != CORE_OK) core_error_clear();
  }
  store_query_close(&query);
  return code;
}
