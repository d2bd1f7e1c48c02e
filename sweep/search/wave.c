/* From runs that ended to the next trials: their states, their values, TPE's proposals, the journal. */
#include "sweep/search/wave.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/files.h"
#include "core/memory.h"
#include "core/search/tpe.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/search/judge.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/search.h"

/* What one trial's runs came to. */
typedef struct Outcome { double sum; size_t runs, bad; } Outcome;

/* ---- what has ended ---------------------------------------------------------------------------------------------- */

static void id_of(const SweepGrid *grid, size_t cell, size_t seed, char id[CORE_RUN_ID]) {
  CoreConfig config;
  sweep_grid_cell_config(grid, cell, seed, &config);
  core_config_id(&config, id);
}

/* Has each run ended by itself? Stopped and lost ones go on with the next submit. The last trials first: they are what
 * mostly has not. */
static int has_ended(const char *root, const SweepGrid *grid, const SweepSearch *search, bool *ended) {
  *ended = true;
  for (size_t cell = grid->cells; cell-- > 0 && *ended;) {
    const SweepSearch *of;
    (void)sweep_grid_cell_trial(grid, cell, &of);
    for (size_t seed = 0; of == search && seed < grid->spec->seed_count && *ended; seed++) {
      char id[CORE_RUN_ID];
      StoreState state;
      id_of(grid, cell, seed, id);
      TRY(store_run_state_read(root, id, true, &state));
      *ended = state.status == STORE_FINISHED || state.status == STORE_DIVERGED || state.status == STORE_FAILED ||
               state.status == STORE_STOPPED_BY_RULE;
    }
  }
  return CORE_OK;
}

/* Adds one run to its trial. A run that a rule stopped counts as far as it came; the last value of one that diverged
 * does not count. */
static int add_run(const char *root, const CoreSearch *space, const SweepJudged *judged, const char *id,
                   Outcome *outcome) {
  StoreState state;
  TRY(store_run_state_read(root, id, true, &state));
  const bool counts = state.status == STORE_FINISHED || state.status == STORE_STOPPED_BY_RULE;
  double value = counts ? sweep_judged_value(judged, id) : NAN;
  if (space->is_log) value = value > 0 ? log(value) : NAN;
  outcome->runs++;
  if (isnan(value)) outcome->bad++;
  else outcome->sum += value;
  return CORE_OK;
}

/* Of every trial, also those that share a run. */
static int add_runs(const char *root, const SweepGrid *grid, const SweepSearch *search, const SweepJudged *judged,
                    Outcome *outcomes) {
  for (size_t cell = 0; cell < grid->cells; cell++) {
    const SweepSearch *of;
    const size_t trial = sweep_grid_cell_trial(grid, cell, &of);
    if (of != search) continue;
    for (size_t seed = 0; seed < grid->spec->seed_count; seed++) {
      char id[CORE_RUN_ID];
      id_of(grid, cell, seed, id);
      TRY(add_run(root, &search->space, judged, id, &outcomes[trial]));
    }
  }
  return CORE_OK;
}

static int check_measured(const SweepSpec *spec, const SweepSearch *search, const Outcome *outcomes) {
  size_t runs = 0, bad = 0;
  const CoreSearch *space = &search->space;
  const CoreIniEntry *entry = space->goal ? space->goal : search->entry;
  for (size_t i = 0; i < search->trials; i++) runs += outcomes[i].runs, bad += outcomes[i].bad;
  if (bad < runs) return CORE_OK;
  return core_ini_error(&spec->ini, entry, "goal: none of the %zu runs of [%s] that have ended has a value of %s, so "
                        "there is nothing to propose from; take a measure that they have (analyze measures --sweep "
                        "%s), or see why they failed (sweep status %s)", runs, search->entry->section, space->measure,
                        spec->name, spec->name);
}

/* ---- proposing --------------------------------------------------------------------------------------------------- */

static void make_trials(const SweepSearch *search, const Outcome *outcomes, CoreTpeTrial *trials, double *coordinates) {
  for (size_t i = 0; i < search->trials; i++) {
    double *coordinate = coordinates + i * search->space.count;
    const Outcome *of = &outcomes[i];
    const double mean = of->bad > 0 || of->runs == 0 ? NAN : of->sum / (double)of->runs;
    sweep_search_trial(search, i, coordinate);
    trials[i] = (CoreTpeTrial){coordinate, search->space.minimise ? mean : -mean, true};
  }
}

/* What TPE looks at while it proposes a wave: the trials that there are, then each proposal, which counts for the next
 * as a trial that has not ended. So does one that cannot be run, until the wave's end: TPE leads away from it. */
typedef struct Proposer {
  SweepSpec *spec;
  SweepSearch *search;
  CoreTpeTrial *trials;
  double *coordinates;   /* [count][axes] */
  size_t count;
} Proposer;

