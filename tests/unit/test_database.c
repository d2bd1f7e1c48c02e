/* store/database, store/query, store/bulk: ownership of the file, every kind of unusable file, and rows checked by
 * SQLite itself. */
#include "test.h"

#include <sqlite3.h>
#include <signal.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store/database/bulk_internal.h"
#include "store_workspace.h"

/* SQL on the file behind the store's back. */
static void execute(const char *sql) {
  sqlite3 *handle;
  char *message = NULL;
  assert_int_equal(sqlite3_open(database_path, &handle), SQLITE_OK);
  if (sqlite3_exec(handle, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
  sqlite3_close(handle);
}

static void assert_refused(int code, const char *part) {
  StoreDatabase *database;
  assert_int_equal(store_database_open(database_path, false, &database), code);
  assert_null(database);
  assert_message(part);
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static void test_schema(void **state) {
  (void)state;
  StoreDatabase *database = open_database();
  store_database_close(&database);
  assert_null(database);
  assert_query("PRAGMA journal_mode", "wal\n");
  assert_query("SELECT version FROM schema_version", "12\n");
  assert_query("PRAGMA integrity_check", "ok\n");
  assert_int_equal(query_int("PRAGMA application_id"), 0x53574250);
  /* The names that scripts rely on. */
  free(query_text("SELECT run_id, iteration, transitions, kl, kl_reverse, grad_norm_actor, grad_norm_critic, ddr,"
                  " solve_rate, clip_fraction, entropy, explained_variance, steps_per_second FROM iteration"));
  free(query_text("SELECT run_id, iteration, transitions, level_set, solve_rate, episodes FROM evaluation"));
  free(query_text("SELECT id, seed, config, status FROM run"));
  free(query_text("SELECT sweep, idx, run_id FROM sweep_run"));
  free(query_text("SELECT run_id, level_set, solve_rate, transitions, ddr FROM best_solve_rate"));
  free(query_text("SELECT run_id, status, sweeps, best_solve_rate, ddr FROM run_summary"));
  free(query_text("SELECT subject, name, key, value FROM annotation"));
  free(query_text("SELECT tags, note FROM run_summary"));
  free(query_text("SELECT run_id, attempt, status, code, code_files FROM attempt"));
  free(query_text("SELECT run_id, code, code_files FROM run_summary"));
  free(query_text("SELECT run_id, iteration, network, layer, weight_norm, dormant FROM layer"));
  free(query_text("SELECT run_id, iteration, network, layer, metric, value FROM layer_metric"));
  free(query_text("SELECT run_id, name, step, value FROM metric"));
  free(query_text("SELECT run_id, name, value FROM setting"));
}

static void test_older_file_gets_new_columns(void **state) {
  (void)state;
  char id[CORE_RUN_ID];
  StoreDatabase *database = open_database();
  store_database_close(&database);
  execute("ALTER TABLE iteration DROP COLUMN grad_square_critic; ALTER TABLE evaluation DROP COLUMN goals");
  assert_ok(store_database_open(database_path, true, &database)); /* for reading it stays as it is */
  StoreQuery *query;
  assert_ok(store_query_open(
    database, "SELECT count(i.grad_square_critic) + count(e.goals) FROM iteration AS i, evaluation AS e", &query));
  store_query_close(&query);
  store_database_close(&database);
  make_run(0, id);
  write_rows(id, 1, 1, 5, 0);
  assert_int_equal(import_all().rows, 5);
  assert_query("SELECT count(*), sum(iteration), sum(kl), count(goals) FROM iteration", "5|15|1.25|0\n");
  execute("ALTER TABLE iteration RENAME COLUMN kl TO kullback");
  assert_refused(CORE_USAGE, "rebuild");
}

static void test_refuses_what_is_not_ours(void **state) {
  (void)state;
  struct stat before, after;
  execute("CREATE TABLE bookmarks(url TEXT); INSERT INTO bookmarks VALUES('x')");
  assert_int_equal(stat(database_path, &before), 0);
  assert_refused(CORE_USAGE, "another program");
  assert_int_equal(stat(database_path, &after), 0);
  assert_true(before.st_size == after.st_size && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
  StoreDatabase *database;
  assert_int_equal(store_database_open(database_path, true, &database), CORE_USAGE);
  unlink(database_path);
  execute("PRAGMA application_id = 252006673");
  assert_refused(CORE_USAGE, "another program");
}

static void test_refuses_newer_versions(void **state) {
  (void)state;
  StoreDatabase *database = open_database();
  store_database_close(&database);
  execute("PRAGMA user_version = 99");
  assert_refused(CORE_USAGE, "newer version");
  assert_int_equal(store_database_open(database_path, true, &database), CORE_USAGE);
}

static void test_refuses_no_databases(void **state) {
  (void)state;
  StoreDatabase *database;
  char text[4096];

  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  write_text(database_path, text);
  assert_refused(CORE_FAIL, "sweep collect --rebuild");

  unlink(database_path);
  assert_int_equal(store_database_open(database_path, true, &database), CORE_USAGE);
  assert_false(core_files_exists(database_path)); /* reading makes no file */

  assert_int_equal(mkdir(database_path, 0700), 0);
  assert_refused(CORE_USAGE, "is a directory");
  rmdir(database_path);

  assert_int_equal(mkfifo(database_path, 0600), 0);
  assert_refused(CORE_USAGE, "not a regular file");
  unlink(database_path);

  write_text(database_path, ""); /* an empty file is an empty database */
  assert_int_equal(store_database_open(database_path, true, &database), CORE_USAGE);
  database = open_database();
  store_database_close(&database);

  char nowhere[CORE_PATH_MAX];
  assert_ok(core_files_path(nowhere, "%s/no/folder/results.db", root));
  assert_int_equal(store_database_open(nowhere, false, &database), CORE_FAIL);
  assert_message("No such file");
}

/* Overwritten pages of tables give a message with a remedy when they are detected, never a crash. */
static void test_damaged_pages(void **state) {
  (void)state;
  char id[CORE_RUN_ID];
  size_t size;

  make_run(0, id);
  write_rows(id, 1, 1, 200, 0);
  import_all();
  char *good = read_text(database_path, &size);
  srand(5);
  int told = 0;

  for (int i = 0; i < 40; i++) {
    char *bad = malloc(size);
    memcpy(bad, good, size);
    for (int k = 0; k < 300; k++) bad[100 + (size_t)rand() % (size - 100)] = (char)rand();

    FILE *file = fopen(database_path, "w");
    fwrite(bad, 1, size, file);
    fclose(file);
    free(bad);

    StoreDatabase *database;
    StoreQuery *query = NULL;
    bool row = false;
    int code = store_database_open(database_path, true, &database);
    if (code == CORE_OK)
      code = store_query_open(database, "SELECT sum(kl), sum(length(config)) FROM iteration, run", &query);
    if (code == CORE_OK) code = store_query_step(query, &row);

    if (code != CORE_OK) {
      assert_true(*core_error_message());
      told += strstr(core_error_message(), "sweep collect --rebuild") != NULL;
    }
    store_query_close(&query);
    store_database_close(&database);
  }

  assert_true(told > 10);
  free(good);
}

/* Another user's workspace: neither the file nor its directory can be written. */
static void test_read_only_file(void **state) {
  (void)state;
  StoreDatabase *database = open_database();
  store_database_close(&database);
  chmod(database_path, 0444);
  chmod(root, 0555);
  bool is_root = geteuid() == 0;
  if (is_root) assert_int_equal(seteuid(65534), 0);
  int refused = store_database_open(database_path, false, &database);
  char message[512];
  snprintf(message, sizeof message, "%s", core_error_message());
  int opened = store_database_open(database_path, true, &database), queried = CORE_FAIL;
  StoreQuery *query = NULL;
  if (opened == CORE_OK) queried = store_query_open(database, "SELECT count(*) FROM run", &query);
  store_query_close(&query);
  store_database_close(&database);
  if (is_root) assert_int_equal(seteuid(0), 0);
  chmod(root, 0755);
  assert_int_equal(refused, CORE_FAIL);
  assert_non_null(strstr(message, "permissions"));
  assert_int_equal(opened, CORE_OK);
  assert_int_equal(queried, CORE_OK);
}

/* A child that keeps a write transaction open. */
static void test_locked(void **state) {
  (void)state;
  int ready[2];
  char byte, pid[32];

  StoreDatabase *database = open_database();
  store_database_close(&database);
  assert_int_equal(pipe(ready), 0);

  pid_t child = fork();
  if (child == 0) {
    database = open_database();
    if (store_database_begin(database) == CORE_OK && write(ready[1], "y", 1) == 1)
      for (;;) pause(); /* until it is killed */
    _exit(1);
  }

  assert_int_equal(read(ready[0], &byte, 1), 1);
  database = open_database(); /* opening and reading never wait */
  assert_int_equal(store_database_begin(database), CORE_FAIL);
  assert_message("locked");
  snprintf(pid, sizeof pid, "process %ld", (long)child);
  assert_message(pid);

  kill(child, SIGKILL);
  waitpid(child, NULL, 0);

  assert_ok(store_database_begin(database)); /* the dead hold nothing */
  assert_ok(store_database_commit(database));

  store_database_close(&database);
  close(ready[0]);
  close(ready[1]);
}

static void test_many_openers_at_once(void **state) {
  (void)state;
  enum { CHILDREN = 8 };
  pid_t children[CHILDREN];

  for (int i = 0; i < CHILDREN; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      StoreDatabase *database;
      CoreConfig config = core_config_default();
      char id[CORE_RUN_ID];

      config.train.seed = i;
      core_config_id(&config, id);

      int code = store_database_open(database_path, false, &database);
      if (code == CORE_OK) code = store_database_begin(database);
      if (code == CORE_OK) code = store_database_put_run(database, "s", i, &config, id);
      if (code == CORE_OK) code = store_database_commit(database);
      if (code != CORE_OK) fprintf(stderr, "# %s\n", core_error_message());
      _exit(code);
    }
  }

  for (int i = 0; i < CHILDREN; i++) {
    int status;
    waitpid(children[i], &status, 0);
    assert_int_equal(status, 0);
  }
  assert_int_equal(query_int("SELECT count(*) FROM run"), CHILDREN);
}

/* ---- sweeps and runs -------------------------------------------------------------------------------------------- */

static void test_put(void **state) {
  (void)state;
  CoreConfig config = core_config_default();
  char id[CORE_RUN_ID], expected[128];

  config.ppo.com = 32;
  config.train.seed = 5;
  core_config_id(&config, id);
  StoreDatabase *database = open_database();

  for (int repeat = 0; repeat < 2; repeat++) {
    assert_ok(store_database_begin(database));
    assert_ok(store_database_put_sweep(database, "fig", "[sweep]\nname = 'fig\"'\n"));
    assert_ok(store_database_put_run(database, "fig", 7, &config, id));
    assert_ok(store_database_commit(database));
  }

  assert_ok(store_database_begin(database));
  assert_int_equal(store_database_put_sweep(database, "../fig", ""), CORE_USAGE);
  assert_int_equal(store_database_put_run(database, "fig", 8, &config, "x'; DROP TABLE run; --"), CORE_USAGE);
  assert_ok(store_database_put_run(database, "gone", 8, &config, id));
  store_database_rollback(database);
  store_database_close(&database);

  snprintf(expected, sizeof expected, "%s|5|32.0|pending|0\n", id);
  assert_query("SELECT id, seed, json_extract(config, '$.ppo.com'), status, attempt FROM run", expected);
  assert_query("SELECT name, ini FROM sweep", "fig|[sweep]\nname = 'fig\"'\n\n");
  snprintf(expected, sizeof expected, "fig|7|%s\n", id);
  assert_query("SELECT sweep, idx, run_id FROM sweep_run", expected);
  snprintf(expected, sizeof expected, "%s|fig|loco512|ppo\n", id);
  assert_query("SELECT run_id, sweeps, task, algorithm FROM run_summary", expected);
}

/* Each setting is a row, with the type that it has. */
static void test_settings(void **state) {
  (void)state;
  CoreConfig config = core_config_default();
  char id[CORE_RUN_ID];
  config.ppo.com = 32;
  core_config_id(&config, id);
  StoreDatabase *database = open_database();
  assert_ok(store_database_put_run(database, "s", 0, &config, id));
  assert_ok(store_database_put_run(database, "s", 1, NULL, "0123456789abcdef")); /* whose settings are not known */
  store_database_close(&database);
  assert_query("SELECT name, value, typeof(value) FROM setting WHERE name IN ('ppo.com', 'env.task', 'eval.animate')"
               " ORDER BY name", "env.task|loco512|text\nppo.com|32.0|real\n");
  assert_query("SELECT count(*) > 100, count(DISTINCT run_id) FROM setting", "1|1\n");
}

/* R and data frames give a column one type: numbers of a setting are all of one, an infinite one too. */
static void test_setting_types(void **state) {
  (void)state;
  static const double epsilons[] = {0.2, INFINITY, 1};
  StoreDatabase *database = open_database();
  for (int i = 0; i < 3; i++) {
    CoreConfig config = core_config_default();
    char id[CORE_RUN_ID];
    config.ppo.epsilon = epsilons[i];
    config.ppo.max_grad_norm = i + 1;
    core_config_id(&config, id);
    assert_ok(store_database_put_run(database, "s", i, &config, id));
  }
  store_database_close(&database);
  assert_query("SELECT value, typeof(value) FROM setting WHERE name = 'ppo.epsilon' ORDER BY value",
               "0.2|real\n1.0|real\nInf|real\n");
  assert_query("SELECT name, count(DISTINCT typeof(value)) AS types FROM setting GROUP BY name HAVING types != 1", "");
}

/* Tests a program whose setting `norm` is a text that may be "inf", and `eps` a number. */
static void test_infinite_settings_of_a_program(void **state) {
  (void)state;
  static const char *const configs[] = {
    "{\"settings\": {\"eps\": \"inf\", \"norm\": \"inf\"}, \"infinite\": [\"eps\"]}",
    "{\"settings\": {\"eps\": \"-inf\", \"norm\": \"-inf\"}, \"infinite\": [\"eps\"],"
    " \"program\": {\"name\": \"inf\"}}",
    "{\"settings\": {\"eps\": 0.5, \"norm\": \"l2\"}}"};
  StoreDatabase *database = open_database();
  store_database_close(&database);
  for (int i = 0; i < 3; i++) {
    char *sql = sqlite3_mprintf("INSERT INTO run(id, config) VALUES('%d', %Q)", i, configs[i]);
    execute(sql);
    sqlite3_free(sql);
  }
  assert_query("SELECT value, typeof(value) FROM setting WHERE name = 'settings.eps' ORDER BY run_id",
               "Inf|real\n-Inf|real\n0.5|real\n");
  assert_query("SELECT value, typeof(value) FROM setting WHERE name = 'settings.norm' ORDER BY run_id",
               "inf|text\n-inf|text\nl2|text\n");
  assert_query("SELECT value, typeof(value) FROM setting WHERE name = 'program.name'", "inf|text\n");
}

/* ---- query ------------------------------------------------------------------------------------------------------ */

static void test_query(void **state) {
  (void)state;
  StoreQuery *query;
  bool row;
  StoreDatabase *database = open_database();

  assert_ok(store_query_open(database, "SELECT ?1 AS a, ?2 AS b, ?3 AS c, ?4 AS d, 1.5 AS e;\n ", &query));
  store_query_bind_text(query, 1, "'; DROP TABLE run; --");
  store_query_bind_int(query, 2, INT64_MAX);
  store_query_bind_real(query, 3, NAN);
  store_query_bind_text(query, 4, NULL);

  assert_ok(store_query_step(query, &row));
  assert_true(row);
  assert_int_equal(store_query_columns(query), 5);
  assert_string_equal(store_query_name(query, 1), "b");
  assert_string_equal(store_query_text(query, 0), "'; DROP TABLE run; --");
  assert_int_equal(store_query_int(query, 1), INT64_MAX);
  assert_true(isnan(store_query_real(query, 2)));
  assert_null(store_query_text(query, 3));
  assert_true(store_query_real(query, 4) == 1.5);

  assert_int_equal(store_query_value(query, 0), STORE_VALUE_TEXT);
  assert_int_equal(store_query_value(query, 1), STORE_VALUE_INT);
  assert_int_equal(store_query_value(query, 2), STORE_VALUE_NULL);
  assert_int_equal(store_query_value(query, 4), STORE_VALUE_REAL);
  assert_ok(store_query_step(query, &row));
  assert_false(row);

  store_query_reset(query);
  store_query_bind_int(query, 2, 3);
  assert_ok(store_query_step(query, &row));
  assert_int_equal(store_query_int(query, 1), 3);
  store_query_close(&query);
  assert_null(query);

  assert_int_equal(store_query_open(database, "SELECT x FROM nowhere", &query), CORE_USAGE);
  assert_message("nowhere");
  assert_int_equal(store_query_open(database, "SELECT 1; DROP TABLE run", &query), CORE_USAGE);
  assert_int_equal(store_query_open(database, " -- nothing", &query), CORE_USAGE);

  store_database_close(&database);
  assert_ok(store_database_open(database_path, true, &database));
  assert_ok(store_query_open(database, "DELETE FROM run", &query));
  assert_int_equal(store_query_step(query, &row), CORE_FAIL);
  store_query_close(&query);
  store_database_close(&database);
}

/* ---- bulk rows -------------------------------------------------------------------------------------------------- */

static double random_value(void) {
  switch (rand() % 8) {
    case 0: return NAN;
    case 1: return rand() % 2 ? INFINITY : -INFINITY;
    case 2: return rand() % 5 - 2;
    case 3: return 1e300 * rand();
    default: return (double)rand() / 12345 - 80000;
  }
}

/* Rows of three runs in any order, some repeatedly: the last of each is stored, to the last bit. */
static void test_bulk(void **state) {
  enum { RUNS = 3, ITERATIONS = 300, ADDED = 20000 }; /* each some 22 times */
  static StoreIteration last[RUNS][ITERATIONS];
  char ids[RUNS][CORE_RUN_ID];
  StoreBulk *bulk;
  sqlite3_stmt *find = NULL;
  (void)state;

  StoreDatabase *database = open_database();
  assert_ok(store_bulk_create(database, &bulk));
  for (int r = 0; r < RUNS; r++) snprintf(ids[r], CORE_RUN_ID, "%016x", 77 * (r + 1));
  srand(6);

  for (int i = 0; i < ADDED; i++) {
    const int r = rand() % RUNS, at = rand() % ITERATIONS;
    StoreIteration row = store_iteration_unmeasured(at);
    for (double *value = &row.transitions; value < (double *)(&row + 1); value++) *value = random_value();
    row.merged_iterations = NAN;
    store_bulk_add(bulk, ids[r], &row);
    last[r][at] = row;

    if (i % 700 != 699 && i + 1 < ADDED) continue;
    assert_ok(store_database_begin(database));
    assert_ok(store_bulk_insert(bulk));
    assert_ok(store_database_commit(database));
    store_bulk_clear(bulk);
  }

  assert_ok(store_database_prepare(database, "SELECT * FROM iteration WHERE run_id = ?1 AND iteration = ?2", &find));
  for (int r = 0; r < RUNS; r++)
    for (int at = 0; at < ITERATIONS; at++) {
      sqlite3_bind_text(find, 1, ids[r], -1, SQLITE_STATIC);
      sqlite3_bind_int(find, 2, at);
      assert_int_equal(sqlite3_step(find), SQLITE_ROW);
      for (int c = 2; c < sqlite3_column_count(find); c++) {
        const double value = (&last[r][at].transitions)[c - 2];
        assert_int_equal(sqlite3_column_type(find, c), isnan(value) ? SQLITE_NULL : SQLITE_FLOAT);
        if (!isnan(value)) assert_true(sqlite3_column_double(find, c) == value);
      }
      sqlite3_reset(find);
    }

  sqlite3_finalize(find);
  store_bulk_destroy(&bulk);
  assert_null(bulk);
  store_database_close(&database);
  assert_int_equal(query_int("SELECT count(*) FROM iteration"), RUNS * ITERATIONS);
  assert_int_equal(query_int("SELECT sum(n) FROM iteration_bin"), RUNS * ITERATIONS);
}

/* A very large sweep is recorded: another process gets its turn before that ends. */
static void test_others_write_meanwhile(void **state) {
  enum { AT_ONCE = 500, BATCHES_MAX = 2000 };
  int done[2], go[2], status;
  char id[CORE_RUN_ID], byte;
  (void)state;

  assert_true(pipe(done) == 0 && pipe(go) == 0);
  const pid_t child = fork(); /* before a connection exists: connections must not cross a fork */
  if (child == 0) { /* waits for the lock, which is held */
    StoreDatabase *other;
    _exit(read(go[0], &byte, 1) != 1 || store_database_open(database_path, false, &other) != CORE_OK ||
          store_database_begin(other) != CORE_OK || store_database_put_sweep(other, "small", "") != CORE_OK ||
          store_database_commit(other) != CORE_OK || write(done[1], "y", 1) != 1);
  }

  StoreDatabase *database = open_database();
  assert_ok(store_database_begin(database));
  assert_int_equal(write(go[1], "g", 1), 1);
  assert_int_equal(fcntl(done[0], F_SETFL, O_NONBLOCK), 0);

  int batch = 0;
  while (batch < BATCHES_MAX && read(done[0], &byte, 1) != 1) {
    for (int i = 0; i < AT_ONCE; i++) {
      snprintf(id, sizeof id, "%016x", batch * AT_ONCE + i);
      assert_ok(store_database_put_run(database, "large", batch * AT_ONCE + i, NULL, id));
    }
    assert_ok(store_database_yield(database));
    batch++;
  }

  assert_ok(store_database_commit(database));
  store_database_close(&database);

  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_true(batch < BATCHES_MAX);
  assert_int_equal(query_int("SELECT count(*) FROM sweep_run"), batch * AT_ONCE);
  close(done[0]), close(done[1]), close(go[0]), close(go[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    WORKSPACE_TEST(test_schema), WORKSPACE_TEST(test_older_file_gets_new_columns),
    WORKSPACE_TEST(test_refuses_what_is_not_ours), WORKSPACE_TEST(test_refuses_newer_versions),
    WORKSPACE_TEST(test_refuses_no_databases), WORKSPACE_TEST(test_damaged_pages), WORKSPACE_TEST(test_read_only_file),
    WORKSPACE_TEST(test_locked), WORKSPACE_TEST(test_many_openers_at_once), WORKSPACE_TEST(test_put),
    WORKSPACE_TEST(test_query), WORKSPACE_TEST(test_bulk), WORKSPACE_TEST(test_others_write_meanwhile),
    WORKSPACE_TEST(test_settings), WORKSPACE_TEST(test_setting_types),
    WORKSPACE_TEST(test_infinite_settings_of_a_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
