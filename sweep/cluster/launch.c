/* Submission. Its order makes it exact: lock, resolve unconfirmed arrays, select the runs, write the batch, and then
 * for each array: journal "ask", call Slurm, journal the answer. If it is killed between any two of these steps, the
 * next call finds in the journal and in Slurm's queue what was accepted, and submits the rest.
 *
 *   an array is   its last line   what follows
 *   REQUESTED     ask             took or refused; if the answer is lost, the next submission writes took or gone
 *   ACCEPTED      took            its tasks do its runs; those that are then left go to a new batch
 *   REJECTED      refused         its runs go to a new batch
 *   LOST          gone            its runs go to a new batch; a task that starts nevertheless exits (task.c)
 *
 * Only the holder of the journal's lock writes these lines. A task of a REQUESTED array does its runs: Slurm has
 * accepted it. When a submission selects runs, none of the arrays is REQUESTED any more. */
#include "sweep/cluster/launch.h"

#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "sweep/cluster/joblog.h"
#include "sweep/cluster/record.h"
#include "sweep/cluster/submission.h"
#include "sweep/local/notify.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/markers.h"
#include "sweep/spec/trust.h"
#include "sweep/supervise/run_memory.h"

enum { ARRAYS_LISTED_MAX = 20 }; /* maximum arrays per batch for which each job is printed */

FILE *sweep_submission_out(const SweepSubmission *s) { return s->launch->out ? s->launch->out : stdout; }

const SlurmSettings *sweep_submission_settings(const SweepSubmission *s, size_t set) {
  return s->launch->resources ? &s->launch->resources->sets[set] : s->launch->settings;
}

static bool submits(const SweepLaunch *launch) { return launch->mode == SWEEP_LAUNCH_SUBMIT; }

/* ---- selecting runs ---------------------------------------------------------------------------------------------- */

static bool is_queued(const SweepSubmission *s, size_t index) {
  if (index >= s->job_map.count) return false;
  const SlurmTask *task = sweep_job_map_task(&s->job_map, &s->job_map.entries[index]);
  return task && !slurm_state_is_over(task->state);
}

/* Whether --force applies to this run and no batch of this command has restarted it yet. */
static bool is_forced(const SweepSubmission *s, size_t index) {
  const SweepArray *array = index < s->job_map.count ? s->job_map.entries[index].array : NULL;
  const int64_t before = s->launch->forced_before_batch;
  return s->launch->force && (before == 0 || !array || array->batch < before);
}

/* Sets *is_exhausted if the run ran out of memory and this submission would give it no more. Records the limit that it
 * exceeded, on which the recommended one is based (run_memory.h). */
static int check_memory(const SweepSubmission *s, const char *id, size_t index, size_t set, bool *is_exhausted) {
  const SweepLaunch *launch = s->launch;
  SweepRecord record;
  bool has_record;
  *is_exhausted = false;
  TRY(sweep_record_read(launch->root, id, &record, &has_record));
  if (launch->force || index >= s->job_map.count) return CORE_OK;

  const SweepJobMapEntry *entry = &s->job_map.entries[index];
  const SlurmTask *task = sweep_job_map_task(&s->job_map, entry);
  const bool is_oom =
    (task && task->state == SLURM_OUT_OF_MEMORY) ||
    (has_record && sweep_joblog_is_oom(launch->root, launch->name, &s->job_map.journal, &record));
  if (!is_oom) return CORE_OK;

  const int64_t old_limit_mb =
    entry->array ? slurm_settings_run_mem(&s->job_map.batches[entry->batch].settings) : 0;
  if (launch->cluster && submits(launch)) TRY(sweep_run_memory_record_oom(launch->root, id, old_limit_mb));
  *is_exhausted = slurm_settings_run_mem(sweep_submission_settings(s, set)) <= old_limit_mb;
  return CORE_OK;
}

