/* Walks through the descendants of this process in /proc (tree.h). */
#include "sweep/program/tree.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/terminal.h"

enum {
  PASSES_MAX = 100,
  KILL_WAIT_S = 10,             /* time after which a process that cannot be killed is given up */
};
static const double orphan_time = 0.5, last_time = 0.75; /* fractions of the time, for processes not told before */

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

typedef struct Process {
  pid_t id, parent, group;
  bool is_below;                /* a descendant of this process */
  bool is_shell, is_srun;
  bool handles;                 /* handles the signal, or waits for it */
  bool is_background;           /* started by a shell with & */
  bool has_handler;             /* it or a process below it handles the signal */
} Process;

typedef struct Snapshot { Process *items; size_t count; } Snapshot;

/* Returns the file name of the process's program; "": unknown. */
static const char *program_name(pid_t process, char *buffer, size_t capacity) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/exe", (int)process);
  const ssize_t length = readlink(path, buffer, capacity - 1);
  buffer[length > 0 ? length : 0] = '\0';
  const char *slash = strrchr(buffer, '/');
  return slash ? slash + 1 : buffer;
}

static bool is_shell(const char *name) {
  static const char *const shells[] = {"sh", "bash", "dash", "ash", "busybox", "zsh", "ksh", "ksh93", "mksh"};
  for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
    if (strcmp(name, shells[i]) == 0) return true;
  return false;
}

/* Returns a set of signals in /proc/<id>/status. */
static uint64_t read_signals(const char *status, const char *key) {
  uint64_t set;
  const char *line = strstr(status, key);
  return line && sscanf(line + strlen(key), " %" SCNx64, &set) == 1 ? set : 0;
}

/* Reads how a process treats the signal. A shell without job control starts background processes with SIGQUIT
 * ignored. */
static void read_treatment(Process *process, int signal) {
  char status[8192], path[4096];
  const char *name = program_name(process->id, path, sizeof path);
  const uint64_t bit = UINT64_C(1) << (signal - 1), quit = UINT64_C(1) << (SIGQUIT - 1);
  process->is_shell = is_shell(name);
  process->is_srun = strcmp(name, "srun") == 0;
  core_process_read_proc(process->id, "status", status, sizeof status);
  process->handles = ((read_signals(status, "\nSigCgt:") | read_signals(status, "\nSigBlk:")) & bit) != 0;
  process->is_background = (read_signals(status, "\nSigIgn:") & quit) != 0;
}

static Process *find_process(const Snapshot *snapshot, pid_t id) {
  for (size_t i = 0; i < snapshot->count; i++)
    if (snapshot->items[i].id == id) return &snapshot->items[i];
  return NULL;
}

/* Keeps the descendants of this process. */
static void keep_descendants(Snapshot *snapshot) {
  const pid_t self = getpid();
  size_t kept = 0;

  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (size_t i = 0; i < snapshot->count; i++) {
      Process *process = &snapshot->items[i];
      const Process *parent = process->is_below ? NULL : find_process(snapshot, process->parent);
      if (process->is_below || (process->parent != self && !(parent && parent->is_below))) continue;
      process->is_below = true;
      is_changed = true;
    }
  }

  for (size_t i = 0; i < snapshot->count; i++)
    if (snapshot->items[i].is_below) snapshot->items[kept++] = snapshot->items[i];
  snapshot->count = kept;
}

/* Takes a snapshot of the tree. signal: the one whose treatment is read; 0: none. */
static Snapshot take_snapshot(int signal) {
  Snapshot snapshot = {0};
  size_t capacity = 0;
  DIR *proc = opendir("/proc");

  for (struct dirent *entry; proc && (entry = readdir(proc));) {
    Process process = {.id = (pid_t)atoi(entry->d_name)};
    char state;
    if (process.id <= 1 || !core_process_find_parent(process.id, &process.parent, &process.group, &state)) continue;
    if (strchr("ZX", state)) continue; /* it has ended */
    if (snapshot.count == capacity) {
      capacity = 2 * capacity + 256;
      snapshot.items = core_memory_resize(snapshot.items, capacity * sizeof *snapshot.items);
    }
    snapshot.items[snapshot.count++] = process;
  }
  if (proc) closedir(proc);

  keep_descendants(&snapshot);
  if (signal > 0) {
    for (size_t i = 0; i < snapshot.count; i++) read_treatment(&snapshot.items[i], signal);
  }
  for (size_t i = 0; i < snapshot.count; i++)
    for (Process *p = snapshot.items[i].handles ? &snapshot.items[i] : NULL; p && !p->has_handler;
         p = find_process(&snapshot, p->parent))
      p->has_handler = true;
  return snapshot;
}

/* ---- a stop ------------------------------------------------------------------------------------------------------ */

typedef enum Standing {
  TOLD,         /* got the signal */
  LEFT,         /* left to a process above it */
  AUXILIARY,    /* serves a process that handles the signal */
} Standing;

struct ProgramTold { pid_t id; Standing standing; };

static ProgramTold *find_told(const ProgramTreeStop *stop, pid_t id) {
  for (size_t i = 0; i < stop->count; i++)
    if (stop->told[i].id == id) return &stop->told[i];
  return NULL;
}

static void send_signal(const ProgramTreeStop *stop, const Process *process) {
  const bool would_kill_ranks = process->is_srun && stop->signal == SIGTERM; /* it forwards only the user signals */
  kill(process->id, would_kill_ranks ? SIGUSR2 : stop->signal);
}

static void add(ProgramTreeStop *stop, pid_t id, Standing standing) {
  stop->told = core_memory_resize(stop->told, (stop->count + 1) * sizeof *stop->told);
  stop->told[stop->count++] = (ProgramTold){id, standing};
}

