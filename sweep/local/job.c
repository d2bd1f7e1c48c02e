/* Decides when the runs of a sweep start on this machine, and what follows from their ends (job.h). The supervisor
 * starts and watches them (sweep/supervise/supervisor.h).
 *
 * Conditions of a job:
 *   QUEUED     starts once its parent, if any, has ended, the executor has room, and it is not held
 *   RUNNING    with a child: this process runs it
 *   RUNNING    without one (external): another set of this executor, a Slurm task or a user's trainer runs it
 *   others     it has ended, or was not requested (NOT_SUBMITTED); starts again only as stated below
 *
 *   condition  event                                                         next             function
 *   (loaded)   not selected by the request                                   NOT_SUBMITTED    init_jobs
 *              its state is running                                          RUNNING
 *              finished, diverged or, in another wave of a search, failed    that
 *              otherwise; with --force also finished and diverged            QUEUED
 *   QUEUED     its process starts                                            RUNNING          job_set_start_next
 *              its process cannot be started                                 FAILED
 *              another process runs it                                       RUNNING          is_taken_by_other
 *              another process has finished it                               FINISHED or so
 *              the rule stops it                                             STOPPED_BY_RULE  apply_decision
 *              a user stops it                                               STOPPED          apply_lists
 *   RUNNING    is done, stops on request, or fails                           FINISHED or so   handle_end
 *   (child)    exits because another process owns the run                    RUNNING
 *              is killed, in fewer than STARTS_MAX starts                    QUEUED           handle_failure
 *              ends after a user stopped it, and was submitted again         QUEUED           job_set_end
 *   RUNNING    its process died, or never started                            QUEUED           end_external
 *   (external) its process has ended otherwise                               FINISHED or so
 *   STOPPED_   the rule promotes it, or a user retries it                    QUEUED           apply_decision
 *   BY_RULE
 *
 * A request to stop, from the rule, job_set_stop or apply_lists, leaves a job RUNNING until its child ends. A reload
 * begins with (loaded), but keeps jobs with a child. set_condition maintains count[] and next: no job before `next` is
 * QUEUED. */
#include "sweep/local/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/workspace/run.h"
#include "sweep/local/executor.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/search.h"
#include "sweep/spec/sweep.h"
#include "sweep/spec/trust.h"
#include "sweep/stop/decide.h"
#include "sweep/supervise/condition.h"

enum { STARTS_MAX = 3, EXTERNAL_POLL_S = 1 };
static const size_t NO_PARENT = SIZE_MAX;

typedef struct Job {
  size_t run;               /* grid index */
  SweepCondition condition;
  SweepChild *child;        /* owned by the supervisor; NULL: this process does not run it */
  int starts;               /* in this session; at most STARTS_MAX if it is killed */
  int restarted_attempt;    /* last attempt before a restart from the beginning (--force); -1: none */
  bool is_held;             /* by a user: not started while it waits */
  int level;                /* rungs that it was promoted from; the highest run first, as in ASHA */
  size_t parent;            /* grid index of the run that it starts from; NO_PARENT: none in this sweep */
} Job;

struct JobSet {
  SweepSupervisor *supervisor;
  const char *root;
  SweepSpec spec;
  SweepGrid grid;
  Job *jobs;                /* [grid.runs] */
  SweepQueueRequest request;
  size_t count[SWEEP_CONDITIONS], children; /* jobs by condition; with a child */
  double polled_at_s;       /* last poll of external jobs */
  size_t next;              /* no job before this one waits */
  JobCounts ended;          /* outcomes in this session */
  size_t reported_failures; /* ended.failed at the last job_set_has_new_failures */
  int max_running, threads;
  bool is_stopping, has_warned_unmeasured;
};

static void set_condition(JobSet *set, Job *job, SweepCondition condition) {
  set->count[job->condition]--;
  set->count[condition]++;
  job->condition = condition;
  if (condition == SWEEP_QUEUED && set->next > job->run) set->next = job->run;
}

static bool is_external(const Job *job) { return job->condition == SWEEP_RUNNING && !job->child; }
static bool has_ended(const Job *job) { return job->condition != SWEEP_RUNNING && job->condition != SWEEP_QUEUED; }

static const char *job_id(const JobSet *set, const Job *job) { return set->grid.ids[job->run]; }
static bool has_rule(const JobSet *set) { return set->spec.stop.rule != SWEEP_STOP_NONE; }

/* Reads the run's state; false, with a warning: it is damaged. */
static bool read_state(const JobSet *set, const Job *job, StoreState *state) {
  const bool is_read = store_run_state_read(set->root, job_id(set, job), true, state) == CORE_OK;
  if (!is_read) core_warn("%s", core_error_message());
  return is_read;
}

