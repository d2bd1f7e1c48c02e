/* The life of a run: check what its folder says, take the lease, start or resume, then iterate, log, evaluate and save
 * until the budget is used, a signal comes, or something fails. What training computes is training.c's business.
 *
 * The order of writing makes restarts exact: run logs reach the disk before the checkpoint that counts their rows as
 * done, so an interrupted run repeats rows (which are the same) but never misses one. */
#include "trainer/run.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "core/log.h"
#include "core/options.h"
#include "store/paths.h"
#include "store/run.h"
#include "trainer/heartbeat.h"
#include "trainer/inherit.h"
#include "trainer/progress.h"

static const double FLUSH_EVERY_S = 2;

/* Known to checkpoints but different in every attempt. */
typedef struct RunClock {
  double train_seconds;        /* of all attempts up to this checkpoint */
  int64_t attempt;
} RunClock;

typedef struct Run {
  const CoreConfig *config;
  const RunOptions *options;
  char root[CORE_PATH_MAX], id[CORE_RUN_ID];
  Training *training;
  StoreLease *lease;
  StoreState state;
  Heartbeat *heartbeat;
  StoreRunlog *stats, *evaluations;
  Checkpoint checkpoint;
  Progress progress;
  RunClock clock;              /* as of the last checkpoint */
  StoreIteration row;          /* of the last iteration of this attempt */
  bool diverged, checkpoint_failing, log_failing, worlds_warned;
  double started_s, flushed_s, saved_s; /* core_clock_s */
  int64_t saved_iteration;     /* of the newest checkpoint of this attempt or the one it came from; -1 = none */
} Run;

/* ---- signals --------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t stop_signal;

static void on_stop(int signal_number) { stop_signal = signal_number; }

/* Batch systems announce the end with SIGUSR1, SIGUSR2 or SIGTERM. A second Ctrl-C ends at once. */
static void catch_signals(void) {
  static const int signals[] = {SIGUSR1, SIGUSR2, SIGTERM, SIGINT};
  stop_signal = 0;
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    if (signals[i] == SIGINT) action.sa_flags |= (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(signals[i], &action, NULL);
  }
}

/* ---- logs and checkpoints -------------------------------------------------------------------------------------- */

static double train_seconds(const Run *run) { return run->clock.train_seconds + core_clock_s() - run->started_s; }

/* Both logs; a full disk does not stop training: lines wait in memory and are tried again. */
static int flush_logs(Run *run, bool durable) {
  int stats = store_runlog_flush(run->stats, durable);
  int evaluations = store_runlog_flush(run->evaluations, durable);
  int code = stats != CORE_OK ? stats : evaluations;
  run->flushed_s = core_clock_s();
  if (code != CORE_OK && !run->log_failing)
    progress_note(&run->progress, "warning: a run log can not be written, will try again: %s", core_error_message());
  run->log_failing = code != CORE_OK;
  return code;
}

/* The clock is saved as of now, but counts on from the attempt's start. */
static int write_checkpoint(Run *run) {
  RunClock at_start = run->clock;
  run->clock.train_seconds = train_seconds(run);
  run->clock.attempt = run->state.attempt;
  training_before_save(run->training);
  int code = checkpoint_write(&run->checkpoint, run->training->position.iteration);
  run->clock = at_start;
  return code;
}

/* Saves the present position, unless it is saved already. */
static int save(Run *run) {
  if (run->saved_iteration == run->training->position.iteration) return CORE_OK;
  int code = flush_logs(run, true);
  if (code == CORE_OK) code = write_checkpoint(run);
  if (code == CORE_OK) {
    if (run->checkpoint_failing) progress_note(&run->progress, "checkpoints can be written again");
    run->saved_s = core_clock_s();
    run->saved_iteration = run->training->position.iteration;
  } else if (!run->checkpoint_failing) {
    progress_note(&run->progress, "warning: no checkpoint at iteration %" PRId64 ", training goes on: %s",
                  run->training->position.iteration, core_error_message());
  }
  run->checkpoint_failing = code != CORE_OK;
  return code;
}

