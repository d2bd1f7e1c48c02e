/* Selects the runs of a figure: opens the database, imports new results, reads the table run, and filters.
 * Configurations are parsed by core/config, so that values have a canonical text. Only the import writes. */
#include "analysis/runs/select.h"

#include "core/json.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/runs/budget.h"
#include "analysis/runs/codes.h"
#include "analysis/runs/columns.h"
#include "analysis/runs/group.h"
#include "analysis/runs/membership.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/unicode.h"
#include "store/care/maintain.h"
#include "store/database/query.h"
#include "store/workspace/paths.h"

static const char runs_sql[] =
  "SELECT id, config, status, git_commit, iteration, code, code_files, transitions FROM run"
  " WHERE ?1 IS NULL OR id IN (SELECT run_id FROM sweep_run WHERE instr(',' || ?1 || ',', ',' || sweep || ','))"
  " ORDER BY seed, id";

/* ---- the database ----------------------------------------------------------------------------------------------- */

bool analysis_database_in_workspace(const char *path, char root[CORE_PATH_MAX]) {
  char real[PATH_MAX], runs[CORE_PATH_MAX];
  if (!realpath(path, real)) return false;
  char *slash = strrchr(real, '/');
  *(slash == real ? slash + 1 : slash) = '\0';
  bool fits = core_files_path(root, "%s", real) == CORE_OK && core_files_path(runs, "%s/runs", real) == CORE_OK;
  if (!fits || !core_files_exists(runs)) return false;
  core_files_guard(root);
  return true;
}

/* Imports new results. Failures are only notes, because the figure can be made from existing results. */
static void import_new(StoreDatabase *database, const char *root) {
  StoreImport result = {0};
  if (store_import(database, root, NULL, false, &result) != CORE_OK) {
    fprintf(stderr, "note: new results were not imported: %s\n", core_error_message());
    core_error_clear();
  } else if (result.damaged_lines > 0) {
    fprintf(stderr, "note: %lld damaged line%s in the run logs skipped, the first: %s\n",
            (long long)result.damaged_lines, result.damaged_lines == 1 ? "" : "s", result.first_damage);
  }
}

const char *analysis_database_path(const char *const *operands, size_t count) {
  static char path[CORE_PATH_MAX];
  const char *root = getenv("SWEEP_ROOT");
  if (count > 0) return operands[0];
  if (!root || !*root || core_files_path(path, "%s/results.db", root) != CORE_OK) {
    core_error_clear();
    snprintf(path, sizeof path, "results.db");
  }
  if (core_files_exists(path)) core_unicode_print(stderr, "note: results of %s\n", path);
  return path;
}

enum { CACHE_MEBIBYTES = 64 };

static bool is_imported; /* by analysis_database_keep */

void analysis_database_keep(void) { is_imported = true; }

static int open_database(const char *path, StoreDatabase **database) {
  char root[CORE_PATH_MAX];
  if (!core_files_exists(path)) {
    return core_error(CORE_USAGE, "%s: no such file; name the results.db of a workspace (`sweep submit` makes one, "
                      "`sweep collect --rebuild` recreates it from the run logs), or set SWEEP_ROOT to the workspace",
                      path);
  }
  if (!analysis_database_in_workspace(path, root)) return store_database_open(path, true, database);
  /* Another user's workspace may be readable only. */
  if (access(path, W_OK) != 0 || access(root, W_OK) != 0) {
    core_unicode_print(stderr, "note: %s is not writable: new results are not imported\n", path);
    return store_database_open(path, true, database);
  }
  TRY(store_database_open(path, false, database));
  if (!store_is_merged(*database) && !is_imported) import_new(*database, root);
  return CORE_OK;
}

int analysis_database_open(const char *path, StoreDatabase **database) {
  TRY(open_database(path, database));
  int code = store_database_set_cache(*database, CACHE_MEBIBYTES);
  if (code == CORE_OK && !is_imported) code = analysis_programs_know(*database);
  if (code != CORE_OK) store_database_close(database);
  return code;
}

/* ---- the runs --------------------------------------------------------------------------------------------------- */

