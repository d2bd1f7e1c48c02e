/* Reads configurations of runs of the trainer and of programs from results.db (columns.h, select.h). */
#include "analysis/runs/columns.h"

#include <stdio.h>

#include "analysis/runs/select.h"
#include "core/config/script.h"
#include "core/error.h"
#include "core/text.h"
#include "store/database/query.h"

/* Sets `config` to the description in run.config, if it is a run of a program. */
static int take_program(const json_t *root, CoreConfig *config) {
  const CoreScript *program;
  TRY(core_script_from_json(root, &program));
  core_script_attach(config, program);
  if (program) config->train.seed = json_integer_value(json_object_get(json_object_get(root, "train"), "seed"));
  return CORE_OK;
}

/* Sets a value from JSON, as text for core_config_set. */
static int set_from_json(CoreConfig *config, const CoreConfigRow *row, const json_t *value) {
  char number[32];
  const char *text = number;
  if (json_is_string(value)) text = json_string_value(value);
  else if (json_is_boolean(value)) text = json_is_true(value) ? "1" : "0";
  else if (json_is_integer(value)) snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
  else if (json_is_real(value)) core_text_from_real(json_real_value(value), number);
  else return core_error(CORE_FAIL, "%s is neither a string nor a number", row->name);
  return core_config_set(config, row->name, text);
}

/* Parses {"env":{"num":2048,...},...}; missing settings have their defaults, as in the run's id. */
int analysis_config_from_json(const char *text, CoreConfig *config) {
  json_error_t fault;
  json_t *root = json_loads(text, 0, &fault);
  if (!root) return core_error(CORE_FAIL, "the configuration is not JSON: %s", fault.text);
  size_t count;
  const CoreConfigRow *rows = core_config_rows(&count);
  *config = core_config_default();
  int code = take_program(root, config);
  for (size_t i = 0; i < count && !config->program; i++) {
    if (code != CORE_OK) break;
    const json_t *value = json_object_get(json_object_get(root, rows[i].section), rows[i].key);
    if (value) code = set_from_json(config, &rows[i], value);
  }
  json_decref(root);
  return code;
}

/* Skips from one name to the next in the table's key. */
int analysis_programs_know_run(StoreDatabase *database, const char *run) {
  StoreQuery *query;
  bool row = false;
  TRY(store_query_open(database,
                       "WITH RECURSIVE names(name) AS (SELECT min(name) FROM metric WHERE run_id = ?1 UNION ALL"
                       " SELECT (SELECT min(name) FROM metric WHERE run_id = ?1 AND name > names.name) FROM names"
                       " WHERE names.name IS NOT NULL) SELECT name FROM names WHERE name IS NOT NULL", &query));
  store_query_bind_text(query, 1, run);
  int code;
  while ((code = store_query_step(query, &row)) == CORE_OK && row)
    analysis_column_add_metric(store_query_text(query, 0));
  store_query_close(&query);
  return code;
}

/* Uses the run with the most progress of each program, and of the trainer's tasks. */
int analysis_programs_know(StoreDatabase *database) {
  StoreQuery *query;
  bool row = false;
  CoreConfig config;
  TRY(store_query_open(database, "SELECT config, id, max(iteration) FROM run WHERE config IS NOT NULL GROUP BY"
                       " coalesce(json_extract(config, '$.program'), json_extract(config, '$.env.task'))", &query));
  int code;
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const char *text = store_query_text(query, 0), *id = store_query_text(query, 1);
    if (analysis_config_from_json(text, &config) != CORE_OK) core_error_clear();
    if (analysis_programs_know_run(database, id) != CORE_OK) core_error_clear();
  }
  store_query_close(&query);
  return code;
}
