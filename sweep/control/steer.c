/* `sweep cancel`, `hold`, `release` and `retry`: a submitted sweep, or runs of it, changed where they lie in Slurm's
 * queue. Each finds out what is where (job_map.h), acts in as few calls as possible, and says what it did. */
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/json.h"
#include "core/log.h"
#include "core/memory.h"
#include "slurm/cluster.h"
#include "store/workspace/run_name.h"
#include "sweep/cluster/job_map.h"
#include "sweep/cluster/journal.h"
#include "sweep/cluster/launch.h"
#include "sweep/commands.h"
#include "sweep/control/retry_settings.h"
#include "sweep/local/environment.h"
#include "sweep/plan/code.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/sweep.h"
#include "sweep/status/cluster_status.h"
#include "sweep/stop/decide.h"

/* A sweep and the chosen ones of its runs. */
typedef struct Chosen {
  SweepCommon common;
  char name[SWEEP_NAME];
  SweepManifest manifest;
  bool *flags;              /* [manifest.count] */
  bool json;                /* what was done goes to stdout for scripts, words to stderr */
  bool all;                 /* no run was named */
  bool is_local;            /* Slurm has none of it */
} Chosen;

/* ---- which runs -------------------------------------------------------------------------------------------------- */

/* A run of this sweep: a short number is its index, anything else as in all commands. */
static int choose_run(Chosen *chosen, const char *text) {
  const SweepManifest *manifest = &chosen->manifest;
  int64_t index;
  char id[CORE_RUN_ID], where[SWEEP_NAME + 16];
  size_t at;
  const bool is_number = core_text_to_int(text, &index) && index >= 0 && (uint64_t)index < manifest->count;
  snprintf(where, sizeof where, "sweep %s", chosen->name);
  if (is_number && strlen(text) < STORE_PREFIX_MIN) {
    at = (size_t)index;
  } else if (strchr(text, '/')) {
    TRY(store_run_find(chosen->common.root, text, id));
    TRY(store_run_pick((const char(*)[CORE_RUN_ID])manifest->ids, manifest->count, id, where, &at));
  } else if (store_run_pick((const char(*)[CORE_RUN_ID])manifest->ids, manifest->count, text, where, &at) != CORE_OK) {
    if (!is_number)
      return core_error_context(CORE_USAGE, "'%.40s': give an index or an id that sweep status %s --runs lists", text,
                                chosen->name);
    at = (size_t)index;
  }
  chosen->flags[at] = true;
  return CORE_OK;
}

static int choose(Chosen *chosen, const char **operands, size_t count) {
  TRY(sweep_common_open(&chosen->common));
  TRY(sweep_common_name(&chosen->common, operands[0], chosen->name));
  TRY(sweep_manifest_read(chosen->common.root, chosen->name, &chosen->manifest));
  chosen->flags = core_memory_zero_allocate(chosen->manifest.count + 1, sizeof *chosen->flags);
  chosen->all = count == 1;
  for (size_t i = 1; i < count; i++) TRY(choose_run(chosen, operands[i]));
  for (size_t i = 0; i < chosen->manifest.count && chosen->all; i++) chosen->flags[i] = true;
  chosen->is_local = !sweep_journal_exists(chosen->common.root, chosen->name);
  return CORE_OK;
}

static int check_submitted(const Chosen *chosen) {
  if (!chosen->is_local) return CORE_OK;
  return core_error(CORE_USAGE, "%s was never submitted to Slurm; sweep stop %s ends what runs on this machine",
                    chosen->name, chosen->name);
}

static FILE *words_of(const Chosen *chosen) { return chosen->json ? stderr : stdout; }

static void forget(Chosen *chosen) {
  sweep_manifest_free(&chosen->manifest);
  free(chosen->flags);
}

/* ---- cancel, hold, release --------------------------------------------------------------------------------------- */

typedef enum Verb { CANCEL, HOLD, RELEASE, RETRY } Verb;

typedef struct Queue {
  SlurmCluster *cluster;
  SweepJobMap job_map;
  SlurmTasks tasks;
} Queue;

