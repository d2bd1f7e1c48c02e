/* Starting trainers and judging their ends. The trainer owns its run's folder; the executor writes a run's state only
 * where the trainer could not (it never started, or was killed). */
#include "sweep/local/job.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "core/config/origin.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/workspace/run.h"
#include "sweep/local/executor.h"
#include "sweep/local/run_memory.h"
#include "sweep/local/trainer.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/kept.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/search.h"
#include "sweep/spec/sweep.h"
#include "sweep/stop/decide.h"

enum {
  STARTS_MAX = 3,  /* of one run in one session, when it is killed */
  LOOK_EVERY_S = 1 /* at runs that somebody else trains */
};
static const size_t NO_PARENT = SIZE_MAX;

typedef enum JobPhase {
  JOB_WAITING,
  JOB_RUNNING,
  JOB_EXTERNAL, /* somebody else trains it: another sweep of ours, a task, a person */
  JOB_ENDED,
  JOB_PHASES
} JobPhase;

typedef struct Job {
  size_t run;      /* in the grid */
  pid_t process;
  int starts;
  JobPhase phase;
  bool force;
  bool told;       /* to end, by the sweep's [stop] rule */
  bool was_stopped; /* told to end because the sweep was stopped; it may have been submitted again since */
  bool by_rule;    /* it ended by that: it goes on when it is promoted, or a person takes it up */
  SweepMemoryProbe memory;
  int level;       /* rungs that it was promoted from: the highest go on first, as in ASHA */
  size_t
    parent; /* in the grid: the run whose checkpoint this one begins from; NO_PARENT when it is not of this sweep */
} Job;

struct JobSet {
  const char *root;
  SweepSpec spec;
  SweepGrid grid;
  Job *jobs;       /* [grid.runs] */
  SweepQueueRequest request;
  size_t count[JOB_PHASES]; /* jobs in each phase */
  double looked_s;          /* when those elsewhere were looked at last */
  size_t finished, failed, stopped, next, failed_before;
  int places, threads;
  bool stopping, was_told_unmeasured;
};

/* Into another phase, which counts it. */
static void enter(JobSet *set, Job *job, JobPhase phase) {
  set->count[job->phase]--;
  set->count[phase]++;
  job->phase = phase;
  if (phase == JOB_WAITING && set->next > job->run) set->next = job->run;
}

static const char *job_id(const JobSet *set, const Job *job) { return set->grid.ids[job->run]; }

/* Runs that begin from another run of the sweep wait for it (init.from). */
static void find_parents(JobSet *set) {
  SweepIdSet places = {0};
  sweep_id_set_add_all(&places, (const char(*)[CORE_RUN_ID])set->grid.ids, set->grid.runs);
  for (size_t i = 0; i < set->grid.runs; i++) {
    CoreConfig config;
    CoreOrigin origin;
    size_t parent;
    sweep_grid_config(&set->grid, i, &config);
    set->jobs[i].parent = NO_PARENT;
    if (core_origin_parse(config.init.from, &origin) != CORE_OK || !origin.is_run) continue;
    if (sweep_id_set_find(&places, origin.run, &parent)) set->jobs[i].parent = parent;
  }
  sweep_id_set_free(&places);
}

/* Has the parent ended, well or not? Without its checkpoint the trainer says what is missing. */
static bool is_ready(const JobSet *set, const Job *job) {
  return job->phase == JOB_WAITING && (job->parent == NO_PARENT || set->jobs[job->parent].phase == JOB_ENDED);
}

/* The first run that may start now, of those that a rule has promoted furthest; the grid's number of runs when there is
 * none. */
static size_t find_ready(const JobSet *set) {
  size_t best = set->grid.runs;
  const bool has_rule = set->spec.stop.rule != SWEEP_STOP_NONE;
  for (size_t run = set->next; run < set->grid.runs && (has_rule || best == set->grid.runs); run++)
    if (is_ready(set, &set->jobs[run]) && (best == set->grid.runs || set->jobs[run].level > set->jobs[best].level))
      best = run;
  return best;
}

/* ---- the sweep's [stop] rule ------------------------------------------------------------------------------------- */

static bool has_rule(const JobSet *set) { return set->spec.stop.rule != SWEEP_STOP_NONE; }

