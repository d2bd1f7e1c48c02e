/* Resolves the operands NAME [RUN]... (selection.h). */
#include "sweep/control/selection.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "store/workspace/run_name.h"
#include "sweep/cluster/journal.h"

/* Selects a run of this sweep. A short number is an index; anything else is a run's name as in all commands. */
static int select_run(SweepSelection *selection, const char *text) {
  const SweepManifest *manifest = &selection->manifest;
  const char(*ids)[CORE_RUN_ID] = (const char(*)[CORE_RUN_ID])manifest->ids;
  int64_t value;
  size_t index;
  char id[CORE_RUN_ID], scope[SWEEP_NAME + 16];
  const bool is_index = core_text_to_int(text, &value) && value >= 0 && (uint64_t)value < manifest->count;
  snprintf(scope, sizeof scope, "sweep %s", selection->name);

  if (is_index && strlen(text) < STORE_PREFIX_MIN) {
    index = (size_t)value;
  } else if (strchr(text, '/')) {
    TRY(store_run_find(selection->common.root, text, id));
    TRY(store_run_pick(ids, manifest->count, id, scope, &index));
  } else if (store_run_pick(ids, manifest->count, text, scope, &index) != CORE_OK) {
    if (!is_index)
      return core_error_context(CORE_USAGE, "'%.40s': expected an index or an id that sweep status %s --runs lists",
                                text, selection->name);
    index = (size_t)value;
  }
  selection->is_selected[index] = true;
  return CORE_OK;
}

int sweep_selection_make(const char **operands, size_t count, SweepSelection *selection) {
  TRY(sweep_common_open(&selection->common));
  TRY(sweep_common_name(&selection->common, operands[0], selection->name));
  TRY(sweep_manifest_read(selection->common.root, selection->name, &selection->manifest));
  selection->is_selected = core_memory_zero_allocate(selection->manifest.count + 1, sizeof *selection->is_selected);
  selection->is_whole_sweep = count == 1;
  for (size_t i = 1; i < count; i++) TRY(select_run(selection, operands[i]));
  if (selection->is_whole_sweep) {
    for (size_t i = 0; i < selection->manifest.count; i++) selection->is_selected[i] = true;
  }
  selection->was_submitted = sweep_journal_exists(selection->common.root, selection->name);
  return CORE_OK;
}

void sweep_selection_free(SweepSelection *selection) {
  sweep_manifest_free(&selection->manifest);
  free(selection->is_selected);
  selection->is_selected = NULL;
}

json_t *sweep_selection_list_ids(const SweepSelection *selection, const int64_t *indices, size_t count) {
  json_t *ids = json_array();
  for (size_t i = 0; i < count; i++) json_array_append_new(ids, core_json_text(selection->manifest.ids[indices[i]]));
  return ids;
}
