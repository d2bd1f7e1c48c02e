/* Implements `sweep plan FILE --power` (plan.h): one simulation per claim and number of seeds, on the grid of the
 * file. */
#include "sweep/plan/plan.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/claims/claims.h"
#include "analysis/claims/power.h"
#include "core/files.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/workspace/paths.h"
#include "sweep/spec/grid.h"

enum { WORLDS = 200 };
static const double POWER = 0.8;
/* Numbers of seeds that are tried. The first one stands for those of the file. */
static const size_t tried[] = {0, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32};
enum { TRIED = sizeof tried / sizeof *tried };

typedef struct Row {
  const AnalysisClaim *claim;
  AnalysisSpread spread;
  double effect;               /* on the scale of comparison; 0: a claim of equality */
  bool is_ratio;               /* whether effect and spread are logarithms */
  AnalysisPower power[TRIED];
  bool is_simulated[TRIED];
} Row;

typedef struct Study {
  const SweepSpec *spec;
  AnalysisPlanned planned[TRIED]; /* runs with tried[k] seeds; empty: not made yet */
  Row *rows;
  size_t count, testable;
} Study;

/* ---- runs -------------------------------------------------------------------------------------------------------- */

/* Makes the runs of the file's grid with seeds 0, 1, ... */
static int make_runs(Study *study, size_t k) {
  SweepSpec spec = *study->spec;
  SweepGrid grid;
  if (study->planned[k].count > 0) return CORE_OK;

  spec.seed_count = k == 0 ? study->spec->seed_count : tried[k];
  spec.seeds = core_memory_allocate((spec.seed_count + 1) * sizeof *spec.seeds);
  for (size_t s = 0; s < spec.seed_count; s++) spec.seeds[s] = (int64_t)s;
  const int code = sweep_grid_expand(&spec, &grid);
  if (code == CORE_OK) {
    for (size_t r = 0; r < grid.runs; r++) {
      CoreConfig config;
      sweep_grid_config(&grid, r, &config);
      analysis_planned_add(&study->planned[k], &config, grid.ids[r]);
    }
    analysis_planned_name_parents(&study->planned[k]);
    sweep_grid_free(&grid);
  }
  free(spec.seeds);
  return code;
}

/* ---- simulation -------------------------------------------------------------------------------------------------- */

static int simulate(Study *study, Row *row, size_t k, size_t claims) {
  if (row->is_simulated[k]) return CORE_OK;
  row->is_simulated[k] = true;
  TRY(make_runs(study, k));
  return analysis_power_simulate(&study->planned[k], row->claim, row->spread, row->effect, claims, WORLDS,
                                 &row->power[k]);
}

/* Sets *has_power to whether k seeds are enough. */
static int judge_seeds(Study *study, Row *row, size_t k, bool together, bool *has_power) {
  TRY(simulate(study, row, k, study->testable));
  *has_power = (together ? row->power[k].together : row->power[k].alone) >= POWER;
  return CORE_OK;
}

/* Finds the smallest tried number of seeds with enough power; 0: none. First in growing steps, since many seeds take
 * long to simulate, then by bisection. */
static int find_seeds(Study *study, Row *row, bool together, size_t *seeds) {
  size_t low = 1, high = 1; /* the answer is in [low, high] */
  bool has_power;
  TRY(judge_seeds(study, row, high, together, &has_power));
  while (!has_power && high < TRIED - 1) {
    low = high + 1;
    high = 2 * high + 1 < TRIED ? 2 * high + 1 : TRIED - 1;
    TRY(judge_seeds(study, row, high, together, &has_power));
  }
  if (!has_power) {
    *seeds = 0;
    return CORE_OK;
  }

  while (low < high) {
    const size_t middle = (low + high) / 2;
    TRY(judge_seeds(study, row, middle, together, &has_power));
    if (has_power) high = middle;
    else low = middle + 1;
  }
  *seeds = tried[high];
  return CORE_OK;
}

