/* The submission itself. Its order is what makes it exact: lock, find out what became of unanswered arrays, choose,
 * write the batch, and then for each array: journal "ask", call Slurm, journal the answer. Killed between any two of
 * these, the next call finds in the journal and in Slurm's queue what was taken, and submits the rest. */
#include "sweep/cluster/launch.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/workspace/run.h"
#include "sweep/cluster/ancestry.h"
#include "sweep/cluster/split.h"
#include "sweep/cluster/generations.h"
#include "sweep/cluster/job_map.h"
#include "sweep/cluster/joblog.h"
#include "sweep/cluster/record.h"
#include "sweep/local/notify.h"
#include "sweep/spec/id_set.h"

enum { PARENT_TASKS_MAX = 16 /* waited for one by one; more of them by their whole arrays */ };

/* A run to submit: of the grid, or as it stands in an earlier batch (source). */
typedef struct Wanted {
  int64_t index;               /* in the manifest */
  const char *id;
  size_t run;
  const SweepBatch *source;
  size_t line;
  size_t parent;               /* in the list, or as generations.h says; `task` carries a SWEEP_PARENT_ELSEWHERE */
  SlurmId task;
  size_t generation, place;          /* where generations.h has put it */
} Wanted;

/* One batch of it. */
typedef struct Wave {
  SweepGeneration order;
  SweepSplit split;
  int64_t *jobs;               /* [split.arrays]; 0: not (yet) taken by Slurm */
} Wave;

/* What one submission works with. */
typedef struct Submission {
  const SweepLaunch *launch;
  const SweepManifest *manifest;
  const SweepGrid *grid;       /* NULL: runs of earlier batches */
  SweepJobMap job_map;
  SlurmTasks queue;
  const SlurmLimits *limits;   /* NULL without a cluster */
  SlurmAllowance allowance;    /* of the account, when the submission began */
  int64_t room;                /* tasks that it still lets us submit; -1: any number */
  SweepWait after;             /* jobs of settings->after that are still there */
  SweepLaunched *done;
  Wanted *wanted;              /* [count] */
  size_t count;
  Wave *generations;
  size_t wave_count;
} Submission;

static FILE *words_of(const SweepLaunch *launch) { return launch->words ? launch->words : stdout; }

/* ---- what Slurm has ---------------------------------------------------------------------------------------------- */

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
  sweep_job_map_join(s->launch->name, &s->job_map, &s->queue);
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

/* An array that was asked for and is not in the queue may still be under way to it: slurmctld works on for a while
 * after a client has given up. Only one that stays away for twice that time is gone; should a task of it turn up all
 * the same, it finds that in the journal and ends (task.c). */
static int settle(Submission *s) {
  const SweepJournal *journal = &s->job_map.journal;
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
      fprintf(words_of(s->launch), "  job %lld was taken by Slurm when it was submitted before, unnoticed\n",
              (long long)array->job);
      code = sweep_journal_append(s->launch->root, s->launch->name, "took\t%lld\t%lld\t%lld", (long long)array->batch,
                                  (long long)array->array, (long long)array->job);
    } else {
      array->state = SWEEP_ARRAY_GONE;
      code = sweep_journal_append(s->launch->root, s->launch->name, "gone\t%lld\t%lld", (long long)array->batch,
                                  (long long)array->array);
    }
  }
  free(asked);
  return code;
}

