/* Proposes the trials of a search's next wave: reads the states and values of runs, asks TPE, and writes the
 * proposals. */
#include "sweep/search/wave.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/program.h"
#include "core/search/tpe.h"
#include "core/text.h"
#include "store/database/database.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/search.h"

/* ---- metric ------------------------------------------------------------------------------------------------------ */

/* Values of one measure. */
typedef struct Metric {
  char (*ids)[CORE_RUN_ID]; /* [count] */
  double *values;           /* [count] NaN: not measured */
  size_t count;
} Metric;

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

/* Parses rows of a run and a value after a header; an empty value: not measured. */
static int parse_metric(const char *csv, Metric *metric) {
  CoreText cell = {0};
  size_t capacity = 0;
  int code = CORE_OK;
  bool last = false;

  /* Skip the header. */
  while (*csv && !last) csv = core_text_read_cell(csv, &cell, &last);

  while (*csv) {
    if (code != CORE_OK) break;
    csv = core_text_read_cell(csv, &cell, &last);
    if (last || cell.length != CORE_RUN_ID - 1) {
      code = core_error(CORE_FAIL,
                        "analyze table --runs: expected a run and its value, found '%.80s'; check that it is of "
                        "this version", core_text_string(&cell));
      break;
    }

    if (metric->count == capacity) {
      capacity = capacity ? 2 * capacity : 64;
      metric->ids = core_memory_resize(metric->ids, capacity * sizeof *metric->ids);
      metric->values = core_memory_resize(metric->values, capacity * sizeof *metric->values);
    }
    memcpy(metric->ids[metric->count], core_text_string(&cell), CORE_RUN_ID);
    csv = core_text_read_cell(csv, &cell, &last);
    double *value = &metric->values[metric->count++];
    if (!core_text_to_real(core_text_string(&cell), value)) *value = NAN;
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

static void free_metric(Metric *metric) {
  free(metric->ids);
  free(metric->values);
  *metric = (Metric){0};
}

/* Imports new rows of the sweep and reads one measure of its runs from `analyze table --runs`, so that searches and
 * figures use the same values. */
static int read_metric(const char *root, const char *sweep, const char *measure, Metric *metric) {
  char program[CORE_PATH_MAX], database[CORE_PATH_MAX];
  CoreProcessOutput output = {0};
  *metric = (Metric){0};
  TRY(import(root, sweep));
  TRY(analyze_path(program));
  TRY(store_path_database(root, database));
  const char *const arguments[] = {program,     "table", "--runs",   database, "--sweep", sweep,
                                   "--measure", measure, "--format", "csv",    NULL};
  int code = run_analyze(arguments, &output);
  if (code == CORE_OK && output.out.length > 0) code = parse_metric(output.out.data, metric);
  core_process_output_free(&output);
  if (code != CORE_OK) free_metric(metric);
  return code;
}

/* Returns the value of a run; NaN: not measured, or not a run of the sweep. */
static double metric_value(const Metric *metric, const char *id) {
  for (size_t i = 0; i < metric->count; i++)
    if (strcmp(metric->ids[i], id) == 0) return metric->values[i];
  return NAN;
}

/* ---- outcomes ---------------------------------------------------------------------------------------------------- */

/* Results of one trial's runs. */
typedef struct Outcome {
  double sum;
  size_t runs, unmeasured;
} Outcome;

static void make_id(const SweepGrid *grid, size_t cell, size_t seed, char id[CORE_RUN_ID]) {
  CoreConfig config;
  sweep_grid_cell_config(grid, cell, seed, &config);
  core_config_id(&config, id);
}

/* Sets *has_ended to whether every run of the search has ended by itself. Stopped and lost runs resume with the next
 * submit. Checks the last trials first, which are most likely to be unfinished. */
static int check_ended(const char *root, const SweepGrid *grid, const SweepSearch *search, bool *has_ended) {
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
static int add_run(const char *root, const CoreSearch *space, const Metric *metric, const char *id, Outcome *outcome) {
  StoreState state;
  TRY(store_run_state_read(root, id, true, &state));
  const bool counts = state.status == STORE_FINISHED || state.status == STORE_STOPPED_BY_RULE;
  double value = counts ? metric_value(metric, id) : NAN;
  if (space->is_log) value = value > 0 ? log(value) : NAN;
  outcome->runs++;
  if (isnan(value)) outcome->unmeasured++;
  else outcome->sum += value;
  return CORE_OK;
}

/* Adds the runs of every trial, also runs that several trials share. */
static int add_runs(const char *root, const SweepGrid *grid, const SweepSearch *search, const Metric *metric,
                    Outcome *outcomes) {
  for (size_t cell = 0; cell < grid->cells; cell++) {
    const SweepSearch *cell_search;
    const size_t trial = sweep_grid_cell_trial(grid, cell, &cell_search);
    if (cell_search != search) continue;
    for (size_t seed = 0; seed < grid->spec->seed_count; seed++) {
      char id[CORE_RUN_ID];
      make_id(grid, cell, seed, id);
      TRY(add_run(root, &search->space, metric, id, &outcomes[trial]));
    }
  }
  return CORE_OK;
}

static int check_measured(const SweepSpec *spec, const SweepSearch *search, const Outcome *outcomes) {
  size_t runs = 0, unmeasured = 0;
  const CoreSearch *space = &search->space;
  const CoreIniEntry *entry = space->goal ? space->goal : search->entry;
  for (size_t i = 0; i < search->trials; i++) {
    runs += outcomes[i].runs;
    unmeasured += outcomes[i].unmeasured;
  }
  if (unmeasured < runs) return CORE_OK;
  return core_ini_error(&spec->ini, entry,
                        "goal: none of the %zu runs of [%s] that have ended has a value of %s, so "
                        "nothing can be proposed; choose a measure that they have (analyze table --runs --sweep %s), "
                        "or see why they failed (sweep status %s)",
                        runs, search->entry->section, space->measure, spec->name, spec->name);
}

/* ---- proposals --------------------------------------------------------------------------------------------------- */

static void make_trials(const SweepSearch *search, const Outcome *outcomes, CoreTpeTrial *trials, double *coordinates) {
  for (size_t i = 0; i < search->trials; i++) {
    double *coordinate = coordinates + i * search->space.count;
    const Outcome *outcome = &outcomes[i];
    const bool is_measured = outcome->runs > 0 && outcome->unmeasured == 0;
    const double mean = is_measured ? outcome->sum / (double)outcome->runs : NAN;
    sweep_search_trial(search, i, coordinate);
    trials[i] = (CoreTpeTrial){coordinate, search->space.minimize ? mean : -mean, true};
  }
}

/* Observations of TPE while it proposes a wave: all trials, then each proposal as a trial that has not ended. Proposals
 * that cannot be run stay in it until the end of the wave, so that TPE moves away from them. */
typedef struct Proposer {
  SweepSpec *spec;
  SweepSearch *search;
  CoreTpeTrial *trials;
  double *coordinates; /* [count][axes] */
  size_t count;
} Proposer;

static uint64_t proposal_seed(const SweepSpec *spec, const SweepSearch *search, int draw) {
  char purpose[32] = "";
  if (draw > 0) snprintf(purpose, sizeof purpose, "draw %d", draw);
  return core_search_seed(spec->name, search->name, purpose);
}

enum { DRAWS_MAX = 100 }; /* draws per trial */

/* Proposes the next trial: the first draw that is valid in every cell of the grid. Invalid draws are not written, since
 * the grid could not be expanded with them. */
static int propose_trial(Proposer *proposer) {
  SweepSpec *spec = proposer->spec;
  SweepSearch *search = proposer->search;
  const size_t trial = search->trials;
  int code = CORE_USAGE;

  for (int draw = 0; draw < DRAWS_MAX && code == CORE_USAGE; draw++) {
    double *coordinate = proposer->coordinates + proposer->count * search->space.count;
    core_tpe_propose(&search->space, proposer->trials, proposer->count, proposal_seed(spec, search, draw),
                     (int64_t)trial, coordinate);
    proposer->trials[proposer->count++] = (CoreTpeTrial){coordinate, NAN, false};
    sweep_search_add(search, &spec->base, coordinate);
    code = sweep_grid_check_trial(spec, search, trial);
    if (code != CORE_OK) sweep_search_drop(search);
  }

  if (code == CORE_OK) core_error_clear(); /* set by invalid draws */
  if (code != CORE_USAGE) return code;
  return core_ini_error_key(&spec->ini, search->entry,
                            "[%s]: none of %d draws for trial %zu is valid; remove "
                            "values that cannot be combined. The last error: %.2000s",
                            search->entry->section, DRAWS_MAX, trial, core_error_message());
}

static int propose(SweepSpec *spec, SweepSearch *search, const Outcome *outcomes) {
  const size_t known = search->trials, axes = search->space.count;
  const size_t remaining = (size_t)search->space.trials - known, wave_size = (size_t)search->space.wave;
  const size_t count = wave_size < remaining ? wave_size : remaining, capacity = known + count * DRAWS_MAX;
  const int64_t wave = known ? search->wave[known - 1] + 1 : 1;
  int code = CORE_OK;

  Proposer proposer = {.spec = spec, .search = search, .count = known};
  proposer.trials = core_memory_allocate(capacity * sizeof *proposer.trials);
  proposer.coordinates = core_memory_allocate(capacity * axes * sizeof *proposer.coordinates);
  make_trials(search, outcomes, proposer.trials, proposer.coordinates);

  for (size_t i = 0; i < count; i++) {
    if (code != CORE_OK) break;
    code = propose_trial(&proposer);
    if (code == CORE_OK) search->wave[search->trials - 1] = wave;
  }
  while (code != CORE_OK && search->trials > known) sweep_search_drop(search);
  free(proposer.coordinates);
  free(proposer.trials);
  return code;
}

/* Proposes one wave of one search if its last wave has ended. */
static int propose_wave(const char *root, SweepSpec *spec, SweepSearch *search, bool *is_proposed) {
  SweepGrid grid;
  Metric metric;
  bool has_ended;
  *is_proposed = false;

  TRY(sweep_grid_expand(spec, &grid));
  int code = check_ended(root, &grid, search, &has_ended);
  if (code == CORE_OK && has_ended) code = read_metric(root, spec->name, search->space.measure, &metric);

  if (code == CORE_OK && has_ended) {
    Outcome *outcomes = core_memory_zero_allocate(search->trials + 1, sizeof *outcomes);
    code = add_runs(root, &grid, search, &metric, outcomes);
    if (code == CORE_OK) code = check_measured(spec, search, outcomes);
    if (code == CORE_OK) code = propose(spec, search, outcomes);
    if (code == CORE_OK) code = sweep_proposals_write(root, spec, search);
    *is_proposed = code == CORE_OK;
    free(outcomes);
    free_metric(&metric);
  }

  sweep_grid_free(&grid);
  return code;
}

static int propose_all(const char *root, SweepSpec *spec, size_t *proposed) {
  TRY(sweep_proposals_read(root, spec)); /* another process may have added proposals since the spec was read */
  for (size_t i = 0; i < spec->search_count; i++) {
    SweepSearch *search = &spec->searches[i];
    const size_t old_trials = search->trials;
    bool is_proposed = true;
    while (is_proposed && sweep_search_is_open(search)) TRY(propose_wave(root, spec, search, &is_proposed));
    *proposed += search->trials - old_trials;
  }
  return CORE_OK;
}

int sweep_wave_propose(const char *root, SweepSpec *spec, size_t *proposed) {
  char path[CORE_PATH_MAX];
  int lock;
  *proposed = 0;
  if (!sweep_spec_is_open(spec)) return CORE_OK;
  TRY(store_path_sweep(root, spec->name, "manifest.tsv", path));
  if (!core_files_exists(path)) return CORE_OK; /* it was never submitted */
  TRY(store_path_sweep(root, spec->name, "manifest.lock", path));
  TRY(core_files_lock(path, true, &lock));
  const int code = propose_all(root, spec, proposed);
  core_files_unlock(&lock);
  return code;
}

int sweep_wave_has_ended(const char *root, const SweepSpec *spec, bool *has_ended) {
  SweepGrid grid;
  *has_ended = false;
  if (!sweep_spec_is_open(spec)) return CORE_OK;
  TRY(sweep_grid_expand(spec, &grid));
  int code = CORE_OK;
  for (size_t i = 0; i < spec->search_count; i++) {
    if (!sweep_search_is_open(&spec->searches[i])) continue;
    code = check_ended(root, &grid, &spec->searches[i], has_ended);
    if (code != CORE_OK || *has_ended) break;
  }
  sweep_grid_free(&grid);
  return code;
}