static void update_state(Run *run) {
  const Training *training = run->training;
  run->state.iteration = training->position.iteration;
  run->state.transitions = training_transitions(training);
  run->state.solve_rate = training->position.solve_rate;
  run->state.steps_per_second = run->row.steps_per_second;
  run->state.train_seconds = train_seconds(run);
}

/* ---- the loop -------------------------------------------------------------------------------------------------- */

static void evaluate_if_due(Run *run) {
  StoreEvaluation row;
  if (!training_evaluation_due(run->training)) return;
  training_evaluate(run->training, &row);
  store_runlog_evaluation(run->evaluations, &row);
  core_info("evaluation after iteration %" PRId64 ": solve rate %.4f (standard error %.4f), return %.3f", row.iteration,
            row.solve_rate, row.solve_rate_se, row.episode_return);
}

/* The physics ended such episodes by itself; a person should still know that a level makes it explode. */
static void warn_of_nonfinite_worlds(Run *run) {
  const Env *env = run->training->env;
  if (run->worlds_warned || env == NULL || env->nonfinite(env) == 0) return;
  run->worlds_warned = true;
  progress_note(&run->progress, "warning: the physics of %" PRId64 " worlds reached NaN or infinity by iteration %"
                PRId64 "; their episodes were ended", env->nonfinite(env), run->training->position.iteration);
}

/* A curve of some hundred points is too long for the run log's line: a file of its own, the same whenever it is written
 * again. Training goes on without it when it can not be written. */
static void write_profile(Run *run) {
  const Profile *profile = &run->training->profile;
  char path[CORE_PATH_MAX], name[64];
  CoreText text = {0};
  core_text_append(&text, "minibatches\tpercent\tkl_sequential[nat]\tkl_reference[nat]\n");
  for (int i = 0; i < profile->taken; i++) {
    core_text_appendf(&text, "%d\t%.9g\t", profile->update[i], 100.0 * profile->update[i] / profile->updates);
    if (i + 1 < profile->taken) core_text_appendf(&text, "%.9g", profile->sequential[i]);
    core_text_appendf(&text, "\t%.9g\n", profile->reference[i]);
  }
  snprintf(name, sizeof name, "profile.%" PRId64 ".tsv", run->row.iteration);
  int code = store_path_run(run->root, run->id, name, path);
  if (code == CORE_OK) code = core_files_write_atomic(path, text.data, text.length);
  if (code != CORE_OK) progress_note(&run->progress, "warning: no profile: %s", core_error_message());
  core_text_free(&text);
}

static int iterate(Run *run) {
  const double save_every_s = run->config->checkpoint.every;
  while (!training_finished(run->training) && stop_signal == 0) {
    int code = training_iterate(run->training, &run->row);
    run->diverged = code != CORE_OK;
    if (code != CORE_OK) return code;
    run->row.wall_seconds = train_seconds(run);
    store_runlog_iteration(run->stats, &run->row);
    if (run->training->profiled) write_profile(run);
    evaluate_if_due(run);
    warn_of_nonfinite_worlds(run);
    if (core_clock_s() - run->flushed_s >= FLUSH_EVERY_S) flush_logs(run, false);
    if (core_clock_s() - run->saved_s >= save_every_s) save(run);
    update_state(run);
    heartbeat_update(run->heartbeat, &run->state);
    progress_draw(&run->progress, run->training, &run->row, training_finished(run->training));
  }
  return CORE_OK;
}

/* From a started or restored state to the end of the budget or a signal. */
static int train(Run *run) {
  if (run->saved_iteration < 0) evaluate_if_due(run); /* the one before training; a restored run has done its own */
  TRY(iterate(run));
  TRY(save(run));
  if (training_finished(run->training)) return CORE_OK;
  progress_note(&run->progress, "stopped by signal %d after iteration %" PRId64 " of %" PRId64 "; --resume goes on",
                (int)stop_signal, run->training->position.iteration, run->training->plan.iterations);
  return CORE_REQUEUE;
}

/* ---- one attempt ----------------------------------------------------------------------------------------------- */

static int inherit(Run *run) {
  TRY(inherit_restore(run->training, &run->checkpoint, run->root, run->state.parent));
  progress_note(&run->progress, "starting from %s (init.restore = %s), at iteration %" PRId64 " of %" PRId64,
                run->state.parent, run->config->init.restore, run->training->position.iteration,
                run->training->plan.iterations);
  return CORE_OK;
}