/* Reads a run. *readable = false: its configuration is missing or damaged, so that it belongs to no figure. */
static int read_run(StoreQuery *query, AnalysisSelection *selection, AnalysisRun *run, bool *readable) {
  const char *id = store_query_text(query, 0), *config = store_query_text(query, 1);
  const char *status = store_query_text(query, 2), *commit = store_query_text(query, 3);
  memset(run, 0, sizeof *run);

  const AnalysisConfigFacts *facts;
  *readable = id && config &&
              analysis_configs_parse(selection->configs, config, &facts, &run->config.seed) == CORE_OK;

  if (!*readable) {
    fprintf(stderr, "note: run %s is excluded: %s\n", id ? id : "without id",
            config ? core_error_message() : "no configuration");
    core_error_clear();
    return CORE_OK;
  }

  run->config.shared = &facts->config;
  memcpy(run->cell, facts->cell, sizeof run->cell);
  run->scaled = facts->scaled;
  run->transitions_per_iteration = facts->transitions_per_iteration;
  run->iterations = facts->iterations;

  TRY(core_text_copy(run->id, sizeof run->id, id, "run id"));
  run->iteration = store_query_int(query, 4);
  run->transitions = fmax(0, store_query_real(query, 7));
  run->code = analysis_codes_add(selection, store_query_text(query, 5), store_query_text(query, 6));
  if (!status || !store_status_from_name(status, &run->status)) run->status = STORE_PENDING;
  return core_text_copy(run->commit, sizeof run->commit, commit ? commit : "", "commit");
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

int analysis_run_prefer(const AnalysisRun *a, const AnalysisRun *b) {
  static const int ended[] = {[STORE_FINISHED] = 3, [STORE_DIVERGED] = 2, [STORE_FAILED] = 1};
  const size_t known = sizeof ended / sizeof *ended;
  const int first = (size_t)a->status < known ? ended[a->status] : 0;
  const int second = (size_t)b->status < known ? ended[b->status] : 0;
  if (first != second) return second - first;
  if (a->iteration != b->iteration) return a->iteration > b->iteration ? -1 : 1;
  if (a->scaled != b->scaled) return a->scaled ? 1 : -1;
  return strcmp(a->id, b->id);
}

static int by_cell(const void *left, const void *right) {
  const AnalysisRun *a = *(AnalysisRun *const *)left, *b = *(AnalysisRun *const *)right;
  const int order = strcmp(a->cell, b->cell);
  if (order != 0) return order;
  if (a->config.seed != b->config.seed) return a->config.seed < b->config.seed ? -1 : 1;
  return analysis_run_prefer(a, b);
}

/* Keeps the first run, by by_cell, of each cell and seed. */
static void drop_copies(AnalysisSelection *selection) {
  const AnalysisRun **order = core_memory_allocate((selection->count + 1) * sizeof *order);
  bool *copy = core_memory_zero_allocate(selection->count + 1, sizeof *copy);
  size_t kept = 0;
  for (size_t r = 0; r < selection->count; r++) order[r] = &selection->runs[r];
  qsort(order, selection->count, sizeof *order, by_cell);

  /* Runs of equal cell and seed are neighbors; all but the first are copies. */
  selection->copy = core_memory_allocate((selection->count + 1) * sizeof *selection->copy);
  selection->copies = 0;
  size_t first = 0;
  for (size_t r = 1; r < selection->count; r++) {
    const bool repeats = strcmp(order[r]->cell, order[first]->cell) == 0 &&
                         order[r]->config.seed == order[first]->config.seed;
    copy[order[r] - selection->runs] = repeats;
    if (!repeats) {
      first = r;
      continue;
    }

    AnalysisCopy *left_out = &selection->copy[selection->copies++];
    memcpy(left_out->id, order[r]->id, sizeof left_out->id);
    memcpy(left_out->of, order[first]->id, sizeof left_out->of);
  }

  for (size_t r = 0; r < selection->count; r++)
    if (!copy[r]) selection->runs[kept++] = selection->runs[r];
  selection->count = kept;

  free(order);
  free(copy);
}

static int read_runs(StoreDatabase *database, const char *sweep, AnalysisSelection *selection) {
  StoreQuery *query = NULL;
  size_t capacity = 0;
  bool row = false;
  TRY(store_query_open(database, runs_sql, &query));

  store_query_bind_text(query, 1, sweep);
  int code;
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    if (selection->count == capacity) {
      capacity = capacity ? 2 * capacity : 64;
      selection->runs = core_memory_resize(selection->runs, capacity * sizeof *selection->runs);
    }

    bool readable = false;
    code = read_run(query, selection, &selection->runs[selection->count], &readable);
    if (readable) selection->count++;
    else selection->unreadable++;
    if (code != CORE_OK) break;
  }

  store_query_close(&query);
  return code;
}

/* ---- filters ---------------------------------------------------------------------------------------------------- */

enum { MODE = 2 };

typedef struct Condition {
  const CoreConfigRow *row;
  char *value;              /* canonical text */
  int extreme;              /* 1, -1: "max", "min" of a number, MODE: its "mode", resolved when the runs are known */
} Condition;

