/* Makes configurations from the grid when they are needed, in microseconds each, so that nothing large is stored. */
#include "sweep/status/members.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "store/workspace/paths.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/sweep.h"

int sweep_members_read(const char *root, const SweepProgress *progress, SweepMembers *members) {
  SweepIdSet ids = {0};
  *members = (SweepMembers){.root = root, .progress = progress};
  TRY(sweep_common_frozen(root, progress->name, &members->spec));
  const int code = sweep_grid_expand(&members->spec, &members->grid);
  if (code != CORE_OK) {
    sweep_spec_free(&members->spec);
    return code;
  }

  sweep_id_set_add_all(&ids, (const char(*)[CORE_RUN_ID])members->grid.ids, members->grid.runs);
  members->grid_run = core_memory_allocate((progress->runs + 1) * sizeof *members->grid_run);
  members->absent = core_memory_zero_allocate(progress->runs + 1, sizeof *members->absent);
  for (size_t i = 0; i < progress->runs; i++)
    members->absent[i] = !sweep_id_set_find(&ids, progress->run[i].id, &members->grid_run[i]);
  for (size_t i = 0; i < progress->runs; i++)
    if (members->absent[i]) members->grid_run[i] = SIZE_MAX;

  sweep_id_set_free(&ids);
  return CORE_OK;
}

void sweep_members_free(SweepMembers *members) {
  if (!members->grid_run) return;
  sweep_grid_free(&members->grid);
  sweep_spec_free(&members->spec);
  free(members->grid_run);
  free(members->absent);
  free(members->differs);
  *members = (SweepMembers){0};
}

/* ---- settings -------------------------------------------------------------------------------------------------- */

bool sweep_members_config(const SweepMembers *members, size_t index, CoreConfig *config) {
  char path[CORE_PATH_MAX];
  if (!members->grid_run) return false;
  if (members->grid_run[index] != SIZE_MAX) {
    sweep_grid_config(&members->grid, members->grid_run[index], config);
    return true;
  }
  *config = core_config_default();
  const bool is_known =
      store_path_run(members->root, members->progress->run[index].id, "config.ini", path) == CORE_OK &&
      core_files_exists(path) && core_config_read(path, config) == CORE_OK;
  core_error_clear();
  return is_known;
}

/* Finds the settings in which runs differ. Settings outside the run id (threads, checkpoint interval) do not count: an
 * executor may have chosen them. */
static void find_differences(SweepMembers *members) {
  size_t rows;
  const CoreConfigRow *row = core_config_rows(&rows);
  CoreConfig first, other;
  bool is_first = true;
  members->differs = core_memory_zero_allocate(CORE_CONFIG_ROWS_MAX, sizeof *members->differs);
  for (size_t i = 0; i < members->progress->runs; i++) {
    if (!sweep_members_config(members, i, is_first ? &first : &other)) continue;
    for (size_t r = 0; r < rows && !is_first; r++)
      if (row[r].identity && !members->differs[r] && !core_config_value_equals(&first, &other, &row[r]))
        members->differs[r] = true;
    is_first = false;
  }
}

/* Whether the run reads the setting, in a sweep with runs of the trainer and of a program. */
static bool is_read_by_run(const CoreConfig *config, const CoreConfigRow *row) {
  return config->program || row->is_program ? core_config_is_read(config, row) : true;
}

json_t *sweep_members_settings(SweepMembers *members, size_t index) {
  size_t rows;
  const CoreConfigRow *row = core_config_rows(&rows);
  CoreConfig config;
  if (!sweep_members_config(members, index, &config)) return json_null();
  if (!members->differs) find_differences(members);
  json_t *object = json_object();
  for (size_t r = 0; r < rows; r++)
    if (members->differs[r] && is_read_by_run(&config, &row[r]))
      json_object_set_new(object, row[r].name, core_config_setting_json(&config, &row[r]));
  return object;
}

void sweep_members_find_differences(SweepMembers *members) {
  if (members->grid_run && !members->differs) find_differences(members);
}

void sweep_members_add_differences(SweepMembers *members, bool *differs) {
  size_t rows;
  core_config_rows(&rows);
  if (!members->grid_run) return;
  sweep_members_find_differences(members);
  for (size_t r = 0; r < rows; r++) differs[r] |= members->differs[r];
}

void sweep_members_reuse_differences(SweepMembers *members, const SweepMembers *previous) {
  if (!members->grid_run || members->differs || !previous->differs) return;
  members->differs = core_memory_allocate(CORE_CONFIG_ROWS_MAX * sizeof *members->differs);
  memcpy(members->differs, previous->differs, CORE_CONFIG_ROWS_MAX * sizeof *members->differs);
}
