/* The test of each stratum, and their agreement (tests.h). */
#include "analysis/claims/tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/allowance.h"
#include "analysis/claims/switches.h"
#include "core/memory.h"

/* ---- parts of the strata ----------------------------------------------------------------------------------------- */

/* Returns the index of the first run of a stratum, and that run. */
static size_t index_of(const AnalysisCells *cells, size_t s) { return cells->run[cells->first[cells->stratum[s]]]; }

static const AnalysisRun *run_of(const AnalysisTable *table, const AnalysisCells *cells, size_t s) {
  return &table->selection->runs[index_of(cells, s)];
}

/* Whether a setting may differ within a stratum: one of the claim's keys or free settings, or the seed. */
static bool is_free(const AnalysisClaim *claim, const CoreConfigRow *row) {
  const char *const lists[] = {claim->free_settings, claim->key, claim->second, "train.seed"};
  const size_t length = strlen(row->name);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    const char *found = lists[i];
    for (; (found = strstr(found, row->name)); found += length) {
      const bool starts = found == lists[i] || strchr(",-", found[-1]) != NULL;
      if (starts && (found[length] == '\0' || strchr(",:", found[length]))) return true;
    }
  }
  return false;
}

/* Whether two strata are parts of one comparison: those of switches that differ only in the checkpoint. */
static bool is_same_comparison(const AnalysisRun *a, const AnalysisRun *b, const AnalysisClaim *claim) {
  const bool switches = analysis_test_info(claim->test)->kind == ANALYSIS_OF_SWITCH;
  return switches && analysis_switches_share_task(a, b, claim->key);
}

/* Whether two strata learn the same task, however it is run. */
static bool is_same_task(const AnalysisRun *a, const AnalysisRun *b, const AnalysisClaim *claim) {
  return core_config_is_same_task(a->config.shared, b->config.shared);
}

typedef bool (*IsSame)(const AnalysisRun *a, const AnalysisRun *b, const AnalysisClaim *claim);

