/* Tables of the report: runs, configurations, settings, claims, provenance (report.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/claims/claims.h"
#include "analysis/claims/plans.h"
#include "analysis/claims/tests.h"
#include "analysis/report/report.h"
#include "analysis/runs/codes.h"
#include "analysis/runs/tasks.h"
#include "core/command/options.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "core/version.h"
#include "store/database/query.h"

json_t *analysis_report_text(const char *text) {
  if (!text) return json_null();
  json_t *string = core_json_text(text);
  if (string) return string;
  char *plain = core_text_duplicate(text);
  for (char *c = plain; *c; c++) {
    if ((unsigned char)*c >= 0x80) *c = '?';
  }
  string = core_json_text(plain);
  free(plain);
  return string ? string : json_null();
}

json_t *analysis_report_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static void set_text(json_t *object, const char *key, const char *text) {
  json_object_set_new(object, key, analysis_report_text(text));
}

static void set_number(json_t *object, const char *key, double value) {
  json_object_set_new(object, key, analysis_report_number(value));
}

static json_t *interval_of(AnalysisInterval i) {
  json_t *list = json_array();
  json_array_append_new(list, analysis_report_number(i.center));
  json_array_append_new(list, analysis_report_number(i.low));
  json_array_append_new(list, analysis_report_number(i.high));
  return list;
}

/* SQL for the tags of a run or sweep. */
#define TAGS_OF(subject, name_column) \
  "(SELECT group_concat(value, ', ') FROM annotation AS a WHERE a.subject = " subject " AND a.name = " name_column \
  " AND a.key = 'tag')"
#define NOTE_OF(subject, name_column) \
  "(SELECT max(value) FROM annotation AS a WHERE a.subject = " subject " AND a.name = " name_column \
  " AND a.key = 'note')"

enum { RUNS_MAX = 5000 }; /* maximum number of listed runs: about 2 MB of the page */

/* ---- runs ------------------------------------------------------------------------------------------------------- */

/* Adds the columns of a run from the database. *is_marked: whether it has a tag, note or pin. */
static int add_run_columns(StoreQuery *query, const char *id, json_t *object, bool *is_marked) {
  static const char *const numbers[] = {"iteration", "transitions", "attempt"};
  bool row = false;
  store_query_reset(query);
  store_query_bind_text(query, 1, id);
  TRY(store_query_step(query, &row));

  *is_marked = false;
  if (!row) return CORE_OK;

  for (int i = 0; i < 3; i++) set_number(object, numbers[i], store_query_real(query, i));
  set_text(object, "host", store_query_text(query, 3));
  set_number(object, "heartbeat", store_query_real(query, 4));
  set_text(object, "message", store_query_text(query, 5));
  set_text(object, "tags", store_query_text(query, 6));
  set_text(object, "note", store_query_text(query, 7));
  json_object_set_new(object, "pinned", json_boolean(store_query_int(query, 8) != 0));

  *is_marked = store_query_text(query, 6) || store_query_text(query, 7) || store_query_int(query, 8) != 0;
  return CORE_OK;
}

static json_t *run_object(const AnalysisReport *report, size_t r) {
  const AnalysisRun *run = &report->selection.runs[r];
  const double *value = report->measured[r].value;
  json_t *object = json_object();
  set_text(object, "id", run->id);
  set_text(object, "label", report->groups.groups[report->groups.group_of[r]].label);
  set_number(object, "seed", (double)run->config.seed);
  set_text(object, "status", store_status_name(run->status));
  set_number(object, "final", value[ANALYSIS_MEASURE_final]);
  set_number(object, "best", value[ANALYSIS_MEASURE_best]);
  set_number(object, "ddr", value[ANALYSIS_MEASURE_ddr]);
  set_number(object, "speed", value[ANALYSIS_MEASURE_speed]);
  return object;
}

/* Whether the page lists runs of this status among the problems. */
static bool is_problem(StoreStatus status) {
  return status == STORE_FAILED || status == STORE_DIVERGED || status == STORE_LOST || status == STORE_STOPPED;
}

/* Says which runs of many are listed. */
static void add_runs_note(size_t listed, size_t runs, json_t *root) {
  CoreText note = {0};
  core_text_appendf(&note, "%zu of %zu runs: those that failed, diverged, were lost or stopped, or have a tag, note or "
                    "pin, at most %d; `analyze table --runs` lists all.", listed, runs, RUNS_MAX);
  json_object_set_new(root, "runs_note", analysis_report_text(core_text_string(&note)));
  core_text_free(&note);
}

