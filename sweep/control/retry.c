/* `sweep retry`: submits failed, lost and rule-stopped runs again, with more memory or time if requested. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "slurm/cluster.h"
#include "sweep/cluster/job_map.h"
#include "sweep/cluster/launch.h"
#include "sweep/commands.h"
#include "sweep/control/output.h"
#include "sweep/control/selection.h"
#include "sweep/local/environment.h"
#include "sweep/local/queue.h"
#include "sweep/plan/code.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/trust.h"
#include "sweep/status/cluster_status.h"
#include "sweep/status/usage.h"
#include "sweep/stop/decide.h"

typedef struct RetryOptions {
  SweepCommon common;
  SweepSelection selection;
  bool failed, lost, by_rule, dry_run, force, same_environment, json;
  const char *mem, *time;     /* NULL: as before */
  SweepCodeChoice code;
} RetryOptions;

/* ---- which runs -------------------------------------------------------------------------------------------------- */

#define CONDITION(name) (1u << SWEEP_##name)

enum {
  DONE_CONDITIONS = CONDITION(FINISHED) | CONDITION(DIVERGED),
  LOST_CONDITIONS = CONDITION(LOST) | CONDITION(NODE_FAILURE) | CONDITION(STOPPED),
  FAILED_CONDITIONS =
    CONDITION(FAILED) | CONDITION(ORPHANED) | CONDITION(OUT_OF_MEMORY) | CONDITION(TIME_LIMIT)
};

/* Returns the set of conditions in which a selected run is retried. */
static unsigned filter_conditions(const RetryOptions *options) {
  if (!options->selection.is_whole_sweep) return options->force ? ~0u : ~(unsigned)DONE_CONDITIONS;
  if (!options->failed && !options->lost && !options->by_rule) return LOST_CONDITIONS | FAILED_CONDITIONS;
  unsigned conditions = 0;
  if (options->failed) conditions |= FAILED_CONDITIONS;
  if (options->lost) conditions |= LOST_CONDITIONS;
  if (options->by_rule) conditions |= CONDITION(STOPPED_BY_RULE);
  return conditions;
}

/* Adds the orphaned descendants of the runs to retry. */
static void add_orphans(const SweepClusterStatus *cluster, const SweepManifest *manifest, bool *is_retried) {
  SweepIdSet ids = {0};
  size_t parent;
  sweep_id_set_add_all(&ids, (const char(*)[CORE_RUN_ID])manifest->ids, manifest->count);
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (size_t i = 0; i < manifest->count; i++) {
      const SweepRunStatus *status = &cluster->run[i];
      if (is_retried[i] || status->condition != SWEEP_ORPHANED) continue;
      if (!sweep_id_set_find(&ids, status->parent, &parent) || !is_retried[parent]) continue;
      is_retried[i] = true;
      has_changed = true;
    }
  }
  sweep_id_set_free(&ids);
}

/* Lists the manifest indices of the runs to retry, by their status. */
static int find_runs_in(const RetryOptions *options, const SweepClusterStatus *cluster, int64_t *indices) {
  const SweepSelection *selection = &options->selection;
  const unsigned conditions = filter_conditions(options);
  const size_t runs = selection->manifest.count;
  bool *is_retried = core_memory_zero_allocate(runs + 1, sizeof *is_retried);
  int count = 0;
  for (size_t i = 0; i < runs; i++) {
    const SweepRunStatus *status = &cluster->run[i];
    is_retried[i] = selection->is_selected[i] && status->id.job > 0 && (conditions >> status->condition & 1u);
  }
  add_orphans(cluster, &selection->manifest, is_retried);
  for (size_t i = 0; i < runs; i++)
    if (is_retried[i]) indices[count++] = (int64_t)i;
  free(is_retried);
  return count;
}

