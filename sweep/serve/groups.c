/* Selects and groups runs by the functions of analysis/runs (groups.h). */
#include "sweep/serve/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/runs/lines.h"
#include "analysis/runs/tasks.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "sweep/serve/routes.h"

enum { COST_FACTOR = 20 /* times as long as groups took to make they are used */ };

/* ---- runs -------------------------------------------------------------------------------------------------------- */

typedef struct RunIndex { const char *id; size_t index; } RunIndex;

static int compare_run_ids(const void *a, const void *b) {
  const RunIndex *x = a, *y = b;
  return strcmp(x->id, y->id);
}

static void find_indexes(ServeGroups *groups, const SweepProgress *progress) {
  RunIndex *indexes = core_memory_allocate((progress->runs + 1) * sizeof *indexes);
  for (size_t i = 0; i < progress->runs; i++) indexes[i] = (RunIndex){progress->run[i].id, i};
  qsort(indexes, progress->runs, sizeof *indexes, compare_run_ids);
  groups->index = core_memory_allocate((groups->selection.count + 1) * sizeof *groups->index);
  for (size_t r = 0; r < groups->selection.count; r++) {
    const RunIndex key = {groups->selection.runs[r].id, 0};
    const RunIndex *found = bsearch(&key, indexes, progress->runs, sizeof *indexes, compare_run_ids);
    groups->index[r] = found ? found->index : SIZE_MAX;
  }
  free(indexes);
}

