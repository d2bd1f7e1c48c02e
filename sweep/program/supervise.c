/* `sweep supervise`: runs one attempt of a user's program. It replaces the trainer: the executor or a Slurm task
 * starts one per run, it holds the lease, writes state, logs and attempts, and its exit codes are those of the
 * trainer. A single thread waits for signals, output and the clock. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/config/script.h"
#include "core/log.h"
#include "core/terminal.h"
#include "core/unicode.h"
#include "core/version.h"
#include "store/code/code.h"
#include "store/code/trust.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"
#include "sweep/commands.h"
#include "sweep/program/child.h"
#include "sweep/program/ending.h"
#include "sweep/program/logs.h"
#include "sweep/program/source.h"
#include "sweep/program/tree.h"
#include "sweep/spec/sweep.h"
#include "sweep/supervise/process.h"
#include "sweep/supervise/processes.h"

enum {
  TICK_MS = 250,
  OTHERS_S = 5,                 /* time of processes that outlive the first one before they are told to end */
  SILENCE_MIN_S = 60,           /* a run without records for longer is silent, */
  SILENCE_GAPS = 3,             /* if that is three times its longest gap between records */
  METRICS_INTERVAL_MS = 500,
  OPENING_S = 5,                /* time in which an interpreter opens its script, */
  SETUP_OPENING_S = 60,         /* after `setup` or a launcher */
  NAMES_AFTER_S = 45            /* time after which missing metrics are told */
};

typedef struct SuperviseOptions {
  SweepCommon common;
  bool from_start;
  int64_t threads;
  const char *config_hash;
  CoreOptionList launcher;
} SuperviseOptions;

typedef struct Supervisor {
  const SuperviseOptions *options;
  const char *root;
  char id[CORE_RUN_ID], home[CORE_PATH_MAX]; /* the run, and its directory */
  char dir[CORE_PATH_MAX], settings[CORE_PATH_MAX]; /* SWEEP_DIR, SWEEP_CONFIG */
  char directory[CORE_PATH_MAX];   /* the program's working directory */
  CoreConfig config;
  CoreScriptRun run;               /* names and values that the command may contain */
  StoreLease *lease;
  StoreState state;
  ProgramOutput output;
  ProgramSource *source;
  ProgramSink sink;
  ProgramLogs *logs;
  int signals;                     /* descriptor of sweep_signals_open */
  ProgramChild child;
  ProgramCodeWatch code;        /* files of its code that others can change */
  ProgramTreeStop told;         /* the processes that were told to stop */
  ProgramEnding ending;         /* evidence of its end, as far as it is known */
  double grace_s, stall_s;      /* `grace` and `stall` */
  /* Monotonic times; 0: not yet. */
  double start_s;               /* start of the attempt */
  double stop_s;                /* stop request */
  double ended_s;               /* end of the first process */
  double record_s;              /* last record, or start */
  double longest_gap_s;         /* longest time between two records */
  double metrics_read_s, state_write_s; /* last read of metrics and write of the state, monotonic */
  double earlier_train_s;       /* train_seconds of earlier attempts */
  bool is_write_failing;        /* the logs could not be written last time */
  bool has_told_names;          /* the log tells of missing metrics */
} Supervisor;

static void echo_output(void *context, const char *bytes, size_t count) {
  program_output_add(&((Supervisor *)context)->output, bytes, count);
}

/* ---- metrics and state ------------------------------------------------------------------------------------------- */

static void append_record(void *context, ProgramSeries *series, const ProgramRecord *record) {
  Supervisor *s = context;
  program_logs_append(s->logs, series, record);
  s->longest_gap_s = fmax(s->longest_gap_s, core_clock_s() - s->record_s);
  s->record_s = core_clock_s();
}

static void forget_metric(void *context, const char *name) { program_logs_forget(((Supervisor *)context)->logs, name); }