static int condition_parse(const char *given, Condition *condition) {
  char *name = core_text_normalize_pair(given), *equals = strchr(name, '=');
  if (!equals || equals == name) {
    free(name);
    return core_error(CORE_USAGE, "--where %s: expected key=value", given);
  }
  *equals = '\0';

  CoreConfig config = core_config_default();
  CoreText text = {0};
  int code = analysis_find_key(name, &condition->row);

  bool number = code == CORE_OK && core_config_is_number(condition->row->kind);
  if (number && strcmp(equals + 1, "mode") == 0) condition->extreme = MODE;
  else if (number) condition->extreme = strcmp(equals + 1, "max") == 0 ? 1 : strcmp(equals + 1, "min") == 0 ? -1 : 0;

  const bool is_algorithm = code == CORE_OK && strcmp(condition->row->name, "algo.name") == 0; /* or a program */
  if (code == CORE_OK && !condition->extreme && !is_algorithm)
    code = core_config_set(&config, condition->row->name, equals + 1);
  if (code == CORE_OK)
    condition->value =
      core_text_duplicate(is_algorithm ? equals + 1 : core_config_get(&config, condition->row, &text));
  else code = core_error_context(code, "--where %s", given);

  core_text_free(&text);
  free(name);
  return code;
}

/* Whether a run meets the conditions: those on one key are alternatives, and those on different keys must all hold.
 * but: key to ignore (NULL: none). Unresolved "max", "min" and "mode" hold for all. */
static bool conditions_hold(const Condition *conditions, size_t count, const CoreConfigRow *but,
                            const AnalysisConfig *config, CoreText *text) {
  for (size_t i = 0; i < count; i++) {
    const char *value = analysis_key_value(config, conditions[i].row, text);
    bool met = conditions[i].row == but;
    for (size_t k = 0; k < count; k++) {
      const bool holds = conditions[k].extreme || strcmp(conditions[k].value, value) == 0;
      met |= conditions[k].row == conditions[i].row && holds;
    }
    if (!met) return false;
  }
  return true;
}

/* Run that uses a key. */
typedef struct Sample { const AnalysisRun *run; const CoreConfigRow *key; } Sample;

static int by_value(const void *left, const void *right) {
  const Sample *a = left, *b = right;
  const int order = analysis_group_compare(&a->run->config, &b->run->config, a->key);
  return order ? order : (a->run > b->run) - (a->run < b->run);
}

/* Returns the first run with the most frequent value, and of equally frequent ones the first of all; NULL: no runs.
 * Sorts the samples. */
static const AnalysisRun *find_mode(Sample *samples, size_t count) {
  const AnalysisRun *mode = NULL;
  size_t most = 0;
  qsort(samples, count, sizeof *samples, by_value);
  for (size_t first = 0, i = 1; i <= count; i++) {
    const AnalysisRun *run = samples[first].run;
    if (i < count && analysis_group_compare(&run->config, &samples[i].run->config, samples[i].key) == 0) continue;
    if (i - first > most || (i - first == most && run < mode)) {
      mode = run;
      most = i - first;
    }
    first = i;
  }
  return mode;
}

/* Returns the first run with the largest (sign 1) or smallest (-1) value; NULL: no runs. */
static const AnalysisRun *find_extreme(const Sample *samples, size_t count, int sign) {
  const Sample *best = NULL;
  for (const Sample *sample = samples; sample < samples + count; sample++) {
    const double value = analysis_key_number(&sample->run->config, sample->key);
    if (!best || sign * (value - analysis_key_number(&best->run->config, best->key)) > 0) best = sample;
  }
  return best ? best->run : NULL;
}

/* Resolves "max", "min" and "mode" to the largest, smallest and most frequent value of the runs that meet the
 * conditions on other keys; several are resolved in order, each among the runs that meet the previous ones. */
static void find_extremes(const AnalysisSelection *selection, Condition *conditions, size_t count) {
  CoreText text = {0};
  Sample *samples = core_memory_allocate((selection->count + 1) * sizeof *samples);

  for (size_t i = 0; i < count; i++) {
    const CoreConfigRow *key = conditions[i].row;
    const int extreme = conditions[i].extreme;
    size_t found = 0;
    const size_t candidates = extreme ? selection->count : 0;
    for (size_t r = 0; r < candidates; r++) {
      const AnalysisRun *run = &selection->runs[r];
      if (analysis_key_applies(&run->config, key) && conditions_hold(conditions, count, key, &run->config, &text))
        samples[found++] = (Sample){run, key};
    }

    const AnalysisRun *best = extreme == MODE ? find_mode(samples, found) : find_extreme(samples, found, extreme);
    conditions[i].extreme = 0;
    if (!best) continue; /* no run meets the others: the following message lists the existing values */

    free(conditions[i].value);
    conditions[i].value = core_text_duplicate(analysis_key_value(&best->config, key, &text));
  }

  free(samples);
  core_text_free(&text);
}