static int open_queue(const Chosen *chosen, Queue *queue) {
  const char *name = chosen->name;
  TRY(sweep_job_map_read(chosen->common.root, &chosen->manifest, &queue->job_map));
  TRY(slurm_cluster_open("auto", &queue->cluster, NULL));
  TRY(slurm_list(queue->cluster, &name, 1, &queue->tasks));
  sweep_job_map_join(name, &queue->job_map, &queue->tasks);
  return CORE_OK;
}

static void close_queue(Queue *queue) {
  slurm_cluster_close(&queue->cluster);
  sweep_job_map_free(&queue->job_map);
  slurm_tasks_free(&queue->tasks);
}

static int by_id(const void *a, const void *b) {
  const SlurmId *x = a, *y = b;
  if (x->job != y->job) return x->job < y->job ? -1 : 1;
  return (x->task > y->task) - (x->task < y->task);
}

/* The tasks of the chosen runs that `verb` can do something about, each once. */
static SlurmId *find_tasks(const Chosen *chosen, const Queue *queue, Verb verb, size_t *count) {
  SlurmId *ids = core_memory_allocate((chosen->manifest.count + 1) * sizeof *ids);
  size_t found = 0, kept = 0;
  for (size_t i = 0; i < chosen->manifest.count; i++) {
    const SweepJobMapEntry *entry = &queue->job_map.entries[i];
    const SlurmTask *row = sweep_job_map_task(&queue->job_map, entry);
    if (!chosen->flags[i] || !row || slurm_state_is_over(row->state)) continue;
    if (verb != CANCEL && row->state != SLURM_PENDING) continue;
    ids[found++] = sweep_job_map_task_id(entry);
  }
  qsort(ids, found, sizeof *ids, by_id);
  for (size_t i = 0; i < found; i++)
    if (kept == 0 || by_id(&ids[kept - 1], &ids[i]) != 0) ids[kept++] = ids[i];
  *count = kept;
  return ids;
}

/* The journal comes first: it tells the tasks, and later status, that this was meant. */
static int note_cancel(const Chosen *chosen, size_t *noted) {
  *noted = 0;
  for (size_t i = 0; i < chosen->manifest.count && !chosen->all; i++) {
    if (!chosen->flags[i]) continue;
    TRY(sweep_journal_append(chosen->common.root, chosen->name, "cancel\t%s", chosen->manifest.ids[i]));
    (*noted)++;
  }
  if (!chosen->all) return CORE_OK;
  *noted = 1;
  return sweep_journal_append(chosen->common.root, chosen->name, "cancel\tall");
}

/* With the journal first. What Slurm surely has not done is taken back there: a task that is told to end for another
 * reason would take it for cancelled, and go back into no queue. */
static int cancel(const Chosen *chosen, const Queue *queue, const SlurmId *ids, size_t count) {
  char words[512];
  size_t noted;
  TRY(note_cancel(chosen, &noted));
  const int code = slurm_cancel(queue->cluster, ids, count);
  const SlurmFault fault = slurm_fault(queue->cluster);
  if (code == CORE_OK || fault == SLURM_TIMED_OUT || fault == SLURM_GARBLED) return code;
  snprintf(words, sizeof words, "%s", core_error_message());
  if (sweep_journal_append(chosen->common.root, chosen->name, "uncancel\t%zu", noted) != CORE_OK)
    core_warn("%s", core_error_message());
  return core_error(code, "%s", words);
}

/* The runs that these tasks carry, more than were named where runs share a task: the ids, in the manifest's order. */
static json_t *list_runs_of(const Chosen *chosen, const Queue *queue, const SlurmId *ids, size_t count) {
  json_t *runs = json_array();
  for (size_t i = 0; i < queue->job_map.count; i++) {
    const SlurmId id = sweep_job_map_task_id(&queue->job_map.entries[i]);
    if (id.job > 0 && bsearch(&id, ids, count, sizeof *ids, by_id))
      json_array_append_new(runs, core_json_text(chosen->manifest.ids[i]));
  }
  return runs;
}