static void write_state(Supervisor *s) {
  StoreState *state = &s->state;
  const double step = program_logs_step(s->logs), seconds = core_clock_s() - s->start_s;
  state->iteration = program_logs_rows(s->logs);

  if (isfinite(step) && step >= 0 && step < 9e15) {
    const double rate = program_logs_speed(s->logs);
    if (isfinite(rate)) state->steps_per_second = rate;
    state->transitions = (int64_t)step;
  }

  bool is_rate;
  const double score = program_logs_score(s->logs, &is_rate);
  *(is_rate ? &state->solve_rate : &state->episode_return) = score;

  state->train_seconds = s->earlier_train_s + seconds;
  state->heartbeat_unix_s = core_clock_unix_s();
  s->state_write_s = core_clock_s();
  if (store_run_state_write(s->root, s->id, state) != CORE_OK) core_warn("%s", core_error_message());
}

/* Tells in the state, and once in the log, which of the goal, the step and [metric] are missing in what the program
 * logs. */
static void describe_names(Supervisor *s) {
  CoreText text = {0};
  program_logs_describe_missing(s->logs, &s->sink, &text);
  if (text.length > 0) {
    snprintf(s->state.message, sizeof s->state.message, "%s", text.data);
    core_unicode_mask(s->state.message);
    if (!s->has_told_names) core_warn("%s", text.data);
    s->has_told_names = true;
  }
  core_text_free(&text);
}

/* Reads metrics and writes their rows. A full disk is reported once; the rows stay in memory. */
static void read_metrics(Supervisor *s, ProgramReading reading) {
  int code = program_source_read(s->source, reading, &s->sink);
  if (code == CORE_OK) code = program_logs_flush(s->logs, reading != PROGRAM_RUNNING);
  if (code != CORE_OK && !s->is_write_failing) core_warn("%s", core_error_message());
  s->is_write_failing = code != CORE_OK;
  s->metrics_read_s = core_clock_s();
}

/* Describes in the state that the run has logged nothing for unusually long. */
static void describe_silence(Supervisor *s) {
  char duration[32];
  const double silent_s = core_clock_s() - s->record_s;
  if (silent_s < SILENCE_MIN_S || silent_s < SILENCE_GAPS * s->longest_gap_s) return;
  snprintf(s->state.message, sizeof s->state.message, "no record for %s", core_text_duration(silent_s, duration));
}

/* ---- the child --------------------------------------------------------------------------------------------------- */

/* Forwards the first stop request to the program. A later one would end programs that are saving. */
static void request_stop(Supervisor *s, int signal, pid_t sender) {
  if (s->stop_s > 0) return;
  s->stop_s = core_clock_s();
  core_info("signal %d: forwarded to the program", signal);
  program_tree_tell(&s->told, signal == SIGUSR2 ? SIGUSR2 : SIGTERM, program_tree_is_slurm(sender));
}

static void wait_events(Supervisor *s) {
  const int pipes[] = {s->child.out, s->child.error};
  pid_t sender;
  int signal, timeout_ms = TICK_MS;
  while ((signal = sweep_signals_wait(s->signals, pipes, 2, timeout_ms, &sender)) > 0) {
    timeout_ms = 0;
    if (signal != SIGCHLD && signal != SIGPIPE) request_stop(s, signal, sender);
  }
  program_output_read(&s->output, &s->child);
}

/* Tells a program that logs nothing to stop. */
static void end_stalled(Supervisor *s) {
  const double silent_s = core_clock_s() - s->record_s;
  if (s->stall_s <= 0 || silent_s < s->stall_s || s->told.start_s > 0 || s->child.has_ended) return;
  s->ending.is_stalled = true;
  core_warn("no record for %.0f s (stall); the program is ended", silent_s);
  program_tree_tell(&s->told, SIGTERM, false);
}