/* Finds the parents (init.from) within the sweep, which their children wait for. */
static void find_parents(JobSet *set) {
  SweepIdSet ids = {0};
  sweep_id_set_add_all(&ids, (const char(*)[CORE_RUN_ID])set->grid.ids, set->grid.runs);
  for (size_t i = 0; i < set->grid.runs; i++) {
    CoreConfig config;
    CoreOrigin origin;
    size_t parent;
    sweep_grid_config(&set->grid, i, &config);
    set->jobs[i].parent = NO_PARENT;
    if (core_origin_parse(config.init.from, &origin) != CORE_OK || !origin.is_run) continue;
    if (sweep_id_set_find(&ids, origin.run, &parent)) set->jobs[i].parent = parent;
  }
  sweep_id_set_free(&ids);
}

/* Whether the job waits, is not held, and its parent has ended, with or without success. If the parent's checkpoint is
 * missing, the trainer reports it. */
static bool is_ready(const JobSet *set, const Job *job) {
  if (job->condition != SWEEP_QUEUED || job->is_held) return false;
  return job->parent == NO_PARENT || has_ended(&set->jobs[job->parent]);
}

/* Finds the first ready run among those that a rule has promoted furthest; grid.runs: none. */
static size_t find_ready(const JobSet *set) {
  const size_t none = set->grid.runs;
  size_t best = none;
  for (size_t run = set->next; run < set->grid.runs; run++) {
    if (!is_ready(set, &set->jobs[run])) continue;
    if (!has_rule(set)) return run;
    if (best == none || set->jobs[run].level > set->jobs[best].level) best = run;
  }
  return best;
}

/* ---- the sweep's [stop] rule ------------------------------------------------------------------------------------- */

double job_set_rule_interval_s(const JobSet *set) { return has_rule(set) ? set->spec.stop.every : INFINITY; }

/* Applies the decision that stop.log has about a run; standing NULL: none. */
static void apply_decision(JobSet *set, Job *job, const SweepStopState *standing) {
  const bool is_stopped = standing && standing->is_stopped;
  job->level = standing ? standing->level : 0;
  if (is_stopped && job->condition == SWEEP_QUEUED) set_condition(set, job, SWEEP_STOPPED_BY_RULE);
  else if (is_stopped && job->child && job->child->requested != SWEEP_CAUSE_RULE)
    sweep_supervisor_stop(job->child, SWEEP_CAUSE_RULE);
  else if (!is_stopped && job->condition == SWEEP_STOPPED_BY_RULE) set_condition(set, job, SWEEP_QUEUED);
}

/* Applies all decisions in stop.log, which is authoritative; a run's state only mirrors it. */
static int apply_decisions(JobSet *set) {
  SweepStopLog log;
  if (!has_rule(set)) return CORE_OK;
  TRY(sweep_stop_log_read(set->root, set->spec.name, &log));
  for (size_t i = 0; i < set->grid.runs; i++)
    apply_decision(set, &set->jobs[i], sweep_stop_log_find(&log, set->grid.ids[i]));
  sweep_stop_log_free(&log);
  return CORE_OK;
}

bool job_set_apply_rule(JobSet *set, StoreDatabase *database) {
  SweepStopOutcome outcome;
  if (!has_rule(set) || set->is_stopping) return true;
  if (sweep_stop_decide(set->root, set->spec.name, database, false, &outcome) != CORE_OK) {
    core_warn("%s: the [stop] rule could not decide: %s", set->spec.name, core_error_message());
    return true;
  }

  if (outcome.is_busy) return false;
  if (outcome.stopped + outcome.promoted > 0)
    core_info("%s: %s has stopped %zu runs and promoted %zu", set->spec.name, sweep_stop_kind_name(set->spec.stop.rule),
              outcome.stopped, outcome.promoted);
  if (outcome.is_unmeasured && !set->has_warned_unmeasured)
    core_warn("%s: no run has the metric stop.measure = %s, so none is stopped; choose another one", set->spec.name,
              set->spec.stop.measure);
  set->has_warned_unmeasured |= outcome.is_unmeasured;

  if (apply_decisions(set) != CORE_OK) core_warn("%s", core_error_message());
  return true;
}

/* Asks a running job to stop, for a user or since the executor ends, unless it was asked before. */
static void stop_job(Job *job) {
  if (job->child && job->child->requested == SWEEP_CAUSE_NONE)
    sweep_supervisor_stop(job->child, SWEEP_CAUSE_STOPPED);
}

