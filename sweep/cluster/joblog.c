/* Matches lines such as
 *   slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-31T12:00:00 DUE TO PREEMPTION ***
 *   slurmstepd: error: StepId=7.batch exceeded memory limit (32636928 > 8388608), being killed
 *   slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.
 * as slurmstepd prints them. Its lines begin with its name ("slurmstepd-n1: error: ") up to 24.11, and with a timestamp
 * ("[2026-01-31T12:00:00.123] error: ") in 26.05. The first two messages exist from 22.05 to 26.05, the third since
 * 23.02. */
#include "sweep/cluster/joblog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweep/cluster/batch.h"

/* Whether the line is about that job: its id follows one of the prefixes. */
static bool is_about_job(const char *line, int64_t slurm_job) {
  static const char *const prefixes[] = {"StepId=", "*** JOB ", "*** STEP "};
  char id[32];
  const size_t length = (size_t)snprintf(id, sizeof id, "%lld", (long long)slurm_job);
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    const char *found = strstr(line, prefixes[i]);
    if (!found) continue;
    found += strlen(prefixes[i]);
    if (strncmp(found, id, length) == 0 && !(found[length] >= '0' && found[length] <= '9')) return true;
  }
  return false;
}

static SweepCause parse_line(const char *line) {
  if (strstr(line, "exceeded memory limit") || strstr(line, "oom_kill") || strstr(line, "oom-kill"))
    return SWEEP_CAUSE_OUT_OF_MEMORY;
  if (!strstr(line, "CANCELLED AT")) return SWEEP_CAUSE_NONE;
  if (strstr(line, "DUE TO PREEMPTION")) return SWEEP_CAUSE_PREEMPTED;
  if (strstr(line, "DUE TO TIME LIMIT")) return SWEEP_CAUSE_TIME_LIMIT;
  if (strstr(line, "DUE TO")) return SWEEP_CAUSE_NONE; /* e.g. a node failure, after which Slurm requeues the job */
  return SWEEP_CAUSE_CANCELLED;
}

/* Whether slurmstepd printed the line. */
static bool is_from_slurmstepd(const char *line) {
  if (strstr(line, "slurmstepd")) return true;
  const size_t length = line[0] == '[' ? strspn(line + 1, "0123456789-T:.") : 0;
  return length >= strlen("2026-01-31T12:00:00") && strncmp(line + 1 + length, "] error: ", 9) == 0;
}

SweepCause sweep_joblog_parse_cause(const char *text, int64_t slurm_job) {
  static const int precedence[] = {[SWEEP_CAUSE_CANCELLED] = 1, [SWEEP_CAUSE_TIME_LIMIT] = 2,
                                   [SWEEP_CAUSE_PREEMPTED] = 3, [SWEEP_CAUSE_OUT_OF_MEMORY] = 4};
  SweepCause cause = SWEEP_CAUSE_NONE;
  char line[512];
  while (*text) {
    const size_t length = strcspn(text, "\n");
    snprintf(line, sizeof line, "%.*s", (int)length, text);
    text += length + (text[length] == '\n');
    if (!is_from_slurmstepd(line) || !is_about_job(line, slurm_job)) continue;
    const SweepCause line_cause = parse_line(line);
    if (precedence[line_cause] > precedence[cause]) cause = line_cause;
  }
  return cause;
}

SweepCause sweep_joblog_read_cause(const char *path, int64_t offset, int64_t slurm_job) {
  char *text;
  size_t size;
  if (!core_files_exists(path) || core_files_read(path, 0, &text, &size) != CORE_OK) {
    core_error_clear();
    return SWEEP_CAUSE_NONE;
  }
  const SweepCause cause =
    (uint64_t)offset < size ? sweep_joblog_parse_cause(text + offset, slurm_job) : SWEEP_CAUSE_NONE;
  free(text);
  return cause;
}

int64_t sweep_joblog_size(const char *path) {
  struct stat file;
  return stat(path, &file) == 0 ? (int64_t)file.st_size : 0;
}

const char *sweep_joblog_find_obstacle(const char *root, const char *name, const SweepArray *array,
                                       char path[CORE_PATH_MAX]) {
  struct stat file;
  char directory[CORE_PATH_MAX];
  if (sweep_batch_output(root, name, array->batch, array->array, path) != CORE_OK) return NULL;
  if (stat(path, &file) == 0) {
    const bool is_locked = S_ISREG(file.st_mode) && file.st_uid == getuid() && access(path, W_OK) != 0;
    return S_ISDIR(file.st_mode) ? strerror(EISDIR) : is_locked ? strerror(errno) : NULL;
  }
  if (errno != ENOENT) return strerror(errno);
  if (core_files_path(directory, "%.*s", (int)(strrchr(path, '/') - path), path) != CORE_OK) return NULL;
  return access(directory, W_OK) != 0 ? strerror(errno) : NULL;
}

bool sweep_joblog_is_oom(const char *root, const char *name, const SweepJournal *journal, const SweepRecord *record) {
  char path[CORE_PATH_MAX];
  if (record->cause == SWEEP_CAUSE_OUT_OF_MEMORY) return true;
  if (record->slurm_job == 0 || record->ended_unix_s > 0) return false; /* sweep task saw another end */
  for (size_t i = 0; i < journal->count; i++) {
    const SweepArray *array = &journal->arrays[i];
    if (array->job != record->job || array->batch != record->batch) continue;
    if (sweep_batch_output(root, name, array->batch, array->array, path) != CORE_OK) continue;
    if (sweep_joblog_read_cause(path, 0, record->slurm_job) == SWEEP_CAUSE_OUT_OF_MEMORY) return true;
  }
  return false;
}
