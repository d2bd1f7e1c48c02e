/* MLflow's REST API (mlflow.org/docs: REST API reference): experiments/get-by-name and create, runs/search, create,
 * log-batch and update. A run is identified by its tag sweep.run_id. The tag sweep.iteration records the progress of
 * the copy and is written after the metrics, so that whatever an interrupted call omitted is sent again (MLflow
 * merges equal metrics). */
#include "analysis/commands/export.h"

#include <ctype.h>
#include <math.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/commands/export_runs.h"
#include "core/http.h"
#include "core/json.h"
#include "core/unicode.h"

enum { TIMEOUT_S = 30, TRIES = 3, METRICS_MAX = 1000, PARAMETERS_MAX = 100, VALUE_MAX = 500, TOKEN_MAX = 4096 };

typedef struct Mirror {
  CoreHttp *http;
  const MlflowTarget *target;
  char authorization[3 * TOKEN_MAX + 32]; /* header; "": none */
  char experiment[64], run[64];       /* ids of MLflow */
  json_t *metrics;                    /* not yet sent */
  json_t *names;                      /* our id -> readable name */
  int64_t sent, runs;
} Mirror;

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static const char *of_status(int status) {
  if (status == 401)
    return "it requires a login:  MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN";
  return status == 403 ? "this login lacks the permission" : "no reason given";
}

static int refused(const Mirror *m, const char *what, const CoreHttpAnswer *answer, const json_t *json) {
  char host[CORE_HTTP_HOST], words[300];
  const char *message = json_string_value(json_object_get(json, "message"));
  size_t length = 0;
  for (const char *c = message ? message : of_status(answer->status); *c && length + 1 < sizeof words; c++)
    words[length++] = *c >= ' ' && *c <= '~' ? *c : ' ';
  words[length] = '\0';
  const char *token = *m->authorization ? strrchr(m->authorization, ' ') + 1 : NULL;
  if (token && strstr(words, token)) snprintf(words, sizeof words, "(its message repeats the token)");
  return core_error(CORE_FAIL, "MLflow at %s, %s: HTTP status %d: %s", core_http_host(m->target->url, host), what,
                    answer->status, words);
}

/* Sends `body` (ownership is taken; NULL: none) to api/2.0/mlflow/<what>. *answer is a JSON object. If absent is
 * given, status 404 also returns CORE_OK. */
static int call(Mirror *m, const char *method, const char *what, json_t *body, bool *absent, json_t **answer) {
  CoreText url = {0};
  CoreHttpAnswer got = {0};
  char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
  const char *const headers[] = {"Content-Type: application/json", *m->authorization ? m->authorization : NULL, NULL};
  const size_t length = strlen(m->target->url), slash = length > 0 && m->target->url[length - 1] == '/';
  core_text_appendf(&url, "%.*s/api/2.0/mlflow/%s", (int)(length - slash), m->target->url, what);
  json_decref(body);
  *answer = NULL;
  const CoreHttpRequest request = {
    .method = method, .url = core_text_string(&url), .headers = headers, .body = text, .timeout_s = TIMEOUT_S};
  /* A busy server drops connections. Repeated calls have no effect (MLflow keys metrics by step and time), except
   * those that create objects. */
  const int tries = strstr(what, "create") ? 1 : TRIES;
  int code = CORE_FAIL;
  for (int i = 0; i < tries && code != CORE_OK; i++) {
    if (i > 0) sleep(1);
    core_text_clear(&got.body);
    code = core_http_send(m->http, &request, &got, NULL);
  }
  if (code == CORE_OK) {
    *answer = json_loadb(core_text_string(&got.body), got.body.length, 0, NULL);
    if (absent) *absent = got.status == 404;
    if (got.status != 200 && !(absent && *absent)) code = refused(m, what, &got, *answer);
    else if (!json_is_object(*answer) && !(absent && *absent))
      code = core_error(CORE_FAIL, "the server of --url does not implement MLflow's REST API 2.0");
  } else {
    core_error_context(code, "MLflow");
  }
  if (code != CORE_OK) {
    json_decref(*answer);
    *answer = NULL;
  }
  core_text_free(&got.body);
  core_text_free(&url);
  free(text);
  return code;
}

