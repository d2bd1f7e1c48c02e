/* Walks through /proc (processes.h). */
#include "sweep/supervise/processes.h"

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

/* Returns the value of a variable in an environment of `size` bytes; NULL: none. */
static const char *find_variable(const char *environment, size_t size, const char *name) {
  const size_t length = strlen(name);
  for (const char *variable = environment; variable < environment + size; variable += strlen(variable) + 1)
    if (strncmp(variable, name, length) == 0 && variable[length] == '=') return variable + length + 1;
  return NULL;
}

/* Reads the environment of a process of this user. Returns its size; 0: it has ended, or is another user's. */
static size_t read_environment(pid_t process, char buffer[ENVIRONMENT_MAX]) {
  char path[64];
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d/environ", (int)process);
  if (stat(path, &status) != 0 || status.st_uid != geteuid()) return 0;
  return core_process_read_proc(process, "environ", buffer, ENVIRONMENT_MAX);
}

void sweep_processes_visit(SweepProcessVisit visit, void *context) {
  DIR *proc = opendir("/proc");
  if (!proc) return;
  char *buffer = core_memory_allocate(ENVIRONMENT_MAX);
  for (struct dirent *entry; (entry = readdir(proc));) {
    const pid_t process = (pid_t)atoi(entry->d_name);
    const size_t size = process > 1 ? read_environment(process, buffer) : 0;
    const char *run = find_variable(buffer, size, SWEEP_RUN_VARIABLE);
    if (run) visit(context, process, run, find_variable(buffer, size, SWEEP_DIR_VARIABLE));
  }
  free(buffer);
  closedir(proc);
}

/* Whether two paths are one directory, maybe by way of links. */
static bool is_same_directory(const char *a, const char *b) {
  struct stat a_status, b_status;
  if (!a || !b) return false;
  if (strcmp(a, b) == 0) return true;
  return stat(a, &a_status) == 0 && stat(b, &b_status) == 0 && a_status.st_dev == b_status.st_dev &&
         a_status.st_ino == b_status.st_ino;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

typedef struct Listing {
  const char *run, *directory; /* directory NULL: any */
  void (*on_process)(void *context, pid_t process);
  void (*on_file)(void *context, const char *path);
  void *context;
} Listing;

static void visit_files(void *context, pid_t process, const char *run, const char *directory) {
  const Listing *listing = context;
  char path[64], target[PATH_MAX];

  if (strcmp(run, listing->run) != 0) return;
  if (listing->directory && !is_same_directory(directory, listing->directory)) return;
  listing->on_process(listing->context, process);
  snprintf(path, sizeof path, "/proc/%d/fd", (int)process);
  DIR *descriptors = opendir(path);
  if (!descriptors) return;

  for (struct dirent *entry; (entry = readdir(descriptors));) {
    const ssize_t length = readlinkat(dirfd(descriptors), entry->d_name, target, sizeof target - 1);
    if (length <= 0 || target[0] != '/') continue;
    target[length] = '\0';
    listing->on_file(listing->context, target);
  }
  closedir(descriptors);
}

void sweep_processes_list(const char *run, void (*on_process)(void *context, pid_t process),
                          void (*on_file)(void *context, const char *path), void *context) {
  Listing listing = {.run = run, .directory = getenv(SWEEP_DIR_VARIABLE), .on_process = on_process, .on_file = on_file,
                     .context = context};
  sweep_processes_visit(visit_files, &listing);
}

/* ---- leftovers --------------------------------------------------------------------------------------------------- */

/* Whether it is this process or one of its ancestors. */
static bool is_ancestor(pid_t process) {
  pid_t group;
  char state;
  for (pid_t ancestor = getpid(); ancestor > 1;) {
    if (ancestor == process) return true;
    if (!core_process_find_parent(ancestor, &ancestor, &group, &state)) return false;
  }
  return false;
}

typedef struct Killing {
  const char *run, *directory;
  int killed;
} Killing;

static void kill_process(void *context, pid_t process, const char *run, const char *directory) {
  Killing *killing = context;
  if (strcmp(run, killing->run) != 0 || !is_same_directory(directory, killing->directory)) return;
  if (!is_ancestor(process) && kill(process, SIGKILL) == 0) killing->killed++;
}

int sweep_processes_kill(const char *run, const char *directory) {
  Killing killing = {.run = run, .directory = directory};
  sweep_processes_visit(kill_process, &killing);
  return killing.killed;
}
