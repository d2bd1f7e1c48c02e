/* Samples /proc, reads counters of control groups, and reads and writes the file (run_memory.h). */
#include "sweep/supervise/run_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/terminal.h"
#include "core/text.h"
#include "store/workspace/paths.h"
#include "sweep/supervise/gpu_load.h"
#include "sweep/supervise/processes.h"

static const char *const names[] = {"unknown", "largest process", "all processes", "cgroup"};
enum { SOURCES = sizeof names / sizeof *names };

const char *sweep_memory_source_name(SweepMemorySource source) { return names[source]; }

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- the file ---------------------------------------------------------------------------------------------------- */

int sweep_run_memory_write(const char *root, const char *id, const SweepRunMemory *memory) {
  char path[CORE_PATH_MAX], text[256];
  TRY(store_path_run(root, id, "memory", path));
  const int length = snprintf(text, sizeof text, "peak_mb=%lld\nsummed_mb=%lld\nsamples=%lld\nexceeded_mb=%lld\n"
                              "source=%s\n", (long long)memory->peak_mb, (long long)memory->summed_mb,
                              (long long)memory->samples, (long long)memory->exceeded_mb, names[memory->source]);
  return core_files_write_unsynced(path, text, (size_t)length);
}

int sweep_run_memory_read(const char *root, const char *id, SweepRunMemory *memory) {
  char path[CORE_PATH_MAX], *data, source[32] = "";
  size_t size;
  long long peak, summed, samples, exceeded;

  *memory = (SweepRunMemory){0};
  TRY(store_path_run(root, id, "memory", path));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(core_files_read(path, 4096, &data, &size));
  const int fields = sscanf(data, "peak_mb=%lld summed_mb=%lld samples=%lld exceeded_mb=%lld source=%31[^\n]", &peak,
                            &summed, &samples, &exceeded, source);
  free(data);
  if (fields < 5) return CORE_OK;

  *memory = (SweepRunMemory){.peak_mb = peak, .summed_mb = summed, .samples = samples, .exceeded_mb = exceeded};
  for (int i = 0; i < SOURCES; i++)
    if (strcmp(source, names[i]) == 0) memory->source = (SweepMemorySource)i;
  return CORE_OK;
}

int sweep_run_memory_record_oom(const char *root, const char *id, int64_t limit_mb) {
  SweepRunMemory memory;
  TRY(sweep_run_memory_read(root, id, &memory));
  if (limit_mb <= memory.exceeded_mb) return CORE_OK;
  memory.exceeded_mb = limit_mb;
  return sweep_run_memory_write(root, id, &memory);
}

void sweep_run_memory_merge(SweepRunMemory *max, const SweepRunMemory *run) {
  if (run->peak_mb > 0 && (max->peak_mb == 0 || run->source < max->source)) max->source = run->source;
  max->peak_mb = larger(max->peak_mb, run->peak_mb);
  max->summed_mb = larger(max->summed_mb, run->summed_mb);
  max->samples = larger(max->samples, run->samples);
  max->exceeded_mb = larger(max->exceeded_mb, run->exceeded_mb);
}

int64_t sweep_run_memory_needed(const SweepRunMemory *max) {
  enum { STEP_MB = 100 };
  static const double margin = 1.3, oom_factor = 1.5;
  const double needed_mb = fmax(margin * (double)larger(max->peak_mb, max->summed_mb),
                                oom_factor * (double)max->exceeded_mb);
  return (int64_t)ceil(needed_mb / STEP_MB) * STEP_MB;
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

/* Parses the number after `key`, in kB; 0: none. */
static int64_t parse_kb(const char *text, const char *key) {
  long long kb;
  const char *found = strstr(text, key);
  return found && sscanf(found + strlen(key), " %lld", &kb) == 1 ? kb : 0;
}

/* Returns the CPU seconds in /proc/<process>/stat: its own, and those of children that it has waited for. The name of
 * the program, in parentheses, may contain spaces. */
static double parse_cpu_s(const char *stat) {
  unsigned long long user, system, user_children, system_children;
  const char *after = strrchr(stat, ')');
  if (!after || sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu", &user, &system,
                       &user_children, &system_children) != 4)
    return 0;
  return (double)(user + system + user_children + system_children) / (double)sysconf(_SC_CLK_TCK);
}

/* Sums over the processes of a run. */
typedef struct Sums {
  int64_t pss_kb, peaks_kb;
  SweepLoadSample load;
} Sums;

typedef struct RunProcess { pid_t process; size_t run; } RunProcess;

typedef struct Sampling {
  const char *root;
  const char *const *ids; /* [count] */
  Sums *sums;             /* [count] */
  size_t count;
  RunProcess *processes;  /* [process_count] the processes that were found */
  size_t process_count;
} Sampling;

/* Whether the run's own directory is in another workspace. */
static bool is_elsewhere(const Sampling *sampling, const char *directory) {
  const size_t length = strlen(sampling->root);
  return directory && (strncmp(directory, sampling->root, length) != 0 || directory[length] != '/');
}

