/* From a request to an answer: who asks, what for, and whether it has been made already (routes.h). Every check of
 * access is here, before anything is looked up. */
#include "sweep/serve/routes.h"

#include <string.h>

enum { KEY_ARGUMENTS = 8 };

/* What an answer follows from, beside the request: it is made again when that has changed. */
typedef enum Source { OF_SNAPSHOT, OF_RESULTS, OF_FILES /* never kept */ } Source;

typedef struct Route {
  const char *path;
  int (*answer)(const ServeAsked *asked, json_t **value);
  Source source;
  const char *arguments[KEY_ARGUMENTS]; /* all that it reads */
} Route;

static const Route routes[] = {
  {"/api/overview", serve_answer_overview, OF_SNAPSHOT, {NULL}},
  {"/api/status", serve_answer_status, OF_SNAPSHOT, {"sweep"}},
  {"/api/runs", serve_answer_runs, OF_SNAPSHOT,
   {"sweep", "text", "status", "tag", "sort", "falling", "offset", "limit"}},
  {"/api/scatter", serve_answer_scatter, OF_SNAPSHOT, {"sweep", "limit"}},
  {"/api/run", serve_answer_run, OF_FILES, {"run", "sweep"}},
  {"/api/log", serve_answer_log, OF_FILES, {"run", "sweep", "bytes"}},
  {"/api/columns", serve_answer_columns, OF_RESULTS, {"sweep"}},
  {"/api/curves", serve_answer_curves, OF_RESULTS,
   {"sweep", "run", "column", "group", "x", "log", "runs", "points"}},
  {"/api/search", serve_answer_search, OF_RESULTS, {"sweep", "search"}},
};
enum { ROUTES = sizeof routes / sizeof *routes };

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static int status_of(int code) {
  return code == CORE_USAGE ? 400 : code == SERVE_ABSENT ? 404 : 503;
}

static bool send_value(ServeAnswer *answer, int status, json_t *value) {
  answer->status = status;
  answer->type = "application/json";
  core_json_append(value, 0, &answer->body);
  core_text_append(&answer->body, "\n");
  json_decref(value);
  return true;
}

