/* The submission itself. Its order is what makes it exact: lock, find out what became of unanswered arrays, choose, write the
 * batch, and then for each array: journal "ask", call Slurm, journal the answer. Killed between any two of these, the next
 * call finds in the journal and in Slurm's queue what was taken, and submits the rest. */
#include "sweep/launch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/origin.h"
#include "core/terminal.h"
#include "slurm/script.h"
#include "store/paths.h"
#include "store/run.h"
#include "sweep/ids.h"
#include "sweep/joblog.h"
#include "sweep/notify.h"
#include "sweep/placement.h"
#include "sweep/record.h"

enum { ARRAY_TASKS_OTHERWISE = 1000 };

/* What one submission works with. */
typedef struct Submission {
  const SweepLaunch *launch;
  const SweepManifest *manifest;
  SweepPlacement placement;
  SlurmTasks queue;
  const SlurmLimits *limits;   /* NULL without a cluster */
  int64_t *after;              /* jobs of settings->after that are still there */
  size_t after_count;
  SweepLaunched *done;
} Submission;

/* ---- what Slurm has ------------------------------------------------------------------------------------------------ */

/* The sweep's own name and those that it waits for: they are asked for in one call. */
static size_t names_of(const SweepLaunch *launch, char *copy, const char **names, size_t most) {
  size_t count = 0;
  char *rest = copy;
  names[count++] = launch->name;
  snprintf(copy, SLURM_TEXT, "%s", launch->settings->after);
  for (char *name; *launch->settings->after && count < most && (name = strsep(&rest, ","));) names[count++] = name;
  return count;
}

static int list(Submission *s) {
  char copy[SLURM_TEXT];
  const char *names[64];
  const size_t count = names_of(s->launch, copy, names, 64);
  slurm_tasks_free(&s->queue);
  TRY(slurm_list(s->launch->cluster, names, count, &s->queue));
  sweep_placement_join(s->launch->name, &s->placement, &s->queue);
  return CORE_OK;
}

static size_t count_unanswered(const SweepJournal *journal, double *latest_unix_s) {
  size_t count = 0;
  for (size_t i = 0; i < journal->count; i++) {
    if (journal->arrays[i].state != SWEEP_ARRAY_ASKED) continue;
    if (journal->arrays[i].asked_unix_s > *latest_unix_s) *latest_unix_s = journal->arrays[i].asked_unix_s;
    count++;
  }
  return count;
}

/* An array that was asked for and is not in the queue may still be under way to it: slurmctld works on for a while after a
 * client has given up. Only one that stays away for twice that time is gone; should a task of it turn up all the same, it
 * finds that in the journal and ends (task.c). */
static int settle(Submission *s) {
  const SweepJournal *journal = &s->placement.journal;
  double latest = 0;
  uint8_t *asked = core_memory_zero_allocate(journal->count + 1, 1);
  for (size_t i = 0; i < journal->count; i++) asked[i] = journal->arrays[i].state == SWEEP_ARRAY_ASKED;
  int code = list(s);
  const double settle_s = 2.0 * (double)s->limits->message_timeout_s, start = core_clock_s();
  while (code == CORE_OK && count_unanswered(journal, &latest) > 0) {
    const double age = core_clock_unix_s() - latest;
    if ((age > settle_s || age < 0 || core_clock_s() - start > settle_s) && core_clock_s() - start > 1) break;
    usleep(500 * 1000);
    code = list(s);
  }
  for (size_t i = 0; i < journal->count && code == CORE_OK; i++) {
    SweepArray *array = &journal->arrays[i];
    if (!asked[i]) continue;
    if (array->state == SWEEP_ARRAY_TAKEN) {
      printf("  job %lld was taken by Slurm when it was submitted before, unnoticed\n", (long long)array->job);
      code = sweep_journal_append(s->launch->root, s->launch->name, "took\t%lld\t%lld\t%lld", (long long)array->batch,
                                  (long long)array->array, (long long)array->job);
    } else {
      array->state = SWEEP_ARRAY_GONE;
      code = sweep_journal_append(s->launch->root, s->launch->name, "gone\t%lld\t%lld", (long long)array->batch, (long long)array->array);
    }
  }
  free(asked);
  return code;
}

static void add_after(Submission *s, int64_t job) {
  s->after = core_memory_resize(s->after, (s->after_count + 1) * sizeof *s->after);
  s->after[s->after_count++] = job;
}

