/* Reads the states and values of a search's runs. Values come from `analyze table --runs`, so that searches and figures
 * use the same ones. */
#include "sweep/search/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/text.h"
#include "store/database/database.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"

enum { GOALS = CORE_SEARCH_GOALS_MAX };

/* ---- values of runs ---------------------------------------------------------------------------------------------- */

/* Values of the goals' measures. */
typedef struct Measured {
  char (*ids)[CORE_RUN_ID];  /* [count] */
  double (*values)[GOALS];   /* [count] NaN: not measured */
  size_t count, goals;
} Measured;

/* Makes the path of analyze: $SWEEP_ANALYZE, or the program next to this one. */
static int analyze_path(char path[CORE_PATH_MAX]) {
  const char *program = getenv("SWEEP_ANALYZE");
  if (program && *program) return core_files_path(path, "%s", program);
  char directory[CORE_PATH_MAX];
  if (core_program_directory(directory) != CORE_OK) return core_files_path(path, "analyze");
  return core_files_path(path, "%s/analyze", directory);
}

static int run_analyze(const char *const *arguments, CoreProcessOutput *output) {
  enum { TIMEOUT_S = 3600 };
  TRY(core_process_run(arguments, NULL, NULL, TIMEOUT_S, output));
  if (output->exit_code == 0) return CORE_OK;
  return core_error(CORE_FAIL, "%s cannot measure the runs: %s", arguments[0],
                    output->timed_out      ? "it took more than an hour"
                    : output->error.length ? core_text_string(&output->error)
                                           : "it was killed");
}

/* Makes room for one more run. */
static void grow(Measured *measured, size_t *capacity) {
  if (measured->count < *capacity) return;
  *capacity = *capacity ? 2 * *capacity : 64;
  measured->ids = core_memory_resize(measured->ids, *capacity * sizeof *measured->ids);
  measured->values = core_memory_resize(measured->values, *capacity * sizeof *measured->values);
}

/* Parses rows of a run and its values after a header; an empty value: not measured. */
static int parse_measured(const char *csv, Measured *measured) {
  CoreText cell = {0};
  size_t capacity = 0;
  int code = CORE_OK;
  bool last = false;

  /* Skip the header. */
  while (*csv && !last) csv = core_text_read_cell(csv, &cell, &last);

  while (*csv) {
    csv = core_text_read_cell(csv, &cell, &last);
    if (last || cell.length != CORE_RUN_ID - 1) {
      code = core_error(CORE_FAIL,
                        "analyze table --runs: expected a run and its value, found '%.80s'; check that it is of "
                        "this version", core_text_string(&cell));
      break;
    }

    grow(measured, &capacity);
    memcpy(measured->ids[measured->count], core_text_string(&cell), CORE_RUN_ID);
    for (size_t g = 0; g < measured->goals; g++) {
      double *value = &measured->values[measured->count][g];
      if (!last) csv = core_text_read_cell(csv, &cell, &last);
      else core_text_clear(&cell);
      if (!core_text_to_real(core_text_string(&cell), value)) *value = NAN;
    }
    measured->count++;
  }

  core_text_free(&cell);
  return code;
}

static int import(const char *root, const char *sweep) {
  char path[CORE_PATH_MAX];
  StoreDatabase *database;
  StoreImport result;
  TRY(store_path_database(root, path));
  TRY(store_database_open(path, false, &database));
  const int code = store_import(database, root, sweep, true, &result);
  store_database_close(&database);
  return code;
}

static void free_measured(Measured *measured) {
  free(measured->ids);
  free(measured->values);
  *measured = (Measured){0};
}

/* Imports new rows of the sweep and reads the measures of its runs. */
static int read_measured(const char *root, const char *sweep, const CoreSearch *space, Measured *measured) {
  char program[CORE_PATH_MAX], database[CORE_PATH_MAX];
  CoreProcessOutput output = {0};
  CoreText measures = {0};
  *measured = (Measured){.goals = space->goal_count};
  TRY(import(root, sweep));
  TRY(analyze_path(program));
  TRY(store_path_database(root, database));

  for (size_t g = 0; g < space->goal_count; g++)
    core_text_appendf(&measures, "%s%s", g ? "," : "", space->goals[g].measure);
  const char *const arguments[] = {program, "table", "--runs", database, "--sweep", sweep, "--measure",
                                   core_text_string(&measures), "--format", "csv", NULL};
  int code = run_analyze(arguments, &output);
  if (code == CORE_OK && output.out.length > 0) code = parse_measured(output.out.data, measured);

  core_process_output_free(&output);
  core_text_free(&measures);
  if (code != CORE_OK) free_measured(measured);
  return code;
}

/* Returns the value of a run; NaN: not measured, or not a run of the sweep. */
static double value_of(const Measured *measured, const char *id, size_t goal) {
  for (size_t i = 0; i < measured->count; i++)
    if (strcmp(measured->ids[i], id) == 0) return measured->values[i][goal];
  return NAN;
}

