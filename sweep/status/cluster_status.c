/* Classifies each run of a sweep on Slurm by an ordered table of rules. The run's own state comes first where it is
 * final or alive, then Slurm's queue, then its accounting; a run that none of them knows is lost. Every condition that
 * needs attention has a reason with a remedy. */
#include "sweep/status/cluster_status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "slurm/cluster.h"
#include "store/workspace/paths.h"
#include "sweep/cluster/job_map.h"
#include "sweep/cluster/joblog.h"
#include "sweep/cluster/record.h"
#include "sweep/supervise/run_memory.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/manifest.h"

typedef struct Classifier {
  const char *root;
  const SweepProgress *progress;
  SweepJobMap job_map;
  bool has_queue;                   /* Slurm listed its queue */
  SlurmTasks history;               /* rows of the accounting database; empty if not needed */
  SweepIdSet ids;                   /* run ids of the sweep; empty until needed */
  const SweepArray *scripted_array; /* array whose batch script's output was read last */
  char script_output[256];          /* last line of that output; "" if there is none */
} Classifier;

/* Evidence on one run: everything that its condition depends on. */
typedef struct Evidence {
  Classifier *classifier;
  const char *id;
  const SweepState *state;       /* reported by the run itself */
  const SweepJobMapEntry *entry; /* its last submission */
  const SweepBatch *batch;       /* batch of that submission; NULL if it was never submitted */
  const SlurmTask *task;         /* row of squeue or sacct; NULL if Slurm does not know the task */
  bool is_queued;                /* the task waits or runs, and has not finished this run yet */
  bool has_record;
  SweepRecord record;     /* runs/<id>/job; zeroes if absent */
  StoreState parent;      /* state of the parent run; set by is_orphaned */
  SweepRunStatus *status; /* result */
} Evidence;

#define SET_REASON(e, ...) snprintf((e)->status->text, sizeof(e)->status->text, __VA_ARGS__)

/* ---- evidence ---------------------------------------------------------------------------------------------------- */

static bool is_task_queued(const Classifier *classifier, size_t index) {
  const SlurmTask *task = sweep_job_map_task(&classifier->job_map, &classifier->job_map.entries[index]);
  return task && !slurm_state_is_over(task->state);
}

/* Whether the run has ended while its task continues with other runs. The last run of a task ends the task. */
static bool has_ended_before_task(const Evidence *e) {
  const bool has_ended = e->state->status == STORE_FAILED || e->state->status == STORE_STOPPED_BY_RULE;
  return has_ended && e->has_record && e->batch->settings.runs_per_task > 1 && e->record.job == e->entry->array->job &&
         e->record.batch == e->entry->array->batch && e->record.ended_unix_s > 0;
}

/* Whether the record of the run matters. It is a file, which the many finished and running runs need not open. */
static bool needs_record(const Evidence *e) {
  const StoreStatus status = e->state->status;
  if (e->is_queued)
    return status == STORE_FAILED || status == STORE_STOPPED_BY_RULE || (status == STORE_FINISHED && e->batch->force);
  return status != STORE_FINISHED && status != STORE_RUNNING;
}

static Evidence gather_evidence(Classifier *classifier, size_t index, SweepRunStatus *status) {
  const SweepRunState *run = &classifier->progress->run[index];
  const SweepJobMapEntry *entry = &classifier->job_map.entries[index];
  Evidence e = {.classifier = classifier,
                .id = run->id,
                .state = &run->state,
                .entry = entry,
                .batch = entry->array ? &classifier->job_map.batches[entry->batch] : NULL,
                .task = sweep_job_map_task(&classifier->job_map, entry),
                .is_queued = is_task_queued(classifier, index),
                .status = status};
  if (needs_record(&e) && sweep_record_read(classifier->root, run->id, &e.record, &e.has_record) != CORE_OK)
    e.has_record = false;
  if (e.is_queued && has_ended_before_task(&e)) e.is_queued = false;
  return e;
}

/* Reads the last line that the batch script of the run's array has printed, e.g. of a module that does not exist. */
static void read_script_output(const Evidence *e, char *line, size_t size) {
  const Classifier *classifier = e->classifier;
  const SweepArray *array = e->entry->array;
  char path[CORE_PATH_MAX];
  line[0] = '\0';
  if (sweep_batch_output(classifier->root, classifier->progress->name, array->batch, array->array, path) == CORE_OK)
    sweep_end_read_last_line(path, line, size);
}