/* Adds a process and those below it that are not yet known. */
static void add_tree(ProgramTreeStop *stop, const Snapshot *snapshot, const Process *process, Standing standing) {
  if (!find_told(stop, process->id)) add(stop, process->id, standing);
  for (size_t i = 0; i < snapshot->count; i++)
    if (snapshot->items[i].parent == process->id) add_tree(stop, snapshot, &snapshot->items[i], standing);
}

static void tell_children(ProgramTreeStop *stop, const Snapshot *snapshot, pid_t parent, bool with_background);

/* Tells a process and those below it that it is not responsible for. */
static void tell(ProgramTreeStop *stop, const Snapshot *snapshot, const Process *process) {
  bool has_foreground = false;
  const ProgramTold *known = find_told(stop, process->id);
  if (!known) {
    add(stop, process->id, TOLD);
    send_signal(stop, process);
  } else if (known->standing != TOLD) {
    return;
  }

  for (size_t i = 0; i < snapshot->count; i++)
    has_foreground |= snapshot->items[i].parent == process->id && !snapshot->items[i].is_background;
  if (process->handles && !(process->is_shell && has_foreground)) add_tree(stop, snapshot, process, LEFT);
  else tell_children(stop, snapshot, process->id, !(process->is_shell && has_foreground));
}

/* Tells the children of a process. If some have handlers, the others are auxiliary. */
static void tell_children(ProgramTreeStop *stop, const Snapshot *snapshot, pid_t parent, bool with_background) {
  bool has_handler = false;
  for (size_t i = 0; i < snapshot->count; i++) {
    const Process *child = &snapshot->items[i];
    has_handler |= child->parent == parent && (with_background || !child->is_background) && child->has_handler;
  }
  for (size_t i = 0; i < snapshot->count; i++) {
    const Process *child = &snapshot->items[i];
    if (child->parent != parent) continue;
    const bool is_auxiliary = (child->is_background && !with_background) || (has_handler && !child->has_handler);
    if (is_auxiliary) add_tree(stop, snapshot, child, AUXILIARY);
    else tell(stop, snapshot, child);
  }
}

void program_tree_tell(ProgramTreeStop *stop, int signal, bool are_told) {
  size_t before;
  int passes = 0;
  if (stop->start_s > 0) return;
  stop->signal = signal;
  stop->start_s = core_clock_s();
  do { /* a process may have forked before it got the signal */
    Snapshot snapshot = take_snapshot(signal);
    before = stop->count;
    if (are_told)
      for (size_t i = 0; i < snapshot.count; i++) add(stop, snapshot.items[i].id, TOLD);
    else tell_children(stop, &snapshot, getpid(), true);
    free(snapshot.items);
  } while (!are_told && stop->count > before && ++passes < PASSES_MAX);
}

/* Tells further processes. elapsed: fraction of the grace time. */
static void tell_remaining(ProgramTreeStop *stop, double elapsed) {
  Snapshot snapshot = take_snapshot(stop->signal);
  bool has_responsible = false;
  for (size_t i = 0; i < snapshot.count; i++) {
    const ProgramTold *told = find_told(stop, snapshot.items[i].id);
    has_responsible |= told && told->standing != AUXILIARY;
  }

  for (size_t i = 0; i < snapshot.count; i++) {
    ProgramTold *told = find_told(stop, snapshot.items[i].id);
    const bool is_orphan = snapshot.items[i].parent == getpid();
    if (!told || told->standing == TOLD) continue;
    if (has_responsible && elapsed < (is_orphan ? orphan_time : last_time)) continue;
    send_signal(stop, &snapshot.items[i]);
    told->standing = TOLD;
  }
  free(snapshot.items);
}

/* ---- the whole tree ---------------------------------------------------------------------------------------------- */

void program_tree_adopt(void) { prctl(PR_SET_CHILD_SUBREAPER, 1); }

/* Kills all processes. Those forked meanwhile may remain. */
static void kill_tree(void) {
  Snapshot snapshot = take_snapshot(0);
  for (size_t i = 0; i < snapshot.count; i++) {
    const Process *process = &snapshot.items[i];
    if (process->group > 1 && process->group != getpgrp()) kill(-process->group, SIGKILL); /* faster than a fork */
    kill(process->id, SIGKILL);
  }
  free(snapshot.items);
}

bool program_tree_continue(ProgramTreeStop *stop, double grace_s) {
  if (stop->start_s <= 0) return true;
  const double elapsed_s = core_clock_s() - stop->start_s;
  if (elapsed_s < grace_s) {
    tell_remaining(stop, elapsed_s / grace_s);
    return true;
  }
  if (stop->killed_s <= 0) {
    core_warn("the program has not stopped within %g s (grace); killing its processes", grace_s);
    stop->killed_s = core_clock_s();
  }
  kill_tree();
  return core_clock_s() - stop->killed_s < KILL_WAIT_S;
}

void program_tree_stop_free(ProgramTreeStop *stop) {
  free(stop->told);
  *stop = (ProgramTreeStop){0};
}

bool program_tree_is_slurm(pid_t sender) {
  char name[32];
  if (sender <= 1 || core_process_read_proc(sender, "comm", name, sizeof name) == 0) return false;
  return strncmp(name, "slurmstepd", 10) == 0;
}

size_t program_tree_count(char *name, size_t capacity) {
  Snapshot snapshot = take_snapshot(0);
  const size_t count = snapshot.count;
  char path[4096];
  *name = '\0';
  if (count > 0) snprintf(name, capacity, "%s", program_name(snapshot.items[0].id, path, sizeof path));
  free(snapshot.items);
  return count;
}
