/* Log lines and files of a run (logs.h). */
#include "trainer/run/logs.h"

#include <inttypes.h>
#include <math.h>

#include "core/log.h"

static const double FLUSH_EVERY_S = 2;

/* ---- merged iterations ------------------------------------------------------------------------------------------- */

enum { FIRST_ROW_SEEN = -1 }; /* returned by the row callback to stop reading; not an error */

static int take_first(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
                      const StoreLayer *layer, const StoreMetric *metric) {
  int64_t *every = context;
  (void)evaluation;
  (void)layer;
  (void)metric;
  *every = iteration->merged_iterations >= 1 ? (int64_t)iteration->merged_iterations : 1;
  return FIRST_ROW_SEEN;
}

/* Reads the iterations per row from the first row of an earlier attempt; *every stays 0 if there is none. */
static int find_every(const char *root, const char *id, int attempt, int64_t *every) {
  char path[CORE_PATH_MAX], name[32];
  StoreLogDamage damage;
  int64_t end;
  for (int earlier = 1; earlier < attempt && *every == 0; earlier++) {
    snprintf(name, sizeof name, "%s.%d.tsv", "stats", earlier);
    TRY(store_path_run(root, id, name, path));
    if (!core_files_exists(path)) continue;
    if (store_runlog_read(path, 0, take_first, every, &end, &damage) == CORE_FAIL) core_error_clear();
  }
  return CORE_OK;
}

/* Whether the newest checkpoint has an unfinished row, perhaps of an attempt that ended before its first row. */
static bool has_unfinished_row(const Checkpoint *checkpoint) {
  char path[CORE_PATH_MAX];
  bool there = false;
  if (checkpoint_newest_path(checkpoint->directory, path) != CORE_OK ||
      checkpoint_has_section(path, RUN_LOGS_SECTION, &there) != CORE_OK)
    core_error_clear();
  return there;
}

static bool has_info(const Training *training) { return training->levels && training->levels->info; }

