/* Reads the plans of studies from frozen experiments and from runs (plans.h). */
#include "analysis/claims/plans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/ini.h"
#include "core/memory.h"
#include "store/database/query.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Gets path and sum from a submitted experiment's "plan = FILE sha256:HEX". false: it has none. */
static bool find_plan(const char *name, const char *experiment, AnalysisPlan *plan) {
  CoreIni ini;
  bool is_found = false;
  if (core_ini_parse(name, experiment, &ini) != CORE_OK) {
    core_error_clear(); /* from an older version; then it has none */
    return false;
  }

  for (size_t i = 0; i < ini.count && !is_found; i++) {
    const CoreIniEntry *entry = &ini.entries[i];
    size_t length;
    if (strcmp(entry->section, "sweep") != 0 || !entry->key || strcmp(entry->key, "plan") != 0) continue;

    const char *sum = core_sha256_recorded(entry->value, &length);
    if (!sum) continue;
    is_found = core_files_path(plan->path, "%.*s", (int)length, entry->value) == CORE_OK;
    memcpy(plan->hash, sum, CORE_SHA256);
  }

  core_ini_free(&ini);
  return is_found;
}

/* Returns the plan that a sweep names, added if it is new; NULL: none. */
static AnalysisPlan *take_plan(AnalysisPlans *plans, const char *name, const char *experiment) {
  AnalysisPlan found = {.first = NAN};
  size_t index = 0;
  if (!find_plan(name, experiment, &found)) return NULL;

  while (index < plans->count &&
         (strcmp(plans->plan[index].path, found.path) != 0 || strcmp(plans->plan[index].hash, found.hash) != 0))
    index++;
  if (index == plans->count) {
    plans->plan = core_memory_resize(plans->plan, (plans->count + 1) * sizeof *plans->plan);
    plans->plan[plans->count++] = found;
  }
  return &plans->plan[index];
}

static const char runs_sql[] =
  "SELECT count(*), total(coalesce(json_extract(config, '$.train.plan'), '') = ?2"
  " OR coalesce(json_extract(config, '$.program.plan'), '') = ?2), count(begun), min(begun) FROM"
  " (SELECT config, (SELECT min(started) FROM attempt WHERE attempt.run_id = run.id) AS begun FROM run"
  " WHERE id IN (SELECT run_id FROM sweep_run WHERE sweep = ?1))";

/* Adds a sweep, and its runs, to the plan. */
static int add_sweep(StoreQuery *runs, const char *sweep, AnalysisPlan *plan) {
  bool row;
  core_text_appendf(&plan->sweeps, "%s%s", plan->sweeps.length ? ", " : "", sweep);
  store_query_reset(runs);
  store_query_bind_text(runs, 1, sweep);
  store_query_bind_text(runs, 2, plan->hash);
  TRY(store_query_step(runs, &row));
  if (!row) return CORE_OK;

  plan->runs += (size_t)store_query_int(runs, 0);
  plan->recorded += (size_t)store_query_int(runs, 1);
  plan->started += (size_t)store_query_int(runs, 2);
  plan->first = fmin(plan->first, store_query_real(runs, 3)); /* fmin ignores NaN */
  return CORE_OK;
}

static AnalysisPlanFile examine_file(const AnalysisPlan *plan) {
  char sum[CORE_SHA256];
  if (core_sha256_file(plan->path, sum, NULL) != CORE_OK) {
    core_error_clear();
    return ANALYSIS_PLAN_ABSENT;
  }
  return strcmp(sum, plan->hash) == 0 ? ANALYSIS_PLAN_UNCHANGED : ANALYSIS_PLAN_CHANGED;
}

int analysis_plans_read(StoreDatabase *database, const char *sweeps, AnalysisPlans *plans) {
  StoreQuery *query = NULL, *runs = NULL;
  bool row = true;
  *plans = (AnalysisPlans){0};
  int code = store_query_open(database, "SELECT name, ini FROM sweep WHERE instr(ini, '" CORE_SHA256_MARK "') > 0 AND"
                              " (?1 IS NULL OR instr(',' || ?1 || ',', ',' || name || ',') > 0) ORDER BY name", &query);
  if (code == CORE_OK) code = store_query_open(database, runs_sql, &runs);
  if (code == CORE_OK) store_query_bind_text(query, 1, sweeps);

  while (code == CORE_OK) {
    code = store_query_step(query, &row);
    if (code != CORE_OK || !row) break;
    const char *name = store_query_text(query, 0);
    AnalysisPlan *plan = take_plan(plans, name, store_query_text(query, 1));
    if (plan) code = add_sweep(runs, name, plan);
  }

  store_query_close(&query);
  store_query_close(&runs);
  for (size_t i = 0; i < plans->count; i++) plans->plan[i].file = examine_file(&plans->plan[i]);
  return code;
}

void analysis_plans_free(AnalysisPlans *plans) {
  for (size_t i = 0; i < plans->count; i++) core_text_free(&plans->plan[i].sweeps);
  free(plans->plan);
  *plans = (AnalysisPlans){0};
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

void analysis_plan_describe(const AnalysisPlan *plan, CoreText *text) {
  static const char *const states[] = {"the file is unchanged", "the file has changed since", "the file is not there"};
  const char *slash = strrchr(plan->path, '/');
  core_text_appendf(text, "%s of %s: SHA-256 %.16s, recorded by %zu of %zu runs", slash ? slash + 1 : plan->path,
                    core_text_string(&plan->sweeps), plan->hash, plan->recorded, plan->runs);
  if (plan->started > 0) {
    char date[32];
    struct tm utc;
    const time_t first = (time_t)plan->first;
    strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", gmtime_r(&first, &utc));
    core_text_appendf(text, ", of which the first began %s", date);
  }
  core_text_appendf(text, "; %s", states[plan->file]);
}

json_t *analysis_plans_json(const AnalysisPlans *plans) {
  static const char *const states[] = {"unchanged", "changed", "absent"};
  json_t *list = json_array();
  for (size_t i = 0; i < plans->count; i++) {
    const AnalysisPlan *plan = &plans->plan[i];
    json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:o, s:s}", "path", plan->path, "sha256",
                                          plan->hash, "sweeps", core_text_string(&plan->sweeps), "runs",
                                          (json_int_t)plan->runs, "recorded", (json_int_t)plan->recorded, "started",
                                          (json_int_t)plan->started, "first_started",
                                          plan->started > 0 ? json_real(plan->first) : json_null(), "file",
                                          states[plan->file]));
  }
  return list;
}
