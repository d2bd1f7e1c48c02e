/* Judges the end of a program (ending.h). */
#include "sweep/program/ending.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "core/files.h"
#include "sweep/supervise/process.h"

enum { EXIT_DIVERGED = 76 };

static bool has_reached_end(const ProgramEnding *ending) {
  const double total = (double)ending->config->train.total_steps;
  return total > 0 && ending->step >= total;
}

/* Whether the first process ended as if all was done, before the known last step, and others still ran: a wrapper that
 * does not wait for the program. */
static bool has_abandoned_processes(const ProgramEnding *ending) {
  return ending->has_left_processes && ending->config->train.total_steps > 0 && !has_reached_end(ending);
}

StoreStatus program_ending_status(const ProgramEnding *ending) {
  const int status = ending->child->status, code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == EXIT_DIVERGED && !ending->changed_code) return STORE_DIVERGED;
  if (ending->is_stalled || ending->changed_code) return STORE_FAILED;
  if (code == CORE_OK && has_reached_end(ending)) return STORE_FINISHED;
  if (ending->was_stopped || code == CORE_REQUEUE) return STORE_STOPPED;
  return code == CORE_OK && !has_abandoned_processes(ending) ? STORE_FINISHED : STORE_FAILED;
}

bool program_ending_is_kill(const ProgramEnding *ending) {
  return !ending->was_stopped && !ending->is_stalled && !ending->changed_code &&
         program_child_signal(ending->child) == SIGKILL && !program_child_has_used_cpu(ending->child);
}

/* Appends why the command is a script that cannot run, unless its message says so. */
static void explain_script(const ProgramEnding *ending, char *message, size_t size) {
  char **words, path[CORE_PATH_MAX], explanation[512];
  size_t count;
  const CoreScript *program = ending->config->program;
  if (strstr(message, "interpreter '")) return;
  if (core_script_argv(program, core_script_text(program, CORE_SCRIPT_command), ending->run, &words, &count) != CORE_OK)
    return;
  for (size_t i = 0; i < count && i < 2; i++) { /* ./train.sh, or sh train.sh */
    const bool is_path = strchr(words[i], '/') != NULL || i > 0;
    const int code = core_files_path_in(ending->directory, words[i], path);
    if (!is_path || code != CORE_OK || !*sweep_process_explain(path, explanation, sizeof explanation)) continue;
    snprintf(message + strlen(message), size - strlen(message), "; %s: %s", words[i], explanation);
    break;
  }
  core_script_argv_free(&words);
}

void program_ending_describe(const ProgramEnding *ending, char *message, size_t size) {
  const int signal = program_child_signal(ending->child), code = WEXITSTATUS(ending->child->status);
  const char *reason = ending->reason, *separator = *reason ? ": " : "";

  if (ending->changed_code) {
    snprintf(message, size, "its code %s was changed while the program started, so it was killed; others can change "
             "that file: see whether it is still what you trust", ending->changed_code);
  } else if (ending->is_stalled) {
    snprintf(message, size, "stalled: no record for %s (stall); its log may say why",
             core_script_text(ending->config->program, CORE_SCRIPT_stall));
  } else if (code == CORE_OK && signal == 0) {
    snprintf(message, size, "its first process ended at step %.0f of %lld while others ran, which were ended; a "
             "wrapper must wait for its program", ending->step, (long long)ending->config->train.total_steps);
  } else if (program_child_has_used_cpu(ending->child)) {
    snprintf(message, size, "killed at its limit of CPU time (ulimit -t)%s%s", separator, reason);
  } else if (signal > 0) {
    snprintf(message, size, "killed by signal %d (%s)%s%s", signal, strsignal(signal), separator, reason);
  } else if (code == EXIT_DIVERGED) {
    snprintf(message, size, "the program reported divergence (exit code 76)%s%s", separator, reason);
  } else if (strncmp(reason, "setup failed", 12) == 0) {
    snprintf(message, size, "%s", reason);
  } else {
    snprintf(message, size, "exit code %d%s%s", code, separator, reason);
    explain_script(ending, message, size);
  }
}
