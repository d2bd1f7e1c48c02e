/* Adds up run states from files only, so it is as current as what the runs reported last. */
#include "sweep/status/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/terminal.h"
#include "store/database/query.h"
#include "sweep/local/queue.h"
#include "sweep/spec/manifest.h"

enum { SHOWN_MAX = 12, BAR_WIDTH = 30 };

static const double unfinished_max = 0.999; /* largest fraction of a run that is not finished */

/* Returns the finished fraction of a run. Failed runs count as 0: their work may be lost, and nothing resumes them. */
static double run_fraction(const SweepState *state) {
  if (state->status == STORE_FINISHED || state->status == STORE_STOPPED_BY_RULE) return 1;
  if (store_status_is_broken(state->status) || state->transitions_total <= 0) return 0;
  return fmin(unfinished_max, (double)state->transitions / (double)state->transitions_total);
}

/* Returns transitions per second including evaluations and checkpoints, which the trainer's own value leaves out. For a
 * run with a parent the trainer's value is used: its transitions include the parent's, its time does not. */
static double run_speed(const SweepState *state) {
  if (state->parent[0] && isfinite(state->steps_per_second)) return state->steps_per_second;
  return state->train_seconds > 1 && state->transitions > 0 ? (double)state->transitions / state->train_seconds
                                                            : state->steps_per_second;
}

static double remaining_transitions(const SweepState *state) {
  return (1 - run_fraction(state)) * (double)state->transitions_total;
}

static bool is_waiting(StoreStatus status) {
  return status == STORE_PENDING || status == STORE_STOPPED || status == STORE_LOST;
}

/* Whether the executor will start the run. It does not retry failed ones. */
static bool is_expected(const SweepProgress *progress, const SweepRunState *run) {
  return progress->queued && progress->executor && !run->is_held && is_waiting(run->state.status);
}

bool sweep_progress_is_active(const SweepProgress *progress) {
  const size_t *count = progress->count;
  const size_t waiting = count[STORE_PENDING] + count[STORE_STOPPED] + count[STORE_LOST];
  if (count[STORE_RUNNING] > 0) return true;
  return progress->queued && progress->executor && (progress->held == 0 || progress->held < waiting);
}

/* Computes progress, speed and remaining time: transitions that remain in running and expected runs over the present
 * speed, and at least what the slowest run needs. Runs that have not started count with the mean length of the
 * others. */
static void estimate(SweepProgress *progress, const bool *expected) {
  double known_total = 0, remaining = 0, fraction = 0, speed = 0, longest_s = 0;
  size_t known = 0, unknown = 0;
  const size_t counted = progress->runs - progress->absent;

  for (size_t i = 0; i < progress->runs; i++) {
    const SweepState *state = &progress->run[i].state;
    const bool is_running = state->status == STORE_RUNNING;
    const bool is_included = is_running || (state->status != STORE_FINISHED && state->status != STORE_STOPPED_BY_RULE &&
                                            (expected ? expected[i] : is_expected(progress, &progress->run[i])));
    if (progress->run[i].is_absent) continue;

    fraction += run_fraction(state);
    if (state->transitions_total > 0) {
      known++;
      known_total += (double)state->transitions_total;
      if (is_included) remaining += remaining_transitions(state);
    } else {
      unknown += is_included;
    }

    if (!is_running || !(run_speed(state) > 0)) continue;
    speed += run_speed(state);
    longest_s = fmax(longest_s, remaining_transitions(state) / run_speed(state));
  }

  if (known > 0) remaining += known_total / (double)known * (double)unknown;
  progress->done = counted > 0 ? fraction / (double)counted : 0;
  if (progress->count[STORE_FINISHED] + progress->count[STORE_STOPPED_BY_RULE] < counted)
    progress->done = fmin(unfinished_max, progress->done);
  progress->steps_per_second = speed;
  progress->eta_s = speed > 0 && known > 0 ? fmax(longest_s, remaining / speed) : NAN;
}

