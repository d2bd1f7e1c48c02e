/* Memory of runs: runs/<id>/memory, what all processes of a run (trainer, workers of environments, ranks on this node)
 * took together, and the limits that it exceeded. Whoever starts the trainer measures: `sweep task` or the executor.
 *
 * A trainer is started with SWEEP_RUN=<id> in its environment, which its workers and, through srun, its ranks inherit:
 * these are the processes of the run. Of ranks on several nodes only those of the first node are seen, so the figure is
 * one of a node, as slurm.mem is. */
#ifndef SWEEP_RUN_MEMORY_H
#define SWEEP_RUN_MEMORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define SWEEP_RUN_VARIABLE "SWEEP_RUN"

/* Where the peak comes from; a later one is better. */
typedef enum SweepMemorySource {
  SWEEP_MEMORY_UNKNOWN,
  SWEEP_MEMORY_LARGEST_PROCESS, /* ru_maxrss: only the largest of the run's processes */
  SWEEP_MEMORY_PROCESSES,       /* PSS (shared memory counts once) of all processes, sampled each second or more */
  SWEEP_MEMORY_CGROUP,          /* peak of the job's control group; its page cache counts */
} SweepMemorySource;

typedef struct SweepRunMemory {
  SweepMemorySource source;
  int64_t peak_mb;     /* 0: unknown */
  int64_t summed_mb;   /* sum of the processes' own peaks (VmHWM), shared memory counted in each: what Slurm's
                        * jobacct_gather holds against the limit without UsePss; 0: unknown */
  int64_t samples;     /* of its processes, in the attempt that had most */
  int64_t exceeded_mb; /* largest limit (slurm.mem) at which it ran out of memory; 0: none */
} SweepRunMemory;

const char *sweep_memory_source_name(SweepMemorySource source); /* "all processes" */

/* All zero when there is no file, or one that is damaged. */
int sweep_run_memory_read(const char *root, const char *id, SweepRunMemory *memory);
int sweep_run_memory_write(const char *root, const char *id, const SweepRunMemory *memory);

/* Measurement of one running attempt. */
typedef struct SweepMemoryProbe {
  SweepRunMemory run;      /* over all attempts */
  int64_t samples;         /* of this attempt */
  int64_t written_mb;      /* peak that the file has */
} SweepMemoryProbe;

/* Continues from the file. */
void sweep_memory_probe_begin(const char *root, const char *id, SweepMemoryProbe *probe);
/* Takes a peak from another source into account. */
void sweep_memory_probe_add_peak(SweepMemoryProbe *probe, SweepMemorySource source, int64_t peak_mb);
/* Samples the processes of the runs `ids`, one walk through /proc for all, and writes the files of those whose peak has
 * grown by a twentieth, so that a job that is killed whole leaves its peak. */
void sweep_memory_probe_sample(const char *root, const char *const *ids, SweepMemoryProbe *const *probes, size_t count);
/* The attempt has ended: `largest_kb` is its ru_maxrss. Writes the file. */
void sweep_memory_probe_end(const char *root, const char *id, SweepMemoryProbe *probe, int64_t largest_kb);

/* Takes the larger of each figure into `most`, and the weaker source: the memory of several runs. Runs of which nothing
 * is known change nothing. */
void sweep_run_memory_merge(SweepRunMemory *most, const SweepRunMemory *run);

/* Limit for slurm.mem that measured runs suggest, in MB: 1.3 times the most that one took, by either count, and at
 * least 1.5 times the largest limit that one exceeded, rounded up to 100 MB; 0: nothing is known. */
int64_t sweep_run_memory_needed(const SweepRunMemory *most);

/* Notes that the run ran out of memory at this limit. */
int sweep_run_memory_record_oom(const char *root, const char *id, int64_t limit_mb);

#endif
