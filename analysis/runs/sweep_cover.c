/* Greedy cover of configurations by sweeps (sweep_cover.h). */
#include "analysis/runs/sweep_cover.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/runs/membership.h"
#include "core/memory.h"

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
