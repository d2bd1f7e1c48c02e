/* Dispatches requests: access checks first, then the route, whose response may be cached. */
#include "sweep/serve/routes.h"

#include <string.h>

typedef struct Route {
  const char *path;
  int (*make)(const ServeContext *context, json_t **value);       /* makes the value of the response, */
  int (*append)(const ServeContext *context, CoreText *body);     /* or its body */
  ServeSource source;
} Route;

static const Route routes[] = {
  {"/api/overview", serve_api_overview, NULL, SERVE_FROM_SNAPSHOT},
  {"/api/status", NULL, serve_api_status, SERVE_FROM_SNAPSHOT},
  {"/api/runs", serve_api_runs, NULL, SERVE_FROM_SNAPSHOT},
  {"/api/scatter", serve_api_scatter, NULL, SERVE_FROM_SNAPSHOT},
  {"/api/run", serve_api_run, NULL, SERVE_FROM_FILES},
  {"/api/log", serve_api_log, NULL, SERVE_FROM_FILES},
  {"/api/views", serve_api_views, NULL, SERVE_FROM_FILES},
  {"/api/resources", serve_api_resources, NULL, SERVE_FROM_FILES},
  {"/api/video", NULL, serve_api_video, SERVE_FROM_FILES},
  {"/api/columns", serve_api_columns, NULL, SERVE_FROM_RESULTS},
  {"/api/colors", serve_api_colors, NULL, SERVE_FROM_RESULTS},
  {"/api/curves", serve_api_curves, NULL, SERVE_FROM_RESULTS},
  {"/api/search", serve_api_search, NULL, SERVE_FROM_RESULTS},
};
enum { ROUTES = sizeof routes / sizeof *routes };

/* ---- responses --------------------------------------------------------------------------------------------------- */

static int status_of(int code) {
  return code == CORE_USAGE ? 400 : code == SERVE_NOT_FOUND ? 404 : 503;
}

static void send_value(ServeResponse *response, int status, json_t *value) {
  response->status = status;
  response->type = "application/json";
  core_json_append(value, 0, &response->body);
  core_text_append(&response->body, "\n");
  json_decref(value);
}

static void send_error(ServeResponse *response, int status, const char *why) {
  core_text_clear(&response->body);
  send_value(response, status, json_pack("{s:o}", "error", core_json_text(why)));
}

/* ---- GET --------------------------------------------------------------------------------------------------------- */

static void enter(ServeGate *gate) {
  pthread_mutex_lock(&gate->lock);
  while (gate->running == SERVE_REQUESTS_MAX) pthread_cond_wait(&gate->left, &gate->lock);
  gate->running++;
  pthread_mutex_unlock(&gate->lock);
}

static void leave(ServeGate *gate) {
  pthread_mutex_lock(&gate->lock);
  gate->running--;
  pthread_cond_signal(&gate->left);
  pthread_mutex_unlock(&gate->lock);
}

static void make_response(const Route *route, const ServeContext *context, ServeResponse *response) {
  json_t *value = NULL;
  response->status = 200;
  response->type = strcmp(route->path, "/api/video") == 0 ? "image/gif" : "application/json";
  const int code = route->make ? route->make(context, &value) : route->append(context, &response->body);
  if (code == CORE_OK && value) {
    send_value(response, 200, value);
  } else if (code != CORE_OK) {
    json_decref(value);
    send_error(response, status_of(code), core_error_message());
  }
}

/* Takes the response from the cache, or makes it. version: of the data that it is made from. */
static void find_response(const Route *route, const ServeContext *context, int64_t version, ServeResponse *response) {
  ServeCache *cache = &context->serve->cache;
  CoreText key = {0};
  core_text_append(&key, route->path);
  serve_request_append_arguments(context->request, "token", &key); /* a response may depend on all others */
  const bool is_cached = route->source != SERVE_FROM_FILES;
  if (is_cached && serve_cache_find(cache, core_text_string(&key), version, &response->body)) {
    response->status = 200;
    response->type = "application/json";
  } else {
    make_response(route, context, response);
    if (is_cached && response->status == 200)
      serve_cache_put(cache, core_text_string(&key), version, &response->body);
  }
  core_text_free(&key);
}

static void handle_get(Serve *serve, const ServeRequest *request, ServeResponse *response) {
  const Route *route = NULL;
  int64_t version;
  for (int i = 0; i < ROUTES; i++)
    if (strcmp(routes[i].path, request->path) == 0) route = &routes[i];
  if (!route) {
    send_error(response, 404, "no such path; docs/serve.md lists all");
    return;
  }

  enter(&serve->gates[route->source]);
  ServeSnapshot *snapshot = serve_watch_acquire(serve->watch, &version);
  ServeContext context = {.serve = serve, .request = request, .snapshot = snapshot,
                          .reader = serve_readers_take(&serve->readers)};
  if (route->source == SERVE_FROM_RESULTS) version = serve_readers_version(&serve->readers);
  find_response(route, &context, version, response);

  serve_readers_give(&serve->readers, &context.reader);
  serve_snapshot_release(&snapshot);
  leave(&serve->gates[route->source]);
}

