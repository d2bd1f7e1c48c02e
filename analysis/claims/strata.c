/* The test of each stratum, and their agreement (tests.h). */
#include "analysis/claims/tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/claims/allowance.h"
#include "analysis/claims/switches.h"
#include "core/memory.h"

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

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

/* Sets task[strata] and returns the number of tasks: one per stratum, except that those of switches which differ only
 * in the checkpoint are one. */
static size_t number_tasks(const AnalysisTable *table, const AnalysisCells *cells, const AnalysisClaim *claim,
                           size_t *task) {
  const bool switches = analysis_test_info(claim->test)->kind == ANALYSIS_OF_SWITCH;
  size_t tasks = 0;
  for (size_t s = 0; s < cells->strata; s++) {
    task[s] = tasks;
    const size_t earlier = switches ? s : 0;
    for (size_t o = 0; o < earlier && task[s] == tasks; o++)
      if (analysis_switches_share_task(run_of(table, cells, s), run_of(table, cells, o), claim->key)) task[s] = task[o];
    tasks += task[s] == tasks;
  }
  return tasks;
}

/* Writes the settings in which stratum s differs from the others: "task=HalfCheetah-v4, minibatches=5". */
static void describe(const AnalysisTable *table, const AnalysisCells *cells, const AnalysisClaim *claim, size_t s,
                     char *label, size_t capacity) {
  size_t rows;
  const CoreConfigRow *row = core_config_rows(&rows);
  CoreText text = {0}, list = {0};

  for (size_t i = 0; i < rows && i < table->rows; i++) {
    bool differs = false;
    for (size_t o = 0; o < cells->strata && !differs; o++)
      differs = analysis_table_hash(table, index_of(cells, s), i) != analysis_table_hash(table, index_of(cells, o), i);
    if (!differs || !row[i].identity || is_free(claim, &row[i]) || strcmp(row[i].section, "init") == 0) continue;

    core_text_appendf(&list, "%s%s=%s", list.length ? ", " : "", analysis_key_name(&row[i]),
                      analysis_key_own_value(&run_of(table, cells, s)->config, &row[i], &text));
  }

  if (list.length == 0)
    core_text_appendf(&list, "%lld transitions per iteration",
                      (long long)run_of(table, cells, s)->transitions_per_iteration);

  snprintf(label, capacity, "%s", core_text_string(&list));
  core_text_free(&text);
  core_text_free(&list);
}

/* ---- parts of the cells ------------------------------------------------------------------------------------------ */

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

/* Strata of a claim by task, and the task that is tested alone or left out. */
typedef struct Tasks {
  const AnalysisTable *table;
  const AnalysisCells *cells;
  const AnalysisClaimResult *f;
  size_t *task;   /* [strata] */
  bool *keep;     /* [strata] scratch */
} Tasks;

/* Runs the test on one task, or on the tested others. tested[tasks]: tasks that can be tested alone. */
static AnalysisTestResult test_selection(const Tasks *t, size_t task, bool alone, const bool *tested) {
  size_t seeds = 0;
  for (size_t s = 0; s < t->cells->strata; s++)
    t->keep[s] = alone ? t->task[s] == task : t->task[s] != task && tested[t->task[s]];
  AnalysisCells selected = selection_create(t->cells, t->keep);
  const AnalysisTestResult result =
    analysis_test_run(t->f->claim->test, t->table, &selected, t->f->margin, &seeds);
  selection_free(&selected);
  return result;
}

/* Sets p_for and p_against to those of the partial conjunction, and disagree. */
static void compare_tasks(const Tasks *t, const bool *tested, AnalysisClaimResult *f, const size_t *number) {
  size_t most_for = 0, most_against = 0;
  for (size_t i = 1; i < f->task_count; i++) {
    if (f->tasks[i].p_for < f->tasks[most_for].p_for) most_for = i;
    if (f->tasks[i].p_against < f->tasks[most_against].p_against) most_against = i;
  }
  const double level = f->level / (double)f->task_count;
  f->disagree = f->tasks[most_for].p_for <= level && f->tasks[most_against].p_against <= level;
  f->p_for = fmax(f->p_for, test_selection(t, number[most_for], false, tested).p_for);
  f->p_against = fmax(f->p_against, test_selection(t, number[most_against], false, tested).p_against);
}

void analysis_strata_test(const AnalysisTable *table, const AnalysisCells *cells, AnalysisClaimResult *f) {
  const AnalysisTestResult together = analysis_test_run(f->claim->test, table, cells, f->margin, &f->seeds);
  f->interval = together.interval;
  f->condition = together.condition;
  f->strata = together.strata;
  f->p_for = f->p_together_for = together.p_for;
  f->p_against = f->p_together_against = together.p_against;
  if (isnan(together.p_for) || cells->strata < 2) return;

  Tasks t = {table, cells, f, core_memory_allocate(cells->strata * sizeof *t.task),
             core_memory_allocate(cells->strata * sizeof *t.keep)};
  const size_t count = number_tasks(table, cells, f->claim, t.task);
  bool *tested = core_memory_zero_allocate(count, sizeof *tested);
  size_t *number = core_memory_allocate(count * sizeof *number);
  f->tasks = core_memory_zero_allocate(count, sizeof *f->tasks);

  const size_t parts = count > 1 ? count : 0;
  for (size_t k = 0; k < parts; k++) {
    const AnalysisTestResult one = test_selection(&t, k, true, tested);
    if (isnan(one.p_for)) continue;

    size_t s = 0;
    while (t.task[s] != k) s++;
    number[f->task_count] = k;
    tested[k] = true;
    AnalysisTaskResult *result = &f->tasks[f->task_count++];
    *result = (AnalysisTaskResult){.interval = one.interval, .p_for = one.p_for, .p_against = one.p_against};
    describe(table, cells, f->claim, s, result->label, sizeof result->label);
  }

  if (f->task_count > 1) compare_tasks(&t, tested, f, number);
  else f->task_count = 0;

  free(number);
  free(tested);
  free(t.task);
  free(t.keep);
}