/* The jobs of other sweeps that must have ended first, as far as they have not. */
static int find_after(Submission *s) {
  char copy[SLURM_TEXT];
  const char *names[64];
  const SweepLaunch *launch = s->launch;
  const size_t count = names_of(launch, copy, names, 64);
  for (size_t n = 1; n < count; n++) {
    SweepManifest manifest;
    SweepJobMap job_map;
    if (strcmp(names[n], launch->name) == 0)
      return core_error(CORE_USAGE, "slurm.after = %s: a sweep can not wait for itself", names[n]);
    TRY(sweep_manifest_read(launch->root, names[n], &manifest));
    int code = sweep_job_map_read(launch->root, &manifest, &job_map);
    sweep_manifest_free(&manifest);
    TRY(code);
    sweep_job_map_join(names[n], &job_map, &s->queue);
    for (size_t i = 0; i < job_map.journal.count; i++) {
      const SweepArray *array = &job_map.journal.arrays[i];
      bool alive = false;
      for (int64_t t = 0; t < array->tasks && !alive; t++)
        alive = job_map.rows[i][t] && !slurm_state_is_over(job_map.rows[i][t]->state);
      if (!alive || array->state != SWEEP_ARRAY_TAKEN) continue;
      sweep_wait_add(&s->after, (SlurmId){array->job, -1}, 0, 0);
    }
    sweep_job_map_free(&job_map);
  }
  return CORE_OK;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static bool is_in_queue(const Submission *s, size_t index) {
  if (index >= s->job_map.count) return false;
  const SlurmTask *row = sweep_job_map_row(&s->job_map, &s->job_map.places[index]);
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
  if (s->launch->force || index >= s->job_map.count) return CORE_OK;
  const SweepJobMapRun *place = &s->job_map.places[index];
  const SlurmTask *row = sweep_job_map_row(&s->job_map, place);
  if ((row && row->state == SLURM_OUT_OF_MEMORY) ||
      (present && sweep_joblog_ran_out(s->launch->root, s->launch->name, &s->job_map.journal, &record))) {
    const int64_t before = place->array ? s->job_map.batches[place->batch].settings.mem : 0;
    if (s->launch->settings->mem <= before) { /* it would end in the same way */
      done->exhausted++;
      *wanted = false;
    }
  }
  return CORE_OK;
}

/* ---- parents ----------------------------------------------------------------------------------------------------- */

static int config_of(const Submission *s, const Wanted *wanted, CoreConfig *config) {
  if (wanted->source) return sweep_batch_config(wanted->source, wanted->line, config);
  sweep_grid_config(s->grid, wanted->run, config);
  return CORE_OK;
}

/* Spares most sweeps a look at each run's configuration. */
static bool may_have_parents(const SweepGrid *grid) {
  bool may = *grid->spec->base.init.from != '\0';
  for (size_t p = 0; p < grid->part_count; p++)
    for (size_t a = 0; a < grid->parts[p].axis_count; a++)
      for (size_t i = 0; i < grid->parts[p].axes[a].list_count; i++)
        may |= strcmp(grid->parts[p].axes[a].lists[i].row->name, "init.from") == 0;
  return may;
}

/* Leaves out whoever begins from a run that nobody is at, and who begins from one that is left out. */
static void drop_orphans(Submission *s, bool *orphan) {
  size_t *moved = core_memory_allocate((s->count + 1) * sizeof *moved), kept = 0;
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < s->count; i++) {
      const size_t parent = s->wanted[i].parent;
      if (orphan[i] || parent >= s->count || !orphan[parent]) continue;
      orphan[i] = again = true;
    }
  }
  for (size_t i = 0; i < s->count; i++) {
    moved[i] = kept;
    if (orphan[i]) s->done->orphans++;
    else s->wanted[kept++] = s->wanted[i];
  }
  s->count = kept;
  for (size_t i = 0; i < kept; i++)
    if (s->wanted[i].parent < SWEEP_PARENT_ELSEWHERE) s->wanted[i].parent = moved[s->wanted[i].parent];
  free(moved);
}

