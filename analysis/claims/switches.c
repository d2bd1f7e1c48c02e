/* Tests of runs that switched a setting: parents and their children (switches.h). */
#include "analysis/claims/switches.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/allowance.h"
#include "core/memory.h"

size_t *analysis_cells_units(const AnalysisTable *table, const AnalysisCells *cells) {
  size_t *unit = core_memory_allocate((cells->count + 1) * sizeof *unit);
  for (size_t i = 0; i < cells->count; i++) {
    const AnalysisRun *run = &table->selection->runs[cells->run[i]];
    unit[i] = (size_t)run->config.seed;
    for (size_t r = 0; run->parent[0] && r < table->selection->count; r++)
      if (strcmp(table->selection->runs[r].id, run->parent) == 0) unit[i] = SIZE_MAX - r;
  }
  return unit;
}

void analysis_cells_merge_children(const AnalysisTable *table, AnalysisCells *cells) {
  const AnalysisRun *runs = table->selection->runs;
  size_t kept = 0;
  size_t begin = 0;
  for (size_t c = 0; c < cells->cells; c++) {
    const size_t first = kept, end = cells->first[c + 1];
    for (size_t i = begin; i < end; i++) {
      const char *parent = runs[cells->run[i]].parent;
      double score = 0, x = 0, n = 0;
      bool has_earlier_sibling = false;
      for (size_t k = begin; k < end; k++) {
        if (k != i && (!parent[0] || strcmp(runs[cells->run[k]].parent, parent) != 0)) continue;
        has_earlier_sibling = has_earlier_sibling || k < i;
        score += cells->score[k];
        x += cells->x[k];
        n++;
      }

      if (has_earlier_sibling) continue; /* merged into its first sibling */
      cells->run[kept] = cells->run[i];
      cells->score[kept] = score / n;
      cells->x[kept++] = x / n;
    }
    cells->first[c] = first;
    begin = end;
  }
  cells->first[cells->cells] = cells->count = kept;
}

bool analysis_switches_share_task(const AnalysisRun *a, const AnalysisRun *b, const char *key) {
  const char *const changed[] = {"train.seed", "train.total_steps", key};
  size_t rows;
  const CoreConfigRow *row = core_config_rows(&rows);
  CoreText text = {0}, other = {0};
  bool same = true;

  for (size_t i = 0; i < rows && same; i++) {
    bool skipped = !row[i].identity || strcmp(row[i].section, "init") == 0;
    for (size_t k = 0; k < sizeof changed / sizeof *changed; k++)
      skipped = skipped || strcmp(row[i].name, changed[k]) == 0;
    if (skipped) continue;

    same = strcmp(analysis_key_own_value(&a->config, &row[i], &text),
                  analysis_key_own_value(&b->config, &row[i], &other)) == 0;
  }

  core_text_free(&text);
  core_text_free(&other);
  return same;
}

/* Finds the index in the cells' list of the run with this id, or of its copy; SIZE_MAX: none. */
static size_t find_run(const AnalysisTable *table, const AnalysisCells *cells, const char *id) {
  const AnalysisSelection *selection = table->selection;
  size_t run = 0;
  while (run < selection->count && strcmp(selection->runs[run].id, id) != 0) run++;
  if (run == selection->count) return SIZE_MAX;
  for (size_t i = 0; i < cells->count; i++)
    if (cells->run[i] == cells->same_as[run]) return i;
  return SIZE_MAX;
}

/* Returns the cell of run `run` of the list. */
static size_t find_cell(const AnalysisCells *cells, size_t run) {
  size_t cell = 0;
  while (cells->first[cell + 1] <= run) cell++;
  return cell;
}

/* Returns the parent of run `child` of cell c if the key was raised (sign 1) or lowered (-1), else SIZE_MAX. */
static size_t find_parent(const AnalysisTable *table, const AnalysisCells *cells, size_t c, size_t child, int sign) {
  const char *id = table->selection->runs[cells->run[child]].parent;
  const size_t p = id[0] ? find_run(table, cells, id) : SIZE_MAX;
  return p != SIZE_MAX && sign * (cells->key[c] - cells->key[find_cell(cells, p)]) > 0 ? p : SIZE_MAX;
}

/* Returns the largest allowance for failures among the cells of children, or of parents, of a switch. together: the
 * children of all checkpoints show failures together, since each trains by itself after the switch. */
