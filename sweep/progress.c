/* Adds up run states. Reads files only; what it says is as true as the runs' own last words. */
#include "sweep/progress.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/terminal.h"
#include "store/query.h"
#include "sweep/manifest.h"
#include "sweep/queue.h"

enum { SHOWN_MAX = 12, BAR_WIDTH = 30 };

static double run_fraction(const StoreState *state) {
  if (state->status == STORE_FINISHED || state->status == STORE_FAILED || state->status == STORE_DIVERGED) return 1;
  return state->transitions_total > 0 ? (double)state->transitions / (double)state->transitions_total : 0;
}

/* Transitions a second with evaluations and checkpoints, which the trainer's own figure leaves out. */
static double run_rate(const StoreState *state) {
  return state->train_seconds > 1 && state->transitions > 0 ? (double)state->transitions / state->train_seconds
                                                            : state->steps_per_second;
}

/* Work left over what is being done now; runs that have not started are taken to be as long as the known ones. */
static void estimate(SweepProgress *progress) {
  double known_total = 0, left = 0, fraction = 0, rate = 0;
  size_t known = 0, unknown = 0;
  for (size_t i = 0; i < progress->runs; i++) {
    const StoreState *state = &progress->run[i].state;
    fraction += run_fraction(state);
    if (state->transitions_total > 0) {
      known++;
      known_total += (double)state->transitions_total;
      left += (1 - run_fraction(state)) * (double)state->transitions_total;
    } else {
      unknown += run_fraction(state) < 1;
    }
    if (state->status == STORE_RUNNING && isfinite(run_rate(state))) rate += run_rate(state);
  }
  if (known > 0) left += known_total / (double)known * (double)unknown;
  progress->done = progress->runs > 0 ? fraction / (double)progress->runs : 1;
  progress->steps_per_second = rate;
  progress->eta_s = rate > 0 && known > 0 ? left / rate : NAN;
}

/* Fills in the runs that the database knows as finished; the others stay without an id. */
static int read_finished(StoreDatabase *database, const SweepManifest *manifest, SweepProgress *progress) {
  StoreQuery *query;
  bool row;
  int code;
  TRY(store_query_open(
    database,
    "SELECT s.idx, r.id, r.attempt, r.iteration, r.iterations, r.transitions, r.transitions_total, "
    "r.steps_per_second, r.solve_rate, r.pid, r.host FROM sweep_run AS s JOIN run AS r ON r.id = s.run_id "
    "WHERE s.sweep = ?1 AND r.status = 'finished'",
    &query));
  store_query_bind_text(query, 1, manifest->name);
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const int64_t index = store_query_int(query, 0);
    const char *id = store_query_text(query, 1), *host = store_query_text(query, 10);
    if (index < 0 || (size_t)index >= manifest->count || strcmp(id, manifest->ids[index]) != 0) continue;
    SweepRunState *run = &progress->run[index];
    memcpy(run->id, manifest->ids[index], CORE_RUN_ID);
    run->state = (StoreState){.status = STORE_FINISHED, .attempt = (int)store_query_int(query, 2),
                              .iteration = store_query_int(query, 3), .iterations = store_query_int(query, 4),
                              .transitions = store_query_int(query, 5), .transitions_total = store_query_int(query, 6),
                              .steps_per_second = store_query_real(query, 7), .solve_rate = store_query_real(query, 8),
                              .pid = store_query_int(query, 9)};
    snprintf(run->state.host, sizeof run->state.host, "%s", host ? host : "");
  }
  store_query_close(&query);
  return code;
}

int sweep_progress_read(const char *root, const char *name, StoreDatabase *database, SweepProgress *progress) {
  SweepManifest manifest;
  SweepRequest request;
  *progress = (SweepProgress){.executor = sweep_queue_executor(root)};
  TRY(sweep_manifest_read(root, name, &manifest));
  TRY(core_text_copy(progress->name, sizeof progress->name, name, "sweep"));
  progress->runs = manifest.count;
  progress->run = core_memory_zero_allocate(manifest.count + 1, sizeof *progress->run);
  int code = sweep_queue_read(root, name, &request, &progress->queued);
  if (code == CORE_OK && database) code = read_finished(database, &manifest, progress);
  for (size_t i = 0; code == CORE_OK && i < manifest.count; i++) {
    SweepRunState *run = &progress->run[i];
    if (!run->id[0]) {
      memcpy(run->id, manifest.ids[i], CORE_RUN_ID);
      code = store_run_state_read(root, run->id, true, &run->state);
    }
    if (code == CORE_OK) progress->count[run->state.status]++;
  }
  sweep_manifest_free(&manifest);
  if (code != CORE_OK) sweep_progress_free(progress);
  else estimate(progress);
  return code;
}

