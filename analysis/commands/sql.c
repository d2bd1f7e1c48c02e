/* `analyze sql results.db "SELECT ..."`. After the import the database is opened read-only, so that no statement can
 * change it. */
#include "analysis/commands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/plot/number_text.h"
#include "analysis/runs/select.h"
#include "core/command/options.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/database/query.h"

/* Returns a value as text, "" for NULL. Infinities are inf and -inf, as in exports. */
static const char *text_of(StoreQuery *query, int column) {
  const double number = store_query_value(query, column) == STORE_VALUE_REAL ? store_query_real(query, column) : 0;
  const char *text = store_query_text(query, column);
  return isinf(number) ? number > 0 ? "inf" : "-inf" : text ? text : "";
}

static int print_csv(StoreQuery *query) {
  CoreText line = {0};
  bool row = true;
  int code = CORE_OK;
  int columns = store_query_columns(query);
  for (int c = 0; c < columns; c++) {
    core_text_append(&line, c ? "," : "");
    analysis_csv_field(&line, store_query_name(query, c));
  }
  while (code == CORE_OK && row) {
    printf("%s\n", core_text_string(&line));
    core_text_clear(&line);
    code = store_query_step(query, &row);
    for (int c = 0; code == CORE_OK && row && c < columns; c++) {
      core_text_append(&line, c ? "," : "");
      analysis_csv_field(&line, text_of(query, c));
    }
  }
  core_text_free(&line);
  return code;
}

/* Converts a value to JSON by its storage class: text that looks like a number (a run id may) stays text. */
static json_t *json_value(StoreQuery *query, int column) {
  StoreValue kind = store_query_value(query, column);
  if (kind == STORE_VALUE_NULL) return json_null();
  if (kind == STORE_VALUE_INT) return json_integer((json_int_t)store_query_int(query, column));
  double number = kind == STORE_VALUE_REAL ? store_query_real(query, column) : NAN;
  if (isfinite(number)) return json_real(number);
  json_t *string = core_json_text(text_of(query, column)); /* infinities too, which JSON cannot represent */
  return string ? string : json_null(); /* not UTF-8 */
}

static int print_json(StoreQuery *query) {
  json_t *rows = json_array();
  bool row = false;
  int code;
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    json_t *object = json_object();
    for (int c = 0; c < store_query_columns(query); c++) {
      json_object_set_new(object, store_query_name(query, c), json_value(query, c));
    }
    json_array_append_new(rows, object);
  }
  if (code == CORE_OK) core_json_print(rows);
  else json_decref(rows);
  return code;
}

static int print_table(StoreQuery *query) {
  int columns = store_query_columns(query);
  bool row = false;
  const char **headers = core_memory_allocate((size_t)columns * sizeof *headers);
  for (int c = 0; c < columns; c++) headers[c] = store_query_name(query, c);
  CoreTable *table = core_table_create(headers, (size_t)columns);
  int code;
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    for (int c = 0; c < columns; c++) {
      core_table_cell(table, "%s", text_of(query, c));
    }
  }
  if (code == CORE_OK) core_table_print(table, stdout);
  core_table_destroy(&table);
  free(headers);
  return code;
}

typedef struct Request { bool csv, json; } Request;

static const CoreManual manual = {
  .usage = "analyze sql results.db \"SELECT ...\" [--csv|--json]",
  .about = "Runs one SQL statement on the results and prints its rows; nothing can be changed. Tables: sweep, run, "
           "attempt, iteration, evaluation, layer, metric; views: run_summary, setting, best_solve_rate, run_ddr.\n\n"
           "Example:\n"
           "  analyze sql results.db \"SELECT s.value AS com, avg(b.solve_rate), avg(b.ddr) FROM best_solve_rate AS b "
           "JOIN setting AS s ON s.run_id = b.run_id WHERE s.name = 'ppo.com' GROUP BY 1\"\n\n"
           "Other programs read results.db too: docs/results.md has recipes.",
  .operands_min = 2, .operands = {"DATABASE", "SELECT"}, .operands_max = 2,
  .hint = "expected a database and one quoted statement"};

static int answer(void *asked, const char **operands, size_t count) {
  (void)count;
  const Request *request = asked;
  StoreDatabase *database = NULL;
  StoreQuery *query = NULL;
  const char *path = operands[0], *sql = operands[1];
  if (request->csv && request->json) return core_error(CORE_USAGE, "--csv and --json exclude each other");
  TRY(analysis_database_open(path, &database)); /* imports new results */
  store_database_close(&database);
  TRY(store_database_open(path, true, &database));
  int code = store_query_open_reading(database, sql, &query);
  if (code == CORE_OK && store_query_columns(query) == 0) {
    code = core_error(CORE_USAGE, "this statement gives no rows: expected one SELECT (the database is read-only here)");
  }
  if (code == CORE_OK)
    code = request->csv ? print_csv(query) : request->json ? print_json(query) : print_table(query);
  store_query_close(&query);
  store_database_close(&database);
  return code;
}

int analysis_sql(int argc, char **argv) {
  Request request = {0};
  const CoreOption table[] = {
    {"csv", 0, CORE_OPTION_FLAG, &request.csv, NULL, "print comma-separated values with a header line"},
    {"json", 0, CORE_OPTION_FLAG, &request.json, NULL, "print an array of objects"},
    {0}};
  return core_options_run(&manual, table, argc, argv, answer, &request);
}