int analysis_report_add_runs(const AnalysisReport *report, json_t *root) {
  static const char sql[] =
    "SELECT iteration, transitions, attempt, host, heartbeat, message, " TAGS_OF("'run'", "run.id") ", "
    NOTE_OF("'run'", "run.id")
    ", EXISTS(SELECT 1 FROM annotation WHERE key = 'pinned' AND value = id) FROM run WHERE id = ?1";

  const size_t runs = report->selection.count;
  StoreQuery *query = NULL;
  json_t *list = json_array();
  json_object_set_new(root, "runs", list);
  TRY(store_query_open(report->database, sql, &query));

  const bool begun = store_query_begin_reading(report->database);
  int code = CORE_OK;

  for (size_t r = 0; r < runs && json_array_size(list) < RUNS_MAX; r++) {
    if (code != CORE_OK) break;
    json_t *object = run_object(report, r);
    bool is_marked = false;
    code = add_run_columns(query, report->selection.runs[r].id, object, &is_marked);
    if (runs <= RUNS_MAX || is_marked || is_problem(report->selection.runs[r].status))
      json_array_append(list, object);
    json_decref(object);
  }

  store_query_close(&query);
  store_query_end_reading(report->database, begun);
  if (runs > RUNS_MAX) add_runs_note(json_array_size(list), runs, root);
  return code;
}

/* ---- configurations --------------------------------------------------------------------------------------------- */

/* Runs of each configuration, and buffers for the ended ones: value, task, run [runs]. */
typedef struct Room {
  AnalysisMembers members;
  double *value;
  size_t *task, *run, *task_of, tasks;
} Room;

static AnalysisInterval score_interval(const AnalysisReport *report, size_t group, AnalysisMeasure measure,
                                       const Room *room) {
  size_t n = 0;
  for (size_t i = room->members.first[group]; i < room->members.first[group + 1]; i++) {
    const size_t r = room->members.run[i];
    const double value = report->measured[r].value[measure];
    if (!report->measured[r].ended || !isfinite(value)) continue;
    room->value[n] = value;
    room->run[n] = r;
    room->task[n++] = room->task_of[r];
  }
  return analysis_tasks_interval(room->value, room->task, n, room->tasks, ANALYSIS_AGGREGATE_MEAN,
                                 analysis_measure_range(measure, report->measured, room->run, n));
}

/* Adds runs, scores with intervals and other means of each configuration. */
static void add_configurations(const AnalysisReport *report, json_t *root) {
  static const struct { const char *key; AnalysisMeasure measure; } means[] = {
    {"ddr", ANALYSIS_MEASURE_ddr}, {"kl", ANALYSIS_MEASURE_kl}, {"speed", ANALYSIS_MEASURE_speed}};
  json_t *list = json_array();
  const size_t runs = report->selection.count + 1;

  Room room = {.members = analysis_grouping_members(&report->groups, report->selection.count),
               .value = core_memory_allocate(runs * sizeof(double)),
               .task = core_memory_allocate(runs * sizeof(size_t)),
               .run = core_memory_allocate(runs * sizeof(size_t)),
               .task_of = core_memory_allocate(runs * sizeof(size_t))};

  room.tasks = analysis_tasks_find(&report->selection, room.task_of);
  for (size_t g = 0; g < report->groups.count; g++) {
    json_t *object = json_object();
    size_t ended = 0, censored = 0;
    for (size_t i = room.members.first[g]; i < room.members.first[g + 1]; i++) {
      ended += report->measured[room.members.run[i]].ended;
      censored += report->measured[room.members.run[i]].censored;
    }

    set_text(object, "label", report->groups.groups[g].label);
    set_number(object, "runs", (double)report->groups.groups[g].run_count);
    set_number(object, "ended", (double)ended);
    set_number(object, "censored", (double)censored);

    json_object_set_new(object, "final", interval_of(score_interval(report, g, ANALYSIS_MEASURE_final, &room)));
    json_object_set_new(object, "best", interval_of(score_interval(report, g, ANALYSIS_MEASURE_best, &room)));
    for (size_t m = 0; m < sizeof means / sizeof *means; m++)
      set_number(object, means[m].key, score_interval(report, g, means[m].measure, &room).center);

    json_array_append_new(list, object);
  }

  analysis_members_free(&room.members);
  free(room.value);
  free(room.task);
  free(room.run);
  free(room.task_of);
  json_object_set_new(root, "configurations", list);
}