/* Reads the status of all runs, and lists those to retry. */
static int find_runs(const RetryOptions *options, int64_t *indices, size_t *count) {
  const char *root = options->selection.root, *name = options->selection.name;
  SweepProgress progress;
  SweepClusterStatus cluster;
  SlurmTasks tasks;
  *count = 0;

  TRY(sweep_cluster_status_query(&(SlurmSelection){&name, 1, root}, 0, &tasks));
  int code = sweep_progress_read(root, name, NULL, &progress);
  if (code == CORE_OK) {
    code = sweep_cluster_status_classify(root, &progress, &tasks, "", &cluster);
    if (code == CORE_OK) {
      *count = (size_t)find_runs_in(options, &cluster, indices);
      sweep_cluster_status_free(&cluster);
    }
    sweep_progress_free(&progress);
  }

  slurm_tasks_free(&tasks);
  return code;
}

/* ---- resources --------------------------------------------------------------------------------------------------- */

/* Resources of the retried runs. */
typedef struct RetryResources {
  SlurmSettings settings;     /* settings of the whole sweep */
  SweepResources resources;   /* resource sets, with the requested memory and time */
  size_t *run_sets;           /* [count] resource set of each run */
} RetryResources;

static void free_resources(RetryResources *resources) {
  sweep_resources_free(&resources->resources);
  free(resources->run_sets);
}

/* Applies --mem: a size, or "+50%" of the old limit. A limit per CPU stays one. */
static int raise_memory(SlurmSettings *settings, const char *text, int64_t old_limit_mb) {
  char digits[32];
  double percent;
  const size_t length = strlen(text);
  if (text[0] != '+' || length < 3 || text[length - 1] != '%') {
    settings->mem_per_cpu = 0;
    return slurm_settings_set(settings, "slurm.mem", text);
  }

  snprintf(digits, sizeof digits, "%.*s", (int)length - 2, text + 1);
  if (!core_text_to_real(digits, &percent) || !(percent > 0 && percent <= 10000))
    return core_error(CORE_USAGE, "--mem %s: expected a size such as 8G, or +50%%", text);
  if (old_limit_mb == 0)
    return core_error(CORE_USAGE, "--mem %s: these runs had no memory limit (slurm.mem); give a size such as 8G", text);

  const double raised_mb = (double)old_limit_mb * (1 + percent / 100);
  const double run_mb = (double)slurm_settings_run_mem(settings);
  if (settings->mem_per_cpu > 0)
    settings->mem_per_cpu = (int64_t)ceil((double)settings->mem_per_cpu * raised_mb / run_mb);
  else settings->mem = (int64_t)ceil(raised_mb);
  return CORE_OK;
}

/* Changes the settings of a resource set. indices: its runs. */
static int change_set(const RetryOptions *options, const SweepJobMap *job_map, const int64_t *indices, size_t count,
                      SlurmSettings *settings) {
  const SweepSelection *selection = &options->selection;
  int64_t old_limit_mb = 0;
  for (size_t i = 0; i < count; i++) {
    const SweepJobMapEntry *entry = &job_map->entries[indices[i]];
    const int64_t limit_mb = entry->array ? slurm_settings_run_mem(&job_map->batches[entry->batch].settings) : 0;
    if (limit_mb > old_limit_mb) old_limit_mb = limit_mb;
  }

  if (settings->mem_per_cpu == 0 && old_limit_mb > settings->mem)
    settings->mem = old_limit_mb; /* an earlier retry raised it */
  if (options->mem) TRY(raise_memory(settings, options->mem, old_limit_mb));
  if (options->time) TRY(slurm_settings_set(settings, "slurm.time", options->time));

  const int64_t new_limit_mb = options->mem ? slurm_settings_run_mem(settings) : 0;
  TRY(sweep_usage_check_memory(selection->root, selection->name, indices, count, new_limit_mb,
                               !options->dry_run));
  return slurm_settings_check(settings);
}

static int change_sets(const RetryOptions *options, const SweepJobMap *job_map, const int64_t *indices, size_t count,
                       RetryResources *resources) {
  int64_t *members = core_memory_allocate((count + 1) * sizeof *members);
  int code = CORE_OK;
  for (size_t set = 0; set < resources->resources.count && code == CORE_OK; set++) {
    size_t member_count = 0;
    for (size_t i = 0; i < count; i++)
      if (resources->run_sets[i] == set) members[member_count++] = indices[i];
    if (member_count > 0)
      code = change_set(options, job_map, members, member_count, &resources->resources.sets[set]);
  }
  free(members);
  return code;
}

