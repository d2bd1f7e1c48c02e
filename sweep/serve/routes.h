/* The table of routes and their access checks. docs/serve.md describes each route. */
#ifndef SWEEP_SERVE_ROUTES_H
#define SWEEP_SERVE_ROUTES_H
#include "core/json.h"
#include "core/text.h"
#include "sweep/serve/access.h"
#include "sweep/serve/action.h"
#include "sweep/serve/cache.h"
#include "sweep/serve/groups.h"
#include "sweep/serve/series_cache.h"
#include "sweep/serve/server.h"
#include "sweep/serve/watch.h"

/* Requests of a kind that run at once; further ones wait. */
enum { SERVE_REQUESTS_MAX = 4 };
typedef struct ServeGate {
  pthread_mutex_t lock;
  pthread_cond_t left;
  int running;
} ServeGate;

/* Data that a response depends on; a cached response is valid until they change. Requests of one kind do not wait for
 * those of another, which may wait for a disk or a lock. */
typedef enum ServeSource {
  SERVE_FROM_SNAPSHOT,
  SERVE_FROM_RESULTS,
  SERVE_FROM_FILES, /* not cached */
  SERVE_SOURCES
} ServeSource;

/* State of all requests, which run in threads of their own. */
typedef struct Serve {
  const char *root;              /* the workspace, absolute */
  char token[SERVE_TOKEN];
  bool control;                  /* runs may be stopped and retried */
  CoreText page;
  ServeWatch *watch;
  ServeGate gates[SERVE_SOURCES];
  ServeReaders readers;
  ServeCache cache;
  ServeGroupsCache groups;
  ServeSeriesCache series;
  pthread_mutex_t actions_lock;
  ServeActions actions;
} Serve;

/* Initializes all but root, token, control, page and watch. database: path of results.db. */
void serve_init(Serve *serve, const char *database);
void serve_free(Serve *serve);

/* A ServeHandler whose context is a Serve. */
void serve_route(void *context, const ServeRequest *request, ServeResponse *response);

/* ---- routes: each makes the value of a response ------------------------------------------------------------------ */

/* Not found (status 404), in addition to CORE_USAGE (400) and CORE_FAIL (503). */
enum { SERVE_NOT_FOUND = 3 };

typedef struct ServeContext {
  Serve *serve;
  const ServeRequest *request;
  const ServeSnapshot *snapshot;
  ServeReader *reader;           /* connection to results.db */
} ServeContext;

/* Parses an argument as a number from `low` to `high`; `fallback` if it is missing. CORE_USAGE: out of range. */
int serve_argument_int(const ServeContext *context, const char *name, int64_t low, int64_t high, int64_t fallback,
                       int64_t *value);
/* Finds the sweep of ?sweep=NAME. CORE_USAGE: missing; SERVE_NOT_FOUND. */
int serve_argument_sweep(const ServeContext *context, const ServeSweep **sweep);
/* Finds the run of ?run=ID, in ?sweep=NAME or in the first sweep that has it. */
int serve_argument_run(const ServeContext *context, const ServeSweep **sweep, size_t *index);

/* sweeps.c */
int serve_api_overview(const ServeContext *context, json_t **value);
/* Appends the response's body, without a tree of all its runs. */
int serve_api_status(const ServeContext *context, CoreText *body);
int serve_api_runs(const ServeContext *context, json_t **value);
int serve_api_scatter(const ServeContext *context, json_t **value);
/* Makes an element of a list of runs: the run of `sweep status --json` with its results. */
json_t *serve_run_json(const ServeSweep *sweep, size_t index);

/* run.c */
int serve_api_run(const ServeContext *context, json_t **value);
int serve_api_log(const ServeContext *context, json_t **value);
int serve_api_video(const ServeContext *context, CoreText *gif);

/* columns.c */
int serve_api_columns(const ServeContext *context, json_t **value);
/* Finds the run of the sweep that got furthest: the one that has values of most columns. "" without a sweep. */
void serve_sweep_find_furthest(const ServeSweep *sweep, char id[CORE_RUN_ID]);

/* groups.c */
int serve_api_colors(const ServeContext *context, json_t **value);

/* curves.c */
int serve_api_curves(const ServeContext *context, json_t **value);

/* views.c */
int serve_api_views(const ServeContext *context, json_t **value);
/* Saves or removes the view of the request. */
int serve_views_change(const ServeContext *context, json_t **value);

/* resources.c */
int serve_api_resources(const ServeContext *context, json_t **value);

/* search.c */
int serve_api_search(const ServeContext *context, json_t **value);

/* ---- page.c ------------------------------------------------------------------------------------------------------ */

/* The page: page.html with page.css and the scripts, which are compiled into the program. */

enum { SERVE_POLICY = 512 };

/* Appends the page and writes the Content-Security-Policy under which it works: nothing is loaded from elsewhere, and
 * only this style and this script, named by their hashes, are allowed. */
void serve_page_build(CoreText *page, char policy[SERVE_POLICY]);

#endif
