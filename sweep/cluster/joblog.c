/* Lines such as
 *   slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-31T12:00:00 DUE TO PREEMPTION ***
 *   slurmstepd: error: StepId=7.batch exceeded memory limit (32636928 > 8388608), being killed
 *   slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.
 * as Slurm prints them: its slurmstepd, whose lines begin with its name ("slurmstepd-n1: error: ") up to 24.11 and with
 * a moment ("[2026-01-31T12:00:00.123] error: ") in 26.05. The first two were seen from 22.05 to 26.05, the third is of
 * 23.02 and later. */
#include "sweep/cluster/joblog.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sweep/cluster/batch.h"

/* Is `line` about that job? Its number stands behind one of these. */
static bool names_job(const char *line, int64_t slurm_job) {
  static const char *const before[] = {"StepId=", "*** JOB ", "*** STEP "};
  char number[32];
  const size_t length = (size_t)snprintf(number, sizeof number, "%lld", (long long)slurm_job);
  for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
    const char *at = strstr(line, before[i]);
    if (!at) continue;
    at += strlen(before[i]);
    if (strncmp(at, number, length) == 0 && !(at[length] >= '0' && at[length] <= '9')) return true;
  }
  return false;
}

static SweepExitCause verdict_of_line(const char *line) {
  if (strstr(line, "exceeded memory limit") || strstr(line, "oom_kill") || strstr(line, "oom-kill"))
    return SWEEP_EXIT_OUT_OF_MEMORY;
  if (!strstr(line, "CANCELLED AT")) return SWEEP_EXIT_UNKNOWN;
  if (strstr(line, "DUE TO PREEMPTION")) return SWEEP_EXIT_PREEMPTED;
  if (strstr(line, "DUE TO TIME LIMIT")) return SWEEP_EXIT_TIME_LIMIT;
  return strstr(line, "DUE TO") ? SWEEP_EXIT_UNKNOWN
                                : SWEEP_EXIT_CANCELLED; /* a node's failure is Slurm's to requeue */
}

static bool is_daemons(const char *line) {
  if (strstr(line, "slurmstepd")) return true;
  const size_t length = line[0] == '[' ? strspn(line + 1, "0123456789-T:.") : 0;
  return length >= strlen("2026-01-31T12:00:00") && strncmp(line + 1 + length, "] error: ", 9) == 0;
}

SweepExitCause sweep_joblog_parse_cause(const char *text, int64_t slurm_job) {
  SweepExitCause weightiest = SWEEP_EXIT_UNKNOWN;
  char line[512];
  for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
    snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
    if (!is_daemons(line) || !names_job(line, slurm_job)) continue;
    const SweepExitCause verdict = verdict_of_line(line);
    if (verdict > weightiest) weightiest = verdict;
  }
  return weightiest;
}

static bool read_text(const char *path, char **text, size_t *size) {
  const bool read = core_files_exists(path) && core_files_read(path, 0, text, size) == CORE_OK;
  if (!read) core_error_clear();
  return read;
}

SweepExitCause sweep_joblog_read_cause(const char *path, int64_t offset, int64_t slurm_job) {
  char *text;
  size_t size;
  if (!read_text(path, &text, &size)) return SWEEP_EXIT_UNKNOWN;
  const SweepExitCause verdict =
    (uint64_t)offset < size ? sweep_joblog_parse_cause(text + offset, slurm_job) : SWEEP_EXIT_UNKNOWN;
  free(text);
  return verdict;
}

int64_t sweep_joblog_size(const char *path) {
  struct stat file;
  return stat(path, &file) == 0 ? (int64_t)file.st_size : 0;
}

void sweep_joblog_last_line(const char *path, char *line, size_t size) {
  char *text;
  size_t length;
  line[0] = '\0';
  if (!read_text(path, &text, &length)) return;
  while (length > 0 && text[length - 1] == '\n') text[--length] = '\0';
  const char *last = strrchr(text, '\n');
  snprintf(line, size, "%s", last ? last + 1 : text);
  free(text);
}

bool sweep_joblog_is_oom(const char *root, const char *name, const SweepJournal *journal, const SweepRecord *record) {
  char path[CORE_PATH_MAX];
  if (record->cause == SWEEP_CAUSE_OUT_OF_MEMORY) return true;
  if (record->slurm_job == 0 || record->ended_unix_s > 0) return false; /* its end was seen, and was another */
  for (size_t i = 0; i < journal->count; i++) {
    const SweepArray *array = &journal->arrays[i];
    if (array->job != record->job || array->batch != record->batch) continue;
    if (sweep_batch_output(root, name, array->batch, array->array, path) != CORE_OK) continue;
    if (sweep_joblog_read_cause(path, 0, record->slurm_job) == SWEEP_EXIT_OUT_OF_MEMORY) return true;
  }
  return false;
}
