/* Life of a run: check its directory, take the lease, start or resume, then iterate, log, evaluate and save until the
 * budget is used, a signal arrives, or something fails. The training itself is in training.c, logging in logs.c.
 *
 * All ranks of a run execute this file together, so that they meet wherever training exchanges data; only the first one
 * has a directory, logs and a state, and all of them agree on every decision and failure of one.
 *
 * The order of writing makes restarts exact: run logs reach the disk before the checkpoint that counts their rows as
 * done, so an interrupted run repeats rows (with the same content) but never misses one. */
#include "trainer/run/run.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/command/options.h"
#include "core/exit_guard.h"
#include "core/log.h"
#include "core/signals.h"
#include "core/version.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "trainer/ranks/communicator.h"
#include "trainer/ranks/ranks.h"
#include "trainer/run/heartbeat.h"
#include "trainer/run/inherit.h"
#include "trainer/run/logs.h"
#include "trainer/run/progress.h"
#include "trainer/run/run_evaluate.h"
#include "trainer/run/run_files.h"

static const double RETRY_FIRST_S = 1, RETRY_LAST_S = 300; /* seconds between attempts after a failed checkpoint */

/* Checkpoint section that differs in every attempt. */
typedef struct RunClock {
  double train_seconds;        /* seconds of all attempts up to this checkpoint */
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
  RunLogs logs;
  Checkpoint checkpoint;
  RunBest best;
  Progress progress;
  RunClock clock;              /* as of the last checkpoint */
  StoreIteration row;          /* row of the last iteration of this attempt */
  bool diverged, worlds_warned, unfinished_warned;
  int stop;                    /* stop signal of any rank, known to all of them; 0 = none */
  double started_s, saved_s; /* core_clock_s */
  double retry_s, retry_at_s;  /* after a failed checkpoint: delay before the next attempt, and its time; 0: none
                                * failed */
  int64_t saved_iteration;     /* iteration of the newest checkpoint, made or resumed by this attempt; -1 = none */
} Run;

/* ---- checkpoints ------------------------------------------------------------------------------------------------ */

static double train_seconds(const Run *run) { return run->clock.train_seconds + core_clock_s() - run->started_s; }

/* Writes a checkpoint. The clock is saved as of now, but continues from the attempt's start. */
static int write_checkpoint(Run *run) {
  RunClock at_start = run->clock;
  run->clock.train_seconds = train_seconds(run);
  run->clock.attempt = run->state.attempt;
  int code = checkpoint_write(&run->checkpoint, run->training->position.iteration);
  run->clock = at_start;
  return code;
}

/* Records a written checkpoint, or schedules the next attempt. */
static void note_save(Run *run, int code) {
  if (code == CORE_OK) {
    if (run->retry_s > 0) progress_message(&run->progress, "checkpoints can be written again");
    run->saved_s = core_clock_s();
    run->saved_iteration = run->training->position.iteration;
    run->retry_s = 0;
    return;
  }
  if (run->retry_s == 0)
    progress_message(&run->progress, "warning: no checkpoint at iteration %" PRId64 ", training continues: %s",
                     run->training->position.iteration, core_error_message());
  run->retry_s = run->retry_s == 0 ? RETRY_FIRST_S : fmin(2 * run->retry_s, RETRY_LAST_S);
  run->retry_at_s = core_clock_s() + run->retry_s;
}

/* Saves the current position, unless it is saved already. */
static int save(Run *run) {
  int code = CORE_OK;
  bool needed = run->saved_iteration != run->training->position.iteration;
  ranks_broadcast(&needed, sizeof needed);
  if (!needed) return CORE_OK;
  training_before_save(run->training);
  if (ranks_is_first()) {
    code = run_logs_flush(&run->logs, &run->progress, true);
    if (code == CORE_OK) code = write_checkpoint(run);
    note_save(run, code);
  }
  return ranks_agree(code);
}

static bool save_due(const Run *run) {
  const int64_t every = run->config->checkpoint.every_iterations;
  if (run->retry_s > 0) return core_clock_s() >= run->retry_at_s;
  if (every > 0 && run->training->position.iteration % every == 0) return true;
  return core_clock_s() - run->saved_s >= run->config->checkpoint.every;
}