/* The jobs of other sweeps that must have ended first, as far as they have not. */
static int find_after(Submission *s) {
  char copy[SLURM_TEXT];
  const char *names[64];
  const SweepLaunch *launch = s->launch;
  const size_t count = names_of(launch, copy, names, 64);
  for (size_t n = 1; n < count; n++) {
    SweepManifest manifest;
    SweepPlacement placement;
    if (strcmp(names[n], launch->name) == 0) return core_error(CORE_USAGE, "slurm.after = %s: a sweep can not wait for itself", names[n]);
    TRY(sweep_manifest_read(launch->root, names[n], &manifest));
    int code = sweep_placement_read(launch->root, &manifest, &placement);
    sweep_manifest_free(&manifest);
    TRY(code);
    sweep_placement_join(names[n], &placement, &s->queue);
    for (size_t i = 0; i < placement.journal.count; i++) {
      const SweepArray *array = &placement.journal.arrays[i];
      bool alive = false;
      for (int64_t t = 0; t < array->tasks && !alive; t++) alive = placement.rows[i][t] && !slurm_state_is_over(placement.rows[i][t]->state);
      if (!alive || array->state != SWEEP_ARRAY_TAKEN) continue;
      add_after(s, array->job);
    }
    sweep_placement_free(&placement);
  }
  return CORE_OK;
}

/* ---- choosing ------------------------------------------------------------------------------------------------------ */

static bool is_in_queue(const Submission *s, size_t index) {
  if (index >= s->placement.count) return false;
  const SlurmTask *row = sweep_placement_row(&s->placement, &s->placement.places[index]);
  return row && !slurm_state_is_over(row->state);
}

/* Is there anything to do for this run? Counts it either way. */
static int choose(Submission *s, const char *id, size_t index, bool *wanted) {
  SweepLaunched *done = s->done;
  StoreState state;
  *wanted = false;
  if (is_in_queue(s, index)) {
    done->queued++;
    return CORE_OK;
  }
  if (store_run_state_read(s->launch->root, id, true, &state) != CORE_OK) core_warn("%s", core_error_message());
  if (state.status == STORE_RUNNING) done->running++;
  else if (state.status == STORE_FINISHED && !s->launch->force) done->finished++;
  else if (state.status == STORE_DIVERGED && !s->launch->force) done->diverged++;
  else *wanted = true;
  if (!*wanted || state.status == STORE_PENDING) return CORE_OK;
  SweepRecord record;
  bool present;
  TRY(sweep_record_read(s->launch->root, id, &record, &present));
  if (s->launch->force || index >= s->placement.count) return CORE_OK;
  const SweepPlace *place = &s->placement.places[index];
  const SlurmTask *row = sweep_placement_row(&s->placement, place);
  if ((row && row->state == SLURM_OUT_OF_MEMORY) ||
      (present && sweep_joblog_ran_out(s->launch->root, s->launch->name, &s->placement.journal, &record))) {
    const int64_t before = place->array ? s->placement.batches[place->batch].settings.mem : 0;
    if (s->launch->settings->mem <= before) { /* it would end in the same way */
      done->exhausted++;
      *wanted = false;
    }
  }
  return CORE_OK;
}

/* ---- handing over -------------------------------------------------------------------------------------------------- */

static int program_path(char path[CORE_PATH_MAX]) {
  const ssize_t length = readlink("/proc/self/exe", path, CORE_PATH_MAX - 1);
  if (length <= 0) return core_error_errno(CORE_FAIL, "can not find this program's own file");
  path[length] = '\0';
  return CORE_OK;
}

/* What is the same for all arrays of a batch. */
typedef struct Cut {
  int64_t number, tasks;         /* of the batch */
  char hash[SWEEP_HASH];
  int64_t array_tasks;           /* a full array */
  int64_t arrays;
} Cut;

/* max_running holds for the whole sweep: arrays share it; where there are more arrays than that, each waits for an earlier
 * one. */
static int64_t throttle_of(const SlurmSettings *settings, const Cut *cut, int64_t array) {
  if (settings->max_running == 0) return 0;
  const int64_t share = settings->max_running / cut->arrays + (array < settings->max_running % cut->arrays);
  return share > 0 ? share : 1;
}