double job_set_rule_interval_s(const JobSet *set) { return has_rule(set) ? set->spec.stop.every : INFINITY; }

/* A run after what stop.log says of it. */
static void follow_rule(JobSet *set, Job *job, const SweepStopStanding *standing) {
  const bool stops = standing && standing->is_stopped;
  job->level = standing ? standing->level : 0;
  if (stops && job->phase == JOB_WAITING) {
    job->by_rule = true;
    enter(set, job, JOB_ENDED);
  } else if (stops && job->phase == JOB_RUNNING && !job->told) {
    job->told = kill(job->process, SIGTERM) == 0;
  } else if (!stops && job->phase == JOB_ENDED && job->by_rule) {
    job->by_rule = false;
    enter(set, job, JOB_WAITING);
  }
}

/* The log counts; a run's state only shows it. */
static int follow_rules(JobSet *set) {
  SweepStopLog log;
  if (!has_rule(set)) return CORE_OK;
  TRY(sweep_stop_log_read(set->root, set->spec.name, &log));
  for (size_t i = 0; i < set->grid.runs; i++)
    follow_rule(set, &set->jobs[i], sweep_stop_log_find(&log, set->grid.ids[i]));
  sweep_stop_log_free(&log);
  return CORE_OK;
}

bool job_set_apply_rule(JobSet *set, StoreDatabase *database) {
  SweepStopOutcome outcome;
  if (!has_rule(set) || set->stopping) return true;
  if (sweep_stop_decide(set->root, set->spec.name, database, false, &outcome) != CORE_OK) {
    core_warn("%s: the rule of [stop] could not decide: %s", set->spec.name, core_error_message());
    return true;
  }
  if (outcome.is_busy) return false;
  if (outcome.stopped + outcome.promoted > 0)
    core_info("%s: %s has stopped %zu runs and promoted %zu", set->spec.name, sweep_stop_kind_name(set->spec.stop.rule),
              outcome.stopped, outcome.promoted);
  if (outcome.is_unmeasured && !set->was_told_unmeasured)
    core_warn("%s: no run has stop.measure = %s, so none is stopped; name another one", set->spec.name,
              set->spec.stop.measure);
  set->was_told_unmeasured |= outcome.is_unmeasured;
  if (follow_rules(set) != CORE_OK) core_warn("%s", core_error_message());
  return true;
}

static bool is_final(const StoreState *state) {
  return state->status == STORE_FINISHED || state->status == STORE_DIVERGED;
}

/* To be done although it is final? Not what has become final since the request: an earlier executor, or another sweep,
 * has started it over already. A moment to come is that of a clock that was set back since, or of another machine. */
static bool is_forced(const SweepQueueRequest *request, const StoreState *state) {
  return request->force && is_final(state) &&
    (request->requested_unix_s <= 0 || state->finished_unix_s <= request->requested_unix_s ||
     state->finished_unix_s > core_clock_unix_s());
}

/* What of the grid is to be done now. failed: those that have failed, too. */
static void choose(JobSet *set, const SweepQueueRequest *request, bool failed) {
  set->request = *request;
  set->next = 0;
  for (size_t i = 0; i < set->grid.runs; i++) {
    Job *job = &set->jobs[i];
    job->run = i;
    StoreState state;
    if (store_run_state_read(set->root, set->grid.ids[i], true, &state) != CORE_OK)
      core_warn("%s", core_error_message());
    job->force = is_forced(request, &state);
    const bool stays = (is_final(&state) && !job->force) || (state.status == STORE_FAILED && !failed);
    job->phase = state.status == STORE_RUNNING ? JOB_EXTERNAL : stays ? JOB_ENDED : JOB_WAITING;
    set->count[job->phase]++;
  }
  if (follow_rules(set) != CORE_OK) core_warn("%s", core_error_message());
  const int cores = sweep_executor_cores();
  set->places = request->jobs > 0 ? (int)request->jobs : cores;
  const size_t most = set->count[JOB_WAITING] + set->count[JOB_RUNNING] + set->count[JOB_EXTERNAL];
  if ((size_t)set->places > most) set->places = (int)most;
  if (set->places < 1) set->places = 1;
  set->threads = cores / set->places > 0 ? cores / set->places : 1;
}

