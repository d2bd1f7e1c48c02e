/* `sweep stop` and `sweep logs`. Stopping never kills: a run finishes its iteration, writes its checkpoint and ends. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "core/json.h"
#include "core/terminal.h"
#include "store/workspace/run.h"
#include "store/workspace/run_name.h"
#include "sweep/cluster/journal.h"
#include "sweep/commands.h"
#include "sweep/local/queue.h"
#include "sweep/spec/sweep.h"
#include "sweep/status/cluster_status.h"
#include "sweep/status/progress.h"

enum { STOP_WAIT_S = 120 };

/* ---- stop ------------------------------------------------------------------------------------------------------- */

typedef struct StopOptions {
  SweepCommon common;
  bool no_wait, json;
  json_t *sweeps, *runs;     /* what was stopped; NULL without --json */
} StopOptions;

static FILE *words_of(const StopOptions *options) { return options->json ? stderr : stdout; }

/* Asks the process that holds this run; only on this host can a process id be trusted. */
static int stop_run(const StopOptions *options, const char *id) {
  StoreState state;
  TRY(store_run_state_read(options->common.root, id, true, &state));
  if (state.status != STORE_RUNNING)
    return core_error(CORE_USAGE, "run %s is not running: it is %s", id, store_status_name(state.status));
  char host[64];
  gethostname(host, sizeof host);
  if (strcmp(host, state.host) != 0)
    return core_error(CORE_FAIL, "run %s runs on %s; stop it there", id, state.host);
  if (kill((pid_t)state.pid, SIGTERM) != 0)
    return core_error_errno(CORE_FAIL, "run %s: cannot signal process %lld", id, (long long)state.pid);
  fprintf(words_of(options), "run %s: told to checkpoint and end\n", id);
  if (options->runs) json_array_append_new(options->runs, core_json_text(id));
  return CORE_OK;
}

static int wait_until_stopped(const char *root, const char *name) {
  const double start = core_clock_s();
  while (sweep_queue_executor_pid(root)) {
    SweepProgress progress;
    TRY(sweep_progress_read(root, name, NULL, &progress));
    const size_t running = progress.count[STORE_RUNNING];
    sweep_progress_free(&progress);
    if (running == 0) break;
    if (core_clock_s() - start > STOP_WAIT_S)
      return core_error(CORE_FAIL, "%zu runs are still finishing their iteration; sweep status shows when they end",
                        running);
    usleep(200 * 1000);
  }
  return CORE_OK;
}

/* Takes the sweep off the queue and waits until its runs have ended. */
static int stop_sweep(const StopOptions *options, const char *name) {
  const char *root = options->common.root;
  FILE *words = words_of(options);
  bool queued;
  SweepQueueRequest request;
  TRY(sweep_queue_read(root, name, &request, &queued));
  if (queued) {
    TRY(sweep_queue_remove(root, name));
    fprintf(words, "%s: its runs finish their iteration, write their checkpoints and end\n", name);
    fflush(words);
    if (!options->no_wait) {
      TRY(wait_until_stopped(root, name));
      fprintf(words, "%s: stopped; sweep submit %s goes on\n", name, name);
    }
  } else {
    fprintf(words, "%s: nothing of it is running or waiting here%s%s\n", name,
            sweep_journal_exists(root, name) ? "; what Slurm has of it ends with sweep cancel " : "",
            sweep_journal_exists(root, name) ? name : "");
  }
  if (options->sweeps)
    json_array_append_new(options->sweeps, json_pack("{s:s, s:b, s:b}", "name", name, "was_queued", queued, "ended",
                                                     !queued || !options->no_wait));
  return CORE_OK;
}

static int stop_all(const StopOptions *options) {
  const char *root = options->common.root;
  char **names;
  size_t count;
  int code = CORE_OK;
  TRY(sweep_common_list(root, &names, &count));
  for (size_t i = 0; i < count; i++) {
    SweepQueueRequest request;
    bool queued = false;
    if (code == CORE_OK) code = sweep_queue_read(root, names[i], &request, &queued);
    if (code == CORE_OK && queued) code = stop_sweep(options, names[i]);
    free(names[i]);
  }
  free(names);
  return code;
}

static bool is_sweep(const char *root, const char *word) {
  char path[CORE_PATH_MAX];
  return store_path_sweep(root, word, "manifest.tsv", path) == CORE_OK && core_files_exists(path);
}