/* ---- outcomes of trials ------------------------------------------------------------------------------------------ */

/* Results of one trial's runs. */
typedef struct Outcome {
  double sum[GOALS];       /* sums of values, or of their logarithms */
  size_t runs, unmeasured[GOALS];
} Outcome;

static void make_id(const SweepGrid *grid, size_t cell, size_t seed, char id[CORE_RUN_ID]) {
  CoreConfig config;
  sweep_grid_cell_config(grid, cell, seed, &config);
  core_config_id(&config, id);
}

/* Checks the last trials first, which are most likely to be unfinished. */
int sweep_results_check_ended(const char *root, const SweepGrid *grid, const SweepSearch *search, bool *has_ended) {
  *has_ended = true;
  for (size_t cell = grid->cells; cell-- > 0 && *has_ended;) {
    const SweepSearch *cell_search;
    (void)sweep_grid_cell_trial(grid, cell, &cell_search);
    if (cell_search != search) continue;

    for (size_t seed = 0; seed < grid->spec->seed_count && *has_ended; seed++) {
      char id[CORE_RUN_ID];
      StoreState state;
      make_id(grid, cell, seed, id);
      TRY(store_run_state_read(root, id, true, &state));
      *has_ended = store_status_is_final(state.status) || state.status == STORE_FAILED ||
                   state.status == STORE_STOPPED_BY_RULE;
    }
  }
  return CORE_OK;
}

/* Adds one run to its trial. A run stopped by rule counts with the value that it reached; a diverged run counts as
 * unmeasured. */
static int add_run(const char *root, const CoreSearch *space, const Measured *measured, const char *id,
                   Outcome *outcome) {
  StoreState state;
  TRY(store_run_state_read(root, id, true, &state));
  const bool counts = state.status == STORE_FINISHED || state.status == STORE_STOPPED_BY_RULE;
  outcome->runs++;
  for (size_t g = 0; g < space->goal_count; g++) {
    double value = counts ? value_of(measured, id, g) : NAN;
    if (space->goals[g].is_log) value = value > 0 ? log(value) : NAN;
    if (isnan(value)) outcome->unmeasured[g]++;
    else outcome->sum[g] += value;
  }
  return CORE_OK;
}

/* Adds the runs of every trial, also runs that several trials share. */
static int add_runs(const char *root, const SweepGrid *grid, const SweepSearch *search, const Measured *measured,
                    Outcome *outcomes) {
  for (size_t cell = 0; cell < grid->cells; cell++) {
    const SweepSearch *cell_search;
    const size_t trial = sweep_grid_cell_trial(grid, cell, &cell_search);
    if (cell_search != search) continue;
    for (size_t seed = 0; seed < grid->spec->seed_count; seed++) {
      char id[CORE_RUN_ID];
      make_id(grid, cell, seed, id);
      TRY(add_run(root, &search->space, measured, id, &outcomes[trial]));
    }
  }
  return CORE_OK;
}

static int check_measured(const SweepSpec *spec, const SweepSearch *search, const Outcome *outcomes) {
  const CoreSearch *space = &search->space;
  const CoreIniEntry *entry = space->goal ? space->goal : search->entry;
  for (size_t g = 0; g < space->goal_count; g++) {
    size_t runs = 0, unmeasured = 0;
    for (size_t i = 0; i < search->trials; i++) {
      runs += outcomes[i].runs;
      unmeasured += outcomes[i].unmeasured[g];
    }
    if (unmeasured == runs)
      return core_ini_error(&spec->ini, entry,
                            "goal: none of the %zu runs of [%s] that have ended has a value of %s, so "
                            "nothing can be proposed; choose a measure that they have (analyze table --runs --sweep "
                            "%s), "
                            "or see why they failed (sweep status %s)",
                            runs, search->entry->section, space->goals[g].measure, spec->name, spec->name);
  }
  return CORE_OK;
}

static SweepTrialResult result_of(const CoreSearch *space, const Outcome *outcome) {
  SweepTrialResult result = {.has_value = outcome->runs > 0};
  for (size_t g = 0; g < space->goal_count; g++) {
    const double mean = outcome->sum[g] / (double)outcome->runs;
    result.has_value &= outcome->unmeasured[g] == 0;
    result.value[g] = space->goals[g].is_log ? exp(mean) : mean;
  }
  return result;
}

int sweep_results_read(const char *root, const SweepGrid *grid, const SweepSearch *search, SweepTrialResult *results) {
  Measured measured;
  TRY(read_measured(root, grid->spec->name, &search->space, &measured));
  Outcome *outcomes = core_memory_zero_allocate(search->trials + 1, sizeof *outcomes);
  int code = add_runs(root, grid, search, &measured, outcomes);
  if (code == CORE_OK) code = check_measured(grid->spec, search, outcomes);
  for (size_t i = 0; i < search->trials && code == CORE_OK; i++) results[i] = result_of(&search->space, &outcomes[i]);
  free(outcomes);
  free_measured(&measured);
  return code;
}