/* Takes over `runs`. */
static void tell(const Chosen *chosen, Verb verb, json_t *runs) {
  static const char *const done[] = {"cancelled", "held", "released"}, *const none[] = {"in the queue", "waiting",
                                                                                        "waiting"};
  const size_t count = json_array_size(runs);
  if (chosen->json)
    core_json_print(json_pack("{s:s, s:s, s:I, s:O}", "sweep", chosen->name, "action", done[verb], "runs",
                              (json_int_t)count, "run", runs));
  else if (count == 0) printf("%s: none of these runs is %s\n", chosen->name, none[verb]);
  else
    printf("%s: %zu runs %s%s\n", chosen->name, count, done[verb],
           verb == CANCEL ? "; running ones save a checkpoint first, sweep submit goes on with them" : "");
  json_decref(runs);
}

static int act(const Chosen *chosen, Verb verb) {
  Queue queue = {0};
  SlurmId *ids = NULL;
  size_t count = 0;
  int lock = -1, code;
  TRY(sweep_journal_lock(chosen->common.root, chosen->name, &lock));
  TRY_GOTO(code, out, open_queue(chosen, &queue));
  ids = find_tasks(chosen, &queue, verb, &count);
  if (count > 0) {
    code = verb == CANCEL ? cancel(chosen, &queue, ids, count)
                          : slurm_hold(queue.cluster, ids, count, verb == HOLD);
    sweep_cluster_status_clear_cache();
    if (code != CORE_OK) goto out;
  }
  tell(chosen, verb, list_runs_of(chosen, &queue, ids, count));
out:
  free(ids);
  close_queue(&queue);
  core_files_unlock(&lock);
  return code;
}

/* ---- retry ------------------------------------------------------------------------------------------------------- */

typedef struct RetryOptions {
  bool failed, lost, by_rule, dry_run, force, same_environment;
  const char *mem, *time;
  SweepCodeChoice code;
} RetryOptions;

/* Which of the chosen runs a retry means: the named ones, or those in trouble of the wanted kinds. */
static bool is_meant(const RetryOptions *options, const Chosen *chosen, SweepCondition condition) {
  if (condition == SWEEP_FINISHED || condition == SWEEP_DIVERGED) return options->force && !chosen->all;
  if (!chosen->all) return true;
  const bool is_lost = condition == SWEEP_LOST || condition == SWEEP_NODE_FAILURE || condition == SWEEP_STOPPED;
  const bool is_failed = condition == SWEEP_FAILED || condition == SWEEP_ORPHANED || condition == SWEEP_OUT_OF_MEMORY ||
                         condition == SWEEP_TIME_LIMIT;
  if (!options->failed && !options->lost && !options->by_rule) return is_lost || is_failed;
  return (options->lost && is_lost) || (options->failed && is_failed) ||
         (options->by_rule && condition == SWEEP_STOPPED_BY_RULE);
}

/* With a run come the runs that wait for it in vain: those that begin from its checkpoint, and so on. */
static void add_orphans(const SweepClusterStatus *cluster, const Chosen *chosen, bool *meant) {
  SweepIdSet places = {0};
  size_t parent;
  sweep_id_set_add_all(&places, (const char(*)[CORE_RUN_ID])chosen->manifest.ids, chosen->manifest.count);
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < chosen->manifest.count; i++) {
      const SweepRunStatus *status = &cluster->run[i];
      if (meant[i] || status->condition != SWEEP_ORPHANED || !sweep_id_set_find(&places, status->parent, &parent) ||
          !meant[parent])
        continue;
      meant[i] = again = true;
    }
  }
  sweep_id_set_free(&places);
}