static int count_runs(StoreDatabase *database, const char *sweep, int64_t *runs) {
  StoreQuery *query;
  bool has_row = false;
  *runs = 0;
  TRY(store_query_open(database, "SELECT count(*) FROM sweep_run JOIN run ON run.id = run_id WHERE sweep = ?1"
                       " AND config IS NOT NULL", &query));
  store_query_bind_text(query, 1, sweep);
  const int code = store_query_step(query, &has_row);
  if (code == CORE_OK && has_row) *runs = store_query_int(query, 0);
  store_query_close(&query);
  return code;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static int find_varied(ServeGroups *groups) {
  AnalysisGrouping grouping = {0};
  TRY(analysis_group_runs(&groups->selection, NULL, &grouping));
  groups->varied = core_memory_allocate((grouping.key_count + 1) * sizeof *groups->varied);
  groups->varied_count = grouping.key_count;
  for (size_t k = 0; k < grouping.key_count; k++) groups->varied[k] = grouping.keys[k];
  analysis_grouping_free(&grouping);
  return CORE_OK;
}

/* Explains the last scores by settings, as `analyze curves` does. */
static int limit_lines(ServeGroups *groups, const ServeSweep *sweep) {
  const size_t runs = groups->selection.count, before = groups->grouping.count;
  double *score = core_memory_allocate((runs + 1) * sizeof *score);
  for (size_t r = 0; r < runs; r++)
    score[r] = groups->index[r] == SIZE_MAX ? NAN : sweep->result[groups->index[r]].last;
  const int code = analysis_lines_limit(&groups->selection, &groups->grouping, score);
  groups->is_limited = groups->grouping.count < before;
  free(score);
  return code;
}

static int make_groups(ServeGroups *groups, StoreDatabase *database, const ServeSweep *sweep, const char *keys) {
  const SweepProgress *progress = &sweep->view->progress;
  TRY(analysis_select_runs(database, progress->name, NULL, 0, &groups->selection));
  find_indexes(groups, progress);
  groups->task = core_memory_allocate((groups->selection.count + 1) * sizeof *groups->task);
  groups->tasks = analysis_tasks_find(&groups->selection, groups->task);
  TRY(find_varied(groups));
  TRY(analysis_group_runs(&groups->selection, keys, &groups->grouping));
  return keys ? CORE_OK : limit_lines(groups, sweep);
}

/* Whether results.db has other runs or scores than those that the groups were made from. Groups of a large sweep are
 * used for a while longer, so that making them takes a small share of a CPU. */
static bool is_outdated(const ServeGroups *groups, const ServeSweep *sweep, int64_t runs) {
  const bool is_changed =
    groups->runs != runs || (groups->is_limited && groups->results_version != sweep->results_version);
  return is_changed && core_clock_s() - groups->made_s > COST_FACTOR * groups->cost_s;
}

static int create_groups(StoreDatabase *database, const ServeSweep *sweep, const char *keys, int64_t runs,
                         ServeGroups **result) {
  ServeGroups *groups = core_memory_zero_allocate(1, sizeof *groups);
  const double start = core_clock_s();
  atomic_init(&groups->users, 1);
  const int code = runs > 0 ? make_groups(groups, database, sweep, keys) : CORE_OK;
  groups->runs = runs;
  groups->results_version = sweep->results_version;
  groups->made_s = core_clock_s();
  groups->cost_s = groups->made_s - start;
  *result = groups;
  if (code != CORE_OK) serve_groups_release(result);
  return code;
}

void serve_groups_release(ServeGroups **given) {
  ServeGroups *groups = *given;
  *given = NULL;
  if (!groups || atomic_fetch_sub(&groups->users, 1) > 1) return;
  analysis_grouping_free(&groups->grouping);
  analysis_selection_free(&groups->selection);
  free(groups->index);
  free(groups->task);
  free(groups->varied);
  free(groups);
}

/* ---- groups of several requests ---------------------------------------------------------------------------------- */

static void clear_entry(ServeGroupsEntry *entry) {
  free(entry->key);
  serve_groups_release(&entry->groups);
  *entry = (ServeGroupsEntry){0};
}

/* Selects the entry of the key, or else the least recently used one, emptied. Waits while another request makes the
 * first groups of the key, or while all entries are being made. Under the lock. */
static ServeGroupsEntry *select_entry(ServeGroupsCache *cache, const char *key) {
  for (;;) {
    ServeGroupsEntry *found = NULL, *oldest = NULL;
    for (size_t i = 0; i < SERVE_GROUPS; i++) {
      ServeGroupsEntry *entry = &cache->entry[i];
      if (entry->key && strcmp(entry->key, key) == 0) found = entry;
      if (!entry->is_being_made && (!oldest || entry->used < oldest->used)) oldest = entry;
    }

    if (found && (found->groups || !found->is_being_made)) return found;
    if (!found && oldest) {
      clear_entry(oldest);
      oldest->key = core_text_duplicate(key);
      return oldest;
    }
    pthread_cond_wait(&cache->made, &cache->lock);
  }
}

/* Makes the groups of the entry without the lock. */
static int fill_entry(ServeGroupsCache *cache, ServeGroupsEntry *entry, StoreDatabase *database,
                      const ServeSweep *sweep, const char *keys, int64_t runs) {
  ServeGroups *made;
  entry->is_being_made = true;
  pthread_mutex_unlock(&cache->lock);
  const int code = create_groups(database, sweep, keys, runs, &made);
  pthread_mutex_lock(&cache->lock);
  entry->is_being_made = false;
  if (code == CORE_OK) {
    serve_groups_release(&entry->groups);
    entry->groups = made;
  } else {
    clear_entry(entry);
  }
  pthread_cond_broadcast(&cache->made);
  return code;
}

int serve_groups_acquire(ServeGroupsCache *cache, StoreDatabase *database, const ServeSweep *sweep, const char *keys,
                         ServeGroups **groups) {
  CoreText key = {0};
  int64_t runs = 0;
  *groups = NULL;
  if (!database) return create_groups(NULL, sweep, keys, 0, groups);

  TRY(count_runs(database, sweep->view->progress.name, &runs));
  core_text_appendf(&key, "%s\n%s\n%lld", sweep->view->progress.name, keys ? keys : "",
                    (long long)sweep->label_version);

  pthread_mutex_lock(&cache->lock);
  ServeGroupsEntry *entry = select_entry(cache, core_text_string(&key));
  int code = CORE_OK;
  if (!entry->is_being_made && (!entry->groups || is_outdated(entry->groups, sweep, runs)))
    code = fill_entry(cache, entry, database, sweep, keys, runs);
  if (code == CORE_OK) {
    entry->used = ++cache->uses;
    *groups = entry->groups;
    atomic_fetch_add(&entry->groups->users, 1);
  }
  pthread_mutex_unlock(&cache->lock);
  core_text_free(&key);
  return code;
}

void serve_groups_cache_free(ServeGroupsCache *cache) {
  for (size_t i = 0; i < SERVE_GROUPS; i++) clear_entry(&cache->entry[i]);
  pthread_mutex_destroy(&cache->lock);
  pthread_cond_destroy(&cache->made);
}

enum { COLORED_VALUES_MAX = 500 };

json_t *serve_groups_settings_json(const ServeGroups *groups, const AnalysisConfig *config) {
  json_t *settings = json_object();
  for (size_t k = 0; k < groups->varied_count; k++)
    if (analysis_key_applies(config, groups->varied[k]))
      json_object_set_new(settings, groups->varied[k]->name, analysis_config_setting_json(config, groups->varied[k]));
  return settings;
}

/* Whether the setting is the same in all runs of the group. */
static bool is_common(const ServeGroups *groups, size_t g, const CoreConfigRow *key) {
  const AnalysisConfig *config = groups->grouping.groups[g].config;
  bool is_same = analysis_key_applies(config, key);
  for (size_t r = 0; r < groups->selection.count && is_same; r++) {
    const AnalysisConfig *other = &groups->selection.runs[r].config;
    if (groups->grouping.group_of[r] == g && other->shared != config->shared)
      is_same = analysis_group_compare(other, config, key) == 0;
  }
  return is_same;
}

/* Lists the values of a key in the group's runs: [smallest, largest] of a number, else [value]; null: the key does not
 * apply. A group of several numbers has adjacent ones (analysis_grouping_merge). */
static json_t *covered_json(const ServeGroups *groups, size_t g, const CoreConfigRow *key) {
  const AnalysisConfig *config = groups->grouping.groups[g].config;
  const bool is_number = key->kind == CORE_CONFIG_INT || key->kind == CORE_CONFIG_REAL;
  double low = INFINITY, high = -INFINITY;
  if (!analysis_key_applies(config, key)) return json_null();
  if (!is_number) return json_pack("[o]", analysis_config_setting_json(config, key));

  for (size_t r = 0; r < groups->selection.count; r++) {
    if (groups->grouping.group_of[r] != g) continue;
    const double value = analysis_key_number(&groups->selection.runs[r].config, key);
    low = fmin(low, value);
    high = fmax(high, value);
  }
  return json_pack("[o, o]", core_json_real(low), core_json_real(high));
}

/* Tells what runs belong to the group, by the settings that its lines stand for and, with several families, the
 * algorithm: {"ppo.com": [8, 16], "algo.name": ["ppo"]}. */
static json_t *covers_json(const ServeGroups *groups, size_t g) {
  const AnalysisGrouping *grouping = &groups->grouping;
  const AnalysisFamily *family = &grouping->families[grouping->groups[g].family];
  json_t *covers = json_object();
  for (size_t k = 0; k < family->key_count; k++)
    json_object_set_new(covers, family->keys[k]->name, covered_json(groups, g, family->keys[k]));
  if (grouping->family_count > 1)
    json_object_set_new(covers, "algo.name", covered_json(groups, g, core_config_find("algo.name")));
  return covers;
}

json_t *serve_groups_json(const ServeGroups *groups, const AnalysisPageColors *colors, size_t g) {
  const AnalysisGroup *group = &groups->grouping.groups[g];
  json_t *settings = json_object();
  size_t runs = 0;
  for (size_t k = 0; k < groups->varied_count; k++)
    if (is_common(groups, g, groups->varied[k]))
      json_object_set_new(settings, groups->varied[k]->name,
                          analysis_config_setting_json(group->config, groups->varied[k]));
  for (size_t r = 0; r < groups->selection.count; r++) runs += groups->grouping.group_of[r] == g;
  return json_pack("{s:s, s:I, s:o, s:o, s:o}", "label", group->label ? group->label : "", "runs", (json_int_t)runs,
                   "color", analysis_page_color(colors, g), "settings", settings, "covers", covers_json(groups, g));
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static json_t *keys_json(const CoreConfigRow *const *keys, size_t count) {
  json_t *list = json_array();
  for (size_t k = 0; k < count; k++)
    json_array_append_new(list, json_pack("{s:s, s:s}", "name", keys[k]->name, "label", analysis_key_name(keys[k])));
  return list;
}

static void add_key(const CoreConfigRow **keys, size_t *count, const CoreConfigRow *key) {
  for (size_t k = 0; k < *count; k++)
    if (keys[k] == key) return;
  keys[(*count)++] = key;
}

/* Adds the settings that differ, and those that the lines stand for where these average over the others. */
void serve_groups_add_keys(const ServeGroups *groups, json_t *value) {
  const AnalysisGrouping *grouping = &groups->grouping;
  const CoreConfigRow **lines = core_memory_allocate((groups->varied_count + 1) * sizeof *lines);
  size_t count = 0;
  if (groups->is_limited) {
    for (size_t f = 0; f < grouping->family_count; f++)
      for (size_t k = 0; k < grouping->families[f].key_count; k++)
        add_key(lines, &count, grouping->families[f].keys[k]);
  }
  json_object_set_new(value, "keys", keys_json(groups->varied, groups->varied_count));
  json_object_set_new(value, "lines", keys_json(lines, count));
  json_object_set_new(value, "limited", json_boolean(groups->is_limited));
  free(lines);
}

/* ---- colors of a setting's values -------------------------------------------------------------------------------- */

int serve_api_colors(const ServeContext *context, json_t **value) {
  const ServeSweep *sweep;
  const char *name = serve_request_argument(context->request, "key");
  const CoreConfigRow *key = name ? core_config_find(name) : NULL;
  ServeGroups *groups;
  TRY(serve_argument_sweep(context, &sweep));
  if (!key) return core_error(CORE_USAGE, "key=SETTING: there is no such setting");

  *value = json_array();
  if (serve_reader_open(context->reader) != CORE_OK) core_error_clear(); /* no colors before the first import */
  TRY(serve_groups_acquire(&context->serve->groups, context->reader->database, sweep, key->name, &groups));
  const AnalysisGrouping *grouping = &groups->grouping;
  AnalysisPageColors colors = analysis_page_colors_create(grouping);

  for (size_t g = 0; g < grouping->count && grouping->count <= COLORED_VALUES_MAX; g++) {
    const AnalysisConfig *config = grouping->groups[g].config;
    if (!analysis_key_applies(config, key)) continue;
    json_array_append_new(*value, json_pack("[o, o]", analysis_config_setting_json(config, key),
                                            analysis_page_color(&colors, g)));
  }

  analysis_page_colors_free(&colors);
  serve_groups_release(&groups);
  return CORE_OK;
}