void sweep_progress_set_expected(SweepProgress *progress, const bool *expected) { estimate(progress, expected); }

void sweep_progress_mark_absent(SweepProgress *progress, const bool *flags) {
  for (size_t i = 0; i < progress->runs; i++) {
    const StoreStatus status = progress->run[i].state.status;
    if (!flags[i] || progress->run[i].is_absent || status == STORE_FINISHED || status == STORE_RUNNING) continue;
    progress->run[i].is_absent = true;
    progress->absent++;
    progress->count[status]--;
    progress->held -= progress->run[i].is_held;
    progress->run[i].is_held = false;
  }
  estimate(progress, NULL);
}

bool sweep_progress_needs_attention(const SweepProgress *progress, size_t index) {
  const StoreStatus status = progress->run[index].state.status;
  return !progress->run[index].is_absent &&
         (status == STORE_FAILED || status == STORE_DIVERGED || status == STORE_LOST);
}

const char *sweep_progress_reason(const SweepProgress *progress, size_t index) {
  const SweepRunState *run = &progress->run[index];
  if (run->is_absent) return "no longer in the sweep's file";
  if (run->is_held) return "sweep hold --off lets it start";
  if (run->state.status == STORE_LOST) return "its process is gone; sweep submit resumes it from its checkpoint";
  if (run->state.message[0] || !sweep_progress_needs_attention(progress, index)) return run->state.message;
  return "no reason was recorded; see sweep logs";
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static double known_or_zero(double value) { return isfinite(value) ? value : 0; }
static void copy_text(char *target, size_t size, const char *text) { snprintf(target, size, "%s", text ? text : ""); }

/* Sets the texts of a run: those of the run before if they are equal, which saves most of the memory. */
static void set_texts(SweepProgress *progress, size_t index, const StoreState *from) {
  const char *const texts[] = {from->host, from->device, from->commit, from->parent, from->message};
  SweepRunState *run = &progress->run[index];
  SweepState *to = &run->state;
  const char **const targets[] = {&to->host, &to->device, &to->commit, &to->parent, &to->message};
  enum { TEXTS = sizeof texts / sizeof *texts };
  CoreText block = {0};
  for (size_t t = 0; t < TEXTS; t++) core_text_append_bytes(&block, texts[t], strlen(texts[t]) + 1);

  const SweepRunState *before = index > 0 ? run - 1 : NULL;
  bool is_same = before && before->texts;
  const char *shared = is_same ? before->texts : NULL;
  for (size_t t = 0; t < TEXTS && is_same; t++) {
    is_same = strcmp(shared, texts[t]) == 0;
    shared += strlen(shared) + 1;
  }
  run->texts = is_same ? before->texts : core_memory_resize(block.data, block.length);
  if (is_same) core_text_free(&block);

  const char *text = run->texts;
  for (size_t t = 0; t < TEXTS; t++) {
    *targets[t] = text;
    text += strlen(text) + 1;
  }
}

static void set_state(SweepProgress *progress, size_t index, const StoreState *state) {
  progress->run[index].state =
      (SweepState){.status = state->status, .attempt = state->attempt, .pid = state->pid,
                   .started_unix_s = state->started_unix_s, .heartbeat_unix_s = state->heartbeat_unix_s,
                   .finished_unix_s = state->finished_unix_s, .iteration = state->iteration,
                   .iterations = state->iterations, .transitions = state->transitions,
                   .transitions_total = state->transitions_total, .steps_per_second = state->steps_per_second,
                   .solve_rate = state->solve_rate, .episode_return = state->episode_return,
                   .train_seconds = state->train_seconds};
  set_texts(progress, index, state);
}

/* Fills in runs that are finished in the database; the others keep an empty id. */
static int read_finished(StoreDatabase *database, const SweepManifest *manifest, SweepProgress *progress) {
  StoreQuery *query;
  bool row;
  int code;

  TRY(store_query_open(
    database,
    "SELECT s.idx, r.id, r.attempt, r.iteration, r.iterations, r.transitions, r.transitions_total, "
    "r.steps_per_second, r.solve_rate, r.pid, r.host, r.started, r.heartbeat, r.finished, r.train_seconds, r.device, "
    "r.git_commit, CASE WHEN r.solve_rate IS NULL THEN (SELECT e.episode_return FROM evaluation AS e "
    "WHERE e.run_id = r.id AND e.level_set = 'train' ORDER BY e.iteration DESC LIMIT 1) END, r.message "
    "FROM sweep_run AS s JOIN run AS r ON r.id = s.run_id "
    "WHERE s.sweep = ?1 AND r.status = 'finished'",
    &query));

  store_query_bind_text(query, 1, manifest->name);
  while ((code = store_query_step(query, &row)) == CORE_OK && row) {
    const int64_t index = store_query_int(query, 0);
    const char *id = store_query_text(query, 1);
    if (index < 0 || (size_t)index >= manifest->count || strcmp(id, manifest->ids[index]) != 0) continue;
    StoreState state = {.status = STORE_FINISHED, .attempt = (int)store_query_int(query, 2),
                        .iteration = store_query_int(query, 3), .iterations = store_query_int(query, 4),
                        .transitions = store_query_int(query, 5), .transitions_total = store_query_int(query, 6),
                        .steps_per_second = store_query_real(query, 7), .solve_rate = store_query_real(query, 8),
                        .episode_return = store_query_real(query, 17), .pid = store_query_int(query, 9),
                        .started_unix_s = known_or_zero(store_query_real(query, 11)),
                        .heartbeat_unix_s = known_or_zero(store_query_real(query, 12)),
                        .finished_unix_s = known_or_zero(store_query_real(query, 13)),
                        .train_seconds = known_or_zero(store_query_real(query, 14))};

    copy_text(state.host, sizeof state.host, store_query_text(query, 10));
    copy_text(state.device, sizeof state.device, store_query_text(query, 15));
    copy_text(state.commit, sizeof state.commit, store_query_text(query, 16));
    copy_text(state.message, sizeof state.message, store_query_text(query, 18));
    memcpy(progress->run[index].id, manifest->ids[index], CORE_RUN_ID);
    set_state(progress, (size_t)index, &state);
  }

  store_query_close(&query);
  return code;
}

/* Reads a run's state. A damaged file counts as failed, so that it does not hide the other runs. */
static void read_state(const char *root, SweepProgress *progress, size_t index) {
  StoreState state;
  if (store_run_state_read(root, progress->run[index].id, true, &state) != CORE_OK) {
    state = (StoreState){.status = STORE_FAILED, .steps_per_second = NAN, .solve_rate = NAN, .episode_return = NAN};
    snprintf(state.message, sizeof state.message, "%s", core_error_message());
    core_error_clear();
  }
  set_state(progress, index, &state);
}

int sweep_progress_read(const char *root, const char *name, StoreDatabase *database, SweepProgress *progress) {
  SweepManifest manifest;
  SweepQueueRequest request;
  *progress = (SweepProgress){.queued = false};

  TRY(sweep_manifest_read(root, name, &manifest));
  TRY(core_text_copy(progress->name, sizeof progress->name, name, "sweep"));
  progress->runs = manifest.count;
  progress->run = core_memory_zero_allocate(manifest.count + 1, sizeof *progress->run);

  int code = sweep_queue_read(root, name, &request, &progress->queued);
  progress->executor = sweep_queue_executor_pid(root, progress->queued ? request.owner : geteuid());
  if (code == CORE_OK && database) code = read_finished(database, &manifest, progress);
  for (size_t i = 0; code == CORE_OK && i < manifest.count; i++) {
    SweepRunState *run = &progress->run[i];
    if (!run->id[0]) {
      memcpy(run->id, manifest.ids[i], CORE_RUN_ID);
      read_state(root, progress, i);
    }
    run->is_held = progress->queued && is_waiting(run->state.status) && sweep_queue_holds(&request, run->id);
    progress->held += run->is_held;
    if (code == CORE_OK) progress->count[run->state.status]++;
  }

  sweep_manifest_free(&manifest);
  if (code != CORE_OK) sweep_progress_free(progress);
  else estimate(progress, NULL);
  return code;
}

void sweep_progress_free(SweepProgress *progress) {
  for (size_t i = progress->run ? progress->runs : 0; i-- > 0;)
    if (i == 0 || progress->run[i].texts != progress->run[i - 1].texts) free(progress->run[i].texts);
  free(progress->run);
  progress->run = NULL;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

void sweep_progress_append_absent(const SweepProgress *progress, CoreText *text) {
  if (progress->absent == 0) return;
  core_text_appendf(text, "%s%zu no longer in the file", text->length ? ", " : "", progress->absent);
}

/* Appends "3 finished, 2 running, 1 failed" without zeros; "3 of 3 failed" if that is all. */
static void append_counts(const SweepProgress *progress, CoreText *text) {
  const size_t all = progress->runs - progress->absent;
  size_t held[STORE_STATUSES] = {0};
  for (size_t i = 0; i < progress->runs; i++) held[progress->run[i].state.status] += progress->run[i].is_held;

  for (size_t i = 0; i < STORE_STATUSES; i++) {
    const StoreStatus status = store_status_order[i];
    const size_t count = progress->count[status] - held[status];
    if (count == 0) continue;
    core_text_append(text, text->length ? ", " : "");
    if (count == all && status >= STORE_FAILED) core_text_appendf(text, "%zu of ", all);
    core_text_appendf(text, "%zu %s", count, store_status_name(status));
  }
  if (progress->held > 0) core_text_appendf(text, "%s%zu held", text->length ? ", " : "", progress->held);
  sweep_progress_append_absent(progress, text);
}

static void draw_running(const SweepRunState *run, CoreText *text) {
  const SweepState *state = &run->state;
  char bar[128], speed[32];
  const double fraction = run_fraction(state);
  core_text_appendf(text, "  %s %s", run->id, core_terminal_bar(fraction, 20, bar));
  if (isfinite(state->solve_rate)) core_text_appendf(text, "  solve rate %.2f", state->solve_rate);
  else if (isfinite(state->episode_return)) core_text_appendf(text, "  return %.4g", state->episode_return);
  if (run_speed(state) > 0) {
    char remaining[32];
    core_text_appendf(text, "  %s steps/s  ETA %s", core_text_count(run_speed(state), speed),
                      core_text_duration(remaining_transitions(state) / run_speed(state), remaining));
  }
  if (state->message[0]) core_text_appendf(text, "  %s", state->message); /* "no record for 2 min" */
  core_text_append(text, "\n");
}

/* Appends the number of runs that no executor will start. status reports an executor that has died. */
static void draw_idle(const SweepProgress *progress, CoreText *text) {
  const size_t waiting = progress->count[STORE_PENDING] + progress->count[STORE_STOPPED];
  if (progress->queued || waiting == 0) return;
  core_text_appendf(text, "  no executor runs %zu of them; sweep submit %s starts one\n", waiting, progress->name);
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
  for (size_t i = 0; i < progress->runs; i++) {
    if (progress->run[i].state.status != STORE_RUNNING) continue;
    if (shown++ < SHOWN_MAX) draw_running(&progress->run[i], text);
  }
  if (shown > SHOWN_MAX) core_text_appendf(text, "  and %zu more run; --runs lists them\n", shown - SHOWN_MAX);
}

void sweep_progress_draw(const SweepProgress *progress, bool final, CoreText *text) {
  CoreText counts = {0};
  append_counts(progress, &counts);
  sweep_progress_draw_bar(progress, core_text_string(&counts), text);
  core_text_free(&counts);
  if (!final) sweep_progress_draw_running(progress, text);
  if (progress->held > 0)
    core_text_appendf(text, "  %zu held: sweep hold %s --off lets %s start\n", progress->held, progress->name,
                      progress->held == 1 ? "it" : "them");
  draw_idle(progress, text);
}
