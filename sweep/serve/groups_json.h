/* Groups of runs as JSON, for the routes that draw them. */
#ifndef SWEEP_SERVE_GROUPS_JSON_H
#define SWEEP_SERVE_GROUPS_JSON_H
#include "analysis/plot/page.h"
#include "core/json.h"
#include "sweep/serve/groups.h"

/* Makes {"label", "runs", "color", "settings", "covers"} of a group: the settings that its runs share, and what runs it
 * covers. */
json_t *serve_groups_json(const ServeGroups *groups, const AnalysisPageColors *colors, size_t group);
/* Makes {"ppo.com": 8} of the settings in which the runs differ. */
json_t *serve_groups_settings_json(const ServeGroups *groups, const AnalysisConfig *config);
/* Adds "keys", the settings that differ, and "lines", those that the lines stand for where these average over the
 * others. */
void serve_groups_add_keys(const ServeGroups *groups, json_t *value);

#endif
