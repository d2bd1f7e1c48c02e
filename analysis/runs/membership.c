/* Reads the names of sweeps and the membership of each run (membership.h). */
#include "analysis/runs/membership.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
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

/* ---- one sweep for each run -------------------------------------------------------------------------------------- */

typedef struct Member { const char *cell; size_t run; } Member;

/* Runs grouped by configuration: member[first[c]] .. member[first[c + 1] - 1]. */
typedef struct Cells {
  Member *member;
  size_t *first, count;
  bool *covered; /* [count] */
} Cells;

static int by_cell(const void *left, const void *right) {
  const Member *a = left, *b = right;
  const int order = strcmp(a->cell, b->cell);
  return order ? order : (a->run > b->run) - (a->run < b->run);
}

static Cells find_cells(const AnalysisSelection *selection) {
  Cells cells = {.member = core_memory_allocate((selection->count + 1) * sizeof(Member)),
                 .first = core_memory_allocate((selection->count + 1) * sizeof(size_t))};
  for (size_t r = 0; r < selection->count; r++) cells.member[r] = (Member){selection->runs[r].cell, r};
  qsort(cells.member, selection->count, sizeof *cells.member, by_cell);
  for (size_t i = 0; i < selection->count; i++)
    if (i == 0 || strcmp(cells.member[i - 1].cell, cells.member[i].cell) != 0) cells.first[cells.count++] = i;
  cells.first[cells.count] = selection->count;
  cells.covered = core_memory_zero_allocate(cells.count + 1, sizeof *cells.covered);
  return cells;
}

/* Counts the runs of the configuration that are in the sweep. */
static size_t count_members(const Cells *cells, size_t cell, const AnalysisMembership *membership, size_t sweep) {
  size_t members = 0;
  for (size_t i = cells->first[cell]; i < cells->first[cell + 1]; i++)
    members += analysis_membership_has(membership, cells->member[i].run, sweep);
  return members;
}

static bool is_allowed(const char *sweeps, const char *name) {
  const size_t length = strlen(name);
  for (const char *cursor = sweeps; cursor && *cursor; cursor += strcspn(cursor, ","), cursor += *cursor == ',')
    if (strcspn(cursor, ",") == length && memcmp(cursor, name, length) == 0) return true;
  return !sweeps;
}

/* Returns the sweep with the most uncovered configurations, complete ones if there are any; `sweeps`: none. */
static size_t best_sweep(const Cells *cells, const AnalysisMembership *membership, const char *sweeps, bool whole) {
  size_t best = membership->sweeps, most = 0;
  for (size_t s = 0; s < membership->sweeps; s++) {
    size_t covers = 0;
    if (!is_allowed(sweeps, membership->sweep[s])) continue;
    for (size_t c = 0; c < cells->count; c++) {
      if (cells->covered[c]) continue;
      const size_t members = count_members(cells, c, membership, s);
      covers += whole ? members == cells->first[c + 1] - cells->first[c] : members > 0;
    }
    if (covers <= most) continue;
    best = s;
    most = covers;
  }
  return best;
}

/* Adds the sweep, and assigns its configurations to it. */
static void take_sweep(Cells *cells, const AnalysisMembership *membership, size_t sweep, bool whole,
                       AnalysisSelection *selection) {
  selection->sweep = core_memory_resize(selection->sweep, (selection->sweeps + 1) * sizeof *selection->sweep);
  selection->sweep[selection->sweeps++] = core_text_duplicate(membership->sweep[sweep]);
  for (size_t c = 0; c < cells->count; c++) {
    const size_t members = cells->covered[c] ? 0 : count_members(cells, c, membership, sweep);
    if (whole ? members < cells->first[c + 1] - cells->first[c] || members == 0 : members == 0) continue;
    cells->covered[c] = true;
    for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++)
      selection->runs[cells->member[i].run].sweep = selection->sweeps;
  }
}

int analysis_selection_cover(StoreDatabase *database, const char *sweeps, AnalysisSelection *selection) {
  AnalysisMembership membership;
  int code = analysis_membership_read(database, selection, &membership);
  if (code == CORE_OK) {
    Cells cells = find_cells(selection);
    for (int pass = 0; pass < 2; pass++) {
      size_t sweep;
      while ((sweep = best_sweep(&cells, &membership, sweeps, pass == 0)) < membership.sweeps)
        take_sweep(&cells, &membership, sweep, pass == 0, selection);
    }
    free(cells.member);
    free(cells.first);
    free(cells.covered);
  }
  analysis_membership_free(&membership);
  return code;
}

/* ---- names in --sweep -------------------------------------------------------------------------------------------- */

/* Returns CORE_USAGE if the sweep is not one of `names`. */
static int check_sweep(const char *sweep, const char **names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(names[i], sweep) == 0) return CORE_OK;
  const char *near = core_text_nearest(sweep, names, count);
  if (near) return core_error(CORE_USAGE, "no sweep %s here; did you mean %s?", sweep, near);
  CoreText known = {0};
  for (size_t i = 0; i < count; i++) core_text_appendf(&known, "%s%s", i ? ", " : "", names[i]);
  const int code = core_error(CORE_USAGE, "no sweep %s here; there %s: %.400s", sweep, count == 1 ? "is" : "are",
                              count ? core_text_string(&known) : "none");
  core_text_free(&known);
  return code;
}

int analysis_sweeps_check(StoreDatabase *database, const char *sweeps) {
  const char **names = NULL;
  size_t count = 0;
  StoreQuery *query = NULL;
  bool row = true;

  TRY(store_query_open(database, "SELECT name FROM sweep ORDER BY name", &query));
  int code = CORE_OK;

  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    names = core_memory_resize(names, (count + 1) * sizeof *names);
    names[count++] = core_text_duplicate(store_query_text(query, 0) ? store_query_text(query, 0) : "");
  }
  store_query_close(&query);

  char *asked = core_text_duplicate(sweeps), *next_name = asked;
  for (char *name = asked; next_name; name = next_name) {
    if (code != CORE_OK) break;
    next_name = strchr(name, ',');
    if (next_name) *next_name++ = '\0';
    code = check_sweep(name, names, count);
  }

  for (size_t i = 0; i < count; i++) free((char *)names[i]);
  free(names);
  free(asked);
  return code;
}
