/* Decides when the runs of a sweep start on this machine, and what follows from their ends (job.h). The supervisor
 * starts and watches them (sweep/supervise/supervisor.h).
 *
 * Phases of a job:
 *   WAITING    starts once its parent, if any, has ended, the executor has room, and it is not held
 *   RUNNING    a child of this process runs it
 *   EXTERNAL   another set of this executor, a Slurm task or a user's trainer runs it
 *   ENDED      done, failed or stopped; starts again only as stated below
 *
 *   phase      event                                                         next       function
 *   (loaded)   not selected by the request                                   ENDED      init_jobs
 *              its state is running                                          EXTERNAL
 *              finished, diverged or, in another wave of a search, failed    ENDED
 *              otherwise; with --force also finished and diverged            WAITING
 *   WAITING    its trainer starts                                            RUNNING    job_set_start_next
 *              its trainer cannot be started: failed                         ENDED
 *              another process runs it                                       EXTERNAL   is_taken_by_other
 *              another process has finished it                               ENDED
 *              the rule stops it                                             ENDED      apply_decision
 *              a user stops it                                               ENDED      apply_lists
 *   RUNNING    exits, or is killed and cannot be restarted                   ENDED      job_set_end
 *              exits because another process owns the run                    EXTERNAL   handle_end
 *              is killed, in fewer than STARTS_MAX starts                    WAITING    handle_failure
 *              ends after a user stopped it, and was submitted again         WAITING    job_set_end
 *   EXTERNAL   its trainer died, or never started                            WAITING    end_external
 *              its trainer has ended otherwise                               ENDED
 *   ENDED      the rule, which had stopped it, promotes it, or a user        WAITING    apply_decision
 *              retries it
 *
 * A request to stop, from the rule, job_set_stop or apply_lists, leaves a job RUNNING until its child ends. job_set_end
 * sets ENDED before the functions that it calls choose another phase. A reload begins with (loaded), but keeps RUNNING
 * jobs.
 * set_phase maintains count[] and next: no job before `next` waits. */
#include "sweep/local/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/origin.h"
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

enum { STARTS_MAX = 3, EXTERNAL_POLL_S = 1 };
static const size_t NO_PARENT = SIZE_MAX;

typedef enum JobPhase {
  JOB_WAITING,
  JOB_RUNNING,
  JOB_EXTERNAL, /* trained by another set of this executor, a Slurm task or a user's trainer */
  JOB_ENDED,
  JOB_PHASES
} JobPhase;

typedef struct Job {
  size_t run;               /* grid index */
  SweepChild *child;        /* owned by the supervisor; NULL unless it is RUNNING */
  int starts;               /* in this session; at most STARTS_MAX if it is killed */
  JobPhase phase;
  int restarted_attempt;    /* last attempt before a restart from the beginning (--force); -1: none */
  bool is_held;             /* by a user: not started while it waits */
  bool is_stopped_by_rule;  /* ended by the rule: resumed if it is promoted or a user retries it */
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
  size_t count[JOB_PHASES]; /* number of jobs by phase */
  double polled_at_s;       /* last poll of external jobs */
  size_t next;              /* no job before this one waits */
  JobCounts ended;          /* outcomes in this session */
  size_t reported_failures; /* ended.failed at the last job_set_has_new_failures */
  int max_running, threads;
  bool is_stopping, has_warned_unmeasured;
};

/* Moves a job to another phase. */
static void set_phase(JobSet *set, Job *job, JobPhase phase) {
  set->count[job->phase]--;
  set->count[phase]++;
  job->phase = phase;
  if (phase == JOB_WAITING && set->next > job->run) set->next = job->run;
}

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
  const bool has_parent = job->parent != NO_PARENT;
  return job->phase == JOB_WAITING && !job->is_held && (!has_parent || set->jobs[job->parent].phase == JOB_ENDED);
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
  if (is_stopped && job->phase == JOB_WAITING) {
    job->is_stopped_by_rule = true;
    set_phase(set, job, JOB_ENDED);
  } else if (is_stopped && job->phase == JOB_RUNNING && job->child->requested != SWEEP_CAUSE_RULE) {
    sweep_supervisor_stop(job->child, SWEEP_CAUSE_RULE);
  } else if (!is_stopped && job->phase == JOB_ENDED && job->is_stopped_by_rule) {
    job->is_stopped_by_rule = false;
    set_phase(set, job, JOB_WAITING);
  }
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
  if (job->phase == JOB_RUNNING && job->child->requested == SWEEP_CAUSE_NONE)
    sweep_supervisor_stop(job->child, SWEEP_CAUSE_STOPPED);
}