static void update_state(Run *run) {
  const Training *training = run->training;
  run->state.iteration = training->position.iteration;
  run->state.transitions = training_transitions(training);
  run->state.solve_rate = training->position.solve_rate;
  run->state.episode_return = training->episode_return;
  run->state.steps_per_second = run->row.steps_per_second;
  run->state.train_seconds = train_seconds(run);
}

/* ---- the loop -------------------------------------------------------------------------------------------------- */

static int evaluate_if_due(Run *run) {
  const RunEvaluation evaluation = {run->training, &run->logs, &run->progress, run->root, run->id, &run->best};
  const bool was_interrupted = run->training->evaluation_due >= 0;
  TRY(run_evaluate_if_due(&evaluation, &run->unfinished_warned));
  run_best_save(&run->best, &run->checkpoint, run->training, &run->progress);
  if (was_interrupted) run->saved_iteration = -1; /* the saved state says that the evaluation is due */
  return CORE_OK;
}

/* Warns of worlds that became nonfinite. The physics ended such episodes, but the user should know that a level makes
 * it diverge. */
static void warn_of_nonfinite_worlds(Run *run) {
  const Env *env = run->training->env;
  if (run->worlds_warned || env == NULL || env->physics == NULL) return;
  int64_t worlds = env->physics->nonfinite(env);
  ranks_sum_counts(&worlds, 1);
  if (worlds == 0) return;
  run->worlds_warned = true;
  progress_message(&run->progress, "warning: %" PRId64 " worlds of the environment reached NaN or infinity by "
                   "iteration %" PRId64 "; their episodes were ended", worlds, run->training->position.iteration);
}

/* Agrees on a stop, which any rank may have received, and on saving, which the first rank decides by time. */
static void agree_on_next(Run *run, bool *save_now) {
  double told[] = {core_signals_stop(), ranks_is_first() && save_due(run)};
  ranks_max(told, 2);
  run->stop = (int)told[0];
  *save_now = told[1] > 0;
}

static int iterate(Run *run) {
  bool save_now;
  agree_on_next(run, &save_now);

  while (!training_finished(run->training) && run->stop == 0) {
    core_signals_guard(); /* handlers that libraries have installed meanwhile */
    int code = training_iterate(run->training, &run->row);
    run->diverged = code != CORE_OK && code != CORE_REQUEUE && !run->training->env_failed;
    if (code != CORE_OK) return code;

    TRY(training_check_weights(run->training));
    run->row.wall_seconds = train_seconds(run);
    if (ranks_is_first()) run_logs_iteration(&run->logs, &run->progress, run->training, &run->row);
    TRY(evaluate_if_due(run));
    warn_of_nonfinite_worlds(run);

    agree_on_next(run, &save_now);
    if (save_now) save(run); /* training continues without it */
    if (ranks_is_first()) {
      update_state(run);
      heartbeat_update(run->heartbeat, &run->state);
      progress_draw(&run->progress, run->training, &run->row, training_finished(run->training));
    }
  }
  return CORE_OK;
}

/* Trains from a started or restored state to the end of the budget or a signal. */
static int train(Run *run) {
  const bool is_due = run->saved_iteration < 0 || run->training->evaluation_due >= 0;
  bool save_now;
  int code = is_due ? evaluate_if_due(run) : CORE_OK; /* before training; or what the last attempt did not finish */
  if (code == CORE_OK) code = iterate(run);
  if (code != CORE_OK && code != CORE_REQUEUE) return code;
  TRY(save(run));
  if (code == CORE_OK && training_finished(run->training)) return CORE_OK;
  agree_on_next(run, &save_now);
  progress_message(&run->progress,
                   "stopped by signal %d after iteration %" PRId64 " of %" PRId64 "; --resume continues",
                   run->stop, run->training->position.iteration, run->training->plan.iterations);
  return CORE_REQUEUE;
}

/* ---- one attempt ----------------------------------------------------------------------------------------------- */