void sweep_progress_free(SweepProgress *progress) {
  free(progress->run);
  progress->run = NULL;
}

void sweep_progress_counts(const SweepProgress *progress, CoreText *text) {
  static const StoreStatus order[] = {STORE_FINISHED, STORE_RUNNING, STORE_PENDING, STORE_STOPPED,
                                      STORE_LOST, STORE_FAILED, STORE_DIVERGED};
  const char *separator = "";
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    if (progress->count[order[i]] == 0) continue;
    core_text_appendf(text, "%s%zu %s", separator, progress->count[order[i]], store_status_name(order[i]));
    separator = ", ";
  }
}

static void draw_running(const SweepRunState *run, CoreText *text) {
  const StoreState *state = &run->state;
  char bar[128], rate[32];
  const double fraction = run_fraction(state);
  core_text_appendf(text, "  %s %s", run->id, core_terminal_bar(fraction, 20, bar));
  if (isfinite(state->solve_rate)) core_text_appendf(text, "  solve rate %.2f", state->solve_rate);
  if (run_rate(state) > 0) {
    char left[32];
    const double seconds = (double)(state->transitions_total - state->transitions) / run_rate(state);
    core_text_appendf(text, "  %s steps/s  ETA %s", core_text_count(run_rate(state), rate),
                      core_text_duration(seconds, left));
  }
  core_text_append(text, "\n");
}

/* What went wrong and what to do about it. */
static void draw_trouble(const SweepProgress *progress, CoreText *text) {
  size_t shown = 0, hidden = 0;
  for (size_t i = 0; i < progress->runs; i++) {
    const StoreState *state = &progress->run[i].state;
    if (state->status != STORE_FAILED && state->status != STORE_DIVERGED && state->status != STORE_LOST) continue;
    if (shown == SHOWN_MAX) {
      hidden++;
      continue;
    }
    shown++;
    const char *reason = state->status == STORE_LOST ? "its process is gone; sweep submit goes on from its checkpoint"
                         : state->message[0]         ? state->message
                                                     : "no reason was recorded; see sweep logs";
    core_text_appendf(text, "  %s %s: %s\n", progress->run[i].id, store_status_name(state->status), reason);
  }
  if (hidden) core_text_appendf(text, "  and %zu more\n", hidden);
}

void sweep_progress_draw_bar(const SweepProgress *progress, const char *counts, CoreText *text) {
  char bar[256], buffer[32];
  core_text_appendf(text, "%s %s  %s", progress->name, core_terminal_bar(progress->done, BAR_WIDTH, bar), counts);
  if (progress->steps_per_second > 0)
    core_text_appendf(text, "  %s steps/s", core_text_count(progress->steps_per_second, buffer));
  if (isfinite(progress->eta_s)) core_text_appendf(text, "  ETA %s", core_text_duration(progress->eta_s, buffer));
  core_text_append(text, "\n");
}

void sweep_progress_draw_running(const SweepProgress *progress, CoreText *text) {
  size_t shown = 0;
  for (size_t i = 0; i < progress->runs && shown < SHOWN_MAX; i++) {
    if (progress->run[i].state.status != STORE_RUNNING) continue;
    draw_running(&progress->run[i], text);
    shown++;
  }
}

void sweep_progress_draw(const SweepProgress *progress, bool final, CoreText *text) {
  CoreText counts = {0};
  sweep_progress_counts(progress, &counts);
  sweep_progress_draw_bar(progress, core_text_string(&counts), text);
  core_text_free(&counts);
  if (!final) sweep_progress_draw_running(progress, text);
  draw_trouble(progress, text);
}
