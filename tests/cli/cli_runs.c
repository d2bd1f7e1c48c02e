/* Writes given values to runs of a workspace, as a trainer would: run logs and a state.
 * Usage: cli_runs ROOT; lines of stdin, grouped by run:
 *   run ID ITERATIONS EACH LAST STATUS...   planned iterations of EACH transitions; the last iteration, and the status
 *   eval ITERATION LEVELS RATE RETURN       an evaluation; -: not measured
 *   stat ITERATION NAME=VALUE...            an iteration's metrics (runlog.h); the last one is always logged */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "store/runlog/runlog.h"
#include "store/workspace/paths.h"
#include "store/workspace/run.h"

typedef struct Run {
  const char *root;
  char id[CORE_RUN_ID];
  long long each, logged; /* transitions of an iteration; the last iteration with metrics */
  StoreRunlog *stats, *evaluations;
  StoreState state;
  bool open;
} Run;

static int run_close(Run *run) {
  if (!run->open) return CORE_OK;
  run->open = false;
  if (run->logged < run->state.iteration) {
    StoreIteration row = store_iteration_unmeasured(run->state.iteration);
    row.transitions = (double)run->state.transitions;
    row.wall_seconds = (double)row.iteration;
    store_runlog_iteration(run->stats, &row);
  }
  TRY(store_runlog_close(&run->stats));
  TRY(store_runlog_close(&run->evaluations));
  return store_run_state_write(run->root, run->id, &run->state);
}

static int run_begin(Run *run, const char *line) {
  char id[CORE_RUN_ID], status[32], path[CORE_PATH_MAX];
  long long iterations, each, last;
  TRY(run_close(run));
  if (sscanf(line, "run %16s %lld %lld %lld %31[a-z ]", id, &iterations, &each, &last, status) != 5)
    return core_error(CORE_USAGE, "not a run: %s", line);
  *run = (Run){.root = run->root, .each = each, .open = true};
  memcpy(run->id, id, sizeof run->id);
  run->state = (StoreState){.attempt = 1, .host = "test", .pid = 1, .started_unix_s = 1.7e9, .heartbeat_unix_s = 1.7e9,
                            .finished_unix_s = 1.7e9, .iteration = last, .iterations = iterations,
                            .transitions = last * each, .transitions_total = iterations * each,
                            .steps_per_second = 1000, .solve_rate = NAN, .train_seconds = (double)last,
                            .device = "cpu", .commit = "abc1234"};
  if (!store_status_from_name(status, &run->state.status)) return core_error(CORE_USAGE, "no status: %s", status);
  TRY(store_path_run(run->root, id, "", path));
  TRY(core_files_make_directories(path));
  TRY(store_runlog_open(run->root, id, 1, STORE_LOG_STATS, &run->stats));
  return store_runlog_open(run->root, id, 1, STORE_LOG_EVAL, &run->evaluations);
}

static int add_evaluation(Run *run, const char *line) {
  char levels[64], rate[32], value[32];
  long long iteration;
  if (sscanf(line, "eval %lld %63s %31s %31s", &iteration, levels, rate, value) != 4 || !run->open)
    return core_error(CORE_USAGE, "not an evaluation: %s", line);
  StoreEvaluation point = store_evaluation_unmeasured(iteration, levels);
  point.transitions = (double)(iteration * run->each);
  point.episodes = 480;
  point.episode_length = 100;
  if (!core_text_to_real(rate, &point.solve_rate)) point.solve_rate = NAN;
  if (!core_text_to_real(value, &point.episode_return)) point.episode_return = NAN;
  store_runlog_evaluation(run->evaluations, &point);
  return CORE_OK;
}

static const struct { const char *name; size_t at; } columns[] = {
#define X(name, unit, comment) {#name, offsetof(StoreIteration, name)},
  STORE_ITERATION_COLUMNS(X)
#undef X
};

static int set_metric(StoreIteration *row, char *word) {
  char *equals = strchr(word, '=');
  double value;
  if (equals) *equals = '\0';
  for (size_t i = 0; equals && i < sizeof columns / sizeof *columns; i++) {
    if (strcmp(columns[i].name, word) != 0 || !core_text_to_real(equals + 1, &value)) continue;
    memcpy((char *)row + columns[i].at, &value, sizeof value);
    return CORE_OK;
  }
  return core_error(CORE_USAGE, "not a metric: %s", word);
}

static int add_iteration(Run *run, char *line) {
  char *save = NULL, *word = strtok_r(line, " ", &save);
  long long iteration = 0;
  word = strtok_r(NULL, " ", &save);
  if (!word || !run->open || sscanf(word, "%lld", &iteration) != 1) return core_error(CORE_USAGE, "not an iteration");
  StoreIteration row = store_iteration_unmeasured(iteration);
  row.transitions = (double)(iteration * run->each);
  row.wall_seconds = (double)iteration;
  while ((word = strtok_r(NULL, " ", &save)) != NULL) TRY(set_metric(&row, word));
  store_runlog_iteration(run->stats, &row);
  run->logged = iteration;
  return CORE_OK;
}

static int read_line(Run *run, char *line) {
  line[strcspn(line, "\n")] = '\0';
  if (strncmp(line, "run ", 4) == 0) return run_begin(run, line);
  if (strncmp(line, "eval ", 5) == 0) return add_evaluation(run, line);
  if (strncmp(line, "stat ", 5) == 0) return add_iteration(run, line);
  return core_error(CORE_USAGE, "neither run, eval nor stat: %s", line);
}

int main(int argc, char **argv) {
  Run run = {.root = argc == 2 ? argv[1] : ""};
  char line[4096];
  int code = argc == 2 ? CORE_OK : core_error(CORE_USAGE, "usage: cli_runs ROOT");
  while (code == CORE_OK && fgets(line, sizeof line, stdin)) code = read_line(&run, line);
  if (code == CORE_OK) code = run_close(&run);
  if (code != CORE_OK) fprintf(stderr, "cli_runs: %s\n", core_error_message());
  return code;
}
