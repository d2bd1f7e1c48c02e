/* Parents and their children (switches.h). */
#include "analysis/claims/switches.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

size_t *analysis_cells_units(const AnalysisTable *table, const AnalysisCells *cells) {
  size_t *unit = core_memory_allocate((cells->count + 1) * sizeof *unit);
  for (size_t i = 0; i < cells->count; i++) {
    const AnalysisRun *run = &table->selection->runs[cells->run[i]];
    unit[i] = (size_t)run->config.train.seed;
    for (size_t r = 0; run->parent[0] && r < table->selection->count; r++)
      if (strcmp(table->selection->runs[r].id, run->parent) == 0) unit[i] = SIZE_MAX - r;
  }
  return unit;
}

void analysis_cells_merge_children(const AnalysisTable *table, AnalysisCells *cells) {
  const AnalysisRun *runs = table->selection->runs;
  size_t kept = 0;
  for (size_t c = 0, begin = 0, end; c < cells->cells; c++, begin = end) {
    const size_t first = kept;
    end = cells->first[c + 1];
    for (size_t i = begin; i < end; i++) {
      const char *parent = runs[cells->run[i]].parent;
      double score = 0, x = 0, n = 0;
      bool again = false;
      for (size_t k = begin; k < end; k++) {
        if (k != i && (!parent[0] || strcmp(runs[cells->run[k]].parent, parent) != 0)) continue;
        again = again || k < i;
        score += cells->score[k];
        x += cells->x[k];
        n++;
      }
      if (again) continue; /* its first sibling stands for it */
      cells->run[kept] = cells->run[i];
      cells->score[kept] = score / n;
      cells->x[kept++] = x / n;
    }
    cells->first[c] = first;
  }
  cells->first[cells->cells] = cells->count = kept;
}

/* Finds the place of the run of that id, or of its copy, in the cells' list; SIZE_MAX: it is not there. */
static size_t find_run(const AnalysisTable *table, const AnalysisCells *cells, const char *id) {
  const AnalysisSelection *selection = table->selection;
  size_t run = 0;
  while (run < selection->count && strcmp(selection->runs[run].id, id) != 0) run++;
  if (run == selection->count) return SIZE_MAX;
  for (size_t i = 0; i < cells->count; i++)
    if (cells->run[i] == cells->same_as[run]) return i;
  return SIZE_MAX;
}

/* The cell of the run in place `run` of the list. */
static size_t cell_at(const AnalysisCells *cells, size_t run) {
  size_t cell = 0;
  while (cells->first[cell + 1] <= run) cell++;
  return cell;
}

/* Whom the run in place `child` of cell c began from, where its key was raised (sign 1) or lowered; else SIZE_MAX. */
static size_t parent_of(const AnalysisTable *table, const AnalysisCells *cells, size_t c, size_t child, int sign) {
  const char *id = table->selection->runs[cells->run[child]].parent;
  const size_t p = id[0] ? find_run(table, cells, id) : SIZE_MAX;
  return p != SIZE_MAX && sign * (cells->key[c] - cells->key[cell_at(cells, p)]) > 0 ? p : SIZE_MAX;
}

/* Tests the means over each parent's children of their scores less its own, or with is_gain of their x. */
static AnalysisTested test_changes(const AnalysisTable *table, const AnalysisCells *cells, int sign, bool is_gain,
                                   size_t *parents) {
  double *sum = core_memory_zero_allocate(2 * cells->count + 2, sizeof *sum), *children = sum + cells->count + 1;
  for (size_t c = 0; c < cells->cells; c++) {
    for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++) {
      const size_t p = parent_of(table, cells, c, i, sign);
      if (p == SIZE_MAX) continue;
      sum[p] += is_gain ? cells->x[i] : cells->score[i] - cells->score[p];
      children[p]++;
    }
  }
  *parents = 0;
  for (size_t p = 0; p < cells->count; p++)
    if (children[p] > 0) sum[(*parents)++] = sum[p] / children[p];
  AnalysisTested tested = ANALYSIS_NOT_TESTED;
  if (*parents >= ANALYSIS_SEEDS_MIN) {
    size_t first[2] = {0, *parents}, stratum[2] = {0, 1};
    const AnalysisCells changes = {.score = sum, .count = *parents, .first = first, .stratum = stratum, .cells = 1,
                                   .strata = 1};
    size_t *unit = core_memory_allocate(*parents * sizeof *unit);
    for (size_t p = 0; p < *parents; p++) unit[p] = p;
    tested = analysis_test_mean(&changes, unit, 0, sign);
    free(unit);
  }
  free(sum);
  return tested;
}

AnalysisTested analysis_test_switch_up(const AnalysisTable *table, const AnalysisCells *cells, size_t *parents) {
  AnalysisTested tested = test_changes(table, cells, 1, false, parents);
  const AnalysisTested at_once = test_changes(table, cells, 1, true, parents);
  if (isnan(tested.p_for)) return tested;
  tested.p_for = fmax(tested.p_for, at_once.p_for);
  tested.p_against = fmin(1, 2 * fmin(tested.p_against, at_once.p_against));
  return tested;
}

