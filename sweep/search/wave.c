/* Proposes the trials of a search's next wave, by TPE or a program (ask.h), from the results of the others
 * (results.h), and records them. */
#include "sweep/search/wave.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/search/tpe.h"
#include "core/text.h"
#include "core/unicode.h"
#include "store/workspace/paths.h"
#include "sweep/search/ask.h"
#include "sweep/search/results.h"
#include "sweep/spec/grid.h"
#include "sweep/spec/search.h"
#include "sweep/spec/trust.h"

/* ---- proposals --------------------------------------------------------------------------------------------------- */

static void make_trials(const SweepSearch *search, const SweepTrialResult *results, CoreTpeTrial *trials,
                        double *coordinates) {
  const CoreSearch *space = &search->space;
  for (size_t i = 0; i < search->trials; i++) {
    double *coordinate = coordinates + i * space->count;
    sweep_search_trial(search, i, coordinate);
    trials[i] = (CoreTpeTrial){.coordinate = coordinate, .has_ended = true};
    for (size_t g = 0; g < space->goal_count; g++) {
      const double value = results[i].has_value ? results[i].value[g] : NAN;
      trials[i].loss[g] = space->goals[g].minimize ? value : -value;
    }
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
    proposer->trials[proposer->count++] = (CoreTpeTrial){.coordinate = coordinate};
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

/* Proposes `count` trials by TPE. */
static int propose_by_tpe(SweepSpec *spec, SweepSearch *search, const SweepTrialResult *results, size_t count) {
  const size_t known = search->trials, axes = search->space.count, capacity = known + count * DRAWS_MAX;
  int code = CORE_OK;
  Proposer proposer = {.spec = spec, .search = search, .count = known};
  proposer.trials = core_memory_allocate(capacity * sizeof *proposer.trials);
  proposer.coordinates = core_memory_allocate(capacity * axes * sizeof *proposer.coordinates);
  make_trials(search, results, proposer.trials, proposer.coordinates);
  for (size_t i = 0; i < count && code == CORE_OK; i++) code = propose_trial(&proposer);
  free(proposer.coordinates);
  free(proposer.trials);
  return code;
}

/* ---- proposals of programs --------------------------------------------------------------------------------------- */

/* Proposals that a program is told it cannot have. */
typedef struct Refusals {
  SweepRefusal *items;
  size_t count;
} Refusals;

static void refuse(Refusals *refusals, const double *coordinate, size_t axes, const char *reason) {
  refusals->items = core_memory_resize(refusals->items, (refusals->count + 1) * sizeof *refusals->items);
  SweepRefusal *added = &refusals->items[refusals->count++];
  *added = (SweepRefusal){core_memory_allocate((axes + 1) * sizeof *coordinate), core_text_duplicate(reason)};
  memcpy(added->coordinate, coordinate, axes * sizeof *coordinate);
}

static void free_refusals(Refusals *refusals) {
  for (size_t i = 0; i < refusals->count; i++) {
    free(refusals->items[i].coordinate);
    free(refusals->items[i].reason);
  }
  free(refusals->items);
  *refusals = (Refusals){0};
}

/* Adds a proposal, unless it repeats a trial or is invalid in a cell of the grid: then it is refused. */
static int take_proposal(SweepSpec *spec, SweepSearch *search, const double *coordinate, Refusals *refusals) {
  char reason[64];
  size_t other;
  if (sweep_search_find(search, coordinate, &other)) {
    snprintf(reason, sizeof reason, "it repeats trial %zu", other);
    refuse(refusals, coordinate, search->space.count, reason);
    return CORE_OK;
  }

  sweep_search_add(search, &spec->base, coordinate);
  const int code = sweep_grid_check_trial(spec, search, search->trials - 1);
  if (code == CORE_OK) return CORE_OK;
  sweep_search_drop(search);
  if (code != CORE_USAGE) return code;
  refuse(refusals, coordinate, search->space.count, core_error_message());
  core_error_clear();
  return CORE_OK;
}

/* Judges a wave whose program was asked as often as it may be: no usable trial is an error, too few are not. */
static int check_count(const SweepSpec *spec, const SweepSearch *search, size_t added, size_t count,
                       const Refusals *refusals) {
  const char *reason = refusals->count > 0 ? refusals->items[refusals->count - 1].reason : "";
  if (added == count) return CORE_OK;
  if (added == 0)
    return core_ini_error_key(&spec->ini, search->entry, "[%s]: its program proposed %zu trials, none of which can be "
                              "run; the last one was refused: %.1000s. If the space has no other trials, lower trials "
                              "to %zu", search->entry->section, refusals->count, reason, search->trials);
  core_warn("[%s]: a wave of %zu trials instead of %zu, since its program proposed others that cannot be run; the last "
            "one was refused: %.1000s", search->entry->section, added, count, reason);
  return CORE_OK;
}

/* Proposes up to `count` trials by the search's program. */
static int propose_by_program(SweepSpec *spec, SweepSearch *search, const SweepTrialResult *results, size_t count,
                              int64_t wave) {
  enum { ROUNDS_MAX = 5 };
  const size_t known = search->trials, axes = search->space.count;
  double *coordinates = core_memory_allocate(count * axes * sizeof *coordinates);
  Refusals refusals = {0};
  int code = CORE_OK;

  for (int round = 0; round < ROUNDS_MAX && search->trials < known + count && code == CORE_OK; round++) {
    const size_t wanted = known + count - search->trials;
    const SweepAsk ask = {.spec = spec, .search = search, .results = results, .known = known,
                          .refusals = refusals.items, .refused = refusals.count, .wanted = wanted, .wave = wave,
                          .round = round};
    code = sweep_ask(&ask, coordinates);
    for (size_t i = 0; i < wanted && code == CORE_OK; i++)
      code = take_proposal(spec, search, coordinates + i * axes, &refusals);
  }

  if (code == CORE_OK) code = check_count(spec, search, search->trials - known, count, &refusals);
  free_refusals(&refusals);
  free(coordinates);
  return code;
}

/* ---- waves ------------------------------------------------------------------------------------------------------- */

/* Adds the trials of the next wave. Without success the search is as before. */
static int propose(SweepSpec *spec, SweepSearch *search, const SweepTrialResult *results) {
  const size_t known = search->trials;
  const size_t remaining = (size_t)search->space.trials - known, wave_size = (size_t)search->space.wave;
  const size_t count = wave_size < remaining ? wave_size : remaining;
  const int64_t wave = known ? search->wave[known - 1] + 1 : 1;
  const int code = core_search_has_program(&search->space) ? propose_by_program(spec, search, results, count, wave)
                                                           : propose_by_tpe(spec, search, results, count);
  for (size_t i = known; i < search->trials; i++) search->wave[i] = wave;
  while (code != CORE_OK && search->trials > known) sweep_search_drop(search);
  return code;
}

/* Proposes one wave of one search if its last wave has ended. */
static int propose_wave(const char *root, SweepSpec *spec, SweepSearch *search, bool *is_proposed) {
  SweepGrid grid;
  bool has_ended;
  *is_proposed = false;

  TRY(sweep_grid_expand(spec, &grid));
  int code = sweep_results_check_ended(root, &grid, search, &has_ended);
  if (code == CORE_OK && has_ended && core_search_has_program(&search->space)) code = sweep_trust_check(root, spec);
  if (code == CORE_OK && has_ended) {
    SweepTrialResult *results = core_memory_zero_allocate(search->trials + 1, sizeof *results);
    code = sweep_results_read(root, &grid, search, results);
    if (code == CORE_OK) code = propose(spec, search, results);
    if (code == CORE_OK) code = sweep_proposals_write(root, spec, search);
    *is_proposed = code == CORE_OK;
    free(results);
  }

  sweep_grid_free(&grid);
  return code;
}

static int problem_path(const char *root, const char *sweep, const char *search, char path[CORE_PATH_MAX]) {
  char file[SWEEP_NAME + 20];
  snprintf(file, sizeof file, "search.%s.problem", search);
  return store_path_sweep(root, sweep, file, path);
}

/* Records the error `code` of an attempt for `sweep status`, or that there is none. Returns `code`. */
static int note_problem(const char *root, const SweepSpec *spec, const SweepSearch *search, int code) {
  char path[CORE_PATH_MAX];
  TRY(problem_path(root, spec->name, search->name, path));
  if (code == CORE_OK) {
    if (core_files_exists(path)) (void)core_files_remove(path);
    return CORE_OK;
  }

  char *message = core_text_duplicate(core_error_message());
  (void)core_files_write_atomic(path, message, strlen(message));
  core_error(code, "%s", message);
  free(message);
  return code;
}

char *sweep_wave_problem(const char *root, const char *sweep, const char *search) {
  enum { BYTES_MAX = 16 << 10 };
  char path[CORE_PATH_MAX], *text = NULL;
  size_t size;
  const bool is_read = problem_path(root, sweep, search, path) == CORE_OK && core_files_exists(path) &&
                       core_files_read(path, BYTES_MAX, &text, &size) == CORE_OK;
  if (!is_read) core_error_clear();
  if (!is_read) return core_text_duplicate("");
  core_unicode_mask_line(text);
  return text;
}

static int propose_all(const char *root, SweepSpec *spec, size_t *proposed) {
  TRY(sweep_proposals_read(root, spec)); /* another process may have added proposals since the spec was read */
  for (size_t i = 0; i < spec->search_count; i++) {
    SweepSearch *search = &spec->searches[i];
    const size_t old_trials = search->trials;
    bool is_proposed = true;
    int code = CORE_OK;
    while (is_proposed && sweep_search_is_open(search) && code == CORE_OK)
      code = propose_wave(root, spec, search, &is_proposed);
    TRY(note_problem(root, spec, search, code));
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
    code = sweep_results_check_ended(root, &grid, &spec->searches[i], has_ended);
    if (code != CORE_OK || *has_ended) break;
  }
  sweep_grid_free(&grid);
  return code;
}