/* Reports that no run meets the conditions, with the existing values of their keys. */
static int nothing_matches(const AnalysisSelection *selection, const Condition *conditions, size_t count) {
  CoreText message = {0}, value = {0};
  for (size_t i = 0; i < count; i++) {
    CoreText seen = {0};

    for (size_t r = 0; r < selection->count && seen.length < 200; r++) {
      char item[CORE_CONFIG_TEXT + 2];
      const char *value_shown = analysis_key_value(&selection->runs[r].config, conditions[i].row, &value);
      snprintf(item, sizeof item, " %s,", *value_shown ? value_shown : "unused");
      if (!strstr(core_text_string(&seen), item)) core_text_append(&seen, item);
    }

    if (seen.length) seen.data[seen.length - 1] = '\0';
    core_text_appendf(&message, "; %s is%s", conditions[i].row->name, core_text_string(&seen));
    core_text_free(&seen);
  }

  int code = core_error(CORE_FAIL, "no run matches the --where conditions%s", core_text_string(&message));
  core_text_free(&message);
  core_text_free(&value);
  return code;
}

static int apply_conditions(AnalysisSelection *selection, const Condition *conditions, size_t count) {
  size_t kept = 0;
  CoreText text = {0};
  for (size_t r = 0; r < selection->count; r++) { /* count first: on failure the message needs all runs */
    kept += conditions_hold(conditions, count, NULL, &selection->runs[r].config, &text);
  }

  if (kept == 0) {
    core_text_free(&text);
    return nothing_matches(selection, conditions, count);
  }

  kept = 0;
  for (size_t r = 0; r < selection->count; r++) {
    if (!conditions_hold(conditions, count, NULL, &selection->runs[r].config, &text)) continue;
    if (kept != r) selection->runs[kept] = selection->runs[r];
    kept++;
  }

  selection->count = kept;
  core_text_free(&text);
  return CORE_OK;
}

/* Describes the filter. said: "; tag=paper", or "". */
static char *describe_filter(const char *sweep, const Condition *conditions, size_t count, const char *said) {
  CoreText text = {0};
  if (sweep) core_text_appendf(&text, "sweep %s", sweep);
  else core_text_append(&text, "all runs");

  for (size_t i = 0; i < count; i++) {
    bool again = false; /* already named as an alternative of an earlier condition */
    for (size_t k = 0; k < i; k++) again |= conditions[k].row == conditions[i].row;
    if (again) continue;

    core_text_appendf(&text, "; %s=%s", conditions[i].row->name, conditions[i].value);
    for (size_t k = i + 1; k < count; k++) {
      if (conditions[k].row == conditions[i].row) core_text_appendf(&text, " or %s", conditions[k].value);
    }
  }

  core_text_append(&text, said);
  char *filter = core_text_duplicate(core_text_string(&text));
  core_text_free(&text);
  return filter;
}

/* Names the returns of the selected runs (select.h). */
static void name_returns(AnalysisSelection *selection) {
  char common[CORE_SCRIPT_NAME] = "", goal[CORE_SCRIPT_NAME];
  double common_sign = 0, sign;
  snprintf(selection->return_name, sizeof selection->return_name, "return");

  for (size_t r = 0; r < selection->count; r++) {
    const CoreScript *program = selection->runs[r].config.shared->program;
    if (!program || !core_script_goal(program, goal, &sign)) return;
    if (r == 0) {
      memcpy(common, goal, sizeof common);
      common_sign = sign;
    }
    if (strcmp(goal, common) != 0 || sign != common_sign) return;
  }

  const bool is_return = strcmp(common, "episode_return") == 0 || strcmp(common, "return") == 0;
  if (is_return && common_sign > 0) return;
  snprintf(selection->return_name, sizeof selection->return_name, "%s%s", common_sign > 0 ? "" : "-",
           is_return ? "return" : common);
}