/* Reads the sweep's settings as submitted, and changes them as requested. The caller calls free_resources, also after
 * an error. */
static int make_resources(const RetryOptions *options, const int64_t *indices, size_t count,
                          RetryResources *resources) {
  const SweepSelection *selection = &options->selection;
  SweepSpec spec;
  SweepJobMap job_map;
  *resources = (RetryResources){.settings = slurm_settings_default()};

  TRY(sweep_common_spec(&options->common, selection->name, &spec));
  int code = options->dry_run ? CORE_OK : sweep_trust_check(selection->root, &spec);
  if (code == CORE_OK) code = sweep_spec_slurm(&spec, &resources->settings);
  if (code == CORE_OK)
    code = sweep_resources_of_indices(&spec, &selection->manifest, indices, count, &resources->resources,
                                      &resources->run_sets);
  sweep_spec_free(&spec);
  TRY(code);

  TRY(sweep_job_map_read(selection->root, &selection->manifest, &job_map));
  code = change_sets(options, &job_map, indices, count, resources);
  sweep_job_map_free(&job_map);
  TRY(code);
  return CORE_OK;
}

/* ---- on this machine --------------------------------------------------------------------------------------------- */

/* Lifts the stop from those of the runs that the [stop] rule has stopped. *lifted: their number. */
static int lift_stops(const SweepSelection *selection, const int64_t *indices, size_t count, size_t *lifted) {
  char(*ids)[CORE_RUN_ID] = core_memory_allocate((count + 1) * sizeof *ids);
  for (size_t i = 0; i < count; i++) memcpy(ids[i], selection->manifest.ids[indices[i]], sizeof ids[i]);
  const int code = sweep_stop_retry(selection->root, selection->name, (const char(*)[CORE_RUN_ID])ids, count,
                                    lifted);
  free(ids);
  return code;
}

/* Starts the runs with sweep submit, which starts every run that is neither done nor stopped. */
static int submit_here(const RetryOptions *options) {
  char command[] = "submit", root_option[] = "--root", local[] = "--local", json[] = "--json";
  char *arguments[] = {command, root_option, (char *)options->selection.root, (char *)options->selection.name,
                       local, options->json ? json : NULL, NULL};
  fflush(stdout);
  return sweep_submit(options->json ? 6 : 5, arguments);
}

/* Lists the selected runs that the [stop] rule has stopped. */
static int find_stopped(const SweepSelection *selection, int64_t *indices, size_t *count) {
  SweepStopLog log = {0};
  *count = 0;
  TRY(sweep_stop_log_read(selection->root, selection->name, &log));
  for (size_t i = 0; i < selection->manifest.count; i++)
    if (selection->is_selected[i] && sweep_stop_log_is_stopped(&log, selection->manifest.ids[i]))
      indices[(*count)++] = (int64_t)i;
  sweep_stop_log_free(&log);
  return CORE_OK;
}

/* Retries runs of a sweep that was never submitted to Slurm: only those that its rule has stopped. */
static int retry_here(const RetryOptions *options) {
  const SweepSelection *selection = &options->selection;
  FILE *out = options->json ? stderr : stdout;
  const SweepQueueRequest all = {0};
  size_t count = 0, lifted = 0;
  bool has_more_runs;
  if (selection->is_whole_sweep && !options->by_rule)
    return core_error(CORE_USAGE, "%s was never submitted to Slurm: sweep submit %s retries failed runs; --by-rule or "
                      "named runs resume those that its rule has stopped", selection->name, selection->name);

  int64_t *indices = core_memory_allocate((selection->manifest.count + 1) * sizeof *indices);
  int code = find_stopped(selection, indices, &count);
  if (code == CORE_OK && count > 0)
    code = sweep_queue_check(selection->root, selection->name, &all, &has_more_runs);
  if (code == CORE_OK && !options->dry_run) code = lift_stops(selection, indices, count, &lifted);
  free(indices);
  TRY(code);

  const size_t resumed = options->dry_run ? count : lifted;
  fprintf(out, "%s: %zu runs stopped by rule %s resumed%s\n", selection->name, resumed,
          options->dry_run ? "would be" : "are", resumed > 0 ? ", and its other unfinished runs submitted" : "");
  return lifted > 0 ? submit_here(options) : CORE_OK;
}

