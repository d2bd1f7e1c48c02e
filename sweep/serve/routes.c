/* Dispatches requests: access checks first, then the route, whose response may be cached. */
#include "sweep/serve/routes.h"

#include <string.h>

/* Data that a response depends on; a cached response is valid until they change. */
typedef enum Source { FROM_SNAPSHOT, FROM_RESULTS, FROM_FILES /* not cached */ } Source;

typedef struct Route {
  const char *path;
  int (*make)(const ServeContext *context, json_t **value); /* makes the value of the response */
  Source source;
} Route;

static const Route routes[] = {
  {"/api/overview", serve_api_overview, FROM_SNAPSHOT},
  {"/api/status", serve_api_status, FROM_SNAPSHOT},
  {"/api/runs", serve_api_runs, FROM_SNAPSHOT},
  {"/api/scatter", serve_api_scatter, FROM_SNAPSHOT},
  {"/api/run", serve_api_run, FROM_FILES},
  {"/api/log", serve_api_log, FROM_FILES},
  {"/api/columns", serve_api_columns, FROM_RESULTS},
  {"/api/curves", serve_api_curves, FROM_RESULTS},
  {"/api/search", serve_api_search, FROM_RESULTS},
};
enum { ROUTES = sizeof routes / sizeof *routes };

/* ---- responses --------------------------------------------------------------------------------------------------- */

static int status_of(int code) {
  return code == CORE_USAGE ? 400 : code == SERVE_NOT_FOUND ? 404 : 503;
}

static bool send_value(ServeResponse *response, int status, json_t *value) {
  response->status = status;
  response->type = "application/json";
  core_json_append(value, 0, &response->body);
  core_text_append(&response->body, "\n");
  json_decref(value);
  return true;
}

static bool send_error(ServeResponse *response, int status, const char *why) {
  return send_value(response, status, json_pack("{s:o}", "error", core_json_text(why)));
}

/* ---- GET --------------------------------------------------------------------------------------------------------- */

static bool handle_route(Serve *serve, const Route *route, ServeContext *context, int64_t version,
                         ServeResponse *response) {
  CoreText key = {0};
  json_t *value = NULL;
  core_text_append(&key, route->path);
  serve_request_append_arguments(context->request, "token", &key); /* a response may depend on all others */
  response->status = 200;
  response->type = "application/json";
  const bool is_cached = route->source != FROM_FILES;
  if (!is_cached || !serve_cache_find(&serve->cache, core_text_string(&key), version, &response->body)) {
    const int code = route->make(context, &value);
    if (code != CORE_OK) {
      json_decref(value);
      send_error(response, status_of(code), core_error_message());
    } else {
      send_value(response, 200, value);
      if (is_cached) serve_cache_put(&serve->cache, core_text_string(&key), version, &response->body);
    }
  }
  core_text_free(&key);
  return true;
}

static bool handle_video(ServeContext *context, ServeResponse *response) {
  const int code = serve_api_video(context, &response->body);
  response->status = 200;
  response->type = "image/gif";
  return code == CORE_OK || send_error(response, status_of(code), core_error_message());
}

static bool handle_get(Serve *serve, const ServeRequest *request, ServeResponse *response) {
  const bool is_video = strcmp(request->path, "/api/video") == 0;
  const Route *route = NULL;
  int64_t number;
  for (int i = 0; i < ROUTES; i++)
    if (strcmp(routes[i].path, request->path) == 0) route = &routes[i];
  if (!route && !is_video) return send_error(response, 404, "no such path; docs/serve.md lists all");
  ServeContext context = {.serve = serve, .request = request, .snapshot = serve_watch_acquire(serve->watch, &number)};
  if (!context.snapshot) return false;
  if (route && route->source == FROM_RESULTS) number = serve_reader_version(&serve->reader);
  const bool done =
    is_video ? handle_video(&context, response) : handle_route(serve, route, &context, number, response);
  serve_watch_release(serve->watch);
  return done;
}

static bool handle_actions(Serve *serve, ServeResponse *response) {
  bool ended;
  json_t *list = serve_action_list(&serve->actions, &ended);
  if (ended) serve_watch_refresh(serve->watch);
  return send_value(response, 200, list);
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
  const bool by_rule = verb == SERVE_RETRY && run && progress->run[index].state.status == STORE_STOPPED_BY_RULE;
  return serve_action_start(&context->serve->actions, context->serve->root, verb, sweep->view->is_slurm || by_rule,
                            progress->name, run, number);
}

/* Requires the token in a header: browsers store addresses, and any page may link to one. */
static bool handle_post(Serve *serve, const ServeRequest *request, ServeResponse *response) {
  const bool is_stop = strcmp(request->path, "/api/stop") == 0, is_retry = strcmp(request->path, "/api/retry") == 0;
  int64_t number;
  if (!is_stop && !is_retry) return send_error(response, 404, "only /api/stop and /api/retry accept POST");
  if (!serve->control)
    return send_error(response, 403, "this server is read-only; start it with --control to stop and retry runs");
  if (!serve_token_is_valid(serve->token, request->authorization, NULL))
    return send_error(response, 403, "a POST needs its token in a header: Authorization: Bearer TOKEN");
  if (!serve_origin_is_same(request->origin, request->fetch_site, request->host))
    return send_error(response, 403, "the request comes from another site");
  ServeContext context = {.serve = serve, .request = request, .snapshot = serve_watch_acquire(serve->watch, &number)};
  if (!context.snapshot) return false;
  const int code = start_action(&context, is_stop ? SERVE_STOP : SERVE_RETRY, &number);
  serve_watch_release(serve->watch);
  if (code != CORE_OK) return send_error(response, status_of(code), core_error_message());
  serve_watch_refresh(serve->watch);
  return send_value(response, 202, json_pack("{s:I}", "id", (json_int_t)number));
}

/* ---- dispatch ---------------------------------------------------------------------------------------------------- */

static bool send_page(const Serve *serve, ServeResponse *response) {
  response->status = 200;
  response->type = "text/html; charset=utf-8";
  core_text_append_bytes(&response->body, core_text_string(&serve->page), serve->page.length);
  return true;
}

bool serve_route(void *context, const ServeRequest *request, ServeResponse *response) {
  Serve *serve = context;
  core_error_clear();
  if (!serve_host_is_loopback(request->host))
    return send_error(response, 403, "the host name must be 127.0.0.1 or localhost");
  if (!serve_token_is_valid(serve->token, request->authorization, serve_request_argument(request, "token")))
    return send_error(response, 403, "the token is missing or wrong; use the address that sweep serve printed");
  if (strcmp(request->method, "POST") == 0) return handle_post(serve, request, response);
  if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
    return send_error(response, 405, "only GET and POST are supported");
  if (strcmp(request->path, "/") == 0) return send_page(serve, response);
  if (strcmp(request->path, "/api/actions") == 0) return handle_actions(serve, response);
  return handle_get(serve, request, response);
}