/* Selects the claims of the sweep, and removes those that its runs cannot test, whose ids *untestable gets. */
static int select_claims(Study *study, CoreText *untestable) {
  size_t claims;
  const AnalysisClaim *list = analysis_claims_list(&claims);
  study->rows = core_memory_zero_allocate(claims + 1, sizeof *study->rows);
  TRY(make_runs(study, TRIED - 1));

  for (size_t c = 0; c < claims; c++) {
    Row row = {.claim = &list[c], .spread = analysis_spread_assumed(&list[c])};
    AnalysisPower power;
    if (!analysis_data_includes(list[c].data, study->spec->name)) continue;
    row.effect = analysis_power_effect(&list[c], &row.is_ratio);
    const int code =
      analysis_power_simulate(&study->planned[TRIED - 1], row.claim, row.spread, row.effect, 1, 1, &power);
    if (code == CORE_OK && power.tested) study->rows[study->count++] = row;
    else core_text_appendf(untestable, "%s%s", untestable->length ? ", " : "", list[c].id);
    core_error_clear();
  }

  study->testable = study->count;
  if (study->count > 0 || untestable->length > 0) return CORE_OK;
  return core_error(CORE_USAGE, "no claim of the papers uses the sweep %s; analyze claims --list prints them with "
                                "their sweeps", study->spec->name);
}

/* ---- spread ------------------------------------------------------------------------------------------------------ */

static int measure_spreads(StoreDatabase *database, Study *study) {
  AnalysisSelection selection;
  AnalysisRunMetrics *metrics;
  if (analysis_select_with_copies(database, NULL, NULL, 0, &selection) != CORE_OK) {
    core_error_clear(); /* there are no runs */
    return CORE_OK;
  }

  int code = analysis_measures_read(database, &selection, NULL, 0, &metrics);
  if (code == CORE_OK) {
    AnalysisTable table = analysis_table_create(&selection, metrics, NULL);
    for (size_t i = 0; i < study->count && code == CORE_OK; i++)
      code = analysis_spread_measure(&table, study->rows[i].claim, &study->rows[i].spread);
    analysis_table_free(&table);
    free(metrics);
  }
  analysis_selection_free(&selection);
  return code;
}