/* Kills a program whose code is changed while its interpreter may be opening it. */
static void end_changed(Supervisor *s) {
  const bool has_setup = *core_script_text(s->config.program, CORE_SCRIPT_setup) || s->options->launcher.count > 0;
  if (s->ending.changed_code || core_clock_s() - s->start_s > (has_setup ? SETUP_OPENING_S : OPENING_S)) return;
  s->ending.changed_code = program_code_watch_find_changed(&s->code);
  if (!s->ending.changed_code) return;
  kill(-s->child.process, SIGKILL);
  sweep_processes_kill(s->id, s->dir);
}

/* Handles the end of the first process: the others have a moment, then they are told to stop. */
static void end_leftovers(Supervisor *s) {
  char name[64];
  if (!s->child.has_ended) return;
  if (s->ended_s <= 0) {
    s->ended_s = core_clock_s();
    program_source_read(s->source, PROGRAM_RUNNING, &s->sink); /* its children may still have event files open */
  }
  if (s->told.start_s > 0 || core_clock_s() - s->ended_s < OTHERS_S) return;
  s->ending.has_left_processes = true;
  const size_t count = program_tree_count(name, sizeof name);
  core_warn("the program has ended, but %zu of its processes (%s) run; they are ended", count, name);
  program_tree_tell(&s->told, SIGTERM, false);
}