/* Returns the last line of the batch script's output if no run of the array has started; "" if there is none, or if it
 * may belong to another task. */
static const char *script_output_before_runs(const Evidence *e) {
  Classifier *classifier = e->classifier;
  const SweepArray *array = e->entry->array;
  char *line = classifier->script_output;
  if (classifier->scripted_array == array) return line;
  classifier->scripted_array = array;
  read_script_output(e, line, sizeof classifier->script_output);
  for (size_t i = 0; i < classifier->progress->runs && *line; i++)
    if (classifier->job_map.entries[i].array == array && classifier->progress->run[i].state.attempt > 0) *line = '\0';
  if (strstr(line, "CANCELLED AT")) *line = '\0'; /* printed by a node's daemon: scancel during the start */
  return line;
}

/* ---- predicates of the rules ------------------------------------------------------------------------------------- */

static bool is_pending(Evidence *e) { return e->is_queued && e->task->state == SLURM_PENDING; }
static bool is_held(Evidence *e) { return is_pending(e) && slurm_reason_is_held(e->task->reason); }
static bool is_suspended(Evidence *e) { return e->is_queued && e->task->state == SLURM_SUSPENDED; }
static bool is_queued(Evidence *e) { return e->is_queued; }
static bool is_running(Evidence *e) { return e->state->status == STORE_RUNNING; }
static bool is_stopped_by_rule(Evidence *e) { return e->state->status == STORE_STOPPED_BY_RULE; }
static bool is_diverged(Evidence *e) { return e->state->status == STORE_DIVERGED; }
static bool is_restarted_diverged(Evidence *e) { return e->is_queued && is_diverged(e); }
static bool is_failed(Evidence *e) { return e->state->status == STORE_FAILED; }
static bool is_failed_of_memory(Evidence *e) { return is_failed(e) && e->record.cause == SWEEP_CAUSE_OUT_OF_MEMORY; }

/* Finished runs may be queued again by --force; they count as finished until their task begins with them. */
static bool is_finished(Evidence *e) {
  if (e->state->status != STORE_FINISHED) return false;
  if (!e->is_queued || !e->batch->force) return true;
  return e->has_record && e->record.job == e->entry->array->job && e->record.batch == e->entry->array->batch &&
         e->record.restarted_attempt != e->state->attempt;
}

/* Whether the run needs the checkpoint of a parent run that has none for it: Slurm has cancelled what waited for a task
 * that failed, or the trainer found no checkpoint. */
static bool is_orphaned(Evidence *e) {
  const Classifier *classifier = e->classifier;
  char *parent = e->status->parent;
  const bool is_orphan = e->entry->array && e->state->iteration == 0 &&
                         sweep_batch_parent(e->batch, e->entry->line, parent) &&
                         !sweep_journal_cancelled_by(&classifier->job_map.journal, e->id, e->entry->array) &&
                         store_run_state_read(classifier->root, parent, true, &e->parent) == CORE_OK &&
                         !(e->parent.status == STORE_FINISHED && e->state->attempt > 0); /* then it failed by itself */
  if (!is_orphan) parent[0] = '\0';
  return is_orphan;
}

static bool is_blocked_orphan(Evidence *e) {
  return is_pending(e) && strcmp(e->task->reason, "DependencyNeverSatisfied") == 0 && is_orphaned(e);
}

static bool is_unsubmitted(Evidence *e) { return !e->entry->array; }
static bool is_unsubmitted_lost(Evidence *e) { return is_unsubmitted(e) && e->state->status == STORE_LOST; }
static bool is_unsubmitted_stopped(Evidence *e) { return is_unsubmitted(e) && e->state->status == STORE_STOPPED; }

static bool is_oom(Evidence *e) {
  if (e->task && e->task->state == SLURM_OUT_OF_MEMORY) return true;
  return sweep_joblog_is_oom(e->classifier->root, e->classifier->progress->name, &e->classifier->job_map.journal,
                             &e->record);
}

static bool task_was_cancelled(Evidence *e) { return e->task && e->task->state == SLURM_CANCELLED; }
static bool task_timed_out(Evidence *e) {
  return e->task && (e->task->state == SLURM_TIMEOUT || e->task->state == SLURM_DEADLINE);
}
static bool node_failed(Evidence *e) {
  return e->task && (e->task->state == SLURM_NODE_FAIL || e->task->state == SLURM_BOOT_FAIL);
}
static bool task_was_preempted(Evidence *e) { return e->task && e->task->state == SLURM_PREEMPTED; }