static int find_meant(const RetryOptions *options, const Chosen *chosen, int64_t *indices, size_t *count) {
  SweepProgress progress;
  SweepClusterStatus cluster;
  SlurmTasks tasks;
  const char *name = chosen->name;
  *count = 0;
  TRY(sweep_cluster_status_query(&name, 1, 0, &tasks));
  int code = sweep_progress_read(chosen->common.root, name, NULL, &progress);
  if (code == CORE_OK) {
    code = sweep_cluster_status_classify(chosen->common.root, &progress, &tasks, "", &cluster);
    bool *meant = core_memory_zero_allocate(progress.runs + 1, sizeof *meant);
    for (size_t i = 0; code == CORE_OK && i < progress.runs; i++)
      meant[i] = chosen->flags[i] && cluster.run[i].id.job > 0 && is_meant(options, chosen, cluster.run[i].condition);
    if (code == CORE_OK) add_orphans(&cluster, chosen, meant);
    for (size_t i = 0; code == CORE_OK && i < progress.runs; i++)
      if (meant[i]) indices[(*count)++] = (int64_t)i;
    free(meant);
    if (code == CORE_OK) sweep_cluster_status_free(&cluster);
    sweep_progress_free(&progress);
  }
  slurm_tasks_free(&tasks);
  return code;
}

/* What the account's limit on queued jobs has kept out. */
static int judge_waiting(const RetryOptions *options, const Chosen *chosen, const SweepLaunchResult *done) {
  if (options->dry_run || done->waiting == 0) return CORE_OK;
  return core_error(CORE_REQUEUE, "%zu runs are not submitted yet: the limit on jobs in the queue is reached; sweep %s "
                    "%s when some have ended", done->waiting, options->by_rule ? "submit" : "retry", chosen->name);
}

static void tell_retry(const RetryOptions *options, const Chosen *chosen, const SweepLaunchResult *done,
                       const int64_t *indices, size_t count) {
  json_t *runs = json_array();
  for (size_t i = 0; i < count; i++) json_array_append_new(runs, core_json_text(chosen->manifest.ids[indices[i]]));
  core_json_print(json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:o}", "sweep", chosen->name, "action",
                            "retried", "dry_run", options->dry_run, "submitted", (json_int_t)done->submitted,
                            "queued", (json_int_t)done->runs[SWEEP_RUN_QUEUED], "orphaned", (json_int_t)done->orphans, "arrays",
                            (json_int_t)done->arrays, "waiting", (json_int_t)done->waiting, "run", runs));
}

/* ---- what a [stop] rule has stopped ------------------------------------------------------------------------------ */

/* Takes the chosen ones up of those that the rule has stopped: it stops them no more. */
static int take_up(const Chosen *chosen, const int64_t *indices, size_t count, size_t *taken) {
  char(*ids)[CORE_RUN_ID] = core_memory_allocate((count + 1) * sizeof *ids);
  for (size_t i = 0; i < count; i++) memcpy(ids[i], chosen->manifest.ids[indices[i]], sizeof ids[i]);
  const int code =
    sweep_stop_retry(chosen->common.root, chosen->name, (const char(*)[CORE_RUN_ID])ids, count, taken);
  free(ids);
  return code;
}

/* On this machine sweep submit does the rest: it starts whatever is neither done nor stopped. */
static int submit_here(const Chosen *chosen) {
  char command[] = "submit", root_option[] = "--root", local[] = "--local", json[] = "--json";
  char *words[] = {command, root_option, (char *)chosen->common.root, (char *)chosen->name, local,
                   chosen->json ? json : NULL, NULL};
  fflush(stdout);
  return sweep_submit(chosen->json ? 6 : 5, words);
}

static int retry_here(const RetryOptions *options, const Chosen *chosen) {
  int64_t *indices = core_memory_allocate((chosen->manifest.count + 1) * sizeof *indices);
  SweepStopLog log = {0};
  size_t count = 0, taken = 0;
  int code = CORE_OK;
  if (chosen->all && !options->by_rule)
    code = core_error(CORE_USAGE, "%s was never submitted to Slurm: sweep submit %s tries what failed again; "
                      "--by-rule, or naming runs, takes up what its rule has stopped", chosen->name, chosen->name);
  if (code == CORE_OK) code = sweep_stop_log_read(chosen->common.root, chosen->name, &log);
  for (size_t i = 0; i < chosen->manifest.count && code == CORE_OK; i++)
    if (chosen->flags[i] && sweep_stop_log_stops(&log, chosen->manifest.ids[i])) indices[count++] = (int64_t)i;
  sweep_stop_log_free(&log);
  if (code == CORE_OK && !options->dry_run) code = take_up(chosen, indices, count, &taken);
  if (code == CORE_OK)
    fprintf(words_of(chosen), "%s: %zu runs that were stopped by rule %s\n", chosen->name,
            options->dry_run ? count : taken, options->dry_run ? "would go on" : "go on");
  free(indices);
  return code == CORE_OK && taken > 0 ? submit_here(chosen) : code;
}

