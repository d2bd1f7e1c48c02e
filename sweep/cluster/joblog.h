/* What Slurm writes about a job's end into the output of the job itself: the daemon that watches over a batch script or
 * step says there why it ends it, at once, on the node, without a call to slurmctld or a database. sweep task reads its
 * own; status reads those of tasks that left no word, because they were killed whole. */
#ifndef SWEEP_JOBLOG_H
#define SWEEP_JOBLOG_H
#include "core/files.h"
#include "sweep/cluster/journal.h"
#include "sweep/cluster/record.h"

/* In order of weight: a job that exceeds its memory is then "cancelled" too. */
typedef enum SweepExitCause {
  SWEEP_EXIT_UNKNOWN,           /* nothing is said */
  SWEEP_EXIT_CANCELLED,      /* scancel, or requeued by hand */
  SWEEP_EXIT_TIME_LIMIT,
  SWEEP_EXIT_PREEMPTED,
  SWEEP_EXIT_OUT_OF_MEMORY,
} SweepExitCause;

/* The weightiest verdict on job `slurm_job` (SLURM_JOB_ID: of an array's task its own number) among the lines of
 * `text`. */
SweepExitCause sweep_joblog_parse_cause(const char *text, int64_t slurm_job);

/* The same of a file's part from `offset` on; SWEEP_EXIT_UNKNOWN when it cannot be read. */
SweepExitCause sweep_joblog_read_cause(const char *path, int64_t offset, int64_t slurm_job);

/* The file's size, as an offset for later; 0 when it is not there. */
int64_t sweep_joblog_size(const char *path);

/* The last line of a batch script's output: what a script said before its run began (a module that is missing). "" when
 * there is none. */
void sweep_joblog_last_line(const char *path, char *line, size_t size);

/* Did the run's last start end for want of memory? By its record or, where sweep task was killed with it, by the
 * daemon's word. `journal` is that of the sweep `name`. */
bool sweep_joblog_is_oom(const char *root, const char *name, const SweepJournal *journal, const SweepRecord *record);

#endif