static bool is_queue_unknown(Evidence *e) { return !e->task && !e->classifier->has_queue; }
static bool is_queue_unknown_started(Evidence *e) { return is_queue_unknown(e) && e->state->attempt > 0; }
static bool is_unconfirmed(Evidence *e) { return !e->task && e->entry->array->state == SWEEP_ARRAY_REQUESTED; }
static bool was_cancelled_by_sweep(Evidence *e) {
  return !e->task && sweep_journal_cancelled_by(&e->classifier->job_map.journal, e->id, e->entry->array);
}
static bool was_not_requeued(Evidence *e) { return e->record.cause == SWEEP_CAUSE_NOT_REQUEUED; }
static bool is_stopped(Evidence *e) { return e->state->status == STORE_STOPPED; }
static bool has_started(Evidence *e) { return e->state->attempt > 0; }
static bool has_ended_task(Evidence *e) { return e->task != NULL; }
static bool has_ended_started(Evidence *e) { return e->task && has_started(e); }
static bool has_failed_launch(Evidence *e) {
  enum { LAUNCH_FAILURE = 53 }; /* "signal" of the exit code */
  return e->task && !has_started(e) && (strcmp(e->task->reason, "JobLaunchFailure") == 0 ||
                                        e->task->exit_signal == LAUNCH_FAILURE);
}
static bool was_never_started(Evidence *e) { return !has_started(e) && e->record.starts == 0; }
static const char *find_obstacle(const Evidence *e, char path[CORE_PATH_MAX]) {
  return sweep_joblog_find_obstacle(e->classifier->root, e->classifier->progress->name, e->entry->array, path);
}
static bool has_unopened_output(Evidence *e) {
  char path[CORE_PATH_MAX];
  return was_never_started(e) && find_obstacle(e, path);
}
static bool has_failed_script(Evidence *e) { return was_never_started(e) && *script_output_before_runs(e); }
static bool is_any(Evidence *e) {
  (void)e;
  return true;
}

/* ---- reasons of the rules ---------------------------------------------------------------------------------------- */

/* Names the time before which the task does not start, unless that is only Slurm's delay of requeued jobs. */
static bool explain_start(Evidence *e) {
  enum { REQUEUE_DELAY_MAX_S = 600 };
  char date[32];
  struct tm local;
  const time_t start = (time_t)e->task->start_unix_s;
  if (start < e->task->submit_unix_s + REQUEUE_DELAY_MAX_S || !localtime_r(&start, &local)) return false;
  strftime(date, sizeof date, "%Y-%m-%d %H:%M", &local);
  SET_REASON(e, "does not start before %s (scontrol update StartTime changes that)", date);
  return true;
}

static void explain_waiting(Evidence *e) {
  char resume[64] = "", parent[CORE_RUN_ID];
  const char *reason = e->task->reason, *advice = slurm_reason_advice(reason);
  if (strcmp(reason, "Dependency") == 0 && sweep_batch_parent(e->batch, e->entry->line, parent)) {
    SET_REASON(e, "waits for parent runs (init.from); this run for %s", parent);
    return;
  }
  if (strcmp(reason, "BeginTime") == 0 && explain_start(e)) return;
  if (e->state->iteration > 0)
    snprintf(resume, sizeof resume, "; resumes after iteration %lld", (long long)e->state->iteration);
  SET_REASON(e, "%s%s%s%s%s", slurm_reason_text(reason), strstr(reason, ",JobHeld") ? "; some of these are held" : "",
             *advice ? ": " : "", advice, resume);
}

static void explain_suspended(Evidence *e) {
  SET_REASON(e, "on its node, until Slurm or an administrator lets it continue (scontrol resume)");
}

static void explain_starting(Evidence *e) { SET_REASON(e, "on %.60s", *e->task->nodes ? e->task->nodes : "its node"); }

static void explain_message(Evidence *e) { SET_REASON(e, "%.400s", e->state->message); }

static void explain_failure(Evidence *e) {
  SET_REASON(e, "%.440s", e->state->message[0] ? e->state->message : "no reason was recorded; see sweep logs");
}

static void explain_submit(Evidence *e) { SET_REASON(e, "sweep submit starts it"); }

