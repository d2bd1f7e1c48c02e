/* Resolves operands to sweeps and runs (selection.h). */
#include "sweep/control/selection.h"

#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "store/workspace/run_name.h"
#include "sweep/cluster/journal.h"

/* Finds the index of a run of this sweep. A short number is an index; anything else is a run's name as in all
 * commands. */
static int find_run(const SweepSelection *selection, const char *text, size_t *index) {
  const SweepManifest *manifest = &selection->manifest;
  const char(*ids)[CORE_RUN_ID] = (const char(*)[CORE_RUN_ID])manifest->ids;
  int64_t value;
  char id[CORE_RUN_ID], scope[SWEEP_NAME + 16];
  const bool is_index = core_text_to_int(text, &value) && value >= 0 && (uint64_t)value < manifest->count;
  snprintf(scope, sizeof scope, "sweep %s", selection->name);

  if (is_index && strlen(text) < STORE_PREFIX_MIN) {
    *index = (size_t)value;
  } else if (strchr(text, '/')) {
    TRY(store_run_find(selection->root, text, id));
    TRY(store_run_pick(ids, manifest->count, id, scope, index));
  } else if (store_run_pick(ids, manifest->count, text, scope, index) != CORE_OK) {
    if (!is_index)
      return core_error_context(CORE_USAGE, "'%.40s': expected an index or an id that sweep status %s --runs lists",
                                text, selection->name);
    *index = (size_t)value;
  }
  return CORE_OK;
}

/* Fills in the rest of a selection whose manifest is set. */
static void begin(const char *root, const char *name, SweepSelection *selection) {
  const size_t count = selection->manifest.count;
  selection->root = root;
  snprintf(selection->name, sizeof selection->name, "%s", name);
  selection->is_selected = core_memory_zero_allocate(count + 1, sizeof *selection->is_selected);
  selection->is_whole_sweep = true;
  for (size_t i = 0; i < count; i++) selection->is_selected[i] = true;
  selection->was_submitted = *name && sweep_journal_exists(root, name);
}

int sweep_selection_make(const char *root, const char *name, SweepSelection *selection) {
  *selection = (SweepSelection){.root = root};
  TRY(sweep_manifest_read(root, name, &selection->manifest));
  begin(root, name, selection);
  return CORE_OK;
}

int sweep_selection_add_run(SweepSelection *selection, const char *text) {
  size_t index;
  TRY(find_run(selection, text, &index));
  if (selection->is_whole_sweep)
    memset(selection->is_selected, 0, selection->manifest.count * sizeof *selection->is_selected);
  selection->is_whole_sweep = false;
  selection->is_selected[index] = true;
  return CORE_OK;
}

void sweep_selection_free(SweepSelection *selection) {
  sweep_manifest_free(&selection->manifest);
  free(selection->is_selected);
  selection->is_selected = NULL;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

static SweepSelection *append(SweepSelections *selections) {
  selections->items =
    core_memory_resize(selections->items, (selections->count + 1) * sizeof *selections->items);
  SweepSelection *added = &selections->items[selections->count++];
  *added = (SweepSelection){.is_whole_sweep = false};
  return added;
}

/* Selects a run that no sweep has, such as one that a user's trainer has made. */
static void add_single(const char *root, const char *id, SweepSelections *selections) {
  SweepSelection *added = append(selections);
  added->manifest.ids = core_memory_allocate(sizeof *added->manifest.ids);
  memcpy(added->manifest.ids[0], id, CORE_RUN_ID);
  added->manifest.count = 1;
  begin(root, "", added);
  added->is_whole_sweep = false;
}

/* Selects a run in each sweep that has it. */
static int add_run(const char *root, const char *operand, SweepSelections *selections) {
  char id[CORE_RUN_ID], **names;
  size_t count;
  bool is_found = false;
  int code = CORE_OK;
  TRY(store_run_find(root, operand, id));
  TRY(sweep_common_list(root, &names, &count));

  for (size_t i = 0; i < count; i++) {
    SweepSelection *added = append(selections);
    bool has_run = false;
    if (code == CORE_OK)
      code = sweep_common_pass_over(root, names[i], sweep_selection_make(root, names[i], added));
    for (size_t k = 0; k < added->manifest.count && !has_run; k++) has_run = strcmp(added->manifest.ids[k], id) == 0;
    if (has_run) code = sweep_selection_add_run(added, id);
    is_found |= has_run;
    if (!has_run) sweep_selection_free(&selections->items[--selections->count]);
    free(names[i]);
  }

  free(names);
  if (code == CORE_OK && !is_found) add_single(root, id, selections);
  return code;
}

int sweep_selections_make(const SweepCommon *common, const char **operands, size_t count, SweepSelections *selections) {
  SweepSelection *last = NULL; /* sweep that the runs after it belong to */
  *selections = (SweepSelections){0};
  for (size_t i = 0; i < count; i++) {
    const size_t length = strlen(operands[i]);
    const bool is_file = length > 4 && strcmp(operands[i] + length - 4, ".ini") == 0;
    SweepTarget target = {.is_sweep = is_file};
    const bool is_named = is_file || sweep_common_find(common->root, operands[i], &target) == CORE_OK;

    if (is_file) TRY(sweep_common_name(common, operands[i], target.name));
    if (target.is_sweep) {
      TRY(sweep_selection_make(common->root, target.name, append(selections)));
      last = &selections->items[selections->count - 1];
      continue;
    }

    selections->has_runs = true;
    if (last) TRY(sweep_selection_add_run(last, operands[i]));
    else if (is_named) TRY(add_run(common->root, operands[i], selections));
    else return CORE_USAGE;
  }
  return CORE_OK;
}

void sweep_selections_free(SweepSelections *selections) {
  for (size_t i = 0; i < selections->count; i++) sweep_selection_free(&selections->items[i]);
  free(selections->items);
  *selections = (SweepSelections){0};
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

size_t sweep_selection_count(const SweepSelection *selection) {
  size_t count = 0;
  for (size_t i = 0; i < selection->manifest.count; i++) count += selection->is_selected[i];
  return count;
}

size_t sweep_selection_list(const SweepSelection *selection, const bool *flags, json_t *ids) {
  size_t count = 0;
  for (size_t i = 0; i < selection->manifest.count; i++) {
    if (!flags[i]) continue;
    json_array_append_new(ids, core_json_text(selection->manifest.ids[i]));
    count++;
  }
  return count;
}