static double allow_failures(const AnalysisTable *table, const AnalysisCells *cells, int sign, bool children,
                             bool together) {
  double most = 0;
  size_t runs = 0, failed = 0;
  for (size_t c = 0; c < cells->cells && cells->allowance; c++) {
    const size_t p = find_parent(table, cells, c, cells->first[c], sign);
    if (p == SIZE_MAX) continue;
    most = fmax(most, cells->allowance[children ? c : find_cell(cells, p)].failures);
    runs += cells->allowance[c].runs;
    failed += cells->allowance[c].failed;
  }
  return together && failed == 0 && runs >= ANALYSIS_UNSEEN_SWITCHED ? 0 : most;
}

/* Tests the mean changes of each parent's children: their scores minus the parent's, or with is_gain their x. */
static AnalysisTestResult test_changes(const AnalysisTable *table, const AnalysisCells *cells, int sign, bool is_gain,
                                   size_t *parents) {
  double *sum = core_memory_zero_allocate(2 * cells->count + 2, sizeof *sum), *children = sum + cells->count + 1;

  for (size_t c = 0; c < cells->cells; c++) {
    for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++) {
      const size_t p = find_parent(table, cells, c, i, sign);
      if (p == SIZE_MAX) continue;
      sum[p] += is_gain ? cells->x[i] : cells->score[i] - cells->score[p];
      children[p]++;
    }
  }

  *parents = 0;
  for (size_t p = 0; p < cells->count; p++)
    if (children[p] > 0) sum[(*parents)++] = sum[p] / children[p];

  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  if (*parents >= ANALYSIS_SEEDS_MIN) {
    size_t first[2] = {0, *parents}, stratum[2] = {0, 1};
    /* Unseen failures of children lower the mean change; those of parents raise it, but no gain since the switch. */
    AnalysisAllowance allowance = {.failures = allow_failures(table, cells, sign, true, true),
                                   .near_low = is_gain ? 0 : allow_failures(table, cells, sign, false, false)};

    const AnalysisCells changes = {.score = sum, .count = *parents, .first = first, .stratum = stratum, .cells = 1,
                                   .strata = 1, .allowance = &allowance};
    size_t *unit = core_memory_allocate(*parents * sizeof *unit);
    for (size_t p = 0; p < *parents; p++) unit[p] = p;
    result = analysis_test_mean(&changes, unit, 0, sign);
    free(unit);
  }

  free(sum);
  return result;
}

AnalysisTestResult analysis_test_switch_up(const AnalysisTable *table, const AnalysisCells *cells, size_t *parents) {
  AnalysisTestResult result = test_changes(table, cells, 1, false, parents);
  const AnalysisTestResult immediate = test_changes(table, cells, 1, true, parents);
  if (isnan(result.p_for)) return result;
  result.condition = immediate.interval;
  result.p_for = fmax(result.p_for, immediate.p_for);
  result.p_against = fmin(1, 2 * fmin(result.p_against, immediate.p_against));
  return result;
}

/* ---- comparison with runs from the start ------------------------------------------------------------------------- */

/* Parents with their switched children, compared with runs that had the children's key from the start. */
typedef struct Switched {
  double *excess;      /* [count] per parent: sum of its children's scores minus the mean of those runs */
  double *children;    /* [count] per parent: number of children */
  double *share;       /* [cells] weight of those runs' means in the sum over parents */
  size_t parents;
} Switched;

/* Finds the cell of runs without a parent that have the key and the task of cell `child`; SIZE_MAX: none. */
static size_t find_reference(const AnalysisTable *table, const AnalysisCells *cells, size_t child) {
  const AnalysisRun *runs = table->selection->runs;
  for (size_t c = 0; c < cells->cells; c++) {
    const AnalysisRun *one = &runs[cells->run[cells->first[c]]];
    if (cells->key[c] != cells->key[child] || one->parent[0]) continue;
    if (analysis_switches_share_task(one, &runs[cells->run[cells->first[child]]], "")) return c;
  }
  return SIZE_MAX;
}

/* Adds the children's scores; in a second pass (`shares`), the weights of the reference cells. */
static void add_children(const AnalysisTable *table, const AnalysisCells *cells, int sign, Switched *switched,
                         bool shares) {
  for (size_t c = 0; c < cells->cells; c++) {
    const size_t reference = find_reference(table, cells, c);
    if (reference == SIZE_MAX || reference == c) continue;

    const double mean = analysis_cells_mean(cells, cells->score, reference);
    for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++) {
      const size_t p = find_parent(table, cells, c, i, sign);
      if (p == SIZE_MAX) continue;

      if (shares) {
        switched->share[reference] += 1 / switched->children[p];
      } else {
        switched->excess[p] += cells->score[i] - mean;
        switched->children[p]++;
      }
    }
  }
}

