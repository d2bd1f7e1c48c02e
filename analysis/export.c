/* `analyze export csv|jsonl results.db -o DIR`: every table as a file, with a schema beside them that says each
 * column's type, unit and meaning, so that readers (pandas, DuckDB, Arrow, R) make typed columns, and Parquet, without
 * guessing. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/commands.h"
#include "analysis/csv.h"
#include "analysis/mlflow.h"
#include "analysis/select.h"
#include "core/json.h"
#include "core/options.h"
#include "store/query.h"
#include "store/runlog.h"
#include "store/schema.h"

typedef enum Format { AS_CSV, AS_JSONL } Format;

typedef struct Column { const char *name, *type, *unit, *comment; } Column;

#define MEASURED(name, unit, comment) {#name, "double", unit, comment},

static const Column run_table[] = {
  {"id", "string", "", "hash of the configuration"}, {"seed", "int64", "", ""},
  {"config", "string", "", "all settings as JSON: {\"section\": {\"key\": value}}"},
  {"status", "string", "", "pending running finished failed stopped diverged lost"},
  {"attempt", "int64", "", "the latest; 0 = never started"}, {"host", "string", "", ""}, {"device", "string", "", ""},
  {"git_commit", "string", "", "of the trainer"}, {"started", "double", "s", "Unix time"},
  {"heartbeat", "double", "s", "Unix time"}, {"finished", "double", "s", "Unix time"},
  {"iteration", "int64", "", "done"}, {"iterations", "int64", "", "planned"},
  {"transitions", "int64", "transitions", "done"}, {"transitions_total", "int64", "transitions", "planned"},
  {"steps_per_second", "double", "transitions/s", "latest"}, {"train_seconds", "double", "s", "of all attempts"},
  {"message", "string", "", "the last error"}, {0}};
static const Column sweep_table[] = {{"sweep", "string", "", "name"},
                                     {"idx", "int64", "", "place in the manifest"},
                                     {"run_id", "string", "", "run.id"},
                                     {0}};
static const Column attempt_table[] = {{"run_id", "string", "", "run.id"},
                                       {"attempt", "int64", "", "1, 2, ..."},
                                       {"status", "string", "", ""},
                                       {"host", "string", "", ""},
                                       {"device", "string", "", ""},
                                       {"git_commit", "string", "", ""},
                                       {"started", "double", "s", "Unix time"},
                                       {"finished", "double", "s", "Unix time"},
                                       {"message", "string", "", ""},
                                       {0}};
static const Column iteration_table[] = {
  {"run_id", "string", "", "run.id"}, {"iteration", "int64", "", "1, 2, ..."}, STORE_ITERATION_COLUMNS(MEASURED) {0}};
static const Column evaluation_table[] = {
  {"run_id", "string", "", "run.id"}, {"iteration", "int64", "", "after so many iterations; 0 = before training"},
  {"level_set", "string", "", "which levels"}, STORE_EVALUATION_COLUMNS(MEASURED) {0}};

static const Column layer_table[] = {{"run_id", "string", "", "run.id"},
                                     {"iteration", "int64", "", "1, 2, ..."},
                                     {"network", "string", "", "actor, critic"},
                                     {"layer", "int64", "", "from 1; the last is the head"},
                                     STORE_LAYER_COLUMNS(MEASURED){0}};

/* order: makes the same file of the same rows. */
typedef struct Table { const char *name, *from, *order, *key; const Column *columns; } Table;

static const Table tables[] = {
  {"run", "run", "id", "id", run_table},
  {"sweep_run", "sweep_run", "sweep, idx", "sweep, idx", sweep_table},
  {"attempt", "attempt", "run_id, attempt", "run_id, attempt", attempt_table},
  {"evaluation", "evaluation", "run_id, iteration, level_set", "run_id, iteration, level_set", evaluation_table},
  {"layer", "layer", "run_id, iteration, network, layer", "run_id, iteration, network, layer", layer_table},
  {"iteration", "iteration", "", "run_id, iteration", iteration_table}, /* in order as it lies: by run, by iteration */
};
enum { TABLES = sizeof tables / sizeof *tables };

/* ---- the schema ------------------------------------------------------------------------------------------------- */

static json_t *describe_table(const Table *table, Format format, int64_t rows) {
  json_t *columns = json_array();
  char file[64];
  snprintf(file, sizeof file, "%s.%s", table->name, format == AS_CSV ? "csv" : "jsonl");
  for (const Column *c = table->columns; c->name; c++)
    json_array_append_new(columns, json_pack("{s:s, s:s, s:b, s:s, s:s}", "name", c->name, "type", c->type, "nullable",
                                             !strstr(table->key, c->name), "unit", c->unit, "comment", c->comment));
  return json_pack("{s:s, s:s, s:s, s:I, s:o}", "table", table->name, "file", file, "primary_key", table->key, "rows",
                   (json_int_t)rows, "columns", columns);
}

