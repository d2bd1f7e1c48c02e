/* analyze export mlflow against a small server that stores the data and checks each request's form and size;
 * tests/cli/test_mlflow.sh uses a real MLflow, if Python has one. */
#include "test.h"

#include <jansson.h>

#include "analysis/commands/export.h"
#include "core/http.h"
#include "http_server.h"
#include "store_workspace.h"

/* Contents of the server. */
static struct Mlflow {
  bool has_experiment, fails;
  json_t *settings;    /* the latest parameters, by key */
  json_t *runs;        /* our id -> {"run_id", "iteration", "params": n, "metrics": n, "status"} */
  int requests;
  const char *problem; /* the first ill-formed request */
} mlflow;

static void complain(const char *problem) {
  if (!mlflow.problem) mlflow.problem = problem;
}

static json_t *find_run(const char *mlflow_id) {
  const char *id;
  json_t *run;
  json_object_foreach(mlflow.runs, id, run)
    if (mlflow_id && strcmp(json_string_value(json_object_get(run, "run_id")), mlflow_id) == 0) return run;
  complain("a run that was never created");
  return NULL;
}

static void add_to(json_t *run, const char *key, size_t count) {
  json_object_set_new(run, key, json_integer(json_integer_value(json_object_get(run, key)) + (json_int_t)count));
}

static void log_batch(const json_t *body) {
  json_t *run = find_run(json_string_value(json_object_get(body, "run_id"))), *item;
  const json_t *metrics = json_object_get(body, "metrics"), *params = json_object_get(body, "params"),
               *tags = json_object_get(body, "tags");
  size_t i;
  if (json_array_size(metrics) > 1000 || json_array_size(params) > 100 || json_array_size(tags) > 100)
    complain("a batch that is too large");
  json_array_foreach(metrics, i, item) if (!json_is_string(json_object_get(item, "key")) ||
                                           !json_is_number(json_object_get(item, "value")) ||
                                           !json_is_integer(json_object_get(item, "step")) ||
                                           json_integer_value(json_object_get(item, "timestamp")) <= 0)
    complain("a metric");
  json_array_foreach(params, i, item) {
    const char *key = json_string_value(json_object_get(item, "key")),
               *value = json_string_value(json_object_get(item, "value"));
    if (!key || !value) complain("a parameter");
    else json_object_set_new(mlflow.settings, key, json_string(value));
  }
  add_to(run, "metrics", json_array_size(metrics));
  add_to(run, "params", json_array_size(params));
  json_array_foreach(tags, i, item)
    json_object_set(run, json_string_value(json_object_get(item, "key")), json_object_get(item, "value"));
}

static json_t *search(const json_t *body) {
  char id[64] = "";
  const char *filter = json_string_value(json_object_get(body, "filter"));
  if (!filter || sscanf(filter, "tags.`sweep.run_id` = '%63[0-9a-f]'", id) != 1) complain("a filter");
  json_t *run = json_object_get(mlflow.runs, id);
  if (!run) return json_object();
  const char *done = json_string_value(json_object_get(run, "sweep.iteration"));
  return json_pack("{s:[{s:{s:O}, s:{s:[{s:s, s:s}]}}]}", "runs", "info", "run_id", json_object_get(run, "run_id"),
                   "data", "tags", "key", "sweep.iteration", "value", done ? done : "0");
}

static json_t *create_run(const json_t *body) {
  char id[32];
  const json_t *tag = json_array_get(json_object_get(body, "tags"), 0);
  if (json_integer_value(json_object_get(body, "start_time")) <= 0) complain("a start time");
  snprintf(id, sizeof id, "mlflow%zu", json_object_size(mlflow.runs));
  json_object_set_new(mlflow.runs, json_string_value(json_object_get(tag, "value")), json_pack("{s:s}", "run_id", id));
  return json_pack("{s:{s:{s:s}}}", "run", "info", "run_id", id);
}

