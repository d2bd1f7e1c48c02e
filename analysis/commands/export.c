/* `analyze export`: selects an exporter, and implements csv and jsonl: every table as a file, and a schema.json with
 * the type, unit and meaning of each column (store/database/tables.h), so that readers (pandas, DuckDB, Arrow, R)
 * can make typed columns, and Parquet, without guessing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/commands.h"
#include "analysis/commands/export.h"
#include "analysis/commands/export_runs.h"
#include "analysis/plot/number_text.h"
#include "analysis/runs/membership.h"
#include "analysis/runs/select.h"
#include "core/command/options.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/unicode.h"
#include "core/version.h"
#include "store/database/query.h"
#include "store/database/schema.h"
#include "store/database/tables.h"

typedef enum Format { AS_CSV, AS_JSONL } Format;

/* Column of exported runs that the database does not have. */
static const StoreTableColumn name_column = {
  .name = "name", .type = "TEXT NOT NULL", .unit = "",
  .comment = "readable name: the settings in which the runs of its sweep differ, and the seed"};

static bool has_names(const StoreTable *table) { return strcmp(table->name, "run") == 0; }

/* ---- the schema ------------------------------------------------------------------------------------------------- */

/* Translates SQL types to those of data frames. */
static const char *type_of(const StoreTableColumn *column) {
  if (strncmp(column->type, "TEXT", strlen("TEXT")) == 0) return "string";
  return strncmp(column->type, "INTEGER", strlen("INTEGER")) == 0 ? "int64" : "double";
}

static json_t *describe_column(const StoreTableColumn *column) {
  return json_pack("{s:s, s:s, s:b, s:s, s:s}", "name", column->name, "type", type_of(column), "nullable",
                   !strstr(column->type, "NOT NULL"), "unit", column->unit, "comment", column->comment);
}

static json_t *describe_table(const StoreTable *table, Format format, int64_t rows) {
  json_t *columns = json_array();
  char file[64];
  snprintf(file, sizeof file, "%s.%s", table->name, format == AS_CSV ? "csv" : "jsonl");
  for (const StoreTableColumn *c = table->columns; c->name; c++)
    json_array_append_new(columns, describe_column(c));
  if (has_names(table)) json_array_append_new(columns, describe_column(&name_column));
  return json_pack("{s:s, s:s, s:s, s:I, s:o}", "table", table->name, "file", file, "primary_key", table->key, "rows",
                   (json_int_t)rows, "columns", columns);
}