/* The parent's fate is the reason. */
static void explain_orphan(Evidence *e) {
  Classifier *classifier = e->classifier;
  const StoreState *parent = &e->parent;
  const char *id = e->status->parent;
  size_t index;

  if (parent->status == STORE_FINISHED) {
    SET_REASON(e, "its parent run %s has finished meanwhile; sweep submit starts it", id);
    return;
  }

  if (classifier->ids.count == 0)
    for (size_t i = 0; i < classifier->progress->runs; i++)
      sweep_id_set_add(&classifier->ids, classifier->progress->run[i].id, NULL);
  const bool is_retried = parent->status == STORE_RUNNING ||
                          (sweep_id_set_find(&classifier->ids, id, &index) && is_task_queued(classifier, index));
  const char *fate = parent->status == STORE_PENDING   ? "has not run"
                     : parent->status == STORE_STOPPED ? "was stopped"
                     : parent->status == STORE_LOST    ? "was lost"
                                                       : store_status_name(parent->status);

  if (is_retried) SET_REASON(e, "its parent run %s is being retried; sweep submit queues it again", id);
  else
    SET_REASON(e, "its parent run %s %s%s%.200s; sweep submit %s %s submits both again", id, fate,
               *parent->message ? ": " : "", parent->message, classifier->progress->name, id);
}

/* Names who cancelled the run: the journal knows sweep stop, accounting knows scancel. */
static void explain_cancelled(Evidence *e) {
  const char *when = has_started(e) ? "" : " before it started";
  const char *by = sweep_journal_cancelled_by(&e->classifier->job_map.journal, e->id, e->entry->array);
  if (by) SET_REASON(e, "by %s with sweep stop%s; sweep submit resumes it", by, when);
  else if (e->task && *e->task->cancelled_by)
    SET_REASON(e, "by user %s%s; sweep submit resumes it", e->task->cancelled_by, when);
  else SET_REASON(e, "by hand (scancel)%s; sweep submit resumes it", when);
}

static void explain_oom(Evidence *e) {
  char limit[48] = "", suggestion[32] = "+50%";
  SweepRunMemory memory;
  const int64_t limit_mb = slurm_settings_run_mem(&e->batch->settings);
  if (limit_mb > 0) snprintf(limit, sizeof limit, " (slurm.mem = %lldM)", (long long)limit_mb);
  if (sweep_run_memory_read(e->classifier->root, e->id, &memory) != CORE_OK) core_error_clear();
  if (limit_mb > memory.exceeded_mb) memory.exceeded_mb = limit_mb;
  const int64_t needed_mb = sweep_run_memory_needed(&memory);
  if (needed_mb > 0) snprintf(suggestion, sizeof suggestion, "%lldM", (long long)needed_mb);
  SET_REASON(e, "Slurm killed it%s; sweep submit --failed --mem %s raises the limit", limit, suggestion);
}

static void explain_time_limit(Evidence *e) {
  char limit[32];
  SET_REASON(e,
             "ended at its time limit (%s); sweep submit resumes it from iteration %lld, a larger slurm.signal_lead "
             "leaves more time to save",
             e->task->limit_s ? slurm_time_format(e->task->limit_s, limit) : "the partition's",
             (long long)e->state->iteration);
}

static void explain_node_failure(Evidence *e) {
  SET_REASON(e, "node %.60s failed; sweep submit resumes it from iteration %lld",
             *e->task->nodes ? e->task->nodes : "(unknown)", (long long)e->state->iteration);
}

static void explain_preempted(Evidence *e) {
  SET_REASON(e, "preempted; sweep submit resumes it from iteration %lld", (long long)e->state->iteration);
}

static void explain_not_requeued(Evidence *e) {
  SET_REASON(e, "stopped at the time limit%s; sweep submit resumes it",
             e->batch->settings.requeue ? ", and the node could not requeue it" : " (slurm.requeue = no)");
}

static void explain_stopped(Evidence *e) {
  SET_REASON(e, "%s after iteration %lld%s; sweep submit resumes it",
             e->record.cause == SWEEP_CAUSE_PREEMPTED ? "preempted" : "stopped", (long long)e->state->iteration,
             e->task ? "" : ", and not in the queue");
}