static int inherit(Run *run) {
  Training *training = run->training;
  int code = CORE_OK;
  training_before_save(training);
  if (ranks_is_first()) code = inherit_restore(training, &run->checkpoint, run->root, run->state.parent);
  TRY(ranks_agree(code));
  TRY(training_after_load(training));
  progress_message(&run->progress, "starting from %s (init.restore = %s), at iteration %" PRId64 " of %" PRId64,
                run->state.parent, run->config->init.restore, training->position.iteration, training->plan.iterations);
  return CORE_OK;
}

/* Restores the newest valid checkpoint; saved_iteration stays -1 without one. */
static int restore(Run *run) {
  int code = CORE_OK;
  if (!run->options->resume) return CORE_OK;
  if (ranks_is_first()) code = checkpoint_read_newest(&run->checkpoint, &run->saved_iteration);
  TRY(ranks_agree(code));
  ranks_broadcast(&run->saved_iteration, sizeof run->saved_iteration);

  if (run->saved_iteration < 0) return CORE_OK;
  const int64_t iteration = run->training->position.iteration;
  if (ranks_is_first() && iteration != run->saved_iteration)
    code = core_error(CORE_FAIL, "the checkpoint of iteration %" PRId64 " holds iteration %" PRId64 "; remove it, or "
                      "start over with --force", run->saved_iteration, iteration);
  TRY(ranks_agree(code));
  TRY(training_after_load(run->training));

  const Env *env = run->training->env;
  progress_message(&run->progress, "continuing after iteration %" PRId64 " of %" PRId64 "%s", run->saved_iteration,
                   run->training->plan.iterations, env && env->remote ? "; episodes start again" : "");
  return CORE_OK;
}

static int restore_or_start(Run *run) {
  Training *training = run->training;
  run->saved_iteration = -1;
  run->row = store_iteration_unmeasured(0);
  training_add_sections(training, &run->checkpoint);
  checkpoint_add(&run->checkpoint, "clock", &run->clock, sizeof run->clock);

  int code = CORE_OK;
  if (ranks_is_first())
    code = run_logs_prepare(&run->logs, run->training, run->root, run->id, run->state.attempt, &run->checkpoint);
  TRY(ranks_agree(code));
  TRY(restore(run));
  TRY(run_best_begin(&run->best, &run->checkpoint, run->options->resume));
  if (run->saved_iteration >= 0) return CORE_OK;

  run->clock = (RunClock){0};
  run->state.parent[0] = '\0';
  TRY(training_start(training));
  if (*run->config->init.from) TRY(inherit(run));
  run->best.started = training->position.iteration;
  return CORE_OK;
}

/* Checks signal handling, when all libraries have created their threads and handlers. */
static void check_signals(void) {
  char thread[96];
  core_signals_guard();
  core_signals_check(thread, sizeof thread);
  if (*thread) core_warn("%s does not block signals; a signal delivered while it computes can corrupt memory", thread);
}

/* Records a stop before there is anything to save. */
static void note_early_stop(Run *run) {
  progress_message(&run->progress, "stopped by signal %d before training began; --resume starts it",
                   core_signals_stop());
}