static int find_parents(Submission *s) {
  SweepIdSet listed = {0}, ids = {0};
  for (size_t i = 0; i < s->count; i++) s->wanted[i].parent = SWEEP_NO_PARENT;
  if (s->grid && !may_have_parents(s->grid)) return CORE_OK;
  for (size_t i = 0; i < s->count; i++) sweep_id_set_add(&listed, s->wanted[i].id, NULL);
  sweep_id_set_add_all(&ids, (const char(*)[CORE_RUN_ID])s->manifest->ids, s->manifest->count);
  SweepAncestry *ancestry =
      sweep_ancestry_create(s->launch->root, s->launch->name, s->launch->cluster, &ids, &s->job_map);
  bool *orphan = core_memory_zero_allocate(s->count + 1, sizeof *orphan);
  int code = CORE_OK;
  for (size_t i = 0; i < s->count && code == CORE_OK; i++) {
    CoreConfig config;
    SweepParent where;
    size_t place;
    char id[CORE_RUN_ID];
    Wanted *wanted = &s->wanted[i];
    TRY_GOTO(code, out, config_of(s, wanted, &config));
    code = sweep_ancestry_find(ancestry, config.init.from, &listed, &where, &place, &wanted->task, id);
    if (where == SWEEP_PARENT_LISTED) wanted->parent = place;
    if (where == SWEEP_PARENT_QUEUED) wanted->parent = SWEEP_PARENT_ELSEWHERE;
    if (where != SWEEP_PARENT_MISSING) continue;
    orphan[i] = true;
    memcpy(s->done->orphan, id, sizeof id);
  }
  drop_orphans(s, orphan);
out:
  free(orphan);
  sweep_ancestry_destroy(&ancestry);
  sweep_id_set_free(&listed);
  sweep_id_set_free(&ids);
  return code;
}

/* Generations, and which run is where. With slurm.max_running a child must not run beside the parents of others: one
 * generation after the other. */
static void arrange(Submission *s) {
  size_t *parent = core_memory_allocate((s->count + 1) * sizeof *parent);
  SweepGenerations order;
  for (size_t i = 0; i < s->count; i++) parent[i] = s->wanted[i].parent;
  sweep_generations_make(parent, s->count, s->launch->settings->max_running == 0, &order);
  s->generations = core_memory_zero_allocate(order.wave_count + 1, sizeof *s->generations);
  s->wave_count = order.wave_count;
  Wanted *sorted = core_memory_allocate((s->count + 1) * sizeof *sorted);
  size_t *moved = core_memory_allocate((s->count + 1) * sizeof *moved);
  for (size_t w = 0; w < order.wave_count; w++) {
    s->generations[w].order = order.generations[w];
    for (size_t i = 0; i < order.generations[w].count; i++) {
      const size_t at = order.generations[w].first + i;
      moved[order.run[at]] = at;
      sorted[at] = s->wanted[order.run[at]];
      sorted[at].generation = w, sorted[at].place = i;
    }
  }
  for (size_t i = 0; i < s->count; i++)
    if (sorted[i].parent < SWEEP_PARENT_ELSEWHERE) sorted[i].parent = moved[sorted[i].parent];
  free(s->wanted);
  s->wanted = sorted;
  sweep_generations_free(&order);
  free(parent);
  free(moved);
}

/* ---- what an array waits for ------------------------------------------------------------------------------------- */

static void wait_for_arrays(const Wave *generation, SweepWait *wait) {
  for (int64_t array = 0; array < generation->split.arrays; array++)
    sweep_wait_add(wait, (SlurmId){generation->jobs[array], -1}, generation->split.number, array);
}

/* All earlier generations, and the jobs of this sweep that have not ended. */
static void wait_for_all(const Submission *s, const Wave *generation, SweepWait *wait) {
  for (const Wave *earlier = s->generations; earlier < generation; earlier++) wait_for_arrays(earlier, wait);
  for (size_t i = 0; i < s->job_map.journal.count; i++) {
    const SweepArray *array = &s->job_map.journal.arrays[i];
    bool alive = false;
    for (int64_t t = 0; t < array->tasks && !alive; t++)
      alive = s->job_map.rows[i][t] && !slurm_state_is_over(s->job_map.rows[i][t]->state);
    if (alive && array->job) sweep_wait_add(wait, (SlurmId){array->job, -1}, 0, 0);
  }
}