static int stop_each(const StopOptions *options, const char **operands, size_t count) {
  const char *root = options->common.root;
  for (size_t i = 0; i < count; i++) {
    char id[CORE_RUN_ID];
    if (is_sweep(root, operands[i])) {
      TRY(stop_sweep(options, operands[i]));
    } else {
      TRY(store_run_find(root, operands[i], id));
      TRY(stop_run(options, id));
    }
  }
  return CORE_OK;
}

static int stop(void *given, const char **operands, size_t count) {
  StopOptions *options = given;
  TRY(sweep_common_open(&options->common));
  if (options->json) options->sweeps = json_array(), options->runs = json_array();
  const int code = count == 0 ? stop_all(options) : stop_each(options, operands, count);
  if (options->json && code == CORE_OK)
    core_json_print(json_pack("{s:O, s:O}", "sweep", options->sweeps, "run", options->runs));
  json_decref(options->sweeps);
  json_decref(options->runs);
  return code;
}

int sweep_stop(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep stop [NAME|RUN]... [options]",
    .about = "Stops sweeps (all that are queued, when none is named) or single runs: they finish their iteration, "
             "write a checkpoint and end. sweep submit goes on from there. " STORE_RUN_NAME_HELP,
    .most = SIZE_MAX};
  StopOptions given = {0};
  const CoreOption options[] = {SWEEP_OPTION_ROOT(given.common),
                                {"no-wait", 0, CORE_OPTION_FLAG, &given.no_wait, NULL, "return at once"},
                                {"json", 0, CORE_OPTION_FLAG, &given.json, NULL, "for scripts: what was stopped"},
                                {0}};
  return core_options_answer(&manual, options, argc, argv, stop, &given);
}

/* ---- logs ------------------------------------------------------------------------------------------------------- */

/* Offset of the last `lines` lines. */
static long tail_offset(FILE *file, int64_t lines) {
  fseek(file, 0, SEEK_END);
  long at = ftell(file);
  for (int64_t seen = 0; at > 0; at--) {
    fseek(file, at - 1, SEEK_SET);
    if (getc(file) == '\n' && seen++ == lines) break;
  }
  return at;
}

static void print_rest(FILE *file) {
  char buffer[8192];
  clearerr(file);
  for (size_t got; (got = fread(buffer, 1, sizeof buffer, file)) > 0;) fwrite(buffer, 1, got, stdout);
  fflush(stdout);
}

static int show_log(const char *root, const char *id, int64_t lines, bool follow) {
  char path[CORE_PATH_MAX];
  TRY(store_path_run(root, id, "log.txt", path));
  FILE *file;
  if (!core_files_exists(path)) return core_error(CORE_FAIL, "run %s has no log yet: it has not started", id);
  TRY(core_files_open_plain(path, &file));
  fseek(file, tail_offset(file, lines), SEEK_SET);
  print_rest(file);
  int code = CORE_OK;
  for (StoreState state = {.status = STORE_RUNNING}; follow && code == CORE_OK && state.status == STORE_RUNNING;) {
    usleep(300 * 1000);
    code = store_run_state_read(root, id, true, &state);
    print_rest(file);
  }
  fclose(file);
  return code;
}

typedef struct LogOptions { SweepCommon common; int64_t lines; bool follow; } LogOptions;

static int logs(void *given, const char **operands, size_t count) {
  LogOptions *options = given;
  char id[CORE_RUN_ID];
  if (options->lines < 0) return core_error(CORE_USAGE, "--lines %lld: at least 0", (long long)options->lines);
  TRY(sweep_common_open(&options->common));
  TRY(store_run_find(options->common.root, operands[0], id));
  return show_log(options->common.root, id, options->lines, options->follow);
}

int sweep_logs(int argc, char **argv) {
  static const CoreManual manual = {
    .usage = "sweep logs RUN [options]",
    .about = "Prints a run's own messages. " STORE_RUN_NAME_HELP,
    .least = 1, .most = 1};
  LogOptions given = {.lines = 50};
  const CoreOption options[] = {
    SWEEP_OPTION_ROOT(given.common),
    {"follow", 'f', CORE_OPTION_FLAG, &given.follow, NULL, "go on until the run ends"},
    {"lines", 'n', CORE_OPTION_INT, &given.lines, "N", "begin with the last N lines (default: 50)"},
    {0}};
  return core_options_answer(&manual, options, argc, argv, logs, &given);
}
