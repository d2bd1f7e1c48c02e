/* SQLite, CRC-32 and JSON for test scripts, so that they need neither Python nor sqlite3.
 *   cli_tool sql FILE TEXT        executes statements, prints each row as a line with | between values
 *   cli_tool lock FILE SECONDS    locks the file exclusively, prints "locked", until SECONDS or the end of stdin
 *   cli_tool hold FILE SECONDS    the same with a lock of core/files.h, as for .import.lock
 *   cli_tool crc                  prints each line of stdin, a tab and its CRC-32, as in run logs
 *   cli_tool json [KEY|PLACE]...  prints the value at that path of stdin's JSON: text as it is, the rest as compact
 *                                 JSON
 *   cli_tool export FOLDER        checks FOLDER/csv and FOLDER/jsonl of `analyze export` against schema.json */
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "store/workspace/crc32_internal.h"

static int fail(const char *what, const char *why) {
  fprintf(stderr, "cli_tool: %s: %s\n", what, why);
  return 1;
}

/* ---- SQLite ----------------------------------------------------------------------------------------------------- */

static int print_row(void *context, int count, char **values, char **names) {
  (void)context, (void)names;
  for (int i = 0; i < count; i++) printf("%s%s", i ? "|" : "", values[i] ? values[i] : "NULL");
  printf("\n");
  return 0;
}

static int execute(sqlite3 *handle, const char *path, const char *text) {
  char *message = NULL;
  if (sqlite3_exec(handle, text, print_row, NULL, &message) == SQLITE_OK) return 0;
  int code = fail(path, message ? message : "?");
  sqlite3_free(message);
  return code;
}

static void keep(double hold_s) {
  printf("locked\n");
  fflush(stdout);
  poll(&(struct pollfd){.fd = STDIN_FILENO, .events = POLLIN}, 1, (int)(1000 * hold_s));
}

static int with_database(const char *path, const char *text, double hold_s) {
  sqlite3 *handle = NULL;
  int code = sqlite3_open(path, &handle) == SQLITE_OK ? 0 : fail(path, sqlite3_errmsg(handle));
  sqlite3_busy_timeout(handle, 10000);
  if (code == 0) code = execute(handle, path, text);
  if (code == 0 && hold_s > 0) keep(hold_s);
  sqlite3_close(handle);
  return code;
}

static int hold(const char *path, double hold_s) {
  int lock;
  if (core_files_lock(path, true, &lock) != CORE_OK) return fail("lock", core_error_message());
  keep(hold_s);
  core_files_unlock(&lock);
  return 0;
}

/* ---- run logs --------------------------------------------------------------------------------------------------- */