/* Computes the contrast. Its cells are first the parents of each cell, each with the mean excess of its children, and
 * then the reference runs as deviations from their means, which the excesses already contain. Returns false if there
 * are too few of either. */
static bool compute_contrast(const AnalysisCells *cells, const Switched *switched, double unseen,
                             AnalysisContrast *contrast) {
  const size_t capacity = 2 * cells->cells;
  double *score = core_memory_allocate((2 * cells->count + 1) * sizeof *score);
  double *weight = core_memory_zero_allocate(capacity + 1, sizeof *weight);
  size_t *first = core_memory_zero_allocate(capacity + 1, sizeof *first);
  AnalysisAllowance *allowance = core_memory_zero_allocate(capacity + 1, sizeof *allowance);
  AnalysisCells contrasted = {.score = score, .first = first, .allowance = allowance};
  bool enough = switched->parents > 0;

  /* The cells of changes, each with its own weight. */
  for (size_t c = 0; c < cells->cells; c++, contrasted.cells++) {
    for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++)
      if (switched->children[i] > 0) score[contrasted.count++] = switched->excess[i] / switched->children[i];
    first[contrasted.cells + 1] = contrasted.count;
    const size_t n = contrasted.count - first[contrasted.cells];
    weight[contrasted.cells] = (double)n / (double)switched->parents;
    allowance[contrasted.cells].failures = unseen;
    enough = enough && (n == 0 || n >= ANALYSIS_SEEDS_MIN);
  }

  /* The reference cells, from which the changes are counted. */
  for (size_t c = 0; c < cells->cells; c++, contrasted.cells++) {
    const double mean = analysis_cells_mean(cells, cells->score, c);
    for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++) score[contrasted.count++] = cells->score[i] - mean;
    first[contrasted.cells + 1] = contrasted.count;
    weight[contrasted.cells] = -switched->share[c] / (double)switched->parents;
    if (cells->allowance) allowance[contrasted.cells] = cells->allowance[c];
    const size_t n = contrasted.count - first[contrasted.cells];
    enough = enough && (switched->share[c] == 0 || n >= ANALYSIS_SEEDS_MIN);
  }

  if (enough) *contrast = analysis_contrast(&contrasted, weight);
  free(score);
  free(weight);
  free(first);
  free(allowance);
  return enough;
}

AnalysisTestResult analysis_test_switch_same(const AnalysisTable *table, const AnalysisCells *cells, int sign,
                                         double margin, size_t *parents) {
  AnalysisTestResult result = ANALYSIS_NOT_TESTED;
  AnalysisContrast contrast;
  double *memory = core_memory_zero_allocate(2 * cells->count + cells->cells + 1, sizeof *memory);
  Switched switched = {.excess = memory, .children = memory + cells->count, .share = memory + 2 * cells->count};

  add_children(table, cells, sign, &switched, false);
  add_children(table, cells, sign, &switched, true);
  for (size_t i = 0; i < cells->count; i++) switched.parents += switched.children[i] > 0;
  *parents = switched.parents;

  if (compute_contrast(cells, &switched, allow_failures(table, cells, sign, true, false), &contrast)) {
    result.p_for = fmax(analysis_contrast_above(contrast, -margin), analysis_contrast_below(contrast, margin));
    result.p_against = fmin(analysis_contrast_below(contrast, -margin), analysis_contrast_above(contrast, margin));
    result.interval = analysis_contrast_interval(contrast, cells->count);
    result.strata = 1;
  }

  free(memory);
  return result;
}

AnalysisTestResult analysis_test_switch_down(const AnalysisTable *table, const AnalysisCells *cells, double margin,
                                         size_t *parents) {
  const AnalysisTestResult same = analysis_test_switch_same(table, cells, -1, margin, parents);
  const AnalysisTestResult fall = test_changes(table, cells, -1, true, parents);
  AnalysisTestResult result = test_changes(table, cells, -1, false, parents);
  if (isnan(result.p_for) || isnan(same.p_for)) return ANALYSIS_NOT_TESTED;
  result.condition = fall.interval;
  result.p_for = fmax(fmax(result.p_for, fall.p_for), same.p_for);
  result.p_against = fmin(1, 3 * fmin(fmin(result.p_against, fall.p_against), same.p_against));
  return result;
}
