/* What can be asked for, and who may ask: the table of routes. docs/serve.md describes each. */
#ifndef SWEEP_SERVE_ROUTES_H
#define SWEEP_SERVE_ROUTES_H
#include "core/json.h"
#include "sweep/serve/access.h"
#include "sweep/serve/action.h"
#include "sweep/serve/cache.h"
#include "sweep/serve/groups.h"
#include "sweep/serve/series_cache.h"
#include "sweep/serve/server.h"
#include "sweep/serve/watch.h"

/* What all requests share; of the server's thread but for the watch. */
typedef struct Serve {
  const char *root;              /* the workspace, absolute */
  char token[SERVE_TOKEN];
  bool control;                  /* runs may be stopped and tried again */
  CoreText page;
  ServeWatch *watch;
  ServeReader reader;
  ServeCache cache;
  ServeGroups groups;
  ServeSeriesCache series;
  ServeActions actions;
} Serve;

/* A ServeHandler, context being a Serve. */
bool serve_route(void *context, const ServeRequest *request, ServeAnswer *answer);

/* ---- the routes' parts: each makes the value of an answer -------------------------------------------------------- */

/* Beside CORE_USAGE (status 400) and CORE_FAIL (503): there is no such thing (404). */
enum { SERVE_ABSENT = 3 };

typedef struct ServeAsked {
  Serve *serve;
  const ServeRequest *request;
  const ServeSnapshot *snapshot; /* NULL where a route needs none */
} ServeAsked;

/* An argument as a number from `least` to `most`; `otherwise` where it is not given. CORE_USAGE: it is neither. */
int serve_asked_int(const ServeAsked *asked, const char *name, int64_t least, int64_t most, int64_t otherwise,
                    int64_t *value);
/* The sweep that ?sweep= names. CORE_USAGE: not given; SERVE_ABSENT. */
int serve_asked_sweep(const ServeAsked *asked, const ServeSweep **sweep);
/* The run that ?run= names by its whole id, in ?sweep= or the first sweep that has it. */
int serve_asked_run(const ServeAsked *asked, const ServeSweep **sweep, size_t *index);

/* sweeps.c */
int serve_answer_overview(const ServeAsked *asked, json_t **value);
int serve_answer_status(const ServeAsked *asked, json_t **value);
int serve_answer_runs(const ServeAsked *asked, json_t **value);
int serve_answer_scatter(const ServeAsked *asked, json_t **value);
/* One run of a list: what `sweep status --json` says of it, with its results. */
json_t *serve_run_json(const ServeSweep *sweep, size_t index);

/* run.c */
int serve_answer_run(const ServeAsked *asked, json_t **value);
int serve_answer_log(const ServeAsked *asked, json_t **value);
int serve_answer_video(const ServeAsked *asked, CoreText *gif);

/* curves.c */
int serve_answer_columns(const ServeAsked *asked, json_t **value);
int serve_answer_curves(const ServeAsked *asked, json_t **value);

/* search.c */
int serve_answer_search(const ServeAsked *asked, json_t **value);

#endif