static int load(JobSet *set, const char *name) {
  TRY(sweep_common_frozen(set->root, name, &set->spec));
  const int code = sweep_grid_expand(&set->spec, &set->grid);
  if (code != CORE_OK) sweep_spec_free(&set->spec);
  return code;
}

static int create(const char *root, const char *name, const SweepQueueRequest *request, bool failed, JobSet **out) {
  JobSet *set = core_memory_zero_allocate(1, sizeof *set);
  set->root = root;
  const int code = load(set, name);
  if (code != CORE_OK) {
    free(set);
    return code;
  }
  set->jobs = core_memory_zero_allocate(set->grid.runs + 1, sizeof *set->jobs);
  find_parents(set);
  choose(set, request, failed);
  *out = set;
  return CORE_OK;
}

int job_set_create(const char *root, const char *name, const SweepQueueRequest *request, JobSet **out) {
  return create(root, name, request, true, out);
}

static int reload(JobSet *set, const SweepQueueRequest *request, bool failed) {
  JobSet *fresh;
  TRY(create(set->root, set->spec.name, request, failed, &fresh));
  SweepIdSet places = {0};
  for (size_t k = 0; k < fresh->grid.runs; k++) sweep_id_set_add(&places, fresh->grid.ids[k], NULL);
  for (size_t i = 0; i < set->grid.runs; i++) { /* what runs goes over, by id */
    size_t k;
    if (set->jobs[i].phase != JOB_RUNNING || !sweep_id_set_find(&places, set->grid.ids[i], &k)) continue;
    enter(fresh, &fresh->jobs[k], JOB_RUNNING);
    size_t parent = fresh->jobs[k].parent;
    fresh->jobs[k] = set->jobs[i];
    fresh->jobs[k].run = k;
    fresh->jobs[k].parent = parent;
  }
  sweep_id_set_free(&places);
  fresh->finished = set->finished, fresh->failed = set->failed, fresh->stopped = set->stopped;
  fresh->failed_before = set->failed_before;
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
  const SweepQueueRequest wave = {.jobs = request->jobs, .executor = request->executor};
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
size_t job_set_waiting(const JobSet *set) { return set->stopping ? 0 : set->count[JOB_WAITING]; }
size_t job_set_external(const JobSet *set) { return set->stopping ? 0 : set->count[JOB_EXTERNAL]; }
bool job_set_has_ready(const JobSet *set) { return !set->stopping && find_ready(set) < set->grid.runs; }
bool job_set_has_open_search(const JobSet *set) { return !set->stopping && sweep_spec_is_open(&set->spec); }
size_t job_set_running(const JobSet *set) { return set->count[JOB_RUNNING]; }
size_t job_set_finished(const JobSet *set) { return set->finished; }
size_t job_set_failed(const JobSet *set) { return set->failed; }
size_t job_set_stopped(const JobSet *set) { return set->stopped; }

bool job_set_has_new_failures(JobSet *set) {
  const bool anew = set->failed > set->failed_before;
  set->failed_before = set->failed;
  return anew;
}
int job_set_max_running(const JobSet *set) { return set->places; }
int job_set_threads(const JobSet *set) { return set->threads; }

static int job_start(JobSet *set, Job *job) {
  CoreConfig config;
  char id[CORE_RUN_ID];
  sweep_grid_config(&set->grid, job->run, &config);
  config.train.threads = set->threads; /* as the trainer is told: it finds its config.ini as it would write it */
  TRY(store_run_prepare(set->root, &config, id));
  CoreText kept = {0};
  int code = set->request.force ? CORE_OK : sweep_kept_read(set->root, set->spec.name, &kept);
  const SweepTrainer trainer = {.root = set->root, .id = id, .sweep = set->spec.name, .threads = set->threads,
                                .is_program = config.program != NULL, .from_start = job->force,
                                .if_changed = set->request.force ? "restart" : core_text_string(&kept), .slot = -1};
  sweep_memory_probe_begin(set->root, id, &job->memory);
  if (code == CORE_OK) code = sweep_trainer_start(&trainer, &job->process);
  core_text_free(&kept);
  return code;
}

/* Writes a failure into a state that the trainer left open. */
static void record_failure(const JobSet *set, const Job *job, const char *reason) {
  StoreState state;
  if (store_run_state_read(set->root, job_id(set, job), true, &state) != CORE_OK) core_warn("%s", core_error_message());
  if (state.status == STORE_FAILED || state.status == STORE_DIVERGED || state.status == STORE_RUNNING) return;
  char line[256];
  sweep_trainer_last_line(set->root, job_id(set, job), line, sizeof line);
  state.status = STORE_FAILED;
  state.finished_unix_s = core_clock_unix_s();
  snprintf(state.message, sizeof state.message, "%s%s%s", reason, line[0] ? "; last message: " : "", line);
  if (store_run_state_write(set->root, job_id(set, job), &state) != CORE_OK) core_warn("%s", core_error_message());
}

/* ---- runs that somebody else trains ------------------------------------------------------------------------------ */

/* Does another sweep of this executor train it? Its state says so only when the trainer has begun. */
static bool is_beside(const JobSet *set, const Job *job, JobSet *const *all, size_t count) {
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; all[i] != set && k < all[i]->grid.runs; k++)
      if (all[i]->jobs[k].phase == JOB_RUNNING && strcmp(job_id(all[i], &all[i]->jobs[k]), job_id(set, job)) == 0)
        return true;
  return false;
}