/* ---- on Slurm ---------------------------------------------------------------------------------------------------- */

static void print_result(const RetryOptions *options, const SweepLaunchResult *result, FILE *out) {
  if (result->submitted) fprintf(out, "%s: %zu runs submitted again\n", options->selection.name, result->submitted);
  if (result->runs[SWEEP_RUN_QUEUED]) fprintf(out, "  %zu are in the queue already\n", result->runs[SWEEP_RUN_QUEUED]);
  if (result->orphans)
    fprintf(out, "  %zu start from runs that are neither done nor in a queue (%s): retry those too\n", result->orphans,
            result->orphan);
}

static void print_json(const RetryOptions *options, const SweepLaunchResult *result, const int64_t *indices,
                       size_t count) {
  SweepOutput output = sweep_output_open(true);
  sweep_output_set(&output, "sweep", core_json_text(options->selection.name));
  sweep_output_set(&output, "action", core_json_text("retried"));
  sweep_output_set(&output, "dry_run", json_boolean(options->dry_run));
  sweep_output_set_count(&output, "submitted", result->submitted);
  sweep_output_set_count(&output, "queued", result->runs[SWEEP_RUN_QUEUED]);
  sweep_output_set_count(&output, "orphaned", result->orphans);
  sweep_output_set_count(&output, "arrays", result->arrays);
  sweep_output_set_count(&output, "waiting", result->waiting);
  json_t *ids = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(ids, core_json_text(options->selection.manifest.ids[indices[i]]));
  sweep_output_set(&output, "run", ids);
  sweep_output_close(&output);
}

/* Submits the runs. CORE_REQUEUE: the account's job limit holds some back. */
static int resubmit(const RetryOptions *options, const int64_t *indices, size_t count, FILE *out,
                    SweepLaunchResult *result) {
  const SweepSelection *selection = &options->selection;
  RetryResources resources;
  SlurmCluster *cluster = NULL;
  size_t lifted;
  int code;

  TRY_GOTO(code, out, make_resources(options, indices, count, &resources)); /* may refuse */
  TRY_GOTO(code, out, slurm_cluster_open(resources.settings.api, &cluster, NULL));
  if (!options->dry_run) TRY_GOTO(code, out, lift_stops(selection, indices, count, &lifted));

  const SweepLaunch launch = {.root = selection->root,
                              .name = selection->name,
                              .cluster = cluster,
                              .settings = &resources.settings,
                              .resources = &resources.resources,
                              .run_sets = resources.run_sets,
                              .out = out,
                              .force = options->force,
                              .mode = options->dry_run ? SWEEP_LAUNCH_DRY_RUN : SWEEP_LAUNCH_SUBMIT};

  if (!options->dry_run) TRY_GOTO(code, out, sweep_environment_record(launch.root, launch.name));
  code = sweep_launch_resubmit(&launch, &selection->manifest, indices, count, result);
  sweep_cluster_status_clear_cache();
  print_result(options, result, out);

  if (code == CORE_OK && !options->dry_run && result->waiting > 0)
    code = core_error(CORE_REQUEUE, "%zu runs are not submitted yet: the job limit is reached; run sweep %s %s again "
                      "when some jobs have ended", result->waiting, options->by_rule ? "submit" : "retry",
                      selection->name);
out:
  slurm_cluster_close(&cluster);
  free_resources(&resources);
  return code;
}

