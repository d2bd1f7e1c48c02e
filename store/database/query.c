/* Reads results.db. Binding and reading values cannot fail in ways that a caller could act on; preparing and stepping
 * can. */
#include "store/database/query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "store/database/database_internal.h"

struct StoreQuery {
  StoreDatabase *database;
  sqlite3_stmt *statement;
};

/* Reports an error: one in the SQL itself is the user's (analyze sql), any other the file's. */
static int sql_error(StoreDatabase *database) {
  int code = sqlite3_errcode(database->handle);
  if (code == SQLITE_ERROR || code == SQLITE_TOOBIG || code == SQLITE_RANGE)
    return core_error(CORE_USAGE, "SQL: %s", sqlite3_errmsg(database->handle));
  return store_database_error(database, "read");
}

int store_query_open(StoreDatabase *database, const char *sql, StoreQuery **query) {
  const char *rest = "";
  sqlite3_stmt *statement = NULL;
  *query = NULL;
  if (sqlite3_prepare_v2(database->handle, sql, -1, &statement, &rest) != SQLITE_OK) return sql_error(database);
  if (!statement) return core_error(CORE_USAGE, "SQL: expected a statement, found none");
  if (rest[strspn(rest, " \t\r\n;")] != '\0') {
    sqlite3_finalize(statement);
    return core_error(CORE_USAGE, "SQL: expected one statement, found another after it: '%.40s'", rest);
  }
  *query = core_memory_allocate(sizeof **query);
  **query = (StoreQuery){database, statement};
  return CORE_OK;
}

/* Authorizer callback: denies actions beyond reading this file. A read-only connection is not enough, because ATTACH
 * opens other files and VACUUM INTO (which attaches) writes one. Writes to the file itself are left to the connection
 * to refuse, since table-valued functions also request them. */
static int authorize_read(void *context, int action, const char *first, const char *second, const char *schema,
                        const char *trigger) {
  /* Pragmas whose argument names an object; the argument of others is a new value. */
  static const char *const introspection[] = {"table_info", "table_xinfo", "table_list", "index_list", "index_info"};
  bool is_introspection = false;
  switch (action) {
    case SQLITE_ATTACH:
    case SQLITE_DETACH: return SQLITE_DENY;
    case SQLITE_FUNCTION: return second && strcmp(second, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
      for (size_t i = 0; i < sizeof introspection / sizeof *introspection; i++)
        is_introspection = is_introspection || (first && strcmp(first, introspection[i]) == 0);
      return second && !is_introspection ? SQLITE_DENY : SQLITE_OK;
    default: return SQLITE_OK;
  }
}

int store_query_open_reading(StoreDatabase *database, const char *sql, StoreQuery **query) {
  sqlite3_set_authorizer(database->handle, authorize_read, NULL);
  int code = store_query_open(database, sql, query);
  bool writes = code == CORE_OK && !sqlite3_stmt_readonly((*query)->statement);
  if (writes) store_query_close(query);
  if (writes || (code != CORE_OK && sqlite3_errcode(database->handle) == SQLITE_AUTH))
    return core_error(CORE_USAGE,
                      "SQL: this statement does more than read; expected one SELECT (to change rows, use the sqlite3 "
                      "program on a copy)");
  return code;
}

void store_query_bind_text(StoreQuery *query, int index, const char *value) {
  sqlite3_bind_text(query->statement, index, value, -1, SQLITE_TRANSIENT);
}

void store_query_bind_int(StoreQuery *query, int index, int64_t value) {
  sqlite3_bind_int64(query->statement, index, value);
}

void store_query_bind_real(StoreQuery *query, int index, double value) {
  sqlite3_bind_double(query->statement, index, value);
}

int store_query_step(StoreQuery *query, bool *row) {
  int step = sqlite3_step(query->statement);
  *row = step == SQLITE_ROW;
  return *row || step == SQLITE_DONE ? CORE_OK : sql_error(query->database);
}

void store_query_reset(StoreQuery *query) { sqlite3_reset(query->statement); }

int store_query_columns(const StoreQuery *query) { return sqlite3_column_count(query->statement); }

const char *store_query_name(const StoreQuery *query, int column) {
  const char *name = sqlite3_column_name(query->statement, column);
  return name ? name : "";
}

StoreValue store_query_value(StoreQuery *query, int column) {
  switch (sqlite3_column_type(query->statement, column)) {
    case SQLITE_INTEGER: return STORE_VALUE_INT;
    case SQLITE_FLOAT: return STORE_VALUE_REAL;
    case SQLITE_NULL: return STORE_VALUE_NULL;
    default: return STORE_VALUE_TEXT;
  }
}

const char *store_query_text(StoreQuery *query, int column) {
  return (const char *)sqlite3_column_text(query->statement, column);
}

int64_t store_query_int(StoreQuery *query, int column) { return sqlite3_column_int64(query->statement, column); }

double store_query_real(StoreQuery *query, int column) {
  if (sqlite3_column_type(query->statement, column) == SQLITE_NULL) return NAN;
  return sqlite3_column_double(query->statement, column);
}

void store_query_close(StoreQuery **query) {
  if (!*query) return;
  sqlite3_finalize((*query)->statement);
  free(*query);
  *query = NULL;
}

/* ---- reading one state ------------------------------------------------------------------------------------------- */

bool store_query_begin_reading(StoreDatabase *database) {
  return sqlite3_get_autocommit(database->handle) &&
         sqlite3_exec(database->handle, "BEGIN", NULL, NULL, NULL) == SQLITE_OK;
}

void store_query_end_reading(StoreDatabase *database, bool begun) {
  if (begun) store_database_rollback(database);
}