static int take_id(const json_t *value, char *id, size_t size, const char *what) {
  const char *text = json_string_value(value);
  if (!text || core_text_check_name(text, what) != CORE_OK || strlen(text) >= size)
    return core_error(CORE_FAIL, "MLflow returned no %s", what);
  return core_text_copy(id, size, text, what);
}

/* ---- experiment and run ------------------------------------------------------------------------------------------ */

static int find_experiment(Mirror *m, const char *name) {
  char what[256];
  json_t *answer;
  bool absent;
  snprintf(what, sizeof what, "experiments/get-by-name?experiment_name=%s",
           name); /* a checked name, which needs no escaping */
  TRY(call(m, "GET", what, NULL, &absent, &answer));
  if (absent) {
    json_decref(answer);
    TRY(call(m, "POST", "experiments/create", json_pack("{s:s}", "name", name), NULL, &answer));
  }
  const json_t *id = json_object_get(absent ? answer : json_object_get(answer, "experiment"), "experiment_id");
  const int code = take_id(id, m->experiment, sizeof m->experiment, "experiment id");
  json_decref(answer);
  return code;
}

static int64_t copied_until(const json_t *run) {
  size_t i;
  json_t *tag;
  int64_t iteration = 0;
  json_array_foreach(json_object_get(json_object_get(run, "data"), "tags"), i, tag) {
    const char *key = json_string_value(json_object_get(tag, "key")),
               *value = json_string_value(json_object_get(tag, "value"));
    if (key && value && strcmp(key, "sweep.iteration") == 0 && !core_text_to_int(value, &iteration)) iteration = 0;
  }
  return iteration;
}

static int find_run(Mirror *m, const char *id, double started_s, int64_t *done) {
  char filter[80];
  json_t *answer;
  snprintf(filter, sizeof filter, "tags.`sweep.run_id` = '%s'", id);
  TRY(call(m, "POST", "runs/search",
           json_pack("{s:[s], s:s, s:i}", "experiment_ids", m->experiment, "filter", filter, "max_results", 1), NULL,
           &answer));
  json_t *run = json_array_get(json_object_get(answer, "runs"), 0);
  *done = run ? copied_until(run) : 0;
  if (!run) {
    json_decref(answer);
    TRY(call(m, "POST", "runs/create",
             json_pack("{s:s, s:s, s:I, s:[{s:s, s:s}]}", "experiment_id", m->experiment, "run_name",
                       json_string_value(json_object_get(m->names, id)), "start_time",
                       (json_int_t)(1000 * started_s), "tags", "key", "sweep.run_id", "value", id),
             NULL, &answer));
    run = json_object_get(answer, "run");
  }
  const int code = take_id(json_object_get(json_object_get(run, "info"), "run_id"), m->run, sizeof m->run, "run id");
  json_decref(answer);
  return code;
}

/* ---- settings and metrics ---------------------------------------------------------------------------------------- */

static int send_batch(Mirror *m, const char *kind, json_t *list) {
  json_t *answer;
  const size_t count = json_array_size(list);
  if (count == 0) {
    json_decref(list);
    return CORE_OK;
  }
  TRY(call(m, "POST", "runs/log-batch", json_pack("{s:s, s:o}", "run_id", m->run, kind, list), NULL, &answer));
  json_decref(answer);
  return CORE_OK;
}

/* Parameters that are not yet sent. */
typedef struct Parameters {
  Mirror *mirror;
  json_t *list;
  int code;
} Parameters;

/* Returns a setting as config.ini writes it, by which users filter: 0.2, not 0.20000000000000001. */
static json_t *setting_text(const json_t *value) {
  char number[32], text[VALUE_MAX + 1];
  if (json_is_string(value)) snprintf(text, sizeof text, "%s", json_string_value(value));
  else if (json_is_integer(value)) snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
  else if (json_is_real(value)) snprintf(text, sizeof text, "%s", core_text_from_real(json_real_value(value), number));
  else snprintf(text, sizeof text, "%s", json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "");
  return core_json_text(text);
}