static int retry_on_slurm(const RetryOptions *options) {
  const SweepSelection *selection = &options->selection;
  FILE *out = options->json ? stderr : stdout;
  SweepLaunchResult result = {0};
  size_t count;
  int64_t *indices = core_memory_allocate((selection->manifest.count + 1) * sizeof *indices);
  int code = find_runs(options, indices, &count);
  if (code == CORE_OK && count == 0) fprintf(out, "%s: nothing to retry\n", selection->name);
  if (code == CORE_OK && count > 0) code = resubmit(options, indices, count, out, &result);
  if ((code == CORE_OK || code == CORE_REQUEUE) && options->json) print_json(options, &result, indices, count);
  free(indices);
  return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int retry_selected(RetryOptions *options) {
  const SweepSelection *selection = &options->selection;
  if (options->same_environment)
    sweep_environment_apply(selection->root, selection->name, SWEEP_ENVIRONMENT_REPLACE);
  options->code.force = options->force;
  options->code.dry_run = options->dry_run;
  options->code.out = options->json ? stderr : stdout;
  TRY(sweep_code_admit_sweep(&options->common, selection->name, &options->code));
  return selection->was_submitted ? retry_on_slurm(options) : retry_here(options);
}

static int retry(void *context, const char **operands, size_t count) {
  RetryOptions *options = context;
  char name[SWEEP_NAME];
  TRY(sweep_common_open(&options->common));
  TRY(sweep_common_name(&options->common, operands[0], name));
  int code = sweep_selection_make(options->common.root, name, &options->selection);
  for (size_t i = 1; i < count && code == CORE_OK; i++)
    code = sweep_selection_add_run(&options->selection, operands[i]);
  if (code == CORE_OK) code = retry_selected(options);
  sweep_selection_free(&options->selection);
  return code;
}

int sweep_retry(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep retry NAME [RUN]... [options]",
    .about = "Submits runs of a sweep to Slurm again that it had and that are not done, from their checkpoints: the "
             "named ones, or all that failed or were lost. For cancelled and new runs use sweep submit. Runs that the "
             "sweep's [stop] rule has stopped are resumed if they are named or with --by-rule, on this machine too, "
             "where the sweep's other unfinished runs are submitted with them; the rule does not stop them again.",
    .operands_min = 1, .operands = {"NAME", "RUN"}, .operands_max = SIZE_MAX};

  RetryOptions parsed = {0};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(parsed.common),
    {"failed", 0, CORE_OPTION_FLAG, &parsed.failed, NULL,
     "failed runs: their own error, out of memory, time limit"},
    {"lost", 0, CORE_OPTION_FLAG, &parsed.lost, NULL, "lost or stopped runs: node failures, preemption"},
    {"by-rule", 0, CORE_OPTION_FLAG, &parsed.by_rule, NULL, "runs that the sweep's [stop] rule has stopped"},
    {"mem", 0, CORE_OPTION_TEXT, &parsed.mem, "SIZE", "memory per run: 8G, or +50% of its previous limit"},
    {"time", 0, CORE_OPTION_TEXT, &parsed.time, "TIME", "time limit per task: 04:00:00"},
    {"force", 'f', CORE_OPTION_FLAG, &parsed.force, NULL,
     "restart the named runs from the beginning, including finished and diverged ones"},
    {"keep", 0, CORE_OPTION_FLAG, &parsed.code.keep, NULL, "continue next to runs that were made by other code"},
    {"trust", 0, CORE_OPTION_FLAG, &parsed.code.trust, NULL,
     "accept the sweep of another user and the code that it names, as with sweep submit"},
    {"same-environment", 0, CORE_OPTION_FLAG, &parsed.same_environment, NULL,
     "use the environment of the last submission (docs/cluster.md)"},
    {"dry-run", 'n', CORE_OPTION_FLAG, &parsed.dry_run, NULL, "print what would be submitted; change nothing"},
    {"json", 0, CORE_OPTION_FLAG, &parsed.json, NULL, "print the affected runs as JSON"},
    {0}};
  return core_options_run(&manual, options, argc, argv, retry, &parsed);
}
