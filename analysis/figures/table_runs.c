/* `analyze table --runs`: one row per run, one column per measure. `sweep submit` calls it to evaluate the trials of a
 * search (sweep/search/wave.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/commands.h"
#include "analysis/figures/figure.h"
#include "analysis/plot/number_text.h"
#include "analysis/runs/codes.h"
#include "analysis/runs/measures.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/terminal.h"

typedef struct Measures {
  AnalysisMeasure list[ANALYSIS_MEASURES_ALL];
  size_t count;
  AnalysisSelection selection;
  AnalysisRunMetrics *measured;
} Measures;

static int read_names(Measures *m, const char *names) {
  CoreText item = {0};
  const char *rest = names, *start;
  size_t columns = 0;
  int code = CORE_OK;
  while (code == CORE_OK && core_ini_next_item(&rest, &item, &start)) {
    if (m->count == ANALYSIS_MEASURES_ALL) code = core_error(CORE_USAGE, "--measure names a measure twice");
    else code = analysis_measure_find(core_text_string(&item), &m->list[m->count++]);
    if (code == CORE_OK && m->list[m->count - 1] >= ANALYSIS_MEASURES && ++columns > ANALYSIS_MEASURE_COLUMNS)
      code = core_error(CORE_USAGE, "--measure: at most %d columns at a time", ANALYSIS_MEASURE_COLUMNS);
  }
  core_text_free(&item);
  return code;
}

/* Finds the run that a duplicate equals bit for bit, whose measures it has. */
static size_t copy_of(const Measures *m, const AnalysisCopy *copy) {
  size_t run = 0;
  while (run < m->selection.count && strcmp(m->selection.runs[run].id, copy->of) != 0) run++;
  return run;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static void print_csv_row(const Measures *m, const char *id, size_t run) {
  CoreText row = {0};
  analysis_csv_field(&row, id);
  for (size_t i = 0; i < m->count; i++) analysis_csv_value(&row, m->measured[run].value[m->list[i]]);
  puts(core_text_string(&row));
  core_text_free(&row);
}

static void print_csv(const Measures *m) {
  printf("run");
  for (size_t i = 0; i < m->count; i++) printf(",%s", analysis_measure_name(m->list[i]));
  printf("\n");
  for (size_t r = 0; r < m->selection.count; r++) print_csv_row(m, m->selection.runs[r].id, r);
  for (size_t c = 0; c < m->selection.copies; c++) {
    const size_t run = copy_of(m, &m->selection.copy[c]);
    if (run < m->selection.count) print_csv_row(m, m->selection.copy[c].id, run);
  }
}

static void print_json(const Measures *m) {
  json_t *rows = json_array();
  for (size_t r = 0; r < m->selection.count; r++) {
    const AnalysisRun *run = &m->selection.runs[r];
    json_t *row = json_pack("{s:s, s:s, s:I, s:b}", "run", run->id, "status", store_status_name(run->status), "seed",
                            (json_int_t)run->config.seed, "ended", m->measured[r].ended);
    for (size_t i = 0; i < m->count; i++) {
      const double value = m->measured[r].value[m->list[i]];
      json_object_set_new(row, analysis_measure_name(m->list[i]), isfinite(value) ? json_real(value) : json_null());
    }
    json_array_append_new(rows, row);
  }
  core_json_print(rows);
}

static void print_table(const Measures *m) {
  const char *headers[ANALYSIS_MEASURES_ALL + 3] = {"run", "status", "seed"};
  for (size_t i = 0; i < m->count; i++) headers[3 + i] = analysis_measure_name(m->list[i]);
  CoreTable *table = core_table_create(headers, 3 + m->count);
  for (size_t r = 0; r < m->selection.count; r++) {
    const AnalysisRun *run = &m->selection.runs[r];
    core_table_cell(table, "%s", run->id);
    core_table_cell(table, "%s", store_status_name(run->status));
    core_table_cell(table, "%lld", (long long)run->config.seed);
    for (size_t i = 0; i < m->count; i++) {
      const double value = m->measured[r].value[m->list[i]];
      if (isnan(value)) core_table_cell(table, "-");
      else core_table_cell(table, "%.4g", value);
    }
  }
  core_table_print(table, stdout);
  core_table_destroy(&table);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static int read_and_print(StoreDatabase *database, const AnalysisRequest *request, double budget, bool csv,
                          Measures *m) {
  TRY(analysis_select_runs(database, request->sweep, request->where.items, request->where.count, &m->selection));
  analysis_codes_warn(&m->selection);
  TRY(analysis_measures_read(database, &m->selection, request->level_set, budget, &m->measured));

  if (request->json) print_json(m);
  else if (csv) print_csv(m);
  else print_table(m);
  return CORE_OK;
}

int analysis_table_runs_print(const char *path, const AnalysisRequest *request, const char *measures, double budget,
                              bool csv) {
  Measures m = {0};
  StoreDatabase *database;
  if (!(budget >= 0)) return core_error(CORE_USAGE, "--budget: expected a number of transitions");
  TRY(analysis_database_open(path, &database)); /* registers the metrics of programs, which are measures */

  int code = read_names(&m, measures);
  if (code == CORE_OK) code = read_and_print(database, request, budget, csv, &m);

  store_database_close(&database);
  free(m.measured);
  analysis_selection_free(&m.selection);
  return code;
}
