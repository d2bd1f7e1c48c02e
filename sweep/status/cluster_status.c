/* The join. The run's own word counts first where it is final or alive; then Slurm's queue; then its accounting; what
 * nobody knows is lost. Every verdict comes with a reason that a person can act on. */
#include "sweep/status/cluster_status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "slurm/reason.h"
#include "store/workspace/paths.h"
#include "sweep/cluster/job_map.h"
#include "sweep/cluster/joblog.h"
#include "sweep/cluster/record.h"
#include "sweep/local/run_memory.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/manifest.h"

typedef struct Judge {
  const char *root;
  const SweepProgress *progress;
  SweepJobMap job_map;
  bool asked;                 /* Slurm's queue is known */
  SlurmTasks history;         /* of the accounting database, when it was needed */
  SweepIdSet ids;               /* of the runs, when it was needed */
  const SweepArray *silent;     /* whose script's words were asked for last, and these */
  char words[256];
} Judge;

static const char *const condition_names[SWEEP_CONDITIONS] = {
    "not submitted",   "queued",        "held",       "starting",    "running",   "finished",
    "stopped by rule", "stopped",       "lost",       "orphaned",    "cancelled", "failed",
    "diverged",        "out of memory", "time limit", "node failure"};

const char *sweep_condition_name(SweepCondition condition) {
  CORE_CHECK((unsigned)condition < SWEEP_CONDITIONS);
  return condition_names[condition];
}

bool sweep_condition_needs_attention(SweepCondition condition) { return condition >= SWEEP_STOPPED; }

/* ---- one run ----------------------------------------------------------------------------------------------------- */

#define SAY(...) snprintf(status->text, sizeof status->text, __VA_ARGS__)

static void judge_waiting(const Judge *judge, size_t index, const SlurmTask *row, SweepRunStatus *status) {
  const SweepJobMapEntry *place = &judge->job_map.entries[index];
  const StoreState *state = &judge->progress->run[index].state;
  char behind[64] = "", parent[CORE_RUN_ID];
  const char *advice = slurm_reason_advice(row->reason);
  status->condition = slurm_reason_is_held(row->reason) ? SWEEP_HELD : SWEEP_QUEUED;
  if (strcmp(row->reason, "Dependency") == 0 &&
      sweep_batch_parent(&judge->job_map.batches[place->batch], place->line, parent)) {
    SAY("waits for the runs that they begin from (init.from); its own is %s", parent);
    return;
  }
  if (state->iteration > 0)
    snprintf(behind, sizeof behind, "; goes on after iteration %lld", (long long)state->iteration);
  SAY("%s%s%s%s%s", slurm_reason_text(row->reason), strstr(row->reason, ",JobHeld") ? "; some of these are held" : "",
      *advice ? ": " : "", advice, behind);
}

/* Who cancelled it: the journal knows sweep cancel, accounting knows scancel. */
static void judge_cancelled(const Judge *judge, size_t index, const SlurmTask *row, const char *when,
                            SweepRunStatus *status) {
  const SweepJobMapEntry *place = &judge->job_map.entries[index];
  const char *by = sweep_journal_cancelled_by(&judge->job_map.journal, judge->progress->run[index].id, place->array);
  status->condition = SWEEP_CANCELLED;
  if (by) SAY("by %s with sweep cancel%s; sweep submit goes on", by, when);
  else if (row && *row->cancelled_by) SAY("by user %s%s; sweep submit goes on", row->cancelled_by, when);
  else SAY("by hand (scancel)%s; sweep submit goes on", when);
}

/* What the script itself said before the run began: a module that is missing, a program that is not there. */
static void script_words(const Judge *judge, const SweepJobMapEntry *place, char *words, size_t size) {
  char path[CORE_PATH_MAX];
  words[0] = '\0';
  if (sweep_batch_output(judge->root, judge->progress->name, place->array->batch, place->array->array, path) == CORE_OK)
    sweep_joblog_last_line(path, words, size);
}