static void answer(HttpServer *server, const HttpCall *call, HttpReply *reply) {
  static char *text;
  const char *what = strncmp(call->path, "/prefix/api/2.0/mlflow/", 23) == 0 ? call->path + 23 : "";
  json_t *body = json_loads(call->body, 0, NULL), *result = NULL;
  mlflow.requests++;
  if (mlflow.fails)
    reply->status = 500,
    result = json_pack("{s:s, s:s}", "error_code", "INTERNAL_ERROR", "message", "the disk is full of s3cret-token");
  else if (strcmp(what, "experiments/get-by-name?experiment_name=study") == 0) {
    if (mlflow.has_experiment) result = json_pack("{s:{s:s}}", "experiment", "experiment_id", "7");
    else reply->status = 404, result = json_pack("{s:s}", "error_code", "RESOURCE_DOES_NOT_EXIST");
  } else if (strcmp(what, "experiments/create") == 0)
    mlflow.has_experiment = true, result = json_pack("{s:s}", "experiment_id", "7");
  else if (strcmp(what, "runs/search") == 0) result = search(body);
  else if (strcmp(what, "runs/create") == 0) result = create_run(body);
  else if (strcmp(what, "runs/log-batch") == 0) log_batch(body), result = json_object();
  else if (strcmp(what, "runs/update") == 0)
    json_object_set(find_run(json_string_value(json_object_get(body, "run_id"))), "status",
                    json_object_get(body, "status")),
      result = json_object();
  else reply->status = 404, complain("an unknown request");
  free(text);
  reply->body = text = json_dumps(result, 0);
  json_decref(result);
  json_decref(body);
}

static HttpServer server;
static char url[300];

static void start_server(void) {
  server = (HttpServer){.answer = answer};
  mlflow = (struct Mlflow){.runs = json_object(), .settings = json_object()};
  http_server_start(&server, NULL);
  snprintf(url, sizeof url, "%s/prefix/", server.url);
}

static void stop_server(void) {
  http_server_stop(&server);
  http_server_forget(&server);
  if (mlflow.problem) fail_msg("the server got %s", mlflow.problem);
  json_decref(mlflow.runs);
  json_decref(mlflow.settings);
}

static int64_t total(const char *key) {
  int64_t sum = 0;
  const char *id;
  json_t *run;
  json_object_foreach(mlflow.runs, id, run) sum += json_integer_value(json_object_get(run, key));
  return sum;
}

static void set_state(const char *id, StoreStatus status, int64_t iteration) {
  const StoreState state = {.status = status,
                            .attempt = 1,
                            .started_unix_s = 1.7e9,
                            .heartbeat_unix_s = 1.7e9,
                            .iteration = iteration,
                            .iterations = 60};
  assert_ok(store_run_state_write(root, id, &state));
}

/* Every setting has the text of config.ini. */
static void check_settings(void) {
  const CoreConfig config = core_config_default();
  CoreText value = {0};
  size_t count;
  const CoreConfigRow *rows = core_config_trainer_rows(&count);
  for (size_t i = 0; i < count; i++) {
    const char *sent = json_string_value(json_object_get(mlflow.settings, rows[i].name));
    if (strcmp(rows[i].name, "train.seed") == 0) continue; /* runs are sorted by id */
    const char *expected = core_config_get(&config, &rows[i], &value);
    if (!sent || strcmp(sent, expected) != 0)
      fail_msg("%s = %s, sent as %s", rows[i].name, expected, sent ? sent : "nothing");
  }
  core_text_free(&value);
}

static void test_mirror(void **state) {
  char first[CORE_RUN_ID], second[CORE_RUN_ID];

  make_run(1, first), make_run(2, second);
  write_rows(first, 1, 1, 40, 0);
  write_rows(second, 1, 1, 10, 0);
  set_state(first, STORE_RUNNING, 40), set_state(second, STORE_FINISHED, 10);

  StoreDatabase *database = open_database();
  StoreImport import;
  assert_ok(store_import(database, root, NULL, true, &import));
  start_server();
  const MlflowTarget target = {.url = url, .experiment = "study", .every = 1};
  assert_ok(mlflow_export(database, NULL, &target));

  const int64_t values = total("metrics"), params = total("params");
  assert_int_equal(json_object_size(mlflow.runs), 2);
  assert_true(params > 2 * 20);
  check_settings();
  assert_true(values > 0 && values % 50 == 0); /* an equal number of columns in each of the 50 iterations */

  json_t *run = json_object_get(mlflow.runs, first);
  assert_string_equal(json_string_value(json_object_get(run, "sweep.iteration")), "40");
  assert_string_equal(json_string_value(json_object_get(json_object_get(mlflow.runs, second), "status")), "FINISHED");

  assert_ok(mlflow_export(database, NULL, &target)); /* again: nothing new */
  assert_int_equal(total("metrics"), values);
  assert_int_equal(total("params"), params);

  write_rows(first, 2, 41, 60, 0); /* continues */
  set_state(first, STORE_FINISHED, 60);
  assert_ok(store_import(database, root, NULL, true, &import));
  assert_ok(mlflow_export(database, NULL, &target));
  assert_int_equal(total("metrics"), values / 50 * 70);
  assert_int_equal(json_object_size(mlflow.runs), 2);

  store_database_close(&database);
  stop_server();
}