static void add_parameter(void *given, const char *name, const json_t *value) {
  Parameters *parameters = given;
  json_array_append_new(parameters->list, json_pack("{s:s, s:o}", "key", name, "value", setting_text(value)));
  if (json_array_size(parameters->list) < PARAMETERS_MAX || parameters->code != CORE_OK) return;
  parameters->code = send_batch(parameters->mirror, "params", parameters->list);
  parameters->list = json_array();
}

static int send_settings(Mirror *m, const char *config) {
  Parameters parameters = {m, json_array(), CORE_OK};
  export_settings(config, add_parameter, &parameters);
  if (parameters.code == CORE_OK) return send_batch(m, "params", parameters.list);
  json_decref(parameters.list);
  return parameters.code;
}

static int flush(Mirror *m) {
  m->sent += (int64_t)json_array_size(m->metrics);
  const int code = send_batch(m, "metrics", m->metrics);
  m->metrics = json_array();
  return code;
}

/* Adds a metric. JSON has neither infinity nor NaN; such values are omitted like unmeasured ones. */
static int add_metric(Mirror *m, const char *name, double value, double unix_s, int64_t step) {
  if (!isfinite(value)) return CORE_OK;
  json_array_append_new(m->metrics, json_pack("{s:s, s:f, s:I, s:I}", "key", name, "value", value, "timestamp",
                                              (json_int_t)(1000 * unix_s), "step", (json_int_t)step));
  return json_array_size(m->metrics) < METRICS_MAX ? CORE_OK : flush(m);
}

/* Sends the iterations after *done, which becomes the last one. */
static int send_iterations(Mirror *m, StoreDatabase *database, const ExportRun *run, int64_t *done) {
  const ExportTable *table = &export_iterations;
  const int wall = 1 + export_column(table, "wall_seconds"), steps = 1 + export_column(table, "transitions");
  StoreQuery *query;
  bool row;
  int code;
  TRY(export_rows_open(database, table, run->id, *done, &query));
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const double seconds = store_query_real(query, wall), at = run->started_s + (isfinite(seconds) ? seconds : 0);
    *done = store_query_int(query, 0);
    const int64_t step = export_step(run, store_query_real(query, steps), *done);
    if (*done % m->target->every != 0 && *done != run->iteration) continue;
    for (int i = 0; i < table->count && code == CORE_OK; i++)
      code = add_metric(m, table->columns[i], store_query_real(query, i + 1), at, step);
    if (code != CORE_OK) break;
  }
  store_query_close(&query);
  return code;
}

/* ---- keys of metrics -------------------------------------------------------------------------------------------- */

enum { KEY_MAX = 251 }; /* MLflow allows 250 characters */

/* MLflow allows what Python's \w matches. These ranges are letters in all versions of Unicode that Python has had;
 * combining marks, which it does not match, lie between others. */
static bool is_letter(uint32_t code) {
  static const struct { uint32_t first, last; } ranges[] = {
    {0xb5, 0xb5}, {0xc0, 0xd6}, {0xd8, 0xf6}, {0xf8, 0x24f},                       /* Latin */
    {0x388, 0x38a}, {0x38e, 0x3a1}, {0x3a3, 0x3ce}, {0x400, 0x481}, {0x48a, 0x52f}, /* Greek, Cyrillic */
    {0x5d0, 0x5ea}, {0x620, 0x64a}, {0x1e00, 0x1eff},                              /* Hebrew, Arabic, Latin */
    {0x3041, 0x3096}, {0x30a1, 0x30fa}, {0x4e00, 0x9fa5}, {0xac00, 0xd7a3}};       /* Japanese, Chinese, Korean */
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (code >= ranges[i].first && code <= ranges[i].last) return true;
  return code < 0x80 && (isalnum((int)code) || code == '_');
}

/* Whether a part of a path is "", "." or "..", which MLflow refuses because it may store a metric as a file. */
static bool is_odd_part(const char *part) {
  const size_t length = strcspn(part, "/");
  return length == 0 || (length <= 2 && strspn(part, ".") >= length);
}

/* Whether the character at `at` may stay in the key. `part`: start of its part of the path. */
static bool is_allowed(uint32_t code, const char *name, const char *part, const char *at) {
  if (is_letter(code) || code == '-') return true;
  if (code == ' ') return at > name && at[1]; /* databases may ignore blanks at the end */
  if (code == '.') return !is_odd_part(part);
  return code == '/' && at > part && at[1] && at[1] != '/';
}