/* The tasks that carry the parents of this generation's runs; their whole arrays where these are many. */
static void wait_for_parents(const Submission *s, const Wave *generation, SweepWait *wait) {
  const int64_t packed = s->launch->settings->runs_per_task;
  const size_t before = wait->count;
  bool by_task = true;
  for (size_t i = 0; i < generation->order.count; i++) {
    const Wanted *child = &s->wanted[generation->order.first + i];
    SlurmId id = child->task;
    int64_t number = 0, array = 0;
    if (child->parent != SWEEP_PARENT_ELSEWHERE) {
      const Wanted *parent = &s->wanted[child->parent];
      const Wave *there = &s->generations[parent->generation];
      const int64_t task = (int64_t)parent->place / packed;
      number = there->split.number, array = task / there->split.array_tasks;
      id = (SlurmId){there->jobs[array], task % there->split.array_tasks};
    }
    if (!by_task) id.task = -1;
    sweep_wait_add(wait, id, number, array);
    if (!by_task || wait->count - before <= PARENT_TASKS_MAX) continue;
    by_task = false; /* once more, from the beginning */
    wait->count = before;
    i = SIZE_MAX;
  }
}

static void find_waits(const Submission *s, const Wave *generation, int64_t array, SweepWait *wait) {
  const int64_t most = s->launch->settings->max_running;
  for (size_t i = 0; i < s->after.count; i++) sweep_wait_add(wait, s->after.after[i], 0, 0);
  if (generation->order.parent != SWEEP_NO_PARENT) {
    const Wave *parent = &s->generations[generation->order.parent];
    wait->after_each = parent->jobs[array];
    if (wait->after_each == 0)
      core_text_appendf(&wait->unknown, " aftercorr: array %lld of batch %lld;", (long long)array,
                        (long long)parent->split.number);
  }
  if (generation->order.waits && most > 0) wait_for_all(s, generation, wait);
  if (generation->order.waits) wait_for_parents(s, generation, wait);
  if (most > 0 && array >= most)
    sweep_wait_add(wait, (SlurmId){generation->jobs[array - most], -1}, generation->split.number, array - most);
}

/* ---- handing over ------------------------------------------------------------------------------------------------ */

