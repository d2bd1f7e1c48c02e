/* One run of each program is read (programs.h). */
#include "analysis/runs/programs.h"

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

int analysis_programs_know(StoreDatabase *database) {
  StoreQuery *query;
  bool row = false;
  CoreConfig config;
  TRY(store_query_open(database, "SELECT config FROM run WHERE json_extract(config, '$.program') IS NOT NULL"
                       " GROUP BY json_extract(config, '$.program')", &query));
  int code = store_query_step(query, &row);
  for (; code == CORE_OK && row; code = store_query_step(query, &row)) {
    if (analysis_config_from_json(store_query_text(query, 0), &config) != CORE_OK) core_error_clear();
  }
  store_query_close(&query);
  return code;
}