/* What somebody else has left of it. Its writer has died: it is ours to do. Else it has ended, well or not; so has one
 * that was told to stop. */
static void leave_elsewhere(JobSet *set, Job *job, const StoreState *state) {
  if (state->status == STORE_LOST || state->status == STORE_PENDING) {
    enter(set, job, JOB_WAITING);
    return;
  }
  enter(set, job, JOB_ENDED);
  if (state->status == STORE_FINISHED) set->finished++;
  if (state->status == STORE_FAILED || state->status == STORE_DIVERGED) set->failed++;
}

void job_set_poll_external(JobSet *set, JobSet *const *all, size_t count) {
  if (job_set_external(set) == 0 || core_clock_s() - set->looked_s < LOOK_EVERY_S) return;
  for (size_t i = 0; i < set->grid.runs; i++) {
    Job *job = &set->jobs[i];
    StoreState state;
    if (job->phase != JOB_EXTERNAL || is_beside(set, job, all, count)) continue;
    if (store_run_state_read(set->root, job_id(set, job), true, &state) != CORE_OK)
      core_warn("%s", core_error_message());
    else if (state.status != STORE_RUNNING) leave_elsewhere(set, job, &state);
  }
  if (follow_rules(set) != CORE_OK) core_warn("%s", core_error_message());
  set->looked_s = core_clock_s();
}

/* It was to do when the sweep was loaded. Has somebody else taken it since, or done it? */
static bool is_taken(JobSet *set, Job *job, JobSet *const *all, size_t count) {
  StoreState state;
  const bool beside = is_beside(set, job, all, count);
  if (!beside && store_run_state_read(set->root, job_id(set, job), true, &state) != CORE_OK) {
    core_warn("%s", core_error_message());
    return false;
  }
  if (beside || state.status == STORE_RUNNING) {
    enter(set, job, JOB_EXTERNAL);
    return true;
  }
  job->force = is_forced(&set->request, &state);
  if (!is_final(&state) || job->force) return false;
  leave_elsewhere(set, job, &state);
  return true;
}