static int print_script(const SweepLaunch *launch, const Cut *cut, int64_t array, const int64_t *after, size_t after_count,
                        SlurmJob *job, char comment[SLURM_NAME], char output[CORE_PATH_MAX], CoreText *script) {
  char program[CORE_PATH_MAX], number[32], first[32];
  const int64_t begin = array * cut->array_tasks, end = begin + cut->array_tasks < cut->tasks ? begin + cut->array_tasks : cut->tasks;
  TRY(program_path(program));
  TRY(sweep_joblog_path(launch->root, launch->name, cut->number, array, output));
  if (strpbrk(output, "%\n")) return core_error(CORE_USAGE, "%s: Slurm takes no folder whose name holds %% or a newline", launch->root);
  snprintf(number, sizeof number, "%lld", (long long)cut->number);
  snprintf(first, sizeof first, "%lld", (long long)array);
  const char *const command[] = {program, "task", "--root", launch->root, launch->name, number, first, NULL};
  *job = (SlurmJob){.name = launch->name,
                    .comment = sweep_journal_comment(launch->name, cut->number, cut->hash, array, comment),
                    .folder = launch->root, .output = output, .tasks = end - begin,
                    .running_max = throttle_of(launch->settings, cut, array), .after = after, .after_count = after_count,
                    .held = launch->held, .settings = launch->settings};
  core_text_clear(script);
  slurm_script_print(job, command, script);
  job->script = core_text_string(script);
  return CORE_OK;
}

/* One array. *id 0 when Slurm did not take it. */
static int hand_over(Submission *s, const Cut *cut, int64_t array, const int64_t *jobs, int64_t *id) {
  const SweepLaunch *launch = s->launch;
  char comment[SLURM_NAME], output[CORE_PATH_MAX];
  CoreText script = {0};
  SlurmJob job;
  int64_t *after = core_memory_allocate((s->after_count + 1) * sizeof *after);
  size_t after_count = s->after_count;
  int code;
  *id = 0;
  if (after_count) memcpy(after, s->after, after_count * sizeof *after);
  if (launch->settings->max_running > 0 && array >= launch->settings->max_running) after[after_count++] = jobs[array - launch->settings->max_running];
  TRY_GOTO(code, out, print_script(launch, cut, array, after, after_count, &job, comment, output, &script));
  TRY_GOTO(code, out, sweep_journal_append(launch->root, launch->name, "ask\t%lld\t%s\t%lld\t%lld\t%lld", (long long)cut->number, cut->hash,
                                           (long long)array, (long long)(array * cut->array_tasks), (long long)job.tasks));
  code = slurm_submit(launch->cluster, &job, id);
  if (code == CORE_OK) {
    code = sweep_journal_append(launch->root, launch->name, "took\t%lld\t%lld\t%lld", (long long)cut->number, (long long)array, (long long)*id);
  } else {
    const SlurmFault fault = slurm_fault(launch->cluster);
    snprintf(s->done->refusal, sizeof s->done->refusal, "%s", core_error_message());
    if (fault != SLURM_TIMED_OUT && fault != SLURM_GARBLED)
      sweep_journal_append(launch->root, launch->name, "refused\t%lld\t%lld\t%.400s", (long long)cut->number, (long long)array, s->done->refusal);
    code = core_error(CORE_FAIL, "%s%s", s->done->refusal, fault == SLURM_TIMED_OUT || fault == SLURM_GARBLED
                      ? "; perhaps Slurm took the array all the same: submit again, which finds out and goes on" : "");
  }
out:
  free(after);
  core_text_free(&script);
  return code;
}

static int hand_over_all(Submission *s, Cut *cut, size_t runs) {
  sweep_notify_begin(s->launch->root, s->launch->name);
  const int64_t packed = s->launch->settings->runs_per_task;
  int64_t *jobs = core_memory_zero_allocate((size_t)cut->arrays, sizeof *jobs);
  int code = CORE_OK;
  for (int64_t array = 0; array < cut->arrays && code == CORE_OK; array++) {
    const int64_t first = array * cut->array_tasks * packed, last = first + cut->array_tasks * packed;
    const size_t here = (size_t)((last < (int64_t)runs ? last : (int64_t)runs) - first);
    code = hand_over(s, cut, array, jobs, &jobs[array]);
    if (code != CORE_OK) {
      s->done->refused = runs - s->done->submitted;
      break;
    }
    s->done->submitted += here;
    s->done->arrays++;
    if (cut->arrays <= 20) printf("  job %lld: %zu runs\n", (long long)jobs[array], here);
  }
  for (int64_t array = 0; array < cut->arrays && code == CORE_OK; array++) add_after(s, jobs[array]); /* for a batch that builds on this one */
  free(jobs);
  return code;
}