/* Copies a name (UTF-8) as MLflow allows it (mlflow/utils/validation.py): letters, digits, "_-. " and "/" between
 * names. Other characters become '_', and 8 digits of the name's hash follow, so that different names stay
 * different. */
static void make_key(const char *name, char key[KEY_MAX]) {
  enum { DIGITS = 4, HASH_MIN = crypto_generichash_BYTES_MIN };
  CoreText text = {0};
  unsigned char hash[HASH_MIN];
  char digits[2 * DIGITS + 1];
  bool same = true;
  const char *part = name, *at = name;
  while (*at && text.length < KEY_MAX - 16) {
    const char *here = at;
    const uint32_t code = core_unicode_next(&at);
    const bool allowed = is_allowed(code, name, part, here);
    if (allowed) core_text_append_bytes(&text, here, (size_t)(at - here));
    else core_text_append(&text, "_");
    if (code == '/') part = at;
    same = same && allowed;
  }

  if (!same || *at) {
    crypto_generichash(hash, sizeof hash, (const unsigned char *)name, strlen(name), NULL, 0);
    core_text_appendf(&text, "_%s", sodium_bin2hex(digits, sizeof digits, hash, DIGITS));
  }
  snprintf(key, KEY_MAX, "%s", core_text_string(&text));
  core_text_free(&text);
}

/* ---- runs ------------------------------------------------------------------------------------------------------- */

/* Sends the named metrics from iteration `from` on. */
static int send_metrics(Mirror *m, StoreDatabase *database, const ExportRun *run, int64_t from) {
  static const ExportNaming naming = {"", '.'};
  StoreQuery *query;
  bool row;
  int code;
  TRY(export_metrics_open(database, run->id, from, m->target->every, &query));
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const char *text = store_query_text(query, 0);
    const double seconds = store_query_real(query, 4), at = run->started_s + (isfinite(seconds) ? seconds : 0);
    const int64_t step = export_step(run, store_query_real(query, 2), store_query_int(query, 1));
    char name[EXPORT_NAME_MAX], key[KEY_MAX];
    export_metric_name(naming, text ? text : "", name);
    make_key(name, key);
    if ((code = add_metric(m, key, store_query_real(query, 3), at, step)) != CORE_OK) break;
  }
  store_query_close(&query);
  return code;
}

/* Sends all evaluations every time: they are few, and one may arrive late. */
static int send_evaluations(Mirror *m, StoreDatabase *database, const ExportRun *run) {
  const ExportTable *table = &export_evaluations;
  const int steps = 2 + export_column(table, "transitions");
  StoreQuery *query;
  bool row;
  int code;
  TRY(export_rows_open(database, table, run->id, -1, &query));
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const char *set = store_query_text(query, 1);
    const int64_t step = export_step(run, store_query_real(query, steps), store_query_int(query, 0));
    char name[EXPORT_NAME_MAX], key[KEY_MAX];
    for (int i = 0; i < table->count && code == CORE_OK; i++) {
      snprintf(name, sizeof name, "eval.%.150s.%s", set ? set : "", table->columns[i]);
      make_key(name, key);
      code = add_metric(m, key, store_query_real(query, i + 2), run->started_s, step);
    }
    if (code != CORE_OK) break;
  }
  store_query_close(&query);
  return code;
}

static const char *mlflow_status(const char *status) {
  if (!status || strcmp(status, "pending") == 0) return "SCHEDULED";
  if (strcmp(status, "finished") == 0) return "FINISHED";
  if (strcmp(status, "running") == 0) return "RUNNING";
  return strncmp(status, "stopped", strlen("stopped")) == 0 || strcmp(status, "lost") == 0 ? "KILLED" : "FAILED";
}