static int restore_or_start(Run *run) {
  Training *training = run->training;
  run->saved_iteration = -1;
  run->row = store_iteration_unmeasured(0);
  training_add_sections(training, &run->checkpoint);
  checkpoint_add(&run->checkpoint, "clock", &run->clock, sizeof run->clock);
  if (run->options->resume) TRY(checkpoint_read_newest(&run->checkpoint, &run->saved_iteration));
  if (run->saved_iteration >= 0) {
    TRY(training_after_load(training));
    progress_note(&run->progress, "going on after iteration %" PRId64 " of %" PRId64, run->saved_iteration,
                  training->plan.iterations);
    return CORE_OK;
  }
  run->clock = (RunClock){0};
  run->state.parent[0] = '\0';
  training_start(training);
  return *run->config->init.from ? inherit(run) : CORE_OK;
}

static int open_logs(Run *run) {
  TRY(store_runlog_open(run->root, run->id, run->state.attempt, STORE_LOG_STATS, &run->stats));
  return store_runlog_open(run->root, run->id, run->state.attempt, STORE_LOG_EVAL, &run->evaluations);
}

/* Closes both. Lost lines fail a run that went well; where something failed before, that message stays. */
static int close_logs(Run *run, int code) {
  StoreRunlog **logs[] = {&run->stats, &run->evaluations};
  for (int i = 0; i < 2; i++) {
    if (*logs[i] == NULL) continue;
    if (code == CORE_OK || code == CORE_REQUEUE) {
      int closed = store_runlog_close(logs[i]);
      if (closed != CORE_OK) code = closed;
    } else {
      char message[512];
      snprintf(message, sizeof message, "%s", core_error_message());
      store_runlog_close(logs[i]);
      core_error(code, "%s", message);
    }
  }
  return code;
}

static int attempt(Run *run) {
  int code = training_allocate(run->training);
  if (code == CORE_OK) code = restore_or_start(run);
  if (code == CORE_OK) code = open_logs(run);
  if (code == CORE_OK) {
    run->started_s = run->flushed_s = run->saved_s = core_clock_s();
    run->progress = progress_start(run->options->quiet, run->training->position.iteration);
    update_state(run);
    heartbeat_update(run->heartbeat, &run->state);
    code = train(run);
    update_state(run);
  }
  return close_logs(run, code);
}

static void begin_state(Run *run) {
  StoreState *state = &run->state;
  state->status = STORE_RUNNING;
  state->attempt++;
  gethostname(state->host, sizeof state->host - 1);
  state->pid = getpid();
  state->started_unix_s = core_clock_unix_s();
  state->finished_unix_s = 0;
  state->iterations = run->training->plan.iterations;
  state->transitions_total = state->iterations * run->training->plan.transitions_per_iteration;
  state->message[0] = '\0';
  snprintf(state->device, sizeof state->device, "cpu, %s", ops_cpu_description());
  snprintf(state->commit, sizeof state->commit, "%s", core_commit());
}

static void end_state(Run *run, int code) {
  StoreState *state = &run->state;
  state->finished_unix_s = core_clock_unix_s();
  state->status = code == CORE_OK ? STORE_FINISHED : code == CORE_REQUEUE ? STORE_STOPPED
                  : run->diverged ? STORE_DIVERGED : STORE_FAILED;
  if (code != CORE_OK && code != CORE_REQUEUE)
    snprintf(state->message, sizeof state->message, "%s", core_error_message());
}

static void note_scaling(const CoreConfig *config) {
  CoreText text = {0};
  if (core_config_is_scaled(config)) core_info("scaling: %s", progress_scaling(config, &text));
  core_text_free(&text);
}

