/* Checks, prices and prints searches. Their trials are axes of the grid like others (grid.h). */
#include "sweep/plan/searches.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/terminal.h"
#include "core/unicode.h"
#include "sweep/spec/search.h"

/* ---- settings that nothing reads --------------------------------------------------------------------------------- */

static int check_trial(const SweepGrid *grid, const SweepSearch *search, size_t trial, const CoreConfig *config) {
  for (size_t i = 0; i < search->space.count; i++) {
    const CoreSearchAxis *axis = &search->space.axes[i];
    if (search->block.lists[i].values[trial].absent || core_config_is_read(config, axis->row)) continue;
    CoreText why = {0};
    core_config_append_unread_reason(config, axis->row, &why);
    const int code =
        core_ini_error_key(&grid->spec->ini, axis->entry,
                           "[%s] searches %s, which nothing reads in trial %zu: %s; add a condition "
                           "(%s = ... when SETTING = VALUE), or write unread = allow in [sweep]",
                           search->entry->section, axis->row->name, trial, core_text_string(&why), axis->row->name);
    core_text_free(&why);
    return code;
  }
  return CORE_OK;
}

int sweep_searches_check(const SweepGrid *grid) {
  if (grid->spec->unread_allowed || grid->spec->search_count == 0) return CORE_OK;
  for (size_t cell = 0; cell < grid->cells; cell++) {
    const SweepSearch *search;
    const size_t trial = sweep_grid_cell_trial(grid, cell, &search);
    CoreConfig config;
    if (!search) continue;
    sweep_grid_cell_config(grid, cell, 0, &config);
    TRY(check_trial(grid, search, trial, &config));
  }
  return CORE_OK;
}

/* ---- cost -------------------------------------------------------------------------------------------------------- */

SweepPendingTrials sweep_searches_estimate(const SweepGrid *grid, double transitions) {
  SweepPendingTrials pending = {0};
  const double per_run = grid->runs ? transitions / (double)grid->runs : 0;
  for (size_t p = 0; p < grid->part_count; p++) {
    const SweepPart *part = &grid->parts[p];
    if (!part->search || !sweep_search_is_open(part->search)) continue;
    const double remaining = (double)part->search->space.trials - (double)part->search->trials;
    pending.runs += remaining * (double)(part->cells / part->search->trials) * (double)grid->spec->seed_count;
  }
  for (size_t i = 0; i < grid->spec->search_count; i++)
    pending.trials += (size_t)grid->spec->searches[i].space.trials - grid->spec->searches[i].trials;
  pending.transitions = pending.runs * per_run;
  return pending;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static void print_search(const SweepSearch *search) {
  static const char *const headers[] = {"setting", "values"};
  const CoreSearch *space = &search->space;
  CoreTable *table = core_table_create(headers, 2);
  CoreText text = {0}, goals = {0};
  core_unicode_print(stdout, "search %s    %s, %lld trials for %s", search->name,
                     core_search_method_print(space, &text), (long long)space->trials,
                     core_search_goals_print(space, &goals));
  if (core_search_is_adaptive(space))
    printf("; %lld random ones, then waves of %lld; %zu proposed", (long long)space->startup, (long long)space->wave,
           search->trials);
  printf("\n");
  core_text_free(&goals);

  for (size_t i = 0; i < space->count; i++) {
    core_text_clear(&text);
    core_search_axis_print(space, i, &text);
    core_table_cell(table, "%s", space->axes[i].row->name);
    core_table_cell(table, "%s", core_text_string(&text));
  }

  core_table_print(table, stdout);
  printf("\n");
  core_table_destroy(&table);
  core_text_free(&text);
}

void sweep_searches_print(const SweepSpec *spec) {
  for (size_t i = 0; i < spec->search_count; i++) print_search(&spec->searches[i]);
}

static json_t *json_of(const SweepSearch *search) {
  const CoreSearch *space = &search->space;
  json_t *settings = json_object();
  CoreText text = {0};
  for (size_t i = 0; i < space->count; i++) {
    core_text_clear(&text);
    core_search_axis_print(space, i, &text);
    json_object_set_new(settings, space->axes[i].row->name, core_json_text(core_text_string(&text)));
  }
  core_text_clear(&text);
  json_t *goals = json_array();
  for (size_t g = 0; g < space->goal_count; g++)
    json_array_append_new(goals, json_pack("{s:s, s:s}", "goal", space->goals[g].minimize ? "min" : "max", "measure",
                                           space->goals[g].measure));
  json_t *made = json_pack("{s:s, s:s, s:s, s:s, s:o, s:I, s:I, s:o}", "name", search->name, "method",
                           core_search_method_print(space, &text), "goal", space->goals[0].minimize ? "min" : "max",
                           "measure", space->goals[0].measure, "goals", goals, "trials", (json_int_t)space->trials,
                           "proposed", (json_int_t)search->trials, "settings", settings);
  core_text_free(&text);
  return made;
}

json_t *sweep_searches_json(const SweepSpec *spec) {
  json_t *list = json_array();
  for (size_t i = 0; i < spec->search_count; i++) json_array_append_new(list, json_of(&spec->searches[i]));
  return list;
}