/* Writes schema.json. rows: number of rows of each table in store_tables. */
static int write_schema(const char *directory, Format format, const int64_t *rows) {
  char path[CORE_PATH_MAX];
  size_t count;
  const StoreTable *tables = store_tables(&count);
  json_t *list = json_array(), *left_out = json_array();
  for (size_t t = 0; t < count; t++) {
    const char *reason = tables[t].exclusion_reason;
    if (reason) json_array_append_new(left_out, json_pack("{s:s, s:s}", "table", tables[t].name, "why", reason));
    else json_array_append_new(list, describe_table(&tables[t], format, rows[t]));
  }
  json_t *root = json_pack("{s:s, s:i, s:s, s:s, s:o, s:o}", "program", "sweep", "schema_version",
                           STORE_SCHEMA_VERSION, "commit", core_commit(), "null",
                           format == AS_CSV ? "an empty field" : "null; infinities are strings", "tables", list,
                           "left_out", left_out);
  CoreText text = {0};
  core_json_append(root, 2, &text);
  int code = core_files_path(path, "%s/schema.json", directory);
  if (code == CORE_OK) code = core_files_write_atomic(path, text.data, text.length);
  core_text_free(&text);
  json_decref(root);
  return code;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static void append_json_string(CoreText *line, const char *text) {
  json_t *string = core_json_text(text);
  char *encoded = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
  core_text_append(line, encoded ? encoded : "null"); /* not UTF-8 */
  free(encoded);
  json_decref(string);
}

static void append_value(CoreText *line, StoreQuery *query, int c, Format format) {
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

/* Appends the name of a run. */
static void append_name(CoreText *line, StoreQuery *query, const StoreTable *table, const json_t *names,
                        Format format) {
  int id = 0;
  while (strcmp(table->columns[id].name, "id") != 0) id++;
  const char *text = store_query_text(query, id);
  const char *name = text ? json_string_value(json_object_get(names, text)) : NULL;
  if (format == AS_JSONL) core_text_appendf(line, ",\"%s\":", name_column.name);
  else core_text_append(line, ",");
  if (format == AS_CSV) analysis_csv_field(line, name ? name : "");
  else append_json_string(line, name ? name : "");
}

static void append_row(CoreText *line, StoreQuery *query, const StoreTable *table, const json_t *names,
                       Format format) {
  core_text_clear(line);
  int c = 0;
  for (const StoreTableColumn *column = table->columns; column->name; column++, c++) {
    if (c) core_text_append(line, ",");
    else if (format == AS_JSONL) core_text_append(line, "{");
    if (format == AS_JSONL) core_text_appendf(line, "\"%s\":", column->name);
    append_value(line, query, c, format);
  }
  if (has_names(table)) append_name(line, query, table, names, format);
  core_text_append(line, format == AS_JSONL ? "}\n" : "\n");
}

static void append_header(CoreText *line, const StoreTable *table) {
  for (const StoreTableColumn *column = table->columns; column->name; column++)
    core_text_appendf(line, "%s%s", column == table->columns ? "" : ",", column->name);
  if (has_names(table)) core_text_appendf(line, ",%s", name_column.name);
  core_text_append(line, "\n");
}

/* Appends the query. Only constant names; the sweep is bound. Large tables are stored in the order of their keys, so
 * that nothing is sorted. */
static void append_query(CoreText *sql, const StoreTable *table) {
  core_text_append(sql, "SELECT ");
  for (const StoreTableColumn *column = table->columns; column->name; column++)
    core_text_appendf(sql, "%s%s", column == table->columns ? "" : ", ", column->name);
  core_text_appendf(sql, " FROM %s WHERE ?1 IS NULL OR %s ORDER BY %s", table->name, table->sweep_filter, table->key);
}

static int write_rows(StoreDatabase *database, const StoreTable *table, const char *sweep, Format format, FILE *file,
                      int64_t *rows) {
  CoreText line = {0}, sql = {0};
  StoreQuery *query = NULL;
  json_t *names = NULL;
  bool row = false;
  append_query(&sql, table);
  int code = has_names(table) ? export_runs_names(database, sweep, &names) : CORE_OK;
  if (code == CORE_OK) code = store_query_open(database, core_text_string(&sql), &query);
  if (code == CORE_OK) store_query_bind_text(query, 1, sweep);
  if (format == AS_CSV) append_header(&line, table);
  fputs(core_text_string(&line), file);
  while (code == CORE_OK && (code = store_query_step(query, &row)) == CORE_OK && row) {
    append_row(&line, query, table, names, format);
    if (fwrite(line.data, 1, line.length, file) != line.length) break; /* ferror reports it */
    ++*rows;
  }
  store_query_close(&query);
  json_decref(names);
  core_text_free(&line);
  core_text_free(&sql);
  return code;
}

static int export_table(StoreDatabase *database, const StoreTable *table, const char *sweep, Format format,
                        const char *directory, int64_t *rows) {
  char path[CORE_PATH_MAX];
  ExportFile file;
  TRY(core_files_path(path, "%s/%s.%s", directory, table->name, format == AS_CSV ? "csv" : "jsonl"));
  TRY(export_file_begin(path, &file));
  const int code = export_file_end(&file, write_rows(database, table, sweep, format, file.stream, rows));
  if (code == CORE_OK) core_unicode_print(stdout, "%s  %lld rows\n", path, (long long)*rows);
  return code;
}

static const CoreManual manual = {
  .usage = "analyze export csv|jsonl|tensorboard [results.db] [-o DIR]\n"
           "  analyze export mlflow [results.db] --url URL",
  .about = "csv, jsonl: writes each table as a file (sweep, run, sweep_run, attempt, evaluation, layer, iteration, "
           "metric, run_ddr, best_solve_rate, run_summary) and schema.json with the type, unit and meaning of each "
           "column, from which typed columns and Parquet can be made (recipes: docs/results.md). Tables without data "
           "of their own are omitted; schema.json lists them.\n\n"
           "tensorboard: writes one event file per run, for tensorboard --logdir DIR: iterations, evaluations and "
           "named metrics as scalars by steps, settings for its HParams page.\n\n"
           "mlflow: copies the runs to an MLflow server: settings as parameters, iterations, evaluations and named "
           "metrics as metrics by steps. Another call adds new results.\n\n"
           "Default database: $SWEEP_ROOT/results.db, else ./results.db.",
  .operands_min = 1, .operands = {"csv|jsonl|tensorboard", "DATABASE"}, .operands_max = 2,
  .hint = "expected a format (csv, jsonl, tensorboard or mlflow) and a database"};

typedef struct Request {
  const char *directory, *sweep;
  int64_t every;
  MlflowTarget mlflow;
} Request;

static int export_files(const Request *request, StoreDatabase *database, Format format) {
  size_t count;
  const StoreTable *tables = store_tables(&count);
  const char *directory = request->directory ? request->directory : "export";
  int64_t *rows = core_memory_zero_allocate(count, sizeof *rows);
  int code = core_files_make_directories(directory);
  for (size_t t = 0; t < count && code == CORE_OK; t++)
    if (!tables[t].exclusion_reason)
      code = export_table(database, &tables[t], request->sweep, format, directory, &rows[t]);
  if (code == CORE_OK) code = write_schema(directory, format, rows);
  free(rows);
  if (code == CORE_OK) core_unicode_print(stdout, "%s/schema.json\n", directory);
  return code;
}

static int export_csv(const Request *request, StoreDatabase *database) {
  return export_files(request, database, AS_CSV);
}

static int export_jsonl(const Request *request, StoreDatabase *database) {
  return export_files(request, database, AS_JSONL);
}

static int export_tensorboard(const Request *request, StoreDatabase *database) {
  const TensorboardTarget target = {request->directory ? request->directory : "tensorboard", request->every};
  return tensorboard_export(database, request->sweep, &target);
}

static int export_mlflow(const Request *request, StoreDatabase *database) {
  MlflowTarget target = request->mlflow;
  const char *environment = getenv("MLFLOW_TRACKING_URI");
  if (!target.url && environment && *environment)
    return core_error(CORE_USAGE, "MLFLOW_TRACKING_URI=%.100s is not a server URL: runs are sent by HTTP; start one "
                      "with `mlflow server --backend-store-uri ...` and give its --url http://host:port", environment);
  if (!target.url)
    return core_error(CORE_USAGE, "analyze export mlflow needs --url http://host:port, or MLFLOW_TRACKING_URI");
  target.every = request->every;
  return mlflow_export(database, request->sweep, &target);
}

static const struct Exporter {
  const char *format;
  int (*work)(const Request *request, StoreDatabase *database);
} EXPORTERS[] = {
  {"csv", export_csv}, {"jsonl", export_jsonl}, {"tensorboard", export_tensorboard}, {"mlflow", export_mlflow}};

static int answer(void *asked, const char **operands, size_t count) {
  const Request *request = asked;
  StoreDatabase *database = NULL;
  if (request->sweep && strchr(request->sweep, ','))
    return core_error(CORE_USAGE, "--sweep %s: export takes one sweep", request->sweep);
  if (request->every < 1) return core_error(CORE_USAGE, "--every %lld: expected at least 1", (long long)request->every);
  for (size_t i = 0; i < sizeof EXPORTERS / sizeof *EXPORTERS; i++) {
    if (strcmp(operands[0], EXPORTERS[i].format) != 0) continue;
    TRY(analysis_database_open(analysis_database_path(operands + 1, count - 1), &database));
    int code = request->sweep ? analysis_sweeps_check(database, request->sweep) : CORE_OK;
    if (code == CORE_OK) code = EXPORTERS[i].work(request, database);
    store_database_close(&database);
    return code;
  }
  return core_options_usage_error(&manual, "unknown format \"%.80s\"", operands[0]);
}

int analysis_export(int argc, char **argv) {
  const char *environment = getenv("MLFLOW_TRACKING_URI");
  Request request = {.every = 1};
  if (environment && strncmp(environment, "http", 4) == 0) request.mlflow.url = environment;
  const CoreOption table[] = {
    {"output", 'o', CORE_OPTION_TEXT, &request.directory, "DIR",
     "output directory (default: export; for tensorboard: tensorboard)"},
    {"sweep", 0, CORE_OPTION_TEXT, &request.sweep, "NAME", "only the runs of this sweep (default: all)"},
    {"url", 0, CORE_OPTION_TEXT, &request.mlflow.url, "URL",
     "mlflow: server, http(s)://host:port (default: $MLFLOW_TRACKING_URI)"},
    {"experiment", 0, CORE_OPTION_TEXT, &request.mlflow.experiment, "NAME",
     "mlflow: experiment for the runs (default: the sweep's name)"},
    {"every", 0, CORE_OPTION_INT, &request.every, "N",
     "tensorboard, mlflow: every Nth iteration, and the last (default: 1)"},
    {0}};
  return core_options_run(&manual, table, argc, argv, answer, &request);
}

/* ---- files of all exporters -------------------------------------------------------------------------------------- */

int export_file_begin(const char *path, ExportFile *file) {
  int fd;
  TRY(core_files_path(file->path, "%s", path));
  TRY(core_files_path(file->temporary, "%s.%ld", path, (long)getpid()));
  TRY(core_files_open(file->temporary, CORE_FILES_NEW, &fd));
  file->stream = fdopen(fd, "w");
  if (file->stream) return CORE_OK;
  close(fd);
  return core_error_errno(CORE_FAIL, "cannot write %s", file->temporary);
}

int export_file_end(ExportFile *file, int code) {
  const bool failed = ferror(file->stream) != 0;
  if (fclose(file->stream) != 0 || failed)
    code = code == CORE_OK ? core_error_errno(CORE_FAIL, "cannot write %s", file->path) : code;
  if (code == CORE_OK && rename(file->temporary, file->path) < 0)
    code = core_error_errno(CORE_FAIL, "cannot write %s", file->path);
  if (code != CORE_OK) unlink(file->temporary);
  return code;
}
