/* Control groups of both versions (cgroup.h). */
#include "sweep/cluster/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"

int64_t sweep_cgroup_oom_kills(void) {
  char *text, path[CORE_PATH_MAX];
  size_t size;
  int64_t kills = -1;
  if (core_files_read("/proc/self/cgroup", 65536, &text, &size) != CORE_OK) return -1;
  char *save = NULL;
  for (char *line = strtok_r(text, "\n", &save); line && kills < 0; line = strtok_r(NULL, "\n", &save)) {
    char *folder = strrchr(line, ':'), *events;
    if (!folder) continue;
    const bool is_second = strncmp(line, "0::", 3) == 0;
    if (!is_second && !strstr(line, ":memory:")) continue;
    if (core_files_path(path,
                        is_second ? "/sys/fs/cgroup%s/memory.events" : "/sys/fs/cgroup/memory%s/memory.oom_control",
                        folder + 1) != CORE_OK)
      continue;
    if (core_files_read(path, 65536, &events, &size) != CORE_OK) continue;
    long long number;
    const char *at = strstr(events, "oom_kill ");
    if (at && sscanf(at, "oom_kill %lld", &number) == 1) kills = number;
    free(events);
  }
  free(text);
  return kills;
}
