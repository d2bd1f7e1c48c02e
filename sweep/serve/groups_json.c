/* Groups of runs as JSON: their settings, and what runs each of them covers (groups_json.h). */
#include "sweep/serve/groups_json.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "sweep/serve/routes.h"

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
