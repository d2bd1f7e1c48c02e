/* A workspace in a temporary directory for the tests of store/: made before each test, removed after it. */
#ifndef TESTS_STORE_WORKSPACE_H
#define TESTS_STORE_WORKSPACE_H
#include "unit/test.h"

#include "core/files.h"
#include "store/database/database.h"
#include "store/database/query.h"
#include "store/runlog/runlog.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"

static char root[CORE_PATH_MAX];
static char database_path[CORE_PATH_MAX];

static inline int workspace_setup(void **state) {
  (void)state;
  const char *base = getenv("TMPDIR");
  snprintf(root, sizeof root, "%s/test_store.XXXXXX", base && *base ? base : "/tmp");
  return mkdtemp(root) && store_path_database(root, database_path) == CORE_OK ? 0 : -1;
}

static inline int workspace_teardown(void **state) {
  (void)state;
  return core_files_remove_tree(root);
}

#define WORKSPACE_TEST(test) cmocka_unit_test_setup_teardown(test, workspace_setup, workspace_teardown)
static inline void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static inline char *read_text(const char *path, size_t *size) {
  char *text;
  size_t bytes;
  assert_ok(core_files_read(path, 0, &text, size ? size : &bytes));
  return text;
}

/* A prepared run. */
static inline CoreConfig make_run(int64_t seed, char id[CORE_RUN_ID]) {
  CoreConfig config = core_config_default();
  config.train.seed = seed;
  assert_ok(store_run_prepare(root, &config, id));
  return config;
}

/* Values that tell their row and column. */
static inline StoreIteration make_row(int64_t iteration, double shift) {
  StoreIteration row = store_iteration_unmeasured(iteration);
  row.transitions = 1000.0 * (double)iteration;
  row.kl = 0.25 + shift;
  row.ddr = 1000 / row.kl;
  row.solve_rate = 0.5 + shift;
  row.entropy = 1.125 * (double)iteration;
  return row;
}

/* Iterations first..last into an attempt's log. */
static inline void write_rows(const char *id, int attempt, int64_t first, int64_t last, double shift) {
  StoreRunlog *log;
  assert_ok(store_runlog_open(root, id, attempt, STORE_LOG_STATS, &log));
  for (int64_t i = first; i <= last; i++) {
    StoreIteration row = make_row(i, shift);
    store_runlog_iteration(log, &row);
  }
  assert_ok(store_runlog_close(&log));
}

static inline void write_evaluation(const char *id, int attempt, int64_t iteration, const char *level_set,
                                    double rate) {
  StoreRunlog *log;
  StoreEvaluation row = store_evaluation_unmeasured(iteration, level_set);
  row.transitions = 1000.0 * (double)iteration;
  row.solve_rate = rate;
  row.episodes = 512;
  assert_ok(store_runlog_open(root, id, attempt, STORE_LOG_EVAL, &log));
  store_runlog_evaluation(log, &row);
  assert_ok(store_runlog_close(&log));
}

static inline void write_state(const char *id, StoreStatus status, int attempt, int64_t iteration) {
  StoreState state = {.status = status, .attempt = attempt, .host = "elsewhere", .pid = 7, .iteration = iteration,
                      .steps_per_second = NAN, .solve_rate = NAN, .commit = "abc1234"};
  assert_ok(store_run_state_write(root, id, &state));
}

static inline StoreDatabase *open_database(void) {
  StoreDatabase *database;
  assert_ok(store_database_open(database_path, false, &database));
  return database;
}

static inline StoreImport import_all(void) {
  StoreDatabase *database = open_database();
  StoreImport result;
  assert_ok(store_import(database, root, NULL, true, &result));
  store_database_close(&database);
  return result;
}

/* The rows of a query as text: fields separated by '|', rows by newlines. Free it. */
static inline char *query_text(const char *sql) {
  StoreDatabase *database;
  StoreQuery *query;
  CoreText text = {0};
  bool row;
  assert_ok(store_database_open(database_path, true, &database));
  assert_ok(store_query_open(database, sql, &query));
  for (;;) {
    assert_ok(store_query_step(query, &row));
    if (!row) break;
    for (int i = 0; i < store_query_columns(query); i++) {
      const char *value = store_query_text(query, i);
      core_text_appendf(&text, "%s%s", i ? "|" : "", value ? value : "NULL");
    }
    core_text_append(&text, "\n");
  }
  store_query_close(&query);
  store_database_close(&database);
  return text.data ? text.data : core_text_duplicate("");
}

#define assert_query(sql, expected)                \
  do {                                             \
    char *text_ = query_text(sql);                 \
    assert_string_equal(text_, expected);          \
    free(text_);                                   \
  } while (0)

static inline int64_t query_int(const char *sql) {
  char *text = query_text(sql);
  int64_t value = atoll(text);
  free(text);
  return value;
}

#endif