/* ---- as from the start ------------------------------------------------------------------------------------------- */

/* Parents with their raised (lowered) children, and the cells of runs that had the children's key from the start. */
typedef struct Raised {
  double *excess;      /* [count] of a parent: its children's scores over the mean of those runs, summed */
  double *children;    /* [count] */
  double *share;       /* [cells] of those runs' means in the sum over parents */
  size_t parents;
} Raised;

/* The cell of runs with this key that began on their own; SIZE_MAX: none. */
static size_t from_start(const AnalysisTable *table, const AnalysisCells *cells, double key) {
  for (size_t c = 0; c < cells->cells; c++)
    if (cells->key[c] == key && !table->selection->runs[cells->run[cells->first[c]]].parent[0]) return c;
  return SIZE_MAX;
}

static void add_children(const AnalysisTable *table, const AnalysisCells *cells, int sign, Raised *raised,
                         bool shares) {
  for (size_t c = 0; c < cells->cells; c++) {
    const size_t fresh = from_start(table, cells, cells->key[c]);
    if (fresh == SIZE_MAX || fresh == c) continue;
    const double theirs = analysis_cells_mean(cells, cells->score, fresh);
    for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++) {
      const size_t p = parent_of(table, cells, c, i, sign);
      if (p == SIZE_MAX) continue;
      if (shares) raised->share[fresh] += 1 / raised->children[p];
      else raised->excess[p] += cells->score[i] - theirs, raised->children[p]++;
    }
  }
}

/* Cells of the contrast: parents by their own cells, each the mean over its children, then the runs from the start as
 * deviations from their means, which stand in the parents' numbers already. false: too few of either. */
static bool contrast_of(const AnalysisCells *cells, const Raised *raised, AnalysisContrast *contrast) {
  const size_t most = 2 * cells->cells;
  double *score = core_memory_allocate((2 * cells->count + 1) * sizeof *score);
  double *weight = core_memory_zero_allocate(most + 1, sizeof *weight);
  size_t *first = core_memory_zero_allocate(most + 1, sizeof *first);
  AnalysisCells made = {.score = score, .first = first};
  bool enough = raised->parents > 0;
  for (size_t c = 0; c < cells->cells; c++, made.cells++) {
    for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++)
      if (raised->children[i] > 0) score[made.count++] = raised->excess[i] / raised->children[i];
    first[made.cells + 1] = made.count;
    const size_t n = made.count - first[made.cells];
    weight[made.cells] = (double)n / (double)raised->parents;
    enough = enough && (n == 0 || n >= ANALYSIS_SEEDS_MIN);
  }
  for (size_t c = 0; c < cells->cells; c++, made.cells++) {
    const double mean = analysis_cells_mean(cells, cells->score, c);
    for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++) score[made.count++] = cells->score[i] - mean;
    first[made.cells + 1] = made.count;
    weight[made.cells] = -raised->share[c] / (double)raised->parents;
    enough = enough && (raised->share[c] == 0 || made.count - first[made.cells] >= ANALYSIS_SEEDS_MIN);
  }
  if (enough) *contrast = analysis_contrast(&made, weight);
  free(score);
  free(weight);
  free(first);
  return enough;
}

AnalysisTested analysis_test_switch_same(const AnalysisTable *table, const AnalysisCells *cells, int sign,
                                         double margin, size_t *parents) {
  AnalysisTested tested = ANALYSIS_NOT_TESTED;
  AnalysisContrast contrast;
  double *memory = core_memory_zero_allocate(2 * cells->count + cells->cells + 1, sizeof *memory);
  Raised raised = {memory, memory + cells->count, memory + 2 * cells->count, 0};
  add_children(table, cells, sign, &raised, false);
  add_children(table, cells, sign, &raised, true);
  for (size_t i = 0; i < cells->count; i++) raised.parents += raised.children[i] > 0;
  *parents = raised.parents;
  if (contrast_of(cells, &raised, &contrast)) {
    tested.p_for = fmax(analysis_contrast_above(contrast, -margin), analysis_contrast_below(contrast, margin));
    tested.p_against = fmin(analysis_contrast_below(contrast, -margin), analysis_contrast_above(contrast, margin));
    tested.interval = analysis_contrast_interval(contrast, cells->count);
    tested.strata = 1;
  }
  free(memory);
  return tested;
}

AnalysisTested analysis_test_switch_down(const AnalysisTable *table, const AnalysisCells *cells, double margin,
                                         size_t *parents) {
  const AnalysisTested same = analysis_test_switch_same(table, cells, -1, margin, parents);
  AnalysisTested tested = test_changes(table, cells, -1, false, parents);
  if (isnan(tested.p_for) || isnan(same.p_for)) return ANALYSIS_NOT_TESTED;
  tested.p_for = fmax(tested.p_for, same.p_for);
  tested.p_against = fmin(1, 2 * fmin(tested.p_against, same.p_against));
  return tested;
}