static int retry(const RetryOptions *options, const Chosen *chosen) {
  int64_t *indices = core_memory_allocate((chosen->manifest.count + 1) * sizeof *indices);
  size_t count, taken;
  int code;
  SlurmSettings settings;
  SweepResources resources = {0};
  size_t *run_sets = NULL;
  SweepLaunchResult done = {0};
  SlurmCluster *cluster = NULL;
  FILE *words = words_of(chosen);
  TRY_GOTO(code, out, find_meant(options, chosen, indices, &count));
  if (count > 0 && !options->dry_run) TRY_GOTO(code, out, take_up(chosen, indices, count, &taken));
  if (count == 0) {
    fprintf(words, "%s: nothing to retry\n", chosen->name);
    goto out;
  }
  const SweepRetry wanted = {.common = &chosen->common, .name = chosen->name, .manifest = &chosen->manifest,
                             .indices = indices, .count = count, .mem = options->mem, .time = options->time,
                             .dry_run = options->dry_run};
  TRY_GOTO(code, out, sweep_retry_settings(&wanted, &settings, &resources, &run_sets));
  TRY_GOTO(code, out, slurm_cluster_open(settings.api, &cluster, NULL));
  const SweepLaunch launch = {.root = chosen->common.root,
                              .name = chosen->name,
                              .cluster = cluster,
                              .settings = &settings,
                              .resources = &resources,
                              .run_sets = run_sets,
                              .out = words,
                              .force = options->force,
                              .mode = options->dry_run ? SWEEP_LAUNCH_DRY_RUN : SWEEP_LAUNCH_SUBMIT};
  if (!options->dry_run) TRY_GOTO(code, out, sweep_environment_record(launch.root, launch.name));
  code = sweep_launch_resubmit(&launch, &chosen->manifest, indices, count, &done);
  sweep_cluster_status_clear_cache();
  if (done.submitted) fprintf(words, "%s: %zu runs submitted again\n", chosen->name, done.submitted);
  if (done.runs[SWEEP_RUN_QUEUED]) fprintf(words, "  %zu are in the queue already\n", done.runs[SWEEP_RUN_QUEUED]);
  if (done.orphans)
    fprintf(words, "  %zu begin from runs that are neither done nor in a queue (%s): retry those too\n", done.orphans,
            done.orphan);
  if (code == CORE_OK) code = judge_waiting(options, chosen, &done);
out:
  if ((code == CORE_OK || code == CORE_REQUEUE) && chosen->json) tell_retry(options, chosen, &done, indices, count);
  slurm_cluster_close(&cluster);
  sweep_resources_free(&resources);
  free(run_sets);
  free(indices);
  return code;
}

/* ---- the commands ------------------------------------------------------------------------------------------------ */

typedef struct Order { Chosen chosen; Verb verb; RetryOptions retry; } Order;
static int carry_out(void *given, const char **operands, size_t count) {
  Order *order = given;
  Chosen *chosen = &order->chosen;
  SweepCodeChoice *code_choice = &order->retry.code;
  int code = choose(chosen, operands, count);
  if (code == CORE_OK && order->retry.same_environment)
    sweep_environment_apply(chosen->common.root, chosen->name, SWEEP_ENVIRONMENT_REPLACE);
  code_choice->force = order->retry.force, code_choice->dry_run = order->retry.dry_run;
  if (code == CORE_OK && order->verb == RETRY)
    code = sweep_code_admit_sweep(&chosen->common, chosen->name, code_choice);
  if (code == CORE_OK && order->verb == RETRY && chosen->is_local) code = retry_here(&order->retry, chosen);
  else if (code == CORE_OK && (code = check_submitted(chosen)) == CORE_OK)
    code = order->verb == RETRY ? retry(&order->retry, chosen) : act(chosen, order->verb);
  forget(chosen);
  return code;
}

