/* Starts, watches and ends runs (supervisor.h). The run owns its directory: its process holds the lease and writes the
 * state. The supervisor writes the state only if the process could not, because it never started or was killed
 * (sweep_end_record_failure).
 *
 * States of a run, as its supervisor sees it:
 *   (idle)       no SweepChild
 *   RUNNING      in children[], requested = NONE
 *   STOPPING     in children[], requested = RULE or STOPPED: asked to save a checkpoint and end
 *   ENDED        returned by sweep_supervisor_reap with a SweepEnd, then freed: (idle)
 *
 *   state        event                                                    next        function
 *   (idle)       the process starts                                       RUNNING     sweep_supervisor_start
 *                no process could be made                                 (idle)
 *   RUNNING      the rule, a user or a signal to the supervisor stops it  STOPPING    sweep_supervisor_stop
 *   STOPPING     another request: its cause counts                        STOPPING
 *   RUNNING or   its process ends                                         ENDED       sweep_supervisor_reap
 *   STOPPING
 *
 * Ends (sweep_end_judge), the first that applies:
 *   wait status                     requested   end                          executor (job.c)     Slurm task (task.c)
 *   SIGTERM or exit code 75         yes         the request's cause          stopped              stopped
 *   exit code 75                    no          STOPPED                      stopped              stopped
 *   another signal, also by srun    any         KILLED, can_restart or not   restarted or failed  restarted, stopped or
 *                                                                                                 failed (memory)
 *   exit code 0                     any         is_done, unless the state    finished             finished
 *                                               is lost: NONE and a reason   failed               failed
 *   exit code 127                   any         NOT_STARTED                  failed               failed
 *   another exit code               any         NONE and a reason            failed, or external  failed
 *                                                                            (has_other_owner)
 *
 * No run is killed by its supervisor: Slurm, the kernel or a user does that. `sweep supervise` kills processes of a
 * program that do not end within its grace time (sweep/program/tree.c). */
#include "sweep/supervise/supervisor.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "store/workspace/paths.h"
#include "sweep/supervise/process.h"
#include "sweep/supervise/processes.h"

enum {
  SAMPLE_INTERVAL_S = 1,  /* minimum pause between memory samples, */
  SAMPLE_PAUSE = 50       /* and in multiples of the time that one takes */
};

int sweep_supervisor_open(const char *root, const int *signals, size_t signal_count, SweepSupervisor *supervisor) {
  *supervisor = (SweepSupervisor){.root = root};
  return sweep_signals_open(signals, signal_count, &supervisor->signals);
}

void sweep_supervisor_close(SweepSupervisor *supervisor) {
  for (size_t i = 0; i < supervisor->count; i++) free(supervisor->children[i]);
  free(supervisor->children);
  if (supervisor->signals > 0) close(supervisor->signals);
  *supervisor = (SweepSupervisor){0};
}

/* ---- start, watch and stop --------------------------------------------------------------------------------------- */

int sweep_supervisor_start(SweepSupervisor *supervisor, const SweepTrainer *trainer, SweepChild **started) {
  SweepChild *child = core_memory_zero_allocate(1, sizeof *child);
  memcpy(child->id, trainer->id, sizeof child->id);
  child->is_program = trainer->config->program != NULL;
  child->is_below_srun = trainer->ranks > 1;
  sweep_memory_probe_begin(supervisor->root, child->id, &child->memory);

  const int code = sweep_trainer_start(trainer, &child->process);
  if (code != CORE_OK) {
    free(child);
    return code;
  }

  child->started_s = core_clock_s();
  supervisor->children =
    core_memory_resize(supervisor->children, (supervisor->count + 1) * sizeof *supervisor->children);
  supervisor->children[supervisor->count++] = child;
  *started = child;
  return CORE_OK;
}

void sweep_supervisor_stop(SweepChild *child, SweepCause cause) {
  CORE_CHECK(cause == SWEEP_CAUSE_RULE || cause == SWEEP_CAUSE_STOPPED);
  if (kill(child->process, child->is_below_srun ? SIGUSR2 : SIGTERM) == 0) child->requested = cause;
}

int sweep_supervisor_wait(SweepSupervisor *supervisor, int timeout_ms) {
  pid_t sender;
  const int signal = sweep_signals_wait(supervisor->signals, NULL, 0, timeout_ms, &sender);
  return signal == SIGCHLD ? 0 : signal;
}

/* Adds the peak of the job's control group, which is a run's only if the run has the job to itself. */
static void add_cgroup_peak(const SweepSupervisor *supervisor, SweepChild *child) {
  if (supervisor->cgroup_job > 0)
    sweep_memory_probe_add_peak(&child->memory, SWEEP_MEMORY_CGROUP, sweep_cgroup_peak_mb(supervisor->cgroup_job));
}

void sweep_supervisor_sample_memory(SweepSupervisor *supervisor) {
  const double start_s = core_clock_s();
  const double pause_s = fmax(SAMPLE_INTERVAL_S, SAMPLE_PAUSE * supervisor->sample_duration_s);
  if (supervisor->count == 0 || start_s - supervisor->sample_end_s < pause_s) return;

  const char **ids = core_memory_allocate(supervisor->count * sizeof *ids);
  SweepMemoryProbe **probes = core_memory_allocate(supervisor->count * sizeof *probes);
  for (size_t i = 0; i < supervisor->count; i++) {
    add_cgroup_peak(supervisor, supervisor->children[i]);
    ids[i] = supervisor->children[i]->id;
    probes[i] = &supervisor->children[i]->memory;
  }
  sweep_memory_probe_sample(supervisor->root, ids, probes, supervisor->count);
  free(ids);
  free(probes);

  supervisor->sample_end_s = core_clock_s();
  supervisor->sample_duration_s = supervisor->sample_end_s - start_s;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Takes the child of a process out of the list; NULL: the process is no run. */
static SweepChild *take_child(SweepSupervisor *supervisor, pid_t process) {
  for (size_t i = 0; i < supervisor->count; i++) {
    SweepChild *child = supervisor->children[i];
    if (child->process != process) continue;
    supervisor->children[i] = supervisor->children[--supervisor->count];
    return child;
  }
  return NULL;
}

SweepChild *sweep_supervisor_reap(SweepSupervisor *supervisor, SweepEnd *end) {
  int status;
  pid_t process;
  struct rusage usage;
  StoreState state;
  SweepChild *child = NULL;
  while (!child && (process = wait4(-1, &status, WNOHANG, &usage)) > 0) child = take_child(supervisor, process);
  if (!child) return NULL;

  add_cgroup_peak(supervisor, child);
  sweep_memory_probe_end(supervisor->root, child->id, &child->memory, usage.ru_maxrss);
  if (store_run_state_read(supervisor->root, child->id, true, &state) != CORE_OK) core_warn("%s", core_error_message());
  *end = sweep_end_judge(child, status, &usage, &state);
  if (end->signal > 0) {
    /* Processes of a user's program that its killed supervisor has left. */
    char directory[CORE_PATH_MAX];
    if (child->is_program && store_path_run(supervisor->root, child->id, "files", directory) == CORE_OK)
      sweep_processes_kill(child->id, directory);
  }
  return child;
}