static int close_run(Mirror *m, const char *status, double finished_s, int64_t done) {
  char text[32];
  json_t *answer, *update = json_pack("{s:s, s:s}", "run_id", m->run, "status", mlflow_status(status));
  if (isfinite(finished_s) && finished_s > 0)
    json_object_set_new(update, "end_time", json_integer((json_int_t)(1000 * finished_s)));
  TRY(call(m, "POST", "runs/update", update, NULL, &answer));
  json_decref(answer);
  snprintf(text, sizeof text, "%lld", (long long)done);
  return send_batch(m, "tags", json_pack("[{s:s, s:s}]", "key", "sweep.iteration", "value", text));
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static int send_run(Mirror *m, StoreDatabase *database, const ExportRun *run) {
  int64_t done;
  TRY(find_run(m, run->id, run->started_s, &done));
  const int64_t before = done;
  if (done == 0) TRY(send_settings(m, run->config));
  TRY(send_iterations(m, database, run, &done));
  TRY(send_metrics(m, database, run, before)); /* again those of the last iteration: its evaluation may be new */
  TRY(send_evaluations(m, database, run));
  TRY(flush(m));
  m->runs++;
  return close_run(m, run->status, run->ended_s, done);
}

static int send_all(Mirror *m, StoreDatabase *database, const char *sweep) {
  StoreQuery *runs;
  ExportRun run;
  bool more;
  int code;
  TRY(export_runs_names(database, sweep, &m->names));
  TRY(export_runs_open(database, sweep, &runs));
  while ((code = export_runs_next(runs, &run, &more)) == CORE_OK && more)
    if ((code = send_run(m, database, &run)) != CORE_OK) break;
  store_query_close(&runs);
  return code == CORE_OK && m->runs == 0 ? export_runs_none(sweep) : code;
}

/* Reads an environment variable that goes into a header; *value NULL: not set. */
static int take_variable(const char *name, const char **value) {
  *value = getenv(name);
  if (*value && !**value) *value = NULL;
  for (const char *c = *value; c && *c; c++)
    if (*c <= ' ' || *c > '~' || c - *value >= TOKEN_MAX)
      return core_error(CORE_USAGE, "%s: expected one word of at most %d characters", name, TOKEN_MAX);
  return CORE_OK;
}

/* Reads a token, or like MLflow's own client a name and a password. */
static int take_login(Mirror *m) {
  const char *token, *user, *password;
  TRY(take_variable("MLFLOW_TRACKING_TOKEN", &token));
  TRY(take_variable("MLFLOW_TRACKING_USERNAME", &user));
  TRY(take_variable("MLFLOW_TRACKING_PASSWORD", &password));
  if (user && password) {
    char pair[2 * TOKEN_MAX + 2], encoded[sodium_base64_ENCODED_LEN(2 * TOKEN_MAX + 2, sodium_base64_VARIANT_ORIGINAL)];
    snprintf(pair, sizeof pair, "%s:%s", user, password);
    sodium_bin2base64(encoded, sizeof encoded, (const unsigned char *)pair, strlen(pair),
                      sodium_base64_VARIANT_ORIGINAL);
    snprintf(m->authorization, sizeof m->authorization, "Authorization: Basic %s", encoded);
    explicit_bzero(pair, sizeof pair);
    explicit_bzero(encoded, sizeof encoded);
  } else if (token) {
    snprintf(m->authorization, sizeof m->authorization, "Authorization: Bearer %s", token);
  }
  return CORE_OK;
}

int mlflow_export(StoreDatabase *database, const char *sweep, const MlflowTarget *target) {
  const char *experiment = target->experiment ? target->experiment : sweep ? sweep : "sweep";
  Mirror m = {.target = target, .metrics = json_array()};
  char host[CORE_HTTP_HOST];
  int code;
  TRY_GOTO(code, done, core_http_check_url(target->url, "--url"));
  TRY_GOTO(code, done, core_text_check_name(experiment, "experiment"));
  TRY_GOTO(code, done, take_login(&m));
  TRY_GOTO(code, done, core_http_open(&m.http));
  TRY_GOTO(code, done, find_experiment(&m, experiment));
  code = send_all(&m, database, sweep);
  if (code == CORE_OK)
    printf("%lld runs, %lld new values in experiment %s of %s\n", (long long)m.runs, (long long)m.sent, experiment,
           core_http_host(target->url, host));
done:
  explicit_bzero(m.authorization, sizeof m.authorization);
  core_http_close(&m.http);
  json_decref(m.metrics);
  json_decref(m.names);
  return code;
}