/* Slurm fails a job whose output it cannot open, with JobLaunchFailure and exit code 0:53, and says no more. */
static void explain_unopened(Evidence *e) {
  char path[CORE_PATH_MAX];
  const char *obstacle = find_obstacle(e, path), *node = e->task && *e->task->nodes ? e->task->nodes : "its node";
  if (obstacle)
    SET_REASON(e, "ended before the run began: Slurm could not open its output %.280s: %s", path, obstacle);
  else
    SET_REASON(e, "ended before the run began (JobLaunchFailure): perhaps %.40s could not open its output %.200s; "
               "slurmd's log there has the reason", node, path);
}

static void explain_ended_task(Evidence *e) {
  char line[256];
  read_script_output(e, line, sizeof line);
  if (has_started(e))
    SET_REASON(e, "its process is gone%s%.200s; sweep submit resumes it from its checkpoint", *line ? ": " : "", line);
  else
    SET_REASON(e, "ended before the run began (%s)%s%.200s", slurm_state_name(e->task->state), *line ? ": " : "", line);
}

static void explain_queue_unknown(Evidence *e) {
  SET_REASON(e, "submitted as job %lld; its state is unknown until Slurm answers", (long long)e->entry->array->job);
}

static void explain_unconfirmed(Evidence *e) {
  SET_REASON(e, "Slurm did not confirm the submission, and it is not in the queue; sweep submit reconciles it");
}

static void explain_failed_script(Evidence *e) {
  SET_REASON(e, "ended before the run began: %.200s", script_output_before_runs(e));
}

