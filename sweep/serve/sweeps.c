/* Answers about sweeps and lists of their runs, from a snapshot alone (routes.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/version.h"
#include "store/workspace/paths.h"
#include "sweep/serve/routes.h"

enum { RUNS_MOST = 500, RUNS_USUAL = 100, POINTS_MOST = 2000, REASON_RUNS = 12 };

/* ---- arguments --------------------------------------------------------------------------------------------------- */

int serve_asked_int(const ServeAsked *asked, const char *name, int64_t least, int64_t most, int64_t otherwise,
                    int64_t *value) {
  const char *text = serve_request_argument(asked->request, name);
  *value = otherwise;
  if (!text || !*text) return CORE_OK;
  if (core_text_to_int(text, value) && *value >= least && *value <= most) return CORE_OK;
  return core_error(CORE_USAGE, "%s: expected a whole number from %lld to %lld", name, (long long)least,
                    (long long)most);
}

int serve_asked_sweep(const ServeAsked *asked, const ServeSweep **sweep) {
  const char *name = serve_request_argument(asked->request, "sweep");
  if (!name || !*name) return core_error(CORE_USAGE, "sweep=NAME is missing");
  *sweep = serve_snapshot_find(asked->snapshot, name);
  return *sweep ? CORE_OK : core_error(SERVE_ABSENT, "there is no such sweep");
}

int serve_asked_run(const ServeAsked *asked, const ServeSweep **sweep, size_t *index) {
  const char *id = serve_request_argument(asked->request, "run");
  const char *name = serve_request_argument(asked->request, "sweep");
  if (!id || !store_is_run_id(id)) return core_error(CORE_USAGE, "run=ID: expected the 16 digits of a run's id");
  if (!name || !*name) {
    *sweep = serve_snapshot_find_run(asked->snapshot, id, index);
    return *sweep ? CORE_OK : core_error(SERVE_ABSENT, "no sweep has such a run");
  }
  TRY(serve_asked_sweep(asked, sweep));
  const SweepProgress *progress = &(*sweep)->shown->progress;
  for (*index = 0; *index < progress->runs; ++*index)
    if (strcmp(progress->run[*index].id, id) == 0) return CORE_OK;
  return core_error(SERVE_ABSENT, "the sweep has no such run");
}

/* ---- sweeps ------------------------------------------------------------------------------------------------------ */

/* Of each reason the first runs: there may be thousands, and `count` says how many. */
static void shorten(json_t *summary) {
  size_t i;
  json_t *trouble;
  json_array_foreach(json_object_get(summary, "trouble"), i, trouble) {
    json_t *runs = json_object_get(trouble, "run");
    while (json_array_size(runs) > REASON_RUNS) json_array_remove(runs, json_array_size(runs) - 1);
  }
}

int serve_answer_overview(const ServeAsked *asked, json_t **value) {
  const ServeSnapshot *snapshot = asked->snapshot;
  const ServeWatchNow now = serve_watch_now(asked->serve->watch);
  json_t *sweeps = json_array();
  for (size_t i = 0; i < snapshot->count; i++) {
    json_t *summary = sweep_shown_summary_json(&snapshot->shown[i]);
    shorten(summary);
    json_object_set_new(summary, "busy", json_boolean(sweep_shown_is_busy(&snapshot->shown[i])));
    json_object_set_new(summary, "is_slurm", json_boolean(snapshot->shown[i].is_slurm));
    json_array_append_new(sweeps, summary);
  }
  *value = json_pack("{s:s, s:s, s:o, s:b, s:f, s:f, s:b, s:o, s:o}", "version", core_version(), "commit",
                     core_commit(), "root", core_json_text(asked->serve->root), "control", asked->serve->control,
                     "read_unix_s", snapshot->read_unix_s, "interval_s", now.interval_s, "importing", now.is_importing,
                     "problem", *snapshot->problem ? core_json_text(snapshot->problem) : json_null(), "sweep", sweeps);
  return CORE_OK;
}

