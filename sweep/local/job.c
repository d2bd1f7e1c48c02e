/* Starts trainers and handles their ends (job.h). The trainer owns its run's directory; the executor writes a run's
 * state only if the trainer could not, because it never started or was killed.
 *
 * Phases of a job:
 *   WAITING    starts once its parent, if any, has ended, the executor has room, and it is not held
 *   RUNNING    its trainer is a child of this process
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
 *   RUNNING    exits, or is killed and cannot be restarted                   ENDED      job_set_reap
 *              exits because another process owns the run                    EXTERNAL   handle_exit_code
 *              is killed, in fewer than STARTS_MAX starts                    WAITING    handle_kill
 *              ends after a user stopped it, and was submitted again         WAITING    job_set_reap
 *   EXTERNAL   its trainer died, or never started                            WAITING    end_external
 *              its trainer has ended otherwise                               ENDED
 *   ENDED      the rule, which had stopped it, promotes it, or a user        WAITING    apply_decision
 *              retries it
 *
 * SIGTERM, from the rule, job_set_stop or apply_lists, leaves a job RUNNING until its trainer exits. job_set_reap sets
 * ENDED before the functions that it calls choose another phase. A reload begins with (loaded), but keeps RUNNING jobs.
 * set_phase maintains count[] and next: no job before `next` waits. */
#include "sweep/local/job.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/config/origin.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/workspace/run.h"
#include "sweep/local/executor.h"
#include "sweep/local/kill.h"
#include "sweep/local/run_memory.h"
#include "sweep/local/trainer.h"
#include "sweep/spec/id_set.h"
#include "sweep/spec/kept.h"
#include "sweep/spec/manifest.h"
#include "sweep/spec/search.h"
#include "sweep/spec/sweep.h"
#include "sweep/spec/trust.h"
#include "sweep/stop/decide.h"

enum { STARTS_MAX = 3, EXTERNAL_POLL_S = 1, EXIT_NOT_EXECUTABLE = 127 };
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
  pid_t process;
  int starts;               /* in this session; at most STARTS_MAX if its trainer is killed */
  JobPhase phase;
  bool is_program;          /* a user's program, below its supervisor */
  bool force;               /* restart from the beginning */
  bool stop_requested;      /* by the [stop] rule */
  bool was_stopped;         /* by a user, alone or with its set, and may have been submitted again since */
  bool is_held;             /* by a user: not started while it waits */
  bool is_stopped_by_rule;  /* ended by the rule: resumed if it is promoted or a user retries it */
  SweepMemoryProbe memory;
  int level;                /* rungs that it was promoted from; the highest run first, as in ASHA */
  size_t parent;            /* grid index of the run that it starts from; NO_PARENT: none in this sweep */
} Job;

