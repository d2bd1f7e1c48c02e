/* Routes of sweeps and lists of their runs, from the snapshot only. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/select.h"
#include "core/memory.h"
#include "core/version.h"
#include "store/workspace/paths.h"
#include "sweep/serve/routes.h"

enum { STATUS_RUNS_MAX = 10000, RUNS_MAX = 500, RUNS_DEFAULT = 100, POINTS_MAX = 2000, FAILURE_RUNS = 12 };

/* ---- arguments --------------------------------------------------------------------------------------------------- */

int serve_argument_int(const ServeContext *context, const char *name, int64_t low, int64_t high, int64_t fallback,
                       int64_t *value) {
  const char *text = serve_request_argument(context->request, name);
  *value = fallback;
  if (!text || !*text) return CORE_OK;
  if (core_text_to_int(text, value) && *value >= low && *value <= high) return CORE_OK;
  return core_error(CORE_USAGE, "%s: expected a whole number from %lld to %lld", name, (long long)low,
                    (long long)high);
}

int serve_argument_sweep(const ServeContext *context, const ServeSweep **sweep) {
  const char *name = serve_request_argument(context->request, "sweep");
  if (!name || !*name) return core_error(CORE_USAGE, "sweep=NAME is missing");
  *sweep = serve_snapshot_find(context->snapshot, name);
  return *sweep ? CORE_OK : core_error(SERVE_NOT_FOUND, "no such sweep");
}

int serve_argument_run(const ServeContext *context, const ServeSweep **sweep, size_t *index) {
  const char *id = serve_request_argument(context->request, "run");
  const char *name = serve_request_argument(context->request, "sweep");
  if (!id || !store_is_run_id(id)) return core_error(CORE_USAGE, "run=ID: expected a run id of 16 hex digits");
  if (!name || !*name) {
    *sweep = serve_snapshot_find_run(context->snapshot, id, index);
    return *sweep ? CORE_OK : core_error(SERVE_NOT_FOUND, "no sweep has this run");
  }
  TRY(serve_argument_sweep(context, sweep));
  const SweepProgress *progress = &(*sweep)->view->progress;
  for (*index = 0; *index < progress->runs; ++*index)
    if (strcmp(progress->run[*index].id, id) == 0) return CORE_OK;
  return core_error(SERVE_NOT_FOUND, "the sweep does not have this run");
}

/* ---- sweeps ------------------------------------------------------------------------------------------------------ */

/* Keeps the first runs of each failure: there may be thousands, and `count` has their number. */
static void shorten_failures(json_t *summary) {
  size_t i;
  json_t *failure;
  json_array_foreach(json_object_get(summary, "failures"), i, failure) {
    json_t *runs = json_object_get(failure, "run");
    while (json_array_size(runs) > FAILURE_RUNS) json_array_remove(runs, json_array_size(runs) - 1);
  }
}

/* Lists the tags of the runs, each once. */
static json_t *run_tags_json(const SweepAnnotations *annotations) {
  json_t *tags = json_object(), *list = json_array();
  const char *tag;
  json_t *value;
  for (size_t i = 0; i < annotations->runs; i++)
    for (size_t t = 0; t < annotations->run[i].annotations.tag_count; t++)
      json_object_set_new(tags, annotations->run[i].annotations.tags[t], json_true());
  json_object_foreach(tags, tag, value) json_array_append_new(list, core_json_text(tag));
  json_decref(tags);
  return list;
}

int serve_api_overview(const ServeContext *context, json_t **value) {
  const ServeSnapshot *snapshot = context->snapshot;
  const ServeWatchStatus now = serve_watch_status(context->serve->watch);
  json_t *sweeps = json_array();

  for (size_t i = 0; i < snapshot->count; i++) {
    json_t *summary = sweep_view_summary_json(&snapshot->view[i]);
    shorten_failures(summary);
    json_object_set_new(summary, "busy", json_boolean(sweep_view_is_active(&snapshot->view[i])));
    json_object_set_new(summary, "run_tags", run_tags_json(&snapshot->view[i].annotations));
    json_object_set_new(summary, "searches", json_integer((json_int_t)snapshot->view[i].members.spec.search_count));
    json_object_set_new(summary, "is_slurm", json_boolean(snapshot->view[i].is_slurm));
    json_array_append_new(sweeps, summary);
  }

  *value = json_pack("{s:s, s:s, s:o, s:b, s:f, s:f, s:b, s:o, s:o}", "version", core_version(), "commit",
                     core_commit(), "root", core_json_text(context->serve->root), "control", context->serve->control,
                     "read_unix_s", snapshot->read_unix_s, "interval_s", now.interval_s, "importing", now.is_importing,
                     "problem", *snapshot->problem ? core_json_text(snapshot->problem) : json_null(), "sweep", sweeps);
  return CORE_OK;
}