int serve_answer_status(const ServeAsked *asked, json_t **value) {
  const char *name = serve_request_argument(asked->request, "sweep");
  const ServeSweep *only = NULL;
  if (name) TRY(serve_asked_sweep(asked, &only));
  *value = json_array();
  for (size_t i = 0; i < asked->snapshot->count; i++)
    if (!only || only == &asked->snapshot->sweep[i])
      json_array_append_new(*value, sweep_shown_json(&asked->snapshot->shown[i]));
  return CORE_OK;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

typedef struct Order { const ServeSweep *sweep; int key; bool falling; } Order;
enum { BY_INDEX, BY_STATUS, BY_ITERATION, BY_BEST, BY_LAST, BY_DDR, BY_SPEED, ORDERS };
static const char *const order_names[ORDERS] = {"index", "status", "iteration", "best", "last", "ddr", "speed"};

static double order_value(const Order *order, size_t index) {
  const ServeSweep *sweep = order->sweep;
  const StoreState *state = &sweep->shown->progress.run[index].state;
  switch (order->key) {
    case BY_STATUS: return sweep->shown->is_slurm ? (double)sweep->shown->cluster.run[index].kind
                                                  : (double)state->status;
    case BY_ITERATION: return (double)state->iteration;
    case BY_BEST: return sweep->result[index].best;
    case BY_LAST: return sweep->result[index].last;
    case BY_DDR: return sweep->result[index].ddr;
    case BY_SPEED: return state->steps_per_second;
    default: return (double)index;
  }
}

/* What is not measured stands last both ways; equal ones in the order of the manifest. */
static int compare(const void *a, const void *b, void *given) {
  const Order *order = given;
  const size_t i = *(const size_t *)a, j = *(const size_t *)b;
  const double x = order_value(order, i), y = order_value(order, j);
  if (isnan(x) != isnan(y)) return isnan(x) ? 1 : -1;
  if (!isnan(x) && x != y) return (x < y) == order->falling ? 1 : -1;
  return i < j ? -1 : i > j;
}

static int read_order(const ServeAsked *asked, Order *order) {
  const char *name = serve_request_argument(asked->request, "sort");
  int64_t falling;
  TRY(serve_asked_int(asked, "falling", 0, 1, 0, &falling));
  order->falling = falling;
  if (!name || !*name) return CORE_OK;
  for (order->key = 0; order->key < ORDERS; order->key++)
    if (strcmp(order_names[order->key], name) == 0) return CORE_OK;
  return core_error(CORE_USAGE, "sort: one of index, status, iteration, best, last, ddr, speed");
}

typedef struct Filter { const char *text, *status; } Filter;

/* All words of the text somewhere in label, id, status or reason; the status whole. */
static bool passes(const Filter *filter, const ServeSweep *sweep, size_t index) {
  const char *status = sweep_shown_status(sweep->shown, index);
  if (filter->status && *filter->status) {
    const bool is_trouble = strcmp(filter->status, "trouble") == 0 && sweep_shown_is_trouble(sweep->shown, index);
    if (!is_trouble && strcmp(filter->status, status) != 0) return false;
  }
  if (!filter->text) return true;
  char words[256], *save = NULL;
  snprintf(words, sizeof words, "%s", filter->text);
  const char *const in[] = {sweep->label[index] ? sweep->label[index] : "", sweep->shown->progress.run[index].id,
                            status, sweep_shown_reason(sweep->shown, index)};
  for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
    bool found = false;
    for (size_t i = 0; i < sizeof in / sizeof *in && !found; i++) found = strcasestr(in[i], word) != NULL;
    if (!found) return false;
  }
  return true;
}

json_t *serve_run_json(const ServeSweep *sweep, size_t index) {
  json_t *run = sweep_shown_run_json(sweep->shown, index);
  const ServeResult *result = &sweep->result[index];
  json_object_update_new(run, json_pack("{s:o, s:o, s:o, s:b, s:o}", "ddr", core_json_real(result->ddr), "best",
                                        core_json_real(result->best), "last", core_json_real(result->last), "trouble",
                                        sweep_shown_is_trouble(sweep->shown, index), "label",
                                        core_json_text(sweep->label[index] ? sweep->label[index] : "")));
  return run;
}

int serve_answer_runs(const ServeAsked *asked, json_t **value) {
  const ServeSweep *sweep;
  int64_t offset, limit;
  TRY(serve_asked_sweep(asked, &sweep));
  Order order = {.sweep = sweep};
  const Filter filter = {serve_request_argument(asked->request, "text"),
                         serve_request_argument(asked->request, "status")};
  TRY(read_order(asked, &order));
  TRY(serve_asked_int(asked, "offset", 0, INT32_MAX, 0, &offset));
  TRY(serve_asked_int(asked, "limit", 1, RUNS_MOST, RUNS_USUAL, &limit));
  const size_t runs = sweep->shown->progress.runs;
  size_t *chosen = core_memory_allocate((runs + 1) * sizeof *chosen), count = 0;
  for (size_t i = 0; i < runs; i++)
    if (passes(&filter, sweep, i)) chosen[count++] = i;
  qsort_r(chosen, count, sizeof *chosen, compare, &order);
  json_t *list = json_array();
  for (size_t i = (size_t)offset; i < count && i < (size_t)(offset + limit); i++)
    json_array_append_new(list, serve_run_json(sweep, chosen[i]));
  free(chosen);
  *value = json_pack("{s:s, s:I, s:I, s:I, s:o}", "sweep", sweep->shown->progress.name, "runs", (json_int_t)runs,
                     "matching", (json_int_t)count, "offset", (json_int_t)offset, "run", list);
  return CORE_OK;
}

/* ---- DDR against scores ------------------------------------------------------------------------------------------ */

/* Of many runs every k-th, counted among those that can be drawn, so that the same runs have the same dots. */
int serve_answer_scatter(const ServeAsked *asked, json_t **value) {
  const ServeSweep *sweep;
  int64_t limit;
  TRY(serve_asked_sweep(asked, &sweep));
  TRY(serve_asked_int(asked, "limit", 1, POINTS_MOST, POINTS_MOST, &limit));
  const SweepProgress *progress = &sweep->shown->progress;
  json_t *list = json_array();
  size_t known = 0, at = 0;
  for (size_t i = 0; i < progress->runs; i++)
    known += isfinite(sweep->result[i].ddr) && isfinite(sweep->result[i].best);
  const size_t every = (known + (size_t)limit - 1) / (size_t)limit;
  for (size_t i = 0; i < progress->runs; i++) {
    const ServeResult *result = &sweep->result[i];
    if (!isfinite(result->ddr) || !isfinite(result->best) || at++ % every != 0) continue;
    json_array_append_new(list, json_pack("{s:s, s:I, s:f, s:f, s:s, s:o}", "run", progress->run[i].id, "index",
                                          (json_int_t)i, "ddr", result->ddr, "best", result->best, "status",
                                          sweep_shown_status(sweep->shown, i), "label",
                                          core_json_text(sweep->label[i] ? sweep->label[i] : "")));
  }
  *value = json_pack("{s:s, s:I, s:I, s:o}", "sweep", progress->name, "runs", (json_int_t)progress->runs, "known",
                     (json_int_t)known, "point", list);
  return CORE_OK;
}