#define JSON_OPTION(chosen) \
  {"json", 0, CORE_OPTION_FLAG, &(chosen).json, NULL, "for scripts: which runs it was done to"}

static int take_order(const CoreManual *manual, Verb verb, int argc, char **argv) {
  Order order = {.verb = verb};
  const CoreOption options[] = {SWEEP_OPTION_ROOT(order.chosen.common), JSON_OPTION(order.chosen), {0}};
  return core_options_answer(manual, options, argc, argv, carry_out, &order);
}

int sweep_cancel(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep cancel NAME [RUN]... [options]",
    .about = "Takes a sweep, or single runs of it, out of Slurm's queue; those that run save a checkpoint and end. "
             "Runs that share a task (slurm.runs_per_task) go together. RUN is an index in the sweep, or named "
             "as everywhere: an id or its beginning, the run's folder.",
    .least = 1, .most = SIZE_MAX};
  return take_order(&manual, CANCEL, argc, argv);
}

int sweep_hold(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep hold NAME [RUN]... [options]",
    .about = "Keeps waiting runs of a sweep from starting, until sweep release. Those that run are left alone.",
    .least = 1, .most = SIZE_MAX};
  return take_order(&manual, HOLD, argc, argv);
}

int sweep_release(int argc, char **argv) {
  static const CoreManual manual = {.usage = "sweep release NAME [RUN]... [options]",
                                    .about = "Lets held runs of a sweep start.",
                                    .least = 1, .most = SIZE_MAX};
  return take_order(&manual, RELEASE, argc, argv);
}

int sweep_retry(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep retry NAME [RUN]... [options]",
    .about = "Submits runs of a sweep again that Slurm had and that are not done, from their checkpoints: the named "
             "ones, or all that failed or were lost. Cancelled and new runs are sweep submit's. Runs that the sweep's "
             "[stop] rule has stopped are taken up, on this machine too, when they are named or with --by-rule; the "
             "rule does not stop them again.",
    .least = 1, .most = SIZE_MAX};
  Order order = {.verb = RETRY};
  RetryOptions *given = &order.retry;
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(order.chosen.common),
    {"failed", 0, CORE_OPTION_FLAG, &given->failed, NULL,
     "runs that failed: their own error, out of memory, time limit"},
    {"lost", 0, CORE_OPTION_FLAG, &given->lost, NULL, "runs that were lost or stopped: node failures, preemption"},
    {"by-rule", 0, CORE_OPTION_FLAG, &given->by_rule, NULL, "runs that the sweep's [stop] rule has stopped"},
    {"mem", 0, CORE_OPTION_TEXT, &given->mem, "SIZE", "memory of a run: 8G, or +50% of what it had"},
    {"time", 0, CORE_OPTION_TEXT, &given->time, "TIME", "time limit of a task: 04:00:00"},
    {"force", 'f', CORE_OPTION_FLAG, &given->force, NULL, "start the named runs over, also finished and diverged ones"},
    {"keep", 0, CORE_OPTION_FLAG, &given->code.keep, NULL, "go on beside runs that were made by other code"},
    {"trust", 0, CORE_OPTION_FLAG, &given->code.trust, NULL, "allow the code that the sweep names, as sweep submit"},
    {"same-environment", 0, CORE_OPTION_FLAG, &given->same_environment, NULL, "as submitted last (docs/cluster.md)"},
    {"dry-run", 'n', CORE_OPTION_FLAG, &given->dry_run, NULL, "say what would be submitted; change nothing"},
    JSON_OPTION(order.chosen),
    {0}};
  return core_options_answer(&manual, options, argc, argv, carry_out, &order);
}
