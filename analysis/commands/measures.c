/* `analyze measures`: one row per run, one column per measure. `sweep submit` calls it to evaluate the trials of a
 * search (sweep/search/wave.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/commands.h"
#include "analysis/plot/csv.h"
#include "analysis/runs/codes.h"
#include "analysis/runs/measures.h"
#include "core/command/options.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/terminal.h"

typedef struct Measures {
  const char *sweep, *level_set, *names;
  double budget;
  CoreOptionList where;
  bool json, csv;
  AnalysisMeasure list[ANALYSIS_MEASURES_ALL];
  size_t count;
  AnalysisSelection selection;
  AnalysisRunMetrics *measured;
} Measures;

static int read_names(Measures *m) {
  CoreText item = {0};
  const char *rest = m->names, *start;
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

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int answer(void *given, const char **operands, size_t count) {
  Measures *m = given;
  StoreDatabase *database;
  if (m->json && m->csv) return core_error(CORE_USAGE, "--json and --csv exclude each other");
  if (!(m->budget >= 0)) return core_error(CORE_USAGE, "--budget: expected a number of transitions");
  TRY(analysis_database_open(analysis_database_path(operands, count), &database));
  int code = read_names(m);
  if (code == CORE_OK) code = analysis_select_runs(database, m->sweep, m->where.items, m->where.count, &m->selection);
  if (code == CORE_OK) analysis_codes_warn(&m->selection);
  if (code == CORE_OK)
    code = analysis_measures_read(database, &m->selection, m->level_set, m->budget, &m->measured);
  if (code == CORE_OK) {
    if (m->json) print_json(m);
    else if (m->csv) print_csv(m);
    else print_table(m);
  }
  store_database_close(&database);
  return code;
}

static const CoreManual manual = {
  .usage = "analyze measures [results.db] [--measure NAME[,NAME...]] [options]",
  .about = "Prints the measures of each run, one row per run and one column per measure. The measures:\n\n"
#define X(name, words, range) "  " #name ": " words "\n"
#include "core/config/measures.def"
#undef X
           "\nFurther measures are the columns of `analyze curves --y` and the metrics of programs, by name: the mean "
           "over the last quarter of the run. Empty, or \"-\": not measured. Only claims have score_at_time.",
  .operands = {"DATABASE"}, .operands_max = 1, .hint = "expected one database, or none for that of the workspace"};

int analysis_measures(int argc, char **argv) {
  Measures m = {.names = "final"};
  const CoreOption table[] = {
    {"measure", 'm', CORE_OPTION_TEXT, &m.names, "NAME[,NAME]", "which (default: final)"},
    {"sweep", 0, CORE_OPTION_TEXT, &m.sweep, "NAME[,NAME]", "only the runs of these sweeps (default: all runs)"},
    {"where", 'w', CORE_OPTION_LIST, &m.where, "KEY=VALUE", "only runs with this setting"},
    {"level-set", 0, CORE_OPTION_TEXT, &m.level_set, "NAME", "evaluation levels (default: train)"},
    {"budget", 'b', CORE_OPTION_REAL, &m.budget, "N", "use only the first N transitions (default: all)"},
    {"json", 0, CORE_OPTION_FLAG, &m.json, NULL, "print JSON"},
    {"csv", 0, CORE_OPTION_FLAG, &m.csv, NULL, "print CSV"},
    {0}};
  const int code = core_options_run(&manual, table, argc, argv, answer, &m);
  free(m.measured);
  analysis_selection_free(&m.selection);
  return code;
}