bool job_set_start_next(JobSet *set, JobSet *const *all, size_t count) {
  while (set->next < set->grid.runs && set->jobs[set->next].phase != JOB_WAITING) set->next++;
  size_t ready = find_ready(set);
  if (ready == set->grid.runs) return false;
  Job *job = &set->jobs[ready];
  if (is_taken(set, job, all, count)) return false;
  job->starts++;
  job->told = job->was_stopped = false;
  if (job_start(set, job) == CORE_OK) {
    enter(set, job, JOB_RUNNING);
    return true;
  }
  core_log(CORE_LOG_ERROR, "%s: %s", job_id(set, job), core_error_message());
  record_failure(set, job, core_error_message());
  enter(set, job, JOB_ENDED);
  set->failed++;
  return false;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

/* Killed from outside: again, unless it keeps happening or we are stopping. One that our own SIGTERM has ended was not
 * yet as far as to keep it: it has not begun. */
static void job_killed(JobSet *set, Job *job, int signal) {
  char reason[160];
  if ((set->stopping || job->told) && signal == SIGTERM) return;
  snprintf(reason, sizeof reason, "killed by signal %d (%s)%s", signal, strsignal(signal),
           signal == SIGKILL ? ", perhaps out of memory" : "");
  core_warn("%s: %s", job_id(set, job), reason);
  if (job->starts < STARTS_MAX && !set->stopping) {
    enter(set, job, JOB_WAITING); /* it has begun: its state says so, and it is not started over */
    return;
  }
  record_failure(set, job, reason);
  set->failed++;
}

/* It has ended as a stop of the sweep told it to, and the sweep was submitted again before that. */
static bool is_taken_up(const JobSet *set, const Job *job, int status) {
  const bool ended_so = WIFSIGNALED(status) ? WTERMSIG(status) == SIGTERM : WEXITSTATUS(status) == CORE_REQUEUE;
  return ended_so && job->was_stopped && !job->told && !set->stopping;
}

/* Has its trainer ended because another one had the run already? */
static bool is_lost_to_another(const JobSet *set, const Job *job) {
  StoreState state;
  if (store_run_state_read(set->root, job_id(set, job), true, &state) != CORE_OK) {
    core_warn("%s", core_error_message());
    return false;
  }
  return state.status == STORE_RUNNING && state.pid != job->process;
}

/* Tells whether a trainer with exit code 0 has left its run unfinished: code that it loads may end the process. */
static bool is_unfinished(const JobSet *set, const Job *job) {
  StoreState state;
  if (store_run_state_read(set->root, job_id(set, job), true, &state) == CORE_OK) return state.status == STORE_LOST;
  core_warn("%s", core_error_message());
  return false;
}

void job_set_sample_memory(JobSet *set) {
  const char **ids = core_memory_allocate((set->count[JOB_RUNNING] + 1) * sizeof *ids);
  SweepMemoryProbe **probes = core_memory_allocate((set->count[JOB_RUNNING] + 1) * sizeof *probes);
  size_t count = 0;
  for (size_t i = 0; i < set->grid.runs; i++) {
    if (set->jobs[i].phase != JOB_RUNNING) continue;
    ids[count] = job_id(set, &set->jobs[i]);
    probes[count++] = &set->jobs[i].memory;
  }
  sweep_memory_probe_sample(set->root, ids, probes, count);
  free(ids);
  free(probes);
}

bool job_set_reap(JobSet *set, pid_t process, int status, int64_t largest_kb) {
  Job *job = NULL;
  for (size_t i = 0; i < set->grid.runs && !job; i++)
    if (set->jobs[i].phase == JOB_RUNNING && set->jobs[i].process == process) job = &set->jobs[i];
  if (!job) return false;
  sweep_memory_probe_end(set->root, job_id(set, job), &job->memory, largest_kb);
  job->by_rule = job->told;
  enter(set, job, JOB_ENDED);
  if (is_taken_up(set, job, status)) {
    job->starts = 0;
    enter(set, job, JOB_WAITING);
    return true;
  }
  if (WIFSIGNALED(status)) {
    job_killed(set, job, WTERMSIG(status));
    return true;
  }
  const int code = WEXITSTATUS(status);
  const bool is_early = code == CORE_OK && is_unfinished(set, job);
  if (code == CORE_OK && !is_early) set->finished++, job->by_rule = false;
  if (code == CORE_REQUEUE && job->told) set->stopped++;
  if (code == CORE_OK && !is_early) return true;
  if (code == CORE_REQUEUE) return true; /* stopped on request, has its checkpoint */
  if (is_lost_to_another(set, job)) {
    enter(set, job, JOB_EXTERNAL);
    return true;
  }
  set->failed++;
  char reason[64];
  if (is_early) snprintf(reason, sizeof reason, "ended with exit code 0 before the run had finished");
  else snprintf(reason, sizeof reason, code == 127 ? "the trainer cannot be started" : "exit code %d", code);
  record_failure(set, job, reason);
  core_warn("%s: %s", job_id(set, job), reason);
  return true;
}

void job_set_stop(JobSet *set) {
  if (set->stopping) return;
  set->stopping = true;
  for (size_t i = 0; i < set->grid.runs; i++)
    if (set->jobs[i].phase == JOB_RUNNING) set->jobs[i].was_stopped = kill(set->jobs[i].process, SIGTERM) == 0;
}
