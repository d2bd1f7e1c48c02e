/* Makes the output of `sweep status --json`: all that status knows, so that scripts need not read a workspace. */
#include <stdio.h>
#include <string.h>

#include "store/workspace/paths.h"
#include "sweep/status/view.h"

/* Makes Unix seconds; null for times that have not come. */
static json_t *time_json(double unix_s) { return unix_s > 0 ? json_real(unix_s) : json_null(); }

static json_t *directory_json(const SweepView *view, const char *id) {
  char directory[STORE_RUN_DIRECTORY];
  return store_path_run_directory(id, directory) == CORE_OK ? core_json_text(directory) : json_null();
}

static void add_progress(const SweepState *state, json_t *object) {
  json_object_update_new(
      object, json_pack("{s:i, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "attempt", state->attempt, "iteration",
                        (json_int_t)state->iteration, "iterations", (json_int_t)state->iterations, "transitions",
                        (json_int_t)state->transitions, "transitions_total", (json_int_t)state->transitions_total,
                        "steps_per_second", core_json_real(state->steps_per_second), "solve_rate",
                        core_json_real(state->solve_rate), "episode_return", core_json_real(state->episode_return),
                        "train_seconds", core_json_real(state->train_seconds)));
  json_object_update_new(object, json_pack("{s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o}", "started_unix_s",
                                           time_json(state->started_unix_s), "heartbeat_unix_s",
                                           time_json(state->heartbeat_unix_s), "finished_unix_s",
                                           time_json(state->finished_unix_s), "host", core_json_text(state->host),
                                           "pid", (json_int_t)state->pid, "device", core_json_text(state->device),
                                           "commit", core_json_text(state->commit), "parent",
                                           core_json_text(state->parent), "message", core_json_text(state->message)));
}

json_t *sweep_view_run_json(SweepView *view, size_t index) {
  const SweepRunState *run = &view->progress.run[index];
  char job[48] = "";
  json_t *object = json_object();

  json_object_set_new(object, "index", json_integer((json_int_t)index));
  json_object_set_new(object, "run", core_json_text(run->id));
  json_object_set_new(object, "directory", directory_json(view, run->id));
  json_object_set_new(object, "settings", sweep_members_settings(&view->members, index));
  json_object_set_new(object, "in_file",
                      view->members.grid_run ? json_boolean(!view->members.absent[index]) : json_null());

  json_object_set_new(object, "status", core_json_text(store_status_name(run->state.status)));
  json_object_set_new(object, "condition", core_json_text(sweep_view_status(view, index)));
  json_object_set_new(object, "reason", core_json_text(sweep_view_reason(view, index)));
  if (view->is_slurm && view->cluster.run[index].id.job > 0) slurm_id_format(view->cluster.run[index].id, job);
  json_object_set_new(object, "job", core_json_text(job));
  add_progress(&run->state, object);
  sweep_annotations_add_run_json(&view->annotations, index, object);
  return object;
}

static json_t *counts_json(const SweepProgress *progress) {
  json_t *counts = json_object();
  for (int i = 0; i < STORE_STATUSES; i++)
    json_object_set_new(counts, store_status_name((StoreStatus)i), json_integer((json_int_t)progress->count[i]));
  return counts;
}

static json_t *condition_counts_json(const SweepClusterStatus *cluster) {
  json_t *counts = json_object();
  for (int i = 0; i < SWEEP_CONDITIONS; i++)
    json_object_set_new(counts, sweep_condition_name((SweepCondition)i), json_integer((json_int_t)cluster->count[i]));
  return counts;
}

json_t *sweep_view_summary_json(const SweepView *view) {
  const SweepProgress *progress = &view->progress;
  json_t *object = json_pack("{s:s, s:I, s:I, s:f, s:b, s:I, s:o, s:o, s:o}", "name", progress->name, "runs",
                             (json_int_t)progress->runs, "not_in_file", (json_int_t)progress->absent, "done",
                             progress->done, "queued", progress->queued, "executor", (json_int_t)progress->executor,
                             "steps_per_second", core_json_real(progress->steps_per_second), "eta_s",
                             core_json_real(progress->eta_s), "count", counts_json(progress));
  if (view->is_slurm) {
    json_object_set_new(object, "condition_count", condition_counts_json(&view->cluster));
    json_object_set_new(object, "slurm_problem",
                        view->cluster.is_stale ? core_json_text(view->cluster.problem) : json_null());
  }
  json_object_set_new(object, "failures", sweep_failures_json(&view->failures, progress));
  json_object_set_new(object, "open_searches", sweep_search_waits_json(&view->searches));
  sweep_annotations_add_json(&view->annotations, object);
  return object;
}

void sweep_view_print_json(SweepView *view, FILE *stream) {
  static const char end[] = "\n  }";
  CoreText text = {0};
  json_t *summary = sweep_view_summary_json(view);
  core_json_append_nested(summary, 2, 1, &text);
  json_decref(summary);
  fwrite(text.data, 1, text.length - strlen(end), stream);

  fputs(",\n    \"run\": [", stream);
  for (size_t i = 0; i < view->progress.runs; i++) {
    json_t *run = sweep_view_run_json(view, i);
    core_text_clear(&text);
    core_json_append_nested(run, 2, 3, &text);
    fprintf(stream, "%s\n      %s", i ? "," : "", text.data);
    json_decref(run);
  }
  fprintf(stream, "%s]%s", view->progress.runs ? "\n    " : "", end);
  core_text_free(&text);
}

void sweep_view_append_json(SweepView *view, SweepViewPage *page, CoreText *text) {
  const size_t runs = view->progress.runs, skipped = page->offset < runs ? page->offset : runs;
  const size_t listed = runs - skipped < page->limit ? runs - skipped : page->limit;

  json_t *summary = sweep_view_summary_json(view);
  core_json_append(summary, 0, text);
  json_decref(summary);
  text->length--; /* the brace, since the runs follow */
  core_text_append(text, ", \"run\": [");

  for (size_t i = skipped; i < skipped + listed; i++) {
    json_t *run = sweep_view_run_json(view, i);
    if (i > skipped) core_text_append(text, ", ");
    core_json_append(run, 0, text);
    json_decref(run);
  }
  core_text_append(text, "]}");
  page->offset -= skipped;
  page->limit -= listed;
}