static int add_crc(void) {
  char *line = NULL;
  size_t room = 0;
  for (ssize_t n; (n = getline(&line, &room, stdin)) > 0;) {
    if (line[n - 1] == '\n') n--;
    printf("%.*s\t%08x\n", (int)n, line, store_crc32(line, (size_t)n));
  }
  free(line);
  return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------- */

static int print_json(char **path) {
  json_error_t fault;
  json_t *root = json_loadf(stdin, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &fault);
  if (!root) return fail("stdin", fault.text);
  const json_t *at = root;
  for (; *path && at; path++)
    at = json_is_array(at) ? json_array_get(at, (size_t)strtoul(*path, NULL, 10)) : json_object_get(at, *path);
  int code = at ? 0 : fail(*(path - 1), "is not there");
  if (at && json_is_string(at)) printf("%s\n", json_string_value(at));
  else if (at) json_dumpf(at, stdout, JSON_COMPACT | JSON_ENCODE_ANY), printf("\n");
  json_decref(root);
  return code;
}

/* ---- exports ---------------------------------------------------------------------------------------------------- */

/* The next field of RFC 4180 from *at, unquoted in place; *at behind the comma or newline. *quoted: "" is text. */
static char *csv_field(char **at, bool *last) {
  char *begin = *at, *to = *at, *from = *at;
  const bool quoted = *from == '"';
  for (from += quoted; *from && (quoted || (*from != ',' && *from != '\n' && *from != '\r')); from++) {
    if (quoted && *from == '"' && *++from != '"') break;
    *to++ = *from;
  }
  if (*from == '\r') from++;
  *last = *from != ',';
  *at = *from ? from + 1 : from;
  *to = '\0';
  return begin;
}

/* A cell of the CSV is the value of the JSON line: the same text, or the same number. */
static bool same_cell(const char *text, const json_t *value, const char *type, bool nullable) {
  if (!value || json_is_null(value)) return *text == '\0' && nullable;
  if (strcmp(type, "string") == 0) return json_is_string(value) && strcmp(text, json_string_value(value)) == 0;
  if (strcmp(type, "int64") == 0) return json_is_integer(value) && atoll(text) == json_integer_value(value);
  if (json_is_string(value))
    return strcmp(text, json_string_value(value)) == 0 && isinf(strtod(text, NULL)); /* "inf" */
  return json_is_number(value) && strtod(text, NULL) == json_number_value(value);
}

static int compare_line(const json_t *columns, char **csv, const char *line) {
  json_error_t fault;
  json_t *object = json_loads(line, 0, &fault), *column;
  size_t i;
  int code =
    object && json_object_size(object) == json_array_size(columns) ? 0 : fail(line, "not the schema's columns");
  json_array_foreach((json_t *)columns, i, column) {
    bool last = false;
    const char *name = json_string_value(json_object_get(column, "name")), *text = csv_field(csv, &last);
    const bool nullable = json_is_true(json_object_get(column, "nullable"));
    if (code == 0 &&
        !same_cell(text, json_object_get(object, name), json_string_value(json_object_get(column, "type")), nullable))
      code = fail(name, text);
    if (last != (i + 1 == json_array_size(columns)) && code == 0) code = fail(name, "a row of another width");
  }
  json_decref(object);
  return code;
}

static int compare_table(const char *directory, const json_t *table) {
  const char *name = json_string_value(json_object_get(table, "table"));
  const json_t *columns = json_object_get(table, "columns");
  char path[CORE_PATH_MAX], *csv = NULL, *lines = NULL;
  size_t size, rows = 0;
  if (core_files_path(path, "%s/csv/%s.csv", directory, name) != CORE_OK ||
      core_files_read(path, 0, &csv, &size) != CORE_OK ||
      core_files_path(path, "%s/jsonl/%s.jsonl", directory, name) != CORE_OK ||
      core_files_read(path, 0, &lines, &size) != CORE_OK)
    return fail(path, core_error_message());
  int code = 0;
  char *at = csv, *rest = lines;
  json_t *column;
  size_t i;
  json_array_foreach((json_t *)columns, i, column) { /* the header */
    bool last;
    const char *head = csv_field(&at, &last);
    if (strcmp(head, json_string_value(json_object_get(column, "name"))) != 0) code = fail(name, head);
  }
  for (char *line; code == 0 && (line = strsep(&rest, "\n")) && *line; rows++) code = compare_line(columns, &at, line);
  if (code == 0 && (*at || (json_int_t)rows != json_integer_value(json_object_get(table, "rows"))))
    code = fail(name, "another number of rows than the schema says");
  free(csv);
  free(lines);
  return code;
}

static int compare_exports(const char *directory) {
  char path[CORE_PATH_MAX];
  json_error_t fault;
  json_t *schema =
    core_files_path(path, "%s/csv/schema.json", directory) == CORE_OK ? json_load_file(path, 0, &fault) : NULL;
  const json_t *tables = json_object_get(schema, "tables");
  int code = json_array_size(tables) > 0 ? 0 : fail(path, "names no tables");
  for (size_t i = 0; i < json_array_size(tables) && code == 0; i++)
    code = compare_table(directory, json_array_get(tables, i));
  json_decref(schema);
  if (code == 0) printf("good\n");
  return code;
}

int main(int argc, char **argv) {
  const char *command = argc > 1 ? argv[1] : "";
  if (strcmp(command, "sql") == 0 && argc == 4) return with_database(argv[2], argv[3], 0);
  if (strcmp(command, "lock") == 0 && argc == 4)
    return with_database(argv[2],
                         "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; SELECT 1 FROM sqlite_schema LIMIT 0",
                         strtod(argv[3], NULL));
  if (strcmp(command, "hold") == 0 && argc == 4) return hold(argv[2], strtod(argv[3], NULL));
  if (strcmp(command, "crc") == 0 && argc == 2) return add_crc();
  if (strcmp(command, "json") == 0) return print_json(argv + 2);
  if (strcmp(command, "export") == 0 && argc == 3) return compare_exports(argv[2]);
  return fail("usage", "sql FILE TEXT | lock FILE SECONDS | hold FILE SECONDS | crc | json [KEY]... | export FOLDER");
}