static void judge_out_of_memory(const Judge *judge, size_t index, SweepRunStatus *status) {
  const SweepJobMapEntry *place = &judge->job_map.entries[index];
  char had[48] = "", more[32] = "+50%";
  SweepRunMemory memory;
  const int64_t mem = slurm_settings_run_mem(&judge->job_map.batches[place->batch].settings);
  if (mem > 0) snprintf(had, sizeof had, " (slurm.mem = %lldM)", (long long)mem);
  status->condition = SWEEP_OUT_OF_MEMORY;
  if (sweep_run_memory_read(judge->root, judge->progress->run[index].id, &memory) != CORE_OK) core_error_clear();
  if (mem > memory.exceeded_mb) memory.exceeded_mb = mem;
  const int64_t needed_mb = sweep_run_memory_needed(&memory);
  if (needed_mb > 0) snprintf(more, sizeof more, "%lldM", (long long)needed_mb);
  SAY("Slurm killed it for want of memory%s; sweep retry --mem %s gives it more", had, more);
}

/* Slurm ended the task, and the run is not done. */
static void judge_over(const Judge *judge, size_t index, const SlurmTask *row, const SweepRecord *record,
                       SweepRunStatus *status) {
  const StoreState *state = &judge->progress->run[index].state;
  char limit[32], words[256];
  switch (row->state) {
    case SLURM_CANCELLED:
      judge_cancelled(judge, index, row, state->attempt ? "" : " before it started", status);
      return;
    case SLURM_OUT_OF_MEMORY:
      judge_out_of_memory(judge, index, status);
      return;
    case SLURM_TIMEOUT:
    case SLURM_DEADLINE:
      status->condition = SWEEP_TIME_LIMIT;
      SAY("ended at its time limit (%s); sweep submit goes on from iteration %lld, slurm.signal_lead gives it longer "
          "to save",
          row->limit_s ? slurm_time_format(row->limit_s, limit) : "the partition's", (long long)state->iteration);
      return;
    case SLURM_NODE_FAIL:
    case SLURM_BOOT_FAIL:
      status->condition = SWEEP_NODE_FAILURE;
      SAY("node %.60s failed; sweep submit goes on from iteration %lld", *row->nodes ? row->nodes : "?",
          (long long)state->iteration);
      return;
    case SLURM_PREEMPTED:
      status->condition = SWEEP_STOPPED;
      SAY("preempted; sweep submit goes on from iteration %lld", (long long)state->iteration);
      return;
    default: break;
  }
  if (record->cause == SWEEP_CAUSE_NOT_REQUEUED) {
    status->condition = SWEEP_STOPPED;
    SAY("stopped at the time limit, and the node could not requeue it; sweep submit goes on");
    return;
  }
  if (state->status == STORE_STOPPED) {
    status->condition = SWEEP_STOPPED;
    SAY("%s after iteration %lld; sweep submit goes on",
        record->cause == SWEEP_CAUSE_PREEMPTED ? "preempted" : "stopped", (long long)state->iteration);
    return;
  }
  script_words(judge, &judge->job_map.entries[index], words, sizeof words);
  status->condition = state->attempt ? SWEEP_LOST : SWEEP_FAILED;
  if (state->attempt)
    SAY("its process is gone%s%.200s; sweep submit goes on from its checkpoint", *words ? ": " : "", words);
  else SAY("ended before the run began (%s)%s%.200s", slurm_state_name(row->state), *words ? ": " : "", words);
}

/* What its script said, where that has kept all runs of its array from beginning. "": nothing, or it may have been
 * another task's. */
static const char *words_before_runs(Judge *judge, const SweepJobMapEntry *place) {
  if (judge->silent == place->array) return judge->words;
  judge->silent = place->array;
  script_words(judge, place, judge->words, sizeof judge->words);
  for (size_t i = 0; i < judge->progress->runs && *judge->words; i++)
    if (judge->job_map.entries[i].array == place->array && judge->progress->run[i].state.attempt > 0)
      judge->words[0] = '\0';
  if (strstr(judge->words, "CANCELLED AT")) judge->words[0] = '\0'; /* by a node's daemon: scancel while it began */
  return judge->words;
}