static void explain_unknown(Evidence *e) {
  SET_REASON(e,
             "Slurm no longer knows job %lld_%lld, and the run has not reported since iteration %lld; sweep submit "
             "resumes it from its checkpoint",
             (long long)e->entry->array->job, (long long)e->entry->task, (long long)e->state->iteration);
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

typedef struct Rule {
  bool (*applies)(Evidence *e);
  SweepCondition condition;
  void (*explain)(Evidence *e); /* sets the reason; NULL: there is none */
} Rule;

/* The first rule that applies decides. */
static const Rule rules[] = {
    {is_finished, SWEEP_FINISHED, NULL},
    /* Slurm has the run in its queue. */
    {is_blocked_orphan, SWEEP_ORPHANED, explain_orphan},
    {is_held, SWEEP_HELD, explain_waiting},
    {is_pending, SWEEP_QUEUED, explain_waiting},
    {is_suspended, SWEEP_SUSPENDED, explain_suspended},
    {is_running, SWEEP_RUNNING, NULL},
    {is_restarted_diverged, SWEEP_DIVERGED, explain_starting},
    {is_queued, SWEEP_STARTING, explain_starting}, /* started or requeued, and has not reported yet */
    /* The run reported its end, or cannot begin. */
    {is_diverged, SWEEP_DIVERGED, explain_message},
    {is_stopped_by_rule, SWEEP_STOPPED_BY_RULE, explain_message},
    {is_orphaned, SWEEP_ORPHANED, explain_orphan},
    {is_failed_of_memory, SWEEP_OUT_OF_MEMORY, explain_failure},
    {is_failed, SWEEP_FAILED, explain_failure},
    {is_unsubmitted_lost, SWEEP_LOST, explain_submit},
    {is_unsubmitted_stopped, SWEEP_STOPPED, explain_submit},
    {is_unsubmitted, SWEEP_NOT_SUBMITTED, explain_submit},
    /* Slurm ended the task. */
    {is_oom, SWEEP_OUT_OF_MEMORY, explain_oom}, /* first: Slurm may report the task as cancelled */
    {task_was_cancelled, SWEEP_CANCELLED, explain_cancelled},
    {task_timed_out, SWEEP_TIME_LIMIT, explain_time_limit},
    {node_failed, SWEEP_NODE_FAILURE, explain_node_failure},
    {task_was_preempted, SWEEP_STOPPED, explain_preempted},
    /* Slurm does not know the task. */
    {is_queue_unknown_started, SWEEP_STOPPED, explain_queue_unknown},
    {is_queue_unknown, SWEEP_QUEUED, explain_queue_unknown},
    {is_unconfirmed, SWEEP_NOT_SUBMITTED, explain_unconfirmed},
    {was_cancelled_by_sweep, SWEEP_CANCELLED, explain_cancelled},
    /* The task ended, known to Slurm or not. */
    {was_not_requeued, SWEEP_STOPPED, explain_not_requeued},
    {is_stopped, SWEEP_STOPPED, explain_stopped},
    {has_failed_launch, SWEEP_FAILED, explain_unopened},
    {has_ended_started, SWEEP_LOST, explain_ended_task},
    {has_ended_task, SWEEP_FAILED, explain_ended_task},
    {has_failed_script, SWEEP_FAILED, explain_failed_script},
    {has_unopened_output, SWEEP_FAILED, explain_unopened},
    {was_never_started, SWEEP_CANCELLED, explain_cancelled}, /* a pending task that is cancelled leaves no trace */
    {is_any, SWEEP_LOST, explain_unknown},
};

static void classify_run(Classifier *classifier, size_t index, SweepRunStatus *status) {
  *status = (SweepRunStatus){.id = sweep_job_map_task_id(&classifier->job_map.entries[index])};
  Evidence e = gather_evidence(classifier, index, status);
  const Rule *rule = rules;
  while (!rule->applies(&e)) rule++;
  status->condition = rule->condition;
  if (rule->explain) rule->explain(&e);
}

/* ---- all runs ---------------------------------------------------------------------------------------------------- */

/* Collects the jobs of unfinished runs that the queue does not list into jobs[journal.count]. Returns how many, and
 * the earliest time of their submission. */
static size_t list_unlisted_jobs(const Classifier *classifier, int64_t *jobs, double *since_unix_s) {
  size_t count = 0;
  *since_unix_s = INFINITY;
  for (size_t i = 0; i < classifier->progress->runs; i++) {
    const SweepJobMapEntry *entry = &classifier->job_map.entries[i];
    const StoreStatus status = classifier->progress->run[i].state.status;
    if (!entry->array || !entry->array->job || sweep_job_map_task(&classifier->job_map, entry)) continue;
    if (status != STORE_PENDING && status != STORE_LOST && status != STORE_STOPPED) continue;
    bool is_listed = false;
    for (size_t k = 0; k < count && !is_listed; k++) is_listed = jobs[k] == entry->array->job;
    if (!is_listed) jobs[count++] = entry->array->job;
    *since_unix_s = fmin(*since_unix_s, entry->array->requested_unix_s);
  }
  return count;
}

/* Joins the job map with accounting, by one call, if there are jobs that the queue does not list. */
static void query_history(Classifier *classifier) {
  SweepJobMap *job_map = &classifier->job_map;
  int64_t *jobs = core_memory_allocate((job_map->journal.count + 1) * sizeof *jobs);
  double since_unix_s;
  const size_t count = list_unlisted_jobs(classifier, jobs, &since_unix_s);

  SlurmCluster *cluster = NULL;
  if (count > 0 && slurm_cluster_open("auto", &cluster, NULL) == CORE_OK) {
    const SlurmLimits *limits;
    if (slurm_limits(cluster, &limits) == CORE_OK && limits->accounting &&
        slurm_history(cluster, jobs, count, classifier->root, (int64_t)since_unix_s - 60, &classifier->history) ==
          CORE_OK)
      sweep_job_map_join(classifier->progress->name, job_map, &classifier->history);
    slurm_cluster_close(&cluster);
  }

  core_error_clear();
  free(jobs);
}

int sweep_cluster_status_classify(const char *root, const SweepProgress *progress, const SlurmTasks *tasks,
                                  const char *problem, SweepClusterStatus *cluster) {
  Classifier classifier = {.root = root, .progress = progress, .has_queue = tasks != NULL};
  SweepManifest manifest;
  *cluster = (SweepClusterStatus){.is_stale = !tasks};
  if (!tasks) snprintf(cluster->problem, sizeof cluster->problem, "%s", problem);
  TRY(sweep_manifest_read(root, progress->name, &manifest));
  const int code = sweep_job_map_read(root, &manifest, &classifier.job_map);
  sweep_manifest_free(&manifest);
  TRY(code);

  if (tasks) {
    sweep_job_map_join(progress->name, &classifier.job_map, tasks);
    query_history(&classifier);
  }

  cluster->run = core_memory_zero_allocate(progress->runs + 1, sizeof *cluster->run);
  for (size_t i = 0; i < progress->runs; i++) {
    classify_run(&classifier, i, &cluster->run[i]);
    cluster->count[cluster->run[i].condition]++;
  }

  sweep_job_map_free(&classifier.job_map);
  slurm_tasks_free(&classifier.history);
  sweep_id_set_free(&classifier.ids);
  return CORE_OK;
}

void sweep_cluster_status_free(SweepClusterStatus *cluster) {
  free(cluster->run);
  cluster->run = NULL;
}