/* Supervises the program until all its processes have ended. */
static void watch(Supervisor *s) {
  while (program_child_reap(&s->child)) {
    wait_events(s);
    end_changed(s);
    end_stalled(s);
    end_leftovers(s);
    if (!program_tree_continue(&s->told, s->grace_s)) break;
    if (core_clock_s() - s->metrics_read_s >= 0.001 * METRICS_INTERVAL_MS) read_metrics(s, PROGRAM_RUNNING);
    if (core_clock_s() - s->state_write_s >= STORE_HEARTBEAT_S) {
      s->state.message[0] = '\0';
      if (core_clock_s() - s->start_s >= NAMES_AFTER_S) describe_names(s);
      describe_silence(s);
      write_state(s);
    }
  }

  end_changed(s); /* also of a program that is over already */
  if (s->ended_s <= 0) s->ended_s = core_clock_s();
  if (s->stop_s <= 0 && program_child_signal(&s->child) == SIGTERM) wait_events(s); /* sent to both */
  program_output_read(&s->output, &s->child);
  program_output_end(&s->output);
  program_child_close(&s->child);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Completes the evidence after the program's last process has ended. */
static void conclude(Supervisor *s) {
  ProgramEnding *ending = &s->ending;
  const bool is_stop_first =
    s->stop_s <= s->ended_s || ending->has_left_processes || program_child_signal(&s->child) == SIGTERM;
  ending->was_stopped = s->stop_s > 0 && is_stop_first;
  ending->reason = s->output.reason.text;
  ending->step = program_logs_step(s->logs);
}

/* Judges the metrics of an ended program. A finished run whose goal ended as NaN has diverged. */
static void judge_metrics(Supervisor *s) {
  CoreText text = {0};
  program_logs_describe_ignored(&s->sink, &text);
  if (text.length > 0) core_warn("%s", text.data);
  core_text_free(&text);
  if (s->state.status != STORE_FINISHED) return;

  if (program_logs_is_diverged(s->logs)) {
    s->state.status = STORE_DIVERGED;
    snprintf(s->state.message, sizeof s->state.message, "diverged: the goal, %.100s, ended as NaN or infinity",
             core_script_text(s->config.program, CORE_SCRIPT_goal) + 4);
  } else if (program_logs_rows(s->logs) == 0 && s->sink.ignored.count == 0) {
    snprintf(s->state.message, sizeof s->state.message, "finished without metrics: none was found in metrics = %.200s",
             core_script_text(s->config.program, CORE_SCRIPT_metrics));
    core_warn("%s", s->state.message);
  } else {
    describe_names(s);
  }
}

/* Removes the copy of the program's output that metrics were read from: the log has it. */
static void remove_output(Supervisor *s) {
  const char *output = program_source_output(s->source);
  if (output && !s->is_write_failing && core_files_remove(output) != CORE_OK) core_warn("%s", core_error_message());
}

static int finish(Supervisor *s) {
  read_metrics(s, program_child_signal(&s->child) == 0 ? PROGRAM_ENDED : PROGRAM_KILLED);
  conclude(s);

  s->state.message[0] = '\0';
  s->state.status = program_ending_status(&s->ending);
  if (store_status_is_broken(s->state.status))
    program_ending_describe(&s->ending, s->state.message, sizeof s->state.message);

  judge_metrics(s);
  if (s->state.status == STORE_FINISHED || s->state.status == STORE_DIVERGED) program_logs_trim(s->logs);
  s->is_write_failing = program_logs_end(s->logs) != CORE_OK;
  if (s->is_write_failing) core_warn("%s", core_error_message());

  /* This process dies likewise, so that its parent decides. */
  const bool is_killed = program_ending_is_kill(&s->ending);
  if (is_killed) s->state.status = STORE_RUNNING;
  else s->state.finished_unix_s = core_clock_unix_s();
  const StoreStatus final_status = s->state.status;
  write_state(s);
  if (*s->state.message && final_status != STORE_FINISHED) core_log(CORE_LOG_ERROR, "%s", s->state.message);
  else if (!is_killed) core_info("%s", store_status_name(final_status));
  program_logs_close(&s->logs);
  remove_output(s);
  if (is_killed) {
    core_warn("the program was killed (SIGKILL), possibly out of memory");
    fflush(NULL);
    kill(getpid(), SIGKILL);
  }

  if (final_status == STORE_FINISHED) return CORE_OK;
  if (final_status == STORE_STOPPED) return CORE_REQUEUE;
  return core_error(CORE_FAIL, "%s", s->state.message);
}

/* ---- the beginning ----------------------------------------------------------------------------------------------- */

/* Imports metrics of the last attempt that its supervisor did not record, since it was killed. */
static int import_unrecorded(Supervisor *s) {
  const int attempt = s->state.attempt;
  if (attempt < 1) return CORE_OK;
  TRY(program_source_open(s->config.program, &s->run, s->directory, s->home, attempt, &s->source));
  int code = program_logs_open(s->root, s->id, attempt, &s->config, &s->logs);
  if (code == CORE_OK) code = program_source_read(s->source, PROGRAM_KILLED, &s->sink);
  if (code == CORE_OK) code = program_logs_end(s->logs);
  program_logs_close(&s->logs);
  program_source_close(&s->source);
  if (code != CORE_OK)
    core_warn("metrics of attempt %d: %s", attempt, core_error_message()); /* no reason not to go on */
  core_error_clear();
  return CORE_OK;
}

static int write_settings(Supervisor *s) {
  CoreText text = {0};
  core_script_settings_to_json(s->config.program, &text);
  core_text_append(&text, "\n");
  const int code = core_files_write_unsynced(s->settings, core_text_string(&text), text.length);
  core_text_free(&text);
  return code;
}

static void begin_state(Supervisor *s) {
  StoreState *state = &s->state;
  if (s->options->from_start) {
    state->transitions = 0;
    state->iteration = 0;
    state->train_seconds = 0;
  }

  s->earlier_train_s = state->train_seconds;
  state->status = STORE_RUNNING;
  state->attempt++;
  state->host[0] = '\0';
  gethostname(state->host, sizeof state->host - 1);
  state->pid = getpid();
  state->started_unix_s = core_clock_unix_s();
  state->finished_unix_s = 0;
  state->message[0] = '\0';

  state->transitions_total = s->config.train.total_steps;
  state->iterations = s->config.train.total_steps;
  state->steps_per_second = NAN;
  state->solve_rate = NAN;

  snprintf(state->device, sizeof state->device, "%.60s", core_script_text(s->config.program, CORE_SCRIPT_name));
  snprintf(state->code, sizeof state->code, "%s", core_script_text(s->config.program, CORE_SCRIPT_code_hash));
  const StoreCode *code;
  if (store_code_find(&s->config, &code) == CORE_OK)
    snprintf(state->code_files, sizeof state->code_files, "%s", code->summary);
  snprintf(state->commit, sizeof state->commit, "%s", core_commit());
}

static int start(Supervisor *s) {
  const bool continues = s->state.attempt > 0 && !s->options->from_start;

  const int killed = sweep_processes_kill(s->id, s->dir);
  if (killed > 0) core_warn("killed %d processes that an earlier attempt had left", killed);
  setenv(SWEEP_DIR_VARIABLE, s->dir, 1); /* for sweep_processes_list */
  program_tree_adopt();
  if (s->options->from_start) TRY(core_files_remove_tree(s->dir));
  TRY(core_files_make_directories(s->dir));
  TRY(write_settings(s));

  TRY(import_unrecorded(s));
  begin_state(s);
  TRY(program_source_open(s->config.program, &s->run, s->directory, s->home, s->state.attempt, &s->source));
  TRY(program_logs_open(s->root, s->id, s->state.attempt, &s->config, &s->logs));
  program_logs_reserve(s->logs, &s->sink.names);
  if (s->options->from_start) program_logs_clear(s->logs);

  s->start_s = core_clock_s();
  s->state_write_s = s->start_s;
  s->record_s = s->start_s;
  s->longest_gap_s = 0;
  core_text_to_duration(core_script_text(s->config.program, CORE_SCRIPT_grace), &s->grace_s);
  core_text_to_duration(core_script_text(s->config.program, CORE_SCRIPT_stall), &s->stall_s);
  s->sink.on_output = echo_output;
  TRY(store_run_state_write(s->root, s->id, &s->state));

  const ProgramStart started = {.config = &s->config, .run = s->run, .directory = s->directory,
                                .metrics = program_source_metrics(s->source),
                                .output = program_source_output(s->source), .attempt = s->state.attempt,
                                .code = &s->code, .continues = continues, .threads = s->options->threads,
                                .launcher = s->options->launcher.count ? (char *const *)s->options->launcher.items
                                                                       : NULL};
  TRY(program_child_log(&started));
  TRY(program_code_watch_begin(&s->config, &s->code));
  TRY(program_child_start(&started, &s->child));
  program_source_add_process(s->source, s->child.process);
  return CORE_OK;
}

static int run_attempt(Supervisor *s) {
  static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD, SIGPIPE};
  TRY(sweep_signals_open(signals, sizeof signals / sizeof *signals, &s->signals));
  int code = start(s);
  if (code == CORE_OK) {
    watch(s);
    code = finish(s);
  } else if (s->state.status == STORE_RUNNING && s->start_s > 0) {
    s->state.status = STORE_FAILED;
    s->state.finished_unix_s = core_clock_unix_s();
    snprintf(s->state.message, sizeof s->state.message, "%s", core_error_message());
    if (store_run_state_write(s->root, s->id, &s->state) != CORE_OK) core_warn("%s", core_error_message());
  }
  close(s->signals);
  return code;
}