static uint64_t seed_of(const SweepSpec *spec, const SweepSearch *search, int draw) {
  char number[32] = "";
  if (draw > 0) snprintf(number, sizeof number, "draw %d", draw);
  return core_search_seed(spec->name, search->name, number);
}

enum { DRAWS_MAX = 100 }; /* for one trial */

/* The next trial: the first draw that every cell takes. What the grid refuses is never written down, as nothing could
 * be expanded any more. */
static int propose_trial(Proposer *proposer) {
  SweepSpec *spec = proposer->spec;
  SweepSearch *search = proposer->search;
  const size_t number = search->trials;
  int code = CORE_USAGE;
  for (int draw = 0; draw < DRAWS_MAX && code == CORE_USAGE; draw++) {
    double *coordinate = proposer->coordinates + proposer->count * search->space.count;
    core_tpe_propose(&search->space, proposer->trials, proposer->count, seed_of(spec, search, draw), (int64_t)number,
                     coordinate);
    proposer->trials[proposer->count++] = (CoreTpeTrial){coordinate, NAN, false};
    sweep_search_add(search, &spec->base, coordinate);
    code = sweep_grid_check_trial(spec, search, number);
    if (code != CORE_OK) sweep_search_drop(search);
  }
  if (code == CORE_OK) core_error_clear(); /* of the draws before */
  if (code != CORE_USAGE) return code;
  return core_ini_error_key(&spec->ini, search->entry, "[%s]: none of %d draws for trial %zu can be run; leave out "
                            "values that do not go together. The last one: %.2000s", search->entry->section, DRAWS_MAX,
                            number, core_error_message());
}

static int propose(SweepSpec *spec, SweepSearch *search, const Outcome *outcomes) {
  const size_t known = search->trials, axes = search->space.count;
  const size_t left = (size_t)search->space.trials - known, wanted = (size_t)search->space.wave;
  const size_t more = wanted < left ? wanted : left, most = known + more * DRAWS_MAX;
  const int64_t wave = known ? search->wave[known - 1] + 1 : 1;
  int code = CORE_OK;
  Proposer proposer = {.spec = spec, .search = search, .count = known};
  proposer.trials = core_memory_allocate(most * sizeof *proposer.trials);
  proposer.coordinates = core_memory_allocate(most * axes * sizeof *proposer.coordinates);
  make_trials(search, outcomes, proposer.trials, proposer.coordinates);
  for (size_t i = 0; i < more && code == CORE_OK; i++) {
    code = propose_trial(&proposer);
    if (code == CORE_OK) search->wave[search->trials - 1] = wave;
  }
  while (code != CORE_OK && search->trials > known) sweep_search_drop(search);
  free(proposer.coordinates);
  free(proposer.trials);
  return code;
}

/* One wave of one search, if its last one has ended. */
static int next_wave(const char *root, SweepSpec *spec, SweepSearch *search, bool *proposed) {
  SweepGrid grid;
  SweepJudged judged;
  bool ended;
  *proposed = false;
  TRY(sweep_grid_expand(spec, &grid));
  int code = has_ended(root, &grid, search, &ended);
  if (code == CORE_OK && ended) code = sweep_judge(root, spec->name, search->space.measure, &judged);
  if (code == CORE_OK && ended) {
    Outcome *outcomes = core_memory_zero_allocate(search->trials + 1, sizeof *outcomes);
    code = add_runs(root, &grid, search, &judged, outcomes);
    if (code == CORE_OK) code = check_measured(spec, search, outcomes);
    if (code == CORE_OK) code = propose(spec, search, outcomes);
    if (code == CORE_OK) code = sweep_proposals_write(root, spec, search);
    *proposed = code == CORE_OK;
    free(outcomes);
    sweep_judged_free(&judged);
  }
  sweep_grid_free(&grid);
  return code;
}

static int propose_all(const char *root, SweepSpec *spec, size_t *proposed) {
  TRY(sweep_proposals_read(root, spec)); /* somebody else may have proposed since the spec was read */
  for (size_t i = 0; i < spec->search_count; i++) {
    SweepSearch *search = &spec->searches[i];
    const size_t before = search->trials;
    bool more = true;
    while (more && sweep_search_is_open(search)) TRY(next_wave(root, spec, search, &more));
    *proposed += search->trials - before;
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

int sweep_wave_has_ended(const char *root, const SweepSpec *spec, bool *ended) {
  SweepGrid grid;
  *ended = false;
  if (!sweep_spec_is_open(spec)) return CORE_OK;
  TRY(sweep_grid_expand(spec, &grid));
  int code = CORE_OK;
  for (size_t i = 0; i < spec->search_count && code == CORE_OK && !*ended; i++)
    if (sweep_search_is_open(&spec->searches[i])) code = has_ended(root, &grid, &spec->searches[i], ended);
  sweep_grid_free(&grid);
  return code;
}
