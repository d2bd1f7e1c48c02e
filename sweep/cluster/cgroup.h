/* Memory counters of this process's control group, versions 1 and 2. */
#ifndef SWEEP_CGROUP_H
#define SWEEP_CGROUP_H
#include <stdint.h>

/* Returns the number of OOM kills so far; -1: unknown. */
int64_t sweep_cgroup_oom_kills(void);

/* Returns the memory peak of Slurm job `slurm_job`, all its steps on this node; 0: it has no control group, or the
 * kernel does not track the peak. */
int64_t sweep_cgroup_peak_mb(int64_t slurm_job);

#endif