int run_logs_prepare(RunLogs *logs, const Training *training, const char *root, const char *id, int attempt,
                     Checkpoint *checkpoint) {
  StoreAggregate *aggregate = &logs->aggregate;
  *aggregate = (StoreAggregate){.every = 0};
  logs->info = (EnvInfoTable){0};
  TRY(find_every(root, id, attempt, &aggregate->every));
  if (aggregate->every == 0)
    aggregate->every = store_aggregate_every(training->plan.iterations, training->config.log.rows);
  if (aggregate->every == 1 && !has_unfinished_row(checkpoint)) return CORE_OK;
  checkpoint_add_optional(checkpoint, RUN_LOGS_SECTION, aggregate, sizeof *aggregate);
  if (has_info(training))
    checkpoint_add_optional(checkpoint, RUN_LOGS_INFO_SECTION, &logs->info, sizeof logs->info);
  return CORE_OK;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

int run_logs_open(RunLogs *logs, const Training *training, const char *root, const char *id, int attempt) {
  TRY(env_info_check(&logs->info));
  *logs = (RunLogs){.root = root, .id = id, .flushed_s = core_clock_s(), .aggregate = logs->aggregate,
                    .info = logs->info};
  TRY(store_runlog_open(root, id, attempt, STORE_LOG_STATS, &logs->stats));
  TRY(store_runlog_open(root, id, attempt, STORE_LOG_EVAL, &logs->evaluations));
  if (has_info(training)) TRY(store_runlog_open(root, id, attempt, STORE_LOG_METRICS, &logs->metrics));
  if (!training->config.metrics.layers) return CORE_OK;
  return store_runlog_open(root, id, attempt, STORE_LOG_LAYERS, &logs->layers);
}

int run_logs_close(RunLogs *logs, int code) {
  StoreRunlog **handles[] = {&logs->stats, &logs->evaluations, &logs->layers, &logs->metrics};
  for (size_t i = 0; i < sizeof handles / sizeof *handles; i++) {
    if (*handles[i] == NULL) continue;
    if (code == CORE_OK || code == CORE_REQUEUE) {
      int closed = store_runlog_close(handles[i]);
      if (closed != CORE_OK) code = closed;
    } else {
      char message[512];
      snprintf(message, sizeof message, "%s", core_error_message());
      store_runlog_close(handles[i]);
      core_error(code, "%s", message);
    }
  }
  return code;
}

int run_logs_flush(RunLogs *logs, Progress *progress, bool durable) {
  int stats = store_runlog_flush(logs->stats, durable);
  int evaluations = store_runlog_flush(logs->evaluations, durable);
  int layers = logs->layers ? store_runlog_flush(logs->layers, durable) : CORE_OK;
  int metrics = logs->metrics ? store_runlog_flush(logs->metrics, durable) : CORE_OK;
  int code = stats != CORE_OK ? stats : evaluations != CORE_OK ? evaluations : layers != CORE_OK ? layers : metrics;
  logs->flushed_s = core_clock_s();
  if (code != CORE_OK && !logs->failing)
    progress_message(progress, "warning: a run log cannot be written, will retry: %s", core_error_message());
  logs->failing = code != CORE_OK;
  return code;
}

void run_logs_evaluation(RunLogs *logs, const StoreEvaluation *row, int attempts) {
  char rate[96] = "", goals[32] = "", error[64] = ""; /* there may be no goal; one episode per level has no error */
  char unfinished[64] = "";
  store_runlog_evaluation(logs->evaluations, row);
  if (isfinite(row->solve_rate_se)) snprintf(error, sizeof error, " (standard error %.4f)", row->solve_rate_se);
  if (isfinite(row->solve_rate)) snprintf(rate, sizeof rate, "solve rate %.4f%s, ", row->solve_rate, error);
  if (isfinite(row->goals)) snprintf(goals, sizeof goals, "goals %.3f, ", row->goals);
  if (row->episodes < attempts)
    snprintf(unfinished, sizeof unfinished, " (%.0f of %d attempts ended)", row->episodes, attempts);
  if (row->episodes == 0)
    core_info("evaluation after iteration %" PRId64 " on %s: not measured%s", row->iteration, row->level_set,
              unfinished);
  else core_info("evaluation after iteration %" PRId64 " on %s: %s%sreturn %.3f%s", row->iteration, row->level_set,
                 rate, goals, row->episode_return, unfinished);
}

/* Logs the means of the numbers, and warns once of ignored ones. */
static void log_info(RunLogs *logs, Progress *progress, const EnvInfoTable *info, const char *prefix, int64_t iteration,
                     double transitions) {
  StoreMetric line = {.iteration = iteration, .step = transitions};
  for (int64_t i = 0; i < info->count; i++) {
    const EnvInfoSum *item = &info->item[i];
    snprintf(line.name, sizeof line.name, "%s%s", prefix, item->name);
    line.value = item->sum / item->count;
    store_runlog_metric(logs->metrics, &line);
  }
  if (!*info->ignored || logs->ignored_warned) return;
  logs->ignored_warned = true;
  progress_message(progress, "warning: the environment's info: %s is not recorded, perhaps among others; at most %d "
                   "numbers are, with names of up to %d letters, digits and _-./", info->ignored, ENV_INFO_NAMES,
                   ENV_INFO_NAME - 1);
}

void run_logs_evaluation_info(RunLogs *logs, Progress *progress, const StoreEvaluation *row, const EnvInfoTable *info) {
  if (logs->metrics) log_info(logs, progress, info, "eval/info/", row->iteration, row->transitions);
}

/* Writes a separate file for data that is too long for the run log's line; the same content whenever it is rewritten.
 * Training continues if it cannot be written. */
static void write_beside(Progress *progress, const char *path, const CoreText *text) {
  if (core_files_write_atomic(path, text->data, text->length) == CORE_OK) return;
  progress_message(progress, "warning: not written: %s", core_error_message());
}

static void write_visited(const RunLogs *logs, Progress *progress, const Training *training,
                          const StoreIteration *row) {
  char path[CORE_PATH_MAX], name[64];
  CoreText file = {0};
  snprintf(name, sizeof name, "states.%" PRId64 ".npy", row->iteration);
  visited_format(&training->visited, &file);
  if (store_path_run(logs->root, logs->id, name, path) == CORE_OK) write_beside(progress, path, &file);
  core_text_free(&file);
}

static void write_profile(const RunLogs *logs, Progress *progress, const Training *training,
                          const StoreIteration *row) {
  const Profile *profile = &training->profile;
  char path[CORE_PATH_MAX];
  CoreText text = {0};

  core_text_append(&text, "minibatches\tpercent\tkl_consecutive[nat]\tkl_reference[nat]\tess_percent[%]"
                          "\tkl_limit[nat]\n");
  for (int i = 0; i < profile->points; i++) {
    core_text_appendf(&text, "%d\t%.9g\t", profile->update[i], 100.0 * profile->update[i] / profile->updates);
    if (i + 1 < profile->points) core_text_appendf(&text, "%.9g", profile->consecutive[i]);
    core_text_appendf(&text, "\t%.9g\t%.9g\t", profile->reference[i], profile->ess_percent[i]);
    if (profile->limit) core_text_appendf(&text, "%.9g", profile->to_limit[i]);
    core_text_append(&text, "\n");
  }

  if (store_path_profile(logs->root, logs->id, row->iteration, path) == CORE_OK) {
    char *slash = strrchr(path, '/');
    *slash = '\0';
    if (core_files_make_directories(path) != CORE_OK) core_error_clear(); /* writing reports the error */
    *slash = '/';
    write_beside(progress, path, &text);
  }
  core_text_free(&text);
}

/* Logs each layer of both networks, as the iteration left them. */
static void log_layers(RunLogs *logs, Training *training, const StoreIteration *row) {
  for (int critic = 0; critic < 2; critic++) {
    for (int layer = 1; layer <= metrics_layers(&training->metrics, &training->agent, critic); layer++) {
      StoreLayer line =
        metrics_layer(&training->metrics, training->ops, &training->agent, critic, layer, row->iteration);
      line.transitions = row->transitions;
      store_runlog_layer(logs->layers, &line);
    }
  }
}

void run_logs_iteration(RunLogs *logs, Progress *progress, Training *training, const StoreIteration *row) {
  StoreIteration merged;
  if (logs->metrics) env_info_merge(&logs->info, &training->info);
  if (store_aggregate_add(&logs->aggregate, row, training_finished(training), &merged)) {
    store_runlog_iteration(logs->stats, &merged);
    if (logs->metrics) log_info(logs, progress, &logs->info, "info/", merged.iteration, merged.transitions);
    logs->info = (EnvInfoTable){0};
  }
  if (logs->layers && !training->sgd && training->metrics.depth >= METRICS_REPRESENTATION)
    log_layers(logs, training, row);
  if (training->profiled) write_profile(logs, progress, training, row);
  if (training->rollout.visited) write_visited(logs, progress, training, row);
  if (core_clock_s() - logs->flushed_s >= FLUSH_EVERY_S) run_logs_flush(logs, progress, false);
}