/* Slurm does not know the task (any more), and the run is not done. */
static void judge_unknown(Judge *judge, size_t index, const SweepRecord *record, SweepRunStatus *status) {
  const SweepJobMapEntry *place = &judge->job_map.entries[index];
  const StoreState *state = &judge->progress->run[index].state;
  if (!judge->asked) {
    status->condition = state->attempt ? SWEEP_STOPPED : SWEEP_QUEUED;
    SAY("submitted as job %lld; what has become of it only Slurm knows", (long long)place->array->job);
  } else if (place->array->state == SWEEP_ARRAY_REQUESTED) {
    status->condition = SWEEP_NOT_SUBMITTED;
    SAY("a submission got no answer and is not in the queue; sweep submit settles it");
  } else if (sweep_journal_cancelled_by(&judge->job_map.journal, judge->progress->run[index].id, place->array)) {
    judge_cancelled(judge, index, NULL, state->attempt ? "" : " before it started", status);
  } else if (record->cause == SWEEP_CAUSE_NOT_REQUEUED) {
    status->condition = SWEEP_STOPPED;
    SAY("stopped at the time limit, and the node could not requeue it; sweep submit goes on");
  } else if (state->status == STORE_STOPPED) {
    status->condition = SWEEP_STOPPED;
    SAY("%s after iteration %lld, and is not in the queue; sweep submit goes on",
        record->cause == SWEEP_CAUSE_PREEMPTED ? "preempted" : "stopped", (long long)state->iteration);
  } else if (state->attempt == 0 && record->starts == 0 && *words_before_runs(judge, place)) {
    status->condition = SWEEP_FAILED;
    SAY("ended before the run began: %.200s", judge->words);
  } else if (state->attempt == 0 && record->starts == 0) { /* waiting tasks that are cancelled leave no trace */
    judge_cancelled(judge, index, NULL, " before it started", status);
  } else {
    status->condition = SWEEP_LOST;
    SAY("Slurm no longer knows job %lld_%lld and it gives no sign of life since iteration %lld; sweep submit goes on "
        "from its checkpoint",
        (long long)place->array->job, (long long)place->task, (long long)state->iteration);
  }
}

static void judge_failed(const StoreState *state, const SweepRecord *record, SweepRunStatus *status) {
  status->condition = record->cause == SWEEP_CAUSE_OUT_OF_MEMORY ? SWEEP_OUT_OF_MEMORY : SWEEP_FAILED;
  SAY("%.440s", state->message[0] ? state->message : "no reason was recorded; see sweep logs");
}

static bool is_queued(const Judge *judge, size_t index) {
  const SlurmTask *row = sweep_job_map_task(&judge->job_map, &judge->job_map.entries[index]);
  return row && !slurm_state_is_over(row->state);
}

/* A run that begins from another one's checkpoint and did not come to it: Slurm has cancelled what waited for a task
 * that failed, or the trainer found nothing. Then the parent's fate is the reason. */
