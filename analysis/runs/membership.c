/* Reads the names of sweeps and the membership of each run (membership.h). */
#include "analysis/runs/membership.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "store/database/query.h"

/* Maps ids of runs, and of duplicates that they replace, to indices in the selection. */
typedef struct Known { const char *id; size_t run; } Known;

static int by_id(const void *left, const void *right) {
  return strcmp(((const Known *)left)->id, ((const Known *)right)->id);
}

static Known *sort_ids(const AnalysisSelection *selection, size_t *count) {
  Known *known = core_memory_allocate((selection->count + selection->copies + 1) * sizeof *known);
  *count = 0;
  for (size_t r = 0; r < selection->count; r++) known[(*count)++] = (Known){selection->runs[r].id, r};
  qsort(known, *count, sizeof *known, by_id);
  const size_t runs = *count;
  for (size_t c = 0; c < selection->copies; c++) {
    const Known asked = {selection->copy[c].of, 0};
    const Known *of = bsearch(&asked, known, runs, sizeof *known, by_id);
    if (of) known[(*count)++] = (Known){selection->copy[c].id, of->run};
  }
  qsort(known, *count, sizeof *known, by_id);
  return known;
}

/* Whether a comma-separated list contains this name; NULL contains all. */
static bool has_name(const char *list, const char *name) {
  const size_t length = strlen(name);
  const char *cursor = list;
  while (cursor && *cursor) {
    const size_t word = strcspn(cursor, ",");
    if (word == length && strncmp(cursor, name, length) == 0) return true;
    cursor += word + (cursor[word] == ',');
  }
  return list == NULL;
}

static int read_names(StoreDatabase *database, const char *sweeps, AnalysisMembership *membership) {
  StoreQuery *query = NULL;
  bool row = false;
  int code;
  TRY(store_query_open(database, "SELECT name FROM sweep ORDER BY name", &query));
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const char *name = store_query_text(query, 0);
    if (!has_name(sweeps, name ? name : "")) continue;
    membership->sweep =
      core_memory_resize(membership->sweep, (membership->sweeps + 1) * sizeof *membership->sweep);
    membership->sweep[membership->sweeps++] = core_text_duplicate(name ? name : "");
  }
  store_query_close(&query);
  return code;
}

static int read_members(StoreDatabase *database, const Known *known, size_t count, AnalysisMembership *membership) {
  StoreQuery *query = NULL;
  bool row = false;
  int code;
  TRY(store_query_open(database, "SELECT sweep, run_id FROM sweep_run ORDER BY sweep", &query));

  size_t sweep = 0; /* names and rows have the same order */
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const char *name = store_query_text(query, 0), *id = store_query_text(query, 1);
    if (!name || !id) continue;
    while (sweep < membership->sweeps && strcmp(membership->sweep[sweep], name) < 0) sweep++;
    if (sweep == membership->sweeps || strcmp(membership->sweep[sweep], name) != 0) continue;

    const Known asked = {id, 0};
    const Known *found = bsearch(&asked, known, count, sizeof *known, by_id);
    if (found) membership->member[found->run * membership->sweeps + sweep] = true;
  }

  store_query_close(&query);
  return code;
}

int analysis_membership_read(StoreDatabase *database, const AnalysisSelection *selection,
                             AnalysisMembership *membership) {
  size_t count;
  *membership = (AnalysisMembership){.runs = selection->count};
  TRY(read_names(database, selection->asked_sweeps, membership));
  membership->member = core_memory_zero_allocate(selection->count * membership->sweeps + 1, sizeof(bool));
  Known *known = sort_ids(selection, &count);
  int code = read_members(database, known, count, membership);
  free(known);
  return code;
}

void analysis_membership_free(AnalysisMembership *membership) {
  for (size_t s = 0; s < membership->sweeps; s++) free(membership->sweep[s]);
  free(membership->sweep);
  free(membership->member);
  memset(membership, 0, sizeof *membership);
}