/* Holds or releases jobs, and ends those that a user has stopped. */
static void apply_lists(JobSet *set) {
  for (size_t i = 0; i < set->grid.runs; i++) {
    Job *job = &set->jobs[i];
    job->is_held = sweep_queue_holds(&set->request, job_id(set, job));
    if (!sweep_queue_has_stopped(&set->request, job_id(set, job))) continue;
    if (job->condition == SWEEP_QUEUED) set_condition(set, job, SWEEP_STOPPED);
    else stop_job(job);
  }
}

void job_set_update(JobSet *set, const SweepQueueRequest *request) {
  const bool is_same =
    strcmp(set->request.stopped, request->stopped) == 0 && strcmp(set->request.held, request->held) == 0;
  if (is_same) return;
  memcpy(set->request.stopped, request->stopped, sizeof set->request.stopped);
  memcpy(set->request.held, request->held, sizeof set->request.held);
  apply_lists(set);
}

/* Chooses whether the job restarts from the beginning. */
static void choose_restart(const JobSet *set, Job *job, const StoreState *state) {
  job->restarted_attempt = sweep_queue_forces(&set->request, state) ? state->attempt : -1;
}

/* Sets the condition of each job. retry_failed: failed runs are queued, too. */
static int init_jobs(JobSet *set, const SweepQueueRequest *request, bool retry_failed) {
  bool *is_selected;
  set->request = *request;
  set->next = 0;
  const int code = sweep_where_mark(&set->grid, request->where, &is_selected);
  if (code != CORE_OK) return core_error_context(code, "cannot read the queued request; submit it again");

  for (size_t i = 0; i < set->grid.runs; i++) {
    Job *job = &set->jobs[i];
    job->run = i;
    StoreState state;
    (void)read_state(set, job, &state);
    choose_restart(set, job, &state);
    const SweepRunEvidence evidence = {.status = state.status, .is_forced = job->restarted_attempt >= 0,
                                       .keep_failed = !retry_failed};
    const SweepCondition condition = sweep_condition_before_start(&evidence);
    if (is_selected[i]) job->condition = condition == SWEEP_NOT_SUBMITTED ? SWEEP_QUEUED : condition;
    set->count[job->condition]++;
  }

  free(is_selected);
  if (apply_decisions(set) != CORE_OK) core_warn("%s", core_error_message());
  apply_lists(set);

  const int cores = sweep_executor_cores();
  set->max_running = request->jobs > 0 ? (int)request->jobs : cores;
  const size_t pending = set->count[SWEEP_QUEUED] + set->count[SWEEP_RUNNING];
  if ((size_t)set->max_running > pending) set->max_running = (int)pending;
  if (set->max_running < 1) set->max_running = 1;
  set->threads = cores / set->max_running > 0 ? cores / set->max_running : 1;
  return CORE_OK;
}

static int load(JobSet *set, const char *name) {
  TRY(sweep_common_frozen(set->root, name, &set->spec));
  int code = sweep_trust_check(set->root, &set->spec);
  if (code == CORE_OK) code = sweep_grid_expand(&set->spec, &set->grid);
  if (code != CORE_OK) sweep_spec_free(&set->spec);
  return code;
}

static int create(SweepSupervisor *supervisor, const char *name, const SweepQueueRequest *request, bool retry_failed,
                  JobSet **out) {
  JobSet *set = core_memory_zero_allocate(1, sizeof *set);
  set->supervisor = supervisor;
  set->root = supervisor->root;
  int code = load(set, name);
  if (code != CORE_OK) {
    free(set);
    return code;
  }
  set->jobs = core_memory_zero_allocate(set->grid.runs + 1, sizeof *set->jobs);
  find_parents(set);
  code = init_jobs(set, request, retry_failed);
  if (code != CORE_OK) job_set_destroy(&set);
  *out = set;
  return code;
}

int job_set_create(SweepSupervisor *supervisor, const char *name, const SweepQueueRequest *request, JobSet **out) {
  return create(supervisor, name, request, true, out);
}