static int attempt(Run *run) {
  int code = ranks_agree(training_allocate(run->training));
  if (code == CORE_OK) code = training_connect(run->training);
  if (code == CORE_OK) check_signals();
  if (code == CORE_OK && run->training->communicator && ranks_is_first())
    core_info("gradients are communicated by %s", run->training->communicator->name);
  if (code == CORE_OK) code = restore_or_start(run);
  if (code == CORE_OK) {
    if (ranks_is_first())
      code = run_logs_open(&run->logs, run->training, run->root, run->id, run->state.attempt);
    code = ranks_agree(code);
  }

  if (code == CORE_OK) {
    run->started_s = run->logs.flushed_s = run->saved_s = core_clock_s();
    run->progress = progress_start(run->options->quiet, run->training->position.iteration);
    update_state(run);
    if (ranks_is_first()) heartbeat_update(run->heartbeat, &run->state);
    run_evaluate_warn(run->training, &run->progress);
    if (run->training->position.iteration == 0 && ranks_is_first()) progress_env_warnings(&run->progress, run->config);
    code = train(run);
    update_state(run);
  } else if (code == CORE_REQUEUE) {
    note_early_stop(run);
  }

  return run_logs_close(&run->logs, code);
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

  const CoreDevice *device = run->training->device;
  snprintf(state->device, sizeof state->device, "%s, %.48s; ranks: %d, threads: %d", device ? device->name : "cpu",
           device ? device->description : ops_cpu_description(), run->training->plan.ranks,
           run->training->plan.threads); /* read by sweep/plan/speed.c */
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

/* Called by the thread that watches the other ranks, while the main thread may wait for a dead one; and where foreign
 * code ends this process. */
static void on_loss(void *context, const char *message) {
  Run *run = context;
  core_log(CORE_LOG_ERROR, "%s", message);
  heartbeat_abandon(run->heartbeat, message);
  fprintf(stderr, "trainer: %s; the last checkpoint is valid, --resume continues from it\n", message);
}

static void note_start(const Run *run) {
  const TrainingPlan *plan = &run->training->plan;
  char who[160];
  core_info("attempt %d, version %s commit %s, %s", run->state.attempt, core_version(), core_commit(),
            run->state.device);
  if (plan->ranks > 1)
    for (int rank = 0; rank < plan->ranks; rank++) core_info("%s", ranks_describe(rank, who));
  run_code_record(run->config, run->root, run->id, &run->state);
  CoreText text = {0};
  if (core_config_is_scaled(run->config)) core_info("scaling: %s", progress_scaling(run->config, &text));
  core_text_free(&text);
}

/* Logs what train.device = auto resolved to. */
static void note_device(Run *run) {
  const Training *training = run->training;
  const char *no_cuda = CORE_HAS_CUDA ? "" : "built without CUDA";
  const char *reason = training->device_note[0] ? training->device_note : no_cuda;
  if (strcmp(run->config->train.device, "auto") != 0) return;
  if (training->device)
    progress_message(&run->progress, "train.device = auto: computing on %s", training->device->description);
  else progress_message(&run->progress, "train.device = auto: computing on the CPU%s%s%s", *reason ? " (" : "", reason,
                     *reason ? ")" : "");
}

/* Runs the attempt between its first and its last state; the other ranks have no state. */
static int attempt_with_state(Run *run) {
  if (!ranks_is_first()) {
    TRY(ranks_agree(CORE_OK));
    return attempt(run);
  }

  begin_state(run);
  TRY(ranks_agree(heartbeat_start(run->root, run->id, &run->state, &run->heartbeat)));
  ranks_on_loss(on_loss, run);
  core_exit_guard(on_loss, run);
  note_start(run);
  note_device(run);

  int code = attempt(run);
  end_state(run, code);
  if (code == CORE_FAIL || code == CORE_USAGE) core_log(CORE_LOG_ERROR, "%s", core_error_message());
  else core_info("%s", store_status_name(run->state.status));

  ranks_on_loss(NULL, NULL);
  core_exit_guard(NULL, NULL);
  int stopped = heartbeat_stop(&run->heartbeat, &run->state);
  if (code != CORE_OK && code != CORE_REQUEUE) return code;
  return stopped == CORE_OK ? code : stopped;
}

/* ---- the directory ----------------------------------------------------------------------------------------------- */

/* Checks whether this run may start now, given its directory. */
static int check_start(Run *run) {
  const CoreConfig *config = run->config;
  int64_t newest;
  bool restart = run->options->force;
  if (run->state.status == STORE_DIVERGED && !restart)
    return core_error(CORE_FAIL, "run %s: diverged before and would again (%s); --force starts over", run->id,
                      run->state.message);
  TRY(checkpoint_newest(&run->checkpoint, &newest));
  if (newest >= 0 && !run->options->resume && !restart)
    return core_error(CORE_USAGE, "run %s: has a checkpoint at iteration %" PRId64 "; --resume continues, --force "
                      "starts over", run->id, newest);
  if (newest >= 0 && !restart) TRY(run_code_may_resume(config, &run->state, run->options->if_changed, &restart));
  if (restart) TRY(checkpoint_remove_all(&run->checkpoint));
  return run_code_begin(config, newest >= 0 && !restart, &run->state);
}

/* Checks the directory under the lease. Reads the state again, since another trainer may have finished while this one
 * waited. */
static int check_directory(Run *run, bool *finished_before) {
  char directory[CORE_PATH_MAX];
  TRY(store_run_state_read(run->root, run->id, true, &run->state));
  *finished_before = run->state.status == STORE_FINISHED && !run->options->force;
  if (*finished_before) return CORE_OK;
  TRY(store_path_run(run->root, run->id, "ckpt", directory));
  TRY(checkpoint_open(directory, run->id, (int)run->config->checkpoint.keep, &run->checkpoint));
  return check_start(run);
}

static int open_directory(Run *run, bool *finished_before, FILE **log) {
  char path[CORE_PATH_MAX];
  bool created;
  TRY(store_root_create(run->options->root, run->root, &created));
  TRY(store_run_prepare(run->root, run->config, run->id));
  TRY(store_run_acquire(run->root, run->id, &run->lease));
  TRY(check_directory(run, finished_before));
  if (*finished_before) return CORE_OK;

  TRY(run_files_write_spaces(run->root, run->id, run->training->levels));
  TRY(store_path_run(run->root, run->id, "log.txt", path));

  int fd;
  TRY(core_files_open(path, CORE_FILES_APPEND, &fd));
  *log = fdopen(fd, "a");
  if (*log == NULL) {
    close(fd);
    return core_error_errno(CORE_FAIL, "%s: cannot be opened", path);
  }
  core_log_open(*log, CORE_LOG_INFO);
  return CORE_OK;
}

static void print_summary(const Run *run, bool finished_before) {
  char transitions[32], seconds[32];
  if (run->options->quiet) return;
  if (finished_before) {
    printf("run %s: already finished; --force runs it again\n", run->id);
    return;
  }
  printf("run %s: %s, %" PRId64 " of %" PRId64 " iterations, %s transitions, ", run->id,
         store_status_name(run->state.status), run->state.iteration, run->state.iterations,
         core_text_count((double)run->state.transitions, transitions));
  if (!isnan(run->state.solve_rate)) printf("solve rate %.1f %%, ", 100 * run->state.solve_rate);
  if (!isnan(run->state.episode_return)) printf("return %.4g, ", run->state.episode_return);
  printf("%s\n", core_text_duration(run->state.train_seconds, seconds));
}

static int run_in_directory(Run *run) {
  bool finished_before = false;
  FILE *log = NULL;
  int code = ranks_agree(ranks_is_first() ? open_directory(run, &finished_before, &log) : CORE_OK);
  ranks_broadcast(&finished_before, sizeof finished_before);
  if (code == CORE_OK && !finished_before) code = attempt_with_state(run);
  if (log) {
    core_log_open(NULL, CORE_LOG_INFO);
    fclose(log);
  }
  store_run_release(&run->lease);
  if (code == CORE_OK || code == CORE_REQUEUE) print_summary(run, finished_before);
  return code;
}

static int run_together(const CoreConfig *config, const RunOptions *options) {
  Run run = {.config = config, .options = options, .progress = progress_start(options->quiet, 0)};
  int code = ranks_agree(training_plan(config, &run.training));
  if (code == CORE_REQUEUE) note_early_stop(&run);
  if (code == CORE_OK && options->dry_run) {
    if (ranks_is_first()) {
      progress_env_warnings(NULL, config);
      (options->json ? progress_print_plan_json : progress_print_plan)(config, &run.training->plan);
    }
  } else if (code == CORE_OK) {
    code = ranks_agree(training_check_memory(run.training));
    if (code == CORE_OK) code = run_in_directory(&run);
  }
  training_destroy(&run.training);
  return code;
}

int run_train(const CoreConfig *config, const RunOptions *options) {
  RunOptions copy = *options;
  core_signals_expect_stop(); /* batch systems announce the end with SIGUSR1, SIGUSR2 or SIGTERM */
  TRY(ranks_start());
  core_signals_guard(); /* MPI installs handlers */
  if (!ranks_is_first()) {
    copy.quiet = true;
    core_log_open(NULL, CORE_LOG_WARN);
  }
  int code = run_together(config, &copy);
  if (code == CORE_REQUEUE) core_error_clear(); /* not an error, and reported already */
  ranks_stop();
  return ranks_is_first() ? code : CORE_OK; /* the first rank reports the error for all */
}