/* A run that was refused at its start: the server complains of one in 1970. */
static void test_never_started(void **state) {
  char id[CORE_RUN_ID];
  const StoreState refused = {.status = STORE_FAILED, .finished_unix_s = 1.7e9, .message = "exit code 2"};
  make_run(1, id);
  assert_ok(store_run_state_write(root, id, &refused));
  StoreDatabase *database = open_database();
  StoreImport import;
  assert_ok(store_import(database, root, NULL, true, &import));
  start_server();
  assert_ok(mlflow_export(database, NULL, &(MlflowTarget){.url = url, .experiment = "study", .every = 1}));
  assert_string_equal(json_string_value(json_object_get(json_object_get(mlflow.runs, id), "status")), "FAILED");
  store_database_close(&database);
  stop_server();
}

static void test_every(void **state) {
  char id[CORE_RUN_ID];
  make_run(1, id);
  write_rows(id, 1, 1, 25, 0);
  set_state(id, STORE_FINISHED, 25);
  StoreDatabase *database = open_database();
  StoreImport import;
  assert_ok(store_import(database, root, NULL, true, &import));
  start_server();
  assert_ok(mlflow_export(database, NULL, &(MlflowTarget){.url = url, .experiment = "study", .every = 1}));
  const int64_t all = total("metrics");
  stop_server();
  start_server();
  assert_ok(mlflow_export(database, NULL, &(MlflowTarget){.url = url, .experiment = "study", .every = 10}));
  assert_int_equal(total("metrics") * 25, all * 3); /* 10, 20 and the last */
  store_database_close(&database);
  stop_server();
}

static void test_faults(void **state) {
  char id[CORE_RUN_ID];
  make_run(1, id);
  set_state(id, STORE_RUNNING, 0);
  StoreDatabase *database = open_database();
  StoreImport import;
  assert_ok(store_import(database, root, NULL, true, &import));
  start_server();
  setenv("MLFLOW_TRACKING_TOKEN", "s3cret-token", 1);
  mlflow.fails = true;
  assert_int_equal(mlflow_export(database, NULL, &(MlflowTarget){.url = url, .experiment = "study", .every = 1}),
                   CORE_FAIL);
  assert_message("HTTP status 500");
  assert_null(strstr(core_error_message(), "s3cret"));
  assert_non_null(strstr(server.calls[0].headers, "\r\nAuthorization: Bearer s3cret-token\r\n"));
  unsetenv("MLFLOW_TRACKING_TOKEN");
  assert_int_equal(mlflow_export(database, NULL, &(MlflowTarget){.url = "ftp://x", .experiment = "study", .every = 1}),
                   CORE_USAGE);
  assert_int_equal(mlflow_export(database, NULL, &(MlflowTarget){.url = url, .experiment = "a b&c", .every = 1}),
                   CORE_USAGE);
  assert_int_equal(
    mlflow_export(database, NULL, &(MlflowTarget){.url = "http://127.0.0.1:1", .experiment = "study", .every = 1}),
    CORE_FAIL);
  assert_message("127.0.0.1:1");
  stop_server();
  store_database_close(&database);
}

int main(void) {
  const struct CMUnitTest tests[] = {WORKSPACE_TEST(test_mirror), WORKSPACE_TEST(test_never_started),
                                     WORKSPACE_TEST(test_every),
                                     WORKSPACE_TEST(test_faults)};
  if (!core_http_is_built()) {
    printf("1..1\nok 1 # SKIP built without libcurl\n");
    return 0;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