static int reload(JobSet *set, const SweepQueueRequest *request, bool retry_failed) {
  JobSet *fresh;
  TRY(create(set->supervisor, set->spec.name, request, retry_failed, &fresh));

  SweepIdSet ids = {0};
  for (size_t k = 0; k < fresh->grid.runs; k++) sweep_id_set_add(&ids, fresh->grid.ids[k], NULL);
  for (size_t i = 0; i < set->grid.runs; i++) { /* move running jobs, by id */
    size_t k;
    if (!set->jobs[i].child || !sweep_id_set_find(&ids, set->grid.ids[i], &k)) continue;
    set_condition(fresh, &fresh->jobs[k], SWEEP_RUNNING);
    fresh->children++;
    const size_t parent = fresh->jobs[k].parent;
    fresh->jobs[k] = set->jobs[i];
    fresh->jobs[k].run = k;
    fresh->jobs[k].parent = parent;
  }
  sweep_id_set_free(&ids);

  fresh->ended = set->ended;
  fresh->reported_failures = set->reported_failures;

  /* Exchange the contents: the executor has the address of `set`. */
  JobSet old = *set;
  *set = *fresh;
  set->grid.spec = &set->spec;
  *fresh = old;
  fresh->grid.spec = &fresh->spec;
  job_set_destroy(&fresh);
  return CORE_OK;
}

int job_set_reload(JobSet *set, const SweepQueueRequest *request) { return reload(set, request, true); }

int job_set_continue(JobSet *set, const SweepQueueRequest *request) {
  SweepQueueRequest wave = {.jobs = request->jobs, .executor = request->executor};
  memcpy(wave.stopped, request->stopped, sizeof wave.stopped);
  memcpy(wave.held, request->held, sizeof wave.held);
  return reload(set, &wave, false);
}

void job_set_destroy(JobSet **set) {
  if (!*set) return;
  sweep_grid_free(&(*set)->grid);
  sweep_spec_free(&(*set)->spec);
  free((*set)->jobs);
  free(*set);
  *set = NULL;
}

const char *job_set_name(const JobSet *set) { return set->spec.name; }

JobCounts job_set_count(const JobSet *set) {
  JobCounts counts = set->ended;
  counts.running = set->children;
  counts.waiting = set->is_stopping ? 0 : set->count[SWEEP_QUEUED];
  counts.external = set->is_stopping ? 0 : set->count[SWEEP_RUNNING] - set->children;
  return counts;
}

bool job_set_has_ready(const JobSet *set) { return !set->is_stopping && find_ready(set) < set->grid.runs; }
bool job_set_has_open_search(const JobSet *set) { return !set->is_stopping && sweep_spec_is_open(&set->spec); }

bool job_set_has_new_failures(JobSet *set) {
  const bool has_new = set->ended.failed > set->reported_failures;
  set->reported_failures = set->ended.failed;
  return has_new;
}
int job_set_max_running(const JobSet *set) { return set->max_running; }
int job_set_threads(const JobSet *set) { return set->threads; }

static int job_start(JobSet *set, Job *job) {
  CoreConfig config;
  char id[CORE_RUN_ID];
  sweep_grid_config(&set->grid, job->run, &config);
  config.train.threads = set->threads; /* as on the trainer's command line */
  TRY(store_run_prepare(set->root, &config, id));

  const SweepTrainer trainer = {.root = set->root, .id = id, .config = &config, .sweep = set->spec.name,
                                .applies_environment = true, .threads = set->threads,
                                .from_start = job->restarted_attempt >= 0, .force = set->request.force, .slot = -1};
  return sweep_supervisor_start(set->supervisor, &trainer, &job->child);
}

/* ---- external jobs ----------------------------------------------------------------------------------------------- */

/* Whether another set of this executor trains the run. Its state shows that only after the trainer's start. */
static bool is_in_other_set(const JobSet *set, const Job *job, JobSet *const *sets, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (sets[i] == set) continue;
    for (size_t k = 0; k < sets[i]->grid.runs; k++)
      if (sets[i]->jobs[k].child && strcmp(job_id(sets[i], &sets[i]->jobs[k]), job_id(set, job)) == 0)
        return true;
  }
  return false;
}

/* Handles the end of an external job. If its trainer died or never started, the job waits; otherwise it has ended, also
 * if it was asked to stop. */
static void end_external(JobSet *set, Job *job, const StoreState *state) {
  const bool is_broken = store_status_is_broken(state->status), is_finished = state->status == STORE_FINISHED;
  if (state->status == STORE_LOST || state->status == STORE_PENDING) {
    set_condition(set, job, SWEEP_QUEUED);
    return;
  }
  set_condition(set, job, is_finished ? SWEEP_FINISHED : is_broken ? SWEEP_FAILED : SWEEP_STOPPED);
  set->ended.finished += is_finished;
  set->ended.failed += is_broken;
}