/* One array. *id 0 when Slurm did not take it. */
static int hand_over(Submission *s, const SweepSplit *split, int64_t array, const SlurmJob *job, int64_t *id) {
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

static int test(const Submission *s, const SlurmJob *job) {
  char date[32] = "";
  SlurmForecast forecast;
  struct tm local;
  TRY(slurm_test(s->launch->cluster, job, &forecast));
  const time_t at = (time_t)forecast.start_unix_s;
  if (at && localtime_r(&at, &local)) strftime(date, sizeof date, " about %Y-%m-%d %H:%M", &local);
  fprintf(words_of(s->launch), "  Slurm would start the first task%s on %s, partition %s\n", date, forecast.nodes,
          forecast.partition);
  return CORE_OK;
}

/* One array of a generation: shown, tested or submitted. */
static int carry_out(Submission *s, Wave *generation, int64_t array) {
  const SweepLaunch *launch = s->launch;
  SweepPreview *preview = launch->preview;
  SweepWait wait = {0};
  SweepArrayJob job;
  if (preview && preview->arrays++ != preview->array) return CORE_OK;
  find_waits(s, generation, array, &wait);
  int code = sweep_split_job(&generation->split, array, &wait, &job);
  if (code == CORE_OK && preview) core_text_append(&preview->script, core_text_string(&job.script));
  else if (code == CORE_OK && launch->test_only) code = test(s, &job.job);
  else if (code == CORE_OK) code = hand_over(s, &generation->split, array, &job.job, &generation->jobs[array]);
  core_text_free(&job.script);
  sweep_wait_free(&wait);
  return code;
}

static void describe(const Submission *s, const SweepSplit *split) {
  CoreText text = {0};
  sweep_launch_cost(s->launch->settings, split->runs, &text);
  fprintf(words_of(s->launch), "%s: %zu runs to submit as %lld tasks in %lld array%s; %s\n", s->launch->name,
          split->runs, (long long)split->tasks, (long long)split->arrays, split->arrays == 1 ? "" : "s",
          core_text_string(&text));
  core_text_free(&text);
}

/* The batch file of a generation, and with it its hash; written unless all this is only talk. */
static int write_batch(const Submission *s, Wave *generation, bool only_talk) {
  const SweepLaunch *launch = s->launch;
  CoreConfig base = s->grid ? s->grid->spec->base : core_config_default(), config;
  CoreText text = {0};
  int code = CORE_OK;
  base.train.seed = core_config_default().train.seed;
  sweep_batch_begin(launch->name, generation->split.number, launch->settings, launch->force, &base, &text);
  for (size_t i = 0; i < generation->order.count && code == CORE_OK; i++) {
    const Wanted *wanted = &s->wanted[generation->order.first + i];
    code = config_of(s, wanted, &config);
    sweep_batch_add(&base, wanted->index, wanted->id, &config, &text);
  }
  sweep_batch_hash(&text, generation->split.hash);
  if (code == CORE_OK && !only_talk)
    code = sweep_batch_write(launch->root, launch->name, generation->split.number, &text);
  core_text_free(&text);
  return code;
}

/* Does this array still fit what the account lets us have in the queue? One that does not keeps later ones out too:
 * they may begin from its runs. */
static bool fits_queue(Submission *s, const SweepSplit *split, int64_t array) {
  const int64_t left = split->tasks - array * split->array_tasks;
  const int64_t tasks = left < split->array_tasks ? left : split->array_tasks;
  const bool fits = s->room < 0 || tasks <= s->room;
  if (s->room >= 0) s->room = fits ? s->room - tasks : 0;
  return fits;
}

/* One generation as a batch, from the description to Slurm. */
static int launch_generation(Submission *s, Wave *generation, int64_t number) {
  const SweepLaunch *launch = s->launch;
  const bool only_talk = launch->preview || launch->dry_run || launch->test_only;
  generation->split = sweep_split_make(launch, s->limits, s->allowance.submit_room, generation->order.count, number);
  generation->jobs = core_memory_zero_allocate((size_t)generation->split.arrays, sizeof *generation->jobs);
  s->done->tasks += (size_t)generation->split.tasks;
  if (!launch->preview) describe(s, &generation->split);
  if (launch->cluster && !launch->preview) TRY(sweep_launch_fits(launch->cluster, launch->settings));
  TRY(write_batch(s, generation, only_talk));
  for (int64_t array = 0; array < generation->split.arrays && !launch->dry_run; array++) {
    if (!only_talk && !fits_queue(s, &generation->split, array)) break;
    TRY(carry_out(s, generation, array));
    if (launch->test_only) break;
    if (only_talk) continue;
    s->done->submitted += sweep_split_runs(&generation->split, array);
    s->done->arrays++;
    if (generation->split.arrays <= 20)
      fprintf(words_of(s->launch), "  job %lld: %zu runs\n", (long long)generation->jobs[array],
              sweep_split_runs(&generation->split, array));
  }
  return CORE_OK;
}

static void print_allowance(const Submission *s) {
  CoreText text = {0};
  sweep_launch_allowance(&s->allowance, s->launch->settings, s->count, &text);
  fprintf(words_of(s->launch), "%s", core_text_string(&text));
  core_text_free(&text);
}

static int launch_generations(Submission *s) {
  const SweepLaunch *launch = s->launch;
  int code = find_parents(s);
  if (code != CORE_OK || s->count == 0) return code;
  arrange(s);
  const bool only_talk = launch->preview || launch->dry_run || launch->test_only;
  if (!only_talk) sweep_notify_begin(launch->root, launch->name);
  if (launch->cluster && !launch->preview) print_allowance(s);
  for (size_t w = 0; w < s->wave_count && code == CORE_OK && (only_talk || s->room != 0); w++)
    code = launch_generation(s, &s->generations[w], s->job_map.journal.batches + 1 + (int64_t)w);
  if (code == CORE_OK && !only_talk) s->done->waiting = s->count - s->done->submitted;
  if (code != CORE_OK && (s->done->submitted || *s->done->refusal)) s->done->refused = s->count - s->done->submitted;
  return code;
}

/* ---- the two ways in --------------------------------------------------------------------------------------------- */

static int begin(Submission *s, int *lock) {
  const bool only_talk = s->launch->preview || s->launch->dry_run || s->launch->test_only;
  *lock = -1;
  if (!only_talk) TRY(sweep_journal_lock(s->launch->root, s->launch->name, lock));
  TRY(sweep_job_map_read(s->launch->root, s->manifest, &s->job_map));
  if (!s->launch->cluster) return CORE_OK;
  TRY(slurm_limits(s->launch->cluster, &s->limits));
  TRY(slurm_allowance(s->launch->cluster, s->launch->settings->account, s->launch->settings->qos, &s->allowance));
  s->room = s->allowance.submit_room;
  if (only_talk) TRY(list(s));
  else TRY(settle(s));
  return find_after(s);
}

static void end(Submission *s, int *lock) {
  for (size_t w = 0; w < s->wave_count; w++) free(s->generations[w].jobs);
  free(s->generations);
  free(s->wanted);
  sweep_job_map_free(&s->job_map);
  slurm_tasks_free(&s->queue);
  sweep_wait_free(&s->after);
  core_files_unlock(lock);
}

int sweep_launch_grid(const SweepLaunch *launch, const SweepGrid *grid, const SweepManifest *manifest,
                      SweepLaunched *done) {
  *done = (SweepLaunched){0};
  Submission s = {.launch = launch, .manifest = manifest, .grid = grid, .done = done, .room = -1};
  SweepIdSet places = {0};
  int lock, code;
  s.wanted = core_memory_allocate((grid->runs + 1) * sizeof *s.wanted);
  sweep_id_set_add_all(&places, (const char(*)[CORE_RUN_ID])manifest->ids, manifest->count);
  TRY_GOTO(code, out, begin(&s, &lock));
  for (size_t run = 0; run < grid->runs; run++) {
    size_t index;
    bool wanted;
    CORE_CHECK(sweep_id_set_find(&places, grid->ids[run], &index)); /* the manifest was merged with this grid */
    TRY_GOTO(code, out, choose(&s, grid->ids[run], index, &wanted));
    if (wanted) s.wanted[s.count++] = (Wanted){.index = (int64_t)index, .id = grid->ids[run], .run = run};
  }
  code = launch_generations(&s);
out:
  end(&s, &lock);
  sweep_id_set_free(&places);
  return code;
}

int sweep_launch_again(const SweepLaunch *launch, const SweepManifest *manifest, const int64_t *indices, size_t count,
                       SweepLaunched *done) {
  *done = (SweepLaunched){0};
  Submission s = {.launch = launch, .manifest = manifest, .done = done, .room = -1};
  int lock, code;
  s.wanted = core_memory_allocate((count + 1) * sizeof *s.wanted);
  TRY_GOTO(code, out, begin(&s, &lock));
  for (size_t i = 0; i < count; i++) {
    const SweepJobMapRun *place = &s.job_map.places[indices[i]];
    if (is_in_queue(&s, (size_t)indices[i])) {
      done->queued++;
      continue;
    }
    if (!place->array) {
      code = core_error(CORE_USAGE, "run %s was never submitted; sweep submit does it", manifest->ids[indices[i]]);
      goto out;
    }
    s.wanted[s.count++] = (Wanted){.index = indices[i],
                                   .id = manifest->ids[indices[i]],
                                   .source = &s.job_map.batches[place->batch],
                                   .line = place->line};
  }
  code = launch_generations(&s);
out:
  end(&s, &lock);
  return code;
}