/* Adds the settings that distinguish the configurations, and the values that all share. */
static void add_differences(const AnalysisReport *report, json_t *root) {
  const AnalysisGrouping *groups = &report->groups;
  json_t *keys = json_array(), *rows = json_array();
  CoreText value = {0}, shared = {0};

  for (size_t k = 0; k < groups->key_count; k++) json_array_append_new(keys, core_json_text(groups->keys[k]->name));
  for (size_t g = 0; g < groups->count; g++) {
    json_t *values = json_array();
    for (size_t k = 0; k < groups->key_count; k++)
      json_array_append_new(
        values, analysis_report_text(analysis_key_value(groups->groups[g].config, groups->keys[k], &value)));

    json_t *object = json_object();
    set_text(object, "label", groups->groups[g].label);
    json_object_set_new(object, "values", values);
    json_array_append_new(rows, object);
  }

  size_t count;
  const CoreConfigRow *settings = core_config_rows(&count);
  for (size_t i = 0; i < count; i++) {
    bool varies = strcmp(settings[i].name, "train.seed") == 0;
    for (size_t k = 0; k < groups->key_count; k++) varies = varies || groups->keys[k] == &settings[i];
    if (!varies && settings[i].identity && groups->count)
      core_text_appendf(&shared, "%s = %s\n", settings[i].name,
                        analysis_config_get(groups->groups[0].config, &settings[i], &value));
  }

  json_object_set_new(root, "differences", json_pack("{s:o, s:o}", "keys", keys, "rows", rows));
  set_text(root, "shared_settings", core_text_string(&shared));
  core_text_free(&value);
  core_text_free(&shared);
}

void analysis_report_add_configurations(const AnalysisReport *report, json_t *section) {
  add_configurations(report, section);
  add_differences(report, section);
}

/* ---- claims ----------------------------------------------------------------------------------------------------- */

int analysis_report_add_claims(const AnalysisReport *report, json_t *root) {
  AnalysisClaimResult *list = NULL;
  size_t count = 0;
  json_t *claims = json_array();
  json_object_set_new(root, "claims", claims);

  const AnalysisClaimsOptions asked = {0};
  AnalysisSelection selection = {0};
  int code = analysis_select_with_copies(report->database, report->sweep, report->where->items, report->where->count,
                                         &selection);
  if (code == CORE_OK) code = analysis_claims_evaluate(report->database, &selection, &asked, &list, &count);

  if (code == CORE_OK) {
    for (size_t i = 0; i < count; i++) {
      const AnalysisClaimResult *f = &list[i];
      if (!analysis_claim_has_runs(f)) continue;
      json_t *object = json_object();

      set_text(object, "verdict", analysis_verdict_name(f->verdict));
      set_text(object, "paper", f->claim->paper);
      set_text(object, "figure", f->claim->figure);
      set_text(object, "sentence", f->claim->sentence);
      set_text(object, "data", f->claim->data);
      set_text(object, "statistic", f->statistic);
      set_text(object, "measure", analysis_measure_label(f->claim->measure));
      set_text(object, "direction", f->direction);
      set_text(object, "reason", f->reason);

      set_number(object, "estimate", f->interval.center);
      set_number(object, "low", f->interval.low);
      set_number(object, "high", f->interval.high);
      set_number(object, "p_for", f->p_for);
      set_number(object, "p_against", f->p_against);

      json_object_set_new(object, "ratio", json_boolean(f->comparison == ANALYSIS_BY_RATIO &&
                                                        !analysis_test_is_of_ranks(f->claim->test)));
      set_number(object, "runs", (double)f->runs);
      json_object_set_new(object, "more_seeds", f->more_seeds ? json_integer((json_int_t)f->more_seeds) : json_null());

      json_array_append_new(claims, object);
    }
  }

  analysis_claims_free(&list, count);
  analysis_selection_free(&selection);
  return code;
}

/* ---- provenance ------------------------------------------------------------------------------------------------- */

static void add_pair(json_t *list, const char *what, const char *value) {
  json_t *pair = json_array();
  json_array_append_new(pair, core_json_text(what));
  json_array_append_new(pair, analysis_report_text(value));
  json_array_append_new(list, pair);
}

/* SQL condition: runs of the sweeps ?1, comma-separated names; NULL: all. */
#define OF_ASKED \
  " FROM run WHERE ?1 IS NULL OR id IN (SELECT run_id FROM sweep_run WHERE instr(',' || ?1 || ',', ',' || sweep || " \
  "',') > 0) ORDER BY 1"

/* Adds the first column of a statement's rows, joined; at most a dozen. */
static int add_list(StoreDatabase *database, const char *sweeps, json_t *list, const char *what, const char *sql) {
  StoreQuery *query = NULL;
  CoreText text = {0};
  bool row = false;
  int rows = 0, code;
  TRY(store_query_open(database, sql, &query));
  if (sweeps) store_query_bind_text(query, 1, sweeps);
  while ((code = store_query_step(query, &row)) == CORE_OK && row && rows++ < 12) {
    const char *value = store_query_text(query, 0);
    core_text_appendf(&text, "%s%s", text.length ? ", " : "", value ? value : "unknown");
  }
  store_query_close(&query);
  add_pair(list, what, core_text_string(&text));
  core_text_free(&text);
  return code;
}

