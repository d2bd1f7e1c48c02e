/* Counts the runs that waves wait for (search_waits.h). */
#include "sweep/status/search_waits.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "sweep/search/wave.h"
#include "sweep/spec/search.h"
#include "sweep/spec/sweep.h"

/* Whether a run counts for the next wave (sweep/search/results.h). */
static bool has_ended(StoreStatus status) {
  return store_status_is_final(status) || status == STORE_FAILED || status == STORE_STOPPED_BY_RULE;
}

/* Counts the runs of a search that have not ended. */
static size_t count_runs(const SweepProgress *progress, const SweepMembers *members, const SweepSearch *search) {
  size_t runs = 0;
  for (size_t i = 0; i < progress->runs && members->grid_run; i++) {
    const SweepSearch *of;
    if (members->grid_run[i] == SIZE_MAX || has_ended(progress->run[i].state.status)) continue;
    const size_t cell = members->grid.places[members->grid_run[i]] % members->grid.cells;
    (void)sweep_grid_cell_trial(&members->grid, cell, &of);
    runs += of == search;
  }
  return runs;
}

static void add(const char *root, const SweepProgress *progress, const SweepMembers *members, const SweepSpec *spec,
                SweepSearchWaits *waits) {
  waits->items = core_memory_zero_allocate(spec->search_count + 1, sizeof *waits->items);
  for (size_t i = 0; i < spec->search_count; i++) {
    const SweepSearch *search = &spec->searches[i];
    if (!sweep_search_is_open(search)) continue;
    SweepSearchWait *wait = &waits->items[waits->count++];
    *wait = (SweepSearchWait){.proposed = search->trials, .trials = (size_t)search->space.trials,
                              .runs = count_runs(progress, members, search)};
    memcpy(wait->name, search->name, sizeof wait->name);
    wait->problem = sweep_wave_problem(root, spec->name, search->name);
  }
}

void sweep_search_waits_find(const char *root, const SweepProgress *progress, const SweepMembers *members,
                             SweepSearchWaits *waits) {
  SweepSpec spec;
  *waits = (SweepSearchWaits){0};
  if (members->grid_run) {
    add(root, progress, members, &members->spec, waits);
  } else if (sweep_common_frozen(root, progress->name, &spec) == CORE_OK) {
    add(root, progress, members, &spec, waits);
    sweep_spec_free(&spec);
  } else {
    core_error_clear();
  }
}

void sweep_search_waits_free(SweepSearchWaits *waits) {
  for (size_t i = 0; i < waits->count; i++) free(waits->items[i].problem);
  free(waits->items);
  *waits = (SweepSearchWaits){0};
}

void sweep_search_waits_draw(const SweepSearchWaits *waits, const SweepProgress *progress, CoreText *text) {
  for (size_t i = 0; i < waits->count; i++) {
    const SweepSearchWait *wait = &waits->items[i];
    core_text_appendf(text, "  search %s: %zu of %zu trials; ", wait->name, wait->proposed, wait->trials);
    if (wait->runs > 0)
      core_text_appendf(text, "the next wave waits for %zu run%s\n", wait->runs, wait->runs == 1 ? "" : "s");
    else if (*wait->problem)
      core_text_appendf(text, "the next wave was not proposed: %s\n", wait->problem);
    else if (progress->queued && progress->executor)
      core_text_append(text, "the next wave is being proposed\n");
    else
      core_text_appendf(text, "the next wave is due; sweep submit %s proposes it\n", progress->name);
  }
}

json_t *sweep_search_waits_json(const SweepSearchWaits *waits) {
  json_t *list = json_array();
  for (size_t i = 0; i < waits->count; i++) {
    const SweepSearchWait *wait = &waits->items[i];
    json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:o}", "search", wait->name, "proposed",
                                          (json_int_t)wait->proposed, "trials", (json_int_t)wait->trials,
                                          "waits_for_runs", (json_int_t)wait->runs, "problem",
                                          *wait->problem ? core_json_text(wait->problem) : json_null()));
  }
  return list;
}