void job_set_poll_external(JobSet *set, JobSet *const *sets, size_t count) {
  if (job_set_count(set).external == 0 || core_clock_s() - set->polled_at_s < EXTERNAL_POLL_S) return;
  for (size_t i = 0; i < set->grid.runs; i++) {
    Job *job = &set->jobs[i];
    StoreState state;
    if (!is_external(job) || is_in_other_set(set, job, sets, count)) continue;
    if (read_state(set, job, &state) && state.status != STORE_RUNNING) end_external(set, job, &state);
  }
  if (apply_decisions(set) != CORE_OK) core_warn("%s", core_error_message());
  set->polled_at_s = core_clock_s();
}

/* Whether another process has started or finished the job since the sweep was loaded. */
static bool is_taken_by_other(JobSet *set, Job *job, JobSet *const *sets, size_t count) {
  StoreState state;
  const bool in_other_set = is_in_other_set(set, job, sets, count);
  if (!in_other_set && !read_state(set, job, &state)) return false;
  if (in_other_set || state.status == STORE_RUNNING) {
    set_condition(set, job, SWEEP_RUNNING);
    return true;
  }
  choose_restart(set, job, &state);
  if (!store_status_is_final(state.status) || job->restarted_attempt >= 0) return false;
  end_external(set, job, &state);
  return true;
}

void job_set_start_next(JobSet *set, JobSet *const *sets, size_t count) {
  while (set->next < set->grid.runs && set->jobs[set->next].condition != SWEEP_QUEUED) set->next++;
  const size_t ready = find_ready(set);
  if (ready == set->grid.runs) return;
  Job *job = &set->jobs[ready];
  if (is_taken_by_other(set, job, sets, count)) return;

  job->starts++;
  if (job_start(set, job) == CORE_OK) {
    set_condition(set, job, SWEEP_RUNNING);
    set->children++;
    return;
  }

  core_log(CORE_LOG_ERROR, "%s: %s", job_id(set, job), core_error_message());
  sweep_end_record_failure(set->root, job_id(set, job), job->restarted_attempt, core_error_message(), true);
  set_condition(set, job, SWEEP_FAILED);
  set->ended.failed++;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static Job *find_child(JobSet *set, const SweepChild *child) {
  for (size_t i = 0; i < set->grid.runs; i++)
    if (set->jobs[i].child == child) return &set->jobs[i];
  return NULL;
}

/* Whether a user has stopped the run, alone or with its set, and has not submitted it again since. */
static bool is_stopped_by_user(const JobSet *set, const Job *job) {
  return set->is_stopping || sweep_queue_has_stopped(&set->request, job_id(set, job));
}

/* Handles a run that failed: restarts a killed one, unless that keeps happening or it was stopped. Its state shows its
 * progress, so it is not restarted from the beginning. */
static void handle_failure(JobSet *set, Job *job, const SweepChild *child, const SweepEnd *end) {
  core_warn("%s: %s", child->id, end->reason);
  if (end->can_restart && job->starts < STARTS_MAX && !is_stopped_by_user(set, job)) {
    set_condition(set, job, SWEEP_QUEUED);
    return;
  }
  const bool with_last_line = end->signal == 0 || !child->is_program; /* a supervisor's last line is that of the kill */
  sweep_end_record_failure(set->root, child->id, job->restarted_attempt, end->reason, with_last_line);
  set_condition(set, job, SWEEP_FAILED);
  set->ended.failed++;
}

static void handle_end(JobSet *set, Job *job, const SweepChild *child, const SweepEnd *end) {
  if (end->is_done) {
    set_condition(set, job, SWEEP_FINISHED);
    set->ended.finished++;
  } else if (end->cause == SWEEP_CAUSE_RULE) {
    set_condition(set, job, SWEEP_STOPPED_BY_RULE);
    set->ended.stopped++;
  } else if (end->cause == SWEEP_CAUSE_STOPPED) {
    set_condition(set, job, SWEEP_STOPPED);
  } else if (!end->has_other_owner) { /* otherwise it runs, and is external */
    handle_failure(set, job, child, end);
  }
}

bool job_set_end(JobSet *set, const SweepChild *child, const SweepEnd *end) {
  Job *job = find_child(set, child);
  if (!job) return false;
  job->child = NULL;
  set->children--;

  const bool was_stopped = end->cause == SWEEP_CAUSE_STOPPED && child->requested == SWEEP_CAUSE_STOPPED;
  if (was_stopped && !is_stopped_by_user(set, job)) { /* it was submitted again meanwhile */
    job->starts = 0;
    set_condition(set, job, SWEEP_QUEUED);
  } else {
    handle_end(set, job, child, end);
  }
  return true;
}

void job_set_stop(JobSet *set) {
  if (set->is_stopping) return;
  set->is_stopping = true;
  for (size_t i = 0; i < set->grid.runs; i++) stop_job(&set->jobs[i]);
}