/* Adds a sentence per plan of the sweeps. */
static int add_plans(StoreDatabase *database, const char *sweeps, json_t *list) {
  AnalysisPlans plans;
  CoreText text = {0};
  const int code = analysis_plans_read(database, sweeps, &plans);
  for (size_t i = 0; i < plans.count; i++) {
    core_text_clear(&text);
    analysis_plan_describe(&plans.plan[i], &text);
    add_pair(list, "plan", core_text_string(&text));
  }
  core_text_free(&text);
  analysis_plans_free(&plans);
  return code;
}

static int add_sweeps(StoreDatabase *database, const char *sweeps, json_t *root) {
  StoreQuery *query = NULL;
  json_t *list = json_array();
  bool row = false;
  int code;
  json_object_set_new(root, "sweeps", list);

  TRY(store_query_open(database,
                       "SELECT name, ini, created, (SELECT count(*) FROM sweep_run WHERE sweep = sweep.name), "
                       TAGS_OF("'sweep'", "sweep.name") ", " NOTE_OF("'sweep'", "sweep.name")
                       " FROM sweep WHERE ?1 IS NULL OR instr(',' || ?1 || ',', ',' || name || ',') > 0 ORDER BY name",
                       &query));

  if (sweeps) store_query_bind_text(query, 1, sweeps);
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    json_t *object = json_object();
    set_text(object, "name", store_query_text(query, 0));
    set_text(object, "ini", store_query_text(query, 1));
    set_number(object, "created", store_query_real(query, 2));
    set_number(object, "runs", store_query_real(query, 3));
    set_text(object, "tags", store_query_text(query, 4));
    set_text(object, "note", store_query_text(query, 5));

    json_array_append_new(list, object);
  }

  store_query_close(&query);
  return code;
}

static void add_tiles(const AnalysisReport *report, json_t *root) {
  json_t *tiles = json_array();
  double transitions = 0;
  json_array_append_new(tiles, json_pack("[s, f]", "configurations", (double)report->groups.count));
  json_array_append_new(tiles, json_pack("[s, f]", "runs", (double)report->selection.count));
  for (size_t s = 0; s < STORE_STATUSES; s++) {
    const StoreStatus status = store_status_order[s];
    size_t count = 0;
    for (size_t r = 0; r < report->selection.count; r++) count += report->selection.runs[r].status == status;
    if (count) json_array_append_new(tiles, json_pack("[s, f]", store_status_name(status), (double)count));
  }
  for (size_t r = 0; r < report->selection.count; r++) transitions += report->measured[r].transitions;
  json_array_append_new(tiles, json_pack("[s, f]", "transitions", transitions));
  json_object_set_new(root, "tiles", tiles);
}

int analysis_report_add_provenance(const AnalysisReport *report, json_t *root) {
  json_t *list = json_array();
  char date[32], program[128];
  time_t now = time(NULL);
  struct tm utc;

  strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&now, &utc));
  snprintf(program, sizeof program, "analyze %s, commit %s", core_version(), core_commit());
  const char *slash = strrchr(report->path, '/');

  json_object_set_new(root, "provenance", list);
  add_tiles(report, root);
  add_pair(list, "database", slash ? slash + 1 : report->path);
  add_pair(list, "program", program);
  add_pair(list, "date", date);
  add_pair(list, "filter", report->selection.filter);
  add_pair(list, "query", report->selection.sql);

  CoreText mixed = {0};
  analysis_codes_describe(&report->selection, &mixed);
  if (mixed.length > 0) add_pair(list, "code", mixed.data);
  core_text_free(&mixed);

  CoreText intervals = {0};
  core_text_appendf(&intervals, "%s; claims: permutations and Student t, see there", analysis_interval_description);
  add_pair(list, "intervals", core_text_string(&intervals));
  core_text_free(&intervals);

  TRY(add_plans(report->database, report->sweep, list));
  TRY(add_list(report->database, report->sweep, list, "trainers' commits", "SELECT DISTINCT git_commit" OF_ASKED));
  TRY(add_list(report->database, report->sweep, list, "hosts", "SELECT DISTINCT host" OF_ASKED));
  TRY(add_list(report->database, report->sweep, list, "devices", "SELECT DISTINCT device" OF_ASKED));
  TRY(add_list(report->database, NULL, list, "schema versions",
               "SELECT version || ' (' || program || ')' FROM schema_version ORDER BY version"));
  return add_sweeps(report->database, report->sweep, root);
}