/* Sets part[strata], equal for strata that are the same, and returns the number of parts. */
static size_t number_parts(const AnalysisTable *table, const AnalysisCells *cells, const AnalysisClaim *claim,
                           IsSame is_same, size_t *part) {
  size_t parts = 0;
  for (size_t s = 0; s < cells->strata; s++) {
    part[s] = parts;
    for (size_t o = 0; o < s && part[s] == parts; o++)
      if (is_same(run_of(table, cells, s), run_of(table, cells, o), claim)) part[s] = part[o];
    parts += part[s] == parts;
  }
  return parts;
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

/* Whether strata differ in a setting that a label names. */
static bool differ_in(const AnalysisTable *table, const AnalysisCells *cells, const AnalysisClaim *claim, size_t s,
                      size_t o, size_t i) {
  size_t rows;
  const CoreConfigRow *row = &core_config_rows(&rows)[i];
  if (!row->identity || is_free(claim, row) || strcmp(row->section, "init") == 0) return false;
  return analysis_table_hash(table, index_of(cells, s), i) != analysis_table_hash(table, index_of(cells, o), i);
}

/* Writes the settings in which stratum s differs from the others, "task=HalfCheetah-v4, minibatches=5", and the
 * transitions per iteration if another one differs in nothing else. */
static void describe(const AnalysisTable *table, const AnalysisCells *cells, const AnalysisClaim *claim, size_t s,
                     char *label, size_t capacity) {
  size_t rows;
  const CoreConfigRow *row = core_config_rows(&rows);
  CoreText text = {0}, list = {0};
  bool *is_unlike = core_memory_zero_allocate(cells->strata, sizeof *is_unlike);
  const int64_t transitions = run_of(table, cells, s)->transitions_per_iteration;

  for (size_t i = 0; i < rows && i < table->rows; i++) {
    bool is_named = false;
    for (size_t o = 0; o < cells->strata; o++) {
      const bool differs = differ_in(table, cells, claim, s, o, i);
      is_unlike[o] = is_unlike[o] || differs;
      is_named = is_named || differs;
    }
    if (!is_named) continue;
    core_text_appendf(&list, "%s%s=%s", list.length ? ", " : "", analysis_key_name(&row[i]),
                      analysis_key_own_value(&run_of(table, cells, s)->config, &row[i], &text));
  }

  bool is_unique = list.length > 0;
  for (size_t o = 0; o < cells->strata; o++)
    is_unique = is_unique && (is_unlike[o] || run_of(table, cells, o)->transitions_per_iteration == transitions);
  if (!is_unique)
    core_text_appendf(&list, "%s%lld transitions per iteration", list.length ? ", " : "", (long long)transitions);

  snprintf(label, capacity, "%s", core_text_string(&list));
  core_text_free(&text);
  core_text_free(&list);
  free(is_unlike);
}

/* ---- selections of strata ---------------------------------------------------------------------------------------- */

/* Copies the strata with keep[strata]; free with selection_free. */
static AnalysisCells selection_create(const AnalysisCells *cells, const bool *keep) {
  const size_t runs = cells->count + 1, capacity = cells->cells + 1;
  AnalysisCells selected = *cells;

  selected.run = core_memory_allocate(runs * sizeof *selected.run);
  selected.score = core_memory_allocate(2 * runs * sizeof *selected.score);
  selected.x = selected.score + runs;
  selected.first = core_memory_zero_allocate(capacity, sizeof *selected.first);
  selected.key = core_memory_allocate(2 * capacity * sizeof *selected.key);
  selected.second = selected.key + capacity;
  selected.stratum = core_memory_zero_allocate(cells->strata + 1, sizeof *selected.stratum);
  if (cells->allowance) selected.allowance = core_memory_zero_allocate(capacity, sizeof *selected.allowance);
  selected.count = selected.cells = selected.strata = 0;

  for (size_t s = 0; s < cells->strata; s++) {
    if (!keep[s]) continue;
    selected.stratum[selected.strata++] = selected.cells;
    for (size_t c = cells->stratum[s]; c < cells->stratum[s + 1]; c++) {
      if (cells->allowance) selected.allowance[selected.cells] = cells->allowance[c];
      selected.key[selected.cells] = cells->key[c];
      selected.second[selected.cells] = cells->second[c];
      selected.first[selected.cells++] = selected.count;

      for (size_t i = cells->first[c]; i < cells->first[c + 1]; i++) {
        selected.run[selected.count] = cells->run[i];
        selected.score[selected.count] = cells->score[i];
        selected.x[selected.count++] = cells->x[i];
      }
    }
  }

  selected.first[selected.cells] = selected.count;
  selected.stratum[selected.strata] = selected.cells;
  return selected;
}

static void selection_free(AnalysisCells *selected) {
  free(selected->run);
  free(selected->score);
  free(selected->first);
  free(selected->key);
  free(selected->stratum);
  free(selected->allowance);
}

/* ---- agreement --------------------------------------------------------------------------------------------------- */

/* Strata of a claim in parts, of which one is tested alone or left out. */
typedef struct Parts {
  const AnalysisTable *table;
  const AnalysisCells *cells;
  size_t *part;   /* [strata] */
  bool *tested;   /* [strata] parts that can be tested alone */
  bool *keep;     /* [strata] scratch */
} Parts;

/* Runs the test on one part, or on the tested others. */
static AnalysisTestResult test_selection(const Parts *p, const AnalysisClaimResult *f, size_t part, bool alone) {
  size_t seeds = 0;
  for (size_t s = 0; s < p->cells->strata; s++)
    p->keep[s] = alone ? p->part[s] == part : p->part[s] != part && p->tested[p->part[s]];
  AnalysisCells selected = selection_create(p->cells, p->keep);
  const AnalysisTestResult result =
    analysis_test_run(f->claim->test, p->table, &selected, f->margin, &seeds);
  selection_free(&selected);
  return result;
}

/* Raises p_for and p_against to those of the partial conjunction of parts, and sets disagree if they do. number[count]:
 * part of each result. */
static void compare_parts(const Parts *p, const AnalysisTaskResult *result, const size_t *number, size_t count,
                          AnalysisClaimResult *f) {
  size_t most_for = 0, most_against = 0;
  for (size_t i = 1; i < count; i++) {
    if (result[i].p_for < result[most_for].p_for) most_for = i;
    if (result[i].p_against < result[most_against].p_against) most_against = i;
  }
  const double level = f->level / (double)count;
  f->disagree = f->disagree || (result[most_for].p_for <= level && result[most_against].p_against <= level);
  f->p_for = fmax(f->p_for, test_selection(p, f, number[most_for], false).p_for);
  f->p_against = fmax(f->p_against, test_selection(p, f, number[most_against], false).p_against);
}

/* Tests each of `parts` parts alone, into result[parts], and compares them. Returns the number of results; 0: fewer
 * than two. */
static size_t test_parts(const Parts *p, size_t parts, AnalysisTaskResult *result, AnalysisClaimResult *f) {
  size_t *number = core_memory_allocate(parts * sizeof *number), count = 0;
  memset(p->tested, false, parts);

  for (size_t k = 0; k < parts; k++) {
    const AnalysisTestResult one = test_selection(p, f, k, true);
    if (isnan(one.p_for)) continue;
    size_t s = 0;
    while (p->part[s] != k) s++;
    p->tested[k] = true;
    number[count] = k;
    result[count] = (AnalysisTaskResult){.interval = one.interval, .p_for = one.p_for, .p_against = one.p_against};
    describe(p->table, p->cells, f->claim, s, result[count].label, sizeof result[count].label);
    count++;
  }

  if (count > 1) compare_parts(p, result, number, count, f);
  free(number);
  return count > 1 ? count : 0;
}

void analysis_strata_test(const AnalysisTable *table, const AnalysisCells *cells, AnalysisClaimResult *f) {
  const AnalysisTestResult together = analysis_test_run(f->claim->test, table, cells, f->margin, &f->seeds);
  f->interval = together.interval;
  f->condition = together.condition;
  f->strata = together.strata;
  f->p_for = f->p_together_for = together.p_for;
  f->p_against = f->p_together_against = together.p_against;
  f->disagree = false;
  if (isnan(together.p_for) || cells->strata < 2) return;

  const Parts p = {table, cells, core_memory_allocate(cells->strata * sizeof *p.part),
                   core_memory_allocate(cells->strata * sizeof *p.tested),
                   core_memory_allocate(cells->strata * sizeof *p.keep)};
  AnalysisTaskResult *of_task = core_memory_zero_allocate(cells->strata, sizeof *of_task);
  f->tasks = core_memory_zero_allocate(cells->strata, sizeof *f->tasks);

  const size_t comparisons = number_parts(table, cells, f->claim, is_same_comparison, p.part);
  if (comparisons > 1) f->task_count = test_parts(&p, comparisons, f->tasks, f);
  const size_t tasks = number_parts(table, cells, f->claim, is_same_task, p.part);
  if (tasks > 1 && tasks < comparisons) test_parts(&p, tasks, of_task, f);

  free(of_task);
  free(p.part);
  free(p.tested);
  free(p.keep);
}