/* Reads the configuration and acquires the run. *is_done: there is nothing to do. */
static int open_run(Supervisor *s, bool *is_done) {
  char path[CORE_PATH_MAX], found[CORE_RUN_ID];
  int fd;
  TRY(store_path_run(s->root, s->id, NULL, s->home));
  TRY(store_path_run(s->root, s->id, "files", s->dir));
  TRY(store_path_run(s->root, s->id, "settings.json", s->settings));
  TRY(store_path_run(s->root, s->id, "config.ini", path));

  s->config = core_config_default();
  TRY(store_trust_read_config(path, s->options->config_hash, &s->config));
  core_config_id(&s->config, found);
  if (!s->config.program || strcmp(found, s->id) != 0)
    return core_error(CORE_FAIL, "%s: changed after its creation: it describes %s", path,
                      s->config.program ? found : "a run of the trainer");
  TRY(core_script_directory(s->config.program, s->directory));
  s->run = (CoreScriptRun){.id = s->id, .dir = s->dir, .config = s->settings, .seed = s->config.train.seed};
  s->ending = (ProgramEnding){.child = &s->child, .config = &s->config, .run = &s->run, .directory = s->directory};

  TRY(store_run_acquire(s->root, s->id, &s->lease));
  TRY(store_run_state_read(s->root, s->id, true, &s->state));
  *is_done = s->state.status == STORE_FINISHED && !s->options->from_start;
  if (*is_done) return CORE_OK;
  if (s->state.status == STORE_DIVERGED && !s->options->from_start)
    return core_error(CORE_FAIL, "run %s diverged before (%s); --force restarts it", s->id, s->state.message);

  TRY(store_trust_check(&s->config, false)); /* checks that the files are those of the run, too */
  TRY(store_path_run(s->root, s->id, "log.txt", path));
  TRY(core_files_open(path, CORE_FILES_APPEND, &fd));
  s->output.log = fdopen(fd, "a");
  if (!s->output.log) return core_error_errno(CORE_FAIL, "cannot open %s", path);
  core_log_open(s->output.log, CORE_LOG_INFO);
  return CORE_OK;
}