static void handle_actions(Serve *serve, ServeResponse *response) {
  bool has_ended;
  pthread_mutex_lock(&serve->actions_lock);
  json_t *list = serve_action_list(&serve->actions, &has_ended);
  pthread_mutex_unlock(&serve->actions_lock);
  if (has_ended) serve_watch_refresh(serve->watch);
  send_value(response, 200, list);
}

/* ---- POST -------------------------------------------------------------------------------------------------------- */

/* Starts an action on the sweep, or on the run if one is named; both exist in the workspace. */
static int start_action(const ServeContext *context, ServeVerb verb, int64_t *number) {
  const ServeSweep *sweep;
  const char *run = serve_request_argument(context->request, "run");
  size_t index;
  if (run) TRY(serve_argument_run(context, &sweep, &index));
  else TRY(serve_argument_sweep(context, &sweep));
  const SweepProgress *progress = &sweep->view->progress;
  Serve *serve = context->serve;
  pthread_mutex_lock(&serve->actions_lock);
  const int code = serve_action_start(&serve->actions, serve->root, verb, !sweep->view->is_slurm,
                                      progress->name, run, number);
  pthread_mutex_unlock(&serve->actions_lock);
  return code;
}

/* Requires the token in a header: browsers store addresses, and any page may link to one. Returns why the request is
 * refused; NULL: it is not. */
static const char *refusal(const Serve *serve, const ServeRequest *request, bool is_action) {
  if (is_action && !serve->control)
    return "this server changes no run; start it with --control to stop and retry runs";
  if (!serve_token_is_valid(serve->token, request->authorization, NULL))
    return "a POST needs its token in a header: Authorization: Bearer TOKEN";
  if (!serve_origin_is_same(request->origin, request->fetch_site, request->host))
    return "the request comes from another site";
  return NULL;
}

static int start_verb(const ServeContext *context, ServeVerb verb, json_t **value) {
  int64_t number;
  TRY(start_action(context, verb, &number));
  serve_watch_refresh(context->serve->watch);
  *value = json_pack("{s:I}", "id", (json_int_t)number);
  return CORE_OK;
}

static void handle_post(Serve *serve, const ServeRequest *request, ServeResponse *response) {
  const bool is_stop = strcmp(request->path, "/api/stop") == 0, is_retry = strcmp(request->path, "/api/retry") == 0;
  const bool is_view = strcmp(request->path, "/api/views") == 0;
  const char *refused = refusal(serve, request, is_stop || is_retry);
  int64_t version;
  json_t *value = NULL;

  if (!is_stop && !is_retry && !is_view) {
    send_error(response, 404, "only /api/stop, /api/retry and /api/views accept POST");
    return;
  }
  if (refused) {
    send_error(response, 403, refused);
    return;
  }

  ServeSnapshot *snapshot = serve_watch_acquire(serve->watch, &version);
  const ServeContext context = {.serve = serve, .request = request, .snapshot = snapshot};
  const int code = is_view ? serve_views_change(&context, &value)
                           : start_verb(&context, is_stop ? SERVE_STOP : SERVE_RETRY, &value);
  serve_snapshot_release(&snapshot);
  if (code == CORE_OK) send_value(response, is_view ? 200 : 202, value);
  else send_error(response, status_of(code), core_error_message());
}

/* ---- dispatch ---------------------------------------------------------------------------------------------------- */

void serve_route(void *context, const ServeRequest *request, ServeResponse *response) {
  Serve *serve = context;
  core_error_clear();
  if (!serve_host_is_loopback(request->host))
    send_error(response, 403, "the host name must be 127.0.0.1 or localhost");
  else if (!serve_token_is_valid(serve->token, request->authorization, serve_request_argument(request, "token")))
    send_error(response, 403, "the token is missing or wrong; use the address that sweep serve printed");
  else if (strcmp(request->method, "POST") == 0) handle_post(serve, request, response);
  else if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
    send_error(response, 405, "only GET and POST are supported");
  else if (strcmp(request->path, "/") == 0) {
    response->status = 200;
    response->type = "text/html; charset=utf-8";
    core_text_append_bytes(&response->body, core_text_string(&serve->page), serve->page.length);
  } else if (strcmp(request->path, "/api/actions") == 0) handle_actions(serve, response);
  else handle_get(serve, request, response);
}

void serve_init(Serve *serve, const char *database) {
  *serve = (Serve){.cache = SERVE_CACHE_INITIALIZER, .groups = SERVE_GROUPS_INITIALIZER,
                   .series = SERVE_SERIES_CACHE_INITIALIZER, .actions_lock = PTHREAD_MUTEX_INITIALIZER};
  for (int i = 0; i < SERVE_SOURCES; i++)
    serve->gates[i] = (ServeGate){.lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};
  serve_readers_init(&serve->readers, database);
}

void serve_free(Serve *serve) {
  serve_action_free(&serve->actions);
  serve_cache_free(&serve->cache);
  serve_groups_cache_free(&serve->groups);
  serve_series_cache_free(&serve->series);
  serve_readers_free(&serve->readers);
  core_text_free(&serve->page);
}
