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

/* Returns the run in the environment of a process of this user, which is in `buffer` then; NULL: none. */
static const char *find_run(pid_t process, char *buffer) {
  static const char key[] = SWEEP_RUN_VARIABLE "=";
  char path[64];
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d/environ", (int)process);
  if (stat(path, &status) != 0 || status.st_uid != geteuid()) return NULL;
  const size_t size = core_process_read_file(path, buffer, ENVIRONMENT_MAX);
  for (const char *variable = buffer; variable < buffer + size; variable += strlen(variable) + 1)
    if (strncmp(variable, key, sizeof key - 1) == 0) return variable + sizeof key - 1;
  return NULL;
}

void program_processes_visit(void (*visit)(void *context, pid_t process, const char *run), void *context) {
  DIR *proc = opendir("/proc");
  if (!proc) return;
  char *buffer = core_memory_allocate(ENVIRONMENT_MAX);
  for (struct dirent *entry; (entry = readdir(proc));) {
    const pid_t process = (pid_t)atoi(entry->d_name);
    const char *run = process > 1 ? find_run(process, buffer) : NULL;
    if (run) visit(context, process, run);
  }
  free(buffer);
  closedir(proc);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

typedef struct Listing {
  const char *run;
  void (*on_process)(void *context, pid_t process);
  void (*on_file)(void *context, const char *path);
  void *context;
} Listing;

static void visit_files(void *context, pid_t process, const char *run) {
  const Listing *listing = context;
  char directory[64], target[PATH_MAX];
  if (strcmp(run, listing->run) != 0) return;
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
  Listing listing = {.run = run, .on_process = on_process, .on_file = on_file, .context = context};
  program_processes_visit(visit_files, &listing);
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

typedef struct Killing { const char *run; int killed; } Killing;

static void kill_process(void *context, pid_t process, const char *run) {
  Killing *killing = context;
  if (strcmp(run, killing->run) == 0 && !is_ancestor(process) && kill(process, SIGKILL) == 0) killing->killed++;
}

int program_processes_kill(const char *run) {
  Killing killing = {.run = run};
  program_processes_visit(kill_process, &killing);
  return killing.killed;
}