/* Gathers the evidence about a run and returns the condition that keeps it from being submitted. */
static int classify_run(const SweepSubmission *s, const char *id, size_t index, size_t set,
                        SweepCondition *condition) {
  SweepRunEvidence evidence = {.is_queued = is_queued(s, index),
                               .is_forced = is_forced(s, index),
                               .keep_failed = s->launch->keep_failed,
                               .is_stopped_by_rule = !s->launch->resume_stopped &&
                                                     sweep_stop_log_is_stopped(&s->stops, id)};
  StoreState state = {.status = STORE_PENDING};
  if (!evidence.is_queued && store_run_state_read(s->launch->root, id, true, &state) != CORE_OK)
    core_warn("%s", core_error_message());
  evidence.status = state.status;

  *condition = sweep_condition_before_start(&evidence);
  if (*condition != SWEEP_NOT_SUBMITTED || state.status == STORE_PENDING) return CORE_OK;

  bool is_exhausted;
  TRY(check_memory(s, id, index, set, &is_exhausted));
  if (is_exhausted) *condition = SWEEP_OUT_OF_MEMORY;
  return CORE_OK;
}

/* Selects the runs of the grid that nothing keeps from being submitted, and counts the others by the reason. */
static int select_from_grid(SweepSubmission *s) {
  const SweepGrid *grid = s->grid;
  const SweepResources *resources = s->launch->resources;
  SweepIdSet manifest_ids = {0};
  int code = CORE_OK;
  sweep_id_set_add_all(&manifest_ids, (const char(*)[CORE_RUN_ID])s->manifest->ids, s->manifest->count);

  for (size_t i = 0; i < grid->runs; i++) {
    size_t index;
    SweepCondition condition;
    CORE_CHECK(sweep_id_set_find(&manifest_ids, grid->ids[i], &index)); /* the manifest was merged with this grid */
    const size_t set = resources ? sweep_resources_of_run(resources, grid, i) : 0;
    code = classify_run(s, grid->ids[i], index, set, &condition);
    if (code != CORE_OK) break;

    s->result->runs[condition]++;
    if (condition == SWEEP_NOT_SUBMITTED)
      s->runs[s->count++] =
        (SweepPendingRun){.index = (int64_t)index, .id = grid->ids[i], .grid_index = i, .set = set};
  }

  sweep_id_set_free(&manifest_ids);
  return code;
}

