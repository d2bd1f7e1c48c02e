/* Finds the memory controller's group in /proc/self/cgroup and reads its counters (cgroup.h). */
#include "sweep/cluster/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/text.h"

/* Reads a counter of a control group, whose path below /sys/fs/cgroup is `group`; -1: unknown. */
typedef int64_t ReadCounter(const char *group, bool is_v2, int64_t slurm_job);

/* Calls `read` with each group of this process that has the memory controller, until it returns a counter. */
static int64_t read_counter(ReadCounter *read, int64_t slurm_job) {
  char *text, *save = NULL;
  size_t size;
  int64_t value = -1;
  if (core_files_read("/proc/self/cgroup", 65536, &text, &size) != CORE_OK) return -1;
  for (char *line = strtok_r(text, "\n", &save); line && value < 0; line = strtok_r(NULL, "\n", &save)) {
    const char *colon = strrchr(line, ':');
    const bool is_v2 = strncmp(line, "0::", 3) == 0;
    if (colon && (is_v2 || strstr(line, ":memory:"))) value = read(colon + 1, is_v2, slurm_job);
  }
  free(text);
  return value;
}

static int64_t read_oom_kills(const char *group, bool is_v2, int64_t slurm_job) {
  static const char v1[] = "/sys/fs/cgroup/memory%s/memory.oom_control", v2[] = "/sys/fs/cgroup%s/memory.events";
  char path[CORE_PATH_MAX], *events;
  size_t size;
  long long value;
  (void)slurm_job;
  if (core_files_path(path, is_v2 ? v2 : v1, group) != CORE_OK) return -1;
  if (core_files_read(path, 65536, &events, &size) != CORE_OK) return -1;
  const char *found = strstr(events, "oom_kill ");
  const int64_t kills = found && sscanf(found, "oom_kill %lld", &value) == 1 ? value : -1;
  free(events);
  return kills;
}

int64_t sweep_cgroup_oom_kills(void) { return read_counter(read_oom_kills, 0); }

/* Reads the peak of the whole job's group, e.g. ".../job_7" of ".../job_7/step_batch/user/task_0", which contains the
 * steps of srun. */
static int64_t read_peak(const char *group, bool is_v2, int64_t slurm_job) {
  static const char v1[] = "/sys/fs/cgroup/memory%.*s/memory.max_usage_in_bytes",
                    v2[] = "/sys/fs/cgroup%.*s/memory.peak";
  char path[CORE_PATH_MAX], job[32], *text;
  size_t size;
  int64_t bytes = -1;
  const size_t length = (size_t)snprintf(job, sizeof job, "/job_%lld", (long long)slurm_job);
  const char *found = strstr(group, job);
  if (!found || (found[length] != '/' && found[length] != '\0')) return -1;
  if (core_files_path(path, is_v2 ? v2 : v1, (int)(found - group) + (int)length, group) != CORE_OK) return -1;
  if (core_files_read(path, 65536, &text, &size) != CORE_OK) return -1;
  text[strcspn(text, "\n")] = '\0';
  if (!core_text_to_int(text, &bytes)) bytes = -1;
  free(text);
  return bytes;
}

int64_t sweep_cgroup_peak_mb(int64_t slurm_job) {
  const int64_t bytes = read_counter(read_peak, slurm_job);
  core_error_clear();
  return bytes > 0 ? (bytes + (1 << 20) - 1) >> 20 : 0;
}
