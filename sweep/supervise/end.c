/* Judges the ends of processes, and records failures (end.h). */
#include "sweep/supervise/end.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/files.h"
#include "core/log.h"
#include "core/terminal.h"
#include "store/workspace/paths.h"
#include "sweep/supervise/process.h"

/* ---- the judgment ------------------------------------------------------------------------------------------------ */

/* Whether the CPU time has reached the limit, at which the kernel sends SIGKILL. */
static bool has_used_cpu(const struct rusage *usage) {
  struct rlimit limit;
  const bool is_limited = getrlimit(RLIMIT_CPU, &limit) == 0 && limit.rlim_max != RLIM_INFINITY;
  return is_limited && sweep_process_is_cpu_limit(sweep_process_cpu_s(usage), (double)limit.rlim_max);
}

/* Tells limits of the user (ulimit), which a restart would inherit, from a lack of memory. */
static void judge_kill(const SweepChild *child, const struct rusage *usage, SweepEnd *end) {
  const bool is_kill = end->signal == SIGKILL;
  const long long peak_mb = child->memory.run.peak_mb;
  const char *limit = NULL;
  if (end->signal == SIGXCPU || (is_kill && !child->is_program && has_used_cpu(usage))) limit = "CPU time (ulimit -t)";
  if (end->signal == SIGXFSZ) limit = "file size (ulimit -f)";
  end->cause = SWEEP_CAUSE_KILLED;
  end->can_restart = !limit;

  if (limit)
    snprintf(end->reason, sizeof end->reason, "killed at its limit of %s", limit);
  else if (!is_kill)
    snprintf(end->reason, sizeof end->reason, "killed by signal %d (%s)", end->signal, strsignal(end->signal));
  else if (peak_mb <= 0)
    snprintf(end->reason, sizeof end->reason, "killed (SIGKILL), possibly out of memory");
  else
    snprintf(end->reason, sizeof end->reason, "killed (SIGKILL), possibly out of memory (its processes had %lld MB)",
             peak_mb);
}

/* Judges an exit code other than that of a stop. With 0 the run may still be unfinished, e.g. because code that the
 * trainer loaded called exit(). */
static void judge_exit_code(const SweepChild *child, int code, const StoreState *state, SweepEnd *end) {
  end->is_done = code == CORE_OK && state->status != STORE_LOST;
  if (end->is_done) return;
  end->has_other_owner = code != CORE_OK && state->status == STORE_RUNNING && state->pid != child->process;
  if (code == SWEEP_EXIT_NOT_EXECUTABLE) end->cause = SWEEP_CAUSE_NOT_STARTED;

  if (code == CORE_OK)
    snprintf(end->reason, sizeof end->reason, "ended with exit code 0 before the run had finished");
  else if (code == SWEEP_EXIT_NOT_EXECUTABLE)
    snprintf(end->reason, sizeof end->reason, "the trainer cannot be started");
  else
    snprintf(end->reason, sizeof end->reason, "exit code %d", code);
}

/* A process that had not yet set up its handling of SIGTERM is killed by a request to stop. */
SweepEnd sweep_end_judge(const SweepChild *child, int status, const struct rusage *usage, const StoreState *state) {
  SweepEnd end = {.signal = sweep_process_signal(status, child->is_below_srun)};
  const bool was_asked = child->requested != SWEEP_CAUSE_NONE;
  const bool has_stopped = end.signal > 0 ? was_asked && end.signal == SIGTERM : WEXITSTATUS(status) == CORE_REQUEUE;

  if (has_stopped) end.cause = was_asked ? child->requested : SWEEP_CAUSE_STOPPED;
  else if (end.signal > 0) judge_kill(child, usage, &end);
  else judge_exit_code(child, WEXITSTATUS(status), state, &end);
  return end;
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

void sweep_end_read_last_line(const char *path, char *line, size_t capacity) {
  char *text;
  size_t size;
  line[0] = '\0';
  if (!core_files_exists(path) || core_files_read(path, 0, &text, &size) != CORE_OK) {
    core_error_clear();
    return;
  }

  while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == ' ')) text[--size] = '\0';
  const char *newline = strrchr(text, '\n');
  snprintf(line, capacity, "%s", newline ? newline + 1 : text);
  free(text);
}

/* Appends the last line of the run's log, without the program's name. */
static void append_last_line(const char *root, const char *id, StoreState *state) {
  static const char *const names[] = {"trainer: ", "sweep: "};
  char path[CORE_PATH_MAX], line[256];
  const size_t length = strlen(state->message);
  if (store_path_run(root, id, "log.txt", path) != CORE_OK) return;
  sweep_end_read_last_line(path, line, sizeof line);

  const char *message = line;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(message, names[i], strlen(names[i])) == 0) message += strlen(names[i]);
  if (*message) snprintf(state->message + length, sizeof state->message - length, "; last message: %s", message);
}

void sweep_end_record_failure(const char *root, const char *id, int64_t restarted_attempt, const char *reason,
                              bool with_last_line) {
  StoreState state;
  if (store_run_state_read(root, id, true, &state) != CORE_OK) core_warn("%s", core_error_message());
  if (store_status_is_broken(state.status) || state.status == STORE_RUNNING) return;
  if (state.status == STORE_FINISHED && state.attempt > restarted_attempt) return;

  state.status = STORE_FAILED;
  state.finished_unix_s = core_clock_unix_s();
  snprintf(state.message, sizeof state.message, "%s", reason);
  if (with_last_line) append_last_line(root, id, &state);
  if (store_run_state_write(root, id, &state) != CORE_OK) core_warn("%s", core_error_message());
}