static bool judge_orphan(Judge *judge, size_t index, SweepRunStatus *status) {
  const SweepJobMapEntry *place = &judge->job_map.entries[index];
  const StoreState *state = &judge->progress->run[index].state;
  const char *name = judge->progress->name;
  size_t at;
  StoreState parent;
  char id[CORE_RUN_ID];
  if (!place->array || state->iteration > 0 ||
      !sweep_batch_parent(&judge->job_map.batches[place->batch], place->line, id))
    return false;
  if (sweep_journal_cancelled_by(&judge->job_map.journal, judge->progress->run[index].id, place->array)) return false;
  if (store_run_state_read(judge->root, id, true, &parent) != CORE_OK) return false;
  if (parent.status == STORE_FINISHED && state->attempt > 0) return false; /* a fault of its own */
  if (judge->ids.count == 0)
    for (size_t i = 0; i < judge->progress->runs; i++) sweep_id_set_add(&judge->ids, judge->progress->run[i].id, NULL);
  const bool again = parent.status == STORE_RUNNING ||
                     (sweep_id_set_find(&judge->ids, id, &at) && is_queued(judge, at));
  status->condition = SWEEP_ORPHANED;
  memcpy(status->parent, id, sizeof status->parent);
  if (parent.status == STORE_FINISHED)
    SAY("run %s, which it begins from, has finished by now; sweep submit starts it", id);
  else if (again) SAY("run %s, which it begins from, is being tried again; sweep submit lets it follow", id);
  else
    SAY("begins from run %s, which %s%s%.200s; sweep retry %s %s submits both again", id,
        parent.status == STORE_PENDING   ? "has not run"
        : parent.status == STORE_STOPPED ? "was stopped"
        : parent.status == STORE_LOST    ? "was lost"
                                         : store_status_name(parent.status),
        *parent.message ? ": " : "", parent.message, name, id);
  return true;
}

/* The last run of a task ends it; one that failed, or was stopped by its rule, before the others of its task has. */
static bool has_ended_before_others(const Judge *judge, size_t index, const SweepRecord *record) {
  const SweepJobMapEntry *place = &judge->job_map.entries[index];
  const StoreStatus status = judge->progress->run[index].state.status;
  return (status == STORE_FAILED || status == STORE_STOPPED_BY_RULE) &&
         judge->job_map.batches[place->batch].settings.runs_per_task > 1 && record->job == place->array->job &&
         record->batch == place->array->batch && record->ended_unix_s > 0;
}

/* Done, and in the queue with --force: its task has not begun with it. */
static bool is_to_start_over(const Judge *judge, size_t index) {
  const SweepJobMapEntry *place = &judge->job_map.entries[index];
  const SweepRunState *run = &judge->progress->run[index];
  SweepRecord record;
  bool present = false;
  if (!judge->job_map.batches[place->batch].force) return false;
  if (sweep_record_read(judge->root, run->id, &record, &present) != CORE_OK || !present) return true;
  return record.job != place->array->job || record.batch != place->array->batch ||
         record.restarted_attempt == run->state.attempt;
}

static void judge_run(Judge *judge, size_t index, SweepRunStatus *status) {
  const StoreState *state = &judge->progress->run[index].state;
  const SweepJobMapEntry *place = &judge->job_map.entries[index];
  const SlurmTask *row = sweep_job_map_task(&judge->job_map, place);
  bool in_queue = row && !slurm_state_is_over(row->state);
  SweepRecord record = {0};
  bool present = false;
  *status = (SweepRunStatus){.id = sweep_job_map_task_id(place), .restarts = -1};
  if (state->status == STORE_FINISHED && !(in_queue && is_to_start_over(judge, index))) {
    status->condition = SWEEP_FINISHED;
    return;
  }
  if (in_queue && (state->status == STORE_FAILED || state->status == STORE_STOPPED_BY_RULE)) {
    if (sweep_record_read(judge->root, judge->progress->run[index].id, &record, &present) != CORE_OK) present = false;
    if (present && has_ended_before_others(judge, index, &record)) in_queue = false;
  }
  if (in_queue && row->state == SLURM_PENDING) {
    if (strcmp(row->reason, "DependencyNeverSatisfied") != 0 || !judge_orphan(judge, index, status))
      judge_waiting(judge, index, row, status);
    return;
  }
  if (state->status == STORE_RUNNING) {
    status->condition = SWEEP_RUNNING;
    return;
  }
  if (in_queue) { /* between its start, or a restart in place, and its first word */
    status->condition = state->status == STORE_DIVERGED ? SWEEP_DIVERGED : SWEEP_STARTING;
    SAY("on %.60s", *row->nodes ? row->nodes : "its node");
    return;
  }
  if (sweep_record_read(judge->root, judge->progress->run[index].id, &record, &present) != CORE_OK) present = false;
  if (present) status->restarts = record.starts > 0 ? record.starts - 1 : 0;
  if (state->status == STORE_DIVERGED || state->status == STORE_STOPPED_BY_RULE) {
    status->condition = state->status == STORE_DIVERGED ? SWEEP_DIVERGED : SWEEP_STOPPED_BY_RULE;
    SAY("%.400s", state->message);
  } else if (judge_orphan(judge, index, status)) {
    return;
  } else if (state->status == STORE_FAILED) {
    judge_failed(state, &record, status);
  } else if (!place->array) {
    status->condition = state->status == STORE_LOST      ? SWEEP_LOST
                        : state->status == STORE_STOPPED ? SWEEP_STOPPED
                                                         : SWEEP_NOT_SUBMITTED;
    SAY("sweep submit starts it");
  } else if (sweep_joblog_is_oom(judge->root, judge->progress->name, &judge->job_map.journal, &record)) {
    judge_out_of_memory(judge, index, status);
  } else if (row) {
    judge_over(judge, index, row, &record, status);
  } else {
    judge_unknown(judge, index, &record, status);
  }
}