static bool send_error(ServeAnswer *answer, int status, const char *why) {
  return send_value(answer, status, json_pack("{s:o}", "error", core_json_text(why)));
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void make_key(const Route *route, const ServeRequest *request, CoreText *key) {
  core_text_append(key, route->path);
  for (int i = 0; i < KEY_ARGUMENTS && route->arguments[i]; i++) {
    const char *value = serve_request_argument(request, route->arguments[i]);
    core_text_appendf(key, "\n%s", value ? value : "");
  }
}

static bool answer_route(Serve *serve, const Route *route, ServeAsked *asked, int64_t version, ServeAnswer *answer) {
  CoreText key = {0};
  json_t *value = NULL;
  make_key(route, asked->request, &key);
  answer->status = 200;
  answer->type = "application/json";
  const bool keeps = route->source != OF_FILES;
  if (!keeps || !serve_cache_find(&serve->cache, core_text_string(&key), version, &answer->body)) {
    const int code = route->answer(asked, &value);
    if (code != CORE_OK) {
      json_decref(value);
      send_error(answer, status_of(code), core_error_message());
    } else {
      send_value(answer, 200, value);
      if (keeps) serve_cache_keep(&serve->cache, core_text_string(&key), version, &answer->body);
    }
  }
  core_text_free(&key);
  return true;
}

static bool answer_video(ServeAsked *asked, ServeAnswer *answer) {
  const int code = serve_answer_video(asked, &answer->body);
  answer->status = 200;
  answer->type = "image/gif";
  return code == CORE_OK || send_error(answer, status_of(code), core_error_message());
}

static bool answer_get(Serve *serve, const ServeRequest *request, ServeAnswer *answer) {
  const bool is_video = strcmp(request->path, "/api/video") == 0;
  const Route *route = NULL;
  int64_t number;
  for (int i = 0; i < ROUTES; i++)
    if (strcmp(routes[i].path, request->path) == 0) route = &routes[i];
  if (!route && !is_video) return send_error(answer, 404, "there is nothing of this name; see docs/serve.md");
  ServeAsked asked = {.serve = serve, .request = request, .snapshot = serve_watch_take(serve->watch, &number)};
  if (!asked.snapshot) return false;
  if (route && route->source == OF_RESULTS) number = serve_reader_version(&serve->reader);
  const bool done =
    is_video ? answer_video(&asked, answer) : answer_route(serve, route, &asked, number, answer);
  serve_watch_give(serve->watch);
  return done;
}

static bool answer_actions(Serve *serve, ServeAnswer *answer) {
  bool ended;
  json_t *list = serve_action_list(&serve->actions, &ended);
  if (ended) serve_watch_hurry(serve->watch);
  return send_value(answer, 200, list);
}

/* ---- control ----------------------------------------------------------------------------------------------------- */

/* Of the sweep, or of the run that is named; both are known to the workspace. */
static int start_action(const ServeAsked *asked, ServeVerb verb, int64_t *number) {
  const ServeSweep *sweep;
  const char *run = serve_request_argument(asked->request, "run");
  size_t index;
  if (run) TRY(serve_asked_run(asked, &sweep, &index));
  else TRY(serve_asked_sweep(asked, &sweep));
  const SweepProgress *progress = &sweep->view->progress;
  const bool by_rule = verb == SERVE_RETRY && run && progress->run[index].state.status == STORE_STOPPED_BY_RULE;
  return serve_action_start(&asked->serve->actions, asked->serve->root, verb, sweep->view->is_slurm || by_rule,
                            progress->name, run, number);
}

/* The token must be in a header here: an address is kept by browsers, and any page may link to one. */
static bool answer_post(Serve *serve, const ServeRequest *request, ServeAnswer *answer) {
  const bool stops = strcmp(request->path, "/api/stop") == 0, retries = strcmp(request->path, "/api/retry") == 0;
  int64_t number;
  if (!stops && !retries) return send_error(answer, 404, "only /api/stop and /api/retry take POST");
  if (!serve->control)
    return send_error(answer, 403, "this page only shows; sweep serve --control lets it stop runs and try them again");
  if (!serve_token_is_given(serve->token, request->authorization, NULL))
    return send_error(answer, 403, "a POST has its token in a header: Authorization: Bearer TOKEN");
  if (!serve_origin_is_own(request->origin, request->fetch_site, request->host))
    return send_error(answer, 403, "the request comes from another site's page");
  ServeAsked asked = {.serve = serve, .request = request, .snapshot = serve_watch_take(serve->watch, &number)};
  if (!asked.snapshot) return false;
  const int code = start_action(&asked, stops ? SERVE_STOP : SERVE_RETRY, &number);
  serve_watch_give(serve->watch);
  if (code != CORE_OK) return send_error(answer, status_of(code), core_error_message());
  serve_watch_hurry(serve->watch);
  return send_value(answer, 202, json_pack("{s:I}", "id", (json_int_t)number));
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static bool send_page(const Serve *serve, ServeAnswer *answer) {
  answer->status = 200;
  answer->type = "text/html; charset=utf-8";
  core_text_append_bytes(&answer->body, core_text_string(&serve->page), serve->page.length);
  return true;
}

bool serve_route(void *context, const ServeRequest *request, ServeAnswer *answer) {
  Serve *serve = context;
  core_error_clear();
  if (!serve_host_is_loopback(request->host))
    return send_error(answer, 403, "the address must name this machine's loopback: 127.0.0.1 or localhost");
  if (!serve_token_is_given(serve->token, request->authorization, serve_request_argument(request, "token")))
    return send_error(answer, 403, "the token is missing or wrong; sweep serve printed the whole address");
  if (strcmp(request->method, "POST") == 0) return answer_post(serve, request, answer);
  if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
    return send_error(answer, 405, "only GET and POST are known");
  if (strcmp(request->path, "/") == 0) return send_page(serve, answer);
  if (strcmp(request->path, "/api/actions") == 0) return answer_actions(serve, answer);
  return answer_get(serve, request, answer);
}
