/* What the kernel tells of the control group that this process is in. */
#ifndef SWEEP_CGROUP_H
#define SWEEP_CGROUP_H
#include <stdint.h>

/* Kills for want of memory so far; -1: not known. */
int64_t sweep_cgroup_oom_kills(void);

/* Peak of the control group of Slurm's job `slurm_job`, all its steps on this node; 0: it has none, or the kernel does
 * not count. */
int64_t sweep_cgroup_peak_mb(int64_t slurm_job);

#endif