int serve_api_status(const ServeContext *context, CoreText *body) {
  const char *name = serve_request_argument(context->request, "sweep");
  const ServeSweep *only = NULL;
  int64_t offset, limit;
  bool is_first = true;

  if (name) TRY(serve_argument_sweep(context, &only));
  TRY(serve_argument_int(context, "offset", 0, INT32_MAX, 0, &offset));
  TRY(serve_argument_int(context, "limit", 1, STATUS_RUNS_MAX, STATUS_RUNS_MAX, &limit));
  SweepViewPage page = {(size_t)offset, (size_t)limit};

  for (size_t i = 0; i < context->snapshot->count; i++) {
    if (only && only != &context->snapshot->sweep[i]) continue;
    core_text_append(body, is_first ? "[" : ", ");
    sweep_view_append_json(&context->snapshot->view[i], &page, body);
    is_first = false;
  }
  core_text_append(body, is_first ? "[]\n" : "]\n");
  return CORE_OK;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

enum { BY_INDEX, BY_RUN, BY_STATUS, BY_ITERATION, BY_BEST, BY_LAST, BY_DDR, BY_SPEED, BY_TAGS, BY_REASON, ORDERS };
static const char *const order_names[ORDERS] = {"index", "run",  "status", "iteration", "best",
                                                "last",  "ddr", "speed",  "tags",      "reason"};

typedef struct Order { int key; const char *setting; bool is_descending; } Order; /* setting: NULL: by key */
/* A run and its sort key: a number, or a text where that is NaN; neither: not measured. */
typedef struct SortKey { size_t index; double number; const char *text; size_t length; } SortKey;

/* The value of a setting in a label, "ppo.com=8 train.seed=3". */
static void set_key_by_setting(const char *label, const char *setting, SortKey *key) {
  const size_t length = strlen(setting);
  const char *word = label;
  char *end;
  while (word && !(strncmp(word, setting, length) == 0 && word[length] == '=')) {
    word = strchr(word, ' ');
    word += word != NULL;
  }
  if (!word) return;
  key->text = word + length + 1;
  key->length = strcspn(key->text, " ");
  const double number = strtod(key->text, &end);
  if (end > key->text && end == key->text + key->length) key->number = number;
}

static void set_key_by_text(const char *text, SortKey *key) {
  if (!text || !*text) return;
  key->text = text;
  key->length = strlen(text);
}

static SortKey make_key(const Order *order, const ServeSweep *sweep, size_t index) {
  const SweepView *view = sweep->view;
  const SweepState *state = &view->progress.run[index].state;
  const StoreAnnotations *run_annotations = sweep_annotations_find_run(&view->annotations, index);
  const bool has_tag = run_annotations && run_annotations->tag_count > 0;
  SortKey key = {index, NAN, NULL, 0};

  if (order->setting) {
    set_key_by_setting(sweep->label[index], order->setting, &key);
    return key;
  }

  switch (order->key) {
    case BY_RUN: set_key_by_text(view->progress.run[index].id, &key); break;
    case BY_STATUS: set_key_by_text(sweep_view_status(view, index), &key); break;
    case BY_ITERATION: key.number = (double)state->iteration; break;
    case BY_BEST: key.number = sweep->result[index].best; break;
    case BY_LAST: key.number = sweep->result[index].last; break;
    case BY_DDR: key.number = sweep->result[index].ddr; break;
    case BY_SPEED: key.number = state->steps_per_second; break;
    case BY_TAGS: if (has_tag) set_key_by_text(run_annotations->tags[0], &key); break;
    case BY_REASON: set_key_by_text(sweep_view_reason(view, index), &key); break;
    default: key.number = (double)index;
  }
  return key;
}

static int compare_texts(const SortKey *a, const SortKey *b) {
  const int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);
  return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* Numbers before texts; what is not measured is last both ways; equal keys in the order of the manifest. */
static int compare_keys(const void *a, const void *b, void *context) {
  const SortKey *x = a, *y = b;
  const bool *is_descending = context;
  const int x_kind = !isnan(x->number) ? 0 : x->text ? 1 : 2;
  const int y_kind = !isnan(y->number) ? 0 : y->text ? 1 : 2;
  int order = 0;
  if (x_kind != y_kind) return x_kind - y_kind;
  if (x_kind == 0) order = (x->number > y->number) - (x->number < y->number);
  if (x_kind == 1) order = compare_texts(x, y);
  if (order) return *is_descending ? -order : order;
  return x->index < y->index ? -1 : x->index > y->index;
}

static int read_order(const ServeContext *context, Order *order) {
  const char *name = serve_request_argument(context->request, "sort");
  int64_t is_descending;
  *order = (Order){.key = BY_INDEX};
  TRY(serve_argument_int(context, "descending", 0, 1, 0, &is_descending));
  order->is_descending = is_descending;
  if (!name || !*name) return CORE_OK;
  for (order->key = 0; order->key < ORDERS; order->key++)
    if (strcmp(order_names[order->key], name) == 0) return CORE_OK;
  const CoreConfigRow *row = core_config_find(name);
  order->setting = row ? row->name : NULL;
  return row ? CORE_OK
             : core_error(CORE_USAGE, "sort: expected index, run, status, iteration, best, last, ddr, speed, tags, "
                                      "reason or a setting");
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

typedef struct Filter { const char *text, *status, *tag; } Filter;

/* Whether each word of the text is part of the label, id, status, reason, tags or note; the pinned run has "pinned". */
static bool has_words(const char *text, const ServeSweep *sweep, size_t index) {
  const SweepAnnotations *annotations = &sweep->view->annotations;
  const StoreAnnotations *run_annotations = sweep_annotations_find_run(annotations, index);
  char copy[256], *save = NULL;
  CoreText line = {0};
  bool found = true;

  if (run_annotations) store_annotations_line(run_annotations, &line);
  snprintf(copy, sizeof copy, "%s", text);
  const char *const in[] = {sweep->label[index], sweep->view->progress.run[index].id,
                            sweep_view_status(sweep->view, index), sweep_view_reason(sweep->view, index),
                            core_text_string(&line), index == annotations->pinned ? "pinned" : ""};

  for (char *word = strtok_r(copy, " ", &save); word && found; word = strtok_r(NULL, " ", &save)) {
    found = false;
    for (size_t i = 0; i < sizeof in / sizeof *in && !found; i++) found = strcasestr(in[i], word) != NULL;
  }
  core_text_free(&line);
  return found;
}

/* Whether the run has the status, the tag (its run_annotations or its sweep's) and the words of the filter. */
static bool is_matching(const Filter *filter, const ServeSweep *sweep, size_t index) {
  if (filter->status && *filter->status) {
    const bool is_wanted =
      strcmp(filter->status, "needs attention") == 0 && sweep_view_needs_attention(sweep->view, index);
    if (!is_wanted && strcmp(filter->status, sweep_view_status(sweep->view, index)) != 0) return false;
  }
  if (filter->tag && *filter->tag && !sweep_annotations_run_has_tag(&sweep->view->annotations, index, filter->tag))
    return false;
  return !filter->text || has_words(filter->text, sweep, index);
}

json_t *serve_run_json(const ServeSweep *sweep, size_t index) {
  json_t *run = sweep_view_run_json(sweep->view, index);
  const ServeResult *result = &sweep->result[index];
  json_object_update_new(run, json_pack("{s:o, s:o, s:o, s:b, s:b, s:o}", "ddr", core_json_real(result->ddr),
                                        "best", core_json_real(result->best), "last", core_json_real(result->last),
                                        "needs_attention", sweep_view_needs_attention(sweep->view, index), "pinned",
                                        index == sweep->view->annotations.pinned, "label",
                                        core_json_text(sweep->label[index])));
  return run;
}

/* Names of the settings in which the sweep's runs differ, as labels of figures have them. */
static json_t *keys_json(const ServeSweep *sweep) {
  const bool *differs = sweep->view->members.differs;
  size_t rows;
  const CoreConfigRow *row = core_config_rows(&rows);
  json_t *list = json_array();
  if (differs) {
    for (size_t r = 0; r < rows; r++)
      if (differs[r])
        json_array_append_new(list, json_pack("{s:s, s:s}", "name", row[r].name, "label", analysis_key_name(&row[r])));
  }
  return list;
}

int serve_api_runs(const ServeContext *context, json_t **value) {
  const ServeSweep *sweep;
  int64_t offset, limit;
  Order order;
  TRY(serve_argument_sweep(context, &sweep));
  const Filter filter = {serve_request_argument(context->request, "text"),
                         serve_request_argument(context->request, "status"),
                         serve_request_argument(context->request, "tag")};
  TRY(read_order(context, &order));
  TRY(serve_argument_int(context, "offset", 0, INT32_MAX, 0, &offset));
  TRY(serve_argument_int(context, "limit", 1, RUNS_MAX, RUNS_DEFAULT, &limit));

  const size_t runs = sweep->view->progress.runs;
  SortKey *chosen = core_memory_allocate((runs + 1) * sizeof *chosen);
  size_t count = 0;
  for (size_t i = 0; i < runs; i++)
    if (is_matching(&filter, sweep, i)) chosen[count++] = make_key(&order, sweep, i);
  qsort_r(chosen, count, sizeof *chosen, compare_keys, &order.is_descending);

  json_t *list = json_array();
  for (size_t i = (size_t)offset; i < count && i < (size_t)(offset + limit); i++)
    json_array_append_new(list, serve_run_json(sweep, chosen[i].index));
  free(chosen);

  *value = json_pack("{s:s, s:I, s:I, s:I, s:o, s:o}", "sweep", sweep->view->progress.name, "runs", (json_int_t)runs,
                     "matching", (json_int_t)count, "offset", (json_int_t)offset, "keys", keys_json(sweep), "run",
                     list);
  return CORE_OK;
}

/* ---- DDR against scores ------------------------------------------------------------------------------------------ */

static bool has_both(const ServeResult *result) { return isfinite(result->ddr) && isfinite(result->best); }

static uint64_t run_number(const char *id) { return strtoull(id, NULL, 16); }

static int compare_numbers(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Returns the largest id that is drawn. *measured: number of runs with both values. Ids are hashes, so the smallest are
 * a sample that is independent of the order of a grid, and stays the same. */
static uint64_t select_dots(const ServeSweep *sweep, size_t limit, size_t *measured) {
  const SweepProgress *progress = &sweep->view->progress;
  uint64_t *numbers = core_memory_allocate((progress->runs + 1) * sizeof *numbers), last = UINT64_MAX;
  *measured = 0;
  for (size_t i = 0; i < progress->runs; i++)
    if (has_both(&sweep->result[i])) numbers[(*measured)++] = run_number(progress->run[i].id);
  if (*measured > limit) {
    qsort(numbers, *measured, sizeof *numbers, compare_numbers);
    last = numbers[limit - 1];
  }
  free(numbers);
  return last;
}

int serve_api_scatter(const ServeContext *context, json_t **value) {
  const ServeSweep *sweep;
  int64_t limit;
  TRY(serve_argument_sweep(context, &sweep));
  TRY(serve_argument_int(context, "limit", 1, POINTS_MAX, POINTS_MAX, &limit));

  const SweepProgress *progress = &sweep->view->progress;
  json_t *list = json_array();
  size_t measured;
  const uint64_t last = select_dots(sweep, (size_t)limit, &measured);
  for (size_t i = 0; i < progress->runs; i++) {
    const ServeResult *result = &sweep->result[i];
    if (!has_both(result) || run_number(progress->run[i].id) > last) continue;
    json_array_append_new(list, json_pack("{s:s, s:I, s:f, s:f, s:s, s:o}", "run", progress->run[i].id, "index",
                                          (json_int_t)i, "ddr", result->ddr, "best", result->best, "status",
                                          sweep_view_status(sweep->view, i), "settings",
                                          sweep_members_settings(&sweep->view->members, i)));
  }

  *value = json_pack("{s:s, s:I, s:I, s:o}", "sweep", progress->name, "runs", (json_int_t)progress->runs, "measured",
                     (json_int_t)measured, "point", list);
  return CORE_OK;
}
