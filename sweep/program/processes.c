/* A walk through /proc (processes.h). */
#include "sweep/program/processes.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/process.h"

enum { ENVIRONMENT_MAX = 1 << 20 };

static bool is_of_run(pid_t process, const char *run, char *buffer) {
  char path[64], wanted[64];
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d/environ", (int)process);
  snprintf(wanted, sizeof wanted, "SWEEP_RUN=%s", run);
  if (stat(path, &status) != 0 || status.st_uid != geteuid()) return false;
  const size_t size = core_process_read_file(path, buffer, ENVIRONMENT_MAX);
  for (const char *at = buffer; at < buffer + size; at += strlen(at) + 1)
    if (strcmp(at, wanted) == 0) return true;
  return false;
}

typedef void (*VisitProcess)(void *context, pid_t process);

static void visit_processes(const char *run, VisitProcess visit, void *context) {
  DIR *proc = opendir("/proc");
  if (!proc) return;
  char *buffer = core_memory_allocate(ENVIRONMENT_MAX);
  for (struct dirent *entry; (entry = readdir(proc));) {
    const pid_t process = (pid_t)atoi(entry->d_name);
    if (process > 1 && is_of_run(process, run, buffer)) visit(context, process);
  }
  free(buffer);
  closedir(proc);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

typedef struct Listing {
  void (*take_process)(void *context, pid_t process);
  void (*take_file)(void *context, const char *path);
  void *context;
} Listing;

static void visit_files(void *context, pid_t process) {
  const Listing *listing = context;
  char folder[64], target[PATH_MAX];
  listing->take_process(listing->context, process);
  snprintf(folder, sizeof folder, "/proc/%d/fd", (int)process);
  DIR *descriptors = opendir(folder);
  if (!descriptors) return;
  for (struct dirent *entry; (entry = readdir(descriptors));) {
    const ssize_t length = readlinkat(dirfd(descriptors), entry->d_name, target, sizeof target - 1);
    if (length <= 0 || target[0] != '/') continue;
    target[length] = '\0';
    listing->take_file(listing->context, target);
  }
  closedir(descriptors);
}

void program_processes_list(const char *run, void (*take_process)(void *context, pid_t process),
                            void (*take_file)(void *context, const char *path), void *context) {
  Listing listing = {take_process, take_file, context};
  visit_processes(run, visit_files, &listing);
}

/* ---- leftovers --------------------------------------------------------------------------------------------------- */

static pid_t parent_of(pid_t process) {
  char path[64], text[512];
  int parent = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  core_process_read_file(path, text, sizeof text);
  const char *end = strrchr(text, ')'); /* the name may hold anything */
  return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

static bool is_above(pid_t process) {
  for (pid_t at = getpid(); at > 1; at = parent_of(at))
    if (at == process) return true;
  return false;
}

static void end_process(void *context, pid_t process) {
  int *ended = context;
  if (!is_above(process) && kill(process, SIGKILL) == 0) ++*ended;
}

int program_processes_kill(const char *run) {
  int ended = 0;
  visit_processes(run, end_process, &ended);
  return ended;
}