struct JobSet {
  const char *root;
  SweepSpec spec;
  SweepGrid grid;
  Job *jobs;                /* [grid.runs] */
  SweepQueueRequest request;
  size_t count[JOB_PHASES]; /* number of jobs by phase */
  double polled_at_s;       /* last poll of external jobs */
  size_t next;              /* no job before this one waits */
  size_t finished, failed, stopped; /* outcomes in this session */
  size_t reported_failures; /* `failed` at the last job_set_has_new_failures */
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
  } else if (is_stopped && job->phase == JOB_RUNNING && !job->stop_requested) {
    job->stop_requested = kill(job->process, SIGTERM) == 0;
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

/* Holds or releases jobs, and ends those that a user has stopped. */
static void apply_lists(JobSet *set) {
  for (size_t i = 0; i < set->grid.runs; i++) {
    Job *job = &set->jobs[i];
    job->is_held = sweep_queue_holds(&set->request, job_id(set, job));
    if (!sweep_queue_has_stopped(&set->request, job_id(set, job))) continue;
    if (job->phase == JOB_WAITING) set_phase(set, job, JOB_ENDED);
    else if (job->phase == JOB_RUNNING && !job->was_stopped) job->was_stopped = kill(job->process, SIGTERM) == 0;
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
    if (store_run_state_read(set->root, set->grid.ids[i], true, &state) != CORE_OK)
      core_warn("%s", core_error_message());
    job->force = sweep_queue_forces(request, &state);
    const bool is_done = (store_status_is_final(state.status) && !job->force) ||
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

static int create(const char *root, const char *name, const SweepQueueRequest *request, bool retry_failed,
                  JobSet **out) {
  JobSet *set = core_memory_zero_allocate(1, sizeof *set);
  set->root = root;
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

int job_set_create(const char *root, const char *name, const SweepQueueRequest *request, JobSet **out) {
  return create(root, name, request, true, out);
}

static int reload(JobSet *set, const SweepQueueRequest *request, bool retry_failed) {
  JobSet *fresh;
  TRY(create(set->root, set->spec.name, request, retry_failed, &fresh));

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

  fresh->finished = set->finished;
  fresh->failed = set->failed;
  fresh->stopped = set->stopped;
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
size_t job_set_waiting(const JobSet *set) { return set->is_stopping ? 0 : set->count[JOB_WAITING]; }
size_t job_set_external(const JobSet *set) { return set->is_stopping ? 0 : set->count[JOB_EXTERNAL]; }
bool job_set_has_ready(const JobSet *set) { return !set->is_stopping && find_ready(set) < set->grid.runs; }
bool job_set_has_open_search(const JobSet *set) { return !set->is_stopping && sweep_spec_is_open(&set->spec); }
size_t job_set_running(const JobSet *set) { return set->count[JOB_RUNNING]; }
size_t job_set_finished(const JobSet *set) { return set->finished; }
size_t job_set_failed(const JobSet *set) { return set->failed; }
size_t job_set_stopped(const JobSet *set) { return set->stopped; }

bool job_set_has_new_failures(JobSet *set) {
  const bool has_new = set->failed > set->reported_failures;
  set->reported_failures = set->failed;
  return has_new;
}
int job_set_max_running(const JobSet *set) { return set->max_running; }
int job_set_threads(const JobSet *set) { return set->threads; }

static int job_start(JobSet *set, Job *job) {
  CoreConfig config;
  char id[CORE_RUN_ID];
  sweep_grid_config(&set->grid, job->run, &config);
  config.train.threads = set->threads; /* as on the trainer's command line */
  job->is_program = config.program != NULL;
  TRY(store_run_prepare(set->root, &config, id));

  CoreText kept = {0};
  int code = set->request.force ? CORE_OK : sweep_kept_read(set->root, set->spec.name, &kept);
  const SweepTrainer trainer = {.root = set->root, .id = id, .config = &config, .sweep = set->spec.name,
                                .threads = set->threads, .from_start = job->force,
                                .if_changed = set->request.force ? "restart" : core_text_string(&kept), .slot = -1};

  sweep_memory_probe_begin(set->root, id, &job->memory);
  if (code == CORE_OK) code = sweep_trainer_start(&trainer, &job->process);
  core_text_free(&kept);
  return code;
}

/* Writes a failure to the run's state, unless the trainer has written its own. */
static void record_failure(const JobSet *set, const Job *job, const char *reason, bool with_last_message) {
  StoreState state;
  if (store_run_state_read(set->root, job_id(set, job), true, &state) != CORE_OK) core_warn("%s", core_error_message());
  if (store_status_is_broken(state.status) || state.status == STORE_RUNNING) return;
  char line[256] = "";
  if (with_last_message) sweep_trainer_last_line(set->root, job_id(set, job), line, sizeof line);
  state.status = STORE_FAILED;
  state.finished_unix_s = core_clock_unix_s();
  snprintf(state.message, sizeof state.message, "%s%s%s", reason, line[0] ? "; last message: " : "", line);
  if (store_run_state_write(set->root, job_id(set, job), &state) != CORE_OK) core_warn("%s", core_error_message());
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
  if (state->status == STORE_FINISHED) set->finished++;
  if (store_status_is_broken(state->status)) set->failed++;
}

void job_set_poll_external(JobSet *set, JobSet *const *sets, size_t count) {
  if (job_set_external(set) == 0 || core_clock_s() - set->polled_at_s < EXTERNAL_POLL_S) return;
  for (size_t i = 0; i < set->grid.runs; i++) {
    Job *job = &set->jobs[i];
    StoreState state;
    if (job->phase != JOB_EXTERNAL || is_in_other_set(set, job, sets, count)) continue;
    if (store_run_state_read(set->root, job_id(set, job), true, &state) != CORE_OK)
      core_warn("%s", core_error_message());
    else if (state.status != STORE_RUNNING) end_external(set, job, &state);
  }
  if (apply_decisions(set) != CORE_OK) core_warn("%s", core_error_message());
  set->polled_at_s = core_clock_s();
}

/* Whether another process has started or finished the job since the sweep was loaded. */
static bool is_taken_by_other(JobSet *set, Job *job, JobSet *const *sets, size_t count) {
  StoreState state;
  const bool in_other_set = is_in_other_set(set, job, sets, count);
  if (!in_other_set && store_run_state_read(set->root, job_id(set, job), true, &state) != CORE_OK) {
    core_warn("%s", core_error_message());
    return false;
  }
  if (in_other_set || state.status == STORE_RUNNING) {
    set_phase(set, job, JOB_EXTERNAL);
    return true;
  }
  job->force = sweep_queue_forces(&set->request, &state);
  if (!store_status_is_final(state.status) || job->force) return false;
  end_external(set, job, &state);
  return true;
}

bool job_set_start_next(JobSet *set, JobSet *const *sets, size_t count) {
  while (set->next < set->grid.runs && set->jobs[set->next].phase != JOB_WAITING) set->next++;
  size_t ready = find_ready(set);
  if (ready == set->grid.runs) return false;
  Job *job = &set->jobs[ready];
  if (is_taken_by_other(set, job, sets, count)) return false;

  job->starts++;
  job->stop_requested = false;
  job->was_stopped = false;
  if (job_start(set, job) == CORE_OK) {
    set_phase(set, job, JOB_RUNNING);
    return true;
  }

  core_log(CORE_LOG_ERROR, "%s: %s", job_id(set, job), core_error_message());
  record_failure(set, job, core_error_message(), true);
  set_phase(set, job, JOB_ENDED);
  set->failed++;
  return false;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

/* Handles a killed trainer: restarts it, unless that keeps happening or the set is stopping. A trainer that the
 * executor's own SIGTERM killed had not started yet. */
static void handle_kill(JobSet *set, Job *job, int signal, const struct rusage *usage) {
  char reason[160];
  sweep_trainer_kill_rest(set->root, job_id(set, job));
  const bool is_ending = set->is_stopping || sweep_queue_has_stopped(&set->request, job_id(set, job));
  if ((is_ending || job->stop_requested) && signal == SIGTERM) return;
  const bool can_restart = sweep_kill_describe(signal, usage, job->is_program, job->memory.run.peak_mb, reason,
                                               sizeof reason);
  core_warn("%s: %s", job_id(set, job), reason);
  if (can_restart && job->starts < STARTS_MAX && !is_ending) {
    set_phase(set, job, JOB_WAITING); /* its state shows its progress, so it is not restarted */
    return;
  }
  record_failure(set, job, reason, !job->is_program); /* a supervisor's last message is that of the kill */
  set->failed++;
}

/* Whether the run ended because a user stopped it, and was submitted again meanwhile. */
static bool was_resubmitted(const JobSet *set, const Job *job, int status) {
  const bool is_stopped = WIFSIGNALED(status) ? WTERMSIG(status) == SIGTERM : WEXITSTATUS(status) == CORE_REQUEUE;
  return is_stopped && job->was_stopped && !job->stop_requested && !set->is_stopping &&
         !sweep_queue_has_stopped(&set->request, job_id(set, job));
}

/* Whether the trainer ended because another process already owned the run. */
static bool has_other_owner(const JobSet *set, const Job *job) {
  StoreState state;
  if (store_run_state_read(set->root, job_id(set, job), true, &state) != CORE_OK) {
    core_warn("%s", core_error_message());
    return false;
  }
  return state.status == STORE_RUNNING && state.pid != job->process;
}

/* Whether a trainer with exit code 0 left its run unfinished, e.g. because code that it loaded called exit(). */
static bool has_exited_early(const JobSet *set, const Job *job) {
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

static Job *find_process(JobSet *set, pid_t process) {
  for (size_t i = 0; i < set->grid.runs; i++)
    if (set->jobs[i].phase == JOB_RUNNING && set->jobs[i].process == process) return &set->jobs[i];
  return NULL;
}

/* Handles a trainer that exited by itself. */
static void handle_exit_code(JobSet *set, Job *job, int code) {
  char reason[64];
  const bool is_early = code == CORE_OK && has_exited_early(set, job);
  if (code == CORE_OK && !is_early) {
    set->finished++;
    job->is_stopped_by_rule = false;
    return;
  }

  if (code == CORE_REQUEUE) { /* stopped on request, with a checkpoint */
    if (job->stop_requested) set->stopped++;
    return;
  }
  if (has_other_owner(set, job)) {
    set_phase(set, job, JOB_EXTERNAL);
    return;
  }

  set->failed++;
  if (is_early) snprintf(reason, sizeof reason, "ended with exit code 0 before the run had finished");
  else if (code == EXIT_NOT_EXECUTABLE) snprintf(reason, sizeof reason, "the trainer cannot be started");
  else snprintf(reason, sizeof reason, "exit code %d", code);
  record_failure(set, job, reason, true);
  core_warn("%s: %s", job_id(set, job), reason);
}

bool job_set_reap(JobSet *set, pid_t process, int status, const struct rusage *usage) {
  Job *job = find_process(set, process);
  if (!job) return false;
  sweep_memory_probe_end(set->root, job_id(set, job), &job->memory, usage->ru_maxrss);
  job->is_stopped_by_rule = job->stop_requested;
  set_phase(set, job, JOB_ENDED);
  if (was_resubmitted(set, job, status)) {
    job->starts = 0;
    set_phase(set, job, JOB_WAITING);
  } else if (WIFSIGNALED(status)) {
    handle_kill(set, job, WTERMSIG(status), usage);
  } else {
    handle_exit_code(set, job, WEXITSTATUS(status));
  }
  return true;
}

void job_set_stop(JobSet *set) {
  if (set->is_stopping) return;
  set->is_stopping = true;
  for (size_t i = 0; i < set->grid.runs; i++)
    if (set->jobs[i].phase == JOB_RUNNING) set->jobs[i].was_stopped = kill(set->jobs[i].process, SIGTERM) == 0;
}