static void add_process(void *context, pid_t process, const char *id, const char *directory) {
  Sampling *sampling = context;
  char buffer[16384];
  size_t run = 0;
  if (is_elsewhere(sampling, directory)) return;
  while (run < sampling->count && strcmp(sampling->ids[run], id) != 0) run++;
  if (run == sampling->count || core_process_read_proc(process, "status", buffer, sizeof buffer) == 0) return;
  const int64_t peak_kb = parse_kb(buffer, "VmHWM:"), rss_kb = parse_kb(buffer, "VmRSS:");
  core_process_read_proc(process, "smaps_rollup", buffer, sizeof buffer);
  const int64_t pss_kb = parse_kb(buffer, "\nPss:");
  sampling->sums[run].pss_kb += pss_kb > 0 ? pss_kb : rss_kb;
  sampling->sums[run].peaks_kb += peak_kb;
  if (core_process_read_proc(process, "stat", buffer, sizeof buffer) > 0)
    sampling->sums[run].load.cpu_s += parse_cpu_s(buffer);

  const size_t n = sampling->process_count;
  if ((n & (n + 1)) == 0) /* grow at 0, 1, 3, 7, ... */
    sampling->processes = core_memory_resize(sampling->processes, (2 * n + 2) * sizeof *sampling->processes);
  sampling->processes[sampling->process_count++] = (RunProcess){process, run};
}

/* Adds what the runs' processes use of GPUs. A run's devices are those on which it has a process. */
static void add_gpus(const Sampling *sampling) {
  static SweepGpuProcess list[SWEEP_GPU_PROCESSES_MAX];
  const size_t count = sweep_gpu_load_read(list, SWEEP_GPU_PROCESSES_MAX);

  for (size_t run = 0; run < sampling->count; run++) {
    SweepLoadSample *load = &sampling->sums[run].load;
    double busy = 0, devices = 0, memory_mb = 0, total_mb = 0;
    int last_device = -1;
    for (size_t i = 0; i < count; i++) { /* ordered by device */
      size_t p = 0;
      while (p < sampling->process_count &&
             (sampling->processes[p].process != list[i].process || sampling->processes[p].run != run))
        p++;
      if (p == sampling->process_count) continue;
      memory_mb += (double)list[i].memory_mb;
      if (list[i].device == last_device) continue;
      last_device = list[i].device;
      busy += list[i].busy_percent;
      total_mb += (double)list[i].total_mb;
      devices++;
    }
    load->gpu_percent = devices > 0 ? busy / devices : NAN;
    load->gpu_memory_mb = devices > 0 ? memory_mb : NAN;
    load->gpu_total_mb = devices > 0 ? total_mb : NAN;
  }
}

/* ---- attempts ---------------------------------------------------------------------------------------------------- */

static void write_or_warn(const char *root, const char *id, SweepMemoryProbe *probe) {
  if (sweep_run_memory_write(root, id, &probe->run) != CORE_OK) core_warn("%s", core_error_message());
  probe->written_mb = larger(probe->run.peak_mb, probe->run.summed_mb);
}

void sweep_memory_probe_begin(const char *root, const char *id, SweepMemoryProbe *probe) {
  *probe = (SweepMemoryProbe){0};
  if (sweep_run_memory_read(root, id, &probe->run) != CORE_OK) core_warn("%s", core_error_message());
  probe->written_mb = larger(probe->run.peak_mb, probe->run.summed_mb);
}

void sweep_memory_probe_add_peak(SweepMemoryProbe *probe, SweepMemorySource source, int64_t peak_mb) {
  if (peak_mb <= 0) return;
  probe->run.peak_mb = larger(probe->run.peak_mb, peak_mb);
  if (source > probe->run.source) probe->run.source = source;
}

void sweep_memory_probe_sample(const char *root, const char *const *ids, SweepMemoryProbe *const *probes,
                               size_t count) {
  if (count == 0) return;
  Sums *sums = core_memory_zero_allocate(count, sizeof *sums);
  Sampling sampling = {.root = root, .ids = ids, .sums = sums, .count = count};
  sweep_processes_visit(add_process, &sampling);
  add_gpus(&sampling);
  const double now_unix_s = core_clock_unix_s();
  for (size_t i = 0; i < count; i++) {
    SweepMemoryProbe *probe = probes[i];
    if (sums[i].pss_kb == 0) continue;
    sweep_memory_probe_add_peak(probe, SWEEP_MEMORY_PROCESSES, (sums[i].pss_kb + 1023) / 1024);
    probe->run.summed_mb = larger(probe->run.summed_mb, (sums[i].peaks_kb + 1023) / 1024);
    probe->run.samples = larger(probe->run.samples, ++probe->samples);
    const int64_t current_mb = larger(probe->run.peak_mb, probe->run.summed_mb);
    if (20 * current_mb > 21 * probe->written_mb) write_or_warn(root, ids[i], probe);
    sums[i].load.memory_mb = (double)sums[i].pss_kb / 1024;
    sweep_load_recorder_add(root, ids[i], now_unix_s, &sums[i].load, &probe->load);
  }
  free(sampling.processes);
  free(sums);
}

void sweep_memory_probe_end(const char *root, const char *id, SweepMemoryProbe *probe, int64_t largest_kb) {
  const int64_t largest_mb = (largest_kb + 1023) / 1024;
  sweep_memory_probe_add_peak(probe, SWEEP_MEMORY_LARGEST_PROCESS, largest_mb);
  probe->run.summed_mb = larger(probe->run.summed_mb, largest_mb);
  write_or_warn(root, id, probe);
  sweep_load_recorder_end(root, id, &probe->load);
}

/* ---- the control group ------------------------------------------------------------------------------------------- */

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