static Cut cut_batch(const Submission *s, size_t runs, int64_t number) {
  const int64_t packed = s->launch->settings->runs_per_task;
  Cut cut = {.number = number, .tasks = ((int64_t)runs + packed - 1) / packed, .hash = "0000000000000000",
             .array_tasks = s->limits ? s->limits->array_tasks_max : ARRAY_TASKS_OTHERWISE};
  if (s->limits && s->limits->submit_max > 0 && s->limits->submit_max < cut.array_tasks) cut.array_tasks = s->limits->submit_max;
  if (s->limits && s->limits->jobs_max > 0 && s->limits->jobs_max < cut.array_tasks) cut.array_tasks = s->limits->jobs_max;
  cut.arrays = (cut.tasks + cut.array_tasks - 1) / cut.array_tasks;
  return cut;
}

/* ---- saying what it would be --------------------------------------------------------------------------------------- */

void sweep_launch_cost(const SlurmSettings *settings, size_t runs, CoreText *text) {
  const int64_t packed = settings->runs_per_task;
  const double tasks = (double)(((int64_t)runs + packed - 1) / packed), hours = (double)settings->time / 3600;
  const double gpus = (double)slurm_settings_task_gpus(settings), cpus = (double)slurm_settings_task_cpus(settings);
  if (settings->time == 0) core_text_append(text, "without a time limit (slurm.time) the cost has no bound");
  else if (gpus > 0) core_text_appendf(text, "at most %.4g GPU-hours and %.4g CPU-hours", tasks * hours * gpus, tasks * hours * cpus);
  else core_text_appendf(text, "at most %.4g CPU-hours", tasks * hours * cpus);
}

static void describe(const Submission *s, const Cut *cut, size_t runs) {
  CoreText text = {0};
  sweep_launch_cost(s->launch->settings, runs, &text);
  printf("%s: %zu runs to submit as %lld tasks in %lld array%s; %s\n", s->launch->name, runs, (long long)cut->tasks, (long long)cut->arrays,
         cut->arrays == 1 ? "" : "s", core_text_string(&text));
  core_text_free(&text);
}

int sweep_launch_script(const SweepLaunch *launch, int64_t number, size_t runs, int64_t array_tasks_max, CoreText *script) {
  const SlurmLimits limits = {.array_tasks_max = array_tasks_max};
  const Submission s = {.launch = launch, .limits = array_tasks_max > 0 ? &limits : NULL};
  const Cut cut = cut_batch(&s, runs, number);
  char comment[SLURM_NAME], output[CORE_PATH_MAX];
  SlurmJob job;
  return print_script(launch, &cut, 0, NULL, 0, &job, comment, output, script);
}

static int test(const Submission *s, const Cut *cut) {
  char comment[SLURM_NAME], output[CORE_PATH_MAX], date[32] = "";
  CoreText script = {0};
  SlurmForecast forecast;
  SlurmJob job;
  struct tm local;
  int code = print_script(s->launch, cut, 0, s->after, s->after_count, &job, comment, output, &script);
  if (code == CORE_OK) code = slurm_test(s->launch->cluster, &job, &forecast);
  const time_t at = (time_t)(code == CORE_OK ? forecast.start_unix_s : 0);
  if (at && localtime_r(&at, &local)) strftime(date, sizeof date, " about %Y-%m-%d %H:%M", &local);
  if (code == CORE_OK) printf("  Slurm would start the first task%s on %s, partition %s\n", date, forecast.nodes, forecast.partition);
  core_text_free(&script);
  return code;
}

static bool fits(const SlurmPartition *p, const SlurmSettings *s) {
  return (!p->time_max_s || s->time <= p->time_max_s) && slurm_settings_task_cpus(s) / s->nodes <= p->cpus_max &&
         slurm_settings_task_gpus(s) / s->nodes <= p->gpus_max && s->mem * s->runs_per_task <= p->memory_max_mb && s->nodes <= p->nodes && p->up;
}

static bool is_named(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (const char *c = list; *c; c += strcspn(c, ","), c += *c == ',')
    if (strncmp(c, name, length) == 0 && (c[length] == ',' || !c[length])) return true;
  return false;
}

