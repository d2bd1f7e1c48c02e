/* The submission itself. Its order is what makes it exact: lock, find out what became of unanswered arrays, choose,
 * write the batch, and then for each array: journal "ask", call Slurm, journal the answer. Killed between any two of
 * these, the next call finds in the journal and in Slurm's queue what was taken, and submits the rest. */
#include "sweep/cluster/launch.h"

#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/workspace/run.h"
#include "sweep/cluster/joblog.h"
#include "sweep/cluster/record.h"
#include "sweep/cluster/submission.h"
#include "sweep/local/notify.h"
#include "sweep/local/run_memory.h"
#include "sweep/spec/archived.h"
#include "sweep/spec/id_set.h"

FILE *sweep_submission_words(const SweepSubmission *s) { return s->launch->words ? s->launch->words : stdout; }

const SlurmSettings *sweep_submission_settings(const SweepSubmission *s, size_t set) {
  return s->launch->resources ? &s->launch->resources->sets[set] : s->launch->settings;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static bool is_in_queue(const SweepSubmission *s, size_t index) {
  if (index >= s->job_map.count) return false;
  const SlurmTask *row = sweep_job_map_task(&s->job_map, &s->job_map.entries[index]);
  return row && !slurm_state_is_over(row->state);
}

/* Is it to be started over, and not submitted for that yet? */
static bool is_forced(const SweepSubmission *s, size_t index) {
  const SweepArray *array = index < s->job_map.count ? s->job_map.entries[index].array : NULL;
  const int64_t from = s->launch->forced_from;
  return s->launch->force && (from == 0 || !array || array->batch < from);
}

/* Is there anything to do for this run? Counts it either way. */
static int choose(SweepSubmission *s, const char *id, size_t index, size_t set, bool *wanted) {
  SweepLaunchResult *done = s->done;
  StoreState state;
  const bool force = is_forced(s, index);
  *wanted = false;
  if (is_in_queue(s, index)) {
    done->queued++;
    return CORE_OK;
  }
  if (store_run_state_read(s->launch->root, id, true, &state) != CORE_OK) core_warn("%s", core_error_message());
  if (state.status == STORE_RUNNING) done->running++;
  else if (state.status == STORE_FINISHED && !force) done->finished++;
  else if (state.status == STORE_DIVERGED && !force) done->diverged++;
  else if (state.status == STORE_FAILED && s->launch->keep_failed) done->failed++;
  else if (sweep_stop_log_stops(&s->stops, id)) done->stopped++;
  else *wanted = true;
  if (!*wanted || state.status == STORE_PENDING) return CORE_OK;
  SweepRecord record;
  bool present;
  TRY(sweep_record_read(s->launch->root, id, &record, &present));
  if (s->launch->force || index >= s->job_map.count) return CORE_OK;
  const SweepJobMapEntry *place = &s->job_map.entries[index];
  const SlurmTask *row = sweep_job_map_task(&s->job_map, place);
  if ((row && row->state == SLURM_OUT_OF_MEMORY) ||
      (present && sweep_joblog_is_oom(s->launch->root, s->launch->name, &s->job_map.journal, &record))) {
    const int64_t before = place->array ? slurm_settings_run_mem(&s->job_map.batches[place->batch].settings) : 0;
    if (s->launch->cluster && !s->launch->dry_run && !s->launch->test_only && !s->launch->preview)
      TRY(sweep_run_memory_record_oom(s->launch->root, id, before));
    if (slurm_settings_run_mem(sweep_submission_settings(s, set)) <= before) { /* it would end in the same way */
      done->exhausted++;
      *wanted = false;
    }
  }
  return CORE_OK;
}

/* ---- handing over ------------------------------------------------------------------------------------------------ */

/* One array. *id 0 when Slurm did not take it. */
static int hand_over(SweepSubmission *s, const SweepSplit *split, int64_t array, const SlurmJob *job, int64_t *id) {
  const SweepLaunch *launch = s->launch;
  *id = 0;
  TRY(sweep_journal_append(launch->root, launch->name, "ask\t%lld\t%s\t%lld\t%lld\t%lld", (long long)split->number,
                           split->hash, (long long)array, (long long)(array * split->array_tasks),
                           (long long)job->tasks));
  if (slurm_submit(launch->cluster, job, id) == CORE_OK)
    return sweep_journal_append(launch->root, launch->name, "took\t%lld\t%lld\t%lld", (long long)split->number,
                                (long long)array, (long long)*id);
  const SlurmFault fault = slurm_fault(launch->cluster);
  const bool unanswered = fault == SLURM_TIMED_OUT || fault == SLURM_GARBLED;
  snprintf(s->done->refusal, sizeof s->done->refusal, "%s", core_error_message());
  if (!unanswered)
    sweep_journal_append(launch->root, launch->name, "refused\t%lld\t%lld\t%.400s", (long long)split->number,
                         (long long)array, s->done->refusal);
  return core_error(
      CORE_FAIL, "%s%s", s->done->refusal,
      unanswered ? "; perhaps Slurm took the array all the same: submit again, which finds out and goes on" : "");
}

static int test(const SweepSubmission *s, const SlurmJob *job) {
  char date[32] = "";
  SlurmForecast forecast;
  struct tm local;
  TRY(slurm_test(s->launch->cluster, job, &forecast));
  const time_t at = (time_t)forecast.start_unix_s;
  if (at && localtime_r(&at, &local)) strftime(date, sizeof date, " about %Y-%m-%d %H:%M", &local);
  fprintf(sweep_submission_words(s), "  Slurm would start the first task%s on %s, partition %s\n", date, forecast.nodes,
          forecast.partition);
  return CORE_OK;
}

/* One array of a generation: shown, tested or submitted. */
static int carry_out(SweepSubmission *s, SweepGenerationBatch *generation, int64_t array) {
  const SweepLaunch *launch = s->launch;
  SweepPreview *preview = launch->preview;
  SweepWait wait = {0};
  SweepArrayJob job;
  if (preview && preview->arrays++ != preview->array) return CORE_OK;
  sweep_submission_find_waits(s, generation, array, &wait);
  int code = sweep_split_job(&generation->split, array, &wait, &job);
  if (code == CORE_OK && preview) core_text_append(&preview->script, core_text_string(&job.script));
  else if (code == CORE_OK && launch->test_only) code = test(s, &job.job);
  else if (code == CORE_OK) code = hand_over(s, &generation->split, array, &job.job, &generation->jobs[array]);
  core_text_free(&job.script);
  sweep_wait_free(&wait);
  return code;
}

static void describe(const SweepSubmission *s, size_t set, const SweepSplit *split) {
  CoreText text = {0};
  const char *label = s->launch->resources ? s->launch->resources->labels[set] : "";
  sweep_launch_append_cost(&(SweepDemand){split->settings, split->runs}, 1, &text);
  fprintf(sweep_submission_words(s), "%s%s%s%s: %zu runs to submit as %lld tasks in %lld array%s; %s\n",
          s->launch->name, *label ? " (" : "", label, *label ? ")" : "", split->runs, (long long)split->tasks,
          (long long)split->arrays, split->arrays == 1 ? "" : "s", core_text_string(&text));
  core_text_free(&text);
}

/* The batch file of a generation, and with it its hash; written unless all this is only talk. */
static int write_batch(const SweepSubmission *s, SweepGenerationBatch *generation, bool only_talk) {
  const SweepLaunch *launch = s->launch;
  CoreConfig base = s->grid ? s->grid->spec->base : core_config_default(), config;
  CoreText text = {0};
  int code = CORE_OK;
  base.train.seed = core_config_default().train.seed;
  sweep_batch_append_head(launch->root, launch->name, generation->split.number, generation->split.settings,
                    launch->force, &base, &text);
  for (size_t i = 0; i < generation->order.count && code == CORE_OK; i++) {
    const SweepPendingRun *wanted = &s->wanted[generation->order.first + i];
    code = sweep_submission_config(s, wanted, &config);
    sweep_batch_append_run(&base, wanted->index, wanted->id, &config, &text);
  }
  sweep_batch_hash(&text, generation->split.hash);
  if (code == CORE_OK && !only_talk)
    code = sweep_batch_write(launch->root, launch->name, generation->split.number, &text);
  core_text_free(&text);
  return code;
}

/* Does this array still fit what the account lets us have in the queue? One that does not keeps later ones out too:
 * they may begin from its runs. */
static bool fits_queue(SweepSubmission *s, const SweepSplit *split, int64_t array) {
  const int64_t left = split->tasks - array * split->array_tasks;
  const int64_t tasks = left < split->array_tasks ? left : split->array_tasks;
  const bool fits = s->room < 0 || tasks <= s->room;
  if (s->room >= 0) s->room = fits ? s->room - tasks : 0;
  return fits;
}

/* One generation as a batch, from the description to Slurm. */
static int launch_generation(SweepSubmission *s, SweepGenerationBatch *generation, int64_t number) {
  const SweepLaunch *launch = s->launch;
  const bool only_talk = launch->preview || launch->dry_run || launch->test_only;
  generation->split = sweep_split_make(launch, sweep_submission_settings(s, generation->set), s->limits,
                                       s->allowance.submit_room, generation->order.count, number);
  generation->jobs = core_memory_zero_allocate((size_t)generation->split.arrays, sizeof *generation->jobs);
  s->done->tasks += (size_t)generation->split.tasks;
  if (!launch->preview) describe(s, generation->set, &generation->split);
  if (launch->cluster && !launch->preview) TRY(sweep_launch_check_fit(launch->cluster, generation->split.settings));
  TRY(write_batch(s, generation, only_talk));
  for (int64_t array = 0; array < generation->split.arrays && !launch->dry_run; array++) {
    if (!only_talk && !fits_queue(s, &generation->split, array)) break;
    TRY(carry_out(s, generation, array));
    if (launch->test_only) break;
    if (only_talk) continue;
    s->done->submitted += sweep_split_runs(&generation->split, array);
    s->done->arrays++;
    if (generation->split.arrays <= 20)
      fprintf(sweep_submission_words(s), "  job %lld: %zu runs\n", (long long)generation->jobs[array],
              sweep_split_runs(&generation->split, array));
  }
  return CORE_OK;
}

static void print_allowance(const SweepSubmission *s) {
  CoreText text = {0};
  const size_t sets = s->launch->resources ? s->launch->resources->count : 1;
  SweepDemand *demands = core_memory_zero_allocate(sets, sizeof *demands);
  for (size_t set = 0; set < sets; set++) demands[set].settings = sweep_submission_settings(s, set);
  for (size_t i = 0; i < s->count; i++) demands[s->wanted[i].set].runs++;
  sweep_launch_append_allowance(&s->allowance, demands, sets, &text);
  fprintf(sweep_submission_words(s), "%s", core_text_string(&text));
  core_text_free(&text);
  free(demands);
}

static size_t count_in_queue(const SweepSubmission *s) {
  size_t count = 0;
  for (size_t i = 0; i < s->manifest->count; i++) count += is_in_queue(s, i);
  return count;
}

static int launch_generations(SweepSubmission *s) {
  const SweepLaunch *launch = s->launch;
  int code = sweep_submission_find_parents(s);
  if (code != CORE_OK || s->count == 0) return code;
  sweep_submission_arrange(s);
  const bool only_talk = launch->preview || launch->dry_run || launch->test_only;
  if (!only_talk) {
    sweep_archived_end(launch->root, launch->name);
    sweep_notify_reset(launch->root, launch->name, s->manifest->count - s->count - count_in_queue(s));
  }
  if (launch->cluster && !launch->preview) print_allowance(s);
  for (size_t w = 0; w < s->generation_count && code == CORE_OK && (only_talk || s->room != 0); w++)
    code = launch_generation(s, &s->generations[w], s->done->batch + (int64_t)w);
  if (code == CORE_OK && !only_talk) s->done->waiting = s->count - s->done->submitted;
  if (code != CORE_OK && (s->done->submitted || *s->done->refusal)) s->done->refused = s->count - s->done->submitted;
  return code;
}

/* ---- the two ways in --------------------------------------------------------------------------------------------- */

static int begin(SweepSubmission *s, int *lock) {
  const bool only_talk = s->launch->preview || s->launch->dry_run || s->launch->test_only;
  *lock = -1;
  if (!only_talk) TRY(sweep_journal_lock(s->launch->root, s->launch->name, lock));
  TRY(sweep_job_map_read(s->launch->root, s->manifest, &s->job_map));
  s->done->batch = s->job_map.journal.batches + 1;
  if (!s->launch->cluster) return CORE_OK;
  TRY(slurm_limits(s->launch->cluster, &s->limits));
  TRY(slurm_allowance(s->launch->cluster, s->launch->settings->account, s->launch->settings->qos, &s->allowance));
  s->room = s->allowance.submit_room;
  if (only_talk) TRY(sweep_submission_read_queue(s));
  else TRY(sweep_submission_reconcile(s));
  return sweep_submission_find_after(s);
}

static void end(SweepSubmission *s, int *lock) {
  for (size_t w = 0; w < s->generation_count; w++) free(s->generations[w].jobs);
  free(s->generations);
  free(s->wanted);
  sweep_job_map_free(&s->job_map);
  slurm_tasks_free(&s->queue);
  sweep_wait_free(&s->after);
  sweep_stop_log_free(&s->stops);
  core_files_unlock(lock);
}

int sweep_launch_grid(const SweepLaunch *launch, const SweepGrid *grid, const SweepManifest *manifest,
                      SweepLaunchResult *done) {
  *done = (SweepLaunchResult){0};
  SweepSubmission s = {.launch = launch, .manifest = manifest, .grid = grid, .done = done, .room = -1};
  SweepIdSet places = {0};
  int lock, code;
  s.wanted = core_memory_allocate((grid->runs + 1) * sizeof *s.wanted);
  sweep_id_set_add_all(&places, (const char(*)[CORE_RUN_ID])manifest->ids, manifest->count);
  TRY_GOTO(code, out, begin(&s, &lock));
  if (grid->spec->stop.rule != SWEEP_STOP_NONE)
    TRY_GOTO(code, out, sweep_stop_log_read(launch->root, launch->name, &s.stops));
  for (size_t run = 0; run < grid->runs; run++) {
    size_t index;
    bool wanted;
    CORE_CHECK(sweep_id_set_find(&places, grid->ids[run], &index)); /* the manifest was merged with this grid */
    const size_t set = launch->resources ? sweep_resources_of_run(launch->resources, grid, run) : 0;
    TRY_GOTO(code, out, choose(&s, grid->ids[run], index, set, &wanted));
    if (wanted)
      s.wanted[s.count++] =
        (SweepPendingRun){.index = (int64_t)index, .id = grid->ids[run], .run = run, .set = set};
  }
  code = launch_generations(&s);
out:
  end(&s, &lock);
  sweep_id_set_free(&places);
  return code;
}

int sweep_launch_resubmit(const SweepLaunch *launch, const SweepManifest *manifest, const int64_t *indices,
                          size_t count,
                       SweepLaunchResult *done) {
  *done = (SweepLaunchResult){0};
  SweepSubmission s = {.launch = launch, .manifest = manifest, .done = done, .room = -1};
  int lock, code;
  s.wanted = core_memory_allocate((count + 1) * sizeof *s.wanted);
  TRY_GOTO(code, out, begin(&s, &lock));
  for (size_t i = 0; i < count; i++) {
    const SweepJobMapEntry *place = &s.job_map.entries[indices[i]];
    if (is_in_queue(&s, (size_t)indices[i])) {
      done->queued++;
      continue;
    }
    if (!place->array) {
      code = core_error(CORE_USAGE, "run %s was never submitted; sweep submit does it", manifest->ids[indices[i]]);
      goto out;
    }
    s.wanted[s.count++] = (SweepPendingRun){.index = indices[i],
                                   .id = manifest->ids[indices[i]],
                                   .source = &s.job_map.batches[place->batch],
                                   .line = place->line,
                                   .set = launch->run_sets ? launch->run_sets[i] : 0};
  }
  code = launch_generations(&s);
out:
  end(&s, &lock);
  return code;
}
