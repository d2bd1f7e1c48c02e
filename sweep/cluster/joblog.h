/* Parses Slurm's messages in a job's output. slurmstepd, which supervises a batch script or step, prints there why it
 * ends it: immediately, on the node, without a query to slurmctld or a database. sweep task reads its own output; sweep
 * status reads those of tasks that were killed before they could record anything. */
#ifndef SWEEP_JOBLOG_H
#define SWEEP_JOBLOG_H
#include "core/files.h"
#include "sweep/cluster/journal.h"
#include "sweep/cluster/record.h"

/* Returns the cause of highest precedence that the lines of `text` report about job `slurm_job` (SLURM_JOB_ID: for an
 * array task its own id): NONE (no message), CANCELLED, TIME_LIMIT, PREEMPTED, OUT_OF_MEMORY, in this order, since a
 * job that exceeds its memory is then "cancelled" too. */
SweepCause sweep_joblog_parse_cause(const char *text, int64_t slurm_job);

/* Parses a file from `offset` on in the same way; SWEEP_CAUSE_NONE if it cannot be read. */
SweepCause sweep_joblog_read_cause(const char *path, int64_t offset, int64_t slurm_job);

/* Returns the file's size, as an offset for later; 0 if it is absent. */
int64_t sweep_joblog_size(const char *path);

/* Returns why Slurm could not open the output of an array's batch scripts, as far as this machine can tell; NULL: it
 * can. path: that file. */
const char *sweep_joblog_find_obstacle(const char *root, const char *name, const SweepArray *array,
                                       char path[CORE_PATH_MAX]);

/* Whether the run's last start ran out of memory: by its record or, if sweep task was killed with it, by slurmstepd's
 * message. journal: of the sweep `name`. */
bool sweep_joblog_is_oom(const char *root, const char *name, const SweepJournal *journal, const SweepRecord *record);

#endif
