/* Walks through /proc (processes.h). */
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

/* Whether the process is this user's and has the run in its environment. */
static bool belongs_to_run(pid_t process, const char *run, char *buffer) {
  char path[64], expected[64];
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d/environ", (int)process);
  snprintf(expected, sizeof expected, "SWEEP_RUN=%s", run);
  if (stat(path, &status) != 0 || status.st_uid != geteuid()) return false;
  const size_t size = core_process_read_file(path, buffer, ENVIRONMENT_MAX);
  for (const char *variable = buffer; variable < buffer + size; variable += strlen(variable) + 1)
    if (strcmp(variable, expected) == 0) return true;
  return false;
}

typedef void (*VisitProcess)(void *context, pid_t process);

static void visit_processes(const char *run, VisitProcess visit, void *context) {
  DIR *proc = opendir("/proc");
  if (!proc) return;
  char *buffer = core_memory_allocate(ENVIRONMENT_MAX);
  for (struct dirent *entry; (entry = readdir(proc));) {
    const pid_t process = (pid_t)atoi(entry->d_name);
    if (process > 1 && belongs_to_run(process, run, buffer)) visit(context, process);
  }
  free(buffer);
  closedir(proc);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

typedef struct Listing {
  void (*on_process)(void *context, pid_t process);
  void (*on_file)(void *context, const char *path);
  void *context;
} Listing;

static void visit_files(void *context, pid_t process) {
  const Listing *listing = context;
  char directory[64], target[PATH_MAX];
  listing->on_process(listing->context, process);
  snprintf(directory, sizeof directory, "/proc/%d/fd", (int)process);
  DIR *descriptors = opendir(directory);
  if (!descriptors) return;
  for (struct dirent *entry; (entry = readdir(descriptors));) {
    const ssize_t length = readlinkat(dirfd(descriptors), entry->d_name, target, sizeof target - 1);
    if (length <= 0 || target[0] != '/') continue;
    target[length] = '\0';
    listing->on_file(listing->context, target);
  }
  closedir(descriptors);
}

void program_processes_list(const char *run, void (*on_process)(void *context, pid_t process),
                            void (*on_file)(void *context, const char *path), void *context) {
  Listing listing = {.on_process = on_process, .on_file = on_file, .context = context};
  visit_processes(run, visit_files, &listing);
}

/* ---- leftovers --------------------------------------------------------------------------------------------------- */

static pid_t read_parent(pid_t process) {
  char path[64], text[512];
  int parent = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  core_process_read_file(path, text, sizeof text);
  const char *end = strrchr(text, ')'); /* the name may contain any character */
  return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

/* Whether it is this process or one of its ancestors. */
static bool is_ancestor(pid_t process) {
  for (pid_t ancestor = getpid(); ancestor > 1; ancestor = read_parent(ancestor))
    if (ancestor == process) return true;
  return false;
}

static void kill_process(void *context, pid_t process) {
  int *killed = context;
  if (!is_ancestor(process) && kill(process, SIGKILL) == 0) ++*killed;
}

int program_processes_kill(const char *run) {
  int killed = 0;
  visit_processes(run, kill_process, &killed);
  return killed;
}