static int supervise(void *context, const char **operands, size_t count) {
  SuperviseOptions *options = context;
  Supervisor s = {.options = options, .child = {.out = -1, .error = -1}};
  bool is_done = false;

  if (!options->config_hash)
    return core_error(CORE_USAGE, "--config-hash is missing: sweep submit starts this command");
  TRY(sweep_common_open(&options->common));
  s.root = options->common.root;
  if (!store_is_run_id(operands[0])) return core_error(CORE_USAGE, "'%.40s' is not a run id", operands[0]);
  memcpy(s.id, operands[0], CORE_RUN_ID);
  s.sink = (ProgramSink){.on_record = append_record, .on_renamed = forget_metric, .context = &s};

  int code = open_run(&s, &is_done);
  double total;
  bool is_sum;
  if (code == CORE_OK && !is_done) {
    core_script_step(s.config.program, s.sink.step_name, &total, &is_sum);
    if (is_sum) *s.sink.step_name = '\0';
    code = run_attempt(&s);
  }

  program_logs_close(&s.logs);
  program_source_close(&s.source);
  program_sink_free(&s.sink);
  program_tail_free(&s.output.error);
  program_tree_stop_free(&s.told);
  program_code_watch_free(&s.code);
  if (s.output.log) {
    core_log_open(NULL, CORE_LOG_INFO);
    fclose(s.output.log);
  }
  store_run_release(&s.lease);
  return code;
}

int sweep_supervise(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep supervise RUN [options]",
    .about = "Internal: started by the executor and by Slurm tasks for a run of a user's program ([program] of its "
             "experiment file). Starts the command, records its metrics, and forwards SIGTERM and SIGUSR2.",
    .operands_min = 1, .operands = {"RUN"}, .operands_max = 1};

  SuperviseOptions options = {0};
  const CoreOption table[] = {
    SWEEP_OPTION_ROOT(options.common),
    {"from-start", 0, CORE_OPTION_FLAG, &options.from_start, NULL, "restart the run from the beginning"},
    {"config-hash", 0, CORE_OPTION_TEXT, &options.config_hash, "HASH",
     "BLAKE2b of the run's config.ini (b2sum -l 128), which must not have changed since"},
    {"threads", 0, CORE_OPTION_INT, &options.threads, "N", "CPUs of the run: OMP_NUM_THREADS of the program"},
    {"launcher", 0, CORE_OPTION_LIST, &options.launcher, "WORD",
     "argument before the command, e.g. of srun; repeatable"},
    {0}};
  return core_options_run(&manual, table, argc, argv, supervise, &options);
}
