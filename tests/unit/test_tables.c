/* store/database/tables.h against a results.db: every table and view of the file is described, column by column,
 * with type, key and meaning, so that nothing can come to the schema without its description, nor leave it. */
#include "test.h"

#include "store/database/query.h"
#include "store/database/tables.h"
#include "store_workspace.h"

static const StoreTable *table_called(const char *name) {
  size_t count;
  const StoreTable *tables = store_tables(&count);
  for (size_t t = 0; t < count; t++)
    if (strcmp(tables[t].name, name) == 0) return &tables[t];
  return NULL;
}

static void test_all_are_described(void **state) {
  (void)state;
  StoreDatabase *database = open_database();
  StoreQuery *query;
  size_t count, found = 0;
  bool row;
  store_tables(&count);
  assert_ok(store_query_open(database, "SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view')", &query));
  for (; store_query_step(query, &row) == CORE_OK && row; found++)
    if (!table_called(store_query_text(query, 0))) fail_msg("%s is not described", store_query_text(query, 0));
  assert_int_equal(found, count);
  store_query_close(&query);
  store_database_close(&database);
}

/* Whether the column is one of the names in the list "a, b, c". */
static bool is_named(const char *list, const char *column) {
  size_t length = strlen(column);
  for (const char *at = list; *at; at += strspn(at, ", ")) {
    size_t word = strcspn(at, ", ");
    if (word == length && strncmp(at, column, length) == 0) return true;
    at += word;
  }
  return false;
}

static void check_column(const StoreTable *table, const StoreTableColumn *column, StoreQuery *query, bool is_view) {
  const char *name = store_query_text(query, 0), *type = store_query_text(query, 1);
  if (!column->name || strcmp(name, column->name) != 0)
    fail_msg("%s.%s is described as %s", table->name, name, column->name ? column->name : "nothing");
  if (!*column->comment) fail_msg("%s.%s has no comment", table->name, name);
  if (is_view) return; /* SQLite may know no type for an expression */
  if (strncmp(column->type, type, strlen(type)) != 0)
    fail_msg("%s.%s is %s, not %s", table->name, name, type, column->type);
  if ((store_query_int(query, 2) > 0) != is_named(table->key, name)) fail_msg("%s.%s: not as key", table->name, name);
}

static void test_columns(void **state) {
  (void)state;
  StoreDatabase *database = open_database();
  StoreQuery *query;
  size_t count;
  const StoreTable *tables = store_tables(&count);
  assert_ok(store_query_open(database, "SELECT c.name, c.type, c.pk, s.type = 'view' FROM main.sqlite_schema AS s"
                             " CROSS JOIN pragma_table_info(s.name) AS c WHERE s.name = ?1 ORDER BY c.cid",
                             &query));
  for (size_t t = 0; t < count; t++) {
    const StoreTableColumn *column = tables[t].columns;
    bool row, keyed_by_id = strcmp(tables[t].name, "run") == 0; /* run.key is this file's own */
    store_query_bind_text(query, 1, tables[t].name);
    for (; store_query_step(query, &row) == CORE_OK && row; column++)
      check_column(&tables[t], column, query, keyed_by_id || store_query_int(query, 3));
    if (column->name) fail_msg("%s has no column %s", tables[t].name, column->name);
    store_query_reset(query);
    assert_true((tables[t].exclusion_reason == NULL) == (tables[t].sweep_filter != NULL));
  }
  store_query_close(&query);
  store_database_close(&database);
}

int main(void) {
  const struct CMUnitTest tests[] = {WORKSPACE_TEST(test_all_are_described), WORKSPACE_TEST(test_columns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