static int read_spreads(const char *root, Study *study) {
  char path[CORE_PATH_MAX];
  StoreDatabase *database;
  TRY(store_path_database(root, path));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(store_database_open(path, true, &database));
  const int code = measure_spreads(database, study);
  store_database_close(&database);
  return code;
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

static void print_seeds(CoreTable *table, const Row *row, size_t seeds) {
  if (seeds > 0) core_table_cell(table, "%zu", seeds);
  else if (analysis_power_is_over_levers(row->claim->test)) core_table_cell(table, "more hardly help");
  else core_table_cell(table, "> %zu", tried[TRIED - 1]);
}

static void print_row(CoreTable *table, const Row *row, size_t alone, size_t together) {
  const double sd = row->is_ratio ? exp(row->spread.sd) : row->spread.sd;
  core_table_cell(table, "%s", row->claim->id);

  if (row->effect == 0) core_table_cell(table, "none");
  else if (row->is_ratio) core_table_cell(table, "factor %.3g", exp(row->effect));
  else core_table_cell(table, "%.3g", row->effect);

  const char *unit = row->is_ratio ? "factor " : "";
  if (row->spread.runs > 0) core_table_cell(table, "%s%.3g (%zu runs)", unit, sd, row->spread.runs);
  else core_table_cell(table, "%s%.3g (assumed)", unit, sd);

  core_table_cell(table, "%.0f %%", 100 * row->power[0].alone);
  core_table_cell(table, "%.0f %%", 100 * row->power[0].together);
  print_seeds(table, row, alone);
  print_seeds(table, row, together);
}

static json_t *row_json(const Row *row, size_t alone, size_t together) {
  json_t *object = json_object();
  json_object_set_new(object, "claim", json_string(row->claim->id));
  json_object_set_new(object, "test", json_string(row->claim->test_name));
  json_object_set_new(object, "scale", json_string(row->is_ratio ? "ratio" : "difference"));
  json_object_set_new(object, "effect", json_real(row->effect));
  json_object_set_new(object, "sd", json_real(row->spread.sd));
  json_object_set_new(object, "sd_runs", json_integer((json_int_t)row->spread.runs));
  json_object_set_new(object, "power", json_real(row->power[0].alone));
  json_object_set_new(object, "power_together", json_real(row->power[0].together));
  json_object_set_new(object, "seeds_needed", alone ? json_integer((json_int_t)alone) : json_null());
  json_object_set_new(object, "seeds_needed_together", together ? json_integer((json_int_t)together) : json_null());
  json_object_set_new(object, "over_levers", json_boolean(analysis_power_is_over_levers(row->claim->test)));
  return object;
}

static void print_table(const Study *study, const CoreText *untestable, const size_t (*needed)[2]) {
  char power[64], together[64], seeds[64];
  snprintf(power, sizeof power, "power, %zu seeds", study->spec->seed_count);
  snprintf(together, sizeof together, "among %zu", study->count);
  snprintf(seeds, sizeof seeds, "seeds for %.0f %%", 100 * POWER);
  const char *const headers[] = {"claim", "effect", "spread of seeds", power, together, seeds, together};
  CoreTable *table = core_table_create(headers, sizeof headers / sizeof *headers);
  for (size_t i = 0; i < study->count; i++) print_row(table, &study->rows[i], needed[i][0], needed[i][1]);
  core_table_print(table, stdout);
  core_table_destroy(&table);

  printf("\nPower: in how many of %d simulated experiments the test supports a claim that is true by this much.\n"
         "Among %zu: at the middle level of Holm's correction (analyze claims --correct).\n", WORLDS, study->count);
  bool over_levers = false;
  for (size_t i = 0; i < study->count; i++)
    over_levers = over_levers || analysis_power_is_over_levers(study->rows[i].claim->test);
  if (over_levers)
    printf("Claims about DDR: each lever has an effect of its own, with a standard deviation over levers as large as\n"
           "their mean. They are tested by the agreement of levers, so more seeds hardly help.\n");
  if (untestable->length > 0) printf("Not testable with these runs alone: %s\n", core_text_string(untestable));
}

static void print_json(const Study *study, const CoreText *untestable, const size_t (*needed)[2]) {
  json_t *object = json_object(), *claims = json_array();
  for (size_t i = 0; i < study->count; i++)
    json_array_append_new(claims, row_json(&study->rows[i], needed[i][0], needed[i][1]));
  json_object_set_new(object, "sweep", json_string(study->spec->name));
  json_object_set_new(object, "seeds", json_integer((json_int_t)study->spec->seed_count));
  json_object_set_new(object, "worlds", json_integer(WORLDS));
  json_object_set_new(object, "claims", claims);
  json_object_set_new(object, "not_testable", json_string(core_text_string(untestable)));
  core_json_print(object);
}

static int compute(const char *root, Study *study, size_t (*needed)[2]) {
  TRY(read_spreads(root, study));
  for (size_t i = 0; i < study->count; i++) {
    Row *row = &study->rows[i];
    TRY(simulate(study, row, 0, study->testable));
    TRY(find_seeds(study, row, false, &needed[i][0]));
    TRY(find_seeds(study, row, true, &needed[i][1]));
  }
  return CORE_OK;
}

int sweep_power_print(const char *root, const SweepSpec *spec, bool json) {
  Study study = {.spec = spec};
  CoreText untestable = {0};
  size_t(*needed)[2] = NULL;

  int code = select_claims(&study, &untestable);
  if (code == CORE_OK) {
    needed = core_memory_zero_allocate(study.count + 1, sizeof *needed);
    code = compute(root, &study, needed);
  }
  if (code == CORE_OK && json) print_json(&study, &untestable, needed);
  else if (code == CORE_OK) print_table(&study, &untestable, needed);

  for (size_t k = 0; k < TRIED; k++) analysis_planned_free(&study.planned[k]);
  core_text_free(&untestable);
  free(study.rows);
  free(needed);
  return code;
}