/* Selects earlier submitted runs, by manifest index, except those that are in the queue. */
static int select_submitted(SweepSubmission *s, const int64_t *indices, size_t count) {
  const SweepLaunch *launch = s->launch;
  for (size_t i = 0; i < count; i++) {
    const char *id = s->manifest->ids[indices[i]];
    const SweepJobMapEntry *entry = &s->job_map.entries[indices[i]];
    if (is_queued(s, (size_t)indices[i])) {
      s->result->runs[SWEEP_QUEUED]++;
      continue;
    }
    if (!entry->array)
      return core_error(CORE_USAGE, "run %s was never submitted; submit it with sweep submit", id);
    if (submits(launch) && !s->job_map.batches[entry->batch].is_own)
      return core_error(CORE_USAGE, "run %s was submitted by another user; submit it with sweep submit", id);

    s->result->runs[SWEEP_NOT_SUBMITTED]++;
    s->runs[s->count++] = (SweepPendingRun){.index = indices[i],
                                            .id = id,
                                            .source = &s->job_map.batches[entry->batch],
                                            .line = entry->line,
                                            .set = launch->run_sets ? launch->run_sets[i] : 0};
  }
  return CORE_OK;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* Makes the job of an array. The caller calls free_job, also after an error. */
static int make_job(const SweepSubmission *s, const SweepPendingBatch *batch, int64_t array, SweepWait *wait,
                    SweepArrayJob *job) {
  *wait = (SweepWait){0};
  sweep_submission_find_waits(s, batch, array, wait);
  return sweep_split_job(&batch->split, array, wait, job);
}

static void free_job(SweepWait *wait, SweepArrayJob *job) {
  core_text_free(&job->script);
  sweep_wait_free(wait);
}

/* Requests an array from Slurm between two lines of the journal. *job is 0 if Slurm did not accept it. */
static int request_array(SweepSubmission *s, const SweepSplit *split, int64_t array, const SlurmJob *request,
                         int64_t *job) {
  const SweepLaunch *launch = s->launch;
  SweepLaunchResult *result = s->result;
  *job = 0;

  TRY(sweep_journal_append(launch->root, launch->name, "ask\t%lld\t%s\t%lld\t%lld\t%lld", (long long)split->batch,
                           split->hash, (long long)array, (long long)(array * split->array_tasks),
                           (long long)request->tasks));
  if (slurm_submit(launch->cluster, request, job) == CORE_OK)
    return sweep_journal_append(launch->root, launch->name, "took\t%lld\t%lld\t%lld", (long long)split->batch,
                                (long long)array, (long long)*job);

  const SlurmFault fault = slurm_fault(launch->cluster);
  const bool is_unanswered = fault == SLURM_TIMED_OUT || fault == SLURM_GARBLED;
  snprintf(result->rejection, sizeof result->rejection, "%s", core_error_message());
  if (is_unanswered)
    return core_error(CORE_FAIL, "%s; the job may have been accepted anyway: sweep submit checks the queue and submits "
                      "only what is missing", result->rejection);
  sweep_journal_append(launch->root, launch->name, "refused\t%lld\t%lld\t%.400s", (long long)split->batch,
                       (long long)array, result->rejection);
  return core_error(CORE_FAIL, "%s", result->rejection);
}

static int submit_array(SweepSubmission *s, SweepPendingBatch *batch, int64_t array) {
  SweepWait wait;
  SweepArrayJob job;
  int code = make_job(s, batch, array, &wait, &job);
  if (code == CORE_OK) code = request_array(s, &batch->split, array, &job.job, &batch->jobs[array]);
  free_job(&wait, &job);
  return code;
}

/* Prints when and where Slurm would start the job. */
static int print_forecast(const SweepSubmission *s, const SlurmJob *request) {
  char date[32] = "";
  SlurmForecast forecast;
  struct tm local;
  TRY(slurm_test(s->launch->cluster, request, &forecast));
  const time_t start = (time_t)forecast.start_unix_s;
  if (start && localtime_r(&start, &local)) strftime(date, sizeof date, " about %Y-%m-%d %H:%M", &local);
  fprintf(sweep_submission_out(s), "  Slurm would start the first task%s on %s, partition %s\n", date, forecast.nodes,
          forecast.partition);
  return CORE_OK;
}

static int test_array(const SweepSubmission *s, const SweepPendingBatch *batch, int64_t array) {
  SweepWait wait;
  SweepArrayJob job;
  int code = make_job(s, batch, array, &wait, &job);
  if (code == CORE_OK) code = print_forecast(s, &job.job);
  free_job(&wait, &job);
  return code;
}

/* Counts the array, and appends its script if it is the one to preview. */
static int preview_array(const SweepSubmission *s, const SweepPendingBatch *batch, int64_t array) {
  SweepPreview *preview = s->launch->preview;
  SweepWait wait;
  SweepArrayJob job;
  if (preview->arrays++ != preview->array) return CORE_OK;
  const int code = make_job(s, batch, array, &wait, &job);
  if (code == CORE_OK) core_text_append(&preview->script, core_text_string(&job.script));
  free_job(&wait, &job);
  return code;
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

static void print_batch(const SweepSubmission *s, size_t set, const SweepSplit *split) {
  CoreText cost = {0};
  const char *label = s->launch->resources ? s->launch->resources->labels[set] : "";
  sweep_launch_append_cost(&(SweepDemand){split->settings, split->runs}, 1, &cost);
  fprintf(sweep_submission_out(s), "%s%s%s%s: %zu runs to submit as %lld tasks in %lld array%s; %s\n",
          s->launch->name, *label ? " (" : "", label, *label ? ")" : "", split->runs, (long long)split->tasks,
          (long long)split->arrays, split->arrays == 1 ? "" : "s", core_text_string(&cost));
  core_text_free(&cost);
}

/* Builds the batch file and computes its hash. Writes the file unless nothing is to be changed. */
static int write_batch(const SweepSubmission *s, SweepPendingBatch *batch) {
  const SweepLaunch *launch = s->launch;
  const SweepSplit *split = &batch->split;
  CoreConfig base, config;
  CoreText text = {0};
  int code = CORE_OK;

  TRY(sweep_submission_base(s, batch, &base));
  sweep_batch_append_head(launch->root, launch->name, split->batch, split->settings, launch->force, &base, &text);
  for (size_t i = 0; i < batch->generation.count && code == CORE_OK; i++) {
    const SweepPendingRun *run = &s->runs[batch->generation.first + i];
    code = sweep_submission_config(s, run, &config);
    sweep_batch_append_run(&base, run->index, run->id, &config, &text);
  }

  sweep_batch_hash(&text, batch->split.hash);
  if (code == CORE_OK && submits(launch)) code = sweep_batch_write(launch->root, launch->name, split->batch, &text);
  core_text_free(&text);
  return code;
}

/* Whether the array fits the account's remaining room in the queue; takes the room if it does. An array that does not
 * fit holds back all later ones too, since they may depend on its runs. */
static bool reserve_room(SweepSubmission *s, const SweepSplit *split, int64_t array) {
  if (s->submit_room < 0) return true;
  const int64_t remaining = split->tasks - array * split->array_tasks;
  const int64_t tasks = remaining < split->array_tasks ? remaining : split->array_tasks;
  const bool fits = tasks <= s->submit_room;
  s->submit_room = fits ? s->submit_room - tasks : 0;
  return fits;
}

static int submit_arrays(SweepSubmission *s, SweepPendingBatch *batch) {
  const SweepSplit *split = &batch->split;
  for (int64_t array = 0; array < split->arrays; array++) {
    if (!reserve_room(s, split, array)) break;
    TRY(submit_array(s, batch, array));

    s->result->submitted += sweep_split_runs(split, array);
    s->result->arrays++;
    if (split->arrays <= ARRAYS_LISTED_MAX)
      fprintf(sweep_submission_out(s), "  job %lld: %zu runs\n", (long long)batch->jobs[array],
              sweep_split_runs(split, array));
  }
  return CORE_OK;
}

static int preview_arrays(const SweepSubmission *s, const SweepPendingBatch *batch) {
  for (int64_t array = 0; array < batch->split.arrays; array++) TRY(preview_array(s, batch, array));
  return CORE_OK;
}

/* Launches one batch, from its description to Slurm. */
static int launch_batch(SweepSubmission *s, SweepPendingBatch *batch, int64_t number) {
  const SweepLaunch *launch = s->launch;
  const bool is_silent = launch->mode == SWEEP_LAUNCH_PREVIEW;

  batch->split = sweep_split_make(launch, sweep_submission_settings(s, batch->set), s->limits,
                                  s->allowance.submit_room, batch->generation.count, number);
  batch->jobs = core_memory_zero_allocate((size_t)batch->split.arrays, sizeof *batch->jobs);
  s->result->tasks += (size_t)batch->split.tasks;
  if (!is_silent) print_batch(s, batch->set, &batch->split);
  TRY(write_batch(s, batch));

  switch (launch->mode) {
    case SWEEP_LAUNCH_SUBMIT: return submit_arrays(s, batch);
    case SWEEP_LAUNCH_TEST_ONLY: return test_array(s, batch, 0);
    case SWEEP_LAUNCH_PREVIEW: return preview_arrays(s, batch);
  }
  return CORE_OK;
}

static void print_allowance(const SweepSubmission *s) {
  CoreText text = {0};
  const size_t sets = s->launch->resources ? s->launch->resources->count : 1;
  SweepDemand *demands = core_memory_zero_allocate(sets, sizeof *demands);
  for (size_t set = 0; set < sets; set++) demands[set].settings = sweep_submission_settings(s, set);
  for (size_t i = 0; i < s->count; i++) demands[s->runs[i].set].runs++;
  sweep_launch_append_allowance(&s->allowance, demands, sets, &text);
  fprintf(sweep_submission_out(s), "%s", core_text_string(&text));
  core_text_free(&text);
  free(demands);
}

static size_t count_queued(const SweepSubmission *s) {
  size_t count = 0;
  for (size_t i = 0; i < s->manifest->count; i++) count += is_queued(s, i);
  return count;
}

/* Checks the resources of all batches, before the first one is submitted. */
static int check_batches(const SweepSubmission *s) {
  const SweepLaunch *launch = s->launch;
  if (!launch->cluster || launch->mode == SWEEP_LAUNCH_PREVIEW) return CORE_OK;
  for (size_t b = 0; b < s->batch_count; b++) {
    const size_t set = s->batches[b].set;
    const char *label = launch->resources ? launch->resources->labels[set] : "";
    bool is_repeated = false;
    for (size_t k = 0; k < b; k++) is_repeated |= s->batches[k].set == set;
    const int code = is_repeated ? CORE_OK : sweep_fit_check(launch->cluster, sweep_submission_settings(s, set));
    if (code != CORE_OK) return *label ? core_error_context(code, "runs of %s", label) : code;
  }
  return CORE_OK;
}

/* Launches the selected runs: batch after batch, parents before children. */
static int launch_batches(SweepSubmission *s) {
  const SweepLaunch *launch = s->launch;
  SweepLaunchResult *result = s->result;
  int code = sweep_submission_find_parents(s);
  if (code != CORE_OK || s->count == 0) return code;
  sweep_submission_arrange(s);
  TRY(check_batches(s));

  if (submits(launch)) {
    sweep_archived_end(launch->root, launch->name);
    sweep_notify_reset(launch->root, launch->name, s->manifest->count - s->count - count_queued(s));
  }
  if (launch->cluster && launch->mode != SWEEP_LAUNCH_PREVIEW) print_allowance(s);

  for (size_t b = 0; b < s->batch_count && code == CORE_OK; b++) {
    if (submits(launch) && s->submit_room == 0) break;
    code = launch_batch(s, &s->batches[b], result->batch + (int64_t)b);
  }

  if (code == CORE_OK && submits(launch)) result->waiting = s->count - result->submitted;
  if (code != CORE_OK && (result->submitted || *result->rejection)) result->rejected = s->count - result->submitted;
  return code;
}

/* ---- submissions ------------------------------------------------------------------------------------------------- */

/* Takes the journal's lock if this launch submits, and reads what the journal, the account and the queue have. The
 * caller calls close_submission, also after an error. */
static int open_submission(SweepSubmission *s, size_t runs_max) {
  const SweepLaunch *launch = s->launch;
  s->runs = core_memory_allocate((runs_max + 1) * sizeof *s->runs);
  if (submits(launch)) TRY(sweep_journal_lock(launch->root, launch->name, &s->lock));
  TRY(sweep_job_map_read(launch->root, s->manifest, &s->job_map));
  s->result->batch = s->job_map.journal.batches + 1;
  if (!launch->cluster) return CORE_OK;

  TRY(slurm_limits(launch->cluster, &s->limits));
  TRY(slurm_allowance(launch->cluster, launch->settings->account, launch->settings->qos, &s->allowance));
  s->submit_room = s->allowance.submit_room;

  if (submits(launch)) TRY(sweep_submission_reconcile(s));
  else TRY(sweep_submission_read_queue(s));
  return sweep_submission_find_after(s);
}

static void close_submission(SweepSubmission *s) {
  for (size_t b = 0; b < s->batch_count; b++) free(s->batches[b].jobs);
  free(s->batches);
  free(s->runs);
  sweep_job_map_free(&s->job_map);
  slurm_tasks_free(&s->queue);
  sweep_wait_free(&s->after);
  sweep_stop_log_free(&s->stops);
  core_files_unlock(&s->lock);
}

int sweep_launch_grid(const SweepLaunch *launch, const SweepGrid *grid, const SweepManifest *manifest,
                      SweepLaunchResult *result) {
  *result = (SweepLaunchResult){0};
  SweepSubmission s = {
    .launch = launch, .manifest = manifest, .grid = grid, .result = result, .submit_room = -1, .lock = -1};

  int code = open_submission(&s, grid->runs);
  if (code == CORE_OK && submits(launch)) code = sweep_trust_check(launch->root, grid->spec);
  if (code == CORE_OK && grid->spec->stop.rule != SWEEP_STOP_NONE)
    code = sweep_stop_log_read(launch->root, launch->name, &s.stops);
  if (code == CORE_OK) code = select_from_grid(&s);
  if (code == CORE_OK) code = launch_batches(&s);
  close_submission(&s);
  return code;
}

int sweep_launch_resubmit(const SweepLaunch *launch, const SweepManifest *manifest, const int64_t *indices,
                          size_t count, SweepLaunchResult *result) {
  *result = (SweepLaunchResult){0};
  SweepSubmission s = {.launch = launch, .manifest = manifest, .result = result, .submit_room = -1, .lock = -1};

  int code = open_submission(&s, count);
  if (code == CORE_OK) code = select_submitted(&s, indices, count);
  if (code == CORE_OK) code = launch_batches(&s);
  close_submission(&s);
  return code;
}

/* ---- cost and limits --------------------------------------------------------------------------------------------- */

static int64_t count_tasks(const SweepDemand *demand) {
  const int64_t runs_per_task = demand->settings->runs_per_task;
  return ((int64_t)demand->runs + runs_per_task - 1) / runs_per_task;
}

void sweep_launch_append_cost(const SweepDemand *demands, size_t count, CoreText *text) {
  double gpu_hours = 0, cpu_hours = 0;
  bool is_bounded = true;
  for (size_t i = 0; i < count; i++) {
    const SlurmSettings *settings = demands[i].settings;
    const double hours = (double)count_tasks(&demands[i]) * (double)settings->time / 3600;
    if (demands[i].runs > 0 && settings->time == 0) is_bounded = false;
    gpu_hours += hours * (double)slurm_settings_task_gpus(settings);
    cpu_hours += hours * (double)slurm_settings_task_cpus(settings);
  }
  if (!is_bounded) core_text_append(text, "without a time limit (slurm.time) the cost has no bound");
  else if (gpu_hours > 0) core_text_appendf(text, "at most %.4g GPU-hours and %.4g CPU-hours", gpu_hours, cpu_hours);
  else core_text_appendf(text, "at most %.4g CPU-hours", cpu_hours);
}

/* Appends a line for each limit that a single task exceeds. */
static void append_task_limits(const SlurmAllowance *allowance, const SlurmSettings *settings, CoreText *text) {
  const double minutes = (double)settings->time / 60, cpus = (double)slurm_settings_task_cpus(settings) * minutes;
  if (cpus > allowance->task_cpu_minutes)
    core_text_appendf(text, "  a task may use %.4g CPU-hours (MaxTRESMinsPerJob), these request %.4g: none would "
                      "start; lower slurm.time\n", allowance->task_cpu_minutes / 60, cpus / 60);
  if (minutes > allowance->task_minutes)
    core_text_appendf(text, "  a task may last %.4g minutes (MaxWall), these request %.4g: none would start; lower "
                      "slurm.time\n", allowance->task_minutes, minutes);
}

void sweep_launch_append_allowance(const SlurmAllowance *allowance, const SweepDemand *demands, size_t count,
                                   CoreText *text) {
  int64_t tasks = 0;
  double cpu_minutes = 0, gpu_minutes = 0;
  for (size_t i = 0; i < count; i++) {
    const SlurmSettings *settings = demands[i].settings;
    const double minutes = (double)count_tasks(&demands[i]) * (double)settings->time / 60;
    tasks += count_tasks(&demands[i]);
    cpu_minutes += (double)slurm_settings_task_cpus(settings) * minutes;
    gpu_minutes += (double)slurm_settings_task_gpus(settings) * minutes;
  }

  const char *account = *allowance->account ? allowance->account : "?";
  if (allowance->submit_room >= 0 && tasks > allowance->submit_room)
    core_text_appendf(text, "  account %s may have %lld jobs in the queue (MaxSubmitJobs), %lld more now: of %lld "
                      "tasks the rest waits\n", account, (long long)allowance->submit_max,
                      (long long)allowance->submit_room, (long long)tasks);
  if (cpu_minutes > allowance->cpu_minutes)
    core_text_appendf(text, "  account %s has %.4g CPU-hours left (GrpTRESMins), these runs may use %.4g: the last "
                      "would never start\n", account, allowance->cpu_minutes / 60, cpu_minutes / 60);
  if (gpu_minutes > allowance->gpu_minutes)
    core_text_appendf(text, "  account %s has %.4g GPU-hours left (GrpTRESMins), these runs may use %.4g: the last "
                      "would never start\n", account, allowance->gpu_minutes / 60, gpu_minutes / 60);

  for (size_t i = 0; i < count; i++)
    if (demands[i].runs > 0) append_task_limits(allowance, demands[i].settings, text);
}