/* ---- all runs ---------------------------------------------------------------------------------------------------- */

/* Runs that are not done and that the queue does not know: whether accounting does is worth one call. */
static void ask_history(Judge *judge) {
  int64_t *jobs = core_memory_allocate((judge->job_map.journal.count + 1) * sizeof *jobs);
  size_t count = 0;
  double since = INFINITY;
  for (size_t i = 0; i < judge->progress->runs; i++) {
    const SweepJobMapEntry *place = &judge->job_map.entries[i];
    const StoreStatus status = judge->progress->run[i].state.status;
    if (!place->array || !place->array->job || sweep_job_map_task(&judge->job_map, place)) continue;
    if (status != STORE_PENDING && status != STORE_LOST && status != STORE_STOPPED) continue;
    bool known = false;
    for (size_t k = 0; k < count && !known; k++) known = jobs[k] == place->array->job;
    if (!known) jobs[count++] = place->array->job;
    since = fmin(since, place->array->requested_unix_s);
  }
  SlurmCluster *cluster = NULL;
  if (count > 0 && slurm_cluster_open("auto", &cluster, NULL) == CORE_OK) {
    const SlurmLimits *limits;
    if (slurm_limits(cluster, &limits) == CORE_OK && limits->accounting &&
        slurm_history(cluster, jobs, count, (int64_t)since - 60, &judge->history) == CORE_OK)
      sweep_job_map_join(judge->progress->name, &judge->job_map, &judge->history);
    slurm_cluster_close(&cluster);
  }
  core_error_clear();
  free(jobs);
}

int sweep_cluster_status_classify(const char *root, const SweepProgress *progress, const SlurmTasks *tasks,
                                  const char *problem, SweepClusterStatus *cluster) {
  Judge judge = {.root = root, .progress = progress, .asked = tasks != NULL};
  SweepManifest manifest;
  *cluster = (SweepClusterStatus){.is_stale = !tasks};
  if (!tasks) snprintf(cluster->problem, sizeof cluster->problem, "%s", problem);
  TRY(sweep_manifest_read(root, progress->name, &manifest));
  const int code = sweep_job_map_read(root, &manifest, &judge.job_map);
  sweep_manifest_free(&manifest);
  TRY(code);
  if (tasks) {
    sweep_job_map_join(progress->name, &judge.job_map, tasks);
    ask_history(&judge);
  }
  cluster->run = core_memory_zero_allocate(progress->runs + 1, sizeof *cluster->run);
  for (size_t i = 0; i < progress->runs; i++) {
    judge_run(&judge, i, &cluster->run[i]);
    cluster->count[cluster->run[i].condition]++;
  }
  sweep_job_map_free(&judge.job_map);
  slurm_tasks_free(&judge.history);
  sweep_id_set_free(&judge.ids);
  return CORE_OK;
}

void sweep_cluster_status_free(SweepClusterStatus *cluster) {
  free(cluster->run);
  cluster->run = NULL;
}