/* Holds or releases jobs, and ends those that a user has stopped. */
static void apply_lists(JobSet *set) {
  for (size_t i = 0; i < set->grid.runs; i++) {
    Job *job = &set->jobs[i];
    job->is_held = sweep_queue_holds(&set->request, job_id(set, job));
    if (!sweep_queue_has_stopped(&set->request, job_id(set, job))) continue;
    if (job->phase == JOB_WAITING) set_phase(set, job, JOB_ENDED);
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

/* Sets the phase of each job. retry_failed: failed runs wait, too. */
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
    const bool is_done = (store_status_is_final(state.status) && job->restarted_attempt < 0) ||
                         (state.status == STORE_FAILED && !retry_failed);
    if (!is_selected[i]) job->phase = JOB_ENDED;
    else if (state.status == STORE_RUNNING) job->phase = JOB_EXTERNAL;
    else job->phase = is_done ? JOB_ENDED : JOB_WAITING;
    set->count[job->phase]++;
  }

  free(is_selected);
  if (apply_decisions(set) != CORE_OK) core_warn("%s", core_error_message());
  apply_lists(set);

  const int cores = sweep_executor_cores();
  set->max_running = request->jobs > 0 ? (int)request->jobs : cores;
  const size_t pending = set->count[JOB_WAITING] + set->count[JOB_RUNNING] + set->count[JOB_EXTERNAL];
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
    if (set->jobs[i].phase != JOB_RUNNING || !sweep_id_set_find(&ids, set->grid.ids[i], &k)) continue;
    set_phase(fresh, &fresh->jobs[k], JOB_RUNNING);
    size_t parent = fresh->jobs[k].parent;
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
  counts.running = set->count[JOB_RUNNING];
  counts.waiting = set->is_stopping ? 0 : set->count[JOB_WAITING];
  counts.external = set->is_stopping ? 0 : set->count[JOB_EXTERNAL];
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
      if (sets[i]->jobs[k].phase == JOB_RUNNING && strcmp(job_id(sets[i], &sets[i]->jobs[k]), job_id(set, job)) == 0)
        return true;
  }
  return false;
}

/* Handles the end of an external job. If its trainer died or never started, the job waits; otherwise it has ended, also
 * if it was asked to stop. */
static void end_external(JobSet *set, Job *job, const StoreState *state) {
  if (state->status == STORE_LOST || state->status == STORE_PENDING) {
    set_phase(set, job, JOB_WAITING);
    return;
  }
  set_phase(set, job, JOB_ENDED);
  if (state->status == STORE_FINISHED) set->ended.finished++;
  if (store_status_is_broken(state->status)) set->ended.failed++;
}

void job_set_poll_external(JobSet *set, JobSet *const *sets, size_t count) {
  if (job_set_count(set).external == 0 || core_clock_s() - set->polled_at_s < EXTERNAL_POLL_S) return;
  for (size_t i = 0; i < set->grid.runs; i++) {
    Job *job = &set->jobs[i];
    StoreState state;
    if (job->phase != JOB_EXTERNAL || is_in_other_set(set, job, sets, count)) continue;
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
    set_phase(set, job, JOB_EXTERNAL);
    return true;
  }
  choose_restart(set, job, &state);
  if (!store_status_is_final(state.status) || job->restarted_attempt >= 0) return false;
  end_external(set, job, &state);
  return true;
}

void job_set_start_next(JobSet *set, JobSet *const *sets, size_t count) {
  while (set->next < set->grid.runs && set->jobs[set->next].phase != JOB_WAITING) set->next++;
  const size_t ready = find_ready(set);
  if (ready == set->grid.runs) return;
  Job *job = &set->jobs[ready];
  if (is_taken_by_other(set, job, sets, count)) return;

  job->starts++;
  if (job_start(set, job) == CORE_OK) {
    set_phase(set, job, JOB_RUNNING);
    return;
  }

  core_log(CORE_LOG_ERROR, "%s: %s", job_id(set, job), core_error_message());
  sweep_end_record_failure(set->root, job_id(set, job), job->restarted_attempt, core_error_message(), true);
  set_phase(set, job, JOB_ENDED);
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
    set_phase(set, job, JOB_WAITING);
    return;
  }
  const bool with_last_line = end->signal == 0 || !child->is_program; /* a supervisor's last line is that of the kill */
  sweep_end_record_failure(set->root, child->id, job->restarted_attempt, end->reason, with_last_line);
  set->ended.failed++;
}

static void handle_end(JobSet *set, Job *job, const SweepChild *child, const SweepEnd *end) {
  if (end->is_done) {
    set->ended.finished++;
    job->is_stopped_by_rule = false;
  } else if (end->cause == SWEEP_CAUSE_STOPPED || end->cause == SWEEP_CAUSE_RULE) {
    set->ended.stopped += end->cause == SWEEP_CAUSE_RULE;
  } else if (end->has_other_owner) {
    set_phase(set, job, JOB_EXTERNAL);
  } else {
    handle_failure(set, job, child, end);
  }
}

bool job_set_end(JobSet *set, const SweepChild *child, const SweepEnd *end) {
  Job *job = find_child(set, child);
  if (!job) return false;
  job->child = NULL;
  job->is_stopped_by_rule = child->requested == SWEEP_CAUSE_RULE;
  set_phase(set, job, JOB_ENDED);

  const bool was_stopped = end->cause == SWEEP_CAUSE_STOPPED && child->requested == SWEEP_CAUSE_STOPPED;
  if (was_stopped && !is_stopped_by_user(set, job)) { /* it was submitted again meanwhile */
    job->starts = 0;
    set_phase(set, job, JOB_WAITING);
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