/* The attempt between its first and its last state. */
static int attempt_with_state(Run *run) {
  begin_state(run);
  TRY(heartbeat_start(run->root, run->id, &run->state, &run->heartbeat));
  core_info("attempt %d, version %s commit %s, %s, %d threads", run->state.attempt, core_version(), core_commit(),
            run->state.device, run->training->plan.threads);
  note_scaling(run->config);
  if (strcmp(run->config->train.device, "auto") == 0)
    progress_note(&run->progress, "train.device = auto: computing on the CPU (built without CUDA)");
  int code = attempt(run);
  end_state(run, code);
  if (code == CORE_FAIL || code == CORE_USAGE) core_log(CORE_LOG_ERROR, "%s", core_error_message());
  else core_info("%s", store_status_name(run->state.status));
  int stopped = heartbeat_stop(&run->heartbeat, &run->state);
  return code == CORE_OK || code == CORE_REQUEUE ? (stopped == CORE_OK ? code : stopped) : code;
}

/* ---- the folder ------------------------------------------------------------------------------------------------ */

/* May this run start now, given what its folder holds? */
static int check_start(Run *run) {
  int64_t newest;
  if (run->options->force) return checkpoint_remove_all(&run->checkpoint);
  if (run->state.status == STORE_DIVERGED)
    return core_error(CORE_FAIL, "run %s diverged before and would again (%s); --force starts over", run->id,
                      run->state.message);
  TRY(checkpoint_newest(&run->checkpoint, &newest));
  if (newest >= 0 && !run->options->resume)
    return core_error(CORE_USAGE, "run %s has a checkpoint at iteration %" PRId64 "; --resume continues, --force "
                      "starts over", run->id, newest);
  return CORE_OK;
}

static int run_with_log(Run *run) {
  char path[CORE_PATH_MAX];
  TRY(store_path_run(run->root, run->id, "log.txt", path));
  FILE *log = fopen(path, "ae");
  if (log == NULL) return core_error_errno(CORE_FAIL, "%s: can not be opened", path);
  core_log_open(log, CORE_LOG_INFO);
  int code = attempt_with_state(run);
  core_log_open(NULL, CORE_LOG_INFO);
  fclose(log);
  return code;
}

/* Nobody else writes here now. The state is read again, since another trainer may have finished while we waited. */
static int run_with_lease(Run *run, bool *finished_before) {
  char folder[CORE_PATH_MAX];
  TRY(store_run_state_read(run->root, run->id, true, &run->state));
  *finished_before = run->state.status == STORE_FINISHED && !run->options->force;
  if (*finished_before) return CORE_OK;
  TRY(store_path_run(run->root, run->id, "ckpt", folder));
  TRY(checkpoint_open(folder, run->id, (int)run->config->checkpoint.keep, &run->checkpoint));
  TRY(check_start(run));
  return run_with_log(run);
}

static void print_summary(const Run *run, bool finished_before) {
  char transitions[32], seconds[32];
  if (run->options->quiet) return;
  if (finished_before) {
    printf("run %s is finished already; --force runs it again\n", run->id);
    return;
  }
  printf("run %s: %s, %" PRId64 " of %" PRId64 " iterations, %s transitions, ", run->id,
         store_status_name(run->state.status), run->state.iteration, run->state.iterations,
         core_text_count((double)run->state.transitions, transitions));
  if (!isnan(run->state.solve_rate)) printf("solve rate %.1f %%, ", 100 * run->state.solve_rate);
  printf("%s\n", core_text_duration(run->state.train_seconds, seconds));
}

static int run_in_folder(Run *run) {
  bool finished_before = false;
  TRY(store_root(run->options->root, run->root));
  TRY(store_run_prepare(run->root, run->config, run->id));
  TRY(store_run_acquire(run->root, run->id, &run->lease));
  int code = run_with_lease(run, &finished_before);
  store_run_release(&run->lease);
  if (code == CORE_OK || code == CORE_REQUEUE) print_summary(run, finished_before);
  return code;
}

int run_train(const CoreConfig *config, const RunOptions *options) {
  Run run = {.config = config, .options = options, .progress = progress_start(options->quiet, 0)};
  catch_signals();
  TRY(training_plan(config, &run.training));
  int code = CORE_OK;
  if (options->dry_run) {
    progress_print_plan(config, &run.training->plan);
  } else {
    code = training_check_memory(run.training);
    if (code == CORE_OK) code = run_in_folder(&run);
  }
  training_destroy(&run.training);
  return code;
}