int sweep_launch_fits(SlurmCluster *cluster, const SlurmSettings *s) {
  SlurmPartition *partitions, *nearest = NULL;
  size_t count;
  bool good = false;
  char limit[32], asked[32];
  TRY(slurm_partitions(cluster, &partitions, &count));
  for (size_t i = 0; i < count && !good; i++) {
    if (*s->partition ? !is_named(s->partition, partitions[i].name) : !partitions[i].is_default) continue;
    nearest = &partitions[i];
    good = fits(nearest, s);
  }
  int code = CORE_OK;
  if (!nearest && *s->partition) {
    CoreText names = {0};
    for (size_t i = 0; i < count; i++) core_text_appendf(&names, "%s%s", i ? ", " : "", partitions[i].name);
    code = core_error(CORE_USAGE, "slurm.partition = %s: this cluster has no such partition; it has %s", s->partition, core_text_string(&names));
    core_text_free(&names);
  } else if (nearest && !good) {
    code = core_error(CORE_USAGE, "no task fits partition %s: a task asks for %s, %lld nodes of %lld processors, %lld GPUs and %lld MB each; "
                      "it has %lld nodes%s of at most %lld processors, %lld GPUs and %lld MB, for at most %s (slurm.time, nodes, cpus_per_run, "
                      "gpus_per_run, mem, runs_per_task)", nearest->name, s->time ? slurm_time_format(s->time, asked) : "its default time",
                      (long long)s->nodes, (long long)(slurm_settings_task_cpus(s) / s->nodes), (long long)(slurm_settings_task_gpus(s) / s->nodes),
                      (long long)(s->mem * s->runs_per_task), (long long)nearest->nodes, nearest->up ? "" : " (it is down)",
                      (long long)nearest->cpus_max, (long long)nearest->gpus_max, (long long)nearest->memory_max_mb,
                      nearest->time_max_s ? slurm_time_format(nearest->time_max_s, limit) : "any time");
  }
  free(partitions);
  return code;
}

/* ---- the two ways in ----------------------------------------------------------------------------------------------- */

static int begin(Submission *s, int *lock) {
  *lock = -1;
  if (!s->launch->dry_run && !s->launch->test_only) TRY(sweep_journal_lock(s->launch->root, s->launch->name, lock));
  TRY(sweep_placement_read(s->launch->root, s->manifest, &s->placement));
  if (!s->launch->cluster) return CORE_OK;
  TRY(slurm_limits(s->launch->cluster, &s->limits));
  if (s->launch->dry_run || s->launch->test_only) TRY(list(s));
  else TRY(settle(s));
  return find_after(s);
}

static void end(Submission *s, int *lock) {
  sweep_placement_free(&s->placement);
  slurm_tasks_free(&s->queue);
  free(s->after);
  core_files_unlock(lock);
}

/* Does this run begin from the checkpoint of another one of the grid (init.from)? Then that one goes first. */
static bool is_child(const SweepGrid *grid, size_t run, const SweepIds *places) {
  CoreConfig config;
  CoreOrigin origin;
  sweep_grid_config(grid, run, &config);
  return *config.init.from && core_origin_parse(config.init.from, &origin) == CORE_OK && origin.is_run && sweep_ids_find(places, origin.run, NULL);
}

/* Moves them to the end, the order otherwise kept; returns how many there are. */
static size_t children_last(const SweepGrid *grid, const SweepIds *in_grid, size_t *runs, size_t count) {
  size_t *children = core_memory_allocate((count + 1) * sizeof *children), kept = 0, moved = 0;
  for (size_t i = 0; i < count; i++) {
    if (is_child(grid, runs[i], in_grid)) children[moved++] = runs[i];
    else runs[kept++] = runs[i];
  }
  if (moved) memcpy(runs + kept, children, moved * sizeof *runs);
  free(children);
  return moved;
}

/* The jobs of this sweep that have not ended: what runs that begin from others' checkpoints wait for. */
static void wait_for_own(Submission *s) {
  for (size_t i = 0; i < s->placement.journal.count; i++) {
    const SweepArray *array = &s->placement.journal.arrays[i];
    bool alive = false;
    for (int64_t t = 0; t < array->tasks && !alive; t++) alive = s->placement.rows[i][t] && !slurm_state_is_over(s->placement.rows[i][t]->state);
    if (alive && array->job) add_after(s, array->job);
  }
}

