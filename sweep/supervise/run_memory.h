/* Memory of runs: runs/<id>/memory holds the memory of all processes of a run together (trainer, environment workers,
 * ranks on this node), and the limits that it exceeded. The process that starts the trainer measures: `sweep task` or
 * the executor.
 *
 * A trainer is started with SWEEP_RUN=<id> in its environment, which its workers and, through srun, its ranks inherit:
 * these are the processes of the run. Ranks on other nodes are not measured, so the value is per node, as slurm.mem
 * is. */
#ifndef SWEEP_RUN_MEMORY_H
#define SWEEP_RUN_MEMORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "sweep/supervise/run_load.h"

/* Source of the peak, by increasing quality. */
typedef enum SweepMemorySource {
  SWEEP_MEMORY_UNKNOWN,
  SWEEP_MEMORY_LARGEST_PROCESS, /* ru_maxrss: only the largest process of the run */
  SWEEP_MEMORY_PROCESSES,       /* PSS of all processes (shared memory counted once), sampled at most every second */
  SWEEP_MEMORY_CGROUP,          /* peak of the job's control group, including its page cache */
} SweepMemorySource;

typedef struct SweepRunMemory {
  SweepMemorySource source;
  int64_t peak_mb;     /* 0: unknown */
  int64_t summed_mb;   /* sum of the processes' peaks (VmHWM), shared memory counted in each: Slurm's jobacct_gather
                        * compares it with the limit without UsePss; 0: unknown */
  int64_t samples;     /* number of samples in the attempt with the most */
  int64_t exceeded_mb; /* largest limit (slurm.mem) at which the run ran out of memory; 0: none */
} SweepRunMemory;

/* Returns the name of a source: "all processes". */
const char *sweep_memory_source_name(SweepMemorySource source);

/* Reads the file; all zero if it is absent or damaged. */
int sweep_run_memory_read(const char *root, const char *id, SweepRunMemory *memory);
int sweep_run_memory_write(const char *root, const char *id, const SweepRunMemory *memory);

/* Measurement of one running attempt. */
typedef struct SweepMemoryProbe {
  SweepRunMemory run;      /* over all attempts */
  int64_t samples;         /* number of samples of this attempt */
  int64_t written_mb;      /* peak in the file */
  SweepLoadRecorder *load; /* its load over time; NULL before the first sample */
} SweepMemoryProbe;

/* Starts a measurement from the values in the file. */
void sweep_memory_probe_begin(const char *root, const char *id, SweepMemoryProbe *probe);
/* Adds a peak from a source other than samples. */
void sweep_memory_probe_add_peak(SweepMemoryProbe *probe, SweepMemorySource source, int64_t peak_mb);
/* Samples the processes of the runs `ids` in one walk through /proc, also for their load (run_load.h). Writes the files
 * of runs whose peak has grown by 5%, so that the peak survives if the whole job is killed. */
void sweep_memory_probe_sample(const char *root, const char *const *ids, SweepMemoryProbe *const *probes, size_t count);
/* Ends a measurement and writes the file. largest_kb: ru_maxrss of the attempt. */
void sweep_memory_probe_end(const char *root, const char *id, SweepMemoryProbe *probe, int64_t largest_kb);

/* Merges the memory of a run into the maxima over several runs: the larger of each value, and the source of lower
 * quality. A run without values changes nothing. */
void sweep_run_memory_merge(SweepRunMemory *max, const SweepRunMemory *run);

/* Returns the recommended slurm.mem in MB: 1.3 times the maximum by either count, and at least 1.5 times the largest
 * exceeded limit, rounded up to 100 MB; 0: unknown. */
int64_t sweep_run_memory_needed(const SweepRunMemory *max);

/* Records that the run ran out of memory at this limit. */
int sweep_run_memory_record_oom(const char *root, const char *id, int64_t limit_mb);

/* ---- this process's control group, versions 1 and 2 -------------------------------------------------------------- */

/* Returns the number of OOM kills so far; -1: unknown. */
int64_t sweep_cgroup_oom_kills(void);

/* Returns the memory peak of Slurm job `slurm_job`, all its steps on this node; 0: it has no control group, or the
 * kernel does not track the peak. */
int64_t sweep_cgroup_peak_mb(int64_t slurm_job);

#endif
