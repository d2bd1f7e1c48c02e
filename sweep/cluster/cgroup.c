/* Control groups of both versions (cgroup.h). */
#include "sweep/cluster/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/text.h"

/* Calls `read` with the memory controller's group of this process, until it gives a number that is not negative. */
typedef int64_t ReadGroup(const char *folder, bool is_second, int64_t slurm_job);

static int64_t find_group(ReadGroup *read, int64_t slurm_job) {
  char *text, *save = NULL;
  size_t size;
  int64_t found = -1;
  if (core_files_read("/proc/self/cgroup", 65536, &text, &size) != CORE_OK) return -1;
  for (char *line = strtok_r(text, "\n", &save); line && found < 0; line = strtok_r(NULL, "\n", &save)) {
    char *folder = strrchr(line, ':');
    const bool is_second = strncmp(line, "0::", 3) == 0;
    if (folder && (is_second || strstr(line, ":memory:"))) found = read(folder + 1, is_second, slurm_job);
  }
  free(text);
  return found;
}

static int64_t read_kills(const char *folder, bool is_second, int64_t slurm_job) {
  char path[CORE_PATH_MAX], *events;
  size_t size;
  long long number;
  (void)slurm_job;
  if (core_files_path(path, is_second ? "/sys/fs/cgroup%s/memory.events" : "/sys/fs/cgroup/memory%s/memory.oom_control",
                      folder) != CORE_OK || core_files_read(path, 65536, &events, &size) != CORE_OK)
    return -1;
  const char *at = strstr(events, "oom_kill ");
  const int64_t kills = at && sscanf(at, "oom_kill %lld", &number) == 1 ? number : -1;
  free(events);
  return kills;
}

int64_t sweep_cgroup_oom_kills(void) { return find_group(read_kills, 0); }

/* ".../job_7/step_batch/user/task_0": the group of the whole job, with the steps of srun. */
static int64_t read_peak(const char *folder, bool is_second, int64_t slurm_job) {
  char path[CORE_PATH_MAX], job[32], *text;
  size_t size;
  int64_t bytes = -1;
  const size_t length = (size_t)snprintf(job, sizeof job, "/job_%lld", (long long)slurm_job);
  const char *at = strstr(folder, job);
  if (!at || (at[length] != '/' && at[length] != '\0')) return -1;
  if (core_files_path(path, is_second ? "/sys/fs/cgroup%.*s/memory.peak"
                                      : "/sys/fs/cgroup/memory%.*s/memory.max_usage_in_bytes",
                      (int)(at - folder) + (int)length, folder) != CORE_OK ||
      core_files_read(path, 65536, &text, &size) != CORE_OK)
    return -1;
  text[strcspn(text, "\n")] = '\0';
  if (!core_text_to_int(text, &bytes)) bytes = -1;
  free(text);
  return bytes;
}

int64_t sweep_cgroup_peak_mb(int64_t slurm_job) {
  const int64_t bytes = find_group(read_peak, slurm_job);
  core_error_clear();
  return bytes > 0 ? (bytes + (1 << 20) - 1) >> 20 : 0;
}
