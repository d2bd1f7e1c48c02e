/* Resource limits: sched_getaffinity through OpenMP, sysconf, and the control group's files (versions 1 and 2). */
#include "trainer/run/machine.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "trainer/ranks/ranks.h"

int machine_threads(int wanted) { return wanted > 0 ? wanted : ranks_threads(); }

/* Lowers *bytes to the value in a limit file; a missing file or "max" is no limit. */
static void apply_limit(const char *path, double *bytes) {
  FILE *file = fopen(path, "re");
  double limit;
  if (file == NULL) return;
  if (fscanf(file, "%lf", &limit) == 1 && limit > 0 && limit < *bytes) *bytes = limit;
  fclose(file);
}

/* Applies `name` of a group and of every group above it: "/a/b", "/a", "". */
static void apply_group(const char *mount, char *group, const char *name, double *bytes) {
  char path[CORE_PATH_MAX];
  for (;;) {
    if (core_files_path(path, "%s%s/%s", mount, group, name) == CORE_OK) apply_limit(path, bytes);
    char *slash = strrchr(group, '/');
    if (slash == NULL) return;
    *slash = '\0';
  }
}

double machine_memory_bytes(void) {
  double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGE_SIZE);
  char line[CORE_PATH_MAX];
  FILE *file = fopen("/proc/self/cgroup", "re");
  if (file == NULL) return bytes;

  while (fgets(line, sizeof line, file) != NULL) { /* "0::/slurm/job_7" or "4:memory:/slurm/job_7" */
    line[strcspn(line, "\n")] = '\0';
    char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
    if (second == NULL) continue;
    *second = '\0';
    if (strcmp(first, ":") == 0) apply_group("/sys/fs/cgroup", second + 1, "memory.max", &bytes);
    if (strcmp(first, ":memory") == 0)
      apply_group("/sys/fs/cgroup/memory", second + 1, "memory.limit_in_bytes", &bytes);
  }

  fclose(file);
  return bytes;
}