static int write_schema(const char *folder, Format format, const int64_t *rows) {
  char path[CORE_PATH_MAX];
  json_t *list = json_array();
  for (size_t t = 0; t < TABLES; t++) json_array_append_new(list, describe_table(&tables[t], format, rows[t]));
  json_t *root = json_pack("{s:s, s:i, s:s, s:s, s:o}", "program", "sweep", "schema_version", STORE_SCHEMA_VERSION,
                           "commit", core_commit(), "null",
                           format == AS_CSV ? "an empty field" : "null; infinities are strings", "tables", list);
  CoreText text = {0};
  core_json_append(root, 2, &text);
  int code = core_files_path(path, "%s/schema.json", folder);
  if (code == CORE_OK) code = core_files_write_atomic(path, text.data, text.length);
  core_text_free(&text);
  json_decref(root);
  return code;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static void append_json_string(CoreText *line, const char *text) {
  json_t *string = json_string(text);
  char *encoded = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
  core_text_append(line, encoded ? encoded : "null"); /* no UTF-8 */
  free(encoded);
  json_decref(string);
}

static void append_value(CoreText *line, StoreQuery *query, int c, const Column *column, Format format) {
  char number[32];
  StoreValue kind = store_query_value(query, c);
  if (kind == STORE_VALUE_NULL) core_text_append(line, format == AS_CSV ? "" : "null");
  else if (kind == STORE_VALUE_INT) core_text_appendf(line, "%lld", (long long)store_query_int(query, c));
  else if (kind == STORE_VALUE_REAL) {
    double value = store_query_real(query, c);
    if (format == AS_CSV || isfinite(value)) core_text_append(line, core_text_from_real(value, number));
    else core_text_append(line, value > 0 ? "\"inf\"" : "\"-inf\"");
  } else if (format == AS_CSV) analysis_csv_field(line, store_query_text(query, c));
  else append_json_string(line, store_query_text(query, c));
}

static void append_row(CoreText *line, StoreQuery *query, const Table *table, Format format) {
  core_text_clear(line);
  int c = 0;
  for (const Column *column = table->columns; column->name; column++, c++) {
    if (c) core_text_append(line, ",");
    else if (format == AS_JSONL) core_text_append(line, "{");
    if (format == AS_JSONL) core_text_appendf(line, "\"%s\":", column->name);
    append_value(line, query, c, column, format);
  }
  core_text_append(line, format == AS_JSONL ? "}\n" : "\n");
}

static void append_header(CoreText *line, const Table *table) {
  for (const Column *column = table->columns; column->name; column++)
    core_text_appendf(line, "%s%s", column == table->columns ? "" : ",", column->name);
  core_text_append(line, "\n");
}

/* Constant names only; the sweep is bound. */
static void append_query(CoreText *sql, const Table *table) {
  bool of_run = strcmp(table->name, "run") == 0, of_sweep = strcmp(table->name, "sweep_run") == 0;
  core_text_append(sql, "SELECT ");
  for (const Column *column = table->columns; column->name; column++)
    core_text_appendf(sql, "%s%s", column == table->columns ? "" : ", ", column->name);
  core_text_appendf(sql, " FROM %s WHERE ?1 IS NULL OR ", table->from);
  if (of_sweep) core_text_append(sql, "sweep = ?1");
  else core_text_appendf(sql, "%s IN (SELECT run_id FROM sweep_run WHERE sweep = ?1)", of_run ? "id" : "run_id");
  if (*table->order) core_text_appendf(sql, " ORDER BY %s", table->order);
}

static int write_rows(StoreDatabase *database, const Table *table, const char *sweep, Format format, FILE *file,
                      int64_t *rows) {
  CoreText line = {0}, sql = {0};
  StoreQuery *query = NULL;
  bool row = false;
  append_query(&sql, table);
  int code = store_query_open(database, core_text_string(&sql), &query);
  if (code == CORE_OK) store_query_bind_text(query, 1, sweep);
  if (format == AS_CSV) append_header(&line, table);
  fputs(core_text_string(&line), file);
  while (code == CORE_OK && (code = store_query_step(query, &row)) == CORE_OK && row) {
    append_row(&line, query, table, format);
    if (fwrite(line.data, 1, line.length, file) != line.length) break; /* ferror tells */
    ++*rows;
  }
  store_query_close(&query);
  core_text_free(&line);
  core_text_free(&sql);
  return code;
}

/* Beside its name first, so that a file of that name is whole. */
static int export_table(StoreDatabase *database, const Table *table, const char *sweep, Format format,
                        const char *folder, int64_t *rows) {
  char path[CORE_PATH_MAX], temporary[CORE_PATH_MAX];
  TRY(core_files_path(path, "%s/%s.%s", folder, table->name, format == AS_CSV ? "csv" : "jsonl"));
  TRY(core_files_path(temporary, "%s.%ld", path, (long)getpid()));
  FILE *file = fopen(temporary, "we");
  if (!file) return core_error_errno(CORE_FAIL, "cannot write %s", temporary);
  int code = write_rows(database, table, sweep, format, file, rows);
  bool failed = ferror(file) != 0;
  if (fclose(file) != 0 || failed) code = code == CORE_OK ? core_error_errno(CORE_FAIL, "cannot write %s", path) : code;
  if (code == CORE_OK && rename(temporary, path) < 0) code = core_error_errno(CORE_FAIL, "cannot write %s", path);
  if (code != CORE_OK) unlink(temporary);
  else printf("%s  %lld rows\n", path, (long long)*rows);
  return code;
}

static const CoreManual manual = {
  .usage = "analyze export csv|jsonl results.db [-o DIR]\n"
           "  analyze export mlflow results.db --url URL",
  .about = "Writes each table as a file (run, sweep_run, attempt, evaluation, layer, iteration) and schema.json, which "
           "says each column's type, unit and meaning: enough to make typed columns and Parquet of them "
           "(recipes: docs/results.md).\n\n"
           "mlflow copies the runs to an MLflow server: settings as parameters, iterations and evaluations as "
           "metrics. Calling it again adds what is new.",
  .least = 2, .most = 2,
  .hint = "expected a format (csv, jsonl or mlflow) and a database"};

typedef struct Request { const char *folder, *sweep; MlflowTarget mlflow; } Request;

static int export_files(const Request *request, const char *path, Format format) {
  StoreDatabase *database = NULL;
  int64_t rows[TABLES] = {0};
  const char *folder = request->folder;
  TRY(analysis_database_open(path, &database));
  int code = core_files_make_directories(folder);
  for (size_t t = 0; t < TABLES && code == CORE_OK; t++)
    code = export_table(database, &tables[t], request->sweep, format, folder, &rows[t]);
  if (code == CORE_OK) code = write_schema(folder, format, rows);
  if (code == CORE_OK) printf("%s/schema.json\n", folder);
  store_database_close(&database);
  return code;
}

static int export_mlflow(const Request *request, const char *path) {
  StoreDatabase *database = NULL;
  if (!request->mlflow.url)
    return core_error(CORE_USAGE, "analyze export mlflow needs --url http://host:port, or MLFLOW_TRACKING_URI");
  if (request->mlflow.every < 1)
    return core_error(CORE_USAGE, "--every %lld: at least 1", (long long)request->mlflow.every);
  TRY(analysis_database_open(path, &database));
  int code = mlflow_export(database, request->sweep, &request->mlflow);
  store_database_close(&database);
  return code;
}

static int answer(void *asked, const char **operands, size_t count) {
  const Request *request = asked;
  const char *format = operands[0], *path = operands[1];
  if (strcmp(format, "csv") == 0) return export_files(request, path, AS_CSV);
  if (strcmp(format, "jsonl") == 0) return export_files(request, path, AS_JSONL);
  if (strcmp(format, "mlflow") == 0) return export_mlflow(request, path);
  return core_options_misuse(&manual, "unknown format \"%.80s\"", format);
}

int analysis_export(int argc, char **argv) {
  const char *environment = getenv("MLFLOW_TRACKING_URI");
  Request request = {.folder = "export", .mlflow = {.every = 1}};
  if (environment && strncmp(environment, "http", 4) == 0) request.mlflow.url = environment;
  const CoreOption table[] = {
    {"output", 'o', CORE_OPTION_TEXT, &request.folder, "DIR", "where the files go (default: export)"},
    {"sweep", 0, CORE_OPTION_TEXT, &request.sweep, "NAME", "only the runs of this sweep (default: all)"},
    {"url", 0, CORE_OPTION_TEXT, &request.mlflow.url, "URL",
     "mlflow: the server, http(s)://host:port (default: $MLFLOW_TRACKING_URI)"},
    {"experiment", 0, CORE_OPTION_TEXT, &request.mlflow.experiment, "NAME",
     "mlflow: the experiment that gets the runs (default: the sweep's name)"},
    {"every", 0, CORE_OPTION_INT, &request.mlflow.every, "N", "mlflow: each N-th iteration (default 1: all)"},
    {0}};
  return core_options_answer(&manual, table, argc, argv, answer, &request);
}