/* One batch of those runs, from the description to Slurm. */
static int launch_batch(Submission *s, const SweepGrid *grid, const size_t *runs, const int64_t *indices, size_t count, int64_t number) {
  const SweepLaunch *launch = s->launch;
  Cut cut = cut_batch(s, count, number);
  s->done->tasks += (size_t)cut.tasks;
  describe(s, &cut, count);
  if (launch->cluster) TRY(sweep_launch_fits(launch->cluster, launch->settings));
  if (launch->test_only) return test(s, &cut);
  if (launch->dry_run) return CORE_OK;
  TRY(sweep_batch_write(launch->root, grid, runs, indices, count, number, launch->settings, launch->force, cut.hash));
  return hand_over_all(s, &cut, count);
}

int sweep_launch_grid(const SweepLaunch *launch, const SweepGrid *grid, const SweepManifest *manifest, SweepLaunched *done) {
  *done = (SweepLaunched){0};
  Submission s = {.launch = launch, .manifest = manifest, .done = done};
  size_t *runs = core_memory_allocate((grid->runs + 1) * sizeof *runs), count = 0;
  int64_t *indices = core_memory_allocate((grid->runs + 1) * sizeof *indices);
  SweepIds places = {0}, in_grid = {0};
  int lock, code;
  size_t children = 0;
  sweep_ids_add_all(&places, (const char(*)[CORE_RUN_ID])manifest->ids, manifest->count);
  sweep_ids_add_all(&in_grid, (const char(*)[CORE_RUN_ID])grid->ids, grid->runs);
  TRY_GOTO(code, out, begin(&s, &lock));
  for (size_t run = 0; run < grid->runs; run++) {
    size_t index;
    bool wanted;
    CORE_CHECK(sweep_ids_find(&places, grid->ids[run], &index)); /* the manifest was merged with this grid */
    TRY_GOTO(code, out, choose(&s, grid->ids[run], index, &wanted));
    if (wanted) runs[count++] = run;
  }
  children = children_last(grid, &in_grid, runs, count);
  for (size_t i = 0; i < count; i++) {
    size_t index;
    sweep_ids_find(&places, grid->ids[runs[i]], &index);
    indices[i] = (int64_t)index;
  }
  const int64_t number = s.placement.journal.batches + 1;
  if (count > children) code = launch_batch(&s, grid, runs, indices, count - children, number);
  if (code == CORE_OK && children > 0) {
    wait_for_own(&s);
    code = launch_batch(&s, grid, runs + count - children, indices + count - children, children, number + (count > children));
  }
out:
  end(&s, &lock);
  sweep_ids_free(&places);
  sweep_ids_free(&in_grid);
  free(runs);
  free(indices);
  return code;
}

int sweep_launch_again(const SweepLaunch *launch, const SweepManifest *manifest, const int64_t *indices, size_t count, SweepLaunched *done) {
  *done = (SweepLaunched){0};
  Submission s = {.launch = launch, .manifest = manifest, .done = done};
  const SweepBatch **sources = core_memory_allocate((count + 1) * sizeof *sources);
  size_t *lines = core_memory_allocate((count + 1) * sizeof *lines), kept = 0;
  int lock, code;
  TRY_GOTO(code, out, begin(&s, &lock));
  for (size_t i = 0; i < count; i++) {
    const SweepPlace *place = &s.placement.places[indices[i]];
    if (is_in_queue(&s, (size_t)indices[i])) {
      done->queued++;
      continue;
    }
    if (!place->array) {
      code = core_error(CORE_USAGE, "run %s was never submitted; sweep submit does it", manifest->ids[indices[i]]);
      goto out;
    }
    sources[kept] = &s.placement.batches[place->batch];
    lines[kept++] = place->line;
  }
  if (kept == 0) goto out;
  Cut cut = cut_batch(&s, kept, s.placement.journal.batches + 1);
  done->tasks = (size_t)cut.tasks;
  describe(&s, &cut, kept);
  TRY_GOTO(code, out, sweep_launch_fits(launch->cluster, launch->settings));
  if (launch->dry_run) goto out;
  TRY_GOTO(code, out, sweep_batch_rewrite(launch->root, launch->name, sources, lines, kept, cut.number, launch->settings, launch->force, cut.hash));
  code = hand_over_all(&s, &cut, kept);
out:
  end(&s, &lock);
  free(sources);
  free(lines);
  return code;
}
