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
  static const char mark[] = " sha256:";
  CoreIni ini;
  bool is_found = false;
  if (core_ini_parse(name, experiment, &ini) != CORE_OK) {
    core_error_clear(); /* from an older version; then it has none */
    return false;
  }

  for (size_t i = 0; i < ini.count && !is_found; i++) {
    const CoreIniEntry *entry = &ini.entries[i];
    if (strcmp(entry->section, "sweep") != 0 || !entry->key || strcmp(entry->key, "plan") != 0) continue;
    const char *sum = strstr(entry->value, mark);
    for (const char *next = sum; next; next = strstr(next + 1, mark)) sum = next;
    if (!sum || strlen(sum + sizeof mark - 1) != CORE_SHA256 - 1) continue;
    is_found = core_files_path(plan->path, "%.*s", (int)(sum - entry->value), entry->value) == CORE_OK;
    memcpy(plan->hash, sum + sizeof mark - 1, CORE_SHA256);
  }

  core_ini_free(&ini);
  return is_found;
}

/* Adds a sweep to the plan that it names. */
static void add_sweep(AnalysisPlans *plans, const char *name, const char *experiment) {
  AnalysisPlan found = {0};
  size_t index = 0;
  if (!find_plan(name, experiment, &found)) return;

  while (index < plans->count &&
         (strcmp(plans->plan[index].path, found.path) != 0 || strcmp(plans->plan[index].hash, found.hash) != 0))
    index++;
  if (index == plans->count) {
    plans->plan = core_memory_resize(plans->plan, (plans->count + 1) * sizeof *plans->plan);
    plans->plan[plans->count++] = found;
  }
  core_text_appendf(&plans->plan[index].sweeps, "%s%s", plans->plan[index].sweeps.length ? ", " : "", name);
}

/* Adds the runs of one sweep to the counts. */
static int count_runs(StoreQuery *query, const char *sweep, AnalysisPlan *plan) {
  bool row;
  store_query_reset(query);
  store_query_bind_text(query, 1, sweep);
  store_query_bind_text(query, 2, plan->hash);
  TRY(store_query_step(query, &row));
  if (!row) return CORE_OK;

  plan->runs += (size_t)store_query_int(query, 0);
  plan->recorded += (size_t)store_query_int(query, 1);
  plan->started += (size_t)store_query_int(query, 2);
  plan->first = fmin(plan->first, store_query_real(query, 3)); /* fmin ignores NaN */
  return CORE_OK;
}

static int count_all_runs(StoreDatabase *database, AnalysisPlans *plans) {
  StoreQuery *query;
  char name[128];
  TRY(store_query_open(database,
    "SELECT count(*), total(coalesce(json_extract(config, '$.train.plan'), '') = ?2"
    " OR coalesce(json_extract(config, '$.program.plan'), '') = ?2), count(begun), min(begun) FROM"
    " (SELECT config, (SELECT min(started) FROM attempt WHERE attempt.run_id = run.id) AS begun FROM run"
    " WHERE id IN (SELECT run_id FROM sweep_run WHERE sweep = ?1))", &query));

  int code = CORE_OK;
  for (size_t i = 0; i < plans->count && code == CORE_OK; i++) {
    plans->plan[i].first = NAN;
    for (const char *word = core_text_string(&plans->plan[i].sweeps); *word && code == CORE_OK;) {
      const size_t length = strcspn(word, ",");
      snprintf(name, sizeof name, "%.*s", (int)length, word);
      code = count_runs(query, name, &plans->plan[i]);
      word += length + strspn(word + length, ", ");
    }
  }
  store_query_close(&query);
  return code;
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
  StoreQuery *query;
  bool row = true;
  *plans = (AnalysisPlans){0};
  TRY(store_query_open(database, "SELECT name, ini FROM sweep WHERE instr(ini, ' sha256:') > 0 AND"
                       " (?1 IS NULL OR instr(',' || ?1 || ',', ',' || name || ',') > 0) ORDER BY name", &query));
  store_query_bind_text(query, 1, sweeps);

  int code = store_query_step(query, &row);
  while (code == CORE_OK && row) {
    add_sweep(plans, store_query_text(query, 0), store_query_text(query, 1));
    code = store_query_step(query, &row);
  }
  store_query_close(&query);

  if (code == CORE_OK && plans->count > 0) code = count_all_runs(database, plans);
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