/* Applies the conditions. said: receives the part of the filter about tags and pins. */
static int filter_runs(StoreDatabase *database, const char *sweep, Condition *conditions, const char *const *where,
                       size_t where_count, AnalysisSelection *selection, CoreText *said) {
  size_t count = 0; /* number of conditions on settings */
  for (size_t i = 0; i < where_count; i++)
    if (!analysis_is_annotation(where[i])) TRY(condition_parse(where[i], &conditions[count++]));

  if (sweep) TRY(analysis_sweeps_check(database, sweep));
  TRY(read_runs(database, sweep, selection));
  TRY(analysis_parents_name(database, selection));
  if (selection->count == 0) {
    return core_error(CORE_FAIL, "the database contains no runs%s yet; start some with `sweep submit FILE.ini`",
                      sweep ? " of this sweep" : "");
  }

  TRY(analysis_filter_annotated(database, where, where_count, selection, said));
  find_extremes(selection, conditions, count);
  if (count > 0) TRY(apply_conditions(selection, conditions, count));

  TRY(analysis_budget_read_batches(database, selection));
  name_returns(selection);
  selection->filter = describe_filter(sweep, conditions, count, core_text_string(said));
  return CORE_OK;
}

int analysis_select_with_copies(StoreDatabase *database, const char *sweep, const char *const *where,
                                size_t where_count, AnalysisSelection *selection) {
  memset(selection, 0, sizeof *selection);
  selection->sql = runs_sql;
  selection->configs = analysis_configs_create();
  selection->asked_sweeps = sweep ? core_text_duplicate(sweep) : NULL;
  Condition *conditions = core_memory_zero_allocate(where_count + 1, sizeof *conditions);
  CoreText said = {0};
  int code = filter_runs(database, sweep, conditions, where, where_count, selection, &said);
  core_text_free(&said);
  for (size_t i = 0; i < where_count; i++) free(conditions[i].value);
  free(conditions);
  if (code != CORE_OK) analysis_selection_free(selection);
  return code;
}

int analysis_select_runs(StoreDatabase *database, const char *sweep, const char *const *where, size_t where_count,
                         AnalysisSelection *selection) {
  TRY(analysis_select_with_copies(database, sweep, where, where_count, selection));
  drop_copies(selection);
  return CORE_OK;
}

/* Lists the distinct other values of the condition's key, in the order of the runs; free each and the array. */
static char **other_values(const AnalysisSelection *selection, const Condition *common, size_t *count) {
  char **values = core_memory_allocate((selection->count + 1) * sizeof *values);
  CoreText text = {0};
  *count = 0;
  for (size_t r = 0; r < selection->count; r++) {
    const char *value = analysis_key_value(&selection->runs[r].config, common->row, &text);
    bool known = !*value || strcmp(value, common->value) == 0; /* unused by the algorithm: in no group */
    for (size_t k = 0; k < *count && !known; k++) known = strcmp(values[k], value) == 0;
    if (!known) values[(*count)++] = core_text_duplicate(value);
  }
  core_text_free(&text);
  return values;
}

/* Changes a setting of one run. */
static void set_value(AnalysisSelection *selection, AnalysisConfig *config, const char *name, const char *value) {
  CoreConfig changed = analysis_config_whole(config);
  core_config_set(&changed, name, value);
  *config = (AnalysisConfig){analysis_configs_share(selection->configs, &changed), changed.train.seed};
}

int analysis_selection_repeat(AnalysisSelection *selection, const char *pair) {
  Condition common = {0};
  CoreText text = {0};
  size_t runs = selection->count, count;
  TRY(condition_parse(pair, &common));

  char **values = other_values(selection, &common, &count);
  if (count == 0) runs = 0;
  for (size_t r = 0; r < runs; r++) {
    if (strcmp(analysis_key_value(&selection->runs[r].config, common.row, &text), common.value) != 0) continue;

    /* The run takes the first of the values, a copy of it each other one. */
    set_value(selection, &selection->runs[r].config, common.row->name, values[0]);
    for (size_t v = 1; v < count; v++) {
      selection->runs = core_memory_resize(selection->runs, (selection->count + 1) * sizeof *selection->runs);
      AnalysisRun *added = &selection->runs[selection->count++];
      *added = selection->runs[r];
      set_value(selection, &added->config, common.row->name, values[v]);
      selection->repeats++;
    }
  }

  for (size_t v = 0; v < count; v++) free(values[v]);
  free(values);
  core_text_free(&text);
  free(common.value);
  return CORE_OK;
}

void analysis_selection_free(AnalysisSelection *selection) {
  free(selection->runs);
  analysis_configs_destroy(&selection->configs);
  free(selection->copy);
  analysis_codes_free(selection);
  free(selection->filter);
  for (size_t s = 0; s < selection->sweeps; s++) free(selection->sweep[s]);
  free(selection->sweep);
  free(selection->asked_sweeps);
  memset(selection, 0, sizeof *selection);
}
